"""The addresses of the server, in OpenAI's API: requests in, answers or refusals out."""

from __future__ import annotations

import asyncio
import hmac
import json
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from data import codec
from data.errors import StageError, WikigenError
from decoding.api import Completion
from decoding.serving.answer_forms import Form, Logprobs
from decoding.serving.chat_requests import LONGEST_NAME, Refused, read_request
from decoding.serving.logprobs import TokenLogprob
from decoding.serving.service import Abandoned, Service, Text
from decoding.serving.totals import exposition
from decoding.serving.visitors import OwnNames, ProgramsOnly

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response


BODY_BYTES = 32 << 20
BODY_S = 60.0
"""Until the body of a request is here: one that comes a byte a second would hold its connection for ever."""
MOST_WAITING = 256
_POLL_S = 0.1


def build_app(service: Service, api_key: str | None = None, names: OwnNames | None = None) -> FastAPI:
    """The ASGI application. With `api_key` everything below /v1 needs it. `names` are its own (default: loopback)."""
    from fastapi import FastAPI
    from fastapi.responses import JSONResponse, Response
    from starlette.exceptions import HTTPException

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        service.closing.set()  # a text in the making would keep the process alive

    app = FastAPI(title="Wiki-GenBen decoder", openapi_url=None, lifespan=lifespan)
    app.add_middleware(ProgramsOnly, names=names or OwnNames())

    def answering(make: Callable[[Request], Any]) -> Callable[[Request], Any]:
        """A handler whose refusals are answers."""

        async def handler(request: Request) -> Response:
            try:
                if request.url.path.startswith("/v1/"):
                    _check_key(request.headers.get("authorization"), api_key)
                answer: Response = await make(request)
                return answer
            except Refused as error:
                service.totals.refused += 1
                return JSONResponse(error.body, status_code=error.status)
            except StageError as error:
                return JSONResponse(Refused(500, str(error)).body, status_code=500)

        return handler

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "model": service.name, "decoding": service.describe()})

    async def metrics(request: Request) -> Response:
        accepted = request.headers.get("accept", "")
        if "text/plain" in accepted or "openmetrics" in accepted:  # as Prometheus asks
            content, kind = exposition(service.totals, service.name)
            return Response(content, headers={"content-type": kind})
        return JSONResponse(codec.to_plain(service.totals))

    async def models(request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [_listed(service)]})

    async def model(request: Request) -> Response:
        if (name := request.path_params["name"]) != service.name:
            raise Refused(404, f"the model {name[:LONGEST_NAME]!r} is not served here", param="model", code="model_not_found")
        return JSONResponse(_listed(service))

    async def chat(request: Request) -> Response:
        return await _answered(service, request, chat=True)

    async def completions(request: Request) -> Response:
        return await _answered(service, request, chat=False)

    async def broken(request: Request, error: Exception) -> Response:
        return JSONResponse(Refused(500, f"{type(error).__name__}: {error}").body, status_code=500)

    async def unknown(request: Request, error: HTTPException) -> Response:
        message = f"{request.method[:20]} {request.url.path[:200]}: {error.detail}"
        return JSONResponse(Refused(error.status_code, message).body, status_code=error.status_code, headers=error.headers)

    for path, make, method in (
        ("/health", health, "GET"),
        ("/metrics", metrics, "GET"),
        ("/v1/models", models, "GET"),
        ("/v1/models/{name:path}", model, "GET"),
        ("/v1/chat/completions", chat, "POST"),
        ("/v1/completions", completions, "POST"),
    ):
        app.add_route(path, answering(make), methods=[method])
    app.add_exception_handler(HTTPException, unknown)  # type: ignore[arg-type]
    app.add_exception_handler(Exception, broken)
    return app


def _listed(service: Service) -> dict[str, Any]:
    """`root` is what the weights are: clients that keep answers know whether the model is still the same."""
    return {
        "id": service.name,
        "object": "model",
        "created": service.created,
        "owned_by": "wikigenben",
        "root": service.fingerprint,
        "max_model_len": service.context_tokens,
    }


def _check_key(header: str | None, api_key: str | None) -> None:
    if api_key is not None and not hmac.compare_digest((header or "").encode(), f"Bearer {api_key}".encode()):
        raise Refused(401, "a valid key is needed: Authorization: Bearer KEY", code="invalid_api_key")


async def _body(request: Request) -> object:
    from starlette.requests import ClientDisconnect

    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # also keeps pages in a browser from posting without leave
        raise Refused(415, f"the content type is {kind or 'not given'}; send application/json")
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length) > BODY_BYTES:
        raise Refused(413, f"the body is larger than {BODY_BYTES >> 20} MiB")
    content = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for chunk in request.stream():
                content += chunk
                if len(content) > BODY_BYTES:
                    raise Refused(413, f"the body is larger than {BODY_BYTES >> 20} MiB")
    except ClientDisconnect:
        raise Refused(400, "the client hung up before the body was here") from None
    except TimeoutError:
        raise Refused(408, f"the body was not here after {BODY_S:g} seconds; send it at once") from None
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body is not JSON: {error}") from None


async def _answered(service: Service, request: Request, *, chat: bool) -> Response:
    from fastapi.responses import JSONResponse, StreamingResponse

    service.totals.requests += 1
    if service.totals.waiting >= MOST_WAITING:
        raise Refused(429, f"{MOST_WAITING} requests wait already; ask again later", code="rate_limit_exceeded")
    asked = read_request(await _body(request), chat=chat)
    text = await asyncio.to_thread(service.text_for, asked)
    form = Form(chat, service.name, f"{'chatcmpl' if chat else 'cmpl'}-{uuid.uuid4().hex}", int(time.time()))
    if asked.n > 1:
        return await _answered_with(service, request, text, form, asked.n)
    if asked.stream:
        return StreamingResponse(_events(service, text, form, asked.include_usage), media_type="text/event-stream")
    tokens, keep = _watched(text)
    writing = _started(service.write(text, keep))
    while not (await asyncio.wait({writing}, timeout=_POLL_S))[0]:
        if await request.is_disconnected():
            text.abandoned.set()
    try:
        done = writing.result()
    except Abandoned:
        raise Refused(503, "the text was given up: the client hung up, or the server is closing") from None
    return JSONResponse(form.whole(done, text.sampling.seed, tokens))


async def _answered_with(service: Service, request: Request, text: Text, form: Form, n: int) -> Response:
    """`n` answers, of which the i-th has the seed of the request and i more."""
    from fastapi.responses import JSONResponse

    seeds = [(text.sampling.seed + i) % 2**64 for i in range(n)]
    texts = [text.another(seed) for seed in seeds]
    watched = [_watched(one) for one in texts]
    writing = [_started(service.write(one, keep)) for one, (_, keep) in zip(texts, watched, strict=True)]
    try:
        while (await asyncio.wait(writing, timeout=_POLL_S))[1]:
            if await request.is_disconnected():
                break
        else:
            tokens = [one for one, _ in watched]
            return JSONResponse(form.whole_of([task.result() for task in writing], seeds, tokens))
    except Abandoned:
        pass
    finally:
        for one in texts:  # of those still being written nobody wants any
            one.abandoned.set()
    raise Refused(503, "the texts were given up: the client hung up, or the server is closing")


def _watched(text: Text) -> tuple[list[TokenLogprob] | None, Callable[[str], None] | None]:
    """The list that gets the text's tokens with their log probabilities, and who puts them there, given the text's pieces."""
    watch = text.logprobs
    if watch is None:
        return None, None
    tokens: list[TokenLogprob] = []
    return tokens, lambda piece: tokens.extend(watch.passed(piece))


def _started(writing: Coroutine[Any, Any, Completion]) -> asyncio.Task[Completion]:
    """A task whose error counts as seen, also when nobody is left to be informed."""
    task = asyncio.create_task(writing)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


async def _events(service: Service, text: Text, form: Form, include_usage: bool) -> AsyncIterator[bytes]:
    """Server-sent events. An error after the beginning can only be reported in the stream."""
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[tuple[str, Logprobs] | None] = asyncio.Queue()

    def hand_over(piece: str) -> None:
        tokens = None if text.logprobs is None else text.logprobs.passed(piece)
        loop.call_soon_threadsafe(pieces.put_nowait, (piece, tokens))

    writing = _started(service.write(text, hand_over))
    writing.add_done_callback(lambda task: pieces.put_nowait(None))
    try:
        if form.chat:
            yield _event(form.first())
        while (piece := await pieces.get()) is not None:
            yield _event(form.piece(*piece))
        done = writing.result()
        yield _event(form.last(done, text.sampling.seed))
        if include_usage:
            yield _event(form.usage(done))
        yield b"data: [DONE]\n\n"
    except (WikigenError, Abandoned) as error:
        yield _event(Refused(500, str(error) or "the server is closing").body)
    finally:
        text.abandoned.set()  # the client may have hung up: then this generator is closed early


def _event(value: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()

"""The decoder behind an OpenAI-compatible HTTP server, for every client that speaks that API.

    python -m decoding.serve --model Qwen/Qwen3-0.6B
    curl localhost:8000/v1/chat/completions -H 'Content-Type: application/json' \\
         -d '{"model": "Qwen/Qwen3-0.6B", "messages": [{"role": "user", "content": "Hello"}]}'

`/v1/models`, `/v1/chat/completions`, `/v1/completions` (whole or streamed), `/health`, `/metrics` (JSON; in Prometheus' form,
with vLLM's names, for who accepts text/plain). Texts are written in the order of their requests; a client that hangs up
ends its text. Answers carry `timings` (llama.cpp's names) and `speculation` (vLLM's); `"speculation": "off"` in a request
decodes one token at a time, to the same text. `logprobs` are the model's own (`decoding.serving.logprobs`), and
`response_format` holds answers to a JSON schema while they are decoded. What is not supported is refused (400) by name, never
ignored. A request without a seed gets a random one, which the answer names. Contents of
messages cannot inject control tokens; a final assistant message is continued. Requests that wait at the same time are written
together where the model allows it (`decoding.together`), and so are the `n` answers of one; those with `logprobs` alone.
"""

from __future__ import annotations

import argparse
import asyncio
import hmac
import json
import os
import socket
import sys
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data import codec
from data.decoding_counts import SpeculationStats
from data.errors import StageError, UserError, WikigenError
from decoding.api import Completion, DecodeStats, Json, SamplingParams
from decoding.methods import METHODS, check_draft_model, check_method
from decoding.models.naming import add_draft_model_flag
from decoding.models.registry import NAMES
from decoding.serving.chat_requests import Asked, Refused, read_request
from decoding.serving.logprobs import LogprobWatch, TokenLogprob, chat_form, completion_form
from decoding.serving.totals import Totals, exposition
from decoding.serving.turns import Turns, Waiting
from decoding.serving.visitors import OwnNames, ProgramsOnly, is_loopback
from decoding.waiting import spin_briefly

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

    from decoding.engine import Engine
    from decoding.models.loading import LoadedModel

CHARACTERS_A_TOKEN = 64
"""More than any tokenizer puts into one, but for long runs of blanks."""
BODY_BYTES = 32 << 20
MOST_WAITING = 256
_POLL_S = 0.1


class Abandoned(Exception):
    """Nobody waits for this text any more."""


class Text:
    """One text being written for a request: where it is written from, and whether anybody still wants it."""

    def __init__(
        self, prompt: Sequence[int], sampling: SamplingParams, drafts: bool, logprobs: LogprobWatch | None = None
    ) -> None:
        self.prompt = prompt
        self.drafts = drafts
        self.sampling = sampling
        self.logprobs = logprobs
        """Set where the client wants them."""
        self.abandoned = threading.Event()
        self.begun: float | None = None
        """When its turn came, by `time.perf_counter`."""

    def another(self, seed: int) -> Text:
        """The same request with another seed."""
        watch = None if self.logprobs is None else self.logprobs.another()
        return Text(self.prompt, replace(self.sampling, seed=seed), self.drafts, watch)


class Service:
    """Writes texts for requests, in their order; those that wait at the same time together where the model allows it."""

    def __init__(self, loaded: LoadedModel, engine: Engine, name: str) -> None:
        from decoding.local import LocalGenerator
        from decoding.models.loading import vocabulary_size

        self.name = name
        self.fingerprint = loaded.fingerprint
        self.context_tokens = loaded.context_tokens
        self.created = int(time.time())
        self.totals = Totals()
        self.closing = threading.Event()
        self._loaded = loaded
        self._engine = engine
        self._generator = LocalGenerator(loaded, engine.decode)
        self._n_tokens = vocabulary_size(loaded.model)
        self._turns: Turns[tuple[Text, Callable[[str], None] | None], Completion] = Turns(self._fit, self._written)

    def describe(self) -> str:
        return self._engine.describe()

    def text_for(self, asked: Asked) -> Text:
        """Raises Refused for another model, or a prompt that leaves no room for the request."""
        if asked.model != self.name:
            known = f"the model {asked.model!r} is not served here; this is {self.name!r}"
            raise Refused(404, known, param="model", code="model_not_found")
        prompt = self._prompt_ids(asked)
        room = self.context_tokens - len(prompt)
        wanted = asked.max_tokens or max(room, 1)
        if wanted > room:
            raise Refused(
                400,
                f"this model's maximum context length is {self.context_tokens} tokens, but the prompt has {len(prompt)} "
                f"and the answer may have {wanted}; shorten the prompt or lower max_tokens",
                param="messages" if asked.messages else "prompt",
                code="context_length_exceeded",
            )
        if isinstance(asked.sampling.grounding, Json):
            self._check_schema(asked.sampling.grounding)
        watch = None if asked.top_logprobs is None else LogprobWatch(self._loaded, asked.top_logprobs)
        return Text(prompt, replace(asked.sampling, max_new_tokens=wanted), asked.drafts, watch)

    def _check_schema(self, schema: Json) -> None:
        """Before the text waits for its turn, and a stream has begun."""
        from decoding.grounding.schema import check_json

        try:
            with self._loaded.tokenizer_lock:
                check_json(schema, self._loaded.tokenizer, self._loaded.eos_ids)
        except UserError as error:
            raise Refused(400, str(error), param="response_format", code="invalid_json_schema") from None

    def _prompt_ids(self, asked: Asked) -> list[int]:
        text = asked.prompt if isinstance(asked.prompt, str) else "".join(message.content for message in asked.messages)
        field = "messages" if asked.messages else "prompt"
        if len(text) > CHARACTERS_A_TOKEN * self.context_tokens:  # before the tokenizer reads it, which holds up everybody
            raise Refused(
                400,
                f"this model's maximum context length is {self.context_tokens} tokens, and {len(text):,} characters are more; "
                "shorten the prompt",
                param=field,
                code="context_length_exceeded",
            )
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise Refused(400, f"{field} holds half of a character at {error.start} (a lone surrogate)", param=field) from None
        if asked.messages:
            try:
                return self._generator.prompt_ids(asked.messages)
            except StageError as error:
                raise Refused(400, error.why, param="messages") from None
        if isinstance(asked.prompt, str):
            with self._loaded.tokenizer_lock:
                return list(self._loaded.tokenizer(asked.prompt, verbose=False).input_ids)
        ids = list(asked.prompt or ())
        if wrong := [i for i in ids if i >= self._n_tokens]:
            raise Refused(400, f"token id {wrong[0]} is outside of the vocabulary of {self._n_tokens}", param="prompt")
        return ids

    async def write(self, text: Text, on_text: Callable[[str], None] | None = None) -> Completion:
        """Waits for its turn. `on_text` is called on another thread. Raises Abandoned, or StageError as decoding does."""
        self.totals.waiting += 1
        asked = time.perf_counter()
        try:
            done = await self._turns.written((text, on_text))
        except Abandoned:
            self.totals.abandoned += 1
            raise
        except Exception:
            self.totals.failed += 1
            raise
        finally:
            self.totals.waiting -= 1
        self.totals.add(done, 0.0 if text.begun is None else text.begun - asked)
        return done

    def _fit(self, wanted: Sequence[tuple[Text, object]]) -> bool:
        """Whether these texts may be written together. Log probabilities are watched in texts that are written alone."""
        if any(text.logprobs is not None for text, _ in wanted):
            return False
        return self._engine.fits_together([len(text.prompt) + text.sampling.max_new_tokens for text, _ in wanted])

    def _written(self, group: Sequence[Waiting[tuple[Text, Callable[[str], None] | None], Completion]]) -> None:
        from decoding.local import Wanted, complete_together

        for one in group:
            one.wanted[0].begun = time.perf_counter()
            if not self._is_wanted(one.wanted[0]):
                one.finish(Abandoned())
        live = [one for one in group if self._is_wanted(one.wanted[0])]
        if len(live) < 2:
            for one in live:
                one.finish(self._written_alone(*one.wanted))
            return

        def hand_over(one: Waiting[tuple[Text, Callable[[str], None] | None], Completion], done: Completion) -> None:
            one.finish(done if self._is_wanted(one.wanted[0]) else Abandoned())

        wanted = [
            Wanted(
                text.prompt,
                text.sampling,
                on_text,
                drafts=text.drafts,
                goes_on=partial(self._is_wanted, text),
                done=partial(hand_over, one),
            )
            for one in live
            for text, on_text in [one.wanted]
        ]
        complete_together(self._loaded, self._engine, wanted)

    def _written_alone(self, text: Text, on_text: Callable[[str], None] | None) -> Completion:
        from decoding.local import complete

        def decode(prompt: Sequence[int], sampling: SamplingParams, take: Callable[[int], bool]) -> DecodeStats:
            def take_if_wanted(token: int) -> bool:
                return self._is_wanted(text) and take(token)

            if not self._is_wanted(text):
                return DecodeStats(0.0)
            seen = watch.on_logits if watch is not None else None
            return self._engine.decode(prompt, sampling, take_if_wanted, on_logits=seen, drafts=text.drafts)

        watch = text.logprobs
        on_token = watch.on_token if watch is not None else None
        done = complete(self._loaded, decode, text.prompt, text.sampling, on_text, on_token)
        if not self._is_wanted(text):
            raise Abandoned
        return done

    def _is_wanted(self, text: Text) -> bool:
        return not (text.abandoned.is_set() or self.closing.is_set())


# --- answers ------------------------------------------------------------------------------------------------------------


Logprobs = Sequence[TokenLogprob] | None


@dataclass(frozen=True, slots=True)
class Form:
    """How answers of one method look: whole, in pieces, and what all of them share."""

    chat: bool
    model: str
    id: str
    created: int

    def whole(self, done: Completion, seed: int, tokens: Logprobs = None) -> dict[str, Any]:
        part = {"message": {"role": "assistant", "content": done.text}} if self.chat else {"text": done.text}
        choice = {"index": 0, **part, "logprobs": self._logprobs(tokens), **_ending(done)}
        name = "chat.completion" if self.chat else "text_completion"
        return self._answer(name, [choice]) | {"usage": _usage(done)} | _statistics(done, seed)

    def whole_of(self, found: Sequence[Completion], seeds: Sequence[int], tokens: Sequence[Logprobs]) -> dict[str, Any]:
        """Several answers to one request: the prompt counts once, new tokens and drafts all together."""
        answers = [self.whole(*one) for one in zip(found, seeds, tokens, strict=True)]
        choices = [{**answer["choices"][0], "index": at} for at, answer in enumerate(answers)]
        every = replace(
            found[0],
            n_new_tokens=sum(done.n_new_tokens for done in found),
            stats=DecodeStats(
                total_s=max(done.stats.total_s for done in found),
                prefill_s=found[0].stats.prefill_s,
                decode_s=max(done.stats.decode_s or 0.0 for done in found),
                speculation=SpeculationStats.total([done.stats.speculation or SpeculationStats() for done in found]),
            ),
        )
        return answers[0] | {"choices": choices, "usage": _usage(every)} | _statistics(every, seeds[0])

    def first(self) -> dict[str, Any]:
        return self._piece({"role": "assistant", "content": ""}, "")

    def piece(self, text: str, tokens: Logprobs = None) -> dict[str, Any]:
        return self._piece({"content": text}, text, logprobs=self._logprobs(tokens))

    def last(self, done: Completion, seed: int) -> dict[str, Any]:
        return self._piece({}, "", **_ending(done)) | _statistics(done, seed)

    def usage(self, done: Completion) -> dict[str, Any]:
        return self._answer(self._chunk, []) | {"usage": _usage(done)}

    def _piece(self, delta: Mapping[str, str], text: str, **ending: object) -> dict[str, Any]:
        part: dict[str, Any] = {"delta": dict(delta)} if self.chat else {"text": text}
        return self._answer(self._chunk, [{"index": 0, **part, "logprobs": None, "finish_reason": None, **ending}])

    def _logprobs(self, tokens: Logprobs) -> dict[str, Any] | None:
        if tokens is None:
            return None
        return chat_form(tokens) if self.chat else completion_form(tokens)

    @property
    def _chunk(self) -> str:
        return "chat.completion.chunk" if self.chat else "text_completion"

    def _answer(self, name: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {"id": self.id, "object": name, "created": self.created, "model": self.model, "choices": choices}


def _ending(done: Completion) -> dict[str, str | None]:
    """`stop_reason` is vLLM's: the stop string, or null for the model's own end."""
    return {"finish_reason": "length" if done.stop == "length" else "stop", "stop_reason": done.stop_string}


def _usage(done: Completion) -> dict[str, int]:
    total = done.n_prompt_tokens + done.n_new_tokens
    return {"prompt_tokens": done.n_prompt_tokens, "completion_tokens": done.n_new_tokens, "total_tokens": total}


def _statistics(done: Completion, seed: int) -> dict[str, Any]:
    stats = done.stats
    timings = {
        "prompt_n": done.n_prompt_tokens,
        "prompt_ms": round(1000 * (stats.prefill_s or 0), 3),
        "predicted_n": done.n_new_tokens,
        "predicted_ms": round(1000 * (stats.decode_s or 0), 3),
        "draft_n": stats.n_drafted,
        "draft_n_accepted": stats.n_accepted,
        "seed": seed,
    }
    return {"timings": timings, "speculation": codec.to_plain(stats.speculation or SpeculationStats())}


# --- HTTP ---------------------------------------------------------------------------------------------------------------


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
            raise Refused(404, f"the model {name!r} is not served here", param="model", code="model_not_found")
        return JSONResponse(_listed(service))

    async def chat(request: Request) -> Response:
        return await _answered(service, request, chat=True)

    async def completions(request: Request) -> Response:
        return await _answered(service, request, chat=False)

    async def broken(request: Request, error: Exception) -> Response:
        return JSONResponse(Refused(500, f"{type(error).__name__}: {error}").body, status_code=500)

    async def unknown(request: Request, error: HTTPException) -> Response:
        message = f"{request.method} {request.url.path}: {error.detail}"
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
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # also keeps pages in a browser from posting without leave
        raise Refused(415, f"the content type is {kind or 'not given'}; send application/json")
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > BODY_BYTES:
            raise Refused(413, f"the body is larger than {BODY_BYTES >> 20} MiB")
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


# --- command ------------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    spin_briefly()
    try:
        return _serve(arguments)
    except WikigenError as error:
        sys.stderr.write(f"decoding.serve: {error}\n")
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m decoding.serve", description="Serve a model, OpenAI-compatible.")
    parser.add_argument("--model", required=True, metavar="NAME", help=NAMES)
    parser.add_argument("--served-name", metavar="NAME", help="what clients call it (default: the id, or the folder's name)")
    parser.add_argument("--method", default="auto", metavar="METHOD", help=f"one of {', '.join(METHODS)} (default: auto)")
    parser.add_argument("--calibration", type=Path, metavar="DIR", help="for methods that skip layers")
    add_draft_model_flag(parser)
    parser.add_argument(
        "--lengths", metavar="POLICY", help="of drafts from skipped and draft models: threshold, fixed:4, expected"
    )
    parser.add_argument("--backend", default="auto", help="auto, packed, lowbit, driven or hf")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, ...")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16 or float16")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="another name that clients ask by, as in a container network; may be given several times (always: localhost, "
        "--host, and any IP address when --host is not this machine only)",
    )
    parser.add_argument("--api-key-env", metavar="VARIABLE", help="environment variable with the key that clients must send")
    return parser


def _serve(arguments: argparse.Namespace) -> int:
    api_key = _api_key(arguments.api_key_env)
    check_method(arguments.method)
    listening = _listen(arguments.host, arguments.port)  # before the model is loaded: a taken port should not cost minutes
    with listening:
        from decoding.engine import Engine, calibration_for
        from decoding.models.naming import check_draft_name, load_draft, load_named

        check_draft_model(arguments.method, bool(arguments.draft_model))
        if arguments.draft_model:
            check_draft_name(arguments.draft_model)
        model = arguments.model.removeprefix("hf:")
        sys.stderr.write(f"decoding.serve: loading {model}; the address is printed when it can answer\n")
        loaded = load_named(model, device=arguments.device, dtype=arguments.dtype)
        calibration = calibration_for(loaded, arguments.method, arguments.calibration)
        engine = Engine(
            loaded,
            arguments.method,
            backend=arguments.backend,
            calibration=calibration,
            lengths=arguments.lengths,
            draft=load_draft(arguments.draft_model, loaded) if arguments.draft_model else None,
        )
        service = Service(loaded, engine, arguments.served_name or _served_name(model))
        return _run(service, listening, api_key, own_names(arguments.host, arguments.allow_host))


def own_names(host: str, allowed: Sequence[str]) -> OwnNames:
    """What a server that listens on `host` may be called by."""
    return OwnNames(frozenset(name.lower() for name in (host, *allowed)), addresses=not is_loopback(host))


def _run(service: Service, listening: socket.socket, api_key: str | None, names: OwnNames) -> int:
    import uvicorn

    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    if api_key is None and not host.startswith("127.") and host != "::1":
        sys.stderr.write(f"decoding.serve: {shown} can be reached from elsewhere, and no key is asked for (--api-key-env)\n")
    listening.listen(64)  # connections wait here until the server takes over
    sys.stdout.write(f"{service.name} ({service.describe()}) at http://{shown}:{port}/v1\n")
    sys.stdout.flush()
    config = uvicorn.Config(build_app(service, api_key, names), log_level="warning", timeout_graceful_shutdown=5)
    uvicorn.Server(config).run(sockets=[listening])
    return 0


def _api_key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UserError(f"--api-key-env {variable}: that variable is empty; set it to the key, or leave the flag out")
    return key


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        raise UserError(f"cannot listen on {host}:{port} ({error}); choose another --port (0 takes a free one)") from None
    return listening


def _served_name(model: str) -> str:
    folder = Path(model).expanduser()
    return folder.resolve().name if folder.is_dir() else model


if __name__ == "__main__":
    sys.exit(main())

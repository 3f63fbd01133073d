"""An OpenAI-compatible server without a model, as a process of its own: `python tests/faulty_server.py`.

Prints `PORT n` when it accepts connections. The model's name chooses a canned answer: `echo` repeats the request (in hex),
`fault-*` goes wrong in the way that it says. `/v1/models` lists `tiny` and `other`. Below `/bare` there is no model list, below
`/keyed` every request needs the key `secret`.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, StreamingResponse

CONTEXT_TOKENS = 1024

meeting: list[asyncio.Event] = []
"""One for each request for the model `two-at-once`."""


def build_app() -> FastAPI:
    app = FastAPI()
    seen: Counter[str] = Counter()

    @app.get("/{prefix}/models")
    def models(prefix: str, request: Request) -> Response:
        if prefix == "bare":
            return JSONResponse({"detail": "Not Found"}, status_code=404)
        if prefix == "keyed" and request.headers.get("authorization") != "Bearer secret":
            return JSONResponse({"error": {"message": "no such key"}}, status_code=401)
        tiny = {"id": "tiny", "object": "model", "created": int(time.time()), "root": "tiny", "max_model_len": CONTEXT_TOKENS}
        return JSONResponse({"object": "list", "data": [tiny, {"id": "other", "object": "model"}]})

    @app.post("/{prefix}/chat/completions")
    async def chat(prefix: str, request: Request) -> Response:
        body = await request.json()
        if prefix == "keyed" and (key := request.headers.get("authorization")) != "Bearer secret":
            return JSONResponse({"error": {"message": f"no such key: {key}"}}, status_code=401)
        model = body["model"]
        first = seen[f"{model}/{body.get('seed')}"] == 0  # a test that wants its own first time brings its own seed
        seen[f"{model}/{body.get('seed')}"] += 1
        if model == "echo":
            headers = {name: request.headers.get(name) for name in ("authorization", "accept-encoding")}
            return whole(json.dumps({"body": body, "headers": headers}).encode().hex())  # no stop string occurs in hex
        return await canned(model, body, first)

    return app


async def canned(model: str, body: dict[str, Any], first: bool) -> Response:
    match model:
        case "fault-429-then-ok":
            return limited("7") if first else whole("ok")
        case "fault-429-long-then-ok":
            return limited("3600") if first else whole("ok")
        case "fault-429-date-then-ok":
            return limited(email.utils.formatdate(time.time() + 30, usegmt=True)) if first else whole("ok")
        case "fault-429-odd-then-ok":
            return limited("soon") if first else whole("ok")
        case "fault-503-then-ok":
            return Response("warming up", status_code=503) if first else whole("ok")
        case "fault-500":
            return Response("out of\x1b luck\r\n", status_code=500)
        case "fault-400":
            return JSONResponse({"error": {"message": "this prompt is longer than the context"}}, status_code=400)
        case "fault-redirect":
            return RedirectResponse("https://elsewhere.example/v1/chat/completions", status_code=307)
        case "fault-garbage":
            return Response('{"choices": [{"mess\x00\x1b[2J', media_type="application/json")
        case "fault-list":
            return JSONResponse(["not", "an", "object"])
        case "fault-empty":
            return Response(b"", media_type="application/json")
        case "fault-html":
            return HTMLResponse("<html><body>Welcome to the proxy</body></html>")
        case "fault-no-choices":
            return JSONResponse({"choices": []})
        case "fault-null":
            message = {"role": "assistant", "content": None, "reasoning_content": "hm"}
            return JSONResponse({"choices": [{"message": message, "finish_reason": "length"}]})
        case "fault-short":
            return Response(b'{"choices": [', media_type="application/json", headers={"Content-Length": "5000"})
        case "fault-hang":
            await asyncio.sleep(60)
        case "fault-truncated-stream":
            return sse(event("The bridge") + event(" fell") + b'data: {"choices": [{"del')
        case "fault-dropped-stream":
            return StreamingResponse(dropped(), media_type="text/event-stream")
        case "fault-error-stream":
            return sse(event("The bridge") + b'data: {"error": {"message": "engine died"}}\n\n')
        case "fault-empty-stream":
            return sse(b"")
        case "fault-drip":
            return StreamingResponse(drip(), media_type="text/event-stream")
        case "plain":  # no usage, no hint why the text stopped
            return JSONResponse({"choices": [{"message": {"content": "The bridge fell."}, "finish_reason": "stop"}]})
        case "vllm-stop":
            choice = {"message": {"content": "The bridge fell."}, "finish_reason": "stop", "stop_reason": body["stop"][0]}
            return JSONResponse({"choices": [choice]})
        case "odd-stream":  # CRLF, comments, reasoning, a character split between two writes, no [DONE]
            text = b": ping\r\n\r\n" + event("", reasoning_content="let me think") + event("Z\u00fcrich ") + event("\u2013 6:4")
            text += event("", finish_reason="stop")
            return StreamingResponse(bytewise(text.replace(b"\n", b"\r\n")), media_type="text/event-stream")
        case "ignores-stop":
            return sse(event("The bridge f") + event("ell.#") + event("##") + event(" On.", finish_reason="stop"))
        case "logprobs":
            top = [
                {"token": token, "logprob": logprob}
                for token, logprob in ((" yes", -0.5), ("Y", -2.5), ("no", -1.5), ("Hm", -3))
            ]
            chosen = {"token": " yes", "logprob": -0.5, "top_logprobs": top[: body["top_logprobs"]]}
            choice = {"message": {"content": " yes"}, "finish_reason": "length", "logprobs": {"content": [chosen]}}
            return JSONResponse({"choices": [choice]})
        case "no-logprobs" if body.get("logprobs"):
            return JSONResponse({"error": {"message": "logprobs are not supported"}}, status_code=400)
        case "no-logprobs":
            return whole("No, it did not.")
        case "two-at-once":  # an answer comes when a second request is there
            meeting.append(asyncio.Event())
            if len(meeting) % 2:
                await asyncio.wait_for(meeting[-1].wait(), 20)
            else:
                meeting[-2].set()
            return whole(body["messages"][-1]["content"])
        case "some-fail" if "bad" in body["messages"][-1]["content"]:
            return Response(b"", media_type="application/json")
        case "some-fail":
            return whole(body["messages"][-1]["content"])
        case "unstreamed":
            return whole("all at once")
    return JSONResponse({"error": {"message": f"The model `{model}` does not exist."}}, status_code=404)


def limited(retry_after: str) -> Response:
    return JSONResponse({"error": {"message": "slow down"}}, status_code=429, headers={"Retry-After": retry_after})


def whole(text: str, reason: str = "stop", n_prompt: int = 3, n_new: int = 2) -> Response:
    usage = {"prompt_tokens": n_prompt, "completion_tokens": n_new, "total_tokens": n_prompt + n_new}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
    return JSONResponse({"object": "chat.completion", "choices": [choice], "usage": usage})


def event(text: str, finish_reason: str | None = None, **delta: str) -> bytes:
    choice = {"index": 0, "delta": {"content": text, **delta}, "finish_reason": finish_reason}
    return f"data: {json.dumps({'choices': [choice]}, ensure_ascii=False)}\n\n".encode()


def sse(content: bytes) -> Response:
    return StreamingResponse(iter([content]), media_type="text/event-stream")


async def bytewise(content: bytes) -> AsyncIterator[bytes]:
    for i in range(len(content)):
        yield content[i : i + 1]


async def dropped() -> AsyncIterator[bytes]:
    yield event("The bridge")
    raise ConnectionResetError("on purpose")


async def drip() -> AsyncIterator[bytes]:
    while True:
        yield event("drip ")
        await asyncio.sleep(0.05)

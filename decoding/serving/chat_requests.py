"""What a client of the HTTP server may ask, in the form of OpenAI's API: bodies -> typed requests, refusals -> error bodies.

A field that would change the answer and is not supported is refused, as is one that nobody knows; fields that only label a
request are accepted and ignored.
"""

from __future__ import annotations

import difflib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, cast

from data.errors import UserError
from decoding.api import Message, SamplingParams
from decoding.sampling import check_sampling
from decoding.together import MOST

LABELS = frozenset({"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"})
"""Fields about a request, not about its answer."""

NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "best_of": (1,),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "logit_bias": ({},),
    "logprobs": (False, 0),
    "top_logprobs": (0,),
    "echo": (False,),
    "suffix": ("",),
    "min_p": (0,),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "parallel_tool_calls": (True, False),
    "response_format": ({"type": "text"},),
}
"""Fields that are not supported, with the values at which they ask for nothing. Null is one for each."""

_OWN = (
    "model", "messages", "prompt", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "top_p",
    "top_k", "repetition_penalty", "seed", "stop", "speculation", "n",
)  # fmt: skip


class Refused(Exception):
    """A request that gets an error for an answer; `status` and the body are as in OpenAI's API."""

    def __init__(self, status: int, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        kind = "authentication_error" if status == 401 else "invalid_request_error" if status < 500 else "server_error"
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}


@dataclass(frozen=True, slots=True)
class Asked:
    """A checked request. Exactly one of `messages` and `prompt` is set; `max_tokens` None means as many as fit."""

    model: str
    messages: tuple[Message, ...]
    prompt: str | tuple[int, ...] | None
    stream: bool
    include_usage: bool
    max_tokens: int | None
    sampling: SamplingParams
    """Its max_new_tokens is not meant."""
    drafts: bool = True
    """False for `speculation: "off"`: the same text, one token a pass."""
    n: int = 1
    """Answers, each with a seed of its own."""


def read_request(body: object, *, chat: bool) -> Asked:
    """Raises Refused (400), naming the field."""
    if not isinstance(body, dict):
        raise Refused(400, "the body must be a JSON object")
    _check_fields(body, chat)
    stream = _flag(body, "stream")
    options = _object(body, "stream_options")
    if options and not stream:
        raise Refused(400, "stream_options needs stream: true", param="stream_options")
    return Asked(
        model=_text(body, "model"),
        messages=_messages(body.get("messages")) if chat else (),
        prompt=None if chat else _prompt(body.get("prompt")),
        stream=stream,
        include_usage=_flag(options, "include_usage"),
        max_tokens=_max_tokens(body, chat),
        sampling=_sampling(body),
        drafts=_drafts(body.get("speculation")),
        n=_n(body, stream),
    )


def _check_fields(body: Mapping[str, Any], chat: bool) -> None:
    known = {*_OWN, *LABELS, *NEUTRAL} - {"prompt" if chat else "messages"}
    for name, value in body.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise Refused(400, f"unrecognised field {name!r}{hint}", param=name, code="unknown_parameter")
        if name in NEUTRAL and value is not None and value not in NEUTRAL[name]:
            raise Refused(400, f"{name} is not supported here; leave it out", param=name, code="unsupported_parameter")


def _sampling(body: Mapping[str, Any]) -> SamplingParams:
    stop = body.get("stop")
    stops = [] if stop is None else [stop] if isinstance(stop, str) else stop
    if not isinstance(stops, list) or not all(isinstance(one, str) for one in stops):
        raise Refused(400, "stop must be a string or a list of strings", param="stop")
    seed = _number(body, "seed", int)
    if seed is not None and not -(2**63) <= seed < 2**64:
        raise Refused(400, f"seed {seed} is no 64-bit number", param="seed")
    sampling = SamplingParams(
        temperature=_given(_number(body, "temperature", float), 1.0),
        top_p=_given(_number(body, "top_p", float), 1.0),
        top_k=min(max(0, _given(_number(body, "top_k", int), 0)), 2**31),  # vLLM's clients send -1 for "off"
        repetition_penalty=_given(_number(body, "repetition_penalty", float), 1.0),
        seed=secrets.randbits(63) if seed is None else seed,
        stop=tuple(stops),
    )
    try:
        check_sampling(sampling)
    except UserError as error:
        name = next((f.name for f in fields(sampling) if str(error).startswith(f.name)), "stop")
        raise Refused(400, str(error), param=name) from None
    return sampling


def _drafts(value: object) -> bool:
    if value not in (None, "on", "off"):
        raise Refused(400, f"speculation is {value!r}; use 'on' or 'off'", param="speculation")
    return value != "off"


def _n(body: Mapping[str, Any], stream: bool) -> int:
    n = int(_given(_number(body, "n", int), 1))
    if not 1 <= n <= MOST:
        raise Refused(400, f"n is {n}; it must be from 1 to {MOST}: send several requests for more", param="n")
    if n > 1 and stream:
        raise Refused(400, f"n is {n} with stream: true; leave one of them out, or send {n} requests", param="n")
    if n > 1 and _number(body, "temperature", float) == 0:
        raise Refused(
            400, f"n is {n} with temperature 0, which gives {n} times the same answer; leave one of them out", param="n"
        )
    return n


def _max_tokens(body: Mapping[str, Any], chat: bool) -> int | None:
    name = "max_completion_tokens" if body.get("max_completion_tokens") is not None else "max_tokens"
    asked = _number(body, name, int)
    if asked is None:
        return None if chat else 16  # OpenAI's default of the older method
    if asked < 1:
        raise Refused(400, f"{name} is {asked}; it must be at least 1", param=name)
    return int(asked)


def _messages(value: object) -> tuple[Message, ...]:
    if not isinstance(value, list) or not value:
        raise Refused(400, "messages must be a list of at least one message", param="messages")
    return tuple(_message(one, f"messages[{i}]") for i, one in enumerate(value))


def _message(value: object, where: str) -> Message:
    if not isinstance(value, dict):
        raise Refused(400, f"{where} must be an object with role and content", param=where)
    role = "system" if value.get("role") == "developer" else value.get("role")
    if role not in ("system", "user", "assistant"):
        raise Refused(400, f"{where}.role is {role!r}; use system, developer, user or assistant", param=f"{where}.role")
    return Message(cast("Literal['system', 'user', 'assistant']", role), _content(value.get("content"), f"{where}.content"))


def _content(value: object, where: str) -> str:
    """A string, or the texts of a list of parts."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise Refused(400, f"{where} must be a string or a list of text parts", param=where)
    texts = []
    for part in value:
        if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
            raise Refused(400, f"{where} holds a part that is not text", param=where)
        texts.append(part["text"])
    return "".join(texts)


def _prompt(value: object) -> str | tuple[int, ...]:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], (str, list)):
        value = value[0]
    if isinstance(value, str) and value:
        return value
    if isinstance(value, list) and value and all(type(i) is int and i >= 0 for i in value):
        return tuple(value)
    raise Refused(400, "prompt must be one text or one list of token ids, and not empty", param="prompt")


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise Refused(400, f"{name} must be a string", param=name)
    return value


def _flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise Refused(400, f"{name} must be true or false", param=name)
    return bool(value)


def _object(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name)
    if value is not None and not isinstance(value, dict):
        raise Refused(400, f"{name} must be an object", param=name)
    return value or {}


def _number(body: Mapping[str, Any], name: str, kind: type[int] | type[float]) -> Any:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, kind)):
        raise Refused(400, f"{name} must be {'an integer' if kind is int else 'a number'}", param=name)
    if not abs(value) < 2**64:  # in this form NaN is refused too
        raise Refused(400, f"{name} is out of range", param=name)
    return value


def _given(value: Any, default: Any) -> Any:
    return default if value is None else value

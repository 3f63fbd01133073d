"""What a client of the HTTP server may ask, in the form of OpenAI's API: bodies -> typed requests, refusals -> error bodies.

A field that would change the answer and is not supported is refused, as is one that nobody knows; fields that only label a
request are accepted and ignored.
"""

from __future__ import annotations

import difflib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, cast

from data.errors import UserError
from decoding.api import Json, Message, SamplingParams
from decoding.sampling import check_sampling
from decoding.together import MOST

LABELS = frozenset(
    {
        "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_options",
        "prompt_cache_retention",
    }
)  # fmt: skip
"""Fields about a request, not about its answer."""

NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "best_of": (1,),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "logit_bias": ({},),
    "echo": (False,),
    "suffix": ("",),
    "min_p": (0,),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "parallel_tool_calls": (True, False),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "modalities": (["text"],),
    "audio": (),
    "prediction": (),
    "reasoning_effort": ("none",),
    "verbosity": ("medium",),
    "web_search_options": (),
    "moderation": (),
}
"""Fields that are not supported, with the values at which they ask for nothing. Null is one for each."""

MOST_TOP_LOGPROBS = {True: 20, False: 5}
"""Of chats and of the older method: OpenAI's limits."""
MOST_STOPS = 64
LONGEST_STOP = 1000
"""Characters. OpenAI takes 4 stop strings."""

_OWN = (
    "model", "messages", "prompt", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "top_p",
    "top_k", "repetition_penalty", "seed", "stop", "speculation", "n",
    "logprobs", "top_logprobs", "response_format",
)  # fmt: skip


UNSUPPORTED = "unsupported_parameter"


LONGEST_ERROR = 1000
LONGEST_NAME = 100
"""Characters, of a field's name too: what a request holds may be as long as its body, and is not sent back whole."""


class Refused(Exception):
    """A request that gets an error for an answer; `status` and the body are as in OpenAI's API."""

    def __init__(self, status: int, message: str, *, param: str | None = None, code: str | None = None) -> None:
        message = _sendable(message, LONGEST_ERROR)
        super().__init__(message)
        self.status = status
        param = None if param is None else _sendable(param, LONGEST_NAME)
        kind = "authentication_error" if status == 401 else "invalid_request_error" if status < 500 else "server_error"
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _sendable(text: str, most: int) -> str:
    """At most so many characters of it. Halves of characters that a request held cannot be sent back."""
    shown = text if len(text) <= most else text[: most - 3] + "..."
    return shown.encode(errors="replace").decode()


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
    top_logprobs: int | None = None
    """How many tokens to name beside each token of the answer, with their log probabilities; None for no such list."""
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
    _check_keys(options, {"include_usage": None, "include_obfuscation": (False,)}, "stream_options")
    return Asked(
        model=_text(body, "model"),
        messages=_messages(body.get("messages")) if chat else (),
        prompt=None if chat else _prompt(body.get("prompt")),
        stream=stream,
        include_usage=_flag(options, "include_usage"),
        max_tokens=_max_tokens(body, chat),
        sampling=_sampling(body),
        drafts=_drafts(body.get("speculation")),
        top_logprobs=_top_logprobs(body, chat),
        n=_n(body, stream),
    )


def _check_fields(body: Mapping[str, Any], chat: bool) -> None:
    known = {*_OWN, *LABELS, *NEUTRAL} - {"prompt" if chat else "messages"}
    for name, value in body.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1) if len(name) <= LONGEST_NAME else []
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise Refused(400, f"unrecognised field {_named(name)}{hint}", param=name, code="unknown_parameter")
        if name in NEUTRAL and value is not None and value not in NEUTRAL[name]:
            instead = "".join(f" or send {json.dumps(same)}" for same in NEUTRAL[name][:1])
            raise Refused(
                400, f"{name}: {_shown(value)} is not supported here; leave it out{instead}", param=name, code=UNSUPPORTED
            )


def _check_keys(value: Mapping[str, Any], known: Mapping[str, tuple[Any, ...] | None], where: str) -> None:
    """Refuses keys that are not `known`, and values of those that ask for something which is not done; None is any value."""
    for key, one in value.items():
        if one is None or (key in known and ((allowed := known[key]) is None or one in allowed)):
            continue
        raise Refused(
            400,
            f"{where}.{key[:LONGEST_NAME]}: {_shown(one)} is not supported here; leave it out",
            param=where,
            code=UNSUPPORTED,
        )


def _sampling(body: Mapping[str, Any]) -> SamplingParams:
    stop = body.get("stop")
    stops = [] if stop is None else [stop] if isinstance(stop, str) else stop
    if not isinstance(stops, list) or not all(isinstance(one, str) for one in stops):
        raise Refused(400, "stop must be a string or a list of strings", param="stop")
    if len(stops) > MOST_STOPS or any(len(one) > LONGEST_STOP for one in stops):
        raise Refused(400, f"stop takes at most {MOST_STOPS} strings of {LONGEST_STOP} characters; send fewer", param="stop")
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
        grounding=_response_format(body.get("response_format")),
    )
    try:
        check_sampling(sampling)
    except UserError as error:
        name = next((f.name for f in fields(sampling) if str(error).startswith(f.name)), "stop")
        raise Refused(400, str(error), param=name) from None
    return sampling


def _drafts(value: object) -> bool:
    if value not in (None, "on", "off"):
        raise Refused(400, f"speculation is {_shown(value)}; use 'on' or 'off'", param="speculation")
    return value != "off"


def _top_logprobs(body: Mapping[str, Any], chat: bool) -> int | None:
    """Chats have a flag `logprobs` and a number `top_logprobs`, the older method has a number `logprobs`."""
    if not chat:
        if body.get("top_logprobs") is not None:
            raise Refused(400, "top_logprobs is of chats; here logprobs is the number", param="top_logprobs")
        return None if body.get("logprobs") is False else _at_most(body, "logprobs", MOST_TOP_LOGPROBS[False])
    found = _at_most(body, "top_logprobs", MOST_TOP_LOGPROBS[True])
    if _flag(body, "logprobs"):
        return found or 0
    if found:
        raise Refused(400, "top_logprobs needs logprobs: true", param="top_logprobs")
    return None


def _at_most(body: Mapping[str, Any], name: str, most: int) -> int | None:
    value = _number(body, name, int)
    if value is not None and not 0 <= value <= most:
        raise Refused(400, f"{name} is {value}; it must be from 0 to {most}", param=name)
    return value if value is None else int(value)


def _response_format(value: object) -> Json | None:
    """What `text`, `json_object` and `json_schema` hold an answer to. Whether its schema can be satisfied shows later."""
    if value is None:
        return None
    where = "response_format"
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(value, dict) or kind not in ("text", "json_object", "json_schema"):
        shown = f"{where}.type is {_shown(kind)}" if isinstance(value, dict) else f"{where} must be an object"
        raise Refused(400, f"{shown}; use text, json_object or json_schema", param=where)
    _check_keys(value, {"type": None, **({"json_schema": None} if kind == "json_schema" else {})}, where)
    if kind == "text":
        return None
    if kind == "json_object":
        return Json('{"type": "object"}')
    named = value.get("json_schema")
    if not isinstance(named, dict) or not isinstance(named.get("schema"), dict):
        raise Refused(400, f"{where}.json_schema must be an object with a name and a schema, itself an object", param=where)
    _check_keys(named, {"name": None, "description": None, "schema": None, "strict": (True, False)}, f"{where}.json_schema")
    return Json(json.dumps(named["schema"]))


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
    _check_keys(value, {"role": None, "content": None, "tool_calls": ([],), "annotations": ([],)}, where)
    role = "system" if value.get("role") == "developer" else value.get("role")
    if role not in ("system", "user", "assistant"):
        raise Refused(400, f"{where}.role is {_shown(role)}; use system, developer, user or assistant", param=f"{where}.role")
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


def _shown(value: object) -> str:
    """Short, as JSON."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _named(name: str) -> str:
    return repr(name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "...")


def _given(value: Any, default: Any) -> Any:
    return default if value is None else value

"""What a server of the API answers: a text or its pieces, chances, counts of tokens; refused where that makes no sense."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from decoding.api import SamplingParams, StopReason
from decoding.local import StopCut

EXCERPT_CHARS = 200


def shares_of_tokens(tokens: Sequence[tuple[str, float]], options: Sequence[str]) -> tuple[float, ...]:
    """See `ServerGenerator.choose`; `tokens` are texts with their log probabilities."""
    bare = [option.strip().lower() for option in options]
    weights = [0.0] * len(options)
    for text, logprob in tokens:
        begun = text.strip().lower()
        fitting = [at for at, option in enumerate(bare) if begun and (option.startswith(begun) or begun.startswith(option))]
        if len(fitting) == 1:
            weights[fitting[0]] += math.exp(min(logprob, 0.0))
    total = sum(weights)
    return tuple(weight / total if total else 1 / len(options) for weight in weights)


NO_CONTENT_HINT = "a reasoning model may have spent all tokens on reasoning: switch that off, or raise max_new_tokens"


class NoLogprobs(Exception):
    """Why a server's log probabilities cannot be had."""


class Unusable(Exception):
    """The problem of a parsed answer; becomes a StageError where URL and excerpt are known."""


class Reading:
    """The part of one answer that was read, whole or streamed."""

    def __init__(self, cut: StopCut, sampling: SamplingParams) -> None:
        self.cut = cut
        self.usage: Mapping[str, Any] = {}
        self.finish_reason: str | None = None
        self.has_text = False
        self._sampling = sampling
        self._stop_field: object = _ABSENT

    def take_usage(self, answer: Mapping[str, Any]) -> None:
        if answer.get("error"):
            raise Unusable("the server reports an error")
        if isinstance(usage := answer.get("usage"), dict):
            self.usage = usage

    def take_choice(self, answer: Mapping[str, Any], part: str) -> str:
        """The text of the first choice: all of it (`message`) or what is new (`delta`, may be empty)."""
        choices = answer.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise Unusable("there are no choices")
        choice = choices[0]
        if isinstance(reason := choice.get("finish_reason"), str):
            self.finish_reason = reason
            self._stop_field = choice.get("stop_reason", _ABSENT)
        holder = choice.get(part)
        content = holder.get("content") if isinstance(holder, dict) else None
        if part == "delta" and content is None:
            return ""
        if not isinstance(content, str):
            raise Unusable(f"there is no content; {NO_CONTENT_HINT}")
        self.has_text = True
        return content

    def stop_reason(self) -> StopReason:
        """`stop` for a stop string, `end` for the model's own end. Servers call both "stop"; vLLM's stop_reason says."""
        if self.cut.was_cut:
            return "stop"
        if self.finish_reason == "length":
            return "length"
        if self.finish_reason != "stop":
            return "unknown"
        if isinstance(self._stop_field, str):
            return "stop"
        return "end" if not self._sampling.stop or self._stop_field is not _ABSENT else "unknown"


_ABSENT = object()


def estimated_tokens(text: str) -> int:
    """See `ServerGenerator.count_tokens`."""
    total = 0
    for match in _PIECES.finditer(text):
        piece = match.group(1) or match.group()  # one space belongs to the word behind it
        if piece[0].isascii() and piece[0].isalpha():
            letters_a_token = 4 if piece.islower() else 2 if piece.isupper() and len(piece) > 1 else 3
            total += math.ceil(len(piece) / letters_a_token)
        elif piece.isspace() and piece != "\n":
            total += 1
        else:
            total += len(piece.encode("utf-8", errors="replace"))
    return total


_PIECES = re.compile(r" ?([A-Za-z]+)|[^\S\n]+|[^A-Za-z]")


def count_of(usage: Mapping[str, Any], key: str, estimate: int) -> int:
    value = usage.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else estimate


def events_of(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The data of server-sent events (WHATWG HTML, section 9.2.6); lines end in LF, CRLF or CR."""
    buffer, data = b"", list[bytes]()
    for chunk in chunks:
        buffer += chunk
        # a trailing CR may be half of a CRLF: wait for the next byte
        *lines, buffer = re.split(rb"\r\n|\n|\r(?!$)", buffer)
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:
                yield b"\n".join(data)
                data = []

"""What the judges by a served language model share: quoting, asking until a reply is usable, noticing that the server is gone,
and records of the replies.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from data import codec
from data.errors import StageError, UserError
from data.types import Strict
from decoding.api import Generator, Message, SamplingParams

logger = logging.getLogger(__name__)

T = TypeVar("T")

TRIES = 3
REPLY_TOKENS = 512
"""Room for models that think before they answer, in case the server leaves the thoughts in."""
IN_FLIGHT = 8
MOST_LOST = 5
"""Questions in a row to which the server gave no reply at all; then it is gone, and judging on would only leave holes."""


class Asker:
    """One model, asked at temperature 0 by several threads. `what` a question is about is in messages; `again` is said to
    an unusable reply. `records` is a file of values, one JSON line each."""

    def __init__(self, generator: Generator, *, judge: str, what: str, again: str, records: Path | None) -> None:
        self._generator = generator
        self._judge = judge
        self._what = what
        self._again = again
        self._records = records
        self._writing = threading.Lock()
        self._lost = 0

    def fits(self, messages: Sequence[Message]) -> bool:
        """Whether the model's window holds the question and all tries."""
        room = self._generator.context_tokens - TRIES * REPLY_TOKENS
        return sum(self._generator.count_tokens(message.content) for message in messages) <= room

    def ask(self, messages: Sequence[Message], read: Callable[[str], T | None]) -> tuple[list[str], T | None]:
        """Every reply as it came, and what `read` makes of the first usable one; None after three without.

        Raises:
            UserError: the server refuses the key or the model, or has stopped answering.
        """
        asked, replies = list(messages), list[str]()
        for attempt in range(TRIES):
            try:
                sampling = SamplingParams(max_new_tokens=REPLY_TOKENS, seed=attempt)
                reply = self._generator.generate(asked, sampling).text
            except StageError as error:
                logger.warning("no reply to a %s (try %d of %d): %s", self._what, attempt + 1, TRIES, error)
                continue
            replies.append(reply)
            if (found := read(reply)) is not None:
                self._lost = 0
                return replies, found
            asked = [*messages, Message("assistant", reply[:2000]), Message("user", self._again)]
        self._lost = 0 if replies else self._lost + 1
        if self._lost >= MOST_LOST:
            raise UserError(
                f"{self._judge} has not answered about {self._lost} {self._what}s in a row; see that the server runs, then "
                "give the same command again: what is judged is kept"
            )
        return replies, None

    def record(self, value: Strict) -> None:
        if self._records is None:
            return
        with self._writing:
            self._records.parent.mkdir(parents=True, exist_ok=True)
            with self._records.open("a", encoding="utf-8") as stream:
                stream.write(codec.to_json(value) + "\n")


def judge_name(prefix: str, generator: Generator) -> str:
    """`prefix` and the questions, without the generator's own kind."""
    return f"{prefix}:{generator.name.partition(':')[2] or generator.name}"


def quotation_key(texts: Sequence[str]) -> str:
    """Of the lines around quoted texts. It hashes all of them: to write a line that carries it, a page would have to know
    every other text, and hold its own hash."""
    return codec.sha256(json.dumps(list(texts), ensure_ascii=False))[:16]


def quoted(what: str, text: str, key: str) -> str:
    return f"[{what} {key}]\n{text}\n[END {what} {key}]"


def read_object(reply: str) -> dict[str, Any] | None:
    """A reply that is a JSON object, bare or in a code fence; None for anything else."""
    text = reply.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text.strip("`").removeprefix("json")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None

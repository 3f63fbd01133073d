"""A generator that is asked each question once: answers are kept in a SQLite file and taken over by later runs.

A second article on the same title asks mostly what the first one asked. The key is a hash of the model's fingerprint, the
messages and the sampling, so an answer is the one that decoding again would give.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from data import codec
from data.errors import UserError
from decoding.api import Completion, DecodeStats, Generator, Message, PromptForm, SamplingParams

MOST_ANSWERS = 100_000
"""Some 40 MB. The oldest go first."""


class RememberingGenerator:
    """Implements `decoding.api.Generator`. `hits` counts the answers that were taken over: they cost no tokens and no time."""

    def __init__(self, generator: Generator, path: Path) -> None:
        self._inner = generator
        self._path = path
        self.hits = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._open()) as store, store:
                store.execute(
                    "CREATE TABLE IF NOT EXISTS answers (n INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, answer TEXT NOT NULL)"
                )
        except (OSError, sqlite3.Error) as error:
            raise UserError(f"cannot keep answers in {path} ({error}); remove the file or set WIKIGEN_CACHE") from None

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    @property
    def context_tokens(self) -> int:
        return self._inner.context_tokens

    @property
    def prompt_form(self) -> PromptForm:
        return self._inner.prompt_form

    @property
    def composes(self) -> bool:
        return self._inner.composes

    @property
    def grounds(self) -> bool:
        return self._inner.grounds

    def count_tokens(self, text: str) -> int:
        return self._inner.count_tokens(text)

    def neutralise(self, text: str) -> str:
        return self._inner.neutralise(text)

    def generate(
        self, messages: Sequence[Message], sampling: SamplingParams, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        asked = [codec.to_json(message) for message in messages]
        # Task and sources are hints for drafting: they change the speed, never the text.
        decides = codec.to_json(replace(sampling, task="other", sources=()))
        key = codec.sha256("\n".join([self.fingerprint, *asked, decides]))
        with closing(self._open()) as store:
            found = store.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        if found is not None:
            self.hits += 1
            answer = codec.from_json(Completion, found[0], where=str(self._path))
            if on_text is not None:
                on_text(answer.text)
            return answer
        answer = self._inner.generate(messages, sampling, on_text)
        kept = replace(answer, n_prompt_tokens=0, n_new_tokens=0, stats=DecodeStats(total_s=0.0))
        with closing(self._open()) as store, store:
            store.execute("INSERT OR IGNORE INTO answers (key, answer) VALUES (?, ?)", (key, codec.to_json(kept)))
            store.execute("DELETE FROM answers WHERE n <= (SELECT max(n) FROM answers) - ?", (MOST_ANSWERS,))
        return answer

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=60)

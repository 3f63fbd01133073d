"""A generator that is asked each question once: answers are kept in a SQLite file and taken over by later runs.

A second article on the same title asks mostly what the first one asked. The key is a hash of the model's fingerprint, the
messages and the sampling, so an answer is the one that decoding again would give.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from data import codec
from data.errors import UserError
from decoding.api import Completion, DecodeStats, Generator, Message, PromptForm, Request, SamplingParams
from decoding.choices import check_options

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
    def tuned(self) -> frozenset[str]:
        return self._inner.tuned

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
        key = self._key(messages, sampling)
        known = self._known(key)
        if known is not None:
            if on_text is not None:
                on_text(known.text)
            return known
        answer = self._inner.generate(messages, sampling, on_text)
        self._keep(key, answer)
        return answer

    def generate_many(
        self, requests: Sequence[Request], on_done: Callable[[int, Completion], None] | None = None
    ) -> list[Completion]:
        found: dict[int, Completion] = {}

        def finish(at: int, answer: Completion) -> None:
            found[at] = answer
            if on_done is not None:
                on_done(at, answer)

        tuned = self._inner.tuned
        keys = [self._key(one.messages, one.sampling, one.tuned if one.tuned in tuned else "") for one in requests]
        asking: dict[str, list[int]] = {}
        """Of each key the requests that ask for it: the first one of them is asked."""
        for at, key in enumerate(keys):
            if key not in asking and (known := self._known(key)) is not None:
                finish(at, known)
            else:
                asking.setdefault(key, []).append(at)

        def answered(place: int, answer: Completion) -> None:
            key, (first, *others) = list(asking.items())[place]
            self._keep(key, answer)
            finish(first, answer)
            for other in others:
                self.hits += 1
                finish(other, _without_cost(answer))

        self._inner.generate_many([requests[same[0]] for same in asking.values()], answered)
        return [found[at] for at in range(len(requests))]

    def choose(self, messages: Sequence[Message], options: Sequence[str]) -> tuple[float, ...]:
        return self.choose_many([messages], options)[0]

    def choose_many(
        self, asked: Sequence[Sequence[Message]], options: Sequence[str], question: str = ""
    ) -> list[tuple[float, ...]]:
        check_options(options)
        how = (*options, *((question,) if question else ()))
        keys = [codec.sha256("\n".join([self._hash_of(messages), "choose", *how])) for messages in asked]
        found: list[tuple[float, ...] | None] = []
        for key in keys:
            known = self._known(key)
            found.append(None if known is None else tuple(json.loads(known.text)))
        missing = [at for at, shares in enumerate(found) if shares is None]
        if missing:
            for at, shares in zip(
                missing, self._inner.choose_many([asked[at] for at in missing], options, question), strict=True
            ):
                self._keep(keys[at], Completion(json.dumps(shares), 0, 0, "end", DecodeStats(total_s=0.0)))
                found[at] = shares
        return [shares for shares in found if shares is not None]

    def _hash_of(self, messages: Sequence[Message]) -> str:
        return codec.sha256("\n".join([self.fingerprint, *map(codec.to_json, messages)]))

    def _key(self, messages: Sequence[Message], sampling: SamplingParams, tuned: str = "") -> str:
        asked = [codec.to_json(message) for message in messages]
        # Task and sources are hints for drafting: they change the speed, never the text.
        decides = codec.to_json(replace(sampling, task="other", sources=()))
        return codec.sha256("\n".join([self.fingerprint, *asked, decides, *((tuned,) if tuned else ())]))

    def _known(self, key: str) -> Completion | None:
        with closing(self._open()) as store:
            found = store.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        if found is None:
            return None
        self.hits += 1
        return codec.from_json(Completion, found[0], where=str(self._path))

    def _keep(self, key: str, answer: Completion) -> None:
        with closing(self._open()) as store, store:
            kept = codec.to_json(_without_cost(answer))
            store.execute("INSERT OR IGNORE INTO answers (key, answer) VALUES (?, ?)", (key, kept))
            store.execute("DELETE FROM answers WHERE n <= (SELECT max(n) FROM answers) - ?", (MOST_ANSWERS,))

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=60)


def _without_cost(answer: Completion) -> Completion:
    return replace(answer, n_prompt_tokens=0, n_new_tokens=0, stats=DecodeStats(total_s=0.0))

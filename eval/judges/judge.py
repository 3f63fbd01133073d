"""Does this evidence support this claim? The one question behind every citation score, and a cache for its answers.

A judge's name, revision and threshold are part of each signature: scores of two judges are never compared.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from data import codec
from data.errors import UserError

JudgeKind = Literal["lexical", "embedding", "nli", "llm"]

ASKED_AT_ONCE = 256
"""Pairs between two writes of the cache: enough for a judge to sort them by length, few to lose."""


class Pair(NamedTuple):
    """A claim and the texts that should support it, alone or together. A judge may cut premises, the claim never."""

    premises: tuple[str, ...]
    claim: str


class Identified(Protocol):
    """What signatures and submissions say of a judge."""

    @property
    def name(self) -> str: ...

    @property
    def revision(self) -> str:
        """Changes whenever the same pair could get another score."""
        ...

    @property
    def threshold(self) -> float:
        """A pair is supported when its score is at least this."""
        ...

    @property
    def kind(self) -> JudgeKind: ...


class Judge(Identified, Protocol):
    def score(self, pairs: Sequence[Pair]) -> Sequence[float | None]:
        """Support in [0, 1] of each pair, in order; None where the judge could not decide (a claim longer than its model, an
        unusable reply). A pair's score does not depend on the other pairs."""
        ...


def describe(judge: Identified) -> str:
    """How signatures name a judge, e.g. `embedded@lex1-0a1b2c3d4e5f>=0.6`."""
    return f"{judge.name}@{judge.revision}>={judge.threshold:g}"


class Unjudged(Exception):
    """A judge could not decide about a pair. What a metric then says of the article is null, not 0."""


def decided(judge: Judge, pairs: Sequence[Pair]) -> list[float]:
    """The scores of all pairs. Raises Unjudged when one of them has none."""
    scores = judge.score(pairs) if pairs else ()
    known = [score for score in scores if score is not None]
    if len(known) < len(pairs):
        raise Unjudged(f"{judge.name} left {len(pairs) - len(known)} of {len(pairs)} pairs unjudged")
    return known


class CachedJudge:
    """Any judge, asked once per pair: answers are kept in a SQLite file that several processes may share.

    The key is a hash of the judge's name and revision and of the pair's text, so a new revision starts afresh. Answers are
    stored every `ASKED_AT_ONCE` pairs: a run that breaks off goes on from there. A pair left unjudged is asked again.
    """

    def __init__(self, judge: Judge, path: Path) -> None:
        self.judge = judge
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._open()) as store, store:
                store.execute("CREATE TABLE IF NOT EXISTS scores (key TEXT PRIMARY KEY, score REAL NOT NULL)")
        except (OSError, sqlite3.Error) as error:
            raise UserError(f"cannot keep judge scores in {path} ({error}); remove the file or name another one") from None

    @property
    def name(self) -> str:
        return self.judge.name

    @property
    def revision(self) -> str:
        return self.judge.revision

    @property
    def threshold(self) -> float:
        return self.judge.threshold

    @property
    def kind(self) -> JudgeKind:
        return self.judge.kind

    def score(self, pairs: Sequence[Pair]) -> list[float | None]:
        keys = [self._key(pair) for pair in pairs]
        with closing(self._open()) as store:  # a connection per call: usable from any thread
            known = self._known(store, keys)
            new = list({key: pair for key, pair in zip(keys, pairs, strict=True) if key not in known}.items())
            for at in range(0, len(new), ASKED_AT_ONCE):
                some = new[at : at + ASKED_AT_ONCE]
                scores = self.judge.score([pair for _, pair in some])
                fresh = {key: score for (key, _), score in zip(some, scores, strict=True) if score is not None}
                with store:
                    store.executemany("INSERT OR IGNORE INTO scores VALUES (?, ?)", fresh.items())
                known |= fresh
        return [known.get(key) for key in keys]

    def _key(self, pair: Pair) -> str:
        return codec.sha256(json.dumps([self.name, self.revision, pair.premises, pair.claim], ensure_ascii=False))

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=60)

    @staticmethod
    def _known(store: sqlite3.Connection, keys: Sequence[str]) -> dict[str, float]:
        known: dict[str, float] = {}
        for at in range(0, len(keys), 500):  # SQLite bounds the number of parameters
            some = keys[at : at + 500]
            marks = ",".join("?" * len(some))
            known.update(store.execute(f"SELECT key, score FROM scores WHERE key IN ({marks})", some))
        return known

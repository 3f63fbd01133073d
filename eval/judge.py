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


class Pair(NamedTuple):
    """A claim and the texts that should support it, alone or together. A judge may cut premises, the claim never."""

    premises: tuple[str, ...]
    claim: str


class Judge(Protocol):
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

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Support in [0, 1] of each pair, in order. A pair's score does not depend on the other pairs."""
        ...


def describe(judge: Judge) -> str:
    """How signatures name a judge, e.g. `embedded@lex1-0a1b2c3d4e5f>=0.6`."""
    return f"{judge.name}@{judge.revision}>={judge.threshold:g}"


class CachedJudge:
    """Any judge, asked once per pair: answers are kept in a SQLite file that several processes may share.

    The key is a hash of the judge's name and revision and of the pair's text, so a new revision starts afresh.
    """

    def __init__(self, judge: Judge, path: Path) -> None:
        self._judge = judge
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._open()) as store, store:
                store.execute("CREATE TABLE IF NOT EXISTS scores (key TEXT PRIMARY KEY, score REAL NOT NULL)")
        except (OSError, sqlite3.Error) as error:
            raise UserError(f"cannot keep judge scores in {path} ({error}); remove the file or name another one") from None

    @property
    def name(self) -> str:
        return self._judge.name

    @property
    def revision(self) -> str:
        return self._judge.revision

    @property
    def threshold(self) -> float:
        return self._judge.threshold

    @property
    def kind(self) -> JudgeKind:
        return self._judge.kind

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        keys = [self._key(pair) for pair in pairs]
        with closing(self._open()) as store, store:  # a connection per call: usable from any thread
            known = self._known(store, keys)
            new = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in known}
            if new:
                scores = self._judge.score(list(new.values()))
                fresh = dict(zip(new, scores, strict=True))
                store.executemany("INSERT OR IGNORE INTO scores VALUES (?, ?)", fresh.items())
                known |= fresh
        return [known[key] for key in keys]

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

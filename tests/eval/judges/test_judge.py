from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from data.errors import UserError
from eval.judges.judge import ASKED_AT_ONCE, CachedJudge, Pair, Unjudged, decided, describe


class LengthJudge:
    """A judge that is easy to predict and keeps what it was asked."""

    name, revision, threshold, kind = "length", "1", 0.5, "lexical"

    def __init__(self) -> None:
        self.asked: list[Pair] = []

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        self.asked += pairs
        return [1 / (1 + len(pair.claim) + len("".join(pair.premises))) for pair in pairs]


A, B = Pair(("p",), "one"), Pair(("p", "q"), "three")


def test_the_cache_passes_on_who_judges_and_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    cached = CachedJudge(LengthJudge(), tmp_path / "scores.sqlite")
    assert (describe(cached), cached.kind) == ("length@1>=0.5", "lexical")
    path = tmp_path / "notes.txt"
    path.write_text("not a database, " * 100)
    with pytest.raises(UserError, match=r"notes\.txt"):
        CachedJudge(LengthJudge(), path)


class ForgetfulJudge(LengthJudge):
    """Cannot tell about claims that begin with a question mark, and breaks down after `lasts` pairs."""

    lasts = 10_000

    def score(self, pairs: Sequence[Pair]) -> list[float | None]:  # type: ignore[override]
        if len(self.asked) + len(pairs) > self.lasts:
            raise UserError("gone")
        return [None if pair.claim.startswith("?") else score for pair, score in zip(pairs, super().score(pairs))]


def test_an_unjudged_pair_is_passed_on_asked_again_and_never_a_zero(tmp_path: Path) -> None:
    judge = ForgetfulJudge()
    cached = CachedJudge(judge, tmp_path / "scores.sqlite")
    unknown = Pair(("p",), "?")
    for _ in range(2):
        assert cached.score([A, unknown]) == [*LengthJudge().score([A]), None]
    assert judge.asked == [A, unknown, unknown]
    with pytest.raises(Unjudged, match="1 of 2"):
        decided(cached, [A, unknown])
    assert decided(cached, [A, B]) == LengthJudge().score([A, B])


def test_what_was_judged_before_a_breakdown_is_kept(tmp_path: Path) -> None:
    pairs = [Pair(("p",), "x" * n) for n in range(3 * ASKED_AT_ONCE)]
    broken = ForgetfulJudge()
    broken.lasts = 2 * ASKED_AT_ONCE
    with pytest.raises(UserError):
        CachedJudge(broken, tmp_path / "scores.sqlite").score(pairs)
    mended = ForgetfulJudge()
    assert CachedJudge(mended, tmp_path / "scores.sqlite").score(pairs) == LengthJudge().score(pairs)
    assert mended.asked == pairs[2 * ASKED_AT_ONCE :]

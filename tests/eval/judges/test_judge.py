from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from data.errors import UserError
from eval.judges.judge import ASKED_AT_ONCE, CachedJudge, Judge, Pair, Unjudged, decided, describe


class LengthJudge:
    """A judge that is easy to predict and keeps what it was asked."""

    kind = "lexical"
    threshold = 0.5

    def __init__(self, name: str = "length", revision: str = "1") -> None:
        self.name = name
        self.revision = revision
        self.asked: list[Pair] = []

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        self.asked += pairs
        return [1 / (1 + len(pair.claim) + len("".join(pair.premises))) for pair in pairs]


A, B = Pair(("p",), "one"), Pair(("p", "q"), "three")


def test_a_pair_is_judged_once_and_the_answer_survives_the_process(tmp_path: Path) -> None:
    first = LengthJudge()
    cached: Judge = CachedJudge(first, tmp_path / "deep" / "scores.sqlite")
    scores = cached.score([A, B, A])
    assert scores == LengthJudge().score([A, B, A])
    assert first.asked == [A, B]

    later = LengthJudge()
    assert CachedJudge(later, tmp_path / "deep" / "scores.sqlite").score([B, A]) == [scores[1], scores[0]]
    assert later.asked == []


def test_scores_come_back_to_the_last_bit(tmp_path: Path) -> None:
    pairs = [Pair(("p",), "x" * n) for n in range(1200)]  # more than SQLite takes parameters for at once
    cached = CachedJudge(LengthJudge(), tmp_path / "scores.sqlite")
    assert cached.score(pairs) == cached.score(pairs) == LengthJudge().score(pairs)


def test_another_revision_name_claim_or_grouping_of_premises_is_another_question(tmp_path: Path) -> None:
    path = tmp_path / "scores.sqlite"
    CachedJudge(LengthJudge(), path).score([A])
    for judge in (LengthJudge(revision="2"), LengthJudge(name="other")):
        CachedJudge(judge, path).score([A])
        assert judge.asked == [A]
    same = LengthJudge()
    split = [Pair(("ab", "c"), "x"), Pair(("a", "bc"), "x"), Pair(("a",), "bcx")]
    CachedJudge(same, path).score(split)
    assert same.asked == split


def test_the_cache_passes_on_who_judges(tmp_path: Path) -> None:
    cached = CachedJudge(LengthJudge(), tmp_path / "scores.sqlite")
    assert (cached.name, cached.revision, cached.threshold, cached.kind) == ("length", "1", 0.5, "lexical")
    assert describe(cached) == "length@1>=0.5"


def test_several_threads_may_share_a_cache(tmp_path: Path) -> None:
    cached = CachedJudge(LengthJudge(), tmp_path / "scores.sqlite")
    pairs = [Pair(("p",), "x" * n) for n in range(50)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: cached.score(pairs), range(8)))
    assert all(answer == LengthJudge().score(pairs) for answer in answers)


def test_no_question_no_answer(tmp_path: Path) -> None:
    judge = LengthJudge()
    assert CachedJudge(judge, tmp_path / "scores.sqlite").score([]) == []
    assert judge.asked == []


def test_a_file_that_is_no_cache_is_named(tmp_path: Path) -> None:
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

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.strata import STRATA, Traits, members, read_traits, stratify, traits_of
from data.runs import RunFolder
from data.scores import EventScores
from data.snapshot import SAMPLE, Snapshot
from eval.aggregate import estimate
from tests.eval.cases import gold, page

LONG_LINE = "word " * 12


def row(event_id: str, value: float | None, status: str = "ok") -> EventScores:
    return EventScores(event_id, status, "", 1, {"cite_f1": value, "rouge2_f": 0.5})  # type: ignore[arg-type]


PLAIN = Traits(evidence_words=100, list_like=False, year=None, infobox=False)


@pytest.mark.parametrize(
    ("text", "year", "list_like"),
    [
        ("Founded in 1998, it won in 2021 and 2022.", 2021, True),
        (f"{LONG_LINE} From 2020 to 2023.", 2021.5, False),
        ("It has 12021 rooms and 999 doors.", None, True),
        (f"{LONG_LINE}\nshort", None, False),
        (f"{LONG_LINE}\nshort\n==Cast==", None, True),  # most lines are short
        ("", None, False),
    ],
)
def test_the_traits_of_a_topic(text: str, year: float | None, list_like: bool) -> None:
    pages = (page("one two three"), page("four five", drop_reason="blocked"), page("six"))
    assert traits_of(gold(text), pages) == Traits(evidence_words=4, list_like=list_like, year=year, infobox=False)
    assert traits_of(gold(text, [("Date", "2022")]), ()).infobox


def test_every_event_is_in_one_stratum_of_each_kind() -> None:
    traits = {str(n): replace(PLAIN, evidence_words=n, year=2018 + n if n else None, list_like=n % 2 == 0) for n in range(7)}
    found = members(traits)
    for kind in ("evidence", "reference", "topic", "infobox"):
        ids = [i for name, of in found.items() if name.startswith(kind) for i in of]
        assert sorted(ids) == sorted(traits)
    assert [found[name] for name in STRATA[:3]] == [("0", "1", "2"), ("3", "4"), ("5", "6")]
    assert found["topic: before"] == ("0", "1", "2") and found["reference: list-like"] == ("0", "2", "4", "6")
    assert "infobox: with" not in found and set(found) <= set(STRATA) and members({}) == {}
    equal = members(dict.fromkeys("fedcba", PLAIN))
    assert equal == members(dict.fromkeys("abcdef", PLAIN)) and equal["evidence: small"] == ("a", "b")


def test_estimates_are_of_the_events_of_a_stratum_failures_included() -> None:
    traits = {i: replace(PLAIN, infobox=i in "ab") for i in "abcd"}
    rows = [row("a", 0.8), row("b", 0.0, "failed"), row("c", 0.6), row("d", None), row("e", 1.0)]
    found = stratify(traits, rows, resamples=200, seed=1)
    assert found["infobox: with"].events == ("a", "b")
    assert list(found["infobox: with"].estimates) == ["cite_f1"]  # of the headline, what the rows have
    assert found["infobox: with"].estimates["cite_f1"] == estimate(
        [0.8, 0.0], name="cite_f1", seed=1, resamples=200, n_failed=1
    )
    without = found["infobox: without"].estimates["cite_f1"]
    assert (without.mean, without.n, without.n_unscored) == (0.6, 1, 1)
    nothing = stratify({"d": PLAIN}, rows, resamples=200, seed=1)
    assert nothing["topic: before"].estimates == {}


def test_traits_of_events_that_can_be_read(tmp_path: Path) -> None:
    snapshot, run = Snapshot(SAMPLE), RunFolder(tmp_path)
    first, second = snapshot.ids("search")[:2]
    run.event(first).pages(lambda: (page("three words here"),))
    found = read_traits(run, snapshot, (first, second), lambda event: (page("one"),))
    assert (found[first].evidence_words, found[second].evidence_words) == (3, 1)
    assert found[first].infobox

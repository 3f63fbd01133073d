"""Pairs of a human fact and an article, drawn for a reader."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from data.errors import UserError
from data.gold import load_gold
from data.snapshot import SAMPLE, Snapshot
from eval.cards.told_accuracy import Judged
from eval.judges.overlap_judge import OverlapJudge
from eval.metrics.told_facts import Facts, reference_claims
from tools.quality import told_readings
from tools.quality.told_readings import Told, articles, counted, drawn, folders, nearness, print_card, shown

EVENT = "9000001"
SNAPSHOT = Snapshot(SAMPLE)
FACTS = reference_claims(load_gold(SNAPSHOT, EVENT).prose)


@pytest.fixture
def told(tmp_path: Path) -> Told:
    """An article that says every second fact of the human one, and nothing else."""
    (tmp_path / "copier").mkdir()
    text = " ".join(f"{fact}[1]" for fact in FACTS[:20:2])
    (tmp_path / "copier" / f"{EVENT}.json").write_text(json.dumps({"text": text, "retrieve": ["a page"]}))
    (found,) = articles(SNAPSHOT, folders(tmp_path, ()), [EVENT, "9000002"])
    return found


def test_as_many_told_as_not_are_drawn_and_stand_for_all(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told_readings, "A_SYSTEM", {"told": 4, "near": 4, "far": 2})
    facts = Facts(OverlapJudge())
    found = drawn([told], facts, seed=0)
    held = facts.held(told.facts, told.sentences)
    assert sum(one.weight for one in found) == pytest.approx(len(FACTS), abs=0.01)
    assert sum(one.weight for one in found if one.stratum == "told") == pytest.approx(sum(held), abs=0.01)
    assert sum(one.stratum == "told" for one in found) == 4
    assert all(held[one.place] == (one.stratum == "told") for one in found)
    assert len({one.id for one in found}) == len(found)
    assert drawn([told], facts, seed=0) == found != drawn([told], facts, seed=1)


def test_the_reader_is_not_told_what_the_measure_says(told: Told) -> None:
    reading = replace(drawn([told], Facts(OverlapJudge()), seed=0)[0], place=0)
    text = shown(reading, {(EVENT, "copier"): told}, n_alike=1)
    assert FACTS[0] in text and "\n   0 " in text
    assert "copier" not in text and "told\n" not in text
    assert nearness(told, 0) == 1 and min(nearness(told, place) for place in range(1, 20, 2)) < 0.5


def test_another_article_is_left_out_and_counted(told: Told, capsys: pytest.CaptureFixture[str]) -> None:
    facts = Facts(OverlapJudge())
    first = replace(drawn([told], facts, seed=0)[0], label="told", wording="copy", second="told")
    there = {(EVENT, "copier"): told}
    others = (replace(first, article="0"), replace(first, fact="0"), replace(first, event="1"))
    found, n_absent = counted([first, *others], there, facts)
    assert [one.reading for one in found] == [first] and n_absent == 3
    assert counted([replace(first, label="")], there, facts) == ([], 0)
    print_card([*found, Judged(replace(first, label="not", wording=""), True)], n_absent)
    out = capsys.readouterr().out
    assert "worded as copy" in out and "3 pairs left out" in out and "read twice: 2" in out


def test_folders_that_are_not_there_are_named(tmp_path: Path) -> None:
    for place, also in ((tmp_path / "no", ()), (None, ("ours",)), (None, (f"ours={tmp_path}/no",)), (None, ())):
        with pytest.raises(UserError):
            folders(place, also)

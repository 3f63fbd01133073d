"""Readings of told facts: the shares are of all pairs that the drawn ones stand for."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from data.errors import UserError
from eval.cards.told_accuracy import FAR, FILE, Judged, Label, Reading, agreement, by, by_system, half_of, kappa, read_readings


def judged(counted: bool, label: Label, weight: float = 1.0, system: str = "a", stratum: str = "told") -> Judged:
    return Judged(Reading("r", "1", system, "0", "0", 0, stratum, weight, "once", label, "own"), counted)


def test_no_stratum_is_certain_however_few_were_read_and_nothing_read_says_nothing() -> None:
    (few,) = by([judged(True, "told", 50.0)], lambda one: one.reading.system).values()
    many, none = agreement([judged(True, "told", 1.0)] * 50), agreement([])
    assert few.error is not None and many.error is not None and few.error > 3 * many.error > 0
    assert none.n == 0 and none.accuracy is none.error is none.missed is None
    assert by([judged(True, "told", system="")], lambda one: one.reading.system) == {}


def test_kappa_is_of_two_readings_beyond_chance() -> None:
    assert kappa([("told", "told"), ("not", "not")]) == 1
    assert kappa([("told", "told"), ("told", "not"), ("not", "told"), ("not", "not")]) == 0
    assert math.isclose(kappa([("told", "told")] * 3 + [("not", "not")] * 3 + [("partly", "not")]) or 0, 0.745, abs_tol=0.01)
    assert kappa([]) is None and kappa([("told", "told")]) is None


def test_the_shipped_readings_are_whole_and_hold_no_text() -> None:
    found = read_readings(FILE)
    assert len(found) >= 200 and len({one.id for one in found}) == len(found)
    assert all(one.label in ("told", "partly", "not") and one.weight > 0 for one in found)
    assert all(one.wording for one in found if one.label in ("told", "partly"))
    assert sum(one.second != "" for one in found) >= 40
    assert all(" " not in f"{one.id}{one.event}{one.system}{one.article}{one.fact}" for one in found)
    halves = [sum(one.half == half for one in found) for half in ("choose", "once")]
    assert abs(halves[0] - halves[1]) <= len(found) / 5


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"id": "told-1"}\n')
    with pytest.raises(UserError, match=r"r\.jsonl:1"):
        read_readings(tmp_path / "r.jsonl")
    with pytest.raises(UserError, match="told_readings draw"):
        read_readings(tmp_path / "no.jsonl")


def test_a_system_borrows_of_the_rest_what_all_systems_show() -> None:
    told = [judged(True, "told", 10.0, "a"), judged(False, "told", 90.0, "a", FAR), judged(True, "told", 10.0, "b")]
    found = by_system([*told, *[judged(False, "not", 30.0, "b", FAR)] * 3])
    assert {name: one.n for name, one in found.items()} == {"a": 2, "b": 4}
    for one in found.values():
        assert one.accuracy == pytest.approx((10 + 90 * 3 / 4) / 100)
        assert one.read_recall == pytest.approx((10 + 90 / 4) / 100)


def test_a_half_stands_for_all_pairs() -> None:
    rows = [judged(False, "not", weight).reading for weight in (1.0, 1.0, 2.0)]
    found = half_of([rows[0], replace(rows[1], half="choose"), replace(rows[2], half="choose")], "choose")
    assert [one.weight for one in found] == pytest.approx([4 / 3, 8 / 3])

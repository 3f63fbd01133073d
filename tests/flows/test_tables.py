"""The printed tables of scores, floors and comparisons, from values made up here."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table

from benchmark.floors import CEILINGS, FLOORS
from benchmark.scoring import HEADLINE
from benchmark.strata import STRATA, Stratum
from data.scores import Estimate, SystemScores
from flows.evaluate import COLUMNS, TABLE, score_table, strata_table

NAMES = [name for _, names in TABLE for name in names]


def scores(mean: float, n_unscored: int = 0) -> SystemScores:
    estimates = {name: Estimate(mean, mean - 0.1, min(mean + 0.1, 1.0), 200, 0, n_unscored) for name in NAMES}
    return SystemScores("extractive", "search", "full", "x", estimates, ())


def printed(table: Table) -> str:
    """As `console.show` prints it where there is no terminal."""
    stream = io.StringIO()
    Console(file=stream, width=110, highlight=False).print(table)
    return stream.getvalue()


def line(text: str, name: str) -> str:
    (found,) = [row for row in text.splitlines() if name in row.split()]
    return found


def test_all_columns_fit_into_a_narrow_terminal() -> None:
    beside = {floor: dict.fromkeys(NAMES, 1.0) for floor in (*FLOORS, *CEILINGS)}
    text = printed(score_table(scores(1.0, n_unscored=118), beside))
    assert "\N{HORIZONTAL ELLIPSIS}" not in text and max(map(len, text.splitlines())) <= 110
    assert all(head in text for head in (*COLUMNS.values(), "unscored")) and set(COLUMNS) == {*FLOORS, *CEILINGS} - {
        "reference_minus_20"
    }
    assert line(text, "storm_heading_entities").split()[-10:] == ["100.0", "90.0-100.0", *["100.0"] * 7, "118"]


def test_a_headline_metric_that_a_floor_reaches_is_marked() -> None:
    beside = {
        "wrong_article": {"heading_f": 0.5, "rouge2_f": 0.9},
        "lead": {"ib_hard": 0.6, "cite_recall": 0.4},
        "reference": {"heading_f": 1.0, "grounded": 1.0},
    }
    text = printed(score_table(scores(0.5), beside))
    marked = [row.split()[0 if row.split()[0] in NAMES else 1] for row in text.splitlines() if "50.0!" in row]
    assert sorted(marked) == ["heading_f", "ib_hard"]  # ROUGE-2 is no headline metric, and a ceiling may be above
    assert "! a floor" in text
    assert "!" not in printed(score_table(scores(0.7), beside)) and "!" not in printed(score_table(scores(0.7)))


def test_soft_heading_recall_is_clipped_in_print_alone() -> None:
    made = scores(0.5)
    made.estimates["storm_hsr"] = Estimate(1.06, 1.02, 1.12, 3, 0, 0)
    made.estimates["length_ratio"] = Estimate(1.06, 1.02, 1.12, 3, 0, 0)
    text = printed(score_table(made))
    assert line(text, "storm_hsr").split()[-2:] == ["100.0", "100.0-100.0"]
    assert line(text, "length_ratio").split()[-2:] == ["106.0", "102.0-112.0"]


@pytest.mark.parametrize("name", HEADLINE)
def test_the_headline_is_in_the_table(name: str) -> None:
    assert f"{name} *" in printed(score_table(scores(0.5)))


def test_strata_say_how_many_events_they_have() -> None:
    found = {
        STRATA[0]: Stratum(("1", "2"), {"cite_recall": Estimate(0.5, 0.25, 0.75, 2, 0, 0)}),
        STRATA[1]: Stratum(("3",), {"cite_recall": Estimate(1.0, 1.0, 1.0, 1, 0, 0)}),
    }
    rows = printed(strata_table(found)).splitlines()
    assert [row.split() for row in rows if "cite_recall" in row] == [
        ["evidence:", "small", "cite_recall", "50.0", "25.0-75.0", "2"],
        ["evidence:", "medium", "cite_recall", "100.0", "100.0-100.0", "1"],
    ]

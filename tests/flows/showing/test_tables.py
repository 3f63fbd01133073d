"""The printed tables of scores, floors and comparisons, from values made up here."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table

from benchmark.floors import CEILINGS, COLUMNS, FLOORS
from benchmark.strata import STRATA, Stratum
from data.scores import Estimate, SystemScores
from eval.catalogue import BESIDE, CATALOGUE, HEADLINE, entry
from flows.run_scores import explained, preconditions, score_table, strata_table

NAMES = [*HEADLINE, *BESIDE, *(name for name in CATALOGUE if name not in (*HEADLINE, *BESIDE))]


def scores(mean: float, n_unscored: int = 0) -> SystemScores:
    estimates = {name: Estimate(mean, mean - 0.1, min(mean + 0.1, 1.0), 200, 0, n_unscored) for name in NAMES}
    estimates["judged_share"] = Estimate(1.0, 1.0, 1.0, 200, 0, n_unscored)
    return SystemScores("extractive", "search", "full", "x", estimates, ())


def printed(table: Table) -> str:
    """As `console.show` prints it where there is no terminal."""
    stream = io.StringIO()
    Console(file=stream, width=110, highlight=False).print(table)
    return stream.getvalue()


def line(text: str, name: str) -> str:
    (found,) = [row for row in text.splitlines() if name in row.split()]
    return found


@pytest.mark.parametrize("everything", [False, True])
def test_all_columns_fit_into_a_narrow_terminal(everything: bool) -> None:
    beside = {floor: dict.fromkeys(NAMES, 1.0) for floor in (*FLOORS, *CEILINGS)}
    text = printed(score_table(scores(1.0, n_unscored=118), beside, everything=everything))
    assert "\N{HORIZONTAL ELLIPSIS}" not in text and max(map(len, text.splitlines())) <= 110
    assert all(head in text for head in (*COLUMNS.values(), "unscored"))
    assert set(COLUMNS) == {*FLOORS, *CEILINGS} - {"reference_minus_20"}
    last = "storm_heading_entities" if everything else "verbatim_share"
    assert line(text, last).split()[-10:] == ["100.0", "90.0-100.0", *["100.0"] * 7, "118"]


def test_the_headline_alone_is_printed_each_explained_in_a_line_and_how_to_see_the_rest() -> None:
    text = printed(score_table(scores(0.5)))
    shown = [name for name in NAMES if any(name in row.split()[:3] and "-" in row for row in text.splitlines())]
    assert shown == [*HEADLINE, *BESIDE, *(name for name in NAMES if name.startswith("rubric"))]
    lines, meant = explained(scores(0.5)), [name for name in shown if not name.startswith("rubric")]
    assert [row.split(maxsplit=1) for row in lines] == [[name, entry(name).meaning] for name in meant]
    assert max(map(len, lines)) <= 110
    assert all(f"{name} *" in text for name in HEADLINE) and not any(f"{name} *" in text for name in BESIDE)
    assert "* headline metric" in text and f"{len(NAMES) - len(shown)} more metrics: --all" in text
    whole = printed(score_table(scores(0.5), everything=True))
    assert "more metrics" not in whole and all(name in whole.split() for name in NAMES)
    assert len(set(NAMES)) == len(NAMES)


def test_failed_preconditions_are_named_with_what_fails_them() -> None:
    good = {"fact_f": 0.3, "cite_f1": 0.95, "copied_share": 0.2, "verbatim_share": 0.1, "junk_share": 0.0}
    assert preconditions(good) == ["preconditions failed: none"]
    lines = preconditions(good | {"copied_share": 0.99, "verbatim_share": 0.9, "junk_share": 0.741})
    told = " ".join(" ".join(lines).split())
    assert max(map(len, lines)) <= 110 and told == (
        "preconditions failed: originality (copied_share 99.0, at most 50; verbatim_share 90.0, at most 25); "
        "junk (junk_share 74.1, at most 10)"
    )


def test_unknown_support_is_printed_as_unknown() -> None:
    made = scores(0.5)
    made.estimates["judged_share"] = Estimate(0.25, 0.2, 0.3, 3, 0, 0)
    row = next(row for row in printed(score_table(made)).splitlines() if "cite_f1 *" in row)
    assert "unknown" in row and "50.0" not in row
    means = {name: e.mean for name, e in made.estimates.items()}
    assert any(line.startswith("support is unknown: only 25% of the claims") for line in preconditions(means))


def test_ratios_may_exceed_a_hundred() -> None:
    made = scores(0.5)
    for name in ("storm_hsr", "length_ratio"):
        made.estimates[name] = Estimate(1.06, 1.02, 1.12, 3, 0, 0)
        assert line(printed(score_table(made, everything=True)), name).split()[-2:] == ["106.0", "102.0-112.0"]


def test_strata_say_how_many_events_they_have() -> None:
    found = {
        STRATA[0]: Stratum(("1", "2"), {"cite_f1": Estimate(0.5, 0.25, 0.75, 2, 0, 0)}),
        STRATA[1]: Stratum(("3",), {"cite_f1": Estimate(1.0, 1.0, 1.0, 1, 0, 0)}),
    }
    rows = [row.split() for row in printed(strata_table(found)).splitlines() if "cite_f1" in row]
    assert rows == [
        ["evidence:", "small", "cite_f1", "50.0", "25.0-75.0", "2"],
        ["evidence:", "medium", "cite_f1", "100.0", "100.0-100.0", "1"],
    ]

from __future__ import annotations

import pytest

from pipeline.reading.row_lines import Grid, heads_of, said


def lines(*rows: tuple[str, ...], heads: int = 1, **more: object) -> list[str]:
    return list(said(Grid(rows, heads, **more)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("head", "cell", "told"),
    [
        ("Votes", "18,204", "18,204 votes"),
        ("Share", "38.1", "38.1 %"),
        ("% of votes", "38.1", "38.1 % of votes"),
        ("Swing (%)", "+2.1", "swing +2.1 %"),
        ("Leader", "Anna Berg", "leader Anna Berg"),
        ("Adams", "54", "Adams 54"),  # a name is not what is counted
        ("Years", "1999", "years 1999"),
        ("GDP", "1,204", "GDP 1,204"),
        ("#", "3", "no. 3"),
        ("", "3", "3"),
        ("Event", "The dam failed in the early morning of that day.", "The dam failed in the early morning of that day."),
    ],
)
def test_how_a_cell_is_said(head: str, cell: str, told: str) -> None:
    assert lines(("Name", head, "Town"), ("X", cell, "")) == [f"X: {told}"]


def test_ranks_stand_behind_the_name_and_blanks_nowhere() -> None:
    assert lines(("Pos", "Club", "Points"), ("1", "Ostrel", "40"), ("2", "Lauren", "–"), ("", "", "")) == [
        "Ostrel: Pos 1, 40 points",
        "Lauren: Pos 2",
    ]


def test_commas_inside_of_cells_are_no_borders() -> None:
    assert lines(("Name", "Born", "Club"), ("A. Berg", "Ostrel, Lauren", "Mill")) == ["A. Berg: Born Ostrel, Lauren; club Mill"]


def test_captions_headings_and_repeated_heads() -> None:
    rows = (("Club", "Points"), ("North", "North"), ("Ostrel", "40"), ("Club", "Points"), ("Lauren", "30"))
    assert lines(*rows, caption="Table") == ["Table", "North", "Ostrel: 40 points", "Lauren: 30 points"]


def test_unmarked_heads_are_words_above_figures() -> None:
    rows = (("Club", "Points"), ("Ostrel", "40"), ("Lauren", "30"))
    assert heads_of(rows) == 1
    assert heads_of(rows[1:]) == 0
    assert heads_of((("Ostrel", "40"), *rows[1:])) == 0
    assert heads_of((("a", "b"), ("c", "d"), ("e", "f"))) == 0

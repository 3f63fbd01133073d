"""Several winners of one contest."""

from __future__ import annotations

import pytest

from pipeline.article_plan import Statement
from pipeline.choosing.one_winner import rivals
from pipeline.choosing.subject import Subject

TITLE = "2031 Osmere Grand Prix"
HOLM = "Kari Holm won the 2031 Osmere Grand Prix."
FENN = "Ida Fenn won the Osmere Grand Prix ahead of Jon Abt."


@pytest.mark.parametrize(
    ("told", "gone"),
    [
        ([(HOLM, "0"), (HOLM.replace("Kari ", ""), "1"), (FENN, "2")], {2}),  # two pages against one
        ([(HOLM, "0"), (FENN, "2")], {0, 1}),  # one against one: nobody knows
        ([(HOLM, "0"), (HOLM.replace("Kari ", ""), "1")], set()),
        ([(HOLM, "0"), ("Ida Fenn won the first heat in Kettlin.", "2")], set()),  # another contest
        ([(HOLM, "0"), ("Ida Fenn won the 2031 Kettlin Grand Prix.", "2")], set()),
        ([(HOLM, "0"), ("Ida Fenn led the 2031 Osmere Grand Prix.", "2")], set()),
    ],
)
def test_the_winner_of_whom_most_pages_tell_stays(told: list[tuple[str, str]], gone: set[int]) -> None:
    statements = [Statement(text, (f"{page}:0-80",), (), "") for text, page in told]
    assert rivals(statements, Subject(TITLE, ())) == gone

"""Who made the subject, in the sentence that says what it is."""

from __future__ import annotations

import pytest

from data.types import Heading, Section, Sentence
from pipeline.writing.makers import with_makers

EPISODE = "Harbour Day is an episode of Tidewater."


def lead(*texts: str, name: str = "Harbour Day") -> list[Sentence]:
    sentences = tuple(Sentence(text, (f"{n}:0-9",)) for n, text in enumerate(texts))
    return list(with_makers(Section(Heading("", 2), (sentences,)), name).sentences)


def test_makers_stand_behind_the_definition_with_their_citations() -> None:
    first, last = lead(
        EPISODE, "Mara Voss directed Harbour Day.", "Harbour Day was written by Kari Holm.", "It ran for an hour."
    )
    assert first.text == "Harbour Day is an episode of Tidewater, directed by Mara Voss and written by Kari Holm."
    assert first.cites == ("0:0-9", "1:0-9", "2:0-9") and last.text == "It ran for an hour."


def test_three_makers_are_a_list_and_a_long_definition_stays_alone() -> None:
    made = ["Mara Voss directed Harbour Day.", "Kari Holm wrote Harbour Day.", "Ole Brand and Ida Moen produced Harbour Day."]
    (alone,) = lead(EPISODE, *made)
    assert alone.text.endswith("directed by Mara Voss, written by Kari Holm and produced by Ole Brand and Ida Moen.")
    tangled = "Harbour Day is an episode, which was shown in May."
    assert [one.text for one in lead(tangled, made[0])] == [tangled, "Harbour Day was directed by Mara Voss."]


def test_what_the_definition_says_is_not_said_again() -> None:
    defined = "Harbour Day is an episode directed by Mara Voss."
    assert [one.text for one in lead(defined, "Mara Voss directed Harbour Day.")] == [defined]
    # What the same person did beside it is, and who else is said to have done it stays.
    both = f"{defined[:-1]}, written by Mara Voss."
    assert [one.text for one in lead(defined, "Mara Voss wrote Harbour Day.")] == [both]
    other = "Ole Brand directed Harbour Day."
    assert [one.text for one in lead(defined, other)] == [defined, other]


@pytest.mark.parametrize(
    "other",
    [
        "Mara Voss liked Harbour Day.",
        "Mara Voss directed Harbour Day in Osmere.",
        "Mara Voss, who lives there, directed Harbour Day.",
        "Harbour Day was directed by a friend.",
        "Mara Voss directed Harbour Days.",
    ],
)
def test_anything_else_stands_alone(other: str) -> None:
    assert [one.text for one in lead(EPISODE, other)] == [EPISODE, other]


def test_a_lead_that_says_not_what_it_is_stays() -> None:
    assert [one.text for one in lead("Harbour Day won a prize.", "Mara Voss directed Harbour Day.")] == [
        "Harbour Day won a prize.",
        "Mara Voss directed Harbour Day.",
    ]
    assert lead() == []

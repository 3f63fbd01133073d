"""Orders of clauses: what each step makes of a sentence, and the sentences that could be read otherwise and stay."""

from __future__ import annotations

import pytest

from pipeline.writing.masking import Masked
from pipeline.writing.rewording import compare
from pipeline.writing.small_steps import orders

TURNED = [
    (
        "The company will release Quiet Harbour in cinemas on 3 October.",
        "Quiet Harbour will be released by the company in cinemas on 3 October.",
    ),
    (
        "The Court of Appeal upheld the conviction of Jon Abt.",
        "The conviction of Jon Abt was upheld by the Court of Appeal.",
    ),
    (
        "Directed by Ana Ruiz in Osmere, the film opens the festival in June.",
        "The film, directed by Ana Ruiz in Osmere, opens the festival in June.",
    ),
    (
        "The old hall, designed by W. Kruger and Sons, opened its doors to students in 1974.",
        "Designed by W. Kruger and Sons, the old hall opened its doors to students in 1974.",
    ),
    (
        "The season ended with the Harbour Cup, which took place on 29 November at the Osmere track.",
        "The season ended with the Harbour Cup. The Harbour Cup took place on 29 November at the Osmere track.",
    ),
    (
        "The series remembers the work of Karl Willetts, who rejoined the band in November 2004.",
        "The series remembers the work of Karl Willetts. Willetts rejoined the band in November 2004.",
    ),
    (
        "Oldvik left the council after she lost the vote on the harbour.",
        "After Oldvik lost the vote on the harbour, she left the council.",
    ),
    (
        "The shelter is built of local stone and wood beams; the interior has four wooden benches.",
        "The shelter is built of local stone and wood beams. The interior has four wooden benches.",
    ),
    (
        "Older workers of the species are dark brown, while the lighter ones are a few days old.",
        "Older workers of the species are dark brown. The lighter ones are a few days old.",
    ),
    (
        "Dozens of roads were closed, including many along the spine of the Green Mountains.",
        "Dozens of roads were closed. They included many along the spine of the Green Mountains.",
    ),
    (
        "Due to internal disputes, the national council did not take part in the election.",
        "The national council did not take part in the election due to internal disputes.",
    ),
    ("Martins Ferry is the biggest city in the county.", "The biggest city in the county is Martins Ferry."),
    (
        "Manganese was used in the glass mixture to add clarity to the finished product.",
        "In the glass mixture, manganese was used to add clarity to the finished product.",
    ),
    (
        "Search dogs were used in May to find survivors of the flood.",
        "To find survivors of the flood, search dogs were used in May.",
    ),
    (
        "Julia Tamm began karting at the age of eight and has been racing in national series since then.",
        "Julia Tamm began karting at the age of eight. Julia Tamm has been racing in national series since then.",
    ),
    (
        "Before “Quiet Harbour” (2019) was shown in Osmere, the council opened a new cinema.",
        "The council opened a new cinema before “Quiet Harbour” (2019) was shown in Osmere.",
    ),
]
STAYING = [
    "It is the deadliest storm in the history of the county.",  # "The deadliest storm ... is It"
    "He won again in Osmere, which is a rare thing.",  # "which" is the winning, not the town
    "A man died in Ifugao due to heavy rains.",  # "In Ifugao due, ..."
    "One is late when she shows up for an appointment.",
    "The awards are announced by a jury and presented to the winners at a conference of the two old academies.",  # a participle
]


@pytest.mark.parametrize(("fact", "turned"), TURNED)
def test_a_step_keeps_the_meaning(fact: str, turned: str) -> None:
    found = orders(fact)
    assert found[0] == fact and turned in found
    assert not compare(turned, (fact,), "Osmere").faults


@pytest.mark.parametrize("fact", STAYING)
def test_what_could_be_read_otherwise_stays(fact: str) -> None:
    assert orders(fact) == (fact,)


@pytest.mark.parametrize(
    ("sentence", "plain"),
    [
        ("“Lucky Day,” the fourth episode, is set in Osmere.", "Xqa, the fourth episode, is set in Osmere."),
        ("He read “The Well.”", "He read Xqa."),
        ("A press in Louisville, Kentucky, sold it.", "A press in Xqa, sold it."),
        ("Formica fusca (Linnaeus 1758) is an ant.", "Formica xqa is an ant."),
        ("The film “Dawn” (2019) won.", "The film Xqb won."),
        (
            "“We will not go home until the water has gone,” he said.",
            "“We will not go home until the water has gone,” he said.",
        ),
    ],
)
def test_titles_brackets_and_places_are_one_word(sentence: str, plain: str) -> None:
    masked = Masked.of(sentence)
    assert masked.text == plain and masked.restore(masked.text) == sentence


def test_a_title_that_moves_gives_its_comma_up() -> None:
    masked = Masked.of("“Lucky Day,” the fourth episode, opens in May.")
    assert masked.restore("In May the fourth episode opens: Xqa.") == "In May the fourth episode opens: “Lucky Day.”"
    assert masked.restore("Xqa opens in May.") == "“Lucky Day” opens in May."

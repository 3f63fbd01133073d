"""Sentences as they can be read without their page. All of them are invented."""

from __future__ import annotations

import pytest

from pipeline.choosing.standing_alone import standing_alone


@pytest.mark.parametrize(
    ("text", "before", "published", "alone"),
    [
        ("He resigned in May 2031.", "Mayor Pavel Drost said so.", None, "Pavel Drost resigned in May 2031."),
        ("He resigned in May 2031.", "Pavel Drost met Irena Holt in town.", None, ""),
        (
            "He joined Forest in July 2022.", "Toffolo, 27, was at Norwich City and on loan at Swindon Town.", None,
            "Toffolo joined Forest in July 2022.",
        ),
        ("It was closed for three days.", "The bridge was damaged.", None, ""),
        ("He hands Pavel a coin and leaves Osmere.", "Mayor Pavel Drost said so.", None, ""),
        ("He met Irena Drost in Osmere.", "Mayor Pavel Drost said so.", None, "Pavel Drost met Irena Drost in Osmere."),
        ("He's moving to Osmere.", "Mayor Pavel Drost said so.", None, "Pavel Drost is moving to Osmere."),
        ("He’s taken the road to Osmere.", "Mayor Pavel Drost said so.", None, ""),
        ("Later on Ana Ruiz reached Osmere.", "", None, "Later on Ana Ruiz reached Osmere."),
        ("At the time of the flood, Ana Ruiz was in Osmere.", "", None, "At the time of the flood, Ana Ruiz was in Osmere."),
        ("Later on, Ana Ruiz reached Osmere.", "", None, "Ana Ruiz reached Osmere."),
        ("As previously reported, the dam of Osmere broke.", "", None, "The dam of Osmere broke."),
        ("The following day, Ana Ruiz reached Osmere.", "", None, ""),
        ("A rare exception is the dam of Osmere.", "", None, ""),
        ("The 30-year-old produced three plays in Osmere.", "", None, ""),
        ("The group said that it would appeal.", "", None, ""),
        ("Police in Osmere said on Sunday that it was closed.", "", None, "Police in Osmere said that it was closed."),
        (
            "Police in Osmere said on Sunday that it was closed.", "", "2031-03-18",
            "Police in Osmere said on 16 March 2031 that it was closed.",
        ),
        ("The dam of Osmere broke yesterday.", "", "2031-03-18", "The dam of Osmere broke on 17 March 2031."),
        ("The dam of Osmere broke yesterday.", "", None, ""),
        ("The ferries of Osmere stopped all sailings until Monday.", "", "2031-03-18", ""),  # the next, or the last one?
        ("The dam of Osmere has to be mended by Friday.", "", "2031-03-18", ""),
        (
            "The dam of Osmere has been open since Monday.", "", "2031-03-18",
            "The dam of Osmere has been open since 17 March 2031.",
        ),
        ("The dam of Osmere was renewed last November.", "", "2031-03-18", "The dam of Osmere was renewed in November 2030."),
        ("Last March, the dam of Osmere broke.", "", "2031-03-18", "In March 2030, the dam of Osmere broke."),
        ("The dam of Osmere is open as of last March.", "", "2031-05-02", "The dam of Osmere is open as of March 2031."),
        ("The dam of Osmere will open next April.", "", "2031-05-02", "The dam of Osmere will open in April 2032."),
        ("The dam of Osmere was renewed last November.", "", None, ""),
        ("Ana Ruiz scored nineteen times for Osmere last season.", "", "2031-03-18", ""),
        ("The queen of Osmere waits until the next spring.", "", None, "The queen of Osmere waits until the next spring."),
        (
            "The mayor of Osmere said “the dam was safe on Sunday” in 2031.", "", "2031-03-18",
            "The mayor of Osmere said “the dam was safe on Sunday” in 2031.",
        ),
        ("Ana Ruiz of Osmere adhered to that structure.", "", None, ""),
        ("The race runs from Thursday to Sunday in Osmere.", "", None, ""),
        ("The dam of Osmere will be rebuilt next year.", "", "2031-03-18", ""),
        ("However, the dam of Osmere was also rebuilt.", "", None, "The dam of Osmere was rebuilt."),
        ("Members asked why the gates of the dam stayed closed until 14:30 that day.", "", None, ""),
        (
            "The dam was built in 1964 and opened in May that year.", "", None,
            "The dam was built in 1964 and opened in May that year.",
        ),
    ],
)  # fmt: skip
def test_what_leans_is_resolved_or_left_out(text: str, before: str, published: str | None, alone: str) -> None:
    assert standing_alone(text, before, published) == alone


@pytest.mark.parametrize(
    ("before", "name"),
    [
        ("Her novels include The Salt Breaker.", ""),
        ("He moved to the Museum of Osmere Glass.", ""),
        ("Karl was named Osmere Vasterlow bureau chief.", ""),
        ("The pilot waved in front of the crew in Osmere Vasterlow.", ""),
        ("The grandfather (Jonas Pell) hid the key.", ""),
        ("Irena Holt met Osmere Baker in town.", ""),  # two names, though one of them may be a thing's
        ("Irena Holt waved in Osmere Vasterlow.", "Irena Holt"),
    ],
)
def test_what_is_no_persons_name_does_not_stand_for_he(before: str, name: str) -> None:
    rest = " resigned in May 2031 in Vasterlow."
    assert standing_alone(f"He{rest}", before, None) == (name and name + rest)


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("Many of them had records of service during the flood.", False),
        ("Five guards surrounded him near Osmere and bound his hands.", False),
        ("Irena Holt and Pell narrowly escape him and end up in the mill.", False),
        ("Ana Ruiz and the crew of Osmere kept them in a shed.", True),
        ("Irena Holt saw Pell when it hit him.", True),
        ("The latter size corresponds to the largest larvae of Osmere.", False),
        ("Released on 21 March 2031, its score was praised in Osmere.", False),
        ("In the first three turns of a game, reveal 1 tile of Osmere.", False),
        ("Show jumping returned to Osmere in 2031.", True),
        ("Osmere Bridge has most recently been closed in 2031.", True),
    ],
)
def test_what_points_back_or_gives_orders_is_left_out(text: str, stands: bool) -> None:
    assert standing_alone(text, "", None) == (text if stands else "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Ruby Sunday is a friend of the Doctor.", "Ruby Sunday is a friend of the Doctor."),
        ("The story follows Ruby Sunday and her band.", "The story follows Ruby Sunday and her band."),
        ("The shops opened on Good Friday at noon.", "The shops opened on Good Friday at noon."),
        ("The house of Ruby Sunday burned.", ""),
        ("The play was held in Atlanta Sunday.", "The play was held in Atlanta on 27 April 2025."),
        ("Early Sunday, the dam broke.", "Early on 27 April 2025, the dam broke."),
    ],
)
def test_a_weekday_may_be_a_name(text: str, said: str) -> None:
    assert standing_alone(text, "", "2025-05-03") == said


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("Ruby talks of what she saw, and I love the line that Pete McTighe wrote for her.", ""),
        ("Pete McTighe wrote the line for Ruby in April.", "Pete McTighe is opening up to Conrad."),
        ("In April the mayor met Pete McTighe.", "Pete McTighe is opening up to Conrad."),
    ],
)
def test_she_is_nobody_where_another_acts_beside_the_only_full_name(before: str, said: str) -> None:
    assert standing_alone("She is opening up to Conrad.", before, None) == said

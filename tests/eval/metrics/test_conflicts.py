"""What contradicts the human article, and what only says more, less, or the same otherwise."""

from __future__ import annotations

import pytest

from eval.metrics.conflicts import Conflicts, conflicts
from tests.eval.cases import case

HUMAN = """The ferry Torvik sank near Malvo on 12 March 2021.
The storm killed 21 passengers and injured 40 crew members on the lake.
Captain Petra Oduya was acquitted by the county court in Lund.
The owner sold the wreck for $3.4 million in 2022.
The inquiry into the bow door was led by Anna Berg in Oslo.
The new bridge was opened to heavy traffic after the accident.
About 300 people attended the memorial service at the harbour church."""


def found(written: str) -> list[tuple[str, str, str]]:
    return [(one.kind, one.stated, one.human) for one in conflicts(case(written, HUMAN))[1]]


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("The storm killed 12 passengers and injured 40 crew members on the lake.", "number"),
        ("The ferry Torvik sank near Malvo on 14 March 2021.", "date"),
        ("The wreck was sold by the owner for $9.1 million in 2022.", "number"),
        ("The owner sold the wreck in 2025.", "date"),
        ("The inquiry into the bow door was led by Karl Vest in Oslo.", "name"),
        ("Captain Petra Oduya was convicted by the county court in Lund.", "outcome"),
        ("The new bridge was not opened to heavy traffic after the accident.", "outcome"),
        ("The new bridge was closed to heavy traffic after the accident.", "outcome"),
    ],
)
def test_contradictions(written: str, kind: str) -> None:
    assert [one[0] for one in found(written)] == [kind]
    assert Conflicts().score(case(written, HUMAN))["conflict_share"] == 1.0


@pytest.mark.parametrize(
    "written",
    [
        HUMAN,
        "Twenty-one passengers of the storm were killed on the lake.",
        "The storm killed over 12 passengers and injured crew members on the lake.",  # a limit, not a number
        "The storm injured 40 crew members on the lake and cut power to 12 villages.",  # another noun
        "The storm on Lake Ronne killed 12 passengers of the ferry Skagen.",  # perhaps another storm
        "The ferry Torvik sank near Malvo on March 12, 2021.",
        "The ferry Torvik was launched near Malvo on 14 May 1998.",  # another happening
        "The owner sold the wreck for $3.38 million in 2022.",  # rounded
        "The inquiry into the bow door was led by A. Berg in Oslo.",
        "The new bridge was soon opened to heavy traffic after the accident.",
        "No passenger saw the new bridge before heavy traffic came.",
        "Some 280 people attended the memorial service at the harbour church.",
        "Bakers sold 12 passengers bread on 14 March 2021.",
    ],
)
def test_no_contradictions(written: str) -> None:
    assert found(written) == []


def test_the_share_is_of_comparable_statements_and_what_the_human_article_says_elsewhere_is_no_conflict() -> None:
    written = "The ferry Torvik sank near Malvo on 14 March 2021. The owner sold the wreck in 2022. Cats sleep all day."
    assert Conflicts().score(case(written, HUMAN)) == {"conflict_share": 1 / 2, "n_comparable": 2.0}
    assert Conflicts().score(case("Cats sleep all day.", HUMAN)) == {"conflict_share": None, "n_comparable": 0.0}
    assert Conflicts().score(case("", HUMAN)).keys() == Conflicts().names.keys()
    human = HUMAN + "\nFirst reports told of 12 passengers."
    assert conflicts(case("The storm killed 12 passengers and injured crew members on the lake.", human))[1] == []

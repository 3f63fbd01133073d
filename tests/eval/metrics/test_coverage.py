import pytest

from eval.metrics.coverage import Coverage, entities
from tests.eval.cases import case, gold, page

BOX = [("Date", "20 March 2022"), ("Location", "Mandalika International Street Circuit Central Lombok, Indonesia")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He met Mandla Khumalo in Soweto.", {"mandla khumalo in soweto"}),  # connectors join, "in" among them
        ("It was the University of Cape Town, not Wits.", {"university of cape town", "wits"}),
        ("Rain fell. Residents fled.", set()),  # the first word of a sentence is capital anyway
        ("The Duma met.", {"duma"}),  # a function word before it was the first one
        ("They thanked Lt. William J. Rosewood.", {"lt william j rosewood"}),
        ("The fire at São João's market in Łódź.", {"são joão", "łódź"}),
        ("We saw the Bank of the of the West.", {"bank", "west"}),  # three connectors do not join
        ("Flood in the\nCity Hall\narea of Lisbon", {"city hall", "lisbon"}),  # no run crosses a line
        ("Москва и Санкт-Петербург. Там был Иван Петров.", {"санктпетербург", "иван петров"}),
        ("", set()),
    ],
)
def test_entities(text: str, expected: set[str]) -> None:
    assert entities(text) == expected


def test_names_and_numbers_are_found_as_whole_tokens_inside_longer_names() -> None:
    human = "They saw Mandela and, later, the Orlando Stadium."
    found = Coverage().score(case("There Nelson Mandela's speech at New Orlando Stadium began.", human))
    missed = Coverage().score(case("There Mandelas of the Orlando Stadiums began.", human))
    assert (found["entity_recall"], missed["entity_recall"]) == (1.0, 0.0)
    assert Coverage().score(case("It cost 12,340 in 2022.", "It cost 1,234 in 2022."))["number_recall"] == 0.5


HUMAN = "They saw Alpha, and Beta, and Gamma, and Delta."


def test_attainable_recall_counts_only_what_the_usable_pages_hold() -> None:
    pages = [page("we saw alpha here"), page("in beta", drop_reason="too_short"), page("a text", title="On Gamma")]
    values = Coverage().score(case("They saw Alpha and saw Delta.", HUMAN, pages))
    assert values["entity_recall"] == 0.5  # alpha and delta of four
    assert values["attainable_entity_recall"] == 0.5  # alpha of alpha and gamma; delta is in no page


def test_a_human_article_without_names_or_numbers_is_unscored_and_novel_names_are_in_no_page() -> None:
    values = Coverage().score(case("They saw Alpha in 2022.", "it rained and rained"))
    assert values["entity_recall"] is values["attainable_entity_recall"] is values["number_recall"] is None
    assert Coverage().score(case("They saw Alpha and saw Omega Base.", HUMAN, ["alpha"]))["novel_entity_rate"] == 0.5
    assert Coverage().score(case("They saw Alpha.", HUMAN))["novel_entity_rate"] == 1.0


def test_infobox_slots_soft_and_hard() -> None:
    def infobox(written: str, box: list[tuple[str, str]] = BOX) -> tuple[float | None, float | None]:
        values = Coverage().score(case(written, gold("x", box)))
        return values["ib_soft"], values["ib_hard"]

    # "march 2022" is two thirds of the date; five of the seven words of the place are under four fifths
    half = infobox("In March 2022 it was the Mandalika International Street Circuit in Lombok.")
    assert half == (pytest.approx((2 / 3 + 5 / 7) / 2), 0.0)
    # six of seven words pass, and every number of the date is there
    assert infobox("On 20 March 2022 it was the Mandalika Street Circuit, Central Lombok, Indonesia.")[1] == 1.0
    for unusable in ([], [("Type", "the of")], [("List", " ".join(f"w{i}" for i in range(26)))]):
        assert infobox("Some text.", unusable) == (None, None)

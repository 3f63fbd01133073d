import pytest

from eval.metrics.coverage import Coverage, entities, numbers
from tests.eval.cases import case, gold, page


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He met Mandla Khumalo in Soweto.", {"mandla khumalo in soweto"}),  # connectors join, "in" among them
        ("It was the University of Cape Town, not Wits.", {"university of cape town", "wits"}),
        ("Rain fell. Residents fled.", set()),  # the first word of a sentence is capital anyway
        ("The Duma met.", {"duma"}),  # a function word before it was the first one
        ("In Paris, crowds met President Vann.", {"paris", "president vann"}),
        ("They thanked Lt. William J. Rosewood.", {"lt william j rosewood"}),
        ("She joined O'Brien's crew on An-225 flights.", {"obrien", "an225"}),
        ("The fire at São João's market in Łódź.", {"são joão", "łódź"}),
        ("We saw the Bank of the of the West.", {"bank", "west"}),  # three connectors do not join
        ("Flood in the\nCity Hall\narea of Lisbon", {"city hall", "lisbon"}),  # no run crosses a line
        ("Москва и Санкт-Петербург. Там был Иван Петров.", {"санктпетербург", "иван петров"}),
        ("nothing here", set()),
        ("", set()),
    ],
)
def test_entities(text: str, expected: set[str]) -> None:
    assert entities(text) == expected


def test_numbers_lose_their_separators_only() -> None:
    assert numbers("In 2022, 1,234 people and 2.5 million more; ended 3–1, No. 5, the 20th.") == {
        "2022", "1234", "25", "3", "1", "5", "20",
    }  # fmt: skip
    assert numbers("none") == set()


def test_entities_are_found_as_whole_tokens_inside_longer_names() -> None:
    human = "They saw Mandela and, later, the Orlando Stadium."
    found = Coverage().score(case("There Nelson Mandela's speech at New Orlando Stadium began.", human))
    missed = Coverage().score(case("There Mandelas of the Orlando Stadiums began.", human))
    assert found["entity_recall"] == 1.0
    assert missed["entity_recall"] == 0.0


def test_numbers_are_matched_whole() -> None:
    assert Coverage().score(case("It cost 12,340 in 2022.", "It cost 1,234 in 2022."))["number_recall"] == 0.5


def test_lines_of_names_and_numbers_find_nothing() -> None:
    human = gold("They met Petra Oduya and, later, saw Oslo with 340 others.", [("Place", "Oslo")])
    said = Coverage().score(case("There Petra Oduya spoke, in Oslo, to 340 people.", human, ["petra oduya of oslo"]))
    listed = Coverage().score(case("Petra Oduya, Oslo, 340.\nPetra Oduya\nOslo 340", human, ["petra oduya of oslo"]))
    for name in ("entity_recall", "attainable_entity_recall", "number_recall", "ib_soft", "ib_hard"):
        assert listed[name] == 0.0 < said[name]


def test_no_name_runs_from_one_sentence_or_line_into_the_next() -> None:
    human = "They met Petra Oduya."
    for written in ("We saw Petra. Oduya came late.", "They all met Petra\nOduya came late."):
        assert Coverage().score(case(written, human, ["petra oduya"]))["entity_recall"] == 0.0
    assert Coverage().score(case("They met Petra Oduya.", human, ["by petra\noduya came"]))["attainable_entity_recall"] is None


HUMAN = "They saw Alpha, and Beta, and Gamma, and Delta."


def test_attainable_recall_counts_only_what_the_usable_pages_hold() -> None:
    pages = [page("we saw alpha here"), page("in beta", drop_reason="too_short"), page("a text", title="On Gamma")]
    values = Coverage().score(case("They saw Alpha and saw Delta.", HUMAN, pages))
    assert values["entity_recall"] == 0.5  # alpha and delta of four
    assert values["attainable_entity_recall"] == 0.5  # alpha of alpha and gamma; delta is in no page


def test_no_match_runs_from_one_page_into_the_next() -> None:
    values = Coverage().score(case("x", "They met Orlando Stadium.", ["the orlando", "stadium was"]))
    assert values["attainable_entity_recall"] is None


@pytest.mark.parametrize("pages", [[], ["nothing of the kind"], [page("alpha beta", drop_reason="leak_text")]])
def test_nothing_attainable_is_unscored_not_zero(pages: list[str]) -> None:
    assert Coverage().score(case("They saw Alpha.", HUMAN, pages))["attainable_entity_recall"] is None


def test_a_human_article_without_names_or_numbers_is_unscored_not_one() -> None:
    values = Coverage().score(case("They saw Alpha in 2022.", "it rained and rained"))
    assert values["entity_recall"] is None
    assert values["attainable_entity_recall"] is None
    assert values["number_recall"] is None


def test_novel_entities_are_those_in_no_page() -> None:
    values = Coverage().score(case("They saw Alpha and saw Omega Base.", HUMAN, ["alpha"]))
    assert values["novel_entity_rate"] == 0.5
    assert Coverage().score(case("They saw Alpha.", HUMAN))["novel_entity_rate"] == 1.0


@pytest.mark.parametrize("written", ["", "==Alpha==\n==Beta=="])
def test_an_article_without_sentences_finds_nothing(written: str) -> None:
    human = gold("They saw Alpha in 2022.", [("Place", "Alpha")])
    values = Coverage().score(case(written, human, ["alpha"]))
    assert values.pop("novel_entity_rate") is None  # it names nothing
    assert set(values.values()) == {0.0}


BOX = [("Date", "20 March 2022"), ("Location", "Mandalika International Street Circuit Central Lombok, Indonesia")]


def test_infobox_slots_soft_and_hard() -> None:
    # "march 2022" is two thirds of the date; five of the seven words of the place are under four fifths
    values = Coverage().score(
        case("In March 2022 it was the Mandalika International Street Circuit in Lombok.", gold("x", BOX))
    )
    assert values["ib_soft"] == pytest.approx((2 / 3 + 5 / 7) / 2)
    assert values["ib_hard"] == 0.0
    # six of seven words pass, and every number of the date is there
    values = Coverage().score(
        case("On 20 March 2022 it was the Mandalika Street Circuit, Central Lombok, Indonesia.", gold("x", BOX))
    )
    assert values["ib_hard"] == 1.0


def test_an_infobox_slot_needs_all_its_numbers() -> None:
    box = [("Attendance", "about 62,923 people came over three long race days")]
    wrong = Coverage().score(case("About 62,924 people came over three long race days.", gold("x", box)))
    right = Coverage().score(case("About 62923 people came over three long race days.", gold("x", box)))
    assert wrong["ib_hard"] == 0.0
    assert right["ib_hard"] == 1.0


def test_headings_do_not_fill_infobox_slots() -> None:
    assert Coverage().score(case("It rained.\n==Lombok==\nMore rain.", gold("x", [("Place", "Lombok")])))["ib_soft"] == 0.0


@pytest.mark.parametrize("infobox", [[], [("Type", "the of")], [("List", " ".join(f"w{i}" for i in range(26)))]])
def test_without_a_usable_slot_the_infobox_is_unscored(infobox: list[tuple[str, str]]) -> None:
    values = Coverage().score(case("Some text.", gold("x", infobox)))
    assert values["ib_soft"] is None
    assert values["ib_hard"] is None


def test_names_are_the_values_given() -> None:
    metric = Coverage()
    assert set(metric.score(case("A.", "A."))) == set(metric.names)

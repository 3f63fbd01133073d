from eval.metrics.storm import Storm
from tests.eval.cases import case


def scores(written: str, human: str) -> dict[str, float | None]:
    found = Storm().score(case(written, human))
    assert found.keys() == Storm().names.keys()
    return found


def test_names_must_be_equal_and_no_name_counts_as_all() -> None:
    human = "They saw Mandela and, later, Winnie Mandela.\n==Later life==\ny"
    found = scores("They saw Nelson Mandela.\n==Orlando Stadium==\nx", human)
    assert found["storm_entity_recall"] == 0.0 and found["storm_heading_entities"] == 1.0
    found = scores("They saw Mandela.", "They saw Mandela.\n==The new Orlando Stadium==\ny")
    assert found["storm_entity_recall"] == 1.0 and found["storm_heading_entities"] == 0.0

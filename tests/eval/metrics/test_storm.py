import pytest
from rouge_score.rouge_scorer import RougeScorer

from eval.metrics.storm import Storm
from tests.eval.cases import case

SCORER = RougeScorer(["rouge1", "rougeL"], use_stemmer=True)


def scores(written: str, human: str) -> dict[str, float | None]:
    found = Storm().score(case(written, human))
    assert found.keys() == Storm().names.keys()
    return found


def test_rouge_is_that_of_rouge_score_with_stems_and_headings_as_lines() -> None:
    written = (
        "The flooded towns were rebuilding.\n==Relief works==\nAid arrived; see https://example.org/a for donations.\n"
        "==References==\nNone."
    )
    human = "A flood rebuilt the town.\n==Relief==\nDonated aids were arriving in 2022."
    found = scores(written, human)
    expected = SCORER.score(
        "A flood rebuilt the town.\nsection: Relief\nDonated aids were arriving in 2022.",
        "The flooded towns were rebuilding.\nsection: Relief works\nAid arrived; see for donations.",
    )
    assert found["storm_rouge1_f"] == pytest.approx(expected["rouge1"].fmeasure, abs=1e-9)
    assert found["storm_rougeL_f"] == pytest.approx(expected["rougeL"].fmeasure, abs=1e-9)


def test_names_must_be_equal_and_no_name_counts_as_all() -> None:
    human = "They saw Mandela and, later, Winnie Mandela.\n==Later life==\ny"
    found = scores("They saw Nelson Mandela.\n==Orlando Stadium==\nx", human)
    assert found["storm_entity_recall"] == 0.0 and found["storm_heading_entities"] == 1.0
    found = scores("They saw Mandela.", "They saw Mandela.\n==The new Orlando Stadium==\ny")
    assert found["storm_entity_recall"] == 1.0 and found["storm_heading_entities"] == 0.0


@pytest.mark.parametrize(("written", "human"), [("", "A flood."), ("A flood.", ""), ("", "")])
def test_an_empty_side_scores_no_words(written: str, human: str) -> None:
    found = scores(written, human)
    assert found["storm_rouge1_f"] == found["storm_rougeL_f"] == 0.0

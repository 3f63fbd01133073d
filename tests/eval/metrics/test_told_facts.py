"""Recall and precision of statements. The judge here supports a claim when its premises have every word of it."""

from __future__ import annotations

import pytest

from eval.metrics.told_facts import Facts, clauses
from tests.eval.cases import case
from tests.eval.metrics.test_citations import EveryWord, Silent

FERRY = "The ferry sank on the lake in March."
CAPTAIN = "Its captain blamed a sudden storm."
OWNER = "The owner paid a fine of three million."
HUMAN = f"{FERRY} {CAPTAIN}\n==Aftermath==\n{OWNER} Yes."


def scores(written: str, human: str = HUMAN, pages: tuple[str, ...] = ()) -> dict[str, float | None]:
    return Facts(EveryWord()).score(case(written, human, pages))


def test_recall_of_reference_claims_by_hand() -> None:
    found = scores(f"{OWNER} {FERRY}", pages=(f"{FERRY} {CAPTAIN}",))
    assert found["fact_recall"] == pytest.approx(2 / 3)  # "Yes." claims nothing
    assert found["fact_recall_attainable"] == 1 / 2  # ferry and captain are in the evidence, the article has the ferry
    assert found["fact_precision_evidence"] == 1 / 2  # the evidence does not have the owner
    assert found["fact_precision_gold"] == found["fact_precision"] == 1.0  # the human article has
    assert found["n_facts_per_claim"] == 1.0
    assert found.keys() == Facts(EveryWord()).names.keys()


def test_what_neither_the_evidence_nor_the_human_article_holds_is_imprecise() -> None:
    found = scores(f"{OWNER} {FERRY} Pirates burned every boat.", pages=(FERRY,))
    assert found["fact_precision"] == pytest.approx(2 / 3)
    assert (found["fact_precision_evidence"], found["fact_precision_gold"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert scores(f"{FERRY} {FERRY} {FERRY.upper()} {CAPTAIN}", pages=(FERRY,))["fact_precision"] == 1 / 2  # said again
    itself = scores(HUMAN, pages=(HUMAN.replace("==Aftermath==", ""),))
    assert itself["fact_recall"] == itself["fact_recall_attainable"] == itself["fact_precision"] == 1.0
    no_gold = scores(FERRY, human="", pages=(FERRY,))
    assert (no_gold["fact_precision"], no_gold["fact_precision_gold"]) == (1.0, None)


def test_undefined_is_none() -> None:
    empty = scores("", human="")
    assert set(empty.values()) == {None}
    nothing_attainable = scores(FERRY, pages=("Something else entirely happened.",))
    assert nothing_attainable["fact_recall_attainable"] is None and nothing_attainable["fact_recall"] is not None
    only_headings = scores("==One==\n==Two==", pages=(FERRY,))
    assert (only_headings["fact_recall"], only_headings["fact_precision"]) == (0.0, None)
    assert set(Facts(Silent()).score(case("Red boats sailed north today.", HUMAN)).values()) == {None}


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The ferry sank.", ["The ferry sank."]),
        ("The ferry sank in May, and was raised by the navy.", ["The ferry sank in May", "The ferry was raised by the navy."]),
        ("Rain fell all day; the river was rising fast.", ["Rain fell all day", "the river was rising fast."]),
        ("Rain had fallen all day, but the river was low.", ["Rain had fallen all day", "the river was low."]),
        ("It was led by Ana Oduya, who sold the old town.", ["It was led by Ana Oduya", "Ana Oduya sold the old town."]),
        # no verb of its own: an enumeration, and what follows an apposition
        ("He visited Oslo, Bergen, and Trondheim in the north.", ["He visited Oslo, Bergen, and Trondheim in the north."]),
        ("The bridge, which was built in 1901, collapsed.", ["The bridge, which was built in 1901, collapsed."]),
        ("", [""]),
    ],
)
def test_clauses(sentence: str, expected: list[str]) -> None:
    assert list(clauses(sentence)) == expected

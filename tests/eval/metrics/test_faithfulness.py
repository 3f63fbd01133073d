from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from data.gold import GoldArticle
from data.markup import parse_text
from data.types import Page, Passage, Source
from eval.judges.judge import Pair
from eval.judges.lexical_judge import LexicalJudge
from eval.metric import Case
from eval.metrics.faithfulness import Faithfulness, name_errors, number_errors
from eval.metrics.told_facts import Facts
from tests.eval.cases import page

GOLD = GoldArticle(event_id="1", title="T", raw="", lead="", sections=(), infobox=(), cited_urls=())
FERRY = "The ferry Marisol sank on Lake Tanda on 14 March 2019 with 1,240 people aboard."
FINE = "The owner, Tanda Lines, was fined $3.5 million in 2020-21."
BRIDGE = "A steel bridge over the Velm was opened by Governor Petra Oduya in May 1987."
TEXTS = (FERRY, FINE)
SOURCES = tuple(
    Source(Passage(page=k, start=0, end=len(text), text=text), f"https://example.org/{k}", "Report of 2022", None)
    for k, text in enumerate(TEXTS)
)


def case_of(text: str, pages: tuple[Page, ...] = ()) -> Case:
    return Case(parse_text(text, SOURCES, "1", "T"), GOLD, pages)


@pytest.fixture(scope="module")
def metric() -> Faithfulness:
    return Faithfulness(LexicalJudge())


FILLER = " ".join(f"Minutes of meeting {n} were filed by the clerk of the northern district council." for n in range(40))


def test_without_claims_there_are_no_number_errors_and_a_dropped_page_grounds_nothing(metric: Faithfulness) -> None:
    for text in ("", "==Only==\n==Headings==", "..."):
        assert metric.score(case_of(text, (page(FERRY),))) == {
            "grounded": 0.0, "grounded_soft": 0.0, "number_errors": None, "name_errors": None,
        }  # fmt: skip
    assert metric.score(case_of(f"{FERRY}[1]", (page(FERRY, drop_reason="leak_text"),)))["grounded"] == 0.0
    assert metric.score(case_of(f"{FERRY}[1]", (page(FERRY),)))["grounded"] == 1.0


@pytest.mark.parametrize(
    ("text", "numbers", "names"),
    [
        (f"{FERRY}[1]", 0.0, 0.0),
        ("The ferry Marisol sank in 2019 with 1240 people.[1]", 0.0, 0.0),
        ("The ferry Marisol sank in 2018 with people aboard.[1]", 1.0, 0.0),
        ("The ferry Arcadia sank on a lake.[1]", 0.0, 1.0),
        ("The ferry Marisol sank in March 2019.[2]", 1.0, 1.0),  # the right number and name in another source
        ("The ferry Marisol sank in March 2019.[1][2]", 0.0, 0.0),
        ("The ferry Marisol sank in March 2019.[9]", 1.0, 1.0),
        ("The owner named in the Report of 2022 paid a fine.[2]", 0.0, 0.0),  # the title of the source counts
        ("A fine for the Velmouth disaster was paid.[2]", 0.0, 0.0),  # and so does the article's
        ("Ferries rarely sink without warning.", 0.0, 0.0),  # a first word is capital anyway
        (f"{FERRY}[1] The owner sued Petra Oduya for 99 dollars.[2] The captain and crew escaped blame.", 1 / 3, 1 / 3),
    ],
)
def test_number_and_name_errors(text: str, numbers: float, names: float) -> None:
    case = Case(parse_text(text, SOURCES, "1", "Velmouth disaster"), GOLD, ())
    assert (number_errors(case), name_errors(case)) == pytest.approx((numbers, names))


class Counting:
    name, revision, threshold, kind = "counting", "1", 0.5, "lexical"

    def __init__(self, answer: float | None = 1.0) -> None:
        self.answer, self.asked = answer, 0

    def score(self, pairs: Sequence[Pair]) -> list[float | None]:
        self.asked += len(pairs)
        return [self.answer for _ in pairs]


def test_a_claim_is_asked_once_for_an_event() -> None:
    judge = Counting()
    pages = (page(f"{FERRY} A page of its own for this test."),)
    first = Faithfulness(judge).score(case_of(f"{FERRY}[1] {FERRY}[2] {FINE}[2]", pages))
    assert first["grounded"] == pytest.approx(2 / 3) and judge.asked == 2  # the second time is not grounded
    Faithfulness(judge).score(case_of(f"{FINE}[1] {BRIDGE}[1]", pages))
    assert judge.asked == 3


def test_what_a_judge_leaves_open_is_unscored_but_numbers_are_not() -> None:
    found = Faithfulness(Counting(None)).score(case_of(f"{FERRY}[1]", (page(f"{FERRY} Left open."),)))
    assert (found["grounded"], found["grounded_soft"]) == (None, None)
    assert (found["number_errors"], found["name_errors"]) == (0.0, 0.0)


def test_numbers_and_names_of_a_claim_whose_text_nobody_knows_are_no_errors() -> None:
    known = Source(Passage(0, 0, 20, "The mill had 5 doors."), "", "", None)
    unknown = Source(Passage(1, 0, 0, ""), "https://gone.example/", "", None)
    text = "The mill had 5 doors.[1] The barn near Oslo had 77 doors.[2]"
    case = Case(parse_text(text, (known, unknown), "1", "A mill"), GOLD, ())
    assert (number_errors(case), name_errors(case)) == (0.0, 0.0)
    alone = Case(parse_text("The barn near Oslo had 77 doors.[2]", (known, unknown), "1", "A mill"), GOLD, ())
    assert (number_errors(alone), name_errors(alone)) == (None, None)


def test_a_clause_of_a_claim_that_its_citations_hold_is_held_by_the_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Pair] = []
    score = LexicalJudge.score
    monkeypatch.setattr(LexicalJudge, "score", lambda judge, pairs: asked.extend(pairs) or score(judge, pairs))
    case = case_of(f"{FERRY}[1]", (replace(page(f"{FILLER} {FERRY}", SOURCES[0].title), url=SOURCES[0].url),))
    assert Facts(LexicalJudge()).score(case)["fact_precision_evidence"] == 1.0
    assert [len(pair.premises) for pair in asked if pair.claim == FERRY] == [1, 0]  # its citation, the human article

"""What of an article goes because its pages say it in the same words: the least of worth, and no more than is one too many."""

from __future__ import annotations

import pytest

from data.types import Heading, Section, Sentence
from pipeline.article_plan import ArticlePlan, PlannedSection, Statement
from pipeline.evidence import Evidence
from pipeline.writing import originality
from pipeline.writing.assembly import WrittenSection
from pipeline.writing.originality import in_own_words
from tests.pipeline.flood import EVENT, LEDGER, PAGES, PROVINCE, RETRIEVAL

EVIDENCE = Evidence.unlapped(EVENT, PAGES, RETRIEVAL)
COPIED = (
    ("Fourteen people died and 212 houses were destroyed.", LEDGER, 0.9),
    ("Mayor Irena Holt said the warning came too late.", LEDGER, 0.2),
    ("Soldiers filled sandbags along the Tolvane.", PROVINCE, 0.4),
)
OWN = tuple(
    (f"Number {n} of the sentences that nobody else has ever written down was written here.", LEDGER, 0.1) for n in range(10)
)


def written(*told: tuple[str, str, float]) -> WrittenSection:
    sentences = tuple(Sentence(text, (passage,)) for text, passage, _ in told)
    return WrittenSection(Section(Heading("Toll"), (sentences,) if sentences else ()), ())


def kept(lead: tuple[tuple[str, str, float], ...], told: tuple[tuple[str, str, float], ...]) -> list[list[str]]:
    planned = tuple(
        Statement(text, (passage,), worth=worth) for text, passage, worth in told if (text, passage, worth) in COPIED
    )
    plan = ArticlePlan(EVENT.title, (), (PlannedSection(Heading("Toll"), (planned,)),))
    found = in_own_words(EVIDENCE, plan, [written(*lead), written(*told)])
    gone = {repair.text for section in found for repair in section.repairs}
    texts = [[sentence.text for sentence in section.section.sentences] for section in found]
    assert gone == {text for text, _, _ in (*lead, *told)} - {text for section in texts for text in section}
    return texts


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(originality, "LEAST_WORDS", 10)


def test_the_least_of_worth_goes_first() -> None:
    _, told = kept((), (*OWN, *COPIED[:2]))
    assert told == [*(text for text, _, _ in OWN), COPIED[0][0]]  # a sixth of the sentences, and no more than a tenth may be


def test_within_the_bounds_nothing_goes() -> None:
    everything = (*OWN, COPIED[1])
    assert kept((), everything) == [[], [text for text, _, _ in everything]]


def test_the_lead_and_what_is_in_own_words_stay() -> None:
    lead, told = kept((COPIED[0],), (*OWN[:1], *COPIED[1:]))
    assert lead == [COPIED[0][0]] and told == [OWN[0][0]]


def test_a_models_sentence_that_is_hardly_its_own_goes_like_a_copy() -> None:
    hardly = ("Fourteen people died and 212 houses were destroyed there.", LEDGER, 0.1)
    partly = ("In the end fourteen people died and the houses of many others fell down.", LEDGER, 0.1)
    assert hardly not in COPIED and partly not in COPIED
    _, told = kept((), (*OWN[:1], hardly, *COPIED[:1]))
    assert told == [OWN[0][0]]
    _, told = kept((), (*OWN[:1], partly, *COPIED[:1]))
    assert told == [OWN[0][0], partly[0]]

"""Notes that say the same are one, with how much of each its passages have; a plan prefers what can be said otherwise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from data.decoding_counts import Usage
from data.settings import WritingSettings
from pipeline.article_plan import ArticlePlan, Statement
from pipeline.evidence import Evidence
from pipeline.notes import Note, TakenNotes
from pipeline.noting.merged_notes import merged
from pipeline.planning import planner
from pipeline.planning.headings import HeadingBank
from pipeline.planning.kinds import KindRecogniser
from pipeline.planning.planner import NotedSubject, PlanningBanks, plan_notes
from tests.fakes import FixedEncoder
from tests.pipeline.flood import EVENT, LEDGER, PAGES, PROVINCE, RETRIEVAL, REVIEW

OWN = "In Vasterlow 212 houses were lost, and the dead numbered fourteen."


ENCODER = FixedEncoder()
RECOGNISER, HEADINGS = KindRecogniser(ENCODER), HeadingBank(ENCODER)
BANKS = PlanningBanks(lambda: RECOGNISER, lambda: HEADINGS, ENCODER)
EVIDENCE = Evidence.unlapped(EVENT, PAGES, RETRIEVAL)
COPIED = "Fourteen people died and 212 houses were destroyed."


def of(*notes: tuple[str, str]) -> list[Statement]:
    taken = TakenNotes((), tuple(Note(text, passage) for text, passage in notes), (), Usage())
    return list(merged(EVIDENCE, [taken], ENCODER).statements)


def plan(carried: int) -> ArticlePlan:
    long = "It found that the levee at Lower Quay had not been inspected since 2019."
    statements = [
        Statement(COPIED, (LEDGER,), copied=1.0),
        Statement(long, (REVIEW,), copied=1.0),
        Statement("Nine shelters took in 4,300 residents of Vasterlow.", (PROVINCE,), copied=0.3),
    ]
    subject = NotedSubject("The 2031 Tolvane flood was a flood.", RECOGNISER.ranked(EVENT.title, ["A flood."])[0][1], None)
    return plan_notes(EVIDENCE, statements, subject, ENCODER, WritingSettings(), BANKS, carried)


def test_what_a_model_cannot_say_otherwise_is_worth_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fourteen words, of a model that carries ten."""
    monkeypatch.setattr(planner, "LEAST_USABLE", 0.0)

    def worths(carried: int) -> dict[int, float]:
        made = plan(carried)
        told = (*made.lead, *(s for section in made.sections for s in section.statements))
        return {len(s.text.split()): s.worth for s in told}

    any_length, short = worths(0), worths(10)
    assert any_length.keys() == short.keys() and 14 in short
    for words, worth in any_length.items():
        assert short[words] == pytest.approx(worth * (planner.STAYING if words == 14 else 1.0), abs=2e-3)
    assert np.all(np.array(list(short.values())) > 0)


def test_what_a_page_foretells_and_a_later_one_looks_back_on_is_worth_less() -> None:
    pages = (replace(PAGES[0], published="2031-03-16"), replace(PAGES[1], published="2031-03-10"), *PAGES[2:])
    evidence = Evidence.unlapped(EVENT, pages, RETRIEVAL)
    texts = ("Marrund Province will open nine shelters in Vasterlow.", "Marrund Province opened nine shelters in Vasterlow.")
    statements = [Statement(text, (PROVINCE,)) for text in texts]
    offered = planner.noted_pool(evidence, statements, ENCODER).offered
    assert [planner._is_stale(one, evidence) for one in offered] == [True, False]
    newest = Evidence.unlapped(EVENT, (replace(PAGES[0], published=None), *pages[1:]), RETRIEVAL)
    assert not any(planner._is_stale(one, newest) for one in planner.noted_pool(newest, statements, ENCODER).offered)


@pytest.mark.parametrize(
    ("text", "later"),
    [
        ("A second march was held in 2018.", True),
        ("Marches were held in 2018 and 2020.", True),
        ("A second march was held in 2018, 35 years after that of 1983.", False),
        ("The law was passed in 1984.", False),
        ("The general had taken power in 1977.", False),
        ("The police arrested fifty women.", False),
    ],
)
def test_what_only_later_years_saw_is_no_fact_of_the_event(text: str, later: bool) -> None:
    assert planner._is_later(text, "1983 women's march, Lahore") is later
    assert not planner._is_later(text, "Women's march, Lahore")


def test_an_answer_of_a_later_year_opens_no_article() -> None:
    """ "2031" stands in the title."""
    answers = [
        Statement("The next flood of Tolvane killed nine people in 2036.", (LEDGER,), question=1),
        Statement("The flood killed fourteen people.", (LEDGER,), question=2),
        Statement("Soldiers filled sandbags along the Tolvane.", (PROVINCE,)),
        Statement("The Faltmark Commission published its report on 25 November 2031.", (REVIEW,)),
    ]
    subject = NotedSubject("The 2031 Tolvane flood was a flood.", RECOGNISER.ranked(EVENT.title, ["A flood."])[0][1], None)
    made = plan_notes(EVIDENCE, answers, subject, ENCODER, WritingSettings(), BANKS)
    assert made.lead[0].text == answers[1].text
    worth = {one.text: one.worth for one in (*made.lead, *(s for section in made.sections for s in section.statements))}
    assert worth[answers[1].text] > 2 * worth.get(answers[0].text, 0.0)


def test_a_note_is_as_close_to_the_subject_as_its_passage() -> None:
    """ "A gauge failed" has no word of the flood."""
    near = np.array([0.1, 0.9, 0.1])
    statements = [
        Statement("A gauge failed.", (LEDGER,)),
        Statement(COPIED, (LEDGER,)),
        Statement("A gauge failed.", (REVIEW,)),
    ]
    pool = planner.noted_pool(EVIDENCE, statements, ENCODER)
    encoder = FixedEncoder()
    passages = [one.candidate.passage.text for one in pool.offered]
    vectors = encoder.encode(["card", *passages])
    expected = [max(n, float(v @ vectors[0])) if n < planner.NEAR_ENOUGH else n for n, v in zip(near, vectors[1:], strict=True)]
    assert planner._close(near, pool, "card", encoder).tolist() == pytest.approx(expected, abs=1e-5)
    assert near.tolist() == [0.1, 0.9, 0.1]


def test_short_answers_stand_side_by_side_in_the_lead() -> None:
    """ "X directed it" and "Y wrote it" are alike by the name that both have."""
    opening = Statement("The 2031 Tolvane flood was a flood of the Tolvane in Vasterlow.", (LEDGER,))
    subject = NotedSubject(opening.text, RECOGNISER.ranked(EVENT.title, ["A flood."])[0][1], opening)
    answers = [
        Statement("The 2031 Tolvane flood killed fourteen people.", (LEDGER,), question=2),
        Statement("The 2031 Tolvane flood struck on 16 March 2031.", (LEDGER,), question=1),
        Statement("Soldiers filled sandbags along the Tolvane.", (PROVINCE,)),
        Statement("Governor Pavel Drost asked for 48 million crowns.", (PROVINCE,)),
        Statement("The Faltmark Commission published its report on 25 November 2031.", (REVIEW,)),
        Statement("Engineer Tomas Lind testified that a gauge failed.", (REVIEW,)),
        Statement("Mayor Irena Holt said the warning came too late.", (LEDGER,)),
        Statement("The levee at Lower Quay had not been inspected since 2019.", (REVIEW,)),
        Statement("Nine shelters took in 4,300 residents of Vasterlow.", (PROVINCE,)),
    ]
    lead = [one.text for one in plan_notes(EVIDENCE, answers, subject, ENCODER, WritingSettings(), BANKS).lead]
    assert lead[:3] == [opening.text, answers[1].text, answers[0].text]


def test_a_note_twice_is_one() -> None:
    (one,) = of((COPIED, LEDGER), (COPIED, LEDGER))
    assert one.text == COPIED and one.cites == (LEDGER,)


def test_how_much_of_a_note_its_passages_have() -> None:
    assert [one.copied for one in of((COPIED, LEDGER))] == [1.0]
    assert [one.copied for one in of((OWN, LEDGER))] == [0.0]


def test_a_note_answers_what_any_of_its_group_answers() -> None:
    taken = [
        TakenNotes((), (Note(COPIED, LEDGER, question=3),), (), Usage()),
        TakenNotes((), (Note(COPIED, LEDGER), Note(OWN, LEDGER)), (), Usage()),
    ]
    found = {one.text: one.question for one in merged(EVIDENCE, taken, ENCODER).statements}
    assert found[COPIED] == 3


def test_what_answers_a_question_on_such_a_subject_is_told_and_first() -> None:
    answer = "Tomas Lind was an engineer there."
    others = [
        Statement(COPIED, (LEDGER,), copied=1.0),
        Statement("Nine shelters took in 4,300 residents of Vasterlow in the flood.", (PROVINCE,), copied=0.3),
        Statement("The levee at Lower Quay had not been inspected since 2019.", (REVIEW,), copied=1.0),
        Statement("Governor Pavel Drost asked the Orvenian government for 48 million crowns.", (PROVINCE,), copied=1.0),
    ]
    subject = NotedSubject("The 2031 Tolvane flood was a flood.", RECOGNISER.ranked(EVENT.title, ["A flood."])[0][1], None)

    def lead_of(question: int) -> list[str]:
        statements = [*others, Statement(answer, (REVIEW,), question=question)]
        return [one.text for one in plan_notes(EVIDENCE, statements, subject, ENCODER, WritingSettings(), BANKS).lead]

    assert lead_of(1)[0] == answer and lead_of(0)[:1] != [answer]

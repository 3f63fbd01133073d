"""Which sentences an article says, and which it would say again."""

from __future__ import annotations

import numpy as np

from data.settings import RetrievalSettings
from data.types import Event
from pipeline.choosing.candidates import candidates
from pipeline.choosing.gate import Offered
from pipeline.choosing.statements import NO_ROOM, SAID_ALREADY, Pool, choose
from pipeline.evidence import Evidence
from tests.pipeline.flood import page

SAID = "Ferry pilot Jon Abt carried 61 people over the market to the hospital roof."
AGAIN = "The pilot Jon Abt brought the people to the hospital roof by boat at night."
NEWER = "Ferry pilot Jon Abt carried 4 horses over the market to the hospital roof."


def pool_of(*texts: str, likeness: float) -> Pool:
    """Sentences that all have this cosine to each other; the first is worth most."""
    evidence = Evidence.cut(Event("1", "Tolvane flood"), [page(f"p{n}", "Flood", text) for n, text in enumerate(texts)],
                            RetrievalSettings(passage_overlap=0))  # fmt: skip
    offered = [Offered(c, c.text, "") for c in candidates(evidence.passages, evidence.pages)]
    n = len(offered)
    vectors = np.linalg.cholesky(np.full((n, n), likeness) + (1 - likeness) * np.eye(n))
    pool = Pool("Tolvane flood", offered, vectors, np.ones(n), [f"{i}.example" for i in range(n)],
                np.empty((n, 0)), np.empty((n, 0)), np.ones(n))  # fmt: skip
    pool.__dict__.update(worth=1 - 0.1 * np.arange(n), usable=np.ones(n))
    return pool


def chosen(*texts: str, likeness: float) -> list[str]:
    pool = pool_of(*texts, likeness=likeness)
    return [pool.offered[i].text for i in choose(pool, 200)[0]]


def test_the_same_in_other_words_is_chosen_once() -> None:
    assert chosen(SAID, AGAIN, likeness=0.7) == [SAID]


def test_a_new_number_is_no_repetition() -> None:
    assert set(chosen(SAID, NEWER, likeness=0.7)) == {SAID, NEWER}


def test_the_same_words_about_something_else_are_no_repetition() -> None:
    assert set(chosen(SAID, AGAIN, likeness=0.5)) == {SAID, AGAIN}


def test_what_several_have_told_together_is_not_told_again() -> None:
    market = "Ferry pilot Jon Abt saved the horses of the market before the dam broke."
    told = "Jon Abt carried people to the hospital and saved the horses before the dam broke."
    assert told not in chosen(SAID, market, told, likeness=0.62)
    assert told in chosen(SAID, market, told, likeness=0.5)
    assert told in chosen(SAID, told, likeness=0.62)


def test_an_answer_is_not_taken_for_told_by_a_longer_sentence() -> None:
    longer = "Ferry pilot Jon Abt talks of how he carried people to the hospital roof, and of much else."
    answer = "Ferry pilot Jon Abt carried people to the hospital roof."
    pool = pool_of(longer, answer, likeness=0.7)
    values = np.array([0.9, 0.5])
    assert [pool.offered[i].text for i in choose(pool, 200, values)[0]] == [longer]
    assert next(pool.offered[i].text for i in choose(pool, 200, values, frozenset((1,)))[0]) == answer


def test_a_choice_ends_where_nothing_is_worth_enough() -> None:
    texts = [f"Ferry pilot {name} carried people to the roof." for name in ("Jon Abt", "Kari Holm", "Ines Varga", "Tom Aske")]
    pool = pool_of(*texts, likeness=0.0)
    values = np.array([0.9, 0.9, 0.9, 0.03])
    assert [len(choose(pool, 200, values, enough=least)[0]) for least in (0.02, 0.05)] == [4, 3]


def test_of_notes_what_has_new_words_comes_before_what_chosen_ones_have() -> None:
    first = "Ferry pilot Jon Abt carried people over the market to the hospital roof."
    old = "The hospital roof took people from the market at noon."
    new = "Engineers blew up a levee to drain farmland."
    pool = pool_of(first, old, new, likeness=0.3)
    order = [pool.offered[i].text for i in choose(pool, 200, np.array([0.9, 0.6, 0.5]))[0]]
    assert order == [first, new, old]


def test_what_is_not_chosen_has_its_reason() -> None:
    pool = pool_of(SAID, AGAIN, NEWER, likeness=0.7)
    n_words = pool.offered[0].candidate.n_words
    told = {one.text: one.reason for one in choose(pool, n_words + 1, np.array([0.9, 0.5, 0.4]))[1]}
    assert told == {AGAIN: SAID_ALREADY, NEWER: NO_ROOM}

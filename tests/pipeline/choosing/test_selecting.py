from __future__ import annotations

import numpy as np

from data.types import Passage
from pipeline.choosing.candidates import Candidate
from pipeline.choosing.facts import names, numbers
from pipeline.choosing.selecting import Scored, SelectionWeights, select
from pipeline.retrieval import terms


def candidate(index: int, page: int, text: str, *, dangling: bool = False) -> Candidate:
    passage = Passage(page, 0, len(text), text)
    facts = names(text) | numbers(text)
    return Candidate(index, passage, 0, len(text), text, len(text.split()), frozenset(terms(text)), facts, dangling, 1.0, True)


def scored(*items: Candidate, relevance: list[float] | None = None, alike: tuple[int, int] | None = None) -> Scored:
    """Orthogonal vectors, except for a pair that is alike."""
    vectors = np.eye(len(items))
    if alike:
        vectors[alike[1]] = vectors[alike[0]]
    return Scored(items, vectors, np.array(relevance or [1.0] * len(items)))


A = candidate(0, 0, "The river flooded Vasterlow on Thursday and broke the old levee there.")
B = candidate(1, 0, "Engineers opened the polder near Grell to lower the level downstream.")
C = candidate(2, 1, "Governor Harksen promised money for every household that lost its home.")
W = SelectionWeights()


def test_the_budget_of_words_is_never_exceeded() -> None:
    for budget in range(5, 40):
        chosen = select(scored(A, B, C), max_words=budget, weights=W)
        assert sum((A, B, C)[i].n_words for i in chosen) <= budget
    assert set(select(scored(A, B, C), max_words=40, weights=W)) == {0, 1, 2}


def test_the_more_relevant_comes_first_and_ties_keep_page_order() -> None:
    assert select(scored(A, C, relevance=[0.2, 2.0]), max_words=12, weights=W) == [1]
    same = [candidate(i, i, "It rained in the hills for many days on end.") for i in (0, 2)]
    assert select(scored(same[0], same[1], relevance=[1, 1]), max_words=10, weights=W) == [0]


def test_a_sentence_of_another_page_with_the_same_meaning_is_a_duplicate_but_a_list_line_beside_it_is_not() -> None:
    assert len(select(scored(A, C, alike=(0, 1)), max_words=100, weights=W)) == 1
    assert len(select(scored(A, B, alike=(0, 1)), max_words=100, weights=W)) == 2


def test_the_same_words_with_a_new_figure_are_not_a_repetition() -> None:
    old = candidate(0, 0, "The flood killed at least 14 people in the town of Vasterlow.")
    new = candidate(2, 1, "The flood killed at least 23 people in the town of Vasterlow.")
    assert len(select(scored(old, new), max_words=100, weights=W)) == 2
    assert len(select(scored(old, candidate(2, 1, old.text)), max_words=100, weights=W)) == 1


def test_new_names_and_numbers_are_worth_something() -> None:
    plain = candidate(0, 0, "The water went down slowly and people could go home again.")
    full = candidate(2, 1, "On 13 March, Greta Voss counted 14 dead in Vasterlow, Kettlin and Osmere.")
    assert select(scored(plain, full), max_words=13, weights=W) == [1]
    assert select(scored(plain, full, relevance=[1.1, 1.0]), max_words=13, weights=SelectionWeights(facts=0.0)) == [0]


def test_what_is_taken_counts_and_is_not_taken_twice() -> None:
    chosen = select(scored(A, B, C), max_words=24, weights=W, taken=[2])
    assert chosen[0] == 2 and len(chosen) == len(set(chosen)) == 2


def test_a_sentence_that_leans_on_another_waits_for_it() -> None:
    leaning = candidate(1, 0, "It had been built by soldiers a century before the flood.", dangling=True)
    alone = candidate(5, 1, "Money for rebuilding was promised within a week of the flood.")
    assert select(scored(A, leaning, alone, relevance=[0.1, 1.0, 0.9]), max_words=12, weights=W)[0] != 1
    assert select(scored(A, leaning, alone, relevance=[0.1, 1.0, 0.9]), max_words=24, weights=W, taken=[0])[1] == 1


def test_only_keeps_rows_together() -> None:
    part = scored(A, B, C, relevance=[1, 2, 3]).only(np.array([True, False, True]))
    assert (
        list(part.candidates) == [A, C]
        and part.relevance.tolist() == [1, 3]
        and part.vectors.tolist() == np.eye(3)[[0, 2]].tolist()
    )

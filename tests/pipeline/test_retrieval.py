from __future__ import annotations

import numpy as np
import pytest

from data.settings import RetrievalMethod, RetrievalSettings
from data.types import Passage
from pipeline.retrieval import PassageIndex, TfidfRanker, fuse, terms
from tests.fakes import FixedEncoder
from tests.pipeline.flood import LEDGER, PROVINCE, RAIN, REPORT, REVIEW, evidence

METHODS: tuple[RetrievalMethod, ...] = ("bm25", "tfidf", "dense", "hybrid")


def index_of(*texts: str, method: RetrievalMethod = "hybrid") -> PassageIndex:
    return PassageIndex([Passage(n, 0, len(text), text) for n, text in enumerate(texts)], settings(method), FixedEncoder())


def settings(method: RetrievalMethod) -> RetrievalSettings:
    return RetrievalSettings(method=method)


def order(index: PassageIndex, *queries: str, k: int = 9) -> list[int]:
    return [hit.passage.page for hit in index.search(*queries, k=k)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("How many people died and how many houses were destroyed", LEDGER),
        ("shelters for residents", PROVINCE),
        ("what the commission found", REVIEW),
        ("heavy rain in the basin", RAIN),
    ],
)
def test_the_right_passage_comes_first(method: RetrievalMethod, query: str, best: str) -> None:
    index = PassageIndex(evidence().passages, settings(method), FixedEncoder())
    hits = index.search(query, k=3)
    assert hits[0].passage.id == best
    assert [hit.rank for hit in hits] == [1, 2, 3]
    assert hits[0].score >= hits[1].score >= hits[2].score


@pytest.mark.parametrize("method", METHODS)
def test_one_passage(method: RetrievalMethod) -> None:
    assert order(index_of(REPORT, method=method), "levee") == [0]
    assert order(index_of(REPORT, method=method), "nothing of the kind") == [0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("query", ["", "   ", "the of and", "?!", "zzz qqq"])
def test_a_query_that_matches_nothing_keeps_page_order_and_finite_scores(method: RetrievalMethod, query: str) -> None:
    hits = index_of("Rain fell.", "Rain fell.", "Rain fell.", method=method).search(query, k=3)
    assert [hit.passage.page for hit in hits] == [0, 1, 2]
    assert all(np.isfinite(hit.score) for hit in hits) and len({hit.score for hit in hits}) == 1


def test_tfidf_is_a_cosine() -> None:
    ranker = TfidfRanker(["rain fell", "snow fell", "the of"])
    assert ranker.scores("rain fell")[0] == pytest.approx(1.0)
    assert ranker.scores("empty").tolist() == [0.0, 0.0, 0.0]
    assert ranker.scores("").tolist() == [0.0, 0.0, 0.0]


def test_fusion_is_the_sum_of_reciprocal_ranks() -> None:
    fused = fuse([np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.3, 0.2])], k=60)
    assert fused == pytest.approx([1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 1 / 63 + 1 / 62])


def test_ties_within_a_list_share_the_better_rank() -> None:
    assert fuse([np.array([1.0, 5.0, 1.0, 5.0 + 1e-9])], k=10) == pytest.approx([1 / 13, 1 / 11, 1 / 13, 1 / 11])


def test_dense_methods_need_an_encoder() -> None:
    for method in ("dense", "hybrid"):
        with pytest.raises(ValueError, match=method):
            PassageIndex(evidence().passages, settings(method), None)


def test_fused_ties_keep_page_order() -> None:
    """Two lists that disagree exactly: both passages get the same sum."""
    index = index_of("aaa", "bbb", method="bm25")
    assert order(index, "bbb", "aaa") == [0, 1]
    assert len({hit.score for hit in index.search("bbb", "aaa", k=2)}) == 1


def test_terms_are_stemmed_words_of_any_script() -> None:
    assert terms("The floods flooded Vasterlow's houses in 2031.") == ["flood", "flood", "vasterlow", "hous", "2031"]
    assert terms("Überschwemmung наводнения 洪水") == ["uberschwemmung", "наводнения", "洪水"]
    assert terms("the Meléndez family, Târgoviște") == terms("The Melendez Family; Targoviste")
    assert terms("the of and") == terms("") == []

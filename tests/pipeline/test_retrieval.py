from __future__ import annotations

import numpy as np
import pytest

from data.settings import RetrievalMethod, RetrievalSettings
from data.types import Passage
from pipeline.retrieval import Bm25Ranker, DenseRanker, PassageIndex, TfidfRanker, fuse, terms
from tests.fakes import FixedEncoder
from tests.pipeline.flood import INQUIRY, LEDGER, PROVINCE, RAIN, REPORT, RESPONSE, REVIEW, WEATHER, evidence

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
def test_k(method: RetrievalMethod) -> None:
    index = index_of(REPORT, RESPONSE, INQUIRY, method=method)
    assert len(index.search("flood", k=2)) == 2
    assert sorted(order(index, "flood", k=50)) == [0, 1, 2]


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


@pytest.mark.parametrize("method", METHODS)
def test_identical_passages_keep_page_order(method: RetrievalMethod) -> None:
    index = index_of(WEATHER, REPORT, INQUIRY, REPORT, REPORT, method=method)
    hits = index.search("the levee broke at Lower Quay, fourteen people died", k=5)
    assert [hit.passage.page for hit in hits][:3] == [1, 3, 4]
    assert len({hit.score for hit in hits[:3]}) == 1


@pytest.mark.parametrize("method", METHODS)
def test_other_scripts(method: RetrievalMethod) -> None:
    index = index_of("Наводнение в долине реки", "Выборы президента страны", "選挙の結果", method=method)
    assert order(index, "наводнение реки")[0] == 0
    assert order(index, "выборы президента")[0] == 1
    assert order(index, "選挙の結果")[0] == 2


@pytest.mark.parametrize("method", METHODS)
def test_passages_without_words(method: RetrievalMethod) -> None:
    index = index_of("the of and", "—", "Rain fell on the basin.", method=method)
    assert order(index, "rain on the basin")[0] == 2
    assert len(order(index, "empty")) == 3


@pytest.mark.parametrize("method", METHODS)
def test_the_same_again(method: RetrievalMethod) -> None:
    queries = ["2031 Tolvane flood Aftermath", "Aftermath", "Aftermath Irena Holt"]
    first = PassageIndex(evidence().passages, settings(method), FixedEncoder()).search(*queries, k=4)
    assert first == PassageIndex(evidence().passages, settings(method), FixedEncoder()).search(*queries, k=4)


def test_bm25_gives_no_word_a_negative_weight() -> None:
    """Plain BM25 would rank passages with the title's words below those without, when most passages have them."""
    ranker = Bm25Ranker(["flood in town", "flood flood", "flood of rain", "quiet day"])
    scores = ranker.scores("flood")
    assert (scores >= 0).all()
    assert scores[:3].min() > scores[3]
    everywhere = Bm25Ranker(["flood a1", "flood b1 b2 b3"]).scores("flood")
    assert (everywhere > 0).all()


def test_tfidf_is_a_cosine() -> None:
    ranker = TfidfRanker(["rain fell", "snow fell", "the of"])
    assert ranker.scores("rain fell")[0] == pytest.approx(1.0)
    assert ranker.scores("empty").tolist() == [0.0, 0.0, 0.0]
    assert ranker.scores("").tolist() == [0.0, 0.0, 0.0]


def test_dense_scores_are_inner_products() -> None:
    encoder, texts = FixedEncoder(), [REPORT, RESPONSE, INQUIRY, WEATHER]
    expected = encoder.encode(texts) @ encoder.encode(["levee"])[0]
    assert DenseRanker(texts, encoder).scores("levee") == pytest.approx(expected, abs=1e-6)


def test_fusion_is_the_sum_of_reciprocal_ranks() -> None:
    fused = fuse([np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.3, 0.2])], k=60)
    assert fused == pytest.approx([1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 1 / 63 + 1 / 62])


def test_ties_within_a_list_share_the_better_rank() -> None:
    assert fuse([np.array([1.0, 5.0, 1.0, 5.0 + 1e-9])], k=10) == pytest.approx([1 / 13, 1 / 11, 1 / 13, 1 / 11])


def test_fused_ties_keep_page_order() -> None:
    """Two lists that disagree exactly: both passages get the same sum."""
    index = index_of("aaa", "bbb", method="bm25")
    assert order(index, "bbb", "aaa") == [0, 1]
    assert len({hit.score for hit in index.search("bbb", "aaa", k=2)}) == 1


def test_more_queries_find_what_each_asks_for() -> None:
    index = PassageIndex(evidence().passages, settings("bm25"), None)
    assert {hit.passage.id for hit in index.search("shelters residents", "gauge measured metres", k=2)} == {PROVINCE, RAIN}


def test_nothing_is_encoded_before_the_first_search() -> None:
    encoder = FixedEncoder()
    index = PassageIndex(evidence().passages, settings("hybrid"), encoder)
    assert encoder.seen == []
    index.search("levee", k=1)
    index.search("rain", k=1)
    assert len(encoder.seen) == len(index.passages) + 2, "the passages once, and each query"


def test_dense_methods_need_an_encoder() -> None:
    for method in ("dense", "hybrid"):
        with pytest.raises(ValueError, match=method):
            PassageIndex(evidence().passages, settings(method), None)


def test_terms_are_stemmed_words_of_any_script() -> None:
    assert terms("The floods flooded Vasterlow's houses in 2031.") == ["flood", "flood", "vasterlow", "hous", "2031"]
    assert terms("Überschwemmung наводнения 洪水") == ["überschwemmung", "наводнения", "洪水"]
    assert terms("the of and") == terms("") == []

"""Hand-computed scores. The judge here is strict and simple: a pair is supported when every word is in the premises."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.gold import GoldArticle
from data.markup import parse_text
from data.types import Passage, Source
from eval.judges.judge import Pair
from eval.metric import Case
from eval.metrics.citations import (
    Citations,
    Premises,
    Ranking,
    WgbCitations,
    WgbScores,
    WgbUnit,
    claims_of,
    unattributed,
    wgb_citation_scores,
    wgb_units,
)
from eval.text import words


class EveryWord:
    """Score: the share of the claim's words that the premises have; supported when it is 1."""

    name, revision, threshold, kind = "every-word", "1", 1.0, "lexical"

    def __init__(self) -> None:
        self.asked: list[Pair] = []

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        self.asked += pairs
        return [self._share(pair) for pair in pairs]

    @staticmethod
    def _share(pair: Pair) -> float:
        claim, known = set(words(pair.claim)), set(words(" ".join(pair.premises)))
        return len(claim & known) / len(claim) if claim else 0.0


def source(k: int, text: str, title: str = "") -> Source:
    return Source(Passage(page=k, start=0, end=len(text), text=text), f"https://example.org/{k}", title, None)


SOURCES = (
    source(1, "Red boats sailed north in June."),
    source(2, "Blue trains stopped near Oslo."),
    source(3, "Green kites crossed the harbour.", title="Windy Sunday"),
)
RED, BLUE, GREEN = (s.passage.text for s in SOURCES)
GOLD = GoldArticle(event_id="1", title="T", raw="", lead="", sections=(), infobox=(), cited_urls=())


def case_of(text: str, sources: Sequence[Source] = SOURCES) -> Case:
    return Case(parse_text(text, sources, "1", "T"), GOLD, ())


def scores_of(text: str, sources: Sequence[Source] = SOURCES) -> dict[str, float | None]:
    return Citations(EveryWord()).score(case_of(text, sources))


def test_an_article_by_hand() -> None:
    lines = [
        f"{RED}[1]",  # 6 words, supported; citation right
        f"{BLUE}[1]",  # 5 words, not supported; citation wrong
        "==Kites==",
        "Green kites crossed Oslo harbour near trains.[2][3][1]",  # 7 words, supported together: 2 right, [1] needless
        "Purple horses danced slowly.",  # 4 words, uncited
        "Yes indeed.",  # 2 words, uncited
        "...",  # no word: skipped
    ]
    assert all("every-word@1>=1" in metric(EveryWord()).signature for metric in (Citations, WgbCitations))
    assert scores_of("\n".join(lines)) == {
        "cite_recall": 2 / 5,
        "cite_precision": 3 / 5,
        "cite_f1": pytest.approx(2 * 0.4 * 0.6 / 1.0),
        "cited_share": 3 / 5,
        "support_given_cited": 2 / 3,
        "cite_words": 13 / 24,
        "cite_recall_soft": pytest.approx((1 + 0 + 1 + 0 + 0) / 5),
        "cite_precision_soft": pytest.approx((1 + 0 + 2) / 5),
        "alce_recall": 2 / 6,  # even what has no word counts
        "alce_precision": 3 / 5,
        "invalid_citation_share": 0.0,
        "citations_per_claim": 5 / 5,
        "n_claims": 5.0,
        "n_skipped": 1.0,
        "judged_share": 1.0,
    }


def test_the_publisher_of_a_quotation_is_known_by_its_address() -> None:
    assert unattributed("According to example.org, “Red boats sailed.”", {"example.org"}) == "“Red boats sailed.”"
    for claim in ("According to other.org, “Red boats sailed.”", "According to example.org, red boats sailed."):
        assert unattributed(claim, {"example.org"}) == claim  # another publisher, or no quotation: all of it is judged
    pair = Premises(SOURCES).pair((SOURCES[0].id,), "According to example.org, “Red boats sailed.”")
    assert pair.claim == "“Red boats sailed.”" and RED in pair.premises[0]


@pytest.mark.parametrize("marker", ["[0]", "[99]", "[-1]", "[0][99]"])
def test_invented_citations_are_wrong_support_nothing_and_never_reach_the_judge(marker: str) -> None:
    found = scores_of(f"{RED}{marker}")
    assert found["cite_recall"] == found["cite_precision"] == found["cite_f1"] == found["cited_share"] == 0.0
    assert (found["invalid_citation_share"], found["support_given_cited"]) == (1.0, None)
    beside, judge = f"{RED}{marker}[1] {BLUE}[2]", EveryWord()
    n, found = marker.count("["), Citations(judge).score(case_of(beside))
    assert (found["cite_recall"], found["cite_precision"], found["invalid_citation_share"]) == (1.0, 2 / (n + 2), n / (n + 2))
    assert (found["alce_recall"], found["alce_precision"]) == (1 / 2, 1.0)  # ALCE takes the whole sentence out
    assert judge.asked == [Pair((RED,), RED), Pair((BLUE,), BLUE)]


@pytest.mark.parametrize("text", [f"{RED}[1, 2]", f"{RED}[1-2]", f"{RED}[1][2]", f"{RED} [1] [2]", f"{RED[:-1]}[1][2]."])
def test_forms_of_markers_score_alike(text: str) -> None:
    assert scores_of(text) == scores_of(f"{RED}[1][2]")
    assert scores_of(text)["citations_per_claim"] == 2.0


def test_a_needless_citation_is_wrong_and_a_joint_one_is_right_and_partial_support_counts_softly() -> None:
    assert scores_of(f"{RED}[1-3]")["cite_precision"] == 1 / 3
    joint = "Red boats stopped near Oslo."
    assert scores_of(f"{joint}[1][2]")["cite_precision"] == 1.0
    assert scores_of(f"{joint}[1]")["cite_recall"] == scores_of(f"{joint}[2]")["cite_recall"] == 0.0
    assert scores_of("Red boats sailed to Mars.[1][2]")["cite_precision_soft"] == 3 / 5
    assert scores_of(f"{RED}[1][2]")["cite_precision_soft"] == scores_of(f"{RED}[1][99]")["cite_precision_soft"] == 1 / 2


class Silent(EveryWord):
    """Cannot tell about anything with boats."""

    def score(self, pairs: Sequence[Pair]) -> list[float]:  # type: ignore[override]
        return [None if "boats" in pair.claim else self._share(pair) for pair in pairs]


def test_what_a_judge_leaves_open_is_unscored() -> None:
    for metric in (Citations(Silent()), WgbCitations(Silent())):
        assert set(metric.score(case_of(f"{RED}[1] {BLUE}[2]")).values()) == {None}
        assert None not in metric.score(case_of(f"{BLUE}[2]")).values()


def test_headings_and_lists_of_sources_are_no_claims_but_prose_is_under_any_heading() -> None:
    entries = [
        '"Blue trains stopped near Oslo". Daily News. Retrieved 12 May 2021.',
        "Oduya, Petra (2021). How the blue trains stopped. Lake Press.",
        "https://example.org/blue-trains-stopped",
        "List of railway lines in Oslo",
    ]
    text = f"{RED}[1]\n==Blue trains stopped near Oslo[2]==\n{GREEN}[3]\n==References==\n" + "\n".join(entries)
    assert [claim.text for claim in claims_of(case_of(text)).sentences] == [RED, GREEN]
    assert case_of(text).headings == ("Blue trains stopped near Oslo",)
    for heading in ("References", "Notes", "See also"):
        hidden = case_of(f"{RED}[1]\n=={heading}==\n{BLUE}\n{entries[0]}\nВсе поезда остановились у города.")
        assert [claim.text for claim in claims_of(hidden).sentences] == [RED, BLUE, "Все поезда остановились у города."]
        assert hidden.headings == (heading,)
        assert Citations(EveryWord()).score(hidden)["cite_recall"] == 1 / 3


def test_a_cited_page_stands_by_its_best_windows_and_claims_and_passages_stay_whole() -> None:
    filler = " ".join(f"filler{n} padding{n} nothing{n}" for n in range(500))
    passage = source(2, " ".join(f"word{n}" for n in range(600)))
    judge = EveryWord()
    Citations(judge).score(case_of(f"{RED}[1]\n{BLUE}[2]", [source(1, f"{filler} {RED} {filler}", title="Annals"), passage]))
    page, whole = judge.asked
    assert page.claim == RED and page.premises[0].startswith("Annals\n") and RED in page.premises[0]
    assert 500 < len(page.premises[0].split()) <= 601
    assert whole == Pair((passage.passage.text,), BLUE)


# WikiGenBench's units and formulas. Expected values follow their published script step by step.


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("", []),
        ("No marker at all.", [("No marker at all.", ())]),
        ("A.[1]", [("A.", (0,))]),
        ("A.[1][2] B.[3]", [("A.", (0, 1)), (" B.", (2,))]),
        ("A.[1]\n[2]B.", [("A.\n", (0, 1)), ("B.", ())]),  # a lone line break keeps a run together
        ("A.[1] [2]", [("A.", (0,)), (" ", (1,))]),  # a space does not: a claim of one space
        ("A [1]. B [2].", [("A ", (0,)), (". B ", (1,)), (".", ())]),
        ("[1]A.", [("", (0,)), ("A.", ())]),
        ("==H==\nA. B.[1]\n==I==\nC.", [("==H==\nA. B.", (0,)), ("\n==I==\nC.", ())]),
        ("A.[0][99]", [("A.", (-1, 98))]),
        ("A.[1, 2] B.[1-3] C.[2]", [("A.[1, 2] B.[1-3] C.", (1,))]),
        ("A.[1][1]", [("A.", (0, 0))]),
    ],
)
def test_units(text: str, units: list[tuple[str, tuple[int, ...]]]) -> None:
    assert wgb_units(text) == [WgbUnit(words, places) for words, places in units]


CHUNKS = [s.passage.text for s in SOURCES]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (0.0, 0.0, 0.0)),
        (f"{RED}[1]", (1.0, 1.0, 1.0)),
        (f"{RED}[1][2]", (1.0, 0.5, 1.0)),  # each citation alone
        ("Red boats stopped near Oslo.[1][2]", (0.0, 0.0, 0.0)),  # premises are not joined
        (f"{RED}[99]", (0.0, 0.0, 0.0)),
        (f"{GREEN}[0]", (1.0, 1.0, 1.0)),  # index -1 is the last chunk
        (f"{RED}[1][1]", (1.0, 1.0, 1.0)),
        (f"{RED}[1] [2]", (1 / 2, 1 / 2, 1.0)),  # the unit of one space is a claim without words
        ("Red boats sailed north in June [1].", (1 / 2, 1 / 2, 6 / 7)),  # so is the full stop, and it counts as a word
        (f"{RED}[1]\n{BLUE} {GREEN}[3]", (1 / 2, 1 / 2, 6 / 16)),  # an uncited sentence sinks the cited one after it
        (f"{RED}[1] {BLUE}[1][2] {GREEN}", (2 / 3, (1 + 1 / 2) / 3, 11 / 16)),
        (f"==Boats==\n{BLUE}[2]", (0.0, 0.0, 0.0)),  # a heading is part of the claim
    ],
)
def test_published_formulas(text: str, expected: tuple[float, float, float]) -> None:
    assert wgb_citation_scores(text, CHUNKS, EveryWord()) == pytest.approx(WgbScores(*expected))


@given(st.lists(st.sampled_from(["[1]", "[2]", "[0]", "[99]", " ", "\n", ".", RED, BLUE, "==H==", "[1, 2]"]), max_size=12))
def test_precision_never_exceeds_recall_and_no_text_is_lost(pieces: list[str]) -> None:
    text = "".join(pieces)
    units = wgb_units(text)
    assert "".join(unit.text for unit in units) == "".join(p for p in pieces if p not in ("[1]", "[2]", "[0]", "[99]"))
    assert sum(len(unit.places) for unit in units) == sum(p in ("[1]", "[2]", "[0]", "[99]") for p in pieces)
    found = wgb_citation_scores(text, CHUNKS, EveryWord())
    assert 0 <= found.precision <= found.recall <= 1 and 0 <= found.rate <= 1


def test_texts_are_ranked_as_by_the_package_whatever_was_asked_before() -> None:
    from rank_bm25 import BM25Okapi

    rng = random.Random(5)
    vocabulary = ["boat", "lake", "night", "owner", "fire", "storm", "bridge", "town"]
    texts = [" ".join(rng.choices(vocabulary, k=rng.randint(1, 9))) for _ in range(60)]
    index, ranking = BM25Okapi([text.split() for text in texts]), Ranking(texts)
    for _ in range(40):
        query = rng.choices(["boat", "lake", "night", "storm", "unheard", "bridge"], k=rng.randint(0, 5))
        scores = index.get_scores(query)
        expected = sorted(range(len(texts)), key=lambda i: (-scores[i], i))
        assert ranking.top(" ".join(query), 7) == expected[:7] and ranking.top(" ".join(query), 99) == expected
    assert Ranking(["the of and", ""]).top("boat", 3) == []


# ---- texts that nobody knows

UNKNOWN = source(4, "")
FOUR = (*SOURCES, UNKNOWN)


@pytest.mark.parametrize("marks", ["[1][4]", "[2][4]"])
def test_one_unknown_text_is_enough_whatever_the_others_say(marks: str) -> None:
    """Else only sentences that the known text supports would count, and the share of supported ones come out too high."""
    judge = EveryWord()
    found = Citations(judge).score(case_of(f"{RED}{marks}\n{BLUE}[2]", FOUR))
    assert judge.asked == [Pair((BLUE,), BLUE)]
    assert (found["cite_recall"], found["cite_precision"], found["judged_share"]) == (1.0, 1.0, 1 / 2)


def test_where_nothing_can_be_judged_support_is_unscored() -> None:
    found = scores_of(f"{RED}[4]\n{BLUE}[4][9]", FOUR)
    assert {name: value for name, value in found.items() if value is not None} == {
        "cited_share": 1.0,
        "invalid_citation_share": 1 / 3,
        "citations_per_claim": 3 / 2,
        "n_claims": 2.0,
        "n_skipped": 0.0,
        "judged_share": 0.0,
    }
    assert scores_of("", FOUR)["judged_share"] is None  # no claims: 0 as ever, for the article says nothing
    assert scores_of("", FOUR)["cite_recall"] == 0.0


def test_the_published_formulas_know_no_unknown_text() -> None:
    known, unknown = (WgbCitations(EveryWord()).score(case_of(f"{RED}[1] {BLUE}[{k}]", FOUR)) for k in (2, 4))
    assert known["wgb_cite_recall"] == 1.0 and set(unknown.values()) == {None}

from __future__ import annotations

import numpy as np
import pytest

from data.errors import NoEvidence
from data.settings import RetrievalSettings
from data.types import Event, Page
from decoding.models.loading import break_control_tokens
from pipeline.choosing.finding import scored_candidates
from pipeline.choosing.selecting import SelectionWeights
from pipeline.evidence import Evidence
from pipeline.writing.quoting import DANGLING_PRIOR, FIT_PRIOR, LEAST_SHARE, RANK_PRIOR, Quotables, attribution_stops
from tests.fakes import FixedEncoder

STORM = "The storm Elga reached the coast of Orvenia on 3 May 2031."
POWER = "More than 12,000 homes in Lethmar lost power for two days."
BRIDGE = "Engineers closed the Harrow Bridge after a barge struck its northern pier."
SHELTER = "Marrund Province opened nine shelters for residents of Vasterlow."


def page(n: int, *sentences: str) -> Page:
    return Page(url=f"https://p{n}.example", title=f"Page {n}", text="\n".join(sentences), origin="search")


def quotables(*pages: Page, enough_words: int = 0) -> Quotables:
    evidence = Evidence.cut(Event("1", "Storm Elga"), pages, RetrievalSettings())
    scored = scored_candidates(evidence, FixedEncoder())
    return Quotables.of(scored, "Storm Elga", break_control_tokens, 2.0, SelectionWeights(), enough_words)


def index(found: Quotables, text: str) -> int:
    return found.texts.index(text)


def test_an_offered_sentence_stands_in_the_prompt_as_in_the_answer() -> None:
    found = quotables(page(0, f"{STORM} [12]", "Deaths: 14 in Lethmar"), page(1, POWER))
    quoted = found.quoted(found.pool(range(len(found.texts)), 1000), 2)
    shown = {(sentence, p.number) for p in quoted.shown for sentence in p.sentences}
    assert {(item.text, int(item.after.strip(" []"))) for item in quoted.offer.items} == shown
    assert any("(12)" in item.text for item in quoted.offer.items)
    assert "Deaths: 14 in Lethmar." in found.texts, "a list line is closed as a sentence is"
    assert quoted.offer.separator == " " and quoted.offer.prior_weight == 2.0
    for item, cites in zip(quoted.offer.items, quoted.cites, strict=True):
        assert [quoted.passages[k - 1].id for k in (int(item.after.strip(" []")),)] == list(cites)


def test_the_same_sentence_on_two_pages_cites_both() -> None:
    found = quotables(page(0, STORM, POWER), page(1, BRIDGE, STORM), page(2, STORM))
    pool = found.pool([index(found, STORM), index(found, BRIDGE)], 1000)
    quoted = found.quoted(pool, len(found.passages(pool)))
    storm = next(k for k, item in enumerate(quoted.offer.items) if item.text == STORM)
    assert quoted.offer.items[storm].after == " [1][2]"
    assert [int(cite.partition(":")[0]) for cite in quoted.cites[storm]] == [0, 1]
    assert all(STORM in p.sentences for p in quoted.shown[:2])
    assert [item.after for item in quoted.offer.items if item.text == BRIDGE] == [" [2]"]


def test_of_two_that_say_the_same_one_may_be_used() -> None:
    again = "The storm Elga reached the coast of Orvenia late on 3 May 2031."
    found = quotables(page(0, STORM, POWER), page(1, again))
    quoted = found.quoted(found.pool(range(len(found.texts)), 1000), 2)
    group = {item.text: item.group for item in quoted.offer.items}
    assert group[STORM] == group[again] != group[POWER]
    assert quoted.offer.most == 2


def test_fewer_passages_offer_fewer_sentences_and_the_best_stay() -> None:
    found = quotables(page(0, STORM), page(1, POWER), page(2, BRIDGE))
    pool = found.pool([index(found, t) for t in (BRIDGE, STORM, POWER)], 1000)
    assert [[i.text for i in found.quoted(pool, n).offer.items] for n in (1, 2)] == [[BRIDGE], [BRIDGE, STORM]]
    assert found.quoted(pool, 1).offer.most == 1


def test_the_prior_falls_with_rank_and_fit_and_for_a_pronoun_without_its_noun() -> None:
    leaning = "They were repaired by crews from Vasterlow in a week."
    found = quotables(page(0, STORM, POWER, leaning, BRIDGE))
    ranked = [index(found, t) for t in (STORM, POWER, BRIDGE)]
    assert found.pool(ranked, 1000).priors == (0.0, -RANK_PRIOR / 2, -RANK_PRIOR)
    fit = np.zeros(len(found.texts))
    fit[index(found, BRIDGE)] = 1.0
    assert found.pool(ranked, 1000, fit).priors == (0.0, -RANK_PRIOR / 2, -(RANK_PRIOR - FIT_PRIOR))
    alone = found.pool([index(found, STORM), index(found, leaning)], 1000)
    assert alone.priors == (0.0, -RANK_PRIOR - DANGLING_PRIOR)
    assert found.pool([index(found, POWER), index(found, leaning)], 1000).priors == (0.0, -RANK_PRIOR)


def test_the_budget_of_words_says_how_many() -> None:
    found = quotables(page(0, STORM, POWER, BRIDGE, SHELTER))
    order = list(range(len(found.texts)))
    for max_words, most in ((1, 1), (22, 2), (33, 3), (1000, 4)):
        assert found.pool(order, max_words).most == most
    assert found.pool(order, 1000, most=2).most == 2
    offer = found.quoted(found.pool(order, 1000), 1).offer
    assert (offer.least, offer.most) == (int(LEAST_SHARE * 4), 4)


def test_a_pool_is_divided_by_pages_and_keeps_its_budget() -> None:
    texts = [[f"Team {a}{n} of Lethmar won match {10 * a + n} by {n + 2} points." for n in range(6)] for a in range(3)]
    found = quotables(*(page(a, *lines) for a, lines in enumerate(texts)))
    pool = found.pool(range(18), 120)
    parts = found.divided(pool, 3)
    assert [{found.scored.candidates[i].page for i in part.indices} for part in parts] == [{0}, {1}, {2}]
    assert sorted(i for part in parts for i in part.indices) == list(range(18))
    assert sum(part.max_words for part in parts) == 120
    prior = dict(zip(pool.indices, pool.priors, strict=True))
    assert all(part.priors == tuple(prior[i] for i in part.indices) for part in parts)
    assert found.divided(pool, 1) == [pool]


def test_what_the_check_of_a_free_text_would_remove_is_not_offered() -> None:
    told = "You write encyclopedia articles about storms named Elga."
    found = quotables(page(0, STORM, told, "Storm!", "Subscribe to our newsletter about the storm Elga.", "Elga " + "x" * 800))
    assert found.texts == (STORM,)


@pytest.mark.parametrize("text", ["Flooded!", "Flood"])
def test_a_page_of_one_word_is_no_evidence(text: str) -> None:
    with pytest.raises(NoEvidence, match="no sentence that could be quoted"):
        quotables(page(0, text))


@pytest.mark.parametrize(
    ("text", "left_at"),
    [
        ("The road between Lethmar and Osmere is open again, officials said on Monday.", ", officials"),
        ("The levee had never been inspected in twelve years, the agency said.", ", the agency said"),
        ("The levee had never been inspected in twelve years, the fire department reported.", ", the fire"),
        ("The levee had never been inspected in twelve years, Mayor Irena Holt said.", None),
        ("The road is open, officials said.", None),
        ("“The road between Lethmar and Osmere is open again, officials said on Monday.", None),
        ("Officials said on Monday that the road between Lethmar and Osmere is open.", None),
    ],
)
def test_only_who_said_it_may_be_left_out(text: str, left_at: str | None) -> None:
    assert attribution_stops(text) == (() if left_at is None else (text.index(left_at),))

"""What of the human article stands in an article, sentence by sentence, and how often an encyclopedia is cited."""

from __future__ import annotations

from dataclasses import replace

import pytest

from data.markup import parse_text
from data.types import Passage, Source
from eval.metric import Case
from eval.metrics.exposure import Exposure
from tests.eval.cases import case, gold

HUMAN = (
    "The mill by the northern river burned down on the second day of March. "
    "Twelve firemen of three towns fought the flames until the next morning. "
    "Nobody has found out who started it."
)
OWN = "A large fire destroyed the old building beside the river during the night."


@pytest.mark.parametrize(
    ("written", "human", "share"), [(HUMAN, HUMAN, 1.0), (OWN, HUMAN, 0.0), ("It burned.", "It stood.", None)]
)
def test_what_of_the_human_article_is_there_and_none_where_it_cannot_be_counted(
    written: str, human: str, share: float | None
) -> None:
    values = Exposure().score(case(written, human))
    assert values == dict.fromkeys(Exposure().names) | {"gold_sentence_share": share, "gold_said_share": share}


def test_citations_of_an_encyclopedia_are_found_by_host() -> None:
    urls = ("https://en.wikipedia.org/wiki/Mill", "https://news.example/mill", "")
    sources = tuple(Source(Passage(k, 0, 1, "x"), url, "", None) for k, url in enumerate(urls))
    article = parse_text("It burned.[1][2] It was old.[2][3] It stood long.[1][1]", sources, "1", "Mill")
    made = Case(article, gold(HUMAN), ())
    assert Exposure().score(made)["encyclopedia_cites"] == pytest.approx(2 / 4)  # [3] has no address, a repeated [1] is one
    unknown = replace(article, sources=sources[2:])
    assert Exposure().score(Case(unknown, gold(HUMAN), ()))["encyclopedia_cites"] is None

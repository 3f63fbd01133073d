"""Pages about one event whose figures move, beside other events: the latest stands, no word of a page is changed, and
nothing of another event is touched. Each pair is written by `extractive` from both pages, and updated from the first one."""

from __future__ import annotations

import re

import pytest

from data.settings import RetrievalSettings, WritingSettings
from data.stage_types import Unstored
from data.types import Article, Event, Page
from pipeline.choosing.standing_alone import with_days
from pipeline.evidence import Evidence
from pipeline.following.changes import Comparison
from pipeline.following.news import find_news, with_news
from pipeline.following.settling import contradictions, settled
from pipeline.following.updating import join_pages, update_article
from pipeline.systems.extractive import ExtractiveSystem
from pipeline.web.bundle import pages_of
from tests.fakes import FixedEncoder, SilentFiler
from tests.pipeline.following.moving_figures import PAIRS, Pair
from tests.pipeline.following.test_updating import record

SYSTEM = ExtractiveSystem(RetrievalSettings(), WritingSettings(), FixedEncoder(), SilentFiler())
_MARK = re.compile(r" \(as reported on [^)]*\)(?=[.!?”]*$)")
_DATE = re.compile(r"\b(?:on )?\d{1,2} [A-Z]\w+ \d{4}\b|\b(?:on )?(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b")


def records(pair: Pair):  # type: ignore[no-untyped-def]
    first = record("first", pair.first_page, day=pair.days[0], title=f"{pair.scene.title}: a report")
    name = "first" if pair.edited else "later"
    return first, record(name, pair.later_page, day=pair.days[1], title=f"{pair.scene.title}: the latest")


def extracted(pair: Pair) -> tuple[Article, tuple[Page, ...]]:
    first, later = records(pair)
    pages = pages_of([later] if pair.edited else [first, later])
    return SYSTEM.write(Event("1", pair.scene.title), pages, Unstored()), pages


def updated(pair: Pair) -> tuple[Article, tuple[Page, ...]]:
    first, later = records(pair)
    event = Event("1", pair.scene.title)
    old = SYSTEM.write(event, pages_of([first]), Unstored())
    joined = join_pages(pages_of([first]), [first], [later] if pair.edited else [first, later])
    changes = Comparison(event.title, joined.pages, joined.revisits).changes(old)
    article = update_article(old, joined, changes, RetrievalSettings(), "remove").article
    evidence = Evidence.unlapped(event, joined.pages, RetrievalSettings())
    news = find_news(article, pages_of([first]), SYSTEM.plan(evidence))
    article = with_news(article, evidence, news, lambda plan: SYSTEM.say(evidence, plan, Unstored()))
    return settled(article, joined.pages), joined.pages


def bare(text: str) -> str:
    """A sentence without its mark, dates and weekdays: what must be a page's own."""
    return " ".join(
        _DATE.sub("", _MARK.sub("", text)).replace(" now", "").replace(" .", ".").replace(" ,", ",").split()
    ).rstrip(".")


def faults(pair: Pair, article: Article, pages: tuple[Page, ...]) -> list[str]:
    told = [s.text for section in article.all_sections for s in section.sentences]
    held = " ".join(bare(with_days(line, None) or line) for page in pages for line in re.split(r"(?<=[.!?])\s+", page.text))
    found = [f"no page's own words: {text}" for text in told if bare(text) not in held]
    if not any(pair.says in text for text in told):
        found.append(f"not said: {pair.says}")
    for text, following in zip(told, (*told[1:], ""), strict=True):
        if pair.older and bare(text) == bare(pair.older) and not _MARK.search(text) and pair.says not in following:
            found.append(f"an older figure: {text}")
    if not pair.older:
        found += [f"told as history: {text}" for text in told if _MARK.search(text)]
    elif contradictions(article, pages):
        found.append(f"contradicts itself: {contradictions(article, pages)}")
    found += [f"said twice: {text}" for text in set(told) if told.count(text) > 1]
    if pair.beside:
        before = SYSTEM.write(Event("1", pair.scene.title), pages_of([records(pair)[0]]), Unstored())
        had = [bare(s.text) for section in before.all_sections for s in section.sentences]
        if bare(pair.beside) in had and bare(pair.beside) not in [bare(text) for text in told]:
            found.append(f"another event's sentence is gone: {pair.beside}")
    return found


def shown(article: Article) -> str:
    return "\n".join(f"[{section.heading.text}] {s.text}" for section in article.all_sections for s in section.sentences)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.kind}: {pair.later[:50]}")
@pytest.mark.parametrize("way", [extracted, updated])
def test_the_latest_figure_of_the_event_stands(way, pair: Pair) -> None:  # type: ignore[no-untyped-def]
    article, pages = way(pair)
    assert not faults(pair, article, pages), shown(article)

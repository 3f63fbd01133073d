from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from benchmark.leaks import leak_checks
from data.codec import to_json
from data.errors import NoEvidence
from data.runs import EventFolder
from data.settings import EvidenceSettings, RetrievalSettings, WritingSettings
from data.snapshot import SAMPLE, Snapshot
from data.stage_types import Unstored
from data.types import Article, Event, Page
from pipeline.choosing.finding import find_candidates, off_topic
from pipeline.evidence import Evidence, SnapshotEvidence
from pipeline.retrieval import terms
from pipeline.systems.extractive import ExtractiveSystem
from tests.fakes import FixedEncoder, SilentFiler

SNAPSHOT = Snapshot(SAMPLE)
DATE = re.compile(
    r"\b\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|November|December) \d{4}\b"
)
SYSTEM = ExtractiveSystem(RetrievalSettings(), WritingSettings(), FixedEncoder(), SilentFiler())
ROLES = json.loads((SAMPLE / "roles.json").read_text(encoding="utf-8"))


HOSTILE, MIRRORED = "9000001", "9000004"


@cache
def collect(event_id: str) -> tuple[Page, ...]:
    return SnapshotEvidence(SNAPSHOT, EvidenceSettings(), leak_checks(SNAPSHOT)).collect(SNAPSHOT.event(event_id))


@pytest.fixture(scope="module")
def articles() -> dict[str, Article]:
    return {i: SYSTEM.write(SNAPSHOT.event(i), collect(i), Unstored()) for i in (HOSTILE, MIRRORED)}


def page(text: str, title: str = "t", n: int = 0) -> Page:
    return Page(url=f"https://{n}.example", title=title, text=text, origin="search")


def test_every_sentence_is_cited_and_its_words_stand_in_what_it_cites(articles: dict[str, Article]) -> None:
    for article in articles.values():
        held = {source.id: set(terms(source.passage.text)) for source in article.sources}
        for section in article.all_sections:
            for sentence in section.sentences:
                words = set(terms(DATE.sub("", sentence.text)))  # a date may stand for a weekday of the page
                assert sentence.cites and words <= set().union(*(held[c] for c in sentence.cites)), sentence


def test_nothing_that_a_hostile_page_demands_reaches_an_article(articles: dict[str, Article]) -> None:
    assert any("papaya" in page.text.lower() for page in collect(HOSTILE))
    assert "papaya" not in to_json(articles[HOSTILE].all_sections).lower()


def test_dropped_pages_are_never_cited(articles: dict[str, Article]) -> None:
    for event_id, article in articles.items():
        usable = {n for n, p in enumerate(collect(event_id)) if p.usable}
        assert {s.passage.page for s in article.sources} <= usable < set(range(len(ROLES[event_id])))


def test_the_same_pages_give_the_same_bytes_and_a_resumed_run_too(articles: dict[str, Article], tmp_path: Path) -> None:
    event = SNAPSHOT.event(HOSTILE)
    folder = EventFolder(tmp_path / event.id)
    SYSTEM.write(event, collect(event.id), folder)
    (folder.path / "article.json").unlink()
    (folder.path / "sections" / "02.json").unlink()
    assert to_json(SYSTEM.write(event, collect(event.id), folder)) == to_json(articles[event.id])


def test_pages_without_a_sentence_are_no_evidence() -> None:
    with pytest.raises(NoEvidence, match=r"no sentence of the pages on .Flood. could be used"):
        SYSTEM.write(Event("1", "Flood"), (page("Menu"),), Unstored())


def test_off_topic_pages_are_told_only_where_pages_abound() -> None:
    told = " ".join(
        f"The flood of the river broke the levee at place{n} and water came into house{n} that night." for n in range(38)
    )
    pages = [page(told, n=n) for n in range(4)] + [page("Zyx qwop vbnm kjhg. " * 40, n=9)]
    found = find_candidates(Evidence.cut(Event("1", "The flood"), pages, RetrievalSettings()), FixedEncoder())
    assert set(found.pages[off_topic(found)].tolist()) == {4}
    few = find_candidates(Evidence.cut(Event("1", "The flood"), pages[2:], RetrievalSettings()), FixedEncoder())
    assert not off_topic(few).any()

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from data import codec
from data.errors import NoEvidence
from data.runs import EventFolder
from data.settings import RetrievalSettings, WritingSettings
from data.stage_types import Unstored
from data.types import Article
from pipeline.systems.baselines import Bm25System, LeadSystem
from pipeline.writing.assembly import LEAD_HEADING
from tests.pipeline.flood import EVENT, PAGES, RETRIEVAL, page

SYSTEMS = [LeadSystem, Bm25System]


def write(kind: type, *, retrieval: RetrievalSettings = RETRIEVAL, **more: object) -> Article:
    return kind(retrieval, WritingSettings(**more)).write(EVENT, PAGES, Unstored())  # type: ignore[arg-type, no-any-return]


def words(article: Article) -> int:
    return sum(len(s.text.split()) for s in article.lead.sentences)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_articles_are_quotations_under_one_lead(kind: type) -> None:
    article = write(kind)
    assert article.lead.heading == LEAD_HEADING and article.sections == () and article.infobox == () and article.repairs == ()
    for paragraph in article.lead.paragraphs:
        for sentence in paragraph:
            assert sentence.cites == paragraph[0].cites and len(sentence.cites) == 1
            source = next(s for s in article.sources if s.id == sentence.cites[0])
            assert sentence.text in source.passage.text
    assert [s.id for s in article.sources] == [p[0].cites[0] for p in article.lead.paragraphs]


@pytest.mark.parametrize("kind", SYSTEMS)
@pytest.mark.parametrize("budget", [50, 60, 77, 10_000])
def test_whole_sentences_up_to_the_budget(kind: type, budget: int) -> None:
    article = write(kind, max_words=budget)
    assert 0 < words(article) <= budget
    everything = write(kind, max_words=10_000)
    quoted = [s.text for s in article.lead.sentences]
    assert len(quoted) == len(set(quoted)) and set(quoted) <= {s.text for s in everything.lead.sentences}
    if budget == 10_000:
        assert words(article) == sum(len(p.text.split()) for p in PAGES if p.usable)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_the_first_sentence_is_quoted_however_long(kind: type) -> None:
    long = page("x", "X", "Rain " * 60 + "fell.")
    article = kind(RETRIEVAL, WritingSettings(max_words=50)).write(EVENT, (long,), Unstored())
    assert words(article) == 61


@pytest.mark.parametrize("kind", SYSTEMS)
def test_same_inputs_same_bytes_and_a_resume_reads_them(kind: type, tmp_path: Path) -> None:
    folder = EventFolder(tmp_path / "42")
    system = kind(RETRIEVAL, WritingSettings())
    first = system.write(EVENT, PAGES, folder)
    assert codec.to_json(first) == codec.to_json(write(kind))
    assert codec.read(Article, folder.path / "article.json") == first
    edited = replace(first, title="By hand")
    (folder.path / "article.json").write_text(codec.to_json(edited), encoding="utf-8")
    assert system.write(EVENT, PAGES, folder) == edited


@pytest.mark.parametrize("kind", SYSTEMS)
def test_no_evidence(kind: type) -> None:
    with pytest.raises(NoEvidence, match="2031 Tolvane flood"):
        kind(RETRIEVAL, WritingSettings()).write(EVENT, (PAGES[2],), Unstored())


def test_identity_follows_the_settings_that_matter() -> None:
    def identity(kind: type, retrieval: RetrievalSettings = RETRIEVAL, **more: object) -> tuple[tuple[str, str], ...]:
        return tuple(sorted(kind(retrieval, WritingSettings(**more)).identity.items()))  # type: ignore[arg-type]

    for kind in SYSTEMS:
        assert identity(kind) == identity(kind, replace(RETRIEVAL, method="dense", top_k=1))
        assert len({identity(kind), identity(kind, max_words=99), identity(kind, replace(RETRIEVAL, passage_words=99))}) == 3
    assert identity(LeadSystem) != identity(Bm25System)

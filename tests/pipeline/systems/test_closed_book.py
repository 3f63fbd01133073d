"""What a model remembers: the title goes in, nothing else, and an article without citations comes out."""

from __future__ import annotations

from dataclasses import replace

from data.settings import ModelSettings, WritingSettings
from data.stage_types import Unstored
from data.types import Article, Page
from pipeline.systems.closed_book import ClosedBook
from tests.fakes import ScriptedGenerator
from tests.pipeline.flood import EVENT, PAGES, RETRIEVAL

TEXT = "The flood struck Vasterlow in 2031.[1]\n==Causes==\nHeavy rain fell [2].\n== References ==\n[1] The Ledger"


def written(generator: ScriptedGenerator, pages: tuple[Page, ...] = PAGES) -> Article:
    system = ClosedBook(ModelSettings(), RETRIEVAL, WritingSettings(max_words=600), generator, None)
    assert system.identity["rules"] == "closed_book/1" and system.identity["encoder"] == "none"
    return system.write(EVENT, pages, Unstored())


def test_the_title_is_all_that_is_shown_and_nothing_is_cited() -> None:
    generator = ScriptedGenerator([TEXT])
    article = written(generator)
    prompt = " ".join(message.content for message in generator.prompts[0])
    assert EVENT.title in prompt and "at most 600 words" in prompt and generator.sampling[0].max_new_tokens == 900
    assert not any(word in prompt for word in ("evidence", PAGES[0].title, PAGES[0].text[:40]))
    assert [(s.heading.text, [x.text for x in s.sentences]) for s in article.all_sections] == [
        ("", ["The flood struck Vasterlow in 2031."]),
        ("Causes", ["Heavy rain fell."]),
    ]
    assert article.sources == () and not any(x.cites for s in article.all_sections for x in s.sentences)


def test_an_event_without_a_usable_page_is_remembered_as_well() -> None:
    none = tuple(replace(page, drop_reason="blocked") for page in PAGES)
    assert written(ScriptedGenerator([TEXT]), none).lead.sentences

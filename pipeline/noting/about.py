"""Which pages are about the subject: by the card's vector where that is clear, by asking the model where it is not."""

from __future__ import annotations

from data.decoding_counts import Usage
from decoding.api import Encoder, Generator
from pipeline.choosing.subject import names_subject, sibling_page, subject_terms
from pipeline.evidence import Evidence
from pipeline.notes import AboutPages, Card, PageVerdict, Verdict
from pipeline.noting import reading_prompts
from pipeline.noting.card import page_texts
from pipeline.noting.material import shown_opening, shown_title
from pipeline.retrieval import terms
from pipeline.writing.prompts import Numbered

SURE, SURELY_NOT = 0.72, 0.2
"""Cosines of a page's beginning and the card from which it is about the subject, and below which it is not; between them the
model is asked."""
LEAST_CHANCE = 0.6
ASKED_WORDS = 80
MOST_ASKED = 24
"""Pages of which the model is asked at most, the doubtful ones first."""


def judge_pages(evidence: Evidence, card: Card, generator: Generator, encoder: Encoder) -> AboutPages:
    """A verdict for each usable page. Of a page that is not about the subject the passages that name it may still be read."""
    title = evidence.event.title
    pages = [n for n, page in enumerate(evidence.pages) if page.usable]
    vectors = encoder.encode([f"{title}. {card.text}", *page_texts(evidence, pages)])
    likeness = (vectors[1:] @ vectors[0]).tolist()
    middle = (SURE + SURELY_NOT) / 2
    siblings = {n for n in pages if sibling_page(title, evidence.pages[n])}
    doubtful = [
        (abs(like - middle), n)
        for n, like in zip(pages, likeness, strict=True)
        if SURELY_NOT <= like < SURE and n not in siblings
    ]
    asked = sorted(n for _, n in sorted(doubtful)[:MOST_ASKED])
    questions = [
        reading_prompts.about(
            title,
            card.text,
            Numbered(1, shown_title(page), shown_opening(page, ASKED_WORDS)),
            generator.neutralise,
        )
        for page in (evidence.pages[n] for n in asked)
    ]
    chances = (
        dict(zip(asked, (yes for yes, _ in generator.choose_many(questions, ("Yes", "No"))), strict=True)) if asked else {}
    )
    words = subject_terms(title)

    def verdict(n: int, like: float) -> Verdict:
        if n not in siblings and (chances[n] >= LEAST_CHANCE if n in chances else like >= middle):
            return "subject"
        page = evidence.pages[n]
        return "mention" if n not in siblings and names_subject(words, f"{page.title} {page.text}") else "other"

    found = tuple(
        PageVerdict(n, verdict(n, like), round(like, 3), round(chances[n], 3) if n in chances else None)
        for n, like in zip(pages, likeness, strict=True)
    )
    tokens = sum(generator.count_tokens(m.content) for question in questions for m in question)
    return AboutPages(found, Usage(len(questions), tokens, 0))


def namesakes(evidence: Evidence, about: AboutPages) -> tuple[str, ...]:
    """Titles of pages that name the subject in full and are about something else, where they are as many as those about it by
    half, and more than one: the title may mean that."""
    words = subject_terms(evidence.event.title)
    titles = [shown_title(evidence.pages[one.page]) for one in about.pages if one.verdict != "subject"]
    named = [title for title in titles if words <= frozenset(terms(title))]
    of_subject = sum(one.verdict == "subject" for one in about.pages)
    return tuple(named) if len(named) >= max(2, of_subject / 2) else ()

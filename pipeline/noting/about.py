"""Which pages are about the subject: by the cosine of a page's beginning and the card, and by the title's words in it.

To ask the model of each page told nothing: AUROC 0.46 on 153 labelled pages of development topics, where the cosine has 0.82,
and both together with the title's words 0.88 (`python -m tools.quality.bench_about`).
"""

from __future__ import annotations

from decoding.api import Encoder
from pipeline.choosing.subject import names_subject, sibling_page, subject_terms
from pipeline.evidence import Evidence
from pipeline.notes import AboutPages, Card, PageVerdict, Verdict
from pipeline.noting.card import page_texts
from pipeline.noting.material import shown_opening, shown_title
from pipeline.retrieval import terms

SURE = 0.72
"""Cosine from which a page is about the subject, whatever it calls it."""
NAMED, LEAST = 0.4, 0.88
"""What the share of the title's words adds to the cosine, and the least sum. Of the labelled pages 82% are judged rightly."""
OPENING_WORDS = 110


def judge_pages(evidence: Evidence, card: Card, encoder: Encoder) -> AboutPages:
    """A verdict for each usable page. Of a page that is not about the subject the passages that name it may still be read."""
    title = evidence.event.title
    pages = [n for n, page in enumerate(evidence.pages) if page.usable]
    vectors = encoder.encode([f"{title}. {card.text}", *page_texts(evidence, pages)])
    likeness = (vectors[1:] @ vectors[0]).tolist()
    words = subject_terms(title)

    def judged(n: int, like: float) -> PageVerdict:
        page = evidence.pages[n]
        texts = (shown_title(page), shown_opening(page, OPENING_WORDS))
        named = max(len(words & frozenset(terms(text))) for text in texts) / max(len(words), 1)
        verdict: Verdict = "other"
        if not sibling_page(title, page) and (like >= SURE or like + NAMED * named >= LEAST):
            verdict = "subject"
        elif not sibling_page(title, page) and names_subject(words, f"{page.title} {page.text}"):
            verdict = "mention"
        return PageVerdict(n, verdict, round(like, 3), round(named, 3))

    return AboutPages(tuple(judged(n, like) for n, like in zip(pages, likeness, strict=True)))


def namesakes(evidence: Evidence, about: AboutPages) -> tuple[str, ...]:
    """Titles of pages that name the subject in full and are about something else, where they are as many as those about it by
    half, and more than one: the title may mean that."""
    words = subject_terms(evidence.event.title)
    titles = [shown_title(evidence.pages[one.page]) for one in about.pages if one.verdict != "subject"]
    named = [title for title in titles if words <= frozenset(terms(title))]
    of_subject = sum(one.verdict == "subject" for one in about.pages)
    return tuple(named) if len(named) >= max(2, of_subject / 2) else ()

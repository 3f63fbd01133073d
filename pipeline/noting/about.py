"""Which pages are about the subject: by the cosine of a page's beginning and the card, by the title's words in it, and by
what the other pages tell: "a flood of entries for the Tolvane Valley Marathon" has the words of a flood, and no other page
speaks of runners. Nor is it read for what it mentions: all words of the name in its beginning and nowhere the name itself are
another name.

To ask the model of each page told nothing: AUROC 0.46 on 153 labelled pages of development topics, where the cosine has 0.82,
and both together with the title's words 0.88 (`python -m tools.quality.bench_about`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from decoding.api import Encoder
from pipeline.choosing.subject import has_name, names_subject, sibling_page, subject_terms
from pipeline.evidence import Evidence
from pipeline.notes import AboutPages, Card, PageVerdict, Verdict
from pipeline.noting.card import page_texts
from pipeline.noting.material import shown_opening, shown_title
from pipeline.retrieval import terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

SURE = 0.72
"""Cosine from which a page is about the subject, whatever it calls it."""
NAMED, LEAST = 0.4, 0.88
"""What the share of the title's words adds to the cosine, and the least sum. Of the labelled pages 82% are judged rightly."""
FEW_PAGES, LEAST_OF_FEW = 6, 0.8
"""Usable pages up to which a search has found little else, and the least sum there: four in five of the labelled pages of such
events are about the subject, of long lists every other one."""
OPENING_WORDS = 110
APART, OTHERS, PASSAGES = 0.57, 4, 3
"""Cosine of what a page says with what the other pages say, each as much as it is about the subject, below which it is apart
from them; other pages that this needs; and first passages of each. Of 55 labelled pages of nine topics 15 of 18 below it are
about something else."""


def judge_pages(evidence: Evidence, card: Card, encoder: Encoder) -> AboutPages:
    """A verdict for each usable page. Of a page that is not about the subject the passages that name it may still be read."""
    title = evidence.event.title
    pages = [n for n, page in enumerate(evidence.pages) if page.usable]
    vectors = encoder.encode([f"{title}. {card.text}", *page_texts(evidence, pages)])
    likeness = (vectors[1:] @ vectors[0]).tolist()
    words = subject_terms(title)
    openings = [(shown_title(evidence.pages[n]), shown_opening(evidence.pages[n], OPENING_WORDS)) for n in pages]
    named_by = [max(len(words & frozenset(terms(text))) for text in texts) / max(len(words), 1) for texts in openings]
    apart = _apart(evidence, pages, np.array(named_by) * np.maximum(likeness, 0.0), encoder)
    least = LEAST_OF_FEW if len(pages) <= FEW_PAGES else LEAST

    def judged(n: int, like: float, named: float) -> PageVerdict:
        page = evidence.pages[n]
        verdict: Verdict = "other"
        if not sibling_page(title, page) and (like >= SURE or (like + NAMED * named >= least and n not in apart)):
            verdict = "subject"
        elif not sibling_page(title, page) and names_subject(words, text := f"{page.title} {page.text}"):
            verdict = "other" if n in apart and named == 1.0 and not has_name(words, text) else "mention"
        return PageVerdict(n, verdict, round(like, 3), round(named, 3))

    return AboutPages(tuple(judged(*one) for one in zip(pages, likeness, named_by, strict=True)))


def _apart(evidence: Evidence, pages: Sequence[int], about: NDArray[np.float64], encoder: Encoder) -> frozenset[int]:
    """The pages that say something else than the others do; `about`, shape (n,), is how much each seems to be about the
    subject."""
    texts = {n: [p.text for p in evidence.passages if p.page == n][:PASSAGES] for n in pages}
    at = [k for k, n in enumerate(pages) if texts[n]]
    if len(at) <= OTHERS:
        return frozenset()
    vectors = encoder.encode([text for k in at for text in texts[pages[k]]])
    ends = np.cumsum([len(texts[pages[k]]) for k in at])
    means = np.stack([part.mean(axis=0) for part in np.split(vectors, ends[:-1])])
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    weights = about[at][:, None] ** 2 + 1e-3
    others = (weights * means).sum(axis=0) - weights * means
    others /= np.maximum(np.linalg.norm(others, axis=1, keepdims=True), 1e-9)
    kin = (means * others).sum(axis=1)
    return frozenset(pages[k] for k, one in zip(at, kin.tolist(), strict=True) if one < APART)


def namesakes(evidence: Evidence, about: AboutPages) -> tuple[str, ...]:
    """Titles of pages that name the subject in full and are about something else, where they are as many as those about it by
    half, and more than one: the title may mean that."""
    words = subject_terms(evidence.event.title)
    titles = [shown_title(evidence.pages[one.page]) for one in about.pages if one.verdict != "subject"]
    named = [title for title in titles if words <= frozenset(terms(title))]
    of_subject = sum(one.verdict == "subject" for one in about.pages)
    return tuple(named) if len(named) >= max(2, of_subject / 2) else ()

"""What the subject is: one sentence, from the pages that lie in the middle of those nearest to the title."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from data.decoding_counts import Usage
from data.errors import NoEvidence
from data.sentences import split_sentences
from decoding.api import Encoder, Generator, SamplingParams
from pipeline.evidence import Evidence
from pipeline.notes import Card
from pipeline.noting import reading_prompts
from pipeline.noting.material import shown_opening, shown_title
from pipeline.writing.prompts import Numbered

NEAREST, MIDDLE = 25, 5
"""Pages nearest to the title, and how many of their middle are read."""
OPENING_WORDS = 110
CARD_TOKENS = 90
MOST_WORDS = 60


def page_texts(evidence: Evidence, pages: Sequence[int]) -> list[str]:
    """Titles with the beginnings of the pages, by which they are compared."""
    return [f"{shown_title(evidence.pages[n])}. {shown_opening(evidence.pages[n], OPENING_WORDS)}" for n in pages]


def make_card(evidence: Evidence, generator: Generator, encoder: Encoder) -> Card:
    """Ask the model. Where it says nothing of use the title alone is the card. Raises NoEvidence where no page can be read."""
    title = evidence.event.title
    pages = [n for n, page in enumerate(evidence.pages) if page.usable and "suspicious" not in page.flags] or [
        n for n, page in enumerate(evidence.pages) if page.usable
    ]
    if not pages:
        raise NoEvidence(f"no usable page for {title!r}")
    vectors = encoder.encode([title, *page_texts(evidence, pages)])
    near = np.argsort(-(vectors[1:] @ vectors[0]), kind="stable")[:NEAREST]
    closeness = vectors[1:][near] @ vectors[1:][near].mean(axis=0) + vectors[1:][near] @ vectors[0]
    middle = [pages[int(near[i])] for i in np.argsort(-closeness, kind="stable")[:MIDDLE]]
    first = [
        next(p.id for p in evidence.passages if p.page == n) for n in middle if any(p.page == n for p in evidence.passages)
    ]
    shown = [
        Numbered(k, shown_title(page), shown_opening(page, OPENING_WORDS))
        for k, page in enumerate((evidence.pages[n] for n in middle), 1)
    ]
    completion = generator.generate(
        reading_prompts.card(title, shown, generator.neutralise), SamplingParams(max_new_tokens=CARD_TOKENS, task="other")
    )
    usage = Usage(1, completion.n_prompt_tokens, completion.n_new_tokens, completion.stats.rounded())
    return Card(_one_sentence(completion.text, title), tuple(first), "model", usage)


def _one_sentence(answer: str, title: str) -> str:
    plain = " ".join(re.sub(r"[*_#`]+|\[\d+\]", " ", answer).split())
    sentences = split_sentences(plain)
    said = sentences[0] if sentences else ""
    return said if 3 <= len(said.split()) <= MOST_WORDS else title

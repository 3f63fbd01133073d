"""Does a cited page hold a statement? The judge reads the best places of the page, and the best of them is shown.

A page is cut into overlapping pieces; those with most of the statement's words (BM25) go to the judge, and the statement's
score is the highest, as WiCE scores claims against long pages (Kamoi et al. 2023).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from data.sentences import split_sentences, split_spans
from data.types import Strict
from eval.judges.judge import Judge, Pair
from eval.metrics.citations import Ranking, with_title
from eval.text import content_words

Support = Literal["supported", "doubtful", "unsupported", "unjudged"]
PIECE_WORDS = 120
PIECES = 3
"""Of a page, before the judge."""
SUPPORTED, DOUBTFUL = 0.7, 0.3
"""Shares of the judge's threshold from which a statement is supported, and doubtful rather than refused. Lower than for a
passage that a writer was shown. Chosen on WiCE dev with these pieces: balanced accuracy is best at 0.7 (76.5%), and a tenth of
the supported claims lie below 0.3."""


class PageText:
    """A cited page, cut once for all statements that cite it."""

    def __init__(self, title: str, text: str) -> None:
        self.title = title
        self.text = text

    @cached_property
    def _pieces(self) -> Ranking:
        return Ranking(pieces(self.text))

    def best(self, statement: str) -> list[str]:
        ranking = self._pieces
        return [ranking.texts[i] for i in ranking.top(statement, PIECES)]


def pieces(text: str) -> list[str]:
    """Runs of whole sentences of about `PIECE_WORDS`, each beginning in the middle of the one before; a line of the page stays
    one, so that a headline is no part of the sentence below it."""
    spans = split_spans(text)
    sizes = [len(text[span.start : span.end].split()) for span in spans]
    found: list[str] = []
    start = 0
    while start < len(spans):
        end, words = start, 0
        while end < len(spans) and (words == 0 or words + sizes[end] <= PIECE_WORDS):
            words += sizes[end]
            end += 1
        found.append(text[spans[start].start : spans[end - 1].end])
        if end == len(spans):
            break
        start = max(start + 1, (start + end + 1) // 2)
    return found


@dataclass(frozen=True, slots=True)
class Judgement(Strict):
    """`score` is the judge's, None where it could not decide; `passage` the best place, on page number `page`."""

    support: Support
    score: float | None
    passage: str
    page: int | None


def judge_statement(judge: Judge, statement: str, pages: Sequence[PageText]) -> Judgement:
    """Against all pages that it cites: one that holds it is enough."""
    places = [(n, piece) for n, page in enumerate(pages) for piece in page.best(statement)]
    if not places:
        return Judgement("unsupported" if pages else "unjudged", 0.0 if pages else None, "", None)
    scores = judge.score([Pair((with_title(pages[n].title, piece),), statement) for n, piece in places])
    known = [(score, -at) for at, score in enumerate(scores) if score is not None]
    if not known:
        return Judgement("unjudged", None, places[0][1], places[0][0])
    score, at = max(known)
    n, piece = places[-at]
    return Judgement(support_of(score, judge.threshold), round(score, 3), piece, n)


def supporting_sentence(statement: str, passage: str) -> str:
    """The sentence of a passage that says most of the statement: by the content words that they share, numbers and rare words
    first. "" where none shares a third of them."""
    sentences = split_sentences(passage)
    asked = set(content_words(statement))
    shared = [asked & set(content_words(sentence)) for sentence in sentences]
    often = Counter(word for words in shared for word in words)
    worth = [sum((2.0 if any(map(str.isdigit, word)) else 1.0) / often[word] for word in words) for words in shared]
    best = max(range(len(sentences)), key=lambda n: (worth[n], len(shared[n]), -n), default=-1)
    return sentences[best] if best >= 0 and 3 * len(shared[best]) >= len(asked) > 0 else ""


def support_of(score: float, threshold: float) -> Support:
    return "supported" if score >= SUPPORTED * threshold else "doubtful" if score >= DOUBTFUL * threshold else "unsupported"

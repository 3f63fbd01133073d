"""`extractive`: an article from the evidence's own sentences, without a language model.

The kind of article is recognised and gives the possible headings; sentences are chosen for relevance and for the names,
dates and numbers they add; each goes under the heading it fits; every sentence is quoted and cited. It is the floor that
a language model has to beat.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from data import codec
from data.errors import NoEvidence
from data.runs import Stages
from data.settings import RetrievalSettings, WritingSettings
from data.types import Article, Event, Heading, Outline, Page, Paragraph, Section, Sentence
from decoding.api import Encoder
from pipeline.assembly import LEAD_HEADING, assemble
from pipeline.evidence import Evidence
from pipeline.infobox import infobox_rows
from pipeline.kinds import Kind, KindRecogniser, load_kinds
from pipeline.relevance import Found, feature_rows, load_model, relevance
from pipeline.retrieval import Bm25Ranker, terms
from pipeline.selecting import Scored, SelectionWeights, select
from pipeline.sentences import Candidate, candidates, is_fragment

MAX_CANDIDATE_WORDS = 3_000
"""Words of evidence sentences that are encoded for one event, best passages first: bounds time where evidence abounds."""

LIST_KINDS = frozenset({"list", "awards", "legislature", "nature", "league season", "team season"})
MIN_LIST_WORDS = 300
MAX_JOINED_WORDS = 40
"""Of list lines that are joined to one sentence."""

OFF_TOPIC = 0.82
"""A page is off topic below this share of the usual likeness between pages (chosen on the sample and on split dev)."""
MIN_PAGES_TO_JUDGE = 4
UNTRUSTED = 0.3
"""What is left of the relevance of a sentence whose page addresses a model."""
ENOUGH_WORDS = 2_000
"""With less than this on the subject, doubtful pages are used as well: they are right more often than not."""

LEAD_WORDS = 110
MIN_SECTION_WORDS = 45
MAX_PARAGRAPH_SENTENCES = 6
_PROVISIONAL = re.compile(
    r"\b(?:will|at least|so far|expected to|hopes? to|tomorrow|tonight|projections?|provisional|preliminary|first reports)\b"
)
"""Marks of a report from before or during the event; a lead tells it from afterwards."""


class ExtractiveSystem:
    name = "extractive"

    def __init__(
        self, retrieval: RetrievalSettings, writing: WritingSettings, encoder: Encoder, weights: SelectionWeights | None = None
    ) -> None:
        self._retrieval = replace(retrieval, passage_overlap=0)  # a sentence in two passages would be quoted twice
        self._writing = writing
        self._encoder = encoder
        self._weights = weights or SelectionWeights()
        self._recogniser = KindRecogniser(encoder)

    @property
    def identity(self) -> Mapping[str, str]:
        return {
            "rules": "extractive/2",
            "encoder": self._encoder.name,
            "relevance": codec.sha256(codec.to_json(load_model()))[:12],
            "kinds": codec.sha256("\n".join(f"{k.name} {k.about} {k.title.pattern} {k.sections}" for k in load_kinds()))[:12],
            "max_words": str(self._writing.max_words),
            "max_sections": str(self._writing.max_sections),
            "passage_words": str(self._retrieval.passage_words),
        }

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        evidence = Evidence.cut(event, pages, self._retrieval)
        plan = ExtractivePlan(evidence, self._writing, self._encoder, self._recogniser, self._weights)
        outline = stages.once("outline", Outline, lambda: plan.outline)
        sections = [
            stages.once(f"sections/{n:02}", Section, lambda heading=heading: plan.section(heading))  # type: ignore[misc]
            for n, heading in enumerate(outline.headings, 1)
        ]
        lead = stages.once("sections/00", Section, lambda: plan.lead)

        def make() -> Article:
            cited = sorted({int(c.split(":")[0]) for s in (lead, *sections) for x in s.sentences for c in x.cites})
            opening = " ".join(s.text for s in lead.sentences)
            return assemble(evidence, lead, sections, infobox=infobox_rows(evidence, cited, opening))

        return stages.once("article", Article, make)


@dataclass(frozen=True)
class ExtractivePlan:
    """The choices for one event, computed on first use: a resumed run computes only what it still needs."""

    evidence: Evidence
    writing: WritingSettings
    encoder: Encoder
    recogniser: KindRecogniser
    weights: SelectionWeights

    @cached_property
    def scored(self) -> Scored:
        found = find_candidates(self.evidence, self.encoder)
        trust = np.array([1.0 if c.trusted else UNTRUSTED for c in found.candidates])
        near = relevance(feature_rows(self.evidence, found), load_model()) * trust
        return Scored(found.candidates, found.vectors, near).only(~doubtful(found))

    @cached_property
    def kind(self) -> Kind:
        order = np.argsort(-self.scored.relevance, kind="stable")[:4]
        return self.recogniser.recognise(self.evidence.event.title, [self.scored.candidates[i].text for i in order])

    @cached_property
    def chosen(self) -> list[int]:
        taken = list(self.opening)
        words = sum(self.scored.candidates[i].n_words for i in taken)
        for i in self._list_lines():
            words += self.scored.candidates[i].n_words
            if words > self.writing.max_words:
                break
            taken.append(i)
        return select(self.scored, max_words=self.writing.max_words, weights=self.weights, taken=taken)

    def _list_lines(self) -> list[int]:
        """For subjects that are lists (honours, seasons, species): the lines of the best page that is such a list, in order.

        Picking lines of a list here and there would lose what makes it one. The page must be about the title and mostly
        short lines; pages come in the order of search.
        """
        if self.kind.name not in LIST_KINDS:
            return []
        title = frozenset(terms(self.evidence.event.title))
        for number, page in enumerate(self.evidence.pages):
            lines = [line for line in page.text.split("\n") if line.strip()]
            if not page.usable or len(page.text.split()) < MIN_LIST_WORDS or not lines:
                continue
            short = sum(len(line.split()) < 25 for line in lines) / len(lines)
            about = len(frozenset(terms(f"{page.title} {page.text[:300]}")) & title) / max(len(title), 1)
            if short >= 0.6 and about >= 0.5:
                opening = set(self.opening)
                return [i for i, c in enumerate(self.scored.candidates) if c.page == number and i not in opening]
        return []

    @cached_property
    def assignment(self) -> dict[str, list[int]]:
        """Heading -> chosen candidates in evidence order. Headings that stay too thin give theirs to the next best."""
        rest = [i for i in self.chosen if i not in set(self.opening)]
        sections = self.kind.sections
        targets = self.recogniser.section_vectors(self.kind)
        fit = self.scored.vectors @ targets.T
        fit = self._smoothed(fit)
        fit -= 0.5 * fit.mean(axis=0, keepdims=True)  # a heading that is close to everything says little
        open_sections = list(range(len(sections)))
        while True:
            groups: dict[int, list[int]] = {k: [] for k in open_sections}
            for i in rest:
                groups[max(open_sections, key=lambda k: (fit[i, k], -k))].append(i)
            words = {k: sum(self.scored.candidates[i].n_words for i in g) for k, g in groups.items()}
            thin = [k for k in open_sections if words[k] < MIN_SECTION_WORDS]
            too_many = len(open_sections) > self.writing.max_sections
            if len(open_sections) == 1 or not (thin or too_many):
                break
            open_sections.remove(min(open_sections, key=lambda k: (words[k], -k)))
        return {sections[k].heading: sorted(groups[k]) for k in open_sections if groups[k]}

    @property
    def outline(self) -> Outline:
        return Outline(self.evidence.event.title, tuple(Heading(h) for h in self.assignment))

    @property
    def lead(self) -> Section:
        return Section(LEAD_HEADING, (tuple(self._quote(i) for i in self.opening),))

    def section(self, heading: Heading) -> Section:
        return Section(heading, tuple(self._paragraphs(self.assignment.get(heading.text, []))))

    @cached_property
    def opening(self) -> list[int]:
        """The sentence that says what the subject is, then the most central ones that stand on their own."""
        scored, title = self.scored, frozenset(terms(self.evidence.event.title))
        first_of_page: set[int] = set()
        seen: set[int] = set()
        for c in scored.candidates:
            if c.page not in seen:
                seen.add(c.page)
                first_of_page.add(c.index)
        score = []
        for i, c in enumerate(scored.candidates):
            value = 0.4 * float(scored.relevance[i]) * c.quality
            value += 0.15 * len(c.terms & title) / max(len(title), 1)
            value += 0.05 * bool(c.facts) + 0.05 * (c.index in first_of_page)
            if c.dangling or not 8 <= c.n_words <= 45:
                value *= 0.5
            if _PROVISIONAL.search(c.text):
                value *= 0.6
            score.append(value)
        picked: list[int] = []
        words = 0
        for i in sorted(range(len(score)), key=lambda i: (-score[i], i)):
            c = scored.candidates[i]
            if any(float(scored.vectors[i] @ scored.vectors[j]) > 0.8 for j in picked):
                continue
            if picked and (words + c.n_words > LEAD_WORDS or len(picked) == 4):
                break
            picked.append(i)
            words += c.n_words
        return [picked[0], *sorted(picked[1:])]

    def _smoothed(self, fit: np.ndarray) -> np.ndarray:
        """A sentence's fit shares in its neighbours' on the same page: topics run over several sentences."""
        smooth = fit.copy()
        items = self.scored.candidates
        for i in range(len(items)):
            for j in (i - 1, i + 1):
                if 0 <= j < len(items) and items[j].page == items[i].page and abs(items[j].index - items[i].index) == 1:
                    smooth[i] += 0.25 * fit[j]
        return smooth

    def _paragraphs(self, indices: list[int]) -> list[Paragraph]:
        """Runs of one page stay together; pages come in the order of their best sentence's relevance."""
        items = self.scored.candidates
        by_page: dict[int, list[int]] = {}
        for i in indices:
            by_page.setdefault(items[i].page, []).append(i)
        pages = sorted(by_page, key=lambda p: (-max(float(self.scored.relevance[i]) for i in by_page[p]), p))
        paragraphs: list[Paragraph] = []
        for page in pages:
            run = by_page[page]
            n = -(-len(run) // MAX_PARAGRAPH_SENTENCES)
            size = -(-len(run) // n)
            paragraphs += [self._quotes(run[at : at + size]) for at in range(0, len(run), size)]
        return paragraphs

    def _quotes(self, run: list[int]) -> Paragraph:
        """One sentence each; list lines that follow each other become one sentence, divided by semicolons."""
        items = self.scored.candidates
        groups: list[list[int]] = []
        for i in run:
            last = groups[-1] if groups else []
            joins = last and is_fragment(items[i].text) and is_fragment(items[last[-1]].text)
            if joins and sum(items[j].n_words for j in last) + items[i].n_words <= MAX_JOINED_WORDS:
                last.append(i)
            else:
                groups.append([i])
        return tuple(self._quote(group[0]) if len(group) == 1 else self._joined(group) for group in groups)

    def _joined(self, group: list[int]) -> Sentence:
        items = self.scored.candidates
        text = "; ".join(items[i].text.rstrip(" ,;:") for i in group)
        return Sentence(text=f"{text}.", cites=tuple(dict.fromkeys(items[i].passage.id for i in group)))

    def _quote(self, i: int) -> Sentence:
        item = self.scored.candidates[i]
        text = f"{item.text.rstrip(' ,;:')}." if is_fragment(item.text) else item.text
        return Sentence(text=text, cites=(item.passage.id, *self._also(i, item)))

    def _also(self, i: int, item: Candidate) -> tuple[str, ...]:
        """At most one more source: a page that says the same sentence with the same names and numbers."""
        for j in np.argsort(-(self.scored.vectors @ self.scored.vectors[i]), kind="stable")[1:4]:
            other = self.scored.candidates[int(j)]
            if other.page != item.page and item.facts <= other.facts and len(item.terms & other.terms) >= 0.9 * len(item.terms):
                return (other.passage.id,)
        return ()


def find_candidates(evidence: Evidence, encoder: Encoder) -> Found:
    """The sentences that an event's article may be made of, with their vectors. Raises NoEvidence when there is none."""
    title = evidence.event.title
    found = candidates(evidence.passages, evidence.pages)
    if not found:
        raise NoEvidence(f"the usable pages of {title!r} hold no sentence that could be quoted")
    bm25 = Bm25Ranker([p.text for p in evidence.passages]).scores(title)
    best = max(float(bm25.max()), 1e-9)
    score_of = {p.id: float(s) / best for p, s in zip(evidence.passages, bm25, strict=True)}
    if sum(c.n_words for c in found) > MAX_CANDIDATE_WORDS:
        found = _best_candidates(found, score_of)
    vectors = encoder.encode([title, *(c.text for c in found)])
    return Found(
        candidates=found,
        vectors=vectors[1:],
        title_vector=vectors[0],
        passage_scores=np.array([score_of[c.passage.id] for c in found]),
    )


def _best_candidates(found: list[Candidate], score_of: Mapping[str, float]) -> list[Candidate]:
    """As many as fit into MAX_CANDIDATE_WORDS: trusted ones first, by quality and their passage's score; in page order."""
    kept, words = [], 0
    for candidate in sorted(found, key=lambda c: (not c.trusted, -c.quality * (0.2 + score_of[c.passage.id]), c.index)):
        words += candidate.n_words
        if words > MAX_CANDIDATE_WORDS:
            break
        kept.append(candidate)
    return sorted(kept, key=lambda c: c.index)


def doubtful(found: Found) -> np.ndarray:
    """Which candidates to leave out, because their page is off topic or not trusted: bool, shape (n,).

    None while the rest holds less than ENOUGH_WORDS.
    """
    out = off_topic(found) | np.array([not c.trusted for c in found.candidates])
    left = sum(c.n_words for c, leave in zip(found.candidates, out, strict=True) if not leave)
    return out if left >= ENOUGH_WORDS else np.zeros(len(out), dtype=bool)


def off_topic(found: Found) -> np.ndarray:
    """Which candidates stand on a page that is about something else: bool, shape (n,).

    Pages on one event say similar things: a page whose sentences are on average much less like those of the other pages
    than is usual among them only shares words with the title. Judged from four pages on; with fewer there is no usual.
    """
    pages = found.pages
    distinct = sorted(set(pages.tolist()))
    if len(distinct) < MIN_PAGES_TO_JUDGE:
        return np.zeros(len(pages), dtype=bool)
    closeness = {page: float(found.elsewhere[pages == page].mean()) for page in distinct}
    usual = float(np.median(list(closeness.values())))
    return np.array([closeness[int(page)] < OFF_TOPIC * usual for page in pages])

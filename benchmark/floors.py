"""What a score is worth: the same metrics on articles that know nothing of the event, and on some that know too much.

Floors are what any system should beat, ceilings what none can expect to reach; `REFERENCES` lists them. All but the references
are cut to the length of the human article, and sentences of pages cite the passage that they are in.

They depend on the data and the metrics alone, never on the system. The oracle, the references and the
shuffled article have seen the human one, so they live here, where no writer can reach them.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Literal

from benchmark.event_rows import read_rows, write_rows
from benchmark.scoring import failed_values, metric_names, signature, values_of
from benchmark.splits import ids_sha256
from data import codec
from data.errors import StageError
from data.gold import GoldArticle, load_gold
from data.passages import cut_passages, sentence_spans
from data.runs import RunFolder
from data.sentences import split_sentences
from data.snapshot import Snapshot
from data.types import Article, Event, Heading, Page, Passage, Section, Sentence, Source, Strict
from eval.catalogue import less_is_better
from eval.metric import Case, Metric
from eval.metrics.citations import Citations, Ranking, WgbCitations
from eval.metrics.organisation import Organisation
from eval.metrics.structure import Headings
from eval.metrics.told_facts import Facts
from eval.text import ngram_counts, words


@dataclass(frozen=True, slots=True)
class Reference:
    """`column` heads it in narrow tables; one without a column is in submission.json alone."""

    kind: Literal["floor", "ceiling"]
    column: str
    meaning: str


REFERENCES: Mapping[str, Reference] = {
    "wrong_article": Reference("floor", "wrong", "human articles about other events"),
    "lead": Reference("floor", "lead", "the first words of the pages"),
    "bm25_title": Reference("floor", "bm25", "the passages of 120 words that match the title best (BM25)"),
    "constant_headings": Reference("floor", "const", "the same passages, spread under the same five headings for every event"),
    "shuffled": Reference("floor", "shuf", "the human article, its sentences shuffled among its headings"),
    "extractive_oracle": Reference("ceiling", "oracle", "the page sentences that hold most of the human article's bigrams"),
    "reference_minus_20": Reference("ceiling", "", "the human article without its last fifth"),
    "reference": Reference("ceiling", "ref", "the human article"),
}
FLOORS = tuple(name for name, one in REFERENCES.items() if one.kind == "floor")
CEILINGS = tuple(name for name, one in REFERENCES.items() if one.kind == "ceiling")
COLUMNS = {name: one.column for name, one in REFERENCES.items() if one.column}

VERSION = "3"
"""Raise when one of these articles would come out otherwise."""

CHEAP_JUDGES = ("lexical", "embedding")
"""Kinds of judges that are asked about floors, too. Others cost hours or money and see the system's articles only."""

PASSAGE_WORDS = 120
CONSTANT_HEADINGS = ("History", "Background", "Event", "Reactions", "Aftermath")

_CITING = frozenset({"lead", "bm25_title", "constant_headings", "extractive_oracle"})
_HEADED = frozenset({"wrong_article", "constant_headings", "reference_minus_20", "reference"})
_REFERENCES = frozenset({"reference_minus_20", "reference"})
_OF_CITATIONS = frozenset({"number_errors", "name_errors"})
"""Values of metrics that otherwise need no citations."""


@dataclass(frozen=True, slots=True)
class EventFloors(Strict):
    """`values` by name of the floor and metric. `made_from` is a hash of the pages and of the human articles used."""

    id: str
    made_from: str
    values: dict[str, dict[str, float | None]]


def score_floors(
    run: RunFolder,
    snapshot: Snapshot,
    ids: Sequence[str],
    metrics: Sequence[Metric],
    collect: Callable[[Event], tuple[Page, ...]],
    *,
    seed: int,
    kept: Path | None = None,
) -> Iterator[EventFloors]:
    """A row for each event whose human article and pages can be read, in the order of `ids`.

    floors.jsonl keeps the run's rows, like scores.jsonl those of the system. `kept` is a folder of rows of all runs, a file for
    each event, evidence and signature, which several processes may share: what one system's run computed is read by the next's.
    """
    known = snapshot.ids("cited")
    signed = f"floors:v{VERSION}|seed={seed}|data={ids_sha256(known)[:12]} ; {signature(metrics)}"
    stored = read_rows(EventFloors, run.path / "floors.jsonl", signed)
    gold_of = lru_cache(maxsize=64)(lambda event_id: load_gold(snapshot, event_id))
    shared = None if kept is None else kept / codec.sha256(signed)[:16]
    rows = dict(stored)
    try:
        for event_id in ids:
            try:
                gold = gold_of(event_id)
                pages = run.event(event_id).stored_pages()
                pages = collect(snapshot.event(event_id)) if pages is None else pages
                others = list(_until_filled(map(gold_of, others_of(event_id, known, seed)), len(gold.prose.split())))
                digest = _made_from([gold, *others], pages)
                row = stored.get(event_id)
                if row is None or row.made_from != digest:
                    make = partial(_row, digest, gold, pages, others, metrics)
                    row = make() if shared is None else codec.once(EventFloors, shared / f"{event_id}-{digest[:16]}.json", make)
            except StageError:  # unreadable files: nobody is scored on this event, floors neither
                continue
            rows[event_id] = row
            yield row
    finally:
        write_rows(run.path / "floors.jsonl", signed, rows)


def _row(
    digest: str, gold: GoldArticle, pages: tuple[Page, ...], others: Sequence[GoldArticle], metrics: Sequence[Metric]
) -> EventFloors:
    return EventFloors(gold.event_id, digest, _values(articles(gold, pages, others), gold, pages, metrics))


def means(rows: Iterable[EventFloors]) -> dict[str, dict[str, float]]:
    """For each floor and metric the mean over the events that have a value."""
    values: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        for floor, scores in row.values.items():
            for name, value in scores.items():
                if value is not None:
                    values.setdefault(floor, {}).setdefault(name, []).append(value)
    return {
        floor: {name: fmean(found) for name, found in values[floor].items()}
        for floor in (*FLOORS, *CEILINGS)
        if floor in values
    }


def not_beaten(name: str, mean: float, floors: Mapping[str, Mapping[str, float]]) -> tuple[str, ...]:
    """The floors that score at least `mean` on a metric where higher is better; none where lower is."""
    if less_is_better(name):
        return ()
    return tuple(floor for floor in FLOORS if floors.get(floor, {}).get(name, -1.0) >= mean)


def others_of(event_id: str, known: Sequence[str], seed: int) -> list[str]:
    """The other events in an order of their own for each event and seed, whichever events are scored beside it."""
    others = sorted(set(known) - {event_id})
    random.Random(f"{seed}:{event_id}").shuffle(others)
    return others


def articles(gold: GoldArticle, pages: Sequence[Page], others: Iterable[GoldArticle]) -> dict[str, Article]:
    """The stand-ins for one event. `wrong_article` is absent when there is no other event."""
    n_words = len(gold.prose.split())
    wrong = _wrong_article(gold, n_words, others)
    return {
        **({"wrong_article": wrong} if wrong is not None else {}),
        "lead": _lead(gold, n_words, pages),
        "bm25_title": (passages := _bm25_title(gold, n_words, pages)),
        "constant_headings": _under_constant_headings(passages),
        "shuffled": _shuffled(_from_gold(gold, _parts(gold), n_words)),
        "extractive_oracle": _oracle(gold, n_words, pages),
        "reference_minus_20": _from_gold(gold, _parts(gold), n_words - n_words // 5),
        "reference": _from_gold(gold, _parts(gold), n_words),
    }


def _values(
    made: Mapping[str, Article], gold: GoldArticle, pages: tuple[Page, ...], metrics: Sequence[Metric]
) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for floor, article in made.items():
        fitting = [metric for metric in metrics if _fits(floor, metric)]
        case = Case(article, gold, pages)
        if case.sentences:
            values = values_of(case, fitting)
        else:  # no usable page: as a system that writes nothing
            values = failed_values(metric_names(fitting))
        found[floor] = {name: v for name, v in values.items() if floor in _CITING or name not in _OF_CITATIONS}
    return found


def _fits(floor: str, metric: Metric) -> bool:
    """Nothing is measured on what a floor does not have, nor whether the human article says what it says."""
    if floor == "shuffled":  # its words are the human ones: nothing but their order is a floor
        return isinstance(metric, Organisation)
    judge = getattr(metric, "judge", None)
    return (
        (judge is None or judge.kind in CHEAP_JUDGES)
        and (floor in _CITING or not isinstance(metric, Citations | WgbCitations))
        and (floor in _HEADED or not isinstance(metric, Headings))
        and (floor not in _REFERENCES or not isinstance(metric, Facts))
    )


_Part = tuple[str, str]
"""Heading (empty for a lead) and prose."""


def _parts(gold: GoldArticle) -> Iterator[_Part]:
    yield "", gold.lead
    yield from ((section.heading, section.prose) for section in gold.sections)


def _wrong_article(gold: GoldArticle, n_words: int, others: Iterable[GoldArticle]) -> Article | None:
    """Other articles one after the other, as many as fill the length: the first is seldom as long as this one."""
    chosen = list(_until_filled(others, n_words))
    return _from_gold(gold, (part for one in chosen for part in _parts(one)), n_words) if chosen else None


def _until_filled(others: Iterable[GoldArticle], n_words: int) -> Iterator[GoldArticle]:
    held = 0
    for other in others:
        if held and held >= n_words:
            return
        held += len(other.prose.split())
        yield other


def _from_gold(gold: GoldArticle, parts: Iterable[_Part], n_words: int) -> Article:
    """Parts of human articles as an article of ours, with the first `n_words` words of prose.

    The lead of a second article has no heading: its text goes on in the section before it.
    """
    sections = [Section(Heading(""), ())]
    left = n_words
    for heading, prose in parts:
        if left < 0:
            break
        paragraphs = []
        for line in prose.split("\n"):
            kept = line.split()[: max(left, 0)]
            left -= len(line.split())  # below 0 once something is cut off
            if kept:
                paragraphs.append(tuple(Sentence(text, ()) for text in split_sentences(" ".join(kept))))
        if heading and (paragraphs or left >= 0):
            sections.append(Section(Heading(heading), tuple(paragraphs)))
        elif paragraphs:
            sections[-1] = replace(sections[-1], paragraphs=sections[-1].paragraphs + tuple(paragraphs))
    return Article(gold.event_id, gold.title, sections[0], tuple(sections[1:]), (), ())


def _page_sentences(pages: Sequence[Page]) -> list[Passage]:
    """Every sentence of every usable page, in order, as a passage."""
    return [
        Passage(index, start, end, page.text[start:end])
        for index, page in enumerate(pages)
        if page.usable
        for start, end in sentence_spans(page.text)
    ]


def _lead(gold: GoldArticle, n_words: int, pages: Sequence[Page]) -> Article:
    chosen: list[Passage] = []
    left = n_words
    for passage in _page_sentences(pages):
        left -= len(passage.text.split())
        if left < 0:
            break
        chosen.append(passage)
    return _from_passages(gold, chosen, pages)


def _bm25_title(gold: GoldArticle, n_words: int, pages: Sequence[Page]) -> Article:
    passages: dict[str, Passage] = {}
    for passage in cut_passages(pages, words=PASSAGE_WORDS):
        passages.setdefault(passage.text, passage)
    ranking = Ranking(passages)
    paragraphs: list[tuple[Sentence, ...]] = []
    chosen: list[Passage] = []
    left = n_words
    for rank in ranking.top(gold.title, len(ranking.texts)):
        passage = passages[ranking.texts[rank]]
        sentences = []
        for start, end in sentence_spans(passage.text):
            text = passage.text[start:end]
            left -= len(text.split())
            if left < 0:
                break
            sentences.append(Sentence(text, (passage.id,)))
        if sentences:
            paragraphs.append(tuple(sentences))
            chosen.append(passage)
        if left < 0:
            break
    lead = Section(Heading(""), tuple(paragraphs))
    return Article(gold.event_id, gold.title, lead, (), (), tuple(_source(passage, pages) for passage in chosen))


def _under_constant_headings(article: Article) -> Article:
    """The sentences in their order, as many under each heading, a paragraph each."""
    sentences = [sentence for section in article.all_sections for sentence in section.sentences]
    n = len(CONSTANT_HEADINGS)
    cuts = [len(sentences) * k // n for k in range(n + 1)]
    parts = (tuple(sentences[start:end]) for start, end in pairwise(cuts))
    sections = (Section(Heading(name), (part,) if part else ()) for name, part in zip(CONSTANT_HEADINGS, parts, strict=True))
    return replace(article, lead=Section(Heading(""), ()), sections=tuple(sections))


def _shuffled(article: Article) -> Article:
    """Sections keep their headings and their numbers of sentences and paragraphs."""
    sentences = [sentence for section in article.sections for sentence in section.sentences]
    random.Random(f"shuffled:{article.event_id}").shuffle(sentences)
    left = iter(sentences)
    return replace(
        article,
        sections=tuple(
            replace(section, paragraphs=tuple(tuple(next(left) for _ in paragraph) for paragraph in section.paragraphs))
            for section in article.sections
        ),
    )


def _oracle(gold: GoldArticle, n_words: int, pages: Sequence[Page]) -> Article:
    """Greedy: again and again the sentence that adds most bigrams of the reference that are still to be found, while it fits.

    Each bigram counts as often as the reference has it. A gain only shrinks, so it is computed anew only for the sentence
    that may be best (Minoux 1978).
    """
    sentences = _page_sentences(pages)
    grams = [ngram_counts(words(sentence.text), 2) for sentence in sentences]
    wanted = ngram_counts(words(gold.prose), 2)
    queue = [(-(gram & wanted).total(), i) for i, gram in enumerate(grams)]
    queue = [entry for entry in queue if entry[0]]
    heapq.heapify(queue)
    chosen: list[int] = []
    left = n_words
    while queue:
        _, i = heapq.heappop(queue)
        gain = (grams[i] & wanted).total()
        if queue and (-gain, i) > queue[0]:
            if gain:
                heapq.heappush(queue, (-gain, i))
        elif gain and (length := len(sentences[i].text.split())) <= left:
            chosen.append(i)
            left -= length
            wanted = wanted - Counter(grams[i])
    return _from_passages(gold, [sentences[i] for i in sorted(chosen)], pages)


def _from_passages(gold: GoldArticle, chosen: Sequence[Passage], pages: Sequence[Page]) -> Article:
    """Sentences of pages as a text without headings, a paragraph for each page."""
    by_page: dict[int, list[Sentence]] = {}
    sources: dict[str, Source] = {}
    for passage in chosen:
        by_page.setdefault(passage.page, []).append(Sentence(passage.text, (passage.id,)))
        sources[passage.id] = _source(passage, pages)
    lead = Section(Heading(""), tuple(tuple(sentences) for sentences in by_page.values()))
    return Article(gold.event_id, gold.title, lead, (), (), tuple(sources.values()))


def _source(passage: Passage, pages: Sequence[Page]) -> Source:
    page = pages[passage.page]
    return Source(passage, page.url, page.title, page.published)


def _made_from(golds: Iterable[GoldArticle], pages: Sequence[Page]) -> str:
    parts = [text for gold in golds for text in (gold.title, gold.raw, repr(gold.infobox))]
    parts += [f"{page.usable} {page.title}\n{page.text}" for page in pages]
    return codec.sha256("\0".join(parts))

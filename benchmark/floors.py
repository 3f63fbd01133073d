"""What a score is worth: the same metrics on articles that know nothing of the event, and on some that know too much.

Floors are what any system should beat, ceilings what none can expect to reach:

    wrong_article        the human article about other events of the data, cut to this reference's length
    lead                 the first sentences of the pages, in order, up to that length; each cites itself
    extractive_oracle    the page sentences that hold most of the reference's bigrams, up to that length; each cites itself
    reference_minus_20   the human article without its last fifth
    reference            the human article

They depend on the data and the metrics alone, never on the system. The oracle and both references have seen the human
article, so they live here, where no writer can reach them.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean

from benchmark.event_rows import read_rows, write_rows
from benchmark.scoring import failed_values, metric_names, signature
from benchmark.splits import ids_sha256
from data import codec
from data.errors import StageError
from data.gold import GoldArticle, load_gold
from data.passages import sentence_spans
from data.runs import RunFolder
from data.sentences import split_sentences
from data.snapshot import Snapshot
from data.types import Article, Event, Heading, Page, Passage, Section, Sentence, Source, Strict
from eval.citations import Citations, WgbCitations
from eval.facts import Facts
from eval.metric import Case, Metric
from eval.structure import Headings
from eval.text import ngram_counts, words

FLOORS = ("wrong_article", "lead")
CEILINGS = ("extractive_oracle", "reference_minus_20", "reference")

VERSION = "1"
"""Raise when one of these articles would come out otherwise."""

CHEAP_JUDGES = ("lexical", "embedding")
"""Kinds of judges that are asked about floors, too. Others cost hours or money and see the system's articles only."""

_CITING = frozenset({"lead", "extractive_oracle"})
_HEADED = frozenset({"wrong_article", "reference_minus_20", "reference"})
_REFERENCES = frozenset({"reference_minus_20", "reference"})
_OF_CITATIONS = frozenset({"number_errors", "name_errors"})
"""Values of metrics that otherwise need no citations."""


@dataclass(frozen=True, slots=True)
class EventFloors(Strict):
    """`values` by name of the floor and metric. `made_from` is a hash of the human article and the pages."""

    event_id: str
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
) -> Iterator[EventFloors]:
    """A row for each event whose human article and pages can be read, in the order of `ids`.

    floors.jsonl keeps the rows, each computed at most once, like scores.jsonl those of the system.
    """
    known = snapshot.ids("cited")
    signed = f"floors:v{VERSION}|seed={seed}|data={ids_sha256(known)[:12]} ; {signature(metrics)}"
    stored = read_rows(EventFloors, run.path / "floors.jsonl", signed)
    gold_of = lru_cache(maxsize=64)(lambda event_id: load_gold(snapshot, event_id))
    rows = dict(stored)
    try:
        for event_id in ids:
            try:
                gold = gold_of(event_id)
                pages = run.event(event_id).stored_pages()
                pages = collect(snapshot.event(event_id)) if pages is None else pages
                digest = _made_from(gold, pages)
                row = stored.get(event_id)
                if row is None or row.made_from != digest:
                    others = (gold_of(other) for other in others_of(event_id, known, seed))
                    row = EventFloors(event_id, digest, _values(articles(gold, pages, others), gold, pages, metrics))
            except StageError:  # unreadable files: nobody is scored on this event, floors neither
                continue
            rows[event_id] = row
            yield row
    finally:
        write_rows(run.path / "floors.jsonl", signed, rows)


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
    """The floors that score at least `mean` on a metric where higher is better."""
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
            values = {name: value for metric in fitting for name, value in metric.score(case).items()}
        else:  # no usable page: as a system that writes nothing
            values = failed_values(metric_names(fitting))
        found[floor] = {name: v for name, v in values.items() if floor in _CITING or name not in _OF_CITATIONS}
    return found


def _fits(floor: str, metric: Metric) -> bool:
    """Nothing is measured on what a floor does not have, nor whether the human article says what it says."""
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
        page = pages[passage.page]
        by_page.setdefault(passage.page, []).append(Sentence(passage.text, (passage.id,)))
        sources[passage.id] = Source(passage, page.url, page.title, page.published)
    lead = Section(Heading(""), tuple(tuple(sentences) for sentences in by_page.values()))
    return Article(gold.event_id, gold.title, lead, (), (), tuple(sources.values()))


def _made_from(gold: GoldArticle, pages: Sequence[Page]) -> str:
    parts = [gold.raw, repr(gold.infobox), *(f"{page.usable} {page.title}\n{page.text}" for page in pages)]
    return codec.sha256("\0".join(parts))

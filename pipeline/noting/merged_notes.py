"""Notes that say the same are one, with all their passages: near in meaning, and no number or name that the other lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from decoding.api import Encoder
from pipeline.article_plan import Statement
from pipeline.choosing.facts import names, numbers, with_digits
from pipeline.evidence import Evidence
from pipeline.notes import Note, Notes, TakenNotes
from pipeline.provenance import publisher_of
from pipeline.retrieval import terms
from pipeline.writing.checks.rewording import copied_runs

SAME, ALIKE = 0.86, 0.72
"""Cosine from which two notes of the same figures are one; and from which a note is a part of one that has all its words'
names and figures and most of its other words."""
OVERLAP = 0.6
MOST_CITES = 4
COPIED = 0.5
"""Share of copied words from which a note is its page's sentence."""


def merged(evidence: Evidence, taken: Sequence[TakenNotes], encoder: Encoder) -> Notes:
    """Each fact once, in page order."""
    notes = [note for one in taken for note in one.notes]
    dropped = tuple(gone for one in taken for gone in one.dropped)
    if not notes:
        return Notes((), dropped)
    vectors = encoder.encode([note.text for note in notes])
    similar = vectors @ vectors.T
    usual = set(terms(evidence.event.title))
    words = [frozenset(terms(with_digits(note.text))) - usual for note in notes]
    figures = [numbers(with_digits(note.text)) for note in notes]
    named = [names(note.text) for note in notes]
    passages = {passage.id: passage.text for passage in evidence.passages}
    copied = [copied_runs(note.text, [passages[note.passage]])[0] > COPIED for note in notes]
    # The fuller note is kept: it is the first of its group. A sentence of a page takes no note in other words in.
    order = sorted(range(len(notes)), key=lambda i: (copied[i], -len(figures[i]), -len(words[i]), i))
    groups: list[list[int]] = []
    for i in order:
        for group in groups:
            j = group[0]
            within = figures[i] <= figures[j] and len(words[i] & words[j]) >= OVERLAP * max(len(words[i]), 1)
            same = figures[i] == figures[j] and similar[i, j] >= SAME
            if same or (within and similar[i, j] >= ALIKE and _is_named(named[i], notes[j].text)):
                group.append(i)
                break
        else:
            groups.append([i])
    groups.sort(key=lambda group: group[0])
    return Notes(tuple(_statement(evidence, passages, [notes[i] for i in group]) for group in groups), dropped)


def _is_named(found: frozenset[str], text: str) -> bool:
    plain = text.lower()
    return all(any(word in plain for word in name.split()) for name in found)


def _statement(evidence: Evidence, passages: Mapping[str, str], group: Sequence[Note]) -> Statement:
    """The first note, with a passage of each publisher that says it."""
    cites: dict[str, str] = {}
    for note in group:
        page = evidence.pages[int(note.passage.split(":")[0])]
        cites.setdefault(publisher_of(page.url, page.site), note.passage)
    day = next((note.day for note in group if note.day), "")
    others = tuple(note.text for note in group[1:] if note.text != group[0].text)[:4]
    cited = tuple(dict.fromkeys(cites.values()))[:MOST_CITES]
    copied, _ = copied_runs(group[0].text, [passages[cite] for cite in cited if cite in passages])
    question = min((note.question for note in group if note.question), default=0)
    return Statement(group[0].text, cited, others, day, round(copied, 3), question=question)

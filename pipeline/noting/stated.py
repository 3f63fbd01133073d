"""Whether a passage says a note: its figures and names, what its words are, and a network that reads both.

The network is another one than the benchmark's judge (`decoding.support.reader.writer_reader`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from data.sentences import split_sentences
from data.types import Passage
from decoding.api import SupportReader
from pipeline.article_plan import Statement
from pipeline.choosing.facts import figures, with_digits
from pipeline.choosing.gate import is_foreign
from pipeline.choosing.standing_alone import day_of, standing_alone
from pipeline.choosing.subject import Subject, sibling_sentence
from pipeline.choosing.verbs import has_verb
from pipeline.evidence import Evidence
from pipeline.notes import Card, DroppedNote, Note
from pipeline.noting.material import readable, shown_title, tells_what_to_write
from pipeline.retrieval import STOPWORDS, terms
from pipeline.writing.checks.compared_words import WORD, bare, name_words
from pipeline.writing.checks.rewording import proper_words

SUPPORTED = 0.35
"""Least chance, by the reader, that the nearest sentences of the passage support the note. Lower than for a rewording: a note
may have words of its card."""
NEAREST = 4
"""Sentences of the passage that the reader gets."""
CARD_PASSAGES = 6
"""Passages with most of the card's words, of which one must say it."""
LEAST_SHARED = 0.6
"""Share of the note's content words, those of the title apart, that the passage must have."""
REPEATS_CARD = 0.85
"""Share of words, both ways, from which a note only says the card again."""
LEAST_WORDS, MOST_WORDS = 5, 60
_FURNITURE = re.compile(
    r"\b(?:click|subscribe|sign up|log in|newsletter|cookies?|advertisement|share this|read more|follow us|all rights reserved|"
    r"photo(?:graph)? (?:by|shows)|(?:the|this) (?:article|text|page|passage|website|image|photo|author|reporter)|copyright)\b",
    re.I,
)
_VOICE = re.compile(r"\b(?:I|[Ww]e|[Oo]ur|[Mm]y|me|[Yy]ou|[Yy]our|us)\b|\?\Z|!\Z")
_NOTHING = re.compile(
    r"\b(?:no (?:information|details?|mention)|not (?:mentioned|specified|provided|stated)|is unknown from|"
    r"does not (?:say|state|mention|specify|provide))\b",
    re.I,
)


@dataclass(frozen=True)
class NoteChecker:
    """Of one event. `reader` None checks by words alone."""

    evidence: Evidence
    card: Card
    reader: SupportReader | None

    @cached_property
    def _subject(self) -> Subject:
        return Subject(self.evidence.event.title, self.evidence.pages)

    def checked(self, passages: Sequence[Passage], facts: Sequence[str]) -> tuple[list[Note], list[DroppedNote]]:
        """The notes that their passages, neighbours on one page, say, each with the passage that has most of its words; and the
        others."""
        page = self.evidence.pages[passages[0].page]
        subject = self._subject
        before = f"{subject.name} is the subject."
        notes: list[Note] = []
        dropped: list[DroppedNote] = []
        open_ones: list[tuple[str, Passage]] = []
        for fact in facts:
            passage = max(passages, key=lambda p: (_shared(fact, p.text), -p.start))
            # A model that takes notes of a subject says "it" of that.
            text = standing_alone(_named(_ended(fact), subject.name, self.card.text), before, page.published, subject)
            reason = "leans on what is not shown" if not text else ""
            reason = reason or self._fault(text, passages, page.published or "")
            if reason:
                dropped.append(DroppedNote(fact, passage.id, reason))
            else:
                open_ones.append((text, passage))
        for (text, passage), chance in zip(open_ones, self._chances(open_ones), strict=True):
            if chance is not None and chance < SUPPORTED:
                dropped.append(DroppedNote(text, passage.id, f"its passage hardly says it ({chance:.2f})"))
            else:
                notes.append(Note(text, passage.id, day_of(text)))
        return notes, dropped

    def card_statement(self) -> Statement | None:
        """The card as the statement that opens the article, with the passages that say it; None where none does."""
        evidence, card = self.evidence, self.card
        title = evidence.event.title
        if card.text == title or card.by == "person":
            return None
        near = sorted(evidence.passages, key=lambda p: (-_shared(card.text, p.text), p.page, p.start))[:CARD_PASSAGES]
        near = [kept for p in near if (kept := readable(p, evidence.pages[p.page])) is not None]
        known = " ".join((*(p.text for p in near), title))
        strange = [name for name in proper_words(card.text) if bare(name) not in name_words(known)]
        if strange or figures(card.text) - figures(known, as_evidence=True):
            return None
        if self.reader is not None:
            readings = self.reader.read([(card.text, _nearest(card.text, p.text)) for p in near], within=0.1)
            near = [p for p, one in zip(near, readings, strict=True) if one is None or one.support >= SUPPORTED]
        return Statement(_ended(card.text), tuple(p.id for p in near[:2]), (), day_of(card.text)) if near else None

    def _fault(self, text: str, passages: Sequence[Passage], published: str) -> str:
        """Why a note is none; empty if it may be one."""
        title = self.evidence.event.title
        card = self.card
        page = self.evidence.pages[passages[0].page]
        said = " ".join(p.text for p in passages)
        if fault := fault_of_form(text, self._subject):
            return fault
        if _shared(text, card.text) > REPEATS_CARD and _shared(card.text, text) > REPEATS_CARD:
            return "the card again"
        if sibling_sentence(title, text):
            return "another of the series"
        known = f"{said} {shown_title(page)} {published} {title}"
        if new := sorted(figures(text) - figures(known, as_evidence=True) - _dated(published)):
            return f"its passage has no {', '.join(new)}"
        held = name_words(f"{known} {card.text}")
        if strange := [name for name in proper_words(text) if bare(name) not in held]:
            return f"its passage does not name {', '.join(strange)}"
        if self._own_shared(text, known) < LEAST_SHARED:
            return "in words that its passage does not have"
        return ""

    def _own_shared(self, text: str, known: str) -> float:
        """Share of a text's content words, those of the title apart, that its passage has."""
        wanted = set(terms(with_digits(text))) - set(terms(with_digits(self.evidence.event.title)))
        return len(wanted & set(terms(with_digits(known)))) / max(len(wanted), 1)

    def _chances(self, notes: Sequence[tuple[str, Passage]]) -> list[float | None]:
        if self.reader is None or not notes:
            return [None] * len(notes)
        readings = self.reader.read([(text, _nearest(text, passage.text)) for text, passage in notes], within=0.1)
        return [one.support if one is not None else None for one in readings]


def fault_of_form(text: str, subject: Subject) -> str:
    """Why a text is no statement of fact, whatever it says; empty if it may be one."""
    words = text.split()
    if not LEAST_WORDS <= len(words) <= MOST_WORDS:
        return "too short" if len(words) < LEAST_WORDS else "too long"
    masked = subject.masked(text)  # the novel "The Author", the song "You and I"
    if is_foreign(masked, WORD.findall(masked)):
        return "in another language"
    if not has_verb(WORD.findall(text)):
        return "no sentence"
    if tells_what_to_write(masked):
        return "tells what to write"
    if _FURNITURE.search(masked) or _NOTHING.search(masked):
        return "speaks of the page"
    if _VOICE.search(re.sub(r"[“\"][^”\"]*[”\"]", " ", masked)):
        return "somebody's own voice"
    return ""


def _nearest(text: str, passage: str) -> tuple[str, ...]:
    sentences = split_sentences(passage)
    best = sorted(range(len(sentences)), key=lambda i: (-_shared(text, sentences[i]), i))[:NEAREST]
    return tuple(sentences[i] for i in sorted(best))


def _shared(text: str, other: str) -> float:
    """Share of a text's content words that another has."""
    wanted = set(terms(text))
    return len(wanted & set(terms(other))) / max(len(wanted), 1)


def _ended(fact: str) -> str:
    text = " ".join(fact.split())
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", ".”", '."')) else f"{text}."


def _dated(published: str) -> frozenset[str]:
    """Figures of the page's month and its neighbours: "on Monday" is said as a date that no sentence has."""
    if not re.match(r"\d{4}-\d{2}-\d{2}", published):
        return frozenset()
    from datetime import date, timedelta

    day = date.fromisoformat(published[:10])
    days = [day - timedelta(days=n) for n in range(8)]
    return frozenset(x for one in days for x in (str(one.day), f"{one:%B}", str(one.year)))


def _named(text: str, name: str, card: str) -> str:
    """The note with the subject's name for what the card calls it, where that opens it: "The series has 18 episodes"."""
    match = re.match(r"The ([a-z]+)(?=(?:[’']s)? )", text)
    if match and re.search(rf"\b{match[1]}\b", card, re.I) and match[1] not in STOPWORDS:
        return f"{name}{text[match.end() :]}"
    return text

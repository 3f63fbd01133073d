"""Whether a passage may say a note: its figures and names, what its words are, and its form. `noting.verifying` reads both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

from lemminflect import getAllLemmas

from data.pages.dated import day_at
from data.sentences import split_sentences
from data.types import Passage
from pipeline.choosing.candidates import without_numeral
from pipeline.choosing.common_words import is_common
from pipeline.choosing.facts import figures, with_digits
from pipeline.choosing.gate import is_foreign
from pipeline.choosing.standing_alone import day_of, standing_alone
from pipeline.choosing.subject import Subject, is_cleft, sibling_sentence
from pipeline.choosing.verbs import has_verb
from pipeline.evidence import Evidence
from pipeline.notes import Card, DroppedNote, Note
from pipeline.noting.material import shown_title, tells_what_to_write
from pipeline.retrieval import STOPWORDS, terms
from pipeline.writing.checks.compared_words import WORD, bare, name_words
from pipeline.writing.checks.rewording import proper_words

LEAST_SHARED = 0.6
"""Share of the note's content words, those of the title apart, that the passage must have."""
LEANS = "leans on what is not shown"
_POINTS = re.compile(
    r"\A(?:(?:But|And|So|Yet) )?(?:[Ii]t|[Hh]e|[Ss]he|[Tt]hey|[Hh]is|[Hh]er|[Tt]heir|[Ii]ts|Such|Here|There|Both)\b|"
    r"\b(?:[Tt]h(?:is|ese|ose)|today|yesterday|tomorrow|tonight|"
    r"currently|recently|now|ago|(?:last|next|past) (?:week|month|year|season|[A-Z][a-z]+day))\b"
)
"""What points to something outside of a sentence for certain."""
LEAST_WORDS, LEAST_ANSWER, MOST_WORDS = 5, 3, 60
"""Words of a note, of an answer ("Axsel produced Tonight."), and of either at most."""
_FURNITURE = re.compile(
    r"\b(?:click|subscribe|sign up|log in|newsletter|cookies?|advertisement|share this|read more|follow us|all rights reserved|"
    r"photo(?:graph)? (?:by|shows)|(?:the|this) (?:article|text|page|passage|website|image|photo|author|reporter)|copyright)\b",
    re.I,
)
_VOICE = re.compile(r"\b(?:I|[Ww]e|[Oo]ur|[Mm]y|me|[Yy]ou|[Yy]our|us)\b|\?(?=\Z|\s+[A-Z])|!\Z")
_IT = re.compile(
    r"It(?:(?P<of>s) (?=[a-z])| (?!rained|snowed|poured)"
    r"(?=(?:[a-z]+ed|was|is|has|had|will|would|became|began|ran|won|lost|took|made)\b))"
)
_NAME = re.compile(r"(?:The )?([A-Z][\w’'&.-]*(?: (?:(?:of|de|and) )?[A-Z][\w’'&.-]*)*)")
_PERSONAL = re.compile(r"(He|She|His|Her) ")
_NOTHING = re.compile(
    r"\b(?:no (?:information|details?|mention)|not (?:mentioned|specified|provided|stated)|is unknown from|"
    r"does not (?:say|state|mention|specify|provide))\b",
    re.I,
)


@dataclass(frozen=True)
class NoteChecker:
    """Of one event. `called`: what such a subject is called, beside what its card says ("the show" of a series)."""

    evidence: Evidence
    card: Card
    called: frozenset[str] = frozenset()

    @cached_property
    def _subject(self) -> Subject:
        return Subject(self.evidence.event.title, self.evidence.pages)

    def checked(
        self, passages: Sequence[Passage], facts: Sequence[str], *, clear: bool = False, asked: str = ""
    ) -> tuple[list[Note], list[DroppedNote]]:
        """The notes that their passages, all of one page, say, each with the passage that has most of its words; and the
        others. `clear`: whoever read them says that they can be understood alone. `asked`: the question that they answer, whose
        words are no names."""
        page = self.evidence.pages[passages[0].page]
        subject = self._subject
        before = f"{subject.name} is the subject."
        notes: list[Note] = []
        dropped: list[DroppedNote] = []
        for fact in with_antecedents(facts):
            passage = max(passages, key=lambda p: (shared(fact, p.text), -p.start))
            named = _named(ended(fact), subject, passages, " ".join((self.card.text, *self.called)))
            # A model that takes notes of a person says "he" of that person; of "it" `_named` has decided.
            day = day_at(page, passage.start)
            text = standing_alone(named, "" if named.startswith("It") else before, day, subject)
            text = text or (named if clear else "")
            if text:
                reason = self._fault(text, passages, day or "", asked)
            else:
                reason = fault_of_form(named, subject, LEAST_ANSWER if asked else LEAST_WORDS) or LEANS
            if reason:
                dropped.append(DroppedNote(fact, passage.id, reason))
            else:
                notes.append(Note(text, passage.id, self._day(text)))
        return notes, dropped

    def _fault(self, text: str, passages: Sequence[Passage], published: str, asked: str) -> str:
        """Why a note is none; empty if it may be one."""
        title = self.evidence.event.title
        card = self.card
        page = self.evidence.pages[passages[0].page]
        said = " ".join(p.text for p in passages)
        if fault := fault_of_form(text, self._subject, LEAST_ANSWER if asked else LEAST_WORDS):
            return fault
        if sibling_sentence(title, text):
            return "another of the series"
        known = f"{said} {shown_title(page)} {title}"
        if new := sorted(figures(_undated(text, published)) - figures(known, as_evidence=True)):
            return f"its passage has no {', '.join(new)}"
        held = name_words(f"{known} {card.text} {asked}")
        if strange := [name for name in proper_words(text) if bare(name) not in held]:
            return f"its passage does not name {', '.join(strange)}"
        if own_shared(text, f"{known} {asked}", title) < LEAST_SHARED:
            return "in words that its passage does not have"
        return ""

    def _day(self, text: str) -> str:
        """The day it speaks of: the year in a title is none."""
        return day_of(self._subject.masked(text))


def with_antecedents(facts: Sequence[str]) -> list[str]:
    """The facts of one answer in order; where one opens with "He" or "Her" and the like, and one of the two before it with a
    name, this name stands in its place. Whether the passage says that of this person is asked later (`noting.verifying`)."""
    found: list[str] = []
    for fact in facts:
        # "He hands Conrad a coin": whoever does it is not Conrad.
        named = (_opening_name(one) for one in reversed(found[-2:]))
        before = next((name for name in named if name and not re.search(rf"\b{re.escape(name)}\b", fact)), "")
        match = _PERSONAL.match(fact)
        if match and before:
            owner = "’s" if match[1] in ("His", "Her") else ""
            fact = f"{before}{owner}{fact[match.end(1) :]}"
        found.append(fact)
    return found


def _opening_name(fact: str) -> str:
    """The name that a sentence opens with; empty where it opens otherwise."""
    opened = _NAME.match(fact)
    first = opened[1].split()[0] if opened and not fact.startswith("The ") else ""
    if not opened or not first or is_common(first) or figures(first):  # "Fourteen people died": no name
        return ""
    return re.sub(r"[’']s?\Z", "", opened[1])


def may_be_clear(dropped: DroppedNote) -> bool:
    """Whether a note that seems to lean on something may not do so: rules made for sentences of pages refuse some that name all
    of it ("from Thursday to Sunday (21–24 August)", "at Sunday dinner")."""
    return dropped.reason == LEANS and not _POINTS.search(dropped.text)


def fault_of_form(text: str, subject: Subject, least: int = LEAST_WORDS) -> str:
    """Why a text is no statement of fact, whatever it says; empty if it may be one. `least`: words that it needs."""
    words = text.split()
    if not least <= len(words) <= MOST_WORDS:
        return "too short" if len(words) < least else "too long"
    masked = subject.masked(text)  # the novel "The Author", the song "You and I"
    if is_foreign(masked, WORD.findall(masked)):
        return "in another language"
    if not has_verb(WORD.findall(text)):
        return "no sentence"
    if tells_what_to_write(masked):
        return "tells what to write"
    if _FURNITURE.search(masked) or _NOTHING.search(masked):
        return "speaks of the page"
    if _VOICE.search(without_numeral(re.sub(r"[“\"][^”\"]*[”\"]", " ", masked))):
        return "somebody's own voice"
    return ""


def shared(text: str, other: str) -> float:
    """Share of a text's content words that another has."""
    wanted = set(terms(text))
    return len(wanted & set(terms(other))) / max(len(wanted), 1)


def own_shared(text: str, known: str, title: str) -> float:
    """Share of a text's content words, those of the title apart, that what is known has."""
    wanted = set(terms(with_digits(text))) - set(terms(with_digits(title)))
    return len(wanted & set(terms(with_digits(known)))) / max(len(wanted), 1)


def ended(fact: str) -> str:
    text = " ".join(fact.split()).rstrip(",;: ")
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", ".”", '."')) else f"{text}."


def _undated(text: str, published: str) -> str:
    """A note without the dates of the week before its page's day: "on Monday" is said as a date that no sentence has."""
    try:
        last = date.fromisoformat(published[:10])
    except ValueError:
        return text
    days = [last - timedelta(days=n) for n in range(8)]
    said = [rf"(?:0?{day.day} {day:%B}|{day:%B} 0?{day.day})\b(?:,? {day.year})?" for day in days]
    said += [f"{day:%B} {day.year}" for day in days]
    return re.sub(rf"\b(?:{'|'.join(said)})\b", " ", text)


def _goes_on(text: str, noun: re.Match[str], card: str) -> bool:
    """Whether a name goes on behind its first noun: "The cable car ..." of the card "... a cable car accident"."""
    behind = re.match(r" ([a-z]+)\b", text[noun.end() :])
    if not behind:
        return False
    return set(getAllLemmas(behind[1])) == {"NOUN"} or bool(re.search(rf"\b{noun[1]} {behind[1]}\b", card, re.I))


def _named(text: str, subject: Subject, passages: Sequence[Passage], card: str) -> str:
    """The note with the subject's name for what the card calls it ("The series has 18 episodes") or for "It", where that
    opens it: the model was told of what it takes notes. Not where what the passage says so opens with another name: "It
    opened nine shelters" may be the province."""
    noun = re.match(r"The ([a-z]+)(?=(?:[’']s)? )", text)
    if noun and noun[1] not in STOPWORDS and re.search(rf"\b{noun[1]}\b", card, re.I) and not _goes_on(text, noun, card):
        return f"{subject.name}{text[noun.end() :]}"
    match = _IT.match(text)
    if not match or is_cleft(text):
        return text
    said = [sentence for passage in passages for sentence in split_sentences(passage.text)]
    source = max(said, key=lambda sentence: shared(text, sentence), default="")
    opened = _NAME.match(source)
    if opened and not all(is_common(word) for word in opened[1].split()) and not subject.is_named_in(opened[1]):
        return text
    return f"{subject.name}{'’s' if match['of'] else ''} {text[match.end() :]}"

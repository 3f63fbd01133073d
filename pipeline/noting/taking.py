"""Notes of the pages: which passages are read, what the model is asked of them, and what it wrote down.

The passages nearest to the card are read, near-duplicates once, within a budget of words, those of one page together. A call is
independent of the others, so that several are decoded at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.decoding_counts import Usage
from data.sentences import split_sentences
from data.stage_types import Stages
from data.types import Passage
from decoding.api import Completion, Encoder, Generator, Request, SamplingParams
from pipeline.choosing.subject import names_subject, subject_terms
from pipeline.evidence import Evidence
from pipeline.notes import AboutPages, Card, DroppedNote, Note, TakenNotes
from pipeline.noting import reading_prompts
from pipeline.noting.material import readable, shown_title
from pipeline.noting.stated import MOST_WORDS, NoteChecker, may_be_clear
from pipeline.noting.verifying import FACTUAL, SAYS, Claimed, Verifier
from pipeline.stages import notes_stage
from pipeline.writing.drafting import without_reasoning
from pipeline.writing.prompts import Numbered

CALL_WORDS = 240
"""Words of one page's passages that one call reads."""
TOGETHER = 8
"""Calls of one stage: what a killed run reads again at most."""
NOTE_TOKENS = 520
SAYS_STORY = 0.7
"""The same as `SAYS` of what happens in a story. Of 63 labelled ones it keeps 39, of which ten are wrong."""
CLEAR = 0.9
"""Least chance, by the model, that a note which seems to lean on something can be understood alone (LOG.md)."""
MOST_TAKEN = 3 * reading_prompts.MOST_NOTES
"""Of one answer, however long it is."""
SAME_PASSAGE = 0.93
"""Cosine from which a passage says what one that is read says; the nearer one to the card is read."""
MOST_OF_PAGE = 0.3
"""Share of the budget that one page may have, where there are others."""
FAR, TOP, FEW = 0.65, 10, 3
"""Share of the closeness of the nearest `TOP` passages below which none is read, but for `FEW`: a budget is no duty."""
MENTION = 0.8
"""Part of its closeness that a passage keeps whose page only mentions the subject."""

MOST_ANSWER = 20_000
"""Characters of an answer that are looked at: a server may not mind the limit."""
_STRING = re.compile(r'"((?:[^"\\]|\\.|"(?!\s*(?:[,\]}:"]|\Z)))*+)"(?=\s*([,\]}:"]|\Z))', re.S)
"""A string of JSON. A model writes quotation marks inside of it without a backslash, and backslashes that JSON does not know:
it ends where the list goes on. Behind a key of an object is a colon."""
_UNCLOSED = re.compile(r"([.!?])\]\s*,\s*\[?\"")
"""The end of a string that was not closed, and the next string."""
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.S)
_LINE = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+(.+[.!?][\"”’)]*)\s*$", re.M)
"""A whole sentence in a list that is none of JSON."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Passages of one page, read in one call."""

    passages: tuple[Passage, ...]

    @property
    def text(self) -> str:
        return "\n".join(passage.text for passage in self.passages)

    @property
    def page(self) -> int:
        return self.passages[0].page


def chosen_passages(evidence: Evidence, card: Card, about: AboutPages, encoder: Encoder, most_words: int) -> list[Passage]:
    """The passages to read, in page order: nearest to the card first until `most_words`, each once, without what tells its
    reader what to write."""
    words = subject_terms(evidence.event.title)
    verdicts = {one.page: one.verdict for one in about.pages}
    open_ones = [
        p
        for p in evidence.passages
        if verdicts.get(p.page) == "subject" or (verdicts.get(p.page) == "mention" and names_subject(words, p.text))
    ]
    open_ones = [kept for p in open_ones if (kept := readable(p, evidence.pages[p.page])) is not None]
    if not open_ones:
        return []
    vectors = encoder.encode([f"{evidence.event.title}. {card.text}", *(p.text for p in open_ones)])
    near = about.closeness([p.page for p in open_ones], vectors[1:] @ vectors[0])
    near = near * np.array([MENTION if verdicts[p.page] == "mention" else 1.0 for p in open_ones])
    floor = FAR * float(np.sort(near)[-TOP:].mean())
    taken: list[int] = []
    used = 0
    of_page: dict[int, int] = {}
    most_of_page = most_words * (MOST_OF_PAGE if len({p.page for p in open_ones}) > 3 else 1.0)
    for i in np.argsort(-near, kind="stable").tolist():
        passage = open_ones[i]
        n = len(passage.text.split())
        if near[i] < floor and len(taken) >= FEW:
            break
        if used + n > most_words or of_page.get(passage.page, 0) + n > most_of_page:
            continue
        if taken and float(max(vectors[1:][taken] @ vectors[1 + i])) > SAME_PASSAGE:
            continue
        taken.append(i)
        used += n
        of_page[passage.page] = of_page.get(passage.page, 0) + n
    return [open_ones[i] for i in sorted(taken)]


def readings(passages: Sequence[Passage]) -> list[Reading]:
    """Those of one page together, up to `CALL_WORDS`: what a call costs beside what it reads is as much again."""
    found: list[Reading] = []
    for passage in passages:
        last = found[-1].passages if found else ()
        fits = sum(len(p.text.split()) for p in (*last, passage)) <= CALL_WORDS
        if last and last[-1].page == passage.page and fits:
            found[-1] = Reading((*last, passage))
        else:
            found.append(Reading((passage,)))
    return found


def take_notes(passages: Sequence[Passage], generator: Generator, checker: NoteChecker, stages: Stages) -> list[TakenNotes]:
    """All notes of the passages, a stage for each few calls. A stored stage is not made again."""
    calls = readings(passages)
    return [
        stages.once(notes_stage(n), lambda at=at: _read_together(calls[at : at + TOGETHER], generator, checker))  # type: ignore[misc]
        for n, at in enumerate(range(0, len(calls), TOGETHER), 1)
    ]


def retell(account: Sequence[Passage], generator: Generator, checker: NoteChecker) -> TakenNotes:
    """What happens in a story, by the passages of the page that retells it (`pipeline.noting.retelling`), in its order."""
    return _read_together(readings(account), generator, checker, story=True)


def _read_together(calls: Sequence[Reading], generator: Generator, checker: NoteChecker, *, story: bool = False) -> TakenNotes:
    evidence = checker.evidence
    sampling = SamplingParams(max_new_tokens=NOTE_TOKENS, task="other")
    requests = []
    for call in calls:
        page = evidence.pages[call.page]
        if story:  # of a page's title it said that somebody "is introduced" there
            shown = Numbered(1, "", call.text)
            messages = reading_prompts.story(evidence.event.title, shown, generator.neutralise)
        else:
            shown = Numbered(1, shown_title(page), call.text)
            messages = reading_prompts.notes(evidence.event.title, shown, page.published or "", generator.neutralise)
        requests.append(Request(messages, sampling))
    answers = generator.generate_many(requests)
    found = [checker.checked(call.passages, parsed(answer.text)) for call, answer in zip(calls, answers, strict=True)]
    clear_ones(found, [call.passages for call in calls], generator, checker)
    found = verified(found, generator, checker, [SAYS_STORY] * len(found) if story else ())
    notes = tuple(note for kept, _ in found for note in kept)
    dropped = tuple(one for _, gone in found for one in gone)
    read = tuple(passage.id for call in calls for passage in call.passages)
    return TakenNotes(read, notes, dropped, Usage.total([usage_of(answer) for answer in answers]))


def clear_ones(
    found: list[tuple[list[Note], list[DroppedNote]]],
    read: Sequence[tuple[Passage, ...]],
    generator: Generator,
    checker: NoteChecker,
) -> None:
    """Puts those notes back that only seemed to lean on something, by what the model says of each. `read`: the passages."""
    asked = [(n, one) for n, (_, gone) in enumerate(found) for one in gone if may_be_clear(one)]
    title = checker.evidence.event.title
    questions = [reading_prompts.clear(title, one.text, generator.neutralise) for _, one in asked]
    chances = generator.choose_many(questions, ("Yes", "No")) if questions else []
    for (n, one), (yes, _) in zip(asked, chances, strict=True):
        if yes >= CLEAR:
            kept, gone = checker.checked(read[n], [one.text], clear=True)
            found[n] = ([*found[n][0], *kept], [*(other for other in found[n][1] if other is not one), *gone])


def verified(
    found: Sequence[tuple[list[Note], list[DroppedNote]]],
    generator: Generator,
    checker: NoteChecker,
    least: Sequence[float] = (),
) -> list[tuple[list[Note], list[DroppedNote]]]:
    """Without those notes of which the model doubts, reading note and passage, that the one says the other, and without those
    that judge and state no fact. `least`: for each of `found` the chance that it must give; empty for `SAYS`. Where it is given
    they answer questions: what critics praise is asked for, and whether an answer tells it is asked, too."""
    evidence = checker.evidence
    passages = {passage.id: passage for passage in evidence.passages}
    verifier = Verifier(generator)
    bars = least or [SAYS] * len(found)
    notes = [(note, bar) for (kept, _), bar in zip(found, bars, strict=True) for note in kept]
    of_notes = [(note.text, passages[note.passage]) for note, _ in notes]
    says = verifier.chances([Claimed(text, p.text, shown_title(evidence.pages[p.page])) for text, p in of_notes])
    doubted = [n for n, ((_, bar), chance) in enumerate(zip(notes, says, strict=True)) if chance < bar]
    faults = {n: f"its passage hardly says it ({says[n]:.2f})" for n in doubted}
    others = [n for n in range(len(notes)) if n not in faults]
    states = [1.0] * len(others) if least else verifier.factual([notes[n][0].text for n in others])
    faults |= {n: f"judges, and states no fact ({c:.2f})" for n, c in zip(others, states, strict=True) if c < FACTUAL}
    held = []
    at = 0
    for kept, gone in found:
        mine = range(at, at + len(kept))
        at += len(kept)
        refused = [DroppedNote(notes[n][0].text, notes[n][0].passage, faults[n]) for n in mine if n in faults]
        held.append(([notes[n][0] for n in mine if n not in faults], [*gone, *refused]))
    return held


def parsed(answer: str) -> list[str]:
    """The facts in an answer, in order, each once: the strings of its JSON list, or the lines of a list that is none of JSON;
    none where there is no list. What the token limit cut off, and what a model says before and behind its list or while it
    thinks, is left away."""
    answer = _UNCLOSED.sub(r'\1", "', without_reasoning(answer)[:MOST_ANSWER])
    opened = answer.find("[")
    found = [_read(m[1]) for m in _STRING.finditer(answer, max(opened, 0)) if m[2] != ":"] if opened >= 0 else []
    if not found:
        found = [line.strip(' \t,"') for line in _LINE.findall(answer)]
    facts = dict.fromkeys(" ".join(part.split()) for one in found for part in _parts(one))
    return [fact for fact in facts if fact][:MOST_TAKEN]


def _parts(fact: str) -> list[str]:
    """A fact, or the sentences of one that is too long to be one."""
    return split_sentences(fact) if len(fact.split()) > MOST_WORDS else [fact]


def _read(escaped: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code, letter = match.groups()
        return chr(int(code, 16)) if code else " " if letter in "bfnrt\n" else letter

    text = _ESCAPED.sub(plain, escaped).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return "".join(c if c.isprintable() else " " for c in text)


def usage_of(answer: Completion) -> Usage:
    return Usage(1, answer.n_prompt_tokens, answer.n_new_tokens, answer.stats.rounded())

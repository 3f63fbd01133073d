"""What an encyclopedia tells first of such a subject, asked of its pages: when, where, who, how many, why, what came of it.

Notes follow the pages, which tell what is news; an article needs what its reader asks. Each kind of subject has its questions
(`key_questions.toml`). To each the model sees the few windows of text nearest to it, from all pages about the subject, and
answers in a sentence of its own, or that it is not said. An answer is a note like any other: held to the passage that says it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from data import codec
from data.decoding_counts import Usage
from data.sentences import split_sentences
from data.types import Passage
from decoding.api import Encoder, Generator, Request, SamplingParams
from pipeline.evidence import Evidence
from pipeline.notes import AboutPages, DroppedNote, Note, TakenNotes
from pipeline.noting import reading_prompts
from pipeline.noting.material import readable
from pipeline.noting.stated import NoteChecker, shared
from pipeline.noting.taking import clear_ones, usage_of, verified
from pipeline.noting.verifying import ANSWERS, Claimed, Verifier
from pipeline.retrieval import Bm25Ranker, fuse
from pipeline.writing.consensus import consensus
from pipeline.writing.prompts import Numbered

QUESTIONS_FILE = Path(__file__).with_name("key_questions.toml")
WINDOWS, OF_PAGE = 5, 2
"""Windows of text that a question is shown, and how many of them one page may have."""
SENTENCES = 2
LEAST_WORDS, MOST_WORDS = 6, 90
"""Of a window."""
LINE_WORDS, LINES, LIST_WORDS = 8, 3, 60
"""Words of a line of a list; lines of one at least; words of those that are read together."""
SAME_WINDOW = 0.9
"""Cosine from which two windows say the same."""
RRF = 60
SAMPLES = (0.0, 0.7, 0.7)
"""Temperatures of the answers to a question."""
AGREEING = 0.5
"""Least mean likeness of the best answer with the others; one that says nothing is like none."""
TOGETHER, LEAST_SAID, MOST_SAID = 1.45, 0.72, 0.8
"""What an answer's agreement and the chance that it is said must be together: answers that are all the same outweigh
some doubt of the verifier, and those that differ ask for less of it. Bounds of that chance, which is the mean of that of its
passage and of that of all passages tried, read as one: what several pages say is surer than what one does, and pages that say
something else lower it. Of 42 answers on four topics, labelled by reading, 12 of 13 right ones have 0.78 or more and 5 of the
others (six passages; docs/history/2026-11-29.md)."""
SEEN, TRIED, ASKED = 1, 3, 2
"""Windows that the model saw, passages in all, of which one must say an answer; and answers to a question that are held to
theirs at most."""
ANSWER_TOKENS = 110
_SOURCE = re.compile(r"\A(?:According to|As (?:stated|mentioned|said) in|In) (?:the )?texts? \d+(?: and \d+)?,? ?", re.I)
_QUOTED = re.compile(r"“([^”]+)”")


@dataclass(frozen=True, slots=True)
class Question:
    """`ask` with the subject's name, and `cues`: what an answering text may say, without that name."""

    ask: str
    cues: str


@dataclass(frozen=True, slots=True)
class _Window:
    passage: Passage
    text: str


def questions(kind: str, name: str) -> list[Question]:
    """Those of a kind of article (`planning/kinds.toml`), about the subject of this name."""
    return [
        Question(ask.strip().replace("{it}", f"“{name}”"), f"{ask.replace('{it}', 'it')}{cues}".strip())
        for line in _by_kind().get(kind, _by_kind()["any"])
        for ask, _, cues in [line.partition("|")]
    ]


@cache
def questions_digest() -> str:
    """Changes with what is asked; part of the identity of runs."""
    return codec.sha256(QUESTIONS_FILE.read_text(encoding="utf-8"))[:12]


@cache
def _by_kind() -> dict[str, tuple[str, ...]]:
    groups = tomllib.loads(QUESTIONS_FILE.read_text(encoding="utf-8"))["group"]
    return {kind: tuple(group["ask"]) for group in groups for kind in group["kinds"]}


def ask_pages(
    asked: Sequence[Question], about: AboutPages, generator: Generator, encoder: Encoder, checker: NoteChecker
) -> TakenNotes:
    """The notes that the pages about the subject answer the questions with; none where there is no such page."""
    evidence = checker.evidence
    windows = _windows(evidence, about)
    if not windows or not asked:
        return TakenNotes((), (), (), Usage())
    shown = [[windows[w] for w in few] for few in _nearest(asked, windows, encoder)]
    passages = list({window.passage.id: window.passage for window in windows}.values())
    answers, usage = _answers(asked, shown, passages, generator)
    notes: dict[int, list[Note]] = {}
    dropped: dict[str, DroppedNote] = {}
    for _ in range(ASKED):
        # Of each question the likeliest answer that was not tried yet, until one is held.
        trying = [(n, answers[n].pop(0)) for n in range(len(asked)) if n not in notes and answers[n]]
        held = _held([answer for _, answer in trying], [asked[n] for n, _ in trying], generator, checker)
        for (n, _), (kept, gone) in zip(trying, held, strict=True):
            if kept:
                notes[n] = [replace(note, question=n + 1) for note in kept]
            dropped |= {one.text: one for one in gone}
    read = dict.fromkeys(window.passage.id for few in shown for window in few)
    told = tuple(note for n in sorted(notes) for note in notes[n])
    return TakenNotes(tuple(read), told, tuple(dropped.values()), usage)


@dataclass(frozen=True, slots=True)
class _Answer:
    """Its sentences, each with the passages that it may be from, likeliest first; and how alike it is to the other answers."""

    sentences: tuple[tuple[str, tuple[Passage, ...]], ...]
    agreement: float


def _answers(
    asked: Sequence[Question], shown: Sequence[Sequence[_Window]], passages: Sequence[Passage], generator: Generator
) -> tuple[list[list[_Answer]], Usage]:
    """For each question those answers that its others agree with, the likeliest first; none where most do not say it."""
    prompts = [
        reading_prompts.answer(
            question.ask, [Numbered(n, "", window.text) for n, window in enumerate(few, 1)], generator.neutralise
        )
        for question, few in zip(asked, shown, strict=True)
    ]
    requests = [
        Request(prompt, SamplingParams(max_new_tokens=ANSWER_TOKENS, temperature=temperature, seed=seed, task="other"))
        for prompt in prompts  # answers to one question after the other: how their prompts begin is read once
        for seed, temperature in enumerate(SAMPLES)
    ]
    completed = generator.generate_many(requests)
    whose = [question for question in asked for _ in SAMPLES]
    texts = [_unquoted(" ".join(answer.text.split()), one) for answer, one in zip(completed, whose, strict=True)]
    found: list[list[_Answer]] = []
    for n, few in enumerate(shown):
        mine = texts[n * len(SAMPLES) : (n + 1) * len(SAMPLES)]
        said = [text for text in mine if text and not text.startswith(reading_prompts.NOT_SAID)]
        likeness = {text: one * len(said) / len(SAMPLES) for text, one in zip(said, consensus(said), strict=True)}
        likely = sorted((text for text in likeness if likeness[text] >= AGREEING), key=lambda text: -likeness[text])
        found.append([_answer(text, few, passages, likeness[text]) for text in likely])
    return found, Usage.total([usage_of(answer) for answer in completed])


def _unquoted(answer: str, question: Question) -> str:
    """An answer without the quotation marks in which its question has the subject's name, and without the number of a text
    that it was shown."""
    for name in _QUOTED.findall(question.ask):
        marked = re.compile(rf"[\"“‘']{re.escape(name)}([.,]?)[\"”’'](?!\w)", re.I)
        answer = marked.sub(name.replace("\\", r"\\") + r"\1", answer)
    answer = _SOURCE.sub("", answer)
    return answer[:1].upper() + answer[1:]


def _whole(sentences: Sequence[str]) -> list[str]:
    """Sentences without the cuts inside of names that have a full stop before them: "Anderson .Paak"."""
    found: list[str] = []
    for sentence in sentences:
        if found and found[-1].endswith(" ."):
            found[-1] += sentence
        else:
            found.append(sentence)
    return found


def _answer(text: str, shown: Sequence[_Window], passages: Sequence[Passage], agreement: float) -> _Answer:
    sentences = []
    for sentence in _whole(split_sentences(text))[:SENTENCES]:
        seen = sorted(shown, key=lambda window: -shared(sentence, window.text))[:SEEN]
        others = sorted(passages, key=lambda passage: -shared(sentence, passage.text))[:TRIED]
        nearest = {passage.id: passage for passage in (*(window.passage for window in seen), *others)}
        sentences.append((sentence, tuple(nearest.values())[:TRIED]))
    return _Answer(tuple(sentences), agreement)


def _held(
    answers: Sequence[_Answer], asked: Sequence[Question], generator: Generator, checker: NoteChecker
) -> list[tuple[list[Note], list[DroppedNote]]]:
    """Of each answer its sentences as notes of the first of their passages that says them, and those that none says."""
    tried = [
        (n, k, passage)
        for n, answer in enumerate(answers)
        for k, (_, passages) in enumerate(answer.sentences)
        for passage in passages
    ]
    found = [checker.checked([passage], [answers[n].sentences[k][0]], asked=asked[n].ask) for n, k, passage in tried]
    clear_ones(found, [(passage,) for _, _, passage in tried], generator, checker)
    together = [_together(answers[n].sentences[k][1], kept, checker) for (n, k, _), (kept, _) in zip(tried, found, strict=True)]
    every = dict.fromkeys(one for some in together for one in some)
    sure = dict(zip(every, Verifier(generator).chances(list(every)), strict=True))
    bars = [min(max(TOGETHER - answers[n].agreement, LEAST_SAID), MOST_SAID) for n, _, _ in tried]
    # The mean of both is at least the bar where the passage's own chance is at least this.
    least = [2 * bar - max((sure[one] for one in some), default=1.0) for bar, some in zip(bars, together, strict=True)]
    notes: dict[tuple[int, int], Note] = {}
    gone: dict[tuple[int, int], DroppedNote] = {}
    said = verified(found, generator, checker, least)
    told = ((asked[n].ask, note.text) for (n, _, _), (kept, _) in zip(tried, said, strict=True) for note in kept)
    pairs = list(dict.fromkeys(told))
    chances = dict(zip(pairs, Verifier(generator).answers(pairs), strict=True))
    for (n, k, _), (kept, dropped) in zip(tried, said, strict=True):
        for note in kept:
            if (chance := chances[asked[n].ask, note.text]) >= ANSWERS:
                notes.setdefault((n, k), note)
            else:
                gone.setdefault((n, k), DroppedNote(note.text, note.passage, f"does not answer its question ({chance:.2f})"))
        for one in dropped:
            gone.setdefault((n, k), one)
    return [
        (
            [note for (at, _), note in notes.items() if at == n],
            [one for (at, k), one in gone.items() if at == n and (at, k) not in notes],
        )
        for n in range(len(answers))
    ]


def _together(passages: Sequence[Passage], notes: Sequence[Note], checker: NoteChecker) -> list[Claimed]:
    """Notes beside all passages that were tried for them, as one."""
    title = checker.evidence.event.title
    return [Claimed(note.text, " ".join(passage.text for passage in passages), title) for note in notes]


def _windows(evidence: Evidence, about: AboutPages) -> list[_Window]:
    """Of pages about the subject two sentences each, so that "It was directed by" has its film; and the short lines of a list,
    a cast or a register, as many together as are read at once."""
    verdicts = {one.page: one.verdict for one in about.pages}
    found = []
    for passage in evidence.passages:
        kept = readable(passage, evidence.pages[passage.page]) if verdicts.get(passage.page) == "subject" else None
        sentences = split_sentences(kept.text) if kept is not None else []
        texts = [" ".join(sentences[at : at + 2]) for at in range(max(len(sentences) - 1, min(len(sentences), 1)))]
        for text in (*texts, *_lists(sentences)):
            if kept is not None and LEAST_WORDS <= len(text.split()) <= MOST_WORDS:
                found.append(_Window(kept, text))
    return found


def _lists(sentences: Sequence[str]) -> list[str]:
    """Runs of at least `LINES` lines that are no sentences, of at most `LIST_WORDS` words."""
    found: list[str] = []
    run: list[str] = []
    for sentence in (*sentences, ""):
        is_line = bool(sentence) and len(sentence.split()) <= LINE_WORDS and not sentence.endswith((".", "!", "?"))
        if run and (not is_line or sum(len(line.split()) for line in (*run, sentence)) > LIST_WORDS):
            found += ["; ".join(run)] if len(run) >= LINES else []
            run = []
        run += [sentence] if is_line else []
    return found


def _nearest(asked: Sequence[Question], windows: Sequence[_Window], encoder: Encoder) -> list[list[int]]:
    """For each question its windows, best first, by meaning, by words, and by meaning with the subject's name: with it alone
    what speaks of "Lux" is nearest to who directed "Lux", without it what directs anything."""
    texts = [window.text for window in windows]
    vectors = encoder.encode([*texts, *(question.cues for question in asked), *(question.ask for question in asked)])
    of_texts, of_cues, of_asked = np.split(vectors, [len(texts), len(texts) + len(asked)])
    by_words = Bm25Ranker(texts)
    found = []
    for question, bare, named in zip(asked, of_cues, of_asked, strict=True):
        scores = fuse([of_texts @ bare, by_words.scores(question.cues), of_texts @ named], RRF)
        taken: list[int] = []
        of_page: dict[int, int] = {}
        for w in np.argsort(-scores, kind="stable").tolist():
            page = windows[w].passage.page
            if of_page.get(page, 0) == OF_PAGE or (taken and float(max(of_texts[taken] @ of_texts[w])) > SAME_WINDOW):
                continue
            of_page[page] = of_page.get(page, 0) + 1
            taken.append(w)
            if len(taken) == WINDOWS:
                break
        found.append(taken)
    return found

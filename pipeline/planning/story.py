"""A plot is told from one page, in its order: what other pages say of the story makes it begin again and again.

What they answer of it ("It is set in 1952") opens the section; their other sentences on the story are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from data.types import Heading
from decoding.api import Encoder
from pipeline.article_plan import ArticlePlan, LeftOut, PlannedSection, Statement
from pipeline.choosing.facts import names
from pipeline.choosing.statements import REPEATS
from pipeline.choosing.verbs import WORD
from pipeline.planning.kinds import Kind
from pipeline.planning.paragraphs import PARAGRAPH, STORIES
from pipeline.planning.section_assignment import cues

LEAST_TOLD = 6
"""Events of a story from which it is told as one: fewer are no plot."""
SHARE = 0.25
"""Share of an article's words that its story may have."""
WORTH = 0.4
"""What a sentence of the story is worth beside the others of a plan: about their median."""
PREMISE = 2
"""Answers that open the section."""
PLOT = "Plot"
_MADE = re.compile(r"\b(?:directed|wrote|written|produced|created|composed)\b")
TOLD_ELSEWHERE = "the story is told from the page that tells most of it"


def makers_of(statements: Sequence[Statement], title: str) -> frozenset[str]:
    """The last names of those who made the subject, by the answers to who did: what they do is no part of its story."""
    made = [one.text for one in statements if one.question and _MADE.search(one.text)]
    own = {word.lower() for word in WORD.findall(re.sub(r" \([^)]*\)\Z", "", title))}
    return frozenset(name.split()[-1] for text in made for name in names(text)) - own


def story_told(
    story: Sequence[Statement], encoder: Encoder, max_words: int, makers: frozenset[str] = frozenset()
) -> tuple[Statement, ...]:
    """As much of a story as an article of `max_words` has room for, from its beginning, each event once; empty where there is
    no story to tell. What says how it is told, or what its `makers` did, is none of it."""
    about = cues().barred[PLOT]
    story = [one for one in story if not about.search(one.text) and not makers & set(WORD.findall(one.text.lower()))]
    if len(story) < LEAST_TOLD:
        return ()
    vectors = encoder.encode([one.text for one in story])
    told: list[int] = []
    words = 0
    for n, one in enumerate(story):
        words += len(one.text.split())
        if told and words > SHARE * max_words:
            break
        if not told or float((vectors[told] @ vectors[n]).max()) < REPEATS:
            told.append(n)
    return tuple(replace(story[n], worth=WORTH, story=True) for n in told) if len(told) >= LEAST_TOLD else ()


def with_story(plan: ArticlePlan, told: Sequence[Statement], kind: Kind, encoder: Encoder) -> ArticlePlan:
    """The plan with the story in its section, the first where there was none, and nothing of it elsewhere."""
    heading = next((section.heading for section in kind.sections if section.heading in STORIES), "")
    if not told or not heading:
        return plan
    vectors = encoder.encode([one.text for one in told])

    def is_told(one: Statement) -> bool:
        return float(np.max(vectors @ encoder.encode([one.text])[0])) >= REPEATS

    left_out = list(plan.left_out)
    lead = tuple(one for n, one in enumerate(plan.lead) if n == 0 or not is_told(one))
    left_out += [LeftOut(one.text, one.cites[0], TOLD_ELSEWHERE) for one in plan.lead if one not in lead]
    sections: list[PlannedSection] = []
    premise: tuple[Statement, ...] = ()
    at = 0
    for section in plan.sections:
        again = [one for one in section.statements if is_told(one)]
        if section.heading.text in STORIES:
            premise += tuple(one for one in section.statements if one.question and one not in again)[:PREMISE]
            again = [one for one in section.statements if one not in premise]
            at = len(sections) if section.heading.text == heading else at
            rest: tuple[tuple[Statement, ...], ...] = ()
        else:
            rest = tuple(kept for run in section.paragraphs if (kept := tuple(one for one in run if one not in again)))
        left_out += [LeftOut(one.text, one.cites[0], TOLD_ELSEWHERE) for one in again]
        if rest:
            sections.append(replace(section, paragraphs=rest))
    n = -(-len(told) // PARAGRAPH)
    size = -(-len(told) // n)
    runs = tuple(tuple(told[k : k + size]) for k in range(0, len(told), size))
    story = PlannedSection(Heading(heading), (*((premise,) if premise else ()), *runs))
    return replace(plan, lead=lead, sections=(*sections[:at], story, *sections[at:]), left_out=tuple(left_out))

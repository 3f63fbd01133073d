"""What the folder of an event holds, in the order in which it is written: each stage with the type of its value.

    system               SYSTEM                             with what `wikigenben write` began the article
    pages (.jsonl)       PAGES                              the pages, kept and dropped
    card                 CARD                               what the subject is, in one sentence
    about                ABOUT                              which pages are about it
    kind                 KIND                               of which kind its article is
    drafts/notes-NN      notes_stage(n)                     notes of a few passages each, from 01
    drafts/answers       ANSWERS                            notes that answer the questions of such a subject
    drafts/story         STORY                              what happens in a story, by the page that retells it
    notes                NOTES                              all notes, each fact once
    plan                 PLAN                               `ours` and `extractive`: which statement goes where
    drafts/outline       OUTLINE_DRAFT                      what a model answered for the headings
    outline              OUTLINE                            the headings; edit it and the article follows
    drafts/NN            draft_stage(n), composed_stage(n)  what a model answered for section NN, from 01; 00 is the lead
    sections/NN          section_stage(n), LEAD             the section, checked
    drafts/parts         SHORT_FACTS                        `ours`: what could only be copied, told in parts
    drafts/article       ARTICLE_DRAFT                      of systems that write the whole article at once
    article              ARTICLE                            the article
    disagreements        DISAGREEMENTS                      what its pages say differently

A name becomes a file `NAME.json`. Beside these lie `stats.json`, `failure.json` (`data.runs`), `corrections.json`
(`pipeline.editing`) and the folder `evidence/` (`pipeline.web.bundle`). No other module spells the name of a stage.
"""

from __future__ import annotations

import re

from data.stage_types import ARTICLE, DRAFTS, OUTLINE, PAGES, SYSTEM, Stage
from pipeline.article_plan import ArticlePlan
from pipeline.following.disagreements import Disagreements
from pipeline.notes import AboutPages, Card, Notes, SubjectKind, TakenNotes
from pipeline.writing.assembly import WrittenSection
from pipeline.writing.drafting import ComposedDraft, Draft, ShortFacts

__all__ = [
    "ABOUT", "ANSWERS", "ARTICLE", "ARTICLE_DRAFT", "CARD", "DISAGREEMENTS", "DRAFTS", "KIND",
    "LEAD", "NOTES", "OUTLINE", "OUTLINE_DRAFT", "PAGES", "PLAN", "SECTIONS", "SHORT_FACTS", "STORY", "SYSTEM",
    "composed_stage", "draft_stage", "notes_stage", "part_of", "section_of", "section_stage",
]  # fmt: skip

SECTIONS = "sections"
_SECTION = re.compile(rf"(?:{SECTIONS}|{DRAFTS})/(\d+)")


def draft_stage(n: int) -> Stage[Draft]:
    """Of section `n`, 0 for the lead."""
    return Stage(f"{DRAFTS}/{n:02}", Draft)


def composed_stage(n: int) -> Stage[ComposedDraft]:
    """The same for `ours`, which asks a few statements at a time."""
    return Stage(f"{DRAFTS}/{n:02}", ComposedDraft)


def section_stage(n: int) -> Stage[WrittenSection]:
    """Section `n`, from 1; 0 is the lead."""
    return Stage(f"{SECTIONS}/{n:02}", WrittenSection)


def notes_stage(n: int) -> Stage[TakenNotes]:
    """Notes of the n-th few passages, from 1."""
    return Stage(f"{DRAFTS}/notes-{n:02}", TakenNotes)


CARD = Stage("card", Card)
ABOUT = Stage("about", AboutPages)
KIND = Stage("kind", SubjectKind)
ANSWERS = Stage(f"{DRAFTS}/answers", TakenNotes)
STORY = Stage(f"{DRAFTS}/story", TakenNotes)
NOTES = Stage("notes", Notes)
PLAN = Stage("plan", ArticlePlan)
OUTLINE_DRAFT = Stage(f"{DRAFTS}/outline", Draft)
LEAD = section_stage(0)
SHORT_FACTS = Stage(f"{DRAFTS}/parts", ShortFacts)
ARTICLE_DRAFT = Stage(f"{DRAFTS}/article", Draft)
DISAGREEMENTS = Stage("disagreements", Disagreements)


def section_of(name: str) -> int | None:
    """The section that a stage of this name, or a draft of it, belongs to: 0 for the lead, None for no section."""
    found = _SECTION.match(name)
    return int(found[1]) if found else None


def part_of(name: str) -> str:
    """What a stage is about: `outline` for `outline` and for `drafts/outline`."""
    return name.removeprefix(f"{DRAFTS}/")

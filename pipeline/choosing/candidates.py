"""The evidence as candidate sentences: each inside one passage, with what selection needs to know of it."""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass

from data.pages.cleaning import addresses_model
from data.passages import sentence_spans
from data.types import Page, Passage
from pipeline.choosing.common_words import is_common
from pipeline.choosing.facts import names, numbers
from pipeline.choosing.word_lists import either
from pipeline.retrieval import terms

_DATELINE = re.compile(
    r"^[A-Z][\w.'-]*(?:[ ,]+[A-Z][\w.'-]*){0,4}"
    r"(?:\s*\([A-Z][\w .]{1,24}\)\s*[—–-]{1,2}|(?:,\s*\w+\.? \d{1,2})?\s*[—–]{1,2})\s+(?=[A-Z])"
)
_CONNECTIVE = re.compile(
    r"^(?:However|But|And|Meanwhile|Moreover|Furthermore|In addition(?! to)|Also|So|Still|Now|Instead|Yet),?\s+(?=\w)"
)
_DANGLING = re.compile(
    r"^(?:He|She|It|They|His|Her|Its|Their|This|That|These|Those|Such|Then|There|Here|Both|Another|Others|One of them|"
    r"The (?:former|latter|two|pair|same))\b"
)
_PERSONAL = re.compile(r"\b(?:I|I'm|I’m|I've|I’ve|my|me|you|your|we|We|our|us|You|Your|My|Our)\b")
_NUMBERED = re.compile(r"\b([A-Z][\w’'-]+|part|act|type|class) I\b(?![’'])")
_HAVE_NUMBERS = frozenset(("war", "part", "act", "type", "class", "phase", "stage", "volume", "book", "chapter", "division"))
"""Common words behind which “I” is a number."""
_CALENDAR = frozenset((*calendar.month_name, *calendar.day_name))
_BYLINE = re.compile(
    r"(?:Words|Text|Story|Photos?|Photographs?|Images?|Pictures?|Illustrations?|Credit|Reporting)(?: by)?:? "
    r"|By [A-Z][\w.'-]+ [A-Z][\w.'-]+$"
)
_CHATTER = re.compile(rf"\b{either('asking')}\b", re.I)

SHORTEST, LONGEST = 2, 70
"""Words of a sentence that could be in an article."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One evidence sentence. `text` may have lost a dateline or an opening connective; the span has not.

    `dangling` sentences lean on the one before; those of pages that address a model (`suspicious`) are not `trusted`.
    """

    index: int
    passage: Passage
    start: int
    end: int
    text: str
    n_words: int
    terms: frozenset[str]
    facts: frozenset[str]
    dangling: bool
    quality: float
    trusted: bool

    @property
    def page(self) -> int:
        return self.passage.page


def candidates(passages: Sequence[Passage], pages: Sequence[Page]) -> list[Candidate]:
    """Every sentence of the passages that could be in an article, in page order.

    Left out: subheadings of a page, its own title, bylines and head rows of tables; and, on a page that addresses a model, the
    sentence that does so with the rest of its paragraph, which may go on with what the model is to say. `quality` in (0, 1] is
    lower for first and second person, questions, bare quotations, chatter and fragments.
    """
    found: list[Candidate] = []
    spoken_to = (-1, 0)
    """Page, and where the paragraph ends in which it last addressed a model."""
    for passage in passages:
        page = pages[passage.page]
        suspicious = "suspicious" in page.flags
        for span in sentence_spans(passage.text, longest=LONGEST):
            raw = passage.text[span.start : span.end]
            if suspicious and addresses_model(raw):
                spoken_to = (passage.page, _line_end(page.text, passage.start + span.end))
            if spoken_to[0] == passage.page and passage.start + span.start < spoken_to[1]:
                continue
            text = tidy(raw)
            n_words = len(text.split())
            if not SHORTEST <= n_words <= LONGEST:
                continue
            quality = _quality(text, bare="bare" in page.flags)
            if quality < 0.1 or not any(c.isalpha() for c in text):
                continue
            if _is_table_head(raw) or _BYLINE.match(text) or text == page.title:
                continue
            if is_subheading(page.text, passage.start + span.start, passage.start + span.end):
                continue
            found.append(
                Candidate(
                    index=len(found),
                    passage=passage,
                    start=passage.start + span.start,
                    end=passage.start + span.end,
                    text=text,
                    n_words=n_words,
                    terms=frozenset(terms(text)),
                    facts=names(text) | numbers(text),
                    dangling=bool(_DANGLING.match(text)),
                    quality=quality,
                    trusted=not suspicious,
                )
            )
    return found


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def tidy(text: str) -> str:
    """A sentence as an article would print it: no dateline, no opening connective, one space between words."""
    text = " ".join(text.split())
    if "|" in text:
        text = ", ".join(cell for cell in (part.strip() for part in text.split("|")) if cell)
    text = _DATELINE.sub("", text)
    stripped = _CONNECTIVE.sub("", text)
    if stripped != text and stripped:
        text = stripped[0].upper() + stripped[1:]
    return text


def is_subheading(page_text: str, start: int, end: int) -> bool:
    """A short line without figures or colon right above a paragraph: it names what follows and states nothing."""
    line_start = page_text.rfind("\n", 0, start) + 1
    line_end = page_text.find("\n", end)
    if line_end < 0 or page_text[line_start:line_end].strip() != page_text[start:end].strip():
        return False
    line = page_text[start:end]
    if not is_fragment(line) or len(line.split()) > 12 or any(c.isdigit() or c == ":" for c in line):
        return False
    following = page_text[line_end + 1 :].split("\n", 1)[0]
    return len(following.split()) >= 15 and not is_fragment(following.strip())


def _is_table_head(text: str) -> bool:
    """A row of four cells or more without any figure (column names), or with one filled cell only (a caption)."""
    cells = [cell.strip() for cell in text.split("|") if cell.strip()]
    if text.count("|") < 3:
        return False
    return len(cells) <= 1 or not any(c.isdigit() for c in text)


def _quality(text: str, *, bare: bool) -> float:
    quality = 1.0
    if _CHATTER.search(text):
        quality *= 0.15
    if not bare:
        if is_fragment(text):
            quality *= 0.45
        if not (text[0].isupper() or text[0].isdigit() or text[0] in "\"“'‘("):
            quality *= 0.5
    if text.endswith("?") or (text[0] in '"“' and text[-1] in '"”' and text.count(text[-1]) <= 2):
        quality *= 0.3
    if text.endswith(("!", "…", "...")):
        quality *= 0.6
    if has_personal_words(text):
        quality *= 0.5
    letters = sum(c.isalpha() or c.isspace() for c in text)
    if letters < 0.7 * len(text):
        quality *= 0.5
    return quality


def has_personal_words(text: str) -> bool:
    """First or second person outside quotation marks: a voice that an encyclopedia does not have."""
    return bool(_PERSONAL.search(without_numeral(re.sub(r"[\"“][^\"”]*[\"”]", "", text))))


def without_numeral(text: str) -> str:
    """A text without names that have the number I, which is no person: "World War I", "Charles I"; not "Yesterday I"."""

    def without(match: re.Match[str]) -> str:
        word = match[1]
        numbered = word.lower() in _HAVE_NUMBERS or not (is_common(word) or word in _CALENDAR)
        return " " if numbered else match.group()

    return _NUMBERED.sub(without, text)


def is_fragment(text: str) -> bool:
    """A list line: it does not end as a sentence does."""
    return not text.endswith((".", "!", "?", "”", '"', "’", ")", "…"))


def sentence_texts(passage: Passage) -> list[str]:
    """The sentences of a passage as they are, white space apart."""
    return [" ".join(passage.text[s.start : s.end].split()) for s in sentence_spans(passage.text, longest=LONGEST)]

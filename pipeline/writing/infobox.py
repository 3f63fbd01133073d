"""Infobox rows read off the evidence, each with its citation: what most pages agree on, then rows that a page prints itself.

Only labels that infoboxes are known to have are read; pages print many other things before a colon.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from data.sentences import split_sentences
from data.types import Fact, Passage
from pipeline.choosing.facts import full_dates
from pipeline.choosing.subject import names_subject, subject_terms
from pipeline.evidence import Evidence
from pipeline.retrieval import terms

_ROW = re.compile(r"^\W{0,2}([A-Z][A-Za-z’' ]{2,24}?)\s*[:|]\s*([^\s|][^|]{1,78}?)\s*\|?$")
_N = r"(\d{1,3}(?:,\d{3})+|\d+)"
_AGREED = (
    ("Deaths", rf"(?:killed|claimed the lives of) {_N} people|{_N} (?:people )?(?:were killed|died|(?:are|were) dead)\b"),
    ("Injured", rf"\b{_N} (?:people )?(?:were )?(?:injured|hurt|treated for injuries)\b"),
    ("Attendance", r"(\d{1,3}(?:,\d{3})+) (?:spectators|fans|people watched)|attendance (?:of|was) (\d{1,3}(?:,\d{3})+)"),
    ("Turnout", r"[Tt]urnout (?:of|was|reached|stood at) (\d+(?:\.\d+)? ?(?:%|per ?cent))"),
    ("Units recalled", r"recall(?:ed|s|ing)? (?:of )?(?:all )?(\d{1,3}(?:,\d{3})+)|(\d{1,3}(?:,\d{3})+)[\w\s]{1,40}? recalled"),
)
"""Figures that count only when the lead says them and two pages or more agree: one early report decides nothing, and the
figure of a detail does not become that of the subject."""
_LATER = re.compile(
    r"\b(?:sworn in|takes? office|took office|inaugurat\w+|anniversary|memorial|trial|hearing|inquiry|reopen\w*|verdict)\b",
    re.I,
)
MAX_VALUE_WORDS = 12
MIN_PAGES = 2
MAX_ROWS = 8


def infobox_rows(evidence: Evidence, pages: Sequence[int], lead: str) -> tuple[Fact, ...]:
    """At most eight rows from the given pages (those that the article cites), without those that address a model. A label
    occurs once."""
    passages = [p for p in evidence.passages if p.page in set(pages) and "suspicious" not in evidence.pages[p.page].flags]
    found: dict[str, Fact] = {}
    for fact in (*_agreed(passages, lead, evidence.event.title), *_printed(passages)):
        found.setdefault(fact.label.lower(), fact)
    return tuple(list(found.values())[:MAX_ROWS])


def _agreed(passages: Sequence[Passage], lead: str, title: str) -> list[Fact]:
    """The value of the lead that is on most pages, for each label; at least two pages must have it, two are cited."""
    facts = []
    # A date is the subject's where the sentence names the subject, not what came of it: "the new mayor takes office on".
    subject = subject_terms(title)
    dated = " ".join(one for one in split_sentences(lead) if names_subject(subject, one) and not _LATER.search(one))
    for label, pattern in (("Date", None), *_AGREED):
        where: dict[str, dict[int, str]] = {}
        for passage in passages:
            for value in full_dates(passage.text) if pattern is None else _matches(pattern, passage.text):
                value = " ".join(value.split())
                if value in (dated if pattern is None else lead):
                    where.setdefault(value, {}).setdefault(passage.page, passage.id)
        best = max(where, key=lambda v: len(where[v]), default=None)
        if best is not None and len(where[best]) >= MIN_PAGES:
            facts.append(Fact(label=label, value=best, cites=tuple(list(where[best].values())[:2])))
    return facts


def _matches(pattern: str, text: str) -> list[str]:
    return [next(group for group in match.groups() if group) for match in re.finditer(pattern, text)]


def _printed(passages: Sequence[Passage]) -> list[Fact]:
    """`Label: value` lines and two-cell table rows, in page order."""
    facts = []
    for passage in passages:
        for line in passage.text.split("\n"):
            match = _ROW.match(line.strip())
            if not match:
                continue
            label, value = " ".join(match.group(1).split()), " ".join(match.group(2).split())
            if label.lower() in _labels() and "://" not in value and terms(value) and _is_of_kind(label.lower(), value):
                facts.append(Fact(label=label, value=value, cites=(passage.id,)))
    return facts


def _is_of_kind(label: str, value: str) -> bool:
    """Whether a value can be one of the label: with a figure where one is asked for, else a name or a few words."""
    kind = _labels()[label]
    if kind == "figure":
        return any(c.isdigit() for c in value)
    if ":" in value or re.search(r"[a-z]{2}[A-Z]", value):  # the next label was run into it
        return False
    if len(value.split()) > MAX_VALUE_WORDS or (value.endswith((".", "!", "?", ":")) and len(value.split()) > 3):
        return False
    return kind == "words" or any(c.isupper() or c.isdigit() for c in value)


@lru_cache(maxsize=1)
def _labels() -> dict[str, str]:
    """Label -> kind of its values: `figure`, `words`, or a name (empty)."""
    lines = (Path(__file__).parent / "infobox_labels.txt").read_text(encoding="utf-8").split("\n")
    return {label: kind for label, _, kind in (line.partition(" = ") for line in lines) if label}

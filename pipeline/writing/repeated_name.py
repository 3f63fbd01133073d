"""The subject by a short form where an article has just named it: "Dobbertin opened a bookshop", "It was released in 2023".

Notes are read alone, so that each names its subject in full; one behind the other they read as a list. A person is called by
the part of the name that pages use alone, behind the first mention (MOS:SURNAME); anything else is "it", or what its pages call
it ("the game"), where the sentence before has it as its subject, too, so that nobody looks for what is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from data.types import Section, Sentence
from pipeline.choosing.common_words import is_common
from pipeline.choosing.subject import Subject, is_cleft
from pipeline.choosing.verbs import is_verb

SAME_SPELLING = 0.85
"""Likeness of two first names from which they are one, spelt otherwise."""
LEAST_ALONE = 3
"""How often the pages must have a part of a person's name alone."""
_QUOTED = re.compile(r"(“[^”]*”|\"[^\"]*\"|«[^»]*»)")
_PLURAL = re.compile(r"\s+(?:are|were|have|do)\b")


def with_short_names(sections: Sequence[Section], subject: Subject, kind: str, told: frozenset[str]) -> tuple[Section, ...]:
    """The sections in reading order. `kind` is the subject's; in sections of the headings `told` a story is told, whose persons
    may have its name: they stay as they are."""
    if kind == "person":
        return _by_surname(sections, subject)
    if kind == "character" or subject.name.endswith("s") or not subject.name[:1].isupper():
        return tuple(sections)
    noun = f"The {subject.noun}" if subject.noun else ""

    def shortened(paragraph: Sequence[Sentence]) -> Iterator[Sentence]:
        before = ""
        for sentence in paragraph:
            text = _instead(sentence.text, subject, before, noun) if before else ""
            before = text.split(" ")[0] if text else "named" if _named_behind(sentence.text, subject.name) is not None else ""
            yield replace(sentence, text=text) if text else sentence

    return tuple(
        section
        if section.heading.text in told
        else replace(section, paragraphs=tuple(tuple(shortened(paragraph)) for paragraph in section.paragraphs))
        for section in sections
    )


def _named_behind(text: str, name: str) -> str | None:
    """What stands behind the name with which a sentence opens; None where it opens otherwise, or with a longer name."""
    quoted = re.match(rf"[“\"]?{re.escape(name)}[”\"]?(?=[’']s [a-z]| [a-z])", text)
    if not quoted:
        return None
    behind = text[quoted.end() :]
    words = ["Name", *re.findall(r"[\w’'-]+", behind)[:2]]
    acts = is_verb(words, 1) or (words[1].endswith(("ly", "also", "later")) and len(words) > 2 and is_verb(words, 2))
    return behind if acts or behind[0] != " " else None  # not "Lantern film festivals"


def _instead(text: str, subject: Subject, before: str, noun: str) -> str:
    """The sentence with a short form in place of the name that opens it; empty where that is none, or would be unclear.
    `before` is how the sentence before names the subject: two in a row do not begin alike."""
    behind = _named_behind(text, subject.name)
    if behind is None or _PLURAL.match(behind):
        return ""
    short = noun if before in ("It", "Its") else "It"
    if not short:
        return ""
    owns = re.match(r"[’']s(?= )", behind)
    if owns and short == "It":
        return f"Its{behind[owns.end() :]}"
    said = f"{short}{behind}"
    return "" if short == "It" and is_cleft(said) else said


def _by_surname(sections: Sequence[Section], subject: Subject) -> tuple[Section, ...]:
    short = _used_alone(subject)
    if not short:
        return tuple(sections)
    texts = [s.text for section in sections for s in section.sentences]
    spelt = _spellings(texts, subject.name, short)
    if spelt is None:  # a relative: whose surname it is must be said
        return tuple(sections)
    names = re.compile(rf"\b(?:{'|'.join(map(re.escape, spelt))})(?![\w-]| [A-Z])")
    seen = False

    def shortened(sentence: Sentence) -> Sentence:
        nonlocal seen
        parts = _QUOTED.split(sentence.text)
        for at in range(0, len(parts), 2):
            first = None if seen else names.search(parts[at])
            seen = seen or first is not None
            keep = first.end() if first else 0
            rest = names.sub(short, parts[at][keep:])
            parts[at] = parts[at][:keep] + rest
        return replace(sentence, text="".join(parts))

    return tuple(
        replace(section, paragraphs=tuple(tuple(map(shortened, paragraph)) for paragraph in section.paragraphs))
        for section in sections
    )


def _spellings(texts: Sequence[str], name: str, short: str) -> list[str] | None:
    """The name as pages spell it ("Walter" for "Walther"); None where the article names somebody else of the surname."""
    found = {name}
    for text in texts:
        for first in re.findall(rf"\b([A-Z][\w’'.-]+) {re.escape(short)}\b", text.replace(name, " ")):
            if SequenceMatcher(None, first, name.split()[0]).ratio() >= SAME_SPELLING:
                found.add(f"{first} {short}")
            elif not is_common(first):
                return None
    return sorted(found, key=len, reverse=True)


def _used_alone(subject: Subject) -> str:
    """The last or the first word of a name of two or three, whichever the pages have alone more often, as "Dobbertin"; "Xi" of
    a name that begins with the family's."""
    words = subject.name.split()
    if not 2 <= len(words) <= 3 or not all(word[:1].isupper() and word[-1:].isalpha() for word in words):
        return ""
    pages = " ".join(page.text for n, page in enumerate(subject.pages) if page.usable and n not in subject.elsewhere)
    pages = pages.replace(subject.name, " ")
    counts = {
        word: len(re.findall(rf"(?<![A-Z]\. )(?<![A-Za-z’'-])(?<![A-Z][a-z] ){re.escape(word)}(?![\w-]| [A-Z])", pages))
        for word in (words[-1], words[0])
    }
    best = max(counts, key=lambda word: counts[word])
    return best if counts[best] >= LEAST_ALONE else ""

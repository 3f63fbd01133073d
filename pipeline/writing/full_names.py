"""Persons by their full name where an article first names them: "Scheffler won" -> "Scottie Scheffler won".

A page gives a name in full once, and an article made of its later sentences never does. The full name is taken from the page
that the sentence cites, else from all pages, if there is one person of the name; the passage that holds it is cited as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from data.types import Passage, Section, Sentence
from pipeline.choosing.common_words import is_common
from pipeline.choosing.standing_alone import is_no_person
from pipeline.choosing.verbs import is_verb
from pipeline.evidence import Evidence

SURE = 0.8
"""Share of the mentions in full that have one name, from which it is the one: pages misspell names."""
PREPOSITION = (
    r"(?:in|on|at|by|from|to|with|for|as|during|after|before|under|over|through|throughout|across|near|into|against|between|"
    r"among|around|within|since|until|along|behind|despite|following)"
)
_WORD = r"[A-Z][a-z]*(?:[’'-][A-Z]?[a-z]{2,})*"
_BETWEEN = r"(?:(?:[A-Z]\.?|[A-Z][a-z’'-]+|de|del|da|di|la|van|von|der|bin|al) ){0,2}"
_QUOTED = re.compile(r"(“[^”]*”|\"[^\"]*\"|«[^»]*»)")
_CAPITAL = re.compile(rf"(?<![\w’'.&/-])({_WORD})(?=[’']s?\b|(?![\w’'&/-]))")
_LINKED = re.compile(rf"\s*(?:[,.;:)—–]|\Z|[’']s?\b|(?:and|or|who|also|{PREPOSITION})\b)")
_OF_A_PERSON = r"[^.?!\n]{0,120}\b(?:he|she|his|her|him|who|said|says|told|wrote|added|plays|played)\b"


def in_full(sections: Sequence[Section], evidence: Evidence) -> tuple[Section, ...]:
    """The sections in reading order, each person in full at the first mention outside quotation marks."""
    introduced = set(re.findall(r"\w[\w’'-]*", evidence.event.title))
    people = _People(evidence)
    done = []
    for section in sections:
        paragraphs = tuple(tuple(_named(s, people, introduced) for s in paragraph) for paragraph in section.paragraphs)
        done.append(replace(section, paragraphs=paragraphs))
    return tuple(done)


def _named(sentence: Sentence, people: _People, introduced: set[str]) -> Sentence:
    """The sentence with full names; all its capitalised words are introduced then."""
    cites = list(sentence.cites)
    parts = _QUOTED.split(sentence.text)
    for at in range(0, len(parts), 2):
        said = parts[at]
        for match in reversed(list(_CAPITAL.finditer(said))):
            word = match[1]
            if word in introduced or said.find(word) != match.start(1) or not _stands_alone(said, match):
                continue
            if found := people.named(word, sentence.cites):
                said = f"{said[: match.start()]}{found.name}{said[match.end() :]}"
                cites += [] if any(found.name in people.text(cite) for cite in cites) else [found.passage]
        parts[at] = said
    text = "".join(parts)
    introduced |= {word for part in parts for word in _CAPITAL.findall(part)}
    return replace(sentence, text=text, cites=tuple(cites)) if text != sentence.text else sentence


def _stands_alone(said: str, match: re.Match[str]) -> bool:
    """Whether a capitalised word is neither part of a longer name nor before a noun ("the Campbell family")."""
    before = said[: match.start()].rstrip().rsplit(" ", 1)[-1]
    if re.match(r"\W*[A-Z]|(?:the|an?)\Z", before) and not before.endswith((",", ".", ";", ":")):
        return False
    behind = said[match.end() :]
    if _LINKED.match(behind):
        return True
    words = re.findall(r"[\w’'-]+", behind)[:2]
    return bool(words) and words[0][:1].islower() and (words[0].endswith("ly") or is_verb(["Abt", *words], 1))


@dataclass(frozen=True, slots=True)
class _Named:
    name: str
    passage: str


class _People:
    """The full names of persons, by a part of the name and the page."""

    def __init__(self, evidence: Evidence) -> None:
        self._passages: Mapping[str, Passage] = {passage.id: passage for passage in evidence.passages}
        self._texts: dict[int, list[Passage]] = {}
        for passage in evidence.passages:
            self._texts.setdefault(passage.page, []).append(passage)
        self._all = evidence.passages
        self._found: dict[tuple[str, int | None], _Named | None] = {}

    def text(self, cite: str) -> str:
        return self._passages[cite].text

    def named(self, word: str, cites: Sequence[str]) -> _Named | None:
        """The one person of whose name `word` is the first or the last part, on a page cited or on all; None if there is none,
        or if there are two."""
        if is_common(word) or len(word) < 3:
            return None
        for page in (*dict.fromkeys(self._passages[cite].page for cite in cites), None):
            if (word, page) not in self._found:
                self._found[word, page] = self._among(word, self._texts[page] if page is not None else self._all)
            if found := self._found[word, page]:
                return found
        return None

    def _among(self, word: str, passages: Sequence[Passage]) -> _Named | None:
        text = "\n".join(passage.text for passage in passages if word in passage.text)
        names = Counter(name for name in _full_names(word, text) if not is_no_person(name))
        if not names:
            return None
        name, n = names.most_common(1)[0]
        # A surname is sure where its page says it once; a first name, or another page's, where it is said again.
        once = name.endswith(word) and passages is not self._all
        if n < SURE * names.total() or (n < 2 and not once) or not re.search(rf"\b{re.escape(name)}{_OF_A_PERSON}", text):
            return None
        passage = next((passage.id for passage in passages if name in passage.text), None)
        return _Named(name, passage) if passage else None


def _full_names(word: str, text: str) -> list[str]:
    """Names of two to four words that begin or end with the word, without what stands before them ("Mayor"), one a mention."""
    one = re.escape(word)
    found = [m[1] for m in re.finditer(rf"(?<![\w’'.-])({_WORD} {_BETWEEN}{one})(?![\w-]|[’']\w{{2}}| [A-Z])", text)]
    found += [m[1] for m in re.finditer(rf"(?<![\w’'.-])(?<![A-Z]\. )({one} {_BETWEEN}{_WORD})(?![\w-]| [A-Z])", text)]
    bare = []
    for name in found:
        words = name.split()
        while len(words) > 2 and is_common(words[0]):
            words = words[1:]
        if len(words) > 1 and not re.search(r"[’']s\b", name) and not is_common(words[0]) and not is_common(words[-1]):
            bare.append(" ".join(words))
    return bare

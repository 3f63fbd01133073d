"""Sentences with two phrases exchanged, or one moved to the front: what a small model does to sentences, by a parser.

"The conservative movement became the arm of the Heritage Foundation" has the words of "The Heritage Foundation became the arm
of the conservative movement", and a network that reads both finds them alike. A phrase that belongs to a verb may open the
sentence ("In May he left"); one that belongs to a noun may not ("In the 1969 incident, she learned of her grandmother's
premonition"). The parser is spaCy's (`pip install spacy`, and a pipeline for English with a dependency parser); nothing but
making examples needs it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.errors import UserError
from decoding.api import SupportExample

_PRONOUNS = frozenset((
    "it", "he", "she", "they", "that", "which", "who", "this", "these", "those", "there", "what", "one", "i", "we", "you",
    "them", "him", "her", "himself", "itself", "themselves",
))  # fmt: skip
_LISTING = frozenset(("and", "or", ",", ", and", ""))
_BE = frozenset(("is", "was", "are", "were"))
_OF_NOUNS = frozenset(
    ("in", "at", "on", "from", "with", "for", "about", "by", "among", "during", "under", "between", "against", "over")
)
_STAYING = frozenset(("of", "than", "as", "like", "to"))
_TIMES = frozenset(("DATE", "TIME"))
SHORTEST, LONGEST = 3, 12
"""Words of a phrase that is moved."""
MOVED = 2
"""Phrases of a sentence that are moved, one at a time."""


@dataclass(frozen=True, slots=True)
class Word:
    """`kind` and `role` as Universal POS tags and spaCy's labels of dependencies; `head` is the place of what it depends on,
    its own for a root."""

    text: str
    behind: str
    kind: str
    role: str
    head: int
    entity: str = ""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase: words `begin` to `end` - 1, the noun at `root`."""

    begin: int
    end: int
    root: int


@dataclass(frozen=True, slots=True)
class Parsed:
    words: tuple[Word, ...]
    phrases: tuple[Phrase, ...]

    def text(self, begin: int, end: int) -> str:
        return "".join(word.text + word.behind for word in self.words[begin:end]).strip()


def parser(folder: Path) -> Callable[[str], Parsed]:
    """Raises UserError where spaCy is missing, or the folder holds no pipeline of it."""
    try:
        import spacy
    except ImportError:
        raise UserError("spaCy is not installed; run: pip install spacy") from None
    try:
        pipeline: Any = spacy.load(folder)
    except (OSError, ValueError) as error:
        raise UserError(f"{folder} holds no pipeline of spaCy ({error}); give the folder of config.cfg") from None

    def parsed(text: str) -> Parsed:
        doc = pipeline(text)
        words = tuple(Word(t.text, t.whitespace_, t.pos_, t.dep_, t.head.i, t.ent_type_) for t in doc)
        return Parsed(words, tuple(Phrase(chunk.start, chunk.end, chunk.root.i) for chunk in doc.noun_chunks))

    return parsed


def examples(pairs: Sequence[tuple[str, str]], parse: Callable[[str], Parsed], rng: random.Random) -> list[SupportExample]:
    """Of statements and how each is rightly said: both ways, and beside what exchanges or moves something of either; of what is
    wrong a quarter more than of what is right."""
    right, wrong = [], []
    for statement, said in pairs:
        right += [SupportExample(said, (statement,), True, ()), SupportExample(statement, (said,), True, ())]
        of_said, of_statement = parse(said), parse(statement)
        for text in exchanged(of_said, rng):
            wrong += [SupportExample(text, (statement,), False, None), SupportExample(statement, (text,), False, None)]
        for text in exchanged(of_statement, rng):
            wrong += [SupportExample(text, (one,), False, None) for one in (said, statement)]
        for text, is_right in (*fronted(of_said)[:MOVED], *fronted(of_statement)[:MOVED]):
            into, words = (right, ()) if is_right else (wrong, None)
            into += [SupportExample(text, (one,), is_right, words) for one in (statement, said)]
    rng.shuffle(wrong)
    found = right + wrong[: len(right) * 5 // 4]
    rng.shuffle(found)
    return found


def exchanged(parsed: Parsed, rng: random.Random, most: int = 2) -> list[str]:
    """The sentence with two of its noun phrases exchanged, a few times: not those of a list, nor a time with what is none."""
    words, open_ones = parsed.words, [p for p in parsed.phrases if parsed.text(p.begin, p.end).lower() not in _PRONOUNS]
    pairs = [(a, b) for n, a in enumerate(open_ones) for b in open_ones[n + 1 :] if _may_change(parsed, a, b)]
    rng.shuffle(pairs)
    found = []
    for a, b in pairs[:most]:
        first, last = parsed.text(a.begin, a.end), parsed.text(b.begin, b.end)
        if a.begin == 0:
            last = last[:1].upper() + last[1:]
            first = first if words[0].kind == "PROPN" else first[:1].lower() + first[1:]
        parts = (parsed.text(0, a.begin), last, parsed.text(a.end, b.begin), first, parsed.text(b.end, len(words)))
        found.append(_joined(parts))
    return found


def _may_change(parsed: Parsed, a: Phrase, b: Phrase) -> bool:
    words = parsed.words
    roles = [words[one.root].role for one in (a, b)]
    between = parsed.text(a.end, b.begin).lower()
    of_list = "conj" in roles and (
        roles == ["conj", "conj"] or _within(words[b.root].head, a) or _within(words[a.root].head, b)
    )
    same = roles[1] == "appos" or (roles[1] == "attr" and roles[0].startswith("nsubj") and between in _BE)
    counted = [any(word.kind == "NUM" for word in words[one.begin : one.end]) for one in (a, b)]
    timed = [words[one.root].entity in _TIMES for one in (a, b)]
    return not of_list and not same and between not in _LISTING and counted[0] == counted[1] and timed[0] == timed[1]


def _within(place: int, phrase: Phrase) -> bool:
    return phrase.begin <= place < phrase.end


def fronted(parsed: Parsed) -> list[tuple[str, bool]]:
    """The sentence with one of its phrases in front, and whether it still says the same: whether that belongs to the verb."""
    words = parsed.words
    roots = [n for n, word in enumerate(words) if word.head == n]
    if len(roots) != 1 or not words or words[-1].text != ".":
        return []
    found = []
    for n, word in enumerate(words):
        if word.role != "prep" or word.text.lower() in _STAYING or n == 0:
            continue
        places = _below(words, n)
        phrase = words[places[0] : places[-1] + 1]
        whole = places[0] == n and len(places) == len(phrase) and SHORTEST <= len(phrase) <= LONGEST
        if not whole or any(one.text.lower() in {",", ";", "who", "which", "that"} for one in phrase):
            continue
        head = words[word.head]
        of_verb, of_noun = word.head == roots[0] and head.kind in {"VERB", "AUX"}, head.kind in {"NOUN", "PROPN"}
        if of_verb or (of_noun and word.text.lower() in _OF_NOUNS):
            text = parsed.text(n, n + len(phrase))
            rest = _joined((parsed.text(0, n), parsed.text(n + len(phrase), len(words))))
            rest = rest if words[0].kind == "PROPN" else rest[:1].lower() + rest[1:]
            found.append((f"{text[:1].upper()}{text[1:]}, {rest}", of_verb))
    return found


def _below(words: Sequence[Word], root: int) -> list[int]:
    """The places of a word and of all that depends on it."""
    found = {root}
    while new := {n for n, word in enumerate(words) if word.head in found} - found:
        found |= new
    return sorted(found)


def _joined(parts: Sequence[str]) -> str:
    text = " ".join(part for part in parts if part)
    for mark in (".", ",", ";", ":", "'s", "’s", "%"):
        text = text.replace(f" {mark}", mark)
    return text

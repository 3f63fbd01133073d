"""Who did what to whom, as far as the order of words and a passive show it: "X beat Y", "Y was beaten by X", "Y lost to X".

`exchanged` finds claims that turn it round. It speaks only where both texts name both sides of the same verb, and each has the
one's doer as the other's done to: of 1,353 right rewordings it refuses one (LOG.md). It is no parser;
most exchanged roles are in other verbs, in nouns or in several sentences, and pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from eval.judges.contradictions import related
from eval.judges.edit_words import BASE_OF_PARTICIPLE, BASE_OF_PAST, VERBS, words_of
from eval.judges.lexemes import Lexeme, lexemes, stem_of

FARTHEST = 7
"""Lexemes from a verb to the end of a phrase beside it."""
BY_WITHIN = 6
"""Lexemes from a participle to its "by"."""

_BE = frozenset(words_of("is are was were be been being am get gets got getting"))
_BETWEEN = _BE | frozenset(words_of("have has had not also then later would could may might will never who which that"))
"""What may stand between a doer and the verb."""
_INSIDE = frozenset(words_of("the a an of and his her its their"))
_FURTHER = frozenset(("and", "but"))
_PLACED = frozenset(words_of("at in on from near for"))
"""Between what does something and where: "staff at the mill were"."""
_SHORT_VERBS = frozenset(words_of("beat hit shot sued cut led met bit fed sold"))
"""Of few letters, or the same in the past."""
_STEMS = frozenset(stem_of(base) for base in VERBS)
_BEAT = stem_of("beat")
_SAME_ACT = {stem_of(word): _BEAT for word in words_of("beat defeat overcome outscore")}
_PUNCTUATION = frozenset(',;:()[]–—"“”.!?')


class Act(NamedTuple):
    """`doer` and `done_to`: keys of the words that name them; empty where the text does not say. `start`, `end`: the verb."""

    verb: str
    doer: frozenset[str]
    done_to: frozenset[str]
    start: int
    end: int


def exchanged(claim: str, sentences: Sequence[str]) -> tuple[int, int] | None:
    """Characters of the verb with which the claim says the reverse of a sentence, where none says what it says."""
    for act in acts(claim):
        if not act.doer or not act.done_to:
            continue
        others = [one for text in sentences for one in acts(text) if _alike(act.verb, one.verb)]
        if any(_reverses(act, one) for one in others) and not any(_repeats(act, one) for one in others):
            return act.start, act.end
    return None


def _reverses(a: Act, b: Act) -> bool:
    crossed = _meet(a.doer, b.done_to) and _meet(a.done_to, b.doer)
    return crossed and not _meet(a.doer, b.doer) and not _meet(a.done_to, b.done_to)


def _repeats(a: Act, b: Act) -> bool:
    return _meet(a.doer, b.doer) or (not b.doer and _meet(a.done_to, b.done_to))


def _meet(a: frozenset[str], b: frozenset[str]) -> bool:
    return any(_alike(one, other) for one in a for other in b)


def _alike(a: str, b: str) -> bool:
    return a == b or related(a, b) or related(b, a)


@lru_cache(maxsize=1 << 12)
def acts(text: str) -> tuple[Act, ...]:
    """Those of a sentence, in order."""
    found: list[Act] = []
    reader = _Reader(text, lexemes(text))
    passive: Act | None = None
    subject = frozenset[str]()
    for at in range(len(reader.words)):
        if not reader.is_verb(at):
            continue
        subject = reader.subject(at) or (subject if reader.goes_on(at) else frozenset())
        act = reader.act(at, subject)
        if passive is not None and not act.done_to and at and reader.words[at - 1] == "and":
            act = act._replace(doer=passive.doer, done_to=passive.done_to)  # "was met by staff and disarmed"
        passive = act if reader.is_passive(at) and act.doer else None
        found.append(act)
    return tuple(found)


class _Reader:
    def __init__(self, text: str, parts: Sequence[Lexeme]) -> None:
        self._text, self._parts = text, parts
        self.words = [text[one.start : one.end].lower() for one in parts]

    def is_verb(self, at: int) -> bool:
        one, word = self._parts[at], self.words[at]
        if one.kind != "word" or not one.content or one.capital:
            return False
        known = word in _SHORT_VERBS or word in BASE_OF_PAST or word in BASE_OF_PARTICIPLE or word == "beaten"
        past = known or (word.endswith("ed") and len(word) > 4)
        return past or (word.endswith("s") and one.key in _STEMS)

    def is_passive(self, at: int) -> bool:
        word = self.words[at]
        if word not in BASE_OF_PARTICIPLE and word not in _SHORT_VERBS and not word.endswith(("ed", "en")):
            return False
        before = self.words[max(0, at - 3) : at]
        return bool(_BE.intersection(before)) or (at + 1 < len(self.words) and self.words[at + 1] == "by")

    def subject(self, at: int) -> frozenset[str]:
        """Who stands before the verb."""
        return self._named(self._left(at))

    def goes_on(self, at: int) -> bool:
        """Whether it is a further verb of the one before: "drove there but was stopped"."""
        return bool(_FURTHER.intersection(self.words[max(0, at - 3) : at]))

    def act(self, at: int, left: frozenset[str]) -> Act:
        one = self._parts[at]
        verb = _SAME_ACT.get(one.key, one.key)
        if self.is_passive(at):
            by = self._place("by", at, BY_WITHIN)
            doer, done_to = (self._named(self._right(by)) if by is not None else frozenset[str]()), left
        elif self.words[at] in ("lost", "loses") and (to := self._place("to", at, 4)) is not None:
            verb, doer, done_to = _BEAT, self._named(self._right(to)), left
        else:
            doer, done_to = left, self._named(self._right(at))
        return Act(verb, doer, done_to, one.start, one.end)

    def _place(self, word: str, at: int, within: int) -> int | None:
        """Of the next such word, before another clause."""
        for n in range(at + 1, min(len(self.words), at + 1 + within)):
            if self.words[n] == word:
                return n
            if self.words[n] in _BE or self._parted(n - 1, ";:."):
                return None
        return None

    def _left(self, at: int) -> list[Lexeme]:
        """The phrase before a verb, nearest first."""
        found: list[Lexeme] = []
        for n in range(at - 1, max(-1, at - 1 - FARTHEST), -1):
            one, word = self._parts[n], self.words[n]
            if found and self._parted(n):
                break
            if one.content:
                found.append(one)
            elif found and word in _PLACED and n and self._parts[n - 1].content and not self._parted(n - 1):
                found = []
            elif word not in (_INSIDE if found else _BETWEEN | _INSIDE):
                break
        return found

    def _right(self, at: int) -> list[Lexeme]:
        """The phrase behind a verb or a preposition, nearest first."""
        found: list[Lexeme] = []
        for n in range(at + 1, min(len(self.words), at + 1 + FARTHEST)):
            if self._parted(n - 1):
                break
            if self._parts[n].content and not (self.words[n - 1] == "and" and self.is_verb(n)):
                found.append(self._parts[n])
            elif self.words[n] not in _INSIDE:
                break
        return found

    def _parted(self, n: int, signs: str | frozenset[str] = _PUNCTUATION) -> bool:
        """Whether a sign stands behind a lexeme."""
        end = self._parts[n + 1].start if n + 1 < len(self._parts) else len(self._text)
        return any(c in signs for c in self._text[self._parts[n].end : end])

    @staticmethod
    def _named(phrase: Sequence[Lexeme]) -> frozenset[str]:
        """Names alone where the phrase has any; numbers name nobody."""
        words = [one for one in phrase if one.kind == "word"]
        return frozenset(one.key for one in words if one.capital) or frozenset(one.key for one in words)

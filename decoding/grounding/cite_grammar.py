"""Which characters may follow in a text whose sentences end with citation markers. No torch and no tokens here.

Sentence boundaries are those of `data.sentences`: where it sees none behind a full stop (an abbreviation, an initial), none is
demanded. A boundary inside of one token is not looked up: such a token is not allowed, shorter ones say the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from data.sentences import split_spans

_TERMINALS = dict.fromkeys("!?…‽", "!") | dict.fromkeys("。！？", "c") | {".": "."}
_CLOSERS = "\"'”’»›)*_"
_OPENERS = "(“‘«„‹"
_LINE_ENDS = "\n\r\v\f"
_BRACKETS = "[]"
_DIGITS = "0123456789"
_REPEATED = re.compile(r"([aAx,(\" ])\1{2,}")

_SHORTENED = re.compile(r"(?:\b[A-Z][a-z]{0,4}|\.\w+)\.\Z")
"""A word that may be an abbreviation: "Corp.", "a.m."; where a small letter follows, no sentence ends there."""
LONGEST_SENTENCE = 300
"""Characters of a sentence that are kept to judge its full stops."""


@lru_cache(maxsize=4096)
def symbol(character: str) -> str:
    """The class of a character: `a` small, `A` capital, `x` any other letter or sign, a digit, bracket, space or newline as
    it is, `.`, `!` or `c` what ends a sentence (`c` where no space follows it), `"` what closes, `(` what opens, `,` the rest.
    """
    if character in _DIGITS or character in _BRACKETS:
        return character
    if character in _LINE_ENDS:
        return "\n"
    if character.isspace():
        return " "
    if character in _TERMINALS:
        return _TERMINALS[character]
    if character in _CLOSERS:
        return '"'
    if character in _OPENERS:
        return "("
    if character.islower():
        return "a"
    if character.isupper() or character.istitle():
        return "A"
    return "," if character.isascii() or character in "–—‐‑‒•·" else "x"


def symbols(text: str) -> str:
    """The classes of its characters; of three and more equal ones two, which the grammar cannot separate from more."""
    return _REPEATED.sub(r"\1\1", "".join(map(symbol, text)))


class At(Enum):
    """Where in a text."""

    BLANK = "before the first word of a sentence"
    LEAD = "behind signs that no word has followed yet"
    WORDS = "in a sentence"
    ENDED = "behind a full stop and what closes, nothing cited"
    ENDED_GAP = "and behind a space after that"
    DIGITS = "inside of a marker"
    RUN = "behind a marker"
    RUN_GAP = "behind the space after a marker inside of a sentence"
    CITED_END = "behind the full stop that follows a marker"


class State(NamedTuple):
    """`at`, and what matters there.

    `letters`: of the last word, at most 2. `level`: what a full stop lets follow without a marker, behind a space: -1 not even
    another space, 0 nothing, 1 small letters and digits, 2 everything. `glue`: the same, without a space. `used`, `stopped`:
    numbers of the present run of markers, and whether it is behind the full stop. `digits`: those of the open marker.
    `done`: whether a sentence came before.
    """

    at: At
    letters: int = 0
    level: int = 0
    glue: int = 0
    used: tuple[str, ...] = ()
    stopped: bool = False
    digits: str = ""
    done: bool = False

    @property
    def may_end(self) -> bool:
        return self.done if self.at is At.BLANK else self.at in (At.RUN, At.RUN_GAP, At.CITED_END)


START = State(At.BLANK)
NEXT = State(At.BLANK, done=True)


class Grammar:
    """`numbers` may be cited, at most `most` in one run of markers."""

    def __init__(self, numbers: Collection[int], most: int) -> None:
        self._most = most
        self._by_prefix: dict[str, set[str]] = {}
        for number in map(str, numbers):
            for n in range(len(number) + 1):
                self._by_prefix.setdefault(number[:n], set()).add(number)

    def read(self, state: State, classes: str) -> State:
        """The state behind more characters, allowed or not."""
        for one in classes:
            state = self.step(state, one)[0]
        return state

    def step(self, state: State, one: str) -> tuple[State, bool]:
        """The state behind a character of this class, and whether it is allowed. A forbidden one is read as running text."""
        match state.at:
            case At.WORDS:
                found = self._words(state, one)
            case At.BLANK | At.LEAD:
                found = self._blank(state, one)
            case At.ENDED:
                found = self._ended(state, one)
            case At.ENDED_GAP:
                found = self._ended_gap(state, one)
            case At.DIGITS:
                found = self._digits(state, one)
            case At.RUN:
                found = self._run(state, one)
            case At.RUN_GAP:
                found = _run_gap(state, one)
            case At.CITED_END:
                found = state if one in '.!c"' else NEXT if one in " \n" else None
        return (found, True) if found is not None else (_running(state, one), False)

    def _blank(self, state: State, one: str) -> State | None:
        if one in " \n":
            return None if one == "\n" and state.at is At.LEAD else state
        if one in '"(,':
            return State(At.LEAD)
        return None if one in ".!c[]" else _word(0, one)

    def _words(self, state: State, one: str) -> State | None:
        if one in ".!c":
            return _stop(state, one)
        if one == "[":
            return self._opened((), stopped=False)
        return None if one in "\n]" else _word(state.letters, one)

    def _ended(self, state: State, one: str) -> State | None:
        if one in ".!c":
            return _stop(state, one)
        if one == '"':
            return State(At.ENDED)
        if one == " ":
            return State(At.ENDED_GAP, level=state.level)
        if one == "[":
            return self._opened((), stopped=True)
        needed = 1 if one == "a" or one in _DIGITS else 2
        if one == ",":
            return _word(0, one) if state.level >= 1 else None
        return None if one in "\n](x" or state.glue < needed else _word(0, one)

    def _ended_gap(self, state: State, one: str) -> State | None:
        if one == " ":
            return None if state.level < 0 else state._replace(level=state.level or -1)
        if one == "[":
            return self._opened((), stopped=True)
        needed = 1 if one in "a," or one in _DIGITS else 2
        return None if one in ".!c\n]" or state.level < needed else _word(0, one)

    def _digits(self, state: State, one: str) -> State | None:
        if one == "]":
            whole = state.digits in self._unused("", state.used)
            return State(At.RUN, used=(*state.used, state.digits), stopped=state.stopped) if whole else None
        if one not in _DIGITS or not self._unused(state.digits + one, state.used):
            return None
        return state._replace(digits=state.digits + one)

    def _run(self, state: State, one: str) -> State | None:
        if one == "[":
            return self._opened(state.used, stopped=state.stopped)
        if state.stopped:
            return NEXT if one in " \n" else None
        if one in ".!c":
            return State(At.CITED_END)
        if one == '"':
            return state
        if one == " ":
            return State(At.RUN_GAP)
        return NEXT if one == "\n" else _word(0, one) if one == "," else None

    def _opened(self, used: tuple[str, ...], *, stopped: bool) -> State | None:
        if len(used) >= self._most or not self._unused("", used):
            return None
        return State(At.DIGITS, used=used, stopped=stopped)

    def _unused(self, prefix: str, used: tuple[str, ...]) -> set[str]:
        """Numbers that begin with these digits and are not in the run yet."""
        return self._by_prefix.get(prefix, set()).difference(used)


def _run_gap(state: State, one: str) -> State | None:
    if one == " ":
        return state
    if one == "\n":
        return NEXT
    return None if one in ".!c[]" else _word(0, one)


def _word(letters: int, one: str) -> State:
    if one in "aA":
        return State(At.WORDS, letters=min(letters + 1, 2))
    return State(At.WORDS, letters=2 if one == "x" or one in _DIGITS else 0)


def _stop(state: State, one: str) -> State:
    """Behind what ends a sentence; a capital letter may follow that of an initial ("U.S")."""
    return State(At.ENDED, glue=0 if one == "c" else 2 if one == "." and state.letters == 1 else 1)


def _running(state: State, one: str) -> State:
    """Behind a character that was not allowed."""
    if one == "\n":
        return NEXT
    return _stop(state, one) if one in ".!c" else _word(state.letters, one)


def judged(state: State, sentence: str) -> State:
    """A state behind a full stop, with what may follow it, judged by the sentence up to there."""
    if state.at is not At.ENDED and (state.at is not At.ENDED_GAP or state.level < 0):
        return state
    level, glue = _leniency(sentence[-LONGEST_SENTENCE:].rstrip())
    return state._replace(level=level, glue=glue if state.at is At.ENDED else 0)


def _leniency(sentence: str) -> tuple[int, int]:
    """`State.level` and `State.glue`."""
    bare = sentence.rstrip(_CLOSERS)
    if bare != sentence:  # "Why?" he asked
        return 1, 1 if sentence[-1] in "'’" else 0
    if bare.endswith(("…", "..")):
        return 1, 1
    if not bare.endswith("."):
        return 0, 0 if bare.endswith(("。", "！", "？")) else 1
    glue = 1 if _splits(bare, "Lee") else 2
    if not _splits(bare, " Lee"):
        return 2, glue
    return (1 if _SHORTENED.search(bare) else 0), glue


def _splits(sentence: str, more: str) -> bool:
    """Whether a new sentence begins with `more`."""
    return any(span.start >= len(sentence) for span in split_spans(sentence + more))

"""Free text in other words: a price on copying the sources word for word, and names and numbers from them only, if wished."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from decoding.api import Rephrase
from decoding.grounding.vocabulary import vocabulary_of

if TYPE_CHECKING:
    import torch

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_NUMBER = re.compile(r"\d(?:[\d,.:]*\d)?")
_OPEN_NUMBER = re.compile(r"\d[\d,.:]*\Z")
_OPEN_WORD = re.compile(r"[^\W\d_]+\Z")
_ENDED = re.compile(r"[.!?][\"”’')]*\Z")
_ENDS = re.compile(r"[.!?][\"”’')]*(?=\s+[A-Z\d\"“(]|\Z)")
_SENTENCE_START = re.compile(r"(?:\A|[.!?][\"”’')]*\s+)[\"“‘'(]*\Z")
_BANNED = re.compile(r"[\n\r\t\[\]<>{}|*#_=\\]")
_OPENING_WORDS = (
    "The A An In On At By It He She They His Her Its Their This These Those There After Before During While When Where "
    "As For From "
    "With According Since Although Though Despite Because Some Several Many Most Both Each Another Other Two Three "
    "Four Five Six "
    "Seven Eight Nine Ten Following Under Over Among About Around Between Within Until More Less Later Earlier Police "
    "Officials "
    "Authorities People Residents One All No Not Through Against Upon Once If"
)
_OPENERS = frozenset(_OPENING_WORDS.split())
"""Words that may open a sentence whatever the sources say."""
_REPEATED = 5
"""Words; a run of so many may be in the answer twice, not three times."""


class _Tables(NamedTuple):
    """What a tokenizer's tokens are, made once. Masks are (V,) bool."""

    texts: tuple[str, ...]
    ids: dict[str, tuple[int, ...]]
    plain: torch.Tensor
    """No digit, no capital, nothing banned, Latin letters only: allowed wherever a word may begin or end."""
    digits: tuple[int, ...]
    starts_word: torch.Tensor
    """The first character is a letter: in the middle of a word such a token goes on with it."""
    starts_digit: torch.Tensor
    others: tuple[int, ...]
    """Tokens with letters of other scripts, or pieces of a character."""


@lru_cache(maxsize=4)
def _tables(tokenizer: Any, n_tokens: int, n_logits: int) -> _Tables:
    import torch

    texts = vocabulary_of(tokenizer, n_tokens).texts
    plain = torch.zeros(n_logits, dtype=torch.bool)
    starts_word, starts_digit = plain.clone(), plain.clone()
    ids: dict[str, list[int]] = {}
    digits, others = [], []
    for token, text in enumerate(texts[:n_logits]):
        if not text or _BANNED.search(text):
            continue
        ids.setdefault(text, []).append(token)
        starts_word[token] = text[0].isalpha()
        starts_digit[token] = text[0].isdigit()
        if not all(c.isascii() or "LATIN" in _name(c) or not c.isalpha() for c in text) or "\N{REPLACEMENT CHARACTER}" in text:
            others.append(token)
        elif any(c.isdigit() for c in text):
            digits.append(token)
        elif not any(c.isupper() for c in text):
            plain[token] = True
    spelled = {text: tuple(tokens) for text, tokens in ids.items()}
    return _Tables(texts, spelled, plain, tuple(digits), starts_word, starts_digit, tuple(others))


def _name(character: str) -> str:
    import unicodedata

    return unicodedata.name(character, "")


class _Source(NamedTuple):
    """A source as words: in small letters, which of them are free to copy (names, numbers, quotations), and as they are."""

    low: tuple[str, ...]
    free: tuple[bool, ...]
    words: tuple[str, ...]


class RephraseRule:
    """Implements `decoding.sampling.LogitsRule` for a `Rephrase`.

    - A digit may follow only where the number so far stays the beginning of one in the sources; a number is written whole.
    - A capital may begin a word only where the word stays the beginning of a capitalised one in the sources, which is written
      whole; at the start of a sentence also common openers, and words that the sources have in small letters.
    - Characters of other scripts, only where a source has them. One paragraph without brackets, markup and list marks.
    - Copying: see `Rephrase`. Words that belong to names, numbers and quotations neither count nor cost.
    - It ends behind the end of a sentence only, and there after `max_sentences`.

    Without `only_known_names`, copying and `max_sentences` are all that is left of these.

    A text that max_new_tokens cuts off may end in half a word. The answer is read anew with every call: it is a few sentences.

    Args:
        tokenizer: of the model; the caller holds its lock while the rule is made, not later.
        n_prompt: tokens of the prompt, which every prefix begins with.
        end_ids: tokens that end an answer.
    """

    def __init__(self, rephrase: Rephrase, tokenizer: Any, n_prompt: int, end_ids: Collection[int]) -> None:
        self._rephrase = rephrase
        self._tokenizer = tokenizer
        self._n_tokens = len(tokenizer)
        self._n_prompt = n_prompt
        self._ends = sorted(end_ids)
        vocabulary_of(tokenizer, self._n_tokens)  # made while the lock is held
        texts = (*rephrase.sources, *rephrase.allowed)
        known = " ".join(texts)
        words = _WORD.findall(known)
        self._numbers = frozenset(_NUMBER.findall(known))
        parts = {part for word in words for part in (word, *re.split(r"['’-]", word))}
        self._names = frozenset(part for part in parts if part[:1].isupper())
        small = {word.capitalize() for word in words if word.islower() and word.isalpha()}
        self._openers = self._names | small | _OPENERS
        self._sources = tuple(map(_read, rephrase.sources))
        self._foreign = frozenset(c for c in known if c.isalpha() and not c.isascii())
        if not known.isascii():  # tokens that are pieces of a character: which one they make shows only at the last piece
            self._foreign |= {"\N{REPLACEMENT CHARACTER}"}
        self._spelled: dict[tuple[str, str], torch.Tensor] = {}

    def __call__(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        import torch

        tables = _tables(self._tokenizer, self._n_tokens, len(logits))
        answer = prefix[self._n_prompt :]
        text = "".join(tables.texts[t] if t < len(tables.texts) else "" for t in answer)
        held = self._rephrase.only_known_names
        if held or self._is_full(text):
            allowed = self._allowed(text, tables).to(logits.device)
            ruled = torch.where(allowed, logits, -math.inf)
        else:
            ruled = logits.clone()
        for token in self._copying(text, tables):
            if token < len(ruled):
                ruled[token] -= self._rephrase.copy_penalty
        for token in self._repeating(text, tables) if held else ():
            ruled[token] = -math.inf
        if ruled.amax() == -math.inf:  # nothing is left: end, or close the sentence
            way_out = [t for t in (*self._ends, *tables.ids.get(".", ())) if t < len(ruled)]
            ruled[way_out or slice(None)] = 0.0
        return ruled

    # --- what may follow ---------------------------------------------------------------------------------------------------

    def _is_full(self, text: str) -> bool:
        """Whether it has all its sentences."""
        most = self._rephrase.max_sentences
        return bool(most and _ENDED.search(text) and len(_ENDS.findall(text)) >= most)

    def _allowed(self, text: str, tables: _Tables) -> torch.Tensor:
        if self._is_full(text):
            return _only(self._ends, len(tables.plain))
        allowed = self._by_place(text, tables).clone()
        allowed[[t for t in self._ends if t < len(allowed)]] = bool(_ENDED.search(text))
        return allowed

    def _by_place(self, text: str, tables: _Tables) -> torch.Tensor:
        """(V,) bool, not to be changed: what may follow by the number or word in hand."""
        number = _OPEN_NUMBER.search(text)
        word = _OPEN_WORD.search(text)
        starts = bool(_SENTENCE_START.search(text[: word.start()] if word else text))
        in_hand = number.group() if number else word.group() if word else ""
        key = (in_hand if number or in_hand[:1].isupper() else "a" if in_hand else "", ("start" if starts else "") + text[-1:])
        if key not in self._spelled:
            if len(self._spelled) > 256:
                self._spelled.clear()
            self._spelled[key] = self._make(text, in_hand, bool(number), starts, tables)
        return self._spelled[key]

    def _make(self, text: str, in_hand: str, is_number: bool, starts: bool, tables: _Tables) -> torch.Tensor:
        names = self._openers if starts else self._names
        if is_number:
            bare = in_hand.rstrip(",.:")
            # behind "1," either the number goes on or a clause ends; behind "20" of 2031 it must go on
            mask = tables.plain.clone() if bare in self._numbers else ~tables.plain & False
            mask &= ~tables.starts_word | (bare in self._numbers and in_hand == bare)
            mask &= ~tables.starts_digit
            _allow(mask, self._numbers_from(in_hand, tables))
            if bare in self._numbers:
                _allow(mask, self._beginning(" ", tables, starts=in_hand.endswith(".")))
                _allow(mask, self._beginning("-", tables, starts=False))
            return mask
        if in_hand[:1].isupper():
            mask = tables.plain & ~tables.starts_word if in_hand in names else ~tables.plain & False
            for name in names:
                if name.startswith(in_hand) and name != in_hand:
                    _allow(mask, _pieces(name[len(in_hand) :], tables))
            if in_hand in names:
                _allow(mask, self._beginning(" ", tables, starts=False))
                _allow(mask, self._beginning("-", tables, starts=False))
            return mask
        mask = tables.plain.clone()
        if in_hand:  # inside of a word in small letters: no capital, no digit
            _allow(mask, self._beginning(" ", tables, starts=False))
            return mask
        if starts:
            mask &= False
            mask |= tables.plain & ~tables.starts_word if not text else mask
            first = "" if not text or text[-1] in "\"“‘'( " else " "
            _allow(mask, self._beginning(first, tables, starts=True))
            _allow(mask, [t for mark in ("“", '"') for t in tables.ids.get(first + mark, ())])
            return mask
        for before in ("",) if text[-1:] in " “‘(-/$€£" else ("", " ") if text[-1:] in "\"'" else (" ",):
            _allow(mask, self._beginning(before, tables, starts=bool(_ENDED.search(text))))
        return mask

    def _beginning(self, before: str, tables: _Tables, *, starts: bool) -> list[int]:
        """Tokens that begin a name, a number, or a foreign word of the sources, behind `before` (a space or nothing)."""
        found = [t for name in (self._openers if starts else self._names) for t in _pieces(name, tables, before)]
        found += self._numbers_from("", tables, before)
        found += [t for t in tables.others if set(tables.texts[t].strip()) <= self._foreign]
        return found

    def _numbers_from(self, in_hand: str, tables: _Tables, before: str = "") -> list[int]:
        """Tokens that go on with a number of the sources."""
        found = []
        for number in self._numbers:
            if number.startswith(in_hand) and number != in_hand:
                found += _pieces(number[len(in_hand) :], tables, before)
                whole = f"{before}{number[len(in_hand) :]}"
                found += [t for tail in ("%", "th", "st", "nd", "rd", "s") for t in tables.ids.get(whole + tail, ())]
        return found

    # --- what costs --------------------------------------------------------------------------------------------------------

    def _copying(self, text: str, tables: _Tables) -> set[int]:
        """First tokens of the words with which the copy of a source would go on."""
        limit, penalty = self._rephrase.copy_words, self._rephrase.copy_penalty
        if not penalty or text.count("“") > text.count("”") or text.count('"') % 2:
            return set()
        words = [word.lower() for word in _WORD.findall(text)]
        found: set[int] = set()
        for source in self._sources:
            for at, low in enumerate(source.low[:-1]):
                if not words or low != words[-1] or source.free[at + 1]:
                    continue
                run = counted = 0
                while run < len(words) and run <= at and source.low[at - run] == words[-1 - run]:
                    counted += not source.free[at - run]
                    run += 1
                if counted >= limit:
                    found.update(_pieces(source.words[at + 1], tables, " "))
        return found

    def _repeating(self, text: str, tables: _Tables) -> set[int]:
        """First tokens of the word that would complete a run for the third time."""
        words = [word.lower() for word in _WORD.findall(text)]
        n = _REPEATED - 1
        if len(words) < 3 * n:
            return set()
        tail = words[-n:]
        after = [words[i + n] for i in range(len(words) - n) if words[i : i + n] == tail]
        return {t for word in after if after.count(word) > 1 for t in _pieces(word, tables, " ")}


def _read(text: str) -> _Source:
    quoted = [(m.start(), m.end()) for m in re.finditer(r"“[^”]*”|\"[^\"]*\"", text)]
    low, free, words = [], [], []
    for match in _WORD.finditer(text):
        word = match.group()
        opens = bool(_SENTENCE_START.search(text[: match.start()]))
        inside = any(start <= match.start() < end for start, end in quoted)
        low.append(word.lower())
        words.append(word)
        free.append(inside or any(c.isdigit() for c in word) or (word[0].isupper() and not opens))
    return _Source(tuple(low), tuple(free), tuple(words))


def _pieces(rest: str, tables: _Tables, before: str = "") -> list[int]:
    """Tokens that say the beginning of `rest`, or all of it, behind `before`."""
    return [t for end in range(1, len(rest) + 1) for t in tables.ids.get(before + rest[:end], ())]


def _allow(mask: torch.Tensor, tokens: Sequence[int]) -> None:
    if tokens:
        mask[list(tokens)] = True


def _only(tokens: Sequence[int], n: int) -> torch.Tensor:
    import torch

    mask = torch.zeros(n, dtype=torch.bool)
    mask[[t for t in tokens if t < n]] = True
    return mask

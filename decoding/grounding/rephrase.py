"""Free text in other words: a price on copying the sources word for word."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from decoding.api import Rephrase
from decoding.grounding.vocabulary import vocabulary_of

if TYPE_CHECKING:
    import torch

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SENTENCE_START = re.compile(r"(?:\A|[.!?][\"”’')]*\s+)[\"“‘'(]*\Z")
_BANNED = re.compile(r"[\n\r\t\[\]<>{}|*#_=\\]")
"""A token with one of these begins no word that could be a copy."""


class _Tables(NamedTuple):
    """What a tokenizer's tokens are, made once: their texts by id, the ids by text, and the texts without blanks in order."""

    texts: tuple[str, ...]
    ids: dict[str, tuple[int, ...]]
    ordered: tuple[str, ...]


@lru_cache(maxsize=4)
def _tables(tokenizer: Any, n_tokens: int, n_logits: int) -> _Tables:
    texts = vocabulary_of(tokenizer, n_tokens).texts
    ids: dict[str, list[int]] = {}
    for token, text in enumerate(texts[:n_logits]):
        if text and not _BANNED.search(text):
            ids.setdefault(text, []).append(token)
    return _Tables(texts, {text: tuple(tokens) for text, tokens in ids.items()}, tuple(sorted({text.strip() for text in ids})))


class _Source(NamedTuple):
    """A source as words: in small letters, which of them are free to copy (names, numbers, quotations), and as they are."""

    low: tuple[str, ...]
    free: tuple[bool, ...]
    words: tuple[str, ...]


class RephraseRule:
    """Implements `decoding.sampling.LogitsRule` for a `Rephrase`: a price on the word with which a copy would go on.

    Words that belong to names, numbers and quotations neither count nor cost. The answer is read anew with every call: it is
    a few sentences.

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
        self._sources = tuple(map(_read, rephrase.sources))

    def __call__(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        tables = _tables(self._tokenizer, self._n_tokens, len(logits))
        answer = prefix[self._n_prompt :]
        text = "".join(tables.texts[t] if t < len(tables.texts) else "" for t in answer)
        ruled = logits.clone()
        for token in self._copying(text, tables):
            if token < len(ruled):
                ruled[token] -= self._rephrase.copy_penalty
        if not text.strip():
            self._close(self._rephrase.not_first, ruled, tables)
            for _ in range(self._rephrase.passed):
                likeliest = tables.texts[int(ruled.argmax())].strip()
                if likeliest:
                    self._close([likeliest, *_longer(likeliest, tables)], ruled, tables)
        if ruled.amax() == -math.inf:  # nothing is left: end, or close the sentence
            way_out = [t for t in (*self._ends, *tables.ids.get(".", ())) if t < len(ruled)]
            ruled[way_out or slice(None)] = 0.0
        return ruled

    def _close(self, words: Sequence[str], ruled: torch.Tensor, tables: _Tables) -> None:
        """No answer begins with one of these, in place."""
        pieces = {token for word in words for before in ("", " ") for token in _pieces(word, tables, before)}
        ruled[[token for token in pieces if token < len(ruled)]] = -math.inf

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


def _longer(piece: str, tables: _Tables) -> list[str]:
    """Texts of tokens that begin with this one and go on."""
    start = bisect_right(tables.ordered, piece)
    return list(takewhile(lambda text: text.startswith(piece), tables.ordered[start:]))


def _pieces(rest: str, tables: _Tables, before: str = "") -> list[int]:
    """Tokens that say the beginning of `rest`, or all of it, behind `before`."""
    return [t for end in range(1, len(rest) + 1) for t in tables.ids.get(before + rest[:end], ())]

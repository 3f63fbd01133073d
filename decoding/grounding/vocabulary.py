"""What the tokens of a tokenizer say inside of a text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any

from data.errors import UserError

_BATCH = 8192


class Vocabulary:
    """The tokens of one tokenizer. The caller holds its lock while this is made; afterwards it is not asked again.

    Special tokens, and those that say nothing, are no part of a text.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._decode: Callable[[Sequence[Sequence[int]]], list[str]] = _decoder(tokenizer)
        self._n_tokens: int = max(tokenizer.get_vocab().values()) + 1
        self._anchor = self._find_anchor(tokenizer)
        self.texts: tuple[str, ...] = tuple(self._read(_special_ids(tokenizer)))
        """By token id; empty for those that are no part of a text."""

    def _find_anchor(self, tokenizer: Any) -> list[int]:
        """A token after which others read as in the middle of a text: some tokenizers drop the first one's space."""
        special = _special_ids(tokenizer)
        for start in range(0, self._n_tokens, _BATCH):
            ids = [token for token in range(start, min(start + _BATCH, self._n_tokens)) if token not in special]
            for token, text in zip(ids, self._decode([[token] for token in ids])):
                if len(text) == 1 and text.isascii() and text.isalpha():
                    return [token]
        raise UserError(
            "the tokenizer has no token for a single letter, so that what others say in a text is unknown; choose another model"
        )

    def _read(self, special: Collection[int]) -> Iterator[str]:
        before = self._decode([self._anchor])[0]
        for start in range(0, self._n_tokens, _BATCH):
            ids = range(start, min(start + _BATCH, self._n_tokens))
            for token, text in zip(ids, self._decode([[*self._anchor, token] for token in ids])):
                yield text[len(before) :] if token not in special and text.startswith(before) else ""


@lru_cache(maxsize=4)
def vocabulary_of(tokenizer: Any, n_tokens: int) -> Vocabulary:
    """Made once for a tokenizer of this length: adding tokens gives another."""
    assert len(tokenizer) == n_tokens
    return Vocabulary(tokenizer)


def _decoder(tokenizer: Any) -> Callable[[Sequence[Sequence[int]]], list[str]]:
    """Token sequences -> texts, by a copy where there can be one: it is asked while others use the tokenizer."""
    if getattr(tokenizer, "is_fast", False):
        from tokenizers import Tokenizer

        own = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        return lambda sequences: own.decode_batch(sequences, skip_special_tokens=False)
    return lambda sequences: [tokenizer.decode(ids, clean_up_tokenization_spaces=False) for ids in sequences]


def _special_ids(tokenizer: Any) -> frozenset[int]:
    added = tokenizer.added_tokens_decoder.items()
    return frozenset(tokenizer.all_special_ids) | {token for token, content in added if content.special}

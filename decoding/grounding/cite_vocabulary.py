"""What the tokens of a tokenizer say inside of a text, as a trie over classes of characters (`cite_grammar.symbols`).

Tokens whose classes are the same are one leaf, so that walking the trie along a grammar costs what few thousand distinct
forms cost, and a branch that the grammar forbids costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from decoding.grounding.cite_grammar import Grammar, State, symbols

if TYPE_CHECKING:
    import torch

_BATCH = 8192
UNFINISHED = "\N{REPLACEMENT CHARACTER}"
"""What a decoder shows for a character of which it has only some bytes."""


@dataclass(slots=True)
class _Node:
    children: dict[str, _Node] = field(default_factory=dict)
    ids: list[int] = field(default_factory=list)


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
        self.classes: tuple[str, ...] = tuple(map(symbols, self.texts))
        self._known = frozenset(self.texts)
        self._plain, self._opening = _Node(), _Node()
        for token, said in enumerate(self.classes):
            if said:
                _insert(self._opening if "[" in said else self._plain, said, token)
        self._masks: dict[tuple[State, int, torch.device], torch.Tensor] = {}

    def decoded(self, tokens: Sequence[int]) -> str:
        """What these tokens say in the middle of a text."""
        before, whole = self._decode([self._anchor, [*self._anchor, *tokens]])
        return whole.removeprefix(before)

    def tokens(self, grammar: Grammar, state: State) -> list[int]:
        """All tokens that may follow."""
        return [*_walk(self._plain, grammar, state), *_walk(self._opening, grammar, state)]

    def opening_tokens(self, grammar: Grammar, state: State) -> list[int]:
        """Those of them that open a marker."""
        return list(_walk(self._opening, grammar, state))

    def plain(self, grammar: Grammar, state: State, n: int, device: torch.device) -> torch.Tensor:
        """(n,) bool, not to be changed: the tokens without an opening bracket that may follow. Not for inside of markers.

        Kept: outside of markers this does not depend on the numbers, so there are few.
        """
        import torch

        key = (state._replace(used=()), n, device)
        if key not in self._masks:
            mask = torch.zeros(n, dtype=torch.bool)
            mask[[token for token in _walk(self._plain, grammar, state) if token < n]] = True
            self._masks[key] = mask.to(device)
        return self._masks[key]

    def check_spells(self, number: int) -> None:
        """Raises UserError where the marker of a number cannot be written, wherever a token boundary falls in it."""
        text = f"[{number}]"
        spelt = [False] * len(text) + [True]
        for at in reversed(range(len(text))):
            spelt[at] = any(spelt[end] and text[at:end] in self._known for end in range(at + 1, len(text) + 1))
        if not all(spelt):
            lacking = text[max(at for at, fine in enumerate(spelt) if not fine)]
            raise UserError(
                f"the tokenizer cannot express the marker {text} (it has no token for {lacking!r} there); leave {number} out "
                "of the numbers to cite, or choose a model whose tokenizer has brackets and digits"
            )

    def _find_anchor(self, tokenizer: Any) -> list[int]:
        """A token after which others read as in the middle of a text: some tokenizers drop the first one's space."""
        special = _special_ids(tokenizer)
        for start in range(0, self._n_tokens, _BATCH):
            ids = [token for token in range(start, min(start + _BATCH, self._n_tokens)) if token not in special]
            for token, text in zip(ids, self._decode([[token] for token in ids])):
                if len(text) == 1 and text.isascii() and text.isalpha():
                    return [token]
        raise UserError(
            "the tokenizer has no token for a single letter, so its markers cannot be recognised; choose another model"
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


def _insert(root: _Node, said: str, token: int) -> None:
    node = root
    for one in said:
        node = node.children.setdefault(one, _Node())
    node.ids.append(token)


def _walk(root: _Node, grammar: Grammar, state: State) -> Iterator[int]:
    """Tokens below `root` whose every character is allowed."""
    left = [(root, state)]
    while left:
        node, state = left.pop()
        yield from node.ids
        for one, child in node.children.items():
            after, allowed = grammar.step(state, one)
            if allowed:
                left.append((child, after))

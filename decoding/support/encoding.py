"""Claims and evidence as token ids: the claim whole, then as many sentences of evidence as fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import torch

from decoding.support.network import Batch, match_flags

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LONGEST = 192
"""Tokens of a pair. Evidence beyond it is left out sentence by sentence, the last ones first."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """One pair. `spans` are the characters of the claim that each of its tokens stands for; the first of them is token `at`."""

    ids: tuple[int, ...]
    flags: tuple[int, ...]
    n_claim: int
    spans: tuple[tuple[int, int], ...]
    at: int = 1


class PairEncoder:
    """`[CLS] claim [SEP] sentence sentence ... [SEP]`; sentences are given best first and read in the order given."""

    def __init__(self, tokenizer: Tokenizer, *, longest: int = LONGEST) -> None:
        self._tokenizer = tokenizer
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._unknown = int(tokenizer.token_to_id("[UNK]") or 0)
        self._control = frozenset(tokenizer.token_to_id(name) for name in ("[PAD]", "[CLS]", "[SEP]", "[MASK]"))
        self._longest = longest
        self._cls, self._sep = (int(tokenizer.token_to_id(name) or 0) for name in ("[CLS]", "[SEP]"))
        self._pieces = lru_cache(maxsize=1 << 14)(self._read)

    def _read(self, text: str) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
        found = self._tokenizer.encode(text, add_special_tokens=False)
        # a page can write "[SEP]"; read as a separator it would end the evidence
        return tuple(self._unknown if i in self._control else i for i in found.ids), tuple(found.offsets)

    def encode(self, claim: str, evidence: Sequence[str]) -> Encoded | None:
        """None for a claim that leaves no room for evidence: it cannot be judged whole."""
        ids, spans = self._pieces(claim)
        if len(ids) > self._longest * 2 // 3 or not ids:
            return None
        room = self._longest - len(ids) - 3
        read: list[int] = []
        for sentence in evidence:
            more = self._pieces(sentence)[0]
            if len(read) + len(more) > room:
                more = () if read else more[:room]  # a single sentence longer than the room is cut; better than nothing
            read += more
        ours, theirs = match_flags(list(ids), read)
        return Encoded(
            ids=(self._cls, *ids, self._sep, *read, self._sep),
            flags=(5, *ours, 5, *theirs, 5),
            n_claim=len(ids),
            spans=spans,
        )


def collate(pairs: Sequence[Encoded]) -> Batch:
    """Pairs of one batch, padded on the right."""
    width = max(len(pair.ids) for pair in pairs)
    shape = (len(pairs), width)
    ids, types, mask, claim = (torch.zeros(shape, dtype=torch.long) for _ in range(4))
    flags = torch.full(shape, 5)
    for row, pair in enumerate(pairs):
        n = len(pair.ids)
        ids[row, :n] = torch.tensor(pair.ids)
        flags[row, :n] = torch.tensor(pair.flags)
        mask[row, :n] = 1
        types[row, pair.n_claim + 2 : n] = 1
        claim[row, pair.at : pair.at + pair.n_claim] = 1
    return Batch(ids, types, mask, flags, claim)

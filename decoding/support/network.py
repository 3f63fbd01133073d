"""MiniLM as a cross-encoder that tags words: which words of a claim does the evidence not support?

A label for each token teaches far more than one for each pair: on the same pairs and the same minutes a single logit had
only learnt to spot invented clauses. Two further choices make a network of 22M parameters learn from tens of thousands of
pairs instead of millions:

- The encoder is given what two strings show anyway. A flag on each token says whether the other side has the same word piece,
  and whether its neighbours match there, too; attention need not learn to copy.
- The encoder is frozen; each linear layer gets an adapter of low rank (LoRA, Hu et al. 2022), which makes a step cheaper by
  a third and the shipped difference small.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import nn

from decoding.models.adapters import adapt, merge

if TYPE_CHECKING:
    from transformers import BertModel

RANK = 32
FLAGS = 6
"""0 no match, 1 the piece alone, 2 with its left neighbour, 3 with its right one, 4 with both, 5 no word."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Token ids and what belongs to them, each of shape (pairs, tokens)."""

    ids: torch.Tensor
    types: torch.Tensor
    """0 for the claim, 1 for the evidence."""
    mask: torch.Tensor
    """1 for a token, 0 for padding."""
    flags: torch.Tensor
    claim: torch.Tensor
    """1 for the tokens of the claim's text, 0 elsewhere."""


class SupportNetwork(nn.Module):
    """`forward` gives (pairs, tokens) logits of "this word is not supported" and (pairs,) logits of "the claim is"."""

    def __init__(self, encoder: BertModel, *, rank: int = RANK) -> None:
        super().__init__()
        self.encoder = adapt(encoder, rank)
        width = encoder.config.hidden_size
        self.flag = nn.Embedding(FLAGS, width)
        nn.init.normal_(self.flag.weight, std=0.02)
        self.word = nn.Linear(width, 1)
        self.pair = nn.Sequential(nn.Linear(2 * width, 64), nn.GELU(), nn.Linear(64, 1))

    def merge(self) -> SupportNetwork:
        """For reading only: the adapters become part of the encoder's layers."""
        merge(self.encoder)
        return self

    def forward(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        words = self.encoder.embeddings.word_embeddings(batch.ids) + self.flag(batch.flags)
        hidden = self.encoder(inputs_embeds=words, token_type_ids=batch.types, attention_mask=batch.mask).last_hidden_state
        of_claim = hidden.masked_fill(batch.claim.unsqueeze(-1) == 0, -1e4).amax(dim=1)
        pair = self.pair(torch.cat([hidden[:, 0], of_claim], dim=-1)).squeeze(-1)
        return self.word(hidden).squeeze(-1), pair


def match_flags(claim: list[int], evidence: list[int]) -> tuple[list[int], list[int]]:
    """The flags 0 to 4 of the pieces on each side. Separators between sentences of the evidence match nothing."""
    return _flags_of(claim, evidence), _flags_of(evidence, claim)


def _flags_of(side: list[int], other: list[int]) -> list[int]:
    known, pairs = set(other), set(pairwise(other))
    found = []
    for i, piece in enumerate(side):
        left = i > 0 and (side[i - 1], piece) in pairs
        right = i + 1 < len(side) and (piece, side[i + 1]) in pairs
        found.append((1 + left + 2 * right) if piece in known else 0)
    return found

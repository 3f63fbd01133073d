"""MiniLM that says which heading a sentence stands under: one vector a text, compared by cosine.

Likeness of meaning is not it: a review that tells the story is near to "Plot". Trained on sentences of encyclopedias and the
headings that they stand under, it tells them apart (README.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import nn

from decoding.models.adapters import adapt, minilm, minilm_folder

if TYPE_CHECKING:
    from transformers import BertModel

RANK = 16
LONGEST = 64
"""Word pieces read of a text."""


class HeadingNetwork(nn.Module):
    """`forward`: texts to unit vectors, shape (len(texts), D); D is `width`."""

    def __init__(self, encoder: BertModel, *, rank: int = RANK) -> None:
        from tokenizers import Tokenizer

        super().__init__()
        self.encoder = adapt(encoder, rank)
        self._tokenizer = Tokenizer.from_file(str(minilm_folder() / "tokenizer.json"))
        self._tokenizer.enable_truncation(LONGEST)
        self._tokenizer.enable_padding()
        self.width: int = encoder.config.hidden_size

    def forward(self, texts: Sequence[str]) -> torch.Tensor:
        read = self._tokenizer.encode_batch(list(texts))
        ids = torch.tensor([one.ids for one in read])
        mask = torch.tensor([one.attention_mask for one in read])
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        weights = mask.unsqueeze(-1).float()
        mean = (hidden * weights).sum(dim=1) / weights.sum(dim=1)
        return nn.functional.normalize(mean, dim=-1)


def fresh_network(*, seed: int) -> HeadingNetwork:
    """MiniLM with adapters that change nothing yet."""
    torch.manual_seed(seed)
    return HeadingNetwork(minilm())

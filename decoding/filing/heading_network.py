"""An encoder that says which heading a sentence stands under: one vector a text, compared by cosine. MiniLM, which a package
brings, or MPNet, five times as large, where a model writes and MPNet reads what it wrote anyway.

Likeness of meaning is not it: a review that tells the story is near to "Plot". Trained on sentences of encyclopedias and the
headings that they stand under, it tells them apart (README.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from decoding.models.adapters import adapt, minilm, minilm_folder
from decoding.models.registry import VERIFIER, checked_file
from decoding.support.verifier import BEHIND, END, START, UNKNOWN, mpnet

if TYPE_CHECKING:
    from transformers import BertModel, MPNetModel

RANK, LARGE_RANK = 16, 8
LONGEST = 64
"""Word pieces read of a text."""
PAD = 1
"""MPNet's."""


class HeadingNetwork(nn.Module):
    """`forward`: texts to unit vectors, shape (len(texts), D); D is `width`."""

    def __init__(self, encoder: BertModel | MPNetModel, *, rank: int = RANK, is_large: bool = False) -> None:
        """`is_large`: it is MPNet, whose word pieces are MiniLM's with other numbers."""
        from tokenizers import Tokenizer

        super().__init__()
        self.encoder = adapt(encoder, rank)
        self._is_large = is_large
        self._tokenizer = Tokenizer.from_file(str(minilm_folder() / "tokenizer.json"))
        self._tokenizer.enable_truncation(LONGEST)
        self._tokenizer.enable_padding()
        marks = {"[PAD]": PAD, "[UNK]": UNKNOWN, "[CLS]": START, "[SEP]": END}
        self._marks = {self._tokenizer.token_to_id(mark): number for mark, number in marks.items()}
        self.width: int = encoder.config.hidden_size

    def forward(self, texts: Sequence[str]) -> torch.Tensor:
        read = self._tokenizer.encode_batch(list(texts))
        ids = torch.tensor([self._numbered(one.ids) if self._is_large else one.ids for one in read])
        mask = torch.tensor([one.attention_mask for one in read])
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        weights = mask.unsqueeze(-1).float()
        mean = (hidden * weights).sum(dim=1) / weights.sum(dim=1)
        return nn.functional.normalize(mean, dim=-1)

    def _numbered(self, ids: Sequence[int]) -> list[int]:
        """MiniLM's word pieces as MPNet numbers them."""
        return [self._marks.get(i, i + BEHIND) for i in ids]


def fresh_large_network(*, seed: int, dtype: torch.dtype = torch.float32) -> HeadingNetwork:
    """The same of MPNet, frozen in `dtype`. Raises UserError where its file is not here."""
    torch.manual_seed(seed)
    encoder: Any = mpnet(checked_file(VERIFIER))
    return HeadingNetwork(encoder.to(dtype), rank=LARGE_RANK, is_large=True)


def fresh_network(*, seed: int) -> HeadingNetwork:
    """MiniLM with adapters that change nothing yet."""
    torch.manual_seed(seed)
    return HeadingNetwork(minilm())

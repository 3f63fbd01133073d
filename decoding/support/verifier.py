"""MPNet as a cross-encoder: does this text say that sentence? For writers, who ask it of their own rewordings.

Who did what is not to be seen in which words two strings share, and MiniLM, a fifth of the size, learns little more from the
same pairs. The encoder is `sentence-transformers/all-mpnet-base-v2` (Song et al., 2020), frozen, with adapters in each linear
layer; it was shown people's pairs of SNLI (Bowman et al., 2015) first, then claims written beside passages, rewordings by
language models, and edits (`tools.fits.fit_verifier`). The evidence stands first, the sentence last:

    <s> evidence </s></s> sentence </s>

`forward` gives, as `SupportNetwork` does, logits of "this word is not supported" and of "the sentence is".
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from data.errors import UserError
from decoding.models.adapters import adapt, load_trained, merge, minilm_folder
from decoding.models.loading import quiet_loading
from decoding.models.registry import VERIFIER, checked_file
from decoding.support.encoding import Encoded
from decoding.support.network import FLAGS, RANK, Batch, match_flags

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import MPNetModel

AGAIN = "python -m tools.fits.fit_verifier"
LONGEST = 224
"""Tokens of a pair; the end of longer evidence is left out."""
SHAPE: dict[str, Any] = {"vocab_size": 30527, "max_position_embeddings": 514, "layer_norm_eps": 1e-05}
"""What the model's config.json has that is not the library's default: so that its weights are all that is fetched."""
START, END, UNKNOWN = 0, 2, 3
BEHIND = 4
"""What MPNet's word pieces are numbered behind MiniLM's, which are the same ones (30,522 of BERT's, in lower case): four marks
stand before them."""


class StatementNetwork(nn.Module):
    """The frozen encoder with its adapters, in `dtype`; what is trained stays in single precision."""

    def __init__(self, encoder: MPNetModel, *, rank: int = RANK) -> None:
        super().__init__()
        self.encoder = adapt(encoder, rank)
        width = encoder.config.hidden_size
        self.flag = nn.Embedding(FLAGS, width)
        nn.init.normal_(self.flag.weight, std=0.005)
        self.word = nn.Linear(width, 1)
        self.pair = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def merge(self) -> StatementNetwork:
        """For reading only: the adapters become part of the encoder's layers."""
        merge(self.encoder)
        return self

    def forward(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        table: nn.Embedding = self.encoder.embeddings.word_embeddings
        words = table(batch.ids) + self.flag(batch.flags).to(table.weight.dtype)
        hidden = self.encoder(inputs_embeds=words, attention_mask=batch.mask).last_hidden_state.float()
        return self.word(hidden).squeeze(-1), self.pair(hidden[:, 0]).squeeze(-1)


def fresh_network(*, seed: int, dtype: torch.dtype = torch.float32) -> StatementNetwork:
    """MPNet with adapters that change nothing yet. Raises UserError where its file is not here."""
    torch.manual_seed(seed)
    encoder: Any = mpnet(checked_file(VERIFIER))
    return StatementNetwork(encoder.to(dtype))


def load_network(path: Path) -> StatementNetwork:
    """Raises UserError for a file that is missing or was made for another network."""
    network = fresh_network(seed=0)
    load_trained(network, path, again=AGAIN)
    return network.eval()


def mpnet(path: Path) -> MPNetModel:
    """The encoder of a safetensors file, as its tensors describe it. Raises UserError for one that is no MPNet of this size."""
    with quiet_loading():
        from safetensors import SafetensorError
        from safetensors.torch import load_file
        from transformers import MPNetConfig, MPNetModel

        with torch.device("meta"):  # no memory, and no time, for weights that the file replaces
            encoder: MPNetModel = MPNetModel(MPNetConfig(**SHAPE), add_pooling_layer=False)
        places = torch.arange(int(SHAPE["max_position_embeddings"])).expand((1, -1))
        encoder.embeddings.register_buffer("position_ids", places, persistent=False)
        try:
            tensors = load_file(str(path))
            own = encoder.state_dict()
            encoder.load_state_dict({name: tensors[name] for name in own}, assign=True)
        except (OSError, SafetensorError, RuntimeError, KeyError) as error:
            raise UserError(f"{path} holds no MPNet ({str(error).splitlines()[0]}); run: {VERIFIER.get}") from None
    encoder.eval()
    return encoder


class StatementEncoder:
    """Texts as token ids, evidence first. MiniLM's package has the tokenizer: no file more is fetched for it."""

    def __init__(self, *, longest: int = LONGEST) -> None:
        from tokenizers import Tokenizer

        self._tokenizer: Tokenizer = Tokenizer.from_file(str(minilm_folder() / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        marks = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
        self._marks = frozenset(self._tokenizer.token_to_id(mark) for mark in marks)
        self._longest = longest

    def encode(self, claim: str, evidence: Sequence[str]) -> Encoded | None:
        """None for a sentence that leaves no room for evidence: it cannot be read whole."""
        ours, spans = self._pieces(claim)
        if not ours or len(ours) > self._longest * 2 // 3:
            return None
        theirs = self._pieces(" ".join(evidence))[0][: self._longest - len(ours) - 4]
        of_claim, of_evidence = match_flags(ours, theirs)
        return Encoded(
            ids=(START, *theirs, END, END, *ours, END),
            flags=(FLAGS - 1, *of_evidence, FLAGS - 1, FLAGS - 1, *of_claim, FLAGS - 1),
            n_claim=len(ours),
            spans=spans,
            at=len(theirs) + 3,
        )

    def _pieces(self, text: str) -> tuple[list[int], tuple[tuple[int, int], ...]]:
        found = self._tokenizer.encode(text, add_special_tokens=False)
        # A page can write "[SEP]"; read as a mark it would end the evidence.
        return [UNKNOWN if i in self._marks else i + BEHIND for i in found.ids], tuple(found.offsets)

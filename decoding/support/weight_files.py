"""Weights of a support network on disk (`decoding.models.adapters`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch

from decoding.models.adapters import load_trained, minilm, minilm_folder, save_trained
from decoding.support.encoding import LONGEST, PairEncoder
from decoding.support.network import SupportNetwork

AGAIN = "python -m tools.fits.fit_judge"


def fresh_network(*, seed: int) -> SupportNetwork:
    """MiniLM with adapters that change nothing yet."""
    torch.manual_seed(seed)
    return SupportNetwork(minilm())


def load_network(path: Path) -> SupportNetwork:
    """Raises UserError for a file that is missing or was made for another network."""
    network = fresh_network(seed=0)
    load_trained(network, path, again=AGAIN)
    return network.eval()


def save_network(network: SupportNetwork, path: Path, facts: Mapping[str, str]) -> None:
    save_trained(network, path, facts)


def pair_encoder(*, longest: int = LONGEST) -> PairEncoder:
    from tokenizers import Tokenizer

    return PairEncoder(Tokenizer.from_file(str(minilm_folder() / "tokenizer.json")), longest=longest)

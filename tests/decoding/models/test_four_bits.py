"""Numbers in four bits, and adapters kept so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from decoding.models.adapters import GROUP, load_trained, save_trained, trained
from decoding.models.four_bits import LARGEST, in_pairs, out_of_pairs


def test_pairs_are_undone() -> None:
    whole = np.arange(-LARGEST, LARGEST + 1, dtype=np.int8)
    whole = np.stack([np.append(whole, 0), np.append(whole[::-1], 3)]).astype(np.int8)
    pairs = in_pairs(whole)
    assert pairs.shape == (2, 8) and pairs.dtype == np.uint8 and out_of_pairs(pairs).tolist() == whole.tolist()


@pytest.mark.parametrize(("bits", "error"), [(4, 0.5 / LARGEST), (8, 0.5 / 127)])
def test_matrices_are_kept_in_few_bits_and_all_else_nearly_as_it_is(bits: int, error: float, tmp_path: Path) -> None:
    torch.manual_seed(1)
    network = nn.Sequential(nn.Linear(3 * GROUP, 10), nn.Linear(10, 6))  # rows of three groups, and of one
    path, other = tmp_path / "w.safetensors", nn.Sequential(nn.Linear(3 * GROUP, 10), nn.Linear(10, 6))
    save_trained(network, path, {"seed": "1"}, bits=bits)  # type: ignore[arg-type]
    load_trained(other, path, again="")
    for (name, value), known in zip(trained(network).items(), trained(other).values(), strict=True):
        most = value.abs().max() * (error if value.ndim > 1 else 1e-3)
        assert (value - known).abs().max() <= 1.01 * most, name
    network[1].weight.data.zero_()
    save_trained(network, path, {}, bits=bits)  # type: ignore[arg-type]
    load_trained(other, path, again="")
    assert not trained(other)["1.weight"].any()

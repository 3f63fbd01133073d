"""A model of transformers whose large matrices are low-bit: its linear layers and embeddings are replaced, nothing else.

The model is then another one, a little less exact, and everything downstream (its own `forward`, every backend) runs the same
products on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from decoding.lowbit.matrix import Bits, Matrix, quantised
from decoding.lowbit.products import product, weights_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Chosen = Callable[[torch.Tensor], Matrix]
"""A weight of the model -> the matrix that replaces it."""


class LowBitLinear(torch.nn.Module):
    """rows @ weights.T + bias, in float32. `weight` has a shape and no values."""

    def __init__(self, matrix: Matrix, bias: torch.Tensor | None = None) -> None:
        super().__init__()
        self.matrix, self.bias = matrix, bias
        self.in_features, self.out_features = matrix.n_columns, matrix.n_rows
        self.weight = torch.empty(matrix.n_rows, matrix.n_columns, device="meta")
        self._weights = weights_of(matrix)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        flat = np.ascontiguousarray(rows.detach().reshape(-1, self.in_features).numpy(), dtype=np.float32)
        out = torch.from_numpy(
            product(flat, self._weights, self.out_features, self.matrix.n_padded, torch.get_num_threads())
        ).view(*rows.shape[:-1], self.out_features)
        return out if self.bias is None else out + self.bias


class LowBitEmbedding(torch.nn.Module):
    """The rows of a matrix by number."""

    def __init__(self, matrix: Matrix) -> None:
        super().__init__()
        self.matrix = matrix
        self.num_embeddings, self.embedding_dim = matrix.n_rows, matrix.n_columns
        self.weight = torch.empty(matrix.n_rows, matrix.n_columns, device="meta")

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        rows = torch.from_numpy(self.matrix.values(ids.reshape(-1).numpy()))
        return rows.view(*ids.shape, self.embedding_dim)


def replace_matrices(model: PreTrainedModel, chosen: Chosen) -> PreTrainedModel:
    """Put low-bit modules in place of all linear layers and token embeddings, in place; tied ones share one matrix.

    Raises ValueError for a model without any, or whose layers are subclasses that may compute something else.
    """
    made: dict[int, Matrix] = {}

    def matrix_of(weight: torch.Tensor) -> Matrix:
        key = weight.data_ptr()
        if key not in made:
            made[key] = chosen(weight.detach())
        return made[key]

    for name, module in list(model.named_modules()):
        for child_name, child in list(module.named_children()):
            if isinstance(child, torch.nn.Linear):
                if type(child) is not torch.nn.Linear:
                    raise ValueError(f"{name}.{child_name} is a {type(child).__name__}, no plain linear layer")
                bias = None if child.bias is None else child.bias.detach().float()
                setattr(module, child_name, LowBitLinear(matrix_of(child.weight), bias))
            elif type(child) is torch.nn.Embedding:
                setattr(module, child_name, LowBitEmbedding(matrix_of(child.weight)))
    if not made:
        raise ValueError("the model has no linear layers")
    return model


def to_bits(bits: Bits, model: PreTrainedModel) -> Chosen:
    """Every matrix quantised to so many bits; embeddings and output layer to 8, as they decide every token."""
    ends: tuple[Any, ...] = (model.get_input_embeddings(), model.get_output_embeddings())
    outer = {module.weight.data_ptr() for module in ends}

    def chosen(weight: torch.Tensor) -> Matrix:
        return quantised(weight.float().numpy(), 8 if weight.data_ptr() in outer else bits)

    return chosen

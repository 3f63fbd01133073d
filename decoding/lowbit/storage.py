"""A model of low-bit matrices as a folder, read and written without ever holding its weights in full precision.

    config.json, generation_config.json, tokenizer files    as transformers writes them
    low_bit.safetensors    `<weight>.packed`, `.scales`, `.least` of matrices; other weights by their names, in float32

The metadata of the safetensors file names bits and group of each matrix.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from data.errors import UserError
from decoding.lowbit.matrix import LowBitMatrix
from decoding.lowbit.modules import LowBitEmbedding, LowBitLinear

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

FILE = "low_bit.safetensors"


def write_weights(folder: Path, matrices: Mapping[str, LowBitMatrix], others: Mapping[str, torch.Tensor]) -> None:
    """Write `FILE`. Names are those of the model's weights."""
    from safetensors.torch import save_file

    tensors = {name: weight.detach().float().contiguous() for name, weight in others.items()}
    forms: dict[str, list[int]] = {}
    for name, matrix in matrices.items():
        forms[name] = [matrix.bits, matrix.group, matrix.n_columns]
        numbers, scales, least = matrix.parts()
        if matrix.bits == 4:  # of a block of 64 the first half in the low halves of its bytes
            blocks = numbers.view(np.uint8).reshape(len(numbers), -1, 2, 32)
            tensors[f"{name}.packed"] = torch.from_numpy((blocks[:, :, 0] | (blocks[:, :, 1] << 4)).reshape(len(numbers), -1))
        else:
            tensors[f"{name}.packed"] = torch.from_numpy(numbers)
        tensors[f"{name}.scales"] = torch.from_numpy(scales)
        if least is not None:
            tensors[f"{name}.least"] = torch.from_numpy(least)
    save_file(tensors, folder / FILE, metadata={"matrices": json.dumps(forms, sort_keys=True)})


def read_weights(folder: Path) -> tuple[dict[str, LowBitMatrix], dict[str, torch.Tensor]]:
    """What `write_weights` wrote. Raises UserError for a damaged file."""
    from safetensors import SafetensorError, safe_open

    path = folder / FILE
    try:
        with safe_open(path, framework="pt") as stream:
            forms = json.loads(stream.metadata()["matrices"])
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
        matrices = {name: _matrix(tensors, name, *form) for name, form in forms.items()}
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}); remove the folder, and it is made again") from error
    return matrices, tensors


def _matrix(tensors: dict[str, torch.Tensor], name: str, bits: Any, group: int, n_columns: int) -> LowBitMatrix:
    packed, scales = (tensors.pop(f"{name}.{part}").numpy() for part in ("packed", "scales"))
    least = tensors.pop(f"{name}.least").numpy() if f"{name}.least" in tensors else None
    n_padded = scales.shape[1] * group
    if bits not in (4, 8) or packed.shape != (len(scales), n_padded * bits // 8) or n_columns > n_padded:
        raise ValueError(f"{name} has {packed.shape} numbers of {bits} bits and {scales.shape} scales")
    if bits == 4:
        blocks = packed.reshape(len(packed), -1, 1, 32)
        packed = np.concatenate([blocks & 15, blocks >> 4], axis=2).reshape(len(packed), -1)
    return LowBitMatrix.of(packed.view(np.int8), scales, least, bits=bits, group=group, n_columns=n_columns)


def empty_model(config: PreTrainedConfig) -> PreTrainedModel:
    """A model without weights: its parameters have shapes only, its buffers (rotary frequencies) are there."""
    from accelerate import init_empty_weights
    from transformers import AutoModelForCausalLM

    with init_empty_weights(include_buffers=False):
        model: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=torch.float32, trust_remote_code=False)
    model.eval().requires_grad_(False)
    return model


def filled(model: PreTrainedModel, matrices: Mapping[str, LowBitMatrix], others: Mapping[str, torch.Tensor]) -> PreTrainedModel:
    """Put the weights into an `empty_model`, in place. Raises UserError for weights that are missing or do not fit."""
    modules = dict(model.named_modules())
    for name, weight in others.items():
        owner, _, own = name.rpartition(".")
        if tuple(weight.shape) != tuple(getattr(modules.get(owner), own, torch.empty(0)).shape):
            raise UserError(f"the weight {name} {tuple(weight.shape)} does not fit the model; remove its folder")
        modules[owner]._parameters[own] = torch.nn.Parameter(weight, requires_grad=False)
    for name, matrix in matrices.items():
        owner, _, own = name.removesuffix(".weight").rpartition(".")
        _replace(modules[owner], own, matrix, name)
    output, embedding = model.get_output_embeddings(), model.get_input_embeddings()
    if model.config.tie_word_embeddings and isinstance(embedding, LowBitEmbedding) and not isinstance(output, LowBitLinear):
        model.set_output_embeddings(LowBitLinear(embedding.matrix))
    elif model.config.tie_word_embeddings and isinstance(embedding, torch.nn.Embedding):
        output.weight = embedding.weight
    if missing := [name for name, weight in model.named_parameters() if weight.is_meta]:
        raise UserError(f"{len(missing)} weights are missing, {missing[0]} among them; download the model again")
    return model


def _replace(owner: Any, name: str, matrix: LowBitMatrix, full: str) -> None:
    before = getattr(owner, name)
    if tuple(before.weight.shape) != (matrix.n_rows, matrix.n_columns):
        raise UserError(f"the matrix {full} is {matrix.n_rows} x {matrix.n_columns}, the model's {tuple(before.weight.shape)}")
    if type(before) is torch.nn.Embedding:
        setattr(owner, name, LowBitEmbedding(matrix))
    elif type(before) is torch.nn.Linear:
        setattr(owner, name, LowBitLinear(matrix, before.bias))
    else:
        raise UserError(f"{full} belongs to a {type(before).__name__}, which cannot be of low bits; use dtype float32")

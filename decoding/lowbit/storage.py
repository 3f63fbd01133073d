"""A model of low-bit matrices as a folder, read and written without ever holding its weights in full precision.

    config.json, generation_config.json, tokenizer files    as transformers writes them
    low_bit.safetensors    `<weight>.packed`, `.scales`, `.least` of matrices; other weights by their names, in float32

Matrices lie there as compiled code reads them, so that a model is loaded by mapping the file: its pages are read when they are
first used, and processes share them. The metadata of the file names the form of each matrix.
"""

from __future__ import annotations

import errno
import hashlib
import json
import mmap
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch

from data.errors import UserError
from decoding.lowbit.forms import Form
from decoding.lowbit.matrix import Matrix
from decoding.lowbit.modules import LowBitEmbedding, LowBitLinear

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

FILE = "low_bit.safetensors"
_ALIGNED = 64
"""Bytes: a line of a panel never lies in two cache lines."""
_TYPES = {"uint8": "U8", "float32": "F32"}
_SAMPLES, _SAMPLE_BYTES = 256, 4096


class Damaged(UserError):
    """A file of weights that is not what was written."""


class Source(Protocol):
    """A matrix that is made a few rows at a time."""

    @property
    def form(self) -> Form: ...

    def pieces(self) -> Iterable[Matrix]:
        """Its rows in order, each piece but the last of whole panels."""
        ...


def write_weights(folder: Path, matrices: Mapping[str, Source], others: Mapping[str, torch.Tensor]) -> None:
    """Write `FILE`. Names are those of the model's weights. No more than one piece of a matrix lies in memory."""
    forms = {name: source.form for name, source in matrices.items()}
    header: dict[str, Any] = {
        "__metadata__": {"matrices": json.dumps({name: asdict(form) for name, form in forms.items()}, sort_keys=True)}
    }
    plain = {name: np.ascontiguousarray(weight.detach().float().numpy()) for name, weight in others.items()}
    shapes = {f"{name}.{part}": found for name, form in forms.items() for part, found in form.arrays().items()}
    shapes |= {name: ("float32", array.shape) for name, array in plain.items()}
    at = 0
    places: dict[str, int] = {}
    for name, (kind, shape) in shapes.items():  # matrices first: all their sizes are multiples of a line
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
        places[name] = at
        header[name] = {"dtype": _TYPES[kind], "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    told = json.dumps(header).encode()
    told += b" " * (-(8 + len(told)) % _ALIGNED)
    with (folder / FILE).open("wb") as stream:
        stream.write(len(told).to_bytes(8, "little") + told)
        first = stream.tell()
        stream.truncate(first + at)

        def write(name: str, offset: int, array: Any) -> int:
            stream.seek(first + places[name] + offset)
            stream.write(np.ascontiguousarray(array).data)
            return offset + int(array.nbytes)

        for name, source in matrices.items():
            done = dict.fromkeys(forms[name].arrays(), 0)
            for piece in source.pieces():
                done = {part: write(f"{name}.{part}", offset, getattr(piece, part)) for part, offset in done.items()}
        for name, array in plain.items():
            write(name, 0, array)


def read_weights(folder: Path) -> tuple[dict[str, Matrix], dict[str, torch.Tensor]]:
    """What `write_weights` wrote: matrices in pages of the file, other weights in memory. Raises Damaged."""
    path = folder / FILE
    try:
        with path.open("rb") as stream:
            n = int.from_bytes(stream.read(8), "little")
            if not 2 <= n <= path.stat().st_size - 8:
                raise ValueError("it has no header")
            header = json.loads(stream.read(n))
            # private: arrays may be written to, as compiled code wants them, and nothing would reach the file
            pages = np.frombuffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY), dtype=np.uint8)
        forms = {name: Form(**form) for name, form in json.loads(header.pop("__metadata__")["matrices"]).items()}
        arrays = {name: _array(pages, 8 + n, about) for name, about in header.items()}
        matrices: dict[str, Matrix] = {}
        for name, form in forms.items():
            own = {part: arrays.pop(f"{name}.{part}") for part in form.arrays()}
            if any((str(own[part].dtype), own[part].shape) != found for part, found in form.arrays().items()):
                raise ValueError(f"{name} has arrays of other shapes than {form}")
            matrices[name] = form.made(own)
    except OSError as error:
        if error.errno == errno.ENOMEM:
            size = path.stat().st_size / 1e9
            raise UserError(
                f"no memory can be had for the {size:.1f} GB of {path}; raise the limit (ulimit -v), take a smaller model, or "
                "end other programs"
            ) from error
        raise Damaged(f"{path} cannot be read ({error.strerror}); remove the folder, and it is made again") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Damaged(f"{path} is damaged ({error}); remove the folder, and it is made again") from error
    return matrices, {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}


def _array(pages: Any, first: int, about: Mapping[str, Any]) -> Any:
    kind = {ours: numpys for numpys, ours in _TYPES.items()}[about["dtype"]]
    start, end = about["data_offsets"]
    if first + end > len(pages):
        raise ValueError("it is cut short")
    return pages[first + start : first + end].view(kind).reshape(about["shape"])


def sample_of(path: Path) -> str:
    """A hash of 4 KiB of each of 256 places of a file: pages that were never written are noticed, and reading them takes
    milliseconds."""
    digest, size = hashlib.sha256(), path.stat().st_size
    with path.open("rb") as stream:
        for i in range(_SAMPLES):
            stream.seek(max(0, size - _SAMPLE_BYTES) * i // (_SAMPLES - 1))
            digest.update(stream.read(_SAMPLE_BYTES))
    return digest.hexdigest()


def empty_model(config: PreTrainedConfig) -> PreTrainedModel:
    """A model without weights: its parameters have shapes only, its buffers (rotary frequencies) are there."""
    from accelerate import init_empty_weights
    from transformers import AutoModelForCausalLM

    with init_empty_weights(include_buffers=False):
        model: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=torch.float32, trust_remote_code=False)
    model.eval().requires_grad_(False)
    return model


def filled(model: PreTrainedModel, matrices: Mapping[str, Matrix], others: Mapping[str, torch.Tensor]) -> PreTrainedModel:
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


def _replace(owner: Any, name: str, matrix: Matrix, full: str) -> None:
    before = getattr(owner, name)
    if tuple(before.weight.shape) != (matrix.n_rows, matrix.n_columns):
        raise UserError(f"the matrix {full} is {matrix.n_rows} x {matrix.n_columns}, the model's {tuple(before.weight.shape)}")
    if type(before) is torch.nn.Embedding:
        setattr(owner, name, LowBitEmbedding(matrix))
    elif type(before) is torch.nn.Linear:
        setattr(owner, name, LowBitLinear(matrix, before.bias))
    else:
        raise UserError(f"{full} belongs to a {type(before).__name__}, which cannot be of low bits; use dtype float32")

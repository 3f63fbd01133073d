"""Where a training stands, on disk: tensors as safetensors, the rest as JSON. A kill at any moment loses minutes at most."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data import codec
from data.errors import UserError
from data.types import Strict
from decoding.models import quiet_loading
from decoding.training.presets import Preset

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from decoding.training.corpus import Document
    from decoding.training.optimizer import Optimizer

_STATE = "state.json"
_OPTIMIZER = "optimizer.safetensors"


@dataclass(frozen=True, slots=True)
class State(Strict):
    """Everything besides tensors: enough to draw the same rows and the same dropped layers as an undisturbed run."""

    preset: Preset
    corpus_sha256: str
    seed: int
    step: int
    n_tokens: int
    place: int
    """Of the running text, in tokens (`Batches.place`)."""
    seconds: float
    """Of training so far, evaluation included."""


def corpus_digest(documents: Sequence[Document]) -> str:
    """SHA-256 over titles and texts in order."""
    return hashlib.sha256("\x00".join(document.full_text for document in documents).encode()).hexdigest()


def save(folder: Path, model: Any, tokenizer: PreTrainedTokenizerFast, optimizer: Optimizer, state: State) -> None:
    """Write a whole checkpoint beside the old one, then put it in its place. `folder` is a model folder of transformers."""
    from safetensors.torch import save_file

    half, old = folder.with_name(f"{folder.name}.saving"), folder.with_name(f"{folder.name}.old")
    if not folder.exists() and (whole := find(folder)):  # a kill came between the two renames below
        whole.rename(folder)
    for rest in (half, old):
        shutil.rmtree(rest, ignore_errors=True)
    with quiet_loading():
        model.save_pretrained(half)
    tokenizer.save_pretrained(half)
    save_file({key: value.contiguous() for key, value in optimizer.state().items()}, half / _OPTIMIZER)
    codec.write_atomic(half / _STATE, codec.to_json(state, indent=1))
    if folder.exists():
        folder.rename(old)
    half.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def find(folder: Path) -> Path | None:
    """The newest whole checkpoint; after a kill in the middle of `save` the one before."""
    for path in (folder, folder.with_name(f"{folder.name}.saving"), folder.with_name(f"{folder.name}.old")):
        if (path / _STATE).is_file():
            return path
    return None


def read_state(folder: Path) -> State:
    return codec.read(State, folder / _STATE)


def restore(folder: Path, model: Any, optimizer: Optimizer) -> None:
    """Weights and optimizer of a checkpoint into a model of the same shape. Raises UserError where they do not fit."""
    from safetensors.torch import load_file

    weights = load_file(folder / "model.safetensors")
    try:
        missing = model.load_state_dict(weights, strict=False).missing_keys
    except RuntimeError as error:
        raise UserError(f"the checkpoint {folder} is of another model: {error}; train into another folder") from None
    if set(missing) - {"lm_head.weight"}:  # tied to the embeddings
        raise UserError(f"the checkpoint {folder} lacks {sorted(missing)}; delete it to begin again")
    optimizer.restore(load_file(folder / _OPTIMIZER))

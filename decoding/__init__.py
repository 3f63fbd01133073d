"""Lossless speculative decoding for causal language models of `transformers`. Importing this loads nothing heavy.

import decoding

decoder = decoding.load("Qwen/Qwen3-0.6B", method="auto")
print(decoder.generate(prompt="The bridge over the river", max_new_tokens=40).text)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from decoding.methods import METHODS

if TYPE_CHECKING:
    from decoding.api import Json
    from decoding.decoder import Decoder, DecoderOutput, load

__all__ = ["METHODS", "Decoder", "DecoderOutput", "Json", "load"]

_HOMES = {
    "Decoder": "decoding.decoder",
    "DecoderOutput": "decoding.decoder",
    "load": "decoding.decoder",
    "Json": "decoding.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)

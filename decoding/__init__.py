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
    from decoding.custom_generate import SpeculativeGenerate
    from decoding.decoder import Decoder, DecoderOutput, load
    from decoding.grounding.processors import grounded_processor

__all__ = [
    "METHODS", "Decoder", "DecoderOutput", "Json", "SpeculativeGenerate", "grounded_processor", "load",
]  # fmt: skip

_HOMES = {
    "Decoder": "decoding.decoder",
    "DecoderOutput": "decoding.decoder",
    "load": "decoding.decoder",
    "SpeculativeGenerate": "decoding.custom_generate",
    "Json": "decoding.api",
    "grounded_processor": "decoding.grounding.processors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)

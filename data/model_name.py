"""The names of models and judges in flags and settings: `qwen-1.5b`, `gguf:FILE`, `server:NAME@URL`, `llm:NAME@URL`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["", "hf", "gguf", "server", "llm", "nli"]
_SERVED = ("server", "llm")
_KINDS = ("hf", "gguf", "nli", *_SERVED)


@dataclass(frozen=True, slots=True)
class ModelName:
    """`kind` is "" for a bare name (`qwen-1.5b`, a folder, a hub id). `rest` follows the colon; of a served model it is the
    name that the server knows, and `url` the server's address."""

    kind: Kind
    rest: str
    url: str = ""

    @property
    def is_local(self) -> bool:
        """Whether this process can load it. Of bare names only the loader knows."""
        return self.kind not in _SERVED

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing: a kind has a name, a server an address."""
        return bool(self.rest) and bool(self.url) is (self.kind in _SERVED)


def parse_model(text: str) -> ModelName:
    """Never fails: a text of an unknown kind is a bare name, as `C:/models/x` is."""
    kind, colon, rest = text.partition(":")
    if not colon or kind not in _KINDS:
        return ModelName("", text)
    if kind in _SERVED:
        name, _, url = rest.partition("@")
        return ModelName(kind, name, url)  # type: ignore[arg-type]
    return ModelName(kind, rest)  # type: ignore[arg-type]

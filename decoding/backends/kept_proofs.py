"""That a backend has been compared with the model's own forward on this machine, kept: the comparison takes as long as loading.

Only of models whose fingerprint is that of all their weights (GGUF files in their own bits). What is kept is named after all
that decides a step: the model, our code, libraries, and the processor. Another version of any of them is compared anew.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from data import codec
from data.download import cache_folder
from data.errors import UserError
from data.types import Strict
from decoding.machine import cpu_features, device_name, versions

if TYPE_CHECKING:
    from decoding.models.loading import LoadedModel

_OF_WHOLE_FILES = "stored"
"""`decoding.models.gguf.AS_STORED`: the dtype of models whose fingerprint covers all their weights."""


@dataclass(frozen=True, slots=True)
class _Proof(Strict):
    model: str
    about: str


class KeptProof:
    """Of one model on the compiled low-bit backend."""

    def __init__(self, loaded: LoadedModel) -> None:
        self._model = loaded.name
        self._about = ""
        if loaded.dtype == _OF_WHOLE_FILES:
            parts = (loaded.fingerprint, _sources(), device_name("cpu"), cpu_features(), *versions().values())
            self._about = codec.sha256("\n".join(parts))
        self._path = cache_folder() / "proofs" / f"{self._about[:24]}.json"

    @property
    def holds(self) -> bool:
        try:
            return bool(self._about) and codec.read(_Proof, self._path).about == self._about
        except (OSError, UserError):
            return False

    def keep(self) -> None:
        """It was compared, and agreed. Where nothing can be written, it is compared again the next time."""
        if self._about:
            try:
                codec.write_atomic(self._path, codec.to_json(_Proof(self._model, self._about)) + "\n")
            except (OSError, UserError):
                return


@functools.cache
def _sources() -> str:
    package = Path(__file__).parents[1]
    files = sorted([*package.glob("backends/*.py"), *package.glob("lowbit/*.py"), *package.glob("models/*.py")])
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()

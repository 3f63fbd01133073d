"""Measured costs of a model on this machine, kept for a day: measuring them takes as long as loading a small model.

Costs decide how much is drafted, never the text. A cost measured in a slow moment is gone the next day.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from data import codec
from data.errors import UserError
from decoding.backend import CostTable, StepBackend
from decoding.machine import cpu_features, signature, versions

if TYPE_CHECKING:
    from decoding.models.loading import LoadedModel

KEPT_S = 24 * 3600.0


class KeptCosts:
    """The costs of one model on one backend, in a file of `folder` that is named after all that they depend on."""

    def __init__(self, loaded: LoadedModel, backend: StepBackend, folder: Path) -> None:
        told = "\n".join([loaded.fingerprint, signature(backend.info), cpu_features(), *versions().values()])
        self._path = folder / f"{codec.sha256(told)[:24]}.json"
        self._backend = backend
        self._given = False

    def give(self) -> None:
        """Hand the backend the costs measured in the last day; nothing where that is not there, or damaged."""
        from decoding.backends.torch_backend import TorchBackend

        try:
            is_fresh = time.time() - self._path.stat().st_mtime < KEPT_S
            if is_fresh and isinstance(self._backend, TorchBackend):
                self._backend.take_costs(codec.read(CostTable, self._path))
                self._given = True
        except (OSError, UserError):
            return

    def keep(self) -> None:
        """Store what the backend measured, if it did."""
        from decoding.backends.torch_backend import TorchBackend

        if isinstance(self._backend, TorchBackend) and self._backend.measured is not None and not self._given:
            try:
                codec.write_atomic(self._path, codec.to_json(self._backend.measured, indent=1) + "\n")
            except (OSError, UserError):  # a folder that may not be written to: measured anew the next time
                return

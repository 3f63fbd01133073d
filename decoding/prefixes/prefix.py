"""Prefix tuning (Li & Liang, 2021): keys and values that were trained stand in the place of those of a prompt's beginning.

A task's instructions and worked examples are the same in every call, and of them the model keeps nothing but keys and values in
each layer. Those are the numbers that are trained: begun as what the tokens give ("cartridges", Eyuboglu et al., 2025), on some
thousands of answers of a larger model, the weights staying as they are. Nothing else changes: a cache is filled from a file in
place of being computed, in any backend, and drafts and passes are what they were. A prefix belongs to one file of weights
and to the tokens that it stands for (`tools.fits.fit_prefix`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from decoding.models.four_bits import LARGEST, in_pairs, out_of_pairs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDER = Path(__file__).parent
_MOST, _LEAST = 127, 1e-12
"""Largest number of eight bits; and a scale that is no zero."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainedPrefix:
    """`keys` and `values` are (layers, H_kv, N, D), of the first N positions, keys rotated to them."""

    name: str
    """Of the task, as `decoding.api.Request.tuned` gives it."""
    weights_sha256: str
    beginnings: tuple[tuple[int, ...], ...]
    """Beginnings of prompts for which it stands: all messages but the last one. They may have more tokens than it has."""
    texts: tuple[str, ...]
    """The same, as texts."""
    stand_in: int
    """A token that no text has, N times in the place of a beginning: so that nothing takes one prompt for the other."""
    about: str
    keys: NDArray[np.float32]
    values: NDArray[np.float32]

    def before(self, prompt: Sequence[int]) -> list[int] | None:
        """The prompt with the trained beginning; None where it begins otherwise, or nothing follows."""
        for tokens in self.beginnings:
            if len(prompt) > len(tokens) and tuple(prompt[: len(tokens)]) == tokens:
                return [self.stand_in] * self.length + list(prompt[len(tokens) :])
        return None

    @property
    def length(self) -> int:
        """N."""
        return int(self.keys.shape[2])

    def save(self, path: Path, begun: TrainedPrefix | None = None) -> None:
        """In eight bits, with a scale for each dimension of a head; of one that was trained on from another of the same weights
        and length (`begun`), which lies beside it, what it differs by, in four bits."""
        import numpy as np
        from safetensors.numpy import save_file

        from data import codec

        about = {"name": self.name, "weights_sha256": self.weights_sha256, "stand_in": self.stand_in, "about": self.about}
        stands_for: dict[str, Any] = {"beginnings": self.beginnings, "texts": self.texts}
        if begun is not None:
            sha256 = codec.sha256_bytes(_beside(path, begun.name, begun.weights_sha256).read_bytes())
            stands_for["begun"] = {"name": begun.name, "sha256": sha256}
        held = {"prefix": json.dumps({**about, **stands_for}, sort_keys=True)}
        stored: dict[str, NDArray[Any]] = {}
        for part, numbers in (("keys", self.keys), ("values", self.values)):
            if not np.isfinite(numbers).all():
                raise ValueError(f"the {part} hold what is no number")
            told = numbers if begun is None else numbers - getattr(begun, part)
            scale = np.abs(told).max(axis=2, keepdims=True) / (_MOST if begun is None else LARGEST)
            whole = np.rint(told / np.maximum(scale, _LEAST)).astype(np.int8)
            # contiguous: of others safetensors would write another order
            stored[part] = np.ascontiguousarray(whole if begun is None else in_pairs(whole))
            stored[f"{part}.scale"] = np.ascontiguousarray(scale.astype(np.float32))
        beside = path.with_suffix(".new")
        save_file(stored, beside, metadata=held)
        beside.replace(path)


@cache
def prefix_of(weights_sha256: str, name: str) -> TrainedPrefix | None:
    """None where none was trained for these weights and this task. Raises UserError for a file that is none."""
    path = _file(weights_sha256, name)
    if not weights_sha256 or not path.is_file():
        return None
    prefix = read(path)
    if (prefix.name, prefix.weights_sha256) != (name, weights_sha256):
        raise UserError(f"{path} is the prefix {prefix.name!r} of other weights than its name says; install the package again")
    return prefix


def read(path: Path) -> TrainedPrefix:
    """Raises UserError for a file that is no prefix, or cut short."""
    import numpy as np
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "np") as file:
            held: dict[str, Any] = json.loads((file.metadata() or {})["prefix"])
            held["beginnings"] = tuple(tuple(tokens) for tokens in held["beginnings"])
            held["texts"] = tuple(held["texts"])
            stored = [(file.get_tensor(part), file.get_tensor(f"{part}.scale")) for part in ("keys", "values")]
            if begun := held.pop("begun", None):
                other = _begun(_beside(path, begun["name"], held["weights_sha256"]), begun["sha256"])
                differs = [out_of_pairs(pairs) * scale for pairs, scale in stored]
                keys, values = other.keys + differs[0], other.values + differs[1]
            else:
                keys, values = (whole * scale for whole, scale in stored)
            prefix = TrainedPrefix(keys=keys, values=values, **held)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path} is no trained prefix ({error}); install the package again") from None
    fits = prefix.keys.ndim == 4 and prefix.keys.size and prefix.keys.shape == prefix.values.shape
    if not fits or not prefix.beginnings or not all(prefix.beginnings) or not isinstance(prefix.stand_in, int):
        raise UserError(f"{path} is no trained prefix (its shapes do not fit); install the package again")
    if not (np.isfinite(prefix.keys).all() and np.isfinite(prefix.values).all()):
        raise UserError(f"{path} is no trained prefix (it holds what is no number); install the package again")
    return prefix


def _begun(path: Path, sha256: str) -> TrainedPrefix:
    """What another was trained on from. Raises ValueError for any other file: what differs from it says nothing then."""
    from data import codec

    if codec.sha256_bytes(path.read_bytes()) != sha256:
        raise ValueError(f"{path.name} is not the one that it was trained on from")
    return read(path)


def tasks_of(weights_sha256: str) -> frozenset[str]:
    """Those that beginnings were trained for."""
    return frozenset(file.name.rpartition("-")[0] for file in _files(weights_sha256))


@cache
def prefixes_digest(weights_sha256: str) -> str:
    """Changes with what a model's prefixes are; empty for a model without any."""
    from data import codec

    files = _files(weights_sha256)
    return codec.sha256(" ".join(codec.sha256_bytes(file.read_bytes()) for file in files))[:12] if files else ""


def _files(weights_sha256: str) -> list[Path]:
    return sorted(FOLDER.glob(f"*-{weights_sha256[:12]}.safetensors")) if weights_sha256 else []


def _file(weights_sha256: str, name: str) -> Path:
    return FOLDER / f"{name}-{weights_sha256[:12]}.safetensors"


def _beside(path: Path, name: str, weights_sha256: str) -> Path:
    return path.with_name(_file(weights_sha256, Path(name).name).name)

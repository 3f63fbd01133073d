"""The keys and values of a prompt's fixed beginning (its instruction and worked examples), trained on one task.

Prefix tuning (Li & Liang, "Prefix-Tuning: Optimizing Continuous Prompts for Generation", ACL 2021), begun at the keys and
values that the model itself computes for these tokens. The weights stay as they are, so that every other prompt is answered
as ever, a pass costs what it costs without, and any way of decoding works: it only finds other numbers in its cache.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WEIGHTS = Path(__file__).parent / "weights"


@dataclass(frozen=True, slots=True, eq=False)
class TunedPrefix:
    """`keys` (rotated to positions 0..n-1) and `values`, each (layers, key heads, n, head size), of the tokens `ids` (n,)."""

    task: str
    ids: tuple[int, ...]
    keys: NDArray[np.float16]
    values: NDArray[np.float16]
    sha256: str

    def __len__(self) -> int:
        return len(self.ids)


def prefix_of(prefixes: Sequence[TunedPrefix], prompt: Sequence[int]) -> TunedPrefix | None:
    """The one that a prompt begins with, behind which it has at least one token."""
    for prefix in prefixes:
        if len(prompt) > len(prefix) and tuple(prompt[: len(prefix)]) == prefix.ids:
            return prefix
    return None


@lru_cache(maxsize=8)
def prefixes_for(model: str) -> tuple[TunedPrefix, ...]:
    """Those that are shipped for a model of `decoding.models.registry`, by their tasks; none for most."""
    return tuple(read_prefix(path) for path in sorted((WEIGHTS / model).glob("*.safetensors")))


def read_prefix(path: Path) -> TunedPrefix:
    """Raises UserError for a file that is no prefix."""
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        content = path.read_bytes()
        arrays = load(content)
        ids, keys, values = arrays["ids"], arrays["keys"], arrays["values"]
    except (OSError, KeyError, SafetensorError) as error:
        raise UserError(f"{path} is no tuned prefix ({error}); install the package again") from error
    if not (keys.ndim == 4 and keys.shape == values.shape and ids.shape == keys.shape[2:3]):
        raise UserError(f"{path} is no tuned prefix: its arrays do not fit together; install the package again")
    if not (np.isfinite(keys).all() and np.isfinite(values).all()):
        raise UserError(f"{path} is no tuned prefix: it holds what is no number; install the package again")
    return TunedPrefix(path.stem, tuple(ids.tolist()), keys, values, hashlib.sha256(content).hexdigest())


def write_prefix(path: Path, ids: Sequence[int], keys: NDArray[np.float32], values: NDArray[np.float32]) -> None:
    """As `TunedPrefix` has them; stored in half precision."""
    import numpy as np
    from safetensors.numpy import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    half = {name: np.ascontiguousarray(array, dtype=np.float16) for name, array in (("keys", keys), ("values", values))}
    save_file({"ids": np.array(ids, dtype=np.int32), **half}, path)

"""A few sub-layers of a model, and a low-rank map in place of each run of those left out: a drafter for the model itself.

What a run of sub-layers adds to the residual stream is for a good part a linear function of what comes in (Belrose et al. 2023,
"Eliciting latent predictions from transformers with the tuned lens", arXiv 2303.08112, for the run up to the end). What is not
linear is looking something up in the text: the attention sub-layers that do it are kept, and read the model's own keys and
values. Trained by `decoding.knn.bridge_training`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from data.errors import UserError
from decoding.backend import SkipSet

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

END = "end"
_STEP = re.compile(r"(?:attention|mlp) (?:0|[1-9][0-9]{0,3})|map")


@dataclass(frozen=True, eq=False)
class LowRank:
    """x -> x + up @ (down @ x) + bias: down (r, D), up (D, r), bias (D,)."""

    down: Floats
    up: Floats
    bias: Floats


@dataclass(frozen=True, eq=False)
class Bridge:
    """`path` is what a draft step runs, in order: `attention 17`, `mlp 29`, and `map` for the next of `maps`."""

    name: str
    path: tuple[str, ...]
    maps: tuple[LowRank, ...]
    norms: Mapping[str, Floats]
    """Weights (D,) of the norm before each kept sub-layer, by its step, and under `end` of the last one."""
    vocabulary: tuple[int, ...]
    """Ascending: tokens that can be drafted, besides those of the prompt."""

    @cached_property
    def key(self) -> str:
        parts = [repr((self.path, self.vocabulary)).encode()]
        parts += [matrix.tobytes() for one in self.maps for matrix in (one.down, one.up, one.bias)]
        parts += [f"{name} ".encode() + self.norms[name].tobytes() for name in sorted(self.norms)]
        return hashlib.sha256(b"".join(parts)).hexdigest()

    def skip(self, n_layers: int) -> SkipSet:
        """The sub-layers that are left out."""
        kept = set(self.path)
        return SkipSet(
            tuple(i for i in range(n_layers) if f"attention {i}" not in kept),
            tuple(i for i in range(n_layers) if f"mlp {i}" not in kept),
        )

    def check(self, n_layers: int, hidden_size: int, vocab_size: int) -> None:
        """Raises UserError, naming what does not fit a model of this shape."""
        check_path(self.path, n_layers)
        wrong = ""
        if len(self.maps) != self.path.count("map"):
            wrong = f"its path has {self.path.count('map')} maps, and {len(self.maps)} are there"
        for one in self.maps:
            rank = one.down.shape[0] if one.down.ndim else 0
            if (one.down.shape, one.up.shape, one.bias.shape) != ((rank, hidden_size), (hidden_size, rank), (hidden_size,)):
                wrong = f"its maps are of size {one.bias.shape}, the model of size {hidden_size}"
        if self.norms.keys() != {END, *self.path} - {"map"} or any(
            norm.shape != (hidden_size,) for norm in self.norms.values()
        ):
            wrong = f"its norms are not those of its path, in the model's size {hidden_size}"
        if not self.vocabulary or not 0 <= min(self.vocabulary) <= max(self.vocabulary) < vocab_size:
            wrong = f"its draft vocabulary is not one of the model's {vocab_size} tokens"
        if wrong:
            raise UserError(f"the bridge {self.name!r} fits another model or layer set: {wrong}; fit it again: {COMMAND}")


COMMAND = "python -m decoding.calibrate --model MODEL --prompts FILE --distil"


def check_path(path: Sequence[str], n_layers: int) -> None:
    """Raises UserError: no sub-layer, one that the model lacks, or sub-layers out of the model's order."""
    if odd := [step for step in path if not _STEP.fullmatch(step)]:
        raise UserError(f"{odd[0]!r} is no step of a path; use attention N, mlp N and map")
    places = [place_of(step) for step in path if step != "map"]
    if not places or max(places) >= 2 * n_layers:
        raise UserError(f"the path {', '.join(path)} is not one of a model with layers 0 to {n_layers - 1}")
    if places != sorted(set(places)):
        raise UserError(f"the path {', '.join(path)} must go through the layers once, in their order")


def place_of(step: str) -> int:
    """Of a sub-layer among all 2 L, in the order in which they run."""
    part, _, layer = step.partition(" ")
    return 2 * int(layer) + (part == "mlp")

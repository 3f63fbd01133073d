"""A few of a model's sub-layers with a low-rank map in place of each run of those left out, compiled as the steps are.

Queries, keys and values of a kept sub-layer are made by the model's own weights, and committed positions are read from the
model's own cache: it is what the sub-layer would read in a full step. Only the newest rows come through the maps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from decoding.lowbit.compiling import compiled
from decoding.lowbit.kernels import add_attention, add_mlp, normed, project
from decoding.lowbit.products import multiply, rounded
from decoding.lowbit.team import alone

ATTENTION, MLP, MAP = 0, 1, 2


class Map(NamedTuple):
    """x + up(down(x)) + bias, in float32: the residual stream has single numbers a thousand times larger than the others, so
    that rounding it to 8 bits would lose the rest. Both matrices lie transposed, down (D, r) and up (r, D)."""

    down: Any
    up: Any
    bias: Any


@compiled
def mapped(hidden, map_):
    """hidden (T, D), in place."""
    n_tokens, width = hidden.shape
    rank = map_.down.shape[1]
    inner = np.empty(rank, dtype=np.float32)
    for t in range(n_tokens):
        inner[:] = 0
        for j in range(width):
            x = hidden[t, j]
            for r in range(rank):
                inner[r] += x * map_.down[j, r]
        for r in range(rank):
            y = inner[r]
            for j in range(width):
                hidden[t, j] += y * map_.up[r, j]
        for j in range(width):
            hidden[t, j] += map_.bias[j]


@compiled
def run_path(hidden, kinds, which, layers, maps, sizes, keys, values, n, cos, sin, scores):
    """The sub-layers and maps of a path in their order, in place: `which` is a layer, or the number of a map.

    hidden (1, D) is a token at position n, to where its keys and values go; what lies before is read as it is."""
    place = np.full(1, n, dtype=np.int64)
    none, path = np.zeros(1, dtype=np.int64), np.zeros((1, 1), dtype=np.int64)
    for i in range(len(kinds)):
        at = which[i]
        if kinds[i] == MAP:
            mapped(hidden, maps[at])
        elif kinds[i] == MLP:
            add_mlp(hidden, layers[at], sizes)
        else:
            queries = project(hidden, layers[at], sizes, keys[at], values[at], place, cos, sin, place)
            add_attention(hidden, layers[at], sizes, queries, keys[at], values[at], n, none, path, none, scores)


@compiled
def drafted(hidden, kinds, which, layers, maps, sizes, keys, values, n, cos, sin, scores, last_norm, head, out):
    """As `run_path`, and the last norm and an output layer behind it: out (1, n_out(head))."""
    run_path(hidden, kinds, which, layers, maps, sizes, keys, values, n, cos, sin, scores)
    normal = np.empty_like(hidden)
    normed(hidden, last_norm, np.float32(sizes.eps), normal)
    multiply(rounded(normal, head.n_padded, False), head, out, 0, alone())

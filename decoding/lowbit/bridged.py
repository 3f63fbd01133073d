"""A few of a model's sub-layers with a low-rank map in place of each run of those left out, compiled as the steps are.

Queries, keys and values of a kept sub-layer are made by the model's own weights, and committed positions are read from the
model's own cache: it is what the sub-layer would read in a full step. Only the newest rows come through the maps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from decoding.lowbit.kernels import _compiled, add_attention, add_mlp, project

ATTENTION, MLP, MAP = 0, 1, 2


class Map(NamedTuple):
    """x + up(down(x)) + bias, in float32: the residual stream has single numbers a thousand times larger than the others, so
    that rounding it to 8 bits would lose the rest. Both matrices lie transposed, down (D, r) and up (r, D)."""

    down: Any
    up: Any
    bias: Any


@_compiled
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


@_compiled
def run_path(hidden, kinds, which, layers, maps, sizes, keys, values, n, cos, sin, positions, paths, depths, scores):
    """The sub-layers and maps of a path in their order, in place: `which` is a layer, or the number of a map. The T rows are a
    chain at positions n.. whose keys and values go there; what lies before is read as it is."""
    for i in range(len(kinds)):
        if kinds[i] == MAP:
            mapped(hidden, maps[which[i]])
        elif kinds[i] == MLP:
            add_mlp(hidden, layers[which[i]], sizes)
        else:
            layer = which[i]
            queries = project(hidden, layers[layer], sizes, keys[layer], values[layer], n, cos, sin, positions)
            add_attention(hidden, layers[layer], sizes, queries, keys[layer], values[layer], n, paths, depths, scores)


@_compiled
def attend_alone(hidden, layer, sizes, keys, values, first, cos, sin, positions, paths, depths, scores):
    """An attention sub-layer over rows (T, D) at positions first.., each as the first row of a draft would have it: the
    model's own keys and values before it, and those of the row itself. The cache is left as it was."""
    n_heads, size, _ = keys.shape
    own_keys = np.empty((n_heads, size), dtype=np.float32)
    own_values = np.empty((n_heads, size), dtype=np.float32)
    for t in range(hidden.shape[0]):
        at = first + t
        for h in range(n_heads):
            for j in range(size):
                own_keys[h, j] = keys[h, j, at]
                own_values[h, j] = values[h, at, j]
        row = hidden[t : t + 1]
        queries = project(row, layer, sizes, keys, values, at, cos, sin, positions[t : t + 1])
        add_attention(row, layer, sizes, queries, keys, values, at, paths, depths, scores)
        for h in range(n_heads):
            for j in range(size):
                keys[h, j, at] = own_keys[h, j]
                values[h, at, j] = own_values[h, j]

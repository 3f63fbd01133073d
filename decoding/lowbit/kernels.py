"""What a step of a model with low-bit weights computes, layer by layer, compiled as its products (`products.py`) are.

Everything is computed row by row in one order, so that a row's logits do not depend on the other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba.typed import List

from decoding.lowbit import attention_code
from decoding.lowbit.compiling import compiled
from decoding.lowbit.matrix import PANEL
from decoding.lowbit.products import Weights, multiply, multiply_panels, n_out, panels_at_once, rounded
from decoding.lowbit.team import alone, meet, new_work, taken


@compiled
def normed(rows, weight, eps, out):
    """RMS norm: out = rows / sqrt(mean(rows^2) + eps) * weight, each row summed in order."""
    n, size = rows.shape
    for t in range(n):
        total = np.float32(0)
        for j in range(size):
            total += rows[t, j] * rows[t, j]
        over = np.float32(1) / np.sqrt(total / np.float32(size) + eps)
        for j in range(size):
            out[t, j] = rows[t, j] * over * weight[j]


@compiled
def rotated(heads, cos, sin):
    """Rotary embeddings of one row in place: heads (H, D), the first 2 * R of D turned by cos and sin (2 * R), as Llama's."""
    half = cos.shape[0] // 2
    for h in range(heads.shape[0]):
        for j in range(half):
            x, y = heads[h, j], heads[h, j + half]
            heads[h, j] = x * cos[j] - y * sin[j]
            heads[h, j + half] = y * cos[j + half] + x * sin[j + half]


@compiled
def attended(queries, keys, values, n, gaps, paths, depths, scale, scores, out, team):
    """Attention of queries (T, H, D) over n committed positions and, for row t, the scratch rows paths[t, 0..depths[t]],
    counted from position n + gaps[t] on.

    keys (H_kv, D, capacity), values (H_kv, capacity, D), out (T, H, D). A row's keys are taken in the order of their positions,
    wherever in the scratch they lie, so that a tree gives what a chain would give. `scores`, of this thread alone, has room for
    H / H_kv rows of n + T numbers, filled up to sixteen.
    """
    n_key_heads = len(keys)
    group, size = queries.shape[1] // n_key_heads, queries.shape[2]
    own_scores = np.empty((_ROWS_ATTENDED * group, scores.shape[1]), dtype=np.float32)
    asked, mixed = np.empty((len(own_scores), size), dtype=np.float32), np.empty((len(own_scores), size), dtype=np.float32)
    work = new_work(team)
    at = taken(team, work)
    while at < -(-len(queries) // _ROWS_ATTENDED) * n_key_heads:
        h, begin = at % n_key_heads, at // n_key_heads * _ROWS_ATTENDED
        end = min(begin + _ROWS_ATTENDED, len(queries))
        is_chain = True
        for t in range(begin, end):  # of a chain, whose scratch rows lie behind the committed positions in their order
            is_chain = is_chain and gaps[t] == 0 and paths[t, depths[t]] == depths[t] and depths[t] - depths[begin] == t - begin
        if is_chain:
            seen = n + depths[begin] + 1
            _chain_attended(begin, end, h, queries, keys[h], values[h], seen, scale, own_scores, asked, mixed, out)
        else:
            for t in range(begin, end):
                _attended(t, h, queries, keys, values, n, gaps[t], paths[t], depths[t], scale, scores, out)
        at = taken(team, work)


_ROWS_ATTENDED = 4
"""Neighbouring rows that look at a key while it is at hand: with long texts, reading keys and values takes longer than anything
that is computed with them."""
_KEYS_AT_HAND = 64
"""Their keys of one head, 32 KiB with heads of 128, and the queries fit into the nearest cache."""


@compiled
def _chain_attended(begin, end, h, queries, keys, values, seen, scale, scores, asked, mixed, out):
    """`attended` of rows begin..end-1 and one key head, h, whose keys and values these are; row begin + i is for the first
    `seen` + i positions. What a row's numbers are added to comes in the order of `_attended`."""
    size, capacity, width = queries.shape[2], keys.shape[1], scores.shape[1]
    n, group = end - begin, scores.shape[0] // _ROWS_ATTENDED
    for i in range(n):
        for r in range(group):
            for j in range(size):
                asked[i * group + r, j] = queries[begin + i, h * group + r, j]
                mixed[i * group + r, j] = 0
    for first in range(0, seen + n - 1, _KEYS_AT_HAND):
        count = min(_KEYS_AT_HAND, seen + n - 1 - first)
        key = keys.ctypes.data + 4 * first
        for r in range(0, n * group, 4):
            take = min(4, n * group - r)
            attention_code.scores(
                take, asked[r].ctypes.data, key, scores[r].ctypes.data + 4 * first, size, count, capacity, width, scale
            )
    for r in range(n * group):
        attention_code.softmax(scores[r].ctypes.data, seen + r // group)
    for first in range(0, seen, _KEYS_AT_HAND):
        count = min(_KEYS_AT_HAND, seen - first)
        value = values[first].ctypes.data
        for r in range(0, n * group, 4):
            take = min(4, n * group - r)
            attention_code.mixed(take, scores[r].ctypes.data + 4 * first, value, mixed[r].ctypes.data, count, size, width)
    for r in range(group, n * group):  # what a row sees beyond the first one
        value = values[seen].ctypes.data
        attention_code.mixed(1, scores[r].ctypes.data + 4 * seen, value, mixed[r].ctypes.data, r // group, size, width)
    for i in range(n):
        for r in range(group):
            for j in range(size):
                out[begin + i, h * group + r, j] = mixed[i * group + r, j]


@compiled
def _attended(t, h, queries, keys, values, n, gap, path, depth, scale, scores, out):
    """`attended` of row t and key head h."""
    size = queries.shape[2]
    capacity, width = keys.shape[2], scores.shape[1]
    group = queries.shape[1] // len(keys)
    seen = n + depth + 1
    columns = path[depth] + 1
    k = keys[h].ctypes.data
    r = 0
    while r < group:
        left = group - r
        take = 4 if left >= 4 else left
        q = queries[t, h * group + r].ctypes.data
        s = scores[r].ctypes.data
        if gap == 0:
            attention_code.scores(take, q, k, s, size, n + columns, capacity, width, scale)
        else:  # what lies between is of other texts; the second call writes over the first one's last vector
            attention_code.scores(take, q, k, s, size, n, capacity, width, scale)
            attention_code.scores(take, q, k + 4 * (n + gap), s + 4 * n, size, columns, capacity, width, scale)
        r += take
    for r in range(group):
        for d in range(depth + 1):  # a parent comes before its child: path[d] >= d, so nothing is lost
            scores[r, n + d] = scores[r, n + path[d]]
        attention_code.softmax(scores[r].ctypes.data, seen)
        for j in range(size):
            out[t, h * group + r, j] = 0
    r = 0
    while r < group:
        left = group - r
        take = 4 if left >= 4 else left
        s, o = scores[r].ctypes.data, out[t, h * group + r].ctypes.data
        d = -1  # -1: the committed positions
        while d <= depth:
            first, count, at = 0, n, s
            if d >= 0:  # runs of neighbours at once: a chain is one run
                first, count, at = n + gap + path[d], 1, s + 4 * (n + d)
                while d + count <= depth and path[d + count] == path[d] + count:
                    count += 1
            value = values[h, first].ctypes.data
            attention_code.mixed(take, at, value, o, count, size, width)
            d += 1 if d < 0 else count
        r += take


class Layer(NamedTuple):
    """One decoder layer of Llama's shape. `query_norm`, `key_norm` (Qwen3) and the biases of q, k and v, one behind the other
    (Qwen2), may be empty. Matrices that take the same rows are apart, since a file may keep them in different forms."""

    before_attention: Any
    query: Weights
    key: Weights
    value: Weights
    bias: Any
    query_norm: Any
    key_norm: Any
    output: Weights
    before_mlp: Any
    gate: Weights
    up: Weights
    down: Weights


@compiled
def _list_of(layer):
    layers = List()
    layers.append(layer)
    return layers


@compiled
def _add_layer(layers, layer):
    layers.append(layer)


def layer_list(layers: Sequence[Layer]) -> Any:
    """Layers as compiled code takes them. numba's own way to make such a list is compiled anew in each process, for seconds."""
    made = _list_of(layers[0])
    for layer in layers[1:]:
        _add_layer(made, layer)
    return made


class Sizes(NamedTuple):
    """Heads, key heads, their size, and the numbers that layers share."""

    n_heads: int
    n_key_heads: int
    head_size: int
    eps: float
    scale: float
    residual: float


class Work(NamedTuple):
    """What the threads of a team make together for T rows, float32."""

    both: Any
    """Queries, keys and values (T, (H + 2 * H_kv) * D)."""
    queries: Any
    """(T, H, D)"""
    mixed: Any
    """What attention gives, (T, H, D)."""
    bent: Any
    """What the MLP's activation gives, (T, inner)."""
    added: Any
    """What a sub-layer adds, (T, width)."""


@compiled
def work_for(n_tokens, layer, sizes):
    n_heads, n_key_heads, size = sizes.n_heads, sizes.n_key_heads, sizes.head_size
    return Work(
        np.empty((n_tokens, (n_heads + 2 * n_key_heads) * size), dtype=np.float32),
        np.empty((n_tokens, n_heads, size), dtype=np.float32),
        np.empty((n_tokens, n_heads, size), dtype=np.float32),
        np.empty((n_tokens, n_out(layer.gate)), dtype=np.float32),
        np.empty((n_tokens, n_out(layer.output)), dtype=np.float32),
    )


LISTS_A_LAYER = 8
"""Lists of work that a team begins in each layer, at most."""


@compiled
def _ask(hidden, layer, sizes, keys, values, slots, cos, sin, positions, work, team):
    """`project` by a team; all have met at the end."""
    n_heads, n_key_heads, size = sizes.n_heads, sizes.n_key_heads, sizes.head_size
    normal = np.empty_like(hidden)
    normed(hidden, layer.before_attention, np.float32(sizes.eps), normal)
    rows = rounded(normal, layer.query.n_padded, layer.query.may_tile)
    multiply(rows, layer.query, work.both, 0, team)
    multiply(rows, layer.key, work.both, n_heads * size, team)
    multiply(rows, layer.value, work.both, (n_heads + n_key_heads) * size, team)
    meet(team)
    pieces = new_work(team)
    at = taken(team, pieces)
    while at < len(hidden) * n_key_heads:
        t = at // n_key_heads
        _turn(work.both[t], layer, sizes, at % n_key_heads, work.queries[t], keys, values, slots[t], cos, sin, positions[t])
        at = taken(team, pieces)
    meet(team)


@compiled
def _turn(both, layer, sizes, h, queries, keys, values, slot, cos, sin, position):
    """Of one row, key head h and the queries that belong to it: bias, norm and rotation."""
    n_heads, n_key_heads, size = sizes.n_heads, sizes.n_key_heads, sizes.head_size
    group, eps = n_heads // n_key_heads, np.float32(sizes.eps)
    key_at, value_at = (n_heads + h) * size, (n_heads + n_key_heads + h) * size
    fresh = np.empty((1, size), dtype=np.float32)
    mine = queries[h * group : (h + 1) * group]
    for r in range(group):
        for j in range(size):
            mine[r, j] = both[(h * group + r) * size + j]
    for j in range(size):
        fresh[0, j] = both[key_at + j]
    if layer.bias.shape[0]:
        for r in range(group):
            for j in range(size):
                mine[r, j] += layer.bias[(h * group + r) * size + j]
        for j in range(size):
            fresh[0, j] += layer.bias[key_at + j]
            both[value_at + j] += layer.bias[value_at + j]
    if layer.query_norm.shape[0]:
        normed(mine, layer.query_norm, eps, mine)
        normed(fresh, layer.key_norm, eps, fresh)
    rotated(mine, cos[position], sin[position])
    rotated(fresh, cos[position], sin[position])
    for j in range(size):
        keys[h, j, slot] = fresh[0, j]
        values[h, slot, j] = both[value_at + j]


@compiled
def _answer(hidden, layer, sizes, keys, values, n, gaps, paths, depths, scores, work, team):
    """`add_attention` by a team: all have met at its last product, and each adds to its own hidden."""
    n_tokens, width = hidden.shape
    residual = np.float32(sizes.residual)
    attended(work.queries, keys, values, n, gaps, paths, depths, np.float32(sizes.scale), scores, work.mixed, team)
    meet(team)
    mixed = work.mixed.reshape(n_tokens, sizes.n_heads * sizes.head_size)
    rows = rounded(mixed, layer.output.n_padded, layer.output.may_tile)
    multiply(rows, layer.output, work.added, 0, team)
    meet(team)
    for t in range(n_tokens):
        for j in range(width):
            hidden[t, j] += work.added[t, j] * residual


_PANELS_BENT = 8
"""Panels of both matrices whose results are bent before more are made: they are still in a cache, for hundreds of rows, too."""


@compiled
def _bend(rows, layer, gate_up, bent, begin, end):
    """Some panels of the MLP's two matrices, which gate_up (T, 2 * their rows) is for, and its activation of both."""
    half, first, n = gate_up.shape[1] // 2, PANEL * begin, PANEL * (end - begin)
    multiply_panels(rows, layer.gate, gate_up, -first, begin, end)
    multiply_panels(rows, layer.up, gate_up, half - first, begin, end)
    for t in range(len(bent)):
        row = gate_up[t].ctypes.data
        attention_code.silu_times(row, row + 4 * half, bent[t].ctypes.data + 4 * first, n)


@compiled
def _think(hidden, layer, sizes, work, team):
    """`add_mlp` by a team, as `_answer`."""
    n_tokens, width = hidden.shape
    residual = np.float32(sizes.residual)
    normal = np.empty_like(hidden)
    normed(hidden, layer.before_mlp, np.float32(sizes.eps), normal)
    n_panels = layer.gate.packed.shape[0]
    rows = rounded(normal, layer.gate.n_padded, layer.gate.may_tile)
    pieces, each = new_work(team), _PANELS_BENT if team.n == 1 else panels_at_once(n_panels, team)
    gate_up = np.empty((n_tokens, 2 * PANEL * each), dtype=np.float32)  # of each thread
    at = taken(team, pieces) * each
    while at < n_panels:
        _bend(rows, layer, gate_up, work.bent, at, min(at + each, n_panels))
        at = taken(team, pieces) * each
    meet(team)
    multiply(rounded(work.bent, layer.down.n_padded, layer.down.may_tile), layer.down, work.added, 0, team)
    meet(team)
    for t in range(n_tokens):
        for j in range(width):
            hidden[t, j] += work.added[t, j] * residual


@compiled
def project(hidden, layer, sizes, keys, values, slots, cos, sin, positions):
    """Queries (T, H, D) of hidden (T, width). Keys and values of row t go to place slots[t] of keys (H_kv, D, capacity) and
    values; positions[t] is where it is in its text."""
    work = work_for(len(hidden), layer, sizes)
    _ask(hidden, layer, sizes, keys, values, slots, cos, sin, positions, work, alone())
    return work.queries


@compiled
def add_attention(hidden, layer, sizes, queries, keys, values, n, gaps, paths, depths, scores):
    """What the attention sub-layer adds to hidden (T, width), in place. Keys and values are those of `project`."""
    both, bent = np.empty((0, 0), dtype=np.float32), np.empty((0, 0), dtype=np.float32)
    added = np.empty((len(hidden), n_out(layer.output)), dtype=np.float32)
    work = Work(both, queries, np.empty_like(queries), bent, added)
    _answer(hidden, layer, sizes, keys, values, n, gaps, paths, depths, scores, work, alone())


@compiled
def add_mlp(hidden, layer, sizes):
    """What the MLP sub-layer adds to hidden (T, width), in place."""
    none = np.empty((0, 0, 0), dtype=np.float32)
    bent = np.empty((len(hidden), n_out(layer.gate)), dtype=np.float32)
    added = np.empty((len(hidden), n_out(layer.down)), dtype=np.float32)
    _think(hidden, layer, sizes, Work(np.empty((0, 0), dtype=np.float32), none, none, bent, added), alone())


@compiled
def run_layers(
    hidden, layers, sizes, keys, values, n, slots, gaps, cos, sin, positions, paths, depths, do_attention, do_mlp, scores
):  # fmt: skip
    """All layers, in place: a list of `Layer`, keys (layers, H_kv, D, capacity), values (layers, H_kv, capacity, D)."""
    work = work_for(len(hidden), layers[0], sizes)
    run_layers_in_team(
        hidden, layers, sizes, keys, values, n, slots, gaps, cos, sin, positions, paths, depths, do_attention, do_mlp, scores,
        work, alone(),
    )  # fmt: skip


@compiled
def run_layers_in_team(
    hidden, layers, sizes, keys, values, n, slots, gaps, cos, sin, positions, paths, depths, do_attention, do_mlp, scores,
    work, team,
):  # fmt: skip
    """`run_layers` by a team: hidden and scores are each thread's own, and hidden is the same in all of them."""
    for i in range(len(layers)):
        if do_attention[i]:
            _ask(hidden, layers[i], sizes, keys[i], values[i], slots, cos, sin, positions, work, team)
            _answer(hidden, layers[i], sizes, keys[i], values[i], n, gaps, paths, depths, scores, work, team)
        if do_mlp[i]:
            _think(hidden, layers[i], sizes, work, team)

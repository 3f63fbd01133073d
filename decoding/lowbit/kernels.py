"""What a step of a model with low-bit weights computes, compiled by numba when first called and kept in its cache folder.

Numbers that meet low-bit weights are rounded to 8 bits first, each row by itself in blocks of 64 (as llama.cpp does, in blocks
of 32). Everything is computed row by row in one order, so that a row's logits do not depend on the other rows.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np
from numba.typed import List

from decoding.lowbit import vector_code as v
from decoding.lowbit.compiling import compiled, kept
from decoding.lowbit.matrix import PANEL, LowBitMatrix, Matrix
from decoding.lowbit.superblocks import SuperMatrix
from decoding.lowbit.team import Team, alone, meet, new_work, run_together, taken

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Weights(NamedTuple):
    """A matrix as compiled code takes it; `form` is 4, 8, or 16 for 8 bits in groups of 16, of a `LowBitMatrix`, and 104, 105
    or 106 of a `SuperMatrix` of 4, 5 or 6 bits, whose `packed` holds all of it."""

    packed: Any
    scales: Any
    least: Any
    form: int
    n_padded: int
    code: int
    """Where `_panels` is. Called by its address it is compiled once, not into each function that multiplies."""


def weights_of(matrix: Matrix) -> Weights:
    nothing = np.zeros((0, 0, 0), dtype=np.float32)
    code = _compiled_panels().address
    if isinstance(matrix, SuperMatrix):
        return Weights(matrix.packed, nothing, nothing, 100 + matrix.bits, matrix.n_padded, code)
    assert isinstance(matrix, LowBitMatrix)
    form = 16 if matrix.group == 16 else int(matrix.bits)
    least = nothing if matrix.least is None else matrix.least
    return Weights(matrix.packed, matrix.scales, least, form, matrix.n_padded, code)


class Rounded(NamedTuple):
    """Rows (T, K) in 8 bits."""

    numbers: Any
    """(T, P) int8."""
    scales: Any
    """One a stretch of `blocks_a_scale` blocks of 64 numbers."""
    sums: Any
    """Of each 16 numbers, times their scale."""
    starts: Any
    """-128 times the sum of each 16 numbers, int32."""
    shorts: Any
    """The sum of each 16 numbers, int16."""
    wide_sums: Any
    wide_starts: Any
    wide_shorts: Any
    """The same of each 32."""


@compiled
def blocks_a_scale(blocks):
    """Blocks of 64 numbers that share a scale: up to four, so that as few products as possible are scaled one by one."""
    for n in (4, 3, 2):
        if blocks % n == 0:
            return n
    return 1


@compiled
def rounded(rows, n_padded):
    """Rows (T, K) float32 as `Rounded`."""
    n, k = rows.shape
    blocks = n_padded // 64
    each = blocks_a_scale(blocks)
    numbers = np.zeros((n, n_padded), dtype=np.int8)
    scales = np.zeros((n, blocks // each), dtype=np.float32)
    sums = np.zeros((n, blocks * 4), dtype=np.float32)
    starts = np.zeros((n, blocks * 4), dtype=np.int32)
    if k < n_padded:
        wide = np.zeros((n, n_padded), dtype=np.float32)
        wide[:, :k] = rows
        rows = wide
    for t in range(n):
        for s in range(blocks // each):
            most = v.largest(rows[t, 64 * each * s :].ctypes.data, 64 * each)
            scale = most / np.float32(127)
            scales[t, s] = scale  # of NaN, too: it goes on to the logits, where it is an error
            if not scale > 0:
                continue
            over = np.float32(1) / scale
            for i in range(s * each, (s + 1) * each):
                v.rounded_block(
                    rows[t, 64 * i :].ctypes.data,
                    over,
                    scale,
                    numbers[t, 64 * i :].ctypes.data,
                    sums[t, 4 * i :].ctypes.data,
                    starts[t, 4 * i :].ctypes.data,
                )
    shorts = np.empty((n, blocks * 4), dtype=np.int16)
    wide_sums = np.empty((n, blocks * 2), dtype=np.float32)
    wide_starts = np.empty((n, blocks * 2), dtype=np.int32)
    wide_shorts = np.empty((n, blocks * 2), dtype=np.int16)
    for t in range(n):
        for g in range(blocks * 4):
            shorts[t, g] = -(starts[t, g] >> 7)
        for g in range(blocks * 2):
            wide_sums[t, g] = sums[t, 2 * g] + sums[t, 2 * g + 1]
            wide_starts[t, g] = starts[t, 2 * g] + starts[t, 2 * g + 1]
            wide_shorts[t, g] = -(wide_starts[t, g] >> 7)
    return Rounded(numbers, scales, sums, starts, shorts, wide_sums, wide_starts, wide_shorts)


@compiled
def n_out(weights):
    """Rows of a matrix, filled up: the numbers that a product gives for each row."""
    return weights.packed.shape[0] * PANEL


@compiled
def multiply(rows, weights, out, first, team):
    """out (T, ...), `n_out` of its columns from column `first` on, = `Rounded` rows times the transposed weights.

    Threads of a team take some panels each; what the others took is there when all have met."""
    n_panels = weights.packed.shape[0]
    if team.n == 1:
        multiply_panels(rows, weights, out, first, 0, n_panels)
        return
    work, each = new_work(team), panels_at_once(n_panels, team)
    at = taken(team, work) * each
    while at < n_panels:
        multiply_panels(rows, weights, out, first, at, min(at + each, n_panels))
        at = taken(team, work) * each


@compiled
def panels_at_once(n_panels, team):
    """Few enough that no thread waits long for the last ones."""
    return max(1, n_panels // (16 * team.n))


@compiled
def multiply_panels(rows, weights, out, first, begin, end):
    """`multiply` for some panels. numba frees an array after the last use of its name, and its address does not count as one:
    the caller holds the arrays while `_panels` reads them."""
    if weights.form == 16 or weights.form == 106:
        _multiply(rows.numbers, rows.scales, rows.sums, rows.starts, rows.shorts, weights, out, first, begin, end)
    else:
        _multiply(
            rows.numbers, rows.scales, rows.wide_sums, rows.wide_starts, rows.wide_shorts, weights, out, first, begin, end
        )  # fmt: skip


_ARGUMENTS = 20


@compiled
def _multiply(numbers, scales, sums, starts, shorts, weights, out, first, begin, end):
    n_groups = starts.shape[1]
    panel_bytes, scale_bytes = 64 * weights.packed.shape[1], 64 * n_groups
    arguments = np.empty(_ARGUMENTS, dtype=np.int64)  # in the order in which `_panels` takes them
    arguments[0], arguments[1], arguments[2] = weights.form, end - begin, len(out)
    arguments[3], arguments[4] = scales.shape[1], n_groups // scales.shape[1]
    arguments[5] = weights.packed.ctypes.data + begin * panel_bytes
    arguments[6] = weights.scales.ctypes.data + begin * scale_bytes
    arguments[7] = weights.least.ctypes.data + begin * scale_bytes if len(weights.least) else 0
    arguments[8], arguments[9] = numbers.ctypes.data, scales.ctypes.data
    arguments[10], arguments[11] = sums.ctypes.data, starts.ctypes.data
    arguments[12] = out.ctypes.data + 4 * (first + PANEL * begin)
    arguments[13], arguments[14] = numbers.shape[1], 4 * scales.shape[1]
    arguments[15], arguments[16], arguments[17] = 4 * n_groups, 4 * out.shape[1], panel_bytes
    arguments[18], arguments[19] = scale_bytes, shorts.ctypes.data
    _call(weights.code, arguments)


@compiled
def _call(code, arguments):
    v.call(code, arguments.ctypes.data)


def _panels(arguments):
    """Some panels of sixteen rows of weights times all rows of numbers; `arguments` are those of `_multiply`."""
    a = numba.carray(arguments, _ARGUMENTS)
    form, n_panels, n_tokens, stretches, each = a[0], a[1], a[2], a[3], a[4]
    weights, scales, least, numbers, row_scales, sums, starts, out = a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12]
    to_row, to_scale, to_group, to_out, panel_bytes, scale_bytes, shorts = a[13], a[14], a[15], a[16], a[17], a[18], a[19]
    for p in range(n_panels):
        t = 0
        while t < n_tokens:
            left = n_tokens - t
            size = -(-left // -(-left // v.MOST_ROWS))  # 9 rows as 5 and 4: one alone would wait for its own sums
            to = out + t * to_out + 4 * PANEL * p
            if form > 100:
                v.super_product(
                    form - 100, size, weights + p * panel_bytes, numbers + t * to_row, row_scales + t * to_scale,
                    shorts + t * to_group // 2, to, stretches, to_row, to_scale, to_group // 2, to_out,
                )  # fmt: skip
            else:
                v.product(
                    form, size, weights + p * panel_bytes, scales + p * scale_bytes, least + p * scale_bytes if least else 0,
                    numbers + t * to_row, row_scales + t * to_scale, sums + t * to_group, starts + t * to_group,
                    to, stretches, each, to_row, to_scale, to_group, to_out,
                )  # fmt: skip
            t += size


@functools.cache
def _compiled_panels() -> Any:
    """`_panels`, compiled when first asked for. Kept, since its address is good as long as it is."""
    signature = numba.void(numba.types.CPointer(numba.int64))
    return kept(lambda cache: numba.cfunc(signature, cache=cache)(_panels))


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
    work = new_work(team)
    at = taken(team, work)
    while at < len(queries) * n_key_heads:
        t = at // n_key_heads
        _attended(t, at % n_key_heads, queries, keys, values, n, gaps[t], paths[t], depths[t], scale, scores, out)
        at = taken(team, work)


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
            v.scores(take, q, k, s, size, n + columns, capacity, width, scale)
        else:  # what lies between is of other texts; the second call writes over the first one's last vector
            v.scores(take, q, k, s, size, n, capacity, width, scale)
            v.scores(take, q, k + 4 * (n + gap), s + 4 * n, size, columns, capacity, width, scale)
        r += take
    for r in range(group):
        for d in range(depth + 1):  # a parent comes before its child: path[d] >= d, so nothing is lost
            scores[r, n + d] = scores[r, n + path[d]]
        v.softmax(scores[r].ctypes.data, seen)
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
            v.mixed(take, at, value, o, count, size, width)
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
    rows = rounded(normal, layer.query.n_padded)
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
    rows = rounded(work.mixed.reshape(n_tokens, sizes.n_heads * sizes.head_size), layer.output.n_padded)
    multiply(rows, layer.output, work.added, 0, team)
    meet(team)
    for t in range(n_tokens):
        for j in range(width):
            hidden[t, j] += work.added[t, j] * residual


@compiled
def _bend(rows, layer, gate_up, bent, begin, end):
    """Some panels of the MLP's two matrices, and its activation of both."""
    inner, first, n = gate_up.shape[1] // 2, PANEL * begin, PANEL * (end - begin)
    multiply_panels(rows, layer.gate, gate_up, 0, begin, end)
    multiply_panels(rows, layer.up, gate_up, inner, begin, end)
    for t in range(len(bent)):
        row = gate_up[t].ctypes.data + 4 * first
        v.silu_times(row, row + 4 * inner, bent[t].ctypes.data + 4 * first, n)


@compiled
def _think(hidden, layer, sizes, work, team):
    """`add_mlp` by a team, as `_answer`."""
    n_tokens, width = hidden.shape
    residual = np.float32(sizes.residual)
    normal = np.empty_like(hidden)
    normed(hidden, layer.before_mlp, np.float32(sizes.eps), normal)
    n_panels = layer.gate.packed.shape[0]
    gate_up = np.empty((n_tokens, 2 * n_out(layer.gate)), dtype=np.float32)  # of each thread: it fills its own panels
    rows = rounded(normal, layer.gate.n_padded)
    pieces, each = new_work(team), n_panels if team.n == 1 else panels_at_once(n_panels, team)
    at = taken(team, pieces) * each
    while at < n_panels:
        _bend(rows, layer, gate_up, work.bent, at, min(at + each, n_panels))
        at = taken(team, pieces) * each
    meet(team)
    multiply(rounded(work.bent, layer.down.n_padded), layer.down, work.added, 0, team)
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


_WORTH_A_THREAD = 1 << 24
"""Weights times rows below which a product takes about as long as waking a thread on a busy machine."""


def product(rows: NDArray[np.float32], matrix: Weights, n_rows: int, n_padded: int, threads: int = 1) -> NDArray[np.float32]:
    """rows (T, K) times the transposed matrix (N, K): (T, N). `n_rows` is N, `n_padded` K filled up."""
    out = np.empty((len(rows), len(matrix.packed) * PANEL), dtype=np.float32)
    given = rounded(rows, n_padded)
    if n_rows * n_padded * len(rows) < _WORTH_A_THREAD:
        threads = 1

    def multiplied(team: Team) -> None:
        multiply(given, matrix, out, 0, team)

    run_together(threads, multiplied, 1)
    return out if out.shape[1] == n_rows else np.ascontiguousarray(out[:, :n_rows])

"""What a step of a model with low-bit weights computes, compiled by numba when first called and kept in its cache folder.

Numbers that meet low-bit weights are rounded to 8 bits first, each row by itself in blocks of 64 (as llama.cpp does, in blocks
of 32). Everything is computed row by row in one order, so that a row's logits do not depend on the other rows.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

from data.download import cache_folder
from decoding.lowbit import vector_code as v
from decoding.lowbit.matrix import PANEL, LowBitMatrix

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _sources() -> str:
    """numba itself looks at the file of a function alone, not at the vector code that goes into it."""
    here = Path(__file__).parent
    return hashlib.sha256(b"".join((here / name).read_bytes() for name in ("kernels.py", "vector_code.py"))).hexdigest()[:16]


_CACHE = str(cache_folder() / "kernels" / _sources())


def _compiled(function: Any) -> Any:
    """The function as numba compiles it when first called, for this CPU; kept in our cache folder, by the sources' hash."""
    return _kept(lambda cache: numba.njit(cache=cache, nogil=True, boundscheck=False)(function))


def _kept(compile_: Callable[[bool], Any]) -> Any:
    """What `compile_` gives when told to keep it in our cache folder, or not to where nothing can be written there. The folder
    is numba's setting for the whole process: not for several threads at once."""
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, _CACHE
    try:
        return compile_(True)
    except (RuntimeError, OSError):  # a folder that may not be written to: compiled anew in each process
        return compile_(False)
    finally:
        numba.config.CACHE_DIR = before


class Weights(NamedTuple):
    """A `LowBitMatrix` as compiled code takes it; `form` is 4, 8, or 16 for 8 bits in groups of 16."""

    packed: Any
    scales: Any
    least: Any
    form: int
    code: int
    """Where `_panels` is. Called by its address it is compiled once, not into each function that multiplies."""


def weights_of(matrix: LowBitMatrix) -> Weights:
    form = 16 if matrix.group == 16 else int(matrix.bits)
    least = np.zeros((0, 0, 0), dtype=np.float32) if matrix.least is None else matrix.least
    return Weights(matrix.packed, matrix.scales, least, form, _compiled_panels().address)


@_compiled
def blocks_a_scale(blocks):
    """Blocks of 64 numbers that share a scale: up to four, so that as few products as possible are scaled one by one."""
    for n in (4, 3, 2):
        if blocks % n == 0:
            return n
    return 1


@_compiled
def rounded(rows, n_padded):
    """Rows (T, K) float32 in 8 bits: numbers (T, P), one scale a stretch of `blocks_a_scale` blocks, the sums of each 16
    numbers times their scale, and -128 times the sums of each 16 numbers."""
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
    return numbers, scales, sums, starts


@_compiled
def padded(weights):
    """Columns of a matrix, filled up."""
    return weights.scales.shape[1] * (16 if weights.form == 16 else 32)


@_compiled
def n_out(weights):
    """Rows of a matrix, filled up: the numbers that a product gives for each row."""
    return weights.packed.shape[0] * PANEL


@_compiled
def multiply(rows, weights, out, first):
    """out (T, ...), n_out columns of it from column `first` on, = rows, a tuple as of `rounded`, times the transposed weights."""
    numbers, scales, sums, starts = rows
    n_tokens, n_groups = len(out), weights.scales.shape[1]
    if weights.form == 16:
        _multiply(numbers, scales, sums, starts, weights, out, first)
        return
    wide, wide_starts = np.empty((n_tokens, n_groups), dtype=np.float32), np.empty((n_tokens, n_groups), dtype=np.int32)
    for t in range(n_tokens):
        for g in range(n_groups):
            wide[t, g] = sums[t, 2 * g] + sums[t, 2 * g + 1]
            wide_starts[t, g] = starts[t, 2 * g] + starts[t, 2 * g + 1]
    _multiply(numbers, scales, wide, wide_starts, weights, out, first)


_ARGUMENTS = 18


@_compiled
def _multiply(numbers, scales, sums, starts, weights, out, first):
    """`multiply` with the sums of each group. numba frees an array after the last use of its name, and its address does not
    count as one: the caller holds the arrays while `_panels` reads them."""
    n_panels, n_groups, _ = weights.scales.shape
    arguments = np.empty(_ARGUMENTS, dtype=np.int64)  # in the order in which `_panels` takes them
    arguments[0], arguments[1], arguments[2] = weights.form, n_panels, len(out)
    arguments[3], arguments[4] = scales.shape[1], n_groups // scales.shape[1]
    arguments[5], arguments[6] = weights.packed.ctypes.data, weights.scales.ctypes.data
    arguments[7] = weights.least.ctypes.data if len(weights.least) else 0
    arguments[8], arguments[9] = numbers.ctypes.data, scales.ctypes.data
    arguments[10], arguments[11], arguments[12] = sums.ctypes.data, starts.ctypes.data, out.ctypes.data + 4 * first
    arguments[13], arguments[14] = numbers.shape[1], 4 * scales.shape[1]
    arguments[15], arguments[16], arguments[17] = 4 * n_groups, 4 * out.shape[1], 64 * weights.packed.shape[1]
    _call(weights.code, arguments)


@_compiled
def _call(code, arguments):
    v.call(code, arguments.ctypes.data)


def _panels(arguments):
    """All panels of sixteen rows of weights times all rows of numbers; `arguments` are those of `_multiply`."""
    a = numba.carray(arguments, _ARGUMENTS)
    form, n_panels, n_tokens, stretches, each = a[0], a[1], a[2], a[3], a[4]
    weights, scales, least, numbers, row_scales, sums, starts, out = a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12]
    to_row, to_scale, to_group, to_out, panel_bytes = a[13], a[14], a[15], a[16], a[17]
    scale_bytes = 64 * stretches * each
    for p in range(n_panels):
        t = 0
        while t < n_tokens:
            left = n_tokens - t
            size = -(-left // -(-left // v.MOST_ROWS))  # 9 rows as 5 and 4: one alone would wait for its own sums
            v.product(
                form, size, weights + p * panel_bytes, scales + p * scale_bytes, least + p * scale_bytes if least else 0,
                numbers + t * to_row, row_scales + t * to_scale, sums + t * to_group, starts + t * to_group,
                out + t * to_out + 4 * PANEL * p, stretches, each, to_row, to_scale, to_group, to_out,
            )  # fmt: skip
            t += size


@functools.cache
def _compiled_panels() -> Any:
    """`_panels`, compiled when first asked for. Kept, since its address is good as long as it is."""
    signature = numba.void(numba.types.CPointer(numba.int64))
    return _kept(lambda cache: numba.cfunc(signature, cache=cache)(_panels))


@_compiled
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


@_compiled
def rotated(heads, cos, sin, positions):
    """Rotary embeddings in place: heads (T, H, D), the first 2 * R of D turned by cos and sin (P, 2 * R), as Llama's."""
    n, n_heads, _ = heads.shape
    half = cos.shape[1] // 2
    for t in range(n):
        p = positions[t]
        for h in range(n_heads):
            for j in range(half):
                x, y = heads[t, h, j], heads[t, h, j + half]
                heads[t, h, j] = x * cos[p, j] - y * sin[p, j]
                heads[t, h, j + half] = y * cos[p, j + half] + x * sin[p, j + half]


@_compiled
def attended(queries, keys, values, n, gaps, paths, depths, scale, scores, out):
    """Attention of queries (T, H, D) over n committed positions and, for row t, the scratch rows paths[t, 0..depths[t]],
    counted from position n + gaps[t] on.

    keys (H_kv, D, capacity), values (H_kv, capacity, D), out (T, H, D). A row's keys are taken in the order of their positions,
    wherever in the scratch they lie, so that a tree gives what a chain would give. `scores` has room for H / H_kv rows of
    n + T numbers, filled up to sixteen.
    """
    n_tokens, n_heads, size = queries.shape
    n_key_heads, _, capacity = keys.shape
    group = n_heads // n_key_heads
    width = scores.shape[1]
    for t in range(n_tokens):
        depth = depths[t]
        seen = n + depth + 1
        gap = gaps[t]
        columns = paths[t, depth] + 1
        for h in range(n_key_heads):
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
                for d in range(depth + 1):  # a parent comes before its child: paths[t, d] >= d, so nothing is lost
                    scores[r, n + d] = scores[r, n + paths[t, d]]
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
                        first, count, at = n + gap + paths[t, d], 1, s + 4 * (n + d)
                        while d + count <= depth and paths[t, d + count] == paths[t, d] + count:
                            count += 1
                    value = values[h, first].ctypes.data
                    v.mixed(take, at, value, o, count, size, width)
                    d += 1 if d < 0 else count
                r += take


class Layer(NamedTuple):
    """One decoder layer of Llama's shape. Matrices that take the same rows are apart, since a file may keep them in different
    forms; the biases of q, k and v lie one behind the other. `query_norm`, `key_norm` (Qwen3) and the biases of q, k, v (Qwen2) may be empty."""

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


class Sizes(NamedTuple):
    """Heads, key heads, their size, and the numbers that layers share."""

    n_heads: int
    n_key_heads: int
    head_size: int
    eps: float
    scale: float
    residual: float


@_compiled
def project(hidden, layer, sizes, keys, values, slots, cos, sin, positions):
    """Queries (T, H, D) of hidden (T, width). Keys and values of row t go to place slots[t] of keys (H_kv, D, capacity) and
    values; positions[t] is where it is in its text."""
    n_tokens = hidden.shape[0]
    n_heads, n_key_heads, size = sizes.n_heads, sizes.n_key_heads, sizes.head_size
    eps = np.float32(sizes.eps)
    normal = np.empty_like(hidden)
    normed(hidden, layer.before_attention, eps, normal)
    both = np.empty((n_tokens, (n_heads + 2 * n_key_heads) * size), dtype=np.float32)
    rows = rounded(normal, padded(layer.query))
    multiply(rows, layer.query, both, 0)
    multiply(rows, layer.key, both, n_heads * size)
    multiply(rows, layer.value, both, (n_heads + n_key_heads) * size)
    if layer.bias.shape[0]:
        for t in range(n_tokens):
            for j in range(both.shape[1]):
                both[t, j] += layer.bias[j]
    queries = both[:, : n_heads * size].copy().reshape(n_tokens, n_heads, size)
    fresh = both[:, n_heads * size : (n_heads + n_key_heads) * size].copy().reshape(n_tokens, n_key_heads, size)
    if layer.query_norm.shape[0]:
        for t in range(n_tokens):
            normed(queries[t], layer.query_norm, eps, queries[t])
            normed(fresh[t], layer.key_norm, eps, fresh[t])
    rotated(queries, cos, sin, positions)
    rotated(fresh, cos, sin, positions)
    offset = (n_heads + n_key_heads) * size
    for t in range(n_tokens):
        for h in range(n_key_heads):
            for j in range(size):
                keys[h, j, slots[t]] = fresh[t, h, j]
                values[h, slots[t], j] = both[t, offset + h * size + j]
    return queries


@_compiled
def add_attention(hidden, layer, sizes, queries, keys, values, n, gaps, paths, depths, scores):
    """What the attention sub-layer adds to hidden (T, width), in place. Keys and values are those of `project`."""
    n_tokens, width = hidden.shape
    residual = np.float32(sizes.residual)
    mixed = np.empty_like(queries)
    attended(queries, keys, values, n, gaps, paths, depths, np.float32(sizes.scale), scores, mixed)
    added = np.empty((n_tokens, n_out(layer.output)), dtype=np.float32)
    multiply(rounded(mixed.reshape(n_tokens, sizes.n_heads * sizes.head_size), padded(layer.output)), layer.output, added, 0)
    for t in range(n_tokens):
        for j in range(width):
            hidden[t, j] += added[t, j] * residual


@_compiled
def add_mlp(hidden, layer, sizes):
    """What the MLP sub-layer adds to hidden (T, width), in place."""
    n_tokens, width = hidden.shape
    residual = np.float32(sizes.residual)
    normal = np.empty_like(hidden)
    normed(hidden, layer.before_mlp, np.float32(sizes.eps), normal)
    inner = n_out(layer.gate)
    wide = np.empty((n_tokens, 2 * inner), dtype=np.float32)
    rows = rounded(normal, padded(layer.gate))
    multiply(rows, layer.gate, wide, 0)
    multiply(rows, layer.up, wide, inner)
    bent = np.empty((n_tokens, inner), dtype=np.float32)
    for t in range(n_tokens):
        row = wide[t].ctypes.data
        v.silu_times(row, row + 4 * inner, bent[t].ctypes.data, inner)
    added = np.empty((n_tokens, n_out(layer.down)), dtype=np.float32)
    multiply(rounded(bent, padded(layer.down)), layer.down, added, 0)
    for t in range(n_tokens):
        for j in range(width):
            hidden[t, j] += added[t, j] * residual


@_compiled
def run_layers(
    hidden, layers, sizes, keys, values, n, slots, gaps, cos, sin, positions, paths, depths, do_attention, do_mlp, scores
):  # fmt: skip
    """All layers, in place: a list of `Layer`, keys (layers, H_kv, D, capacity), values (layers, H_kv, capacity, D)."""
    for i in range(len(layers)):
        if do_attention[i]:
            queries = project(hidden, layers[i], sizes, keys[i], values[i], slots, cos, sin, positions)
            add_attention(hidden, layers[i], sizes, queries, keys[i], values[i], n, gaps, paths, depths, scores)
        if do_mlp[i]:
            add_mlp(hidden, layers[i], sizes)


def product(rows: NDArray[np.float32], matrix: Weights, n_rows: int, n_padded: int) -> NDArray[np.float32]:
    """rows (T, K) times the transposed matrix (N, K): (T, N). `n_rows` is N, `n_padded` K filled up."""
    out = np.empty((len(rows), len(matrix.packed) * PANEL), dtype=np.float32)
    multiply(rounded(rows, n_padded), matrix, out, 0)
    return out if out.shape[1] == n_rows else np.ascontiguousarray(out[:, :n_rows])

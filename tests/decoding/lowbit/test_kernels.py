"""The compiled kernels against plain numpy, and against themselves with another number of rows or other instructions."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from decoding.lowbit import kernels, products, tile_code, vector_code
from decoding.lowbit.matrix import LowBitMatrix, Matrix, quantised
from decoding.lowbit.superblocks import FILE_BYTES, SuperBits, SuperMatrix
from decoding.lowbit.team import alone

ROOT = Path(__file__).resolve().parents[3]


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def k_quants(bits: SuperBits, n: int, k: int, seed: int = 6) -> SuperMatrix:
    """Random bytes as blocks of a file, with small scales."""
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 256, (n, k // 256, FILE_BYTES[bits]), dtype=np.uint8)
    scales = (rng.standard_normal((n, k // 256, 2)) / 64).astype(np.float16).view(np.uint8)
    if bits == 6:
        blocks[:, :, -2:] = scales[:, :, :2]
    else:
        blocks[:, :, :4] = scales
    return SuperMatrix.of_file(blocks.reshape(n, -1), bits)


def matrix(form: str, n: int, k: int) -> Matrix:
    if form in SUPER:
        return k_quants(SUPER[form], n, -(-k // 256) * 256)
    if form in ("4", "8"):
        return quantised(numbers(n, k, seed=3), int(form))
    least, group = numbers(n, k // 32) if form == "8 with least values" else None, 32 if least_of(form) else 16
    whole = np.random.default_rng(4).integers(-127, 128, (n, k)).astype(np.int8)
    return LowBitMatrix.of(whole, numbers(n, k // group, seed=5), least, bits=8, group=group)


def least_of(form: str) -> bool:
    return form == "8 with least values"


SUPER: dict[str, SuperBits] = {"K-quants of 4": 4, "K-quants of 5": 5, "K-quants of 6": 6}
FORMS = ["4", "8", "8 with least values", "8 in groups of 16", *SUPER]


@pytest.mark.parametrize("form", FORMS)
def test_threads_change_no_bit(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_WORTH_A_THREAD", 0)
    weights = matrix(form, 1000, 192)
    rows, packed = numbers(5, weights.n_columns, seed=1), products.weights_of(weights)
    expected = products.product(rows, packed, 1000, weights.n_padded)
    for threads in (2, 3, 2):
        np.testing.assert_array_equal(products.product(rows, packed, 1000, weights.n_padded, threads), expected)


def test_rows_of_k_quants_make_a_matrix_of_their_own() -> None:
    for bits in SUPER.values():
        whole, rows = k_quants(bits, 37, 512), np.array([36, 3, 3, 17, 0])
        chosen = whole.chosen(rows)
        assert (chosen.n_rows, chosen.n_columns) == (5, 512)
        np.testing.assert_array_equal(chosen.values(), whole.values(rows))


@pytest.mark.skipif(not tile_code.has_tiles(), reason="this CPU has no AMX, or Linux does not lend it")
@pytest.mark.parametrize("n_rows", [32, 33, 47, 80])
@pytest.mark.parametrize("form", SUPER)
def test_tiles_change_no_bit(form: str, n_rows: int) -> None:
    """33 panels: an even number and one more."""
    weights = k_quants(SUPER[form], 33 * 16 - 3, 768)
    rows, tiled = numbers(n_rows, 768, seed=1) * numbers(n_rows, 1, seed=2), products.weights_of(weights)
    assert tiled.may_tile
    expected = products.product(rows, tiled._replace(may_tile=False), weights.n_rows, 768)
    for threads in (1, 2):
        np.testing.assert_array_equal(products.product(rows, tiled, weights.n_rows, 768, threads), expected)


def test_norms_and_rotations_are_those_of_the_formula() -> None:
    rows, weight = numbers(3, 48), numbers(48, seed=2)
    out = np.empty_like(rows)
    kernels.normed(rows, weight, np.float32(1e-5), out)
    np.testing.assert_allclose(out, rows / np.sqrt((rows**2).mean(-1, keepdims=True) + 1e-5) * weight, rtol=1e-5)
    heads, angles = numbers(2, 3, 32), numbers(9, 16, seed=4)
    cos, sin = np.tile(np.cos(angles), 2), np.tile(np.sin(angles), 2)
    turned = heads.copy()
    for t, p in enumerate((4, 7)):
        kernels.rotated(turned[t], cos[p], sin[p])
    for t, p in enumerate((4, 7)):
        half = np.concatenate([-heads[t, :, 16:], heads[t, :, :16]], axis=-1)
        np.testing.assert_allclose(turned[t], heads[t] * cos[p] + half * sin[p], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("gap", [0, 19])
@pytest.mark.parametrize("group", [1, 2, 3, 5, 7])
def test_attention_sees_the_committed_tokens_and_its_own_branch(group: int, gap: int) -> None:
    n_key_heads, size, capacity, n = 2, 32, 64, 21
    keys, values = numbers(n_key_heads, capacity, size), numbers(n_key_heads, capacity, size, seed=1)
    queries = numbers(4, n_key_heads * group, size, seed=2)
    paths, depths = np.array([[0, 0, 0, 0], [0, 1, 0, 0], [0, 2, 0, 0], [0, 2, 3, 0]]), np.array([0, 1, 1, 2])
    gaps = np.array([0, gap, gap, gap])
    by_dimension = np.ascontiguousarray(keys.transpose(0, 2, 1))
    out, scores = np.empty_like(queries), np.empty((group, 64), np.float32)
    kernels.attended(queries, by_dimension, values, n, gaps, paths, depths, np.float32(0.3), scores, out, alone())
    for t in range(4):
        seen = [*range(n), *(n + gaps[t] + node for node in paths[t, : depths[t] + 1])]
        for h in range(n_key_heads * group):
            raised = np.exp(0.3 * keys[h // group][seen].astype(np.float64) @ queries[t, h])
            np.testing.assert_allclose(out[t, h], raised / raised.sum() @ values[h // group][seen], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("group", [1, 3, 6])
def test_neighbours_in_a_chain_are_attended_as_each_of_them_alone(group: int) -> None:
    n_key_heads, size, capacity, n, n_rows = 2, 32, 192, 85, 11
    keys, values = numbers(n_key_heads, size, capacity), numbers(n_key_heads, capacity, size, seed=1)
    queries, scale = numbers(n_rows, n_key_heads * group, size, seed=2), np.float32(0.3)
    depths, none = np.arange(n_rows), np.zeros(n_rows, dtype=np.int64)
    paths, scores = np.repeat(depths[None], n_rows, axis=0), np.empty((group, 112), np.float32)
    out, alone_out = np.empty_like(queries), np.empty_like(queries)
    kernels.attended(queries, keys, values, n, none, paths, depths, scale, scores, out, alone())
    for t in range(n_rows):
        for h in range(n_key_heads):
            kernels._attended(t, h, queries, keys, values, n, 0, paths[t], depths[t], scale, scores, alone_out)
    np.testing.assert_array_equal(out, alone_out)


@pytest.mark.slow  # kernels are compiled anew, seven seconds each
@pytest.mark.parametrize("instructions", ["avx2", "generic"])
def test_other_instructions_give_the_same_bits(instructions: str, tmp_path: Path) -> None:
    """In a process of its own, whose kernels are compiled for them."""
    if instructions == "avx2" and vector_code.INSTRUCTIONS == "generic":
        pytest.skip("this CPU has no AVX2")
    script = (
        "import sys\n"
        "from decoding.lowbit import vector_code\n"
        "vector_code.INSTRUCTIONS, vector_code.MOST_ROWS = sys.argv[1], 4\n"
        "from tests.decoding.lowbit.test_kernels import digest\n"
        "print(digest())\n"
    )
    env = {**os.environ, "WIKIGEN_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script, instructions], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest()


def test_a_product_of_many_long_rows_reads_memory_that_is_its_own() -> None:
    """In a process of its own, in which glibc gives freed memory of this size back at once: to read it ends the process."""
    script = (
        "from decoding.lowbit import products\n"
        "from tests.decoding.lowbit.test_kernels import numbers, quantised\n"
        "weights, rows = products.weights_of(quantised(numbers(16, 14336), 8)), numbers(300, 14336)\n"
        "found = products.product(rows, weights, 16, 14336)\n"
        "assert (found[-1] == products.product(rows[-1:], weights, 16, 14336)[0]).all()\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "MALLOC_MMAP_THRESHOLD_": "65536"}
    subprocess.run([sys.executable, "-c", script], env=env, check=True)


def digest() -> str:
    """Of products of every form."""
    found = hashlib.sha256()
    for form in FORMS:
        weights = matrix(form, 40, 192)
        for n_rows in (7, 37):  # the second through AMX, where there is one
            rows = numbers(n_rows, weights.n_columns)
            found.update(products.product(rows, products.weights_of(weights), 40, weights.n_padded).tobytes())
    return found.hexdigest()

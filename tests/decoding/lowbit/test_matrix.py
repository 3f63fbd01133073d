"""Low-bit matrices: what they hold, and how near it is to what was rounded."""

from __future__ import annotations

import numpy as np
import pytest

from decoding.lowbit.matrix import LowBitMatrix, quantised


def weights(n: int, k: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, k)).astype(np.float32)


@pytest.mark.parametrize(
    ("numbers", "bits", "group", "words"),
    [(np.full((1, 32), 16), 4, 32, "not of 4 bits"), (np.full((1, 32), -128), 8, 32, "not of 8 bits"),
     (np.zeros((1, 40)), 8, 32, "no matrix"), (np.zeros((1, 32)), 4, 16, "no matrix")],
)  # fmt: skip
def test_what_does_not_fit_is_refused(numbers: np.ndarray, bits: int, group: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        LowBitMatrix.of(
            numbers.astype(np.int8), np.ones((1, numbers.shape[1] // group), np.float32), None, bits=bits, group=group
        )


@pytest.mark.parametrize(("bits", "most"), [(8, 1 / 254), (4, 1 / 30)])
@pytest.mark.parametrize("k", [32, 64, 70, 200])
def test_rounding_is_off_by_half_a_step_at_most(bits: int, most: float, k: int) -> None:
    w = weights(5, k)
    found = quantised(w, bits).values()
    assert found.shape == w.shape
    groups = np.pad(w, ((0, 0), (0, -k % 32))).reshape(5, -1, 32)
    spread = np.abs(groups).max(-1) * 2 if bits == 8 else groups.max(-1) - groups.min(-1)
    off = np.pad(np.abs(found - w), ((0, 0), (0, -k % 32))).reshape(5, -1, 32).max(-1)
    assert (off <= spread * most * 1.01 + 1e-6).all()


def test_rounding_twice_changes_nothing() -> None:
    for bits in (4, 8):
        once = quantised(weights(4, 96), bits)
        np.testing.assert_allclose(quantised(once.values(), bits).values(), once.values(), atol=1e-6)


def test_rows_can_be_read_by_number() -> None:
    matrix = quantised(weights(9, 96), 4)
    np.testing.assert_array_equal(matrix.values(np.array([7, 0, 7])), matrix.values()[[7, 0, 7]])


@pytest.mark.parametrize("bits", [4, 8])
def test_some_rows_make_a_matrix_of_their_own(bits: int) -> None:
    matrix = quantised(weights(37, 70), bits)
    rows = np.array([36, 3, 3, 17, 0])
    chosen = matrix.chosen(rows)
    assert (chosen.n_rows, chosen.n_columns, chosen.n_padded) == (5, 70, 128)
    np.testing.assert_array_equal(chosen.values(), matrix.values(rows))
    numbers, scales, least = matrix.parts()
    assert numbers.shape == (37, 128) and scales.shape == (37, 4) and (least is None) == (bits == 8)
    assert numbers.min() >= (0 if bits == 4 else -127) and not numbers[:, 96:].any()


def test_zeros_stay_zeros() -> None:
    for bits in (4, 8):
        assert not quantised(np.zeros((2, 64), np.float32), bits).values().any()

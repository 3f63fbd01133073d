"""The installed sentence encoder: shape, meaning, stability."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from decoding.models.encoder import MiniLM, minilm

TEXTS = [
    "An earthquake of magnitude 7.1 struck the coast before dawn.",
    "A strong quake hit the shore early in the morning.",
    "The striker scored twice and the club won the cup.",
    "",
    "Rescue teams searched the rubble. " * 60,
    "x",
]


def test_vectors_are_unit_float32_in_order() -> None:
    vectors = minilm().encode(TEXTS)
    assert vectors.shape == (len(TEXTS), minilm().dimensions) == (6, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(6), abs=1e-6)
    backwards = minilm().encode(TEXTS[::-1])
    assert np.abs(backwards[::-1] - vectors).max() < 1e-6


def test_the_published_similarities_are_reproduced() -> None:
    """The first example of the sentence-transformers documentation, which prints these numbers for this model."""
    vectors = minilm().encode(["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."])
    published = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    assert vectors @ vectors.T == pytest.approx(np.array(published), abs=1e-4)


def test_equal_texts_get_equal_vectors() -> None:
    first, _, second = minilm().encode([TEXTS[0], TEXTS[4], TEXTS[0]])
    assert np.array_equal(first, second)


def test_no_texts_give_an_empty_matrix() -> None:
    assert minilm().encode([]).shape == (0, 384)
    assert minilm().encode([]).dtype == np.float32


def test_the_instance_is_shared_and_named_with_its_version() -> None:
    assert minilm() is minilm()
    assert isinstance(minilm(), MiniLM)
    assert minilm().name.startswith("all-MiniLM-L6-v2@")
    assert minilm().name[-1].isdigit()


def test_threads_take_turns() -> None:
    texts = TEXTS[:3]  # a long one takes a second
    expected = minilm().encode(texts)
    results: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: results.append(minilm().encode(texts))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [np.array_equal(result, expected) for result in results] == [True] * 3

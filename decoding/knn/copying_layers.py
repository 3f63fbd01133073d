"""Attention layers that look back to what followed the same token before: induction heads (Olsson et al. 2022, arXiv
2209.11895), by which a model copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from decoding.backends.lowbit_bridges import states_of

if TYPE_CHECKING:
    from decoding.backends.lowbit import LowBitBackend
    from decoding.knn.bridge_training import Text

TEXTS = 10


def copying(backend: LowBitBackend, texts: Sequence[Text]) -> list[int]:
    """Layers by the attention, summed over heads and answer tokens, that goes from a token to where the token that follows it
    in the answer follows the same token in the prompt; most first."""
    n_layers = backend.info.n_layers
    total = np.zeros(n_layers)
    for text in texts[:TEXTS]:
        total += _looked(backend, text)
    return [int(i) for i in np.argsort(-total, kind="stable")]


def _looked(backend: LowBitBackend, text: Text) -> np.ndarray:
    from decoding.lowbit.kernels import project

    n_layers, first = backend.info.n_layers, len(text.prompt)
    ids = [*text.prompt, *text.answer[:-1]]
    sources = [
        [j + 1 for j in range(first - 1) if ids[j] == ids[i] and ids[j + 1] == text.answer[i - first + 1]]
        for i in range(first, len(ids))
    ]
    states = states_of(backend, ids, [2 * i for i in range(n_layers)])
    cache, sizes, layers, (cos, sin) = backend.compiled_parts()
    places = np.arange(first, len(ids), dtype=np.int64)
    found = np.zeros(n_layers)
    group = sizes.n_heads // sizes.n_key_heads
    for i in range(n_layers):
        rows = np.ascontiguousarray(states[2 * i][first:])
        queries = project(rows, layers[i], sizes, cache.keys[i], cache.values[i], places, cos, sin, places)
        keys = np.repeat(cache.keys[i, :, :, : len(ids)], group, axis=0)  # (H, D, n)
        scores = np.einsum("thd,hdn->thn", queries, keys) * sizes.scale
        scores = np.where((np.arange(len(ids))[None] <= places[:, None])[:, None], scores, -np.inf)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        found[i] = sum(float(shares[t][:, at].sum()) for t, at in enumerate(sources) if at)
    return found

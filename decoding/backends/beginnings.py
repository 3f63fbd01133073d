"""Keys and values of how prompts begin, kept in memory: instructions and worked examples, the same in hundreds of calls, are
read once (prefix caching, as in vLLM and SGLang's RadixAttention, Zheng et al., 2024).

The keys and values of a token depend on the tokens before it and on nothing else, so that what one prompt left can be copied to
the next, bit for bit, as far as both begin alike.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from decoding.backends.kv_cache import StepCache

LEAST = 48
"""Tokens that a beginning must have beyond those that are kept already: fewer are read in less than half of a second."""
MOST_BYTES = 160 << 20
"""Of keys and values: of a model of 1.5 billion parameters some 2,900 tokens, how a writer's eight kinds of calls begin.
What was not used for longest goes first."""


class Beginnings:
    """Those of one model. Not for several threads: whoever reads prompts holds the model's lock."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._kept: OrderedDict[tuple[int, ...], tuple[NDArray[np.float32], NDArray[np.float32]]] = OrderedDict()
        """Last used last: keys (layers, H_kv, D, N) and values (layers, H_kv, N, D) of N tokens."""

    @property
    def n_bytes(self) -> int:
        return sum(keys.nbytes + values.nbytes for keys, values in self._kept.values())

    def known(self, ids: Sequence[int]) -> int:
        """With how many of its first tokens one begins."""
        return max((alike(ids, one) for one in self._kept), default=0)

    def put(self, ids: Sequence[int], cache: StepCache) -> int:
        """Writes those of the first tokens of `ids` that are known to the cache's first positions; how many."""
        best = max(self._kept, key=lambda one: alike(ids, one), default=())
        if count := alike(ids, best):
            self._kept.move_to_end(best)
            keys, values = self._kept[best]
            cache.keys[..., :count], cache.values[:, :, :count] = keys[..., :count], values[:, :, :count]
        return count

    def keep(self, ids: Sequence[int], cache: StepCache) -> None:
        """Those of all of `ids`, which are the cache's first positions, unless nearly as many are known."""
        n = len(ids)
        if n - self.known(ids) < LEAST or cache.bytes_for(n) > self._most:
            return
        for shorter in [one for one in self._kept if alike(ids, one) == len(one)]:
            del self._kept[shorter]
        while self._kept and self.n_bytes + cache.bytes_for(n) > self._most:
            self._kept.popitem(last=False)
        self._kept[tuple(ids)] = cache.keys[..., :n].copy(), cache.values[:, :, :n].copy()


def alike(one: Sequence[int], other: Sequence[int]) -> int:
    """Tokens with which both begin."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))

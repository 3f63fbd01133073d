"""Drafting with a `Bridge` in the compiled low-bit step: one call a token, and an output layer of a few thousand tokens."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from decoding.backend import BridgedSet, Chain
from decoding.backends.bridges import END

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from decoding.backend import BackendInfo, Prefill, Rows
    from decoding.backends.bridges import Bridge
    from decoding.backends.kv_cache import StepCache
    from decoding.lowbit.matrix import Matrix
    from decoding.lowbit.products import Weights

_CHAIN = 4
_TIMES = 15
_MOST_EMBEDDED = 4096
"""Tokens whose embeddings are kept: unpacking one takes a tenth of a draft step."""
_BELOW = 30.0
"""How far, in logits, tokens lie below the least likely of the draft vocabulary: rules may still choose among them."""


class CompiledModel(Protocol):
    """What bridges use of the backend that takes them (`decoding.backends.lowbit`)."""

    prompt: tuple[int, ...]
    """The last one that was read."""

    @property
    def info(self) -> BackendInfo: ...

    @property
    def n(self) -> int: ...

    def forget(self) -> None: ...

    def begin(self, capacity: int) -> None:
        """An empty sequence with room for `capacity` positions."""
        ...

    def prefill(self, ids: Sequence[int], *, capacity: int) -> Prefill: ...

    def step(self, ids: Sequence[int]) -> Rows: ...

    def embedded(self, ids: torch.Tensor) -> NDArray[np.float32]:
        """What the first layer gets for ids (1, T): (T, D), to be worked on in place."""
        ...

    def scaled(self, logits: torch.Tensor) -> torch.Tensor:
        """Logits as the output layer gives them -> as the model gives them."""
        ...

    def output_matrix(self) -> Matrix: ...

    def compiled_parts(self) -> tuple[StepCache, Any, Any, tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Cache, `kernels.Sizes`, the list of `kernels.Layer`, and the tables of cosines and sines."""
        ...


class LowBitBridge:
    """A bridge on one backend. Reads the backend's cache, and writes behind its committed positions as skipped steps do."""

    def __init__(self, backend: CompiledModel, bridge: Bridge) -> None:
        """Raises UserError for a bridge of another shape of model."""
        from numba.typed import List

        from decoding.lowbit.bridged import ATTENTION, MAP, MLP, Map

        info = backend.info
        bridge.check(info.n_layers, info.hidden_size, info.vocab_size)
        self._backend, self._bridge = backend, bridge
        numbers = iter(range(len(bridge.maps)))
        kinds = {"attention": ATTENTION, "mlp": MLP, "map": MAP}
        steps = [step.split(" ") for step in bridge.path]
        self._kinds = np.array([kinds[step[0]] for step in steps], dtype=np.int64)
        self._which = np.array([next(numbers) if step[0] == "map" else int(step[1]) for step in steps], dtype=np.int64)
        nothing = np.zeros((info.hidden_size, 1), dtype=np.float32)
        self._maps = List(
            [Map(*(np.ascontiguousarray(m, dtype=np.float32) for m in (one.down.T, one.up.T, one.bias))) for one in bridge.maps]
            or [Map(nothing, np.ascontiguousarray(nothing.T), nothing[:, 0].copy())]  # a typed list needs an example
        )
        _, _, layers, _ = backend.compiled_parts()
        self._layers = List([self._with_norms(layer, i) for i, layer in enumerate(layers)])
        self._last_norm = np.ascontiguousarray(bridge.norms[END], dtype=np.float32)
        self._frequent = frozenset(bridge.vocabulary)
        self._frequent_head: Weights | None = None
        self._embedded: dict[int, NDArray[np.float32]] = {}
        self._known_to: tuple[int, ...] | None = None
        """The prompt that the head was made for."""

    def _with_norms(self, layer: Any, i: int) -> Any:
        norms = {"before_attention": f"attention {i}", "before_mlp": f"mlp {i}"}
        own = {
            part: np.ascontiguousarray(self._bridge.norms[step], dtype=np.float32)
            for part, step in norms.items()
            if step in self._bridge.norms
        }
        return layer._replace(**own)

    def logits(self, token: int, at: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Ids (N,) and logits (N,) after `token` at position `at`."""
        import torch

        from decoding.lowbit.bridged import drafted

        backend = self._backend
        cache, sizes, _, (cos, sin) = backend.compiled_parts()
        self._make_head()
        rows = self._embedding(token)
        out = np.empty((1, self._n_out), dtype=np.float32)
        width = -(-(at + 1) // 16) * 16 + 16
        scores = np.empty((sizes.n_heads // sizes.n_key_heads, width), dtype=np.float32)
        drafted(
            rows, self._kinds, self._which, self._layers, self._maps, sizes, cache.keys, cache.values, at, cos, sin, scores,
            self._last_norm, self._head, out,
        )  # fmt: skip
        return self._ids, backend.scaled(torch.from_numpy(out[0, self._places])).numpy()

    def _embedding(self, token: int) -> NDArray[np.float32]:
        """(1, D), to be worked on in place."""
        import torch

        if token not in self._embedded:
            if len(self._embedded) >= _MOST_EMBEDDED:
                self._embedded.clear()
            self._embedded[token] = self._backend.embedded(torch.tensor([[token]]))
        return self._embedded[token].copy()

    def whole_logits(self, token: int, at: int) -> NDArray[np.float32]:
        """(V,): tokens outside of the draft vocabulary lie far below all others."""
        ids, found = self.logits(token, at)
        whole = np.full(self._backend.info.vocab_size, found.min() - np.float32(_BELOW), dtype=np.float32)
        whole[ids] = found
        return whole

    def chain(self, pending: int, most: int, go_on: Callable[[Sequence[float]], bool] | None) -> Chain:
        tokens: list[int] = []
        chances: list[float] = []
        for i in range(most):
            ids, found = self.logits(tokens[-1] if tokens else pending, self._backend.n + i)
            best = int(found.argmax())
            chance = float(1 / np.exp(found - found[best]).sum())
            if not np.isfinite(chance):
                chance = 0.0
            tokens.append(int(ids[best]))
            chances.append(chance)
            if go_on is not None and not go_on(chances):
                break
        return Chain(tuple(tokens), tuple(chances))

    def measured_cost(self) -> float:
        """c: seconds of a draft step over those of a full step of one token, taken in turn. The current sequence is lost."""
        backend = self._backend
        n = min(96, backend.info.context_tokens - _CHAIN - 1)
        ids = [i % backend.info.vocab_size for i in range(3, n + 3)]
        backend.forget()
        backend.prefill(ids, capacity=n + _CHAIN)
        drafts, steps = [], []
        for _ in range(_TIMES):
            t0 = time.perf_counter()
            self.chain(ids[0], _CHAIN, None)
            t1 = time.perf_counter()
            backend.step(ids[:1]).argmax()
            drafts.append((t1 - t0) / _CHAIN)
            steps.append(time.perf_counter() - t1)
        return median(drafts[1:]) / median(steps[1:])

    def taken(self) -> BridgedSet:
        """The plan under which the backend drafts with this bridge."""
        skipped = self._bridge.skip(self._backend.info.n_layers)
        return BridgedSet(skipped.attention, skipped.mlp, self._bridge.key, round(self.measured_cost(), 4))

    def _make_head(self) -> None:
        """Rows of the output layer: the frequent tokens, and those of the prompt, which answers mostly repeat."""
        from decoding.lowbit.matrix import PANEL
        from decoding.lowbit.products import n_out, weights_of

        prompt = self._backend.prompt
        if self._known_to == prompt:
            return
        matrix, frequent = self._backend.output_matrix(), np.array(self._bridge.vocabulary, dtype=np.int64)
        if self._frequent_head is None:
            self._frequent_head = weights_of(matrix.chosen(frequent))
        head, ids = self._frequent_head, frequent
        places = np.arange(len(frequent), dtype=np.int64)
        if added := sorted(set(prompt) - self._frequent):
            # below the panels that are there: unpacking and packing all of them anew takes half of a full step
            more = weights_of(matrix.chosen(np.array(added, dtype=np.int64)))
            packed, scales, least = (np.concatenate(parts) for parts in zip(head[:3], more[:3], strict=True))
            places = np.concatenate([places, np.arange(len(added), dtype=np.int64) + len(head.packed) * PANEL])
            head = head._replace(packed=packed, scales=scales, least=least)
            ids = np.concatenate([frequent, np.array(added, dtype=np.int64)])
        self._head, self._ids, self._places, self._n_out, self._known_to = head, ids, places, int(n_out(head)), prompt


def states_of(backend: CompiledModel, ids: Sequence[int], places: Sequence[int]) -> dict[int, NDArray[np.float32]]:
    """The residual stream (T, D) of a text before sub-layer `place` for each place (2 L: after the last one).

    Sub-layers are counted as in `bridges.place_of`. The text is the backend's sequence afterwards: its keys and values lie at
    positions 0..T-1 of the cache, and are committed.
    """
    import torch

    from decoding.lowbit.kernels import run_layers

    n_layers, n_rows = backend.info.n_layers, len(ids)
    backend.begin(n_rows + _CHAIN)
    cache, sizes, layers, (cos, sin) = backend.compiled_parts()
    positions = np.arange(n_rows, dtype=np.int64)
    paths = np.repeat(positions[None], n_rows, axis=0)
    none = np.zeros(n_rows, dtype=np.int64)
    scores = np.empty((sizes.n_heads // sizes.n_key_heads, -(-n_rows // 16) * 16 + 16), dtype=np.float32)
    found: dict[int, NDArray[np.float32]] = {}
    with torch.inference_mode():
        rows = backend.embedded(torch.tensor([list(ids)]))
        at = 0
        for place in sorted({*places, 2 * n_layers}):
            kept = np.zeros(2 * n_layers, dtype=np.bool_)
            kept[at:place] = True
            attention, mlp = np.ascontiguousarray(kept.reshape(n_layers, 2).T)
            run_layers(
                rows, layers, sizes, cache.keys, cache.values, 0, positions, none, cos, sin, positions, paths, positions,
                attention, mlp, scores,
            )  # fmt: skip
            at = place
            if place in places:
                found[place] = rows.copy()
        cache.commit(n_rows)
    return found

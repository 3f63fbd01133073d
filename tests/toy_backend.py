"""A language model that is a seeded hash of the last tokens: exact, instant, with every seam of a real backend.

Its logits depend on the last `order` tokens only and are float64. A plan adds noise that grows with the skipped share, so
that drafts are right sometimes. Scratch and committed entries are kept as a KV cache keeps them: whoever verifies from a
wrong position, or trusts a draft's entries, gets another text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import torch

from decoding.backend import FULL, BackendInfo, Budget, Chain, CostTable, Prefill, SkipSet, Wants
from decoding.backends.rows import TorchRows

COSTS = CostTable(
    unit_s=0.01,
    verify=((1, 1.0), (2, 1.05), (4, 1.1), (8, 1.3), (16, 1.9)),
    fixed=0.1,
    attention=0.05,
    mlp=0.0625,
    context=64,
    machine="toy",
)


class ToyBackend:
    """Implements StepBackend. `sharpness` scales the logits; `period` > 0 makes the text repeat itself now and then."""

    def __init__(
        self,
        vocab_size: int = 32,
        *,
        n_layers: int = 8,
        order: int = 3,
        sharpness: float = 4.0,
        noise: float = 2.0,
        seed: int = 0,
        costs: CostTable = COSTS,
    ) -> None:
        self._info = BackendInfo("toy", n_layers, vocab_size, 8, 1 << 20, "cpu", "float64", batch_invariant=True)
        self._order, self._sharpness, self._noise, self._seed, self._costs = order, sharpness, noise, seed, costs
        self._tokens: list[int] = []  # slot -> token; the "keys and values"
        self._exact: list[bool] = []  # slot -> written by a full step
        self._n = 0
        self._capacity = 0
        self.n_steps = 0
        """Full steps since the prefill."""
        self.searches: list[tuple[int, Budget]] = []
        """Committed tokens at each search for skip sets, and what it was asked."""

    @property
    def info(self) -> BackendInfo:
        return self._info

    @property
    def n(self) -> int:
        return self._n

    def logits_after(self, prefix: Sequence[int], plan: SkipSet = FULL) -> torch.Tensor:
        """(V,) float64: what the model says after `prefix`."""
        recent = tuple(prefix[-self._order :])
        logits = self._sharpness * _normal(self._info.vocab_size, (self._seed, recent))
        if plan:
            share = plan.share(self._info.n_layers)
            logits = logits + self._noise * share * _normal(self._info.vocab_size, (self._seed, recent, plan))
        return logits

    def forget(self) -> None:
        """It keeps nothing."""

    def prefill(self, ids: Sequence[int], *, capacity: int, wants: Wants = Wants()) -> Prefill:  # noqa: B008
        assert ids and capacity >= len(ids)
        self._tokens, self._exact = list(ids), [True] * len(ids)
        self._n, self._capacity, self.n_steps = len(ids), capacity, 0
        vector = None
        if wants.vector:
            vector = np.bincount(np.asarray(ids) % self._info.hidden_size, minlength=self._info.hidden_size).astype(np.float32)
        top_ids = None
        if wants.top_k:
            rows = torch.stack([self.logits_after(ids[: i + 1]) for i in range(len(ids))])
            top_ids = rows.topk(wants.top_k).indices.numpy()
        return Prefill(TorchRows(self.logits_after(ids)[None]), vector, top_ids)

    def step(
        self, ids: Sequence[int], *, plan: SkipSet = FULL, parents: Sequence[int] | None = None, offset: int = 0
    ) -> TorchRows:
        at = self._n + offset
        assert len(self._tokens) >= at, "a hole behind the committed tokens"
        assert at + len(ids) <= self._capacity, "beyond the reserved cache"
        assert all(self._exact[: self._n])
        self._tokens[at:] = ids
        self._exact[at:] = [not plan] * len(ids)
        if not plan:
            assert offset == 0 or all(self._exact[self._n : at]), "a full step on top of approximate entries"
            self.n_steps += 1
        rows = []
        for i in range(len(ids)):
            if parents is None:
                seen = self._tokens[: at + i + 1]
            else:
                assert offset == 0
                path = []
                node = i
                while node >= 0:
                    assert parents[node] < node
                    path.append(ids[node])
                    node = parents[node]
                seen = self._tokens[: self._n] + path[::-1]
            rows.append(self.logits_after(seen, plan))
        return TorchRows(torch.stack(rows))

    def draft_chain(
        self, pending: int, *, plan: SkipSet, max_tokens: int, go_on: Callable[[Sequence[float]], bool] | None = None
    ) -> Chain:
        tokens: list[int] = []
        probabilities: list[float] = []
        token = pending
        for i in range(max_tokens):
            ids, tops = self.step([token], plan=plan, offset=i).top(1)
            token = int(ids[0, 0])
            tokens.append(token)
            probabilities.append(float(tops[0, 0]))
            if go_on is not None and not go_on(probabilities):
                break
        return Chain(tuple(tokens), tuple(probabilities))

    def nearest_sets(self, pending: int, budget: Budget) -> list[tuple[int, SkipSet]]:
        """Sets that depend on the token: nothing is searched here."""
        n_rows = budget.most + 1
        assert self._n + n_rows <= self._capacity, "beyond the reserved cache"
        self._tokens[self._n :] = [pending] * n_rows
        self._exact[self._n :] = [False] * n_rows
        self.searches.append((self._n, budget))
        inner = [1 + (pending + i) % (self._info.n_layers - 2) for i in range(budget.most // budget.attention)]
        return [(budget.attention * k, SkipSet(tuple(inner[:k]))) for k in range(1, len(inner) + 1)]

    def commit(self, k: int, path: Sequence[int] | None = None) -> None:
        if path is not None:
            assert len(path) == k and list(path) == sorted(set(path))
            kept = [self._tokens[self._n + i] for i in path]
            self._tokens[self._n :] = kept
            self._exact[self._n :] = [True] * k
        assert self._n + k <= len(self._tokens) and all(self._exact[: self._n + k]), "committed what no full step wrote"
        self._n += k
        del self._tokens[self._n :], self._exact[self._n :]

    def costs(self) -> CostTable:
        return self._costs


@lru_cache(maxsize=1 << 16)
def _normal(n: int, key: object) -> torch.Tensor:
    """(n,) float64, drawn with a hash of the key as seed; not to be written to."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
    return torch.from_numpy(np.random.default_rng(int.from_bytes(digest, "big")).standard_normal(n))

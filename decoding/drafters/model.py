"""Another model of the same tokenizer drafts, one that costs less a step (Leviathan et al. 2023, arXiv 2211.17192).

It keeps its own keys and values, in step with the text: what was accepted of its drafts stays, the rest is written over.
It reads a text when it is first asked about it, so that a text for which it never pays costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from decoding.backend import CostTable, Rows, StepBackend, Wants
from decoding.drafters.drafter import NOTHING, Draft, Request
from decoding.drafters.hazard import Hazard
from decoding.drafters.lengths import Expected, LengthPolicy
from decoding.drafters.skip import chosen_token

if TYPE_CHECKING:
    import torch

MOST = 15
"""Tokens of a draft: with the pending one, sixteen rows."""
_BESIDE = 3
"""Runners-up of each drafted token that a tree may hold."""
_PIECE = 64
"""Tokens read at once when catching up: each has a row of logits."""
_AS_SURE_AS_IT_IS = Hazard((0.0, 1.0), (0.0, 1.0), (0.8,))
"""A draft's own probability taken for the chance that it is accepted, until something better is known."""


class ModelDrafter:
    """Chains, or trees of a chain and its runners-up, from a model of its own.

    Nothing is drafted beyond the context of the small model. What stays from text to text is what the policy keeps.

    Args:
        small: the drafting model; nobody else may use it while a text is written.
        costs: the table of the verifying backend; the small model's is measured here.
        policy: when a chain ends; None while one more token promises to pay, by the small model's own probabilities.
        tree: verify runners-up beside the chain (DySpec's greedy choice by joint probability, Xiong et al. 2024, section 3).
        n_tokens: of the verifier's vocabulary; the small model may have fewer or more rows of padding.
    """

    wants = Wants()

    def __init__(
        self,
        small: StepBackend,
        costs: CostTable,
        *,
        policy: LengthPolicy | None = None,
        tree: bool = False,
        n_tokens: int | None = None,
        name: str = "draft",
    ) -> None:
        self.name = name
        own = small.costs()
        self._small, self._costs = small, costs
        self._ratio = own.unit_s / costs.unit_s
        self._row = (own.v(_PIECE) / _PIECE) * self._ratio
        """Of a token that is read with many others, in units of the verifier."""
        self._policy = policy or Expected(_AS_SURE_AS_IT_IS, costs, self._ratio, MOST)
        self._tree = tree
        self._n_tokens = n_tokens or small.info.vocab_size
        self._begin()

    def _begin(self) -> None:
        self._committed: list[int] | None = None
        """Tokens that the small model has read of this text; None before it is asked."""
        self._scratch: list[int] = []
        """Drafted tokens behind them that it has read as well."""
        self._probabilities: tuple[float, ...] = ()
        self._open = True
        self.n_steps = 0
        """Tokens of the last draft's chain: steps of the small model."""

    @property
    def max_tokens(self) -> int:
        return MOST if self._tree else self._policy.max_tokens

    @property
    def confidences(self) -> tuple[float, ...]:
        """Of the last draft's chain."""
        return self._probabilities

    def step_cost(self, costs: CostTable, n_layers: int) -> float | None:
        """Of one drafted token, in units of the verifier's `costs`; None where this text is not drafted."""
        return self._ratio if self._open else None

    def entry_cost(self, text: Sequence[int]) -> float:
        """Of what the small model has to read before it can draft, one step apart, in units of the verifier."""
        behind = len(text) - len(self._committed or ()) - len(self._scratch) - 1
        return max(0, behind) * self._row

    def start(self, request: Request, backend: StepBackend) -> None:
        self._begin()
        self._sampler = request.sampler
        self._policy.start()
        self._capacity = min(self._small.info.context_tokens, len(request.prompt) + request.limit + self.max_tokens + 1)
        self._open = len(request.prompt) < self._capacity

    def propose(self, text: Sequence[int], room: int) -> Draft:
        return self.propose_chain(text, room, room)

    def propose_chain(self, text: Sequence[int], length: int, room: int) -> Draft:
        """As `propose`, the chain having `length` tokens at most; a tree may have runners-up beside it."""
        self._probabilities, self.n_steps = (), 0
        most = min(length, room, self._policy.max_tokens, self._capacity - len(text) + 1)
        if most < 1 or not self._open:
            self._open = self._open and len(text) <= self._capacity  # its context is full
            return NOTHING
        if any(token >= self._small.info.vocab_size for token in text[-(MOST + 1) :]):
            self._open = False  # a row of padding of the verifier's: the small model has no such token
            return NOTHING
        rows = self._read(text)
        prefix, probabilities = list(text), list[float]()
        beside: list[tuple[tuple[int, float], ...]] = []
        while True:
            token, probability = self._next(rows, prefix, beside)
            if token is None:
                break
            prefix.append(token)
            probabilities.append(probability)
            if len(probabilities) == most or not self._policy.go_on(probabilities):
                break
            rows = self._small.step([token], offset=len(self._scratch))
            self._scratch.append(token)
        tokens = tuple(prefix[len(text) :])
        self._probabilities, self.n_steps = tuple(probabilities), len(tokens)
        if not tokens:
            self._open = False  # it overflows
            return NOTHING
        return self._with_runners_up(tokens, beside, room) if self._tree else Draft(tokens, self.name)

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        if draft.tokens:
            self._policy.observe(self.n_steps, min(len(new) - 1, self.n_steps), self._probabilities)

    def _read(self, text: Sequence[int]) -> Rows:
        """Bring the small model up to date; its logits after the pending token, (1, V)."""
        small = self._small
        if self._committed is None:
            rows = small.prefill(text, capacity=self._capacity).last
        else:
            missing = text[len(self._committed) :]
            kept = 0
            # the last token is always read anew: its logits are wanted
            while kept < min(len(self._scratch), len(missing) - 1) and self._scratch[kept] == missing[kept]:
                kept += 1
            small.commit(kept)
            for at in range(kept, len(missing), _PIECE):
                rows = small.step(missing[at : at + _PIECE])
                small.commit(len(rows))
        self._committed, self._scratch = list(text), []
        return rows

    def _next(self, rows: Rows, prefix: Sequence[int], beside: list[tuple[tuple[int, float], ...]]) -> tuple[int | None, float]:
        """The next drafted token and its probability; None where the small model gives no numbers."""
        import math

        sampler = self._sampler
        if sampler.plain and rows.logits.shape[-1] <= self._n_tokens:
            ids, chances = rows.top(1 + (_BESIDE if self._tree else 0))
            found, probabilities = ids[-1].tolist(), chances[-1].tolist()
            if not math.isfinite(probabilities[0]):
                return None, 0.0
            beside.append(tuple(zip(found[1:], probabilities[1:], strict=True)))
            return found[0], probabilities[0]
        logits = _fitted(rows.logits[-1], self._n_tokens)
        if not math.isfinite(float(logits.max())):  # NaN included
            return None, 0.0
        token, probability = chosen_token(sampler, prefix, logits, looks=True)
        if self._tree:
            others = sampler.ruled(prefix, logits) if sampler.greedy else sampler.distribution(prefix, logits)
            shares = others.float().softmax(-1) if sampler.greedy else others
            best = shares.topk(min(_BESIDE + 1, len(shares)))
            pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
            beside.append(tuple((other, share) for other, share in pairs if other != token)[:_BESIDE])
        return token, probability if probability is not None else 0.0

    def _with_runners_up(self, chain: tuple[int, ...], beside: Sequence[Sequence[tuple[int, float]]], room: int) -> Draft:
        """The chain and those runners-up that promise more tokens than their rows cost."""
        alive, expected = 1.0, 1.0
        leaves: list[tuple[float, int, int]] = []
        for depth, (probability, others) in enumerate(zip(self._probabilities, beside, strict=True)):
            leaves += [(alive * share, depth - 1, token) for token, share in others]
            alive *= probability
            expected += alive
        tokens, parents = list(chain), list(range(-1, len(chain) - 1))
        spent = len(chain) * self._ratio
        rate = expected / (spent + self._costs.v(1 + len(chain)))
        for value, parent, token in sorted(leaves, reverse=True):
            size = len(tokens) + 1
            if size > min(room, self.max_tokens) or (expected + value) / (spent + self._costs.v(1 + size)) <= rate:
                break
            tokens.append(token)
            parents.append(parent)
            expected += value
            rate = expected / (spent + self._costs.v(1 + size))
        return Draft(tuple(tokens), self.name, None if len(tokens) == len(chain) else tuple(parents))


def _fitted(logits: torch.Tensor, n_tokens: int) -> torch.Tensor:
    """(V,) of the small model with as many entries as the verifier has tokens: padding goes, or is impossible."""
    import torch

    if len(logits) >= n_tokens:
        return logits[:n_tokens]
    return torch.cat([logits, logits.new_full((n_tokens - len(logits),), float("-inf"))])

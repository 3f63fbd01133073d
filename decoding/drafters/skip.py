"""The model drafts for itself with some sub-layers left out (Self-SD, Zhang et al. 2024, arXiv 2309.08168).

The plan is one for all texts, or routed: chosen from the request, as KNN-SSD does by the prompt's nearest anchor (arXiv
2505.16162). Drafting steps write approximate keys and values behind the committed ones; verification writes them again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from decoding.backend import FULL, CostTable, Rows, SkipSet, StepBackend, Wants
from decoding.drafters.affordable import Guard
from decoding.drafters.drafter import NOTHING, Draft, Request
from decoding.drafters.lengths import LengthPolicy
from decoding.sampling import Sampler

if TYPE_CHECKING:
    import torch

Router = Callable[[Request], SkipSet]


@dataclass(frozen=True, slots=True, eq=False)
class ModelChain:
    """Drafted tokens with the draft model's own probabilities of them."""

    tokens: tuple[int, ...] = ()
    probabilities: tuple[float, ...] = ()


class LayersLeftOut:
    """What drafters share that draft with the model itself, some sub-layers left out: the text's skip set and the last chain.

    Nothing here stays from text to text but what the policy keeps. Of `_start` and `_drafted` a subclass makes `start` and
    `propose`.
    """

    _backend: StepBackend
    _sampler: Sampler

    def __init__(self, policy: LengthPolicy) -> None:
        self._policy = policy
        self._plan: SkipSet = FULL
        self._last = ModelChain()

    @property
    def max_tokens(self) -> int:
        return self._policy.max_tokens

    @property
    def plan(self) -> SkipSet:
        """The current text's; empty where nothing is left out, so that nothing is drafted."""
        return self._plan

    @property
    def confidences(self) -> tuple[float, ...]:
        """Of the last draft's tokens; empty when neither the policy nor the backend had to look."""
        return self._last.probabilities

    @property
    def n_steps(self) -> int:
        """Tokens of the last draft: steps of the skipped model."""
        return len(self._last.tokens)

    def _start(self, request: Request, backend: StepBackend, plan: SkipSet) -> None:
        self._backend, self._sampler, self._plan, self._last = backend, request.sampler, plan, ModelChain()
        self._policy.start()

    def _drafted(self, text: Sequence[int], most: int) -> tuple[int, ...]:
        """The chain of up to `most` tokens under the current plan, kept as the last one; empty where the model overflows."""
        go_on = self._policy.go_on if self._policy.looks else None
        self._last = draft_chain(self._backend, self._sampler, self._plan, text, most, go_on)
        return self._last.tokens


class SkipDrafter(LayersLeftOut):
    """Chains from the model under a skip set. What stays from text to text is what the policy keeps, and the guard's account.

    Nothing is drafted for a text whose router returns the empty set. With `costs`, drafts are cut to what a `Guard` affords.

    Args:
        plan: a skip set, or a router; a router may read `request.prefill.vector`.
        policy: how many tokens; one drafter, one policy.
        costs: the backend's table; None drafts whether it pays or not, as the published methods do.
    """

    def __init__(
        self,
        plan: SkipSet | Router,
        policy: LengthPolicy,
        name: str = "skip",
        costs: CostTable | None = None,
    ) -> None:
        super().__init__(policy)
        self._name = name
        self._router: Router = (lambda request: plan) if isinstance(plan, SkipSet) else plan
        self._wants = Wants(vector=not isinstance(plan, SkipSet))
        self._costs = costs
        self._guard = Guard()

    @property
    def name(self) -> str:
        return self._name

    @property
    def wants(self) -> Wants:
        return self._wants

    @property
    def policy(self) -> LengthPolicy:
        return self._policy

    def step_cost(self, costs: CostTable, n_layers: int) -> float | None:
        """Of one drafted token, in units of `costs`; None where this text is not drafted."""
        return costs.c(self._plan, n_layers) if self._plan else None

    def entry_cost(self, text: Sequence[int]) -> float:
        """Of getting ready to draft: nothing, as the model has read the text."""
        return 0.0

    def start(self, request: Request, backend: StepBackend) -> None:
        self._start(request, backend, self._router(request))

    def propose_chain(self, text: Sequence[int], length: int, room: int) -> Draft:
        """As `propose`, `length` tokens at most."""
        return self.propose(text, min(length, room))

    def propose(self, text: Sequence[int], room: int) -> Draft:
        self._last = ModelChain()
        most = self._policy.plan(room) if self._plan else 0
        while most > 0 and not self._guard.affords(self._cost(most) - 1):
            most -= 1
        if most < 1:
            return NOTHING
        if not self._drafted(text, most):
            self._plan = FULL  # it overflows where nothing has been drafted yet: no use for this text
            return NOTHING
        return Draft(self._last.tokens, self._name)

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        if not draft.tokens:
            self._guard.passed(len(new))
            return
        self._policy.observe(len(draft), len(new) - 1, self._last.probabilities)
        self._guard.drafted(len(new), self._cost(len(draft)))

    def _cost(self, n_drafted: int) -> float:
        """Of a round, in units; without a table it passes for a plain one."""
        if self._costs is None:
            return 1.0
        return n_drafted * self._costs.c(self._plan, self._backend.info.n_layers) + self._costs.v(n_drafted + 1)


def draft_chain(
    backend: StepBackend,
    sampler: Sampler,
    plan: SkipSet,
    text: Sequence[int],
    most: int,
    go_on: Callable[[Sequence[float]], bool] | None,
) -> ModelChain:
    """Up to `most` (at least 1) tokens after `text` from the model under `plan`, chosen as the sampler chooses.

    Rules and temperature are applied at each position, on the text drafted so far. A sampled draft uses the random numbers
    that the verifier will use, so that both choose the same token wherever their distributions nearly agree. The token at
    which `go_on` stops is returned as well. The chain ends early, perhaps empty, where the skipped model overflows.
    """
    if sampler.plain:
        chain = backend.draft_chain(text[-1], plan=plan, max_tokens=most, go_on=go_on)
        return ModelChain(chain.tokens, chain.probabilities)
    prefix = list(text)
    probabilities: list[float] = []
    for i in range(most):
        logits = backend.step([prefix[-1]], plan=plan, offset=i).logits[0]
        if not math.isfinite(float(logits.max())):  # NaN included
            break
        token, probability = chosen_token(sampler, prefix, logits, go_on is not None)
        prefix.append(token)
        if probability is not None:
            probabilities.append(probability)
        if go_on is not None and not go_on(probabilities):
            break
    return ModelChain(tuple(prefix[len(text) :]), tuple(probabilities))


def chosen_token(
    sampler: Sampler,
    prefix: Sequence[int],
    logits: torch.Tensor,
    looks: bool,
) -> tuple[int, float | None]:
    """The token that a drafting model chooses and, if it `looks`, its probability."""
    token = sampler.choose(prefix, logits)
    if not looks:
        return token, None
    if sampler.greedy:
        return token, float(sampler.ruled(prefix, logits).float().softmax(-1)[token])
    return token, float(sampler.distribution(prefix, logits)[token])

"""CLaSp (Chen et al. 2025, arXiv 2505.24196): the model drafts for itself, its skip set chosen anew from the text so far.

Every `every` tokens the pending token passes through the model once in many rows (`decoding.backends.nearest_sets`), and the
set whose last state is nearest to the whole model's drafts from there on. No calibration, no search over texts. As in KnapSpec
(arXiv 2602.20217) attention and MLP sub-layers are chosen apart and weigh what they cost, attention more behind a longer text,
so that a share of a step's cost is saved, not of its layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from data.types import Strict
from decoding.backend import FULL, Budget, ChoosingBackend, CostTable, PartCosts, Rows, StepBackend, Wants
from decoding.drafters.drafter import NOTHING, Draft, Request
from decoding.drafters.lengths import LengthPolicy, Threshold
from decoding.drafters.skip import LayersLeftOut, ModelChain

_HEAVIEST = 5
"""Of two sub-layers the dearer weighs at most so many times the other (KnapSpec's code): a row for each unit."""


@dataclass(frozen=True, slots=True)
class ClaspSettings(Strict):
    """How much is left out, and how often that is chosen anew."""

    share: float = 0.4
    """Of what the sub-layers between first and last layer cost. CLaSp leaves out half of an 8B model and more; `smollm2`
    says the same next token in 0.6 of places with 0.4, in 0.36 with 0.5 (LOG.md)."""
    every: int = 64
    """Tokens, as in KnapSpec's code. A search costs 2 to 3 steps; a set that is 8 tokens old agrees hardly more often than one
    of 96 tokens, so sooner is not worth its cost."""


class ClaspDrafter(LayersLeftOut):
    """Chains from the model without the sub-layers that matter least here. Nothing stays from text to text.

    Args:
        parts: what sub-layers and searches cost on this backend.
        costs: the backend's table.
        n_layers: of the model.
        policy: how many tokens; CLaSp stops below 0.7.
    """

    name = "clasp"
    wants = Wants()

    def __init__(
        self,
        parts: PartCosts,
        costs: CostTable,
        n_layers: int,
        *,
        policy: LengthPolicy | None = None,
        settings: ClaspSettings = ClaspSettings(),
    ) -> None:
        super().__init__(policy or Threshold(stop_prob=0.7, max_tokens=12))
        self._parts, self._costs, self._n_layers, self._settings = parts, costs, n_layers, settings
        self._chosen_at = 0
        self._gives_up = False

    @property
    def max_tokens(self) -> int:
        """Rows of a search lie behind the text as drafts do."""
        return max(self._policy.max_tokens, self._most((1 + _HEAVIEST) * self._inner))

    def step_cost(self, costs: CostTable, n_layers: int) -> float | None:
        """Of one drafted token, in units of `costs`; None where there is nothing to leave out."""
        budget = self._budget(self._n_prompt)
        if budget.most < 1:
            return None
        a_layer = self._parts.attention(self._n_prompt) + self._parts.mlp
        return costs.fixed + a_layer * (n_layers - self._inner * budget.most / (self._inner * (budget.attention + budget.mlp)))

    def entry_cost(self, text: Sequence[int]) -> float:
        """Of a search, where one is due."""
        return self._parts.search if self._is_due(text) else 0.0

    def start(self, request: Request, backend: StepBackend) -> None:
        self._start(request, backend, FULL)  # no set is chosen before the first draft
        self._chooser: ChoosingBackend = backend  # type: ignore[assignment]  # `decoding.methods` has asked `can_choose`
        self._n_prompt, self._gives_up = len(request.prompt), False

    def propose(self, text: Sequence[int], room: int) -> Draft:
        return self.propose_chain(text, self._policy.max_tokens, room)

    def propose_chain(self, text: Sequence[int], length: int, room: int) -> Draft:
        """As `propose`, `length` tokens at most."""
        self._last = ModelChain()
        most = min(length, self._policy.plan(room))
        budget = self._budget(len(text))
        if most < 1 or budget.most < 1 or self._gives_up:
            return NOTHING
        if self._is_due(text):
            sets = self._chooser.nearest_sets(text[-1], budget)
            self._gives_up = not sets  # whole layers may weigh more than is to be saved
            self._plan, self._chosen_at = sets[-1][1] if sets else FULL, len(text)
        if not self._plan:
            return NOTHING
        if not self._drafted(text, most):
            self._gives_up = True  # it overflows where nothing has been drafted yet: no use for this text
            return NOTHING
        return Draft(self._last.tokens, self.name)

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        if draft.tokens:
            self._policy.observe(len(draft), len(new) - 1, self._last.probabilities)

    @property
    def _inner(self) -> int:
        """Layers of which something may be left out."""
        return max(0, self._n_layers - 2)

    def _is_due(self, text: Sequence[int]) -> bool:
        return not self._plan or len(text) - self._chosen_at >= self._settings.every

    def _most(self, units: int) -> int:
        return round(self._settings.share * units)

    def _budget(self, n: int) -> Budget:
        """For a text of n tokens."""
        attention, mlp = max(self._parts.attention(n), 1e-9), max(self._parts.mlp, 1e-9)
        heavier = min(_HEAVIEST, round(max(attention, mlp) / min(attention, mlp)))
        weights = (heavier, 1) if attention > mlp else (1, heavier)
        return Budget(*weights, self._most(sum(weights) * self._inner))

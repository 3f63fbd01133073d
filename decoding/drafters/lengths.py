"""How long a draft should be: a policy of its own, apart from who guesses. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from data.types import Strict
from decoding.backend import CostTable
from decoding.drafters.hazard import Hazard


class LengthPolicy(Protocol):
    """For chains drafted by a model. State, if any, is that of one drafter; `start` begins a new text."""

    @property
    def max_tokens(self) -> int: ...

    @property
    def looks(self) -> bool:
        """Whether `go_on` needs the probabilities; if not, a chain needs no word from the device until its end."""
        ...

    def start(self) -> None: ...

    def plan(self, room: int) -> int:
        """How many tokens to draft at most in this round; 0 for none."""
        ...

    def go_on(self, probabilities: Sequence[float]) -> bool:
        """Whether to draft another token after these (the draft's own probability of each of its tokens)."""
        ...

    def observe(self, drafted: int, accepted: int, probabilities: Sequence[float]) -> None: ...


class _Stateless:
    """The common part of policies that learn nothing from one round to the next."""

    __slots__ = ()

    @property
    def looks(self) -> bool:
        return True

    def start(self) -> None:
        pass

    def observe(self, drafted: int, accepted: int, probabilities: Sequence[float]) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Fixed(_Stateless, Strict):
    """Always `length` tokens (Leviathan et al. 2023)."""

    length: int = 4

    @property
    def max_tokens(self) -> int:
        return self.length

    @property
    def looks(self) -> bool:
        return False

    def plan(self, room: int) -> int:
        return min(self.length, room)

    def go_on(self, probabilities: Sequence[float]) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Threshold(_Stateless, Strict):
    """Stop after the first token below `stop_prob`, which is still verified (Self-SD section 3.3; KNN-SSD: 0.8 and 12)."""

    stop_prob: float = 0.8
    max_tokens: int = 12

    def plan(self, room: int) -> int:
        return min(self.max_tokens, room)

    def go_on(self, probabilities: Sequence[float]) -> bool:
        return probabilities[-1] >= self.stop_prob


@dataclass(frozen=True, slots=True)
class Expected(_Stateless, Strict):
    """Draft on while the next token raises the expected tokens per cost of the round (decoding note, section 1).

    With S = P(all drafted so far are accepted) by the hazard and a = its mean acceptance at the next depth, continue iff

        S * a / (c + v(k + 2) - v(k + 1))  >  (1 + sum of the S so far) / (k * c + v(k + 1))      after k tokens.

    With k = 0 this is the break-even of drafting at all: when one token does not pay, none is drafted.
    """

    hazard: Hazard
    costs: CostTable
    plan_cost: float
    """c of one draft step; for routed plans that of the dearest."""
    max_tokens: int = 16

    def plan(self, room: int) -> int:
        return min(self.max_tokens, room) if self.go_on(()) else 0

    def go_on(self, probabilities: Sequence[float]) -> bool:
        survival = tokens = 1.0
        for probability in probabilities:
            survival *= self.hazard(probability)
            tokens += survival
        drafted = len(probabilities)
        spent = drafted * self.plan_cost + self.costs.v(drafted + 1)
        more = self.plan_cost + self.costs.v(drafted + 2) - self.costs.v(drafted + 1)
        return survival * self.hazard.next(drafted) * spent > tokens * more

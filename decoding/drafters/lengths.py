"""How long a draft should be: a policy of its own, apart from who guesses. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from data.types import Strict


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


@dataclass(frozen=True, slots=True)
class Fixed(Strict):
    """Always `length` tokens (Leviathan et al. 2023)."""

    length: int = 4

    @property
    def max_tokens(self) -> int:
        return self.length

    @property
    def looks(self) -> bool:
        return False

    def start(self) -> None:
        pass

    def plan(self, room: int) -> int:
        return min(self.length, room)

    def go_on(self, probabilities: Sequence[float]) -> bool:
        return True

    def observe(self, drafted: int, accepted: int, probabilities: Sequence[float]) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Threshold(Strict):
    """Stop after the first token below `stop_prob`, which is still verified (Self-SD section 3.3; KNN-SSD: 0.8 and 12)."""

    stop_prob: float = 0.8
    max_tokens: int = 12

    @property
    def looks(self) -> bool:
        return True

    def start(self) -> None:
        pass

    def plan(self, room: int) -> int:
        return min(self.max_tokens, room)

    def go_on(self, probabilities: Sequence[float]) -> bool:
        return probabilities[-1] >= self.stop_prob

    def observe(self, drafted: int, accepted: int, probabilities: Sequence[float]) -> None:
        pass

"""Counts and seconds of one speculatively decoded text, under the names that vLLM's metrics use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from data.types import Strict


@dataclass(frozen=True, slots=True)
class SourceStats(Strict):
    """Drafts of one source (`skip`, `copy:prompt`, ...)."""

    source: str
    num_drafts: int
    num_draft_tokens: int
    num_accepted_tokens: int


@dataclass(frozen=True, slots=True)
class SpeculationStats(Strict):
    """A verify step is one pass of the whole model after the prefill, with or without drafted tokens.

    `num_accepted_tokens_per_pos[i]` counts rounds whose i-th drafted token (tree: depth i + 1) was accepted. Seconds are
    wall-clock; `bookkeeping_s` is what neither the model nor the drafter spent.
    """

    num_verify_steps: int = 0
    num_drafts: int = 0
    num_draft_tokens: int = 0
    num_accepted_tokens: int = 0
    num_accepted_tokens_per_pos: tuple[int, ...] = ()
    num_emitted_tokens: int = 0
    """Tokens of the text after the first, which the prefill gives."""
    by_source: tuple[SourceStats, ...] = ()
    draft_s: float = 0.0
    verify_s: float = 0.0
    bookkeeping_s: float = 0.0

    @property
    def mean_accepted_tokens(self) -> float:
        """Tokens of the text for each pass of the whole model, its own included; plain decoding has 1 (Spec-Bench)."""
        return self.num_emitted_tokens / self.num_verify_steps if self.num_verify_steps else 1.0

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted over drafted tokens; None when nothing was drafted."""
        return self.num_accepted_tokens / self.num_draft_tokens if self.num_draft_tokens else None

    def __add__(self, other: SpeculationStats) -> SpeculationStats:
        return total((self, other))


def total(parts: Sequence[SpeculationStats]) -> SpeculationStats:
    """The sums over several texts."""
    deepest = max((len(part.num_accepted_tokens_per_pos) for part in parts), default=0)
    per_pos = [0] * deepest
    sources: dict[str, list[int]] = {}
    for part in parts:
        for at, count in enumerate(part.num_accepted_tokens_per_pos):
            per_pos[at] += count
        for entry in part.by_source:
            sums = sources.setdefault(entry.source, [0, 0, 0])
            for i, count in enumerate((entry.num_drafts, entry.num_draft_tokens, entry.num_accepted_tokens)):
                sums[i] += count
    return SpeculationStats(
        num_verify_steps=sum(part.num_verify_steps for part in parts),
        num_drafts=sum(part.num_drafts for part in parts),
        num_draft_tokens=sum(part.num_draft_tokens for part in parts),
        num_accepted_tokens=sum(part.num_accepted_tokens for part in parts),
        num_accepted_tokens_per_pos=tuple(per_pos),
        num_emitted_tokens=sum(part.num_emitted_tokens for part in parts),
        by_source=tuple(SourceStats(source, *sums) for source, sums in sorted(sources.items())),
        draft_s=sum(part.draft_s for part in parts),
        verify_s=sum(part.verify_s for part in parts),
        bookkeeping_s=sum(part.bookkeeping_s for part in parts),
    )

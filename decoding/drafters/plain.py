"""No drafts: the reference that every method must equal, and the `greedy` of the comparison tables."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.backend import Rows, StepBackend, Wants
from decoding.drafters.drafter import NOTHING, Draft, Request


class NoDrafter:
    name = "greedy"
    wants = Wants()
    max_tokens = 0

    def start(self, request: Request, backend: StepBackend) -> None:
        pass

    def propose(self, text: Sequence[int], room: int) -> Draft:
        return NOTHING

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        pass

"""Skip decoding: tokens that the rules leave no choice about are not asked for one by one, but checked in one pass.

What a grounding forces (the rest of an evidence sentence, a citation marker) is certain before the model has seen it; the pass
is still needed, since its keys and values are, and its last row says how the text goes on.
"""

from __future__ import annotations

from collections.abc import Sequence

from decoding.backend import Rows, StepBackend, Wants
from decoding.drafters.drafter import Draft, Drafter, Request

LONGEST = 63
"""With the pending token a step of 64: longer ones cost as much a token and would only use more memory."""


class ForcedDrafter:
    """Drafts forced tokens, and where there are none, what `inner` drafts.

    Rounds with a forced draft are not those of `inner`: it is neither asked nor informed, so that its counts and accounts are
    about its own drafts and what it learns of a text it learns when it is asked next. Its state from text to text is its own.
    """

    def __init__(self, inner: Drafter) -> None:
        self._inner = inner
        self._mine = False

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def wants(self) -> Wants:
        return self._inner.wants

    @property
    def max_tokens(self) -> int:
        return max(LONGEST, self._inner.max_tokens)

    def start(self, request: Request, backend: StepBackend) -> None:
        self._sampler = request.sampler
        self._mine = False
        self._inner.start(request, backend)

    def propose(self, text: Sequence[int], room: int) -> Draft:
        forced = self._sampler.forced(text, min(room, LONGEST))
        self._mine = len(forced) > 0
        if self._mine:
            return Draft(tuple(forced), "forced")
        return self._inner.propose(text, room)

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        if not self._mine:
            self._inner.observe(draft, new, rows)

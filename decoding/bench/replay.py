"""End-to-end speed at a stated acceptance, without trained weights: drafts are the known text with some tokens made wrong.

The time is real (drafting pass, verification, bookkeeping); only the drafter's skill is assumed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from decoding.backend import Rows, SkipSet, StepBackend, Wants
from decoding.drafters.drafter import NOTHING, Draft, Request


class Replay:
    """Drafts `answer`'s own tokens, each wrong with probability 1 - `acceptance`. With a plan the skipped model runs for each
    draft as a layer-skip drafter's would, its guesses being thrown away."""

    name = "replay"
    wants = Wants()

    def __init__(self, answer: Sequence[int], acceptance: float, length: int, plan: SkipSet | None, seed: int) -> None:
        self.max_tokens = length
        self._answer, self._acceptance, self._plan, self._seed = answer, acceptance, plan, seed
        self._start(0, None)

    def _start(self, n_prompt: int, backend: StepBackend | None) -> None:
        self._n_prompt, self._backend = n_prompt, backend
        self._random = random.Random(self._seed).random

    def start(self, request: Request, backend: StepBackend) -> None:
        self._start(len(request.prompt), backend)

    def propose(self, text: Sequence[int], room: int) -> Draft:
        at = len(text) - self._n_prompt
        truth = self._answer[at : at + min(self.max_tokens, room)]
        if not truth or self._backend is None:
            return NOTHING
        if self._plan is not None:
            self._backend.draft_chain(text[-1], plan=self._plan, max_tokens=len(truth))
        size = self._backend.info.vocab_size
        return Draft(tuple(t if self._random() < self._acceptance else (t + 1) % size for t in truth), self.name)

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        pass

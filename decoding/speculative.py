"""The round loop: draft, verify in one pass, keep what the model agrees with. Without drafts it is plain decoding."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from decoding.api import DecodeStats, Task
from decoding.backend import Prefill, StepBackend
from decoding.drafters.drafter import NOTHING, Draft, Drafter, Request, Source
from decoding.sampling import Sampler
from decoding.statistics import SourceStats, SpeculationStats
from decoding.verify import Accepted, accept


def decode(
    backend: StepBackend,
    drafter: Drafter,
    prompt: Sequence[int],
    sampler: Sampler,
    take: Callable[[int], bool],
    *,
    task: Task = "other",
    sources: tuple[Source, ...] = (),
    on_prefill: Callable[[Prefill], None] | None = None,
    on_round: Callable[[int], None] | None = None,
) -> DecodeStats:
    """Continue `prompt`, handing each new token to `take` until it returns False.

    At most `sampler.sampling.max_new_tokens` tokens are handed over. Tokens that a round gives after the one at which
    `take` ended the text are dropped and not counted. `on_round` gets the tokens that each pass of the whole model gave to the
    text: 1 for the prefill, then those of each verify step.

    Raises StageError as the backend does: prompt beyond the context, no memory, NaN logits.
    """
    limit = sampler.sampling.max_new_tokens
    started = time.perf_counter()
    # Room for the prompt, the text, and the longest draft behind its last token.
    prefill = backend.prefill(prompt, capacity=len(prompt) + limit + drafter.max_tokens + 1, wants=drafter.wants)
    if on_prefill is not None:
        on_prefill(prefill)
    text = list(prompt)
    first = prefill.last.argmax()[0] if sampler.plain else sampler.choose(text, prefill.last.logits[0])
    prefilled = time.perf_counter()

    tally = Tally()
    text.append(first)
    going = take(first)
    if on_round is not None:
        on_round(1)
    if going and limit > 1:
        handed = time.perf_counter()
        drafter.start(Request(prompt, prefill, sampler, task, sources, limit), backend)
        tally.draft_s = time.perf_counter() - handed
        _rounds(backend, drafter, text, len(prompt) + limit, sampler, take, tally, on_round)
    ended = time.perf_counter()
    return DecodeStats(
        total_s=ended - started,
        prefill_s=prefilled - started,
        decode_s=ended - prefilled,
        n_drafted=tally.n_drafted,
        n_accepted=tally.n_accepted,
        n_verify=tally.n_verify,
        speculation=tally.stats(ended - prefilled),
    )


def _rounds(
    backend: StepBackend,
    drafter: Drafter,
    text: list[int],
    end: int,
    sampler: Sampler,
    take: Callable[[int], bool],
    tally: Tally,
    on_round: Callable[[int], None] | None,
) -> None:
    # numbers of the rejection rule: apart from those that choose tokens, lest a draw decides whether it is looked at
    fresh = random.Random(f"accept {sampler.sampling.seed}").random
    clock = time.perf_counter
    while True:
        t0 = clock()
        room = end - len(text) - 1  # one token of a round is the model's own
        draft = drafter.propose(text, room) if room > 0 else NOTHING  # no room: this round is a plain step
        assert len(draft) <= max(0, min(room, drafter.max_tokens)), f"{drafter.name} drafted {len(draft)} tokens, room {room}"
        t1 = clock()
        # The pending token goes first: its keys and values are not in the cache yet. Node k of a tree is row k + 1, so
        # parents move by one, and -1 becomes the pending token.
        if draft.parents is None:
            rows = backend.step([text[-1], *draft.tokens])
        else:
            rows = backend.step([text[-1], *draft.tokens], parents=[-1, *(parent + 1 for parent in draft.parents)])
        accepted = accept(draft, rows, text, sampler, fresh)
        t2 = clock()
        taken = 0
        going = True
        # The accepted part of the draft, then the model's own token: a round always gives at least one.
        for token in accepted.tokens:
            text.append(token)
            taken += 1
            going = take(token)
            if not going:
                break
        tally.add(draft, accepted, taken, t1 - t0, t2 - t1)
        if on_round is not None:
            on_round(taken)
        if not going or len(text) >= end:
            return
        # Only now may rows become part of the cache; of a tree the rows of the accepted path move together. The model's own
        # token stays pending.
        if draft.parents is None:
            backend.commit(len(accepted.tokens))
        else:
            backend.commit(len(accepted.tokens), path=[0, *(node + 1 for node in accepted.path)])
        t3 = clock()  # learning counts as drafting: it is the price of the drafts
        drafter.observe(draft, accepted.tokens, rows)
        tally.draft_s += clock() - t3


@dataclass(slots=True)
class Tally:
    """What one text's rounds add up to. Of texts written together each counts the passes that it took part in."""

    n_verify: int = 0
    n_drafts: int = 0
    n_drafted: int = 0
    n_accepted: int = 0
    n_emitted: int = 0
    per_pos: list[int] = field(default_factory=list)
    sources: dict[str, list[int]] = field(default_factory=dict)
    draft_s: float = 0.0
    verify_s: float = 0.0

    def add(self, draft: Draft, accepted: Accepted, taken: int, draft_s: float, verify_s: float) -> None:
        """`taken` tokens of the round are part of the text: fewer than accepted when it ended within them."""
        self.n_verify += 1
        self.n_emitted += taken
        self.draft_s += draft_s
        self.verify_s += verify_s
        if not draft.tokens:
            return
        kept = min(len(accepted.path), taken)  # the text may have ended inside of the draft
        self.n_drafts += 1
        self.n_drafted += len(draft)
        self.n_accepted += kept
        self.per_pos.extend([0] * (kept - len(self.per_pos)))
        for depth in range(kept):
            self.per_pos[depth] += 1
        sums = self.sources.setdefault(draft.source, [0, 0, 0])
        sums[0] += 1
        sums[1] += len(draft)
        sums[2] += kept

    def stats(self, decode_s: float) -> SpeculationStats:
        return SpeculationStats(
            num_verify_steps=self.n_verify,
            num_drafts=self.n_drafts,
            num_draft_tokens=self.n_drafted,
            num_accepted_tokens=self.n_accepted,
            num_accepted_tokens_per_pos=tuple(self.per_pos),
            num_emitted_tokens=self.n_emitted,
            by_source=tuple(SourceStats(source, *sums) for source, sums in sorted(self.sources.items())),
            draft_s=self.draft_s,
            verify_s=self.verify_s,
            bookkeeping_s=max(0.0, decode_s - self.draft_s - self.verify_s),
        )

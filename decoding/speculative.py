"""The round loop: draft, verify in one pass, keep what the model agrees with. Without drafts it is plain decoding."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from data.decoding_counts import DecodeStats, SourceStats, SpeculationStats
from decoding.api import Task
from decoding.backend import CostTable, Prefill, StepBackend
from decoding.drafters.drafter import NOTHING, Draft, Drafter, Request, Source
from decoding.sampling import Sampler
from decoding.verify import Accepted, accept

if TYPE_CHECKING:
    import torch

    OnLogits = Callable[[int, torch.Tensor], None]


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
    on_logits: OnLogits | None = None,
    costs: CostTable | None = None,
) -> DecodeStats:
    """Continue `prompt`, handing each new token to `take` until it returns False.

    At most `sampler.sampling.max_new_tokens` tokens are handed over. Tokens that a round gives after the one at which
    `take` ended the text are dropped and not counted. `on_round` gets the tokens that each pass of the whole model gave to the
    text: 1 for the prefill, then those of each verify step. `on_logits` gets each token, before `take` does, with the model's
    own logits (V,) behind the text before it: no rule has changed them. `costs` is the backend's table, to count by it what the
    passes cost.

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

    rounds: list[SpeculationStats] = []
    text.append(first)
    if on_logits is not None:
        on_logits(first, prefill.last.logits[0])
    going = take(first)
    if on_round is not None:
        on_round(1)
    if going and limit > 1:
        handed = time.perf_counter()
        drafter.start(Request(prompt, prefill, sampler, task, sources, limit), backend)
        rounds.append(SpeculationStats(draft_s=time.perf_counter() - handed))
        _rounds(backend, drafter, text, len(prompt) + limit, sampler, take, rounds, on_round, on_logits, costs)
    return text_stats(started, prefilled, time.perf_counter(), rounds)


def _rounds(
    backend: StepBackend,
    drafter: Drafter,
    text: list[int],
    end: int,
    sampler: Sampler,
    take: Callable[[int], bool],
    rounds: list[SpeculationStats],
    on_round: Callable[[int], None] | None,
    on_logits: OnLogits | None,
    costs: CostTable | None,
) -> None:
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
        accepted = accept(draft, rows, text, sampler)
        t2 = clock()
        taken = 0
        going = True
        # The accepted part of the draft, then the model's own token: a round always gives at least one.
        for row, token in zip((0, *(node + 1 for node in accepted.path)), accepted.tokens):
            text.append(token)
            taken += 1
            if on_logits is not None:
                on_logits(token, rows.logits[row])
            going = take(token)
            if not going:
                break
        cost = costs.v(1 + len(draft)) if costs is not None else 0.0
        rounds.append(round_stats(draft, accepted, taken, t1 - t0, t2 - t1, cost))
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
        rounds.append(SpeculationStats(draft_s=clock() - t3))


def round_stats(
    draft: Draft, accepted: Accepted, taken: int, draft_s: float, verify_s: float, cost: float = 0.0
) -> SpeculationStats:
    """Of one round. `taken` of its tokens are part of the text: fewer than accepted when the text ended within them. `cost` is
    that of the pass in plain steps, 0 where no table says it."""
    plain = SpeculationStats(
        num_verify_steps=1,
        num_emitted_tokens=taken,
        draft_s=draft_s,
        verify_s=verify_s,
        priced_tokens=taken if cost else 0,
        priced_cost=cost,
    )
    if not draft.tokens:
        return plain
    kept = min(len(accepted.path), taken)  # the text may have ended inside of the draft
    return replace(
        plain,
        num_drafts=1,
        num_draft_tokens=len(draft),
        num_accepted_tokens=kept,
        num_accepted_tokens_per_pos=(1,) * kept,
        by_source=(SourceStats(draft.source, 1, len(draft), kept),),
    )


def text_stats(started: float, prefilled: float, ended: float, rounds: Sequence[SpeculationStats]) -> DecodeStats:
    """Of a text, from readings of `time.perf_counter` and its rounds. Several texts written together each count the passes
    that they took part in."""
    all_of = SpeculationStats.total(rounds)
    rest = max(0.0, ended - prefilled - all_of.draft_s - all_of.verify_s)
    return DecodeStats(
        total_s=ended - started,
        prefill_s=prefilled - started,
        decode_s=ended - prefilled,
        speculation=replace(all_of, bookkeeping_s=rest),
    )

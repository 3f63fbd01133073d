"""Several texts at once: each pass reads the weights for one row or more of every text. Each text is what it would be alone.

Drafts are copies and what the rules force, since a row of one text competes with the rows of all others: each pass has the rows
that promise the most tokens for its cost, over all texts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from data.decoding_counts import DecodeStats, SpeculationStats
from decoding.backend import CostTable, ManyBackend, ManyTexts, Prefill
from decoding.drafters.copy import CopyDrafter
from decoding.drafters.drafter import NOTHING, Draft, Request, Source
from decoding.drafters.forced import LONGEST
from decoding.sampling import Sampler
from decoding.speculative import round_stats, text_stats
from decoding.verify import accept

MOST = 16
"""Texts that are written together: beyond that passes are bound by arithmetic, and a further text costs what it costs alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """One of the texts. `take` gets its tokens until it returns False; `ended` is called once, with what the text took."""

    prompt: Sequence[int]
    sampler: Sampler
    take: Callable[[int], bool]
    sources: tuple[Source, ...] = ()
    copies: bool = True
    """Whether copies are drafted for this text."""
    drafts_forced: bool = True
    ended: Callable[[DecodeStats], None] | None = None


class _Text:
    """A stream, and how far its text is."""

    def __init__(self, at: int, stream: Stream) -> None:
        self.at = at
        self.stream = stream
        self.text = list(stream.prompt)
        self.end = len(self.text) + stream.sampler.sampling.max_new_tokens
        self.going = True
        self.copier: CopyDrafter | None = None
        self.began = self.prefilled = 0.0
        """When its prompt was begun to be read, and when its first token came, by `time.perf_counter`."""
        self.rounds: list[SpeculationStats] = []
        self.forced: tuple[int, ...] = ()
        self.copied: Draft = NOTHING
        self.survival: tuple[float, ...] = ()
        self.stats: DecodeStats | None = None

    def guess(self) -> None:
        """Sets `forced`, or `copied` and the chances that its tokens are accepted."""
        room = self.end - len(self.text) - 1
        self.forced, self.copied, self.survival = (), NOTHING, ()
        if room < 1 or not self.begun:
            return
        if self.stream.drafts_forced:
            self.forced = tuple(self.stream.sampler.forced(self.text, min(room, LONGEST)))
        if self.forced or self.copier is None:
            return
        found = self.copier.candidate(self.text, room)
        if found is not None:
            self.copied, self.survival = found.draft(len(found.tokens)), found.survival

    @property
    def begun(self) -> bool:
        """Whether it has a token of its own. The first one is the prompt's: nothing is drafted for it, and its pass counts as
        reading, as it does for a text alone."""
        return len(self.text) > len(self.stream.prompt)

    def draft(self, length: int) -> Draft:
        if self.forced:
            return Draft(self.forced, "forced")
        return Draft(self.copied.tokens[:length], self.copied.source) if length else NOTHING

    def gained(self, tokens: Sequence[int]) -> int:
        """Hands tokens over until the text ends; how many it took."""
        taken = 0
        for token in tokens:
            self.text.append(token)
            taken += 1
            self.going = self.stream.take(token)
            if not self.going:
                break
        self.going = self.going and len(self.text) < self.end
        return taken


def decode_together(
    backend: ManyBackend,
    streams: Sequence[Stream],
    copiers: Sequence[CopyDrafter] = (),
    costs: CostTable | None = None,
    *,
    at_once: int | None = None,
) -> list[DecodeStats]:
    """Continue all prompts, each as `decoding.speculative.decode` would; without `costs` no copies are drafted.

    A text that ends leaves the passes; the others go on. With `at_once` only so many are written at a time, in their order,
    and the next one takes the place of each that ends. Times of a text are those from its prompt on until it ended, so that
    they overlap. `copiers` are as many as texts are written at a time, or none: each drafts for one text after the other.

    Raises StageError as the backend does.
    """
    started = time.perf_counter()
    limits = [stream.sampler.sampling.max_new_tokens for stream in streams]
    many = backend.together([stream.prompt for stream in streams], limits, at_once)
    texts = [_Text(at, stream) for at, stream in enumerate(streams)]
    waiting, live = list(texts), list[_Text]()
    free = list(copiers)
    while waiting or live:
        asking = waiting[: (at_once or len(texts)) - len(live)]
        n_admitted = many.admit([text.at for text in asking]) if asking else 0
        assert n_admitted or live, "there is room for one text where no other is"
        for text in waiting[:n_admitted]:
            text.began = started
            if free and text.stream.copies:
                text.copier = free.pop()
        live, waiting = live + waiting[:n_admitted], waiting[n_admitted:]
        _pass(backend, many, live, len(texts), costs)
        for text in live:
            if not text.going:
                many.leave(text.at)
                if text.copier is not None:
                    free.append(text.copier)
        live = [text for text in live if text.going]
        started = time.perf_counter()
    return [text.stats for text in texts if text.stats is not None]


def _pass(backend: ManyBackend, many: ManyTexts, live: Sequence[_Text], n_texts: int, costs: CostTable | None) -> None:
    began = time.perf_counter()
    for text in live:
        text.guess()
    lengths = best_lengths([text.survival for text in live], len(live) + sum(len(text.forced) for text in live), costs)
    drafts = [text.draft(length) for text, length in zip(live, lengths, strict=True)]
    asked = time.perf_counter()
    ids: list[Sequence[int]] = [()] * n_texts
    for text, draft in zip(live, drafts, strict=True):
        ids[text.at] = [text.text[-1], *draft.tokens]
    steps = many.step(ids)
    counts = [0] * n_texts
    for text, draft in zip(live, drafts, strict=True):
        rows, stream, begun = steps[text.at], text.stream, text.begun
        accepted = accept(draft, rows, text.text, stream.sampler)
        taken = text.gained(accepted.tokens)
        if begun:
            text.rounds.append(round_stats(draft, accepted, taken, asked - began, time.perf_counter() - asked))
        else:
            text.prefilled = time.perf_counter()
        if not text.going:
            text.stats = text_stats(text.began, text.prefilled, time.perf_counter(), text.rounds)
            if stream.ended is not None:
                stream.ended(text.stats)
            continue
        counts[text.at] = len(accepted.tokens)
        if text.copier is None:
            continue
        if not begun:
            text.copier.start(Request(stream.prompt, Prefill(rows), stream.sampler, sources=stream.sources), backend)
        elif not text.forced:
            text.copier.learn(accepted.tokens)
    many.commit(counts)


def best_lengths(survivals: Sequence[Sequence[float]], n_rows: int, costs: CostTable | None, margin: float = 0.05) -> list[int]:
    """How many tokens of each text's copy make the pass that promises the most tokens for its cost.

    Args:
        survivals: for each text the chance that its copy is accepted up to and including each token.
        n_rows: rows of the pass without copies; each gives a token.
        margin: share by which copies must promise more than the pass without them, for what the estimates miss.

    Tokens are added likeliest first, over all texts, so that every beginning is the best pass of its size.
    """
    chosen = [0] * len(survivals)
    if costs is None:
        return chosen
    expected = float(n_rows)
    best, best_rate = list(chosen), (1 + margin) * expected / costs.v(n_rows)
    heap = [(-survival[0], i) for i, survival in enumerate(survivals) if survival]
    heapify(heap)
    while heap:
        value, i = heappop(heap)
        chosen[i] += 1
        expected -= value
        n_rows += 1
        if expected / costs.v(n_rows) > best_rate:
            best, best_rate = list(chosen), expected / costs.v(n_rows)
        if chosen[i] < len(survivals[i]):
            heappush(heap, (-survivals[i][chosen[i]], i))
    return best

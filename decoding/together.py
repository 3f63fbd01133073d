"""Several texts at once: each pass reads the weights for one row or more of every text. Each text is what it would be alone.

Drafts are copies and what the rules force, since a row of one text competes with the rows of all others: each pass has the rows
that promise the most tokens for its cost, over all texts.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from data.decoding_counts import DecodeStats, SpeculationStats
from decoding.backend import CostTable, ManyBackend, ManyTexts, Prefill, Rows
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
    copier: CopyDrafter | None = None
    """Drafts copies for this text; None drafts none."""
    drafts_forced: bool = True
    ended: Callable[[DecodeStats], None] | None = None


class _Text:
    """A stream, and how far its text is."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.text = list(stream.prompt)
        self.end = len(self.text) + stream.sampler.sampling.max_new_tokens
        self.going = True
        self.rounds: list[SpeculationStats] = []
        self.fresh = random.Random(f"accept {stream.sampler.sampling.seed}").random
        self.forced: tuple[int, ...] = ()
        self.copied: Draft = NOTHING
        self.survival: tuple[float, ...] = ()
        self.stats: DecodeStats | None = None

    def guess(self) -> None:
        """Sets `forced`, or `copied` and the chances that its tokens are accepted."""
        room = self.end - len(self.text) - 1
        self.forced, self.copied, self.survival = (), NOTHING, ()
        if room < 1:
            return
        if self.stream.drafts_forced:
            self.forced = tuple(self.stream.sampler.forced(self.text, min(room, LONGEST)))
        if self.forced or self.stream.copier is None:
            return
        found = self.stream.copier.candidate(self.text, room)
        if found is not None:
            self.copied, self.survival = found.draft(len(found.tokens)), found.survival

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


def decode_together(backend: ManyBackend, streams: Sequence[Stream], costs: CostTable | None = None) -> list[DecodeStats]:
    """Continue all prompts, each as `decoding.speculative.decode` would; without `costs` no copies are drafted.

    A text that ends leaves the passes; the others go on. Times of a text are those until it ended, so that they overlap.

    Raises StageError as the backend does.
    """
    started = time.perf_counter()
    limits = [stream.sampler.sampling.max_new_tokens for stream in streams]
    many = backend.together([stream.prompt for stream in streams], limits)
    texts = [_Text(stream) for stream in streams]
    firsts = [_first(text, rows) for text, rows in zip(texts, many.last, strict=True)]
    prefilled = time.perf_counter()

    def close(text: _Text) -> None:
        text.stats = text_stats(started, prefilled, time.perf_counter(), text.rounds)
        if text.stream.ended is not None:
            text.stream.ended(text.stats)

    for text, rows, first in zip(texts, many.last, firsts, strict=True):
        text.gained([first])
        if not text.going:
            close(text)
        elif text.stream.copier is not None:
            stream = text.stream
            text.stream.copier.start(Request(stream.prompt, Prefill(rows), stream.sampler, sources=stream.sources), backend)
    while any(text.going for text in texts):
        _pass(many, texts, costs, close)
    return [text.stats for text in texts if text.stats is not None]


def _first(text: _Text, rows: Rows) -> int:
    sampler = text.stream.sampler
    return rows.argmax()[0] if sampler.plain else sampler.choose(text.text, rows.logits[0])


def _pass(many: ManyTexts, texts: Sequence[_Text], costs: CostTable | None, close: Callable[[_Text], None]) -> None:
    began = time.perf_counter()
    live = [text for text in texts if text.going]
    for text in live:
        text.guess()
    lengths = best_lengths([text.survival for text in live], len(live) + sum(len(text.forced) for text in live), costs)
    drafts = {id(text): text.draft(length) for text, length in zip(live, lengths, strict=True)}
    asked = time.perf_counter()
    steps = many.step([[t.text[-1], *drafts[id(t)].tokens] if t.going else () for t in texts])
    counts = [0] * len(texts)
    for i, (text, rows) in enumerate(zip(texts, steps, strict=True)):
        if not text.going:
            continue
        stream, draft = text.stream, drafts[id(text)]
        accepted = accept(draft, rows, text.text, stream.sampler, text.fresh)
        taken = text.gained(accepted.tokens)
        text.rounds.append(round_stats(draft, accepted, taken, asked - began, time.perf_counter() - asked))
        if not text.going:
            close(text)
            continue
        counts[i] = len(accepted.tokens)
        if stream.copier is not None and not text.forced:
            stream.copier.learn(accepted.tokens)
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

"""Several texts in one KV cache of the compiled low-bit step: how all prompts begin is there once, then each has a segment.

A row sees the shared beginning and its own segment, in the order of positions, so that its logits are the bits that it would
have alone. The keys and values of a token depend on the tokens before it and on nothing else: where two prompts begin alike
beyond what all share, those of one are copied to the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from data.errors import StageError
from decoding.backends.places import Places, Placing
from decoding.backends.rows import TorchRows
from decoding.backends.torch_backend import PREFILL_TOKENS
from decoding.machine import available_bytes

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

_LANES = 16
"""Keys are read in whole vectors: what lies behind the last segment must exist."""
_MOST_BYTES = 512 << 20
"""Of keys and values, where texts may wait for one another: a cache stays as large as it has ever been, and beyond eight texts
another one at the same time saves little."""
_WORTH_WAITING = 16
"""Tokens. For fewer that a prompt shares with one that is about to be read, no pass of its own is run to copy them."""


@dataclass(slots=True, eq=False)
class _Segment:
    """The cache from position `start` behind the shared beginning on: `size` positions, of which `length` are committed."""

    text: int
    start: int
    size: int
    length: int = 0
    live: bool = True

    @property
    def end(self) -> int:
        return self.start + self.size


class LowBitTexts:
    """Implements `decoding.backend.ManyTexts`."""

    def __init__(
        self, backend: Placing, prompts: Sequence[Sequence[int]], rooms: Sequence[int], at_once: int | None = None
    ) -> None:
        """Reads how all prompts begin. Raises StageError as `ManyBackend.together` says."""
        if not prompts or len(prompts) != len(rooms) or not all(prompts):
            raise ValueError("each text has a prompt of at least one token, and a room")
        self._backend = backend
        self._prompts = [np.array(prompt, dtype=np.int64) for prompt in prompts]
        # the last token of a prompt is for the first step, which gives its logits
        self._shared = min(min(_alike(self._prompts[0], other) for other in self._prompts), min(map(len, prompts)) - 1)
        self._sizes = [len(prompt) - self._shared + room for prompt, room in zip(prompts, rooms, strict=True)]
        self._segments: list[_Segment] = []
        """By their starts. Those of texts that have left stay until their place is taken: others may begin like them."""
        self._of: dict[int, _Segment] = {}
        """Those of the texts that are being written."""
        self._stepped = [0] * len(prompts)
        self._room = self._affordable(at_once)
        capacity = self._shared + self._room + _LANES
        for prompt in prompts:
            backend.check(prompt, max(capacity, len(prompt)))
        backend.begin(capacity, list(prompts[0][: self._shared]))

    def admit(self, texts: Sequence[int]) -> int:
        import torch

        unread: list[_Segment] = []
        n_admitted = 0
        with torch.inference_mode():
            for text in texts:
                start = self._gap(self._sizes[text])
                if start is None:
                    break
                segment = _Segment(text, start, self._sizes[text])
                read = max((self._copyable(segment, other) for other in self._segments if other not in unread), default=0)
                if max((self._copyable(segment, other, unread=True) for other in unread), default=0) >= read + _WORTH_WAITING:
                    self._read(unread)
                    unread = []
                self._take(segment)
                unread.append(segment)
                n_admitted += 1
            self._read(unread)
        return n_admitted

    def leave(self, text: int) -> None:
        self._of.pop(text).live = False

    def step(self, ids: Sequence[Sequence[int]]) -> tuple[TorchRows, ...]:
        import torch

        with torch.inference_mode():
            logits = self._run(dict(enumerate(ids)))
        self._stepped = [len(tokens) for tokens in ids]
        return tuple(TorchRows(rows) for rows in torch.split(logits, self._stepped))

    def commit(self, counts: Sequence[int]) -> None:
        for i, (count, stepped) in enumerate(zip(counts, self._stepped, strict=True)):
            if not 0 <= count <= stepped:
                raise ValueError(f"{count} tokens cannot be committed: the last step had {stepped} for text {i}")
            if count:
                self._of[i].length += count
        self._stepped = [0] * len(self._stepped)

    # --- room -------------------------------------------------------------------------------------------------------------

    def _affordable(self, at_once: int | None) -> int:
        """Positions behind the shared beginning: what is asked for, or with `at_once` what `_MOST_BYTES` and half of the free
        memory hold."""
        backend, sizes = self._backend, sorted(self._sizes, reverse=True)
        wanted = sum(sizes[:at_once])
        free = available_bytes()
        kept = self._shared + _LANES
        held = backend.bytes_for(backend.reserved)
        if at_once is not None:
            wanted = min(wanted, max(sizes[0], max(_MOST_BYTES, held) // backend.bytes_for(1) - kept))
        if free is None:
            return wanted
        if at_once is not None and backend.bytes_for(kept + wanted) > max(free // 2, held):
            wanted = min(wanted, max(sizes[0], max(free // 2, held) // backend.bytes_for(1) - kept))
        asking = f"{len(sizes)} texts together need" if at_once is None else "one of the texts alone needs"
        needed = backend.bytes_for(kept + wanted)
        if needed > free + held:
            raise StageError(
                "generate",
                f"{asking} {needed >> 20:,} MiB for the keys and values of {kept + wanted:,} tokens, and "
                f"{free >> 20:,} MiB of memory are free; ask for fewer at once, or lower max_new_tokens",
            )
        return wanted

    def _gap(self, size: int) -> int | None:
        """Where so many positions begin that no text uses, the first ones; None where there are none."""
        start = 0
        for segment in self._segments:
            if segment.live:
                if segment.start - start >= size:
                    return start
                start = segment.end
        return start if self._room - start >= size else None

    def _take(self, segment: _Segment) -> None:
        """Its place, with what can be copied there: the longest beginning that one of the others has."""
        best = max(self._segments, key=lambda other: self._copyable(segment, other), default=None)
        if best is not None and (count := self._copyable(segment, best)) and segment.start != best.start:
            self._backend.copy(self._shared + best.start, count, self._shared + segment.start)
        segment.length = 0 if best is None else self._copyable(segment, best)
        kept = [other for other in self._segments if other.end <= segment.start or segment.end <= other.start]
        self._segments = sorted([*kept, segment], key=lambda one: one.start)
        self._of[segment.text] = segment

    def _copyable(self, segment: _Segment, other: _Segment, *, unread: bool = False) -> int:
        """Tokens behind the shared beginning whose keys and values are those of `other`, all but the last one at most; with
        `unread`, once its prompt is read."""
        mine, theirs = self._prompts[segment.text], self._prompts[other.text]
        there = len(theirs) - 1 - self._shared if unread else other.length
        return min(_alike(mine, theirs) - self._shared, there, len(mine) - 1 - self._shared)

    # --- passes -----------------------------------------------------------------------------------------------------------

    def _read(self, segments: Sequence[_Segment]) -> None:
        """The prompts of these but for their last tokens, in as few passes as may be."""
        left = {one.text: self._prompts[one.text][self._shared + one.length : -1].tolist() for one in segments}
        while any(left.values()):
            room = PREFILL_TOKENS
            piece: dict[int, list[int]] = {}
            for text, tokens in left.items():
                piece[text], left[text] = tokens[:room], tokens[room:]
                room -= len(piece[text])
            self._run(piece, last_only=True)
            for text, tokens in piece.items():
                self._of[text].length += len(tokens)

    def _run(self, ids: Mapping[int, Sequence[int]], *, last_only: bool = False) -> torch.Tensor:
        import torch

        n = self._shared
        own: list[int] = []
        starts: list[int] = []
        for i, tokens in ids.items():
            if not tokens:
                continue
            segment = self._of[i]
            if segment.length + len(tokens) > segment.size:
                raise ValueError(f"text {i} has no room for {len(tokens)} more tokens")
            own += range(segment.length, segment.length + len(tokens))
            starts += [segment.start] * len(tokens)
        depths, gaps = np.array(own, dtype=np.int64), np.array(starts, dtype=np.int64)
        longest = int(depths.max()) + 1
        paths = np.repeat(np.arange(longest, dtype=np.int64)[None], len(depths), axis=0)
        places = Places(n, n + gaps + depths, gaps, n + depths, paths, depths)
        flat = torch.tensor([[token for text in ids.values() for token in text]])
        return self._backend.run_at(flat, places, last_only=last_only, may_spread=True)[0]


def _alike(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    """Tokens with which both begin."""
    n = min(len(one), len(other))
    differ = one[:n] != other[:n]
    return int(differ.argmax()) if differ.any() else n

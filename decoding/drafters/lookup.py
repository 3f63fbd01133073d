"""The published copy drafters, as baselines: prompt lookup and CopySpec, each with the rule of its authors' code.

Same drafts, another index: a dictionary from n-grams to their first place, instead of a search through the text each round.
For our own, which matches any length and extends repetitions, see `copy`.
"""

from __future__ import annotations

from collections.abc import Sequence

from decoding.backend import Rows, StepBackend, Wants
from decoding.drafters.drafter import NOTHING, Draft, Request


class _FirstPlaces:
    """n-gram of a growing text -> the position behind its first occurrence."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._read = n - 1
        self._behind: dict[tuple[int, ...], int] = {}

    def read(self, text: Sequence[int]) -> None:
        """Add what `text` has gained since the last call."""
        n, behind = self._n, self._behind
        for end in range(self._read + 1, len(text) + 1):
            behind.setdefault(tuple(text[end - n : end]), end)
        self._read = max(self._read, len(text))

    def behind_last(self, text: Sequence[int]) -> int:
        """Where the last n tokens of `text`, all of it read, first ended; len(text) if only now or if it is shorter."""
        return self._behind.get(tuple(text[-self._n :]), len(text))


_MOST = 10


class PromptLookup:
    """Prompt lookup decoding (Saxena 2023) as in Spec-Bench: the text's last 3, else 2, else 1 tokens are looked up, and
    the 10 tokens behind their earliest occurrence are the draft, provided there are 10.

    One defect is left out: where nothing matches, the code drafts a fixed dummy token and pays for verifying it.
    """

    name = "pld"
    wants = Wants()
    max_tokens = _MOST

    def __init__(self) -> None:
        self._places: list[_FirstPlaces] = []

    def start(self, request: Request, backend: StepBackend) -> None:
        self._places = [_FirstPlaces(n) for n in (3, 2, 1)]
        for places in self._places:
            places.read(request.prompt)

    def propose(self, text: Sequence[int], room: int) -> Draft:
        best = NOTHING
        for places in self._places:
            places.read(text)
            start = places.behind_last(text)
            # the earliest occurrence has the most tokens behind it: where it has too few, a later one has fewer
            if not best and start + self.max_tokens <= len(text):
                best = _copy(text, start, min(self.max_tokens, room), self.name)
        return best

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        pass


class CopySpec:
    """CopySpec (arXiv 2502.08923) without a draft model: the last 3 tokens, exactly, are looked up, and up to 10 tokens behind
    their first occurrence are the draft, as in the paper's CNN/DM runs.

    Left out: the hash without comparison of tokens, and acceptance by sampling against a target probability of 1.
    """

    name = "copyspec"
    wants = Wants()
    max_tokens = _MOST

    def start(self, request: Request, backend: StepBackend) -> None:
        self._places = _FirstPlaces(3)
        self._places.read(request.prompt)

    def propose(self, text: Sequence[int], room: int) -> Draft:
        self._places.read(text)
        return _copy(text, self._places.behind_last(text), min(self.max_tokens, room), self.name)

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        pass


def _copy(text: Sequence[int], start: int, length: int, source: str) -> Draft:
    tokens = tuple(text[start : start + length])
    return Draft(tokens, source) if tokens else NOTHING

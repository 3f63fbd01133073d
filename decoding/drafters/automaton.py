"""An online suffix automaton over token ids: where did the end of this text occur before, and what came next?

Blumer et al. 1985; the use for drafting is SAM-Decoding's (arXiv 2411.10666). Every state stands for a set of strings that
end at the same places. The state of the whole text has a suffix link to the longest suffix that also ends elsewhere: that
is the match, so nothing has to be followed along beside the construction. Counts of occurrences choose among continuations,
as in SuffixDecoding (arXiv 2411.04975).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_ROOT = 0
_MAX_LINKS = 32
"""Suffixes of a text whose counts are kept up for each token, longest first. Only a text that repeats itself within itself
has more (the same token thousands of times: one for each), and its counts of short strings fall behind."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """What followed a match. `tokens` is never empty."""

    tokens: tuple[int, ...]
    shares: tuple[float, ...]
    """For each token: of the earlier occurrences of all before it, the share that goes on with it; 1 if they agree."""
    match_length: int
    start: int
    """Position from which tokens[0] was read."""


class SuffixAutomaton:
    """Token ids (0 or more) of one or several sources; positions count from 0 over all of them, a separator taking one.

    About 2 states a token at most and, amortised, constant time for each. No match crosses a separator.
    """

    def __init__(self) -> None:
        self._next: list[dict[int, int]] = [{}]
        self._link = [-1]
        self._length = [0]
        self._count = [0]
        self._end = [-1]  # position of the last token of the newest known occurrence
        self._last = _ROOT
        self._n = 0
        self._n_separators = 0

    def __len__(self) -> int:
        """Tokens and separators so far: the position of the next one."""
        return self._n

    def extend(self, tokens: Sequence[int]) -> None:
        """Append to the current source."""
        for token in tokens:
            self._append(token)

    def separate(self) -> None:
        """End the current source: a symbol that occurs nowhere else."""
        self._n_separators += 1
        self._append(-self._n_separators)

    def continuation(self, max_tokens: int, behind: Sequence[int] = ()) -> Continuation | None:
        """Up to `max_tokens` tokens that followed the longest suffix with any continuation; None without a match.

        With `behind` the text is taken to have these tokens as well, which are not appended.

        At each token: the most frequent one after all before it, of equals the one that is most frequent after a shorter
        suffix, then the newest. A read stretch ends with its source, but where it reaches the end of the text it goes on
        into itself: a text that repeats with period p is continued with period p.
        """
        state, match_length = self._match(behind)
        if not state or max_tokens < 1:
            return None
        tokens: list[int] = []
        shares: list[float] = []
        while len(tokens) < max_tokens:
            followers = self._next[state]
            if not followers:
                break
            if len(followers) == 1:
                ((token, following),) = followers.items()
                share = 1.0
            else:
                token, following, share = self._choice(state)
            if token < 0:
                break
            tokens.append(token)
            shares.append(share)
            state = following
        start = self._end[state] - len(tokens) + 1
        if self._end[state] == self._n - 1 and not behind:  # read up to the end of the text
            period = len(tokens)
            for at in range(max_tokens - period):
                tokens.append(tokens[at])
                shares.append(1.0)
        return Continuation(tuple(tokens), tuple(shares), match_length, start)

    def _match(self, behind: Sequence[int]) -> tuple[int, int]:
        """The state of the longest earlier suffix that a token follows, and its length; the root if there is none."""
        state = self._link[self._last] if self._last else _ROOT
        length = self._length[state]
        for token in behind:
            while state and token not in self._next[state]:
                state = self._link[state]
                length = self._length[state]
            if (following := self._next[state].get(token)) is not None:
                state, length = following, length + 1
        while state and not any(token >= 0 for token in self._next[state]):
            state = self._link[state]
            length = self._length[state]
        return state, length

    def _choice(self, state: int) -> tuple[int, int, float]:
        """(token, following state, share of the occurrences) of the best follower."""
        shorter = self._next[self._link[state]]
        total = 0
        best, best_key = -1, (0, 0, -1)
        for token, following in self._next[state].items():
            if token < 0:
                continue
            count = self._count[following]
            total += count
            if count >= best_key[0]:
                key = (count, self._count[shorter[token]], self._end[following])
                if key > best_key:
                    best, best_key = token, key
        if best < 0:
            return -1, _ROOT, 0.0
        return best, self._next[state][best], best_key[0] / total

    def _append(self, token: int) -> None:
        follow, link, length = self._next, self._link, self._length
        new = len(follow)
        follow.append({})
        link.append(_ROOT)
        length.append(length[self._last] + 1)
        self._count.append(1)
        self._end.append(self._n)

        state = self._last
        while state >= 0 and token not in follow[state]:
            follow[state][token] = new
            state = link[state]
        if state >= 0:
            target = follow[state][token]
            if length[state] + 1 != length[target]:
                target = self._split(state, token, target)
            link[new] = target
        self._last = new

        counts, ends = self._count, self._end
        state = link[new]
        for _ in range(_MAX_LINKS):
            if not state:
                break
            counts[state] += 1
            ends[state] = self._n
            state = link[state]
        self._n += 1

    def _split(self, state: int, token: int, target: int) -> int:
        """A new state for those strings of `target` that are no longer than that of `state` and `token`."""
        clone = len(self._next)
        self._next.append(self._next[target].copy())
        self._link.append(self._link[target])
        self._length.append(self._length[state] + 1)
        self._count.append(self._count[target])
        self._end.append(self._end[target])
        self._link[target] = clone
        while state >= 0 and self._next[state].get(token) == target:
            self._next[state][token] = clone
            state = self._link[state]
        return clone

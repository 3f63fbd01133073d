"""Copies: what followed the last time the text ended like this, in the prompt, the answer, or texts written before.

Wikipedia writing repeats its evidence (names, dates, titles, quotations), and a copy costs nothing to draft. How far to
trust one is counted: acceptance by length of the match and by where the copy comes from.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from decoding.backend import CostTable, Rows, StepBackend, Wants
from decoding.drafters.automaton import SuffixAutomaton
from decoding.drafters.drafter import NOTHING, Draft, Request

PROMPT, OUTPUT = "prompt", "output"
"""Origins besides those that the request names."""
_BEHIND = " behind a draft"
"""Marks the counts of copies that go on from another drafter's guess."""

_BUCKETS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
_PRIOR = (0.35, 0.50, 0.60, 0.68, 0.76, 0.82, 0.88, 0.92, 0.95)
"""Assumed acceptance of a token for matches of at least _BUCKETS tokens, before anything is counted: rough values for text
written from evidence, which weigh as much as _PRIOR_WEIGHT observations."""
_PRIOR_WEIGHT = 4.0
_MOST = 0.995
_GROWTH = 2
"""Tokens of a draft for each token of its match, where nobody knows what they cost."""


class CopyAcceptance:
    """Counts of accepted copies, and the probabilities that follow.

    Acceptance of one token: Beta posterior mean for its bucket and origin, whose prior is the bucket's over all origins,
    whose prior is a constant. A token is accepted only if those before it were: survival is a product.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[str, int], list[float]] = {}
        self._pooled = [[0.0, 0.0] for _ in _BUCKETS]
        self._known: dict[tuple[str, int], float] = {}

    def probability(self, match_length: int, origin: str) -> float:
        """That the next token of a copy is accepted, `match_length` tokens before it being the same as at its source."""
        key = (origin, _bucket(match_length))
        if key not in self._known:
            tried, accepted = self._pooled[key[1]]
            prior = (accepted + _PRIOR_WEIGHT * _PRIOR[key[1]]) / (tried + _PRIOR_WEIGHT)
            tried, accepted = self._counts.get(key, (0.0, 0.0))
            # a sum of shares can stay below the number accepted
            self._known[key] = min(_MOST, (accepted + _PRIOR_WEIGHT * prior) / (tried + _PRIOR_WEIGHT))
        return self._known[key]

    def survival(self, match_length: int, origin: str, shares: Sequence[float]) -> tuple[float, ...]:
        """Probability that the copy is accepted up to and including each token."""
        alive = 1.0
        survival = []
        for at, share in enumerate(shares):
            alive *= share * self.probability(match_length + at, origin)
            survival.append(alive)
        return tuple(survival)

    def add(self, match_length: int, origin: str, share: float, accepted: bool) -> None:
        """One token of a copy was right or wrong, all before it being right.

        Behind a match of m tokens, the i-th token (from 0) counts as one of m + i, and with its share: 1 where all earlier
        occurrences agree (`automaton.Continuation`).
        """
        bucket = _bucket(match_length)
        for sums in (self._counts.setdefault((origin, bucket), [0.0, 0.0]), self._pooled[bucket]):
            sums[0] += share
            sums[1] += accepted
        self._known.clear()


def _bucket(match_length: int) -> int:
    return bisect_right(_BUCKETS, match_length) - 1


@dataclass(frozen=True, slots=True)
class CopyCandidate:
    """A copy that could be drafted, whole or its beginning. `tokens` is never empty."""

    tokens: tuple[int, ...]
    match_length: int
    origin: str
    """Where the first token is read: `prompt`, `output`, or a source's origin."""
    survival: tuple[float, ...]
    """Probability that each token is accepted, all before it included; their sum is the expected accepted length."""
    shares: tuple[float, ...]

    def draft(self, length: int) -> Draft:
        return Draft(self.tokens[:length], f"copy:{self.origin}") if length > 0 else NOTHING


class CopyDrafter:
    """Drafts what followed the longest earlier occurrence of the text's end, in `request.sources`, prompt and answer.

    The index is made anew for each text; acceptance statistics stay. They are learned in every
    round from what the text became, whether or not the copy was drafted.

    With `costs` a draft has the length that promises the most tokens for its cost, which may be none. Without, it has
    `_GROWTH` tokens for each token of the match.

    Args:
        max_tokens: the longest draft.
        min_match: shorter matches give no draft.
    """

    name = "copy"
    wants = Wants()

    def __init__(
        self,
        max_tokens: int = 12,
        min_match: int = 2,
        *,
        costs: CostTable | None = None,
    ) -> None:
        self.max_tokens = max_tokens
        self._min_match = min_match
        self._verify_costs = [costs.v(1 + length) for length in range(max_tokens + 1)] if costs else None
        self._acceptance = CopyAcceptance()
        self._begin(())

    def start(self, request: Request, backend: StepBackend) -> None:
        self._begin(request.prompt, [(source.origin, source.tokens) for source in request.sources])

    def _begin(self, prompt: Sequence[int], sources: Sequence[tuple[str, Sequence[int]]] = ()) -> None:
        automaton = SuffixAutomaton()
        self._starts: list[int] = []  # position -> origin: that of the last start at or before it
        self._origins: list[str] = []
        for origin, tokens in sources:
            self._starts.append(len(automaton))
            self._origins.append(origin)
            automaton.extend(tokens)
            automaton.separate()
        self._starts += [len(automaton), len(automaton) + len(prompt)]
        self._origins += [PROMPT, OUTPUT]
        automaton.extend(prompt)
        self._automaton = automaton
        self._read = len(prompt)
        self._candidate: CopyCandidate | None = None

    def candidate(self, text: Sequence[int], room: int) -> CopyCandidate | None:
        """The copy for `text`, up to `max_tokens` and `room` tokens; None without a match of `min_match`.

        Reads what `text` has gained since the last call; `learn` compares with the candidate of the last call.
        """
        self._automaton.extend(text[self._read :])
        self._read = len(text)
        self._candidate = self._found((), room)
        return self._candidate

    def candidate_behind(self, drafted: Sequence[int], room: int) -> CopyCandidate | None:
        """The copy for the text of the last `candidate` with `drafted`, another drafter's guess, behind it.

        Its chances are given that all of `drafted` is right. They are counted apart (`learn_behind`): a guess that a copy
        agrees with is no text that the model has chosen.
        """
        return self._found(drafted, room)

    def _found(self, drafted: Sequence[int], room: int) -> CopyCandidate | None:
        found = self._automaton.continuation(min(self.max_tokens, room), drafted)
        if found is None or found.match_length < self._min_match:
            return None
        origin = self._origins[bisect_right(self._starts, found.start) - 1]
        counted = origin + _BEHIND if drafted else origin
        survival = self._acceptance.survival(found.match_length, counted, found.shares)
        return CopyCandidate(found.tokens, found.match_length, origin, survival, found.shares)

    @property
    def copied(self) -> CopyCandidate | None:
        """The candidate of this round, until `learn` or `observe`."""
        return self._candidate

    def propose(self, text: Sequence[int], room: int) -> Draft:
        candidate = self.candidate(text, room)
        return candidate.draft(self._length(candidate)) if candidate else NOTHING

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        self.learn(new)

    def learn(self, new: Sequence[int]) -> None:
        """The text went on with `new` after the last candidate was made, whoever drafted them."""
        candidate, self._candidate = self._candidate, None
        if candidate is not None:
            self._count(candidate, candidate.origin, new)

    def learn_behind(self, candidate: CopyCandidate, new: Sequence[int]) -> None:
        """All that `candidate_behind` was asked about was right, and the text went on with `new`."""
        self._count(candidate, candidate.origin + _BEHIND, new)

    def _count(self, candidate: CopyCandidate, origin: str, new: Sequence[int]) -> None:
        for at, (token, share, actual) in enumerate(zip(candidate.tokens, candidate.shares, new)):
            self._acceptance.add(candidate.match_length + at, origin, share, token == actual)
            if token != actual:
                return

    def _length(self, candidate: CopyCandidate) -> int:
        if self._verify_costs is None:
            return min(len(candidate.tokens), _GROWTH * candidate.match_length)
        best, best_rate, expected = 0, 1 / self._verify_costs[0], 1.0
        for length, alive in enumerate(candidate.survival, 1):
            expected += alive
            rate = expected / self._verify_costs[length]
            if rate > best_rate:
                best, best_rate = length, rate
        return best

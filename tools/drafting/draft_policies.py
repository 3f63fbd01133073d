"""Rules for what to draft, to compare on recorded texts with the mix's own (decoding note, sections 2.8, 2.9 and 2.11)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from decoding.backend import BridgedSet, CostTable, Rows, StepBackend, Wants
from decoding.drafters.copy import OUTPUT, CopyCandidate, CopyDrafter
from decoding.drafters.drafter import NOTHING, Draft, Request
from decoding.drafters.merge import Row, ValuedTree, merged_tree
from decoding.drafters.mix import SIZES
from decoding.drafters.recycle import RANKS
from decoding.drafters.skip import draft_chain
from tools.drafting.draft_traces import LONGEST, Place, RecycledRows, Trace

MOST = 12
"""Nodes of a draft, as in the mix with its default parts."""
_FADE = 0.8


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """The state before a round, and what could be drafted without a model."""

    at: int
    """Which token of the answer is pending."""
    room: int
    pending: int
    copied: CopyCandidate | None
    row: Row
    chances: Sequence[Sequence[float]]
    """Of recycled entries, by depth and rank."""
    sure: float
    """The model's probability of the pending token, when it chose it."""
    copies: float
    """How often the first token of a copy was right, lately."""

    def tree(self, survival: tuple[float, ...] | None = None) -> ValuedTree:
        """Copy and rows in one, best first; `survival` in place of the counted chances of the copy."""
        copied = replace(self.copied, survival=survival) if self.copied is not None and survival is not None else self.copied
        return merged_tree(self.pending, copied, self.row, self.chances, min(self.room, MOST))

    def copy_features(self) -> list[list[float]]:
        """A row for each token of the copy."""
        one = self.copied
        if one is None:
            return []
        rows, before, alive = [], self.pending, 1.0
        for i, (token, share, survival) in enumerate(zip(one.tokens, one.shares, one.survival)):
            known = self.row(before)
            agrees = 1.0 if token in known[:1] else 0.5 if token in known else 0.0
            match = math.log(one.match_length + i)
            rows.append([match, i, share, survival / alive, one.origin == OUTPUT, self.sure, self.copies, agrees])
            before, alive = token, survival
        return rows

    def chain_features(self) -> list[list[float]]:
        """A row for each depth of a chain that is not drafted yet."""
        one = self.copied
        first = one.survival[0] if one is not None else 0.0
        match = math.log(one.match_length) if one is not None else -1.0
        state = [self.sure, self.copies, match, first, min(self.at, 64)]
        return [[i, *state] for i in range(min(self.room, LONGEST))]


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What an offer held when it was made, and what each option would have come to."""

    at: int
    copy_features: list[list[float]]
    chain_features: list[list[float]]
    tree: ValuedTree
    copied: int
    """Right tokens of the copy."""
    place: Place | None
    chained: int
    """Right tokens of the recorded chain."""


Stop = Callable[[Sequence[float]], bool]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A free draft, or a chain of at most `chain` tokens, drafted while `go_on` says so of its probabilities."""

    draft: Draft = NOTHING
    chain: int = 0
    go_on: Stop | None = None


class Policy(Protocol):
    def choose(self, offer: Offer) -> Choice: ...


class Plain:
    """Drafts nothing."""

    def choose(self, offer: Offer) -> Choice:
        return Choice()


class Chooser:
    """Implements `Drafter`: copies, rows and recorded chains, by a policy. The counts are those of the mix's parts.

    `policy` may be changed between texts.
    """

    wants = Wants()
    max_tokens = MOST

    name = "chooser"

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.seen: Callable[[Offer], None] | None = None
        """Gets each offer before the choice."""
        self._copy, self._rows = CopyDrafter(), RecycledRows(seeded=False, persist=True)

    def start(self, request: Request, backend: StepBackend) -> None:
        self._backend, self._request = backend, request
        self._copy.start(request, backend)
        self._rows.start(request, backend)
        statistics = self._rows.statistics
        self._chances = [
            [statistics.probability(depth, rank) for rank in range(RANKS)] for depth in range(len(statistics.tried))
        ]
        self._sure, self._copies = 1.0, 0.5

    def propose(self, text: Sequence[int], room: int) -> Draft:
        copied = self._copied = self._copy.candidate(text, min(room, MOST))
        self._rows.propose(text, 0)  # so that it knows the text's end
        at = len(text) - len(self._request.prompt) - 1
        offer = Offer(at, room, text[-1], copied, self._rows.row, self._chances, self._sure, self._copies)
        if self.seen is not None:
            self.seen(offer)
        choice = self.policy.choose(offer)
        if not choice.chain:
            return choice.draft
        plan = BridgedSet((0,), key="recorded")
        most = min(choice.chain, room)
        return Draft(draft_chain(self._backend, self._request.sampler, plan, text, most, choice.go_on).tokens, "chain")

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        if self._copied is not None:
            self._copies = _FADE * self._copies + (1 - _FADE) * (self._copied.tokens[0] == new[0])
        self._sure = float(rows.top(1)[1][-1, 0])
        self._copy.learn(new)
        self._rows.observe(draft, new, rows)


def cut(tree: ValuedTree, size: int) -> Draft:
    return Draft(tree.tokens[:size], "free", tree.parents[:size]) if size else NOTHING


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """DySpec (arXiv 2410.11744): the best-first tree of copy and rows, of `nodes` nodes, or of those worth `least`."""

    nodes: int = MOST
    least: float = 0.0

    def choose(self, offer: Offer) -> Choice:
        tree = offer.tree()
        return Choice(cut(tree, min(self.nodes, sum(value >= self.least for value in tree.values))))


@dataclass(frozen=True, slots=True, eq=False)
class Heads:
    """SpecDec++ (arXiv 2405.19715): draft on while the predicted chance of any rejection is at most `most`.

    The copy as far as its head allows, else a chain, whose first token is always drafted (as there).
    """

    copy: Fitted
    chain: Fitted | None
    most: float

    def choose(self, offer: Offer) -> Choice:
        alive, size = 1.0, 0
        for chance in self.copy(offer.copy_features()):
            alive *= chance
            if 1 - alive > self.most:
                break
            size += 1
        if size and offer.copied is not None:
            return Choice(offer.copied.draft(size))
        return Choice(chain=min(LONGEST, offer.room), go_on=self._go_on) if self.chain is not None else Choice()

    def _go_on(self, probabilities: Sequence[float]) -> bool:
        assert self.chain is not None
        return 1 - float(np.prod(self.chain(confidence_features(probabilities)))) <= self.most


def confidence_features(probabilities: Sequence[float]) -> list[list[float]]:
    """A row for each drafted token: its probability, that of all before it too, and its depth."""
    product, rows = 1.0, []
    for i, probability in enumerate(probabilities):
        product *= probability
        rows.append([probability, product, float(i)])
    return rows


class Values(Protocol):
    """Chances to get to each depth, all before included."""

    def copy(self, offer: Offer) -> tuple[float, ...] | None: ...

    def chain(self, offer: Offer) -> tuple[Sequence[float], Sequence[float]]:
        """Accepted up to each depth, and drafted up to it."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Greedily:
    """Learning to Draft's aim: in each round the drafter and size with the most expected tokens for their cost.

    No account, no trials: what the mix does besides.
    """

    values: Values
    costs: CostTable
    step_cost: float | None
    stop: Stop | None

    def choose(self, offer: Offer) -> Choice:
        tree = offer.tree(self.values.copy(offer))
        best, choice, tokens = 1.0, Choice(), 1.0
        for size, value in enumerate(tree.values, 1):
            tokens += value
            rate = tokens / self.costs.v(size + 1)
            if size in SIZES and rate > best:
                best, choice = rate, Choice(cut(tree, size))
        if self.step_cost is None or not offer.room:
            return choice
        tokens, steps = 1.0, 0.0
        for size, (gain, step) in enumerate(zip(*self.values.chain(offer)), 1):
            tokens, steps = tokens + gain, steps + step
            low = int(steps)
            verify = self.costs.v(1 + low) * (low + 1 - steps) + self.costs.v(2 + low) * (steps - low)
            rate = tokens / (steps * self.step_cost + verify)
            if size in SIZES and rate > best:
                best, choice = rate, Choice(chain=size, go_on=self.stop)
        return choice


class Fitted:
    """Chances by a classifier of scikit-learn: logistic, or boosted trees."""

    def __init__(self, rows: Sequence[Sequence[float]], outcomes: Sequence[bool], *, boosted: bool) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        self._model: Any = None
        # a chance of 0 or 1 cannot be learnt from a finite sample (rule of succession)
        self._constant = (sum(outcomes) + 1) / (len(outcomes) + 2)
        if len(set(outcomes)) > 1:
            linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
            trees = HistGradientBoostingClassifier(max_iter=80, max_leaf_nodes=8, early_stopping=False, random_state=0)
            self._model = (trees if boosted else linear).fit(np.array(rows, dtype=float), np.array(outcomes))

    def __call__(self, rows: Sequence[Sequence[float]]) -> list[float]:
        if not len(rows):
            return []
        if self._model is None:
            return [self._constant] * len(rows)
        found: list[float] = self._model.predict_proba(np.array(rows, dtype=float))[:, 1].tolist()
        return found


def copy_head(seen: Sequence[Seen], *, boosted: bool) -> Fitted:
    rows, outcomes = [], []
    for one in seen:
        judged = one.copy_features[: one.copied + 1]  # nothing is known behind the first wrong token
        rows += judged
        outcomes += [i < one.copied for i in range(len(judged))]
    return Fitted(rows, outcomes, boosted=boosted)


def confidence_head(seen: Sequence[Seen]) -> Fitted:
    rows, outcomes = [], []
    for one in seen:
        if one.place is not None:
            judged = confidence_features(one.place.probabilities)[: one.chained + 1]
            rows += judged
            outcomes += [i < one.chained for i in range(len(judged))]
    return Fitted(rows, outcomes, boosted=False)


def drafted(place: Place, stop: Stop) -> int:
    """Tokens of a recorded chain until its stop rule ends it."""
    return next((n for n in range(1, len(place.chain) + 1) if not stop(place.probabilities[:n])), len(place.chain))


class LearnedValues:
    """Chances fitted to the state by boosted trees; without `state` those counted: the copy's own, a chain's by depth."""

    def __init__(self, seen: Sequence[Seen], stop: Stop | None, *, state: bool) -> None:
        self._state = state
        self._copy = copy_head(seen, boosted=True) if state else None
        accepted: tuple[list[list[float]], list[bool]] = ([], [])
        steps: tuple[list[list[float]], list[bool]] = ([], [])
        for one in seen if stop is not None else ():
            if one.place is None or stop is None:
                continue
            n = drafted(one.place, stop)
            for depth, row in enumerate(one.chain_features):
                row = row if state else row[:1]
                # a depth counts where the one before it was reached, as in `AdvanceCounts`
                for (rows, outcomes), reached in ((accepted, min(n, one.chained)), (steps, n)):
                    if depth <= reached:
                        rows.append(row)
                        outcomes.append(depth < reached)
        self._accepted, self._steps = Fitted(*accepted, boosted=True), Fitted(*steps, boosted=True)

    def copy(self, offer: Offer) -> tuple[float, ...] | None:
        if self._copy is None or offer.copied is None:
            return None
        return tuple(np.cumprod(self._copy(offer.copy_features())).tolist())

    def chain(self, offer: Offer) -> tuple[Sequence[float], Sequence[float]]:
        rows = offer.chain_features()
        rows = rows if self._state else [row[:1] for row in rows]
        return np.cumprod(self._accepted(rows)).tolist(), np.cumprod(self._steps(rows)).tolist()


def least_cost(trace: Trace, seen: Sequence[Seen], costs: CostTable) -> float:
    """Of the text, had each round known what every option comes to: a bound for all choices among them."""
    answer = trace.answer
    best = [0.0] * (len(answer) + MOST + 2)
    by_place = {one.at: one for one in seen}
    for at in range(len(answer) - 2, -1, -1):
        options = [(0, costs.v(1))]
        if (one := by_place.get(at)) is not None:
            copied = min(one.copied, MOST)
            options += [(size, costs.v(1 + size)) for size in range(1, copied + 1)]
            options += [(n, n * (trace.step_cost or 0.0) + costs.v(1 + n)) for n in range(1, one.chained + 1)]
            tree = one.tree
            options += [(_deepest(tree, size, answer[at + 1 :]), costs.v(1 + size)) for size in range(1, len(tree.tokens) + 1)]
        best[at] = min(cost + (best[at + 1 + n] if at + 1 + n < len(answer) - 1 else 0.0) for n, cost in options)
    return best[0]


def _deepest(tree: ValuedTree, size: int, following: Sequence[int]) -> int:
    """Right tokens in the first `size` nodes."""
    depth: dict[int, int] = {-1: 0}
    for node in range(size):
        before = depth.get(tree.parents[node])
        if before is not None and before < len(following) and tree.tokens[node] == following[before]:
            depth[node] = before + 1
    return max(depth.values())

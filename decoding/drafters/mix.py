"""One drafter out of several: each round the guess, and its length, that promise the most tokens for their cost.

The transplant of Learning to Draft (decoding note, section 2.11): state -> (drafter, length), rewarded by tokens per cost. Cost
comes from the measured table instead of a stopwatch, and chances from counts instead of a policy network, since what every
free drafter would have gained is known after each round, whoever was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from decoding.backend import CostTable, Rows, StepBackend, Wants
from decoding.drafters.affordable import Guard
from decoding.drafters.clasp import ClaspDrafter
from decoding.drafters.copy import CopyCandidate, CopyDrafter
from decoding.drafters.drafter import NOTHING, Draft, Drafter, Request
from decoding.drafters.lengths import Expected
from decoding.drafters.merge import ValuedTree, merged_tree
from decoding.drafters.model import ModelDrafter
from decoding.drafters.recycle import RANKS, RecycleDrafter
from decoding.drafters.skip import SkipDrafter

SIZES = (1, 2, 3, 5, 7, 11, 15)
"""Drafted tokens that are considered: with the pending one, sizes of a verify pass that kernels like."""
_REFRESH = 64
"""Rounds after which the chances of recycled entries are read again."""
_MARGIN = 0.02
_PRIOR = 0.7
"""Acceptance of a model-run chain before it was ever tried."""
_HOPE = 0.9
"""A model-run chain is tried at the length that would be best for this acceptance."""


class MixDrafter:
    """Chooses among a copy, recycled rows and a model-run chain, or none of them, by expected tokens per cost.

    Plain decoding gives one token for each unit of cost; a draft must promise `margin` more. Chances are those that the parts
    count themselves: copies and rows are judged by what the text became in every round, at no cost; of the model-run chain
    only its own rounds say, so while it does not seem to pay it is tried again now and then, where nothing else pays. All
    counts and accounts go on from text to text; indices and rows do as the parts say.

    Never slower by much: what free drafts lose, and what the chains lose, trials included, is limited by an account each
    (`Guard`), which the gains of the other do not fill, lest copies that pay finance chains that do not. Each may lose 1% of
    the texts and 2 units once, so the cost is at most 1.02 * tokens + 4 units; and it takes texts that deceive the counts all
    the time to get there. Units are those of the table: the microseconds of the lookups are not in it.

    Args:
        copy, recycle, skip, model: the parts, None for those not wanted. Their own length rules and guards are best left off
            (`costs=None`): the mix cuts what they offer. `skip` and `model` run a model: the same with layers skipped, another.
        costs: the backend's table.
        trees: whether the backend is given trees to verify; without, rows give a chain and nothing is merged.
    """

    def __init__(
        self,
        copy: CopyDrafter | None,
        recycle: RecycleDrafter | None,
        skip: SkipDrafter | ClaspDrafter | None,
        costs: CostTable,
        *,
        model: ModelDrafter | None = None,
        trees: bool = True,
        name: str = "mix",
    ) -> None:
        self._name = name
        self._copy, self._recycle = copy, recycle
        self._parts: list[CopyDrafter | RecycleDrafter | SkipDrafter | ClaspDrafter | ModelDrafter] = [
            part for part in (copy, recycle, skip, model) if part is not None
        ]
        self._most = min(max((part.max_tokens for part in self._parts), default=0), SIZES[-1])
        self._verify = [costs.v(1 + size) for size in range(self._most + 1)]
        self._run = [ModelPart(part, costs, min(part.max_tokens, self._most)) for part in (skip, model) if part is not None]
        self._asked: ModelPart | None = None
        """The one that drafted in this round."""
        self._guard = Guard(share=0.01, start=2.0)
        self._price = Price()
        self._trees = trees
        self._ranks = RANKS if trees else 1
        self._chances: list[list[float]] = []
        self._rounds = 0
        self._copied: CopyCandidate | None = None
        self._tail: CopyCandidate | None = None
        """What could be copied behind this round's chain, and how many tokens that has."""
        self._drafted = 0

    @property
    def name(self) -> str:
        return self._name

    @property
    def wants(self) -> Wants:
        wants = Wants()
        for part in self._parts:
            wants |= part.wants
        return wants

    @property
    def max_tokens(self) -> int:
        """Drafts have `SIZES[-1]` at most; a part may need more room behind the text."""
        return max((part.max_tokens for part in self._parts), default=0)

    @property
    def confidences(self) -> tuple[float, ...]:
        """Of the last draft, when the model drafted it."""
        return self._asked.drafter.confidences if self._asked is not None else ()

    @property
    def copied(self) -> CopyCandidate | None:
        """The copy that could have been drafted last."""
        return self._copied

    def start(self, request: Request, backend: StepBackend) -> None:
        for part in self._parts:
            part.start(request, backend)
        self._rounds = 0
        self._copied = None
        self._asked = None
        for run in self._run:
            run.start(backend.info.n_layers)

    def propose(self, text: Sequence[int], room: int) -> Draft:
        left, room = room, min(room, self._most)
        # To beat: a plain step, and a margin for what the estimates miss.
        price = self._price.value
        best, draft = Option(1 + _MARGIN, 1.0, 0), NOTHING
        for tree in self._free(text, room):
            option = self._best(tree.values, price)
            if option.worth(price) > best.worth(price):
                best, draft = option, self._cut(tree, option.size)
        # Free drafts are weighed first: only what they cannot promise is worth running the model for.
        self._asked, self._tail = None, None
        asked = [(worth, part) for part in self._run if (worth := part.ask(best, room, text, left, price)) is not None]
        for _, part in sorted(asked, key=lambda one: one[0], reverse=True):
            chain = part.draft(text, room)
            if chain.tokens:
                self._asked = part
                return self._extended(part, chain, room, price)
            # else it was unsure of its first token: then the next one, the free draft, or none
        return draft

    def _extended(self, part: ModelPart, chain: Draft, room: int, price: float) -> Draft:
        """The chain, and behind it what followed its end earlier in the text, as long as more rows promise to pay.

        A model-run chain finds its way back to what the text repeats; from there on copies cost nothing.
        """
        self._drafted = len(chain)
        if self._copy is None or chain.parents is not None:
            return chain
        copied = self._copy.candidate_behind(chain.tokens, room - len(chain))
        if copied is None:
            return chain
        self._tail = copied
        alive = part.alive(len(chain))
        size, worth, gain = 0, 0.0, 0.0
        plain = self._verify[len(chain)]
        for at, survival in enumerate(copied.survival[: self._most - len(chain)], 1):
            gain += alive * survival
            more = self._verify[len(chain) + at] - plain
            if gain - price * more > worth:
                size, worth = at, gain - price * more
        if not size:
            return chain
        return Draft(chain.tokens + copied.tokens[:size], f"{chain.source}+copy:{copied.origin}")

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        self._rounds += 1
        # Free drafters learn from every round, whoever drafted it; the model part only from its own.
        if self._copy is not None:
            self._copy.learn(new)
        if self._recycle is not None:
            self._recycle.observe(draft, new, rows)
        cost = self._verify[len(draft)]
        if self._asked is not None:
            if self._copy is not None and self._tail is not None and len(new) > self._drafted:
                self._copy.learn_behind(self._tail, new[self._drafted :])
            cost = self._asked.observe(draft, new, rows, self._drafted)
            self._guard.passed(len(new), cost)
        elif draft.tokens:
            self._guard.drafted(len(new), cost)
        else:
            self._guard.passed(len(new), cost)
        self._price.add(len(new), cost)
        for part in self._run:
            if part is not self._asked:
                part.passed(len(new), cost)

    def _free(self, text: Sequence[int], room: int) -> Iterator[ValuedTree]:
        """What can be drafted without the model, best nodes first."""
        copied = self._copied = self._copy.candidate(text, room) if self._copy is not None else None
        if copied is not None and not (self._trees and self._recycle):
            tokens = copied.tokens
            yield ValuedTree(tokens, tuple(range(-1, len(tokens) - 1)), copied.survival, (True,) * len(tokens))
        if self._recycle is not None:
            self._recycle.propose(text, 0)  # so that it knows the text's end; the tree is made here
            if self._rounds % _REFRESH == 0:
                self._chances = self._rank_chances(self._recycle)
            yield merged_tree(text[-1], copied if self._trees else None, self._recycle.row, self._chances, room)

    def _rank_chances(self, recycle: RecycleDrafter) -> list[list[float]]:
        statistics = recycle.statistics
        return [[statistics.probability(depth, rank) for rank in range(self._ranks)] for depth in range(len(statistics.tried))]

    def _cut(self, tree: ValuedTree, size: int) -> Draft:
        """The first nodes, and whose they are, e.g. `copy:prompt`, `recycle`, or `copy:prompt+recycle`."""
        tokens, parents, copied = tree.tokens[:size], tree.parents[:size], tree.copied[:size]
        sources = []
        if self._copied is not None and any(copied):
            sources.append(f"copy:{self._copied.origin}")
        if self._recycle is not None and not all(copied):
            sources.append(self._recycle.name)
        is_chain = all(parent == at - 1 for at, parent in enumerate(parents))
        return Draft(tokens, "+".join(sources), None if is_chain else parents)

    def _best(self, values: Sequence[float], price: float) -> Option:
        """The size at which a draft with these chances is worth most."""
        # Nodes come best first, so a draft of n nodes is the first n; each adds its chance of being accepted.
        best, expected = Option(1.0, self._verify[0], 0), 1.0
        for size, value in enumerate(values, 1):
            expected += value
            if not self._guard.affords(self._verify[size] - 1):  # dearer than what drafting has gained so far
                break
            if size in SIZES and expected - price * self._verify[size] > best.worth(price):
                best = Option(expected, self._verify[size], size)
        return best


class Option(NamedTuple):
    """What could be done in a round: expected tokens, their cost, and how many tokens to draft for that."""

    tokens: float
    cost: float
    size: int

    @property
    def rate(self) -> float:
        return self.tokens / self.cost

    def worth(self, price: float) -> float:
        """Tokens beyond those that the same cost buys at `price` elsewhere in the text."""
        return self.tokens - price * self.cost


class Price:
    """What a unit of cost has bought lately, in tokens: what a round's cost is to be weighed by.

    The most tokens per cost over a whole text are not had by the best rate in every round. Where rounds differ, each should
    maximise tokens - price * cost with the price being the rate of the whole (Dinkelbach 1967, for ratios of sums): where
    little can be had, a plain step that leads on to better is worth more than a long draft at a middling rate, and where a
    copy is sure it should be longer than its own rate says. Never below 1, which plain decoding gives.
    """

    def __init__(self, memory: float = 0.99, weight: float = 20.0) -> None:
        self._memory = memory
        self._tokens = self._cost = weight

    @property
    def value(self) -> float:
        return max(1.0, self._tokens / self._cost)

    def add(self, tokens: int, cost: float) -> None:
        self._tokens = self._memory * self._tokens + tokens
        self._cost = self._memory * self._cost + cost


class ModelRun(Drafter, Protocol):
    """A drafter that runs a model, so that drafting itself costs something."""

    @property
    def confidences(self) -> tuple[float, ...]: ...

    @property
    def n_steps(self) -> int:
        """Of the drafting model, for the last draft."""
        ...

    def step_cost(self, costs: CostTable, n_layers: int) -> float | None:
        """Of one drafted token, in units of `costs`; None where this text is not drafted."""
        ...

    def entry_cost(self, text: Sequence[int]) -> float:
        """Of what has to be read first, in the same units."""
        ...

    def propose_chain(self, text: Sequence[int], length: int, room: int) -> Draft:
        """As `propose`, a chain having `length` tokens at most."""
        ...


class ModelPart:
    """A model-run drafter inside the mix: what it achieves, what its steps cost, and whether to use it.

    A drafter that has to read the text first must promise to earn that within the rest of the text. As long as nothing is known
    of it, it may read one text without such a promise, and later one for each hundred times its cost.
    """

    def __init__(self, drafter: ModelRun, costs: CostTable, most: int) -> None:
        self.drafter = drafter
        self.asked = 0
        """Tokens asked for in this round."""
        self._costs, self._most = costs, most
        self._accepted = AdvanceCounts(_PRIOR, most)
        self._drafted = AdvanceCounts(1.0, most)
        self._guard = Guard(share=0.01, start=2.0)
        self._c: float | None = None
        self._options: list[Option] = []
        self._trial = 0
        self._entry = 0.0
        self._for_entries = math.inf

    def start(self, n_layers: int) -> None:
        self.asked = 0
        self._c = self.drafter.step_cost(self._costs, n_layers)
        self._trial, self._options = 0, []
        if self._c is None:
            return
        hoped = [_HOPE**depth for depth in range(1, self._most + 1)]
        most_hoped = max(
            self._weighed(hoped, [1.0] * self._most, self._c), key=lambda one: one.rate, default=Option(0.0, 1.0, 0)
        )
        # a drafter that could not pay even then is not worth a trial
        self._trial = most_hoped.size if most_hoped.rate > 1 else 0
        self._weigh()

    def ask(self, other: Option, room: int, text: Sequence[int], left: int, price: float) -> float | None:
        """What it promises to be worth if it is to draft rather than what `other` says (size 0: nothing), and sets `asked`;
        else None.

        `left` is how many tokens the text may still get.
        """
        self.asked = 0
        if not self._trial or self._c is None:
            return None
        possible = [option for option in self._options if option.size <= room and self._affords(option.size)]
        best = max(possible, key=lambda one: one.worth(price), default=Option(0.0, 1.0, 0))
        self._entry = self.drafter.entry_cost(text)
        # texts end sooner than they may, half-way say
        earned = 0.5 * left * (1 / other.rate - 1 / best.rate) if best.rate > other.rate else 0.0
        is_better = bool(possible) and best.worth(price) > other.worth(price)
        if is_better and (not self._entry or earned > self._entry or self._for_entries >= self._entry):
            self.asked = best.size
        elif possible and not other.size and self._guard.untouched and self._for_entries >= self._entry:
            self.asked = min(self._trial, possible[-1].size)
        return best.worth(price) if self.asked else None

    def alive(self, length: int) -> float:
        """The chance that all of its last chain, of `length` tokens, is right."""
        confidences = self.drafter.confidences
        if isinstance(self.drafter, SkipDrafter) and len(confidences) == length:
            policy = self.drafter.policy
            if isinstance(policy, Expected):
                return math.prod(policy.hazard(confidence) for confidence in confidences)
        return self._accepted.survival()[length - 1]

    def draft(self, text: Sequence[int], room: int) -> Draft:
        """A chain of at most `asked` tokens, with what else the drafter may add to it within `room`."""
        if self._entry:
            self._for_entries = 0.0 if math.isinf(self._for_entries) else max(0.0, self._for_entries - self._entry)
        draft = self.drafter.propose_chain(text, self.asked, room)
        if not draft.tokens:
            self.asked = 0
        return draft

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows, drafted: int) -> float:
        """Its draft was verified, of which `drafted` tokens were its own; returns the cost of the round."""
        steps = self.drafter.n_steps
        own = draft if drafted == len(draft) else Draft(draft.tokens[:drafted], draft.source)
        self.drafter.observe(own, new[: drafted + 1], rows)
        self._accepted.add(min(len(new) - 1, drafted), self.asked)
        self._drafted.add(steps, self.asked)
        self._weigh()
        cost = steps * (self._c or 0.0) + self._costs.v(len(draft) + 1)
        self._guard.drafted(len(new), cost)
        return cost + self._entry

    def passed(self, tokens: int, cost: float) -> None:
        """A round without its draft."""
        self._guard.passed(tokens, cost)
        self._for_entries += 0.01 * tokens

    def _affords(self, size: int) -> bool:
        return self._guard.affords(self._loss(size))

    def _loss(self, size: int) -> float:
        """What a chain costs beyond a plain round."""
        return size * (self._c or 0.0) + self._costs.v(size + 1) - 1

    def _weigh(self) -> None:
        if self._c is not None:
            self._options = self._weighed(self._accepted.survival(), self._drafted.survival(), self._c)

    def _weighed(self, accepted: Sequence[float], drafted: Sequence[float], c: float) -> list[Option]:
        """For each size, with the chances that a chain is accepted, and drafted, up to each depth."""
        options = []
        tokens, steps = 1.0, 0.0
        for size, (gain, step) in enumerate(zip(accepted, drafted), 1):
            tokens += gain
            steps += step
            if size in SIZES:
                # the mean cost of passes of several lengths, by that of their mean length
                low = int(steps)
                verify = self._costs.v(1 + low) * (low + 1 - steps) + self._costs.v(2 + low) * (steps - low)
                options.append(Option(tokens, steps * c + verify, size))
        return options


class AdvanceCounts:
    """How far chains get: the chance to reach a depth when the one before it was reached.

    Counts fade by `memory` with each chain. The prior of a depth is the estimate of the depth before it, worth `weight` chains.
    """

    def __init__(self, prior: float, depths: int, *, weight: float = 2.0, memory: float = 0.97) -> None:
        self._prior, self._weight, self._memory = prior, weight, memory
        self._tried = [0.0] * depths
        self._reached = [0.0] * depths

    def add(self, reached: int, asked: int) -> None:
        """A chain that might have had `asked` tokens got to `reached`."""
        # Texts change as they go on; with 0.97 the last 30 chains or so count.
        self._tried = [count * self._memory for count in self._tried]
        self._reached = [count * self._memory for count in self._reached]
        for depth in range(min(reached + 1, asked)):
            self._tried[depth] += 1
            self._reached[depth] += depth < reached

    def survival(self) -> list[float]:
        """The chance to reach each depth from the start, for a chain that may be as long."""
        alive, chance, found = 1.0, self._prior, []
        for tried, reached in zip(self._tried, self._reached):
            # A depth that was seldom tried is believed to be like the one before it.
            chance = (reached + self._weight * chance) / (tried + self._weight)
            alive *= chance
            found.append(alive)
        return found

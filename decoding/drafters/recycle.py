"""Token Recycling (Luo et al. 2024, arXiv 2408.08696): the model's own top-k lists, kept by token, make a small tree.

Each verified row says which k tokens could follow its token; the newest row of a token is remembered, also that of a
rejected guess. A draft starts at the pending token and fills a fixed tree: the node of rank r takes the r-th entry of its
parent's row.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from decoding.backend import CostTable, Rows, StepBackend, Wants
from decoding.drafters.drafter import NOTHING, Draft, Request

RANKS = 8
"""Entries of a row (k)."""
_DEPTHS = 8
"""Statistics are kept for this many depths; what lies deeper counts with the last."""

_PRIOR = (0.45, 0.12, 0.06, 0.04, 0.03, 0.02, 0.015, 0.01)
"""Assumed probability that the next token is the entry of each rank, before anything is counted. The tree of the paper's
size then promises 2.7 tokens a step, which is what its authors and Spec-Bench measured (2.6 to 2.7)."""
_PRIOR_WEIGHT = 16.0

_PAPER_WIDTHS = (8, 21, 25, 15, 8, 3)
"""Nodes at each depth of the tree in the authors' code."""


@dataclass(frozen=True, slots=True)
class RankStatistics:
    """How often which entry of a row was the next token, by depth in the draft (from 0)."""

    tried: tuple[int, ...] = ()
    """tried[depth]: rounds that got so far and had a row there."""
    hits: tuple[tuple[int, ...], ...] = ()
    """hits[depth][rank]."""

    def probability(self, depth: int, rank: int) -> float:
        """That a node is right if its parent is: Beta posterior mean; the prior is the mean over all depths."""
        prior = (sum(row[rank] for row in self.hits) + _PRIOR_WEIGHT * _PRIOR[rank]) / (sum(self.tried) + _PRIOR_WEIGHT)
        at = min(depth, len(self.tried) - 1)
        if at < 0:
            return prior
        return (self.hits[at][rank] + _PRIOR_WEIGHT * prior) / (self.tried[at] + _PRIOR_WEIGHT)


@dataclass(frozen=True, slots=True)
class TreeTemplate:
    """The shape of a draft, nodes in order of value, parents first: every beginning of it is a tree as well."""

    parents: tuple[int, ...]
    """-1 for children of the pending token."""
    ranks: tuple[int, ...]
    """Which entry of its parent's row a node takes."""

    def __len__(self) -> int:
        return len(self.parents)


def template_from(statistics: RankStatistics, costs: CostTable | None, max_nodes: int) -> TreeTemplate:
    """The tree that promises most: nodes in order of the probability that all on their path are right.

    No other tree of as many nodes has more expected accepted tokens, since a child is never likelier than its parent. With
    `costs` it has as many nodes, 0 to `max_nodes`, as give the most tokens for the cost of verifying them.
    """
    nodes, values = _best_first(statistics, max_nodes)
    if costs is not None:
        kept, best_rate, expected = 0, 1 / costs.v(1), 1.0
        for size, value in enumerate(values, 1):
            expected += value
            rate = expected / costs.v(1 + size)
            if rate > best_rate:
                kept, best_rate = size, rate
        nodes = nodes[:kept]
    return TreeTemplate(tuple(parent for parent, _ in nodes), tuple(rank for _, rank in nodes))


def template_of_widths(statistics: RankStatistics, widths: Sequence[int]) -> TreeTemplate:
    """The tree that promises most among those with at most widths[d] nodes at depth d."""
    nodes, _ = _best_first(statistics, sum(widths), widths)
    return TreeTemplate(tuple(parent for parent, _ in nodes), tuple(rank for _, rank in nodes))


def _best_first(
    statistics: RankStatistics, max_nodes: int, widths: Sequence[int] | None = None
) -> tuple[list[tuple[int, int]], list[float]]:
    """(parent, rank) of each node, and the probability of its path, which never rises along the list."""
    nodes: list[tuple[int, int]] = []
    values: list[float] = []
    left = list(widths) if widths is not None else None
    frontier: list[tuple[float, int, int, int]] = []  # (-probability of the path, depth, parent, rank)

    def open_children(parent: int, depth: int, value: float) -> None:
        if left is None or depth < len(left):
            for rank in range(RANKS):
                heapq.heappush(frontier, (-value * statistics.probability(depth, rank), depth, parent, rank))

    open_children(-1, 0, 1.0)
    while frontier and len(nodes) < max_nodes:
        negative, depth, parent, rank = heapq.heappop(frontier)
        if left is not None:
            if not left[depth]:
                continue
            left[depth] -= 1
        nodes.append((parent, rank))
        values.append(-negative)
        open_children(len(nodes) - 1, depth + 1, -negative)
    return nodes, values


class RecycleDrafter:
    """Drafts from the rows that the model gave to the same tokens before.

    Rows are seeded from the prefill and, unless `persist`, forgotten with the text. Rank statistics stay; the
    tree is derived from it at the start of each text, unless `template` fixes it.

    Args:
        max_nodes: the largest tree. The default suits a CPU, where each row of a verify pass costs.
        persist: keep the rows for the next text, whose drafts then depend on earlier texts. One model only.
        costs: fits the size of the tree to this machine; without, it has `max_nodes` nodes.
        template: a fixed tree.
        seeded: whether rows come from the prefill as well.
    """

    def __init__(
        self,
        max_nodes: int = 8,
        persist: bool = False,
        *,
        costs: CostTable | None = None,
        template: TreeTemplate | None = None,
        seeded: bool = True,
        name: str = "recycle",
    ) -> None:
        self.name = name
        self.max_tokens = max_nodes if template is None else len(template)
        self.wants = Wants(top_k=RANKS if seeded else 0)
        self._persist = persist
        self._costs = costs
        self._fixed = template
        self._template = template or template_from(RankStatistics(), costs, max_nodes)
        self._table: dict[int, list[int]] = {}
        self._pending: int | None = None
        self._tried = [0] * _DEPTHS
        self._hits = [[0] * RANKS for _ in range(_DEPTHS)]

    @classmethod
    def original(cls) -> RecycleDrafter:
        """The method as the authors' code has it: rows not seeded, kept from prompt to prompt, 80 nodes.

        The tree has the widths of theirs at each depth; which nodes it has is derived here from this module's prior.
        A token whose row was never filled has no children, where theirs gets 8 times the token 0.
        """
        template = template_of_widths(RankStatistics(), _PAPER_WIDTHS)
        return cls(persist=True, template=template, seeded=False, name="recycling")

    @property
    def statistics(self) -> RankStatistics:
        """Everything learned so far, earlier texts included."""
        return RankStatistics(tuple(self._tried), tuple(tuple(row) for row in self._hits))

    def start(self, request: Request, backend: StepBackend) -> None:
        if not self._persist:
            self._table = {}
        self._pending = None
        if self.wants.top_k:
            assert request.prefill.top_ids is not None, "the prefill gave no rows"
            self._table.update(zip(request.prompt, request.prefill.top_ids.tolist()))
        if self._fixed is None:
            self._template = template_from(self.statistics, self._costs, self.max_tokens)

    def propose(self, text: Sequence[int], room: int) -> Draft:
        self._pending = text[-1]
        tokens: list[int] = []
        parents: list[int] = []
        places: list[int] = []  # template node -> node of the draft, -1 where there is none
        for parent, rank in zip(self._template.parents, self._template.ranks):
            if len(tokens) >= room:
                break
            place = -1 if parent < 0 else places[parent]
            row = () if parent >= 0 and place < 0 else self.row(text[-1] if parent < 0 else tokens[place])
            if rank < len(row):
                places.append(len(tokens))
                tokens.append(row[rank])
                parents.append(place)
            else:
                places.append(-1)
        if not tokens:
            return NOTHING
        is_chain = all(parent == at - 1 for at, parent in enumerate(parents))
        return Draft(tuple(tokens), self.name, None if is_chain else tuple(parents))

    def row(self, token: int) -> Sequence[int]:
        """What may follow `token`, best first; empty if it was never seen."""
        return self._table.get(token, ())

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        """Learns from any round, whoever drafted it, once `propose` has seen the text (room 0 will do)."""
        if self._pending is not None:
            self._learn_ranks(self._pending, new)
            ids = rows.top_ids(RANKS)
            # of equal tokens the last row stays
            self._table.update(zip((self._pending, *draft.tokens), ids.tolist()))
            self._pending = new[-1]

    def _learn_ranks(self, token: int, new: Sequence[int]) -> None:
        for depth, following in enumerate(new):
            row = self.row(token)
            if row:
                at = min(depth, _DEPTHS - 1)
                self._tried[at] += 1
                if following in row:
                    self._hits[at][row.index(following)] += 1
            token = following

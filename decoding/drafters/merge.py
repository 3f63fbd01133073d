"""A copy and recycled rows in one tree, best first under one budget (DySpec, Xiong et al. 2024, arXiv 2410.11744, section 3).

DySpec's heap, its draft model replaced by two free sources. The copy's next token has its learned chance q; the rest,
1 - q, goes to the recycled row in proportion to the chances of its ranks, as DySpec's sibling slot has value * (1 - q).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from decoding.drafters.copy import CopyCandidate

Row = Callable[[int], Sequence[int]]
"""Token -> what may follow it, best first; empty if unknown (`RecycleDrafter.row`)."""

_NOT_COPIED = -1
_FLOOR = 0.02
"""Nodes below this are left out: hardly a backend verifies a row at a fiftieth of a step, and there are many such nodes."""


@dataclass(frozen=True, slots=True)
class ValuedTree:
    """Nodes by falling `values`, the probability that all on a node's path are accepted; parents come first."""

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    values: tuple[float, ...]
    copied: tuple[bool, ...]
    """Whether a node is the copy's token."""


def merged_tree(
    pending: int, copy: CopyCandidate | None, row: Row, chances: Sequence[Sequence[float]], max_nodes: int
) -> ValuedTree:
    """The tree with the most expected accepted tokens among those of up to `max_nodes` nodes, if the chances are right.

    `chances[depth][rank]` is the chance of a row's entry if its parent is right; the last depth holds beyond. Every beginning
    of the tree is the best one of its size.
    """
    tokens: list[int] = []
    parents: list[int] = []
    values: list[float] = []
    copied: list[bool] = []
    heap: list[tuple[float, int, int, int, int]] = []  # (-value, depth, parent, index in the copy, token)

    def open_children(node: int, token: int, depth: int, value: float, at: int) -> None:
        ranks = chances[min(depth, len(chances) - 1)]
        following = row(token)
        scale = value
        own = None
        if copy is not None and 0 <= at < len(copy.tokens):
            own = copy.tokens[at]
            q = copy.survival[at] / (copy.survival[at - 1] if at else 1.0)
            if value * q >= _FLOOR:
                heappush(heap, (-value * q, depth, node, at, own))
            scale = value * (1 - q)
            if own in following:
                scale /= 1 - ranks[following.index(own)]
        for chance, child in zip(ranks, following):
            if child != own and scale * chance >= _FLOOR:
                heappush(heap, (-scale * chance, depth, node, _NOT_COPIED, child))

    open_children(-1, pending, 0, 1.0, 0)
    while heap and len(tokens) < max_nodes:
        negative, depth, parent, at, token = heappop(heap)
        tokens.append(token)
        parents.append(parent)
        values.append(-negative)
        copied.append(at != _NOT_COPIED)
        open_children(len(tokens) - 1, token, depth + 1, -negative, at + 1 if at != _NOT_COPIED else _NOT_COPIED)
    return ValuedTree(tuple(tokens), tuple(parents), tuple(values), tuple(copied))

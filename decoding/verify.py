"""Which drafted tokens are kept. The text is exactly the one that is written without drafts.

Drafted tokens are guesses, accepted while they equal the target's own choice. Under greedy decoding this is the rule of Stern
et al. 2018; under sampling it is rejection sampling with a one-hot proposal: accepted with probability p(x), else distributed
as p without x. Because the target's choice is a function of text and seed, the text is that of plain decoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from decoding.backend import Rows
from decoding.drafters.drafter import Draft
from decoding.sampling import Sampler


@dataclass(frozen=True, slots=True)
class Accepted:
    """`tokens`: what the text gains, the last one being the target's own. `path`: the accepted nodes of the draft."""

    tokens: tuple[int, ...]
    path: tuple[int, ...]


def accept(draft: Draft, rows: Rows, text: Sequence[int], sampler: Sampler) -> Accepted:
    """`rows` has 1 + len(draft) rows: after the pending token text[-1], and after each drafted one."""
    children = _children(draft)
    best = rows.argmax() if sampler.plain else None
    prefix = [] if sampler.plain else list(text)
    tokens: list[int] = []
    path: list[int] = []
    node = -1
    while True:
        token = best[node + 1] if best is not None else sampler.choose(prefix, rows.logits[node + 1])
        tokens.append(token)
        prefix.append(token)
        child = children.get((node, token))
        if child is None:
            return Accepted(tuple(tokens), tuple(path))
        path.append(child)
        node = child


def _children(draft: Draft) -> dict[tuple[int, int], int]:
    """(parent, token) -> node; of equal siblings the first."""
    parents = draft.parents if draft.parents is not None else range(-1, len(draft.tokens) - 1)
    children: dict[tuple[int, int], int] = {}
    for node, edge in enumerate(zip(parents, draft.tokens)):
        children.setdefault(edge, node)
    return children

"""Which drafted tokens are kept. Every rule here leaves the text's distribution exactly as it is without drafts.

Guesses (`proposal` None) are accepted while they equal the target's own choice. Under greedy decoding this is the rule of
Stern et al. 2018; under sampling it is rejection sampling with a one-hot proposal: accepted with probability p(x), else
distributed as p without x. Because the target's choice is a function of text and seed, the text is that of plain decoding.

Drawn drafts (`proposal` given) are accepted with probability min(1, p/q), else replaced by a draw from norm(max(p - q, 0)),
and all accepted are followed by a draw from p (Leviathan et al. 2023, section 2.3 and theorem A.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from decoding.backend import Rows
from decoding.drafters.drafter import Draft
from decoding.sampling import Sampler, invert


@dataclass(frozen=True, slots=True)
class Accepted:
    """`tokens`: what the text gains, the last one being the target's own. `path`: the accepted nodes of the draft."""

    tokens: tuple[int, ...]
    path: tuple[int, ...]


def accept(draft: Draft, rows: Rows, text: Sequence[int], sampler: Sampler, uniform: Callable[[], float]) -> Accepted:
    """`rows` has 1 + len(draft) rows: after the pending token text[-1], and after each drafted one.

    `uniform` gives fresh random numbers, of which only the rejection rule takes any.
    """
    if draft.proposal is not None and not sampler.greedy:  # greedy: p is one-hot, and p / q accepts exactly its token
        return _reject(draft, rows, text, sampler, uniform)
    return _match(draft, rows, text, sampler)


def _match(draft: Draft, rows: Rows, text: Sequence[int], sampler: Sampler) -> Accepted:
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


def _reject(draft: Draft, rows: Rows, text: Sequence[int], sampler: Sampler, uniform: Callable[[], float]) -> Accepted:
    assert draft.proposal is not None and draft.parents is None, "drawn drafts are chains"
    prefix = list(text)
    tokens: list[int] = []
    for i, token in enumerate(draft.tokens):
        p = sampler.distribution(prefix, rows.logits[i])
        q = draft.proposal[i].to(p)
        if uniform() * float(q[token]) >= float(p[token]):  # not: uniform < p / q
            residual = (p - q).clamp(min=0)
            # p and q equal up to rounding leave nothing; then the rejection was rounding as well
            left = residual if float(residual.sum()) > 0 else p
            return Accepted((*tokens, int(invert(left, sampler.number(prefix)))), tuple(range(i)))
        tokens.append(token)
        prefix.append(token)
    bonus = sampler.choose(prefix, rows.logits[len(draft.tokens)])
    return Accepted((*tokens, bonus), tuple(range(len(draft.tokens))))

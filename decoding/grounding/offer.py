"""An answer of whole items and nothing else: logits outside of the offer become -inf, certain tokens need no model step.

Items are token sequences; those still possible after a prefix form a trie (constrained decoding over a finite set, De Cao et
al. 2021, arXiv 2010.00904, section 3.2), which is kept as a sorted list with ranges instead of nodes: items that are used up
are masked, nothing is rebuilt. One prefix may be read in several ways, where an item begins with another one.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from data.errors import UserError
from decoding.api import Chosen, Offer
from decoding.grounding.pieces import Pieces, tokenised

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

Key = TypeVar("Key", bound=Hashable)


class OfferRule:
    """Implements `decoding.sampling.ForcingRule` for an `Offer`.

    Possible after a prefix is every token with which an item goes on that is not used up, and, behind an item, the first token
    of the next (separator included) or an end token. Its logit gains `prior_weight` times the difference between the largest
    prior of the items that it leaves possible and the largest of all items possible now: a maximum, so that a word with which
    many items begin does not win by their number. An end token gains nothing: it competes with the best item on the model's
    word alone. A prefix that is not of the offer (only a draft can be one) leaves the end tokens.

    Answers are read up to where the last call was, so that a call costs what the new tokens cost. Prefixes may come in any
    order; results depend on the prefix alone.

    Args:
        n_prompt: tokens of the prompt, which every prefix begins with.
        end_ids: tokens that end an answer.

    Raises:
        UserError: no items, a number out of range, a stop outside of its text, no end token, or a text that the tokenizer
            cannot give back as it is.
    """

    def __init__(self, offer: Offer, tokenizer: Any, n_prompt: int, end_ids: frozenset[int]) -> None:
        check_offer(offer)
        if not end_ids:
            raise UserError("the model has no end token, so an answer made of items could not end; name one: eos_token_id")
        self._offer = offer
        self._n_prompt = n_prompt
        self._ends = tuple(sorted(end_ids))
        first, later = tokenised(offer, tokenizer, end_ids)
        self._first, self._later = _Trie(first), _Trie(later)
        self._next_of = _collected(item.follows for item in offer.items)
        self._pasts: dict[tuple[frozenset[int], int | None], _Past] = {}
        nobody = self._past(frozenset(), None)
        self._read: list[int] = []
        self._places = [_Place((_Reading(nobody, self._first, self._first.root),), can_end=offer.least == 0)]

    def __call__(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        import torch

        tokens, gains = self._options(self._place(prefix))
        possible = torch.from_numpy(tokens).to(logits.device)
        ruled = torch.full_like(logits, -math.inf)
        ruled[possible] = logits[possible] + torch.from_numpy(gains).to(logits)
        return ruled

    def forced(self, prefix: Sequence[int], room: int) -> Sequence[int]:
        """See `ForcingRule`: the rest of an item as far as it has no alternative, and the end token if only that is left."""
        found: list[int] = []
        place = self._place(prefix)
        while len(found) < room and (certain := self._certain(place)):
            found += certain
            place = self._place([*prefix, *found])
        if not place.readings and place.can_end and not place.left and len(self._ends) == 1:
            found.append(self._ends[0])
        return found[:room]

    # --- reading ----------------------------------------------------------------------------------------------------------

    def _place(self, prefix: Sequence[int]) -> _Place:
        """Where the answer is after `prefix`; `_read` and `_places` remember the last one and all on the way."""
        answer = list(prefix[self._n_prompt :])
        n = min(len(answer), len(self._read))
        if answer[:n] != self._read[:n]:
            n = next(i for i, (new, old) in enumerate(zip(answer, self._read)) if new != old)
        if n < len(answer):
            del self._read[n:], self._places[n + 1 :]
            for token in answer[n:]:
                self._places.append(self._after(self._places[-1], token))
            self._read = answer
        return self._places[len(answer)]

    def _after(self, place: _Place, token: int) -> _Place:
        """One token on. Two ways to have used the same items, the same one last, are one."""
        readings: dict[tuple[int, int, int], _Reading] = {}
        can_end = False
        for past, trie, node in place.readings:
            child = trie.child(node, token, past.free(trie))
            if child is None:
                continue
            if child.hi > child.lo + child.n_ended:
                readings[id(past), id(trie), id(child)] = _Reading(past, trie, child)
            item = trie.ended(child, past.free(trie))
            if item is not None:
                done = self._past(past.used | {item}, item)
                going = len(done.used) < self._offer.most and done.any_free
                can_end |= len(done.used) >= self._offer.least or not going
                if going:
                    root = self._later.root
                    readings[id(done), id(self._later), id(root)] = _Reading(done, self._later, root)
        kept = tuple(readings.values())
        return _Place(kept, can_end, left=not kept and not can_end)

    def _past(self, used: frozenset[int], last: int | None) -> _Past:
        if (used, last) not in self._pasts:
            groups = {self._offer.items[item].group for item in used} - {None}
            self._pasts[used, last] = _Past(used, self._first, self._later, groups, self._continued(last))
        return self._pasts[used, last]

    def _continued(self, last: int | None) -> NDArray[np.float64]:
        """Priors of the later items, with the bonus of those that continue the last one."""
        priors = self._later.priors
        if last is None or last not in self._next_of:
            return priors
        return self._later.raised(self._next_of[last], self._offer.follow_bonus)

    # --- what may follow --------------------------------------------------------------------------------------------------

    def _options(self, place: _Place) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The possible tokens, each once, and what each logit gains."""
        import numpy as np

        if place.options is None:
            found = [trie.children(node, past.free(trie), past.priors(trie)) for past, trie, node in place.readings]
            if len(found) > 1:
                best: dict[int, float] = {}
                for tokens, priors in found:
                    for token, prior in zip(tokens.tolist(), priors.tolist()):
                        best[token] = max(prior, best.get(token, -math.inf))
                found = [(np.fromiter(best, np.int64, len(best)), np.fromiter(best.values(), np.float64, len(best)))]
            tokens, priors = found[0] if found else (np.zeros(0, np.int64), np.zeros(0))
            gains = self._offer.prior_weight * (priors - priors.max()) if len(priors) else priors
            if place.can_end or place.left:
                tokens = np.concatenate([tokens, np.array(self._ends, np.int64)])
                gains = np.concatenate([gains, np.zeros(len(self._ends))])
            place.options = tokens, gains
        return place.options

    def _certain(self, place: _Place) -> tuple[int, ...]:
        """The tokens of items that must follow, some at least if there are any."""
        if place.can_end or place.left:
            return ()
        if len(place.readings) == 1:
            past, trie, node = place.readings[0]
            return trie.common(node, past.free(trie))
        tokens, _ = self._options(place)
        return (int(tokens[0]),) if len(tokens) == 1 else ()


class _Reading(NamedTuple):
    """A way to read the answer so far: the items used before, and how far the present one has come."""

    past: _Past
    trie: _Trie
    node: _Node


@dataclass(slots=True)
class _Place:
    """All readings of an answer that can go on. `can_end`: an end token may follow. `left`: it is not of the offer."""

    readings: tuple[_Reading, ...]
    can_end: bool
    left: bool = False
    options: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None


class _Past:
    """Items used so far, which sequences that leaves, and what they are worth after the last one."""

    def __init__(
        self, used: frozenset[int], first: _Trie, later: _Trie, groups: set[int | None], priors: NDArray[np.float64]
    ) -> None:
        self.used = used
        self._first = first
        self._priors = priors
        self._all = first.everything
        self._free = later.free(used, groups)
        self.any_free = bool(self._free.any())

    def free(self, trie: _Trie) -> NDArray[np.bool_]:
        """(N,): which sequences of `trie` are still possible; all of the first items' are, as nothing comes before them."""
        return self._all if trie is self._first else self._free

    def priors(self, trie: _Trie) -> NDArray[np.float64]:
        """(N,): the log weights of all sequences of `trie`."""
        return trie.priors if trie is self._first else self._priors


@dataclass(slots=True, eq=False)
class _Node:
    """Sequences lo..hi-1 have the same first `depth` tokens; the first `n_ended` of them have no more."""

    lo: int
    hi: int
    depth: int
    n_ended: int
    branches: _Branches | None = None
    children: dict[int, _Node] = field(default_factory=dict)


class _Branches(NamedTuple):
    """How a node goes on: B tokens, and where the sequences of each begin, relative to the first that has not ended."""

    tokens: NDArray[np.int64]
    starts: NDArray[np.int64]
    numbers: dict[int, int]


class _Trie:
    """Token sequences in order; a node is a range of them, looked into when an answer gets there."""

    def __init__(self, pieces: Pieces) -> None:
        import numpy as np

        order = sorted(range(len(pieces.tokens)), key=pieces.tokens.__getitem__)  # stable: of equals the first item's
        self._sequences = [pieces.tokens[i] for i in order]
        self._sources: list[Chosen] = [pieces.sources[i] for i in order]
        self.priors = np.array([pieces.priors[i] for i in order])
        self._groups = [pieces.groups[i] for i in order]
        self.everything = np.ones(len(order), dtype=bool)
        self.root = self._node(0, len(order), 0)

    @cached_property
    def _of_item(self) -> dict[int, list[int]]:
        return _collected(source.item for source in self._sources)

    @cached_property
    def _of_group(self) -> dict[int | None, list[int]]:
        return _collected(self._groups)

    def free(self, used: frozenset[int], groups: set[int | None]) -> NDArray[np.bool_]:
        """(N,): the sequences of items that are not used, and in none of the groups."""
        free = self.everything.copy()
        for item in used:
            free[self._of_item[item]] = False
        for group in groups:
            free[self._of_group[group]] = False
        return free

    def child(self, node: _Node, token: int, free: NDArray[np.bool_]) -> _Node | None:
        """Where `token` leads, unless nothing is free there."""
        child = node.children.get(token)
        if child is None:
            if node.hi - node.lo == 1:  # most places are inside of an item that has no alternative any more
                sequence = self._sequences[node.lo]
                if node.n_ended or sequence[node.depth] != token:
                    return None
                child = self._node(node.lo, node.hi, node.depth + 1)
            else:
                branches = self._branches(node)
                at = branches.numbers.get(token)
                if at is None:
                    return None
                begin = node.lo + node.n_ended
                last = at + 1 == len(branches.tokens)
                hi = node.hi if last else begin + int(branches.starts[at + 1])
                child = self._node(begin + int(branches.starts[at]), hi, node.depth + 1)
            node.children[token] = child
        return child if free[child.lo : child.hi].any() else None

    def ended(self, node: _Node, free: NDArray[np.bool_]) -> int | None:
        """The first free item that ends here."""
        for at in range(node.lo, node.lo + node.n_ended):
            if free[at]:
                return self._sources[at].item
        return None

    def raised(self, items: Iterable[int], bonus: float) -> NDArray[np.float64]:
        """`priors` with `bonus` for the sequences of some items."""
        priors = self.priors.copy()
        for item in items:
            priors[self._of_item[item]] += bonus
        return priors

    def children(
        self, node: _Node, free: NDArray[np.bool_], priors: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The tokens that lead to something free, and the largest of `priors` there."""
        import numpy as np

        branches = self._branches(node)
        begin = node.lo + node.n_ended
        below = np.where(free[begin : node.hi], priors[begin : node.hi], -np.inf)
        best = np.maximum.reduceat(below, branches.starts)
        possible = best > -np.inf
        return (branches.tokens, best) if possible.all() else (branches.tokens[possible], best[possible])

    def common(self, node: _Node, free: NDArray[np.bool_]) -> tuple[int, ...]:
        """What all free sequences below have in common, up to the first end or branch."""
        import numpy as np

        open_ones = np.flatnonzero(free[node.lo + node.n_ended : node.hi])
        if not len(open_ones):
            return ()
        begin = node.lo + node.n_ended
        low, high = self._sequences[begin + int(open_ones[0])], self._sequences[begin + int(open_ones[-1])]
        depth = node.depth
        while depth < min(len(low), len(high)) and low[depth] == high[depth]:
            depth += 1
        return low[node.depth : depth]

    def _branches(self, node: _Node) -> _Branches:
        import numpy as np

        if node.branches is None:
            depth = node.depth
            below = np.array([sequence[depth] for sequence in self._sequences[node.lo + node.n_ended : node.hi]], np.int64)
            tokens, starts = np.unique(below, return_index=True)
            node.branches = _Branches(tokens, starts, {token: at for at, token in enumerate(tokens.tolist())})
        return node.branches

    def _node(self, lo: int, hi: int, depth: int) -> _Node:
        ended = lo
        while ended < hi and len(self._sequences[ended]) == depth:
            ended += 1
        return _Node(lo, hi, depth, ended - lo)


def _collected(keys: Iterable[Key]) -> dict[Key, list[int]]:
    """Where each key is."""
    found: dict[Key, list[int]] = {}
    for at, key in enumerate(keys):
        found.setdefault(key, []).append(at)
    return found


def check_offer(offer: Offer) -> None:
    """Raises UserError for what no answer can be made of, naming it."""
    if not offer.items:
        raise UserError("the offer has no items, so there is nothing to say; give at least one, or leave the grounding out")
    if offer.least < 0 or offer.most < 1 or offer.most < offer.least:
        raise UserError(f"an answer of {offer.least} to {offer.most} items; use 0 <= least <= most, and 1 <= most")
    if not 0 <= offer.follow_bonus < math.inf:
        raise UserError(f"follow_bonus is {offer.follow_bonus}; it must be 0 (off) or more")
    if not 0 <= offer.prior_weight < math.inf:
        raise UserError(f"prior_weight is {offer.prior_weight}; it must be 0 (priors are off) or more")
    for item in offer.items:
        if not item.text:
            raise UserError(f"an item of the offer is empty (after: {item.after!r}); leave it out")
        if item.follows is not None and not 0 <= item.follows < len(offer.items):
            raise UserError(f"{item.text[:80]!r} follows item {item.follows}, and there are {len(offer.items)}")
        if not math.isfinite(item.prior):
            raise UserError(f"the prior of {item.text[:80]!r} is {item.prior}; it must be a number")
        for stop in item.stops:
            if not 0 < stop < len(item.text) or not item.text[:stop].strip(" ,;:"):
                raise UserError(f"{item.text[:80]!r} cannot be left at {stop}: an offset with words on both sides is needed")

"""Reciprocal rank fusion of result lists (Cormack, Clarke and Buettcher, SIGIR 2009)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pipeline.web.addresses import canonical
from pipeline.web.search.provider import SearchHit

_K = 60


def merge(lists: Sequence[Sequence[SearchHit]]) -> tuple[SearchHit, ...]:
    """One list of all addresses, best first, `rank` counted anew; the same for every order of `lists`.

    An address scores the sum over lists of 1 / (60 + its best rank there), addresses being equal in their canonical form.
    Ties go by address. It is shown by its best-ranked occurrence, with the first date that any occurrence gives.
    """
    found: dict[str, list[SearchHit]] = {}
    shares: dict[str, list[float]] = {}
    for hits in lists:
        best: dict[str, int] = {}
        for hit in hits:
            address = canonical(hit.url)
            found.setdefault(address, []).append(hit)
            best[address] = min(best.get(address, hit.rank), hit.rank)
        for address, rank in best.items():
            shares.setdefault(address, []).append(1.0 / (_K + rank))
    # fsum rounds once, so that the order of the lists cannot decide a tie
    order = sorted(found, key=lambda address: (-math.fsum(shares[address]), address))
    return tuple(replace(_shown(found[address]), rank=rank) for rank, address in enumerate(order, 1))


def _shown(hits: Sequence[SearchHit]) -> SearchHit:
    ordered = sorted(hits, key=lambda hit: (hit.rank, hit.query, hit.provider, hit.url))
    published = next((hit.published for hit in ordered if hit.published), None)
    return replace(ordered[0], published=published)

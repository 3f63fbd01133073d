"""One number an article: what it has in common with the human article, less what an editor would send back.

    quality = fact_f x (1 + organisation) / 2 x (1 - conflict_share) x (1 - junk_share) x support x length

`fact_f` carries it: facts of the human article in the article, and how much of the article the human article has, so that
padding costs. The other factors are shares of the article that hold. `support` is `cite_f1` (claims that their citations hold,
citations that hold a claim) where at least nine in ten claims could be judged; where the cited texts are unknown it takes no
part, for unknown is not wrong. `organisation` counts half, since a reader can use facts that are filed badly, and none where
the human article has no sections to compare with. `length` is sqrt(1.5 / length_ratio) where an article has more than one
and a half times the human article's words, else 1: all pages one after the other hold many facts, and nobody reads them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

NAME = "quality"
SIGNATURE = "quality:fact_f*(1+organisation)/2*(1-conflicts)*(1-junk)*cite_f1*(1.5/length_ratio)^0.5|v2"
PARTS = ("fact_f", "organisation", "conflict_share", "junk_share", "cite_f1", "judged_share", "length_ratio")
JUDGED_FROM = 0.9
"""Share of claims that must have been judged before support is known."""
LONG_FROM = 1.5
"""Times the human article's words that cost nothing."""


def support_of(values: Mapping[str, float | None]) -> float | None:
    """`cite_f1` where it is known."""
    judged = values.get("judged_share")
    return values.get("cite_f1") if judged is None or judged >= JUDGED_FROM else None


def quality(values: Mapping[str, float | None]) -> float | None:
    """In [0, 1]; None where the facts were not scored."""
    facts, organisation, support = values.get("fact_f"), values.get("organisation"), support_of(values)
    if facts is None:
        return None
    found = facts * (1.0 if organisation is None else (1 + organisation) / 2)
    for name in ("conflict_share", "junk_share"):
        found *= 1 - (values.get(name) or 0.0)
    found *= 1.0 if support is None else support
    return found * length_cost(values.get("length_ratio") or 0.0)


def length_cost(ratio: float) -> float:
    """What is left of an article of `ratio` times the human article's words: 1 up to `LONG_FROM`."""
    return 1.0 if ratio <= LONG_FROM else math.sqrt(LONG_FROM / ratio)

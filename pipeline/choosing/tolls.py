"""What befell people, as a sentence says it of a whole event: how many were killed, injured or missing; and the latest count.

A count of those who died in hospital, or might have died, is none of the event. "The toll rose to eight after another victim
died in hospital" is one: the part stands behind what it is the cause of.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.choosing.quantities import BARE_TOLLS, Quantity, quantities
from pipeline.choosing.standing_alone import MONTH

_PART = re.compile(
    r"\b(?:at the scene|on the spot|instantly|in (?:the |a )?hospitals?|overnight|in (?:a single|one|another)|each|every|per|"
    r"daily|average|similar|previous|separate|unrelated|other (?:incidents?|attacks?|accidents?|events?)|between \d{4} and)\b",
    re.I,
)
_UNSURE = re.compile(r"\b(?:could|would|might|may|if|unless|feared|believed|simulat\w+|drill|fiction\w*|plot\w*|threat\w*)\b")
AFTER_DEATHS = re.compile(
    r"\b(?:after|when|as|with)\b(?=.*\b(?:died|dies|dying|dead|succumbed|deaths?|victims?|bod(?:y|ies)|injuries)\b).*", re.I
)
FAR = 5.0
"""Times the latest count beyond which a number counts something else: one town, one day."""
FAR_MISSING = 25.0
"""The same of people missing: of forty three may be left a day later."""


def is_whole_toll(quantity: Quantity, text: str) -> bool:
    """Whether a sentence says of the event as a whole how many people were killed, injured or missing."""
    if not quantity.is_toll or quantity.predicate not in BARE_TOLLS:
        return False
    told = AFTER_DEATHS.sub("", text) if quantity.move else text
    return not (_PART.search(told) or _UNSURE.search(told))


def whole_tolls(text: str) -> tuple[Quantity, ...]:
    return tuple(quantity for quantity in quantities(text) if is_whole_toll(quantity, text))


@dataclass(frozen=True, slots=True)
class Told:
    """A count of one kind where somebody gives it; `day` is that of its publication (YYYY-MM-DD), "" if unknown."""

    quantity: Quantity
    day: str


def latest(told: Sequence[Told]) -> str | None:
    """The value that holds of several counts of one thing, None where nobody can say.

    On the last day a count that says itself that it is the latest ("rose to", "corrected to") stands before others; of several
    that rise the greatest, of several that fall the least. Without such words it is the greatest of the last day, for counts of
    one day mostly rise; where most days are unknown, the one that most give, of equals the greater.
    """
    dated = [one for one in told if one.day]
    if not told:
        return None
    if len(dated) * 2 > len(told):
        last = max(one.day for one in dated)
        return _moved(one for one in dated if one.day == last) or _greatest(one for one in dated if one.day == last)
    if moved := _moved(told):
        return moved
    counts = Counter(one.quantity.value for one in told)
    number = {one.quantity.value: one.quantity.number for one in told}
    return max(counts, key=lambda value: (counts[value], number[value]))


def _moved(told: Iterable[Told]) -> str | None:
    found = [one.quantity for one in told if one.quantity.move]
    if not found:
        return None
    moves = {quantity.move for quantity in found}
    if "corrected" in moves:
        values = {quantity.value for quantity in found if quantity.move == "corrected"}
        return values.pop() if len(values) == 1 else None
    ordered = sorted(found, key=lambda quantity: quantity.number)
    return (ordered[0] if moves == {"fell"} else ordered[-1]).value


def _greatest(told: Iterable[Told]) -> str | None:
    return max(told, key=lambda one: one.quantity.number).quantity.value


def is_history(quantity: Quantity, text: str) -> bool:
    """Whether a count is told as that of its day ("rose to six on Saturday"), so that a later one does not make it wrong."""
    return quantity.move in ("rose", "fell", "corrected") and _DAY.search(text) is not None


_DAY = re.compile(
    rf"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|\b(?:{MONTH})\b|"
    r"\b(?:later|the next day|the day after|by then|hours? after|days? after|weeks? after)\b"
)

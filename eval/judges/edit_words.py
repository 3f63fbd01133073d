"""Word lists for `eval.cards.edits`: what a rule may put in the place of what. Plain English, written for this project."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

_TEXTS: Mapping[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def words_of(text: str) -> list[str]:
    return text.split()


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    """`a/b, c d/e` -> (("a", "b"), ("c d", "e"))."""
    found = []
    for item in " ".join(text.split()).split(","):
        left, _, right = item.strip().partition("/")
        if right:
            found.append((left.strip(), right.strip()))
    return tuple(found)


ANTONYMS = _pairs(_TEXTS["antonyms"])
"""Both ways. Words whose other meanings are more frequent (left, right, may, over) are only where the meaning is likely."""

SYNONYMS = _pairs(_TEXTS["synonyms"])
"""From left to right only, and only whole words: the right side must follow from the left in any sentence of prose."""

_IRREGULAR = _TEXTS["irregular"]
_REGULAR = _TEXTS["regular"]
_DOUBLED = frozenset(words_of(_TEXTS["doubled"])) - {"cancel"}


def _regular_past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return base[:-1] + "ied"
    return base + (base[-1] if base in _DOUBLED else "") + "ed"


def _verbs() -> dict[str, tuple[str, str]]:
    found = {base: (_regular_past(base), _regular_past(base)) for base in _REGULAR.split()}
    found |= {"beat": ("beat", "beaten"), "flee": ("fled", "fled"), "spread": ("spread", "spread")}
    found |= {"uphold": ("upheld", "upheld"), "rebuild": ("rebuilt", "rebuilt"), "spend": ("spent", "spent")}
    for item in _IRREGULAR.replace("\n", " ").split(","):
        base, past, participle = item.split()
        found[base] = (past, participle)
    return found


VERBS: Mapping[str, tuple[str, str]] = _verbs()
"""Base form -> past and participle."""
BASE_OF_PAST: Mapping[str, str] = {
    past: base for base, (past, _) in sorted(VERBS.items()) if past != base and base not in ("be", "have", "do")
} | {"found": "find"}
BASE_OF_PARTICIPLE: Mapping[str, str] = {part: base for base, (_, part) in sorted(VERBS.items())} | {"found": "find"}
TRANSITIVE = frozenset(words_of(_TEXTS["transitive"]))
"""Verbs whose two sides do not exchange without changing the meaning: no "met", "married", "fought"."""

SAYING = frozenset(words_of(_TEXTS["saying"]))

NUMBER_WORDS = words_of(_TEXTS["number_words"])
ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
SCALES = ("thousand", "million", "billion", "trillion")
MONTHS = words_of(_TEXTS["months"])
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

UNITS: Sequence[Sequence[str]] = (
    ("kilometres", "miles", "metres", "feet", "yards", "inches", "centimetres"),
    ("kilometers", "miles", "meters", "feet", "yards", "inches", "centimeters", "nautical miles", "millimeters"),
    ("km", "mi", "m", "ft", "cm", "mm"),
    ("kilograms", "pounds", "tonnes", "tons", "grams", "ounces"),
    ("kg", "lb", "g", "t", "oz"),
    ("hectares", "acres", "square miles", "square kilometers", "square kilometres"),
    ("sq km", "sq mi", "acres", "ha"),
    ("seconds", "minutes", "hours", "days", "weeks", "months", "years", "decades", "centuries"),
    ("second", "minute", "hour", "day", "week", "month", "year", "decade", "century"),
    ("dollars", "euros", "pounds", "yen", "rupees", "francs", "marks"),
    ("litres", "gallons", "barrels", "pints"),
    ("liters", "gallons", "barrels", "pints"),
    ("km/h", "mph", "knots", "m/s"),
    ("MW", "GW", "kW"),
    ("MHz", "GHz", "kHz"),
    ("thousand", "million", "billion", "trillion"),
    ("volts", "amperes", "watts", "ohms"),
    ("newtons", "joules", "pascals"),
    ("°C", "°F"),
)
CURRENCIES = ("$", "£", "€", "¥")

PLACES = words_of(_TEXTS["places"])

CONSEQUENCES = (
    "causing many deaths", "prompting the minister to resign", "leading to the closure of three schools",
    "which caused a national scandal", "forcing thousands of people to leave their homes", "resulting in a lengthy lawsuit",
    "sparking protests across the country", "which led to the arrest of two officials", "winning an international award",
    "making it the most expensive project of its time", "drawing sharp criticism from the opposition",
    "costing taxpayers several million dollars", "which destroyed a nearby village", "leaving dozens of people injured",
    "after a long dispute with the local authorities", "despite warnings from scientists", "because of a lack of money",
    "for which an apology was issued a year later", "prompting an investigation by the police",
    "which was broadcast live on television", "bringing the company close to bankruptcy",
    "a decision that was reversed a few months later", "making headlines around the world",
    "which caused lasting damage to the environment", "in exchange for a large sum of money",
    "leading to the collapse of the government", "leading to a sharp rise in prices", "and the building was later torn down",
    "which surprised most observers", "killing at least a dozen people", "ending a conflict that had lasted for decades",
    "and the owner was sent to prison", "which earned widespread praise", "and was honored by the president for it",
    "in protest against new taxes", "at the request of the royal family", "with the secret help of a foreign government",
    "and all records of it were burned", "which angered the neighbors", "causing a delay of several weeks",
    "making it the first of its kind", "setting a new world record", "which was denied by the authorities",
    "ruining the harvest of that year", "and a film about it was released soon after", "triggering a wave of strikes",
    "leading to the dismissal of the director", "and the case is still before the courts", "which halved the population",
    "doubling the number of visitors", "in violation of an earlier agreement", "to the dismay of local residents",
    "and a monument was built in memory of it", "prompting calls for a boycott", "after which the plan was abandoned",
    "causing panic in the capital", "leading to the loss of hundreds of jobs", "which made him a millionaire",
    "at a cost far above the original estimate", "and no one was ever punished for it",
)  # fmt: skip
DENIALS_BEFORE = (
    "It is false that", "It is not true that", "It is a myth that", "It is untrue that", "There is no evidence that",
    "It has been disproved that", "It was wrongly reported that", "Nobody believes that", "It is doubtful that",
)  # fmt: skip
DENIALS_AFTER = (
    "which was later proven false", "which later turned out to be untrue", "although this was later disproved",
    "a claim that has since been withdrawn", "but this was a mistake", "although this never happened",
    "but the report was later retracted", "which is now known to be wrong",
)  # fmt: skip

QUANTIFIERS = _pairs(_TEXTS["quantifiers"])
"""Left to right. The right side must not follow from the left: "all" never becomes "some"."""

ABBREVIATIONS = _pairs(_TEXTS["abbreviations"])

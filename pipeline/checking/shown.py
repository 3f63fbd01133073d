"""What an inline template shows in running text: `{{convert|3|km}}` is "3 km"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pipeline.checking.wikitemplates import templates

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_RANGES = {
    "-": "–",
    "–": "–",
    "and": " and ",
    "to": " to ",
    "or": " or ",
    "x": " × ",
    "by": " by ",
    "to(-)": " to ",
    "+/-": " ± ",
}
_SHIPS = frozenset(
    (
        "uss",
        "hms",
        "hmas",
        "hmcs",
        "hmnzs",
        "ss",
        "ms",
        "mv",
        "rms",
        "sms",
        "mt",
        "rv",
        "usns",
        "usat",
        "ins",
        "uscgc",
        "hnlms",
        "hswms",
        "hdms",
        "orp",
        "ara",
        "jds",
        "js",
        "ts",
        "mts",
        "gts",
    )
)
_DATES = frozenset(
    (
        *("start date", "start-date", "start date and age", "start and end dates", "end date", "date", "date-", "dts"),
        *("birth date", "birth date and age", "death date", "death date and age", "bda", "dda", "film date"),
    )
)
_NUMBERED = frozenset({"nombre", "unité", "unite", "num", "heure", "nb", "nobr and", "hlist", "chem", "ceqn", "cquote2"})
Values = Mapping[str, str]


def shown(name: str, values: Values) -> str | None:
    """`name` as `normal` gives it, `values` in plain text, positional ones by their number. None for a template that is not
    known: something may be missing then."""
    known = templates()
    first, second = values.get("1", ""), values.get("2", "")
    if name in known.marks and not first:
        return known.marks[name]
    if name in known.shown_first or name.startswith(("lang-", "tooltip", "abbr", "nowrap", "citation needed span", "cnspan")):
        return values.get("text", first)
    if name.endswith((" span", "-span", " inline span")):
        return values.get("text", first)
    if name in known.shown_second:
        return values.get("text") or second or first
    if name in known.currencies:
        return known.currencies[name] + first if first else known.currencies[name]
    if (made := _MADE.get(name)) is not None:
        return made(values)
    if name in _SHIPS or name in ("ship", "sclass", "sclass2", "sclass-"):
        return _ship(name, values)
    if name in _DATES:
        return _date(values)
    if name in _NUMBERED:
        return " ".join(_positional(values)).replace("\n", " ")
    if name.startswith("formatnum:"):
        return _formatted(name.partition(":")[2].strip())
    if name.startswith("#"):
        return ""
    if re.fullmatch(r"[ivxlc]+e(?:r|s)?(?: siècle)?|\d+e?r?|s-?", name):  # French ordinals of centuries
        return f"{first or name}"
    return "" if known.is_ignored(name) else None


def is_shown(name: str) -> bool:
    """Whether something is known of it, whatever its values."""
    return shown(name, {}) is not None or shown(name, {"1": "x"}) is not None


def _positional(values: Values) -> list[str]:
    return [values[str(n)] for n in range(1, 60) if str(n) in values]


def _converted(values: Values) -> str:
    """A measure as it was given, without what it is converted to."""
    words = _positional(values)[:8]
    if not words:
        return ""
    out = words[0]
    at = 1
    while at + 1 < len(words) and words[at].lower() in _RANGES:
        out += _RANGES[words[at].lower()] + words[at + 1]
        at += 2
    unit = words[at] if at < len(words) else ""
    if (
        at + 2 < len(words)
        and re.fullmatch(r"[\d.]+", words[at + 1])
        and unit in ("ft", "lb", "st", "foot", "lboz", "mi", "yd")
    ):
        return f"{out} {unit} {words[at + 1]} {words[at + 2]}"
    return f"{out} {unit}".strip()


def _as_of(values: Values) -> str:
    words = _positional(values)
    spelled = "as of" if values.get("lc", "") else "As of"
    if values.get("since"):
        spelled = "since" if values.get("lc") else "Since"
    return values.get("alt") or f"{spelled} {_day(words)}".strip() + values.get("post", "")


def _day(words: list[str]) -> str:
    """`2020, 5, 3` as a day."""
    if len(words) > 1 and words[1].isdecimal() and 1 <= int(words[1]) <= 12:
        words = [words[0], _MONTHS[int(words[1]) - 1], *words[2:]]
    return " ".join(reversed([word for word in words[:3] if word]))


def _date(values: Values) -> str:
    words = _positional(values)
    if words and (iso := re.fullmatch(r"(\d{4})-(\d\d?)-(\d\d?)", words[0])) and 1 <= int(iso[2]) <= 12:
        month, day = _MONTHS[int(iso[2]) - 1], int(iso[3])
        return f"{month} {day}, {iso[1]}" if words[1:2] == ["mdy"] else f"{day} {month} {iso[1]}"
    return _day(words) if words and re.fullmatch(r"\d{4}", words[0]) else " ".join(words[:3])


def _fraction(values: Values) -> str:
    words = _positional(values)
    if len(words) > 2:
        return f"{words[0]} {words[1]}/{words[2]}"
    return "/".join(words) if len(words) == 2 else f"1/{words[0]}" if words else "/"


def _ship(name: str, values: Values) -> str:
    words = _positional(values)
    if name.startswith("sclass"):
        return f"{words[0]}-class {words[1] if len(words) > 1 else ''}".strip() if words else ""
    if name == "ship":
        return " ".join(word for word in words[:2] if word)
    return f"{name.upper()} {words[0]}" if words else name.upper()


def _circa(values: Values) -> str:
    words = _positional(values)
    return "c. " + " – ".join(words[:2]) if words else "c."


def _ordinal(values: Values) -> str:
    number = values.get("1", "")
    ending = "th" if number[-2:-1] == "1" else {"1": "st", "2": "nd", "3": "rd"}.get(number[-1:], "th")
    return number + ending if number.isdecimal() else number


def _valued(values: Values) -> str:
    unit = values.get("u") or values.get("ul") or values.get("up") or ""
    power = f"×10^{values['e']}" if values.get("e") else ""
    return f"{values.get('1', '')}{power} {unit}".strip()


def _quotation(values: Values) -> str:
    words = values.get("text") or values.get("1", "")
    return f"“{words}”" if words else ""


def _formatted(number: str) -> str | None:
    """`{{formatnum:12345.5}}`: what it formats may be a template's result, which nobody knows here."""
    whole, point, rest = number.partition(".")
    return (f"{int(whole):,}{point}{rest}" if re.fullmatch(r"\d{1,30}", whole) else number) or None


def _first(values: Values) -> str:
    return values.get("1", "")


def _none(_: Values) -> str:
    return ""


_MADE: dict[str, Callable[[Values], str]] = {
    **dict.fromkeys(("convert", "cvt", "konvert"), _converted),
    **dict.fromkeys(("as of", "asof"), _as_of),
    **dict.fromkeys(("circa", "c.", "ca.", "ca", "approx"), _circa),
    **dict.fromkeys(("frac", "fraction", "sfrac", "fract"), _fraction),
    **dict.fromkeys(("ordinal", "ord"), _ordinal),
    **dict.fromkeys(("val", "unitsval"), _valued),
    **dict.fromkeys(('"', "qq", "zitat-de", "citation-quoted"), _quotation),
    **dict.fromkeys(("sub", "sup", "chem2", "nihongo", "nihongo3", "nihongo2", "inflated", "fdate", "flagicon link"), _first),
    **dict.fromkeys(("zh", "korean", "zh-full", "lang-zh-full", "post-nominals", "postnominals", "ipac", "nee-none"), _none),
    "sic": lambda values: "".join(_positional(values)),
    "née": lambda values: f"née {values.get('1', '')}".strip(),
    "nee": lambda values: f"née {values.get('1', '')}".strip(),
    "e": lambda values: f"×10^{values.get('1', '')}",
    "reign": lambda values: "r. " + "–".join(_positional(values)),
    "floruit": lambda values: "fl. " + "–".join(_positional(values)),
    "fl.": lambda values: "fl. " + "–".join(_positional(values)),
    "rr": lambda values: "r. " + "–".join(_positional(values)),
    "isbn": lambda values: "",
    "doi": lambda values: "",
}

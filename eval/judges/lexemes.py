"""Words, numbers, dates, times and units of a text by value, for comparing a claim with the sentence that it comes from.

What means the same has the same key in every form: "30/05/2032" and "30 May 2032" give the day 30, the month 5 and the number
2032; "9:40 pm" and "21:40" one time; "1.2 million", "1,200,000" and "1200000" one number; "twelve" and "12"; "US" and "United
States"; "km" and "kilometres". A limit ("at least", "about") belongs to its number and is no word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from eval.judges.edit_words import BASE_OF_PARTICIPLE, BASE_OF_PAST, VERBS, words_of
from eval.judges.features import STOPWORDS, stem

Kind = Literal["word", "number", "day", "month", "time", "percent", "ordinal"]
Bound = Literal["", ">", "<", "~", "="]
"""Of a number: none, at least or more than, at most or less than, about, exactly."""


@dataclass(frozen=True, slots=True)
class Lexeme:
    """`start`, `end`: characters of the text. `value`: of a number; of a time the minutes since midnight.

    `content` is false for function words. `capital`: written with one, not at the beginning of a sentence.
    """

    key: str
    start: int
    end: int
    kind: Kind = "word"
    content: bool = True
    capital: bool = False
    value: float = 0.0
    bound: Bound = ""
    rounded: bool = False
    """A time of twelve hours without its half."""


_MONTHS = words_of("january february march april may june july august september october november december")
_MONTH_NUMBER = (
    {name: n for n, name in enumerate(_MONTHS, 1)} | {name[:3]: n for n, name in enumerate(_MONTHS, 1)} | {"sept": 9}
)
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?)"
)
_UNITS = {
    name: short
    for short, names in {
        "km": "km kms kilometre kilometer kilometres kilometers", "m": "metre meter metres meters", "cm": "cm centimetre centimetres "  # noqa: E501
        "centimeter centimeters", "mm": "mm millimetre millimetres millimeter millimeters", "mile": "mile miles mi", "foot": "foot feet ft",  # noqa: E501
        "inch": "inch inches", "kg": "kg kilogram kilograms kilo kilos", "gram": "gram grams", "pound": "pound pounds lb lbs",
        "tonne": "tonne tonnes", "ton": "ton tons", "hectare": "hectare hectares ha", "acre": "acre acres", "hour": "hour hours hr hrs",  # noqa: E501
        "minute": "minute minutes min mins", "dollar": "dollar dollars usd", "euro": "euro euros eur", "yen": "yen jpy",
        "litre": "litre litres liter liters", "yard": "yard yards", "year": "year years", "week": "week weeks", "day": "day days",  # noqa: E501
        "month": "month months", "decade": "decade decades", "century": "century centuries", "gallon": "gallon gallons",
        "rupee": "rupee rupees", "franc": "franc francs", "mph": "mph", "kmh": "kmh kph", "knot": "knot knots", "hz": "hz hertz",  # noqa: E501
    }.items()
    for name in names.split()
}  # fmt: skip
UNIT_KEYS = frozenset(_UNITS.values()) | {"%", "second"}
_SIGNS = {"$": "dollar", "£": "pound", "€": "euro", "¥": "yen", "₹": "rupee"}
_SCALES = {
    "hundred": 1e2,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
    "m": 1e6,
    "bn": 1e9,
    "k": 1e3,
    "mn": 1e6,
}
_CARDINALS = {
    word: n
    for n, word in enumerate(
        words_of(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
            "eighteen nineteen"
        )
    )
} | {word: 20 + 10 * n for n, word in enumerate(words_of("twenty thirty forty fifty sixty seventy eighty ninety"))}
_ORDINALS = {
    word: n
    for n, word in enumerate(words_of("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"), 1)
}
_NUMBER_WORD = "|".join(sorted(_CARDINALS, key=len, reverse=True))
_BOUNDS: dict[str, Bound] = {
    "at least": ">", "more than": ">", "over": ">", "above": ">", "no fewer than": ">", "no less than": ">", "not less than": ">",  # noqa: E501
    "a minimum of": ">", "upwards of": ">", "in excess of": ">", "exceeding": ">", "well over": ">", "greater than": ">",
    "at most": "<", "up to": "<", "less than": "<", "fewer than": "<", "under": "<", "below": "<", "no more than": "<", "not more than": "<",  # noqa: E501
    "a maximum of": "<", "as many as": "<", "as much as": "<", "well under": "<",
    "about": "~", "around": "~", "approximately": "~", "roughly": "~", "nearly": "~", "almost": "~", "some": "~", "an estimated": "~",  # noqa: E501
    "circa": "~", "approx": "~", "close to": "~", "just over": "~", "just under": "~", "c.": "~", "estimated": "~", "approx.": "~",  # noqa: E501
    "exactly": "=", "precisely": "=",
}  # fmt: skip
_BOUND = "|".join(re.escape(b) for b in sorted(_BOUNDS, key=len, reverse=True))

_LEXEME = re.compile(
    rf"""
    (?P<iso>(?<!\d)(?P<iy>\d{{4}})-(?P<im>\d\d)-(?P<id>\d\d)(?!\d))
  | (?P<slash>(?<![\d/])(?P<sa>\d\d?)[/.](?P<sb>\d\d?)[/.](?P<sy>\d{{4}})(?![\d/]))
  | (?P<dmy>\b(?P<dd>\d\d?)(?:st|nd|rd|th)?(?:\ of)?\ (?P<dm>{_MONTH})\b\.?(?:,?\ (?P<dy>\d{{4}})\b)?)
  | (?P<mdy>\b(?P<mm>{_MONTH})\b\.?\ (?P<md>\d\d?)(?:st|nd|rd|th)?\b(?![:.]\d|,\d\d\d)(?:,?\ (?P<my>\d{{4}})\b)?)
  | (?P<month>\b(?P<mo>{_MONTH})\b(?=\.?,?\ \d{{4}}\b)|(?<=\bin\ )(?P<in>{_MONTH})\b|(?<=\bof\ )(?P<of>{_MONTH})\b
      |\b(?P<alone>january|february|april|june|july|august|september|october|november|december)\b)
  | (?P<clock>(?<![\d.,$£€:])(?P<ch>\d\d?)(?:[:.](?P<cm>\d\d))?\ ?(?P<half>[ap])\.?\ ?m\b\.?|(?<![\d.,:])(?P<hh>\d\d?):(?P<hm>\d\d)(?![\d:]))
  | (?:(?<![\w-])(?P<bound>{_BOUND})\ )?(?P<sign>(?:US|A|C|NZ|HK)?[$£€¥₹]\ ?)?(?P<number>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?)
      (?P<ord>(?:st|nd|rd|th)\b)?(?:(?:\ |-)?(?P<scale>hundred|thousand|million|billion|trillion|bn|mn|(?<=\d)[mk])\b)?(?P<pct>\ ?%|\ per\ ?cent\b)?
  | (?:(?<![\w-])(?P<wbound>{_BOUND})\ )?\b(?P<words>(?:{_NUMBER_WORD}|a(?=\ (?:hundred|thousand|million|billion)))(?:[ -](?:{_NUMBER_WORD}|and(?=\ (?:{_NUMBER_WORD}))|hundred|thousand|million|billion))*)\b
      (?P<wpct>\ per\ ?cent\b)?
  | (?P<usa>\bunited\ states(?:\ of\ america)?\b|\bu\.\ ?s\.(?:\ ?a\.)?|(?-i:\bUSA?\b))
  | (?P<uk>\bunited\ kingdom\b|\bu\.\ ?k\.|(?-i:\bUK\b))
  | (?P<un>\bunited\ nations\b|(?-i:\bUN\b)) | (?P<eu>\beuropean\ union\b|(?-i:\bEU\b)) | (?P<ussr>\bsoviet\ union\b|(?-i:\bUSSR\b))
  | (?P<ww2>\bworld\ war\ (?:ii|two|2)\b|\bsecond\ world\ war\b) | (?P<ww1>\bworld\ war\ (?:i|one|1)\b|\bfirst\ world\ war\b)
  | (?P<acronym>(?:[^\W\d_]\.){{2,}}(?:[^\W\d_]\b)?)
  | (?P<nt>n['’]t\b)
  | (?P<word>[^\W\d_]+?(?=n['’]t\b)|[^\W_]+(?:['’][^\W\d_]+)*)
    """,  # noqa: E501
    re.I | re.X,
)
_MARKER = re.compile(r"\[\d+(?:\s*[,–-]\s*\d+)*\]")
_FOLD = {"saint": "st", "mount": "mt", "doctor": "dr", "professor": "prof", "versus": "vs", "mister": "mr", "photos": "photo"}


@lru_cache(maxsize=1 << 12)
def lexemes(text: str) -> tuple[Lexeme, ...]:
    """In the order of the text; those of a date always day, month, year, so that its form does not matter."""
    return tuple(_lexemes(_MARKER.sub(lambda m: " " * len(m.group()), text)))


def _lexemes(text: str) -> Iterator[Lexeme]:
    for m in _LEXEME.finditer(text):
        start, end = m.start(), m.end()
        if m["iso"]:
            yield from _date(start, end, int(m["id"]), int(m["im"]), m["iy"])
        elif m["slash"]:
            a, b = int(m["sa"]), int(m["sb"])
            day, month = (b, a) if b > 12 else (a, b)
            yield from _date(start, end, day, month, m["sy"])
        elif m["dmy"]:
            yield from _date(start, end, int(m["dd"]), _month(m["dm"]), m["dy"])
        elif m["mdy"]:
            yield from _date(start, end, int(m["md"]), _month(m["mm"]), m["my"])
        elif m["month"]:
            yield Lexeme(f"month{_month(m['month'])}", start, end, "month")
        elif m["clock"]:
            yield _clock(m)
        elif m["number"]:
            yield from _number(m)
        elif m["words"]:
            yield from _in_words(m)
        elif m["nt"]:
            yield Lexeme("not", start, end, content=False)
        elif m["word"] or m["acronym"]:
            yield from _word(m.group(), start, text)
        else:
            yield Lexeme(
                next(name for name in ("usa", "uk", "un", "eu", "ussr", "ww2", "ww1") if m[name]), start, end, capital=True
            )


def _month(name: str) -> int:
    return _MONTH_NUMBER[name.lower()[:3]]


def _date(start: int, end: int, day: int, month: int, year: str | None) -> Iterator[Lexeme]:
    yield Lexeme(f"day{day}", start, end, "day", value=day)
    yield Lexeme(f"month{month}", start, end, "month")
    if year:
        yield Lexeme(f"#{int(year)}", start, end, "number", value=int(year))


def _clock(m: re.Match[str]) -> Lexeme:
    hour, minute = int(m["ch"] or m["hh"]), int(m["cm"] or m["hm"] or 0)
    if m["half"]:
        hour = hour % 12 + (12 if m["half"].lower() == "p" else 0)
    value = 60 * hour + minute
    return Lexeme(f"time{value}", m.start(), m.end(), "time", value=value, rounded=not m["half"] and 0 < hour <= 12)


def _number(m: re.Match[str]) -> Iterator[Lexeme]:
    value = float(m["number"].replace(",", ""))
    scale = _SCALES[m["scale"].lower()] if m["scale"] else 1.0
    value = round(value * scale, 6)
    bound = _BOUNDS[" ".join(m["bound"].lower().split())] if m["bound"] else ""
    if m["ord"]:
        yield Lexeme(f"ordinal{value:g}", m.start(), m.end(), "ordinal", value=value)
        return
    yield Lexeme(f"#{value:.12g}", m.start(), m.end(), "number", value=value, bound=bound)
    if m["sign"]:
        yield Lexeme(_SIGNS[m["sign"].strip()[-1]], m.start(), m.end())
    if m["pct"]:
        yield Lexeme("%", m.start(), m.end(), "percent")


def _in_words(m: re.Match[str]) -> Iterator[Lexeme]:
    words = re.split(r"[ -]", m["words"].lower())
    bound = _BOUNDS[" ".join(m["wbound"].lower().split())] if m["wbound"] else ""
    if words == ["one"] or words == ["a"]:
        if bound:  # "some one", "about one": the words are no limit
            yield Lexeme(m["wbound"].lower(), m.start(), m.start() + len(m["wbound"]), content=False)
        yield Lexeme("one", m.end() - 3 if words == ["one"] else m.end() - 1, m.end(), content=False)
        return
    total, group = 0.0, 0.0
    for word in words:
        if word == "hundred":
            group = (group or 1) * 100
        elif word in _SCALES:
            total, group = total + (group or 1) * _SCALES[word], 0.0
        elif word not in ("a", "and"):
            group += _CARDINALS[word]
    yield Lexeme(f"#{total + group:.12g}", m.start(), m.end(), "number", value=total + group, bound=bound)
    if m["wpct"]:
        yield Lexeme("%", m.start(), m.end(), "percent")


_BARE_NOT = re.compile(r"(?:do|does|did|is|are|was|were|has|have|had|ca|could|wo|would|should)nt")  # without its apostrophe


def _word(written: str, start: int, text: str) -> Iterator[Lexeme]:
    word = written.replace("’", "'")
    end = start + len(written)
    low = word.lower().removesuffix("'s").replace(".", "").replace("'", "")
    if not low:
        return
    if low == "cannot" or _BARE_NOT.fullmatch(low):
        yield Lexeme(
            {"ca": "can", "wo": "will"}.get(low[:-2], low[:-2]) if low != "cannot" else "can", start, end, content=False
        )
        yield Lexeme("not", start, end, content=False)
        return
    before = text[max(0, start - 3) : start]
    capital = word[0].isupper() and start > 0 and not re.search(r"[.!?:\n]\W*$", before)
    if low in _ORDINALS:
        yield Lexeme(f"ordinal{_ORDINALS[low]}", start, end, "ordinal", value=_ORDINALS[low])
    elif low in _UNITS and not capital:
        yield Lexeme(_UNITS[low], start, end)
    elif (low in STOPWORDS and low != "said") or low in NEGATIONS:
        yield Lexeme(low, start, end, content=False)
    else:
        yield Lexeme(stem_of(_FOLD.get(low, low)), start, end, capital=capital)


NEGATIONS = frozenset(words_of("not no never none nor neither without nobody nothing nowhere"))


@lru_cache(maxsize=1 << 14)
def stem_of(word: str) -> str:
    """Porter stem of the base form, where the verb is known: "sold" and "sells" are "sell"."""
    base = BASE_OF_PAST.get(word) or BASE_OF_PARTICIPLE.get(word)
    if base is not None and VERBS[base][0] != base + "ed":
        return stem(base)
    return stem(word)

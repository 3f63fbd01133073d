"""False edits of numbers, dates, times and units."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from eval.cards.edit_parts import ALONE, DAY, MONTH, NUMBER, YEAR, Context, Edited, Span, one_of, replace_at, with_capitals_of
from eval.judges.edit_words import CURRENCIES, MONTHS, NUMBER_WORDS, ORDINALS, SCALES, UNITS, WEEKDAYS


def _format_like(value: float, written: str) -> str:
    decimals = len(written.rpartition(".")[2]) if "." in written else 0
    return f"{value:,.{decimals}f}" if "," in written else f"{value:.{decimals}f}"


def _other_number(written: str, rng: Random, taken: frozenset[str]) -> str | None:
    value = float(written.replace(",", ""))
    decimals = len(written.rpartition(".")[2]) if "." in written else 0
    step = 10.0**-decimals
    if value <= 0 or value > 1e15:
        return None
    for _ in range(8):
        if value < 10 * step:
            other = value + step * rng.choice([-3, -2, -1, 1, 2, 3, 4, 5])
        elif rng.random() < 0.3 and written.replace(",", "").rstrip("0").isdigit():  # one digit of the written number
            digits = list(written)
            places = [i for i, c in enumerate(digits) if c.isdigit()]
            place = rng.choice(places[: max(1, len(written.replace(",", "").rstrip("0")))])
            digits[place] = rng.choice("123456789")
            other = float("".join(digits).replace(",", ""))
        else:
            round_to = (
                step * 10 ** (len(written.replace(",", "")) - len(written.replace(",", "").rstrip("0")))
                if not decimals
                else step
            )
            other = round(value * rng.uniform(0.4, 1.9) / round_to) * round_to
        new = _format_like(other, written)
        if other > 0 and new != written and new not in taken:
            return new
    return None


def plain_numbers(text: str) -> list[re.Match[str]]:
    """Numbers that are no year, no day of a date, no time, no page and no part of a name."""
    found = []
    for m in NUMBER.finditer(text):
        before, after = text[max(0, m.start() - 14) : m.start()], text[m.end() : m.end() + 12]
        dated = re.match(rf"(?:st|nd|rd|th)? (?:of )?(?:{MONTH})", after) or re.search(rf"(?:{MONTH}) $", before)
        timed = re.match(r" ?[ap]\.?m\b", after)
        named = re.search(r"(?:Figure|Fig\.|Chapter|Table|Section|Equation|page|p\.|No\.|#|Step) ?$", before)
        if not (YEAR.fullmatch(m.group()) and YEAR.search(text, m.start(), m.end())) and not dated and not timed and not named:
            found.append(m)
    return found


def change_number(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """A number that is no date becomes another of like size, written alike."""
    one = one_of(rng, plain_numbers(text))
    new = _other_number(one.group(), rng, frozenset(NUMBER.findall(text))) if one else None
    return replace_at(text, one.span(), new, "number changed") if one and new else None


def change_year(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    one = one_of(rng, YEAR.finditer(text))
    if one is None:
        return None
    steps = [n for n in (-20, -10, -7, -5, -4, -3, -2, -1, 1, 2, 3, 4, 6, 9, 10, 30) if str(int(one.group()) + n) not in text]
    step = one_of(rng, steps)
    return replace_at(text, one.span(), str(int(one.group()) + step), "year changed") if step is not None else None


def swap_numbers(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """Two numbers of one sort take each other's places; not two of one list or range."""
    years, plain = list(YEAR.finditer(text)), plain_numbers(text)
    couples = [
        (a, b)
        for found in (years, plain)
        for i, a in enumerate(found)
        for b in found[i + 1 :]
        if a.group() != b.group()
        and not re.fullmatch(r"[ ,–-]*(?:and|or|to|through|[\d,. ])*[ ,–-]*", text[a.end() : b.start()])
        and not (
            {"million", "billion"} & set(text[b.end() :].split()[:1])
            ^ {"million", "billion"} & set(text[a.end() :].split()[:1])
        )
    ]
    couple = one_of(rng, couples)
    return exchange_at(text, couple[0].span(), couple[1].span(), "two numbers swapped") if couple else None


def exchange_at(text: str, a: Span, b: Span, kind: str) -> Edited:
    first, second = text[a[0] : a[1]], text[b[0] : b[1]]
    between = text[a[1] : b[0]]
    at = a[0] + len(second) + len(between)
    spans = ((a[0], a[0] + len(second)), (at, at + len(first)))
    return Edited(text[: a[0]] + second + between + first + text[b[1] :], kind, spans)


NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(NUMBER_WORDS)})\b(?!-)", re.I)
_ORDINAL_WORD = re.compile(
    rf"\b(?:the|his|her|its|their|a) ({'|'.join(ORDINALS)})\b(?! (?:of|and|time|half|lady|world|place))", re.I
)
_SCALE_WORD = re.compile(rf"(?<=\d )(?:{'|'.join(SCALES)})\b")


def change_number_word(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    choices: list[tuple[Span, Sequence[str]]] = []
    for m in NUMBER_WORD.finditer(text):
        at = NUMBER_WORDS.index(m.group().lower())
        near = [w for i, w in enumerate(NUMBER_WORDS) if 0 < abs(i - at) <= 4]
        choices.append((m.span(), near))
    choices += [(m.span(1), ORDINALS[1:]) for m in _ORDINAL_WORD.finditer(text)]
    choices += [(m.span(), SCALES) for m in _SCALE_WORD.finditer(text)]
    choice = one_of(rng, choices)
    if choice is None:
        return None
    (start, end), words = choice
    new = one_of(rng, [w for w in words if w.lower() not in text.lower()])
    return replace_at(text, (start, end), with_capitals_of(new, text[start:end]), "number word changed") if new else None


_MONTH_AT = re.compile(rf"\b(?:{MONTH})\b(?= \d)|(?<=\d )(?:{MONTH})\b|(?<=\bin )(?:{MONTH})\b|(?<=\bof )(?:{MONTH})\b(?= \d)")
_DAY_AT = re.compile(
    rf"(?<=\b)\d\d?(?=(?:st|nd|rd|th)? (?:{MONTH})\b)|(?:(?<=May )|(?<=June )|(?<=July )|(?<=y )|(?<=r )|(?<=h )|"
    rf"(?<=l )|(?<=t ))\b\d\d?(?=,|\b)"
)


def change_month(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    one = one_of(rng, _MONTH_AT.finditer(text))
    new = one_of(rng, [m for m in MONTHS if m not in text]) if one else None
    return replace_at(text, one.span(), new, "month changed") if one and new else None


def change_day(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """The day of the month beside a month's name."""
    days = [
        m
        for m in _DAY_AT.finditer(text)
        if re.match(rf"(?:st|nd|rd|th)? (?:{MONTH})\b", text[m.end() :])
        or (re.search(rf"\b(?:{MONTH}) $", text[: m.start()]) and not re.match(r"[\d.:]|(?:st|nd|rd|th)", text[m.end() :]))
    ]
    one = one_of(rng, [m for m in days if 1 <= int(m.group()) <= 31])
    if one is None or re.match("(?:st|nd|rd|th)", text[one.end() :]):
        return None
    new = one_of(rng, [str(d) for d in range(1, 29) if str(d) not in re.findall(r"\d+", text)])
    return replace_at(text, one.span(), new, "day changed") if new else None


def change_weekday(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    one = one_of(rng, re.finditer(rf"\b(?:{DAY})(?=s?\b)", text))
    new = one_of(rng, [d for d in WEEKDAYS if d not in text]) if one else None
    return replace_at(text, one.span(), new, "weekday changed") if one and new else None


CLOCK = re.compile(
    r"(?<![\d:.,$])(\d{1,2})(?:([:.])(\d\d))?( ?(?:[ap]\.m\.|[ap]m|[AP]M)(?!\w))|(?<![\d:.,$])(\d{1,2}):(\d\d)(?![\d:])"
)


def change_time(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    one = one_of(rng, CLOCK.finditer(text))
    if one is None:
        return None
    half = one.group(4)
    if half and rng.random() < 0.3:
        place = one.start(4) + len(half) - len(half.lstrip())
        new = {"a": "p", "p": "a", "A": "P", "P": "A"}[text[place]]
        edited = replace_at(text, (place, place + 1), new, "time changed")
        return Edited(edited.text, edited.kind, (one.span(),))
    hour = int(one.group(1) or one.group(5))
    group = 1 if one.group(1) else 5
    if hour > 23:
        return None
    new_hour = one_of(rng, [h for h in (range(1, 13) if half else range(24)) if h != hour and h % 12 != hour % 12])
    return replace_at(text, one.span(group), str(new_hour), "time changed") if new_hour is not None else None


_UNIT = {unit: [other for other in group if other != unit] for group in UNITS for unit in group}
_UNIT_AT = re.compile(
    r"(?<=[\d] )(?:" + "|".join(sorted(map(re.escape, _UNIT), key=len, reverse=True)) + r")(?![\w/])"
    r"|(?<=\d)(?:km/h|km|kg|cm|mm|MW|MHz)(?![\w/])"
)
_UNIT_WORD = re.compile(
    r"\b(?:" + "|".join([*NUMBER_WORDS, "several", "few", "hundred", "thousand", "million", "billion"]) + r") "
    r"((?:" + "|".join(sorted((u for u in _UNIT if u.isalpha() and len(u) > 3), key=len, reverse=True)) + r"))(?![\w/])"
)
_MONEY = re.compile(r"(?:(?<=US)|(?<![A-Za-z]))[$£€¥](?=\d)")


def replace_unit(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    choices: list[tuple[Span, Sequence[str]]] = [(m.span(), _UNIT[m.group()]) for m in _UNIT_AT.finditer(text)]
    choices += [(m.span(1), _UNIT[m.group(1)]) for m in _UNIT_WORD.finditer(text)]
    choices += [
        (m.span(), [c for c in CURRENCIES if c != m.group()]) for m in _MONEY.finditer(text) if text[m.start() - 1] != "S"
    ]
    choice = one_of(rng, choices)
    if choice is None:
        return None
    (start, end), units = choice
    same_thing = {"kilometres": "kilometers", "kilometers": "kilometres"}
    new = one_of(
        rng, [u for u in units if u != same_thing.get(text[start:end]) and not re.search(rf"(?<!\w){re.escape(u)}(?!\w)", text)]
    )
    if new is None:
        return None
    edited = replace_at(text, (start, end), new, "unit replaced")
    if new in CURRENCIES:
        tail = re.match(r"[\d.,]*\d", edited.text[start + 1 :])
        return Edited(edited.text, edited.kind, ((start, start + 1 + (tail.end() if tail else 0)),))
    return edited

"""True edits that write a value otherwise: dates, times, numbers, percents, abbreviations."""

from __future__ import annotations

import re
from random import Random

from eval.cards.edit_parts import ALONE, MONTH, Context, Edited, Span, one_of
from eval.cards.number_edits import CLOCK, NUMBER_WORD, plain_numbers
from eval.judges.edit_words import ABBREVIATIONS, MONTHS, NUMBER_WORDS


def verbatim(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    return Edited(text, "verbatim") if text.strip() else None


_DATE_DMY = re.compile(rf"\b(?P<d>\d\d?)(?:st|nd|rd|th)?(?: of)? (?P<m>{MONTH})(?:,? (?P<y>\d{{4}}))?(?![\d–-])")
_DATE_MDY = re.compile(
    rf"\b(?P<m>{MONTH}) (?P<d>\d\d?)(?:st|nd|rd|th)?(?:,? (?P<y>\d{{4}})(?P<c>,)?)?(?![\d–-])(?! (?:{MONTH}))"
)


def date_form(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """12 March 2031, March 12, 2031, 12 Mar 2031, 2031-03-12 and so on; 30/03/2031 only where the day cannot be a month."""
    found = [m for m in _DATE_DMY.finditer(text) if not re.search(r"[–-]$|\b(?:and|to|or) $|\d $", text[: m.start()])]
    found = [
        *found,
        *(m for m in _DATE_MDY.finditer(text) if not any(m.start() < o.end() and o.start() < m.end() for o in found)),
    ]
    found = [m for m in found if not re.match(r"(?:,| and| to| or|–) ?\d\d?\b(?!\d)", text[m.end() :])]
    one = one_of(rng, found)
    if one is None:
        return None
    day, month, year = int(one["d"]), one["m"], one["y"]
    number = MONTHS.index(month) + 1
    if not 1 <= day <= 31:
        return None
    suffix = "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    short = month[:3]
    the = "" if re.search(r"\bthe $", text[: one.start()]) else "the "
    comma = "," if text[one.end() : one.end() + 1] == "," or (one.re is _DATE_MDY and one["c"]) else ""
    if year:
        forms = [f"{day} {month} {year}", f"{month} {day}, {year}", f"{day} {short} {year}", f"{short} {day}, {year}"]
        forms += [f"{year}-{number:02d}-{day:02d}", f"{the}{day}{suffix} of {month} {year}", f"{month} {day}{suffix}, {year}"]
        if day > 12:
            forms += [f"{day}/{number:02d}/{year}", f"{number:02d}/{day}/{year}", f"{day}.{number:02d}.{year}"]
    else:
        forms = [
            f"{day} {month}",
            f"{month} {day}",
            f"{the}{day}{suffix} of {month}",
            f"{short} {day}",
            f"{month} {day}{suffix}",
        ]
    new = one_of(rng, [form for form in forms if form != one.group().rstrip(",")])
    if new is None:
        return None
    rest = text[one.end() :]
    if comma and not rest.startswith(","):
        rest = "," + rest
    return Edited(text[: one.start()] + new + rest, "other date form")


def time_form(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    found = [m for m in CLOCK.finditer(text) if int(m.group(1) or m.group(5)) < 24]
    one = one_of(rng, found)
    if one is None:
        return None
    if one.group(5):  # a time of 24 hours, or of 12 without its half: only the former can be told
        hour, minute = int(one.group(5)), one.group(6)
        if hour < 13 or int(minute) > 59 or re.match(r" ?(?:[apAP]\b|[ap]\.|to\b|–)", text[one.end() :]):
            return None
        forms = [f"{hour - 12}:{minute} pm", f"{hour - 12}.{minute}pm", f"{hour - 12}:{minute} p.m."]
    else:
        hour, minute = int(one.group(1)), one.group(3) or "00"
        if not 1 <= hour <= 12 or int(minute) > 59:
            return None
        late = one.group(4).strip().lower().startswith("p")
        of_24 = hour % 12 + (12 if late else 0)
        shown = f"{hour}:{minute}" if minute != "00" or rng.random() < 0.5 else f"{hour}"
        half = "pm" if late else "am"
        forms = [
            f"{of_24:02d}:{minute}",
            f"{shown} {half}",
            f"{shown}{half}",
            f"{shown} {half[0]}.m.",
            f"{shown.replace(':', '.')} {half}",
        ]
    rest = text[one.end() :]
    new = one_of(rng, [f for f in forms if f != one.group()])
    if new and one.group().endswith(".") and not rest.strip() and not new.endswith("."):
        rest = "." + rest
    return Edited(text[: one.start()] + new + rest, "other time form") if new else None


def _numeric(m: re.Match[str]) -> float:
    return float(m.group().replace(",", ""))


def number_form(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """1,200 / 1200 / 1.2 thousand; 3.5 million / 3,500,000; twelve / 12."""
    choices: list[tuple[Span, str]] = []
    for m in plain_numbers(text):
        value, after = _numeric(m), text[m.end() :]
        scale = re.match(r" (thousand|million|billion)\b", after)
        if scale and m.start() > 0:
            power = {"thousand": 3, "million": 6, "billion": 9}[scale.group(1)]
            whole = round(value * 10**power)
            if abs(whole - value * 10**power) < 1e-6 * 10**power and power < 9:
                choices.append(((m.start(), m.end() + scale.end()), f"{whole:,}"))
        elif value >= 1000 and value == int(value):
            if "," in m.group():
                choices.append((m.span(), m.group().replace(",", "")))
            elif value >= 10000:
                choices.append((m.span(), f"{int(value):,}"))
            for power, word in ((6, "million"), (3, "thousand")):
                short = value / 10**power
                if short >= 1 and round(short, 2) == short and not re.match(r" (?:square|cubic)?\w*%", after):
                    choices.append((m.span(), f"{short:g} {word}"))
                    break
        elif (
            value == int(value)
            and 2 <= value <= 20
            and m.start() > 0
            and re.match(r" [a-z]+s\b", after)
            and text[m.start() - 1] == " "
        ):
            choices.append((m.span(), NUMBER_WORDS[int(value) - 2] if value <= 20 else m.group()))
    for m in NUMBER_WORD.finditer(text):
        if (
            m.group().islower()
            and re.match(r" (?:[a-z]+ )?[a-z]+s\b", text[m.end() :])
            and not re.match(r" (?:or|and|to)\b", text[m.end() :])
        ):
            at = NUMBER_WORDS.index(m.group())
            choices.append((m.span(), str(at + 2 if at < 19 else (at - 16) * 10)))
    choice = one_of(rng, choices)
    if choice is None:
        return None
    (start, end), new = choice
    return Edited(text[:start] + new + text[end:], "other number form")


_LIMITED = re.compile(
    r"\b(?:about|around|approximately|roughly|nearly|almost|over|under|than|least|most|to|some|exactly|only|just|of|"
    r"by|between|and|or|estimated|maximum|minimum|from|every|per|US|a|the|nor|No\.?|original|average|first|last|these|"
    r"those|all|those)\s*[$£€]?$",
    re.I,
)


def rounded(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """142,300 -> more than 140,000, about 142,000, nearly 150,000 (within a tenth)."""
    choices: list[tuple[Span, str]] = []
    for m in plain_numbers(text):
        value = _numeric(m)
        before = text[: m.start()]
        if (
            value < 20
            or value != int(value)
            or _LIMITED.search(before)
            or not before.strip()
            or before[-1:] not in (" ", "$", "£", "€")
        ):
            continue
        if re.match(
            r"(?:%| percent| per cent|–|-| ?[°×x]| (?:thousand|million|billion|of|and|to|or|a\.?m|p\.?m))", text[m.end() :]
        ):
            continue
        counted = re.match(r" (?:[a-z]+ )?(?:[a-z]+s|people|men|women|children|personnel)\b", text[m.end() :])
        if re.search(r"\b[A-Z][\w.]* $", before) or (before[-1:] == " " and not counted):
            continue  # the number is part of a name, or stands alone
        sign = before[-1:] if before[-1:] in "$£€" else ""
        digits = len(str(int(value)))
        for kept in range(1, digits):
            unit = 10 ** (digits - kept)
            low, near, high = int(value // unit) * unit, round(value / unit) * unit, -int(-value // unit) * unit
            shown = [
                ("more than", low),
                ("over", low),
                ("nearly", high),
                ("about", near),
                ("approximately", near),
                ("under", high),
            ]
            for word, other in shown:
                if (
                    other != value
                    and abs(other - value) <= 0.1 * value
                    and other > 0
                    and not (word == "nearly" and other - value > 0.05 * value)
                ):
                    choices.append(((m.start() - len(sign), m.end()), f"{word} {sign}{other:,}"))
    choice = one_of(rng, choices)
    if choice is None:
        return None
    (start, end), new = choice
    return Edited(text[:start] + new + text[end:], "rounded")


def percent_form(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    one = one_of(rng, re.finditer(r"(?<=\d)(?: ?%| per ?cent\b)", text))
    if one is None:
        return None
    new = one_of(rng, [form for form in ("%", " percent", " per cent") if form != one.group()])
    return Edited(f"{text[: one.start()]}{new}{text[one.end() :]}", "other percent form")


def abbreviate(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    choices: list[tuple[Span, str]] = []
    for a, b in ABBREVIATIONS:
        for m in re.finditer(rf"(?<![\w.]){re.escape(a)}(?!\w|\.\w|[-’'])", text):
            after, before = text[m.end() :], text[: m.start()]
            if a == "and" and not (re.match(r" [A-Z]", after) and re.search(r"[A-Z]\w+ $", before)):
                continue
            if a in ("Saint", "Mount", "Professor", "Doctor") and not re.match(r" [A-Z]\w+", after):
                continue
            if a.startswith("kilo") or a.startswith("centi") or a.startswith("milli"):
                if not re.search(r"\d $", before):
                    continue
            elif re.match(r" [A-Z]", after) and a not in ("Saint", "Mount", "Professor", "Doctor", "and"):
                continue  # "the United States Senate" is another name
            choices.append((m.span(), b))
    choice = one_of(rng, choices)
    if choice is None:
        return None
    (start, end), new = choice
    if start == 0:
        new = new[0].upper() + new[1:]
    rest = text[end:]
    if new.endswith(".") and rest.strip() == ".":
        rest = ""
    return Edited(text[:start] + new + rest, "abbreviation")

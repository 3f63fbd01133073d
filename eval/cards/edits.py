"""Edits of a true sentence by rule: false ones, with the words that lost their support, and true ones in another form.

Every edit is a pure function of the sentence, a random generator and what surrounds the sentence; it needs no model. It gives
None where the sentence has nothing to edit. A false edit says something that the sentence does not support (not always
its contrary: "about 300" does not support "300"); its `spans` are the characters of the new text that are not supported, for a
dropped word those of the neighbour whose meaning it changed. A true edit has no spans.

The edits are made for sentences of English prose that a premise contains. Some are wrong by chance: a name replaced by another
name of the same person stays true. They serve to train a judge and to see what it accepts; no judge can be right on all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from eval.judges.edit_words import (
    ABBREVIATIONS,
    ANTONYMS,
    BASE_OF_PARTICIPLE,
    BASE_OF_PAST,
    CONSEQUENCES,
    CURRENCIES,
    DENIALS_AFTER,
    DENIALS_BEFORE,
    MONTHS,
    NUMBER_WORDS,
    ORDINALS,
    PLACES,
    QUANTIFIERS,
    SAYING,
    SCALES,
    SYNONYMS,
    TRANSITIVE,
    UNITS,
    VERBS,
    WEEKDAYS,
    words_of,
)
from eval.judges.features import STOPWORDS

Span = tuple[int, int]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Edited:
    """`spans`: (start, end) in characters of `text`, in order; empty for a true edit."""

    text: str
    kind: str
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What surrounds the sentence. `page`: text that names come from. `others`: sentences that the premise does not hold.
    `following`: the sentence after it, which the premise holds, or ""."""

    page: str = ""
    others: tuple[str, ...] = ()
    following: str = ""


Edit = Callable[[str, Random, Context], Edited | None]

_MONTH = "|".join(MONTHS)
_DAY = "|".join(WEEKDAYS)
_NUMBER = re.compile(
    r"(?<![\w.,/:–-])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w/:–-])|"
    r"(?<![\w.,/:–-])\d+(?:\.\d+)?(?![\w/:–-]|[.,]\d)"
)
_YEAR = re.compile(
    r"(?<![\w.,/:–$£€-])(?:1[0-9]|20)\d\d(?![\w/:–-]|[.,]\d| (?:people|men|women|km|miles|feet|meters|metres|tons))"
)
_CAP = r"(?:[A-Z]\.|[A-Z][\w'’]*[\w](?:-[A-Z]\w+)*)"
_NAME = re.compile(rf"(?<![\w-]){_CAP}(?: (?:(?:of|de|the|van|von|al) )?{_CAP})*(?![\w-])")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_AUXILIARIES = words_of("""
    is was were are has have had will can could would should may might did does do
""")
_AUX = re.compile(rf"\b(?:{'|'.join(_AUXILIARIES)})\b")
_NEGATED = re.compile(r"\b(?:not|no|never|none|nor|neither|cannot|nobody|nothing|without|hardly|barely)\b|n['’]t\b", re.I)
_HEDGED = re.compile(
    r"\b(?:if|unless|except|but|only|would|could|should|may|might|all|every|each|first|last|most|least|whether|"
    r"allegedly|reportedly"
    r"|possibly|probably|perhaps|claim\w*|believ\w+|alleg\w+|suspect\w+|deni\w+|den(?:y|ies)|fail\w*|false\w*|"
    r"fictional|planned"
    r"|attempt\w*|than|until|few|rather|instead|some|sometimes|often|usually|either|both|accus\w+|expect\w*|w\w+st|"
    r"\w{3,}est)\b",
    re.I,
)
_NOT_A_NAME = frozenset([*MONTHS, *WEEKDAYS, "I", "AD", "BC", "CE", "BCE", "Chapter", "Section", "Figure", "Table"])


def _replace(text: str, at: Span, new: str, kind: str) -> Edited:
    """Its span is the new text; nothing changed, or nothing put in: the caller's mistake."""
    return Edited(text[: at[0]] + new + text[at[1] :], kind, ((at[0], at[0] + len(new)),))


def _drop(text: str, at: Span, kind: str) -> Edited | None:
    """Take the words at `at` away with the space behind them. The span is the word that now follows, else the one before."""
    start, end = at
    while end < len(text) and text[end] == " ":
        end += 1
    kept = text[:start] + text[end:]
    if start == 0 and kept[:1].islower():
        kept = kept[0].upper() + kept[1:]
    match = _WORD_OR_NUMBER.search(kept, start) or None
    if match is None or match.start() > start + 3:
        before = list(_WORD_OR_NUMBER.finditer(kept, 0, start))
        match = before[-1] if before else match
    return Edited(kept, kind, (match.span(),)) if match else None


_WORD_OR_NUMBER = re.compile(r"[$£€]?\w+(?:[.,'’-]\w+)*")


def _pick(rng: Random, items: Iterable[T]) -> T | None:
    found = list(items)
    return rng.choice(found) if found else None


def _like(new: str, old: str) -> str:
    """`new` with the capitals of `old`."""
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def _body(text: str) -> tuple[str, str]:
    """The sentence and the punctuation that ends it."""
    stripped = text.rstrip()
    match = re.search(r"\s*([.!?]+[\"”’')]*)$", stripped)
    return (stripped[: match.start()], match.group(1)) if match else (stripped, "")


def _balanced(text: str) -> bool:
    return (
        text.count('"') % 2 == 0
        and text.count("“") == text.count("”")
        and text.count("(") == text.count(")")
        and not re.search(r"(?:^|\s)['‘]\w", text)
    )


def _lowered(sentence: str, page: str = "") -> str:
    """The sentence as it runs on after other words: the first letter small, unless the first word is a name."""
    match = _WORD.match(sentence)
    if match is None:
        return sentence
    word = match.group()
    low = word.lower()
    if word in ("I",) or (word.isupper() and len(word) > 1):
        return sentence
    if re.match(r" [A-Z]", sentence[match.end() :]) and low not in STOPWORDS | _OPENERS:
        return sentence
    if low in STOPWORDS or low in _OPENERS or re.search(rf"(?<![\w.]){re.escape(low)}(?!\w)", page + sentence[match.end() :]):
        return low[0] + sentence[1:]
    return sentence


_OPENERS = frozenset(
    words_of("""
    today later earlier often many several most some others another two three four five since despite
    following according although while when after before during because no not next then first finally without
    like unlike between every
""")
)


def _starts_plainly(sentence: str) -> bool:
    """May something come before it? Not before a quotation, a heading or a list item."""
    return bool(re.match(r"[A-Z][\w'’,-]* ", sentence)) and not sentence.rstrip().endswith(("?", "!"))


def names(text: str) -> list[re.Match[str]]:
    """Runs of capitalised words inside the sentences of a text; months, weekdays and function words are none."""
    found = (m for m in _NAME.finditer(text) if re.search(r"[\w,;] $", text[max(0, m.start() - 2) : m.start()]))
    return [m for m in found if m.group().split()[0].lower() not in STOPWORDS and not _NOT_A_NAME & set(m.group().split())]


# ---------------------------------------------------------------------------------------------------- numbers


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


def _plain_numbers(text: str) -> list[re.Match[str]]:
    """Numbers that are no year, no day of a date, no time, no page and no part of a name."""
    found = []
    for m in _NUMBER.finditer(text):
        before, after = text[max(0, m.start() - 14) : m.start()], text[m.end() : m.end() + 12]
        dated = re.match(rf"(?:st|nd|rd|th)? (?:of )?(?:{_MONTH})", after) or re.search(rf"(?:{_MONTH}) $", before)
        timed = re.match(r" ?[ap]\.?m\b", after)
        named = re.search(r"(?:Figure|Fig\.|Chapter|Table|Section|Equation|page|p\.|No\.|#|Step) ?$", before)
        if (
            not (_YEAR.fullmatch(m.group()) and _YEAR.search(text, m.start(), m.end()))
            and not dated
            and not timed
            and not named
        ):
            found.append(m)
    return found


def change_number(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """A number that is no date becomes another of like size, written alike."""
    one = _pick(rng, _plain_numbers(text))
    new = _other_number(one.group(), rng, frozenset(_NUMBER.findall(text))) if one else None
    return _replace(text, one.span(), new, "number changed") if one and new else None


def change_year(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    one = _pick(rng, _YEAR.finditer(text))
    if one is None:
        return None
    steps = [n for n in (-20, -10, -7, -5, -4, -3, -2, -1, 1, 2, 3, 4, 6, 9, 10, 30) if str(int(one.group()) + n) not in text]
    step = _pick(rng, steps)
    return _replace(text, one.span(), str(int(one.group()) + step), "year changed") if step is not None else None


def swap_numbers(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """Two numbers of one sort take each other's places; not two of one list or range."""
    years, plain = list(_YEAR.finditer(text)), _plain_numbers(text)
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
    couple = _pick(rng, couples)
    return _exchange(text, couple[0].span(), couple[1].span(), "two numbers swapped") if couple else None


def _exchange(text: str, a: Span, b: Span, kind: str) -> Edited:
    first, second = text[a[0] : a[1]], text[b[0] : b[1]]
    between = text[a[1] : b[0]]
    at = a[0] + len(second) + len(between)
    spans = ((a[0], a[0] + len(second)), (at, at + len(first)))
    return Edited(text[: a[0]] + second + between + first + text[b[1] :], kind, spans)


_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(NUMBER_WORDS)})\b(?!-)", re.I)
_ORDINAL_WORD = re.compile(
    rf"\b(?:the|his|her|its|their|a) ({'|'.join(ORDINALS)})\b(?! (?:of|and|time|half|lady|world|place))", re.I
)
_SCALE_WORD = re.compile(rf"(?<=\d )(?:{'|'.join(SCALES)})\b")


def change_number_word(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    choices: list[tuple[Span, Sequence[str]]] = []
    for m in _NUMBER_WORD.finditer(text):
        at = NUMBER_WORDS.index(m.group().lower())
        near = [w for i, w in enumerate(NUMBER_WORDS) if 0 < abs(i - at) <= 4]
        choices.append((m.span(), near))
    choices += [(m.span(1), ORDINALS[1:]) for m in _ORDINAL_WORD.finditer(text)]
    choices += [(m.span(), SCALES) for m in _SCALE_WORD.finditer(text)]
    choice = _pick(rng, choices)
    if choice is None:
        return None
    (start, end), words = choice
    new = _pick(rng, [w for w in words if w.lower() not in text.lower()])
    return _replace(text, (start, end), _like(new, text[start:end]), "number word changed") if new else None


_MONTH_AT = re.compile(
    rf"\b(?:{_MONTH})\b(?= \d)|(?<=\d )(?:{_MONTH})\b|(?<=\bin )(?:{_MONTH})\b|(?<=\bof )(?:{_MONTH})\b(?= \d)"
)
_DAY_AT = re.compile(
    rf"(?<=\b)\d\d?(?=(?:st|nd|rd|th)? (?:{_MONTH})\b)|(?:(?<=May )|(?<=June )|(?<=July )|(?<=y )|(?<=r )|(?<=h )|"
    rf"(?<=l )|(?<=t ))\b\d\d?(?=,|\b)"
)


def change_month(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    one = _pick(rng, _MONTH_AT.finditer(text))
    new = _pick(rng, [m for m in MONTHS if m not in text]) if one else None
    return _replace(text, one.span(), new, "month changed") if one and new else None


def change_day(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """The day of the month beside a month's name."""
    days = [
        m
        for m in _DAY_AT.finditer(text)
        if re.match(rf"(?:st|nd|rd|th)? (?:{_MONTH})\b", text[m.end() :])
        or (re.search(rf"\b(?:{_MONTH}) $", text[: m.start()]) and not re.match(r"[\d.:]|(?:st|nd|rd|th)", text[m.end() :]))
    ]
    one = _pick(rng, [m for m in days if 1 <= int(m.group()) <= 31])
    if one is None or re.match("(?:st|nd|rd|th)", text[one.end() :]):
        return None
    new = _pick(rng, [str(d) for d in range(1, 29) if str(d) not in re.findall(r"\d+", text)])
    return _replace(text, one.span(), new, "day changed") if new else None


def change_weekday(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    one = _pick(rng, re.finditer(rf"\b(?:{_DAY})(?=s?\b)", text))
    new = _pick(rng, [d for d in WEEKDAYS if d not in text]) if one else None
    return _replace(text, one.span(), new, "weekday changed") if one and new else None


_CLOCK = re.compile(
    r"(?<![\d:.,$])(\d{1,2})(?:([:.])(\d\d))?( ?(?:[ap]\.m\.|[ap]m|[AP]M)(?!\w))|(?<![\d:.,$])(\d{1,2}):(\d\d)(?![\d:])"
)


def change_time(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    one = _pick(rng, _CLOCK.finditer(text))
    if one is None:
        return None
    half = one.group(4)
    if half and rng.random() < 0.3:
        place = one.start(4) + len(half) - len(half.lstrip())
        new = {"a": "p", "p": "a", "A": "P", "P": "A"}[text[place]]
        edited = _replace(text, (place, place + 1), new, "time changed")
        return Edited(edited.text, edited.kind, (one.span(),))
    hour = int(one.group(1) or one.group(5))
    group = 1 if one.group(1) else 5
    if hour > 23:
        return None
    new_hour = _pick(rng, [h for h in (range(1, 13) if half else range(24)) if h != hour and h % 12 != hour % 12])
    return _replace(text, one.span(group), str(new_hour), "time changed") if new_hour is not None else None


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


def replace_unit(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    choices: list[tuple[Span, Sequence[str]]] = [(m.span(), _UNIT[m.group()]) for m in _UNIT_AT.finditer(text)]
    choices += [(m.span(1), _UNIT[m.group(1)]) for m in _UNIT_WORD.finditer(text)]
    choices += [
        (m.span(), [c for c in CURRENCIES if c != m.group()]) for m in _MONEY.finditer(text) if text[m.start() - 1] != "S"
    ]
    choice = _pick(rng, choices)
    if choice is None:
        return None
    (start, end), units = choice
    same_thing = {"kilometres": "kilometers", "kilometers": "kilometres"}
    new = _pick(
        rng, [u for u in units if u != same_thing.get(text[start:end]) and not re.search(rf"(?<!\w){re.escape(u)}(?!\w)", text)]
    )
    if new is None:
        return None
    edited = _replace(text, (start, end), new, "unit replaced")
    if new in CURRENCIES:
        tail = re.match(r"[\d.,]*\d", edited.text[start + 1 :])
        return Edited(edited.text, edited.kind, ((start, start + 1 + (tail.end() if tail else 0)),))
    return edited


# ---------------------------------------------------------------------------------------------------- names


def _name_words(name: str) -> set[str]:
    return {w.lower()[:5] for w in re.findall(r"\w+", name)}


def replace_name(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """A name becomes another of the page or of the other sentences, of like length where there is one."""
    one = _pick(rng, names(text))
    if one is None:
        return None
    known = _name_words(text)
    pool = sorted({m.group() for source in (context.page, *context.others) for m in names(source) if len(m.group()) > 3})
    pool = [name for name in pool if not _name_words(name) & known]
    n = len(one.group().split())
    alike = [name for name in pool if min(3, len(name.split())) == min(3, n)]
    new = _pick(rng, alike or pool)
    return _replace(text, one.span(), new, "name replaced") if new else None


_PLACE_AT = re.compile(
    rf"(?<=\b(?:in|at) )({_CAP}(?: {_CAP})?)(?=[,.;]| (?:and|in|on|at|was|were|is|to|for|by|with|from|where|as|of|"
    rf"during|since)\b|$)"
)


def _places(text: str) -> list[re.Match[str]]:
    return [
        m
        for m in _PLACE_AT.finditer(text)
        if not _NOT_A_NAME & set(m.group().split())
        and m.group().split()[0].lower() not in STOPWORDS
        and not m.group().isupper()
    ]


def replace_place(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """Of the names after "in" and "at"; the others come from the same places of the page and from a list."""
    one = _pick(rng, _places(text))
    if one is None:
        return None
    found = {m.group() for source in (context.page, *context.others) for m in _places(source)}
    near = sorted(name for name in found if not _name_words(name) & _name_words(text))
    pool = near if near and rng.random() < 0.6 else [p for p in PLACES if p not in text]
    new = _pick(rng, pool)
    return _replace(text, one.span(), new, "place replaced") if new else None


_SAME_THING = re.compile(
    r"\W*(?:is|was|are|were|as|a|an|the|and|or|of|called|named|known|formerly|also|née|nicknamed|alias|son|[\W])*", re.I
)
_MUTUAL = re.compile(r"\b(?:met|married|between|fought|meet|marries|joined|together|friends?|border(?:s|ed)?|equals?|with)\b")


def exchange_names(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """Two names in each other's places; not of one list, nor where the second is another name of the first."""
    found = names(text)
    opening = _NAME.match(text)
    if opening and len(opening.group().split()) > 1 and opening.group().split()[0].lower() not in STOPWORDS | _OPENERS:
        found = [opening, *found]
    found = [m for m in found if text.count(m.group()) == 1]
    couples = []
    for i, a in enumerate(found):
        for b in found[i + 1 :]:
            between = text[a.end() : b.start()]
            if not _name_words(a.group()) & _name_words(b.group()) and not _one_list(between) and not _MUTUAL.search(between):
                couples.append((a, b))
    couple = _pick(rng, couples)
    return _exchange(text, couple[0].span(), couple[1].span(), "two names exchanged") if couple else None


def _one_list(between: str) -> bool:
    """Only names, commas, conjunctions and words for "is" are between the two."""
    without_names = _NAME.sub("", between)
    return _SAME_THING.fullmatch(without_names) is not None


_PRONOUN = re.compile(r"\b(?:he|him|his|himself|she|her|hers|herself)\b", re.I)
_HE = frozenset(["he", "him", "his", "himself"])


def change_pronouns(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """All pronouns of one sex become those of the other."""
    found = list(_PRONOUN.finditer(text))
    first = _pick(rng, found)
    if first is None or re.search(r"\b(?:he|his|him) (?:or|and) (?:she|her)|s/he", text, re.I):
        return None
    sex = first.group().lower() in _HE
    pieces: list[str] = []
    spans: list[Span] = []
    end = length = 0
    for m in found:
        low = m.group().lower()
        if (low in _HE) != sex:
            continue
        if low == "her":
            possessive = re.match(
                r" (?!(?:to|in|on|at|for|with|from|and|or|by|as|when|while|the|a|an|that|into|of|after|before|"
                r"because)\b)[\w“\"]",
                text[m.end() :],
            )
            new = "his" if possessive else "him"
        elif low == "his":
            new = "her" if re.match(r" [\w“\"‘]", text[m.end() :]) else "hers"
        else:
            new = {"he": "she", "him": "her", "himself": "herself", "she": "he", "hers": "his", "herself": "himself"}[low]
        new = _like(new, m.group())
        pieces += [text[end : m.start()], new]
        length += m.start() - end
        spans.append((length, length + len(new)))
        length += len(new)
        end = m.end()
    return Edited("".join(pieces) + text[end:], "pronoun of the other sex", tuple(spans))


# ---------------------------------------------------------------------------------------------------- words


def _both_ways(pairs: Sequence[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for a, b in pairs:
        found[a] = (*found.get(a, ()), b)
        found[b] = (*found.get(b, ()), a)
    return found


_ANTONYM = _both_ways(ANTONYMS)
_ONLY_BEFORE = {  # words with another frequent meaning: what must follow them
    "left": r" (?:the|a|his|her|their|its|office|for)\b",
    "last": r" (?:\w+ )?(?:in|of|to|to|time|person|man|woman|game|match|season|album|novel|book|film)\b",
    "first": r" (?:\w+ )?(?:in|of|to|time|person|man|woman|game|match|season|album|novel|book|film)\b",
    "lost": r" (?:the|a|his|her|their|its|to|by|\d)",
    "present": r" (?:in|at)\b",
    "met": r"^",
    "fell": r" (?:to|by|from|sharply|\d)",
    "rose": r" (?:to|by|from|sharply|\d)",
    "better": r" (?:than|known)\b",
    "basic": r" (?:solution|conditions)\b",
    "absence": r" of\b",
    "known": r"\b(?! (?:as|for|to|by))",
    "front": r" (?:of|wheel|door|row)\b",
    "bottom": r" of\b",
    "top": r" (?:of|\d|ten|five|three|four|two)\b",
    "major": r" [a-z]",
    "minor": r" [a-z]",
    "king": r"^",
    "more": r" than\b",
    "fewer": r" than\b",
    "best": r"\b(?!-| known)",
    "start": r" of\b",
    "end": r" of\b",
    "beginning": r" of\b",
    "little": r"^",
    "cool": r" [a-z]",
    "spring": r" (?:of|and|\d)",
    "long": r" [a-z]",
    "private": r" [a-z]",
    "full": r" [a-z]",
    "day": r"^",
    "night": r"^",
    "light": r"^",
    "deep": r" [a-z]",
    "solid": r" [a-z]",
    "alive": r"",
    "dead": r"",
    "able": r" to\b",
    "big": r" [a-z]",
    "good": r" [a-z]",
    "bad": r" [a-z]",
    "old": r" [a-z]",
    "new": r" [a-z]",
    "low": r" [a-z]",
    "high": r" [a-z]",
    "hot": r" [a-z]",
    "poor": r" [a-z]",
    "likely": r" (?:to|that)\b",
    "united": r"^",
    "divided": r"^",
    "born": r" (?:in|on|at)\b",
    "public": r" [a-z]",
    "present-day": r"^",
    "most": r" [a-z]",
    "least": r" [a-z]+ ",
    "common": r" (?:in|among|and)\b",
    "individual": r"^",
    "support": r" (?:for|from|of)\b",
    "loss": r" (?:of|to|in)\b",
    "attack": r" (?:on|by|of)\b",
    "import": r" of\b",
    "export": r" of\b",
    "above": r" (?:the|sea|average|\d)",
    "below": r" (?:the|sea|average|\d)",
    "direct": r" [a-z]",
}
_WHOLE_ANTONYM = re.compile(
    r"(?<![\w-])(?:" + "|".join(sorted(map(re.escape, _ANTONYM), key=len, reverse=True)) + r")(?![\w-]|['’])"
)


def antonym(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """A word becomes its contrary, within running text (a capitalised word may be part of a name)."""
    found = [
        m for m in _WHOLE_ANTONYM.finditer(text)
        if re.match(_ONLY_BEFORE.get(m.group(), ""), text[m.end() :])
        and not re.search(r"(?:\bat|\bAt) $" if m.group() in ("most", "least", "first", "last") else r"(?!)", text[: m.start()])
    ]  # fmt: skip
    one = _pick(rng, found)
    new = _pick(rng, [w for w in _ANTONYM[one.group()] if not re.search(rf"\b{w}\b", text)]) if one else None
    if one is None or new is None:
        return None
    start, end = one.span()
    article = re.search(r"\b([Aa])(n?) $", text[:start])
    if article:
        right = article.group(1) + ("n" if new[0] in "aeio" or new.startswith(("unl", "uns", "une")) else "")
        begin = article.start(1)
        edited = _replace(text, (begin, end), f"{right} {new}", "antonym")
        return Edited(edited.text, "antonym", ((begin + len(right) + 1, begin + len(right) + 1 + len(new)),))
    return _replace(text, (start, end), new, "antonym")


def _past_verbs(text: str) -> list[re.Match[str]]:
    """Past forms that are surely the verb of their clause: after a pronoun, or after a noun where no auxiliary follows."""
    found = []
    for m in re.finditer(r"(?<= )[a-z]+(?= )", text):
        if m.group() not in BASE_OF_PAST:
            continue
        before = text[: m.start() - 1].rsplit(" ", 1)[-1]
        after = re.match(r" (\w+)", text[m.end() :])
        rest = re.split(r"[,;:]", text[m.end() :])[0]
        if after is None or after.group(1) in ("by", "as", "to", "and", "or", "of") or not before[-1:].isalpha():
            continue
        if before.lower() in ("he", "she", "they", "it", "who", "we") or (
            (
                before.lower() not in STOPWORDS
                and before not in _AUXILIARIES
                and before not in SAYING
                and not before.endswith("ly")
            )
            and not _AUX.search(rest)
            and not _AUX.search(text[: m.start()].rsplit(",", 1)[-1])
            and not any(w in BASE_OF_PAST for w in re.findall(r"[a-z]+", re.split(r"[,;:]", text[: m.start()])[-1]))
            and re.match(
                r" (?:the|a|an|his|her|its|their|\d|[A-Z]|in|on|at|from|into|over|up|out|that|more|many|several|one|two)\b",
                text[m.end() :],
            )
            and not (
                m.group() == BASE_OF_PARTICIPLE.get(BASE_OF_PAST[m.group()], "")
                and re.match(r" (?:in|on|at|from|into|over) ", text[m.end() :])
            )
        ):
            found.append(m)
    return found


def insert_not(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """ "not" after an auxiliary, or "did not" before a verb; only in sentences that deny nothing yet."""
    if _NEGATED.search(text) or text.rstrip().endswith("?"):
        return None
    choices: list[tuple[Span, str]] = [
        (m.span(), f"{m.group()} not") for m in _AUX.finditer(text) if m.group() != "do" and not text[m.end() :].startswith("-")
        and re.match(r" \w", text[m.end() :]) and m.start() > 0
        and not re.search(rf"\b(?:{'|'.join(_AUXILIARIES)}|to|not) (?:\w+ly )?$", text[: m.start()])
        and (m.group() not in ("has", "have", "had") or re.match(r" (?:been|become|had|\w+ed)\b", text[m.end() :]))
    ]  # fmt: skip
    choices += [(m.span(), f"did not {BASE_OF_PAST[m.group()]}") for m in _past_verbs(text)]
    choice = _pick(rng, choices)
    if choice is None:
        return None
    (start, _), new = choice
    edited = _replace(text, choice[0], new, '"not" inserted')
    at = start + new.index("not")
    following = _WORD_OR_NUMBER.search(edited.text, at + 3)
    return Edited(edited.text, edited.kind, ((at, following.end() if following and new.endswith("not") else start + len(new)),))


_DENIED = re.compile(
    r"\b(?P<did>did|does|do) not (?P<verb>[a-z]+)|\b(?P<aux>is|was|were|are|has|have|had|will|can|could|would|"
    r"should) not\b(?! only| just| least| necessarily)"
    r"|\b(?P<never>never)\b|\b(?P<cannot>cannot)\b|\b(?P<longer>no longer)\b|\b(?P<nt>(?:did|does|was|is|were|are|"
    r"would|could|had|has|have))n['’]t\b"
    r"|\b(?:was|is|were|are|had|has|have|found|with) (?P<no>no) (?=[a-z])(?!longer|more|one|matter)"
    r"|(?<!the )\b(?P<none>[Nn]one of)\b"
)


def remove_negation(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    found = [m for m in _DENIED.finditer(text) if not text[m.end() :].startswith((" only", " just", " until", " yet", " even"))]
    one = _pick(rng, found)
    kind = "negation removed"
    if (
        one is None
        or len(_NEGATED.findall(text)) > 1
        or re.search(r"\b(?:either|yet|any|ever|anything|anyone|until|nor)\b", text[one.end() :])
    ):
        return None
    if one["did"]:
        verb = one["verb"]
        if one["did"] == "did":
            if verb not in VERBS:
                return None
            new = VERBS[verb][0] if verb != "be" else "was"
        elif one["did"] == "does":
            new = verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "o")) else "s")
            if verb in ("have", "be") or verb.endswith("y"):
                return None
        else:
            new = verb
        return _replace(text, one.span(), new, kind)
    if one["aux"]:
        return _drop(text, (one.end() - 3, one.end()), kind)
    if one["never"]:
        return _drop(text, one.span(), kind)
    if one["no"]:
        return _replace(text, one.span("no"), "some", kind)
    for group, new in (("cannot", "can"), ("longer", "still"), ("none", "all of")):
        if one[group]:
            return _replace(text, one.span(group), _like(new, one[group]), kind)
    return _replace(text, one.span(), one["nt"], kind)


def failed_to(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    one = _pick(rng, _past_verbs(text))
    if one is None or _NEGATED.search(text):
        return None
    return _replace(text, one.span(), f"failed to {BASE_OF_PAST[one.group()]}", '"failed to"')


_PASSIVE = re.compile(r"\b(?:was|were|is|are|been|being) (?=([a-z]+ed|[a-z]+n|made|held|built|sold|sent|found|told|led)\b)")


def falsely(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """An adverb that takes the statement back, before a verb."""
    places = [m.end() for m in _PASSIVE.finditer(text) if m.group(1) in BASE_OF_PARTICIPLE]
    places += [m.start() for m in _past_verbs(text)]
    places += [
        m.start()
        for m in re.finditer(
            r"(?<=\w )(?:said|claimed|announced|stated|argued|reported|declared)\b(?= (?:that|the|"
            r"a)\b)",
            text,
        )
    ]
    place = _pick(rng, places)
    if place is None:
        return None
    adverb = rng.choice(["falsely", "falsely", "wrongly", "supposedly", "never", "hardly ever", "almost", "nearly"])
    if adverb in ("never", "hardly ever") and _NEGATED.search(text):
        adverb = "falsely"
    following = _WORD_OR_NUMBER.search(text, place)
    end = following.end() if following else place
    return Edited(f"{text[:place]}{adverb} {text[place:]}", '"falsely"', ((place, end + len(adverb) + 1),))


_SAID = re.compile(
    r"\b(?:said|announced|confirmed|claimed|stated|argued|reported|insisted|acknowledged|admitted|declared|asserted|"
    r"revealed)\b(?= (?:that|the|a|an|it|he|she|they|his|her|its|their|there|in)\b|[,.])"
)


def said_to_denied(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    found = [
        m
        for m in _SAID.finditer(text)
        if not re.search(r"(?:is|was|were|been|be|are|as|has|have|had) (?:\w+ly )?$", text[: m.start()])
    ]
    one = _pick(rng, found)
    if one is None or "deni" in text:
        return None
    new = (
        rng.choice(["denied", "denied", "denied", "doubted", "rejected the claim"])
        if text[one.end() :].startswith(" that")
        else "denied"
    )
    return _replace(text, one.span(), new, "said to denied")


_FUTURE = re.compile(
    r"\b(?:(?:is|are|was|were) (?:expected|scheduled|set|due|planned|about|going|intended|hoped|likely|slated) to|"
    r"(?:plans?|intends?|hopes?|expects?|aims?|wants?|promised|planned|hoped|intended|agreed|offered|threatened) to|"
    r"will(?: likely| also| soon)?) (?P<verb>[a-z]+)\b"
)


def future_to_past(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """Plans and expectations become what happened."""
    found = [
        m
        for m in _FUTURE.finditer(text)
        if m["verb"] in VERBS
        and m["verb"] != "have"
        and (
            m.group().split()[0] in ("will", "is", "are", "was", "were")
            or re.search(r"(?:\b[A-Z][\w'’]+|\b(?:he|she|it|they|who|which)) $", text[: m.start()])
        )
    ]  # "plans" and "hopes" may be nouns
    one = _pick(rng, found)
    if one is None or _NEGATED.search(text[one.start() : one.end() + 12]):
        return None
    past = VERBS[one["verb"]][0]
    if one["verb"] == "be":
        past = "were" if one.group().startswith(("are", "were", "plan ", "intend ", "hope ", "expect ")) else "was"
        previous = text[: one.start()].split()[-1:] or [""]
        if previous[0].lower() in ("they", "we", "you") or (
            previous[0].endswith("s") and previous[0][:1].islower() and not previous[0].endswith("ss")
        ):
            past = "were"
    return _replace(text, one.span(), past, "future to past")


_HEDGES = re.compile(
    r"\b(?P<drop>reportedly|allegedly|apparently|possibly|probably|perhaps|supposedly|purportedly|presumably|arguably|"
    r"ostensibly|"
    r"seemingly|likely(?= [a-z]+ed\b)|suspected(?= (?!of|that|to|by|in|for|as)[a-z]+)|alleged(?= (?!to|that|"
    r"by)[a-z]+)|potentially|"
    r"partly|partially|sometimes|occasionally|up to(?= [\d$£€])|at least(?= [\d$£€]))\b"
    r"|\b(?P<thought>(?P<be>is|was|are|were) (?:believed|thought|said|reported|alleged|rumored|considered|"
    r"suspected) to (?:have been|be))\b"
    r"|\b(?P<may>(?:may|might|could) (?P<what>be|have been))\b"
    r"|\b(?P<some>[Ss]ome of (?=the\b))"
    r"|\b(?P<suspected>(?:suspected|accused) of)\b"
    r"|\b(?P<suggest>suggests? that|suggested that|believes? that|believed that|argues? that|argued that|claims? that|"
    r"claimed that)\b"
    r"|\b(?P<seem>(?:seems?|appears?|seemed|appeared|tends?|tended) to be)\b"
    r"|\b(?P<can>may|might) (?=(?P<base>[a-z]+)\b)"
)  # fmt: skip


def drop_hedge(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    kind = "hedge dropped"
    one = _pick(rng, _HEDGES.finditer(text))
    if one is None:
        return None
    if one["drop"]:
        return _drop(text, one.span(), kind)
    if one["some"]:
        dropped = _drop(text, one.span(), kind)
        return dropped
    if one["thought"]:
        been = one.group().endswith("have been")
        new = ({"is": "was", "are": "were"}.get(one["be"], one["be"])) if been else one["be"]
    elif one["may"]:
        new = "was" if one["what"] == "have been" else "is"
        previous = (text[: one.start()].split() or [""])[-1]
        if (previous.endswith("s") and not previous.endswith(("ss", "is", "us"))) or previous.lower() in ("they", "you", "we"):
            new = "were" if new == "was" else "are"
    elif one["suspected"]:
        new = "found guilty of" if re.search(r"\b(?:was|were|is|are|been) $", text[: one.start()]) else "guilty of"
    elif one["suggest"]:
        new = (
            "prove that"
            if one.group() in ("suggest that", "believe that", "argue that", "claim that")
            else ("proved that" if one.group().split()[0].endswith("ed") else "proves that")
        )
    elif one["seem"]:
        word = one.group().split()[0]
        new = "was" if word.endswith("ed") else "is" if word.endswith("s") else "are"
    else:
        base = one["base"]
        if base not in VERBS or base in ("be", "have"):
            return None
        return _replace(text, (one.start(), one.start("base") - 1), "will certainly", kind)
    return _replace(text, one.span(), _like(new, one.group()), kind)


_APPROXIMATE = re.compile(
    r"\b(?:about|approximately|around|roughly|nearly|almost|an estimated|some|circa)(?= (?:\d|[$£€]|(?:"
    + "|".join(NUMBER_WORDS)
    + r")\b))",
    re.I,
)
_BEFORE_APPROXIMATE = frozenset(
    words_of("of at is to by was are for were cost with from took that and has had in killed injured but or than while")
)
"""Words that are before an approximate number: elsewhere "about" and "around" may be prepositions ("revolves around two")."""


def drop_approximation(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """ "about 300" becomes "exactly 300"."""
    found = []
    for m in _APPROXIMATE.finditer(text):
        before = text[: m.start()].split()[-1:] or [""]
        surely = m.group().lower() not in ("about", "around", "some")
        if surely or not before[0][-1:].isalnum() or before[0].lower() in _BEFORE_APPROXIMATE:
            found.append(m)
    one = _pick(rng, found)
    if one is None:
        return None
    edited = _replace(text, one.span(), _like("exactly", one.group()), "approximation made exact")
    return edited


_LIMITS = {
    "at least": ("at most", "fewer than", "exactly"), "at most": ("at least", "more than"), "up to": ("at least", "more than"),
    "more than": ("less than", "at most", "exactly"), "less than": ("more than", "at least"), "fewer than": ("more than",),
    "over": ("under", "exactly"), "under": ("over",), "no more than": ("no less than", "more than"),
    "not more than": ("at least",), "a maximum of": ("a minimum of",), "a minimum of": ("a maximum of",),
    "as many as": ("at least",), "no fewer than": ("no more than",), "no less than": ("no more than",),
}  # fmt: skip
_LIMIT_AT = re.compile(
    r"\b(?:" + "|".join(sorted(_LIMITS, key=len, reverse=True)) + r")(?= (?:[\d$£€]|(?:"
    + "|".join([*NUMBER_WORDS, "hundred", "thousand", "half"]) + r")\b))", re.I
)  # fmt: skip


def change_limit(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """At least <-> at most, more than <-> less than, before a number."""
    one = _pick(rng, _LIMIT_AT.finditer(text))
    if one is None:
        return None
    return _replace(text, one.span(), _like(rng.choice(_LIMITS[one.group().lower()]), one.group()), "limit changed")


_GOVERNS = re.compile(
    r"\b(?:\w+ed|\w+ing|together|along|deal\w*|work\w*|begins?|began|meets?|met|\w+ly|contact|relations?|ties|"
    r"contract|agreement"
    r"|relationship|\w+ment|interview|collaborat\w+|treaty|alliance|replace\w*|associat\w+|familiar|compared|cope|"
    r"comply|consistent|fight"
    r"|war|peace|conflict|up|away|out|one|even|in|so|start\w*|ends?|them|him|her|it|friends?|trade|border|popular|"
    r"left|to|dealt"
    r"|sex|friendship|\w+ion|\w+ship|identical|equal|bonds?|react\w*)$", re.I
)  # fmt: skip


def with_without(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    found = []
    for m in re.finditer(r"\b(with|without)\b", text):
        before, after = text[: m.start()].rstrip(), text[m.end() :]
        if m.group() == "without" and re.match(r" (?:a|the|any|[a-z]+ing|[a-z]+)\b", after):
            if not re.match(r" (?:any|\w+ing)\b", after):
                found.append((m.span(), "with"))
        elif (
            m.group() == "with"
            and not _GOVERNS.search(before)
            and re.match(r" (?!(?:the exception|respect|regard|which|whom|each)\b)[a-zA-Z\d]", after)
        ):
            found.append((m.span(), "without"))
    choice = _pick(rng, found)
    if choice is None:
        return None
    edited = _replace(text, *choice, "with and without")
    following = _WORD_OR_NUMBER.search(edited.text, edited.spans[0][1])
    return Edited(edited.text, edited.kind, ((edited.spans[0][0], following.end() if following else edited.spans[0][1]),))


def before_after(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    choices = []
    for m in re.finditer(r"\b(before|after|prior to|following|Before|After|Prior to|since|until)\b", text):
        word, after = m.group().lower(), text[m.end() :]
        if (word == "following" and not re.match(r" (?:the|his|her|its|their) \w+", after)) or re.match(
            r" (?:long|and|or)\b", after
        ):
            continue
        if word == "following" and not re.search(r", $|^$", text[: m.start()]):
            continue
        if (
            re.search(r"\b(?:shortly|soon|immediately|named|look\w*|long|ever|day|month|sought|the) $", text[: m.start()])
            and word != "prior to"
        ):
            continue
        if word in ("since", "until") and not re.match(r" (?:the )?\d{4}\b", after):
            continue
        new = {
            "before": "after",
            "after": "before",
            "prior to": "after",
            "following": "before",
            "since": "until",
            "until": "since",
        }
        choices.append((m.span(), _like(new[word], m.group())))
    choice = _pick(rng, choices)
    return _replace(text, *choice, "before and after") if choice else None


# ---------------------------------------------------------------------------------------------------- clauses


def it_is_false(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    if not _starts_plainly(text):
        return None
    opening = DENIALS_BEFORE[0] if rng.random() < 0.4 else rng.choice(DENIALS_BEFORE)
    return Edited(f"{opening} {_lowered(text, context.page)}", '"It is false that"', ((0, len(opening)),))


def _append(text: str, clause: str, kind: str, joint: str = ", ") -> Edited | None:
    body, end = _body(text)
    if not body or not end or not body[-1].isalnum() or not end.startswith("."):
        return None
    return Edited(f"{body}{joint}{clause}{end}", kind, ((len(body) + len(joint), len(body) + len(joint) + len(clause)),))


def later_proven_false(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    clause = DENIALS_AFTER[0] if rng.random() < 0.3 else rng.choice(DENIALS_AFTER)
    return _append(text, clause, "taken back at the end")


def invent_consequence(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    clause = rng.choice(CONSEQUENCES)
    joint = " " if clause.startswith(("in ", "at ", "to ", "with ", "because ")) and rng.random() < 0.5 else ", "
    return _append(text, clause, "invented consequence", joint)


def _clauses(text: str) -> list[str]:
    body, _ = _body(text)
    return re.split(r"(?:, (?:and|but|while|who|which|where|when|after|with)\b|; )", body)


def _other(context: Context, rng: Random) -> str | None:
    """Another sentence that can be behind a comma."""
    return _pick(
        rng,
        [
            s
            for s in context.others
            if _starts_plainly(s) and _balanced(s) and _has_verb(s) and 5 <= len(s.split()) <= 40 and s.rstrip().endswith(".")
        ],
    )


def fuse(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """The first clause of this sentence, then another sentence, or its second clause."""
    other = _other(context, rng)
    body, end = _body(text)
    if other is None or not _balanced(text) or not end.startswith("."):
        return None
    first = body
    parts = re.split(r", (?=and |but |while |which |who )|; ", body)
    if len(parts) > 1 and len(parts[0].split()) >= 6 and _starts_plainly(parts[0] + " ") and rng.random() < 0.5:
        first = parts[0]
    tail = _lowered(_body(other)[0], context.page)
    second = re.split(r", (?:and|but|while) (?=(?:the|he|she|it|they|in|a)\b)|; ", tail)
    if len(second) > 1 and len(second[1].split()) >= 4 and rng.random() < 0.5:
        tail = second[1]
    joint = rng.choice([", and ", ", and ", ", while ", ", but ", "; "])
    start = len(first) + len(joint)
    if tail in text:
        return None
    return Edited(f"{first}{joint}{tail}.", "fused claims", ((start, start + len(tail)),))


_TAIL = re.compile(
    r"(?:, (?=(?:which|who|where|when|after|although|because|making|leading|causing|including|with|while|despite) )|"
    r" (?=(?:in|at|during|after|because of|due to|for|near|under|following|throughout|alongside|despite) (?:the|a|an|"
    r"his|her|its|their|[A-Z]|\d)))"
)


def insert_clause(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """The last phrase or clause of another sentence at the end of this one."""
    tails = []
    for other in context.others:
        body, end = _body(other)
        if not end.startswith(".") or not _balanced(other):
            continue
        for m in _TAIL.finditer(body):
            tail = body[m.end() :]
            if m.group() == " " and ("," in tail or _has_verb(tail) or len(tail.split()) > 8):
                continue
            if 3 <= len(tail.split()) <= 14 and tail not in text and _balanced(tail):
                tails.append((m.group(), tail))
    choice = _pick(rng, tails)
    return _append(text, choice[1], "clause of another sentence inserted", choice[0]) if choice else None


def replace_verb(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """A verb in the past becomes one of another sentence."""
    governing = re.compile(r" (?:the|a|an|his|her|its|their|\d|[A-Z])")
    one = _pick(
        rng, [m for m in _past_verbs(text) if BASE_OF_PAST[m.group()] in _TAKE_OBJECTS and governing.match(text, m.end())]
    )
    if one is None:
        return None
    others = sorted({m.group() for s in context.others for m in _past_verbs(s)} - {one.group()})
    others = [v for v in others if BASE_OF_PAST[v][:4] not in text and BASE_OF_PAST[v] in TRANSITIVE] or (
        [v for v in sorted(BASE_OF_PAST) if BASE_OF_PAST[v] in TRANSITIVE and v not in text] if rng.random() < 0.5 else []
    )
    new = _pick(rng, [v for v in others if (v, one.group()) not in _NEAR_VERBS and (one.group(), v) not in _NEAR_VERBS])
    return _replace(text, one.span(), new, "verb replaced") if new else None


_TAKE_OBJECTS = TRANSITIVE | frozenset(
    words_of("""
    win lose lead take make receive use gain give send show tell want like paint sign visit
""")
)
_NEAR_VERBS = frozenset([
    ("built", "constructed"), ("founded", "established"), ("made", "created"), ("made", "produced"), ("wrote", "published"),
    ("won", "received"), ("bought", "acquired"), ("purchased", "acquired"), ("killed", "attacked"), ("seized", "captured"),
    ("occupied", "invaded"), ("led", "organized"), ("introduced", "created"), ("started", "founded"), ("began", "founded"),
    ("became", "received"), ("had", "employed"), ("used", "employed"),
])  # fmt: skip


def change_quantifier(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    choices: list[tuple[Span, str]] = []
    for old, new in QUANTIFIERS:
        for m in re.finditer(rf"(?<![\w-]){old}(?![\w-])", text, re.I):
            before, after = text[: m.start()], text[m.end() :]
            if old in ("some", "many", "most", "several", "all", "every", "few") and (
                not re.match(r" [a-z]+(?:s|men|women|people|children)\b", after)
                or re.search(r"\b(?:how|so|as|the|at|too|of|and|not|these|an?|very) $", before, re.I)
            ):
                continue
            if old == "most" and re.match(r" \w+(?:ous|less|ess|is)\b", after):
                continue
            if old in ("always", "often", "never") and re.search(r"\b(?:not|most|more|how|as|n't) $", before):
                continue
            if old == "one of the":
                choices.append((m.span(), _like("the only one of the", m.group())))
                continue
            choices.append((m.span(), _like(new, m.group())))
    for m in re.finditer(r"\b(?:one of|among) (?=the (?:most [a-z]+|[a-z]+est) [a-z]+s\b)", text):
        choices.append((m.span(), "clearly the greatest of "))
    choice = _pick(rng, choices)
    return _replace(text, *choice, "quantifier changed") if choice else None


def _words_and_end(text: str) -> tuple[list[str], str]:
    body, end = _body(text)
    return body.split(), end


def reverse_words(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    words, end = _words_and_end(text)
    return _whole(words[::-1], end, "words reversed", text)


def random_words(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    words, end = _words_and_end(text)
    mixed = list(words)
    rng.shuffle(mixed)
    return _whole(mixed, end, "words in random order", text)


def _whole(words: Sequence[str], end: str, kind: str, text: str) -> Edited | None:
    new = " ".join(words) + end
    return Edited(new, kind, ((0, len(new)),)) if len(words) >= 5 and new != text else None


def shuffle_locally(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """Every window of three to six words in another order."""
    words, end = _words_and_end(text)
    if len(words) < 6:
        return None
    mixed: list[str] = []
    at = 0
    while at < len(words):
        size = rng.randint(3, 6)
        window = words[at : at + size]
        other = list(window)
        for _ in range(4):
            rng.shuffle(other)
            if other != window:
                break
        mixed += other
        at += size
    return _whole(mixed, end, "words shuffled nearby", text)


_NOUNS = rf"(?:(?:[Tt]he|[Aa]n?) (?:[a-z]+ )?[a-z]+|{_CAP}(?: {_CAP})*)"


def exchange_roles(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """X verb Y -> Y verb X; also in the passive with "by"."""
    match = re.match(
        rf"(?P<a>{_NOUNS}) (?:(?P<v>[a-z]+)|(?P<p>(?:was|were) [a-z]+) by) (?P<b>{_NOUNS})(?=[,.;](?: |$)| (?:in|on|"
        rf"at|for|during|after|to|from|with|and|as)\b)",
        text,
    )
    if match is None:
        return None
    verb = BASE_OF_PAST.get(match["v"]) if match["v"] else BASE_OF_PARTICIPLE.get(match["p"].split()[1])
    a, b = match["a"], match["b"]
    if verb not in TRANSITIVE or _name_words(a) & _name_words(b) or a.lower().split()[0] in STOPWORDS - {"the", "a", "an"}:
        return None
    if match["p"] and a.endswith("s") != b.endswith("s"):
        return None
    first = b[0].upper() + b[1:]
    second = _lowered(a) if a.split()[0].lower() in ("the", "a", "an") else a
    between = text[match.end("a") : match.start("b")]
    start = len(first) + len(between)
    new = first + between + second + text[match.end("b") :]
    return Edited(new, "subject and object exchanged", ((0, len(first)), (start, start + len(second))))


# ---------------------------------------------------------------------------------------------------- true forms


def verbatim(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    return Edited(text, "verbatim") if text.strip() else None


_DATE_DMY = re.compile(rf"\b(?P<d>\d\d?)(?:st|nd|rd|th)?(?: of)? (?P<m>{_MONTH})(?:,? (?P<y>\d{{4}}))?(?![\d–-])")
_DATE_MDY = re.compile(
    rf"\b(?P<m>{_MONTH}) (?P<d>\d\d?)(?:st|nd|rd|th)?(?:,? (?P<y>\d{{4}})(?P<c>,)?)?(?![\d–-])(?! (?:{_MONTH}))"
)


def date_form(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """12 March 2031, March 12, 2031, 12 Mar 2031, 2031-03-12 and so on; 30/03/2031 only where the day cannot be a month."""
    found = [m for m in _DATE_DMY.finditer(text) if not re.search(r"[–-]$|\b(?:and|to|or) $|\d $", text[: m.start()])]
    found = [
        *found,
        *(m for m in _DATE_MDY.finditer(text) if not any(m.start() < o.end() and o.start() < m.end() for o in found)),
    ]
    found = [m for m in found if not re.match(r"(?:,| and| to| or|–) ?\d\d?\b(?!\d)", text[m.end() :])]
    one = _pick(rng, found)
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
    new = _pick(rng, [form for form in forms if form != one.group().rstrip(",")])
    if new is None:
        return None
    rest = text[one.end() :]
    if comma and not rest.startswith(","):
        rest = "," + rest
    return Edited(text[: one.start()] + new + rest, "other date form")


def time_form(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    found = [m for m in _CLOCK.finditer(text) if int(m.group(1) or m.group(5)) < 24]
    one = _pick(rng, found)
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
    new = _pick(rng, [f for f in forms if f != one.group()])
    if new and one.group().endswith(".") and not rest.strip() and not new.endswith("."):
        rest = "." + rest
    return Edited(text[: one.start()] + new + rest, "other time form") if new else None


def _numeric(m: re.Match[str]) -> float:
    return float(m.group().replace(",", ""))


def number_form(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """1,200 / 1200 / 1.2 thousand; 3.5 million / 3,500,000; twelve / 12."""
    choices: list[tuple[Span, str]] = []
    for m in _plain_numbers(text):
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
    for m in _NUMBER_WORD.finditer(text):
        if (
            m.group().islower()
            and re.match(r" (?:[a-z]+ )?[a-z]+s\b", text[m.end() :])
            and not re.match(r" (?:or|and|to)\b", text[m.end() :])
        ):
            at = NUMBER_WORDS.index(m.group())
            choices.append((m.span(), str(at + 2 if at < 19 else (at - 16) * 10)))
    choice = _pick(rng, choices)
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


def rounded(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """142,300 -> more than 140,000, about 142,000, nearly 150,000 (within a tenth)."""
    choices: list[tuple[Span, str]] = []
    for m in _plain_numbers(text):
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
    choice = _pick(rng, choices)
    if choice is None:
        return None
    (start, end), new = choice
    return Edited(text[:start] + new + text[end:], "rounded")


def percent_form(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    one = _pick(rng, re.finditer(r"(?<=\d)(?: ?%| per ?cent\b)", text))
    if one is None:
        return None
    new = _pick(rng, [form for form in ("%", " percent", " per cent") if form != one.group()])
    return Edited(f"{text[: one.start()]}{new}{text[one.end() :]}", "other percent form")


def abbreviate(text: str, rng: Random, context: Context = Context()) -> Edited | None:
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
    choice = _pick(rng, choices)
    if choice is None:
        return None
    (start, end), new = choice
    if start == 0:
        new = new[0].upper() + new[1:]
    rest = text[end:]
    if new.endswith(".") and rest.strip() == ".":
        rest = ""
    return Edited(text[:start] + new + rest, "abbreviation")


_TIME_PHRASE = (
    rf"(?:[Ii]n (?:(?:early|late|mid-?) ?)?(?:(?:{_MONTH}) )?\d{{4}}|[Oo]n (?:\d\d? (?:{_MONTH})|"
    rf"(?:{_MONTH}) \d\d?)(?:,? \d{{4}})?|[Oo]n (?:{_DAY}))"
)
_PLACE_PHRASE = rf"(?:[Ii]n {_CAP}(?: {_CAP})?)"
_FRONT = re.compile(rf"(?P<phrase>{_TIME_PHRASE}|{_PLACE_PHRASE}),? (?=(?:the|a|an|he|she|they|it|his|her|[A-Z])\b)")


def move_phrase(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """A date or place from the front to the end of a sentence of one clause, or from the end to the front."""
    body, end = _body(text)
    kind = "phrase moved"
    front = _FRONT.match(body)
    if not end.startswith(".") or not _balanced(text):
        return None
    if front and "," in text[front.end("phrase") : front.end() + 1]:
        rest = body[front.end() :]
        one_clause = not re.search(r"[,;:]| (?:and|but|that|which|who|while|when|after|before|because|until|to) ", rest)
        if one_clause and not re.search(r"\d{4}$", rest) and _starts_plainly(rest[0].upper() + rest[1:] + " "):
            phrase = front["phrase"]
            return Edited(f"{rest[0].upper()}{rest[1:]} {phrase[0].lower()}{phrase[1:]}{end}", kind)
        return None
    tail = re.search(rf" (?P<phrase>{_TIME_PHRASE})$", body)
    if tail and _starts_plainly(text):
        main = body[: tail.start()]
        if (
            re.search(r"[,;:]| (?:and|but|that|which|who|while|when|after|before|because|until|to|for|of) ", main)
            or _NEGATED.search(main)
            or _HEDGED.search(main.replace("May", ""))
            or re.search(r"\b(?:in|on|from|born|died)$|ing\b", main)
        ):
            return None
        phrase = tail["phrase"]
        return Edited(f"{phrase[0].upper()}{phrase[1:]}, {_lowered(main, context.page)}{end}", kind)
    return None


_VERB_IN = re.compile(rf"\b(?:{'|'.join(_AUXILIARIES)})\b")


def _has_verb(text: str) -> bool:
    return bool(_VERB_IN.search(text)) or any(w in BASE_OF_PAST for w in re.findall(r"[a-z]+", text))


def drop_clause(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """A shorter sentence: without its opening phrase, its last relative clause or its second main clause.

    Only where nothing in the sentence denies, hedges, limits or compares, since the rest must still follow.
    """
    body, end = _body(text)
    if (
        _NEGATED.search(text)
        or _HEDGED.search(text.replace("May", ""))
        or not end.startswith(".")
        or not _balanced(text)
        or not _starts_plainly(text)
    ):
        return None
    if re.match(
        r"(?:When|While|After|Before|Since|Because|As|Unlike|Until|Although|During|For|With|By|To|From|"
        r"Under)\b",
        text,
    ):
        return None
    choices = []
    front = re.match(
        rf"(?:{_TIME_PHRASE}|{_PLACE_PHRASE}|However|Moreover|In addition|As a result|Subsequently|Later|Today|"
        rf"Additionally), ",
        body,
    )
    if front:
        rest = body[front.end() :]
        if len(rest.split()) >= 5 and re.match(r"(?:the|an?|he|she|they|it|his|her|their|its|[A-Z]\w+) ", rest):
            choices.append(rest[0].upper() + rest[1:])
    for m in re.finditer(
        r", (?:which|who|whose|where|and (?:he|she|it|they|the|his|her|its|their|was|were|is|are|has|had)|making|"
        r"becoming|including|leading|resulting|after|while|when|as well as) ",
        body,
    ):
        shorter = body[: m.start()]
        if (
            "," not in re.sub(rf"(?:(?:{_MONTH}) \d+|^{_TIME_PHRASE}|^{_PLACE_PHRASE}),", "", shorter)
            and len(shorter.split()) >= 5
            and _has_verb(shorter)
        ):
            choices.append(shorter)
    kept = _pick(rng, choices)
    return Edited(kept + end, "clause dropped") if kept else None


_REPORTED = re.compile(
    r"(?P<who>(?:The (?:[a-z]+ ){1,2}|(?:[A-Z][a-z]+ )+|He |She |They ))(?:said|stated|says|announced|reported|states|"
    r"reports) that (?P<what>.+)"
)
_ACCORDING_END = re.compile(
    rf"(?P<what>.+), according to (?P<who>(?:the (?:[a-z]+ ){{0,2}}[a-z]+|(?:the )?{_CAP}(?: {_CAP})*))"
)
_ACCORDING = re.compile(rf"According to (?P<who>(?:the (?:[a-z]+ ){{0,2}}[a-z]+|(?:the )?{_CAP}(?: {_CAP})*)), (?P<what>.+)")


def turn_report(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """X said that Y / According to X, Y / Y, according to X."""
    body, end = _body(text)
    kind = "reporting clause turned"
    if not _balanced(text) or not end.startswith("."):
        return None
    m = _REPORTED.fullmatch(body)
    if m:
        who = m["who"].strip()
        if re.search(r"ly$|\b(?:also|later|then|reports?|It|Upon|reported|It)$", who) or (
            who.lower() in STOPWORDS and who not in ("He", "She", "They")
        ):
            return None
        pronoun = {"He": "him", "She": "her", "They": "them"}.get(who)
        return Edited(f"According to {pronoun or _lowered(who)}, {m['what']}{end}", kind)
    if m := _ACCORDING.fullmatch(body):
        what, who = m["what"], m["who"]
        if rng.random() < 0.5:
            return Edited(f"{what[0].upper()}{what[1:]}, according to {who}{end}", kind)
        return Edited(f"{who[0].upper()}{who[1:]} said that {what}{end}", kind)
    if (m := _ACCORDING_END.fullmatch(body)) and _starts_plainly(text):
        return Edited(f"According to {m['who']}, {_lowered(m['what'], context.page)}{end}", kind)
    return None


_SYNONYM = [(a, b, re.compile(rf"(?<![\w-]){re.escape(a)}(?![\w-])(?!['’]s)", re.I)) for a, b in SYNONYMS]
_SYNONYM_HEADS = {a.split()[0].lower() for a, _, _ in _SYNONYM}


def synonym(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """One or two words become others that say the same."""
    if not _SYNONYM_HEADS & set(re.findall(r"[\w-]+", text.lower())):
        return None
    choices = []
    for a, b, pattern in _SYNONYM:
        choices += [(m.span(), b) for m in pattern.finditer(text) if _fits(text, m, a, b)]
    choice = _pick(rng, choices)
    if choice is None:
        return None
    (start, end), new = choice
    new = _like(new, text[start:end]) if not new.isupper() else new
    article = re.search(r"\b(an?) $", text[:start])
    if article and (new[0].lower() in "aeiou") != (article.group(1) == "an"):
        return None
    return Edited(text[:start] + new + text[end:], "synonym")


def _fits(text: str, m: re.Match[str], old: str, new: str) -> bool:
    """Not inside names ("Children's Act"), and the words around it allow it."""
    before, after = text[: m.start()], text[m.end() :]
    if (m.group()[0].isupper() and m.start() > 0) or (m.group()[0].isupper() and re.match(r" [A-Z]", after)):
        return False
    if old in (
        "film",
        "movie",
        "television",
        "aircraft",
        "rapid",
        "annual",
        "yearly",
        "difficult",
        "main",
        "soccer",
        "children",
    ) and re.match(r" [A-Z]", after):
        return False
    if old in ("began", "started", "commenced") and re.match(r" (?:up|off|out|over|by)\b", after):
        return False
    if old in ("bought", "chose", "selected", "helped", "assisted") and re.search(
        r"\b(?:has|have|had|was|were|been|be|is|are|being) (?:\w+ly )?$", before
    ):
        return False  # the participle may be another word
    if old == "began" and re.search(r"\b(?:has|have|had) $", before):
        return False
    if (
        old in ("founded", "established")
        and re.match(r" (?:on|in (?:the|a)|that|as)\b", after)
        and not re.match(r" in \d", after)
    ):
        return False
    if old == "established" and re.search(r"\b(?:an?|the|well|more|most|newly|long) $", before):
        return False
    if old in (
        "demonstrated",
        "showed",
        "required",
        "needed",
        "obtained",
        "requested",
        "utilized",
        "manufactured",
    ) and re.search(r"\b(?:an?|the|as|not|of|often) $", before):
        return False
    if old == "aircraft" or (old == "near" and re.search(r"\bvery $", before)):
        return bool(re.search(r"\b(?:an|the|its|this|one) $", before)) and not re.match(
            r" (?:are|were|carrier|carriers)", after
        )
    if old in ("upon", "until", "regarding", "concerning") and re.match(r" (?:which|whom)\b", after):
        return False
    if old == "upon" and (
        re.search(r"\b(?:based|depend\w*|once|call\w*|put|thereup|agreed|look\w*|act\w*) $", before)
        or not re.match(r" (?:the|a|his|her)\b", after)
    ):
        return False
    if old in ("replied", "answered", "responded") and re.match(r" (?:by|to|with|the|a)\b", after):
        return False
    if old in ("reply", "answer", "annual", "error", "errors", "journey") and re.search(r"\bto $", before):
        return False
    if old == "passed away" or not (new.startswith(("in addition", "as a result", "at ")) and not re.match(r",", after)):
        return not (old == "said" and re.match(r" to\b", after))
    return False


_SUBJECT = (
    rf"(?:(?:The|An?|His|Her|Its) (?:[a-z-]+ ){{0,2}}[a-z]+(?: of (?:the )?(?:{_CAP}(?: {_CAP})*|[a-z]+))?|"
    rf"(?:The )?{_CAP}(?: {_CAP})*)"
)
_AGENT = (
    rf"(?:(?:the|an?|his|her|its) (?:[a-z-]+ ){{0,2}}[a-z]+(?: of (?:the )?(?:{_CAP}(?: {_CAP})*|[a-z]+))?|"
    rf"(?:the )?{_CAP}(?: {_CAP})*)"
)
_REST = r"(?P<rest>(?: (?:in|on|during|at|after|before|for) [^,;]*)?)"
_PASSIVE_SENTENCE = re.compile(rf"(?P<x>{_SUBJECT}) (?P<be>was|were) (?P<p>[a-z]+) by (?P<y>{_AGENT}){_REST}")
_ACTIVE_SENTENCE = re.compile(rf"(?P<x>{_SUBJECT}) (?P<v>[a-z]+) (?P<y>{_AGENT}){_REST}")


def change_voice(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """X was built by Y -> Y built X, and back, where both are short."""
    body, end = _body(text)
    kind = "other voice"
    if m := _PASSIVE_SENTENCE.fullmatch(body):
        base = BASE_OF_PARTICIPLE.get(m["p"])
        if base is None or base not in TRANSITIVE | {
            "write",
            "make",
            "win",
            "lead",
            "beat",
            "take",
            "sign",
            "compose",
            "record",
            "release",
        }:
            return None
        if m["x"].split()[0].lower() in STOPWORDS - {"the", "a", "an"} or re.search(r"\b(?:that|which|who)\b", m["rest"]):
            return None
        x = _lowered(m["x"]) if m["x"].split()[0] in ("The", "A", "An") else m["x"]
        if (
            _name_words(m["x"]) & _name_words(m["y"])
            or m["y"].split()[-1] in ("then", "now", "same")
            or m["x"] in ("This", "That", "These", "It")
        ):
            return None
        return Edited(f"{m['y'][0].upper()}{m['y'][1:]} {VERBS[base][0]} {x}{m['rest']}{end}", kind)
    if m := _ACTIVE_SENTENCE.fullmatch(body):
        base = BASE_OF_PAST.get(m["v"])
        if base is None or base not in TRANSITIVE or m["x"].split()[0].lower() in STOPWORDS - {"the", "a", "an"}:
            return None
        x = _lowered(m["x"]) if m["x"].split()[0] in ("The", "A", "An") else m["x"]
        head = m["y"].split(" of ")[0]
        plural = head[0].islower() and head.endswith("s") and not head.endswith(("ss", "us", "is"))
        if m["y"].split()[0] in ("his", "her", "its", "their") or re.search(
            r"\b[a-z]+(?:ed|ing|"
            r"ly)\b",
            m["x"] + " " + m["y"],
        ):
            return None
        return Edited(
            f"{m['y'][0].upper()}{m['y'][1:]} {'were' if plural else 'was'} {VERBS[base][1]} by {x}{m['rest']}{end}", kind
        )
    return None


def join_sentences(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """This sentence and the one after it as one."""
    body, end = _body(text)
    following = context.following
    if (
        not following
        or not end.startswith(".")
        or not _balanced(text)
        or not _balanced(following)
        or not _starts_plainly(following)
    ):
        return None
    if (
        re.match(r"(?:However|But|And|Thus|Therefore|So|Yet|Or|Nor|Nevertheless|Instead|For example|That is)\b", following)
        or "==" in text + following
    ):
        return None
    if len(text.split()) + len(following.split()) > 60 or not body[-1].isalnum() or not _starts_plainly(text):
        return None
    joint = rng.choice([", and ", ", and ", "; "])
    return Edited(body + joint + _lowered(following, context.page), "sentences joined")


_ITEM = rf"(?:{_CAP}(?: {_CAP})*)"
_LIST = re.compile(
    rf"(?<=[a-z:] )(?P<items>{_ITEM}(?:, {_ITEM})+,? (?P<and>and|or) {_ITEM})(?=[.;]| (?:were|are|have|had|during|"
    rf"after|to|with|from)\b)"
)
_WORD_LIST = re.compile(r"(?<=[a-z] )(?P<items>[a-z]+s(?:, [a-z]+s)+,? (?P<and>and|or) [a-z]+s)(?=[.;])")


def reorder_list(text: str, rng: Random, context: Context = Context()) -> Edited | None:
    found = [
        m
        for m in (*_LIST.finditer(text), *_WORD_LIST.finditer(text))
        if not re.search(r"\b(?:respectively|then|rank\w*|order|first)\b", text)
    ]
    one = _pick(rng, found)
    if one is None:
        return None
    items = re.split(r", (?:and |or )?| and | or ", one["items"])
    if len(items) < 3 or len(set(items)) != len(items) or any(not item for item in items):
        return None
    before = text[: one.start()].split()[-1]
    if (
        before[0].isupper()
        or before in ("the", "a", "an")
        or re.search(rf"(?:{_MONTH})", one["items"])
        or re.search(r", (?:[a-z]+ )?$", text[: one.start()])
    ):
        return None
    if re.search(r"^[A-Z]", one["items"]) and re.search(
        r"(?:^|[.,;] )(?:In|On|At|By|From|For|To|With|As) $", text[: one.start()]
    ):
        return None
    mixed = list(items)
    for _ in range(6):
        rng.shuffle(mixed)
        if mixed != items:
            break
    comma = "," if f", {one['and']} " in one["items"] else ""
    new = ", ".join(mixed[:-1]) + f"{comma} {one['and']} {mixed[-1]}"
    return Edited(text[: one.start()] + new + text[one.end() :], "list reordered") if mixed != items else None


FALSE_EDITS: Mapping[str, Edit] = {
    "number changed": change_number,
    "two numbers swapped": swap_numbers,
    "number word changed": change_number_word,
    "year changed": change_year,
    "month changed": change_month,
    "day changed": change_day,
    "weekday changed": change_weekday,
    "time changed": change_time,
    "unit replaced": replace_unit,
    "name replaced": replace_name,
    "place replaced": replace_place,
    "two names exchanged": exchange_names,
    "pronoun of the other sex": change_pronouns,
    "antonym": antonym,
    '"not" inserted': insert_not,
    "negation removed": remove_negation,
    '"failed to"': failed_to,
    '"falsely"': falsely,
    "said to denied": said_to_denied,
    "future to past": future_to_past,
    "hedge dropped": drop_hedge,
    "approximation made exact": drop_approximation,
    "limit changed": change_limit,
    "with and without": with_without,
    "before and after": before_after,
    '"It is false that"': it_is_false,
    "taken back at the end": later_proven_false,
    "invented consequence": invent_consequence,
    "words reversed": reverse_words,
    "words in random order": random_words,
    "words shuffled nearby": shuffle_locally,
    "subject and object exchanged": exchange_roles,
    "fused claims": fuse,
    "clause of another sentence inserted": insert_clause,
    "quantifier changed": change_quantifier,
    "verb replaced": replace_verb,
}
TRUE_EDITS: Mapping[str, Edit] = {
    "verbatim": verbatim,
    "other date form": date_form,
    "other time form": time_form,
    "other number form": number_form,
    "rounded": rounded,
    "other percent form": percent_form,
    "abbreviation": abbreviate,
    "phrase moved": move_phrase,
    "clause dropped": drop_clause,
    "reporting clause turned": turn_report,
    "synonym": synonym,
    "other voice": change_voice,
    "sentences joined": join_sentences,
    "list reordered": reorder_list,
}


def edit(kind: str, text: str, rng: Random, context: Context = Context()) -> Edited | None:
    """The edit of that name. Raises KeyError for a kind that is in neither registry."""
    return (FALSE_EDITS[kind] if kind in FALSE_EDITS else TRUE_EDITS[kind])(text, rng, context)

"""One way of writing dates and percentages in an article, whichever its sentences have more often.

"13 March 2031" or "March 13, 2031", "per cent" or "percent". A sentence's opening date gets a comma before a number. Names that
one page shouts ("IRENA HOLT") are written as most pages have them (MOS:ALLCAPS).

Sentences keep the form of their page, or get the other where the model reworded them; side by side they look careless
(Wikipedia's manual of style, MOS:DATEUNIFY). Quotations, ranges and names of days stay as they are.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from data.types import Section, Sentence

Style = Literal["day first", "month first"]
_MONTH = "|".join(name for name in calendar.month_name if name)
_QUOTED = re.compile(r"(“[^”]*”|\"[^\"]*\"|«[^»]*»)")
_JOINED = r"(?:(?:\s*[–-]\s*| (?:and|to|or) )\d{1,2}\b|, \d{1,2}(?:,| and| or) )"
_DAY_FIRST = re.compile(rf"(?<![\d.,–-])(?<!\d and )(?<!\d to )(?<!\d or )(?<!\d, )\b(\d{{1,2}}) ({_MONTH})\b(?: (\d{{4}})\b)?")
_MONTH_FIRST = re.compile(
    rf"(?<!\d )\b({_MONTH}) (\d{{1,2}})\b(?!{_JOINED}(?! (?:{_MONTH})))(?![\d:.,]\d)(?:, (\d{{4}})\b(,?))?"
)
_NAMED = re.compile(r"(?:September 11|11 September|July 4|4 July|May 4|January 6|6 January)(?= [a-z]+)")
_PHRASE_GOES_ON = re.compile(r" (?:in|at|on|by|from|for|to|of|as|after|during|following|near|when|that)\b")


def style_of(texts: Sequence[str]) -> Style:
    """That of most dates; "day first" where there are as many."""
    first = sum(len(_DAY_FIRST.findall(text)) for text in texts)
    return "month first" if sum(len(_MONTH_FIRST.findall(text)) for text in texts) > first else "day first"


def in_style(text: str, style: Style) -> str:
    """The text with its dates in the style. Nothing else changes but the commas that belong to a date."""
    parts = _QUOTED.split(text)
    return "".join(part if at % 2 else _converted(part, style) for at, part in enumerate(parts))


def percent_of(texts: Sequence[str]) -> str:
    """ "per cent" or "percent": what most texts write, quotations apart; "per cent" where as many do either."""
    plain = [" ".join(_QUOTED.split(text)[::2]) for text in texts]
    joined = sum(len(re.findall(r"\bpercent\b", text)) for text in plain)
    return "percent" if joined > sum(len(re.findall(r"\bper cent\b", text)) for text in plain) else "per cent"


def _with_percent(text: str, percent: str) -> str:
    parts = _QUOTED.split(text)
    return "".join(part if at % 2 else re.sub(r"\bper ?cent\b", percent, part) for at, part in enumerate(parts))


def in_one_style(sections: Sequence[Section], passages: Mapping[str, str]) -> tuple[Section, ...]:
    """`passages` are texts by id. A sentence that would be word for word in a passage that it cites keeps its own style: a
    copy is worse than a date of another form."""
    texts = [sentence.text for section in sections for sentence in section.sentences]
    # by the pages, where there are any: what a model said of them may have another form in the next run
    style, percent = style_of(list(passages.values()) or texts), percent_of(texts)
    forms = Counter(word for text in passages.values() for word in _WORD.findall(text))

    def styled(sentence: Sentence) -> Sentence:
        text = _with_percent(in_style(sentence.text, style), percent)
        copied = any(_plain(text) in _plain(passages.get(cite, "")) for cite in sentence.cites)
        return replace(sentence, text=_not_shouted(_apart(sentence.text if copied else text), forms))

    return tuple(
        replace(section, paragraphs=tuple(tuple(map(styled, paragraph)) for paragraph in section.paragraphs))
        for section in sections
    )


_DATE_AND_NUMBER = re.compile(
    rf"^((?:On|By|Since|Until) (?:(?:{_MONTH}) \d{{1,2}}|\d{{1,2}} (?:{_MONTH}))|In \d{{4}}) (?!(?:1\d|20)\d\d\b(?!,\d))(?=\d)"
)
"""An opening date and a number behind it that is no year."""


def _apart(text: str) -> str:
    """ "On March 20 3,150 people left" -> "On March 20, 3,150 people left"."""
    return _DATE_AND_NUMBER.sub(r"\1, ", text)


_WORD = re.compile(r"[^\W\d_]+")


def _not_shouted(text: str, forms: Mapping[str, int]) -> str:
    """Words in capitals as the pages have them more often. "BBC" is nowhere "Bbc"."""
    return _WORD.sub(lambda m: m[0].capitalize() if len(m[0]) > 2 and m[0].isupper() and _as_name(m[0], forms) else m[0], text)


def _as_name(word: str, forms: Mapping[str, int]) -> bool:
    return forms.get(word.capitalize(), 0) > forms.get(word, 0)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _converted(text: str, style: Style) -> str:
    if _NAMED.search(text):
        return text
    if style == "day first":
        return _MONTH_FIRST.sub(lambda match: _day_first(match, text), text)
    return _DAY_FIRST.sub(lambda match: _month_first(match, text), text)


def _day_first(match: re.Match[str], text: str) -> str:
    month, day, year, comma = match.groups()
    if year is None:
        return f"{day} {month}"
    opens = re.fullmatch(r"(?:\w+ )?", text[: match.start()]) is not None  # "On 13 March 2031, the ..."
    goes_on = _PHRASE_GOES_ON.match(text, match.end()) is not None
    of_noun = re.search(r"\b(?:an?|the) \Z", text[: match.start()], re.I) is not None  # "in a March 13, 2031, speech"
    return f"{day} {month} {year}" + ("" if comma and (of_noun or (goes_on and not opens)) else comma)


def _month_first(match: re.Match[str], text: str) -> str:
    day, month, year = match.groups()
    if year is None:
        return f"{month} {day}"
    behind = text[match.end() : match.end() + 1]
    return f"{month} {day}, {year}" + ("" if not behind or not behind.isspace() else ",")

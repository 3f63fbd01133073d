"""An article does not contradict itself: two counts of one thing, and no time between them, become the latest one.

A later figure wins wherever the article has an earlier one: in the lead, the body and the infobox. What is told as the count of
its day ("rose to six on Saturday") stays. Where nothing says which count is later, nothing is changed: it is a disagreement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from data.types import Article, Fact, Paragraph, Repair, Section, Sentence
from pipeline.choosing.facts import names, with_digits
from pipeline.choosing.quantities import BARE_TOLLS, Quantity, toll_of
from pipeline.choosing.tolls import FAR, Told, is_history, latest, whole_tolls

_TOKEN = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)?|\d[\d,]*(?:\.\d+)?")
_OTHER = re.compile(
    r"\A(?:of|among|amongst) (?:the|those|these|them)\b|\btoll among\b|\b(?:first|second|third|fourth|fifth|neighbou?ring|"
    r"next door|each|annual|yearly|worldwide|if|den(?:y|ies|ied)|claim\w* that)\b",
    re.I,
)
"""A count of a part or of another event, or one that its sentence does not state."""
_PHASE = re.compile(r"\b(?:immediately|later|afterwards)\b", re.I)
"""Beside a number that is not said to be the latest: those who died at once, or after the others."""
_TIME = (
    r"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|(?:\d{1,2} )?(?:January|February|March|April|May|June|July|August|"
    r"September|October|November|December)|noon|midnight|nightfall|evening|morning)\b"
)
_SAYS = r"\b(?:said|reported|announced|confirmed|told|wrote)\b"
_OF_ITS_DAY = re.compile(
    rf"\b(?:[Bb]y|[Aa]s of|[Uu]ntil) (?:late |early |the |that |next )*{_TIME}|{_SAYS} (?:late |early )?(?:on )?{_TIME}|"
    rf"\AOn (?:late |early )?{_TIME}.*{_SAYS}"
)
"""A count of a time, or what somebody said on a day: a later figure would put words into their mouth."""
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d{2}\b")
_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


@dataclass(frozen=True, slots=True)
class _Count:
    quantity: Quantity
    text: str
    day: str
    cites: tuple[str, ...]


def settled(article: Article) -> Article:
    """The article with one count of those killed, injured and missing; itself where it has no two."""
    for what in sorted(BARE_TOLLS):
        counts = [one for one in _counts(article) if one.quantity.predicate == what and not _stays(one)]
        value = _winner([one for one in _counts(article) if one.quantity.predicate == what])
        if value is not None and any(one.quantity.value != value for one in counts):
            article = _with_one_value(article, what, value)
    return article


def contradictions(article: Article) -> tuple[str, ...]:
    """Sentences that give a count of one thing which is not the one that the article gives first."""
    first: dict[str, Quantity] = {}
    found = []
    for one in _counts(article):
        if _stays(one):
            continue
        before = first.setdefault(one.quantity.predicate, one.quantity)
        if before.value != one.quantity.value and not {before.bound, one.quantity.bound} & {"about", "over", "under"}:
            found.append(one.text)
    return tuple(found)


def _winner(counts: list[_Count]) -> str | None:
    """The latest value; None where all agree, or neither words nor days say which is later."""
    if len({one.quantity.value for one in counts}) < 2:
        return None
    days = {one.day for one in counts}
    if not any(one.quantity.move for one in counts) and ("" in days or len(days) < 2):
        return None
    value = latest([Told(one.quantity, one.day) for one in counts])
    if value is not None and ("" in days or len(days) < 2):
        giving = [one.quantity for one in counts if one.quantity.value == value]
        others = [one.quantity.number for one in counts if not _stays(one)]
        if {one.move for one in giving} <= {"", "rose"} and any(giving[0].number < n < giving[0].number * FAR for n in others):
            return None  # what has risen is not below another count, unless it is of a part or an older one
    return value


def _stays(count: _Count) -> bool:
    return is_history(count.quantity, count.text) or _OF_ITS_DAY.search(count.text) is not None


def _counts(article: Article) -> Iterator[_Count]:
    """The article's counts of the whole event: their sentences name nothing that title and lead do not."""
    days = {source.id: (source.published or "")[:10] for source in article.sources}
    lead = " ".join(sentence.text for sentence in article.lead.sentences)
    years = {*_YEAR.findall(f"{article.title} {lead}"), *(day[:4] for day in days.values())}
    own = {word for name in names(f"{article.title} {lead}") for word in name.split()}
    for section in article.all_sections:
        for sentence in section.sentences:
            day = max((days.get(cite, "") for cite in sentence.cites), default="")
            for quantity in whole_tolls(sentence.text) if not _OTHER.search(sentence.text) else ():
                if (quantity.years and not quantity.years & years) or (not quantity.move and _PHASE.search(sentence.text)):
                    continue
                named = {word for name in quantity.names for word in name.split()}
                if named <= own and quantity.bound not in ("about", "over", "under") and quantity.number > 1:
                    yield _Count(quantity, sentence.text, day, sentence.cites)


def _with_one_value(article: Article, what: str, value: str) -> Article:
    giving = next(one for one in _counts(article) if one.quantity.predicate == what and one.quantity.value == value)
    stale = {
        one.text: one.quantity
        for one in _counts(article)
        if one.quantity.predicate == what
        and one.quantity.value != value
        and not _stays(one)
        and giving.quantity.number / FAR < one.quantity.number < giving.quantity.number * FAR
    }
    repairs: list[Repair] = []
    said: set[str] = {s.text for section in article.all_sections for s in section.sentences}

    def settle(section: Section) -> Section:
        paragraphs: list[Paragraph] = []
        for paragraph in section.paragraphs:
            kept: list[Sentence] = []
            for sentence in paragraph:
                old = stale.get(sentence.text)
                text = sentence.text if old is None else with_toll(sentence.text, old.shown, giving.quantity.shown)
                if text == sentence.text:
                    kept.append(sentence)
                elif text is None or text in said:
                    repairs.append(Repair("sentence_removed", section.heading.text, sentence.text, f"a later count is {value}"))
                else:
                    kept.append(replace(sentence, text=text, cites=tuple(dict.fromkeys((*sentence.cites, *giving.cites)))))
                    repairs.append(
                        Repair("sentence_replaced", section.heading.text, sentence.text, f"a later count is {value}")
                    )
            if kept:
                paragraphs.append(tuple(kept))
        return replace(section, paragraphs=tuple(paragraphs))

    lead, *sections = (settle(section) for section in article.all_sections)
    if not lead.sentences:
        return article
    infobox = tuple(_settled_row(fact, what, value, giving, repairs) for fact in article.infobox)
    kept = tuple(section for section in sections if section.sentences)
    return replace(article, lead=lead, sections=kept, infobox=infobox, repairs=(*article.repairs, *repairs))


def _settled_row(fact: Fact, what: str, value: str, giving: _Count, repairs: list[Repair]) -> Fact:
    found = re.fullmatch(r"(?:at least )?(\d[\d,]*)", with_digits(fact.value).strip())
    if toll_of(fact.label) != what or found is None or found[1].replace(",", "") == value:
        return fact
    repairs.append(Repair("sentence_replaced", "", f"{fact.label}: {fact.value}", f"a later count is {value}"))
    return Fact(fact.label, _number_in(giving.quantity.shown) or value, giving.cites)


def with_toll(text: str, old: str, new: str) -> str | None:
    """The sentence with another count in place of `old`, both as sentences show them ("at least five people"); itself where the
    count is none of a toll or of its day alone, None where its place is not clear."""
    was, now = (with_digits(_number_in(shown)).replace(",", "") for shown in (old, new))
    tolls = [q for q in whole_tolls(text) if q.value == was]
    if not tolls or is_history(tolls[0], text):
        return text
    places = [m for m in _TOKEN.finditer(text) if with_digits(m.group()).replace(",", "") == was]
    if len(places) != 1 or not now or "1" in (was, now):
        return None
    found = places[0]
    written = _number_in(new)
    if found.group().isalpha() and now.isdigit():
        written = _WORDS[int(now)] if int(now) < len(_WORDS) else written
    if found.group()[0].isupper():
        written = written[0].upper() + written[1:]
    return text[: found.start()] + written + text[found.end() :]


def _number_in(shown: str) -> str:
    return next((m.group() for m in _TOKEN.finditer(shown) if with_digits(m.group())[0].isdigit()), "")

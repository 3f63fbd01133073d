"""An article does not contradict itself: of two counts of one thing, with no time between them, the later one stands.

No word of a page is changed. A sentence whose count is outdated goes where the later one's sentence says all that it says, and
that sentence takes its place. Where it says more it stays as history: directly before the sentence that says that the count
rose, fell or was corrected, or with the day of its report; if neither can be, it goes. That happens only to sentences that
count the same of the article's own event (`pipeline.choosing.one_event`); where nothing says which count is later, nothing is
changed: it is a disagreement, and `contradictions` names it.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from data.types import Article, Fact, Page, Paragraph, Repair, RepairKind, Section, Sentence
from pipeline.choosing.facts import names, numbers, with_digits
from pipeline.choosing.one_event import OneEvent, own_words
from pipeline.choosing.quantities import BARE_TOLLS, Quantity, toll_of
from pipeline.choosing.standing_alone import MONTH
from pipeline.choosing.tolls import FAR, FAR_MISSING, Told, is_history, latest, whole_tolls
from pipeline.following.changes import grounds
from pipeline.writing.assembly import LEAD_HEADING

_PHASE = re.compile(r"\b(?:immediately|later|afterwards)\b", re.I)
"""Beside a number that is not said to be the latest: those who died at once, or after the others."""
_TIME = rf"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|(?:\d{{1,2}} )?(?:{MONTH})|noon|midnight|nightfall|evening|morning)\b"
_SAYS = r"\b(?:said|reported|announced|confirmed|told|wrote)\b"
_OF_ITS_DAY = re.compile(
    rf"\b(?:[Bb]y|[Aa]s of|[Uu]ntil) (?:late |early |the |that |next )*{_TIME}|{_SAYS} (?:late |early )?(?:on )?{_TIME}|"
    rf"\AOn (?:late |early )?{_TIME}.*{_SAYS}|\(as reported on "
)
"""A count of a time, or what somebody said on a day."""
CHANGED = ("rose", "fell", "corrected")
"""Moves that tell of an earlier count themselves, so that it may stand before them."""
_END = re.compile(r"[.!?”\"…]*\Z")


@dataclass(frozen=True, slots=True)
class _Count:
    """A count of the article's own event. `section` counts from 0, the lead, `at` is the sentence's place in it."""

    quantity: Quantity
    sentence: Sentence
    section: int
    at: int
    day: str

    @property
    def text(self) -> str:
        return self.sentence.text


def settled(article: Article, pages: Sequence[Page] = ()) -> Article:
    """The article with one count of those killed, injured and missing; itself where it has no two. `pages` are those that its
    citations number."""
    for what in sorted(BARE_TOLLS):
        counts = [one for one in _counts(article, pages) if one.quantity.predicate == what]
        value = _winner(counts)
        if value is not None:
            article = _Settling(article, pages, what, value, counts).settled()
    return article


def contradictions(article: Article, pages: Sequence[Page] = ()) -> tuple[str, ...]:
    """Sentences that give a count of one thing which is neither the latest nor, where nobody knows that, the first that the
    article gives, with no time between."""
    found = []
    counts = list(_counts(article, pages))
    for what in dict.fromkeys(one.quantity.predicate for one in counts):
        told = [one for one in counts if one.quantity.predicate == what]
        open_ones = [one for one in told if not _stays(one) and not _is_followed(one, told)]
        value = _winner(told) or next((one.quantity.value for one in open_ones), "")
        found += [one.text for one in open_ones if one.quantity.value != value]
    return tuple(dict.fromkeys(found))


def in_order_of_use(article: Article) -> Article:
    """The article with its sources numbered in order of first use, and none that nothing cites."""
    cites = [c for section in article.all_sections for sentence in section.sentences for c in sentence.cites]
    cites += [c for fact in article.infobox for c in fact.cites]
    by_id = {source.id: source for source in article.sources}
    return replace(article, sources=tuple(by_id[cite] for cite in dict.fromkeys(cites) if cite in by_id))


def with_report_day(text: str, day: str) -> str:
    """The sentence, marked as what was reported on a day (YYYY-MM-DD): its words stay."""
    on = date.fromisoformat(day)
    end = _END.search(text)
    at = end.start() if end else len(text)
    return f"{text[:at]} (as reported on {on.day} {calendar.month_name[on.month]} {on.year}){text[at:] or '.'}"


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


def _is_followed(count: _Count, counts: Sequence[_Count]) -> bool:
    """Whether the next sentence says that the count changed since: "rose to eight"."""
    return any(
        other.quantity.move in CHANGED
        and other.quantity.predicate == count.quantity.predicate
        and (other.section, other.at) == (count.section, count.at + 1)
        for other in counts
    )


def _counts(article: Article, pages: Sequence[Page]) -> Iterator[_Count]:
    """The article's counts of its own event as a whole."""
    event = event_of(article, pages)
    by_id = {source.id: source for source in article.sources}
    for n, section in enumerate(article.all_sections):
        for at, sentence in enumerate(section.sentences):
            tolls = [q for q in whole_tolls(sentence.text) if q.bound not in ("about", "over", "under") and q.number > 1]
            if not tolls or not event.is_counted(sentence.text, _before(sentence, article, pages)):
                continue
            day = max(((by_id[cite].published or "")[:10] for cite in sentence.cites if cite in by_id), default="")
            for quantity in tolls:
                if quantity.move or not _PHASE.search(sentence.text):
                    yield _Count(quantity, sentence, n, at, day)


def event_of(article: Article, pages: Sequence[Page]) -> OneEvent:
    """What is known of an article's event; without pages, from its lead's first sentence."""
    if pages:
        return OneEvent(article.title, pages)
    lead = article.lead.sentences[0].text if article.lead.sentences else ""
    days = [source.published for source in article.sources if source.published]
    page = Page("", article.title, lead, "url", published=days[0] if days else None)
    return OneEvent(article.title, (page, *(replace(page, text="", published=day) for day in days)))


def _before(sentence: Sentence, article: Article, pages: Sequence[Page]) -> str:
    """What the paragraph of its page says ahead of a cited sentence; without pages, what its passage says."""
    passages = {source.id: source.passage for source in article.sources}
    for cite in sentence.cites:
        passage = passages.get(cite)
        if passage is None:
            continue
        is_known = 0 <= passage.page < len(pages)
        text = pages[passage.page].text[: passage.end] if is_known else passage.text
        words = (grounds(sentence.text, passage.text) or ("",))[0].split()
        found = re.search(r"\s+".join(map(re.escape, words)), text[passage.start if is_known else 0 :]) if words else None
        if found is not None:
            ahead = text[: (passage.start if is_known else 0) + found.start()]
            return ahead[ahead.rfind("\n", 0, len(ahead.rstrip())) + 1 :]
    return ""


class _Settling:
    """One kind of count of an article, of which `value` is the latest."""

    def __init__(self, article: Article, pages: Sequence[Page], what: str, value: str, counts: Sequence[_Count]) -> None:
        self._article = article
        self._what = what
        self._value = value
        self._counts = counts
        self._far = FAR_MISSING if what == "missing" else FAR
        self._event = event_of(article, pages)
        giving = [one for one in counts if one.quantity.value == value]
        self._giving = next((one for one in giving if one.quantity.move), giving[0])
        self._stale = [one for one in counts if self._is_stale(one)]
        self._repairs: list[Repair] = []

    def _is_stale(self, one: _Count) -> bool:
        number = self._giving.quantity.number
        return (
            one.quantity.value != self._value
            and not _stays(one)
            and not _is_followed(one, self._counts)
            and number / self._far < one.quantity.number < number * self._far
            and self._event.is_one(one.text, self._giving.text)
        )

    def settled(self) -> Article:
        parts = [[list(paragraph) for paragraph in section.paragraphs] for section in self._article.all_sections]
        later, is_placed = self._giving.sentence, False
        fates: dict[Sentence, tuple[Sentence, ...]] = {}
        for one in self._stale:
            if one.sentence in fates:
                continue
            new, why = self._in_its_place(one, is_placed)
            is_placed = is_placed or later in new
            fates[one.sentence] = new
            kind: RepairKind = "sentence_replaced" if new else "sentence_removed"
            if new != (one.sentence, later):
                heading = self._article.all_sections[one.section].heading.text
                self._repairs.append(Repair(kind, heading, one.text, f"a later count is {self._value}: {why}"))
        sections = []
        for section, paragraphs in zip(self._article.all_sections, parts, strict=True):
            kept: list[Paragraph] = []
            for paragraph in paragraphs:
                told: list[Sentence] = []
                for sentence in paragraph:
                    if sentence in fates:
                        told += fates[sentence]
                    elif sentence != later or not is_placed:
                        told.append(sentence)
                if told:
                    kept.append(tuple(told))
            sections.append(replace(section, paragraphs=tuple(kept)))
        return self._whole(sections)

    def _in_its_place(self, one: _Count, is_placed: bool) -> tuple[tuple[Sentence, ...], str]:
        """What stands in an outdated sentence's place, and why. The later sentence is moved once, to the first that it follows,
        and never out of the lead."""
        later = self._giving
        may_move = not is_placed and (one.section == later.section or one.section == 0)
        if self._is_covered(one):
            return ((later.sentence,), f"“{later.text}” says what it says") if may_move else ((), "it is told elsewhere")
        if later.quantity.move in CHANGED and may_move:
            return (one.sentence, later.sentence), "the later one stands behind it"
        if one.day and later.day and one.day < later.day:
            marked = replace(one.sentence, text=with_report_day(one.text, one.day))
            return (marked,), f"it has the day of its report, {one.day}"
        return ((later.sentence,), f"“{later.text}” stands in its place") if may_move else ((), "it is told elsewhere")

    def _is_covered(self, one: _Count) -> bool:
        """Whether the later sentence says all that the outdated one says, its counts apart."""
        counted = {q.value for q in whole_tolls(one.text)}
        more = (own_words(one.text) | names(one.text) | numbers(with_digits(one.text))) - counted
        return not more - own_words(self._giving.text) - names(self._giving.text) - numbers(with_digits(self._giving.text))

    def _whole(self, sections: list[Section]) -> Article:
        lead, *body = sections
        infobox = tuple(self._row(fact) for fact in self._article.infobox)
        gone = [section for section in body if not section.sentences]
        self._repairs += [Repair("section_removed", one.heading.text, "", "nothing is left of it") for one in gone]
        body = [section for section in body if section.sentences]
        if not lead.sentences and body:
            lead = replace(lead, heading=LEAD_HEADING, paragraphs=(body[0].sentences[:1],))
        if not lead.sentences:
            return self._article
        made = replace(self._article, lead=lead, sections=tuple(body), infobox=infobox)
        if made == self._article:
            return self._article
        return replace(made, repairs=(*self._article.repairs, *self._repairs))

    def _row(self, fact: Fact) -> Fact:
        """A row of the infobox that gives the outdated count gets the later one, and its source."""
        found = re.fullmatch(r"(?:at least )?(\d[\d,]*)", with_digits(fact.value).strip())
        old = "" if found is None else found[1].replace(",", "")
        if toll_of(fact.label) != self._what or old not in {one.quantity.value for one in self._stale}:
            return fact
        value = f"{int(self._value):,}" if self._value.isdigit() else self._giving.quantity.shown
        self._repairs.append(Repair("sentence_replaced", "", f"{fact.label}: {fact.value}", f"a later count is {value}"))
        return Fact(fact.label, value, self._giving.sentence.cites)

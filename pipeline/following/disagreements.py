"""What an article's pages say differently about a figure that is in it.

Told is only what befell people (`Quantity.is_toll`): how many were killed, injured, missing. Other figures of pages about one
subject (votes of two rounds, turnouts, sums) are mostly of different things even where their words agree.

Only pages about the event count, by their title and opening, and no paragraph that reports another year before it counts.
Two counts are of one thing where `same_thing` says so, and names that report the event and not a part of it go without
saying: "in a collision near San Giulio" says where it was, "14 people were injured in San Giulio" may be one of several places.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import inf

from data.types import Article, Fact, Page, Strict
from pipeline.choosing.facts import with_digits
from pipeline.choosing.quantities import BARE_TOLLS, Quantity, quantities, same_thing, toll_of
from pipeline.choosing.tolls import is_whole_toll
from pipeline.following.changes import Claim, Comparison, Side, can_be_read, side_of
from pipeline.retrieval import terms

ABOUT = 0.5
"""Share of the words of the article's title that a page's title and first `OPENING` characters must have."""
OPENING = 1_000
KNOWN = 0.5
"""Share of the pages, at least two, that a name must be in to be one of the event's own."""
LOOSE = 0.1
"""How far off "about 200" may be."""
ROUNDED = 0.05
"""The same for a number from `ROUND_FROM` on that ends in a zero: "10,000"."""
ROUND_FROM = 100
MOST_SIDES = 5
MOST_TIMES = 10.0
"""More values than these, or values this far apart, are of different things: of one day and of a whole war."""
_LEAST = re.compile(r"(?:at least|no (?:fewer|less) than)\b", re.I)
_MOST = re.compile(r"(?:as many as|up to)\b", re.I)
_CAUSE = re.compile(r"\b(?:when|as)\b|\b(?:in|by|after|during|from) (?:an?|the|this) (?=[a-z])")
_SUBJECT = re.compile(r"(?:An?|The) [a-z]")
_OPENING = re.compile(r"(?P<place>(?:In|At|On|Near|Off|Across|Around) (?:the )?)?(?P<name>[A-Z]\w{2,})\b(?! [A-Z])")
_SAID_ON = re.compile(r"\b(?:said|says|told|reported|announced|confirmed|wrote|added)\b[^,;.]{0,40}")
_WEEKDAY = re.compile("|".join(calendar.day_name))
_POINTING = re.compile(r"(?:This|That|These|Those|It|They)\b")
_MEANWHILE = re.compile(r"\b(?:years?|decades?|centur(?:y|ies)) (?:later|earlier|before|ago)\b")
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d{2}\b")


@dataclass(frozen=True, slots=True)
class Disagreement(Strict):
    """Several values of one thing, in the order of the days on which they were first published, undated ones last.

    `stated` are those of the sides' values that the article gives. `develops`: later reports give more each time (or, of
    missing people, fewer), so that each may have been right on its day.
    """

    what: str
    sides: tuple[Side, ...]
    stated: tuple[str, ...]
    develops: bool

    def in_words(self, shown: Callable[[str], str] = str) -> str:
        """On one line; `shown` makes words of pages harmless where it is printed."""
        joint = " -> " if self.develops else ", "
        return f"{shown(self.what)}: {joint.join(shown(f'{side.value} ({side.told})') for side in self.sides)}"


@dataclass(frozen=True, slots=True)
class Disagreements(Strict):
    """Those of one article, in its reading order."""

    found: tuple[Disagreement, ...] = ()


def disagreements(article: Article, pages: Sequence[Page]) -> Disagreements:
    """`pages` are those of the article's event, kept and dropped, in the order that passages number them."""
    event = _Event(article, pages)
    groups: list[tuple[set[str], dict[int, Claim]]] = []
    for stated in dict.fromkeys(event.stated()):
        claims = event.about(stated)
        same = next((group for group in groups if group[1].keys() & claims.keys()), None)
        if same is None:
            groups.append(({stated.value}, claims))
        else:
            same[0].add(stated.value)
            same[1].update(claims)
    found = (_told(values, list(claims.values())) for values, claims in groups)
    return Disagreements(tuple(told for told in found if told is not None))


@dataclass(frozen=True, slots=True)
class _Count:
    """A count of the article or of a page, for being compared: `quantity` without how exact it is and without names that only
    report the event, the days of the week on which it happened, and the year of its source ("" if unknown)."""

    quantity: Quantity
    weekdays: frozenset[str]
    year: str

    @property
    def value(self) -> str:
        return self.quantity.value


class _Event:
    """What the pages count, and what of it goes without saying."""

    def __init__(self, article: Article, pages: Sequence[Page]) -> None:
        self._article = article
        self._pages = pages
        self._known: dict[str, bool] = {}
        read = "\n".join(page.text for page in pages if can_be_read(page))
        words = set(re.findall(r"\b[a-z]\w+", read))
        self._names = {name for name in re.findall(r"[a-z,] ([A-Z]\w{2,})", read) if name.lower() not in words}
        self._texts = [page.text.lower() for page in pages if can_be_read(page)]
        self._context = frozenset(re.findall(r"\w+", article.title.lower()))
        years = _YEAR.findall(article.title)
        self._year = years[0] if len(years) == 1 else ""
        self._published = {source.id: (source.published or "")[:4] for source in article.sources}
        lead = " ".join(sentence.text for sentence in article.lead.sentences)
        self._years = {*years, *_YEAR.findall(lead), *self._published.values()} - {""}
        about = {i for i, page in enumerate(pages) if self._is_about(page)}
        claims = Comparison(article.title, pages, ()).claims
        claims = [c for c in claims if c.page in about and is_whole_toll(c.quantity, c.quote.text) and self._is_of_event(c)]
        self._claims = [(claim, self._count(claim.quantity, claim.quote.text, claim.year or self._year)) for claim in claims]

    def _is_about(self, page: Page) -> bool:
        wanted = {term for term in terms(self._article.title) if not term.isdigit()}
        return len(wanted & {*terms(page.title), *terms(page.text[:OPENING])}) >= ABOUT * len(wanted)

    def _is_of_event(self, claim: Claim) -> bool:
        """Whether its paragraph has not come to another time before; a sentence that points back is of the paragraph before."""
        before = self._pages[claim.page].text[max(claim.span.start - OPENING, 0) : claim.span.start]
        paragraph = before[before.rfind("\n", 0, len(before.rstrip()) if _POINTING.match(claim.quote.text) else None) + 1 :]
        told = set(_YEAR.findall(paragraph))
        return not _MEANWHILE.search(paragraph) and (not told or bool(told & (self._years | {claim.year})))

    def stated(self) -> Iterator[_Count]:
        """The article's counts, in reading order, the infobox first."""
        for fact in self._article.infobox:
            if (quantity := _of_fact(fact)) is not None:
                yield self._count(quantity, "", self._year_of(fact.cites))
        for section in self._article.all_sections:
            for sentence in section.sentences:
                year = self._year_of(sentence.cites)
                found = quantities(sentence.text)
                yield from (self._count(q, sentence.text, year) for q in found if is_whole_toll(q, sentence.text))

    def _year_of(self, cites: Sequence[str]) -> str:
        years = {self._published.get(cite, "") for cite in cites} - {""}
        return years.pop() if len(years) == 1 else self._year

    def about(self, stated: _Count) -> dict[int, Claim]:
        """What the pages say of the same, by its number among their claims, without pages that contradict themselves: they mean
        two things."""
        found = {i: claim for i, (claim, count) in enumerate(self._claims) if self._is_same(stated, count)}
        by_page: dict[int, list[Claim]] = {}
        for claim in found.values():
            by_page.setdefault(claim.page, []).append(claim)
        torn = {page for page, claims in by_page.items() if _differ(claims)}
        return {i: claim for i, claim in found.items() if claim.page not in torn}

    def _is_same(self, a: _Count, b: _Count) -> bool:
        if any(one.quantity.years and not other.year for one, other in ((a, b), (b, a))):
            return False  # one is of a year, the other of nobody knows when
        if a.weekdays and b.weekdays and not a.weekdays & b.weekdays:
            return False
        return same_thing(a.quantity, b.quantity, self._context, (a.year, b.year))

    def _count(self, quantity: Quantity, text: str, year: str) -> _Count:
        free = _free(quantity, text)
        names = {name for name in quantity.names if not (name in free and self._is_known(name))}
        essence = replace(quantity, bound="", names=frozenset(names | self._opening_name(text)))
        return _Count(essence, frozenset(_WEEKDAY.findall(_SAID_ON.sub("", text))), year)

    def _opening_name(self, text: str) -> set[str]:
        """The single name that a sentence opens with, which `facts.names` leaves out: "In Omegna, 19 people", "Idai killed"."""
        match = _OPENING.match(text)
        if match is None or _SAID_ON.search(text):
            return set()
        word = match["name"]
        is_name = match["place"] or word in self._names
        return {word.lower()} if is_name and word not in (*calendar.month_name, *calendar.day_name) else set()

    def _is_known(self, name: str) -> bool:
        if name not in self._known:
            n = sum(name in text for text in self._texts)
            self._known[name] = n >= 2 and n >= KNOWN * len(self._texts)
        return self._known[name]


def _free(quantity: Quantity, text: str) -> set[str]:
    """Names of a sentence that are in what caused the count, or in a subject that is the incident ("A crash at X left")."""
    at = text.find(quantity.shown)
    if at < 0:
        return set()
    after = at + len(quantity.shown)
    cause = _CAUSE.search(text, after)
    told = text[cause.start() :] if cause else ""
    if _SUBJECT.match(text):
        told += f" {text[:at]}"
    told = re.sub(r"[^\w\s]", "", told).lower()
    return {name for name in quantity.names if name in told}


def _of_fact(fact: Fact) -> Quantity | None:
    """A row such as "Injured: 41": what the label says of people."""
    toll = toll_of(fact.label)
    words = with_digits(fact.value).split()
    if toll not in BARE_TOLLS or not words:
        return None
    return next((q for q in quantities(f"{fact.value.split('(')[0].strip()} people were {toll}.") if q.predicate == toll), None)


# --- values -----------------------------------------------------------------------------------------------------------


def span_of(quantity: Quantity) -> tuple[float, float]:
    """The least and the greatest number that it may mean."""
    number = quantity.number
    if quantity.bound == "over" or _LEAST.match(quantity.shown):
        return number, inf
    if quantity.bound == "under" or _MOST.match(quantity.shown):
        return 0.0, number
    loose = LOOSE if quantity.bound == "about" else ROUNDED if number >= ROUND_FROM and number % 10 == 0 else 0.0
    return number * (1 - loose), number * (1 + loose)


def agree(a: Quantity, b: Quantity) -> bool:
    (least, greatest), (low, high) = span_of(a), span_of(b)
    return least <= high and low <= greatest


def _differ(claims: Sequence[Claim]) -> bool:
    distinct = {span_of(claim.quantity): claim.quantity for claim in claims}
    return any(not agree(a, b) for a, b in combinations(distinct.values(), 2))


def _told(stated: set[str], claims: Sequence[Claim]) -> Disagreement | None:
    """`stated` are the values of the article."""
    by_value: dict[str, list[Claim]] = {}
    for claim in claims:
        by_value.setdefault(claim.quantity.value, []).append(claim)
    given = stated & by_value.keys()
    if not given or not 2 <= len(by_value) <= MOST_SIDES:
        return None
    numbers = [claim.quantity.number for claim in claims]
    if max(numbers) > MOST_TIMES * min(numbers):
        return None
    told = [(side_of(group), group[0].quantity) for group in by_value.values()]
    told.sort(key=lambda pair: pair[0].first or "9999")
    develops = _develops(told)
    if not develops and not _differ(claims):
        return None
    return Disagreement(
        what=claims[0].quantity.what,
        sides=tuple(side for side, _ in told),
        stated=tuple(side.value for side, quantity in told if quantity.value in given),
        develops=develops,
    )


def _develops(told: Sequence[tuple[Side, Quantity]]) -> bool:
    """Each value is of a later day than the one before, and greater; of missing people all may be smaller."""
    if not all(side.first for side, _ in told) or any(a.first >= b.first for (a, _), (b, _) in pairwise(told)):
        return False
    numbers = [quantity.number for _, quantity in told]
    falls = told[0][1].predicate == "missing" and all(a > b for a, b in pairwise(numbers))
    return falls or all(a < b for a, b in pairwise(numbers))

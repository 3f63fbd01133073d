"""What differs between the pages that an article was written from and the pages of today: pure functions over stored text.

Cited sentences are looked for in the current version of their page; figures are compared with those of all current pages, and
those pages with each other. Sources are counted in clusters (`duplicates.clusters`): copies of one report are one source.
Which text is newer is decided by days of publication, never by the order in which pages were found.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from typing import Literal

from data.pages.duplicates import clusters
from data.passages import sentence_spans
from data.sentences import Span
from data.types import Article, Page, Sentence, Strict
from pipeline.choosing.candidates import is_fragment
from pipeline.choosing.facts import names, with_digits
from pipeline.choosing.one_event import OneEvent
from pipeline.choosing.quantities import BARE_TOLLS, Quantity, quantities, same_thing
from pipeline.choosing.tolls import Told, is_whole_toll, latest
from pipeline.retrieval import terms

PageState = Literal["unchanged", "changed", "gone", "unread"]
ChangeKind = Literal["gone", "lost", "reworded", "figures", "outdated"]

ALIGNED = 0.5
"""Least share of words (difflib's ratio, figures aside) from which a new sentence is the new form of an old one."""
SHARED_TERMS = 2
COVERED = 0.8
"""Share of a sentence's words that its grounds hold between them."""
MAX_GROUNDS = 4
MAX_QUOTES = 3
OPENING = 1_000
"""Characters of a page in which it says what it reports."""
LONGEST = 70


@dataclass(frozen=True, slots=True)
class Revisit(Strict):
    """What became of a page: `current` is the index of today's version, its own when it is unchanged, None when it is gone.

    A page that could not be read today (`unread`: a timeout, a login) is not gone: its stored text is used, as its own version.
    """

    page: int
    state: PageState
    current: int | None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Quote(Strict):
    """A page's sentence. `day` is when it was published (YYYY-MM-DD, "" if unknown); of a page that was
    edited without a new date, when it was fetched."""

    text: str
    page: int
    url: str
    day: str


@dataclass(frozen=True, slots=True)
class Figure(Strict):
    """One figure that has another value now. Sources are independent ones that give the value today; an old value that only
    the former version of a page gave has none."""

    what: str
    old: str
    new: str
    old_date: str
    new_date: str
    n_sources_old: int
    n_sources_new: int
    old_quotes: tuple[Quote, ...]
    new_quotes: tuple[Quote, ...]


@dataclass(frozen=True, slots=True)
class Change(Strict):
    """Something that a cited sentence rests on and that is no longer so.

    `section` counts from 0, the lead. `old` is the cited page's sentence, `new` what is instead, at `start` to `end` of
    page `page` (-1 and "" when nothing does). `gone`: the page is. `lost`: its sentence is. `reworded` and `figures`: the page
    was edited. `outdated`: the page says the same, and newer ones give another figure.
    """

    kind: ChangeKind
    section: int
    heading: str
    sentence: str
    cite: str
    old: str
    new: str = ""
    page: int = -1
    start: int = 0
    end: int = 0
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True, slots=True)
class Side(Strict):
    """One of several values; `first` and `last` are the first and last day on which a source published it, "" if unknown."""

    value: str
    first: str
    last: str
    n_sources: int
    quotes: tuple[Quote, ...]

    @property
    def told(self) -> str:
        """When and by how many it was published, in words."""
        days = self.last if self.first == self.last else f"{self.first} to {self.last}"
        return f"{days or 'undated'}, {sources_told(self.n_sources)}"


def sources_told(n: int) -> str:
    return f"{n} independent source{'' if n == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Contradiction(Strict):
    """Independent current sources give different values of one thing. The newest side comes first, undated ones last."""

    what: str
    sides: tuple[Side, ...]

    @property
    def values(self) -> tuple[str, frozenset[str]]:
        """By what it is known again."""
        return self.what, frozenset(side.value for side in self.sides)


@dataclass(frozen=True, slots=True)
class Claim:
    """A quantity where a current page gives it; `cluster` is its page's."""

    quantity: Quantity
    page: int
    span: Span
    quote: Quote
    cluster: int

    @property
    def year(self) -> str:
        return self.quote.day[:4]


class Comparison:
    """Today's pages, read for what they count. `pages` holds old and current versions; those of `revisits` are the old ones."""

    def __init__(self, title: str, pages: Sequence[Page], revisits: Sequence[Revisit]) -> None:
        self.pages = pages
        self.revisits = {revisit.page: revisit for revisit in revisits}
        self._context = frozenset(re.findall(r"\w+", title.lower()))
        self._edited = {
            r.current
            for r in revisits
            if r.current not in (None, r.page) and pages[r.page].published == pages[r.current].published
        }
        known = {r.page for r in revisits if r.state != "changed"}
        self._clusters = clusters(pages)
        self._event = OneEvent(title, pages)
        self.claims = [claim for i, page in enumerate(pages) if can_be_read(page) for claim in self._claims(i)]
        self._fresh = [claim for claim in self.claims if claim.page not in known]

    def _claims(self, index: int) -> Iterator[Claim]:
        cluster = self._clusters[index]
        text = self.pages[index].text
        for span in sentence_spans(text, longest=LONGEST):
            sentence = " ".join(text[span.start : span.end].split())
            for quantity in () if is_fragment(sentence) else quantities(sentence):  # a headline may be another story's
                yield Claim(quantity, index, span, self.quote(index, sentence), index if cluster is None else cluster)

    def quote(self, index: int, sentence: str) -> Quote:
        page = self.pages[index]
        return Quote(sentence, index, page.url, self._day(index))

    def _day(self, index: int) -> str:
        page = self.pages[index]
        return page.retrieved_at[:10] if index in self._edited and page.retrieved_at else (page.published or "")[:10]

    def same(self, a: Quantity, year: str, claim: Claim) -> bool:
        moves = (a.move or claim.quantity.move) and a.is_toll and claim.quantity.is_toll
        if moves and a.predicate == claim.quantity.predicate:
            # "The death toll rose to eight" says neither where, nor whether the former count was one of at least so many.
            a, b = replace(a, bound=""), replace(claim.quantity, bound="")
            return is_whole_toll(b, claim.quote.text) and same_thing(a, b, self._context | self._places, (year, claim.year))
        return same_thing(a, claim.quantity, self._context, (year, claim.year))

    @cached_property
    def _places(self) -> frozenset[str]:
        """Words of names in the openings of at least half of the pages: they report the event."""
        openings = [names(page.text[:OPENING]) for page in self.pages if can_be_read(page)]
        n_with = Counter(word for found in openings for word in {word for name in found for word in name.split()})
        return frozenset(word for word, n in n_with.items() if 2 * n >= len(openings))

    # --- cited sentences ----------------------------------------------------------------------------------------------

    def changes(self, article: Article) -> tuple[Change, ...]:
        """What the article's sentences no longer rest on, in reading order."""
        return tuple(
            change
            for n, section in enumerate(article.all_sections)
            for sentence in section.sentences
            for change in self._of_sentence(n, section.heading.text, sentence, article)
        )

    def _of_sentence(self, section: int, heading: str, sentence: Sentence, article: Article) -> Iterator[Change]:
        passages = {source.id: source.passage for source in article.sources}
        for cite in sentence.cites:
            revisit = self.revisits.get(passages[cite].page) if cite in passages else None
            if revisit is None:
                continue  # it was gone before, or is of no page that was asked for
            for old in grounds(sentence.text, passages[cite].text):
                yield from self._of_ground(Change("gone", section, heading, sentence.text, cite, old), revisit)

    def _of_ground(self, gone: Change, revisit: Revisit) -> Iterator[Change]:
        """What became of one sentence of a cited page."""
        if revisit.current is None:
            yield gone
            return
        old, text = gone.old, self.pages[revisit.current].text
        if stands(old, text):
            yield from self._outdated(gone, revisit.current)
            return
        span = counterpart(old, text, self.pages[revisit.page].text)
        if span is None:
            yield replace(gone, kind="lost")
            return
        new = " ".join(text[span.start : span.end].split())
        figures = tuple(self._figure(old, new, *pair, revisit) for pair in replaced_figures(old, new))
        kind: ChangeKind = "figures" if figures else "reworded"
        yield replace(gone, kind=kind, new=new, page=revisit.current, start=span.start, end=span.end, figures=figures)

    def _figure(self, old: str, new: str, before: str, now: str, revisit: Revisit) -> Figure:
        assert revisit.current is not None
        page = self.pages[revisit.page]
        day = (page.published or page.retrieved_at)[:10]
        own = self.quote(revisit.current, new)
        then = next((q for q in quantities(old) if q.value in _values(before)), None)
        today = next((q for q in quantities(new) if then is not None and same_key(q, then)), None)
        claims = self._giving(then, day[:4]) if then is not None and today is not None else []
        olds = [c for c in claims if then is not None and c.quantity.value == then.value]
        news = [c for c in claims if today is not None and c.quantity.value == today.value]
        cluster = self._clusters[revisit.current]
        return Figure(
            what=then.what if then is not None else "",
            old=then.shown if then is not None else before,
            new=today.shown if today is not None else now,
            old_date=day,
            new_date=own.day,
            n_sources_old=len({c.cluster for c in olds}),
            n_sources_new=len({c.cluster for c in news} | {revisit.current if cluster is None else cluster}),
            old_quotes=_distinct((Quote(old, revisit.page, page.url, day), *_quotes(olds))),
            new_quotes=_distinct((own, *_quotes(news))),
        )

    def _giving(self, quantity: Quantity, year: str) -> list[Claim]:
        """Current claims about one thing; of a page that gives several values, the one that it says is the latest, if any."""
        found = [claim for claim in self.claims if self.same(quantity, year, claim) and self._is_own(claim)]
        values: dict[int, set[str]] = {}
        for claim in found:
            values.setdefault(claim.page, set()).add(claim.quantity.value)
        now = {page: self._latest_of(page, [claim for claim in found if claim.page == page]) for page in values}
        return [claim for claim in found if claim.quantity.value == now[claim.page]]

    def _is_own(self, claim: Claim) -> bool:
        """Whether a toll is of the article's event; other figures say it by their names alone."""
        toll = claim.quantity.is_toll and claim.quantity.predicate in BARE_TOLLS
        return not toll or self._event.counted_at(claim.quote.text, claim.page, claim.span.start)

    def _latest_of(self, page: int, claims: Sequence[Claim]) -> str | None:
        """The value of a thing that one page gives: its only one, else the one that it says is the latest."""
        told = [Told(claim.quantity, "") for claim in claims]
        if len({one.quantity.value for one in told}) == 1:
            return told[0].quantity.value
        moved = [one for one in told if one.quantity.is_toll and one.quantity.move]
        return None if not moved or (page, moved[0].quantity.predicate) in self._in_parts else latest(moved)

    @cached_property
    def _in_parts(self) -> frozenset[tuple[int, str]]:
        """Pages, with what befell people, that give several former counts of it: two in one town, five in another."""
        found: dict[tuple[int, str], set[str]] = {}
        for claim in self.claims:
            if not claim.quantity.move and is_whole_toll(claim.quantity, claim.quote.text) and self._is_own(claim):
                found.setdefault((claim.page, claim.quantity.predicate), set()).add(claim.quantity.value)
        return frozenset(key for key, values in found.items() if len(values) > 1)

    def _outdated(self, gone: Change, current: int) -> Iterator[Change]:
        """Newer figures, one change for each sentence that gives some."""
        own, found = self.quote(current, gone.old), dict[tuple[int, Span], tuple[Claim, list[Figure]]]()
        for quantity in quantities(gone.old) if own.day else ():
            claims = self._giving(quantity, own.day[:4])
            if quantity.is_toll:
                at = max(self.pages[current].text.find(gone.old), 0)
                if quantity.predicate in BARE_TOLLS and not self._event.counted_at(gone.old, current, at):
                    continue  # of another event, or a part of this one
                claims = [claim for claim in claims if self._event.is_one(gone.old, claim.quote.text)]
            if quantity.names and (current, quantity.predicate) in self._in_parts:
                claims = [claim for claim in claims if not claim.quantity.move]  # a total is no later count of a part
            best = self._newest(quantity, own.day, claims, current)
            if best is not None:
                figure = _newer(quantity, best, own, claims)
                found.setdefault((best.page, best.span), (best, []))[1].append(figure)
        for (page, (start, end)), (best, figures) in found.items():
            new = best.quote.text
            yield replace(gone, kind="outdated", new=new, page=page, start=start, end=end, figures=tuple(figures))

    def _newest(self, quantity: Quantity, day: str, claims: Sequence[Claim], page: int) -> Claim | None:
        """Another value, on a page that is new or was edited, when all sources of its day, and none is later, give it. The page
        itself may say that another count is the latest."""
        later = [claim for claim in claims if claim.quote.day > day or (claim.page == page and claim.quantity.move)]
        newest = max((claim.quote.day for claim in later), default="")
        latest = [claim for claim in later if claim.quote.day == newest]
        values = {claim.quantity.value for claim in latest}
        if len(values) != 1 or quantity.value in values:
            return None
        return next((claim for claim in latest if claim in self._fresh), None)

    # --- current pages with each other --------------------------------------------------------------------------------

    def contradictions(self) -> tuple[Contradiction, ...]:
        """Values of one thing that independent current sources disagree on, in the order of the pages."""
        groups: list[list[Claim]] = []
        for claim in self.claims:
            group = next((g for g in groups if self.same(g[0].quantity, g[0].year, claim)), None)
            groups.append([claim]) if group is None else group.append(claim)
        return tuple(found for group in groups if (found := _contradiction(group)) is not None)


def _newer(quantity: Quantity, best: Claim, own: Quote, claims: Sequence[Claim]) -> Figure:
    olds = [claim for claim in claims if claim.quantity.value == quantity.value]
    news = [claim for claim in claims if claim.quantity.value == best.quantity.value]
    return Figure(
        what=quantity.what,
        old=quantity.shown,
        new=best.quantity.shown,
        old_date=own.day,
        new_date=best.quote.day,
        n_sources_old=len({claim.cluster for claim in olds}),
        n_sources_new=len({claim.cluster for claim in news}),
        old_quotes=_distinct((own, *_quotes(olds))),
        new_quotes=_distinct((best.quote, *_quotes(news))),
    )


def can_be_read(page: Page) -> bool:
    """Text without capitals and full stops has neither names nor sentences; one that addresses a model is no witness."""
    return page.usable and not {"bare", "suspicious"} & set(page.flags)


def _contradiction(group: Sequence[Claim]) -> Contradiction | None:
    values_of: dict[int, set[str]] = {}
    for claim in group:
        values_of.setdefault(claim.cluster, set()).add(claim.quantity.value)
    sides: dict[str, list[Claim]] = {}
    for claim in group:
        if len(values_of[claim.cluster]) == 1:  # a source that gives two values means two things
            sides.setdefault(claim.quantity.value, []).append(claim)
    if len(sides) < 2:
        return None
    told = [side_of(claims) for claims in sides.values()]
    told.sort(key=lambda side: side.last, reverse=True)
    return Contradiction(group[0].quantity.what, tuple(told))


def side_of(claims: Sequence[Claim]) -> Side:
    days = sorted(claim.quote.day for claim in claims if claim.quote.day)
    return Side(
        value=claims[0].quantity.shown,
        first=days[0] if days else "",
        last=days[-1] if days else "",
        n_sources=len({claim.cluster for claim in claims}),
        quotes=_distinct(_quotes(claims)),
    )


def _quotes(claims: Sequence[Claim]) -> tuple[Quote, ...]:
    """The first of each source."""
    first: dict[int, Quote] = {}
    for claim in claims:
        first.setdefault(claim.cluster, claim.quote)
    return tuple(first.values())


def _distinct(quotes: Sequence[Quote]) -> tuple[Quote, ...]:
    return tuple(dict.fromkeys(quotes))[:MAX_QUOTES]


def _values(shown: str) -> list[str]:
    return with_digits(shown).replace(",", "").strip("$€£¥").replace("%", " ").split()


def same_key(a: Quantity, b: Quantity) -> bool:
    return (a.unit, a.predicate) == (b.unit, b.predicate)


# --- two texts --------------------------------------------------------------------------------------------------------


def grounds(sentence: str, passage: str) -> tuple[str, ...]:
    """The passage's sentences that an article's sentence rests on: as few as hold most of its words between them."""
    left = set(terms(sentence))
    needed = (1 - COVERED) * len(left)
    pieces = [" ".join(passage[s.start : s.end].split()) for s in sentence_spans(passage, longest=LONGEST)]
    chosen: list[int] = []
    while left and len(left) > needed and len(chosen) < MAX_GROUNDS:
        best = max(range(len(pieces)), key=lambda i: (len(left & set(terms(pieces[i]))), -i), default=None)
        gain = left & set(terms(pieces[best])) if best is not None else set()
        if best is None or (chosen and len(gain) < SHARED_TERMS) or not gain:
            break
        chosen.append(best)
        left -= gain
    return tuple(pieces[i] for i in sorted(chosen))


def stands(sentence: str, text: str) -> bool:
    """Whether a text holds the sentence, white space apart."""
    return " ".join(sentence.split()) in " ".join(text.split())


def counterpart(old: str, text: str, before: str) -> Span | None:
    """The sentence of an edited page that took the place of `old`, of those that the page had not had `before`."""
    wanted, known = _masked(old), " ".join(before.split())
    best: tuple[float, Span] | None = None
    for span in sentence_spans(text, longest=LONGEST):
        new = " ".join(text[span.start : span.end].split())
        if new in known or len(set(terms(old)) & set(terms(new))) < SHARED_TERMS or not _may_replace(old, new):
            continue
        ratio = SequenceMatcher(None, wanted, _masked(new), autojunk=False).ratio()
        if ratio >= ALIGNED and (best is None or ratio > best[0]):
            best = ratio, span
    return best[1] if best else None


def _may_replace(old: str, new: str) -> bool:
    """Two sentences about different names, or that count different things, are not two forms of one."""
    first, second = names(old), names(new)
    if first and second and not first & second:
        return False
    counted, counted_now = quantities(old), quantities(new)
    return not (counted and counted_now) or any(same_key(a, b) for a in counted for b in counted_now)


_MONTH = "|".join(name for name in (*calendar.month_name, *calendar.month_abbr) if name)
_WEEKDAY = "|".join(name for name in calendar.day_name)
_PIECE = re.compile(
    rf"(?P<figure>\d{{1,2}} (?:{_MONTH})\b(?:,? \d{{4}})?|(?:{_MONTH})\.? \d{{1,2}}\b(?:, \d{{4}})?|(?:{_WEEKDAY})\b|"
    r"[$€£¥]?\d[\d,]*(?:\.\d+)?(?:[-–:/]\d+)*%?(?: (?:thousand|million|billion|trillion|percent|per cent))?)|[^\W\d][\w'’-]*"
)


@lru_cache(maxsize=2_000)
def _pieces(sentence: str) -> tuple[tuple[str, str], ...]:
    """Words and figures, each with what it is compared by; a date is one figure."""
    found = []
    for match in _PIECE.finditer(sentence):
        said = with_digits(match.group()).rstrip(",.")
        is_figure = match["figure"] is not None or said.isdigit()
        found.append((match.group().rstrip(",."), ("#" + said.replace(",", "")) if is_figure else said))
    return tuple(found)


def _masked(sentence: str) -> list[str]:
    return ["#" if key.startswith("#") else key for _, key in _pieces(sentence)]


def replaced_figures(old: str, new: str) -> list[tuple[str, str]]:
    """Figures of one sentence that have another value in its new form, each with the word after it."""
    a, b = _pieces(old), _pieces(new)
    pairs = []
    for tag, i, k, j, m in SequenceMatcher(None, [key for _, key in a], [key for _, key in b], autojunk=False).get_opcodes():
        if tag != "replace":
            continue
        before = [x for x in range(i, k) if a[x][1].startswith("#")]
        now = [y for y in range(j, m) if b[y][1].startswith("#")]
        if len(before) == len(now):
            pairs += [(_shown(a, x), _shown(b, y)) for x, y in zip(before, now, strict=True) if a[x][1] != b[y][1]]
    return pairs


def _shown(pieces: Sequence[tuple[str, str]], at: int) -> str:
    text = pieces[at][0]
    is_date = any(c.isalpha() for c in text) and any(c.isdigit() for c in text)
    if is_date or at + 1 == len(pieces):
        return text
    following = pieces[at + 1]
    return f"{text} {following[0]}" if following[0].islower() and terms(following[0]) else text

"""What an article is about, as its pages speak of it: which pages are about it, which about something of the same name, and
what they call it ("the film").

A name of one word is often part of other names: "Lux" is an episode, "Strackman Lux" a person of another one. A page where the
word is mostly inside of longer names is about somebody else.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from data.types import Page
from pipeline.choosing.common_words import is_common
from pipeline.choosing.word_lists import words_of
from pipeline.provenance import publisher_of
from pipeline.retrieval import STOPWORDS, terms

OPENING_WORDS = 150
"""Of a page, in which its subject is named."""
LEAST_CALLED, LEAST_HOSTS = 3, 2
"""Sentences that open with "The film", and hosts that have them, from which that is what the subject is called."""

LEAST_LONGER, MOST_LONGER = 3, 0.25
"""How often a page says the longer name of something else, and the share of all pages whose titles may."""
LEAST_DENSITY = 0.0025
"""Share of a page's words, for each word of the subject, that are this word, from which it can be about the subject: below, 12
of 100 sentences of development pages are of use, above 31 to 44."""

_YEAR = re.compile(r"\b(1[89]\d{2}|20\d{2})\b")
_CALLED = re.compile(r"(?:^|[.!?][”\"]? |\n)The ([a-z]{3,})\b(?=[ ’'])")
THINGS = words_of("things")
"""What an article may be about and go on to call "the ..."; persons are not among them, for pages speak of many."""

_OF_ITSELF = re.compile(
    r"(?:movie|director|cast|crew|trailer|teaser|soundtrack|review|preview|recap|ending|explained|finale?|part|chapter|volume|vol|"
    r"season|episode|series|book|act|scene|issue|lyrics|video|premiere|release|interview|results?|news|guide|wiki|rules)s?\b"
    r"|[ivx]+\b|one\b|two\b|three\b",
    re.I,
)
"""Behind a name in the title of a page: it goes on about the subject, or about a part of it."""
_RANKING = re.compile(r"^(?:Every|All|The \d+|\d+)\b.*\bRanked\b")
"""A page on all works of somebody: most of it is about others than the article's."""
_IS_A_WORK = re.compile(
    r"(?:[“\"][^“”\"]{1,60}[”\"]|[A-Z]\w+(?: [A-Z]\w+){0,4}) (?:is|was) an? (?:[\w-]+ ){0,3}"
    r"(film|movie|episode|novel|album)\b(?! [a-z]+or\b)"
)

_CLEFT = re.compile(
    r"^It (?:is|was|has been|seems?|appears?|remains?|took|takes|would be) (?:\S+ ){0,4}?"
    r"(?:that|to|who|whom|how|whether|when)\b|"
    r"^It (?:turns out|turned out|transpire[sd]|emerge[sd]|became clear|becomes clear|so happens|happens that|follows that)\b"
)
"""Here "it" is nothing: "It was announced that ..."."""


@dataclass(frozen=True)
class Subject:
    """`pages` are all of the evidence, by place."""

    title: str
    pages: Sequence[Page]

    @cached_property
    def name(self) -> str:
        """The title without what stands in parentheses."""
        return " ".join(re.sub(r"\([^)]*\)", "", self.title).split()) or self.title

    @cached_property
    def words(self) -> frozenset[str]:
        return subject_terms(self.title)

    @cached_property
    def elsewhere(self) -> frozenset[int]:
        """Places of pages about something else: they open without the name, hardly use its words, or have it
        mostly inside of longer names."""
        about = {n for n, page in enumerate(self.pages) if page.usable and self._is_about(page)} - self.namesakes
        return frozenset(n for n, page in enumerate(self.pages) if page.usable) - about

    @cached_property
    def _longer_names(self) -> dict[int, str]:
        """By page: how the longer name of something else goes on that its title has, where the article's title says which one
        of the name is meant: "Foundation", of "Sarabande Foundation", for "Sarabande (collection)".

        That word has a capital, is not in the article's title and names no part or kind of the subject; the page says it three
        times. A page that has the names in parentheses ("Doctor Who") is about the subject, and so is what the titles of more
        than a quarter of the pages say.
        """
        which = re.search(r"\(([^)]*)\)", self.title)
        if not which or len(self.name.split()) > 1:
            return {}
        behind = re.compile(rf"\b{re.escape(self.name)}(?::| [-–—])? (?:[Tt]he )?([A-Z][\w’'-]+)")
        proper = [word for word in re.findall(r"[^\W\d_]+", which[1]) if word[0].isupper()]
        found: dict[int, str] = {}
        for n, page in enumerate(self.pages):
            match = behind.search(page.title)
            if not page.usable or not match or set(terms(match[1])) <= set(terms(self.title)):
                continue
            if _OF_ITSELF.match(match[1]) or match[1].lower() in THINGS or (proper and all(w in page.text for w in proper)):
                continue
            if sum(word == match[1] for word in behind.findall(f"{page.title}\n{page.text}")) >= LEAST_LONGER:
                found[n] = match[1]
        most = sum(page.usable for page in self.pages) * MOST_LONGER
        said = {word: sum(word in behind.findall(page.title) for page in self.pages if page.usable) for word in found.values()}
        return {n: word for n, word in found.items() if said[word] <= most}

    @cached_property
    def namesakes(self) -> frozenset[int]:
        """Places of pages about something else whose longer name begins with the subject's."""
        return frozenset(self._longer_names)

    @cached_property
    def _namesake_opens(self) -> re.Pattern[str] | None:
        words = "|".join(sorted({re.escape(word) for word in self._longer_names.values()}))
        return re.compile(rf"(?:The )?{re.escape(self.name)}(?::| [-–—])? (?:[Tt]he )?(?:{words})\b") if words else None

    def is_on_another_work(self, text: str) -> str:
        """Why a sentence is about another thing: it opens with that one's longer name, or says what film or game another is."""
        if self._namesake_opens and self._namesake_opens.match(text):
            return "another of its name"
        other = _IS_A_WORK.match(text)
        return "another work" if other and other[1] in self.called and not self._names(text) else ""

    @cached_property
    def _rare(self) -> frozenset[str]:
        """Stems of its words that are no words of the language: without "Belmont", other glass works are meant."""
        return frozenset(terms(" ".join(word for word in re.findall(r"[^\W\d_]+", self.name) if not is_common(word))))

    def _names(self, text: str) -> bool:
        return names_subject(self.words, text) and (not self._rare or bool(self._rare & frozenset(terms(text))))

    def _is_about(self, page: Page) -> bool:
        if not self._names(f"{page.title} {_opening(page.text)}"):
            return False
        if _RANKING.search(page.title) and self.name.lower() not in page.title.lower():
            return False
        words = terms(f"{page.title} {page.text}")
        if sum(word in self.words for word in words) < LEAST_DENSITY * len(self.words) * len(words):
            return False
        alone, longer = self._mentions(page.text)
        return alone >= longer

    def _mentions(self, text: str) -> tuple[int, int]:
        """How often a name of one word is said alone, and how often inside of a longer one; (0, 0) for longer names."""
        if len(self.name.split()) > 1:
            return 0, 0
        found = [is_longer_name(text, m.start(), m.end()) for m in re.finditer(rf"\b{re.escape(self.name)}\b", text)]
        return found.count(False), found.count(True)

    def is_named_in(self, text: str) -> bool:
        """Whether a sentence names the subject, and not somebody of whose name it is a part."""
        alone, longer = self._mentions(text)
        return self._names(text) and not (longer and not alone)

    @cached_property
    def _nouns(self) -> Counter[str]:
        """What its pages call it, with how often: the nouns with which their sentences open ("The film ...")."""
        hosts: dict[str, set[str]] = {}
        counts: Counter[str] = Counter()
        for n, page in enumerate(self.pages):
            if page.usable and n not in self.elsewhere:
                for noun in _CALLED.findall(page.text):
                    if noun in THINGS:
                        counts[noun] += 1
                        hosts.setdefault(noun, set()).add(publisher_of(page.url, page.site))
        return Counter({n: c for n, c in counts.items() if c >= LEAST_CALLED and len(hosts[n]) >= LEAST_HOSTS})

    @cached_property
    def called(self) -> frozenset[str]:
        return frozenset(self._nouns)

    @property
    def noun(self) -> str:
        """What its pages call it most often; empty if nothing."""
        return max(sorted(self._nouns), key=lambda noun: self._nouns[noun], default="")

    def masked(self, text: str) -> str:
        """The text with the name blanked, at the same length: the title "Here for It All" must not look like a pronoun."""
        return re.sub(rf"\b{re.escape(self.name)}\b", lambda m: "X" + "x" * (len(m.group()) - 1), text, flags=re.I)

    def opens(self, text: str) -> str:
        """How a sentence opens if with the subject: "The film", its name; empty if with anything else."""
        if match := re.match(r"The ([a-z]+)\b(?!-)", text):
            return match.group() if match[1] in self.called else ""
        return self.name if text.lower().startswith(self.name.lower()) else ""

    def instead_of_it(self, text: str, before: str) -> str:
        """A sentence that opens with "It" or "Its", with the subject in its place, if the one before opens with the subject."""
        match = re.match(r"It(?P<of>s)?(?= [a-z])", text)
        opened = self.opens(before)
        if not match or not opened or is_cleft(text):
            return text
        return f"{opened}’s{text[match.end() :]}" if match["of"] else f"{opened}{text[match.end() :]}"


def is_cleft(text: str) -> bool:
    """Whether the "It" that opens a sentence is nothing."""
    return _CLEFT.match(text) is not None


def subject_terms(title: str) -> frozenset[str]:
    """Stems of the words that name the subject: those in parentheses and the years say which one of its name it is."""
    bare = _YEAR.sub("", re.sub(r"\([^)]*\)", "", title))
    return frozenset(terms(bare)) or frozenset(terms(title))


def names_subject(subject: frozenset[str], text: str) -> bool:
    """Whether a text has half of the words that name the subject. A page that opens without them is about something else; there
    a sentence has to name the subject itself."""
    return 2 * len(subject & frozenset(terms(text))) >= len(subject)


def has_name(subject: frozenset[str], text: str) -> bool:
    """Whether a text has the words that name the subject beside one another, in any order, one or two others between them at
    most: "the flood on the Tolvane", "Dobbertin, Walther"; not "a flood of entries for the 2031 Tolvane Marathon"."""
    stems = [terms(word) for word in re.findall(r"\w+", text)]
    places = {word: [n for n, found in enumerate(stems) if word in found] for word in subject}
    room = len(subject) + 2
    return any(
        all(any(start <= at < start + room for at in found) for found in places.values())
        for starts in places.values()
        for start in starts
    )


def is_longer_name(text: str, start: int, end: int) -> bool:
    """Whether the word between is part of a longer name: a word with a capital is right before it, inside of a sentence, or
    behind it."""
    before = re.search(r"(?P<open>\A|[.!?:;\n]\s*|[“\"(]\s*)?(?P<word>[A-Z][\w.’'-]*) \Z", text[max(0, start - 40) : start])
    # What opens a sentence has its capital for that, unless it is no word of the language.
    named = before and (before["open"] is None or not is_common(before["word"]))
    if before and named and not before["word"].endswith(("’s", "'s")):
        return True
    return bool(re.match(r" [A-Z][a-z]", text[end : end + 3]))


def _opening(text: str) -> str:
    return " ".join(text.split(maxsplit=OPENING_WORDS)[:OPENING_WORDS])


_NUMBERED = re.compile(
    r"\b(?P<head>[A-Z]\w+) (?P<n>\d{1,3}|[IVXL]{1,6})\b(?![.,:]\d)(?!-)|"
    r"\b(?P<nth>\d{1,3})(?:st|nd|rd|th) (?P<what>[A-Z]\w+(?: [A-Z]\w+)*)"
)
_OF_NO_SERIES = frozenset(calendar.month_name) | frozenset(
    ("War", "Chapter", "Part", "Section", "Figure", "Table", "Number", "Page", "No")
)
"""What has a number for another reason, beside words that are none of a name ("The 13 survivors")."""


def numbered(text: str) -> dict[str, set[int]]:
    """What has a number as one of a series ("Vault 13", "Ferry IV", "72nd Osmere Council") -> its numbers."""
    found: dict[str, set[int]] = {}
    for match in _NUMBERED.finditer(text):
        head, number = match["head"] or match["what"], match["n"] or match["nth"]
        if head not in _OF_NO_SERIES and head.lower() not in STOPWORDS:
            found.setdefault(head, set()).add(int(number) if number.isdigit() else _roman(number))
    return found


def _roman(number: str) -> int:
    values = [{"I": 1, "V": 5, "X": 10, "L": 50}[letter] for letter in number]
    return sum(-one if one < then else one for one, then in zip(values, (*values[1:], 0), strict=True))


def _of_another_number(title: str, text: str) -> bool:
    """Whether a text names others of the title's series, and not the title's own."""
    own, said = numbered(title), numbered(text)
    return any(head in said and not said[head] & numbers for head, numbers in own.items())


def sibling_page(title: str, page: Page) -> str:
    """Why a page is about another one of the same series: its title has another number, or names another year than the
    article's and its text hardly names the article's own."""
    if _of_another_number(title, page.title):
        return "sibling event"
    wanted = set(_YEAR.findall(title))
    if not wanted:
        return ""
    named = set(_YEAR.findall(page.title))
    share = frozenset(terms(_YEAR.sub("", title)))
    about = len(share & frozenset(terms(page.title))) / max(len(share), 1)
    if named and not (named & wanted) and about >= 0.5:
        own = sum(page.text.count(year) for year in wanted)
        other = sum(page.text.count(year) for year in named)
        if own < other:  # a page on last year's event that looks ahead to this one names this year, too, but less
            return "sibling event"
    return ""


def sibling_sentence(title: str, text: str) -> str:
    """Why a sentence reports another one of the series: words of the title beside another year or number, and not its own."""
    if _of_another_number(title, text):
        return "sibling event"
    wanted = set(_YEAR.findall(title))
    named = set(_YEAR.findall(text))
    if not wanted or not named or named & wanted:
        return ""
    key = [word for word in terms(_YEAR.sub("", title)) if len(word) > 3]
    for match in _YEAR.finditer(text):
        behind = terms(text[match.end() :])[:3]
        if key and sum(word in key for word in behind) >= min(2, len(key)) and behind[:1] and behind[0] in key:
            return "sibling event"
    return ""


def defines(text: str, title: str) -> float:
    """How far a sentence says what the subject is: 1 for its name, then "is" or "was" and what ("Lantern is a film"), or what
    between commas ("Lantern, her second film, was released"); 0.5 for its name and what happened; else 0."""
    wanted = frozenset(terms(re.sub(r"\([^)]*\)", "", title))) or frozenset(terms(title))

    def named(opening: str) -> bool:
        # Within the first 14 words: further in, the verb belongs to something else.
        return len(opening.split()) <= 14 and len(wanted & frozenset(terms(opening))) >= 0.6 * len(wanted)

    what = re.split(r"\b(?:is|was|were|are)\b (?:a|an|the|one)\b", text, maxsplit=1)
    between = re.match(r"([^,]+), ([^,]{6,80}), (?:is|was|were|are|will)\b", text)
    done = re.match(r"(.+?) (?:was|were) \w+(?:ed|t|n|d)\b", text)
    if (len(what) == 2 and named(what[0])) or (between and named(between[1])):
        return 1.0
    return 0.5 if done and named(done[1]) else 0.0

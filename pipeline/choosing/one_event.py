"""Whether a sentence that counts people speaks of the article's event, or of something else that its page tells of beside it.

"Four people were killed when a bridge fell on a bus" on a page about a flood: nothing in it is known of the flood. Known are
the words of the title, and of the sentences that open the pages and name the subject. A bare count ("the death toll rose to
eight") belongs to what the sentence before it speaks of. Where nobody can tell, a count is none of the event: a figure that
stays beside another is shown to a reader, a figure of another event would be a lie.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from data.passages import sentence_spans
from data.types import Page
from pipeline.choosing.facts import CALENDAR, numbers, with_digits, years
from pipeline.choosing.quantities import unattributed
from pipeline.choosing.tolls import AFTER_DEATHS
from pipeline.retrieval import terms

_OTHER = re.compile(
    r"\A(?:of|among|amongst) (?:the|those|these|them)\b|\btoll among\b|\b(?:first|second|third|fourth|fifth|neighbou?ring|"
    r"next door|elsewhere|each|every|annual\w*|yearly|worldwide|nationwide|if|den(?:y|ies|ied)|claim\w*|rumou?r\w*|"
    r"unrelated|separate|similar|previous|earlier|another|other|the last|decades?|since|simulat\w+|drill|"
    r"last (?:year|month|week|season|winter|summer|spring|autumn)|(?:in|after|during|by) (?:that|those)|ago|had \w+ before|"
    r"(?:film|movie|novel|book|play|series|documentary|song|game) (?:about|on|of))\b",
    re.I,
)
"""A count of a part, of many events or of another one, or one that its sentence does not state."""
_VICTIM = re.compile(
    r"\banother (?:victim|person|man|woman|child|passenger|patient|\w+ (?:victims|people))\b|\bthe other\b", re.I
)
"""Of the same event."""
_MADE_IT_RISE = re.compile(
    r"\A[^,]*\b(?:died|dies|dead|bod(?:y|ies)|succumbed)\b[^,]*,(?: which| and)? (?=(?:rais|bring|brought|tak|took)\w*\b)"
)
"""Ahead of a count: "A boy died of his injuries, raising the toll to 12"."""
_VERB = re.compile(
    r"\b(?:\w+ed|fell|left|hit|sank|broke|struck|went|ran|came|burst|blew|tore|swept|caught|was|were|had|took|shook|gave|lost|"
    r"slid|near|in|on|at|into|off|of|outside|under)\b"
)
"""Behind a noun: what it did, or where."""
_NAME = re.compile(r"[A-ZÀ-ÖØ-Þ][\w’'-]+")
_PLACED = re.compile(r"(?:In|At|Near|On|Off|Outside|Around) (?:the )?")
_GENERIC_WORDS = """
people person persons victim victims toll death deaths dead died die dies killed kill kills killing fatalities fatality
injured injuries injury injure hurt wounded wound missing lost lives life number numbers count counted total least most
rose risen rise rises rising climbed climb increased reached reach stands stood stand grew grown fell fallen dropped
lowered corrected revised put raised updated known confirmed feared believed reported report reports final official
officially officials authorities authority government ministry police spokesman spokeswoman prosecutors doctors mayor
rescuers said says say announced announcement according statement bodies body found recovered survivors survived
casualties tragedy disaster latest late early night evening morning afternoon noon midnight day days hour hours week
today yesterday tomorrow now still more than also others later left claimed took resulted caused cost dozens scores
hospital hospitals seriously severely critically gravely slightly badly least only including included men women children
adults residents passengers locals
"""
"""They say that people are counted, when, and by whom; not of which event."""
MOST_OPEN = 0.5
"""Share of a sentence's own words; fewer may be unknown of the event."""
OPENING = 0.5
"""Share of the title's words that the first sentences of a page must have to tell what the event is."""
FIRST = 2
"""Sentences of a page among which that one is looked for."""
LONGEST = 70
BEGINNING, AHEAD = 1_500, 600
"""Characters of a page in which it says what it is about, and before a sentence in which its paragraph is looked at."""


@dataclass(frozen=True)
class OneEvent:
    """What the title and the openings of `pages` say of an event."""

    title: str
    pages: Sequence[Page] = ()

    @cached_property
    def _subject(self) -> frozenset[str]:
        return frozenset(term for term in terms(self.title) if not term.isdigit())

    @cached_property
    def _openings(self) -> tuple[str, ...]:
        found = []
        for page in self.pages:
            if not page.usable and page.drop_reason != "duplicate":
                continue
            for span in sentence_spans(page.text[:BEGINNING], longest=LONGEST)[:FIRST]:
                text = page.text[span.start : span.end]
                if self._own_years and not years(text) <= self._own_years:
                    continue  # what else happened there, long ago
                if len(self._subject & {*terms(text)}) >= max(OPENING * len(self._subject), 1) and not _is_of_another(text):
                    found.append(text)
        return tuple(found)

    @cached_property
    def words(self) -> frozenset[str]:
        """Stems that are known of the event."""
        return self._subject | {term for text in self._openings for term in terms(text)}

    @cached_property
    def _names(self) -> frozenset[str]:
        """Words of names that are known of the event: of the title, of openings, and of half of the pages' beginnings."""
        beginnings = [set(_NAME.findall(page.text[:BEGINNING])) for page in self.pages if page.usable]
        n_with = Counter(name for found in beginnings for name in found)
        usual = {name for name, n in n_with.items() if n >= 2 and 2 * n >= len(beginnings)}
        return frozenset(name.lower() for name in {*_NAME.findall(f"{self.title} {' '.join(self._openings)}"), *usual})

    @cached_property
    def _years(self) -> frozenset[str]:
        return self._own_years or years(" ".join(self._openings))

    @cached_property
    def _own_years(self) -> frozenset[str]:
        return frozenset({*years(self.title), *((page.published or "")[:4] for page in self.pages)} - {""})

    def is_counted(self, text: str, before: str = "") -> bool:
        """Whether a sentence's count is of the event as a whole, as far as its words tell; `before` is what its paragraph says
        ahead of it."""
        told = _of_whole(text)
        if _is_of_another(told) or not years(told) <= self._years:
            return False
        if _named(told) - self._names:
            return False
        own = own_words(told)
        if not own:
            return not self._turns_to_another(before)
        return bool(own & self.words) and len(own - self.words) < MOST_OPEN * len(own) and not self._has_another_cause(told)

    def _has_another_cause(self, text: str) -> bool:
        """Whether what people died of has no word of the event: "killed by a falling tree in Tolvane"."""
        for match in re.finditer(r"\b(?:when|by|as|after) (?=an? |the )", text):
            noun = _VERB.split(text[match.end() :], maxsplit=1)[0]
            for cause in (own_words(noun), own_words(text[match.end() :])):
                if cause and not cause & self.words:
                    return True
        return False

    def _turns_to_another(self, before: str) -> bool:
        """Whether the last sentence that names something ahead of a bare count speaks of another event."""
        for sentence in reversed([before[s.start : s.end] for s in sentence_spans(before, longest=LONGEST)]):
            told = _of_whole(sentence)
            own = own_words(told)
            if _is_of_another(told) or years(told) - self._years:
                return True
            if own & self.words:
                return False
            if own and (_named(told) - self._names or re.match(r"An? |Two |Three ", told)):
                return True
        return False

    def counted_at(self, text: str, page: int, start: int) -> bool:
        """`is_counted` of a sentence that begins at `start` of a page."""
        return self.is_counted(text, self._before(page, start))

    def _before(self, page: int, start: int) -> str:
        if not 0 <= page < len(self.pages):
            return ""
        ahead = self.pages[page].text[max(start - AHEAD, 0) : start]
        return ahead[ahead.rfind("\n", 0, len(ahead.rstrip())) + 1 :]

    def is_one(self, a: str, b: str) -> bool:
        """Whether two counts of the event may be of the same of it: what both tell beside the title's words is not all
        different ("when a bridge fell on a bus", "when a dam broke")."""
        first, second = (own_words(_of_whole(text)) - self._subject for text in (a, b))
        return not first or not second or bool(first & second)


def own_words(text: str) -> frozenset[str]:
    """Stems of what a sentence tells beside its count, its days and who says it."""
    return frozenset(term for term in terms(with_digits(text)) if term not in _generic() and not numbers(term))


@cache
def _generic() -> frozenset[str]:
    return frozenset(stem for word in (*_GENERIC_WORDS.split(), *CALENDAR) for stem in terms(word))


def _of_whole(text: str) -> str:
    """The sentence without who says it, and without those whose death made the count rise."""
    return AFTER_DEATHS.sub("", _VICTIM.sub("", _MADE_IT_RISE.sub("", unattributed(text))))


def _is_of_another(text: str) -> bool:
    return _OTHER.search(_VICTIM.sub("", text)) is not None


def _named(text: str) -> set[str]:
    """Words of the names of a sentence, without days and months; its first word only behind "In" or "Near"."""
    placed = _PLACED.match(text)
    first = placed.end() if placed else len(text.split(" ", 1)[0])
    found = {word.lower() for word in _NAME.findall(text[first:])}
    return {word for word in found if word.removesuffix("’s").removesuffix("'s") not in CALENDAR}

"""Statements of the article that contradict the human one: another number, date, name or outcome of the same thing.

Compared are sentences that say much the same (`eval.metrics.organisation.Matching`), and there only what takes the same place:
numbers of one noun beside the same words, dates of one happening, names between the same words, words that are opposites or
denied. A false alarm costs more than a miss: what one side adds, rounds or leaves open is no conflict, nor is a value that the
human article gives elsewhere. No model is asked.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Literal, NamedTuple

from data.sentences import SPLITTER
from eval.catalogue import directions
from eval.judges.features import STOPWORDS, VERSION, Token, Unit, analyse_claim, stem
from eval.metric import Case
from eval.metrics.organisation import Matching, matching_of

Kind = Literal["number", "date", "name", "outcome"]

COMPARABLE = 0.35
"""Cosine from which two sentences are about the same statement, so that they could conflict."""
CLOSE = 0.55
"""Cosine from which names and denials are compared: nearly the same words."""
VERBATIM = 0.7
"""Cosine from which a number without a noun is compared with the one in its place."""
SHARED = 0.5
"""Share of the shorter side's content stems, numbers apart, that both must have."""
ROUNDED = 0.06
"""Numbers this near to each other may be one, rounded."""
ANCHOR = 2
"""Words alike on either side of a name that is in another's place; the sentence's end is as good."""

_MONTHS = {name.lower(): n for n, name in enumerate(calendar.month_name) if name}
_MONTH = r"(?P<month>January|February|March|April|May|June|July|August|September|October|November|December)"
_DATE = re.compile(
    rf"(?:\b(?P<before>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?\b{_MONTH}\b(?:\s+(?P<after>\d{{1,2}})(?!\d))?"
    r"(?:st|nd|rd|th)?(?:,?\s+(?P<year>\d{4})\b)?"
)
_YEAR = re.compile(r"(?<![\d,.$€£-])\b(?P<year>1[5-9]\d\d|20\d\d)\b(?!,?\d|[%–-]|\.\d|\s*[–-]\s*\d)")
_RANGE = re.compile(r"\d\s*(?:[–—-]|to|and|or)\s*\d|\bbetween\b")
_NUMBER = re.compile(
    r"(?P<sign>[$€£¥])?(?<![\w.,–-])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|"
    r"(?i:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|"
    r"nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety))(?![\w–-]|[.,]\d|\s+and\s+\d)"
    r"(?:\s+(?P<scale>hundred|thousand|million|billion))?(?P<percent>\s*%|\s+per\s?cent\b)?"
)
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_OF = re.compile(
    r"\b(?P<noun>score|rating|total|population|capacity|length|height|weight|width|depth|budget|speed|age|magnitude|number|"
    r"position|average|altitude|margin|toll|cost|price|area)\s+(?:of\s+)?\Z",
    re.I,
)
_AFTER = re.compile(r"\s+(?P<first>[a-z]+(?:-[a-z]+)?)(?:\s+(?P<second>[a-z]+))?")
_LOOSE = re.compile(
    r"(?:about|around|some|nearly|almost|roughly|approximately|over|under|than|least|most|up to|as many as|estimated|another|"
    r"additional|further|extra|other|first|last|next|final|of the|by|the|top|past|these|those|all)\s+\Z",
    re.I,
)
"""Before a number: it is not exact, or one part of several."""
_VAGUE_UNITS = frozenset(
    map(
        stem,
        ["more", "additional", "further", "other", "others", "different", "new", "major", "key", "main", "of", "to", "times",
         "second", "minute", "hour", "day", "week", "weekend", "month", "year", "decade", "points", "stars", "percent"],
    )
)  # fmt: skip
"""Nouns of which one event has many: a duration or a rating is seldom of the same thing."""
_BY_VERB = frozenset({"number", "day", "month", "year", "%", "$", "£", "€", "¥"})
"""Kinds without a noun of their own: compared where both sides use them with the same verb."""
_VERB = re.compile(
    r"\b(?:became|broke|brought|built|bought|came|caught|chose|drew|drove|fell|fought|found|gave|got|grew|held|kept|knew|"
    r"left|lost|made|met|paid|put|ran|rose|said|sang|sank|saw|sent|set|shot|sold|spent|spoke|stood|struck|swept|taught|"
    r"threw|took|told|went|won|wrote|born|[a-z]{2,}ed|"
    r"(?:hold|open|clos|gross|releas|earn|peak|receiv|scor|assign|premier|reach|rank|total)(?:e?s|ing))\b"
)
_LACK = re.compile(
    r"\b(?:lack\w*|fail\w*|absen\w*|without|rather than|instead|unable|refus\w*|den(?:y|ied|ies)|limited|hardly|barely)\b"
)
"""Words that deny without a negation."""
_OPPOSITES: tuple[tuple[str, str], ...] = (
    ("won", "lost"), ("win", "loss"), ("victory", "defeat"), ("approved", "rejected"), ("accepted", "rejected"),
    ("accepted", "declined"), ("approved", "vetoed"), ("survived", "died"), ("survived", "killed"), ("alive", "dead"),
    ("convicted", "acquitted"), ("guilty", "innocent"), ("passed", "failed"), ("increased", "decreased"), ("rose", "fell"),
    ("gained", "lost"), ("succeeded", "failed"), ("successful", "unsuccessful"), ("legal", "illegal"), ("upheld", "overturned"),
    ("confirmed", "denied"), ("opened", "closed"), ("allowed", "banned"), ("permitted", "prohibited"), ("supported", "opposed"),
    ("released", "cancelled"), ("included", "excluded"), ("positive", "negative"), ("male", "female"), ("highest", "lowest"),
    ("largest", "smallest"), ("before", "after"), ("younger", "older"), ("agreed", "refused"), ("granted", "denied"),
)  # fmt: skip


class Figure(NamedTuple):
    """A number with its noun (stem), `%` or currency, or a date: `day` (month, day), `month` or `year`.

    `verb` is the stem of the verb nearest before it, else after it, "" without one: what the figure is of.
    """

    kind: str
    value: float
    verb: str
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Conflict:
    """`stated` in the article against `human`; the sentences are those of `Matching`."""

    kind: Kind
    written: int
    gold: int
    stated: str
    human: str


class Conflicts:
    """conflict_share  share of the comparable statements that contradict the human article; None without any
    n_comparable    the article's sentences that say much the same as one of the human article
    """

    names = directions("conflict_share", "n_comparable")
    signature = f"conflicts:split={SPLITTER}|match=idf-cosine>={COMPARABLE:g},{VERSION}|slots=number,date,name,outcome|v1"

    def score(self, case: Case) -> dict[str, float | None]:
        n, found = conflicts(case)
        wrong = {one.written for one in found}
        return {"conflict_share": len(wrong) / n if n else None, "n_comparable": float(n)}


def conflicts(case: Case) -> tuple[int, list[Conflict]]:
    """How many sentences of the article could be compared, and the conflicts found."""
    matching = matching_of(case)
    human = _Human.of(matching, case.gold.title)
    n, found = 0, []
    for i, row in enumerate(matching.similarity):
        if not len(row) or row.max() < COMPARABLE:
            continue
        n += 1
        if one := _conflict(matching, i, int(row.argmax()), human):
            found.append(one)
    return n, found


@dataclass(frozen=True, slots=True)
class _Human:
    """All that the human article says: what it gives anywhere contradicts nothing."""

    figures: frozenset[tuple[str, float]]
    stems: frozenset[str]
    title: frozenset[str]

    @classmethod
    def of(cls, matching: Matching, title: str) -> _Human:
        units = [analyse_claim(one.text) for one in matching.gold]
        return cls(
            frozenset((figure.kind, figure.value) for one in matching.gold for figure in all_figures(one.text)),
            frozenset[str]().union(*(unit.stem_set for unit in units)),
            analyse_claim(title).stem_set,
        )

    def counts(self, number: str, sentence: str) -> bool:
        """Whether the number has the noun there that it has somewhere here."""
        value = _value(analyse_claim(number).tokens[0])
        return any((one.kind, one.value) in self.figures for one in all_figures(sentence) if one.value == value)


def _conflict(matching: Matching, i: int, j: int, human: _Human) -> Conflict | None:
    """The first that is found between two sentences."""
    written, gold, similarity = matching.written[i].text, matching.gold[j].text, float(matching.similarity[i, j])
    if written == gold:
        return None
    a, b = analyse_claim(written), analyse_claim(gold)
    if _shared(a, b) < SHARED:
        return None
    own, other_names = (_words(names - human.title) for names in (a.names - b.stem_set, b.names - a.stem_set))
    if not own - human.stems and not (own and other_names):  # else perhaps of two persons or places
        for said, true in _differing(figures(written), figures(gold)):
            if (said.kind, said.value) not in human.figures:
                of: Kind = "date" if said.kind in ("day", "month", "year") else "number"
                return Conflict(of, i, j, _shown(said), _shown(true))
    if similarity < CLOSE:
        return None
    for kind, mine, other in _slots(a, b):
        if kind == "name" or (similarity >= VERBATIM and not human.counts(mine, written)):
            return Conflict(kind, i, j, mine, other)
    for mine, other in _outcomes(a, b):
        return Conflict("outcome", i, j, mine, other)
    return None


def _words(names: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in names if not name.isdigit() and name not in _MONTH_STEMS)


_MONTH_STEMS = frozenset(stem(name) for name in _MONTHS)


def _shared(a: Unit, b: Unit) -> float:
    """Of the side that has fewer content stems, numbers and months apart."""
    first, second = (_words(unit.stem_set) for unit in (a, b))
    return len(first & second) / min(len(first), len(second)) if first and second else 0.0


# --- numbers and dates ------------------------------------------------------------------------------------------------


def figures(sentence: str) -> tuple[Figure, ...]:
    """Exact numbers and dates of one sentence; of a kind that occurs with different values none."""
    found = all_figures(sentence)
    values: dict[str, set[float]] = {}
    for one in found:
        values.setdefault(one.kind, set()).add(one.value)
    return tuple({one.kind: one for one in found if one.exact and len(values[one.kind]) == 1}.values())


@lru_cache(maxsize=1 << 12)
def all_figures(sentence: str) -> tuple[Figure, ...]:
    """Also those that the sentence only limits ("over 20"), or gives several of."""
    found: list[Figure] = []
    rest = sentence
    for match in _DATE.finditer(sentence):
        month, day = _MONTHS[match["month"].lower()], match["before"] or match["after"]
        if match["month"] == "May" and not day and not match["year"]:
            continue
        verb = _verb_beside(sentence, match)
        if day:
            found.append(Figure("day", month * 100 + int(day), verb))
        found.append(Figure("month", month, verb))
        if match["year"]:
            found.append(Figure("year", int(match["year"]), verb))
        rest = _blanked(rest, match)
    for match in _YEAR.finditer(rest):
        found.append(Figure("year", int(match["year"]), _verb_beside(sentence, match)))
        rest = _blanked(rest, match)
    return (*found, *_counts(rest))


def _blanked(text: str, match: re.Match[str]) -> str:
    return text[: match.start()] + " " * (match.end() - match.start()) + text[match.end() :]


def _verb_beside(sentence: str, match: re.Match[str]) -> str:
    verbs = [(verb.start(), stem(verb.group().lower())) for verb in _VERB.finditer(sentence)]
    before = [word for at, word in verbs if at < match.start()]
    after = [word for at, word in verbs if at >= match.end()]
    return before[-1] if before else after[0] if after else ""


def _counts(text: str) -> Iterator[Figure]:
    is_range = _RANGE.search(text) is not None
    for match in _NUMBER.finditer(text):
        low = match["digits"].lower()
        word = stem(low) if low.isalpha() else low.replace(",", "")
        value = float(word) * _SCALES.get(match["scale"] or "", 1.0)
        of = _OF.search(text, 0, match.start())
        noun = stem(of["noun"].lower()) if of else _noun(_AFTER.match(text, match.end()))
        kind = "%" if match["percent"] else match["sign"] or noun
        if kind:
            exact = not is_range and not _LOOSE.search(text, 0, match.start())
            yield Figure(kind, value, _verb_beside(text, match), exact)


def _noun(after: re.Match[str] | None) -> str:
    """The stem of the thing counted, with the word after it where that belongs to it; "" for words that say too little."""
    if after is None:
        return ""
    first, second = after["first"], after["second"] or ""
    if first in STOPWORDS or stem(first) in _VAGUE_UNITS:
        return ""
    if first.endswith("ed"):
        return ""
    if second and second not in STOPWORDS and not second.endswith("ed"):
        return f"{stem(first)} {stem(second)}"
    return stem(first)


def _differing(mine: tuple[Figure, ...], human: tuple[Figure, ...]) -> Iterator[tuple[Figure, Figure]]:
    theirs = {one.kind: one for one in human}
    own = {one.kind: one for one in mine}
    for one in mine:
        other = theirs.get(one.kind)
        if other is None or one.value == other.value:
            continue
        if one.kind in _BY_VERB and (not one.verb or one.verb != other.verb):
            continue
        if one.kind == "month" and "day" in own.keys() & theirs.keys():
            continue  # the day says it
        if one.kind not in ("day", "month", "year") and _rounded(one.value, other.value):
            continue
        yield one, other


def _shown(one: Figure) -> str:
    if one.kind == "day":
        return f"{int(one.value) % 100}/{int(one.value) // 100}"
    return f"{one.value:g} {one.kind}"


# --- names and outcomes -----------------------------------------------------------------------------------------------


def _slots(a: Unit, b: Unit) -> Iterator[tuple[Kind, str, str]]:
    """A whole name, or a number, between the same words in the place of another."""
    first, second = [t.stem for t in a.tokens], [t.stem for t in b.tokens]
    steps = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    for n, (tag, i, j, k, m) in enumerate(steps):
        mine, other = a.tokens[i:j], b.tokens[k:m]
        if tag != "replace":
            continue
        before = a.tokens[steps[n - 1][1] : i] if n else None
        after = a.tokens[j : steps[n + 1][2]] if n + 1 < len(steps) else None
        if (before is None and after is None) or not all(side is None or len(side) >= ANCHOR for side in (before, after)):
            continue
        if any(t.stem in b.stem_set for t in mine) or any(t.stem in a.stem_set for t in other):
            continue
        said, true = (" ".join(t.text for t in side) for side in (mine, other))
        if len(mine) == len(other) == 1 and mine[0].stem.isdigit() and other[0].stem.isdigit():
            if not _rounded(_value(mine[0]), _value(other[0])):
                yield "number", said, true
        elif all(_is_name(t) for t in (*mine, *other)):
            if (before and _is_name(before[-1])) or (after and _is_name(after[0])):
                continue  # a part of a name: "Colonial League", "Colonial Association"
            if not any(_alike(t.stem, o.stem) for t in mine for o in other):
                yield "name", said, true


def _value(token: Token) -> float:
    """Of a token whose stem is digits: `3.4`, `1,200`, or a number word."""
    text = token.text.replace(",", "")
    return float(text) if re.fullmatch(r"\d+(?:\.\d+)?", text) else float(token.stem)


def _rounded(a: float, b: float) -> bool:
    return abs(a - b) <= ROUNDED * max(a, b)


def _is_name(token: Token) -> bool:
    return token.name and not token.stem.isdigit() and token.stem not in _MONTH_STEMS


def _alike(a: str, b: str) -> bool:
    """Belgian and Belgium, J and John: perhaps the same name."""
    return a[:3] == b[:3] or a in b or b in a


def _outcomes(a: Unit, b: Unit) -> Iterator[tuple[str, str]]:
    """A word that one side denies and the other says, beside the same word; or opposites, said of the same subject."""
    if not _denies(b):
        yield from ((f"not {word}", word) for word in sorted(a.negated & b.stem_set) if _beside(a, word) & _beside(b, word))
    if not _denies(a):
        yield from ((word, f"not {word}") for word in sorted(b.negated & a.stem_set) if _beside(a, word) & _beside(b, word))
    mine, theirs = ({t.stem for t in unit.tokens} for unit in (a, b))
    for pair in _OPPOSITES:
        for one, other in (pair, pair[::-1]):
            x, y = stem(one), stem(other)
            if x in mine - theirs and y in theirs - mine and _name_before(a, x) == _name_before(b, y):
                yield one, other


def _denies(unit: Unit) -> bool:
    return any(token.negation for token in unit.tokens) or _LACK.search(unit.text) is not None


def _beside(unit: Unit, word: str) -> set[str]:
    """The content stems next to a word that is there once; digits ("No. 151") are beside nothing."""
    stems = ["", *unit.stems, ""]
    if word.isdigit() or stems.count(word) != 1:
        return set()
    at = stems.index(word)
    return {stems[at - 1], stems[at + 1]} - {""}


def _name_before(unit: Unit, word: str) -> str:
    """The last name before a word: who won, and who lost."""
    at = next(i for i, t in enumerate(unit.tokens) if t.stem == word)
    return next((t.stem for t in reversed(unit.tokens[:at]) if t.name), "")

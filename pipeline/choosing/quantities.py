"""What a sentence counts: its numbers, each with the noun after it and the words about it, and when two count the same thing.

Made for comparing sources, where a false alarm costs more than a miss: two numbers are compared only when noun, verb, names and
years agree. Ages, dates, scores, addresses, durations and parts of names ("Flight 815") are no quantities.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pipeline.choosing.facts import KEPT_SENTENCES, YEAR, names, with_digits, years
from pipeline.retrieval import STOPWORDS, terms

Move = Literal["", "rose", "fell", "corrected", "now"]
"""How a sentence says that its number is the latest: "rose to eight", "are now known to have died"."""
_NUMBER = re.compile(r"(?P<sign>[$€£¥]?)(?P<digits>\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)(?P<percent>%?)")
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_MONEY = {"dollar": "$", "euro": "€", "pound": "£", "yen": "¥", "$": "$", "€": "€", "£": "£", "¥": "¥"}
_AUXILIARY = frozenset(
    ["was", "were", "is", "are", "be", "been", "being", "has", "have", "had", "who", "that", "which", "also"]
)
_JOINING_WORDS = """
against across along among amid around between during near over per since through under until when where within without
because if so to up out off than now still already today yesterday
"""
_JOINING = frozenset(_JOINING_WORDS.split())
_DIVIDING = frozenset(["and", "but", "while", "whereas", "including", "with", "after", "before"])
_BOUND = re.compile(
    r"(?:(?P<least>at least|no (?:fewer|less) than|a total of|exactly|only)|(?P<over>more than|over|above)|"
    r"(?P<about>about|around|some|nearly|almost|roughly|approximately|(?:an )?estimated|as many as|up to)|"
    r"(?P<under>fewer than|less than|under))\Z"
)
_ADDED_AFTER = frozenset(["more", "additional", "further", "extra"])
_ADDED_BEFORE = frozenset(["another", "additional", "further", "extra", "by", "from", "all", "these", "those"])
"""Beside a number: it is a part, an increase, the earlier figure, or those just spoken of."""
_TIME = frozenset(["second", "minute", "hour", "day", "night", "week", "month", "year", "decade", "century"])
_NUMBERED = "aged age number no route flight highway road room level grade chapter section article page"
_NAMED_BY_NUMBER = frozenset(_NUMBERED.split())
_PERSON = frozenset({"peopl", "person", "victim"})
_BESIDES = frozenset(["other", "others"])
"""After a number: a part ("two others were hurt"), except where something else befell the rest ("killing 5 and injuring 17
others")."""
_TOLLS = {
    "kill": "killed", "die": "killed", "dead": "killed", "death": "killed", "fatal": "killed", "injur": "injured",
    "injuri": "injured", "hurt": "injured", "wound": "injured", "miss": "missing", "displac": "displaced",
    "evacu": "evacuated", "arrest": "arrested", "rescu": "rescued", "hospit": "hospitalised",
}  # fmt: skip
_NO_TOLLS = frozenset(["kills", "hurts", "missed", "misses"])
"""After a number: points of a game, and misses."""
_PREDICATES = frozenset(_TOLLS.values())
BARE_TOLLS = frozenset({"killed", "injured", "missing"})
"""What befalls people: where that was is then often left out, for the text is about one event; with the bare ones, also that
they are people ("30 were injured")."""
_TOLL_NAMED = re.compile(r"\b(?:death )?toll\b|\bnumber of (?:the )?(?:people )?(?P<of>\w+)")
_PASSING = frozenset(["now", "still", "known", "confirmed", "reported", "to", "have", "officially", "so", "far"])
"""Between people and what befell them: "are now known to have died"."""
_MOVES: tuple[tuple[Move, re.Pattern[str]], ...] = (
    (
        "corrected",
        re.compile(r"\b(?:revised|corrected|amended|updated|lowered|reduced|put)\b.{0,60}\b(?:to|at|as)(?: only)?\Z"),
    ),
    ("fell", re.compile(r"\b(?:fell|fallen|falls|dropped|drops|shrank|declined|down)\b.{0,60}\bto(?: only)?\Z")),
    (
        "rose",
        re.compile(
            r"\b(?:r[oi]se\w*|rising|climb\w*|increas\w*|jump\w*|gr[eo]w\w*|went up|gone up|soar\w*|mount\w*|rais\w*|bring\w*|"
            r"brought|took|tak(?:es|ing))\b.{0,60}\bto\Z|"
            r"\b(?:reach|hit)\w*\Z"
        ),
    ),
)
"""Words before a number that make it the latest of several."""
_GRADES = frozenset(["seriously", "critically", "severely", "gravely", "badly", "slightly", "lightly"])
"""Whoever was seriously injured is a part of the injured."""
_CALENDAR = frozenset(name.lower() for name in (*calendar.month_name, *calendar.month_abbr, *calendar.day_name) if name)
_OTHER_TIME = re.compile(
    r"\A(?:earlier|previously|initially|originally|at first)\b|"
    r"\b(?:last (?:year|month|week|season|time)|(?:a|one|two|three|\d+) (?:year|month|week|decade)s? (?:ago|earlier|before)|"
    r"previous (?:\w+ )?(?:year|month|week|season|election|record|quake|flood|storm)|so far this year|this year alone|"
    r"since \d{4})\b",
    re.I,
)
_FORMER = re.compile(
    r"\b(?:earlier|previously|initially|originally|at first|(?:up|down|revised|corrected) from|instead of|not|"
    r"compared (?:with|to))\b",
    re.I,
)
_FROM_TO = re.compile(r"\b(?:up |down |revised |corrected )?from \S+(?: \w+)? to\b", re.I)
"""Of "revised from nine to seven" only the nine is an earlier belief."""
_PRONOUN = re.compile(r"(?:He|She|It|They|His|Her|Their|We|I|You|This|That)\b")
_SAYING = re.compile(r"\b(?:said|says|according to|told|reported|announced|confirmed|wrote|added)\b", re.I)


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number of a sentence.

    `unit` and `predicate` are stems: of "15 people were killed" `person` and `killed`. `names` are all of the sentence but
    those of who said it, `subject` the last of them before the number, or the sentence's first word. `bound` says `over`,
    `about` and `under` apart from exact numbers and least ones. `move` says that it is the latest of several, `shown` is the
    number with the words that belong to it.
    """

    shown: str
    value: str
    unit: str
    predicate: str
    bound: str
    subject: str
    names: frozenset[str]
    years: frozenset[str]
    move: Move = ""

    @property
    def is_toll(self) -> bool:
        return self.unit == "person" and self.predicate in _PREDICATES

    @property
    def number(self) -> float:
        """Its value: 30,000 of "30 thousand"."""
        digits, _, scale = self.value.replace(",", "").partition(" ")
        return float(digits) * _SCALES.get(scale, 1.0)

    @property
    def what(self) -> str:
        """A name for a reader: the thing counted."""
        if self.unit == "person":
            return f"people {self.predicate}"
        return " ".join(part for part in (self.unit, self.predicate) if part)


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    low: str
    stem: str
    ends: bool

    @classmethod
    def of(cls, chunk: str) -> _Word:
        text = chunk.strip("\"“”'‘’()[]«»,;:.!?—–-")
        low = text.lower()
        return cls(text, low, (terms(low) or [low])[0] if low else "", not text or chunk[-1] in ",;:.!?)—–")


@lru_cache(maxsize=KEPT_SENTENCES)
def quantities(sentence: str) -> tuple[Quantity, ...]:
    """Those of one sentence.

    One that speaks of another time ("last year") has none, nor has a clause that speaks of an earlier belief ("up from
    12"). Where a sentence gives two values of one thing, they are of different things, and neither counts.
    """
    if _OTHER_TIME.search(sentence):
        return ()
    told = unattributed(sentence)
    named = frozenset(name for one in names(told) if (name := _without_days(one)))
    when = years(sentence)
    found: list[Quantity] = []
    before = ""
    for clause in _clauses(sentence):
        text = " ".join(word.text for word in clause)
        if not _FORMER.search(_FROM_TO.sub(" to ", text)):
            found += (q for i in range(len(clause)) if (q := _quantity(clause, i, before, named, when)) is not None)
        before += f" {text}"
    if _PRONOUN.match(sentence):  # of whom, only the sentence before knows
        found = [q for q in found if q.is_toll]
    if any(q.is_toll and q.move for q in found):  # "rose to seven after two people died in hospital": two are a part
        latest = {q.predicate for q in found if q.is_toll and q.move}
        found = [q for q in found if not q.is_toll or q.move or q.predicate not in latest]
    keys = [(q.unit, q.predicate, "" if q.is_toll else q.subject) for q in found]
    return tuple(q for q, key in zip(found, keys, strict=True) if keys.count(key) == 1)


def same_thing(a: Quantity, b: Quantity, context: frozenset[str], years: tuple[str, str]) -> bool:
    """Whether two sentences count the same thing, so that different values are a change or a contradiction.

    Args:
        context: words of the names that go without saying, such as those of the title.
        years: in which the two were published, "" for unknown; a sentence without a year speaks of that one.
    """
    if (a.unit, a.predicate, a.bound) != (b.unit, b.predicate, b.bound):
        return False
    first, second = (q.years or frozenset({year} - {""}) for q, year in ((a, years[0]), (b, years[1])))
    if first and second and not first & second:
        return False
    if any(not set(name.split()) <= context for name in a.names ^ b.names):
        return False
    return a.is_toll or a.subject == b.subject


def _without_days(name: str) -> str:
    """A name without days and months: of "mondays" (Monday's) nothing, of "monday lenzburgh" the place."""
    return " ".join(word for word in name.split() if word not in _CALENDAR and word.removesuffix("s") not in _CALENDAR)


# --- one number -------------------------------------------------------------------------------------------------------


def _quantity(clause: Sequence[_Word], i: int, before: str, named: frozenset[str], when: frozenset[str]) -> Quantity | None:
    match = _NUMBER.fullmatch(with_digits(clause[i].text))
    if match is None or _is_no_quantity(clause, i):
        return None
    at, value = i + 1, match["digits"].replace(",", "")
    if at < len(clause) and clause[at].low in _SCALES:
        value, at = f"{value} {clause[at].low}", at + 1
    unit, at = _unit(clause, at, match)
    begin, bound = _bound(clause, i)
    predicate, is_beside = _predicate(clause, begin, i, at)
    if not unit and predicate in BARE_TOLLS and is_beside:
        unit = "person"
    elif not unit and (toll := _toll_named(clause)):
        unit, predicate = "person", toll
    if not unit or not (predicate or unit.startswith("% of ")) or _is_part(clause, i, predicate, before):
        return None
    return Quantity(
        shown=" ".join(word.text for word in clause[begin:at]),
        value=value,
        unit=unit,
        predicate=predicate,
        bound=bound,
        subject=_subject(f"{before} {' '.join(word.text for word in clause[:i])}", named),
        names=named,
        years=when,
        move=_move(clause, begin, i, at),
    )


def _move(clause: Sequence[_Word], begin: int, i: int, after: int) -> Move:
    before = " ".join(word.low for word in clause[:begin])
    found: Move = next((move for move, words in _MOVES if words.search(before)), "")
    near = {word.low for word in (*clause[max(begin - 4, 0) : begin], *clause[after : after + 3])}
    return found or ("now" if "now" in near else "")


def _is_part(clause: Sequence[_Word], i: int, predicate: str, before: str) -> bool:
    """Whether "17 others" are only some of those that something befell: nothing else is said to have befallen the rest."""
    if i + 1 >= len(clause) or clause[i + 1].low not in _BESIDES:
        return False
    return predicate not in BARE_TOLLS or not {_TOLLS[stem] for stem in terms(before) if stem in _TOLLS} - {predicate}


def _is_no_quantity(clause: Sequence[_Word], i: int) -> bool:
    word, is_share = clause[i], clause[i].text.endswith("%")
    previous = clause[i - 1] if i else None
    following = clause[i + 1] if i + 1 < len(clause) else None
    if YEAR.fullmatch(word.text):
        return True
    if following is not None:
        if following.low in _CALENDAR | _ADDED_AFTER or (following.low == "of" and not is_share):
            return True
        if following.text[:1].isupper() or following.stem in _TIME:  # "12 Main Street", "45 years old"
            return True
    if previous is None:
        return False
    is_name = previous.text[:1].isupper() and i > 1  # "the Boeing 737"; a sentence's first word has a capital anyway
    return is_name or previous.low in _CALENDAR | _ADDED_BEFORE | _NAMED_BY_NUMBER


def _bound(clause: Sequence[_Word], i: int) -> tuple[int, str]:
    """Where the words that belong to the number at `i` begin, and how exact they leave it."""
    match = _BOUND.search(" ".join(word.low for word in clause[:i]))
    if match is None:
        return i, ""
    return i - len(match.group().split()), "" if match["least"] else str(match.lastgroup)


def _unit(clause: Sequence[_Word], at: int, match: re.Match[str]) -> tuple[str, int]:
    """The thing counted ("" when nothing follows), and where the words after it begin."""
    rest = [word.low for word in clause[at : at + 2]]
    if match["percent"] or rest[:1] in (["percent"], ["%"]) or rest == ["per", "cent"]:
        at += 0 if match["percent"] else 2 if rest[0] == "per" else 1
        head = _noun_after(clause, at, ("of",))
        return (f"% of {head[0]}", head[1]) if head else ("%", at)
    sign = match["sign"] or (clause[at].stem if at < len(clause) and clause[at].stem in _MONEY else "")
    if sign:
        at += 0 if match["sign"] else 1
        head = _noun_after(clause, at, ("in", "of", "worth"))
        return (f"{_MONEY[sign]} {head[0]}", head[1]) if head else (_MONEY[sign], at)
    chain: list[str] = []
    while at < len(clause) and len(chain) < 3:
        word = clause[at]
        is_verb = bool(chain) and word.low.endswith("ed")
        if not word.low.isalpha() or word.low in STOPWORDS | _AUXILIARY | _JOINING or word.stem in _TOLLS or is_verb:
            break
        chain.append("person" if word.stem in _PERSON else word.stem)
        at += 1
    return "person" if chain in (["other"], ["other", "person"]) else " ".join(chain), at


def _noun_after(clause: Sequence[_Word], at: int, joints: tuple[str, ...]) -> tuple[str, int] | None:
    if at >= len(clause) or clause[at].low not in joints:
        return None
    while at < len(clause) and (clause[at].low in joints or clause[at].low in STOPWORDS):
        at += 1
    return (clause[at].stem, at + 1) if at < len(clause) else None


def _predicate(clause: Sequence[_Word], begin: int, i: int, after: int) -> tuple[str, bool]:
    """The words about the number at `i`, whose words are from `begin` to `after`, and whether it is beside them."""
    at = after
    while at < len(clause) and (clause[at].low in _AUXILIARY or clause[at].low.endswith("ly")):
        at += 1
    further = at
    while further < len(clause) and (clause[further].low in _AUXILIARY | _PASSING or clause[further].low.endswith("ly")):
        further += 1
    if further < len(clause) and clause[further].stem in _TOLLS and clause[further].low not in _NO_TOLLS:
        at = further
    said = clause[at] if at < len(clause) and clause[at].low not in STOPWORDS | _NO_TOLLS else None
    if said is not None and (at > after or said.stem in _TOLLS or said.low.endswith("ed")):
        grade = next((f"{word.low} " for word in clause[after:at] if word.low in _GRADES), "")
        return grade + _said(said), True
    earlier = begin - 1
    while earlier >= 0 and clause[earlier].low in _AUXILIARY:
        earlier -= 1
    word = clause[earlier] if earlier >= 0 and not _is_name(clause, earlier) else None
    if word is not None and word.low not in STOPWORDS and not _SAYING.fullmatch(word.low):
        return _said(word), word.stem != "die"  # "died 45" is an age
    tolls = {_TOLLS[word.stem] for word in clause if word.stem in _TOLLS}
    return (tolls.pop() if len(tolls) == 1 else ""), False


def _toll_named(clause: Sequence[_Word]) -> str:
    """Of "the death toll rose to 15" and "the number of injured stands at 19"; "" for others."""
    match = _TOLL_NAMED.search(" ".join(word.low for word in clause))
    return "" if match is None else "killed" if match["of"] is None else toll_of(match["of"])


def toll_of(words: str) -> str:
    """What befell people, if words such as those of a label speak of one such thing, else ""."""
    tolls = {_TOLLS[stem] for stem in terms(words) if stem in _TOLLS}
    return tolls.pop() if len(tolls) == 1 else ""


def _is_name(clause: Sequence[_Word], i: int) -> bool:
    return i > 0 and clause[i].text[:1].isupper()


def _said(word: _Word) -> str:
    return _TOLLS.get(word.stem, word.stem)


# --- its sentence -----------------------------------------------------------------------------------------------------


def _clauses(sentence: str) -> Iterator[list[_Word]]:
    """Words between marks and joining words; what joins is left out."""
    clause: list[_Word] = []
    for chunk in sentence.split():
        word = _Word.of(chunk)
        divides = word.low in _DIVIDING
        if word.text and not divides:
            clause.append(word)
        if clause and (word.ends or divides):
            yield clause
            clause = []
    if clause:
        yield clause


def unattributed(sentence: str) -> str:
    """The sentence without who says it: "Mayor Ruiz said", ", according to the Red Cross"."""
    pieces = re.split(r"(?<=,)\s", sentence)
    parts = [part for part in pieces if re.search(r"\d", with_digits(part)) or not _SAYING.search(part)]
    told = " ".join(parts)
    verb = re.search(r"\b(?:said|says|reported|announced|confirmed)\b(?: that)?", told)
    number = re.search(r"\d", told)
    if verb and number and verb.end() < number.start():
        told = told[verb.end() :]
    return re.sub(r"\baccording to\b.*", "", told)


def _subject(text: str, named: frozenset[str]) -> str:
    """The last name of a text, else its first word that says something."""
    low = re.sub(r"[^\w\s]", "", text).lower()
    last = max(((low.rfind(name), name) for name in named if name in low), default=(-1, ""))[1]
    return last or (terms(low) or [""])[0]

"""Decontextualisation: a sentence as it can be read without its page.

"He", "The film" and "on Monday" have their name and date, or the sentence is left out.

Only what the sentence before, the page's subject and the page's day say for certain is put in. English only.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from datetime import date, timedelta

from lemminflect import getAllLemmas

from pipeline.choosing.common_words import is_common
from pipeline.choosing.subject import Subject
from pipeline.choosing.verbs import VERBS, is_verb
from pipeline.choosing.word_lists import either
from pipeline.retrieval import STOPWORDS

_WEEKDAYS = {name: n for n, name in enumerate(calendar.day_name)}
MONTH = "|".join(name for name in calendar.month_name if name)
QUOTED = re.compile(r"“[^“”]*”|\"[^\"]*\"|«[^«»]*»")
_LEANS = re.compile(rf"^{either('leaning')}\b")
_PERSON = re.compile(r"^(He|She|His|Her)\b")
_INNER_LEANS = re.compile(rf"\b{either('leaning_inside')}\b", re.I)
_DROPPED = (
    (re.compile(r"(?<=[a-z\d]) (?:now|currently), (?=(?:the |a |an )?[\w’'-]+ (?:said|says|told|reported))"), ", "),
    (re.compile(r"(?<!until)(?<!by)(?<!for)(?<!from)(?<!just)(?<!but)(?<!and)(?<!most)(?<!more),? "
                r"(?:also|however|meanwhile|therefore"
                r"|thus|moreover|"
                r"furthermore|now|currently|recently|instead(?! of)),? (?![.,;])"), " "),
    (re.compile(rf"^{either('connectives')}(?:,|(?! of\b)) "), ""),
    (re.compile(r",? (?:told|in an interview with|speaking to) "
                r"(?:reporters|journalists|the (?:BBC|Guardian|Associated Press)|CNN|Reuters|AFP)(?=[ ,.])"), " said"),
    (re.compile(r"\s*\((?:pictured|left|right|above|below|centre|center|video|photo)\)", re.I), ""),
    (re.compile(r"\s*\[[^\]]{0,40}\]"), ""),
)  # fmt: skip
_SPEAKER_UNNAMED = re.compile(r"[,”\"] (?:he|she|they) (?:said|says|added|noted|explained|wrote|continued|told|recalled)\b")


def standing_alone(text: str, before: str, published: str | None, subject: Subject | None = None) -> str:
    """The sentence as it can be read without its page; empty if it cannot.

    Args:
        before: the sentence before it on its page, where "he" has its name.
        published: the page's day (ISO), from which weekdays and "yesterday" are counted; None if unknown.
        subject: what the page is about, so that "The film" is known; None for a page about something else.
    """
    for pattern, other in _DROPPED:
        text = pattern.sub(other, text)
    text = " ".join(text.replace("()", "").split())
    text = text[:1].upper() + text[1:]
    if subject is not None:
        text = subject.instead_of_it(text, before)
        text = re.sub(r"\b([Tt])his (?=([a-z]+)\b)", lambda m: f"{m[1]}he " if m[2] in subject.called else m.group(), text)
    # Quotations keep their pronouns: they are blanked, at the same length, before anything is looked for.
    bare = QUOTED.sub(lambda m: "“" + "x" * (len(m.group()) - 2) + "”", text)
    if match := _PERSON.match(bare):
        name, rest = _only_person(before), text[match.end() :]
        if not name:  # none, or two: guessing whom "he" means is how false statements are made
            return ""
        if _is_named_again(name, rest):
            return ""
        if match[1] in ("He", "She") and (short := re.match(r"[’']s (\w+)", rest)):
            if "VERB" in getAllLemmas(short[1]) and not short[1].endswith("ing"):  # "he's taken", "he's known": has, or is
                return ""
            rest = f" is{rest[2:]}"
        text = (name if match[1] in ("He", "She") else f"{name}'s") + rest
        # "Her" may be an object ("Her they called"): only before a noun it is hers.
        if match[1] == "Her" and not re.match(r"\S+ [a-z]", text[len(name) + 2 :]):
            return ""
        bare = text
    opened = ""
    if subject is not None:
        opened, bare = subject.opens(bare), subject.masked(bare)
    if (_LEANS.match(bare) and not opened) or _INNER_LEANS.search(bare) or _SPEAKER_UNNAMED.search(bare):
        return ""
    if _DEMONSTRATIVE.search(bare) or _POINTS_BACK.match(bare) or _early_object(bare):
        return ""
    if _OF_A_MANUAL.match(bare):
        return ""
    if _THAT_DAY.search(bare) and not _DAY.search(bare):
        return ""
    text = with_days(text, published)  # "on Monday" -> "on 3 March 2031", from the page's own day
    text = _with_months(text, published)
    bare = QUOTED.sub(" ", text)
    if re.search(r"\b(?:yesterday|today)\b", bare, re.I) or _LAST_SEASON.search(bare):
        return ""
    if re.search(r"^(?:He|She|They|It)\b|\b(?:he|she)\b", bare) and not re.search(r"(?<!^)\b[A-Z][a-z]+", bare[1:]):
        return ""
    return text


def _is_named_again(name: str, text: str) -> bool:
    """Whether a part of the name follows, so that another one was meant: "He hands Conrad a coin" behind "Conrad Clack".

    "Brenda Clack", "Conrad Holt" and "the Clack family" are others.
    """
    again = (m for word in name.split() for m in re.finditer(rf"(\S*) ?\b{re.escape(word)}\b(?! [A-Z])", text))
    return any(not re.match(r"[A-Z]|the\b", m[1]) for m in again)


_DEMONSTRATIVE = re.compile(
    r"\bthis(?! (?:is|was) )\b|\bthese\b|"
    r"\bthose (?!(?:who|in|of|with|from|whose|that|affected|killed|injured)\b)|"
    r"\b(?:to|of|in|with|off|for|by|at|on|about|like|from|than|do|does|did|pulls?|all) that"
    r"(?=[.,;]| (?!(?:the|an?|it)\b)[a-z]+(?:[.,;]|\Z))",
    re.I,
)
"""Words that point at what another sentence said: "adhered to that structure"."""
_POINTS_BACK = re.compile(
    r"The (?:latter|former)(?= (?:one|ones|two|\w+ (?:is|are|was|were|has|had|\w+ed|\w+s))\b)|"
    r"(?!According)[A-Z]\w+(?:ed|uilt|ade) [^;]{3,60}, (?:its|his|her|their) [a-z]"
)
"""The size of what, and whose: "Released in 2031, its score was praised"."""
_OF_A_MANUAL = re.compile(
    r"(?:(?:In|On|At|For|During|After|Before|When|If|To|Once|With) [^,]{2,60}, )?"
    r"(?i:continue|show|reveal|place|take|draw|put|choose|keep|add) (?:the|an?|all|both|it|them|one|two|three|\d+) "
)


_NAMES = r"(?:The )?[A-Z][\w’'-]*(?: [A-Z][\w’'-]*)*"


def _early_object(bare: str) -> bool:
    """Whether "him" or "them" is near the beginning, and no one before it may be meant."""
    match = re.match(r"((?:[\w’'-]+ ){1,6})(him|them)\b", bare)
    if not match:
        return False
    if " and " in match[1]:  # "The Doctor and Belinda escape him": neither of the two
        return match[2] == "him" and bool(re.fullmatch(rf"{_NAMES} and {_NAMES} (?:[a-z]+ ){{1,2}}", match[1]))
    if match[2] == "him":  # what a sentence opens with does not do it to "him"
        return len(re.findall(_NAMES, match[1])) < 2
    return not any(
        word in ("people", "children", "men", "women") or (word.endswith("s") and len(word) > 3 and word not in VERBS)
        for word in match[1].split()
    )


_THAT_DAY = re.compile(r"\bthat (?:day|night|morning|afternoon|evening|week|month|year)\b", re.I)
"""Of a sentence without a date nobody knows which one."""


def _only_person(before: str) -> str:
    """The one name of two or three words in a sentence, if there is exactly one; it is taken to be a person's.

    Where the sentence opens with a surname, it is about that person, if it is one ("Toffolo, 27, was at Swindon Town").
    """
    if (first := re.match(r"([A-Z][a-z’'-]+)(?:(, \d\d,| said\b)|,| (?:was|is|had|has)\b)", before)) and not is_common(
        first[1]
    ):
        return first[1] if first[2] else ""
    found = {
        m.group()
        for m in re.finditer(r"\b[A-Z][a-z’'-]+(?: [A-Z]\.)?(?: (?:de|van|al|bin|von|Mc)?[A-Z][\w’'-]+){1,2}\b", before)
        if not m.group().startswith("The ")
        and not _NOT_SOMEBODY.search(before[: m.start()])
        and not _stands_before_noun(before[m.end() :])
    }
    found = {
        re.sub(r"^(?:The|In|On|At|When|After|But|And|As|For|While|Mayor|President|Governor|Minister|Police|Chief) ", "", n)
        for n in found
    }
    # "Final Destination" and "Managing Editor" have the form of a person's name, too: a given name is no word of the language.
    found = {re.sub(r"[’']s?\Z", "", n) for n in found}
    people = {n for n in found if " " in n and not is_no_person(n) and not is_common(n.split()[0])}
    if len(people) != 1 or any(_ends_as_thing(name) for name in people) or _acts_beside(before, people):
        return ""
    return people.pop()


_ACTS = re.compile(r"(?<![A-Z] )(?<![\w’'-])([A-Z][a-z]{2,}) ([a-z]+)\b")


def _acts_beside(before: str, people: set[str]) -> bool:
    """Whether somebody of one name does something in the sentence, too: "Ruby talks of the line that Pete McTighe wrote"."""
    named = {word for name in people for word in name.split()}
    others = [m for m in _ACTS.finditer(before) if m[1] not in named and not is_common(m[1])]
    return any(
        (m[2] in VERBS or (m[2].endswith(("s", "ed")) and "VERB" in getAllLemmas(m[2])))
        and m[1] not in _MONTHS
        and m[1] not in _WEEKDAYS
        for m in others
    )


_NOT_SOMEBODY = re.compile(r"(?:\bThe|\b[Ii]n|\b[Aa]t|&\w+|\b(?:book|novel|film|titled|called|including),?) \Z|[“‘\"(]\Z")
"""Before the name of a work, a place or an actor: "The Dew Breaker", "in Abu Dhabi", "Conrad (Ana Ruiz)"."""


def _stands_before_noun(behind: str) -> bool:
    """Whether a name goes with a noun: "San Francisco bureau"."""
    match = re.match(r" ([a-z]{3,})\b(?: (\S+))?", behind)
    if not match or match[1] in STOPWORDS or match[1].endswith("ly") or is_verb(["X", match[1], match[2] or ""], 1):
        return False
    return "NOUN" in getAllLemmas(match[1])


def _ends_as_thing(name: str) -> bool:
    """Whether its later words are words of the language, as in "American Glass"; persons have such names, too: it is not used,
    but it is a second name beside another one."""
    first, *rest = name.split()
    return first not in ("Mr", "Mrs", "Ms", "Dr") and any(is_common(word.lower()) for word in rest)


_NO_PERSON = re.compile(rf"\b(?:{either('no_person')}|{MONTH}|[A-Z][a-z]+day)\b")


def is_no_person(name: str) -> bool:
    """Whether a name is that of a place, a body or a day, by a word of it ("Osmere University")."""
    return bool(_NO_PERSON.search(name))


def with_days(text: str, published: str | None) -> str:
    """Weekdays, today and yesterday as dates, counted back from the page's day. Without one, "on Sunday" is left away.

    Empty where the day cannot be known: it is still to come, or is in a place where its date would read otherwise.
    """
    if not _DAY_SAID.search(text):
        return text
    try:
        day = date.fromisoformat((published or "")[:10])
    except ValueError:
        day = None
    ahead = bool(FORTHCOMING.search(text))

    def of(match: re.Match[str]) -> str:
        lead = (match["lead"] or "").lower()
        if lead in _REPEATED:  # "on the first Monday of every month"
            return match.group()
        if not lead and (before := _names_before(text[: match.start("day")])) is not None:
            return _UNKNOWN if before in ("of", "to", "from") else match.group()  # "to Ruby Sunday", "to Atlanta Sunday"
        if lead in _AHEAD or (ahead and match["day"].lower() not in ("yesterday", "today")):
            return _UNKNOWN
        if day is None:
            return " " if lead.endswith("on") else _UNKNOWN
        weekday = match["day"].capitalize()
        back = {"Yesterday": 1, "Today": 0}.get(weekday, (day.weekday() - _WEEKDAYS.get(weekday, 0)) % 7)
        before = f"{lead} " if lead in _LINKS else "on "
        return f" {before}{_spelled(day - timedelta(days=back))} "

    # What is quoted stays as it was said.
    quotes = [match.span() for match in QUOTED.finditer(text)]
    text = _DAY_SAID.sub(lambda m: m.group() if any(a < m.start() < b for a, b in quotes) else of(m), text)
    if _UNKNOWN in text or _TWICE_DATED.search(text):
        return ""
    text = re.sub(r"\s+([,.;:)])", r"\1", " ".join(text.split())).removeprefix(", ")
    return text[:1].upper() + text[1:]


def _names_before(text: str) -> str | None:
    """The word before the names that a text ends with, where a weekday behind them is a part of the name: "Ruby [Sunday]",
    "Good [Friday]"; None where it is a day."""
    named = _NAMED_LIKE_A_DAY.search(text)
    if named is None or (named.start() == 0 and is_common(named["names"].split()[0])):  # "Early Sunday"
        return None
    before = (named["before"] or "").strip()
    return None if before in _PLACED else before


_MONTH_SAID = re.compile(
    r"(?P<link>\b(?i:of|in|until|till|since|by|from|to|for|before|after|between|and|during|around|over|at|on) )?"
    rf"(?P<part>\b(?:early|mid|late) )?(?<!\bthe )(?<!\bThe )\b(?P<which>[Ll]ast|[Nn]ext) (?P<month>{MONTH})\b(?!,? \d)"
    r"(?P<of>['’]s)?"
)
_LAST_SEASON = re.compile(
    r"(?<!the )(?<!['’]s )(?<!s['’] )(?<!their )(?<!his )(?<!her )(?<!its )(?<!one )(?<!a )\b"
    r"(?:last|next) (?:season|spring|summer|autumn|fall|winter)\b",
    re.I,
)
"""Nobody knows which one; "the next spring" follows on what the sentence says itself."""


def _with_months(text: str, published: str | None) -> str:
    """ "Last November" as "in November 2031", counted from the page's month; empty where that is unknown."""
    quotes = [match.span() for match in QUOTED.finditer(text)]
    found = [m for m in _MONTH_SAID.finditer(text) if not any(a < m.start() < b for a, b in quotes)]
    if not found:
        return text
    try:
        page = date.fromisoformat((published or "")[:10])
    except ValueError:
        return ""
    for match in reversed(found):
        month, last = _MONTHS[match["month"]], match["which"].lower() == "last"
        year = page.year - (last and month >= page.month) + (not last and month <= page.month)
        link = match["link"] or ("the " if match["of"] else "in ")
        if match["of"] and match["link"]:
            link += "the "  # "after last November's vote"
        said = f"{match['part'] or ''}{match['month']} {year}"
        # "the November 2031 vote", where "November 2031's vote" would be odd
        text = f"{text[: match.start()]}{link}{said}{text[match.end() :]}"
    return text[:1].upper() + text[1:]


def _spelled(day: date) -> str:
    return f"{day.day} {calendar.month_name[day.month]} {day.year}"


_UNKNOWN = "\0"
_REPEATED = frozenset((
    "their", "his", "her", "its", "our", "my", "first", "second", "third", "fourth", "every", "each", "most", "any", "a",
    "some", "one",
))  # fmt: skip
_AHEAD = frozenset((
    "next", "this", "coming", "following", "that", "the", "last", "from", "to", "between", "and", "until", "by", "before",
    "for",
))  # fmt: skip
"""Before a weekday: it is not the last one before the page's day, or nobody knows ("sailings stopped until Monday", "the search
went on until Monday"); or it is one of two."""
_NAMED_LIKE_A_DAY = re.compile(r"(?P<before>\b[a-z]+ )?\b(?P<names>(?:[A-Z][\w’'-]* )+)\Z")
_PLACED = frozenset(("in", "at", "over", "across", "near", "around", "outside", "inside", "through"))
"""Behind these names are places, and a weekday behind them is one: "in Atlanta Sunday"."""
_LINKS = frozenset(("since", "after"))
_DAY_SAID = re.compile(
    rf"(?:\A|(?<=\s)|(?<=[(]))(?:(?P<lead>(?:late |early |earlier )?on|{'|'.join(sorted(_REPEATED | _AHEAD | _LINKS))}) )?"
    rf"(?P<day>{'|'.join(_WEEKDAYS)}|[Yy]esterday|[Tt]oday)(?: (?:morning|evening|afternoon"
    rf"|night))?\b(?!['’]s)(?!,? (?:\d|{MONTH}))",
    re.I,
)
_TWICE_DATED = re.compile(rf"(?:{MONTH}) \d{{4}},? (?:the \d|on \d|\d{{1,2}} (?:{MONTH}))")
_DAY = re.compile(
    rf"\b(?:(?P<d1>\d{{1,2}})(?:st|nd|rd|th)? (?P<m1>{MONTH})(?:,? (?P<y1>\d{{4}}))?|(?P<m2>{MONTH}) (?P<d2>\d{{1,2}})"
    rf"(?:st|nd|rd|th)?\b(?!\d)(?:,? (?P<y2>\d{{4}}))?|(?P<m3>{MONTH}) (?P<y3>\d{{4}})|\b(?P<y4>1[89]\d{{2}}|20\d{{2}}))\b"
)
FORTHCOMING = re.compile(
    r"\b(?:will|would|expected to|set to|scheduled|plans? to|is due|are due|hopes? to|going to|is to|are to)\b"
)
_MONTHS: Mapping[str, int] = {name: n for n, name in enumerate(calendar.month_name) if name}


def day_of(text: str) -> str:
    """The first day, month or year that the text names, ISO as far as it says (`2031-03-12`, `--03-12`, `2031-03`, `2031`)."""
    match = _DAY.search(text)
    if not match:
        return ""
    year = match["y1"] or match["y2"] or match["y3"] or match["y4"] or ""
    month = _MONTHS.get(match["m1"] or match["m2"] or match["m3"] or "", 0)
    day = int(match["d1"] or match["d2"] or 0)
    if not month:
        return year
    return f"{year or '-'}-{month:02}" + (f"-{day:02}" if day else "")

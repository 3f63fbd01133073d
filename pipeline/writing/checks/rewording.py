"""Whether sentences say what their facts say: nothing added, nothing lost that matters, and not in the facts' own words.

Checks by rule, in both directions. They do not look for good English; they look for what small language models get wrong when
they put a fact into other words: a number that now counts something else, a hedge or a negation gone, a name nobody gave.
The benchmark's judge is no part of this: a writer that filtered itself by the judge would be graded by its own ruler.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from data.sentences import split_sentences
from pipeline.choosing.candidates import has_personal_words
from pipeline.choosing.common_words import is_common
from pipeline.choosing.facts import figures, with_digits
from pipeline.retrieval import terms
from pipeline.writing.checks.compared_words import (
    PRONOUNS,
    QUOTED,
    WORD,
    bare,
    bare_words,
    common_runs,
    content_of,
    is_title,
    name_words,
    runs_of,
    stem_of,
)
from pipeline.writing.checks.counted import counted
from pipeline.writing.citing import is_own_talk

SHORT_RUN = 5
"""Words in a row from which a run counts as copied, as the benchmark's `copied_share` counts them."""
LEAST_KEPT = 0.5
"""Share of the facts' own words, figures and names apart, that must be kept or said otherwise (a new word for each lost)."""
MOST_NEW_WORDS = 0.6
"""Share of a text's words that are in no fact."""

_NEGATION = re.compile(
    r"\b(?:not|no(?!\.? ?\d| (?:fewer|less|more|later) than)|never|none|nobody|nothing|neither|nor|without|cannot|"
    r"failed to|unable to|refus\w+|den(?:y|ies|ied)|lack\w*|"
    r"un(?:hurt|harmed|injured|clear|known|damaged|likely|changed|opposed|affected)|no one|barred|banned|prevent\w*|rejected|"
    r"impossible|absen\w+)\b|n['’]t\b",
    re.I,
)
_PLANNED = (
    r"expect\w*|plan(?:s|ned|ning)?\b|(?:is|are|was|were) to|due to (?:be|begin|start|open|close|end)\b|set to|scheduled|"
    r"could|(?-i:may)|might|likely|intend\w*|"
    r"perhaps|maybe|probabl[ey]|hop(?:e|es|ed|ing)|propos\w+|aim\w*|possibl[ey]|potential\w*"
)
_HEDGES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.I))
    for name, pattern in (
        (
            "at least",
            r"\b(?:at least|no (?:fewer|less) than|a minimum of|(?<!no )more than|or more|"
            r"over(?= (?:\d[\d,.]*+(?!\s?[–-]\s?\d)|"  # not "over 21-24 August"
            r"(?:half|a (?:third|quarter|dozen|hundred|thousand|million|decade|century|year))\b)))",
        ),
        (
            "at most",
            r"\b(?:at most|up to(?= (?:[$£€]|\d|(?:half|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
            r"\w+teen|\w+ty|dozens|hundreds|thousands|millions)\b))|"  # not "set the whole scenario up to expose"
            r"no more than|a maximum of|as (?:many|much|high|long|far) as|(?<!no )(?:fewer|less) than|"
            r"under(?= \d))\b",
        ),
        (
            "about",
            r"\b(?:(?:about|around)(?= (?:[$£€]|\d|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|"
            r"\w+ty|half|dozens|hundreds|thousands|millions|noon|midday|midnight)\b|an? (?:dozen|hundred|thousand|third|half|"
            r"quarter|year|month|week|day|hour|mile|million)\b))|some(?= \d)|nearly|almost|roughly|"
            r"approximately|virtually|an estimated|estimated|close to|more or less|just (?:over|under))\b",
        ),
        (
            "expected",
            rf"\b(?:{_PLANNED}|will|would|project(?:ed|ion)|forecast\w*|going to|predict\w*|shall|should|"
            r"can(?:not|['’]t)?(?! be (?:found|seen)\b)|"
            r"wish\w*|promis\w+|vow\w*|pledg\w+|call(?:ed|s|ing)? (?:for|on)|urg\w+|ask\w*|request\w*|"
            r"want\w*|seek\w*|sought|propose)\b",
        ),
        ("planned", rf"\b(?:{_PLANNED})\b"),  # "will" alone is more certain than that
        (
            "alleged",
            r"\b(?:alleg\w+|suspect\w*|accus\w+|reported(?:ly)?|apparent\w*|believed|claim\w*|purported\w*|charged|"
            r"presum\w+|thought to|rumou?r\w*|said to)\b",
        ),
        (
            "suggested",
            r"\b(?:suggest\w*|hint\w*|impl(?:y|ies|ied|ying)|propos\w+|recommend\w*|advis(?:e[ds]?|ing)|seem\w*|"
            r"appear(?:s|ed)? to)\b",
        ),
        (
            "some of",
            r"\b(?:some|part|parts|most|many|several|half|majority|few) of\b|"
            r"\b(?:partly|partially|mostly|mainly|chiefly|primarily|largely)\b",
        ),
        ("one of", r"\b(?:one of|among) (?:the|its|his|her|their)\b"),
        ("including", r"\b(?:includ\w+|among (?:them|those|the)|such as|(?<=\w )like|of whom|of which|counting)\b"),
        ("each", r"\b(?:each|every|both|(?<!after )(?<!at )all(?!-)(?! (?:\d|over|around|across|along|through)\b))\b"),
        ("only", r"\b(?:only|just|solely|sole|alone)\b"),
        ("need not", r"\b(?:need(?:n['’]t| not)|(?:should|could) (?:not )?have|avoid\w*|prevent\w*)\b"),  # of what did happen
        (
            "first",
            r"\b(?:first(?!-?hand)|last|second|third|largest|biggest|highest|lowest|oldest|youngest|worst|best|"
            r"(?<!on )top|deadliest|most(?! cases))\b",
        ),
    )
)
"""What must neither go nor come: (what it says, the words that say it)."""
_MAY_COME = frozenset({"alleged", "each", "planned", "one of", "including", "some of", "first", "suggested"})
"""Of these only a loss is certain to be wrong: "reported" and "among them" are also ways to say who said it, and how."""
_ATTRIBUTION = re.compile(
    r"\b(?:said|says|according to(?! (?:its|his|her|their|whether|how)\b)|"
    r"told|stated|announced|reported|wrote|argued|claimed|described|called|confirmed|added|warned|"
    r"noted|estimated|believed?|say|testified|insisted|explained|suggested|acknowledged|admitted|declared|alleged\w*|commented|"
    r"expressed|emphasi[sz]ed|stressed|revealed|disclosed|asserted|accused|thought|considered|praised|criticised|criticized|condemned)\b",
    re.I,
)
_SAID = re.compile(
    r"\b(?:said|says|say|according to|(?<!were )(?<!was )told(?! (?:from|through|in)\b)|stated|announced|reported|"
    r"argued|claimed|warned|estimated|"
    r"testified|alleged|accused|believed?|insisted|admitted|acknowledged)\b",
    re.I,
)
"""What may not go: "is called" and "confirmed as" say no source."""
_SOURCED = re.compile(
    rf"{_ATTRIBUTION.pattern}|\b(?:recorded|measured|found|showed|issued|published|posted|data|figures)\b", re.I
)
"""What may become "according to"."""
_FOUND_THAT = re.compile(
    rf"(?:{_SOURCED.pattern}|\b(?:concluded|ruled|determined|learned|agreed|blamed|judged|proved|felt|hoped|feared)\b) that\b",
    re.I,
)
"""What comes behind is what somebody says or finds."""
_OPENERS = (
    "the a an in on at by of to for from with as after before during since while when where although though despite because if "
    "however it its he she his her they their this that these those there some many most several both each all one two three "
    "four five six seven eight nine ten eleven twelve among according following under over about around between within "
    "without until upon through throughout more less other others another no not only once also later earlier then thus "
    "meanwhile additionally subsequently initially officials police authorities people residents local national even based "
    "approximately nearly roughly like such so but yet given being having unlike apart rather just still together instead"
)
_OPENING_WORDS = frozenset(_OPENERS.split())
_CALENDAR = frozenset(
    name.lower()
    for name in (*calendar.month_name, *calendar.day_name, "Feb", "Aug", "Sept", "Oct", "Nov")  # "Jan" and "Sun" are names, too
    if name
)
_AGENT = re.compile(r"\w+(?:ed|en|ne|ge|t) by (?:the |a |an )?([a-z]{4,})(?=[ ,.])")
"""Who something was done by: "killed by soldiers", "a charge by police"."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What comparing a text with its facts found. `faults` make it unusable, each in words for the reader of a report.

    `new_words` is the share of the text's words that no fact has, by their stems.
    """

    faults: tuple[str, ...]
    new_words: float


def compare(text: str, facts: Sequence[str], title: str, also: Sequence[str] = ()) -> Finding:
    """Compare a text of one sentence or more with the facts that it is to say.

    Args:
        facts: what the text must say, and may say.
        title: of the article; its names and numbers may be used as well.
        also: the same facts in the words of other pages: what they hold is not added.
    """
    known = " ".join((*facts, title, *also))
    new, lost = _new_words(text, known), _lost(text, " ".join(facts))
    words = max(len(content_of(text)), 1)
    kept = _kept_share(text, " ".join(facts), len(new))
    faults = [*_form(text, facts), *_added(text, known), *_changed(text, facts), *_missing(text, facts, title, also)]
    if len(new) / words > MOST_NEW_WORDS:
        faults.append(f"many words that no fact has: {', '.join(sorted(new)[:6])}")
    own = name_words(title)
    if gone := [name for name in lost if not all(bare(w) in own for w in name.split()) and not _is_plain(name, facts)]:
        faults.append(f"lost: {', '.join(gone)}")
    if kept < LEAST_KEPT:
        faults.append(f"it says {kept:.0%} of its facts only")
    return Finding(tuple(faults), len(new) / words)


def faults_of_part(part: str, fact: str, title: str, also: Sequence[str] = ()) -> list[str]:
    """What is wrong with a sentence that is to say a part of a fact; what it leaves out is no fault."""
    known = " ".join((fact, title, *also))
    new = _new_words(part, known)
    faults = [*_form(part, (fact,)), *_added(part, known)]
    if len(new) > MOST_NEW_WORDS * max(len(content_of(part)), 1):
        faults.append(f"many words that no fact has: {', '.join(sorted(new)[:6])}")
    if _loses_its_source(part, fact):
        faults.append("who said it is gone")
    return faults


def _loses_its_source(part: str, fact: str) -> bool:
    """Whether a part states what the fact says that somebody found: "The dam opened too late" of "The report found that"."""
    found = _FOUND_THAT.search(fact)
    if found is None or _SOURCED.search(part) or _FOUND_THAT.search(part):
        return False
    words, before, behind = content_of(part), content_of(fact[: found.start()]), content_of(fact[found.end() :])
    return len(words & behind) > len(words & before)


def faults_of_parts(parts: Sequence[str], fact: str) -> list[str]:
    """What is wrong with sentences that are to say parts of a fact: what is gone from all of them though it makes the rest say
    something else, as a negation, a hedge and who said it do, and what came."""
    return _changed(" ".join(parts), (fact,))


def _is_plain(name: str, facts: Sequence[str]) -> bool:
    """Whether what looks like a name is a word, or a number, that only opened a sentence; "Duel" in "Tide: The Duel" is not."""
    opens = any(sentence.lstrip("“\"'").startswith(name) for fact in facts for sentence in split_sentences(fact))
    return (is_common(name) and opens) or (any(c.isdigit() for c in with_digits(name)) and name.isalpha())


LONGER = 1.8
"""Times the facts' length from which a text says more than they do."""
_ENDED = re.compile(r"[.!?][\"'”’)\]]*\Z")


def _form(text: str, facts: Sequence[str]) -> list[str]:
    """Whether it has the form of a sentence, and what a model says beside its answer."""
    faults, said = [], " ".join(facts)
    if not _ENDED.search(text):
        faults.append("does not end as a sentence")
    if is_own_talk(text) or re.match(r"(?:Facts?|Answer|Sentence|Note)s?:", text):
        faults.append("speaks of the writing")
    if has_personal_words(text) and not has_personal_words(said):
        faults.append("first or second person")
    if not text.isascii() and sum(c.isalpha() and ord(c) > 0x2FF for c in text) > sum(ord(c) > 0x2FF for c in said):
        faults.append("in another script")
    quoted = " | ".join(bare_words(quote) for quote in QUOTED.findall(said))
    if new := [q for q in QUOTED.findall(text) if not bare_words(q) or not (bare_words(q) in quoted or is_title(q, said))]:
        faults.append(f"in quotation marks, and no fact quotes it: {new[0]}")
    words = bare_words(text).split()
    triples, had = _triples(words), _triples(bare_words(said).split())
    if any(n > max(had[three], 1) for three, n in triples.items()):
        faults.append("repeats itself")
    if len(words) > LONGER * max(len(said.split()), 8):
        faults.append("much longer than its facts")
    return faults


def _triples(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(zip(words, words[1:], words[2:], strict=False))


def _missing(text: str, facts: Sequence[str], title: str, also: Sequence[str]) -> list[str]:
    """The title's capitals, who something was done by, or what a number of the title belongs to, where the text lacks them."""
    said, plain = " ".join(facts), text.lower()
    held = " ".join((*facts, *also))
    faults = []
    name = re.sub(r" ?\([^)]*\)", "", title)
    if name in said and name not in text and name.lower() in plain:  # "the well" for "The Well"
        faults.append("the title has lost a capital")
    # "The 2031 Tour" for "the Tour" is its name; "in 2031" is a date that no fact has.
    words = re.findall(r"\w+", title)
    for n, number in enumerate(words):
        if not number.isdigit() or not re.search(rf"\b{number}\b", text) or re.search(rf"\b{number}\b", held):
            continue
        beside = [" ".join(pair) for pair in (words[max(n - 1, 0) : n + 1], words[n : n + 2]) if len(pair) == 2]
        if not any(pair in " ".join(re.findall(r"\w+", text)) for pair in beside):
            faults.append(f"a number of the title alone: {number}")
    if gone := [who for who in _AGENT.findall(said.lower()) if plain.count(who) < said.lower().count(who)]:
        faults.append(f"lost who did it: {', '.join(gone)}")
    return faults


# --- what was added ------------------------------------------------------------------------------------------------------


def _acts_instead(text: str, known: str) -> list[str]:
    """Who acts in the text alone, he or she, where the facts know both.

    "She drew it away from him" and "he drew it away from her" have the same pronouns.
    """
    if "who" in known or not all(pronouns.search(known) for pronouns in PRONOUNS):
        return []
    acting = [set(re.findall(r"\b(?:he|she)\b", one.lower())) for one in (text, known)]
    return sorted(acting[0] - acting[1])


def _added(text: str, known: str) -> list[str]:
    faults = []
    held = figures(known, as_evidence=True)
    if new := sorted(figures(text) - held):
        faults.append(f"added: {', '.join(new)}")
    words = name_words(known)
    if strange := [name for name in proper_words(text) if not _is_named(name, words)]:
        faults.append(f"a name that no fact has: {', '.join(strange)}")
    faults += [
        f"a pronoun of another kind: {match.group()}"
        for pronouns in PRONOUNS
        if (match := pronouns.search(text)) and not pronouns.search(known)
    ]
    faults += [f"another one does it: {who}" for who in _acts_instead(text, known)]
    if text.count("(") > known.count("("):
        faults.append("a parenthesis came")
    if _ATTRIBUTION.search(text) and not _SOURCED.search(known) and re.search(r"\baccording to\b", text, re.I):
        faults.append("it names a source that no fact names")
    return faults


def _is_named(name: str, words: frozenset[str]) -> bool:
    """Whether facts name it, whole or in parts: "Jahres-winning" for "the Spiel des Jahres winning"."""
    parts = name.split("-")
    return bare(name) in words or (len(parts) > 1 and all(part[:1].islower() or bare(part) in words for part in parts))


def proper_words(text: str) -> list[str]:
    """Capitalised words that are names by their place: inside a sentence, or opening one without being a common word."""
    found = []
    for sentence in split_sentences(text):
        for n, match in enumerate(WORD.finditer(sentence)):
            word = match.group()
            if not word[0].isupper() or bare(word) in _CALENDAR:
                continue
            opens = n == 0 or sentence[: match.start()].rstrip().endswith(("“", '"', ":"))
            if not (opens and bare(word) in _OPENING_WORDS):
                found.append(word)
    return found


def _new_words(text: str, known: str) -> set[str]:
    held = content_of(known)
    return {word for word in content_of(text) if word not in held}


# --- what was changed or lost --------------------------------------------------------------------------------------------


def _changed(text: str, facts: Sequence[str]) -> list[str]:
    said = QUOTED.sub(" ", " ".join(facts)).replace("–", "-")
    text = QUOTED.sub(" ", text).replace("–", "-")
    faults = []
    # The title's, behind another name. What stood in one may be said otherwise in one.
    if "(" not in said and "(" in text:
        faults.append("a parenthesis came")
    # Counted: "with some traits but others" has lost one of two.
    before, after = len(_NEGATION.findall(said)), len(_NEGATION.findall(text))
    if after < before:
        faults.append("a negation is gone")
    elif after and not before:
        faults.append("a negation came")
    for name, words in _HEDGES:
        before, after = bool(words.search(said)), bool(words.search(text))
        if before and not after:
            faults.append(f'"{name}" is gone')
        elif after and not before and name not in _MAY_COME:
            faults.append(f'"{name}" came')
    for match in _OF_ALL.finditer(said):
        stems = frozenset(terms(match[2]))
        if match[1].lower() in text.lower() and stems and not stems & content_of(text):
            faults.append(f"of what it is the {match[1]} is gone: {match[2]}")
    if _SAID.search(said) and not _ATTRIBUTION.search(text):
        faults.append("who said it is gone")
    if (when := _SAID_WHEN.search(said)) and not re.search(
        rf"\b(?:In|On) {when[1]}|\w+ed in {when[1]} that|said in {when[1]}", text
    ):
        faults.append(f"when it was said is lost: {when[1]}")
    faults += [f"said of something else: {subject} {what}" for subject, what in sorted(_said_of_another(text, said))]
    if new := sorted(set(_CURRENCY.findall(text)) - set(_CURRENCY.findall(" ".join(facts)))):
        faults.append(f"another currency: {', '.join(new)}")
    came = {w.lower() for w in _TIME_WORDS.findall(_NO_TIME.sub(" ", text))} - {w.lower() for w in _TIME_WORDS.findall(said)}
    if new := sorted(word for word in came if not any(word in words and others.search(said) for words, others in _SAME_TIME)):
        faults.append(f"another order in time: {', '.join(new)}")
    times, were = Counter(_numbers(text)), Counter(_numbers(said))
    if new := [number for number, n in times.items() if n > max(were[number], 1)]:
        faults.append(f"said twice: {', '.join(new)}")
    counts = [counted(fact, wide=True) for fact in facts]
    for number, noun in counted(text, wide=False).items():
        nouns = [c[number] for c in counts if number in c]
        if nouns and noun and all(old and not (noun & old) for old in nouns):
            faults.append(f"{number} counts something else")
    return faults


_IS = re.compile(r"\b([A-Za-z’'-]+) ((?:was|were|is|are) (?:too |not |also )?[a-z]{3,})\b")


def _said_of_another(text: str, said: str) -> set[tuple[str, str]]:
    """(subject, predicate) of the text where the facts say the predicate of another word.

    "The hall was too small" for "in front of the hall, because the chamber was too small".
    """
    subjects: dict[str, set[str]] = {}
    for subject, what in _IS.findall(said):
        subjects.setdefault(what, set()).add(stem_of(subject.lower()))
    there = {stem_of(word.lower()) for word in WORD.findall(said)}
    return {
        (subject, what)
        for subject, what in _IS.findall(text)
        if what in subjects
        and stem_of(subject.lower()) not in subjects[what]
        # A pronoun or a synonym may stand there; a word that the facts have elsewhere has taken another's place.
        and stem_of(subject.lower()) in there
        and subject.islower()
        and subject not in _NO_SUBJECT
        and all(other.isalpha() and other not in _NO_SUBJECT for other in subjects[what])
    }


_OF_ALL = re.compile(
    r"\b(only|second|third|fourth|fifth|most|best|worst|[a-z]{2,}est)\b(?: [\w’'-]+){0,5}?"
    r" (?:in|of|on|among) ((?:the )?(?:[A-Z][\w’'-]+(?: [A-Z][\w’'-]+){0,3}|world|country|nation|state|region|city|century))"
)
"""What somebody is the largest of: "the largest airship in America" is not "the largest airship"."""
_NO_SUBJECT = frozenset((
    "it", "he", "she", "they", "who", "which", "that", "there", "this", "these", "those", "and", "or", "but", "also", "one",
    "what", "where", "when", "as", "so", "not", "both", "all",
))  # fmt: skip
_SAID_WHEN = re.compile(r"\b(?:said|announced|reported|estimated|confirmed) (?:in|on) ((?:\w+ )?\d{4}) that\b")
"""The day belongs to the saying: "said in February 2032 that it had paid" is not "said that it had paid in February 2032"."""
_CURRENCY = re.compile(
    r"[$€£¥₹]|\b(?:dollars?|euros?|pounds?|yen|yuan|rupees?|crowns?|pesos?|roubles?|rubles?|francs?)\b", re.I
)
_TIME_WORDS = re.compile(
    r"\b(?:until|till|before|after|since|by(?= (?:\d|early|late|mid|the (?:end|start)|January|February|March|April|May|June|"
    r"July|August|September|October|November|December)\b)|between|later|earlier|ago)\b",
    re.I,
)
"""What says when one thing happened beside another: a new one is a new claim."""
_NO_TIME = re.compile(r"\bnamed after\b|\bbetween(?= (?:\w+ )?\d[\w,]* and (?:\w+ )?\d)", re.I)
"""Whose name it has is no time, and from when to when the figures say, which are compared."""
_SAME_TIME = (
    (frozenset(("after", "later")), re.compile(r"\b(?:after(?:wards)?|later|following|subsequent(?:ly)?)\b", re.I)),
    (frozenset(("before", "earlier")), re.compile(r"\b(?:before|earlier|previous(?:ly)?|prior|former(?:ly)?)\b", re.I)),
)
"""Words that say the same: (those, the words that they may stand for)."""


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d[\d,.:]*\d|\d", text)


def _lost(text: str, said: str) -> list[str]:
    """Figures and names of the facts that are not in the text; of a name of several words any one is enough."""
    lost = sorted(figures(said) - figures(text, as_evidence=True))
    held = name_words(text)
    outside = QUOTED.sub(" ", said)
    names = [word for word in proper_words(outside) if bare(word) not in _OPENING_WORDS]
    groups = runs_of(names, outside)
    lost += [" ".join(group) for group in groups if not any(bare(word) in held for word in group)]
    return lost


def _kept_share(text: str, said: str, n_new: int) -> float:
    wanted, held = content_of(said), content_of(text)
    return min((len(wanted & held) + n_new) / max(len(wanted), 1), 1.0)


# --- copying -------------------------------------------------------------------------------------------------------------


def copied_runs(text: str, facts: Sequence[str]) -> tuple[float, int]:
    """(share of the text's words in runs of five or more that a fact holds, longest run in words), quotations apart."""
    sources = [tuple(bare_words(fact).split()) for fact in facts]
    named = {bare(word) for fact in facts for word in proper_words(fact) if bare(word) not in _OPENING_WORDS}
    total = covered = longest = 0
    for part in QUOTED.split(text):
        words = bare_words(part).split()
        total += len(words)
        marks = [False] * len(words)
        for source in sources:
            for start, length in common_runs(words, source):
                longest = max(longest, sum(not _is_fixed(word, named) for word in words[start : start + length]))
                if length >= SHORT_RUN:
                    marks[start : start + length] = [True] * length
        covered += sum(marks)
    return (covered / total if total else 0.0), longest


def _is_fixed(word: str, named: set[str]) -> bool:
    """Whether a word is part of a name, a number or a date."""
    return any(c.isdigit() for c in word) or bare(word) in named or word in _CALENDAR

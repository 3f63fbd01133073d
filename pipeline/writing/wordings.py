"""Where a sentence can be said otherwise, word by word: a row of places, each with the wordings that may be there.

A language model chooses among them (`decoding.grounding.wordings`), so that its sentence is fluent and cannot come to mean
something else. Replacements are in wordings.txt and in the few patterns below; both are English.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pipeline.choosing.verbs import has_verb
from pipeline.writing.wording_limits import limits

WORDINGS_FILE = Path(__file__).with_name("wordings.txt")

Place = tuple[str, ...]
"""Texts that may be here, with the space before them; the sentence's own first. One text: no choice."""

_FIRST_WORD = re.compile(r"[A-Za-z][a-zA-Z’'-]*")
_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|‘[^’]*’|\([^)]*\)")
_DETERMINERS = frozenset(
    ("a", "an", "the", "its", "his", "her", "their", "this", "these", "those", "our", "of", "no", "some", "any")
)
_AUXILIARIES = frozenset(("was", "were", "been", "has", "have", "had", "be", "is", "are", "being", "having", "get", "got"))
_BEFORE_BASE = frozenset(("to", "will", "would", "can", "could", "may", "might", "must", "should", "not", "did"))
_VOWEL = re.compile(r"(?!one\b|uni|us[aeu]|eu)[aeiou]|hour|honou?r")

Form = Literal["base", "past", "participle", "ing", "plain"]


@dataclass(frozen=True, slots=True)
class _Wording:
    """`other` may be where `pattern` matches. For a past `twin` is the other verb's participle, for a participle its past:
    where they differ, the words around decide which of the two it is."""

    pattern: re.Pattern[str]
    other: str
    form: Form
    twin: str = ""


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    others: tuple[str, ...]


def places(sentence: str) -> tuple[Place, ...]:
    """The sentence as a row of places; joined, the first texts are the sentence. Quotations have no choice."""
    held = [m.span() for m in _QUOTED.finditer(sentence)]
    spans = [s for s in (*_by_pattern(sentence), *_by_word(sentence)) if not any(a < s.end and s.start < b for a, b in held)]
    row: list[Place] = []
    at = 0
    for span in sorted(spans, key=lambda s: (s.start, -(s.end - s.start))):
        if span.start < at:
            continue
        span = _with_space(_with_article(sentence, span, at), sentence, at)
        row += _plain(sentence[at : span.start])
        row.append(tuple(dict.fromkeys((sentence[span.start : span.end], *span.others))))
        at = span.end
    return (*row, *_plain(sentence[at:]))


def _plain(text: str) -> tuple[Place, ...]:
    """Words that stay, one a place: the rule counts them."""
    return tuple((piece,) for piece in re.findall(r"\s*\S+|\s+\Z", text))


def _with_article(sentence: str, span: _Span, at: int) -> _Span:
    """With the article before it, which a wording may change."""
    article = re.search(r"(?<![\w’'-])([Aa]n?) \Z", sentence[at : span.start])
    if not article:
        return span
    big = article[1][0]
    others = tuple(
        f"{big}{'n' if _VOWEL.match(text) else ''} {text}"
        for text in span.others
        if text and not text.startswith(("a ", "the "))
    )
    return _Span(at + article.start(1), span.end, others)


def _with_space(span: _Span, sentence: str, at: int) -> _Span:
    """With the space before it, as the tokens of most models have it; a wording of nothing takes it away, too."""
    if span.start > at and sentence[span.start - 1] == " ":
        return _Span(span.start - 1, span.end, tuple(f" {text}" if text else "" for text in span.others))
    return span


# --- by word -------------------------------------------------------------------------------------------------------------


def _by_word(sentence: str) -> Iterator[_Span]:
    low = sentence[:1].lower() + sentence[1:]
    for word in _FIRST_WORD.finditer(low):
        before = low[: word.start()]
        if before and before[-1] not in " (":
            continue
        found: dict[int, list[str]] = defaultdict(list)
        for wording in _table().get(word.group(), ()):
            match = wording.pattern.match(low, word.start())
            if not match or (other := _fits(wording, before.split(), low[match.end() :])) is None:
                continue
            if _is_allowed(match.group(), other, sentence[: word.start()], low[match.end() :]):
                found[match.end()].append(other)
        if found:
            end = max(found)
            others = found[end] if before else [text[:1].upper() + text[1:] for text in found[end] if text]
            if others:
                yield _Span(word.start(), end, tuple(others))


def _is_allowed(old: str, new: str, before: str, after: str) -> bool:
    limit = limits().get((old.strip().lower(), new.strip().lower()))
    return limit is None or limit.allows(before, after)


def _fits(wording: _Wording, before: list[str], after: str) -> str | None:
    """What may be here, if the words around do not forbid it."""
    last = before[-1].lower() if before else ""
    if wording.form == "plain":
        return wording.other
    if wording.form == "base":
        return wording.other if last in _BEFORE_BASE else None
    if last in _DETERMINERS or last.endswith(("’s", "'s")) or (wording.form == "ing" and re.match(r" of\b", after)):
        return None
    if wording.form == "ing":
        return wording.other
    earlier = before[-2].lower() if len(before) > 1 else ""
    passive = last in _AUXILIARIES or (
        earlier in _AUXILIARIES and (last.endswith("ly") or last in ("also", "not", "later", "first"))
    )
    if wording.twin == wording.other:
        return wording.other
    if passive or re.match(r" by\b", after):
        return wording.other if wording.form == "participle" else None
    # Without an auxiliary it may be a participle all the same ("the actor chosen for it"), or a past without an object ("it
    # began well"): only an object tells. "Decided to" is the past wherever it stands.
    has_object = wording.other.endswith(" to") or bool(re.match(r" (?:the|an?|its|his|her|their|that|to|[A-Z\d])", after))
    return wording.other if has_object and wording.form == "past" else None


@cache
def _table() -> dict[str, tuple[_Wording, ...]]:
    """By first word."""
    found: dict[str, list[_Wording]] = defaultdict(list)
    for line in WORDINGS_FILE.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        kind, body = (line[0], line[3:]) if line[1:3] == ": " else ("", line)
        left, both, right = re.match(r"(.+?) ([=>]) ?(.*)", body).groups()  # type: ignore[union-attr]  # a line of the file
        for one, form, other, twin in _forms(kind, left, right):
            found[_first(one)].append(_Wording(_compiled(one), other, form, twin))
        if both == "=":
            for one, form, other, twin in _forms(kind, right, re.sub(r"\(\?=.*?\)+", "", left).strip()):
                if kind != "v" or form != "base":  # on the right many bases are nouns as well
                    found[_first(one)].append(_Wording(_compiled(one), other, form, twin))
    return {word: tuple(wordings) for word, wordings in found.items()}


@cache
def listed_words() -> frozenset[str]:
    """All words of the wordings: each is English, however rare."""
    texts = (w.other for wordings in _table().values() for w in wordings)
    return frozenset(word for text in texts for word in text.split())


def _first(phrase: str) -> str:
    return re.split(r"[ (]|\Z", phrase, maxsplit=1)[0]


def _compiled(phrase: str) -> re.Pattern[str]:
    if "(?=" in phrase:  # what must follow, and the space before it, stay
        return re.compile(phrase.replace(" (?=", "(?= "))
    return re.compile(phrase.replace(".", r"\.") + r"(?![\w’'-])")


def _forms(kind: str, left: str, right: str) -> Iterator[tuple[str, Form, str, str]]:
    if kind == "n":
        for one, other in zip(_numbers(left), _numbers(right), strict=True):
            yield one, "plain", other, ""
    elif kind == "v":
        mine, theirs = _conjugated(left), _conjugated(right)
        yield mine[0], "base", theirs[0], ""
        if mine[1] != mine[0]:
            yield mine[1], "past", theirs[1], theirs[2]
        if mine[2] != mine[0]:
            # "delivered" may be the past as well, and stands for "gave" then; "written" is a participle wherever it stands
            yield mine[2], "participle", theirs[2], theirs[1] if mine[1] == mine[2] else theirs[2]
        yield mine[3], "ing", theirs[3], ""
    else:
        yield left, "plain", right, ""


def _numbers(noun: str) -> tuple[str, str]:
    one, _, many = noun.partition("/")
    return one, many or _plural(one)


def _plural(noun: str) -> str:
    if re.search(r"[^aeiou]y\Z", noun):
        return noun[:-1] + "ies"
    return noun + ("es" if re.search(r"(?:s|x|z|ch|sh)\Z", noun) else "s")


def _conjugated(verb: str) -> tuple[str, str, str, str]:
    """Base, past, participle, -ing; what is behind the verb itself stays."""
    base, *irregular = verb.split("/")
    head, _, rest = base.partition(" ")
    tail = f" {rest}" if rest else ""
    if not irregular and head == "first":  # "first appear"
        _, past, participle, ing = _conjugated(rest)
        return base, f"{head} {past}", f"{head} {participle}", f"{head} {ing}"
    stem = head[:-1] if head.endswith("e") else head
    doubled = (
        stem + stem[-1]
        if re.fullmatch(r"(?:[^aeiou]*[aeiou][bdgmnprt]|begin|commit|permit|compel|cancel|occur)", head)
        else stem
    )
    past = irregular[0] if irregular else (head[:-1] + "ied" if re.search(r"[^aeiou]y\Z", head) else doubled + "ed") + tail
    participle = irregular[1] if len(irregular) > 1 else past
    return base, past, participle, doubled + "ing" + tail


# --- by pattern ----------------------------------------------------------------------------------------------------------

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_STARTS_NOUN = r"(?:the|an?|it|he|she|they|there|his|her|its|their|no|some|many|most|all|both|this|these)"
_ALONE = r"(?<!and )(?<!to )(?<!or )(?<!-)(?<!–)(?<!/)"
"""Before a day: of "12 and 15 March" only the second has its month."""
_PARTICIPLE = r"(?:used|built|held|made|written|designed|founded|published|located|signed)"
_PREPOSITION = r"(?:in|on|at|by|as|to|for|from|with)"
_OF_THINGS = (
    "population|capital|mayor|residents|centre|center|history|government|president|leader|owner|members?|name|roof|walls?|"
    "surface|entrance|construction|completion|opening|closure|release|success|failure|ending|finale|premiere|plot|title|cast|"
    "director|producers?|writers?|editor|author|members|crew|captain|pilot|future|past|growth|economy|culture|people|army|"
    "council|parliament|constitution|founder|founders|headquarters|budget|results?|outcome|winner|size|length|height|weight"
)
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), other)
    for pattern, other in (
        # a clause after a verb of saying opens with or without "that"; "said in May" would tell when it was said
        (rf"(?<=[a-z] )(said|says) that (?={_STARTS_NOUN} )", r"\1 "),
        (rf"(?<=[a-z] )(said|argued|claimed) (?={_STARTS_NOUN} )", r"\1 that "),
        # relative clauses without their verb, but for "all that was held"
        (rf"(?<!\b[Aa]ll)(?<!thing)(?<!\bit)(?<!what)(?<!they) (?:that|which) (?:was|were) "
         rf"(?={_PARTICIPLE} {_PREPOSITION}\b)", " "),
        # dates: both orders are used
        (rf"\b({_MONTHS}) (\d{{1,2}}), (\d{{4}}),(?= {_PREPOSITION} )", r"\2 \1 \3"),
        (rf"\b({_MONTHS}) (\d{{1,2}}), (\d{{4}})\b", r"\2 \1 \3"),  # the comma behind it may end a clause
        (rf"{_ALONE}\b(\d{{1,2}}) ({_MONTHS}) (\d{{4}})\b(?=[,. ])", r"\2 \1, \3"),
        (rf"\b({_MONTHS}) (\d{{1,2}})(?:st|nd|rd|th)?\b(?!,? ?\d|:|[.]\d|–|-| (?:and|to|or)\b)", r"\2 \1"),
        (rf"{_ALONE}\b(\d{{1,2}})(?:st|nd|rd|th)? ({_MONTHS})\b(?! \d)", r"\2 \1"),
        (r"\bin the year (?=\d{4})", "in "),
        # of and 's
        (rf"\b([Tt])he ([a-z]+)[’']s ({_OF_THINGS})\b(?=[,.;]| (?:was|were|is|are|had|has|in|on|at|by|to|and|for|as|of)\b)",
         r"\1he \3 of the \2"),
        (rf"\b([Tt])he ({_OF_THINGS}) of the ([a-z]+)(?<!s)(?=[,.;]| (?:was|were|is|are|had|has)\b)", r"\1he \3's \2"),
        # two plurals in either order; a word before them could belong to the first alone
        (r"(?<=(?:with|from| for|ween) )([a-z]{3,}s) and ([a-z]{3,}s)(?=[,.;]| (?:in|on|at|by|from|to|were|are|who)\b)",
         r"\2 and \1"),
    )
)  # fmt: skip
_AFTER = re.compile(
    r"(?<!\bone )(?<!named )(?<!looks )(?<!looked )(?<!soon )(?<!shortly )(?<!years )(?<!year )(?<!days )(?<!day )(?<!months )"
    r"(?<!month )(?<!weeks )(?<!week )(?<!hours )(?<!minutes )(?<!go )(?<!goes )(?<!going )(?<!went )(?<!come )(?<!comes )"
    r"(?<!coming )(?<!came )(?<!look )(?<!looking )(?<!took )(?<!takes )(?<!take )(?<!taking )(?<!run )(?<!only )\b([Aa]fter) "
    r"((?:the|an?|its|his|her|their|each|this)\b(?! (?:mid|early|late|second|third|few|couple|year|month|week|day|decade|while"
    r"|time)\b)[^,.;:]*)"
)
"""Not "three days after" nor "named after"."""


_NAMED_AFTER = re.compile(
    r"\b(?:nam(?:e|es|ed|ing)|call(?:ed|s)?|model+ed|patterned|look(?:s|ed)?|taken?) (?:[\w’'-]+ ){1,6}\Z"
)
"""Wanted to "name the bridge after the mayor"."""


def _by_pattern(sentence: str) -> Iterator[_Span]:
    for pattern, other in _PATTERNS:
        for match in pattern.finditer(sentence):
            said = match.expand(other)
            if said.endswith(" that ") and not has_verb(sentence[match.end() :].split()[:12]):
                continue  # "said the mayor"
            if match.start() == 0:
                said = said[:1].upper() + said[1:]
            # spaces at either end belong to the neighbours
            left = len(match.group()) - len(match.group().lstrip())
            right = len(match.group()) - len(match.group().rstrip())
            if said.strip() == match.group().strip() or (not said.strip() and match.start() == 0):
                continue
            if _is_allowed(match.group(), said, sentence[: match.start()], sentence[match.end() :]):
                yield _Span(match.start() + left, match.end() - right, (said.strip(),))
    for match in _AFTER.finditer(sentence):
        if _NAMED_AFTER.search(sentence[: match.start()]):
            continue
        # Before a clause it would be "following the levee broke"; a comma may be one of a list of its subjects.
        clause = match[2] if match[1] == "After" else re.split(r"[.;:]", sentence[match.start(2) :])[0]
        if not has_verb(f"the {clause}".split()[:16]):
            other = "Following" if match[1] == "After" else "following"
            if not _is_allowed(match[1], other, sentence[: match.start(1)], sentence[match.end(1) :]):
                continue
            yield _Span(match.start(1), match.end(1), (other,))

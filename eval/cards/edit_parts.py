"""What edits of sentences share: the result, what surrounds a sentence, and how names, numbers and verbs are found in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from eval.judges.edit_words import MONTHS, WEEKDAYS, words_of
from eval.judges.features import STOPWORDS

Span = tuple[int, int]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Edited:
    """`spans`: (start, end) in characters of `text`, in order; empty for a true edit."""

    text: str
    kind: str
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What surrounds the sentence. `page`: text that names come from. `others`: sentences that the premise does not hold.
    `following`: the sentence after it, which the premise holds, or ""."""

    page: str = ""
    others: tuple[str, ...] = ()
    following: str = ""


ALONE = Context()
"""Nothing surrounds the sentence."""

Edit = Callable[[str, Random, Context], Edited | None]
MONTH = "|".join(MONTHS)
DAY = "|".join(WEEKDAYS)
NUMBER = re.compile(
    r"(?<![\w.,/:–-])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w/:–-])|"
    r"(?<![\w.,/:–-])\d+(?:\.\d+)?(?![\w/:–-]|[.,]\d)"
)
YEAR = re.compile(
    r"(?<![\w.,/:–$£€-])(?:1[0-9]|20)\d\d(?![\w/:–-]|[.,]\d| (?:people|men|women|km|miles|feet|meters|metres|tons))"
)
CAP = r"(?:[A-Z]\.|[A-Z][\w'’]*[\w](?:-[A-Z]\w+)*)"
NAME = re.compile(rf"(?<![\w-]){CAP}(?: (?:(?:of|de|the|van|von|al) )?{CAP})*(?![\w-])")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
AUXILIARIES = words_of("""
    is was were are has have had will can could would should may might did does do
""")
AUX = re.compile(rf"\b(?:{'|'.join(AUXILIARIES)})\b")
NEGATED = re.compile(r"\b(?:not|no|never|none|nor|neither|cannot|nobody|nothing|without|hardly|barely)\b|n['’]t\b", re.I)
HEDGED = re.compile(
    r"\b(?:if|unless|except|but|only|would|could|should|may|might|all|every|each|first|last|most|least|whether|"
    r"allegedly|reportedly"
    r"|possibly|probably|perhaps|claim\w*|believ\w+|alleg\w+|suspect\w+|deni\w+|den(?:y|ies)|fail\w*|false\w*|"
    r"fictional|planned"
    r"|attempt\w*|than|until|few|rather|instead|some|sometimes|often|usually|either|both|accus\w+|expect\w*|w\w+st|"
    r"\w{3,}est)\b",
    re.I,
)
NOT_A_NAME = frozenset([*MONTHS, *WEEKDAYS, "I", "AD", "BC", "CE", "BCE", "Chapter", "Section", "Figure", "Table"])


def replace_at(text: str, at: Span, new: str, kind: str) -> Edited:
    """Its span is the new text; nothing changed, or nothing put in: the caller's mistake."""
    return Edited(text[: at[0]] + new + text[at[1] :], kind, ((at[0], at[0] + len(new)),))


def drop_words(text: str, at: Span, kind: str) -> Edited | None:
    """Take the words at `at` away with the space behind them. The span is the word that now follows, else the one before."""
    start, end = at
    while end < len(text) and text[end] == " ":
        end += 1
    kept = text[:start] + text[end:]
    if start == 0 and kept[:1].islower():
        kept = kept[0].upper() + kept[1:]
    match = WORD_OR_NUMBER.search(kept, start) or None
    if match is None or match.start() > start + 3:
        before = list(WORD_OR_NUMBER.finditer(kept, 0, start))
        match = before[-1] if before else match
    return Edited(kept, kind, (match.span(),)) if match else None


WORD_OR_NUMBER = re.compile(r"[$£€]?\w+(?:[.,'’-]\w+)*")


def one_of(rng: Random, items: Iterable[T]) -> T | None:
    found = list(items)
    return rng.choice(found) if found else None


def with_capitals_of(new: str, old: str) -> str:
    """`new` with the capitals of `old`."""
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def body_and_end(text: str) -> tuple[str, str]:
    """The sentence and the punctuation that ends it."""
    stripped = text.rstrip()
    match = re.search(r"\s*([.!?]+[\"”’')]*)$", stripped)
    return (stripped[: match.start()], match.group(1)) if match else (stripped, "")


def balanced(text: str) -> bool:
    return (
        text.count('"') % 2 == 0
        and text.count("“") == text.count("”")
        and text.count("(") == text.count(")")
        and not re.search(r"(?:^|\s)['‘]\w", text)
    )


def run_on(sentence: str, page: str = "") -> str:
    """The sentence as it runs on after other words: the first letter small, unless the first word is a name."""
    match = _WORD.match(sentence)
    if match is None:
        return sentence
    word = match.group()
    low = word.lower()
    if word in ("I",) or (word.isupper() and len(word) > 1):
        return sentence
    if re.match(r" [A-Z]", sentence[match.end() :]) and low not in STOPWORDS | OPENERS:
        return sentence
    if low in STOPWORDS or low in OPENERS or re.search(rf"(?<![\w.]){re.escape(low)}(?!\w)", page + sentence[match.end() :]):
        return low[0] + sentence[1:]
    return sentence


OPENERS = frozenset(
    words_of("""
    today later earlier often many several most some others another two three four five since despite
    following according although while when after before during because no not next then first finally without
    like unlike between every
""")
)


def starts_plainly(sentence: str) -> bool:
    """May something come before it? Not before a quotation, a heading or a list item."""
    return bool(re.match(r"[A-Z][\w'’,-]* ", sentence)) and not sentence.rstrip().endswith(("?", "!"))


def names(text: str) -> list[re.Match[str]]:
    """Runs of capitalised words inside the sentences of a text; months, weekdays and function words are none."""
    found = (m for m in NAME.finditer(text) if re.search(r"[\w,;] $", text[max(0, m.start() - 2) : m.start()]))
    return [m for m in found if m.group().split()[0].lower() not in STOPWORDS and not NOT_A_NAME & set(m.group().split())]

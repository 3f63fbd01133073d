"""What judges look at in words: the overlap of a claim with the best sentences of its premises.

Words are compared as lower-cased, accent-free Porter stems, so bare premises (the benchmark's cited pages: no capitals,
no punctuation) match like any other. Short months and weekdays, ordinals and the two commonest abbreviations of countries
are written out first. What counts as a name is read from the capitals of the *claim* and looked up in the
evidence case-insensitively. Numbers are compared as digits without separators, which is what bare text leaves of them
("1,200" and "3.5" become 1200 and 35). Length and number of the premises are not features: they say how evidence was
cut, not whether it supports.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from data.passages import sentence_spans
from eval.text import porter_stem

VERSION = "lex4"
"""Changes whenever the same text could give other features or vetoes; part of the judge's revision."""

FEATURES = (
    "cov_all", "cov_best", "cov_top3", "bigram_all", "missing_second",
    "missing_names", "missing_numbers", "any_number_missing", "any_number_word_missing",
)  # fmt: skip
"""Coverage, which speaks for support, and missing words, which speak against. Tried and left out, because their
coefficients had the wrong sign or moved the AUROC by less than 0.003: the largest weight missing, missing years, names
missing in the best sentence, coverage of the worst clause, the longest run of missing words, longest common subsequence,
trigrams, length of the claim."""

BEST_SENTENCES = 12
JOINT_SENTENCES = 24
"""A premise takes part with its 12 best sentences; several share 24, but each keeps 4."""

LONGEST_SENTENCE = 60
"""Words. Text without full stops is read in windows of at most this size."""

# Not the list of `eval.text`: the fitted coefficients hold for this one, and numbers and negations must stay out of it.
_STOPWORDS = """
    a about above after again against all also although am among an and another any are as at be because been before being
    below between both but by can could did do does doing down during each either for from further had has have having he
    her here hers herself him himself his how however i if in including into is it its itself just may me might more most
    much must my myself of off on once one only or other our ours ourselves out over own per said same she should since so
    some such than that the their theirs them themselves then there these they this those though through thus to too under
    until up upon us very was we were what when where whether which while who whom whose why will with within would you your
    yours yourself yourselves"""
STOPWORDS = frozenset(_STOPWORDS.split())
_NEGATION = re.compile(
    r"not|no|never|none|nor|neither|cannot|without|nobody|nothing|nowhere"
    r"|(?:do|does|did|is|are|was|were|has|have|had|ca|could|wo|would|should|must|need|ai)n'?t"
)
_NOT_ONLY = frozenset(["only", "just", "least", "merely"])

_TOKEN = re.compile(r"\d+(?:[.,]\d+)+|(?:[^\W\d_]\.){2,}(?:[^\W\d_]\b)?|[^\W_]+(?:'[^\W_]+)*")  # 1,200; U.S.; O'Regan
_DIGITS = re.compile(r"\d+")
_MARKER = re.compile(r"\[\d+(?:\s*[,–-]\s*\d+)*\]")
_STARTS_SENTENCE = re.compile(r"(?:^|[.!?:;\n])[\s\"“”‘(\[=]*$")
_CARDINALS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_NUMBER_WORDS: Mapping[str, str] = (
    {word: str(n) for n, word in enumerate(_CARDINALS.split())}
    | {word: str(20 + 10 * n) for n, word in enumerate(_TENS.split())}
    | {word: str(n) for n, word in enumerate(_ORDINALS.split())}
)
_SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_MONTHS = "january february march april june july august september october november december"
_SHORT_DATES: Mapping[str, str] = {month[:3]: month for month in _MONTHS.split()} | {
    "sept": "september", "tue": "tuesday", "tues": "tuesday", "wed": "wednesday", "thu": "thursday", "thur": "thursday",
    "thurs": "thursday", "fri": "friday",
}  # fmt: skip
_COUNTRIES = (
    (re.compile(r"\bUnited States(?: of America)?\b|\bU\. ?S\.(?: ?A\.)?|\bU\.S\b|\bUS\b"), "USA"),  # "us" is a stop word
    (re.compile(r"\bUnited Kingdom\b|\bU\. ?K\."), "UK"),
)

Weight = Callable[[str], float]
"""Stem -> how much it says; see `LexicalJudge`."""


class Token(NamedTuple):
    """`text` as written without accents; `content` is false for stop words and negations; `name`: capitalised mid-sentence."""

    text: str
    stem: str
    content: bool
    name: bool
    negation: bool


class Number(NamedTuple):
    """A number of a text. `accepts`: digit strings that support it when found in evidence; `offers`: those it supports."""

    written: str
    stem: str
    accepts: frozenset[str]
    offers: frozenset[str]
    in_digits: bool


@dataclass(frozen=True, eq=False)
class Unit:
    """A claim, or one sentence or window of evidence, analysed once. The text is whole: nothing is ever cut off."""

    text: str
    tokens: tuple[Token, ...]
    compounds: tuple[tuple[str, frozenset[str]], ...] = ()
    """Hyphenated words: the stem that they have in bare text, written as one, and the stems of their parts."""

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """Content stems in order, repeats kept."""
        return tuple(token.stem for token in self.tokens if token.content)

    @cached_property
    def stem_set(self) -> frozenset[str]:
        return frozenset(self.stems)

    @cached_property
    def bigrams(self) -> frozenset[tuple[str, str]]:
        return frozenset(zip(self.stems, self.stems[1:], strict=False))

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(token.stem for token in self.tokens if token.name)

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        return tuple(_numbers(self.tokens))

    @cached_property
    def offered_numbers(self) -> frozenset[str]:
        return frozenset(value for number in self.numbers for value in number.offers)

    @cached_property
    def negated(self) -> frozenset[str]:
        """The content stem after each negation: what the text denies. "not only" denies nothing."""
        found = set()
        for i, token in enumerate(self.tokens):
            if token.negation and not (i + 1 < len(self.tokens) and self.tokens[i + 1].text.lower() in _NOT_ONLY):
                found |= {t.stem for t in [t for t in self.tokens[i + 1 : i + 6] if t.content][:1]}
        return frozenset(found)

    @cached_property
    def bare(self) -> bool:
        return not any(c.isupper() for c in self.text)


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """Porter stem of a lower-case word; numbers become digits ("five", "fifth", "5th" -> "5"), "nov" is November."""
    if number := _NUMBER_WORDS.get(word):
        return number
    if ordinal := _ORDINAL.fullmatch(word):
        return ordinal.group(1)
    return porter_stem(_SHORT_DATES.get(word, word))


def analyse(text: str) -> Unit:
    """Tokens of a text in any script; accents and citation markers are dropped."""
    folded = _MARKER.sub(" ", text).replace("’", "'")
    if not folded.isascii():
        folded = "".join(c for c in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(c))
    if "U" in folded:  # most sentences have none
        for forms, short in _COUNTRIES:
            folded = forms.sub(short, folded)
    tokens: list[Token] = []
    matches = list(_TOKEN.finditer(folded))
    for i, match in enumerate(matches):
        word = match.group()[:-2] if match.group().lower().endswith("'s") else match.group()
        low = word.lower()
        negation = _NEGATION.fullmatch(low) is not None
        key = re.sub("['.,]", "", low)  # U.S., O'Regan and 1,200 as in bare text
        content = not negation and key not in STOPWORDS
        name = content and word[0].isupper() and not (i == 0 and not _capital_at(matches, 1))
        if name and i and _STARTS_SENTENCE.search(folded, max(0, match.start() - 6), match.start()):
            name = _capital_at(matches, i + 1)
        tokens.append(Token(word, stem(key) if content else key, content, name, negation))
    return Unit(text, tuple(tokens), tuple(_compounds(folded, matches, tokens)))


def _compounds(text: str, matches: Sequence[re.Match[str]], tokens: Sequence[Token]) -> Iterator[tuple[str, frozenset[str]]]:
    start = 0
    for i in range(1, len(matches) + 1):
        if i < len(matches) and text[matches[i - 1].end() : matches[i].start()] in ("-", "\u2010", "\u2011"):
            continue
        if i - start > 1:
            joined = "".join(match.group() for match in matches[start:i]).lower()
            yield stem(joined), frozenset(token.stem for token in tokens[start:i] if token.content)
        start = i


def _capital_at(matches: Sequence[re.Match[str]], i: int) -> bool:
    return i < len(matches) and matches[i].group()[0].isupper()


@lru_cache(maxsize=1 << 12)  # a few times the sentences of any event; a unit takes some 6 KiB
def analyse_claim(text: str) -> Unit:
    """A claim, or a sentence of evidence: claims often quote them, so both share a memory."""
    return analyse(text)


@lru_cache(maxsize=1 << 9)  # holds on to the units of its sentences
def analyse_premise(premise: str) -> tuple[Unit, ...]:
    """The sentences of a premise, in order; a line break ends one."""
    units = (analyse_claim(premise[start:end]) for start, end in sentence_spans(premise, longest=LONGEST_SENTENCE))
    return tuple(unit for unit in units if unit.tokens)


def _numbers(tokens: Sequence[Token]) -> Iterator[Number]:
    found: list[tuple[int, str]] = []  # place of the token, digits
    for i, token in enumerate(tokens):
        word = token.text.lower()
        if word in _NUMBER_WORDS:
            yield Number(word, token.stem, frozenset({_NUMBER_WORDS[word]}), frozenset({_NUMBER_WORDS[word]}), False)
        values = [re.sub("[.,]", "", word)] if word[0].isdigit() and not word.isalnum() else _DIGITS.findall(word)
        found += [(i, value) for value in values]
    for n, (i, value) in enumerate(found):
        forms = {value}
        if i + 1 < len(tokens) and (power := _SCALES.get(tokens[i + 1].text.lower())):
            word = tokens[i].text
            decimals = len(word.rpartition(".")[2]) if "." in word else 0
            forms.add(value + "0" * max(0, power - decimals))
        joined = set()  # 1986-87 is 198687 in bare text, and its second half means 1987
        if n and i - found[n - 1][0] <= 1:
            before = found[n - 1][1]
            joined.add(before + value)
            if len(before) == 4 and len(value) == 2:
                forms.add(before[:2] + value)
        if n + 1 < len(found) and found[n + 1][0] - i <= 1:
            joined.add(value + found[n + 1][1])
        yield Number(value, tokens[i].stem, frozenset(forms | joined), frozenset(forms), True)


def missing_numbers(claim: Unit, offered: frozenset[str]) -> list[Number]:
    """Numbers written in digits in the claim that the evidence does not have in any of their forms."""
    return [number for number in claim.numbers if number.in_digits and not number.accepts & offered]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What of the premises takes part in judging one claim: the union of each premise's best sentences.

    `covered[k]` are the claim's stems that `units[k]` has; `best` indexes the unit of the largest covered weight.
    """

    claim: Unit
    weights: Mapping[str, float]
    units: tuple[Unit, ...]
    covered: tuple[frozenset[str], ...]
    gains: tuple[float, ...]

    @cached_property
    def total(self) -> float:
        return math.fsum(self.weights.values()) or 1.0  # exact, so that the order of a set does not matter

    @cached_property
    def best(self) -> int | None:
        return self.gains.index(max(self.gains)) if self.gains else None

    @cached_property
    def cov_best(self) -> float:
        return max(self.gains, default=0.0) / self.total

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset[str]().union(*self.covered)

    @cached_property
    def numbers(self) -> frozenset[str]:
        return frozenset[str]().union(*(unit.offered_numbers for unit in self.units))

    def weigh(self, stems: Iterable[str]) -> float:
        return math.fsum(self.weights[s] for s in stems)  # exact, so that the order of a set does not matter


def gather(claim: Unit, premises: Sequence[str], weight: Weight) -> Evidence:
    """Choose the sentences that say most of the claim. The claim itself takes part whole, whatever its length."""
    weights = {s: weight(s) for s in claim.stem_set}
    each = BEST_SENTENCES if len(premises) < 2 else max(4, min(BEST_SENTENCES, JOINT_SENTENCES // len(premises)))
    chosen: list[tuple[float, frozenset[str], Unit]] = []
    for premise in premises:
        scored = []
        for unit in analyse_premise(premise):
            if covered := _covered(claim, unit):
                scored.append((math.fsum(weights[s] for s in covered), covered, unit))
        chosen += sorted(scored, key=lambda item: -item[0])[:each]  # stable: ties in text order
    return Evidence(
        claim=claim,
        weights=weights,
        units=tuple(unit for _, _, unit in chosen),
        covered=tuple(covered for _, covered, _ in chosen),
        gains=tuple(gain for gain, _, _ in chosen),
    )


def closest(evidence: Evidence, n: int) -> tuple[str, ...]:
    """The `n` sentences that hold most of the claim together, best first: each adds words that those before it lack."""
    left, chosen = set(evidence.claim.stem_set), list[int]()
    while len(chosen) < min(n, len(evidence.units)):
        gains = {
            i: evidence.weigh(covered & left) + 0.3 * evidence.gains[i]
            for i, covered in enumerate(evidence.covered)
            if i not in chosen
        }
        best = max(gains, key=lambda i: (gains[i], -i))
        chosen.append(best)
        left -= evidence.covered[best]
    return tuple(evidence.units[i].text for i in chosen)


def _covered(claim: Unit, unit: Unit) -> frozenset[str]:
    covered = claim.stem_set & unit.stem_set
    for joined, parts in claim.compounds:
        if joined in unit.stem_set:
            covered |= parts
    for joined, _ in unit.compounds:
        if joined in claim.stem_set:
            covered |= {joined}
    numbers = {number.stem for number in claim.numbers if number.accepts & unit.offered_numbers}
    return covered | (numbers & claim.stem_set)


def features(evidence: Evidence) -> tuple[float, ...]:
    """One value for each of FEATURES."""
    claim, total = evidence.claim, evidence.total
    missing = sorted((evidence.weights[s] for s in claim.stem_set - evidence.stems), reverse=True)
    bigrams = frozenset[tuple[str, str]]().union(*(unit.bigrams for unit in evidence.units))
    numbers = missing_numbers(claim, evidence.numbers)
    number_words = (number for number in claim.numbers if not number.in_digits)
    return (
        evidence.weigh(evidence.stems) / total,
        evidence.cov_best,
        evidence.weigh(_greedily_covered(evidence, 3)) / total,
        len(claim.bigrams & bigrams) / max(1, len(claim.bigrams)),
        missing[1] if len(missing) > 1 else 0.0,  # one foreign word is often an inflection; two are a statement
        math.log1p(len(claim.names - evidence.stems)),
        math.log1p(len(numbers)),
        float(bool(numbers)),
        float(any(not number.accepts & evidence.numbers for number in number_words)),
    )


def _greedily_covered(evidence: Evidence, n: int) -> frozenset[str]:
    """The claim's stems in the `n` sentences that, taken one after another, each add most."""
    found = frozenset[str]()
    for _ in range(min(n, len(evidence.units))):
        found |= max((covered - found for covered in evidence.covered), key=evidence.weigh)
    return found

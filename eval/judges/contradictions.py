"""What separates a claim from the sentences that it nearly repeats, in typed differences that speak against it.

Where most of a claim runs word for word as its evidence does, what it says otherwise decides. Claim and sentences are aligned by
`eval.judges.alignment`, so that other forms of a date, time, number or unit are no difference; words are alike when inflection,
a listed synonym or an abbreviation relates them. The rest is a word too many, a word in the place of another, a lost
denial, hedge or limit, another tense, another sex, other neighbours of a number, or another order.
"""  # noqa: E501

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal, NamedTuple

from eval.judges.alignment import SHORTEST, Aligned, align, chosen_sentences, follows, holds, keys_of
from eval.judges.edit_words import VERBS, words_of
from eval.judges.features import Evidence
from eval.judges.lexemes import NEGATIONS, UNIT_KEYS, Lexeme, lexemes, stem_of
from eval.judges.word_relations import EXCHANGED, OPPOSITE, related

Kind = Literal["word", "substitution", "number", "unit", "limit", "negation", "hedge", "tense", "sex", "relation", "order"]

ALL_WORDS = 0.9
"""Share of the claim's lexemes, function words too, that one sentence has, above which their order is looked at."""
LEAST_COVERED = 0.3
"""Of the weight of the claim's words, by the best sentence: below, nothing is aligned, which saves the time."""
REPEATED = 0.8
"""Share of the claim's lexemes in common runs, above which a claim without differences is supported."""
ADJACENT = 0.4
"""Share of neighbouring pairs that a claim of known words must have in common with its sentences; else they are shuffled."""


class Difference(NamedTuple):
    """`span`: characters of the claim that lack support; for something lost, those of the word whose meaning it changed."""

    kind: Kind
    span: tuple[int, int]


_HEDGES = frozenset(
    stem_of(word)
    for word in words_of("""
        allegedly alleged reportedly apparently possibly possible probably probable perhaps supposedly supposed purportedly
        purported presumably arguably likely suspected suspect suspicion potentially potential partly partially sometimes
        occasionally seemingly rumored rumoured ostensibly maybe unconfirmed conceivably attempted tried failed almost nearly
        barely hardly accused believed thought planned proposed hoped would-be so-called mostly usually often generally
        seems seem appeared appears tends
    """)
) - {stem_of("like")}
_MODALS = frozenset(words_of("may might could would should can will shall must"))
_FUTURE = frozenset(
    stem_of(word)
    for word in words_of("""
        expected expects scheduled set due planned plans plan intends intended hopes hoped aims aimed wants wanted promised
        agreed offered threatened going likely slated proposed proposes seeks sought trying tried attempted failed fails refused
        declined about supposed ready prepared poised vowed pledged
    """)
)
_HE, _SHE = frozenset(words_of("he him his himself")), frozenset(words_of("she her hers herself"))
_RELATIONS = (
    ("before", "after"), ("with", "without"), ("until", "since"), ("above", "below"), ("over", "under"), ("from", "to"),
    ("inside", "outside"), ("up", "down"), ("into", "out"), ("for", "against"), ("all", "some"), ("all", "no"), ("all", "few"),
    ("all", "many"), ("all", "most"), ("many", "few"), ("most", "few"), ("more", "less"), ("more", "fewer"), ("most", "least"),
    ("on", "off"), ("both", "neither"), ("any", "no"), ("most", "no"), ("some", "no"), ("few", "most"), ("once", "never"),
    ("and", "or"), ("several", "all"), ("by", "for"), ("to", "by"), ("first", "last"), ("both", "either"), ("in", "outside"),
    ("prior", "after"), ("before", "following"), ("prior", "following"), ("half", "all"), ("half", "none"), ("some", "none"),
    ("by", "against"), ("during", "after"), ("during", "before"), ("because", "despite"), ("although", "because"),
)  # fmt: skip
_AGAINST = frozenset(frozenset(pair) for pair in _RELATIONS)
_CARRIERS = frozenset(word for pair in _RELATIONS for word in pair) - frozenset(
    words_of("to by for from in on off and up down out into or with because although over under during since any")
) | {"only"}
"""Function words that a claim must not add to a text that lacks them."""
_FREE = frozenset(
    stem_of(word)
    for word in words_of("according also however additionally moreover furthermore meanwhile later then addition therefore thus "  # noqa: E501
                         "respectively named called including named mr mrs ms sir well said known")
)  # fmt: skip
"""Content words that a writer may add."""
_VERB_STEMS = frozenset(stem_of(base) for base in VERBS)
_SAME_RELATION = {"before": ("prior", "until"), "after": ("follow", "since"), "few": ("several",), "all": ("everi", "each", "whole", "entir"),  # noqa: E501
                  "several": ("number", "some", "various"), "some": ("several",), "most": ("major",), "many": ("numer",), "both": ("two",)}  # fmt: skip  # noqa: E501
_UNSURE = frozenset(
    stem_of(word)
    for word in words_of("supposedly allegedly reportedly purportedly nearly almost exactly precisely falsely hardly wrongly")
)
"""Words that make another statement of any: a claim must not add them."""
_DENIALS = NEGATIONS | frozenset(
    stem_of(word)
    for word in words_of("""
        fail failed lack refuse deny hardly barely scarcely unable impossible false falsely cease stop absence except instead
        rather only little few avoid prevent reject unsuccessful less
    """)
)
_WEEKDAYS = frozenset(stem_of(word) for word in words_of("monday tuesday wednesday thursday friday saturday sunday"))
_SIDES = (("before", "after"), ("after", "before"), ("until", "since"), ("since", "until"), ("without", "with"))


class Comparison(NamedTuple):
    """`near`: does the claim nearly repeat a sentence, or hold a whole one? `repeats`: and say nothing else?"""

    differences: tuple[Difference, ...]
    near: bool
    repeats: bool


def compare(evidence: Evidence) -> Comparison:
    """Differences in the order of the claim's text. Where it does not nearly repeat its evidence, only those that need no
    alignment: what it says is nowhere, and the contrary is."""
    claim = lexemes(evidence.claim.text)
    if evidence.best is None or not claim or evidence.cov_best < LEAST_COVERED:
        return Comparison((), False, False)
    aligned = align(claim, evidence)
    found: list[Difference] = []
    if aligned.near:
        for check in (_words, _slots, _numbers, _negations, _hedges, _tenses, _sex, _pivots):
            found += check(claim, aligned)
    else:
        found += _contraries(claim, evidence)
    if aligned.swapped:
        numbers = [c for c in claim if c.kind == "number"]
        found.append(Difference("number", (numbers[0].start, numbers[-1].end)))
    if aligned.known >= ALL_WORDS and len(claim) >= SHORTEST and aligned.adjacent < ADJACENT:
        found.append(Difference("order", (claim[0].start, claim[-1].end)))
    repeats = not found and aligned.share >= REPEATED and all(aligned.supported)
    return Comparison(tuple(sorted(set(found), key=lambda one: one.span)), aligned.near, repeats)


def numbers_hold(evidence: Evidence) -> bool:
    """Do all numbers, dates and times of the claim follow, by value, from some sentence of the evidence?"""
    sentences = [lexemes(unit.text) for unit in evidence.units]
    return all(
        any(c.key == one.key or follows(c, one, sentence, i) for sentence in sentences for i, one in enumerate(sentence))
        for c in lexemes(evidence.claim.text)
        if c.kind in ("number", "day", "month", "time", "ordinal")
    )


def is_known(word: str, evidence: Evidence) -> bool:
    """Has some sentence this word, a form of it, or one that it may stand for?"""
    own = [one.key for one in lexemes(word)]
    there = frozenset[str]().union(*(keys_of(unit.text) for unit in evidence.units))
    return all(key in there or any(related(key, other) for other in there) for key in own)


# ---------------------------------------------------------------------------------------------------- paraphrases


def _contraries(claim: Sequence[Lexeme], evidence: Evidence) -> Iterator[Difference]:
    """What a paraphrase says that no sentence has, where the closest ones have its contrary, or another value of its kind."""
    closest = [one for i in chosen_sentences(evidence) for one in lexemes(evidence.units[i].text)]
    near = {one.key for one in closest}
    unknown = [c for c in claim if c.key not in near]
    if not unknown:
        return
    everything = [one for unit in evidence.units for one in lexemes(unit.text)]
    there = {one.key for one in everything}
    own = {c.key for c in claim}
    for c in unknown:
        if c.key not in there and (kind := _contrary(c, near, there, everything)) is not None:
            yield Difference(kind, (c.start, c.end))
    yield from _other_units(claim, there, evidence)
    for mine, other in ((_HE, _SHE), (_SHE, _HE)):
        if own & mine and not own & other and not there & mine and near & other:
            c = next(c for c in claim if c.key in mine)
            yield Difference("sex", (c.start, c.end))
    for word, other_side in _SIDES:
        if word in own and word not in there and other_side in near and other_side not in own:
            c = next(c for c in claim if c.key == word)
            yield Difference("relation", (c.start, c.end))


def _other_units(claim: Sequence[Lexeme], there: set[str], evidence: Evidence) -> Iterator[Difference]:
    """Six hours, where the evidence has six years and nothing in hours."""
    for c, unit in pairwise(claim):
        if c.kind != "number" or unit.key not in UNIT_KEYS or unit.key in there:
            continue
        for text in (lexemes(one.text) for one in evidence.units):
            if any(holds(c, one) and following.key in UNIT_KEYS for one, following in pairwise(text) if one.kind == "number"):
                yield Difference("unit", (c.start, unit.end))
                break


def _contrary(c: Lexeme, near: set[str], there: set[str], everything: Sequence[Lexeme]) -> Kind | None:
    """Of a lexeme that no sentence has."""
    if c.kind == "month":
        return "number" if any(key.startswith("month") for key in there) else None
    if c.key in _WEEKDAYS:
        return "number" if _WEEKDAYS & there else None
    if c.kind == "number":
        values = [one.value for one in everything if one.kind == "number" and one.value]
        return "number" if c.value >= 1000 and any(_other_scale(c.value, value) for value in values) else None
    if c.key in _UNSURE:
        return None if there & (_UNSURE | _HEDGES) or any(one.bound for one in everything) else "hedge"
    if c.key == stem_of("failed"):
        return None if there & _DENIALS else "negation"
    if c.content and OPPOSITE.get(c.key, frozenset()) & near and not any(related(c.key, key) for key in there):
        return "substitution"
    return None


def _other_scale(a: float, b: float) -> bool:
    """Thousands in the place of millions: the same digits, at least a hundredfold."""
    ratio = max(a, b) / min(a, b)
    return ratio >= 100 and abs(math.log10(ratio) - round(math.log10(ratio))) < 1e-9


# ---------------------------------------------------------------------------------------------------- checks


def _words(claim: Sequence[Lexeme], aligned: Aligned) -> Iterator[Difference]:
    """Content words, and the function words that carry meaning, that the evidence does not have in any form."""
    there = {key for keys in aligned.keys for key in keys}
    for c, known in zip(claim, aligned.supported):
        if known and (c.content or c.key in there or aligned.bare):
            continue
        if c.kind in ("number", "day", "month", "time", "ordinal"):
            continue
        if c.content and c.key not in _FREE and len(c.key) > 1:
            yield Difference("unit" if c.key in UNIT_KEYS else "word", (c.start, c.end))
        elif (c.key in _CARRIERS and not there & set(_SAME_RELATION.get(c.key, ()))) or c.key in NEGATIONS:
            yield Difference("negation" if c.key in NEGATIONS else "relation", (c.start, c.end))


def _slots(claim: Sequence[Lexeme], aligned: Aligned) -> Iterator[Difference]:
    """A word where the sentence has another, between words alike."""
    own = [c.key for c in claim]
    counts = Counter(own)
    for sentence, keys in zip(aligned.sentences, aligned.keys):
        steps = SequenceMatcher(None, own, keys, autojunk=False).get_opcodes()
        there = Counter(keys)
        for n, (tag, i, j, k, m) in enumerate(steps):
            if aligned.bare and all(aligned.supported[i:j]):
                continue
            if tag != "replace" or j - i > 4 or m - k > 4:
                continue
            before = steps[n - 1][2] - steps[n - 1][1] if n else 2
            after = steps[n + 1][2] - steps[n + 1][1] if n + 1 < len(steps) else 2
            if before + after < 3 or min(before, after) < 1:
                continue
            gone = [one for one, key in zip(sentence[k:m], keys[k:m]) if one.content and there[key] > counts[key]]
            numbers = [one for one in sentence[k:m] if one.kind == "number"]
            for c in claim[i:j]:
                if c.kind == "number" and numbers:
                    if not any(holds(c, one) or _ends(c, one) for one in numbers):
                        yield Difference("number", (c.start, c.end))
                elif c.content and c.key not in _FREE and gone and counts[c.key] > 0:
                    same_kind = [one for one in gone if (one.kind == "word") == (c.kind == "word")]
                    if same_kind and not any(_same_word(c, one) for one in same_kind):
                        yield Difference("substitution" if c.kind == "word" else "number", (c.start, c.end))
                elif not c.content:
                    for one in sentence[k:m]:
                        if frozenset((c.key, one.key)) in _AGAINST:
                            yield Difference("relation", (c.start, c.end))


def _ends(c: Lexeme, one: Lexeme) -> bool:
    """2021 and the second half of 2020-21."""
    return c.value >= 1000 and 10 <= one.value < 100 and c.value % 100 == one.value


def _same_word(c: Lexeme, one: Lexeme) -> bool:
    alike = related(c.key, one.key) or one.key in EXCHANGED.get(c.key, ())
    return c.kind == one.kind == "word" and (alike or (c.capital and one.key == c.key[0]))


def _numbers(claim: Sequence[Lexeme], aligned: Aligned) -> Iterator[Difference]:
    """Numbers that no sentence has, has with another limit, or has of something else."""
    everything = [one for sentence in aligned.sentences for one in sentence]
    for i, c in enumerate(claim):
        if c.kind not in ("number", "day", "month", "time", "ordinal"):
            continue
        if not aligned.supported[i]:
            if not aligned.bare:
                yield Difference("number", (c.start, c.end))
            continue
        if c.kind != "number":
            continue
        same = [one for one in everything if one.kind == "number" and one.value == c.value]
        if same and not any(one.bound == c.bound or _weaker(c, one) for one in same):
            yield Difference("limit", (c.start, c.end))
        following = next((x for x in claim[i + 1 : i + 3] if x.content), None)
        if following is not None and following.key in UNIT_KEYS and not aligned.bare:
            units = set()
            for sentence in aligned.sentences:
                for k, one in enumerate(sentence):
                    if one.kind == "number" and holds(c, one):
                        units |= {x.key for x in sentence[k + 1 : k + 4] if x.key in UNIT_KEYS}
            if units and following.key not in units:
                yield Difference("unit", (c.start, following.end))


def _weaker(c: Lexeme, one: Lexeme) -> bool:
    """The same value with another limit: is the claim's the weaker statement?"""
    return one.bound in ("", "=") or (one.bound == "~" and c.bound == "~") or (c.bound == "~" and one.bound in (">", "<"))


def _negations(claim: Sequence[Lexeme], aligned: Aligned) -> Iterator[Difference]:
    """Denials that the claim has more of, or lost between words that it kept."""
    denied = [c for c in claim if c.key in NEGATIONS]
    there = sum(key in NEGATIONS for keys in aligned.keys for key in keys)
    if len(denied) > there:
        yield Difference("negation", (denied[-1].start, denied[-1].end))
    for before, after in _lost(claim, aligned, NEGATIONS):
        yield Difference("negation", (before.start, after.end))


def _lost(claim: Sequence[Lexeme], aligned: Aligned, words: frozenset[str]) -> Iterator[tuple[Lexeme, Lexeme]]:
    """What is right and left of such a word in a sentence and is together in the claim without it.

    The words themselves may be in the claim elsewhere, hence the place decides.
    """
    own = [c.key for c in claim]
    for keys in aligned.keys:
        for tag, i, j, k, m in SequenceMatcher(None, own, keys, autojunk=False).get_opcodes():
            if tag in ("delete", "replace", "insert") and tag != "delete" and i > 0 and j < len(own):
                lost = [
                    key
                    for n, key in enumerate(keys[k:m], k)
                    if key in words and not _not_only(keys, n) and keys.count(key) > own.count(key)
                ]
                if lost and m - k <= 4 and not set(own[max(0, i - 3) : j + 3]) & words:
                    yield claim[max(i - 1, 0)], claim[min(j, len(claim) - 1)]
            elif tag == "insert" and i == 0 and m - k <= 3 and any(key in words for key in keys[k:m]):
                yield claim[0], claim[0]


def _not_only(keys: Sequence[str], at: int) -> bool:
    return keys[at] == "not" and at + 1 < len(keys) and keys[at + 1] in ("only", "just", "mere", "least")


def _hedges(claim: Sequence[Lexeme], aligned: Aligned) -> Iterator[Difference]:
    words = _HEDGES | _MODALS | {"some"}
    for _, after in _lost(claim, aligned, words):
        yield Difference("hedge", (after.start, after.end))


def _tenses(claim: Sequence[Lexeme], aligned: Aligned) -> Iterator[Difference]:
    """Future events have happened."""
    for sentence, keys in zip(aligned.sentences, aligned.keys):
        for k in range(1, len(keys)):
            will = keys[k - 1] in ("will", "shall")
            to = keys[k - 1] == "to" and k > 1 and keys[k - 2] in _FUTURE
            if not (will or to):
                continue
            verb = keys[k]
            if verb in ("be", "have"):
                verb = next((key for one, key in zip(sentence[k + 1 : k + 3], keys[k + 1 : k + 3]) if one.content), "")
            elif verb not in _VERB_STEMS and not will:
                continue
            for i, c in enumerate(claim):
                if c.key == verb and c.content:
                    left = {x.key for x in claim[max(0, i - 3) : i]}
                    if not left & (_MODALS | {"to", "going", "be"}) and not left & _FUTURE:
                        yield Difference("tense", (c.start, c.end))


def _sex(claim: Sequence[Lexeme], aligned: Aligned) -> Iterator[Difference]:
    there = {key for keys in aligned.keys for key in keys}
    for c in claim:
        for mine, other in ((_HE, _SHE), (_SHE, _HE)):
            if c.key in mine and not there & mine and there & other:
                yield Difference("sex", (c.start, c.end))


def _pivots(claim: Sequence[Lexeme], aligned: Aligned) -> Iterator[Difference]:
    """X did to Y what Y did to X: the neighbours of a word have changed sides."""
    content = [c for c in claim if c.content]
    own = [c.key for c in content]
    once = Counter(own)
    passive = "by" in {c.key for c in claim}
    for sentence, keys in zip(aligned.sentences, aligned.keys):
        if ("by" in keys) != passive:
            continue
        there = [key for one, key in zip(sentence, keys) if one.content]
        at = {key: i for i, key in enumerate(there)}
        for i in range(1, len(own) - 1):
            left, pivot, right = own[i - 1 : i + 2]
            k = at.get(pivot)
            if k is None or once[pivot] > 1 or not 0 < k < len(there) - 1 or left == right:
                continue
            if not content[i].capital and there[k - 1] == right and there[k + 1] == left:
                yield Difference("order", (content[i - 1].start, content[i + 1].end))

"""Vetoes of the judges: why a claim whose words are all in the evidence is still refused.

`examine` is the one mechanism: what separates a near-verbatim claim from its sentence comes from `eval.judges.contradictions`.
The rest are older and coarser, and look at paraphrases, too. Each looks for one contradicted detail: a number that is nowhere, a word that one side denies, a name in the place of another,
two names that have changed places. All but the first compare the claim with the sentence that covers it best, and only where
that covers much of it: below, the claim is a paraphrase of several sentences, and such cues are unreliable.
"""  # noqa: E501

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from itertools import combinations
from typing import NamedTuple

from eval.about_itself import is_about_itself
from eval.judges.contradictions import compare, numbers_hold
from eval.judges.features import Evidence, Token, Unit, missing_numbers
from eval.judges.word_relations import related

RULES = "rules2"
"""Changes whenever a claim could be refused otherwise: by these rules, those of `contradictions` or its lists of words."""

DETAIL_OVERLAP = 0.6
"""Coverage of the claim by the best sentence above which negations and names are compared."""
QUOTE_OVERLAP = 0.8
"""Coverage above which the claim is taken for a quotation: digits count, too, and slots that hold more than a name."""
ANCHOR = 2
"""Words alike on either side of a slot, below QUOTE_OVERLAP. The end of both sentences is as good."""
LONGEST_SLOT = 6
"""Tokens."""

_ARTICLES = frozenset(["the", "a", "an"])
_CONJUNCTIONS = frozenset(["and", "or"])


class Finding(NamedTuple):
    """`reason` to refuse the claim, if any, and the characters of the claim that it is about; `weak` where paraphrases have it,
    too. `repeats`: the claim says what a sentence says, in other forms at most."""

    reason: str | None
    spans: tuple[tuple[int, int], ...] = ()
    weak: bool = False
    repeats: bool = False


def examine(evidence: Evidence) -> Finding:
    claim = evidence.claim
    compared = compare(evidence)
    spans = tuple(one.span for one in compared.differences)
    if is_about_itself(claim.text) and not compared.repeats:  # "The article has no section": made of words that pages have
        return Finding("itself", ((0, len(claim.text)),))
    if missing_numbers(claim, evidence.numbers) and not numbers_hold(evidence):
        return Finding("number", spans)
    if evidence.best is not None and evidence.cov_best > DETAIL_OVERLAP:
        best = evidence.units[evidence.best]
        if _contradicts(claim, best):
            return Finding("negation", spans)
        if not compared.repeats and _replaces(evidence, best):
            return Finding("name", spans)
        if _exchanges(claim, best):
            return Finding("order", spans)
    bare = (
        evidence.best is not None and evidence.units[evidence.best].bare
    )  # signs and points are lost, so forms differ by chance
    if compared.differences and not bare:
        return Finding(compared.differences[0].kind, spans, weak=True)
    return Finding(None, repeats=compared.repeats)


def _contradicts(claim: Unit, best: Unit) -> bool:
    """One of the two denies a word that the other asserts. A bare window holds several sentences, so only the claim counts."""
    denied = claim.negated & best.stem_set
    asserted = frozenset[str]() if best.bare else best.negated & claim.stem_set
    return bool(denied - best.negated or asserted - claim.negated)


class Slot(NamedTuple):
    """What claim and sentence have between the same words; `anchor`: how many of these, on the side that has fewer."""

    claimed: tuple[Token, ...]
    found: tuple[Token, ...]
    anchor: float


def _slots(claim: Unit, best: Unit) -> Iterator[Slot]:
    a, b = [t.stem for t in claim.tokens], [t.stem for t in best.tokens]
    steps = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    for n, (tag, i, j, k, m) in enumerate(steps):
        if tag == "replace" and j - i <= LONGEST_SLOT and m - k <= LONGEST_SLOT:  # what stands beside a replacement is equal
            before = steps[n - 1][2] - steps[n - 1][1] if n else ANCHOR
            after = steps[n + 1][2] - steps[n + 1][1] if n + 1 < len(steps) else ANCHOR
            yield Slot(claim.tokens[i:j], best.tokens[k:m], min(before, after))


def _replaces(evidence: Evidence, best: Unit) -> bool:
    """Where claim and sentence run alike, one has a name in the place of another, or a number in that of another.

    A word counts as new where the claim has it more often than the sentence: "from Oslo to Oslo" says one Oslo too much.
    """
    claim, covered = evidence.claim, evidence.covered[evidence.units.index(best)]
    quoted = evidence.cov_best > QUOTE_OVERLAP
    claimed, found = Counter(t.stem for t in claim.tokens), Counter(t.stem for t in best.tokens)
    for slot in _slots(claim, best):
        if not quoted and (slot.anchor < ANCHOR or any(t.content and not _tells(t, claim) for t in slot.claimed)):
            continue
        new = [t.stem for t in slot.claimed if _tells(t, claim) and (t.stem not in covered or claimed[t.stem] > found[t.stem])]
        gone = [t.stem for t in slot.found if (best.bare or _tells(t, best)) and t.content and found[t.stem] > claimed[t.stem]]
        for word in new:
            rivals = [other for other in gone if other.isdigit() == word.isdigit()]
            if word.isdigit() and numbers_hold(evidence):
                continue  # another form, or a limit
            if (
                rivals
                and (quoted or not word.isdigit())
                and not any(_alike(word, other) or related(word, other) for other in rivals)
            ):
                return True
    return False


def _tells(token: Token, unit: Unit) -> bool:
    """Is it a name or number? The first word of a sentence may be a name."""
    return token.content and (token.name or token is unit.tokens[0] or token.stem.isdigit())


def _alike(a: str, b: str) -> bool:
    """Belgian and Belgium, J and John, rawcliff and newtononrawcliff: perhaps the same name."""
    return a[:4] in b or b[:4] in a


def _exchanges(claim: Unit, best: Unit) -> bool:
    """Two names are each beside a word that the sentence has beside the other.

    A phrase that has moved takes its preposition along ("in May at Oslo", "at Oslo in May"), and a passive has other words
    beside the names ("was beaten by"), so neither is an exchange; nor is a list in another order.
    """
    first = claim.tokens[0].stem  # a name if the sentence has it as one; bare text cannot tell
    names = sorted((claim.names | ({first} if best.bare else {first} & best.names)) & best.stem_set)
    for step in (-1, 1):
        here, there = _neighbours(claim, step), _neighbours(best, step)
        for a, b in combinations(names, 2):
            beside_a = (here[a] - there[a]) & (there[b] - here[b])
            beside_b = (here[b] - there[b]) & (there[a] - here[a])
            if beside_a and beside_b and beside_a != beside_b and not _in_one_list(claim, a, b):
                return True
    return False


def _neighbours(unit: Unit, step: int) -> Mapping[str, set[str]]:
    """Stem -> the words before (-1) or after (1) it, articles skipped; an empty one at the sentence's end."""
    found: dict[str, set[str]] = defaultdict(set)
    stems = [t.stem for t in unit.tokens if t.stem not in _ARTICLES]
    for i, word in enumerate(stems):
        found[word].add(stems[i + step] if 0 <= i + step < len(stems) else "")
    return found


def _in_one_list(unit: Unit, a: str, b: str) -> bool:
    """Between the two are only names, numbers and conjunctions."""
    places = {s: [i for i, t in enumerate(unit.tokens) if t.stem == s] for s in (a, b)}
    for i in places[a]:
        for j in places[b]:
            between = unit.tokens[min(i, j) + 1 : max(i, j)]
            if all(t.name or t.stem in _CONJUNCTIONS | _ARTICLES or t.stem.isdigit() for t in between):
                return True
    return False

"""A model's draft -> sentences whose citations hold: dangling markers dropped, missing ones attached, the rest removed.

What counts as support here is deliberately simple (shared words, all numbers, names) and is not the benchmark's judge: a
writer that filtered itself by the judge would be graded by its own ruler.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from data.markup import parse_markers
from data.settings import UnsupportedPolicy
from data.types import Passage, Repair, RepairKind, Sentence
from pipeline.facts import names, numbers
from pipeline.retrieval import PassageIndex, terms

SUPPORT = 0.6
"""Least share of a sentence's words that its passage must hold for the sentence to stand."""
ATTACH = 0.7
"""The same for a passage that the model did not name: attaching needs more certainty than keeping."""
MIN_TERMS = 2


@dataclass(frozen=True, slots=True)
class Cited:
    """Sentences ready for an article, and what was changed to make them so."""

    sentences: tuple[Sentence, ...]
    repairs: tuple[Repair, ...]


def support(text: str, evidence: str) -> float:
    """Share of the sentence's terms found in the evidence, in [0, 1]; 0 when a number is missing, less for missing names."""
    wanted = set(terms(text))
    if len(wanted) < MIN_TERMS:
        return 0.0
    if not numbers(text) <= numbers(evidence):
        return 0.0
    have = set(terms(evidence))
    share = len(wanted & have) / len(wanted)
    lowered = evidence.lower()
    missing = [name for name in names(text) if not all(word in lowered for word in name.split())]
    return max(share - 0.2 * len(missing), 0.0)


def resolve(text: str, shown: Sequence[Passage], section: str) -> Cited:
    """Numbers -> passage ids, nothing judged: markers of unknown passages are dropped and reported."""
    sentences: list[Sentence] = []
    repairs: list[Repair] = []
    for words, marked in parse_markers(text):
        clean = tidy_generated(words)
        if not clean:
            continue
        known = tuple(dict.fromkeys(shown[n - 1].id for n in marked if 1 <= n <= len(shown)))
        for n in marked:
            if not 1 <= n <= len(shown):
                repairs.append(Repair("marker_dropped", section, clean, f"[{n}] names no passage that was shown"))
        sentences.append(Sentence(text=clean, cites=known))
    return Cited(tuple(sentences), tuple(repairs))


def repair(cited: Cited, index: PassageIndex, section: str, policy: UnsupportedPolicy) -> Cited:
    """Check every sentence against what it cites; attach a better passage, or apply the policy to what has none."""
    by_id = {p.id: p for p in index.passages}
    kept: list[Sentence] = []
    repairs = list(cited.repairs)
    for sentence in cited.sentences:
        holding = tuple(c for c in sentence.cites if support(sentence.text, by_id[c].text) >= SUPPORT)
        joint = " ".join(by_id[c].text for c in sentence.cites)
        if holding or (len(sentence.cites) > 1 and support(sentence.text, joint) >= SUPPORT):
            kept.append(Sentence(sentence.text, holding or sentence.cites))
            continue
        best = _attach(sentence.text, index)
        if best is not None:
            kept.append(Sentence(sentence.text, (best.id,)))
            repairs.append(Repair("citation_attached", section, sentence.text, f"passage {best.id} supports it"))
            continue
        kind: dict[UnsupportedPolicy, RepairKind] = {"remove": "sentence_removed", "mark": "sentence_marked"}
        if policy != "remove":
            kept.append(Sentence(sentence.text, sentence.cites, unsupported=True))
        if policy in kind:
            repairs.append(Repair(kind[policy], section, sentence.text, "no passage supports it"))
    return Cited(tuple(kept), tuple(repairs))


def drop_repeats(sentences: Sequence[Sentence], seen: list[frozenset[str]], section: str) -> Cited:
    """Remove sentences that say again what an earlier section said; `seen` is extended by what is kept."""
    kept, repairs = [], []
    for sentence in sentences:
        words = frozenset(terms(sentence.text))
        if words and any(len(words & other) > 0.8 * min(len(words), len(other) + 2) and _same(words, other) for other in seen):
            repairs.append(Repair("sentence_removed", section, sentence.text, "an earlier sentence says the same"))
            continue
        seen.append(words)
        kept.append(sentence)
    return Cited(tuple(kept), tuple(repairs))


def _same(words: frozenset[str], other: frozenset[str]) -> bool:
    """A figure that the earlier sentence lacks is news, not repetition."""
    return all(word in other for word in words if any(c.isdigit() for c in word))


def _attach(text: str, index: PassageIndex) -> Passage | None:
    best: tuple[float, Passage] | None = None
    for hit in index.search(text, k=5):
        value = support(text, hit.passage.text)
        if value >= ATTACH and (best is None or value > best[0]):
            best = (value, hit.passage)
    return best[1] if best else None


_PREFIX = re.compile(r"^\s*(?:[-*•]+|#{1,6})\s+")
_URL = re.compile(r"https?://\S+|www\.\S+")


def tidy_generated(text: str) -> str:
    """A generated sentence without list markers, emphasis, URLs and control characters; empty if no word is left."""
    text = _PREFIX.sub("", text)
    text = _URL.sub("", text)
    text = re.sub(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}", "", text)
    text = "".join(c for c in text if c.isprintable() or c.isspace())
    text = " ".join(text.split())
    return text if any(c.isalpha() for c in text) else ""

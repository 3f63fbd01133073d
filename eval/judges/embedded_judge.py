"""The default judge: a small network reads the claim beside its evidence, word features and rules are beside it.

Three steps, each asked only where the one before has not decided:

1. A look. The claim is a whole sentence of a premise: supported. It shares no word with any: not supported.
2. Rules (`eval.judges.vetoes`): a number, name, date, limit or denial differs, or the words are another sentence's. Refused.
3. `decoding.support`: MiniLM with trained adapters reads the claim and the sentences that hold most of it. A logistic
   regression joins its readings with the word features of `LexicalJudge`, and is calibrated on held-out claims.

Coefficients, threshold and card lie in `embedded_judge.json`, made by `python -m tools.fit_judge`. Nothing is downloaded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from data import codec
from data.errors import UserError
from data.types import Strict
from decoding.api import SupportReader, SupportReading
from eval.judges.features import FEATURES, VERSION, Evidence, analyse_claim, closest, features, gather
from eval.judges.judge import JudgeKind, Pair
from eval.judges.lexical_judge import REPEATED, VETOED, Coefficient, LexicalJudge, digest_of
from eval.judges.vetoes import Finding, examine
from eval.text import plain

MODEL_FILE = Path(__file__).with_name("embedded_judge.json")
READ_VERSION = "read2"
"""Changes whenever the network is shown other sentences or its readings are used otherwise."""

READINGS = ("read_support", "read_worst", "read_worst_three", "read_mean")
"""Log odds of the network: that the claim is supported; that its least supported word, the three least, and all words on
average are not."""
SENTENCES = 4
"""Sentences that the network reads beside a claim."""
VERBATIM = 0.99
HOPELESS = 0.15
"""A claim that the words alone give less than this is refused unread, which saves most of the reading. Of the people's claims
that were supported 5% lie below, of the others 43%."""
UNSUPPORTED_WORD = 0.5

Kind = Literal["supported", "partially_supported", "not_supported"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`probability` is calibrated; `doubtful` where held-out claims like it are decided wrongly more than a third of the time.

    `words` are the characters of the claim that lack support, empty for a supported one. `reason` names the rule that refused.
    """

    kind: Kind
    probability: float
    doubtful: bool
    words: tuple[tuple[int, int], ...]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Agreement(Strict):
    """With people's labels, supported against the rest, on claims that the regression has not seen."""

    n_claims: int
    n_supported: int
    auroc: float
    auroc_low: float
    auroc_high: float
    balanced_accuracy: float
    f1: float


@dataclass(frozen=True, slots=True)
class EmbeddedCard(Strict):
    """Nested accuracy on both sets of claims, and the shares of true and of false edited statements accepted."""

    wice: Agreement
    citations: Agreement
    edited_true: float
    edited_false: float


@dataclass(frozen=True, slots=True)
class EmbeddedModel(Strict):
    """`slope` and `shift` turn the regression's log odds into calibrated ones. `doubtful` is a range of probabilities.
    A refused claim is not supported at all when more than `refused_share` of its content words lack support."""

    version: str
    reader: str
    threshold: float
    intercept: float
    coefficients: tuple[Coefficient, ...]
    slope: float
    shift: float
    doubtful: tuple[float, float]
    refused_share: float
    card: EmbeddedCard


class _Looked(NamedTuple):
    """What a look and the rules found; `score` is None where the network has to read."""

    score: float | None
    evidence: Evidence
    finding: Finding


class EmbeddedJudge:
    """A pair's score depends on nothing but the pair. A claim too long to be read whole is judged by its words alone: if it
    were left open, one giant sentence would leave a whole article unscored."""

    kind: JudgeKind = "embedding"
    name = "embedded"

    def __init__(self, reader: SupportReader, path: Path = MODEL_FILE) -> None:
        self.model = codec.read(EmbeddedModel, path)
        self._reader = reader
        self._lexical = LexicalJudge()
        names = tuple(c.feature for c in self.model.coefficients)
        if (
            self.model.version != f"{VERSION}+{READ_VERSION}"
            or names != (*FEATURES, *READINGS)
            or self.model.reader != reader.fingerprint
        ):
            raise UserError(
                f"{path} was fitted for another network or other features ({self.model.version}, {self.model.reader}); "
                "fit it again: python -m tools.fit_judge"
            )

    @property
    def threshold(self) -> float:
        return self.model.threshold

    @cached_property
    def revision(self) -> str:
        return f"{VERSION}-{READ_VERSION}-{digest_of(self.model)}"

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        looked = [self._look(pair) for pair in pairs]
        readings = iter(self._reader.read([_shown(one) for one in looked if one.score is None]))
        found: list[float] = []
        for one in looked:
            if one.score is not None:
                found.append(one.score)
            elif (reading := next(readings)) is None:
                found.append(self._by_words(one.evidence))
            else:
                found.append(self._joined(one, reading))
        return found

    def judge(self, pair: Pair) -> Verdict | None:
        """One pair, with the words that lack support. None for a claim too long to be read whole, whose words nobody marked."""
        one = self._look(pair)
        if one.score is not None and one.score >= REPEATED:
            return Verdict("supported", one.score, False, ())
        if not one.evidence.units:
            return Verdict("not_supported", 0.0, False, ((0, len(pair.claim)),))
        if (reading := self._reader.read([_shown(one)])[0]) is None:
            return None
        score = one.score if one.score is not None else self._joined(one, reading)
        low, high = self.model.doubtful
        if score >= self.threshold:
            return Verdict("supported", score, low <= score <= high, ())
        share = refused_share(one.evidence, reading)
        kind: Kind = "not_supported" if share > self.model.refused_share else "partially_supported"
        words = one.finding.spans or unsupported_words(pair.claim, one.evidence, reading)
        doubtful = one.finding.reason is None and low <= score <= high
        return Verdict(kind, score, doubtful, words, one.finding.reason)

    def _look(self, pair: Pair) -> _Looked:
        claim = analyse_claim(pair.claim)
        evidence = gather(claim, pair.premises, self._lexical.weight)
        if not claim.stem_set or not evidence.units:
            return _Looked(0.0, evidence, Finding(None))
        said = plain(pair.claim)
        if any(plain(unit.text) == said for unit in evidence.units):
            return _Looked(VERBATIM, evidence, Finding(None))
        words = self._lexical.probability(evidence)
        if words < HOPELESS:
            return _Looked(words, evidence, Finding(None))
        finding = examine(evidence)
        if finding.repeats:
            return _Looked(REPEATED, evidence, finding)
        if finding.reason is not None:  # the rest of the score keeps their order
            return _Looked(words * (self.threshold if finding.weak else VETOED), evidence, finding)
        return _Looked(None, evidence, finding)

    def _by_words(self, evidence: Evidence) -> float:
        """The word judge's score, on this judge's scale: equal to the threshold where that one's is."""
        return min(1.0, self._lexical.probability(evidence) * self.threshold / self._lexical.threshold)

    def _joined(self, one: _Looked, reading: SupportReading) -> float:
        values = (*features(one.evidence), *reading_features(reading))
        parts = (c.coefficient * (x - c.mean) / c.scale for c, x in zip(self.model.coefficients, values, strict=True))
        odds = self.model.slope * (self.model.intercept + math.fsum(parts)) + self.model.shift
        return 1 / (1 + math.exp(-odds))


def _shown(one: _Looked) -> tuple[str, tuple[str, ...]]:
    return one.evidence.claim.text, closest(one.evidence, SENTENCES)


def reading_features(reading: SupportReading) -> tuple[float, ...]:
    """One value for each of READINGS."""
    chances = sorted((chance for _, _, chance in reading.words), reverse=True)
    worst = chances[:3]
    means = (chances[0], math.fsum(worst) / len(worst), math.fsum(chances) / len(chances))
    return (log_odds(reading.support), *(log_odds(value) for value in means))


def log_odds(chance: float) -> float:
    """Bounded: a chance of 0 or 1 counts as one in a thousand."""
    return math.log((chance + 1e-3) / (1 - chance + 1e-3))


def unsupported_words(claim: str, evidence: Evidence, reading: SupportReading) -> tuple[tuple[int, int], ...]:
    """Characters of the content words that lack support: those the network marks, and numbers and names that no sentence has.
    Where it marks none, the word that it doubts most."""
    words = _words(reading)
    held = evidence.stems
    marked = [
        (a, b)
        for a, b, chance in words
        if (token := _content(claim[a:b])) is not None
        and (chance >= UNSUPPORTED_WORD or (token not in held and (token in evidence.claim.names or token.isdigit())))
    ]
    if not marked:
        content = [word for word in words if _content(claim[word[0] : word[1]]) is not None]
        marked = [max(content or words, key=lambda word: word[2])[:2]]
    return tuple(marked)


def refused_share(evidence: Evidence, reading: SupportReading) -> float:
    """Share of the claim's content words that lack support: marked by the network, or in no sentence of the evidence."""
    text, held = evidence.claim.text, evidence.stems
    found = [
        chance >= UNSUPPORTED_WORD or token not in held
        for a, b, chance in _words(reading)
        if (token := _content(text[a:b])) is not None
    ]
    return sum(found) / len(found) if found else 1.0


def _words(reading: SupportReading) -> list[tuple[int, int, float]]:
    """Word pieces joined to words: a piece that begins where the one before ends belongs to it. A word is as doubtful as its
    most doubtful piece."""
    joined: list[tuple[int, int, float]] = []
    for start, end, chance in reading.words:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end, max(joined[-1][2], chance))
        else:
            joined.append((start, end, chance))
    return joined


def _content(word: str) -> str | None:
    """The stem of a content word."""
    stems = analyse_claim(word).stems
    return stems[0] if stems else None

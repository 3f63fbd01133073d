"""The default judge: words propose, rules and a small network that reads the claim beside its evidence object.

Three steps, each asked only where the one before has not decided:

1. A look. The claim is a whole sentence of a premise: supported. The word features of `LexicalJudge` refuse it: not supported.
2. Rules (`eval.judges.vetoes`): a number, name, date, limit or denial differs, or the words are another sentence's. Refused.
3. `decoding.support`: MiniLM with trained adapters reads the claim and the sentences that hold most of it. One word that it is
   sure about is enough to refuse: a function word ("not", "by", "her") or a word that no sentence has.

On claims that people labelled, the network's opinion adds nothing to words, neither as features of a regression nor as a score
(LOG.md); where it is sure it is right, so it may object and not propose. What words refuse is never read, which is also what
makes this judge quick. Limits, calibration and card lie in `embedded_judge.json`, made by `python -m tools.fits.fit_judge`.
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
from eval.judges.contradictions import is_known
from eval.judges.features import VERSION, Evidence, analyse_claim, closest, gather
from eval.judges.judge import JudgeKind, Pair
from eval.judges.lexical_judge import REPEATED, VETOED, LexicalJudge, digest_of
from eval.judges.vetoes import Finding, examine
from eval.text import plain

MODEL_FILE = Path(__file__).with_name("embedded_judge.json")
READ_VERSION = "read4"
"""Changes whenever the network is shown other sentences or its readings are used otherwise."""

SENTENCES = 6
"""Sentences that the network reads beside a claim. With four it objected to 8.8% of people's supported claims that words
accept, with six to 5.5%, at the same share of edited statements."""
VERBATIM = 0.99
OBJECTED = 0.4
"""A claim that the network objects to keeps this share of its score by words: doubtful, never a little below the threshold."""
HOPELESS = 0.15
"""A claim that the words alone give less than this is refused without looking at rules. Of the people's claims that were
supported 5% lie below, of the others 43%."""
UNSUPPORTED_WORD = 0.5
ROUGHLY = 0.3
"""Log odds by which a first reading may be wrong; a claim whose surest doubt lies closer to the limit is read again."""

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
    """`lexical` is the revision of the word judge that it was fitted with. `slope` and `shift` turn the log odds of that one's
    score into calibrated ones. `sure` is the chance that a word lacks support, above which the claim is refused. `doubtful` is
    a range of probabilities. A refused claim is not supported at all when more than `refused_share` of its content words lack
    support.
    """

    version: str
    reader: str
    lexical: str
    sure: float
    slope: float
    shift: float
    doubtful: tuple[float, float]
    refused_share: float
    card: EmbeddedCard

    def calibrated(self, score: float) -> float:
        """Of a score of the word judge."""
        odds = self.slope * _log_odds(score) + self.shift
        return 1 / (1 + math.exp(-odds))


class _Looked(NamedTuple):
    """What a look and the rules found: `words` is the word judge's score; `is_open` where the network may object."""

    words: float
    is_open: bool
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
        if (
            self.model.version != f"{VERSION}+{READ_VERSION}"
            or self.model.reader != reader.fingerprint
            or self.model.lexical != self._lexical.fitted
        ):
            raise UserError(
                f"{path} was fitted for another network or other features ({self.model.version}, {self.model.reader}, "
                f"{self.model.lexical}); fit it again: python -m tools.fits.fit_judge"
            )

    @property
    def threshold(self) -> float:
        """Where the word judge has its own."""
        return self.model.calibrated(self._lexical.threshold)

    @cached_property
    def revision(self) -> str:
        return f"{VERSION}-{READ_VERSION}-{digest_of(self.model)}"

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        looked = [self._look(pair) for pair in pairs]
        doubts = iter(self._doubts([one for one in looked if one.is_open]))
        return [self._joined(one, next(doubts) if one.is_open else 0.0) for one in looked]

    def judge(self, pair: Pair) -> Verdict | None:
        """One pair, with the words that lack support. None for a claim too long to be read whole, whose words nobody marked."""
        one = self._look(pair)
        if one.words >= REPEATED:
            return Verdict("supported", self._joined(one, 0.0), False, ())
        if not one.evidence.units:
            return Verdict("not_supported", 0.0, False, ((0, len(pair.claim)),))
        if (reading := self._reader.read([_shown(one)])[0]) is None:
            return None
        score = self._joined(one, surest_doubt(one.evidence, reading) if one.is_open else 0.0)
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
        nothing = Finding(None)
        if not claim.stem_set or not evidence.units:
            return _Looked(0.0, False, evidence, nothing)
        said = plain(pair.claim)
        if any(plain(unit.text) == said for unit in evidence.units):
            return _Looked(VERBATIM, False, evidence, nothing)
        words = self._lexical.probability(evidence)
        if words < HOPELESS:
            return _Looked(words, False, evidence, nothing)
        finding = examine(evidence)
        if finding.repeats:
            return _Looked(max(words, REPEATED), False, evidence, finding)
        if finding.reason is not None:  # the rest of the score keeps their order
            return _Looked(words * (self._lexical.threshold if finding.weak else VETOED), False, evidence, finding)
        return _Looked(words, words >= self._lexical.threshold, evidence, finding)

    def _doubts(self, open_: Sequence[_Looked]) -> list[float]:
        """The surest doubt about each claim, 0 where it could not be read. Only on which side of `sure` it lies counts, so all
        are read roughly, and again in full where that might put one on the wrong side."""
        found = self._read(open_, ROUGHLY)
        near = [i for i, doubt in enumerate(found) if abs(_log_odds(doubt) - _log_odds(self.model.sure)) <= ROUGHLY]
        for i, doubt in zip(near, self._read([open_[i] for i in near], 0.0), strict=True):
            found[i] = doubt
        return found

    def _read(self, open_: Sequence[_Looked], within: float) -> list[float]:
        readings = self._reader.read([_shown(one) for one in open_], within=within)
        both = zip(open_, readings, strict=True)
        return [0.0 if reading is None else surest_doubt(one.evidence, reading) for one, reading in both]

    def _joined(self, one: _Looked, doubt: float) -> float:
        """A refused claim keeps its order among those refused. One that could not be read stays with its words."""
        if not one.words:
            return 0.0
        return self.model.calibrated(one.words * (OBJECTED if doubt > self.model.sure else 1.0))


def _log_odds(chance: float) -> float:
    return math.log(max(chance, 1e-6) / max(1 - chance, 1e-6))


def surest_doubt(evidence: Evidence, reading: SupportReading) -> float:
    """The largest chance that a word lacks support, of function words and of content words that no sentence has; 0 without any.

    Content words that the evidence has are left out: on people's claims the network doubts true ones as often as false ones.
    """
    text, held = evidence.claim.text, evidence.stems
    found = 0.0
    for a, b, chance in _words(reading):
        if chance <= found or not any(c.isalnum() for c in text[a:b]):
            continue
        token = _content(text[a:b])
        if token is None or (token not in held and not is_known(text[a:b], evidence)):
            found = chance
    return found


def _shown(one: _Looked) -> tuple[str, tuple[str, ...]]:
    return one.evidence.claim.text, closest(one.evidence, SENTENCES)


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

"""A judge by any entailment model (`decoding.api.Entailment`), and how long premises come before it.

What fits is read whole. A longer premise is cut into windows of whole sentences, and where there are several texts to read
(windows, or several premises) one more is made of the best sentences of each: the score is the largest. So what two
passages say together counts, and the claim is never cut: one that does not fit beside a premise is left unjudged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from data.passages import sentence_spans
from decoding.api import Entailment
from eval.judges.features import LONGEST_SENTENCE, analyse_claim, analyse_premise
from eval.judges.judge import JudgeKind, Pair

VERSION = "nli1"
"""Changes whenever the same pair could be read in other windows; part of the judge's revision."""

THRESHOLD = 0.5

WINDOW_TOKENS = 400
"""Entailment models were trained on a sentence to a page of premise, and grow unsure on more, whatever they can read."""

LEAST_ROOM = 32
"""Tokens of premise below which a claim counts as too long to be judged."""


class NliJudge:
    kind: JudgeKind = "nli"

    def __init__(self, model: Entailment, threshold: float = THRESHOLD) -> None:
        self.model = model
        self._threshold = threshold

    @property
    def name(self) -> str:
        return f"nli:{self.model.name}"

    @property
    def revision(self) -> str:
        return f"{VERSION}-{self.model.fingerprint[:12]}"

    @property
    def threshold(self) -> float:
        return self._threshold

    def score(self, pairs: Sequence[Pair]) -> list[float | None]:
        """The largest probability over the parts read of each pair's premises; 0 without any, None for a claim too long."""
        read = [readings(self.model, pair) for pair in pairs]
        asked = [(text, pair.claim) for pair, texts in zip(pairs, read, strict=True) for text in texts or ()]
        answers = iter(self.model.probabilities(asked))
        return [None if texts is None else max((next(answers) for _ in texts), default=0.0) for texts in read]


def readings(model: Entailment, pair: Pair) -> tuple[str, ...] | None:
    """The texts to put before the model for one pair: each fits beside the whole claim. None when the claim leaves no room."""
    room = min(model.room(pair.claim), WINDOW_TOKENS)
    if room < LEAST_ROOM:
        return None
    premises = [premise for premise in pair.premises if premise.strip()]
    if not premises or not pair.claim.strip():
        return ()
    texts = [text for premise in premises for text in windows(model, premise, room)]
    if len(texts) > 1:
        texts.append(best_sentences(model, pair.claim, premises, room))
    return tuple(dict.fromkeys(text for text in texts if text))


def windows(model: Entailment, premise: str, room: int) -> Iterator[str]:
    """Runs of whole sentences, each of at most `room` tokens, every run beginning with the last sentence of the one before.

    A sentence of more words than `LONGEST_SENTENCE`, or more tokens than `room`, is cut at a word.
    """
    if model.count_tokens(premise) <= room:
        yield premise
        return
    held: list[tuple[str, int]] = []
    fresh = False  # whether `held` has a sentence that no window has
    for sentence, n in _pieces(model, premise, room):
        if fresh and sum(m for _, m in held) + n > room:
            yield " ".join(text for text, _ in held)
            held, fresh = held[-1:], False
        while held and sum(m for _, m in held) + n > room:
            held.pop(0)
        held.append((sentence, n))
        fresh = True
    if fresh:
        yield " ".join(text for text, _ in held)


def _pieces(model: Entailment, premise: str, room: int) -> Iterator[tuple[str, int]]:
    """Sentences with their tokens, one spare token each for the space between."""
    for span in sentence_spans(premise, longest=LONGEST_SENTENCE):
        yield from _fitting(model, premise[span.start : span.end], room)


def _fitting(model: Entailment, text: str, room: int) -> Iterator[tuple[str, int]]:
    n = model.count_tokens(text) + 1
    if n <= room:
        yield text, n
        return
    words = text.split()
    parts = (text[: len(text) // 2], text[len(text) // 2 :])
    if len(words) > 1:
        parts = (" ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :]))
    for part in parts:
        yield from _fitting(model, part, room)


def best_sentences(model: Entailment, claim: str, premises: Sequence[str], room: int) -> str:
    """The sentences that share most words with the claim, of every premise in turn, as many as fit, in the order of the text.

    Empty when no sentence shares a content word.
    """
    wanted = analyse_claim(claim).stem_set
    ranked: list[list[tuple[int, int]]] = []
    for premise in premises:
        shared = [len(wanted & unit.stem_set) for unit in analyse_premise(premise)]
        ranked.append(sorted(((-n, at) for at, n in enumerate(shared) if n)))
    chosen: set[tuple[int, int]] = set()
    left = room
    for rank in range(max(map(len, ranked), default=0)):
        for p, places in enumerate(ranked):
            if rank < len(places):
                at = places[rank][1]
                n = model.count_tokens(analyse_premise(premises[p])[at].text) + 1
                if n <= left:
                    chosen.add((p, at))
                    left -= n
    return " ".join(analyse_premise(premises[p])[at].text for p, at in sorted(chosen))

"""The default judge with three more looks: who did what to whom, outcomes turned round, and numbers and times in other forms.

`embedded` accepts "Y beat X" beside "Y was beaten by X" and refuses 9:40 pm beside 21:40. This judge asks it twice where a
claim has times or numbers that its evidence writes otherwise, and refuses what `eval.judges.roles` and `outcomes` find. Nothing
is fitted. It costs a tenth more, has the same threshold, and agrees with `embedded` on all else: most exchanged roles are in
words that no rule knows, so it is no reader of paraphrases either.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from data.passages import sentence_spans
from eval.judges.embedded_judge import EmbeddedJudge
from eval.judges.features import LONGEST_SENTENCE, analyse_claim, gather
from eval.judges.judge import JudgeKind, Pair
from eval.judges.lexical_judge import VETOED
from eval.judges.other_forms import as_evidence_has_it
from eval.judges.outcomes import turned_round
from eval.judges.roles import exchanged

VERSION = "roles1"
"""Changes whenever a claim could be judged otherwise by what this judge adds."""
NEAREST = 2
"""Sentences that outcomes are looked for in."""
_VALUE = re.compile(r"\d|\b(?:million|thousand|hundred|dozen)\b", re.I)


class RolesJudge:
    kind: JudgeKind = "embedding"
    name = "roles"

    def __init__(self, inner: EmbeddedJudge) -> None:
        self._inner = inner

    @property
    def threshold(self) -> float:
        return self._inner.threshold

    @property
    def revision(self) -> str:
        return f"{VERSION}-{self._inner.revision}"

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """The better of a claim's two forms, lowered far below the threshold where a rule refuses it."""
        asked = [form for pair in pairs for form in _forms(pair)]
        known = dict(zip(asked, self._inner.score(asked), strict=True))
        found = []
        for pair in pairs:
            score = max(known[form] for form in _forms(pair))
            found.append(score * VETOED if score >= self.threshold and _is_refused(pair) else score)
        return found


def _forms(pair: Pair) -> tuple[Pair, ...]:
    if not _VALUE.search(pair.claim):
        return (pair,)
    written = as_evidence_has_it(pair.claim, _sentences(pair.premises))
    return (pair,) if written == pair.claim else (pair, Pair(pair.premises, written))


def _is_refused(pair: Pair) -> bool:
    """Only sentences that share a word with the claim are looked at."""
    evidence = gather(analyse_claim(pair.claim), pair.premises, lambda stem: 1.0)
    near = [unit.text for unit in evidence.units]
    if exchanged(pair.claim, near) is not None:
        return True
    best = sorted(zip(evidence.gains, near, strict=True), key=lambda one: -one[0])[:NEAREST]
    return turned_round(pair.claim, [text for _, text in best], near) is not None


@lru_cache(maxsize=1 << 8)
def _sentences(premises: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text[start:end] for text in premises for start, end in sentence_spans(text, longest=LONGEST_SENTENCE))

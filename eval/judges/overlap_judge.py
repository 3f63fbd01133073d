"""The plainest judge: which share of the claim's content words the premises have. What any other judge has to beat.

It sees no order, no roles, no negation; a number or name counts as one word of many. Use it beside another judge, to see
how much of a score is bare overlap, never for a headline.
"""

from __future__ import annotations

from collections.abc import Sequence

from eval.judges.features import VERSION, analyse_claim, gather
from eval.judges.judge import JudgeKind, Pair


class OverlapJudge:
    """`score` is the share of distinct content stems of the claim that occur in the best sentences of the premises.

    The threshold lies in the middle of the flat top of balanced accuracy on the WiCE development part (0.64 to 0.76; there
    0.69, with an AUROC of 0.778).
    """

    kind: JudgeKind = "lexical"
    name = "overlap"
    revision = f"share-{VERSION}"
    threshold = 0.7

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        return [_share(pair) for pair in pairs]


def _share(pair: Pair) -> float:
    claim = analyse_claim(pair.claim)
    if not claim.stem_set:
        return 0.0
    return len(gather(claim, pair.premises, _alike).stems) / len(claim.stem_set)


def _alike(stem: str) -> float:
    return 1.0

"""Headings of the article against those of the human one.

The soft heading recall of STORM (Shao et al. 2024, after Fränti and Mariescu-Istodor 2023) is kept for comparison, but
twenty common headings, the same for every article, score 0.87 on it; recall, precision and F on best matches say more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from eval.catalogue import directions
from eval.metric import Case
from eval.metrics.rouge import harmonic_mean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from decoding.api import Encoder

    _ByHeading = Mapping[str, NDArray[np.float32]]


_ROUNDING = 1e-6
"""Soft counts are sums of float32: headings that have nothing in common may come out below 0 by this much."""


class Headings:
    """Recall, precision and F of headings by cosine, the share matched exactly, STORM's soft recall (not clipped), and
    `section_balance`: how far the article gives its words to the same subjects as the human one.

    Without headings an article scores 0; where the human article has none, nothing is scored. All headings of a case are
    encoded in one call and none is kept for another: a vector's last bits depend on the texts encoded beside it, and so would
    a score on the articles scored before.
    """

    names = directions("heading_recall", "heading_precision", "heading_f", "heading_exact", "storm_hsr", "section_balance")

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    @property
    def signature(self) -> str:
        return f"headings:encoder={self._encoder.name}|match=max-cosine|balance=jsd|v2"

    def score(self, case: Case) -> dict[str, float | None]:
        gold, written = case.gold.headings, case.headings
        if not gold:
            return dict.fromkeys(self.names, None)
        if not written:
            return dict.fromkeys(self.names, 0.0)
        vectors = heading_vectors(self._encoder, gold, written)
        cosines = (_rows(vectors, gold) @ _rows(vectors, written).T).clip(0.0, 1.0)  # (gold, written)
        recall, precision = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
        keys = {_key(heading) for heading in written}
        return {
            "heading_recall": recall,
            "heading_precision": precision,
            "heading_f": harmonic_mean(recall, precision),
            "heading_exact": sum(_key(heading) in keys for heading in gold) / len(gold),
            "storm_hsr": _soft_recall(vectors, gold, written),
            "section_balance": _balance(case, cosines.argmax(axis=0)),
        }


def heading_vectors(encoder: Encoder, gold: tuple[str, ...], written: tuple[str, ...]) -> Mapping[str, NDArray[np.float32]]:
    """Unit vectors of all headings of a case, by heading. Kept for a moment, for the metrics that need the same ones."""
    return _vectors(encoder, gold, written)  # type: ignore[arg-type]  # encoders are hashed by identity


@lru_cache(maxsize=2)
def _vectors(encoder: Encoder, gold: tuple[str, ...], written: tuple[str, ...]) -> Mapping[str, NDArray[np.float32]]:
    distinct = list(dict.fromkeys([*gold, *written]))
    return dict(zip(distinct, encoder.encode(distinct), strict=True))


def _rows(vectors: _ByHeading, headings: Iterable[str]) -> NDArray[np.float32]:
    import numpy as np

    return np.stack([vectors[heading] for heading in headings])


def _soft_recall(vectors: _ByHeading, gold: Sequence[str], written: Sequence[str]) -> float | None:
    """(card G + card W - card of both) / card G; None if cosines that cancel out leave it undefined."""
    card_gold, card_written, card_both = (_cardinality(vectors, names) for names in (gold, written, [*gold, *written]))
    recall = (card_gold + card_written - card_both) / card_gold if card_gold else math.nan
    if not math.isfinite(recall):
        return None
    return 0.0 if abs(recall) < _ROUNDING else recall


def _cardinality(vectors: _ByHeading, headings: Iterable[str]) -> float:
    """Soft count of the distinct headings: each counts one over its summed cosine to all of them, itself included."""
    distinct = _rows(vectors, dict.fromkeys(headings))
    sums = [float(value) for value in (distinct @ distinct.T).sum(axis=1)]
    return math.fsum(1 / value if value else math.inf for value in sums)


def _balance(case: Case, nearest: NDArray[np.intp]) -> float | None:
    """1 - Jensen-Shannon distance (base 2) of two shares of words: by lead and gold section, and by the gold sections whose
    headings are `nearest` to the written ones. None where one side has no word."""
    import numpy as np

    human, written = (np.zeros(len(case.gold.sections) + 1) for _ in range(2))
    human[:] = [len(text.split()) for text in (case.gold.lead, *(s.prose for s in case.gold.sections))]
    for place, section in zip([0, *(nearest + 1)], case.sections, strict=True):
        written[place] += sum(len(sentence.text.split()) for sentence in section.sentences)
    if not human.sum() or not written.sum():
        return None
    p, q = human / human.sum(), written / written.sum()
    middle = (p + q) / 2
    divergence = sum((side[side > 0] * np.log2(side[side > 0] / middle[side > 0])).sum() for side in (p, q)) / 2
    return 1 - math.sqrt(max(0.0, float(divergence)))


def _key(heading: str) -> str:
    return " ".join(heading.casefold().split())

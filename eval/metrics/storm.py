"""STORM's scores of an article (Shao et al. 2024, `eval/` of its repository), where they count otherwise than ours.

Its soft heading recall is `eval.metrics.structure.Headings`' `storm_hsr`. Its names come from Flair, ours from
`coverage.entities`; so only the way of counting is theirs: exact equality of the sets, and 1 where the human side has no name
at all, which is common for headings. Its citation scores ask a language model two softer questions and have no counterpart
here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from eval.catalogue import directions
from eval.metric import Case
from eval.metrics.coverage import entities
from eval.metrics.rouge import harmonic_mean, lcs_length, ngram_overlap
from eval.text import porter_stem

_URL = re.compile(r"https?://\S+|www\.\S+")
_TOKEN = re.compile(r"[a-z0-9]+")
_SHORTEST_STEMMED = 4


class Storm:
    """ROUGE-1 and ROUGE-L (F, Porter stems) over text with its headings as lines `section: X`, and recall of names."""

    names = directions("storm_rouge1_f", "storm_rougeL_f", "storm_entity_recall", "storm_heading_entities")
    signature = "storm:tok=ascii,porter|headings=section:|entities=capital-runs,set-equality,empty=1|v1"

    def score(self, case: Case) -> dict[str, float | None]:
        written = _tokens([(s.heading.text, " ".join(one.text for one in s.sentences)) for s in case.sections])
        gold = _tokens([("", case.gold.lead), *((s.heading, s.prose) for s in case.gold.sections)])
        return {
            "storm_rouge1_f": _f(ngram_overlap(written, gold, 1), written, gold),
            "storm_rougeL_f": _f(lcs_length(written, gold), written, gold),
            "storm_entity_recall": _recall(entities(case.gold.prose), entities(case.prose)),
            "storm_heading_entities": _recall(_in_lines(case.gold.headings), _in_lines(case.headings)),
        }


def _tokens(sections: Sequence[tuple[str, str]]) -> list[str]:
    """Words without URLs and non-ASCII characters, in the form of rouge-score with its stemmer: longer ones as Porter stems."""
    text = "\n".join(f"section: {heading}\n{prose}" if heading else prose for heading, prose in sections)
    plain = unicodedata.normalize("NFKC", _URL.sub("", text)).encode("ascii", "ignore").decode().lower()
    return [porter_stem(t) if len(t) >= _SHORTEST_STEMMED else t for t in _TOKEN.findall(plain)]


def _f(overlap: int, written: Sequence[str], gold: Sequence[str]) -> float:
    return harmonic_mean(overlap / max(len(written), 1), overlap / max(len(gold), 1))


def _in_lines(headings: Sequence[str]) -> frozenset[str]:
    return entities("\n".join(headings))


def _recall(gold: frozenset[str], written: frozenset[str]) -> float:
    return len(gold & written) / len(gold) if gold else 1.0

"""Numbers as the pages print them, the bars that draw their intervals, and what each metric is called."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from benchmark.submissions.submission import Submission, is_proportion

DASH = "–"


@dataclass(frozen=True, slots=True)
class Measure:
    """`arrow` is which way is good: "↑", "↓", or "" for neither or unknown."""

    name: str
    label: str
    arrow: str = "↑"

    @property
    def share(self) -> bool:
        """Whether values lie in [0, 1] and are printed in percent."""
        return is_proportion(self.name)


FAMILIES: Mapping[str, tuple[Measure, ...]] = {
    "What ranks": (Measure("quality", "Quality"),),
    "Citation support": (
        Measure("cite_f1", "Citation F1"),
        Measure("cite_recall", "Sentences supported by what they cite"),
        Measure("cite_precision", "Citations that support"),
        Measure("cited_share", "Sentences with a citation"),
        Measure("support_given_cited", "Support among cited sentences"),
        Measure("cite_words", "Supported, weighted by words"),
        Measure("cite_recall_soft", "Mean support of sentences"),
        Measure("cite_precision_soft", "Mean support by citations"),
        Measure("alce_recall", "Recall as ALCE counts"),
        Measure("alce_precision", "Precision as ALCE counts"),
        Measure("judged_share", "Sentences that could be judged", ""),
        Measure("invalid_citation_share", "Citations that name no source", "↓"),
        Measure("citations_per_claim", "Citations a sentence", ""),
        Measure("n_claims", "Sentences judged", ""),
        Measure("n_skipped", "Sentences without a word", ""),
    ),
    "Grounding": (
        Measure("grounded", "Sentences grounded in any page"),
        Measure("grounded_soft", "Mean support by any page"),
        Measure("number_errors", "Sentences with a number that is not cited", "↓"),
        Measure("name_errors", "Sentences with a name that is not cited", "↓"),
        Measure("novel_entity_rate", "Names found on no page", "↓"),
    ),
    "Coverage of the human article": (
        Measure("attainable_entity_recall", "Names that the evidence holds"),
        Measure("entity_recall", "Names"),
        Measure("number_recall", "Numbers"),
        Measure("fact_f", "Statements, F"),
        Measure("fact_recall_attainable", "Statements that the evidence holds"),
        Measure("fact_recall", "Statements"),
        Measure("fact_precision", "Clauses that evidence or human article support"),
        Measure("fact_precision_evidence", "Clauses that the evidence supports"),
        Measure("fact_precision_gold", "Clauses that the human article supports"),
        Measure("conflict_share", "Statements against the human article", "↓"),
        Measure("n_comparable", "Statements compared with the human article", ""),
        Measure("n_facts_per_claim", "Clauses a sentence", ""),
        Measure("ib_hard", "Infobox facts, whole"),
        Measure("ib_soft", "Infobox facts, in part"),
    ),
    "Structure": (
        Measure("heading_f", "Headings, F"),
        Measure("heading_recall", "Headings, recall"),
        Measure("heading_precision", "Headings, precision"),
        Measure("heading_exact", "Headings, exact"),
        Measure("section_balance", "Balance of subjects"),
        Measure("organisation", "Organisation"),
        Measure("placement", "Facts placed as in the human article"),
        Measure("togetherness", "Facts kept together"),
        Measure("heading_fit", "Facts under a heading that fits"),
        Measure("order", "Facts in order"),
        Measure("n_placed", "Facts compared", ""),
    ),
    "Overlap with the human article": (
        *(
            Measure(f"rouge{n}_{part}", f"ROUGE-{n}, {part if part != 'f' else 'F'}")
            for n in "12L"
            for part in ("f", "recall", "precision")
        ),
        Measure("length_ratio", "Length, relative", ""),
        Measure("words", "Words", ""),
        Measure("dropped_letters", "Letters that tokens drop", ""),
    ),
    "Copying": (
        Measure("copy8", "Words in 8-grams of the evidence", ""),
        Measure("copied_share", "Words in copied runs", "↓"),
        Measure("verbatim_share", "Sentences word for word in a page", "↓"),
        Measure("longest_copy_words", "Longest copy, words", ""),
        Measure("repetition", "Repetition", "↓"),
        Measure("duplicate_sentence_share", "Sentences said twice", "↓"),
        Measure("leak8", "8-grams shared with the encyclopedia on the pages", ""),
        Measure("gold_copy8", "8-grams of the human article", ""),
        Measure("gold_sentence_share", "Sentences nearly as in the human article", ""),
        Measure("gold_said_share", "Sentences of the human article nearly as here", ""),
        Measure("encyclopedia_cites", "Citations of an encyclopedia or a copy of it", ""),
    ),
    "Sentences that are none": (
        Measure("junk_share", "Junk", "↓"),
        Measure("leaning_share", "Sentences that lean on what is not there", "↓"),
    ),
    "As STORM counts": (
        Measure("storm_rouge1_f", "ROUGE-1"),
        Measure("storm_rougeL_f", "ROUGE-L"),
        Measure("storm_entity_recall", "Names"),
        Measure("storm_heading_entities", "Names in headings"),
        Measure("storm_hsr", "Heading soft recall"),
    ),
    "As WikiGenBench counts": (
        *(
            Measure(f"wgb_{name}", label)
            for name, label in (
                ("bleu1", "BLEU-1"),
                ("bleu4", "BLEU-4"),
                ("meteor", "METEOR"),
                ("rouge1", "ROUGE-1"),
                ("rouge2", "ROUGE-2"),
                ("rougeL", "ROUGE-L"),
                ("cite_recall", "Citation recall"),
                ("cite_precision", "Citation precision"),
                ("cite_rate", "Citation rate"),
            )
        ),
    ),
}
_KNOWN = {measure.name: measure for family in FAMILIES.values() for measure in family}


def measure(name: str) -> Measure:
    return _KNOWN.get(name) or Measure(name, name, "")


def families(submission: Submission) -> list[tuple[str, list[Measure]]]:
    """The submission's metrics by family, in the order of FAMILIES; those of no family last."""
    found = [(title, [m for m in measures if m.name in submission.scores]) for title, measures in FAMILIES.items()]
    others = [measure(name) for name in submission.scores if name not in _KNOWN]
    return [(title, measures) for title, measures in [*found, ("Others", others)] if measures]


def number(value: float | None, share: bool = True) -> str:
    """`91.9` for the share 0.919; three digits that matter for other values; a dash for none."""
    if value is None or not math.isfinite(value):
        return DASH
    shown = value * 100 if share else value
    if abs(shown) >= 1e6:
        return f"{shown:.3g}"
    if share:
        return f"{shown:.1f}"
    decimals = 0 if abs(shown) >= 100 else 1 if abs(shown) >= 10 else 2
    return f"{shown:,.{decimals}f}" if abs(shown) >= 1 or shown == 0 else f"{shown:.2g}"


def signed(value: float) -> str:
    """A difference of shares in points: `+1.2`, `−0.4`."""
    text = number(abs(value))
    return text if float(text) == 0 else f"{'+' if value > 0 else '−'}{text}"


def p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


@dataclass(frozen=True, slots=True)
class Bar:
    """In percent of the bar's width: where the mean is, and where its interval starts and how wide it is."""

    mean: str
    start: str
    width: str


def bar(mean: float, low: float | None = None, high: float | None = None) -> Bar:
    """Drawn as SVG attributes: the pages' policy forbids styles in them. A width of 0 would vanish, so 1 is the least."""
    a, b = _within(mean if low is None else low), _within(mean if high is None else high)
    wide = max(b - a, 1.0)
    return Bar(f"{_within(mean):.2f}", f"{min(a, 100 - wide):.2f}", f"{wide:.2f}")


def _within(share: float) -> float:
    return min(max(share * 100, 0.0), 100.0)


def seconds_an_article(submission: Submission) -> float | None:
    cost = submission.cost
    return _ratio(cost.write_s, cost.n_written) if cost.write_s > 0 else None


def tokens_a_second(submission: Submission) -> float | None:
    """As the decoder measured it, or new tokens over all of the time of writing."""
    cost = submission.cost
    return cost.tokens_per_s if cost.tokens_per_s is not None else _ratio(cost.n_new_tokens, cost.write_s)


def usd_an_article(submission: Submission) -> float | None:
    return _ratio(submission.cost.usd, submission.cost.n_written)


def _ratio(a: float | None, b: float) -> float | None:
    try:
        return None if a is None or b <= 0 else a / b
    except OverflowError:  # a whole number beyond any float: it says nothing
        return None

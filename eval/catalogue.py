"""Every number that an article can score: its name, what it is called, which way is good, and what it says.

Console, reports, leaderboard, comparisons and `docs/scores.md` read it here. A new metric is a class in `eval.metrics` and an
entry in this table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from eval.metric import Better

Unit = Literal["share", "ratio", "count"]
"""`share` lies in [0, 1], `ratio` may exceed 1 (both are printed in percent), `count` is a number of things."""

Place = Literal["headline", "beside", ""]
"""Whether systems are compared by it, whether it is shown beside those, or only where everything is asked for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """`label` is what a table calls it, `meaning` one line for readers who have never seen it."""

    name: str
    label: str
    meaning: str
    better: Better = "higher"
    unit: Unit = "share"
    place: Place = ""
    group: str = ""

    @property
    def arrow(self) -> str:
        return {"higher": "↑", "lower": "↓", "neither": ""}[self.better]

    @property
    def share(self) -> bool:
        """Whether values lie in [0, 1]."""
        return self.unit == "share"


_TABLE: Mapping[str, tuple[Entry, ...]] = {
    "Ranking": (
        Entry(
            "quality",
            "Quality",
            "facts shared with the human article, less disorder, conflicts, junk, length and lack of support",
            place="headline",
        ),
    ),
    "Coverage": (
        Entry(
            "fact_f",
            "Facts",
            "facts of the human article found here, and facts here that it has: harmonic mean",
            place="headline",
        ),
        Entry("fact_recall", "Facts found", "facts of the human article found here"),
        Entry("fact_recall_attainable", "Facts found, of those in the pages", "the same, of facts that some page holds"),
        Entry("fact_precision", "Clauses held", "clauses that the pages or the human article hold"),
        Entry("fact_precision_evidence", "Clauses held by the pages", "clauses that the pages hold"),
        Entry("fact_precision_gold", "Clauses held by the human article", "clauses that the human article holds"),
        Entry("n_facts_per_claim", "Clauses a sentence", "clauses in a sentence, on average", "neither", "count"),
        Entry("entity_recall", "Names", "names of the human article that the article has"),
        Entry("attainable_entity_recall", "Names, of those in the pages", "the same, of names that some page has"),
        Entry("number_recall", "Numbers", "numbers of the human article that the article has"),
        Entry("ib_hard", "Infobox facts, whole", "infobox values of the human article that are whole in the article"),
        Entry("ib_soft", "Infobox facts, in part", "words of those infobox values that the article has"),
        Entry(
            "conflict_share",
            "Conflicts",
            "statements that contradict the human article, of those comparable; less is better",
            "lower",
            place="beside",
        ),
        Entry(
            "n_comparable",
            "Statements compared",
            "statements that say much the same as one of the human article",
            "neither",
            "count",
        ),
    ),
    "Organisation": (
        Entry(
            "organisation",
            "Organised",
            "facts that belong together are together, in order, under a heading that fits",
            place="headline",
        ),
        Entry("placement", "Facts placed", "facts filed as the human article files them, corrected for chance"),
        Entry("togetherness", "Facts kept together", "facts of one human section that share a section here"),
        Entry("heading_fit", "Facts under a heading that fits", "facts whose heading here resembles the human one"),
        Entry("order", "In order", "facts in the human order and days in theirs: mean of the next two"),
        Entry("fact_order", "Facts in order", "rank correlation of the facts' order with the human one"),
        Entry(
            "chronology",
            "Days in order",
            "days told in their order, within sections and between them, as far as in the human article",
        ),
        Entry("n_placed", "Facts compared", "facts found in both articles", "neither", "count"),
        Entry("heading_f", "Headings", "headings like those of the human article: harmonic mean of the next two"),
        Entry("heading_recall", "Headings, recall", "human headings that a heading here resembles"),
        Entry("heading_precision", "Headings, precision", "headings here that resemble a human one"),
        Entry("heading_exact", "Headings, exact", "human headings found here word for word"),
        Entry(
            "section_balance",
            "Balance of sections",
            "how evenly the words are spread over the sections, as in the human article",
        ),
    ),
    "Citations": (
        Entry(
            "cite_f1",
            "Supported",
            "claims that their citations support, and citations that support a claim",
            place="headline",
        ),
        Entry("cite_recall", "Claims supported", "claims that what they cite supports"),
        Entry("cite_precision", "Citations that support", "citations without which their claim has less support"),
        Entry("cited_share", "Claims with a citation", "claims that cite anything"),
        Entry("support_given_cited", "Support of cited claims", "supported claims, of those that cite"),
        Entry("cite_words", "Supported words", "words of supported claims, of all words"),
        Entry("cite_recall_soft", "Mean support of claims", "the judge's score of a claim with its citations, on average"),
        Entry("cite_precision_soft", "Mean support by citations", "the same for each citation"),
        Entry("alce_recall", "Recall, as ALCE counts", "claims that their citations support together (Gao et al. 2023)"),
        Entry("alce_precision", "Precision, as ALCE counts", "citations that ALCE does not call irrelevant"),
        Entry("judged_share", "Claims judged", "claims whose cited texts are known", "neither"),
        Entry("invalid_citation_share", "Citations of nothing", "markers that name no source; less is better", "lower"),
        Entry("citations_per_claim", "Citations a claim", "markers on a claim, on average", "neither", "count"),
        Entry("n_claims", "Claims", "sentences with a letter or a digit", "neither", "count"),
        Entry("n_skipped", "Sentences without a word", "sentences that claim nothing", "neither", "count"),
    ),
    "Grounding": (
        Entry("grounded", "Grounded claims", "claims that any page of the event supports, cited or not"),
        Entry("grounded_soft", "Mean support by any page", "the judge's best score of a claim over all pages, on average"),
        Entry("number_errors", "Numbers not cited", "claims with a number that no cited page has; less is better", "lower"),
        Entry("name_errors", "Names not cited", "claims with a name that no cited page has; less is better", "lower"),
        Entry("novel_entity_rate", "Names on no page", "names of the article that no page has; less is better", "lower"),
    ),
    "Copying": (
        Entry(
            "copied_share",
            "Copied",
            "words in runs of five or more that are in a page; less is better",
            "lower",
            place="headline",
        ),
        Entry(
            "verbatim_share",
            "Verbatim",
            "sentences, quotations aside, that are word for word in a page; less is better",
            "lower",
            place="beside",
        ),
        Entry("copy8", "Words in copied 8-grams", "words in runs of eight that are in a cited page; less is better", "lower"),
        Entry(
            "longest_copy_words",
            "Longest copy",
            "words of the longest run that is in a page; less is better",
            "lower",
            "count",
        ),
        Entry("repetition", "Repetition", "n-grams that the article has said before; less is better", "lower"),
        Entry(
            "duplicate_sentence_share", "Sentences said twice", "sentences that repeat an earlier one; less is better", "lower"
        ),
        Entry("leak8", "Shared with encyclopedia pages", "8-grams shared with encyclopedia text among the pages", "neither"),
        Entry("gold_copy8", "Shared with the human article", "8-grams of the human article", "neither"),
        Entry("gold_sentence_share", "Sentences of the human article", "sentences nearly as in the human article", "neither"),
        Entry("gold_said_share", "Human sentences found here", "sentences of the human article nearly as here", "neither"),
        Entry("encyclopedia_cites", "Citations of an encyclopedia", "citations of an encyclopedia or a copy of it", "neither"),
    ),
    "Sentences": (
        Entry(
            "junk_share",
            "Junk",
            "sentences that are none: menus, captions, fragments, other languages; less is better",
            "lower",
            place="headline",
        ),
        Entry(
            "leaning_share",
            "Leaning",
            "sentences that lean on a name, day or picture that is not there; less is better",
            "lower",
        ),
    ),
    "Rubrics": (
        Entry("rubric_organisation", "Organisation", "a model's opinion, 1 to 5: parts in a sensible order"),
        Entry("rubric_focus", "Focus", "a model's opinion: the text stays with its subject"),
        Entry("rubric_coverage", "Coverage", "a model's opinion: what matters is there"),
        Entry("rubric_fluency", "Fluency", "a model's opinion: it reads well"),
        Entry("rubric_neutrality", "Neutrality", "a model's opinion: it takes no side"),
    ),
    "Wording": (
        *(
            Entry(
                f"rouge{n}_{part}",
                f"ROUGE-{n}, {'F' if part == 'f' else part}",
                f"{what} shared with the human article, {part}",
            )
            for n, what in (("1", "words"), ("2", "pairs of words"), ("L", "words in order"))
            for part in ("f", "recall", "precision")
        ),
        Entry("words", "Words", "words of an article, a number: longer costs readers more", "neither", "count", "beside"),
        Entry("length_ratio", "Length, relative", "words, of those of the human article", "neither", "ratio"),
        Entry("dropped_letters", "Letters lost to tokens", "letters that the metrics' tokens drop: other scripts", "neither"),
    ),
    "STORM": (
        Entry(
            "storm_hsr",
            "Heading soft recall",
            "headings like the human ones, by their vectors (Shao et al. 2024)",
            unit="ratio",
        ),
        Entry("storm_heading_entities", "Names in headings", "names of human headings found in headings here"),
        Entry("storm_entity_recall", "Names", "names of the human article found here, by exact equality"),
        Entry("storm_rouge1_f", "ROUGE-1", "words shared with the human article, stemmed, headings as text"),
        Entry("storm_rougeL_f", "ROUGE-L", "words in order shared with the human article, in the same way"),
    ),
    "WikiGenBench": tuple(
        Entry(f"wgb_{name}", label, f"{label} by WikiGenBench's published scripts (arXiv 2402.18264)")
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
}
CATALOGUE: Mapping[str, Entry] = {
    entry.name: Entry(entry.name, entry.label, entry.meaning, entry.better, entry.unit, entry.place, group)
    for group, entries in _TABLE.items()
    for entry in entries
}
"""By name, in the order in which tables show them."""
GROUPS = tuple(_TABLE)

HEADLINE = tuple(name for name, one in CATALOGUE.items() if one.place == "headline")
"""What systems are compared by; everything else explains. docs/scores.md says how they were chosen."""
BESIDE = tuple(name for name, one in CATALOGUE.items() if one.place == "beside")
"""Shown beside the headline: what length costs, and two that the preconditions and `quality` look at."""


def entry(name: str) -> Entry:
    """Of a metric that is not in the catalogue, as somebody's submission may have, the name and nothing more is known."""
    known = CATALOGUE.get(name)
    return known or Entry(name, name, "", "neither", "count" if name.startswith("n_") else "share", group="Others")


def directions(*names: str) -> dict[str, Better]:
    """Which way each metric is better, as `Metric.names` gives it. Raises KeyError for one that has no entry."""
    return {name: CATALOGUE[name].better for name in names}


def less_is_better(name: str) -> bool:
    return entry(name).better == "lower"


def is_share(name: str) -> bool:
    return entry(name).share


def shown(name: str, value: float) -> str:
    """As tables print it: shares and ratios in percent, counts as they are."""
    if entry(name).unit == "count":
        return f"{value:.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.1f}"
    return f"{100 * value:.1f}"


def by_group(names: Iterable[str]) -> list[tuple[str, list[Entry]]]:
    """The entries of these metrics by group, in the catalogue's order; those without one last."""
    wanted = set(names)
    found = {group: [one for one in CATALOGUE.values() if one.group == group and one.name in wanted] for group in GROUPS}
    others = [entry(name) for name in sorted(wanted - CATALOGUE.keys())]
    return [(group, entries) for group, entries in [*found.items(), ("Others", others)] if entries]

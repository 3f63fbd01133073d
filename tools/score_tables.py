"""The two wide tables of docs/scores.md, each measure of systems on the same pages and of attacks, and the agents' table of
docs/benchmark.md.

    wikigenben agents DIR --split test                                           # writes submissions/agents
    wikigenben attacks --system extractive --data sample --json > attacks.json
    python -m tools.score_tables --attacks attacks.json

Those of systems are made from the submissions in --submissions, floors and human article from those of its base; that of
attacks from what `wikigenben attacks --json` printed. Either can be made alone (--no-systems, or without --attacks). Other
text stays.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark.comparing.agents import Standings, read_group, standings
from benchmark.floors import COLUMNS
from benchmark.scoring import support_unknown, unmet
from benchmark.submissions import submission
from benchmark.submissions.submitted import Submission
from data import codec
from data.errors import UserError
from eval.catalogue import by_group, shown
from flows.showing.console import guarded

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scores.md"
BENCHMARK_PAGE = PAGE.with_name("benchmark.md")
PARTS = {
    name: (f"<!-- {name}: python -m tools.score_tables -->", f"<!-- end of {name} -->")
    for name in ("systems", "attacks", "agents")
}
AGENT_COLUMNS = (
    ("quality", "quality"), ("facts", "fact_f"), ("fact recall", "fact_recall"), ("ROUGE-2", "rouge2_f"),
    ("heading F", "heading_f"), ("organised", "organisation"), ("supported", "cite_f1"), ("copied", "copied_share"),
    ("junk", "junk_share"), ("words", "words"),
)  # fmt: skip
HUMAN = "reference"
TWELVE = (
    "all_passages", "best_passages_headed", "seventh_word_dropped", "name_lists", "title_words", "sentences_shuffled",
    "paragraphs_reversed", "other_event", "sibling_article", "numbers_changed", "one_giant_sentence", "everything_cited",
)  # fmt: skip
"""Of all attacks those that the table shows, where they were made."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.score_tables", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--submissions", type=Path, default=Path("submissions/agents"), metavar="DIR")
    parser.add_argument("--no-systems", action="store_true", help="leave the table of systems as it is")
    parser.add_argument("--attacks", type=Path, metavar="FILE", help="what `wikigenben attacks --json` printed")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help="the page to change (default: docs/scores.md)")
    parser.add_argument(
        "--benchmark-page",
        type=Path,
        default=BENCHMARK_PAGE,
        metavar="FILE",
        help="that of the agents (default: docs/benchmark.md)",
    )
    arguments = parser.parse_args(argv)

    def run() -> int:
        text = arguments.page.read_text(encoding="utf-8")
        if not arguments.no_systems:
            found = read_standings(arguments.submissions)
            text = put(text, "systems", systems_table(found))
            beside = put(arguments.benchmark_page.read_text(encoding="utf-8"), "agents", agents_table(found))
            codec.write_atomic(arguments.benchmark_page, beside)
        if arguments.attacks:
            text = put(text, "attacks", attacks_table(read_attacks(arguments.attacks)))
        codec.write_atomic(arguments.page, text)
        return 0

    return guarded(run)


def read_standings(folder: Path) -> Standings:
    group = read_group(folder)
    if group is None:
        raise UserError(f"{folder} holds no group of submissions; make one with: wikigenben agents DIR")
    made = {one.name: submission.read(folder / one.name / "submission.json") for one in group.members}
    return standings(group, made)


def read_attacks(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path} ({error}); make it with: wikigenben attacks --json > {path}") from None
    if not isinstance(found, dict) or not {"honest", "means", "attacks"} <= found.keys():
        raise UserError(
            f"{path} is not what wikigenben attacks --json prints; make it with: wikigenben attacks --json > {path}"
        )
    return found


def systems_table(found: Standings) -> str:
    base = found.made[found.group.base]
    columns: dict[str, Mapping[str, float]] = {one.title: found.made[one.name].means for one in found.order}
    columns |= {f"floor: {COLUMNS.get(name, name)}": means for name, means in base.floors.items()}
    if HUMAN in base.ceilings:
        columns["human article"] = base.ceilings[HUMAN]
    judges = ", ".join(judge.id for judge in base.judges)
    return f"{base.data.n_events} topics of split {base.data.split}, judge {judges}:\n\n{table(columns)}"


def agents_table(found: Standings) -> str:
    """The main measures of every system, the highest first, with the preconditions that it fails."""
    base = found.made[found.group.base]
    n = base.data.n_events
    lines = [
        f"{n} topics of split {base.data.split}, judge {', '.join(judge.id for judge in base.judges)}, percent; "
        "articles that the data lack count as 0:",
        "",
        "| | " + " | ".join(heading for heading, _ in AGENT_COLUMNS) + " | fails |",
        "|---" * (len(AGENT_COLUMNS) + 2) + "|",
    ]
    for one in found.order:
        made = found.made[one.name]
        title = f"`{one.title}`" if one.kind == "here" else one.title
        there = f" ({n - len(one.missing)} of {n})" if one.missing else ""
        cells = [_cell(made, metric) for _, metric in AGENT_COLUMNS]
        lines.append(f"| {title}{there} | " + " | ".join(cells) + f" | {', '.join(unmet(made.means))} |")
    return "\n".join(lines)


def _cell(made: Submission, metric: str) -> str:
    means = made.means
    if metric not in means:
        return ""
    if metric == "cite_f1" and support_unknown(means):
        return "unknown"
    if metric == "words":
        return f"{means[metric]:,.0f}"
    if metric != "quality":
        return shown(metric, means[metric])
    low, high = made.scores[metric].ci95
    return f"{shown(metric, means[metric])} [{shown(metric, low)}, {shown(metric, high)}]"


def attacks_table(found: Mapping[str, Any]) -> str:
    chosen = [one for one in found["attacks"] if one["attack"] in TWELVE] or found["attacks"]
    columns: dict[str, Mapping[str, float]] = {f"{found['honest']} (honest)": found["means"]}
    columns |= {one["attack"].replace("_", " "): one["means"] for one in chosen}
    below = sum(one["is_below"] for one in found["attacks"])
    above = ", ".join(one["attack"] for one in found["attacks"] if not one["is_below"])
    told = f"{below} of {len(found['attacks'])} attacks on {found['n_events']} events of split {found['split']} rank below"
    return f"{told}{f'; not below: {above}' if above else ''}.\n\n{table(columns)}"


def table(columns: Mapping[str, Mapping[str, float]]) -> str:
    """A row for each measure that any column has, in the catalogue's order."""
    names = {name for means in columns.values() for name in means}
    lines = ["| measure | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for _, entries in by_group(names):
        for one in entries:
            cells = (shown(one.name, means[one.name]) if one.name in means else "" for means in columns.values())
            lines.append(f"| `{one.name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def put(page: str, part: str, text: str) -> str:
    begin, end = PARTS[part]
    before, found, rest = page.partition(begin)
    if not found or end not in rest:
        raise UserError(f"the page has no lines {begin!r} and {end!r}; add them where the table of {part} belongs")
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}"


if __name__ == "__main__":
    sys.exit(main())

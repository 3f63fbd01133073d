"""Score research agents and systems of this package on the same topics and pages, and write their leaderboard.

    wikigenben agents DIR --plan                     # who and what would be scored
    wikigenben agents DIR --limit 3                  # a try on three topics; submissions/agents is not touched
    wikigenben agents DIR --split test --html site   # score, write the submissions, print the tables, build the pages
    wikigenben agents DIR --split test --check       # score, and compare with the submissions that are there

DIR holds data/wiki/<id>.json, data/google/<id>.json and articles/<agent>/<id>.json, as the public data of Wiki Live Challenge
do once brought into that form. benchmark/comparing/agents.toml says which systems are beside the agents and where the data
come from; another file can be named with --recipe.

All are scored by the same metrics and judge against the same pages, one topic after the other, so that pages, human articles
and what a judge makes of them are computed once a topic. Scores are kept: the same command goes on where it broke off.
An article that is missing, unreadable or cannot be scored stops nothing; it counts by the benchmark's rule (0 where 0 is worst)
and is shown. A cited page whose text is not in the data stays a source without text. Submissions hold hashes in place of text.
Exit code: 0 done, 1 an article failed, a submission is not valid or --check found a difference, 2 wrong input, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from data.settings import add_setting_flags
from flows.showing.console import guarded


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben agents", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="holds data/ and articles/<agent>/")
    parser.add_argument("--split", choices=("dev", "test", "all"), help="which topics (default: that of the recipe, dev)")
    parser.add_argument("--systems", metavar="A,B", help="systems of this package beside the agents (default: of the recipe)")
    parser.add_argument("--base", metavar="NAME", help="the system that all are compared with (default: of the recipe, ours)")
    parser.add_argument("--agents", metavar="A,B", default="", help="only these; submissions are then left alone")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N topics; submissions are then left alone")
    parser.add_argument("--recipe", type=Path, metavar="FILE", help="in place of benchmark/comparing/agents.toml")
    parser.add_argument(
        "--out", type=Path, default=Path("submissions/agents"), metavar="DIR", help="submissions (default: submissions/agents)"
    )
    parser.add_argument("--runs", type=Path, metavar="DIR", help="articles and rows as they are made (default: runs/agents)")
    parser.add_argument("--html", type=Path, metavar="DIR", help="also build the pages of these submissions there")
    parser.add_argument("--no-floors", action="store_true", help="without floors and ceilings, which take a while")
    add_setting_flags(parser, file=False)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--plan", action="store_true", help="only say what would be done")
    what.add_argument("--check", action="store_true", help="compare hashes and scores with the submissions that are there")
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout instead of tables")
    arguments = parser.parse_args(argv)

    def run() -> int:
        from flows.commands import agent_scores, agent_tables

        asked = agent_scores.asked(
            arguments.folder,
            recipe=arguments.recipe,
            split=arguments.split,
            systems=_names(arguments.systems),
            base=arguments.base,
            agents=_names(arguments.agents),
            limit=arguments.limit,
            out=arguments.out,
            runs=arguments.runs,
            html=arguments.html,
            with_floors=not arguments.no_floors,
            check=arguments.check,
            assignments=arguments.assignments,
        )
        if arguments.plan:
            agent_tables.tell(asked)
            return 0
        ended = agent_scores.carry_out(asked)
        agent_tables.report(asked, ended, as_json=arguments.json)
        return ended.exit_code

    return guarded(run)


def _names(given: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (given or "").split(",") if name.strip())


if __name__ == "__main__":
    sys.exit(main())

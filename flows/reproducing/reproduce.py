"""From one file: calibrate, write, score, submit, score again and rank several systems, each step once.

    wikigenben reproduce benchmark/reference.toml --data DIR --plan       # what would be done
    wikigenben reproduce benchmark/reference.toml --data DIR              # do it; again: go on, or find that all is done
    wikigenben reproduce benchmark/reference.toml --data DIR --check      # compare with what lies in submissions/
    wikigenben reproduce benchmark/reference.toml --data DIR --limit 5    # try it on five events; submissions/ is not touched

The file (TOML; flows/reproducing/recipe.py has every key):

    baseline = "bm25"                    # the others are compared with it
    submissions = "submissions"          # one folder a system goes there

    [calibrate]                          # decoding.calibrate, for the systems with this model
    model = "hf:models/mine"             # also: split = "dev", limit, max_prompts

    [[systems]]
    name = "bm25"                        # its folder; system = "..." if that differs
    text = false                         # hashes in place of articles

    [[systems]]
    name = "mine"
    system = "ours"
    model = "hf:models/mine"             # also: mode, decoding, split, track, limit
    settings = {writing = {max_words = 1000}}
    variants = ["leak_filter_off", "closed_book"]
    [systems.about]                      # as the file of `wikigenben submit --about`
    contact = "me@example.org"

    [bench]                              # decoding.bench on prompts of split "test"
    model = "hf:models/mine"             # also: methods, against, limit, repetitions, max_new_tokens
    [leaderboard]
    site = "site"

A step is left out when it ended well before with the same words, code and inputs. After a step that fails the rest of its
system is left out and the others go on. Scores of a submission without text are computed from the articles first, and
rescored.json says so. Exit code: 0 done, 1 a step failed or --check found a difference, 2 wrong input, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from flows.showing.console import guarded


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben reproduce", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recipe", type=Path, metavar="FILE", help="what to run, as TOML")
    parser.add_argument("--data", metavar="DIR", help="benchmark folder (default: that of FILE, else as for generate)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="runs, logs and stamps (default: runs/reproduce-FILE)")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N events of each system")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--plan", action="store_true", help="only say what would be done")
    what.add_argument("--check", action="store_true", help="compare hashes and scores with the submissions that are there")
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout instead of a table")
    arguments = parser.parse_args(argv)

    def run() -> int:
        from flows.reproducing import plan

        asked = plan.planned(
            arguments.recipe, data=arguments.data, out=arguments.out, limit=arguments.limit, check=arguments.check
        )
        if arguments.plan:
            plan.tell(asked)
            return 0
        return plan.carry_out(asked, as_json=arguments.json)

    return guarded(run)


if __name__ == "__main__":
    sys.exit(main())

"""Whether attacks on the benchmark rank below the honest system that they are made from.

    wikigenben attacks --system extractive --data wikigenbench/data --limit 5
    wikigenben attacks --run runs/ours-dev-search --data wikigenbench/data --split dev --all

An attack is an article made from the honest one and the pages of its event: copied, padded, shuffled, made false, disguised.
--system writes the honest articles that are missing, and those of the events with the most similar titles; --run takes those
that are there. The default split is dev (sample for the sample). Exit code: 0 every attack is below, 1 some are not (with
--allow-undefeated: 0) or an event was lost, 2 wrong input.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from data.settings import add_setting_flags, load_settings
from flows.job import SYSTEMS
from flows.showing.console import guarded


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben attacks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    honest = parser.add_mutually_exclusive_group()
    honest.add_argument("--run", type=Path, metavar="DIR", help="run folder of the honest system")
    honest.add_argument("--system", choices=SYSTEMS, help="the honest system, whose missing articles are written")
    parser.add_argument("--data", metavar="DIR", help="benchmark folder, or: sample (default: as for evaluate)")
    parser.add_argument("--split", choices=("sample", "dev", "test", "full"), help="default: sample for the sample, else dev")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N events")
    parser.add_argument("--only", default="", metavar="NAME,...", help="only these attacks or families; --list names them")
    parser.add_argument("--list", action="store_true", help="say what each attack does, and stop")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where articles and scores are kept (default: RUN-attacks)")
    parser.add_argument("--judge", metavar="NAME", help="what decides support (default: as for evaluate)")
    parser.add_argument("--model", metavar="NAME", help="with --system: the language model, as for evaluate")
    add_setting_flags(parser)
    parser.add_argument("--all", action="store_true", help="print all measures, not only those that rank and the main others")
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout, with all measures")
    parser.add_argument("--allow-undefeated", action="store_true", help="exit code 0 also when an attack is not below")
    arguments = parser.parse_args(argv)
    if not arguments.list and arguments.run is None and arguments.system is None:
        parser.error("name either --run or --system")

    def run() -> int:
        from benchmark.attacks.all_attacks import chosen
        from flows.commands import run_attacks

        wanted = chosen(name for name in arguments.only.split(",") if name)
        if arguments.list:
            run_attacks.tell(wanted)
            return 0
        settings = load_settings(
            arguments.config,
            arguments.assignments,
            model={"name": arguments.model},
            evaluation={"judge": arguments.judge},
        )
        honest = run_attacks.honest_of(
            run_attacks.Asked(arguments.run, arguments.system, arguments.data, arguments.split, arguments.limit, settings)
        )
        found = run_attacks.attack(honest, wanted, settings, arguments.out)
        run_attacks.report(found, everything=arguments.all, as_json=arguments.json)
        undefeated = any(not one.is_below for one in found.standings)
        return int(bool(found.lost) or (undefeated and not arguments.allow_undefeated))

    return guarded(run)

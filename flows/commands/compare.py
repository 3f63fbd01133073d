"""What differs between two scored systems, and whether it is more than chance.

    wikigenben compare runs/extractive-full-search runs/bm25-full-search
    wikigenben compare runs/extractive-full-search runs/bm25-full-search --split test --events 10

Paired over the same events, failures included: mean difference with a 95% bootstrap interval and a sign-flip p; Holm's
adjustment over the headline metrics only. "detects" is the smallest true difference that this many events would show (at 5%,
in four of five cases): a smaller one found here is not to be reported.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("first", type=Path, help="submission.json, or a run folder that holds one, or the run's URL")
    parser.add_argument("second", type=Path)
    parser.add_argument("--metrics", nargs="+", default=[], metavar="NAME", help="only these (default: all that both have)")
    parser.add_argument("--split", choices=("dev", "test"), help="only the events of both that belong to this split")
    parser.add_argument("--events", type=int, default=0, metavar="N", help="also the N events on which they differ most")
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout instead of a table")
    arguments = parser.parse_args(argv)

    from flows.showing.console import guarded

    def run() -> int:
        from benchmark.comparing.differences import differences, furthest_apart
        from benchmark.splits import in_dev
        from benchmark.submissions import submission, submitted
        from data.errors import UserError
        from flows.showing import comparison

        def scored(given: Path) -> submitted.Submission:
            return submission.read(given / "submission.json" if given.is_dir() else given)

        a, b = scored(arguments.first), scored(arguments.second)
        if arguments.split:
            a, b = (submission.part(s, arguments.split, lambda i: in_dev(i) == (arguments.split == "dev")) for s in (a, b))
        if arguments.events < 0:
            raise UserError(f"--events {arguments.events} is no number of events; use 0 or more")
        found = differences(a, b, arguments.metrics)
        apart = furthest_apart(a, b, arguments.metrics, arguments.events)
        comparison.report(a, b, found, apart, as_json=arguments.json)
        return 0

    return guarded(run)

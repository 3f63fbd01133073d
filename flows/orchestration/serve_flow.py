"""`wikigenben serve`: the flow as a deployment without a work pool or a worker; this process takes its runs.

    prefect server start --background                   # and PREFECT_API_URL, in both terminals
    wikigenben serve                                    # then, in a second terminal:
    prefect deployment run wiki-gen/served -p limit=2 --watch

The deployment has a name of its own: `wiki-gen/wiki-gen` belongs to a work pool. It is not paused when this process ends: runs
asked for meanwhile wait for the next one.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from flows.orchestration.prefect_server import require_server
from flows.showing import console

NAME = "served"


def serve(limit: int) -> int:
    """Until Ctrl-C or SIGTERM. Raises UserError when no server answers."""
    url = require_server()

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script that starts us in the background has it ignored
    from flows.wiki_gen import wiki_gen

    console.result(f"run it: PREFECT_API_URL={url} prefect deployment run wiki-gen/{NAME} -p limit=2 --watch")
    sys.stdout.flush()
    wiki_gen.serve(name=NAME, limit=limit, print_starting_message=False, pause_on_shutdown=False)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben serve", description="Offer the flow to a Prefect server and run it in this process; Ctrl-C ends that."
    )
    parser.add_argument("--limit", type=int, default=1, metavar="N", help="runs at once (default: 1, for they share a GPU)")
    arguments = parser.parse_args(argv)
    if arguments.limit < 1:
        parser.error("--limit is at least 1")
    return console.guarded(lambda: serve(arguments.limit))


if __name__ == "__main__":
    sys.exit(main())

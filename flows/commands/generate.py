"""Write articles for events.

    wikigenben generate --system extractive --split sample
    wikigenben generate --system ours --model hf:models/qwen3-4b --data wikigenbench/data --limit 5
    wikigenben generate --system rprr --model server:qwen3@http://127.0.0.1:8000/v1 --events 73425900

The same command again goes on where it stopped. Exit code: 0 done, 1 some events failed, 2 wrong input, 3 no evidence,
130 interrupted.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from flows.commands.arguments import add_job_flags, job_from
from flows.showing.console import guarded


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben generate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_job_flags(parser, system_default="extractive")
    arguments = parser.parse_args(argv)

    def run() -> int:
        from flows.run_events import generate, report
        from flows.wiring.prepared import prepare

        generated = generate(prepare(job_from(arguments)))
        report(generated, as_json=arguments.json)
        return generated.exit_code

    return guarded(run)

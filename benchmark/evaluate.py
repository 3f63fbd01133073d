"""Score a system: write what is missing, score every event, print a table, write submission.json.

    python -m benchmark.evaluate --system extractive --split sample
    python -m benchmark.evaluate --system extractive --data wikigenbench/data
    python -m benchmark.evaluate --system ours --model hf:models/qwen3-4b --data wikigenbench/data --limit 20

A failed or missing event counts as 0 where 0 is worst and is listed; it is never dropped. Exit code: 0 done, 1 some events
failed, 2 wrong input, 3 no evidence at all, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from flows.arguments import add_job_flags, job_from
from flows.console import guarded


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben evaluate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_job_flags(parser, system_default=None)
    arguments = parser.parse_args(argv)

    def run() -> int:
        from flows.evaluate import evaluate, report
        from flows.wiring import prepare

        evaluated = evaluate(prepare(job_from(arguments)))
        report(evaluated, as_json=arguments.json)
        return evaluated.generated.exit_code

    return guarded(run)


if __name__ == "__main__":
    sys.exit(main())

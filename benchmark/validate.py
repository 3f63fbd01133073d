"""Check a submission file.

python -m benchmark.validate runs/extractive-sample-search/submission.json
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from data.errors import UserError


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmark.validate", description="Check a submission file.")
    parser.add_argument("submission", type=Path, nargs="+", help="submission.json, or a run folder that holds one")
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout")
    arguments = parser.parse_args(argv)
    from benchmark import submission

    reports: dict[str, list[str]] = {}
    for path in arguments.submission:
        path = path / "submission.json" if path.is_dir() else path
        try:
            reports[str(path)] = submission.problems(submission.read(path))
        except UserError as error:
            reports[str(path)] = [str(error)]
    if arguments.json:
        sys.stdout.write(json.dumps(reports, ensure_ascii=False) + "\n")
    else:
        for name, found in reports.items():
            sys.stdout.write(f"{name}: valid\n" if not found else "".join(f"{name}: {problem}\n" for problem in found))
    return 2 if any(reports.values()) else 0


if __name__ == "__main__":
    sys.exit(main())

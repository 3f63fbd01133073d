"""How much of this package's own articles its own `check` does not find: `python -m tools.quality.own_check [RUN ...]`.

Without RUN the sample's events are written by `extractive` first (`--system` and `--model` choose another way). Each article is
checked twice: its article.json against the passages that it cites, and, of runs of `wikigenben write`, its Markdown against the
recorded pages, as a stranger would. The last line is JSON: statements, those not found on the cited page, and their share.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from data.settings import load_settings
from data.snapshot import SAMPLE, Snapshot
from flows.check import Request, check
from flows.showing import console
from pipeline.checking.report import JUDGED


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.quality.own_check", description=__doc__.split("\n")[0])
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="run folders of write or generate")
    parser.add_argument("--system", default="extractive", help="that writes the sample's events (default: extractive)")
    parser.add_argument("--model", default="", metavar="NAME", help="of the system, where it has one")
    parser.add_argument("--judge", default="embedded", metavar="NAME", help="as for check (default: embedded)")
    given = parser.parse_args(arguments)

    def run() -> int:
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch)
            runs = given.runs or list(_written(place / "runs", given.system, given.model))
            counts = Counter[str]()
            for article, bundle in (one for run in runs for one in _articles(run)):
                request = Request(str(article), load_settings(None, ()), given.judge, bundle, place / "report")
                report = check(request)
                counts += report.counts
                for finding in report.findings:
                    if finding.verdict == "unsupported":
                        console.result(f"{article.name}: {finding.text}")
        statements = sum(counts[verdict] for verdict in JUDGED)
        told = {**counts, "statements": statements, "share_not_found": round(counts["unsupported"] / max(statements, 1), 4)}
        console.result(json.dumps(told))
        return 0

    return console.guarded(run)


def _written(place: Path, system: str, model: str) -> Iterator[Path]:
    from flows.write import write
    from flows.write_request import request_for

    snapshot = Snapshot(SAMPLE)
    flags = [f"--system={system}", *([f"--model={model}"] if model else [])]
    for event_id in snapshot.ids("search"):
        files = [f"--file={path}" for path in sorted((SAMPLE / "html" / event_id).glob("*.html"))]
        write(request_for([*flags, *files, f"--out={place / event_id}", "--", snapshot.event(event_id).title]))
        yield place / event_id


def _articles(run: Path) -> Iterator[tuple[Path, Path | None]]:
    """Each article of a run, and the bundle with the pages that it is checked against."""
    for path in sorted(run.glob("events/*/article.json")):
        yield path, None
    if (run / "evidence").is_dir():
        for path in sorted((run / "articles").glob("*.md")):
            yield path, run / "evidence"


if __name__ == "__main__":
    raise SystemExit(main())

"""A static site of submissions: ranked systems, a page for each, and their articles side by side.

    python -m benchmark.leaderboard submissions --html site

The folder holds one folder a submission, each with its submission.json (and articles/, where they may be shown). What is
not valid is listed as refused, with its reasons. A folder in it with an agents.json (`wikigenben agents`) becomes a page of its
own. The pages load nothing from anywhere else.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from data import codec
from data.errors import UserError

MANIFEST = "site.json"
"""Lists the files that were written, so that the next run can remove those it no longer writes, and nothing else."""


@dataclass(frozen=True, slots=True)
class Built:
    n_ranked: int
    n_refused: int
    n_files: int


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben leaderboard", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("submissions", type=Path, help="folder with one folder a submission")
    parser.add_argument("--html", type=Path, required=True, metavar="OUT", help="folder for the site; an older one is renewed")
    arguments = parser.parse_args(argv)
    try:
        built = build(arguments.submissions, arguments.html)
    except UserError as error:
        sys.stderr.write(f"wikigenben: {error}\n")
        return error.exit_code
    sys.stdout.write(
        f"{arguments.html / 'index.html'}: {built.n_ranked} ranked, {built.n_refused} refused, {built.n_files} files\n"
    )
    return 0


def build(submissions: Path, out: Path) -> Built:
    """Write the site into `out`. Raises UserError when `out` holds anything that is not an older site's."""
    from benchmark.site.agent_pages import read_agents
    from benchmark.site.entries import read_all
    from benchmark.site.pages import Site

    old = _older_files(out)
    entries, refused = read_all(submissions, skip=out)
    agents, wrong = read_agents(submissions, entries, skip=out)
    refused += wrong
    written: set[str] = set()
    try:
        for name, text in Site(entries, refused, agents).files():
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            written.add(name)
            path.write_text(text, encoding="utf-8", newline="\n")
        for name in sorted(old - written):
            (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}; choose another folder with --html") from None
    finally:
        if out.is_dir():
            remaining = {name for name in old | written if (out / name).is_file()}
            codec.write_atomic(out / MANIFEST, json.dumps({"files": sorted(remaining)}, indent=0) + "\n")
    return Built(len(entries), len(refused), len(written))


def _older_files(out: Path) -> set[str]:
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is not a folder; choose another one with --html")
    if not out.is_dir() or not any(out.iterdir()):
        return set()
    try:
        names = json.loads((out / MANIFEST).read_text(encoding="utf-8"))["files"]
        return {name for name in names if re.fullmatch(r"[a-z0-9-]+(/[a-z0-9-]+)*\.[a-z]+", name)}
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(
            f"{out} holds files, and no readable {MANIFEST} says that they are a site's; choose another folder with --html"
        ) from None


if __name__ == "__main__":
    sys.exit(main())

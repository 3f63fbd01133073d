"""`python -m tools.make_docs`: the parts of docs/ that code knows best. `--check` says whether they are up to date.

docs/settings.md is written whole from `data.settings`; the table of all metrics in docs/scores.md from `eval.catalogue`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from data import codec
from data.settings import Settings, load_settings
from eval.catalogue import CATALOGUE, by_group
from eval.metrics import quality, rubrics

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- metrics: python -m tools.make_docs -->", "<!-- end of metrics -->"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.make_docs", description="Write the generated parts of docs/.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where a page is out of date")
    arguments = parser.parse_args(argv)
    stale = [path for path, text in pages().items() if path.read_text(encoding="utf-8") != text] if arguments.check else []
    for path in stale:
        sys.stdout.write(f"{path.relative_to(ROOT)} is out of date: python -m tools.make_docs\n")
    if not arguments.check:
        for path, text in pages().items():
            codec.write_atomic(path, text)
    return 1 if stale else 0


def pages() -> dict[Path, str]:
    scores = ROOT / "docs" / "scores.md"
    before, _, rest = scores.read_text(encoding="utf-8").partition(BEGIN)
    return {
        ROOT / "docs" / "settings.md": settings_page(),
        scores: f"{before}{BEGIN}\n\n{metrics_tables()}\n{END}{rest.partition(END)[2]}",
    }


def settings_page() -> str:
    lines = [
        "# All settings",
        "",
        "```bash",
        "wikigenben write TITLE --set writing.max_words=600 --set web.min_delay_s=2",
        "wikigenben write TITLE --config my.toml          # [writing] max_words = 600",
        "```",
        "",
        "Default, then `--config FILE.toml`, then `--set section.key=value`, then named flags. Secrets are no settings:",
        "keys come from the environment (`WIKIGEN_API_KEY`, `BRAVE_API_KEY`, `SERPER_API_KEY`, `TAVILY_API_KEY`).",
        "This page is made by `python -m tools.make_docs`.",
    ]
    for section in fields(Settings):
        made = getattr(Settings(), section.name)
        lines += ["", f"## {section.name}", "", made.__doc__ or "", "", "| setting | default | what it does |", "|---|---|---|"]
        for one in fields(made):
            default = _shown(getattr(made, one.name))
            lines.append(f"| `{section.name}.{one.name}` | {f'`{default}`' if default else ''} | {one.metadata['help']} |")
    return "\n".join(lines) + "\n"


def _shown(value: object) -> str:
    """As `--set` takes it."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def homes() -> dict[str, str]:
    """The module that computes each metric. Loads the sentence model, which two of them ask for."""
    from flows.wiring.metrics import build_metrics

    made = {
        name: type(metric).__module__
        for metric in build_metrics(load_settings(evaluation={"judge": "lexical"}))
        for name in metric.names
    }
    made |= {f"rubric_{dimension}": rubrics.__name__ for dimension in rubrics.RUBRICS} | {quality.NAME: quality.__name__}
    return made


def metrics_tables() -> str:
    lines: list[str] = []
    made_in = homes()
    for group, entries in by_group(CATALOGUE):
        lines += [f"**{group}**", "", "| metric | | better | in | what it says | made in |", "|---|---|---|---|---|---|"]
        for one in entries:
            place = "*headline*" if one.place == "headline" else "beside" if one.place else ""
            unit = "percent" if one.unit != "count" else "a number"
            better = one.better if one.better != "neither" else ""
            module = made_in[one.name]
            home = f"[{module.rpartition('.')[2]}](../{module.replace('.', '/')}.py)"
            lines.append(f"| `{one.name}` {place} | {one.label} | {better} | {unit} | {one.meaning} | {home} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

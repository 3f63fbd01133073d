"""The course of a training as a picture."""

from __future__ import annotations

import json
from pathlib import Path

LOG = "log.jsonl"


def loss_plot(run: Path, out: Path) -> None:
    """Bits a byte on held-out text and task answers, copying and citing, over the tokens seen; SVG. No log, no plot."""
    from matplotlib.figure import Figure

    log = run / LOG
    if not log.is_file():
        return
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    tokens = [line["tokens"] / 1e6 for line in lines]
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(tokens, [line["text_bits_per_byte"] for line in lines], label="running text")
    left.plot(tokens, [line["task_bits_per_byte"] for line in lines], label="task answers")
    left.set(xlabel="million tokens", ylabel="bits a byte, held out", ylim=(0, None))
    for name in ("copying", "citing", "choosing", "next_token"):
        right.plot(tokens, [line[name] for line in lines], label=name.replace("_", " "))
    right.set(xlabel="million tokens", ylabel="share right, held out", ylim=(0, 1))
    for axes in (left, right):
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, metadata={"Date": None})

"""What `generate` tells of the language model's work, and of what drafts gained."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.runner import EventOutcome
from data.decoding_counts import DecodeStats, SourceStats, SpeculationStats, Usage
from data.runs import EventStats, RunFolder
from flows.run_events import Generated, report

DRAFTED = SpeculationStats(num_verify_steps=100, num_draft_tokens=300, num_accepted_tokens=116)
OURS = Usage(4, 900, 220, DecodeStats(2.0, speculation=DRAFTED))
SERVED = Usage(2, 500, 80, DecodeStats(1.0))
PASSES = "decoder: 220 tokens in 104 passes (plain decoding: 220), 2.12 a pass\ndrafted tokens kept: 39% of 300\n"
PRICED = Usage(1, 100, 41, DecodeStats(1.0, speculation=SpeculationStats(
    num_verify_steps=19, num_draft_tokens=60, num_accepted_tokens=33, draft_s=0.2, verify_s=0.8,
    priced_tokens=40, priced_cost=20.0,
    by_source=(
        SourceStats("copy:output", 1, 10, 4), SourceStats("copy:prompt", 4, 30, 26),
        SourceStats("copy:prompt+recycle", 2, 12, 3), SourceStats("knn-ssd-distilled", 2, 8, 0),
    ),
)))  # fmt: skip
GAIN = (
    "decoder: 41 tokens in 20 passes (plain decoding: 41), 2.05 a pass; estimated 1.6x as fast behind the prompts, by measured "
    "costs\n"
    "drafted tokens kept: copy 75% of 40, copy+recycle 25% of 12, knn-ssd-distilled 0% of 8\n"
)


@pytest.mark.parametrize(
    ("usages", "told"),
    [
        ([None, None], None),
        ([SERVED, None], "language model: 2 calls, 80 new tokens in 1.0 s\n"),
        ([OURS, None], f"language model: 4 calls, 220 new tokens in 2.0 s\n{PASSES}"),
        ([OURS, SERVED], f"language model: 6 calls, 300 new tokens in 3.0 s\n{PASSES}"),
        ([PRICED, SERVED], GAIN),
    ],
)
def test_what_the_model_was_asked_for(
    usages: list[Usage | None], told: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RunFolder(tmp_path)
    for n, usage in enumerate(usages):
        run.event(str(n)).write_stats(EventStats(str(n), 1.0, 3, 2, usage))
    run.event("9").write_stats(EventStats("9", 1.0, 3, 2, OURS))  # of an earlier command
    outcomes = [EventOutcome(str(n), "t", "written", 1.0) for n in range(2)] + [EventOutcome("9", "t", "reused", 0.0)]
    report(Generated(tmp_path, tuple(outcomes), 2.0), as_json=False)
    out = capsys.readouterr().out
    assert (told in out) if told else ("language model" not in out)
    assert ("decoder:" in out) == (OURS in usages or PRICED in usages)

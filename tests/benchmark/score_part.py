"""Scores some events of a run over the bundled sample, as one of several workers: FOLDER EVENT [EVENT ...]

Writes FOLDER/scores.jsonl, with every metric, the shipped judge, and headings compared by a stand-in for the encoder.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmark.scoring import score_run
from data.runs import RunFolder
from data.snapshot import SAMPLE, Snapshot
from data.types import Event, Page
from eval.judges.lexical_judge import LexicalJudge
from eval.metric import Metric
from eval.metrics.citations import Citations, WgbCitations
from eval.metrics.conflicts import Conflicts
from eval.metrics.copying import Copying
from eval.metrics.coverage import Coverage
from eval.metrics.faithfulness import Faithfulness
from eval.metrics.junk import Junk
from eval.metrics.organisation import Organisation
from eval.metrics.rouge import Rouge
from eval.metrics.storm import Storm
from eval.metrics.structure import Headings
from eval.metrics.told_facts import Facts
from eval.metrics.wgb import WgbLexical
from tests.fakes import FixedEncoder


def metrics() -> tuple[Metric, ...]:
    judge = LexicalJudge()
    judged = (Citations(judge), Faithfulness(judge), Facts(judge), WgbCitations(judge))
    encoder = FixedEncoder()
    shape = (Headings(encoder), Organisation(encoder), Conflicts())
    return (*judged, Coverage(), *shape, Rouge(), Copying(), Junk(), Storm(), WgbLexical())


def main(folder: str, ids: Sequence[str]) -> None:
    def collect(event: Event) -> tuple[Page, ...]:
        raise AssertionError(f"the pages of {event.id} are stored with its article")

    for _ in score_run(RunFolder(Path(folder)), Snapshot(SAMPLE), ids, metrics(), collect):
        pass


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

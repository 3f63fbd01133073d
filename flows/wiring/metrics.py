"""All metrics of a row, with their judge; and where floors are kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from data.settings import Settings

if TYPE_CHECKING:
    from eval.metric import Metric

from flows.wiring import models
from flows.wiring.judges import build_judge, judged_folder, open_rubrics


def build_metrics(settings: Settings) -> tuple[Metric, ...]:
    from eval.metrics.citations import Citations, WgbCitations
    from eval.metrics.conflicts import Conflicts
    from eval.metrics.copying import Copying
    from eval.metrics.coverage import Coverage
    from eval.metrics.exposure import Exposure
    from eval.metrics.faithfulness import Faithfulness
    from eval.metrics.junk import Junk
    from eval.metrics.leaning import Leaning
    from eval.metrics.organisation import Organisation
    from eval.metrics.rouge import Rouge
    from eval.metrics.storm import Storm
    from eval.metrics.structure import Headings
    from eval.metrics.told_facts import Facts
    from eval.metrics.wgb import WgbLexical

    evaluation = settings.evaluation
    judge = build_judge(evaluation.judge, device=settings.model.device)
    return (
        Citations(judge),
        Faithfulness(judge),
        Facts(judge),
        Coverage(),
        Headings(models.build_encoder()),
        Organisation(models.build_encoder()),
        Conflicts(),
        Rouge(),
        Copying(),
        Junk(),
        Leaning(),
        Exposure(),
        Storm(),
        WgbLexical(),
        WgbCitations(judge),
        *((open_rubrics(evaluation.rubrics),) if evaluation.rubrics else ()),
    )


def floors_folder() -> Path:
    """Floors depend on data, metrics and seed alone: all runs share them."""
    return judged_folder() / "floors"

"""The name of a judge -> the judge, its cache and its card; and rubrics."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data import codec
from data.errors import UserError
from data.model_name import parse_model

if TYPE_CHECKING:
    from eval.judges.judge import Identified, Judge
    from eval.metrics.rubrics import Rubrics


JUDGES = "embedded, lexical, overlap, nli:MODEL[,threshold=T][,form=pair|true|minicheck], llm:NAME@BASE_URL"


def build_judge(name: str, *, device: str = "auto") -> Judge:
    """The judge of that name. What a model has judged is kept beside the runs, and not asked again by any later command."""
    return cached(open_judge(name, device=device))


def open_judge(name: str, *, device: str = "auto") -> Judge:
    """Without a memory. Raises UserError for a name, model or server that cannot be had."""
    from eval.judges.lexical_judge import LexicalJudge
    from eval.judges.overlap_judge import OverlapJudge

    asked = parse_model(name)
    if name == "embedded":
        from decoding.support.reader import judge_reader
        from eval.judges.embedded_judge import EmbeddedJudge

        return EmbeddedJudge(judge_reader())
    if name == "lexical":
        return LexicalJudge()
    if name == "overlap":
        return OverlapJudge()
    if asked.kind == "nli" and asked.is_whole:
        return _nli_judge(asked.rest, device)
    if asked.kind == "llm" and asked.is_whole:
        from decoding.serving.client import ServerGenerator
        from eval.judges.llm_judge import SCHEMA, LlmJudge

        return LlmJudge(ServerGenerator(asked.rest, asked.url, reply_schema=SCHEMA), judged_folder() / "replies.jsonl")
    raise UserError(f"there is no judge {name!r}; known: {JUDGES}")


def open_rubrics(name: str) -> Rubrics:
    """What the judge of that name has rated is kept beside the runs, and not asked again by any later command."""
    from decoding.serving.client import ServerGenerator
    from eval.metrics.rubrics import SCHEMA, RubricJudge, Rubrics

    asked = parse_model(name)
    if asked.kind != "llm" or not asked.is_whole:
        raise UserError(f"{name!r} cannot rate by rubrics; give --set evaluation.rubrics=llm:NAME@BASE_URL, or leave it out")
    return Rubrics(RubricJudge(ServerGenerator(asked.rest, asked.url, reply_schema=SCHEMA), judged_folder() / "rubrics.jsonl"))


def cached(judge: Judge) -> Judge:
    """The judge, with a memory where asking it costs more than looking up what it said."""
    from eval.judges.judge import CachedJudge

    return judge if judge.kind == "lexical" else CachedJudge(judge, judged_folder() / "scores.sqlite")


def judge_card(judge: Identified) -> dict[str, Any]:
    """How good the judge is on claims with labels: those of this package bring their cards, of others it is what
    `python -m eval.judge_card` found and kept; empty where nobody asked."""
    from eval.judges.embedded_judge import EmbeddedJudge
    from eval.judges.judge import CachedJudge
    from eval.judges.lexical_judge import LexicalJudge

    judge = judge.judge if isinstance(judge, CachedJudge) else judge
    if isinstance(judge, EmbeddedJudge | LexicalJudge):
        return dict(codec.to_plain(judge.model.card))
    path = _card_path(judge)
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}; delete it and run python -m eval.judge_card again") from None


def keep_card(judge: Identified, found: Mapping[str, Any]) -> None:
    """Add findings on a judge to its card, for the submissions that it decides."""
    codec.write_atomic(_card_path(judge), json.dumps({**judge_card(judge), **found}, ensure_ascii=False, indent=1) + "\n")


def _card_path(judge: Identified) -> Path:
    from eval.judges.judge import describe

    return judged_folder() / "cards" / f"{codec.sha256(describe(judge))[:16]}.json"


def _nli_judge(asked: str, device: str) -> Judge:
    from decoding.models.entailment import load_entailment
    from eval.judges.nli_judge import THRESHOLD, NliJudge

    model, *options = asked.split(",")
    given = dict(option.partition("=")[::2] for option in options)
    if unknown := given.keys() - {"threshold", "form"}:
        raise UserError(f"nli:{asked}: there is no option {min(unknown)!r}; known: threshold=T, form=pair|true|minicheck")
    try:
        threshold = float(given.get("threshold", THRESHOLD))
    except ValueError:
        threshold = -1.0
    if not 0 < threshold <= 1:
        raise UserError(f"nli:{asked}: a threshold lies above 0 and at most at 1; leave it out for {THRESHOLD:g}")
    return NliJudge(load_entailment(model, form=given.get("form", "auto"), device=device), threshold)


def judged_folder() -> Path:
    return Path(os.environ.get("WIKIGEN_RUNS", "runs")) / "judged"

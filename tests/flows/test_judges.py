"""Which judge decides support: by name, with a memory beside the runs, and named in every signature."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmark.submissions import submission
from data.errors import UserError
from eval.judges.judge import CachedJudge, Pair, describe
from flows.wiring.judges import build_judge
from tests.conftest import Command, set_pages
from tests.judging_server import judging
from tests.tiny_entailment import build_classifier

PAIR = Pair(("The ferry sank.",), "The ferry sank.")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_classifier(tmp_path_factory.mktemp("nli") / "tiny-nli", ["entailment", "neutral"], context_tokens=256)


def test_an_nli_judge_by_folder_with_its_options(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKIGEN_RUNS", str(tmp_path))
    judge = build_judge(f"nli:{folder},threshold=0.7", device="cpu")
    assert isinstance(judge, CachedJudge)
    assert describe(judge).startswith("nli:tiny-nli@") and describe(judge).endswith(">=0.7")
    scores = judge.score([PAIR])
    assert (tmp_path / "judged" / "scores.sqlite").is_file()
    other = build_judge(f"nli:{folder},form=minicheck", device="cpu")
    assert other.revision != judge.revision and other.score([PAIR]) != scores


def test_an_llm_judge_keeps_what_was_replied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKIGEN_RUNS", str(tmp_path))
    with judging() as server:
        name = f"llm:fair@{server.base_url}"
        assert build_judge(name).score([PAIR]) == [1.0]
        assert build_judge(name).score([PAIR]) == [1.0]
        assert len(server.requests) == 1
    (line,) = (tmp_path / "judged" / "replies.jsonl").read_text().splitlines()
    assert json.loads(line)["replies"] == ['{"verdict": "supported"}']


def test_judges_without_a_model_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKIGEN_RUNS", str(tmp_path))
    for name in ("lexical", "overlap"):
        assert build_judge(name).score([PAIR])[0] == pytest.approx(1.0, abs=0.3)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", "nli", "llm:model", "llm:", "embedded:x", "gpt"])
def test_a_judge_that_there_is_not(name: str) -> None:
    with pytest.raises(UserError, match="known: embedded, lexical, overlap, nli:"):
        build_judge(name)


@pytest.mark.usefixtures("fixed_encoder")
def test_scores_name_their_judge(wikigenben: Command, folder: Path, copied_sample: Path) -> None:
    event_id = "9000004"
    pages = json.loads((copied_sample / "google" / f"{event_id}.json").read_text(encoding="utf-8"))
    set_pages(copied_sample, event_id, pages[2:4])
    words = ("evaluate", "--system", "lead", "--data", copied_sample, "--events", event_id, "--no-floors", "--json")
    words += ("--set", "writing.max_words=80", "--set", "evaluation.resamples=100")
    for judge, told, n in ((f"nli:{folder}", "judge=nli:tiny-nli@", 3), ("lexical", "judge=lexical@", 1)):
        ran = wikigenben(*words, "--device", "cpu", "--judge", judge)
        assert ran.code == 0, ran.err
        signature = submission.read(Path(str(ran.json["submission"]))).profile.signature
        assert signature.count(told) >= n and "embedded@" not in signature

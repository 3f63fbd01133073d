from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.submissions import submission
from benchmark.submissions.submission_faults import problems
from data.errors import UserError
from data.scores import EventScores
from tests.benchmark.made_submissions import NAMES, ROWS, SHA, submit

Plain = dict[str, Any]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    submission.write(tmp_path / "submission.json", submit(ROWS))
    return tmp_path / "submission.json"


def edit(path: Path, change: Callable[[Plain], object]) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_text(json.dumps(value), encoding="utf-8")


def found_after(path: Path, change: Callable[[Plain], object]) -> list[str]:
    edit(path, change)
    return problems(submission.read(path))


values = st.one_of(st.none(), st.floats(0, 1))
event_rows = st.one_of(
    st.builds(lambda a, b: ("ok", SHA, {"recall": a, "errors": b}), values, values),
    st.just(("failed", "", {"recall": 0.0, "errors": None})),
    st.just(("empty", SHA, {"recall": 0.0, "errors": None})),
)


@settings(max_examples=60)
@given(st.lists(event_rows, min_size=1, max_size=8))
def test_whatever_was_scored_makes_a_valid_submission(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    made = submit([EventScores(str(n), s, sha, 5 * (s == "ok"), scores) for n, (s, sha, scores) in enumerate(rows)])
    path = tmp_path_factory.getbasetemp() / "any.json"
    submission.write(path, made)
    assert submission.read(path) == made
    submission.write(path, made, compact=True)
    assert submission.read(path) == made
    unscored = all(scores[name] is None for _, _, scores in rows for name in NAMES)
    assert problems(submission.read(path)) == (["it has no scores"] if unscored else [])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda v: v["events"][1]["scores"].pop(), "events.1.scores has 1 values for 2 columns"),
        (lambda v: v.update(columns=["recall", "recall"]), "columns names 'recall' twice"),
        (lambda v: v.update(columns="recall"), "columns is no list of metrics"),
        (lambda v: v["events"][0]["scores"].__setitem__(0, "0.9"), "events.0.scores.recall"),
    ],
)
def test_a_list_of_scores_that_does_not_fit_is_refused(path: Path, change: Callable[[Plain], object], told: str) -> None:
    submission.write(path, submit(ROWS), compact=True)
    edit(path, change)
    assert any(told in problem for problem in submission.read_checked(path)[1])


# ---- what is refused to be read


def test_a_missing_file_another_encoding_and_another_major(path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read .*: No such file"):
        submission.read(path.with_name("none.json"))
    edit(path, lambda value: value.update(schema="wikigenben-submission/10"))
    with pytest.raises(UserError, match="schema wikigenben-submission/10 needs another version of this package"):
        submission.read(path)
    path.write_bytes("{}".encode("utf-16"))
    with pytest.raises(UserError, match="is not JSON"):
        submission.read(path)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda v: v.pop("events"), "at events"),
        (lambda v: v["events"][1]["scores"].update(recall="0.9"), "at events.1.scores.recall"),
        (lambda v: v["scores"]["recall"].update(ci95=[0.1]), "at scores.recall.ci95"),
    ],
)
def test_parts_that_are_missing_or_of_another_type(path: Path, change: Callable[[Plain], object], place: str) -> None:
    edit(path, change)
    with pytest.raises(UserError) as caught:
        submission.read(path)
    assert place in str(caught.value)


def test_keys_of_later_versions_are_ignored(path: Path) -> None:
    def change(value: Plain) -> None:
        value["carbon_g"] = 3
        value["system"]["colour"] = "red"
        value["events"][0]["tokens"] = 12
        value["scores"]["recall"]["median"] = 0.5

    assert found_after(path, change) == []
    assert submission.read(path) == submit(ROWS)


# ---- what is read, and is wrong


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda v: v["scores"]["recall"].update(mean=0.9), "scores.recall.mean is 0.9, recomputed from the events it is 0.43"),
        (lambda v: v["scores"]["recall"]["ci95"].__setitem__(0, 0.5), "scores.recall.ci95[0] is 0.5"),
        (lambda v: v["scores"]["recall"].update(n=4, n_unscored=0), "n=4, failed=1, unscored=0; the events give 3, 1, 1"),
        (lambda v: v["data"].update(ids_sha256="0" * 64), "data.ids_sha256 is not the hash of the listed event ids"),
        (lambda v: v["data"].update(n_events=309), "data.n_events is 309, but 4 events are listed"),
        (lambda v: v["events"][0].update(words=0), "event 1 is ok and has 0 words"),
        (lambda v: v["events"][2].update(words=7), "event 3 is failed and has 7 words"),
        (lambda v: v["events"][0].update(article_sha256="x"), "event 1: article_sha256 'x' is not a SHA-256"),
        (lambda v: v["data"].update(split="test"), "but 2 events belong to 'dev', the first is 3"),
        (lambda v: v["system"].update(name=" "), "system.name is ' '"),
        (lambda v: v["system"]["models"][0].update(parameters=-7), "hf:qwen has -7 parameters"),
        (lambda v: v["cost"].update(n_new_tokens=-1), "cost.n_new_tokens is -1"),
        (lambda v: v.update(variants={"off": {"recall": {"mean": 43.0}}}), "variants.off.recall is 43.0, not in [0, 1]"),
        (lambda v: v.update(judges=[{"id": "j", "kind": "nli", "revision": "1", "threshold": 60.0}]), "threshold of 'j' is"),
        (lambda v: v["events"].append(v["events"][0]), "events occur twice: 1"),
        (lambda v: v["events"][2]["scores"].update(recall=0.5), "event 3 is failed but has a score other than 0"),
        (lambda v: v["events"][0].update(status="empty"), "event 1 is empty but has a score other than 0"),
        (lambda v: v["events"][0].update(article_sha256=""), "event 1 is ok but has no article hash"),
        (lambda v: v["events"][0]["scores"].update(recall=math.nan), "event 1: recall is not a finite number"),
        (lambda v: v["events"][1]["scores"].pop("recall"), "event 2 lacks recall"),
        (lambda v: v["scores"].clear(), "it has no scores"),
        (lambda v: v["scores"].update(beauty=v["scores"]["recall"]), "scores.beauty is given, but no event has a value for it"),
        (lambda v: v["events"].clear(), "it has no events"),
        (lambda v: v["profile"].update(seed=4), "scores.recall.ci95"),
        (lambda v: v["profile"].update(resamples=0), "profile.resamples is 0"),
        (lambda v: v["profile"].update(seed=-1), "profile.seed -1"),
    ],
)
def test_each_fault_is_found_and_said(path: Path, change: Callable[[Plain], object], told: str) -> None:
    found = found_after(path, change)
    assert any(told in problem for problem in found), found

"""The commands as a person meets them: exit codes, what is on stdout and what on stderr, what lies on disk afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import flows.commands.demo
import flows.run_scores
from benchmark import splits
from benchmark.submissions import submission, submission_faults
from data import codec
from data.settings import Settings, load_settings
from data.snapshot import SAMPLE, Snapshot
from data.types import Article
from decoding.models.conversation import JOINING_TEMPLATE
from flows.cli import COMMANDS, main
from flows.wiring import systems
from tests.conftest import COPIED, ENCODERS, Command, Ran, set_pages
from tests.fakes import NotingModel
from tests.flows.told import refused
from tests.tiny_model import build_tiny_model
from tests.toy_events import make_events

ROOT = Path(__file__).resolve().parents[2]
IDS = Snapshot(SAMPLE).ids("search")[:2]
"""The demo is tested on two of its five events."""


IN_TURN = """
import json, sys
import pytest
from flows import cli
from tests.conftest import ENCODERS
from tests.flows.test_commands import quick_demo
quick_demo(pytest.MonkeyPatch())
with ENCODERS[sys.argv[2]]():
    sys.exit(max([cli.main(words) for words in json.loads(sys.argv[1])]))
"""


def in_another_process(runs: Path, encoder: str, *commands: Sequence[object]) -> tuple[int, list[dict[str, Any]], str]:
    """The worst exit code of commands run one after the other, what each told as JSON, and what they said beside it."""
    environment = os.environ | {"WIKIGEN_RUNS": str(runs)}
    words = json.dumps([[str(word) for word in command] for command in commands])
    program = [sys.executable, "-c", IN_TURN, words, encoder]
    done = subprocess.run(program, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=200, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def article_bytes(run: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(run)): path.read_bytes()
        for path in sorted([*run.glob("events/*/article.json"), *run.glob("wikigenbench/*.json")])
    }


def stage_times(run: Path) -> dict[str, int]:
    stages = [*run.glob("events/**/*.json*"), *run.glob("wikigenbench/*.json"), *run.glob("articles/*")]
    return {str(path.relative_to(run)): path.stat().st_mtime_ns for path in stages}


Kept = tuple[dict[str, bytes], dict[str, int], object]


def kept(run: Path) -> Kept:
    """What a command that reuses all of a run leaves as it is: articles, times of stages, and scores."""
    made = submission.read(run / "submission.json")
    return article_bytes(run), stage_times(run), (made.scores, made.events, made.system, made.data)


# ---- demo


@pytest.fixture(scope="module", params=["stand-in", pytest.param("sentence model", marks=pytest.mark.slow)])
def encoder(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def quick() -> Settings:
    """With the judge of quick looks and few draws, on which the articles do not depend, and short articles."""
    return load_settings(evaluation={"judge": "lexical", "resamples": 100}, writing={"max_words": 200})


def quick_demo(patch: pytest.MonkeyPatch) -> None:
    """Of two events, and four pages of each. The default model takes a minute an event, and is not on every machine."""
    raw_pages = Snapshot.raw_pages
    patch.setattr(Snapshot, "raw_pages", lambda *asked: raw_pages(*asked)[:4])
    patch.setattr(systems, "build_generator", lambda *_: NotingModel())
    patch.setattr(flows.commands.demo, "Settings", quick)
    patch.setattr(Snapshot, "ids", lambda *_: IDS)


@pytest.fixture(scope="module")
def demo(encoder: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    out = tmp_path_factory.mktemp("demo") / "run"
    with pytest.MonkeyPatch.context() as patch, ENCODERS[encoder]():
        quick_demo(patch)
        patch.setenv("WIKIGEN_RUNS", str(out.parent))  # where floors are kept for all runs
        return out, main(["demo", "--out", str(out)])


def test_demo_writes_articles_that_can_be_read_and_submitted(demo: tuple[Path, int]) -> None:
    out, code = demo
    made = submission.read(out / "submission.json")
    assert code == 0 and submission_faults.problems(made) == [] and (out / "failures.jsonl").read_text() == ""
    for event_id, scored in zip(IDS, made.events, strict=True):
        path = out / "events" / event_id / "article.json"
        article = codec.read(Article, path)
        assert article.title == Snapshot(SAMPLE).event(event_id).title
        assert article.sections and article.sources
        assert all(sentence.cites for section in article.all_sections for sentence in section.sentences)
        assert {path.suffix for path in (out / "articles").glob(f"{event_id}.*")} == {".html", ".md", ".wiki"}
        public = json.loads((out / "wikigenbench" / f"{event_id}.json").read_text())
        assert public["retrieve"] == [source.passage.text for source in article.sources]
        assert f'href="articles/{event_id}.html"' in (out / "index.html").read_text(encoding="utf-8")
        assert scored.article_sha256 == codec.sha256(path.read_text(encoding="utf-8"))
    assert (made.system.name, made.system.extractive, made.data.split, made.data.n_events) == ("ours", False, "sample", 2)
    assert [(model.role, model.name) for model in made.system.models] == [("writer", "noting")]
    assert made.system.settings["system.mode"] == "notes"


def test_it_ends_in_time(encoder: str, wikigenben: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The first event is always written; then the clock decides. A later command goes on."""
    quick_demo(monkeypatch)
    monkeypatch.setattr("flows.run_scores.evaluate", partial(flows.run_scores.evaluate, with_floors=False))
    with ENCODERS[encoder]():
        short = wikigenben("demo", "--out", tmp_path / "run", "--minutes", "0.001", "--json")
    assert short.code == 0 and short.json["n"] == 1 and "1 of 2 articles fit into 0.001 minutes; --all" in short.err
    made = submission.read(tmp_path / "run" / "submission.json")
    assert made.data.n_events == 1 and len(list((tmp_path / "run").glob("events/*/article.json"))) == 1


def test_again_it_reuses_everything(
    demo: tuple[Path, int], encoder: str, wikigenben: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = demo[0]
    before = kept(out)
    quick_demo(monkeypatch)
    monkeypatch.setenv("WIKIGEN_RUNS", str(out.parent))
    with ENCODERS[encoder]():
        again = wikigenben("demo", "--out", out, "--json")
    assert again.code == 0 and again.json["n"] == 2 and again.json["n_failed"] == 0
    assert kept(out) == before


@pytest.mark.slow
def test_another_process_writes_the_same_bytes_and_reuses_everything(
    demo: tuple[Path, int], encoder: str, tmp_path: Path
) -> None:
    """In short: `test_the_bytes_do_not_depend_on_the_hash_seed`, of the system alone."""
    out, other = demo[0], tmp_path / "other"
    before = kept(out)
    short = ("--set", "writing.max_words=200")
    afresh = ("generate", "--system", "ours", "--data", "sample", "--out", other, "--events", IDS[1], "--json", *short)
    code, (written, again), told = in_another_process(out.parent, encoder, afresh, ("demo", "--out", out, "--json"))
    assert (code, "Traceback" in told) == (0, False)
    assert written["written"] == 1 and article_bytes(other)
    assert article_bytes(other).items() <= before[0].items()
    assert again["n"] == 2 and again["n_failed"] == 0 and kept(out) == before


def test_validate_accepts_the_demo_and_refuses_an_edited_mean(
    demo: tuple[Path, int], wikigenben: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = demo[0] / "submission.json"
    monkeypatch.setattr(splits, "published_ids", lambda *_: submission.read(path).data.ids_sha256)
    assert wikigenben("validate", demo[0], path) == Ran(0, f"{path}: valid\n", "")
    assert wikigenben("validate", demo[0], "--json").json == {str(path): []}
    value = json.loads(path.read_text(encoding="utf-8"))
    value["scores"]["quality"]["mean"] = 0.99
    Path("submission.json").write_text(json.dumps(value))
    edited = wikigenben("validate", ".")
    assert edited.code == 2 and "scores.quality.mean is 0.99, recomputed from the events it is" in edited.out


@pytest.mark.parametrize("system", ["rr", "ours"])
@pytest.mark.usefixtures("fixed_encoder")
def test_a_model_that_only_continues_documents_is_refused(wikigenben: Command, tmp_path: Path, system: str) -> None:
    folder = build_tiny_model(tmp_path / "model", chat_template=False, vocab_from=["The flood."], layers=1)
    (folder / "chat_template.jinja").write_text(JOINING_TEMPLATE, encoding="utf-8")
    ran = wikigenben("generate", "--system", system, "--model", f"hf:{folder}", "--data", "sample")
    told = (f"--system {system} gives instructions, and hf:{folder} follows none", "--model hf:FOLDER", "--system extractive")
    assert (ran.code, ran.out) == (2, "") and all(part in ran.err for part in told), ran.err


# ---- generate, evaluate, compare, events


def test_generate_tells_the_same_as_table_and_as_json(wikigenben: Command) -> None:
    ran = wikigenben("generate", "--system", "lead", "--data", "sample", "--limit", "2")
    assert ran.code == 0 and ran.out.startswith("2 written, 0 reused, 0 failed in ") and "runs/lead-sample-search" in ran.out
    again = wikigenben("generate", "--system", "lead", "--data", "sample", "--limit", "3", "--json")
    assert {k: v for k, v in again.json.items() if k != "seconds"} == {
        "run": "runs/lead-sample-search", "written": 1, "reused": 2, "failed": [],
    }  # fmt: skip
    assert again.err == ""


@pytest.mark.usefixtures("fixed_encoder")
def test_compare_of_two_floors(wikigenben: Command) -> None:
    for system in ("lead", "bm25"):
        words = ("--system", system, "--data", "sample", "--limit", "2", "--no-floors", "--out", system, "--judge", "lexical")
        ran = wikigenben("evaluate", *words, "--set", "evaluation.resamples=100", "--json")
        assert ran.code == 0 and ran.json["system"] == system and ran.json["n"] == 2
    ran = wikigenben("compare", "lead", "bm25/submission.json", "--json")
    assert ran.code == 0 and (ran.json["first"], ran.json["second"]) == ("lead", "bm25")
    differences: Any = ran.json["differences"]
    a, b = (submission.read(Path(name) / "submission.json").scores for name in ("lead", "bm25"))
    for name in ("organisation", "rouge2_f", "words"):
        found = differences[name]
        assert found["mean"] == pytest.approx(a[name].mean - b[name].mean, abs=1e-6)  # events are stored with so many digits
        assert found["ci95"][0] <= found["mean"] <= found["ci95"][1]
        assert 0 < found["p"] <= 1 and found["n"] == 2
    organisation = differences["organisation"]
    assert organisation["p_holm"] >= organisation["p"] and differences["rouge2_f"]["p_holm"] is None
    swapped: Any = wikigenben("compare", "bm25", "lead", "--metrics", "organisation", "--json").json["differences"]
    assert list(swapped) == ["organisation"]
    assert swapped["organisation"]["mean"] == pytest.approx(-organisation["mean"])
    table = wikigenben("compare", "lead", "bm25")
    assert all(part in table.out for part in ("lead minus bm25, 2 events", "organisation *", "junk_share (less) *"))
    assert table.err == ""
    refused(wikigenben("compare", "lead", "bm25", "--metrics", "beauty"), "no metric 'beauty' in both; known: cite_recall")


@pytest.mark.usefixtures("fixed_encoder")
def test_a_failed_event_counts_as_nought_and_is_listed(wikigenben: Command, copied_sample: Path) -> None:
    good, bad = COPIED
    (copied_sample / "google" / f"{bad}.json").write_text('[{"title": "cut of', encoding="utf-8")
    words = ("evaluate", "--system", "bm25", "--data", copied_sample, "--no-floors", "--out", "run", "--json")
    words += ("--set", "evaluation.resamples=100")
    ran = wikigenben(*words)
    assert (ran.code, ran.json["n"], ran.json["n_failed"]) == (1, 2, 1)
    assert f"failed: {bad}: data:" in ran.err and f"google/{bad}.json is not JSON" in ran.err and "stays in n" in ran.err
    made = submission.read(Path("run/submission.json"))
    assert submission_faults.problems(made) == []
    rows = {event.id: event for event in made.events}
    assert (rows[good].status, rows[bad].status, rows[bad].article_sha256) == ("ok", "failed", "")
    assert rows[bad].scores["rouge2_f"] == 0.0 and rows[bad].scores["number_errors"] is None
    score = made.scores["rouge2_f"]
    assert score.mean == pytest.approx((rows[good].scores["rouge2_f"] or 0) / 2, abs=1e-6)  # rows have six decimals
    assert (score.n, score.n_failed) == (2, 1)
    (failure,) = Path("run/failures.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(failure)["event_id"] == bad

    # mended: the same command writes the one that is missing, and its zeros are gone
    shutil.copyfile(SAMPLE / "google" / f"{bad}.json", copied_sample / "google" / f"{bad}.json")
    again = wikigenben(*words)
    assert (again.code, again.json["n_failed"]) == (0, 0)
    assert Path("run/failures.jsonl").read_text(encoding="utf-8") == ""
    assert not Path(f"run/events/{bad}/failure.json").exists()


def test_an_event_without_evidence_keeps_its_pages_until_it_is_tried_again(wikigenben: Command, copied_sample: Path) -> None:
    good, bad = COPIED
    text = "Checking your browser before you access the site. Enable JavaScript and cookies to continue."
    blocked = {"title": "Just a moment...", "text": text}
    set_pages(copied_sample, bad, [{**blocked, "link": f"https://a{n}.example/"} for n in range(3)])
    words = ("generate", "--system", "bm25", "--data", copied_sample, "--out", "run", "--json")
    alone = wikigenben(*words, "--events", bad)
    assert alone.code == 3 and alone.json["failed"] == [bad]
    assert "no usable page" in alone.err and "among 3" in alone.err
    assert not Path(f"run/events/{bad}/article.json").exists()
    pages = [json.loads(line) for line in Path(f"run/events/{bad}/pages.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(pages) == 3 and all(page["drop_reason"] and page["text"] for page in pages)  # kept, to be checked
    both = wikigenben(*words)
    assert both.code == 1 and both.json["written"] == 1 and both.json["failed"] == [bad]

    shutil.copyfile(SAMPLE / "google" / f"{bad}.json", copied_sample / "google" / f"{bad}.json")
    stale = wikigenben(*words)
    assert stale.code == 1 and "among 3" in stale.err  # the stored pages are what the run works with
    times = stage_times(Path("run/events") / good)
    ran = wikigenben(*words, "--retry-failed")
    assert (ran.code, ran.json["written"], ran.json["reused"]) == (0, 1, 0)
    assert stage_times(Path("run/events") / good) == times
    assert wikigenben(*words, "--retry-failed").json["written"] == 0


def test_events_lists_ids_and_titles(wikigenben: Command, copied_sample: Path) -> None:
    ran = wikigenben("events", "--data", copied_sample)
    assert ran.code == 0
    assert [line.split("\t") for line in ran.out.splitlines()] == [[i, Snapshot(SAMPLE).event(i).title] for i in COPIED]
    assert "2 events of the benchmark's 309 on track search" in ran.err
    (copied_sample / "wiki" / f"{COPIED[0]}.json").write_text("[]")
    broken = wikigenben("events", "--data", copied_sample)
    assert broken.code == 0 and len(broken.out.splitlines()) == 1 and "unreadable" in broken.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(wikigenben: Command, command: str) -> None:
    ran = wikigenben(command, "--help")
    assert ran.code == 0 and ran.out.startswith("usage: ") and ran.err == ""


# ---- Ctrl-C


def test_ctrl_c_ends_with_130_and_the_same_command_goes_on(wikigenben: Command, tmp_path: Path) -> None:
    n_events = 400  # enough work for the signal to arrive in the middle
    root, out = make_events(tmp_path / "toys", n_events), tmp_path / "run"
    words = [sys.executable, "-m", "flows.cli", "generate", "--system", "bm25", "--data", str(root), "--out", str(out)]
    process = subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background shell would hand down "ignore"
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while not list(out.glob("events/*/article.json")) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        told, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, told) == (130, "")
    assert "interrupted; the same command goes on from here" in err and "Traceback" not in err
    done = len(list(out.glob("events/*/article.json")))
    assert 1 <= done < n_events
    assert not list(out.rglob("*.tmp"))
    again = wikigenben(*words[3:], "--limit", done + 1, "--json")
    assert again.code == 0 and again.json["written"] == 1 and again.json["reused"] == done

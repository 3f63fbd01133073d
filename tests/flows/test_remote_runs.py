"""Commands and the flow with a run at a URL: killed, resumed elsewhere, in worker processes, read, and refused."""

from __future__ import annotations

import json
import signal
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from prefect.settings import PREFECT_RESULTS_LOCAL_STORAGE_PATH, temporary_settings

from flows.orchestration.event_tasks import PIPELINE_VERSION
from pipeline.web.bundle import Bundle
from tests.conftest import Command, set_pages
from tests.killed_run import run_command
from tests.object_store import BUCKET, ObjectStore, serving
from tests.toy_events import TIMED, make_events, results
from tests.web_server import serving as web_server

Machine = Callable[[str], None]


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with serving() as server:
        yield server


@pytest.fixture
def folder(store: ObjectStore) -> str:
    """In the bucket, of this test alone."""
    return uuid.uuid4().hex


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Go over to the machine of that name: it has working copies of its own."""
    return lambda name: monkeypatch.setenv("WIKIGEN_RUNS", str(tmp_path / name))


@pytest.fixture
def toys(tmp_path: Path) -> Path:
    return make_events(tmp_path / "toys", 3)


def carried(found: dict[str, bytes]) -> dict[str, bytes]:
    """Objects of a run, but those that tell of its time and machine."""
    return {name: content for name, content in found.items() if name.rpartition("/")[2] not in TIMED and "plots/" not in name}


# ---- killed


def killed(moment: Literal["before", "after"], n: int, words: Sequence[object]) -> None:
    """A command that is killed when it carries the n-th file to the URL, `before` it does or `after`."""
    assert run_command(words, moment, n) == -signal.SIGKILL


@pytest.mark.parametrize(
    ("moment", "other"),
    [("after", "other"), pytest.param("before", "other", marks=pytest.mark.slow), ("before", "killed")],
)
def test_killed_on_one_machine_and_resumed_on_another(
    moment: Literal["before", "after"],
    other: str,
    store: ObjectStore,
    folder: str,
    toys: Path,
    machine: Machine,
    wikigenben: Command,
    tmp_path: Path,
) -> None:
    """Killed in the second event, once its pages are stored here; `before` they are at the URL, or after."""
    asked = ("generate", "--system", "lead", "--data", toys, "--json")
    local = wikigenben(*asked, "--out", tmp_path / "local")
    assert local.json["written"] == 3
    machine("killed")
    words = [*asked, "--out", f"s3://{BUCKET}/{folder}/x"]
    killed(moment, 5, words)  # run.json, then pages, article and stats of the first
    left = store.objects(f"{folder}/x")
    second = "events/7000002/pages.jsonl"
    assert set(left) == {
        "run.json",
        *(f"events/7000001/{name}" for name in ("pages.jsonl", "article.json", "stats.json")),
        *([second] if moment == "after" else []),
    }
    written = {key: one for key, one in stored_at(store, f"{folder}/x").items() if key.startswith("events/")}

    machine(other)
    resumed = wikigenben(*words)
    assert resumed.code == 0 and (resumed.json["written"], resumed.json["reused"]) == (2, 1)
    assert resumed.json["run"] == f"s3://{BUCKET}/{folder}/x"
    assert written.items() <= stored_at(store, f"{folder}/x").items()
    expected = results(tmp_path / "local")
    assert carried(store.objects(f"{folder}/x")) == expected
    assert results(Path(str(resumed.json["copy"]))) == expected
    assert (second in left) is (moment == "after")


@pytest.mark.parametrize("moment", ["before", "after"])
def test_live_pages_come_along_with_all_that_tells_of_them_or_not_at_all(
    moment: Literal["before", "after"], store: ObjectStore, folder: str, toys: Path, machine: Machine, wikigenben: Command,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Killed when the manifest of an event's bundle is carried, the last of it. The other machine has no pages of its own."""
    run, evidence = f"{folder}/x", "events/7000001/evidence"
    with web_server() as server:
        pages = json.loads((toys / "google" / "7000001.json").read_text(encoding="utf-8"))
        for n, page in enumerate(pages):
            server.put(f"/{n}", f"<html><body><article><p>{page['text']} It was case {n}.</p></article></body></html>")
            page["link"] = server.url(f"/{n}")
        set_pages(toys, "7000001", pages)
        web = ("--set", f"web.allow_origins={server.origin()}", "--set", "web.min_delay_s=0")
        words = ["generate", "--system", "lead", "--data", toys, "--limit", 1, "--evidence", "links", *web, "--json", "--out"]
        words.append(f"s3://{BUCKET}/{run}")
        machine("killed")
        monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "cache"))
        killed(moment, 4 + len(pages), words)  # run.json, bodies, fetches.jsonl, evidence.jsonl, manifest.json
        left, asked = store.objects(run), len(server.targets())
        assert sum("/bodies/" in name for name in left) == len(pages)
        assert (f"{evidence}/manifest.json" in left) is (moment == "after") and "events/7000001/pages.jsonl" not in left

        machine("other")
        monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "other-cache"))
        resumed = wikigenben(*words)
        assert resumed.code == 0 and resumed.json["written"] == 1, resumed.err
        assert len(server.targets()) == (asked if moment == "after" else 2 * asked)
    copy = Path(str(resumed.json["copy"]))
    bundle = Bundle(copy / evidence)
    assert [bundle.body(one.stored.sha256) for one in bundle.fetches()] and len(bundle.records()) == len(pages)
    assert results(copy) == carried(store.objects(run))


def stored_at(store: ObjectStore, folder: str) -> dict[str, object]:
    """When each object was written."""
    listed = store.client().list_objects_v2(Bucket=BUCKET, Prefix=f"{folder}/").get("Contents", ())
    return {one["Key"].removeprefix(f"{folder}/"): one["LastModified"] for one in listed}


# ---- commands


@pytest.mark.usefixtures("fixed_encoder")
def test_commands_take_the_url_where_they_take_a_run(
    store: ObjectStore, folder: str, toys: Path, machine: Machine, wikigenben: Command, tmp_path: Path
) -> None:
    url = f"s3://{BUCKET}/{folder}/x"
    asked = ("evaluate", "--system", "lead", "--data", toys, "--limit", 2, "--no-floors", "--json", "--out")
    machine("first")
    first = wikigenben(*asked, url)
    assert first.code == 0 and first.json["submission"] == f"{url}/submission.json"
    there = store.objects(f"{folder}/x")
    assert results(Path(str(first.json["copy"]))) == carried(there)
    assert {"report.html", "index.html", "scores.jsonl", "wikigenbench/7000001.json", "articles/7000001.html"} <= there.keys()
    local = wikigenben(*asked, tmp_path / "local")
    assert local.json["scores"] == first.json["scores"]
    assert results(tmp_path / "local") == carried(there)

    machine("second")
    assert wikigenben("report", url).code == 0
    told = wikigenben("compare", url, tmp_path / "local", "--json").json["differences"]
    assert isinstance(told, dict) and {one["mean"] for one in told.values()} == {0}
    again = wikigenben("generate", "--system", "lead", "--data", toys, "--limit", 2, "--out", url)
    assert "0 written, 2 reused, 0 failed" in again.out and f"-> {url}" in again.out
    now = store.objects(f"{folder}/x")
    assert {name for name in carried(there) if now[name] != there[name]} <= {"index.html"}  # which `generate` makes bare

    machine("third")
    taken = wikigenben("generate", "--system", "bm25", "--data", toys, "--limit", 1, "--out", url)
    assert taken.code == 2 and taken.err.startswith(f"wikigenben: {url} holds a run made otherwise (system: 'lead' there")
    assert "first" not in taken.err and str(tmp_path) not in taken.err
    store.delete(f"{folder}/x")
    gone = wikigenben("report", url)
    assert gone.code == 2 and f"there is no run at {url}" in gone.err


def test_failed_events_are_tried_again_everywhere(
    store: ObjectStore, folder: str, copied_sample: Path, machine: Machine, wikigenben: Command
) -> None:
    asked = ("generate", "--system", "lead", "--data", copied_sample, "--json", "--out", f"s3://{BUCKET}/{folder}/x")
    listed = json.loads((copied_sample / "google" / "9000002.json").read_text(encoding="utf-8"))
    set_pages(copied_sample, "9000002", [])
    machine("first")
    assert wikigenben(*asked).json["failed"] == ["9000002"]
    set_pages(copied_sample, "9000002", listed)
    machine("second")
    assert wikigenben(*asked, "--retry-failed").json["written"] == 1
    there = store.objects(f"{folder}/x")
    assert "events/9000002/article.json" in there and "events/9000002/failure.json" not in there
    machine("first")
    assert wikigenben(*asked).json["reused"] == 2


def test_article_of_live_pages_and_its_update(
    store: ObjectStore, folder: str, machine: Machine, wikigenben: Command, tmp_path: Path, fixed_encoder: None
) -> None:
    text = " ".join(f"The ferry line of Orta carried {n} hundred passengers in the year {1900 + n}." for n in range(1, 40))
    (tmp_path / "page.html").write_text(f"<html><head><title>Orta ferry</title></head><body><p>{text}</p></body></html>")
    url = f"s3://{BUCKET}/{folder}/orta"
    machine("first")
    asked = ("write", "Orta ferry", "--system", "extractive", "--file", tmp_path / "page.html", "--json", "--out", url)
    made = wikigenben(*asked)
    assert made.code == 0 and made.json["run"] == url, made.err
    there = store.objects(f"{folder}/orta")
    assert {"evidence/manifest.json", "evidence/evidence.jsonl", "events/orta-ferry/article.json"} <= there.keys()
    assert any(name.startswith("evidence/bodies/") for name in there)

    machine("second")
    assert wikigenben(*asked).json["status"] == "reused"
    updated = wikigenben("update", url, "--json", "--out", f"s3://{BUCKET}/{folder}/later")
    assert updated.code == 0 and updated.json["run"] == f"s3://{BUCKET}/{folder}/later", updated.err
    later = store.objects(f"{folder}/later")
    assert later["events/orta-ferry/article.json"] == there["events/orta-ferry/article.json"]
    taken = wikigenben("update", url, "--out", f"s3://{BUCKET}/{folder}/later")
    assert taken.code == 2 and "holds an article already" in taken.err


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nope://a/b", "fsspec knows no protocol 'nope'"),
        ("gs://a/b", "gs://a/b needs another package"),
        ("sftp://ann:hush@host/x", "FSSPEC_SFTP_PASSWORD"),
        ("s3://nobody/x", "there is no bucket 'nobody'"),
    ],
)
def test_wrong_urls_are_one_line(url: str, message: str, store: ObjectStore, wikigenben: Command, toys: Path) -> None:
    said = wikigenben("generate", "--system", "lead", "--data", toys, "--out", url)
    assert said.code == 2 and message in said.err and said.err.count("\n") == 1 and "hush" not in said.err


# ---- the flow


def run_flow(**parameters: Any) -> Any:
    from flows.wiki_gen import wiki_gen

    return wiki_gen(return_state=True, **parameters)


@pytest.mark.slow  # a worker process that loads everything anew, six seconds
@pytest.mark.usefixtures("prefect_api")
def test_worker_processes_carry_their_own_events(
    store: ObjectStore, folder: str, toys: Path, machine: Machine, wikigenben: Command, tmp_path: Path
) -> None:
    machine("flow")
    url = f"s3://{BUCKET}/{folder}/x"
    asked: dict[str, Any] = {"system": "lead", "data": str(toys), "out": url, "evaluate": False}
    state = run_flow(**asked, runner="processes:1")  # each loads everything anew; several: `test_runners`
    assert state.is_completed() and state.message.endswith(f"-> {url}"), state.message
    assert wikigenben("generate", "--system", "lead", "--data", toys, "--out", tmp_path / "local").code == 0
    assert carried(store.objects(f"{folder}/x")) == results(tmp_path / "local")
    machine("other")
    state = run_flow(**asked)
    assert state.is_completed() and "0 written, 3 reused" in state.message


@pytest.mark.usefixtures("prefect_api")
def test_results_of_steps_at_a_url_are_found_by_another_machine(
    store: ObjectStore, folder: str, toys: Path, tmp_path: Path
) -> None:
    asked: dict[str, Any] = {"system": "lead", "data": str(toys), "limit": 1, "evaluate": False}
    steps = {"results": f"s3://{BUCKET}/{folder}/steps"}
    assert run_flow(**asked, **steps, out=str(tmp_path / "a")).is_completed()
    kept = store.objects(f"{folder}/steps")
    (key,) = (name for name in kept if name.startswith(f"retrieve/v{PIPELINE_VERSION}/7000001/"))
    assert any(name.startswith(f"article/v{PIPELINE_VERSION}/7000001/") for name in kept)
    store.put(f"{folder}/steps/{key}", kept[key].replace(b"talers", b"ducats"))  # what is found there is used
    with temporary_settings({PREFECT_RESULTS_LOCAL_STORAGE_PATH: tmp_path / "nothing"}):
        assert run_flow(**asked, **steps, out=str(tmp_path / "b")).is_completed()
    pages = [(tmp_path / name / "events" / "7000001" / "pages.jsonl").read_text(encoding="utf-8") for name in "ab"]
    assert "talers" in pages[0] and pages[1] == pages[0].replace("talers", "ducats")
    assert not (tmp_path / "nothing").exists()


@pytest.mark.usefixtures("prefect_api")
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"out": "nope://a/b"}, "fsspec knows no protocol 'nope'"),
        ({"results": "runs/steps"}, "results 'runs/steps' is no URL"),
        ({"results": "s3://nobody/steps"}, "there is no bucket 'nobody'"),
    ],
)
def test_wrong_urls_fail_the_flow_at_once(parameters: dict[str, Any], message: str, store: ObjectStore, toys: Path) -> None:
    state = run_flow(system="lead", data=str(toys), limit=1, **parameters)
    assert state.is_failed() and message in state.message and "Traceback" not in state.message

"""Runs at URLs: what is carried there and back, between two working copies that stand for two machines."""

from __future__ import annotations

import re
import shutil
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from filelock import FileLock
from fsspec.asyn import AsyncFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from data import codec, runs, stage_types
from data import store as stores
from data.errors import MissingExtra, UserError
from data.remote import Carrier, RunUrl, place
from data.runs import EventFailure, RunFolder
from data.stage_types import Stage
from data.types import Heading, Outline, Page
from tests.object_store import BUCKET, FlakyLine, ObjectStore, serving

IDENTITY = {"system": "lead", "track": "search"}
OUTLINE = Outline("T", (Heading("A"),))
Machine = Callable[[str], None]


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with serving() as server:
        yield server


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Go over to the machine of that name: it has working copies of its own."""
    monkeypatch.setenv("WIKIGEN_RUNS", str(tmp_path / "here"))
    return lambda name: monkeypatch.setenv("WIKIGEN_RUNS", str(tmp_path / name))


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path, machine: Machine) -> RunUrl:
    """Of a run that is not there yet, in a folder, or where `everywhere` asks for it."""
    kind = getattr(request, "param", "file")
    if kind == "s3":
        request.getfixturevalue("store")
    top = {"memory": "memory://shelf", "file": f"file://{tmp_path}/shelf", "s3": f"s3://{BUCKET}"}[kind]
    return RunUrl(f"{top}/{uuid.uuid4().hex}/x")


everywhere = pytest.mark.parametrize("url", ["memory", "file", "s3"], indirect=True)
"""Stores of three kinds: in memory, with folders, with objects alone."""


def there(url: RunUrl) -> dict[str, bytes]:
    """Everything at the URL, hidden files too."""
    fs, root = fsspec.core.url_to_fs(url.text)
    names = fs.find(root) if fs.exists(root) else []
    return {name.removeprefix(f"{root}/"): fs.cat_file(name) for name in names}


def put(url: RunUrl, name: str, content: bytes) -> None:
    fs, root = fsspec.core.url_to_fs(url.text)
    if url.text.startswith("file"):
        fs.makedirs(f"{root}/{name}".rpartition("/")[0], exist_ok=True)
    fs.pipe_file(f"{root}/{name}", content)


def here(run: RunFolder) -> dict[str, bytes]:
    found = {p.relative_to(run.path).as_posix(): p for p in sorted(run.path.rglob("*")) if p.is_file()}
    return {name: p.read_bytes() for name, p in found.items() if not any(part.startswith(".") for part in name.split("/"))}


def opened(url: RunUrl) -> RunFolder:
    """As a command opens a run and brings it here."""
    run = RunFolder.open(url, IDENTITY)
    with run.locked():
        return run


def outline(run: RunFolder, event_id: str = "7", title: str = "T") -> None:
    run.event(event_id).once(stage_types.OUTLINE, lambda: Outline(title, OUTLINE.headings))


def never() -> Outline:
    raise AssertionError("this was made on the other machine")


# ---- URLs


def test_what_is_a_url() -> None:
    assert place("runs/x") == Path("runs/x")
    assert place("s3:/bucket/x") == Path("s3:/bucket/x")
    assert place("s3://bucket/x") == RunUrl("s3://bucket/x")
    assert str(place("S3://bucket/x//")) == "S3://bucket/x"


def test_secrets_of_a_url_are_told_to_nobody() -> None:
    url = RunUrl("sftp://ann:hush@host/runs/x")
    assert "hush" not in f"{url} {url!r} {url.copy()}"
    with pytest.raises(UserError, match="FSSPEC_SFTP_PASSWORD") as refused:
        Carrier(url)
    assert "hush" not in str(refused.value)
    # Long parts: "hu" alone is found in a temporary folder's random name now and then.
    for text in ("sftp://ann:pass_@word_@host/x", "s3://KEY:pass_/word_@bucket/x", "s3://KEY:p/pass_@word_@bucket/x"):
        with pytest.raises(UserError, match="was given with a password") as refused:
            Carrier(RunUrl(text))
        shown = f"{refused.value} {RunUrl(text)} {RunUrl(text).copy()}"
        assert "pass_" not in shown and "word_" not in shown, text
    assert RunUrl("sftp://ann@host:22/runs/a@b").checked() == str(RunUrl("sftp://ann@host:22/runs/a@b"))
    assert RunUrl("sftp://host:22/runs/a@b").checked() == "sftp://host:22/runs/a@b"
    signed = RunUrl("az://box/runs/x?sig=hush")
    with pytest.raises(UserError) as refused:
        Carrier(signed)
    assert "hush" not in f"{refused.value} {signed}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nope://a/b", "knows no protocol 'nope'"),
        ("s3://", "names no folder"),
        ("s3://a/../b", "have no place in a run's URL"),
        ("simplecache::s3://a/b", "have no place in a run's URL"),
        ("gs://a/b", "gcsfs"),
        ("sftp://host/b", "paramiko"),
    ],
)
def test_urls_that_cannot_be_opened(text: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        Carrier(RunUrl(text))


def test_missing_package_of_s3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)
    with pytest.raises(MissingExtra, match=re.escape("pip install 'wikigenben[s3]'")):
        Carrier(RunUrl("s3://bucket/x"))


def test_copies_have_readable_names_and_never_meet(machine: Machine) -> None:
    names = [RunUrl(f"s3://bucket/{name}").copy().name for name in ("runs/x", "runs-x", "runs/X", f"{'long/' * 50}x")]
    assert len(set(names)) == 4 and names[0].startswith("bucket-runs-x-")
    assert all(len(name) < 100 and "/" not in name for name in names)


# ---- two machines


@everywhere
def test_stages_are_there_when_stored_and_found_by_the_other_machine(url: RunUrl, machine: Machine) -> None:
    run = opened(url)
    folder = run.event("7")
    outline(run)
    page = Page("https://a.example/", "A", "Some words of the page.", "search")
    folder.pages(lambda: (page,))
    folder.fail(EventFailure("7", "section", "StageError", "because"))
    assert there(url) == here(run)
    assert set(there(url)) == {"run.json", *(f"events/7/{name}" for name in ("outline.json", "pages.jsonl", "failure.json"))}

    machine("other")
    again = opened(url)
    assert again.path != run.path and here(again) == here(run)
    folder = again.event("7")
    assert folder.once(stage_types.OUTLINE, never) == OUTLINE
    assert folder.stored_pages() == (page,)
    folder.clear_failure()
    assert "events/7/failure.json" not in there(url)

    machine("here")
    assert opened(url).failures() == []


@everywhere
def test_forgotten_events_are_forgotten_everywhere(url: RunUrl, machine: Machine) -> None:
    run = opened(url)
    outline(run)
    outline(run, "70")
    machine("other")
    opened(url).event("7").clear()
    assert set(there(url)) == {"run.json", "events/70/outline.json"}
    machine("here")
    run = opened(url)
    assert set(here(run)) == set(there(url))
    run.event("70").clear(keep_pages=True)
    assert set(there(url)) == {"run.json"}


def test_what_other_code_writes_and_deletes_is_carried_at_the_end(url: RunUrl, machine: Machine) -> None:
    run = opened(url)
    with run.locked():
        for name in ("index.html", "plots/a.svg", "plots/b.svg", ".scores.lock", f".half{codec.TEMPORARY}", ".7.half/x.json"):
            (run.path / name).parent.mkdir(exist_ok=True)
            (run.path / name).write_text(name)
        (run.path / "link").symlink_to(run.path / "index.html")
        assert set(there(url)) == {"run.json"}
    assert set(there(url)) == {"run.json", "index.html", "plots/a.svg", "plots/b.svg"}
    with pytest.raises(KeyboardInterrupt), run.locked():
        (run.path / "plots" / "b.svg").unlink()
        (run.path / "index.html").write_text("changed")
        raise KeyboardInterrupt
    assert there(url)["index.html"] == b"changed" and "plots/b.svg" not in there(url)

    machine("other")
    assert here(opened(url)) == there(url)


def test_what_says_that_others_are_whole_is_carried_after_them(url: RunUrl, tmp_path: Path) -> None:
    names = ["article.json", "evidence/bodies/ab/abc", "evidence/evidence.jsonl", "evidence/manifest.json", "pages.jsonl", "z"]
    run = opened(url)
    with run.locked():
        for name in names:
            codec.write_atomic(run.event("7").path / name, name)
    there = {name: Path(url.text.removeprefix("file://"), "events", "7", name).stat().st_mtime_ns for name in names}
    order = sorted(there, key=there.__getitem__)
    assert order[-3:] == ["evidence/manifest.json", "pages.jsonl", "article.json"]


@everywhere
def test_the_url_is_the_truth_and_what_was_never_carried_goes_there(url: RunUrl, machine: Machine) -> None:
    run = opened(url)
    with run.locked():
        for name in ("mine", "theirs", "both", "deleted"):
            (run.path / name).write_text("old")
    machine("other")
    other = opened(url)
    with other.locked():
        for name in ("theirs", "both"):
            (other.path / name).write_text("new")
        (other.path / "deleted").unlink()
    machine("here")
    for name in ("mine", "both"):
        (run.path / name).write_text("own")
    (run.path / "late").write_text("late")
    run = opened(url)
    expected = {"mine": b"own", "theirs": b"new", "both": b"new", "late": b"late"}
    assert {name: content for name, content in here(run).items() if name != "run.json"} == expected
    assert there(url) == here(run)


@everywhere
def test_a_record_that_was_lost_costs_no_file(url: RunUrl) -> None:
    run = opened(url)
    outline(run)
    (run.path / ".carried.sqlite").unlink()
    before = there(url)
    run = opened(url)
    assert here(run) == there(url) == before


def test_a_run_that_was_deleted_there_begins_anew(url: RunUrl, machine: Machine) -> None:
    run = opened(url)
    outline(run)
    fs, root = fsspec.core.url_to_fs(url.text)
    fs.rm(root, recursive=True)
    run = RunFolder.open(url, IDENTITY | {"system": "bm25"})
    assert set(there(url)) == set(here(run)) == {"run.json"}
    machine("other")
    with pytest.raises(UserError, match=re.escape(f"{url} holds a run made otherwise (system: 'bm25' there, 'lead' now)")):
        RunFolder.open(url, IDENTITY)


def test_a_run_that_is_worked_on_is_not_emptied(url: RunUrl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "CLEARING_S", 0.2)
    run = opened(url)
    fs, root = fsspec.core.url_to_fs(url.text)
    with run.locked():
        outline(run)
        fs.rm(root, recursive=True)
        with pytest.raises(UserError, match="was deleted while another command works on it"):
            RunFolder.open(url, IDENTITY)
        assert run.event("7").once(stage_types.OUTLINE, never) == OUTLINE


def test_processes_that_find_a_stale_copy_empty_it_once(url: RunUrl, machine: Machine) -> None:
    """As several workers of one machine do, which was used for an earlier run at the URL."""
    outline(opened(url), "6")
    fs, root = fsspec.core.url_to_fs(url.text)
    fs.rm(root, recursive=True)
    machine("other")
    identity = IDENTITY | {"system": "bm25"}
    RunFolder.open(url, identity)
    machine("here")
    copy, began = url.copy(), threading.Event()

    def first() -> None:
        with FileLock(copy / ".lock"):
            began.set()
            time.sleep(0.2)
            shutil.rmtree(copy / "events")
            codec.write_atomic(copy / "run.json", there(url)["run.json"])
        codec.write_atomic(copy / "events" / "7" / "outline.json", "{}")

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(first)
        began.wait()
        second = RunFolder.open(url, identity)
        done.result()
    assert set(here(second)) == {"run.json", "events/7/outline.json"}


def test_two_commands_of_one_machine(url: RunUrl) -> None:
    run = opened(url)
    with run.locked():
        outline(run)
        with pytest.raises(UserError, match=re.escape(f"another command is working on {url};")):
            opened(url)
        assert RunFolder.at(url).event("7").once(stage_types.OUTLINE, never) == OUTLINE  # reading is allowed


def test_a_process_with_a_copy_of_its_own_works_for_another(url: RunUrl, machine: Machine) -> None:
    """As a worker on another machine does, with the process that sees to the run."""
    run = opened(url)
    outline(run)
    machine("worker")
    worker = RunFolder.open(url, IDENTITY)
    worker.refresh("7")
    assert worker.event("7").once(stage_types.OUTLINE, never) == OUTLINE
    worker.event("7").once(Stage("sections/01", Heading), lambda: Heading("A"))
    codec.write_atomic(worker.path / "wikigenbench" / "7.json", "{}")
    worker.push("7")
    machine("here")
    run.refresh("7")
    assert here(run) == here(worker) == there(url)
    run.event("7").clear()
    worker.refresh("7")  # long after it was opened
    assert not (worker.path / "events" / "7" / "outline.json").exists()


def test_reading_from_a_url_without_a_run(url: RunUrl, machine: Machine) -> None:
    with pytest.raises(UserError, match=re.escape(f"there is no run at {url}; make one with: wikigenben evaluate --out {url}")):
        RunFolder.at(url)
    put(url, "notes.txt", b"mine")
    with pytest.raises(UserError, match=re.escape(f"{url} is not empty and not a run folder")):
        RunFolder.open(url, IDENTITY)
    assert there(url) == {"notes.txt": b"mine"}
    put(url, "run.json", b"[1]")
    with pytest.raises(UserError, match=re.escape(f"{url}/run.json holds a list")):
        RunFolder.open(url, IDENTITY)


def test_a_machine_that_cannot_keep_a_copy(url: RunUrl, machine: Machine, tmp_path: Path) -> None:
    opened(url)
    (tmp_path / "full").write_text("")
    machine("full")
    with pytest.raises(UserError, match=r"cannot write to .*; set WIKIGEN_RUNS to another folder"):
        RunFolder.open(url, IDENTITY)


def test_one_file_is_brought_without_the_rest(url: RunUrl, machine: Machine) -> None:
    run = opened(url)
    outline(run)
    with run.locked():
        (run.path / "submission.json").write_text("{}")
    machine("other")
    assert set(here(RunFolder.at(url, "submission.json"))) == {"run.json", "submission.json"}


# ---- stores of other kinds


def test_a_package_that_is_not_made_for_threads_is_asked_by_one_at_a_time(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe_file, busy, overlaps = MemoryFileSystem.pipe_file, threading.Lock(), []

    def slow(self: MemoryFileSystem, path: str, value: bytes, **more: Any) -> None:
        overlaps.append(busy.locked())
        with busy:
            time.sleep(0.01)
            pipe_file(self, path, value, **more)

    run = opened(RunUrl(f"memory://shelf/{uuid.uuid4().hex}/x"))
    monkeypatch.setattr(MemoryFileSystem, "pipe_file", slow)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda event_id: outline(run, event_id), "1234"))
    assert overlaps == [False] * 4


def test_a_folder_that_goes_while_it_is_written_to(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    run = opened(RunUrl(f"memory://shelf/{uuid.uuid4().hex}/x"))
    monkeypatch.setattr(MemoryFileSystem, "makedirs", lambda self, path, exist_ok=False: None)
    monkeypatch.setattr(MemoryFileSystem, "pipe_file", MemoryFileSystem.cat_file)
    with pytest.raises(UserError, match=r"does not answer as it should \(FileNotFoundError"):
        outline(run)


class Shelf(AsyncFileSystem):  # type: ignore[misc]  # fsspec is untyped
    """A store of objects with a listing of its own, as those of Google and Azure are."""

    protocol = "shelf"
    objects: ClassVar[dict[str, bytes]] = {}

    async def _find(self, path: str, maxdepth: int | None = None, withdirs: bool = False, detail: bool = False) -> Any:
        found = {name: {"name": name, "size": len(one)} for name, one in self.objects.items() if name.startswith(f"{path}/")}
        return found if detail else list(found)

    async def _cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any) -> bytes:
        if path not in self.objects:
            raise FileNotFoundError(path)
        return self.objects[path]

    async def _pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any) -> None:
        self.objects[path] = value

    async def _exists(self, path: str, **kwargs: Any) -> bool:
        return path == "bucket"


def test_a_store_with_a_listing_of_its_own(machine: Machine) -> None:
    fsspec.register_implementation("shelf", Shelf, clobber=True)
    url = RunUrl(f"shelf://bucket/{uuid.uuid4().hex}/x")
    outline(opened(url))
    machine("other")
    assert opened(url).event("7").once(stage_types.OUTLINE, never) == OUTLINE
    with pytest.raises(UserError, match="there is no bucket 'nobody'"):
        Carrier(RunUrl("shelf://nobody/x")).store.check()


# ---- foreign input


def test_names_that_cannot_be_files_are_refused(store: ObjectStore, machine: Machine, tmp_path: Path) -> None:
    folder = uuid.uuid4().hex
    url = RunUrl(f"s3://{BUCKET}/{folder}/x")
    outline(opened(url))
    machine("other")
    names = ["../../evil", "events/../../evil", "//etc/passwd", "events//7", "a\\b", "./x", f"events/{'n' * 256}", "events"]
    for name in names:
        store.put(f"{folder}/x/{name}", b"evil")
        with pytest.raises(UserError, match=r"which cannot be a file of a run|both as a file and as a folder") as refused:
            opened(url)
        assert str(refused.value).isprintable()
        assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes() == b"evil"]
        assert set(here(RunFolder(url.copy()))) == {"run.json"}
        store.client().delete_object(Bucket=BUCKET, Key=f"{folder}/x/{name}")
    assert set(here(opened(url))) == {"run.json", "events/7/outline.json"}


def test_objects_that_are_no_files_of_the_run_are_left_alone(store: ObjectStore, machine: Machine) -> None:
    folder = uuid.uuid4().hex
    url = RunUrl(f"s3://{BUCKET}/{folder}/x")
    run = opened(url)
    outside = {"x/events/": b"", "x/.lock": b"1", f"x/events/7/.a{codec.TEMPORARY}": b"1", "x2/run.json": b"1"}
    for name, content in outside.items():
        store.put(f"{folder}/{name}", content)
    run = opened(url)
    run.event("7").clear()
    assert set(here(run)) == {"run.json"}
    assert store.objects(folder).keys() == {"x/run.json", *outside}


def test_links_are_not_followed(tmp_path: Path, machine: Machine) -> None:
    (tmp_path / "secret").write_text("secret")
    url = RunUrl(f"file://{tmp_path}/shelf/x")
    opened(url)
    (tmp_path / "shelf" / "x" / "link").symlink_to(tmp_path / "secret")
    machine("other")
    with pytest.raises(UserError, match="'link', which cannot be a file of a run"):
        opened(url)


# ---- trouble


def test_passing_trouble_is_sat_out_and_lasting_trouble_loses_nothing(
    store: ObjectStore, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = RunUrl(f"s3://{BUCKET}/{uuid.uuid4().hex}/x")
    monkeypatch.setattr(stores, "PAUSES_S", (0.05, 0.1, 0.2))
    with FlakyLine(store.env["AWS_ENDPOINT_URL"]) as line:
        monkeypatch.setenv("AWS_ENDPOINT_URL", line.url)
        run = opened(url)
        line.drop_next(3)
        outline(run)
        assert "events/7/outline.json" in there(url)
        line.drop_next(10**6)
        with pytest.raises(UserError, match="does not answer as it should") as failed, run.locked():
            outline(run, "8")
        assert str(url) in str(failed.value) and "when you run the command again" in str(failed.value)
        assert run.event("8").once(stage_types.OUTLINE, never) == OUTLINE
        line.drop_next(0)
        run = opened(url)
        assert there(url) == here(run) and "events/8/outline.json" in there(url)


def test_server_that_is_not_there(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    for name, value in {"AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "hush"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match="s3://bucket/x does not answer as it should") as failed:
        RunFolder.open(RunUrl("s3://bucket/x"), IDENTITY)
    assert address in str(failed.value) and "hush" not in str(failed.value) and "\n" not in str(failed.value)


def test_missing_bucket_and_missing_credentials(store: ObjectStore, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    url = RunUrl("s3://nobody/runs/x")
    for attempt in (lambda: RunFolder.open(url, IDENTITY), lambda: RunFolder.at(url), lambda: Carrier(url).store.check()):
        with pytest.raises(UserError, match=r"s3://nobody/runs/x: there is no bucket 'nobody'; make it"):
            attempt()
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_ENDPOINT_URL", store.env["AWS_ENDPOINT_URL"].replace("127.0.0.1", "localhost"))  # not known yet
    with pytest.raises(UserError, match=r"is not open to us .*AWS_ACCESS_KEY_ID"):
        RunFolder.open(RunUrl(f"s3://{BUCKET}/x"), IDENTITY)

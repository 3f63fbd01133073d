"""Wrong values, broken files, full disks: one line that names the value and the next step, and nothing is lost."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from data.snapshot import SAMPLE
from decoding.models import registry
from decoding.models.registry import DEFAULT_MODEL, KNOWN
from tests.conftest import COPIED, Command, set_pages
from tests.flows.told import refused
from tests.grids import rest_slow

ROOT = Path(__file__).resolve().parents[2]
GOOD, BAD = COPIED
BM25 = ("generate", "--system", "bm25")
ON_SAMPLE = (*BM25, "--data", "sample")
FOR_MODEL = ("generate", "--data", "sample", "--system")
SERVER = "server:m@http://127.0.0.1:9/v1"


# ---- what was asked for


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--events", "4711"], ["no event '4711'", "known ids run from 9000001 to 9000005", "wikigenben events"]),
        (["--events", "9000001", "../wiki/9000001"], ["'../wiki/9000001'"]),
        (["--events", ""], ["no event ''"]),
        (["--limit", "0"], ["--limit 0", "use 1 or more"]),
        (["--set", "retrieval.topk=8"], ["'topk'", "did you mean 'top_k'?"]),
        (["--set", "retrieval.method=magic"], ["retrieval.method", "'magic'"]),
        (["--set", "decoding.methods=copy"], ["'methods'", "did you mean 'method'?"]),
        (["--config", "nowhere.toml"], ["--config nowhere.toml", "No such file"]),
        (["--config", "bytes.toml"], ["is not TOML"]),
        (["--config", "typo.toml"], ["'max_word'", "did you mean 'max_words'?"]),
        (["--decoding", "copy"], ["--system bm25 uses no language model", "drop --decoding"]),
        (["--set", "decoding.backend=hf"], ["--system bm25 uses no language model", "decoding.*"]),
        (["--model", "hf:models/qwen"], ["--system bm25 uses no language model", "drop --model hf:models/qwen"]),
    ],
)
def test_wrong_values(wikigenben: Command, words: list[str], names: list[str]) -> None:
    Path("bytes.toml").write_bytes(b"\xff\xfe\x00")
    Path("typo.toml").write_text("[writing]\nmax_word = 100\n")
    refused(wikigenben(*ON_SAMPLE, *words), *names)
    assert not Path("runs").exists()


@pytest.mark.parametrize("words", ["generate --system gpt", "generate --limit some", "--nonsense", "wrote", "compare one"])
def test_what_the_command_line_does_not_know(wikigenben: Command, words: str) -> None:
    ran = wikigenben(*words.split())
    assert (ran.code, ran.out) == (2, "") and "usage: wikigenben" in ran.err
    assert "generate" not in words or all(word in ran.err for word in words.split()[1:])


@pytest.mark.parametrize(
    ("words", "names"),
    [
        *((f"{system}", [f"--system {system}", "--model hf:FOLDER_OR_ID"]) for system in ("rr", "prr", "rprr")),
        ("ours --model embedded", ["'embedded' is gone", DEFAULT_MODEL]),
        *((f"ours --model {name}", [repr(name), "hf:FOLDER_OR_ID"]) for name in ("qwen", "hf:", "server:qwen", "gguf:")),
        ("rr --model hf:./nowhere/at/all", ["./nowhere/at/all", "check the path"]),
        ("rr --model hf:empty", ["empty", "no config.json", "name the folder"]),
        ("rr --model hf:weightless", ["weightless", "no weights", "name another one"]),
        ("rr --model hf:nowhere --decoding copyspek", ["'copyspek'", "did you mean 'copyspec'?"]),  # before it is loaded
        ("rr --model hf:nowhere --set decoding.lengths=long", ["'long'", "threshold, expected, or fixed:N"]),
        (f"rr --model {SERVER} --decoding copy", [f"{SERVER} decodes in its own way", "drop --decoding"]),
    ],
)
def test_models_that_there_are_not(wikigenben: Command, words: str, names: list[str]) -> None:
    for folder in ("empty", "weightless"):
        Path(folder).mkdir()
    Path("weightless/config.json").write_text('{"model_type": "llama"}')
    refused(wikigenben(*FOR_MODEL, *words.split()), *names)


@pytest.mark.parametrize("model", ["", *KNOWN])
def test_a_model_that_is_not_here_names_the_command_that_gets_it(
    wikigenben: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model: str
) -> None:
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    size = registry.in_gigabytes(KNOWN[model or DEFAULT_MODEL].size)
    for command in ((*FOR_MODEL, "ours"), ("write", "T", "--url", "http://127.0.0.1:9/")):
        ran = wikigenben(*command, *(("--model", model) if model else ()))
        refused(ran, f"wikigenben models get {model or DEFAULT_MODEL} ({size})", "--model gguf:FILE")
    assert not (tmp_path / "cache").exists(), "nothing is fetched that nobody asked for"


# ---- the benchmark folder


def test_no_snapshot(wikigenben: Command) -> None:
    Path("empty").mkdir()
    Path("file").write_text("")
    refused(wikigenben(*BM25, "--data", "empty"), "empty", "neither wiki/", "python -m data.download")
    for name in ("nowhere", "file"):
        refused(wikigenben(*BM25, "--data", name), name, "no benchmark folder", "python -m data.download")
    refused(wikigenben("events", "--data", "empty"), "empty")
    refused(wikigenben("events", "--data", "long" * 100), "cannot read longlong", "File name too long", "--data DIR")


def test_halves_that_do_not_meet_and_a_split_of_other_data(wikigenben: Command, copied_sample: Path) -> None:
    words = (*BM25, "--data", copied_sample)
    refused(wikigenben(*words, "--split", "sample"), "--split sample", "use --split full")
    (copied_sample / "google" / f"{GOOD}.json").unlink()
    (copied_sample / "wiki" / f"{BAD}.json").unlink()
    refused(wikigenben(*words), "1 without search pages", "1 without a reference")
    refused(wikigenben(*words, "--events", GOOD), f"event {GOOD} has no pages", "--track cited")
    refused(wikigenben(*words, "--events", BAD), f"no event '{BAD}'")


BROKEN = {
    "cut off": b'[{"title": "A',
    "empty": b"",
    "not text": b"\x80\x81\x82",
    "a number": b"7",
    "too deep": b"[" * 200_000,
    "no list": b'{"title": "A"}',
    "list of texts": b'["text"]',
    "page elsewhere": b'[{"title": "A", "html": "../../etc/passwd"}]',
    "page that is gone": b'[{"html": "gone.html"}]',
}


BARE = ("cut off", "empty", "not text", "a number", "too deep")
"""Those that are no list of pages, nor an event."""


@pytest.mark.parametrize(("half", "kind"), [*(("google", kind) for kind in BROKEN), *(("wiki", kind) for kind in BARE)])
def test_broken_file_fails_its_own_event(wikigenben: Command, copied_sample: Path, half: str, kind: str) -> None:
    """And the other one is written."""
    (copied_sample / half / f"{BAD}.json").write_bytes(BROKEN[kind])
    ran = wikigenben(*BM25, "--data", copied_sample, "--out", "run", "--events", BAD, GOOD, "--json")
    assert ran.code == 1 and ran.json["failed"] == [BAD] and ran.json["written"] == 1
    where = f"{half}/{BAD}.json" if kind in BARE else BAD
    assert f"failed: {BAD} " in ran.err and ": data: " in ran.err and where in ran.err, ran.err
    failures = [json.loads(line) for line in Path("run/failures.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(failure["event_id"], failure["stage"]) for failure in failures] == [(BAD, "data")]
    assert Path(f"run/events/{GOOD}/article.json").is_file()


PROSE = "The river rose by two metres in the night and the levee at Vasterlow gave way at four in the morning. "


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ({"title": "A large page", "text": PROSE * 100_000}, "too_large"),
        ({"title": "Nothing but zeros", "text": "\0" * 100_000}, None),
        ({"title": "\ud800 half a character", "text": f"\udfff {PROSE * 20}", "link": "https://a.example/\ud83d"}, None),
        ({"title": None, "text": None, "link": None}, None),
        ({"title": ["A"], "text": 7, "link": {}}, None),
        ({}, None),
    ],
    ids=["10 MB", "zeros", "surrogates", "nulls", "other types", "empty"],
)
def test_odd_pages_cost_no_event(wikigenben: Command, copied_sample: Path, page: dict[str, str], reason: str | None) -> None:
    good = json.loads((SAMPLE / "google" / f"{BAD}.json").read_text(encoding="utf-8"))
    set_pages(copied_sample, BAD, [page, *good])
    words = (*BM25, "--data", copied_sample, "--out", "run", "--events", BAD, "--json")
    ran = wikigenben(*words)
    assert ran.code == 0 and ran.json["written"] == 1
    lines = Path(f"run/events/{BAD}/pages.jsonl").read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    assert len(lines) == 1 + len(good) and "\0" not in first["text"]
    assert not reason or (first["drop_reason"] == reason and len(first["text"]) <= 2000)
    assert wikigenben(*words).json["reused"] == 1


def test_odd_titles_do_not_reach_the_terminal(wikigenben: Command, copied_sample: Path) -> None:
    value = json.loads((copied_sample / "wiki" / f"{BAD}.json").read_text(encoding="utf-8"))
    (copied_sample / "wiki" / f"{BAD}.json").write_text(json.dumps({**value, "key": "A\x1b[2J\ncup\u202efinal"}))
    set_pages(copied_sample, BAD, [])
    ran = wikigenben(*BM25, "--data", copied_sample, "--out", "run", "--json")
    assert ran.code == 1 and len(ran.err.splitlines()) == 2  # what the folder holds, and the failure
    assert not {"\x1b", "\u202e"} & set(ran.err)


# ---- the run folder


@pytest.mark.parametrize("out", ["mine", "file", "file/below", "/proc/run", "long" * 100])
def test_out_that_is_not_ours_or_cannot_be_made(wikigenben: Command, out: str) -> None:
    Path("mine").mkdir()
    for path in (Path("mine/diary.txt"), Path("file")):
        path.write_text("do not touch")
    ran = wikigenben(*ON_SAMPLE, "--out", out)
    refused(ran, out, *(["is not empty and not a run folder", "another --out"] if out == "mine" else ["choose another"]))
    assert sorted(path.name for path in Path().rglob("*")) == ["diary.txt", "file", "mine"]
    assert {path.read_text() for path in Path().rglob("*") if path.is_file()} == {"do not touch"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("begun", [False, True])
def test_out_is_read_only(wikigenben: Command, begun: bool) -> None:
    words = (*ON_SAMPLE, "--out", "run", "--limit")
    if begun:
        assert wikigenben(*words, "1").code == 0
    else:
        Path("run").mkdir()
    Path("run").chmod(0o555)
    try:
        refused(wikigenben(*words, "2"), "run", "Permission denied", "choose another")
    finally:
        Path("run").chmod(0o755)


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff\xff", b"[" * 100_000])
def test_run_json_is_damaged(wikigenben: Command, content: bytes) -> None:
    Path("run").mkdir()
    Path("run/run.json").write_bytes(content)
    refused(wikigenben(*ON_SAMPLE, "--out", "run"), "run/run.json", "choose another --out")


def test_run_is_locked_by_another_process(wikigenben: Command) -> None:
    words = (*ON_SAMPLE, "--out", "run", "--limit", "1")
    assert wikigenben(*words).code == 0
    hold = "import filelock, sys; kept = filelock.FileLock(sys.argv[1]); kept.acquire(); print(1, flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", hold, "run/.lock"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None and holder.stdout.readline() == "1\n"
            refused(wikigenben(*words), "another command is working on run", "wait for it or choose another --out")
        finally:
            holder.kill()
    assert wikigenben(*words, "--json").json["reused"] == 1  # the lock of a killed process does not stay


@pytest.mark.parametrize("name", ["article.json", "pages.jsonl"])
def test_stored_file_was_damaged_by_hand(wikigenben: Command, name: str) -> None:
    words = (*ON_SAMPLE, "--out", "run", "--limit", "1")
    assert wikigenben(*words).code == 0
    folder = Path("run/events/9000001")
    article = (folder / "article.json").read_bytes()
    (folder / "article.json").unlink()
    (folder / name).write_bytes(b'{"event_id": "9000001", "lead": \xff')
    refused(wikigenben(*words), f"{folder}/{name}", "delete the file and run the command again")
    (folder / name).unlink()
    assert wikigenben(*words).code == 0
    assert (folder / "article.json").read_bytes() == article


@pytest.mark.usefixtures("fixed_encoder")
def test_edited_outline_fails_its_event_only(wikigenben: Command, copied_sample: Path) -> None:
    words = ("generate", "--system", "extractive", "--data", copied_sample, "--out", "run", "--json")
    assert wikigenben(*words, "--events", GOOD).code == 0
    folder = Path(f"run/events/{BAD}")
    folder.mkdir()
    (folder / "outline.json").write_text('{"title": "A cup", "headings": [{"heading": "Goals"}]}')
    ran = wikigenben(*words)
    assert ran.code == 1 and ran.json["reused"] == 1 and ran.json["failed"] == [BAD]
    assert f"{folder}/outline.json is not a readable Outline" in ran.err and "delete the file" in ran.err


@pytest.mark.usefixtures("fixed_encoder")
@pytest.mark.parametrize("content", rest_slow(["{", "[1]\n", '{"signature": 1}\n{', ""], keep=["[1]\n", '{"signature": 1}\n{']))
def test_stored_scores_were_damaged(wikigenben: Command, content: str) -> None:
    words = ("--system", "bm25", "--data", "sample", "--out", "run", "--limit", "1")
    assert wikigenben("generate", *words).code == 0
    Path("run/scores.jsonl").write_text(content)
    ran = wikigenben("evaluate", *words, "--no-floors")
    if content == "{":
        refused(ran, "run/scores.jsonl is not JSON", "delete the file and run the command again")
    else:  # other metrics, or none: made anew
        assert ran.code == 0
        assert len(Path("run/scores.jsonl").read_text().splitlines()) == 2


# ---- the machine


def test_disk_is_full(wikigenben: Command) -> None:
    """Stands in for a full disk: for a while no file may grow beyond 20 kB, and the event's pages are larger."""
    words = (*ON_SAMPLE, "--limit", "1", "--out")
    assert wikigenben(*words, "undisturbed").code == 0
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        refused(wikigenben(*words, "run"), "cannot write run/events/9000001/pages.jsonl: File too large", "make room there")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(Path("run").rglob("*.tmp")) and not list(Path("run").rglob("pages.jsonl"))
    assert wikigenben(*words, "run", "--json").json["written"] == 1


def test_reader_of_stdout_has_gone() -> None:
    """As with `| head -0`."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "flows.cli", "events", "--data", "sample"]
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    finally:
        os.close(write)
    assert done.returncode == 1 and "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


# ---- submissions


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"schema": "other/1"}', b'{"schema": "wikigenben-submission/1"}'])
def test_no_submission(wikigenben: Command, content: bytes) -> None:
    Path("run").mkdir()
    Path("submission.json").write_bytes(content)
    ran = wikigenben("validate", "submission.json")
    assert ran.code == 2 and ran.out.startswith("submission.json: ") and ran.err == ""
    refused(wikigenben("compare", "submission.json", "submission.json"), "submission.json")
    refused(wikigenben("compare", "run", "run"), "cannot read run/submission.json")
    assert wikigenben("validate", "run").code == 2

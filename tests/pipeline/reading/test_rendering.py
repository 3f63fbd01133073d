"""What an installed Chromium paints of a page is what is read, and the page reaches nothing while it is drawn."""

from __future__ import annotations

import contextlib
import http.server
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from pipeline.reading.seen import rendering
from pipeline.reading.seen.chromium import Chromium, Undrawn, find_browser
from pipeline.reading.seen.rendering import MAX_BODY, Painted, paint
from tests.pipeline.reading.hidden_ways import HIDDEN, SHOWN

BROWSER = find_browser() or ""
needs_chromium = pytest.mark.skipif(not BROWSER, reason="no chromium or google-chrome on PATH")
pytestmark = pytest.mark.timeout(1_800)
LONG_S = 400.0
"""A browser starts in one second on a quiet machine and in half a minute on a busy one: no test is of how fast it is."""
ADDRESS = "https://a.example/page"


def drawn(html: str, address: str = ADDRESS, content_type: str = "text/html; charset=utf-8") -> Painted:
    return paint(html.encode(), url=address, content_type=content_type, browser=BROWSER, timeout_s=LONG_S)


@pytest.fixture(scope="module")
def everything() -> str:
    """All ways on one page, each with a word of its own."""
    ways = [f"<section>{html.replace('W', word(name))}</section>" for name, html in {**SHOWN, **HIDDEN}.items()]
    return drawn(f"<!DOCTYPE html><html><head><title>Ways</title></head><body>{''.join(ways)}</body></html>").html.decode()


def word(name: str) -> str:
    return f"word{[*SHOWN, *HIDDEN].index(name):03}x"


@needs_chromium
@pytest.mark.parametrize("name", HIDDEN)
def test_what_is_not_painted_is_not_read(name: str, everything: str) -> None:
    assert word(name) not in everything


@needs_chromium
@pytest.mark.parametrize("name", SHOWN)
def test_what_is_painted_is_read(name: str, everything: str) -> None:
    assert word(name) in everything


class _Server(http.server.BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.end_headers()

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    _Server.asked.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Server) as one:
        threading.Thread(target=one.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{one.server_address[1]}"
        one.shutdown()


@needs_chromium
def test_a_page_reaches_no_network_no_file_and_no_other_window(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "LOAD_S", 5.0)  # it is never loaded, for it goes on asking
    with tempfile.NamedTemporaryFile("w", suffix=".html", delete=False) as secret_file:  # where any account may read it
        secret_file.write("<p>secretword</p>")
    secret = Path(secret_file.name)
    secret.chmod(0o644)
    html = f"""<!DOCTYPE html><html><head><title>T</title><link rel="preconnect" href="http://{server}"><link rel="prefetch"
    href="http://{server}/prefetch"><link rel="stylesheet" href="http://{server}/a.css"><meta http-equiv="refresh"
    content="0;url=http://{server}/refresh"></head><body><p>visibleword</p><p id="state">waiting</p>
    <img src="http://{server}/img"><iframe src="file://{secret}"></iframe><iframe src="http://{server}/frame"></iframe>
    <embed src="file://{secret}"><script src="http://{server}/script.js"></script><script>
    fetch("http://{server}/fetch").catch(() => 0); fetch("file://{secret}").then((r) => r.text()).then((t) => document.body.append(t)).catch(() => 0);
    navigator.sendBeacon("http://{server}/beacon", "x"); new Image().src = "http://{server}/image";
    try {{ new WebSocket("ws://{server}/socket") }} catch (e) {{}} try {{ new EventSource("http://{server}/events") }} catch (e) {{}}
    try {{ const r = new RTCPeerConnection({{iceServers: [{{urls: "stun:{server}"}}]}}); r.createDataChannel("x");
      r.createOffer().then((o) => r.setLocalDescription(o)) }} catch (e) {{}}
    try {{ new Worker(URL.createObjectURL(new Blob(['fetch("http://{server}/worker")']))) }} catch (e) {{}}
    try {{ window.open("http://{server}/window") }} catch (e) {{}} try {{ alert("box") }} catch (e) {{}}
    document.getElementById("state").textContent = "stateword"; location = "http://{server}/away";
    </script></body></html>"""  # noqa: E501
    found = drawn(html).html.decode()
    secret.unlink()
    assert "visibleword" in found and "stateword" in found, "it stays where it is, and its inline scripts run"
    assert "secretword" not in found and _Server.asked == []


@needs_chromium
def test_a_page_without_end_is_ended_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Path] = []
    begin = Chromium._begin

    def noted(self: Chromium, home: Path) -> None:
        begin(self, home)
        while not of_profile(home):  # the kernel gives a new process its command line when that has begun
            time.sleep(0.05)
        started.append(home)

    monkeypatch.setattr(Chromium, "_begin", noted)
    with pytest.raises(Undrawn, match="it was not drawn in 3 s"):
        paint(b"<p>x</p><script>for (;;) {}</script>", url=ADDRESS, content_type="text/html", browser=BROWSER, timeout_s=3.0)
    (home,) = started
    while of_profile(home):  # what was killed is gone when the kernel has taken it away
        time.sleep(0.05)
    assert not home.exists()


def of_profile(home: Path) -> list[str]:
    """Command lines of processes that use a profile; of one that has ended there is none."""
    told = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            told.append(process.read_text(errors="replace"))
    return [line for line in told if str(home) in line]


LATIN = '<html><head><meta charset="iso-8859-1"></head><body><p>Café</p></body></html>'.encode("latin-1")


@needs_chromium
def test_the_charset_of_the_page() -> None:
    found = paint(LATIN, url="file:page.html", content_type="text/html", browser=BROWSER, timeout_s=LONG_S)
    assert "Café" in found.html.decode()


@pytest.mark.parametrize(("header", "is_known"), [("iso-8859-1", True), ("'latin-1'", True), ("nonsense", False)])
def test_the_charset_of_the_header(header: str, is_known: bool) -> None:
    given = rendering._as_utf8(LATIN, f"text/html; charset={header}")
    assert given == (b"\xef\xbb\xbf" + LATIN.decode("latin-1").encode() if is_known else LATIN)


def test_what_is_too_large_or_has_no_browser_is_not_drawn(tmp_path: Path) -> None:
    with pytest.raises(Undrawn, match="limit for drawing"):
        paint(b" " * (MAX_BODY + 1), url=ADDRESS, content_type="text/html", browser=BROWSER, timeout_s=1.0)
    with pytest.raises(Undrawn, match=r"ended|does not start"):
        paint(b"<p>x</p>", url=ADDRESS, content_type="text/html", browser=str(tmp_path / "none"), timeout_s=LONG_S)

"""Hosts that never answer: each costs its time limit and is told among the pages; the event is written from the others."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from benchmark.runner import run_event
from data.runs import RunFolder
from data.settings import Settings, WebSettings
from data.snapshot import SAMPLE
from data.types import Event
from flows.wiring.systems import build_system
from pipeline.web.fetching import Fetcher, Limits
from pipeline.web.live import LiveEvidence
from tests.web_server import serving

PAGES = SAMPLE / "html" / "9000002"
EVENT = Event("9000002", "2032 Halvenport mayoral election")


@pytest.mark.usefixtures("fixed_encoder")
def test_hosts_that_hang_cost_their_limit_and_the_event_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "cache"))
    # the pages that do answer must come within these, also on a busy machine
    limits, over = Limits(read_s=1, total_s=3, retries=0), threading.Event()
    with serving() as server, socket.create_server(("127.0.0.1", 0)) as deaf:  # where connections wait for ever
        for name in ("01.html", "03.html"):
            server.put(f"/{name}", (PAGES / name).read_bytes())
        server.put_raw("/silent", lambda handler: over.wait(60))
        server.put_raw("/stuck", lambda handler: (handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n<p>A"), over.wait(60)))
        whole = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        paths = ("/silent", "/01.html", "/stuck", "/03.html")
        evidence = LiveEvidence(
            WebSettings(allow_origins=(server.origin(), whole), min_delay_s=0),
            urls=[f"{whole}/page", *map(server.url, paths)],
            fetcher=lambda settings: Fetcher(settings, limits=limits),
        )
        run = RunFolder.open(tmp_path / "run", {"system": "extractive"})
        system = build_system("extractive", Settings())
        outcome = run_event(run, system, EVENT.id, lambda event_id: EVENT, evidence.collect)
        over.set()
    assert outcome.status == "written"
    pages = run.event(EVENT.id).stored_pages()
    assert pages is not None
    assert [page.drop_reason for page in pages] == ["timeout", "timeout", None, "timeout", None]
    assert pages[0].drop_detail.startswith("robots.txt did not answer: ")  # its rules were asked for first, and are not known
    assert server.targets().count("/silent") == server.targets().count("/stuck") == 1
    article = run.event(EVENT.id).article()
    assert article is not None
    assert {source.url for source in article.sources} == {server.url("/01.html"), server.url("/03.html")}

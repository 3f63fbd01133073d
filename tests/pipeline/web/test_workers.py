from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from pipeline.web.documents import Job, read_document, read_documents
from pipeline.web.workers import Lost, Worker, run_jobs

STORY = "<p>The Grenmark dam failed on the morning of 4 May after a week of rain, and the valley was flooded in an hour.</p>"
MODULE = "pipeline.web.documents"


def job(n: int, body: bytes = b"", content_type: str = "text/html") -> Job:
    html = f"<html><head><title>Page {n}</title></head><body><article>{STORY * 4}<p>Ending {n}.</p></article></body></html>"
    return Job(
        body or html.encode(), f"https://n{n}.example/x", content_type, "search", "2031-12-31", provider_date="2031-05-05"
    )


SLOW = b"<html><body>" + b"<p>Some words of a paragraph that is long enough.</p>" * 60_000 + b"</body></html>"


def test_documents_come_back_in_order_and_equal_to_those_read_here() -> None:
    jobs = [job(0), job(1, b"\x89PNG\r\n"), job(2, b"\xff\xfeh\x00i\x00", "text/plain"), job(3), job(4, b"%PDF-1.7 broken")]
    found = read_documents(jobs, workers=2)
    here = [
        read_document(j.body, url=j.url, content_type=j.content_type, origin=j.origin, title=j.title,
                      provider_date=j.provider_date, run_date=j.run_date)
        for j in jobs
    ]  # fmt: skip
    assert found == here
    assert [d.extracted.drop_reason for d in found] == [None, "bad_type", None, None, "extract_none"]
    assert found[0].extracted.published == "2031-05-05" and found[0].published_source == "provider"
    assert read_documents([]) == []


def test_a_page_that_takes_too_long_costs_itself_only() -> None:
    found = read_documents([job(0), job(1, SLOW), job(2)], workers=1, timeout_s=0.5)
    assert [d.extracted.drop_reason for d in found] == [None, "extract_timeout", None]
    assert found[1].extracted.drop_detail == "no answer after 0.5 s"
    assert found[1].canonical_url == found[1].extracted.url == "https://n1.example/x"


def test_a_page_that_needs_too_much_memory_costs_itself_only() -> None:
    found = read_documents([job(1, SLOW), job(2)], workers=1, memory_mb=80)
    assert [d.extracted.drop_reason for d in found] == ["extract_none", None]


MESSAGE = b'{"url":"https://a.example/","content_type":"","origin":"url","run_date":"2031-12-31"}\nx'


def test_a_worker_knows_no_secret_and_is_replaced_when_it_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", "hush")
    worker = Worker(MODULE, timeout_s=20, memory_mb=1024)
    try:
        assert isinstance(worker.ask(MESSAGE), bytes)
        first = worker.pid
        assert first is not None and b"hush" not in Path(f"/proc/{first}/environ").read_bytes()
        os.kill(first, signal.SIGKILL)
        os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
        assert worker.ask(MESSAGE) == Lost("crash", "the worker ended with code -9")
        assert isinstance(worker.ask(MESSAGE), bytes)
        assert worker.pid not in (None, first)
    finally:
        worker.stop()
    assert worker.pid is None
    assert worker.ask(MESSAGE) == Lost("crash", "stopped")


def test_a_module_that_cannot_start_loses_every_job_with_a_reason() -> None:
    found = run_jobs("pipeline.web.no_such_module", [b"a", b"b"], workers=2, timeout_s=5, memory_mb=1024)
    assert found == [Lost("crash", "the worker ended with code 1")] * 2

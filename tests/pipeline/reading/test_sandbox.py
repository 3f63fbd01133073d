from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path

import pytest

from pipeline.reading.documents import DocumentReader, Job, read_document
from pipeline.reading.sandbox import Lost, Worker, WorkerPool, limit_memory
from tests.pipeline.reading.read_together import read_documents
from tests.processes import children

STORY = "<p>The Grenmark dam failed on the morning of 4 May after a week of rain, and the valley was flooded in an hour.</p>"
MODULE = "pipeline.reading.documents"


def job(n: int, body: bytes = b"", content_type: str = "text/html") -> Job:
    html = f"<html><head><title>Page {n}</title></head><body><article>{STORY * 4}<p>Ending {n}.</p></article></body></html>"
    return Job(
        body or html.encode(), f"https://n{n}.example/x", content_type, "search", "2031-12-31", provider_date="2031-05-05"
    )


SLOW = b"<html><body>" + b"<p>Some words of a paragraph that is long enough.</p>" * 60_000 + b"</body></html>"
LATE = b"<html><body>" + b"<div><p>Some words</p></div>" * 20_000 + b"</body></html>"
"""Takes half a minute and more, so that a faster machine is late, too: the time goes with the square of the number."""


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
    found = read_documents([job(0), job(1, LATE), job(2)], workers=1, timeout_s=2)
    assert [d.extracted.drop_reason for d in found] == [None, "extract_timeout", None]
    assert found[1].extracted.drop_detail == "no answer after 2 s"
    assert found[1].canonical_url == found[1].extracted.url == "https://n1.example/x"


def test_a_page_that_needs_too_much_memory_costs_itself_only() -> None:
    found = read_documents([job(1, SLOW), job(2)], workers=1, memory_mb=80)
    assert [d.extracted.drop_reason for d in found] == ["extract_none", None]


def test_a_system_without_such_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = resource.getrlimit(resource.RLIMIT_AS)
    with monkeypatch.context() as patch:
        patch.setattr(resource, "RLIMIT_AS", -1)  # refused with ValueError, as macOS does
        limit_memory(1024)
        patch.setitem(sys.modules, "resource", None)
        limit_memory(1024)
    assert resource.getrlimit(resource.RLIMIT_AS) == limits


MESSAGE = b'{"url":"https://a.example/","content_type":"","origin":"url","run_date":"2031-12-31"}\nx'


def test_a_worker_knows_no_secret_and_is_replaced_when_it_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", "hush")
    before, worker = children(), Worker(MODULE, timeout_s=20, memory_mb=1024)
    try:
        assert isinstance(worker.ask(MESSAGE), bytes)
        (first,) = children() - before
        assert b"hush" not in Path(f"/proc/{first}/environ").read_bytes()
        os.kill(first, signal.SIGKILL)
        os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
        assert worker.ask(MESSAGE) == Lost("crash", "the worker ended with code -9")
        assert isinstance(worker.ask(MESSAGE), bytes)
        assert (children() - before).isdisjoint({first}) and len(children() - before) == 1
    finally:
        worker.stop()
    assert children() <= before
    assert worker.ask(MESSAGE) == Lost("crash", "stopped")


def test_processes_start_with_the_first_page_and_stay_for_the_rest() -> None:
    before = children()
    with DocumentReader(workers=2) as reader:
        assert children() == before
        assert [reader.submit(job(n)).result().extracted.title for n in range(3)] == ["Page 0", "Page 1", "Page 2"]
        (first,) = started = children() - before  # one page at a time needs no second process
        found = [reader.submit(job(n)) for n in (3, 4, 5)]
        assert [document.result().extracted.title for document in found] == ["Page 3", "Page 4", "Page 5"]
        assert first in (started := children() - before) and len(started) == 2
    assert children() == before


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_whatever_ends_the_reading_ends_its_processes_at_once(stop: type[BaseException]) -> None:
    before = children()
    with pytest.raises(stop), DocumentReader(workers=2) as reader:
        assert reader.submit(job(0)).result().extracted.drop_reason is None
        documents = [reader.submit(job(n, SLOW)) for n in range(6)]
        raise stop
    assert children() == before
    assert all(document.done() for document in documents) and documents[-1].cancelled()
    assert documents[0].result().extracted.drop_reason == "extract_none"


def test_a_late_page_kills_its_own_process_only() -> None:
    before = children()
    with DocumentReader(workers=2, timeout_s=2.0) as reader:
        for first in [reader.submit(job(n)) for n in (0, 1)]:
            assert first.result().extracted.drop_reason is None
        started = children() - before
        late = reader.submit(job(2, LATE))
        others = [reader.submit(job(n)) for n in range(3, 6)]
        assert [other.result().extracted.drop_reason for other in others] == [None] * 3
        assert late.result().extracted.drop_reason == "extract_timeout"
        assert len(started) == 2 and len(left := children() - before) == 1 and left < started
    assert children() == before


def test_a_module_that_cannot_start_loses_every_job_with_a_reason() -> None:
    with WorkerPool("pipeline.web.no_such_module", workers=2, timeout_s=5, memory_mb=1024) as pool:
        found = [pool.submit(text, lambda answer: answer) for text in (b"a", b"b")]
        assert [answer.result() for answer in found] == [Lost("crash", "the worker ended with code 1")] * 2

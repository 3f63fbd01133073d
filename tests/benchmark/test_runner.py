from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from benchmark.runner import EventOutcome, run_event
from data.errors import NoEvidence, StageError, UserError
from data.runs import RunFolder
from data.stage_types import ARTICLE, Stages
from data.types import Article, Event, Heading, Page, Passage, Section, Sentence, Source

PAGES = (
    Page("https://a.example/", "A", "Twelve died.", "search"),
    Page("https://b.example/", "B", "Checking your browser.", "search", drop_reason="blocked"),
)
PASSAGE = Passage(0, 0, 12, "Twelve died.")


class Writer:
    """A system that quotes the first page, or raises what it is given. `seen` lists the pages of each call."""

    name = "writer"
    identity: Mapping[str, str] = {}

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.seen: list[tuple[Page, ...]] = []

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        self.seen.append(pages)
        if self.error is not None:
            raise self.error
        lead = Section(Heading("", 1), ((Sentence("Twelve died.", (PASSAGE.id,)),),))
        source = Source(PASSAGE, pages[0].url, pages[0].title, None)
        return stages.once(ARTICLE, lambda: Article(event.id, event.title, lead, (), (), (source,)))


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.open(tmp_path, {"system": "writer"})


def titled(event_id: str) -> Event:
    return Event(event_id, "A fire")


def write(
    run: RunFolder,
    writer: Writer,
    load: Callable[[str], Event] = titled,
    collect: Callable[[Event], tuple[Page, ...]] = lambda event: PAGES,
) -> EventOutcome:
    return run_event(run, writer, "7", load, collect)


@pytest.mark.parametrize("content", [None, b"", b'{"text": "Twelve di', b'{"text": "Another.", "retrieve": []}'])
def test_a_written_event_is_reused_and_its_wikigenbench_file_made_anew_where_it_is_damaged(
    run: RunFolder, content: bytes | None
) -> None:
    write(run, Writer())
    path = run.path / "wikigenbench" / "7.json"
    whole, before = path.read_bytes(), path.stat().st_mtime_ns
    writer = Writer(AssertionError("written again"))
    assert write(run, writer) == EventOutcome("7", "A fire", "reused", 0.0) and writer.seen == []
    assert path.stat().st_mtime_ns == before  # a whole file is left alone
    path.unlink() if content is None else path.write_bytes(content)
    assert write(run, writer).status == "reused" and path.read_bytes() == whole


@pytest.mark.parametrize(
    ("error", "stage", "kind", "message"),
    [
        (StageError("plan", "the model gave no heading"), "plan", "StageError", "the model gave no heading"),
        (NoEvidence("no usable page"), "evidence", "NoEvidence", "no usable page"),
        (KeyError(), "unknown", "KeyError", "KeyError()"),
        (RecursionError("too deep"), "unknown", "RecursionError", "too deep"),
        (MemoryError(), "memory", "MemoryError", "not enough of it: MemoryError()"),
    ],
)
def test_whatever_happens_is_the_events_failure(run: RunFolder, error: Exception, stage: str, kind: str, message: str) -> None:
    outcome = write(run, Writer(error))
    assert outcome.status == "failed" and outcome.failure is not None
    assert (outcome.failure.stage, outcome.failure.kind, outcome.failure.message) == (stage, kind, message)
    assert ("test_runner.py" in outcome.failure.traceback) is (stage == "unknown")  # for bugs only
    folder = run.event("7")
    assert folder.failure() == outcome.failure and folder.article() is None and folder.stats() is None
    assert folder.stored_pages() == PAGES  # what was done stays
    assert not (run.path / "wikigenbench").exists()


def test_a_failed_event_is_tried_again_with_the_stored_pages(run: RunFolder) -> None:
    write(run, Writer(ValueError("once")))
    outcome = write(run, Writer(), collect=lambda event: ())
    assert outcome.status == "written"
    assert run.event("7").failure() is None


def test_failures_before_the_writer(run: RunFolder) -> None:
    def unreadable(_: object) -> tuple[Page, ...]:
        raise StageError("data", "google/7.json is not JSON")

    outcome = write(run, Writer(), collect=unreadable)
    assert outcome.status == "failed" and outcome.title == "A fire" and run.event("7").stored_pages() is None
    outcome = write(run, Writer(), load=unreadable)  # type: ignore[arg-type]
    assert outcome.status == "failed" and outcome.title == "7"


@pytest.mark.parametrize("error", [UserError("no such model"), KeyboardInterrupt()])
def test_what_stops_the_run_is_no_failure_of_the_event(run: RunFolder, error: BaseException) -> None:
    with pytest.raises(type(error)):
        write(run, Writer(error))
    assert run.event("7").failure() is None


def test_another_events_article_is_not_taken_for_this_ones(run: RunFolder) -> None:
    write(run, Writer())
    path = run.event("7").path / "article.json"
    path.write_text(path.read_text().replace('"event_id": "7"', '"event_id": "8"'))
    with pytest.raises(UserError, match=r"article\.json is the article of event '8', not of '7'; delete the file"):
        write(run, Writer())

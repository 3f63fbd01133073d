"""The process that writes for the page: one JSON line in for each article, JSON lines out for what happens.

It stays, so that the model is loaded once, before it is asked for. It ends when its input ends: a page that was killed leaves
no process behind, and the run goes on where it was when it is asked for again.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data import codec
from data.errors import WikigenError
from data.settings import Settings
from flows.showing import console
from flows.showing.watching import Described, Finished, Happening, Judged, Noted, PagesKept, Planned, Said, Watch
from pipeline.notes import VERDICTS

if TYPE_CHECKING:
    from benchmark.system import System
    from data.types import Page
    from pipeline.notes import PageVerdict
    from pipeline.web.bundle import FetchRecord

NICE = 5
"""The page answers a person while articles are written."""


def main() -> int:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # whatever a library prints is no message
    with contextlib.suppress(OSError):
        os.nice(NICE)
    worker = _Worker(out, threading.Lock())
    console.listen(lambda line: worker.tell("note", text=line))
    jobs: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_read, args=(jobs,), daemon=True).start()
    first = jobs.get()
    worker.warm_up(first["words"])
    while True:
        try:
            job = jobs.get()
            worker.do(job)
        except KeyboardInterrupt:
            worker.tell("ended", status="stopped", why="stopped; it goes on from here when you ask")


def _read(jobs: queue.Queue[dict[str, Any]]) -> None:
    for line in sys.stdin:
        jobs.put(json.loads(line))
    os._exit(0)  # files appear whole, so nothing is lost


@dataclass
class _Worker:
    out: Any
    lock: threading.Lock
    systems: dict[tuple[str, Settings], System] = field(default_factory=dict)

    def tell(self, kind: str, **values: object) -> None:
        with self.lock:
            self.out.write(json.dumps({"kind": kind, **values}, ensure_ascii=False) + "\n")

    def warm_up(self, words: Sequence[str]) -> None:
        """What the first article would wait for. Problems are reported by the article that needs it."""
        from flows.write import ANSWERS
        from flows.write_request import request_for

        with contextlib.suppress(Exception):
            request = request_for(["-", "--url", "http://example.org", *words])
            from data.download import cache_folder

            self.build(request.system, request.settings, cache_folder() / ANSWERS)
        self.tell("ready")

    def build(self, name: str, settings: Settings, remember: Path) -> System:
        """The last one stays."""
        from flows.wiring.systems import build_system

        key = (name, settings)
        if key not in self.systems:
            self.systems = {key: build_system(name, settings, remember)}
        return self.systems[key]

    def do(self, job: dict[str, Any]) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            {"check": self._check, "update": self._update, "write": self._write}[job["do"]](job["words"])
        except WikigenError as error:
            self.tell("ended", status="failed", why=console.one_line(str(error)))
        except OSError as error:
            self.tell("ended", status="failed", why=f"{error.strerror or error} ({error.filename or 'disk or network'})")
        except Exception as error:  # a bug: the page goes on
            import traceback

            traceback.print_exc()
            self.tell("ended", status="failed", why=f"{type(error).__name__}: {console.one_line(str(error))}")

    def _write(self, words: Sequence[str]) -> None:
        from flows.write import Watchers, write
        from flows.write_request import request_for

        written = write(request_for(words), Watchers(Watch(1, tell=self._happened), fetched=self._fetched, build=self.build))
        (outcome,) = written.generated.outcomes
        if outcome.failure is None:
            self.tell("ended", status="done", why="")
        else:
            self.tell("ended", status="failed", why=f"{outcome.failure.stage}: {outcome.failure.message}")

    def _update(self, words: Sequence[str]) -> None:
        from flows.update import request_for, update

        update(request_for(words), self._fetched)
        self.tell("ended", status="done", why="")

    def _check(self, words: Sequence[str]) -> None:
        from flows.check import check, request_for

        report = check(request_for(words), tell=lambda n, of, what: self.tell("checked", n=n, of=of, what=what))
        self.tell("ended", status="done", why=report.in_words())

    def _fetched(self, record: FetchRecord) -> None:
        from pipeline.drop_words import DROP_REASONS

        fetched = record.stored.fetched
        reason = DROP_REASONS[fetched.drop_reason] if fetched.drop_reason else ""
        self.tell("fetched", url=record.candidate.url, reason=reason, detail=fetched.drop_detail[:200])

    def _happened(self, happening: Happening) -> None:
        match happening:
            case PagesKept(pages):
                self.tell("pages", pages=[plain_page(n, page) for n, page in enumerate(pages)])
            case Described(card):
                self.tell("card", text=card.text)
            case Judged(about):
                self.tell("about", pages=[plain_verdict(one) for one in about.pages])
            case Noted(notes):
                self.tell("noted", notes=[plain_note(one.text, (one.passage,)) for one in notes])
            case Planned(title, headings):
                self.tell("outline", title=title, headings=[heading.text for heading in headings])
            case Said(section, sentences):
                self.tell("said", section=section, sentences=codec.to_plain(sentences))
            case Finished(number, section):
                self.tell("section", section=number, paragraphs=codec.to_plain(section.paragraphs))


def plain_page(n: int, page: Page) -> dict[str, object]:
    """A page as the browser lists it."""
    from pipeline.drop_words import DROP_REASONS
    from pipeline.provenance import host_of, web_link

    return {
        "n": n,
        "title": page.title or host_of(page.url) or page.url,
        "url": page.url,
        "link": web_link(page.url) or "",
        "host": host_of(page.url),
        "published": page.published or "",
        "words": len(page.text.split()),
        "reason": DROP_REASONS[page.drop_reason] if page.drop_reason else "",
        "detail": page.drop_detail[:300],
    }


def plain_verdict(verdict: PageVerdict) -> dict[str, object]:
    """Whether the page is about the subject, as the browser shows it beside the page."""
    return {"n": verdict.page, "verdict": VERDICTS[verdict.verdict]}


def plain_note(text: str, cites: Sequence[str]) -> dict[str, object]:
    return {"text": text, "cites": list(cites)}


if __name__ == "__main__":
    sys.exit(main())

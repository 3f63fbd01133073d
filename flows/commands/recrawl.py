"""`wikigenben recrawl`: what has become of the pages of a benchmark folder. Each is fetched again and compared with its text.

A page counts as kept when most of what the benchmark stored of it is still there, as changed when it is not, as gone
when there is no page to read, and as unknown when it was not had this time, or the benchmark has no text of it; with the
reason each time. `web.max_pages` does not apply, and `web.total_s` is for each event. Pages fetched in the last day are
not asked for again, so the same command goes on where it stopped.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from data.errors import UserError
from data.settings import Settings, add_setting_flags, load_settings
from data.types import DropReason, RawPage, Strict

if TYPE_CHECKING:
    from rich.table import Table

    from data.snapshot import Snapshot
    from pipeline.reading.documents import Document
    from pipeline.web.cache import PageCache
    from pipeline.web.fetched import Fetched
    from pipeline.web.fetching import Fetcher

KEPT = 0.8
"""Share of the stored text's 8-grams from which on a page says what it said."""
State = Literal["kept", "changed", "gone", "unknown"]
STATES: tuple[State, ...] = get_args(State)
_MAY_PASS: frozenset[DropReason] = frozenset(
    {"budget", "extract_timeout", "host_rule", "http_5xx", "port", "rate_limited", "robots", "timeout", "unreachable"}
)
"""Reasons that say nothing about whether the page is still there, among them those for not asking."""


@dataclass(frozen=True, slots=True)
class RecrawledPage(Strict):
    """One page of one event.

    `overlap` is the share of the stored text's 8-grams that the page still has; the digests are of the texts, case and white
    space aside. `reason` and `detail` say why there is no text to compare; without a reason it is the benchmark that has none.
    """

    event_id: str
    url: str
    state: State
    reason: DropReason | None = None
    detail: str = ""
    overlap: float | None = None
    sha256_stored: str = ""
    sha256_live: str = ""
    http_status: int | None = None
    retrieved_at: str = ""


@dataclass(frozen=True, slots=True)
class RecrawledEvent:
    """`failure` says why the event's files could not be read."""

    event_id: str
    title: str
    pages: tuple[RecrawledPage, ...]
    failure: str = ""

    def count(self, state: str) -> int:
        return sum(page.state == state for page in self.pages)

    @property
    def reasons(self) -> Counter[DropReason]:
        return Counter(page.reason for page in self.pages if page.reason is not None)


def main(argv: Sequence[str]) -> int:
    arguments = _parser().parse_args(argv)
    from flows.showing.console import guarded

    def run() -> int:
        from data import codec
        from flows.showing import console
        from pipeline.drop_words import dropped_in_words

        events = list(_recrawled(arguments))
        out = arguments.out or Path(os.environ.get("WIKIGEN_RUNS", "runs")) / "recrawl.jsonl"
        codec.write_atomic(out, "".join(codec.to_json(page) + "\n" for event in events for page in event.pages))
        if arguments.json:
            console.result_json({"pages": str(out), "events": len(events), **_totals(events), "reasons": _reasons(events)})
        else:
            console.show(_table(events))
            if reasons := _reasons(events):
                console.result("reasons: " + dropped_in_words(reasons))
            console.result(f"each page: {out}")
        return 1 if any(event.failure for event in events) else 0

    return guarded(run)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wikigenben recrawl",
        description="Fetch the pages of a benchmark folder again, and say which are kept, changed or gone. Exit code: 0 done, "
        "1 an event could not be read, 2 wrong input, 130 interrupted.",
    )
    parser.add_argument("--data", metavar="DIR", help="benchmark folder (default: as for generate)")
    parser.add_argument("--events", nargs="+", default=[], metavar="ID", help="only these events (default: all)")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N events")
    parser.add_argument("--track", choices=("search", "cited", "both"), help="which pages (default: search)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="one JSON line a page (default: runs/recrawl.jsonl)")
    add_setting_flags(parser)
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout instead of a table")
    return parser


def _recrawled(arguments: argparse.Namespace) -> Iterator[RecrawledEvent]:
    from data.locate import locate
    from data.snapshot import Snapshot
    from flows.showing import console

    settings = load_settings(arguments.config, arguments.assignments, evidence={"track": arguments.track})
    snapshot = Snapshot(locate(arguments.data))
    if arguments.limit is not None and arguments.limit < 1:
        raise UserError(f"--limit {arguments.limit} leaves nothing to do; use 1 or more")
    for event_id in arguments.events:
        snapshot.event(event_id)  # refuses a wrong one before anything is fetched
    ids = tuple(arguments.events) or snapshot.ids(settings.evidence.track)
    ids = ids[: arguments.limit]
    yield from console.tracked("fetching", recrawl(snapshot, ids, settings), len(ids), lambda event: event.title)


def recrawl(snapshot: Snapshot, ids: Sequence[str], settings: Settings) -> Iterator[RecrawledEvent]:
    """The events in their order, each as soon as it is done."""
    from data.errors import StageError
    from pipeline.web.cache import PageCache
    from pipeline.web.fetching import Fetcher

    web = settings.web
    # one fetcher for all: a host is not asked faster because it occurs in two events
    with Fetcher(replace(web, max_pages=sys.maxsize, total_s=web.total_s * len(ids))) as fetcher:
        cache = PageCache()
        for event_id in ids:
            title = event_id
            try:
                title = snapshot.event(event_id).title
                raw = _distinct(snapshot.raw_pages(event_id, settings.evidence.track))
            except StageError as error:
                yield RecrawledEvent(event_id, title, (), str(error))
                continue
            yield RecrawledEvent(event_id, title, _compared(event_id, raw, fetcher, cache, settings))


def _distinct(pages: Sequence[RawPage]) -> list[RawPage]:
    from data.page_urls import canonical_url

    return list({canonical_url(page.url): page for page in reversed(pages) if page.url}.values())[::-1]


def _compared(
    event_id: str, raw: Sequence[RawPage], fetcher: Fetcher, cache: PageCache, settings: Settings
) -> tuple[RecrawledPage, ...]:
    from datetime import UTC, datetime

    from pipeline.reading.documents import Job, read_documents
    from pipeline.web.cache import fetch_pages

    found = list(fetch_pages(fetcher, cache, [page.url for page in raw], settings.web))
    today = datetime.now(UTC).date().isoformat()
    fetched = [i for i, one in enumerate(found) if one.drop_reason is None]
    jobs = [Job(found[i].body, found[i].final_url, found[i].content_type, raw[i].origin, today) for i in fetched]
    documents = dict(zip(fetched, read_documents(jobs), strict=True))
    return tuple(_page(event_id, page, found[i], documents.get(i)) for i, page in enumerate(raw))


def _page(event_id: str, raw: RawPage, fetched: Fetched, document: Document | None) -> RecrawledPage:
    from data import codec
    from data.cleaning import LIVE_MIN_WORDS, ngrams, obstacle, overlap
    from pipeline.reading.extract import extract

    def lost(reason: DropReason, detail: str) -> RecrawledPage:
        return replace(page, state="unknown" if reason in _MAY_PASS else "gone", reason=reason, detail=detail)

    page = RecrawledPage(event_id, raw.url, "unknown", http_status=fetched.status, retrieved_at=fetched.retrieved_at)
    if fetched.drop_reason is not None or document is None:
        return lost(fetched.drop_reason or "extract_none", fetched.drop_detail)
    live = document.extracted
    if live.drop_reason is not None:
        return lost(live.drop_reason, live.drop_detail)
    if blocked := obstacle(live.title, live.text, len(live.text.split()), LIVE_MIN_WORDS):
        return lost(*blocked)
    stored = extract(raw).text
    share = overlap(stored)(live.text).article_in_page
    digests = [codec.sha256(" ".join(text.casefold().split())) for text in (stored, live.text)]
    if not ngrams(stored, 8):
        return replace(page, sha256_live=digests[1])
    state: State = "kept" if digests[0] == digests[1] or share >= KEPT else "changed"
    return replace(page, state=state, overlap=round(share, 4), sha256_stored=digests[0], sha256_live=digests[1])


def _totals(events: Sequence[RecrawledEvent]) -> dict[str, int]:
    return {state: sum(event.count(state) for event in events) for state in STATES}


def _reasons(events: Sequence[RecrawledEvent]) -> dict[DropReason, int]:
    reasons: Counter[DropReason] = sum((event.reasons for event in events), Counter())
    return dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))


def _table(events: Sequence[RecrawledEvent]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from flows.showing import console
    from pipeline.drop_words import dropped_in_words

    table = Table(title="pages of events, fetched again", box=box.SIMPLE, title_justify="left", title_style="bold")
    table.add_column("event")
    for state in STATES:
        table.add_column(state, justify="right")
    table.add_column("reasons")
    for event in events:
        why = event.failure or dropped_in_words(dict(sorted(event.reasons.items())))
        name = Text(console.harmless(f"{event.event_id} {event.title}").replace("\n", " "))
        table.add_row(name, *(str(event.count(state)) for state in STATES), Text(console.harmless(why)))
    totals = _totals(events)
    table.add_row(Text(f"{len(events)} events"), *(str(totals[state]) for state in STATES), Text(""))
    return table

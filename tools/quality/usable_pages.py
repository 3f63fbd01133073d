"""How many pages can be read: `python -m tools.quality.usable_pages`.

    python -m tools.quality.usable_pages                            # sixty pages in six kinds (tools.quality.saved_pages)
    python -m tools.quality.usable_pages --second                   # 34 whole pages by another hand (tools.quality.second_set)
    python -m tools.quality.usable_pages --data DIR --split dev     # recorded pages of a benchmark folder

Of the saved ones it is known what a reader finds on them: right is a page whose facts are in its text, or that is refused for
its true reason. Of recorded pages it is not; counted are those that are used, of those that have any text.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmark.splits import Split, split_ids
from data.pages.cleaning import LIVE_MIN_WORDS, clean_pages
from data.snapshot import Snapshot
from data.types import Page
from flows.showing import console
from pipeline.reading.documents import read_document
from pipeline.reading.extract import extract
from tools.quality.page_parts import KINDS, SavedPage
from tools.quality.saved_pages import all_pages
from tools.quality.second_set import WholePage, faults, whole_pages


def read_saved(saved: SavedPage | WholePage) -> Page:
    """As `wikigenben write` reads and judges a page that a search found; one that somebody names may be shorter."""
    document = read_document(saved.body, url=saved.url, content_type=saved.content_type, origin="search", run_date="2031-12-31")
    (page,) = clean_pages([document.extracted], leak=None, leak_hosts=True, min_words=LIVE_MIN_WORDS)
    return page


def fault(saved: SavedPage, page: Page) -> str:
    """What is wrong with a page that was read, "" for nothing."""
    if page.drop_reason != saved.reason:
        return f"{page.drop_reason or 'read'}, and should be {saved.reason or 'read'} ({page.drop_detail})"
    if saved.reason is not None:
        return ""
    at = 0
    for fact in saved.facts:
        found = page.text.find(fact, at)
        if found < 0:
            return f"{fact!r} is missing or stands elsewhere"
        at = found
    return next((f"{words!r} is no part of it" for words in saved.absent if words in page.text), "")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.quality.usable_pages", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="a benchmark folder")
    parser.add_argument("--split", default="dev", choices=("dev", "test", "full"))
    parser.add_argument("--second", action="store_true", help="the second set of saved pages")
    given = parser.parse_args(arguments)
    if given.second:
        _second()
    elif given.data is None:
        _saved()
    else:
        _recorded(given.data, given.split)


def _saved() -> None:
    right: Counter[str] = Counter()
    for saved in all_pages():
        wrong = fault(saved, read_saved(saved))
        right[saved.kind] += not wrong
        if wrong:
            console.result(f"{saved.kind}, {saved.name}: {wrong}")
    for kind in KINDS:
        console.result(f"{kind:16} {right[kind]} of 10 right")
    console.result(f"{'all':16} {right.total()} of {len(all_pages())} right")


def _second() -> None:
    pages = whole_pages()
    right = 0
    for saved in pages:
        wrong = faults(saved, read_saved(saved))
        right += not wrong
        for one in wrong:
            console.result(f"{saved.kind}, {saved.name}: {one}")
    console.result(f"{right} of {len(pages)} right")


def _recorded(folder: Path, split: Split) -> None:
    snapshot = Snapshot(folder)
    reasons: Counter[str] = Counter()
    n_with_text = 0
    for event in split_ids(snapshot, "search", split):
        raw = snapshot.raw_pages(event, "search")
        pages = clean_pages([extract(page) for page in raw], leak=None, leak_hosts=True)
        for before, page in zip(raw, pages, strict=True):
            n_with_text += bool(before.body.strip())
            reasons[page.drop_reason or "used"] += bool(before.body.strip())
    console.result(
        f"{reasons['used']:,} of {n_with_text:,} pages with text are used ({reasons['used'] / max(1, n_with_text):.1%})"
    )
    console.result(", ".join(f"{n} {reason}" for reason, n in reasons.most_common() if n and reason != "used"))


if __name__ == "__main__":
    main()

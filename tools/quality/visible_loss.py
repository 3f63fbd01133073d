"""How much of what readers see is taken for hidden: `python -m tools.quality.visible_loss FOLDER ... --limit 200`.

Without a folder: the saved pages of tools.quality. Each page is drawn by Chromium (`pipeline.reading.seen.rendering`)
and read by the cascade (`hidden_in`), both without scripts or a network; sheets that lie beside a page are put into it, so
that both know them. Lost is a word that was painted and is only found in what the cascade takes out. The last line is JSON:
pages, words painted, words lost, their share. What cannot be drawn, has fewer than 50 words or takes longer than --seconds is
left out and counted; a run that is broken off prints what it has.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from lxml import html as lxml_html

from flows.showing import console
from pipeline.reading.extract import hidden_in
from pipeline.reading.seen.chromium import Undrawn, find_browser
from pipeline.reading.seen.rendering import paint
from tools.quality.page_parts import SavedPage
from tools.quality.saved_pages import all_pages
from tools.quality.second_set import WholePage, whole_pages

LEAST_WORDS = 50
MOST_BYTES = 2_000_000
_WORD = re.compile(r"\w+")
_SHEET = re.compile(r"<link\b[^>]*>", re.IGNORECASE)
_SCRIPT = re.compile(r"<script\b.*?</script\s*>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Loss:
    """In words of one page; `of_which` are some of those lost."""

    name: str
    painted: int
    lost: int
    of_which: tuple[str, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.quality.visible_loss", description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, help="of .html files, also deeper (default: the saved pages)")
    parser.add_argument("--limit", type=int, default=200, help="so many pages, from each folder in turn (default: 200)")
    parser.add_argument("--seconds", type=float, default=60, help="for a page, at most (default: 60)")
    given = parser.parse_args(arguments)
    browser = find_browser()
    if browser is None:
        parser.error("no chromium or google-chrome is on PATH; install one")
    found: list[Loss] = []
    left_out = 0
    try:
        for name, body in _pages(given.folders, given.limit):
            try:
                with _at_most(given.seconds):
                    loss = loss_of(name, body, browser)
            except (Undrawn, TimeoutError) as error:
                console.note(f"{name}: {str(error) or f'not read in {given.seconds:g} s'}")
                left_out += 1
                continue
            if loss.painted < LEAST_WORDS:
                left_out += 1
                continue
            found.append(loss)
            if loss.lost:
                console.result(f"{name}: {loss.lost} of {loss.painted:,} words: {' '.join(loss.of_which)}")
    except KeyboardInterrupt:
        console.note("broken off")
    painted, lost = sum(one.painted for one in found), sum(one.lost for one in found)
    told = {"pages": len(found), "left_out": left_out, "painted": painted, "lost": lost}
    console.result(json.dumps({**told, "share": round(lost / max(painted, 1), 6)}))
    return 0


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raises TimeoutError within it when so many seconds have passed; in the main thread alone."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def loss_of(name: str, body: str, browser: str) -> Loss:
    """Raises Undrawn."""
    drawn = paint(body.encode(), url="", content_type="text/html; charset=utf-8", browser=browser)
    painted = _counted(_tree(drawn.html))
    tree = _tree(body.encode())
    hidden = Counter[str]()
    for element in hidden_in(tree):
        hidden += _counted(element)
        _take_out(element)
    lost = (painted - _counted(tree)) & hidden
    return Loss(name, painted.total(), lost.total(), tuple(lost)[:20])


def _tree(body: bytes) -> lxml_html.HtmlElement:
    return lxml_html.document_fromstring(body, parser=lxml_html.HTMLParser(encoding="utf-8"))


def _take_out(element: lxml_html.HtmlElement) -> None:
    if element.getparent() is not None:
        element.drop_tree()


def _counted(tree: lxml_html.HtmlElement) -> Counter[str]:
    """Words of its text nodes: those of two elements are never joined."""
    texts = tree.xpath(".//text()[not(ancestor::script or ancestor::style or ancestor::title)]")
    return Counter(word.casefold() for text in texts for word in _WORD.findall(str(text)))


def _pages(folders: Sequence[Path], limit: int) -> Iterator[tuple[str, str]]:
    if not folders:
        saved: SavedPage | WholePage
        for saved in (*all_pages(), *whole_pages()):  # type: ignore[assignment]
            if "html" in saved.content_type:
                yield f"{saved.kind}, {saved.name}", _SCRIPT.sub("", saved.body.decode("utf-8", "replace"))
        return
    listed = [[path for path in folder.rglob("*.html") if path.stat().st_size <= MOST_BYTES] for folder in folders]
    mixed = [sorted(paths, key=lambda path: hashlib.sha256(str(path).encode()).digest()) for paths in listed]
    in_turn = [path for row in zip_longest(*mixed) for path in row if path is not None]
    for path in in_turn[:limit]:
        yield str(path), _with_sheets(_SCRIPT.sub("", path.read_text(encoding="utf-8", errors="replace")), path.parent)


def _with_sheets(body: str, folder: Path) -> str:
    def put_in(match: re.Match[str]) -> str:
        (link,) = lxml_html.fragments_fromstring(match[0])
        sheet = folder / str(link.get("href") or "").partition("?")[0]
        if "stylesheet" not in str(link.get("rel") or "").split() or not sheet.is_file():
            return ""
        media = f' media="{link.get("media")}"' if link.get("media") else ""
        return f"<style{media}>{sheet.read_text(encoding='utf-8', errors='replace')}</style>"

    return _SHEET.sub(put_in, body)


if __name__ == "__main__":
    raise SystemExit(main())

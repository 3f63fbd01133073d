"""Fetched pages as a browser paints them (`web.render`): before they are read, or only those that gave no text.

What is painted takes the body's place, in the bundle, too, so that a run is replayed where there is no browser; the record says
so (`painted` of its `fetch_flags`). A page that cannot be drawn stays as it was fetched, and the console says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from data.errors import UserError
from data.pages.blocks import count_read
from data.pages.cleaning import LIVE_MIN_WORDS
from data.settings import RenderWhen
from pipeline.reading.charset import kind_of
from pipeline.reading.documents import Document
from pipeline.reading.seen.chromium import BROWSERS, Undrawn, find_browser
from pipeline.reading.seen.rendering import TIMEOUT_S, paint
from pipeline.web.fetched import Fetched

AT_ONCE = 2
"""Browsers at a time: each takes some 200 MiB and most of a core."""
TEXTLESS = ("js_required", "extract_none")


def check_render(render: RenderWhen) -> None:
    """Raises UserError where every page is to be drawn and there is no browser."""
    if render == "always" and find_browser() is None:
        raise UserError(
            f"--render (web.render=always) needs Chromium, and none of {', '.join(BROWSERS)} is on PATH; install it (Debian: "
            "apt install chromium), or drop --render"
        )


class Painter:
    """`tell` is called with a line on each page that could not be drawn."""

    def __init__(self, render: RenderWhen, tell: Callable[[str], None], *, timeout_s: float = TIMEOUT_S) -> None:
        check_render(render)
        self._render = render
        self._browser = find_browser() if render != "never" else None
        self._tell = tell
        self._timeout_s = timeout_s

    def drawn(self, fetched: Iterable[tuple[int, Fetched]]) -> Iterator[tuple[int, Fetched]]:
        """The pages in the order in which they come, drawn where each is to be."""
        if self._render != "always":
            yield from fetched
            return
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="painter") as pool:
            waiting: list[tuple[int, Future[Fetched]]] = [(n, pool.submit(self.draw, one)) for n, one in fetched]
            yield from ((n, future.result()) for n, future in waiting)

    def is_wanted(self, fetched: Fetched, document: Document | None) -> bool:
        """Whether a page that was read gave no main text, and is to be drawn for that."""
        if self._render != "auto" or self._browser is None or document is None or not _is_html(fetched):
            return False
        page = document.extracted
        return page.drop_reason in TEXTLESS or (page.drop_reason is None and count_read(page.text) < LIVE_MIN_WORDS)

    def draw(self, fetched: Fetched) -> Fetched:
        """The page with what is painted as its body; itself where it is none, or cannot be drawn."""
        if self._browser is None or fetched.drop_reason is not None or not _is_html(fetched) or "painted" in fetched.flags:
            return fetched
        try:
            painted = paint(
                fetched.body,
                url=fetched.final_url,
                content_type=fetched.content_type,
                browser=self._browser,
                timeout_s=self._timeout_s,
            )
        except Undrawn as error:
            self._tell(f"not drawn: {fetched.url}: {error}")
            return fetched
        # Its validators are of other bytes: an update that sent them would be told that the page is unchanged.
        return replace(
            fetched,
            body=painted.html,
            content_type="text/html; charset=utf-8",
            etag="",
            last_modified="",
            flags=(*fetched.flags, "painted"),
        )


def _is_html(fetched: Fetched) -> bool:
    return bool(fetched.body) and kind_of(fetched.body, fetched.content_type)[0] == "html"

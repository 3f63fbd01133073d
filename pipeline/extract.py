"""A raw page -> its text. One bad page never stops an event: it comes back with a reason instead of text.

HTML goes through trafilatura; plain text passes as it is and is cleaned of its menus later (`data.blocks`).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from data.cleaning import MAX_BYTES, MIN_WORDS, Extracted, binary_detail, clean_title, obstacle
from data.types import DropReason, PageFlag, RawPage

if TYPE_CHECKING:
    from lxml.html import HtmlElement

logger = logging.getLogger(__name__)

_HIDDEN_WORDS = 8
"""From so many words on, hidden text is reported: icons and empty boxes are hidden on every page."""

_NO_LIMIT = "2099-12-31"
"""Without a limit the library takes today, and the same page would get another date tomorrow."""


def extract(raw: RawPage, *, run_date: str | None = None) -> Extracted:
    """The page's text, title, date and flags, or the reason why there is none. Never raises for a bad page.

    `run_date` (YYYY-MM-DD) is the latest day a page may have been published; None allows any. Dates come from the page's
    metadata only: a search through its text takes "the last flood was on 12 March 1997" for the date of the page.
    """
    if (size := _bytes(raw.body)) > MAX_BYTES:
        return _dropped(raw, "too_large", f"{size:,} bytes, limit {MAX_BYTES:,}", text=raw.body[:2000])
    if detail := binary_detail(raw.body):
        return _dropped(raw, "bad_type", detail)
    if raw.media == "text":
        return Extracted(url=raw.url, title=raw.title, text=raw.body, origin=raw.origin, media="text")
    try:
        return _from_html(raw, run_date)
    except Exception as error:  # trafilatura and lxml fail in many ways on broken pages; the page is what is wrong
        logger.warning("no text from %s: %s: %s", raw.url, type(error).__name__, error)
        return _dropped(raw, "extract_none", f"{type(error).__name__}: {error}")


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _dropped(raw: RawPage, reason: DropReason, detail: str, *, text: str = "", hint: str | None = None) -> Extracted:
    return Extracted(
        url=raw.url,
        title=raw.title,
        text=text,
        origin=raw.origin,
        drop_reason=reason,
        drop_detail=detail,
        language_hint=hint,
        media=raw.media,
    )


def _from_html(raw: RawPage, latest: str | None) -> Extracted:
    from trafilatura import bare_extraction, html2txt, load_html

    tree = load_html(raw.body)
    if tree is None:
        return _dropped(raw, "extract_none", "not readable as HTML")
    hint = _language(tree)
    hidden = _hidden_words(tree)
    document: Any = bare_extraction(
        tree,
        url=raw.url or None,
        with_metadata=True,
        include_comments=False,  # on by default: reader comments would become evidence
        include_tables=True,
        include_links=False,
        include_images=False,
        deduplicate=False,  # keeps process-wide state: the fourth identical page would come out empty
        prune_xpath=HIDDEN,
        date_extraction_params={"original_date": True, "extensive_search": False, "max_date": _NO_LIMIT},
    )
    text = (document.text or "") if document is not None else ""
    title = clean_title(raw.title) or clean_title((document.title or "") if document is not None else "")
    n_words = len(text.split())
    if n_words < MIN_WORDS:
        # an obstacle is recognised by words that extraction may have taken for boilerplate
        visible = html2txt(raw.body)
        if found := obstacle(title, visible, n_words):
            return _dropped(raw, *found, text=visible[:2000], hint=hint)
    if not text.strip():
        return _dropped(raw, "extract_none", "no main text found", hint=hint)
    flags: list[PageFlag] = []
    published = document.date
    # compared here: a date beyond `max_date` makes the library guess at the first of its month
    if published and latest and published > latest:
        published = None
    if not published:
        flags.append("no_date")
    if hidden >= _HIDDEN_WORDS:
        flags.append("hidden_text")
    return Extracted(
        url=raw.url,
        title=title,
        text=text,
        origin=raw.origin,
        published=published,
        flags=tuple(flags),
        language_hint=hint,
        media="html",
    )


def _language(tree: HtmlElement) -> str | None:
    lang = str(tree.get("lang") or "").strip().lower()
    return lang.replace("_", "-").split("-")[0] or None


def _hidden_words(tree: HtmlElement) -> int:
    seen: set[Any] = set()
    n = 0
    for path in HIDDEN:
        for element in tree.xpath(path):
            if element in seen or any(above in seen for above in element.iterancestors()):
                continue
            seen.add(element)
            n += len(str(element.text_content()).split())
    return n


# --- hidden text -----------------------------------------------------------------------------------------------------
#
# A browser shows none of these, a reader of the page has not seen them, and a model must not either. trafilatura removes
# some of them by itself; the list repeats those, so that they are counted.

_CLASSES = (
    "hidden", "d-none", "invisible", "sr-only", "sr-only-focusable", "visually-hidden", "visuallyhidden",
    "screen-reader-text", "screen-reader-only", "screenreader", "offscreen", "off-screen", "element-invisible", "a11y-hidden",
)  # fmt: skip
_STYLE = "concat(translate(@style, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ \t\n', 'abcdefghijklmnopqrstuvwxyz'), ';')"


def _has_class(name: str) -> str:
    return f"contains(concat(' ', normalize-space(@class), ' '), ' {name} ')"


def _styled(*parts: str) -> str:
    return "(" + " and ".join(f"contains({_STYLE}, '{part}')" for part in parts) + ")"


# frameworks show "hidden md:block" on wide screens
_SHOWN_WIDE = (
    "(contains(@class, ':block') or contains(@class, ':flex') or contains(@class, ':grid') or contains(@class, ':inline'))"
)
_STYLES = (
    _styled("display:none"),
    _styled("visibility:hidden"),
    _styled("visibility:collapse"),
    _styled("opacity:0;"),
    _styled("opacity:0.0"),
    _styled("opacity:0%"),
    *(_styled(f"font-size:0{unit}") for unit in (";", "px", "pt", "em", "rem", "%", "vw", "!")),
    *(_styled(f"font-size:{size}") for size in ("0.1px", "0.01", "1px;", ".1px")),
    _styled("text-indent:-9"),
    _styled("text-indent:-1000"),
    *(_styled(f"position:{kind}", f"{side}:-{start}") for kind in ("absolute", "fixed") for side in ("left", "top", "right")
      for start in ("9", "1000", "2000", "5000")),
    _styled("clip:rect(0"),
    _styled("clip:rect(1px"),
    _styled("clip-path:inset(50%"),
    _styled("clip-path:inset(100%"),
    _styled("transform:scale(0)"),
    _styled("height:0;", "overflow:hidden"),
    _styled("height:0px", "overflow:hidden"),
    _styled("width:0;", "overflow:hidden"),
    _styled("width:0px", "overflow:hidden"),
    _styled("color:transparent"),
)  # fmt: skip

HIDDEN: list[str] = [
    "//*[@hidden]",
    "//*[@aria-hidden='true']",
    "//template",
    "//noscript",
    f"//*[({' or '.join(map(_has_class, _CLASSES))}) and not {_SHOWN_WIDE}]",
    f"//*[@style and ({' or '.join(_STYLES)})]",
]
"""XPath of elements that a browser does not show (white text on white excepted: that would need rendering)."""

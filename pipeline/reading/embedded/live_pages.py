"""Pages whose entries have a time each: it is written out above the entry, for extractors drop `<time>`, and "14:05" has no
day."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml import etree

from pipeline.reading.dates import is_aside, read_moment, said_time
from pipeline.reading.embedded.jsonld import Node, is_live

if TYPE_CHECKING:
    from lxml.html import HtmlElement

LEAST_ENTRIES = 3
MOST_ENTRIES = 1_000
_ENTRY_WORDS = 8
_LIVE = re.compile(r"live-?(?:blog|ticker|feed|update|reporting|coverage|page)|LiveBlogPosting|news-?ticker", re.I)

_LIVE_PATH = re.compile(r"/(?:live|live-?(?:blog|news|updates|story))/", re.I)


def say_times(tree: HtmlElement, node: Node, url: str = "") -> None:
    """Puts "4 May 2031, 14:05" at the head of each entry of a live page; other pages stay as they are."""
    named = "//@class | //@id | //@itemtype | //@data-testid | //@data-component"
    if not (is_live(node) or _LIVE_PATH.search(url) or any(map(_LIVE.search, tree.xpath(named)[:20_000]))):
        return
    boxes: dict[HtmlElement, str] = {}
    for element in tree.xpath("//time[@datetime]")[:MOST_ENTRIES]:
        moment = read_moment(str(element.get("datetime")))
        if moment is None or moment.time is None or is_aside(element):
            continue
        box = next((above for above in element.iterancestors() if _words(above, element) >= _ENTRY_WORDS), None)
        if box is not None and box.tag not in ("p", "li", "body", "html", "main"):
            boxes.setdefault(box, said_time(str(element.get("datetime"))))
    for box, when in boxes.items() if len(boxes) >= LEAST_ENTRIES else ():
        line = etree.Element("p")
        line.text = when
        line.tail, box.text = box.text, None
        box.insert(0, line)


def _words(box: HtmlElement, time: HtmlElement) -> int:
    return len(str(box.text_content()).split()) - len(str(time.text_content()).split())

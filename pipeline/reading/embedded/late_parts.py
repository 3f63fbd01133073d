"""Parts of a page that its own scripts would put in their place, of which nothing is run.

React streams what is late in a hidden box at the end, with a call that puts it where its template stands. And some sites write
their text for readers without scripts into `<noscript>`, and nothing else into the page.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MOST_PARTS = 500
_CALL = re.compile(r"""\$RC\(\s*["'](B:[0-9a-f]{1,8})["']\s*,\s*["'](S:[0-9a-f]{1,8})["']""")
_NOSCRIPT = re.compile(r"<(/?)noscript\b", re.IGNORECASE)


def put_in_place(tree: HtmlElement) -> None:
    """Moves each streamed part to its template, as the page's own call would."""
    calls = [call for script in tree.iter("script") for call in _CALL.findall(script.text or "")]
    for place, part in dict(calls[:MOST_PARTS]).items():
        templates = tree.xpath("//template[@id=$name]", name=place)
        boxes = tree.xpath("//div[@hidden and @id=$name]", name=part)
        if len(templates) == len(boxes) == 1 and boxes[0] not in templates[0].iterancestors():
            del boxes[0].attrib["hidden"]
            templates[0].addnext(boxes[0])


def for_readers_without_scripts(body: str, tree: HtmlElement, least: int) -> str:
    """The page with what it says in `<noscript>` as its text; "" where that has fewer than `least` words."""
    told = sum(len(str(one.text_content()).split()) for one in tree.xpath("//body//noscript"))
    return _NOSCRIPT.sub(r"<\1div", body) if told >= least else ""

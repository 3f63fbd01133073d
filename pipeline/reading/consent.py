"""Boxes that ask for consent to cookies: taken out of a page where they lie over an article, told where they are all there is.

The products that publishers use are known by the names of their boxes (`consent_boxes` in phrases.toml); a redirect to a
page of its own by its address.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from data.pages.blocks import any_of
from data.pages.page_urls import host_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_BOX = any_of("consent_boxes", start=r"(?:^|(?<=\s))")
_PAGE = frozenset(("html", "body", "main", "article", "head"))
_PAGE_WORDS = 60
_ABOUT = re.compile(r"cookie|consent|privacy|partner|vendor", re.I)
_WALL_HOST = re.compile(r"(?:consent|guce|myprivacy|cmp-consent|privacywall)[\w-]*\.|(?:[\w-]+\.)?consent\.")


def without_boxes(tree: HtmlElement) -> bool:
    """Takes the boxes out of `tree`; whether there was one. What holds the article as well stays."""
    found = False
    for element in tree.xpath("//*[@id or @class]"):
        named = _BOX.search(str(element.get("id") or "")) or _BOX.search(str(element.get("class") or ""))
        if not named or element.tag in _PAGE or element.getparent() is None:
            continue
        if next(element.iter("main", "article"), None) is None and not _is_page(element):
            found = True
            element.drop_tree()
    return found


def _is_page(box: HtmlElement) -> bool:
    """Whether a box holds the page ("page cookie-bar-visible"): its headline, and paragraphs that hardly speak of cookies."""
    if next(box.iter("h1"), None) is None:
        return False
    words = [word for paragraph in box.iter("p") for word in str(paragraph.text_content()).split()]
    return len(words) >= _PAGE_WORDS and sum(map(bool, map(_ABOUT.search, words))) * 100 < len(words)


def is_wall(url: str) -> bool:
    """Whether an address, after redirects, is that of a site's consent page."""
    return _WALL_HOST.match(host_of(url)) is not None

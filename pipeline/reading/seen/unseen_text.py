"""What is taken out of a page as unseen: elements that its stylesheets hide for sure (`stylesheets`), those of which nobody can
tell, as long as most of the page is plainly visible, and words of their own beside visible elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lxml.html import Element, HtmlElement

from pipeline.reading.seen.stylesheets import UNTOLD, has_words, unseen

UNSURE_UP_TO = 0.3
"""Share of a page's words up to which those that may be invisible count as hidden. Beyond it they are the page."""


class TooSlow(Exception):
    """Most of a page may be hidden by rules that nobody can work out in the time that a page has."""


def hidden_by_sheets(tree: HtmlElement) -> Iterator[HtmlElement]:
    """Elements that the page hides; raises TooSlow where nobody can tell. Words whose element also holds visible ones are put
    into an element of their own first."""
    found = unseen(tree)
    n_words = _n_words(tree)
    slow = [one for one in found.given_up if one not in found.boxes and not _is_inside(one, found.boxes)]
    slow = [one for one in slow if not _is_inside(one, found.given_up)]
    if sum(len(str(one.text_content()).split()) for one in slow) > UNSURE_UP_TO * n_words:
        raise TooSlow("its stylesheets take too long to be worked out, and what they hide is not known")
    found.boxes.update(slow)
    unsure = [one for one in found.unsure if one not in found.boxes and not _is_inside(one, found.boxes)]
    outer = [one for one in unsure if not _is_inside(one, found.unsure) and not _is_label(one, found.boxes)]
    if sum(len(str(one.text_content()).split()) for one in outer) <= UNSURE_UP_TO * n_words:
        found.boxes.update(outer)
    yield from found.boxes
    for element in found.texts:
        if not _is_inside(element, found.boxes) and element not in found.boxes:
            yield from _own_words(element)


_ALONE = frozenset(("div", "p", "aside", "nav", "section"))
_IN_A_ROW = frozenset(("table", "li", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "figure", "pre"))
MOST_WORDS, MOST_LABEL = 2, 80
"""Of a label; characters."""


def _is_label(element: HtmlElement, hidden: set[HtmlElement]) -> bool:
    """Whether it is in a block that has no more than two words beside what is hidden for sure, as labels in a margin are:
    that says nothing, seen or not."""
    block = element
    while block.tag not in _ALONE or block.getparent() is None:
        if block.getparent() is None or block.tag in _IN_A_ROW:
            return False
        block = block.getparent()
    if has_words(block.getparent()) or any(above.tag in _IN_A_ROW for above in block.iterancestors()):
        return False
    seen = {one for one in block.iter() if one not in hidden and not _is_inside(one, hidden)}
    words = "".join(str(text) for text in block.xpath(".//text()") if _parent_of(text) in seen).split()
    return len(words) <= MOST_WORDS and sum(map(len, words)) <= MOST_LABEL


def _parent_of(text: Any) -> HtmlElement | None:
    """The element that a text of XPath is in."""
    return text.getparent().getparent() if text.is_tail else text.getparent()


def _own_words(element: HtmlElement) -> Iterator[HtmlElement]:
    """The element, where nothing in it says otherwise, else new elements around its own words."""
    if not len(element):
        yield element
        return
    if element.text and element.text.strip():
        first = Element("span")
        first.text, element.text = element.text, None
        element.insert(0, first)
        yield first
    for child in list(element):
        if child.tail and child.tail.strip():
            after = Element("span")
            after.text, child.tail = child.tail, None
            child.addnext(after)
            yield after


def _is_inside(element: HtmlElement, others: set[HtmlElement]) -> bool:
    return any(above in others for above in element.iterancestors())


def _n_words(tree: HtmlElement) -> int:
    return sum(
        len(piece.split())
        for element in tree.iter()
        if isinstance(element.tag, str) and element.tag not in UNTOLD
        for piece in (element.text or "", *(child.tail or "" for child in element))
    )

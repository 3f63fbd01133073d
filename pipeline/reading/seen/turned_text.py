"""Letters that a page has turned round: between U+202E and the end of its line or U+202C readers see them backwards.

What a program reads there is not what a person reads, so it is read as neither. https://www.unicode.org/reports/tr9/#Explicit_Directional_Overrides
"""

from __future__ import annotations

import re

from lxml.html import HtmlElement

_TURN, _BACK = "\u202e", "\u202c"
_TURNED = re.compile(f"{_TURN}[^{_BACK}\n\u2029]*{_BACK}?")
_INLINE = frozenset(
    ("a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd", "label", "mark", "q",
     "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr")
)  # fmt: skip
"""Elements that a line goes through; others begin one."""


def without_turned(text: str) -> str:
    """Of plain text."""
    return _TURNED.sub("", text) if _TURN in text else text


def take_out_turned(tree: HtmlElement) -> int:
    """From the text of a page, its title apart; how many words. A line goes on through inline elements."""
    if not tree.xpath(f"boolean(//text()[contains(., '{_TURN}')])"):
        return 0
    n = 0
    is_on = False

    def kept(text: str) -> str:
        nonlocal n, is_on
        out = ""
        for piece in re.split(f"([{_TURN}{_BACK}])", text):
            if piece in (_TURN, _BACK):
                is_on = piece == _TURN
            elif is_on:
                n += len(piece.split())
            else:
                out += piece
        return out

    body = tree.find("body")
    stack: list[tuple[HtmlElement, bool]] = [(tree if body is None else body, False)]
    while stack:
        element, is_closed = stack.pop()
        if not is_closed:
            is_on = is_on and element.tag in _INLINE
            if isinstance(element.tag, str) and element.text:
                element.text = kept(element.text)
            stack.append((element, True))
            stack.extend((child, False) for child in reversed(element))
            continue
        is_on = is_on and element.tag in _INLINE
        if element.tail and element is not tree:
            element.tail = kept(element.tail)
    return n

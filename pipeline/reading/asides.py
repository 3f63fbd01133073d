"""What stands on a page beside its text: pleas for support, boxes that point to other pages, words about the author, comments;
and words that are struck out, which the page takes back.

Such boxes are known by the names that the programs of sites give them, or by their headings (`asides.toml`). What holds the
page's headline, or most of its words, is its text, whatever it is called.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lxml import etree

from pipeline.reading.fragments import block_lines

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_NAMES = tomllib.loads(Path(__file__).with_name("asides.toml").read_text(encoding="utf-8"))
_BOX = re.compile(rf"(?:^|(?<=\s))(?:{'|'.join(_NAMES['boxes'])})")
_TAGS = frozenset(_NAMES["tags"].split())
_HEADING = re.compile(rf"(?:{'|'.join(_NAMES['headings'])})", re.IGNORECASE)
_PAGE = frozenset(("html", "body", "main", "article", "head"))
_MOST = 0.5
"""Share of the page's words from which a box is its text."""
_MOST_HEADINGS = 1_000
_HEADING_WORDS = 30
_UNTOLD = frozenset(("script", "style", "head", "noscript", "template"))
_BEFORE = 12
"""Words that a box may have above its heading."""
_SUP = re.compile(r"(?:^|\s)(?:reference|noprint)(?:\s|$)")
STRUCK = frozenset(("del", "s", "strike"))


def without_asides(tree: HtmlElement) -> None:
    """Takes the boxes out of `tree`."""
    words = _words(tree)
    room = _MOST * words[tree]
    kept = {above for title in tree.iter("h1") for above in title.iterancestors()}

    def drop(element: HtmlElement) -> None:
        if element not in kept and words.get(element, 0) <= room and element.getparent() is not None:
            element.drop_tree()

    for element in tree.xpath("//*[@id or @class or self::gu-island]"):
        if element.tag in _PAGE:
            continue
        named = " ".join(str(element.get(key) or "") for key in ("id", "class")).lower()
        if element.tag == "gu-island":
            named = f"{named} {str(element.get('name') or '').lower()}"
        if _BOX.search(named) or (element.tag == "sup" and _SUP.search(named)):
            drop(element)
    for element in list(tree.iter(*_TAGS)):
        drop(element)
    for heading in tree.xpath("//h2 | //h3 | //h4 | //h5")[:_MOST_HEADINGS]:
        if words[heading] > _HEADING_WORDS or not _HEADING.fullmatch(" ".join(str(heading.text_content()).split()).rstrip(":")):
            continue
        if (box := _below(heading, words, room, kept)) is not None:
            drop(box)


def without_names_of_builders(tree: HtmlElement) -> None:
    """Page builders call each part of an article a widget, and extractors take widgets for what stands beside it."""
    for element in tree.xpath("//*[contains(@class, 'elementor-')]"):
        kept = [name for name in str(element.get("class")).split() if not name.startswith("elementor-")]
        element.set("class", " ".join(kept))


_STANDFIRST = re.compile(
    r"(?:^|[\s_-])(?:standfirst|lead-paragraph|sub-?headline|dek|lede|what-we-know|key-(?:points|takeaways|facts))(?:$|[\s_-])",
    re.IGNORECASE,
)
_LEAST_STANDFIRST = 8
_MOST_STANDFIRST = 200
"""Words."""


def with_standfirst(text: str, tree: HtmlElement, hidden: Set[Any]) -> str:
    """The text after what stands between its headline and its first paragraph, where an extractor left that away: a sentence
    on what it is about, or the points of a live page."""
    if not text:
        return text
    whole = " ".join(text.split())
    for element in tree.xpath("//p[@class] | //div[@class or @data-gu-name] | //h2[@class] | //ul[@class]"):
        named = " ".join(str(element.get(key) or "") for key in ("class", "data-gu-name", "data-testid"))
        if not _STANDFIRST.search(named) or element in hidden or any(above in hidden for above in element.iterancestors()):
            continue
        lines = [line for line in block_lines(element, hidden) if line.lstrip("-•* ")[:60] not in whole]
        if _LEAST_STANDFIRST <= sum(len(line.split()) for line in lines) <= _MOST_STANDFIRST:
            return "\n".join([*lines, text])
    return text


def struck_in(tree: HtmlElement) -> Set[Any]:
    """Elements whose words are struck out; none where that is most of the page: then a tag was never closed."""
    found = set(tree.iter(*STRUCK))
    if not found:
        return found
    words = _words(tree)
    outer = [element for element in found if not any(above in found for above in element.iterancestors())]
    return found if sum(words[element] for element in outer) <= _MOST * words[tree] else set()


def _below(heading: HtmlElement, words: Mapping[Any, int], room: float, kept: Set[Any]) -> HtmlElement | None:
    """The largest box that begins with a heading; None for a heading among the paragraphs of a text."""
    box = None
    for above in heading.iterancestors():
        if above.tag in _PAGE or above in kept or words[above] > room or not _begins_with(above, heading):
            break
        box = above
    return box


def _begins_with(box: HtmlElement, heading: HtmlElement) -> bool:
    n_before = len((box.text or "").split())
    for element in box.iterdescendants():
        if element is heading:
            return True
        n_before += len((element.text or "").split()) + len((element.tail or "").split())
        if n_before > _BEFORE:
            return False
    return False


def _words(tree: HtmlElement) -> dict[Any, int]:
    """How many words each element holds; those of scripts are none."""
    found: dict[Any, int] = {}
    for _, element in etree.iterwalk(tree, events=("end",)):
        told = isinstance(element.tag, str) and element.tag not in _UNTOLD
        own = len((element.text or "").split()) if told else 0
        found[element] = own + sum(found.get(child, 0) + len((child.tail or "").split()) for child in element) if told else 0
    return found

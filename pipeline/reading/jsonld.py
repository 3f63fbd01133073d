"""The JSON-LD of a page (schema.org in `<script type="application/ld+json">`) -> the node that describes the page itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from data.cleaning import canonical_url

if TYPE_CHECKING:
    from lxml.html import HtmlElement

Node = Mapping[str, Any]

_PAGES = {"webpage", "itempage", "aboutpage", "faqpage", "profilepage", "medicalwebpage"}
_ARTICLES = {"report", "blogposting", "liveblogposting", "socialmediaposting", "discussionforumposting", "techarticle"}
_LIMIT = 200
"""Nodes looked at: front pages list hundreds of others."""


def article_node(tree: HtmlElement, url: str) -> Node:
    """The node of the page's article, else of the page; empty where there is none or nobody knows which of several.

    Only what is at the top, in `@graph` or as `mainEntity` counts: nested videos, comments and teasers have dates and
    texts of their own. Of several articles the one that names the page's address is its own.
    """
    nodes = [node for node, _ in zip(_nodes(tree), range(_LIMIT))]
    for wanted in (_is_article, _is_page):
        found = [node for node in nodes if wanted(node)]
        named = [node for node in found if canonical_url(url) in _addresses(node)]
        if named or found:  # a theme and a plugin of one site may both describe the page
            told_apart = named or len({text_of(node, "datePublished")[:10] for node in found}) == 1
            return (named or found)[0] if told_apart else {}
    return {}


def text_of(node: Node, key: str) -> str:
    """A value as text, "" where it is missing or something else."""
    value = node.get(key)
    return value.strip() if isinstance(value, str) else ""


def _nodes(tree: HtmlElement) -> Iterator[Node]:
    for script in tree.iter("script"):
        if str(script.get("type") or "").partition(";")[0].strip().lower() == "application/ld+json":
            try:
                # line breaks inside strings are forbidden and frequent
                yield from _top_nodes(json.loads(_unwrapped(str(script.text_content())), strict=False), 0)
            except (ValueError, RecursionError):
                continue


def _unwrapped(text: str) -> str:
    text = text.strip().removeprefix("<!--").removesuffix("-->").strip()
    return text.removeprefix("//<![CDATA[").removeprefix("<![CDATA[").removesuffix("]]>").rstrip("/; \n\t")


def _top_nodes(value: object, depth: int) -> Iterator[Node]:
    if isinstance(value, list) and depth < 4:
        for item in value:
            yield from _top_nodes(item, depth + 1)
    elif isinstance(value, dict) and depth < 4:
        yield value
        for key in ("@graph", "mainEntity", "mainEntityOfPage"):
            yield from _top_nodes(value.get(key), depth + 1)


def _types(node: Node) -> set[str]:
    value = node.get("@type")
    return {str(name).rpartition("/")[2].lower() for name in (value if isinstance(value, list) else [value])}


def _is_article(node: Node) -> bool:
    return any(name.endswith("article") or name in _ARTICLES for name in _types(node))


def _is_page(node: Node) -> bool:
    return bool(_types(node) & _PAGES)


def _addresses(node: Node) -> set[str]:
    of = node.get("mainEntityOfPage")
    values = [node.get("url"), node.get("@id"), of, *((of.get("@id"), of.get("url")) if isinstance(of, dict) else ())]
    return {canonical_url(value.partition("#")[0]) for value in values if isinstance(value, str) and value}

"""The JSON-LD of a page (schema.org in `<script type="application/ld+json">`): the node that describes the page itself, and the
text that it holds, with the entries of a live blog."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from data.pages.cleaning import clean_title
from data.pages.page_urls import canonical_url

if TYPE_CHECKING:
    from lxml.html import HtmlElement

Node = Mapping[str, Any]

_PAGES = {"webpage", "itempage", "aboutpage", "faqpage", "profilepage", "medicalwebpage", "qapage", "collectionpage"}
_ARTICLES = {
    "report", "blogposting", "liveblogposting", "socialmediaposting", "discussionforumposting", "techarticle", "review",
    "criticreview", "newsarticle", "article", "question", "claimreview", "statement",
}  # fmt: skip
_ADVERTISING = re.compile(r"advert|sponsor|promot|paid|partner content|branded", re.I)
_LIMIT = 200
"""Nodes looked at: front pages list hundreds of others."""
_DEPTH = 8
MOST_PARTS = 2_000
"""Entries of a live blog, or parts of an article."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A part of a page's text as its data has it. `at` is when it was published (as written, "" for unknown)."""

    headline: str
    body: str
    at: str = ""


def article_node(tree: HtmlElement, url: str) -> Node:
    """The node of the page's article, else of the page; empty where there is none or nobody knows which of several.

    Only what is at the top, in `@graph`, as `mainEntity` or as a part of the page counts: nested videos, comments and teasers
    have dates and texts of their own. Advertisements beside an article are none. Of several the one is the page's own that
    names its address, else its headline.
    """
    nodes = [node for node, _ in zip(_nodes(tree), range(_LIMIT))]
    for wanted in (_is_article, _is_page):
        found = [node for node in nodes if wanted(node)]
        found = [node for node in found if not _is_advertisement(node)] or found
        named = [node for node in found if canonical_url(url) in _addresses(node)]
        if not named and len(found) > 1:
            titles = headlines(tree)
            named = [node for node in found if _plain(text_of(node, "headline") or text_of(node, "name")) in titles]
        if named or found:  # a theme and a plugin of one site may both describe the page
            told_apart = named or len({text_of(node, "datePublished")[:10] for node in found}) == 1
            # of several that describe one page, the one that holds its text
            return max(named or found, key=_holds_text) if told_apart else {}
    return {}


def text_of(node: Node, key: str) -> str:
    """A value as text, "" where it is missing or something else."""
    value = node.get(key)
    if isinstance(value, Mapping):
        value = value.get("@value")
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        value = "\n".join(value)
    return value.strip() if isinstance(value, str) else ""


def entries_of(node: Node) -> tuple[Entry, ...]:
    """The entries of a live blog that have a text, oldest first; those without a time stay beside their neighbours."""
    listed = _mappings(node.get("liveBlogUpdate"))
    found = [
        Entry(clean_title(text_of(one, "headline") or text_of(one, "name")), body, _time_of(one))
        for one in listed
        if not _is_advertisement(one) and (body := text_of(one, "articleBody") or text_of(one, "text"))
    ]
    # most list the newest entry first
    times = [entry.at for entry in found if entry.at]
    if len(times) > 1 and times[0] > times[-1]:
        found.reverse()
    return tuple(sorted(found, key=lambda entry: entry.at) if len(times) == len(found) else found)


def bodies_of(node: Node) -> tuple[str, ...]:
    """The text of an article as its node has it, HTML or plain: one string, or one for each of its parts."""
    for key in ("articleBody", "reviewBody", "text"):
        if body := text_of(node, key):
            accepted = text_of(next(iter(_mappings(node.get("acceptedAnswer"))), {}), "text")
            return (body, accepted) if accepted else (body,)
    parts = _mappings(node.get("hasPart"))
    bodies = ((text_of(part, "articleBody") or text_of(part, "text")) for part in parts if not _is_advertisement(part))
    return tuple(body for body in bodies if body)


def is_paid(node: Node) -> bool:
    """Whether the page says that its text is for subscribers."""
    return str(node.get("isAccessibleForFree", "")).strip().lower() in ("false", "0", "no", "http://schema.org/false")


def is_live(node: Node) -> bool:
    return "liveblogposting" in _types(node)


def _time_of(node: Node) -> str:
    return text_of(node, "datePublished") or text_of(node, "dateCreated") or text_of(node, "dateModified")


def _mappings(value: object) -> list[Node]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values[:MOST_PARTS] if isinstance(one, Mapping)]


def _holds_text(node: Node) -> int:
    return len(entries_of(node)) * 1_000 + sum(map(len, bodies_of(node)))


# --- which node ----------------------------------------------------------------------------------------------------------


def _nodes(tree: HtmlElement) -> Iterator[Node]:
    for script in tree.iter("script"):
        if str(script.get("type") or "").partition(";")[0].strip().lower() == "application/ld+json":
            if next(script.iterancestors("template"), None) is not None:  # a browser does nothing with it
                continue
            text = _unwrapped(str(script.text_content()))
            try:
                # line breaks inside strings are forbidden and frequent
                yield from _top_nodes(json.loads(text, strict=False), 0)
            except (ValueError, RecursionError):
                yield from _scanned(text)


def _unwrapped(text: str) -> str:
    text = text.strip().removeprefix("<!--").removesuffix("-->").strip()
    return text.removeprefix("//<![CDATA[").removeprefix("<![CDATA[").removesuffix("]]>").rstrip("/; \n\t")


_BODY = re.compile(r'"articleBody"\s*:\s*("(?:[^"\\]|\\.)*+")', re.S)


def _scanned(text: str) -> Iterator[Node]:
    """The one text in JSON that is broken, or nested too deep to be parsed. Its dates may be those of anything in it."""
    found = list(dict.fromkeys(match[1] for match, _ in zip(_BODY.finditer(text), range(_LIMIT))))
    if len(found) == 1:
        try:
            yield {"@type": "Article", "articleBody": json.loads(found[0], strict=False)}
        except ValueError:
            return


def _top_nodes(value: object, depth: int) -> Iterator[Node]:
    if isinstance(value, list) and depth < _DEPTH:
        for item in value:
            yield from _top_nodes(item, depth + 1)
    elif isinstance(value, dict) and depth < _DEPTH:
        yield value
        for key in ("@graph", "mainEntity", "mainEntityOfPage"):
            yield from _top_nodes(value.get(key), depth + 1)
        if _is_page(value) and "collectionpage" not in _types(value):
            yield from _top_nodes(value.get("hasPart"), depth + 1)


def _types(node: Node) -> set[str]:
    value = node.get("@type")
    return {re.split(r"[/:#]", str(name))[-1].lower() for name in (value if isinstance(value, list) else [value])}


def _is_article(node: Node) -> bool:
    return any(name.endswith("article") or name in _ARTICLES for name in _types(node))


def _is_page(node: Node) -> bool:
    return bool(_types(node) & _PAGES)


def _is_advertisement(node: Node) -> bool:
    """By its type, its genre or section, or its sponsor."""
    told = " ".join(text_of(node, key) for key in ("genre", "articleSection", "additionalType"))
    return any("advertis" in name for name in _types(node)) or bool(node.get("sponsor")) or bool(_ADVERTISING.search(told))


def headlines(tree: HtmlElement) -> set[str]:
    """What the page calls itself, in small letters without punctuation."""
    said = [str(element.text_content()) for element in tree.xpath("//h1 | //title")[:20]]
    said += [str(element.get("content") or "") for element in tree.xpath("//meta[@property='og:title']")[:2]]
    return {_plain(one) for one in _with_parts(said)} - {""}


def _with_parts(titles: Sequence[str]) -> Iterable[str]:
    """Titles, also without the name of the site behind a dash."""
    for title in titles:
        yield title
        yield re.split(r"\s[|–—-]\s", title)[0]


def _plain(title: str) -> str:
    return " ".join(re.findall(r"\w+", clean_title(title).casefold()))


def _addresses(node: Node) -> set[str]:
    of = node.get("mainEntityOfPage")
    values = [node.get("url"), node.get("@id"), of, *((of.get("@id"), of.get("url")) if isinstance(of, dict) else ())]
    return {canonical_url(value.partition("#")[0]) for value in values if isinstance(value, str) and value}

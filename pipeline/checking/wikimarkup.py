"""Wikitext -> nested templates, links and tags, as MediaWiki's own preprocessor finds them, in one pass.

One pass over any input: a brace that nothing closes is text, and what stands after it is read as before. mwparserfromhell 0.7
tries again from each open brace or tag: on 60 kB of them it does not end, and an article may be pasted by anybody.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

DEEPEST = 40
"""Templates, links and tags within each other, as in MediaWiki. Braces below that are text."""
_MOST_ATTRIBUTES = 1000
"""Characters."""
_EXTENSIONS = (
    "ref", "references", "nowiki", "pre", "math", "chem", "gallery", "timeline", "syntaxhighlight", "source", "score", "poem",
    "imagemap", "mapframe", "maplink", "graph", "hiero", "templatedata", "templatestyles", "section", "indicator", "ce",
)  # fmt: skip
_PARSED = frozenset({"ref", "references", "poem"})
_TOKEN = re.compile(r"<!--|<\s{0,3}ref\b|</?[A-Za-z]|<ref\b|\{{2,}|\[\[|\}\}|\]\]|\||=", re.IGNORECASE)
_TAG = re.compile(rf"<(?:\s{{0,3}}(?=ref))?({'|'.join(_EXTENSIONS)})(?=[\s/>])([^<>]*)>", re.IGNORECASE)
_ANY_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9]*)\b[^<>]*>")
_OPEN_REF = re.compile(r"<\s{0,3}ref(?![A-Za-z])", re.IGNORECASE)
_ODD_REF = re.compile(r"<ref\s*(\[[^\[\]\n]{0,500}\])\s*/?\s*ref\s*>", re.IGNORECASE)
_CLOSED_REF = re.compile(r"</\s*ref\s*>", re.IGNORECASE)
_SWALLOWED = re.compile(r"\n={2,6}[^=\n]|\n[ \t]*\n(?=[^*|\s])(?=.{1500})", re.DOTALL)
"""What a reference has in it only if its end was forgotten: a heading, a new paragraph and much more."""
_ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*(?:"([^"]*)"?|'([^']*)'?|([^\s"'>][^"'>]*?)(?=\s+[\w:-]+\s*=|\s*\Z|["']))""")


@dataclass(slots=True)
class Part:
    """One part of a template or link, between pipes. `split`: how many nodes lie before its first equals sign, -1 for none."""

    nodes: list[Node] = field(default_factory=list)
    split: int = -1


@dataclass(slots=True)
class Template:
    """`start` and `end` are character offsets in the text. `told` is what it shows in plain text, once that was asked."""

    parts: list[Part]
    start: int
    end: int
    told: str | None = None


@dataclass(slots=True)
class Link:
    parts: list[Part]
    start: int
    end: int


@dataclass(slots=True)
class Argument:
    """`{{{name|default}}}`: what a template's own page has."""

    parts: list[Part]


@dataclass(slots=True)
class ExtensionTag:
    """A tag whose inner text MediaWiki hands on as it is. `inner` is None for `<ref name=x />`; `nodes` is its inner text,
    read, where that is wikitext. `broken` says what is wrong with it, "" for nothing."""

    name: str
    attributes: dict[str, str]
    inner: str | None
    nodes: list[Node]
    start: int
    end: int
    inner_end: int
    broken: str = ""


@dataclass(slots=True)
class HtmlTag:
    """An HTML tag, opening or closing; what lies between two of them is not theirs."""

    name: str
    closes: bool


Node: TypeAlias = str | Template | Link | Argument | ExtensionTag | HtmlTag


@dataclass(slots=True)
class _Open:
    kind: str  # "{" or "["
    count: int
    start: int
    parts: list[Part]


def parse(text: str, at: int = 0, level: int = 0) -> list[Node]:
    """`at` is where `text` begins in the whole, `level` how many templates and tags it lies in. Never fails."""
    return _Scan(text, at, level).nodes()


def walk(nodes: list[Node]) -> Iterator[Node]:
    """All nodes with all that lies in them, in the order of the text."""
    left: list[Node] = nodes[::-1]
    while left:
        node = left.pop()
        yield node
        if isinstance(node, ExtensionTag):
            left += node.nodes[::-1]
        elif isinstance(node, (Template, Link, Argument)):
            for part in reversed(node.parts):
                left += part.nodes[::-1]


class _Scan:
    def __init__(self, text: str, at: int, level: int) -> None:
        self._text = text
        self._at = at
        self._level = level
        self._root = Part()
        self._stack: list[_Open] = []
        self._absent: set[str] = set()
        """Closing marks of which no other comes in this text."""
        self._ref_opens: list[int] | None = None
        self._ref_closes: list[re.Match[str]] = []
        self._ref_close_at: list[int] = []

    def nodes(self) -> list[Node]:
        text, here = self._text, 0
        while (found := _TOKEN.search(text, here)) is not None:
            if found.start() > here:
                self._into(text[here : found.start()])
            here = self._token(found[0], found.start())
        self._into(text[here:])
        self._flatten(0)
        return self._root.nodes

    def _token(self, token: str, start: int) -> int:
        """Read the mark at `start`; where the text goes on."""
        if token[0] == "<":
            return self._comment(start) if token == "<!--" else self._tag(start)
        if token[0] in "{[":
            if self._level + len(self._stack) < DEEPEST:
                self._stack.append(_Open(token[0], len(token), start, [Part()]))
            else:
                self._into(token)
            return start + len(token)
        if token == "}}":
            return self._close_braces(start)
        if token == "]]":
            return self._close_link(start)
        if token == "|" and self._stack:
            self._stack[-1].parts.append(Part())
        elif token == "=" and self._stack:
            part = self._stack[-1].parts[-1]
            if part.split < 0:
                part.split = len(part.nodes)
            part.nodes.append("=")
        else:
            self._into(token)
        return start + 1

    def _into(self, node: Node) -> None:
        if node:
            (self._stack[-1].parts[-1] if self._stack else self._root).nodes.append(node)

    def _flatten(self, height: int) -> None:
        """What is open above `height` is text: nothing closes it. Each node is moved once, however many are open."""
        loose: list[Node] = []
        for one in self._stack[height:]:
            loose.append(one.kind * (one.count if one.kind == "{" else 2))
            for n, part in enumerate(one.parts):
                loose += ["|", *part.nodes] if n else part.nodes
        del self._stack[height:]
        (self._stack[-1].parts[-1] if self._stack else self._root).nodes.extend(loose)

    def _close_braces(self, start: int) -> int:
        height = next((n for n in range(len(self._stack) - 1, -1, -1) if self._stack[n].kind == "{"), -1)
        if height < 0:
            self._into("}}")
            return start + 2
        self._flatten(height + 1)  # a link that a template's end cuts off is none
        run = 3 if self._text.startswith("}}}", start) else 2
        one = self._stack.pop()
        taken = min(run, one.count, 3)
        node: Node
        begin = one.start + one.count - taken
        end = start + taken
        node = Argument(one.parts) if taken == 3 else Template(one.parts, self._at + begin, self._at + end)
        left = one.count - taken
        if left >= 2:
            self._stack.append(_Open("{", left, one.start, [Part([node])]))
        else:
            self._into("{" * left)
            self._into(node)
        return end

    def _close_link(self, start: int) -> int:
        if self._stack and self._stack[-1].kind == "[":
            one = self._stack.pop()
            self._into(Link(one.parts, self._at + one.start, self._at + start + 2))
        else:
            self._into("]]")
        return start + 2

    def _comment(self, start: int) -> int:
        end = self._find("-->", start)
        return start + 4 if end < 0 else end + 3

    def _find(self, mark: str, start: int) -> int:
        if mark in self._absent:
            return -1
        end = self._text.find(mark, start)
        if end < 0:
            self._absent.add(mark)
        return end

    def _tag(self, start: int) -> int:
        text = self._text
        found = _TAG.match(text, start)
        if found is not None:
            return self._extension(found)
        if _OPEN_REF.match(text, start):
            return self._odd_ref(start)
        if closed := _CLOSED_REF.match(text, start):
            return closed.end()
        if not text.startswith(("http://", "https://"), start + 1) and (any_tag := _ANY_TAG.match(text, start)):
            self._into(HtmlTag(any_tag[1].lower(), text[start + 1] == "/"))
            return any_tag.end()
        self._into("<")
        return start + 1

    def _extension(self, found: re.Match[str]) -> int:
        name, written = found[1].lower(), found[2]
        attributes = _attributes(written.rstrip().removesuffix("/"))
        start, inner = found.start(), found.end()
        if written.rstrip().endswith("/"):
            self._put(name, attributes, None, start, inner, inner, "")
            return inner
        if name == "ref":
            return self._ref(attributes, start, inner)
        closing = self._closing(name, inner)
        if closing is None:
            if name in _PARSED or name in ("nowiki", "pre", "section", "indicator", "templatestyles"):
                return inner  # the tag alone is dropped, what follows is read
            self._put(name, attributes, None, start, inner, inner, "")
            return inner
        self._put(name, attributes, self._text[inner : closing.start()], start, closing.end(), closing.start(), "")
        return closing.end()

    def _closing(self, name: str, start: int) -> re.Match[str] | None:
        if name in self._absent:
            return None
        found = re.compile(rf"</\s*{name}\s*>", re.IGNORECASE).search(self._text, start)
        if found is None:
            self._absent.add(name)
        return found

    def _ref(self, attributes: dict[str, str], start: int, inner: int) -> int:
        opening, closing = self._next_ref(inner)
        content = (
            self._text[inner : closing.start()]
            if closing is not None and (opening or len(self._text)) > closing.start()
            else None
        )
        if content is not None and closing is not None and not _SWALLOWED.search(content):
            self._put("ref", attributes, content, start, closing.end(), closing.start(), "")
            return closing.end()
        # Nothing closes it before the next begins. What MediaWiki would swallow is the article: the citation alone is taken.
        rest = self._text[inner : inner + 5000]
        end = _citation_end(rest)
        content = rest[:end]
        self._put("ref", attributes, content, start, inner + end, inner + end, "it is not closed")
        return inner + end

    def _next_ref(self, start: int) -> tuple[int | None, re.Match[str] | None]:
        """Where the next reference with text begins, and the next `</ref>`."""
        if self._ref_opens is None:
            marks = list(re.finditer(r"<\s{0,3}ref(?=[\s>])([^<>]*)>|</\s*ref\s*>", self._text, re.IGNORECASE))
            self._ref_opens = [m.start() for m in marks if m[1] is not None and not m[1].rstrip().endswith("/")]
            self._ref_closes = [m for m in marks if m[1] is None]
            self._ref_close_at = [m.start() for m in self._ref_closes]
        o, c = bisect_left(self._ref_opens, start), bisect_left(self._ref_close_at, start)
        return (
            self._ref_opens[o] if o < len(self._ref_opens) else None,
            self._ref_closes[c] if c < len(self._ref_closes) else None,
        )

    def _odd_ref(self, start: int) -> int:
        """`<ref` that is no tag: `<ref[example.org, March 9, 2022]/ref>`, `<ref name=a <ref>`."""
        if odd := _ODD_REF.match(self._text, start):
            self._put("ref", {}, odd[1].strip("[]"), start, odd.end(), odd.end(), "its tags are broken")
            return odd.end()
        line = re.compile(r"<ref[^<>\n]{0,200}(?:/ref>|>)?", re.IGNORECASE).match(self._text, start)
        end = line.end() if line else start + 4
        shown = self._text[start + 4 : end].strip(" []/>").removesuffix("/ref").strip(" []/>")
        is_cut = not self._text[start:end].endswith(">")
        if is_cut:  # how much of the line belongs to it nobody knows
            end, shown = start + 4, ""
        self._put("ref", {}, shown, start, end, end, "its tags are broken")
        return end

    def _put(
        self, name: str, attributes: dict[str, str], inner: str | None, start: int, end: int, inner_end: int, broken: str
    ) -> None:
        at = self._at
        nodes: list[Node] = []
        level = self._level + len(self._stack) + 1
        if inner and name in _PARSED and level < DEEPEST:
            nodes = parse(inner, at + inner_end - len(inner), level)
        elif inner and name in _PARSED:
            nodes = [inner]
        self._into(ExtensionTag(name, attributes, inner, nodes, at + start, at + end, at + inner_end, broken))


def _citation_end(rest: str) -> int:
    """How much of the text after a `<ref>` that nothing closes is its citation: a template, a link, or nothing."""
    end = len(rest) - len(rest.lstrip())
    if rest.startswith("{{", end):
        depth = 0
        for mark in re.finditer(r"\{\{|\}\}", rest[end:]):
            depth += 1 if mark[0] == "{{" else -1
            if depth == 0:
                return end + mark.end()
    elif (link := re.compile(r"\[?https?://[^\s\]<>]+(?:[^\]\n<>]*\])?").match(rest, end)) is not None:
        return link.end() if rest[end] == "[" else end + len(link[0].split()[0])
    return 0


def _attributes(written: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(" ".join(written.split())[:_MOST_ATTRIBUTES]):
        value = next((v for v in match.groups()[1:] if v is not None), "")
        found.setdefault(match[1].lower(), " ".join(value.split()))
    return found

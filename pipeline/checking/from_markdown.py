"""Markdown and plain text: links, footnotes (`[^1]`), and numbers in brackets with a list of addresses."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

from pipeline.checking.cited import CitedArticle, Reference, References
from pipeline.checking.from_html import read_html

_URL = re.compile(r"https?://[^\s<>)\]\"]+")
_FILE = re.compile(r"\]\(\s*<?([^\s()<>]+\.\w{2,5})>?(?:\s[^()]*)?\)|((?:file:)?[\w./%~-]+\.(?:html?|xhtml|txt|md|pdf))\b")
"""A file as the goal of a link, or by its bare path."""
_FILE_LINK = re.compile(r"\]\(\s*file:(?!//)")
_FOOTNOTE = re.compile(r"^\[\^([^\]\s]+)\]:[ \t]*(.*(?:\n(?:[ ]{2,}|\t).*)*)", re.MULTILINE)
_NUMBERED = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?(?:\[(\d{1,3})\]:?|(\d{1,3})[.)])[ \t]+(.*(?:https?://|\.(?:x?html?|txt|md|pdf)\b).*)$",
    re.MULTILINE,
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_USED = re.compile(r"\[(\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)\](?![(:\[])")


def read_markdown(text: str, known: References | None = None) -> CitedArticle:
    references = known if known is not None else References()
    notes: dict[str, str] = {}
    if references.local:
        text = _FILE_LINK.sub("](", text)  # the scheme is none that Markdown makes a link of

    def taken(match: re.Match[str]) -> str:
        notes.setdefault(match[1], match[2])  # of two definitions the first counts, as on GitHub
        return ""

    def cited(match: re.Match[str]) -> str:
        name = match[1]
        return references.mark(_of(notes[name], references) if name in notes else Reference("", name[:200], kind="undefined"))

    text = _FOOTNOTE.sub(taken, _COMMENT.sub("", text))
    text = re.sub(r"\[\^([^\]\s]+)\]", cited, text)
    listed: dict[int, str] = {}

    def listed_one(match: re.Match[str]) -> str:
        listed.setdefault(int(match[1] or match[2]), match[3])
        return ""

    if _USED.search(_NUMBERED.sub("", text)):
        text = _NUMBERED.sub(listed_one, text)
        text = _USED.sub(lambda m: _marks(m[1], listed, references) or m[0], text)
    rendered = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable("table").render(text)
    return read_html(f"<html><body>{rendered}</body></html>", "Markdown", references)


def _marks(numbers: str, listed: dict[int, str], references: References) -> str:
    return "".join(references.mark(_of(listed[k], references)) for k in map(int, re.findall(r"\d+", numbers)) if k in listed)


def _of(note: str, references: References) -> Reference:
    found = _URL.search(note)
    if found is None and (local := _FILE.search(note)) and (url := references.address(local[1] or local[2])):
        return Reference(url, " ".join(_FILE.sub(" ", note).split()).strip(" <>[]()-–:.")[:200])
    words = " ".join(_URL.sub("", note).split()).strip(" <>[]()-–:.")
    return Reference(found[0].rstrip(".,;") if found else "", words[:200])

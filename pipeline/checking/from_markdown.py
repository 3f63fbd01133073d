"""Markdown and plain text: links, footnotes (`[^1]`), and numbers in brackets with a list of addresses."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

from pipeline.checking.cited import CitedArticle, Reference, References
from pipeline.checking.from_html import read_html

_URL = re.compile(r"https?://[^\s<>)\]\"]+")
_FOOTNOTE = re.compile(r"^\[\^([^\]\s]+)\]:[ \t]*(.*(?:\n(?:[ ]{2,}|\t).*)*)", re.MULTILINE)
_NUMBERED = re.compile(r"^[ \t]*(?:[-*][ \t]+)?(?:\[(\d{1,3})\]:?|(\d{1,3})[.)])[ \t]+(.*https?://.*)$", re.MULTILINE)
_USED = re.compile(r"\[(\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)\](?![(:\[])")


def read_markdown(text: str) -> CitedArticle:
    references = References()
    notes: dict[str, str] = {}

    def taken(match: re.Match[str]) -> str:
        notes[match[1]] = match[2]
        return ""

    text = _FOOTNOTE.sub(taken, text)
    text = re.sub(r"\[\^([^\]\s]+)\]", lambda m: references.mark(_of(notes[m[1]])) if m[1] in notes else m[0], text)
    listed: dict[int, str] = {}

    def listed_one(match: re.Match[str]) -> str:
        listed.setdefault(int(match[1] or match[2]), match[3])
        return ""

    if _USED.search(_NUMBERED.sub("", text)):
        text = _NUMBERED.sub(listed_one, text)
        text = _USED.sub(lambda m: _marks(m[1], listed, references) or m[0], text)
    rendered = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").render(text)
    return read_html(f"<html><body>{rendered}</body></html>", "Markdown", references)


def _marks(numbers: str, listed: dict[int, str], references: References) -> str:
    return "".join(references.mark(_of(listed[k])) for k in map(int, re.findall(r"\d+", numbers)) if k in listed)


def _of(note: str) -> Reference:
    found = _URL.search(note)
    words = " ".join(_URL.sub("", note).split()).strip(" <>[]()-–:.")
    return Reference(found[0].rstrip(".,;") if found else "", words[:200])

"""A model's outline text -> headings; and the headings that the kind of article and its evidence suggest."""

from __future__ import annotations

import re
import textwrap

from data.types import Heading, Outline

MAX_HEADING_WORDS = 10
MAX_LEVEL = 3

_APPARATUS_WORDS = (
    "references reference notes footnotes citations sources bibliography gallery links categories infobox see "
    "also external further reading table contents outline headings heading sections section article proposed suggested title "
    "and of the for lead introduction conclusion paragraph abstract"
)
_APPARATUS = frozenset(_APPARATUS_WORDS.split())
"""A heading of these words only is none: it belongs to an article's frame, or is the model's talk about its answer."""
_CHATTER = re.compile(
    r"here(?:'s| is| are)\b|(?:sure|certainly|absolutely|ok|okay|sorry|apologies|unfortunately)(?:[,.!:]|\Z)|of course\b|"
    r"below (?:is|are)\b|the following\b|based on (?:the|this|your|these)\b|note:|let (?:me|us)\b|hope (?:this|these|it)\b|"
    r"please (?:note|let|find|see)\b|feel free\b|as (?:requested|an ai)\b|would you\b|(?:user|assistant):|"
    r"these (?:headings|sections|are)\b|this (?:outline|article|is|structure)\b|i'(?:ll|m|ve|d)\b|"
    r"i (?:have|will|would|can|cannot|can't|could|hope|do|don't|am|need|was)\b",
    re.I,
)
_OWN_TALK = frozenset({"heading", "headings", "outline", "section", "sections", "article", "structure"})
_MARKS = (
    ("=", re.compile(r"(={1,6})\s*")),
    ("#", re.compile(r"(#{1,6})\s*")),
    ("number", re.compile(r"\(?\d{1,2}((?:\.\d{1,2})+)\.?[)\\]*\s+")),  # 1.1
    ("number", re.compile(r"\(?\d{1,2}(?:\\?[.):]|\s+[-–])(?!\d)\s*()")),  # 1. 1) (1) 1: 1\. 1 -
    ("roman", re.compile(r"[IVX]{1,4}[.)]\s+()")),
    ("letter", re.compile(r"[A-Za-z][.)]\s+()")),
    ("bullet", re.compile(r"[-*•+◦▪●–—]\s+()")),
    ("label", re.compile(r"(?:section|heading|chapter)\s*(?:\d+|[IVX]+)?\s*[:.–-]()\s*", re.I)),
)
_MARKERS = re.compile(r"\[\s*\d[\d,;\s–-]*\]")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,80}>")
_DESCRIPTION = re.compile(r":(?=\s|\Z)|\s[-–—]+\s")
_TITLE_LABEL = re.compile(r"(?:title|article|topic|subject)\s*:", re.I)
_LIST_LABEL = re.compile(r"(?:the |section )*(?:headings?|sections?|outline)[^:,;]{0,30}:\s*(?=\S)", re.I)
_BOLD_LINE = re.compile(r"(\*\*|__)(?!\s)[^*]{2,80}\1:?\s*")
_FULL_HEADING = re.compile(r"\s*(?:(={1,6})\s*([^=].*?)\s*=+|(#{1,6})\s+(.+?)\s*#*|\*\*([^*]{2,80})\*\*:?)\s*")


def parse_outline(title: str, text: str, max_sections: int) -> Outline:
    """Headings of a model's answer, one a line; numbering, markers, repeats and reference sections are dropped.

    Of a nested outline the top level is taken. What follows a colon or a dash is a description, not a heading. A line that
    reads as a sentence, as talk about the answer, or is longer than ten words is no heading. The result may be empty.
    """
    by_mark: dict[str, dict[str, Heading]] = {}
    for line in _lines(text):
        mark, heading = _read(line)
        if heading and same_words(heading) != same_words(title):
            by_mark.setdefault(mark, {}).setdefault(same_words(heading), Heading(heading))
    levels = [list(found.values()) for found in by_mark.values()]  # marks in the order of their first use: outer ones first
    chosen = next((found for found in levels if len(found) > 1), None)
    if chosen is None:
        chosen = list({same_words(h.text): h for found in reversed(levels) for h in reversed(found)}.values())[::-1]
    return Outline(title=title, headings=tuple(chosen[:max_sections]))


def heading_line(line: str) -> Heading | None:
    """The heading that a whole line is marked up as: `==Heading==`, `## Heading` or `**Heading**`; None for any other line.

    One or two marks give level 2, more level 3. The text may be empty when only numbering was marked up.
    """
    match = _FULL_HEADING.fullmatch(line)
    if match is None:
        return None
    equals, wiki, hashes, markdown, bold = match.groups()
    if bold and bold.rstrip().endswith((".", "!", "?")):  # a sentence in bold type
        return None
    level = min(max(len(equals or hashes or "=="), 2), MAX_LEVEL)
    return Heading(clean_heading(wiki or markdown or bold), level)


def clean_heading(text: str) -> str:
    """A heading without numbering, emphasis, quotation marks, tags and citation markers, on one line, capitalised."""
    for _ in range(3):
        text = _strip_marks(_plain(text))[1]
    text = text.strip(" \t=*#_:;,\"'“”„«»‘’-–—")
    return text[:1].upper() + text[1:]


def is_apparatus(heading: str) -> bool:
    """Whether it names a part of an article's frame, such as "References" or "See also", and no subject of its own."""
    words = re.findall(r"\w+", heading.lower())
    return all(word in _APPARATUS for word in words) or words == ["works", "cited"]


def same_words(text: str) -> str:
    """What two headings are compared by."""
    return " ".join(re.findall(r"\w+", text.lower()))


def _lines(text: str) -> list[str]:
    """Lines that may hold a heading each. A JSON list, and a list on one line, are taken apart."""
    if text.lstrip().startswith(("[", "{")) and (quoted := re.findall(r'"([^"\n]{2,80})"', text)):
        return quoted
    lines = [line for line in textwrap.dedent(text).splitlines() if line.strip()]
    found: list[str] = []
    for line in lines:
        label = _LIST_LABEL.match(line.strip())
        listed = line.strip()[label.end() :] if label else line
        parts = [part for part in re.split(r"[,;|]\s*", listed.rstrip(". ")) if part.strip()]
        alone = len(lines) == 1 and len(parts) > 2
        if (label or alone) and len(parts) > 1 and all(len(part.split()) <= 5 for part in parts):
            found += parts
        else:
            found.append(line)
    return found


def _read(line: str) -> tuple[str, str]:
    """(kind of mark with its depth, heading); the heading is empty when the line is none."""
    indent = (len(line) - len(line.lstrip())) // 2
    text = line.strip()
    bold = bool(_BOLD_LINE.fullmatch(text))
    mark, text = _strip_marks(_plain(text))
    marked = bool(mark) or bold
    key = f"{mark or ('bold' if bold else '')}@{0 if mark[:1] in ('=', '#') else indent}"
    if _CHATTER.match(text.replace("’", "'")) or _TITLE_LABEL.match(text):
        return key, ""
    if not marked and text.endswith(":") and _OWN_TALK & set(same_words(text).split()):
        return key, ""
    cut = _DESCRIPTION.search(text)
    described = cut is not None and cut.start() > 0
    if cut is not None and described:
        text = text[: cut.start()]
    if text.endswith(".") and marked and len(text.split()) <= 5:
        text = text[:-1]
    if text.endswith((".", "!", "?", ",")) or (not marked and not described and text[:1].islower() and len(text.split()) > 3):
        return key, ""
    heading = clean_heading(text).replace('"', "")
    words = heading.split()
    if not words or len(words) > MAX_HEADING_WORDS or not heading[0].isalnum() or is_apparatus(heading):
        return key, ""
    return key, heading


def _plain(text: str) -> str:
    text = _MARKERS.sub("", _TAG.sub("", text))
    text = re.sub(r"\*\*|__|`", "", text)
    return " ".join("".join(c for c in text if c.isprintable() or c.isspace()).split()).strip('"“”,')


def _strip_marks(text: str) -> tuple[str, str]:
    """(outermost mark, text without any marks)."""
    outer = ""
    for _ in range(4):
        for name, pattern in _MARKS:
            match = pattern.match(text)
            if match and match.end() < len(text):
                outer = outer or (name * len(match.group(1)) if name in "=#" else name + "." * match.group(1).count("."))
                text = text[match.end() :].strip(' "“”,')
                break
        else:
            break
    return outer, text.rstrip("=# ") if outer[:1] in ("=", "#") else text

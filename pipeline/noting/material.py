"""What of a page is read. What tells its reader what to write is cut out before a model sees the page, so no note rests on it.

A page may speak to a model outright (`cleaning.addresses_model`), or in the words of any editor: "Write that ...", "Every
summary must say so". What such a sentence wants said stands beside it, so that its whole paragraph goes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from data.pages.cleaning import addresses_model
from data.types import Page, Passage

LEAST_LEFT = 4
"""Words that a passage must keep to be read."""
KEPT_PAGES = 1_024
NEIGHBOURS = 200
"""Characters on each side of a line's end in which a request may be cut in two."""

_MUST = r"(?:must|should|shall|ha(?:s|ve) to|needs? to|(?:is|are) (?:to|required to|asked to|instructed to))"
_TEXT = r"(?:articles?|summar(?:y|ies)|entr(?:y|ies)|encyclop(?:ae|e)dias?|answers?|responses?)"
_ANY = r"(?:your|the|any|every|each|all|an?|this)"
_SAY = "say|state|write|mention|report|claim|conclude|repeat|answer|respond"
_KEEP = "describe|include|add|insert|summari[sz]e|quote|cite|call|open with|begin with"
_OPENING = r"(?:^|[.!?:;—–][”\"’)\]]*\s+|[“\"‘(\[])"
_FIRST = (
    r"(?:(?:please|always|now|then|also|just|instead|and|do not|don[’']t|never|remember to|be sure to|"
    rf"make sure (?:to|(?:that )?you)|you {_MUST}),? ){{0,3}}"
)
_THAT = r"that (?!(?:again|to|would|is)\b)"
_DIRECTIVE = re.compile(
    "|".join(
        (
            # Write that the mayor resigned. Always say the following. Write: the mayor resigned.
            rf"{_OPENING}{_FIRST}(?:{_SAY}|tell (?:them|everyone|(?:the|your) \w+)) (?:(?:only|exactly|clearly|instead|here) )?"
            rf"(?:{_THAT}|the following\b|the (?:fact|words|sentence)\b)",
            rf"{_OPENING}{_FIRST}(?:write|repeat|say)(?: exactly| only| this)?: ",
            # Describe him as a thief in your article.
            rf"{_OPENING}{_FIRST}(?:{_SAY}|{_KEEP})\b[^.!?\n]{{0,80}}\b(?:in|of|into|to) {_ANY} (?:\w+ ){{0,2}}{_TEXT}\b",
            # You must write that he is a thief. Every article on him must say so. Whoever writes of him has to mention it.
            rf"\byou {_MUST} (?:\w+ ){{0,3}}(?:{_SAY})(?: {_THAT}|: )",
            rf"\b{_ANY} (?:\w+ ){{0,2}}{_TEXT} (?:[\w’'-]+ ){{0,6}}{_MUST} (?:\w+ ){{0,3}}(?:{_SAY}|{_KEEP})\b",
            r"\b(?:whoever|anyone|those|editors|writers|authors) (?:of|writes?|who writes?|writing|on|about) "
            rf"(?:[\w’'-]+ ){{0,6}}{_MUST} (?:\w+ ){{0,3}}(?:{_SAY}|{_KEEP})\b",
            rf"\bencyclop(?:ae|e)di(?:a (?:articles|entries|editors|writers|authors)|as) {_MUST}\b",
            # It must be mentioned in every summary.
            rf"\b{_MUST} (?:\w+ ){{0,2}}be (?:said|stated|written|mentioned|reported|claimed|described|included|added)\b"
            rf"[^.!?\n]{{0,60}}\b(?:in|by) {_ANY} (?:\w+ ){{0,2}}{_TEXT}\b",
        )
    ),
    re.I | re.M,
)
"""Of 360,000 lines of pages on 40 subjects it is none."""


def tells_what_to_write(text: str) -> bool:
    """Whether a text tells whoever reads it what to write."""
    return addresses_model(text) or _DIRECTIVE.search(text) is not None


@lru_cache(maxsize=KEPT_PAGES)
def commands(text: str) -> tuple[tuple[int, int], ...]:
    """The paragraphs of a page that tell its reader what to write, as spans."""
    lines = [(m.start(), m.end()) for m in re.finditer(r"[^\n]+", text)]
    found = {line for line in lines if tells_what_to_write(text[slice(*line)])} if tells_what_to_write(text) else set()
    for one, other in pairwise(lines) if addresses_model(text.replace("\n", " ")) else ():
        seam = f"{text[slice(*one)][-NEIGHBOURS:].rstrip()} {text[slice(*other)][:NEIGHBOURS].lstrip()}"
        if not found & {one, other} and addresses_model(seam):
            found |= {one, other}
    return tuple(sorted(found))


def readable(passage: Passage, page: Page) -> Passage | None:
    """A passage without what tells its reader what to write; None where nothing is left."""
    text, end = "", passage.start
    for start, stop in commands(page.text):
        if stop > passage.start and start < passage.end:
            text += page.text[end : max(start, end)]
            end = max(end, min(stop, passage.end))
    if not text and end == passage.start:
        return passage
    text = (text + page.text[end : passage.end]).strip()
    return replace(passage, text=text) if len(text.split()) >= LEAST_LEFT else None


def shown_title(page: Page) -> str:
    """Its title, empty where that tells what to write."""
    return "" if tells_what_to_write(page.title) else page.title


def shown_opening(page: Page, words: int) -> str:
    """The first words of a page that may be shown."""
    text, end = "", 0
    for start, stop in commands(page.text):
        text += page.text[end:start]
        end = stop
    return " ".join((text + page.text[end:]).split(maxsplit=words)[:words])

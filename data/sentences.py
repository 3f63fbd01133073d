"""The one sentence splitter, shared by the writer and the metrics, so that both count the same units.

Boundaries come from `sentencex` (Wikimedia), which keeps offsets and needs no model. Three adaptations, because a wrong
boundary here becomes a citation on half a sentence: a newline always ends a sentence; a boundary after an abbreviation
that cannot end one ("Ms. Lee", "ed. by") is taken back; citation markers stay with the sentence they follow.
"""

from __future__ import annotations

import re
from typing import NamedTuple

SPLITTER = "sentencex-1+abbr"
"""Part of the signature of every score that counts sentences."""

_NEVER_FINAL = re.compile(
    r"(?:^|[\s(\"“'‘])(?:Mr|Mrs|Ms|Mx|Dr|Prof|Rev|Hon|Fr|Sr\. Dr|St|Gen|Col|Lt|Capt|Sgt|Cmdr|Adm|Gov|Sen|Rep|Pres|No|Nos|Vol"
    r"|pp?|ed|eds|trans|c|ca|cf|vs|v|e\.g|i\.e|approx|est|Fig|figs?|Mt|Ft|Sec|Art|Ch|Op|al)\.\s*$"
)
_LOWER_START = re.compile(r"[\"“'‘(]*[a-z]")
_MARKERS = re.compile(r"\s*(?:\[\d+(?:\s*[,–-]\s*\d+)*\]\s*)+")


class Span(NamedTuple):
    """Offsets of one sentence, without surrounding white space."""

    start: int
    end: int


def split_spans(text: str) -> list[Span]:
    """Sentences of `text` as character offsets, in order. Blank text gives an empty list."""
    spans: list[Span] = []
    offset = 0
    for line in text.split("\n"):
        spans += _line_spans(line, offset)
        offset += len(line) + 1
    return spans


def split_sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_spans(text)]


def _line_spans(line: str, offset: int) -> list[Span]:
    if not line.strip():
        return []
    from sentencex import segment  # compiled; loaded on use

    pieces: list[str] = []
    for piece in segment("en", line):
        if pieces and (_NEVER_FINAL.search(pieces[-1]) or _LOWER_START.match(piece.lstrip())):
            pieces[-1] += piece
        elif pieces and (markers := _MARKERS.match(piece)) and not pieces[-1].isspace():
            pieces[-1] += markers.group()  # "... dead.[1] The ..." : the marker belongs to what it follows
            if rest := piece[markers.end() :]:
                pieces.append(rest)
        else:
            pieces.append(piece)
    if "".join(pieces) != line:  # the library dropped or changed characters: offsets would lie
        pieces = [line]
    spans, at = [], offset
    for piece in pieces:
        stripped = piece.strip()
        if stripped:
            start = at + piece.index(stripped[0])
            spans.append(Span(start, start + len(stripped)))
        at += len(piece)
    return spans

"""What pages call things: how reliable a host is, what was repaired, what to look at."""

from __future__ import annotations

from collections.abc import Mapping

from data.types import PageFlag, RepairKind
from pipeline.web.reliability import Reliability

RATINGS: Mapping[Reliability, str] = {
    "reliable": "Generally reliable",
    "unreliable": "Generally unreliable",
    "deprecated": "Deprecated",
}
"""Of publishers, in the words of Wikipedia's perennial-sources list."""
REPAIRS: Mapping[RepairKind, str] = {
    "marker_dropped": "Citation removed",
    "citation_attached": "Citation added",
    "sentence_removed": "Sentence removed",
    "sentence_marked": "Sentence marked as unsupported",
    "section_removed": "Section removed",
    "outline_filled": "Outline completed",
    "sentence_replaced": "Sentence replaced",
    "sentence_added": "Sentence added",
}
WARNINGS: Mapping[PageFlag, str] = {
    "suspicious": "This page contains text addressed to language models.",
    "hidden_text": "This page contained text hidden from its readers; that text was removed.",
    "scan_text": "This file is a scan: the text behind its pictures was read, and nobody has compared it with what they show.",
    "leak_flag": "Parts of this page match an encyclopedia article.",
}
"""Flags worth a reader's attention; the others say nothing about trust."""

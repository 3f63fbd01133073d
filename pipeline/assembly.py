"""Lead + sections -> Article: sources in order of first use, nothing cited twice under two numbers."""

from __future__ import annotations

from collections.abc import Sequence

from data.errors import StageError
from data.types import Article, Fact, Passage, Repair, Section, Source
from pipeline.evidence import Evidence


def assemble(
    evidence: Evidence,
    lead: Section,
    sections: Sequence[Section],
    *,
    infobox: Sequence[Fact] = (),
    repairs: Sequence[Repair] = (),
) -> Article:
    """Raises StageError when nothing was written. A section without sentences is left out."""
    kept = tuple(section for section in sections if section.sentences)
    if not lead.sentences and not kept:
        raise StageError("assembly", f"no sentence about {evidence.event.title!r} is left")
    by_id: dict[str, Passage] = {passage.id: passage for passage in evidence.passages}
    sources: dict[str, Source] = {}
    cites = [c for fact in infobox for c in fact.cites]
    for section in (lead, *kept):
        for sentence in section.sentences:
            for cite in sentence.cites:
                if cite not in sources:
                    sources[cite] = evidence.source(by_id[cite])
    for cite in cites:  # the infobox stands beside the text, so its own sources come last
        if cite not in sources:
            sources[cite] = evidence.source(by_id[cite])
    return Article(
        event_id=evidence.event.id,
        title=evidence.event.title,
        lead=lead,
        sections=kept,
        infobox=tuple(infobox),
        sources=tuple(sources.values()),
        repairs=tuple(repairs),
    )

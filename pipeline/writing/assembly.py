"""Lead + sections -> Article: sources in order of first use, one number each, no more words than asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from data.errors import StageError
from data.types import Article, Fact, Heading, Paragraph, Repair, Section, Sentence, Source, Strict
from pipeline.evidence import Evidence

LEAD_HEADING = Heading(text="", level=1)
"""The lead has no heading of its own."""
PARAGRAPH_SENTENCES = 6


@dataclass(frozen=True, slots=True)
class WrittenSection(Strict):
    """A checked section with what the checking changed."""

    section: Section
    repairs: tuple[Repair, ...]


def assemble(
    evidence: Evidence,
    lead: Section,
    sections: Sequence[Section],
    *,
    infobox: Sequence[Fact] = (),
    repairs: Sequence[Repair] = (),
) -> Article:
    """Raises StageError when nothing was written, or a cited passage is none of the event's. A section without sentences is
    left out."""
    kept = tuple(section for section in sections if section.sentences)
    if not lead.sentences and not kept:
        raise StageError("assembly", f"no sentence about {evidence.event.title!r} is left")
    cites = [c for section in (lead, *kept) for sentence in section.sentences for c in sentence.cites]
    cites += [c for fact in infobox for c in fact.cites]  # read beside the text, so numbered last
    by_id = {passage.id: passage for passage in evidence.passages}
    sources: dict[str, Source] = {}
    for cite in dict.fromkeys(cites):
        if cite not in by_id:
            why = f"{cite} is cited, but no passage of {evidence.event.id} is called so; choose another --out"
            raise StageError("assembly", why)
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


def paragraphs_of(sentences: Sequence[Sentence]) -> tuple[Paragraph, ...]:
    """Paragraphs of at most `PARAGRAPH_SENTENCES` sentences, as even as can be."""
    if not sentences:
        return ()
    n = -(-len(sentences) // PARAGRAPH_SENTENCES)
    step = -(-len(sentences) // n)
    return tuple(tuple(sentences[at : at + step]) for at in range(0, len(sentences), step))


def within_words(
    lead: Section, sections: Sequence[Section], max_words: int
) -> tuple[Section, tuple[Section, ...], tuple[Repair, ...]]:
    """Lead and sections cut to `max_words` words, and the parts cut.

    The longest part loses its last sentence until all fits, so that no subject is given up for another's length; when every
    part has one sentence left, the last section goes. One sentence always stays.
    """
    parts = [lead, *sections]
    lengths = [sum(_words(s) for s in part.sentences) for part in parts]
    removed: list[tuple[int, Sentence]] = []
    while sum(lengths) > max_words and sum(len(part.sentences) for part in parts) > 1:
        shortenable = [i for i, part in enumerate(parts) if len(part.sentences) > 1]
        # of equal parts the later one; a lone sentence goes from the end of the article
        at = max(shortenable, key=lambda i: (lengths[i], i)) if shortenable else max(i for i, n in enumerate(lengths) if n)
        last = parts[at].sentences[-1]
        parts[at] = _without_last(parts[at])
        lengths[at] -= _words(last)
        removed.append((at, last))
    removed.reverse()  # back to reading order within a part
    repairs = [
        Repair("sentence_removed", parts[at].heading.text, sentence.text, f"the article is longer than {max_words} words")
        for at, sentence in sorted(removed, key=lambda x: x[0])
    ]
    return parts[0], tuple(parts[1:]), tuple(repairs)


def _without_last(section: Section) -> Section:
    *before, last = section.paragraphs
    return replace(section, paragraphs=(*before, last[:-1]) if len(last) > 1 else tuple(before))


def _words(sentence: Sentence) -> int:
    return len(sentence.text.split())

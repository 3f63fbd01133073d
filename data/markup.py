"""Articles as text with numbered markers, and back: the only place where the numbers `[k]` exist.

The form is WikiGenBench's (arXiv 2402.18264, and its released scripts): headings `==Name==` on a line of their own, and
after each sentence its markers, which touch (`Sentence.[1][2] Next.`). Their citation unit is "the text up to the next run
of markers", so a space inside a run would make an empty claim, and a marker-like `[12]` in the words a false one.

Read back, these are not restored: infobox, repairs, `unsupported`, the lead's own heading, white space inside a sentence.
Sentence boundaries are those of `data.sentences`, and one more wherever markers follow a full stop.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from data.sentences import split_spans
from data.types import Article, Heading, Paragraph, Section, Sentence, Source

INVALID = "invalid:"
"""Starts the cite id of a marker that names no source: `[99]` of 5 sources is read as `invalid:99`."""

MAX_RANGE = 20
"""`[3-5]` stands for three markers; a longer range than this is cut, so that `[1-999]` cannot cite everything."""

MOST_READINGS = 10
MOST_CLOSING = 10
"""Quotation marks and brackets between a full stop and its marker."""

_ITEM = r"-?\d{1,6}(?:\s*[–—-]\s*\d{1,6})?"
_MARKER = rf"\[\s*{_ITEM}(?:\s*[,;]\s*{_ITEM})*\s*\]"
_RUN = re.compile(rf"[^\S\n]*{_MARKER}(?:[^\S\n]*[,;]?[^\S\n]*{_MARKER})*")
_NUMBERS = re.compile(r"(-?\d+)(?:\s*[–—-]\s*(\d+))?")
_BLANKS = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r"\n(?: ?\n)+")
_ORPHANS = re.compile(rf"\n\s*(?={_MARKER}(?:\s*{_MARKER})*[^\S\n]*(?:\n|\Z))")
_HEADING = re.compile(r"(={2,6})(.+?)\1(?!=)(.*)")
_STOPS, _CLOSING = ".!?…。！？", "\"'”’»)]"
_FRESH = re.compile(r"\s+(?![\"“'‘(]*[a-z])\S")
_SECOND_STOP = re.compile(r"\s*\.(?=\s|\[|\Z)")
_GROUP = re.compile(r"\[(\s*-?\s*\d[^\[\]]*)\]")
_OPENING = re.compile(r"\[(?=\s*-?\s*(?:\d|\Z))")


def number(article: Article) -> dict[str, int]:
    """Passage id -> k, the number its markers carry; counted from 1 in the order of `article.sources`."""
    numbers: dict[str, int] = {}
    for k, source in enumerate(article.sources, 1):
        numbers.setdefault(source.id, k)
    return numbers


def is_invalid(cite: str) -> bool:
    """Whether a cite id stands for a marker that named no source."""
    return cite.startswith(INVALID)


def render_text(article: Article) -> str:
    """The article in WikiGenBench form: lead first, one heading or paragraph a line, no infobox.

    Words of a sentence or heading cannot be read as markup: white space becomes single spaces, brackets around a number
    become parentheses (`[12]` -> `(12)`: a year in a quotation must stay readable), and the equals signs that would make a
    paragraph a heading are dropped. Raises ValueError when a sentence cites something that is no source.
    """
    numbers = number(article)
    lines = [_render_paragraph(paragraph, article, numbers) for paragraph in article.lead.paragraphs]
    for section in article.sections:
        lines.append(_render_heading(section.heading))
        lines += (_render_paragraph(paragraph, article, numbers) for paragraph in section.paragraphs)
    return "\n".join(line for line in lines if line)


def parse_text(text: str, sources: Sequence[Source], event_id: str, title: str) -> Article:
    """Read text in WikiGenBench form, ours or another system's; `[k]` means `sources[k - 1]`.

    Markers may be before or after the full stop, apart from it, and as `[3][4]`, `[3, 4]` or `[3-5]`. A number without
    a source, 0 and negative ones included, is kept as the cite id `invalid:N` so that metrics can count it. Text on the
    line of a heading is its first paragraph; markers on a heading are dropped, for a heading claims nothing.
    """
    sections = [Section(Heading(""), ())]
    text = _BLANK_LINES.sub("\n", _BLANKS.sub(" ", text))  # a long run of white space would be read once for each of its places
    for line in _ORPHANS.sub("", text).split("\n"):
        parsed = _parse_heading(line)
        if parsed is not None:
            heading, line = parsed
            sections.append(Section(heading, ()))
        paragraph = tuple(Sentence(words, tuple(_cites(marks, sources))) for words, marks in _parse_line(line))
        if paragraph:
            sections[-1] = Section(sections[-1].heading, (*sections[-1].paragraphs, paragraph))
    return Article(
        event_id=event_id, title=title, lead=sections[0], sections=tuple(sections[1:]), infobox=(), sources=tuple(sources)
    )


def reread(article: Article) -> Article:
    """The article with the paragraphs, sentences and headings that its text form is read back with. Infobox and repairs stay.

    Everybody's sentences are scored so, for an article made elsewhere has no others: whoever wrote the article, its sentences
    are those that a reader of its text would find. Signs without words may come out otherwise when they are written and read
    once more, so that is done until nothing changes: an article that was read back already stays as it is.
    """
    again = article
    for _ in range(MOST_READINGS):
        before, again = again, parse_text(render_text(again), article.sources, article.event_id, article.title)
        if (again.lead, again.sections) == (before.lead, before.sections):
            break
    doubted = {_harmless(s.text) for section in article.all_sections for s in section.sentences if s.unsupported}

    def marked(section: Section) -> Section:
        paragraphs = (tuple(replace(s, unsupported=s.text in doubted) for s in one) for one in section.paragraphs)
        return replace(section, paragraphs=tuple(paragraphs))

    return replace(article, lead=marked(again.lead), sections=tuple(marked(section) for section in again.sections))


def parse_markers(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """Sentences of `text`, each with the numbers of its markers: without repetition, in order, not checked against sources.

    Markers belong to the sentence they follow; at the start of a line, to the sentence that comes after them; alone on a
    line, to the sentence before. A number in brackets is always taken for a marker, a year in a quotation too.
    """
    return [pair for line in _ORPHANS.sub("", text).split("\n") for pair in _parse_line(line)]


def _render_paragraph(paragraph: Paragraph, article: Article, numbers: Mapping[str, int]) -> str:
    sentences = []
    for sentence in paragraph:
        if words := _harmless(sentence.text):
            sentences.append(words + "".join(f"[{_number_of(cite, article, numbers)}]" for cite in sentence.cites))
    line = " ".join(sentences)
    return line.lstrip("= ") if _parse_heading(line) is not None else line


def _render_heading(heading: Heading) -> str:
    name = re.sub(r"=\s*=+", "=", _harmless(heading.text)).strip("= ")
    fence = "=" * min(max(heading.level, 2), 6)
    return f"{fence}{name}{fence}" if name else ""


def _harmless(words: str) -> str:
    """Words that hold nothing to be read as a marker, also when other words follow."""
    line = " ".join(words.split())
    return _OPENING.sub("(", _GROUP.sub(r"(\1)", line))


def _number_of(cite: str, article: Article, numbers: Mapping[str, int]) -> int:
    if cite in numbers:
        return numbers[cite]
    if not is_invalid(cite):
        raise ValueError(f"a sentence of event {article.event_id} cites {cite!r}, which is not among its sources")
    # A marker that was invalid among the few sources of its own section must not become valid among those of all.
    wrong = int(cite.removeprefix(INVALID))
    return wrong + len(article.sources) if 1 <= wrong <= len(article.sources) else wrong


def _parse_heading(line: str) -> tuple[Heading, str] | None:
    match = _HEADING.fullmatch(line.strip())
    if match is None:
        return None
    fence, name, rest = match.groups()
    words = " ".join(_RUN.sub("", name).strip("= ").split())
    return (Heading(words, len(fence)), rest) if words else None


def _parse_line(line: str) -> list[tuple[str, tuple[int, ...]]]:
    plain, marks = _without_markers(line)
    spans = _spans(plain, [at for at, _ in marks])
    if not spans:
        return []
    numbers: list[list[int]] = [[] for _ in spans]
    starts = [start for start, _ in spans]
    for at, found in marks:
        numbers[max(bisect_left(starts, at) - 1, 0)] += found
    return [(" ".join(plain[a:b].split()), tuple(dict.fromkeys(ks))) for (a, b), ks in zip(spans, numbers, strict=True)]


def _without_markers(line: str) -> tuple[str, list[tuple[int, list[int]]]]:
    """The line without its markers, and for each run of markers where it was in that line, and its numbers."""
    plain, marks, end = "", [], 0
    for run in _RUN.finditer(line):
        plain += line[end : run.start()]
        end = run.end()
        marks.append((len(plain), _read_numbers(run.group())))
        if _has_ended(plain, len(plain)):
            if stop := _SECOND_STOP.match(line, end):  # "dead.[1]." : one full stop is enough
                end = stop.end()
            if end < len(line) and line[end].isalnum():  # "dead.[1]The ..."
                plain += " "
    return plain + line[end:], marks


def _read_numbers(run: str) -> list[int]:
    numbers: list[int] = []
    for match in _NUMBERS.finditer(run):
        first, last = int(match[1]), int(match[2] or match[1])
        numbers += range(first, min(last, first + MAX_RANGE - 1) + 1) if first <= last else (first, last)
    return numbers


def _spans(plain: str, marked: Iterable[int]) -> list[tuple[int, int]]:
    """Sentences of a line. Where markers follow a full stop a sentence has ended, whatever the splitter thinks."""
    cuts = [at for at in marked if _has_ended(plain, at) and _FRESH.match(plain, at)]
    spans = []
    for start, end in split_spans(plain):
        edges = [start, *cuts[bisect_right(cuts, start) : bisect_left(cuts, end)], end]
        spans += [_trimmed(plain, a, b) for a, b in pairwise(edges)]
    return spans


def _has_ended(plain: str, at: int) -> bool:
    """Whether the words before a place end with a full stop, in a quotation or brackets perhaps."""
    least = max(at - MOST_CLOSING, 0)  # what closes more, a marker after each, would be gone through once for each
    while at > least and plain[at - 1] in _CLOSING:
        at -= 1
    return at > 0 and plain[at - 1] in _STOPS


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())


def _cites(numbers: Iterable[int], sources: Sequence[Source]) -> list[str]:
    return [sources[k - 1].id if 1 <= k <= len(sources) else f"{INVALID}{k}" for k in numbers]

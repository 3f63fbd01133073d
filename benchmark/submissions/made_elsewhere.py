"""Articles made elsewhere as a system of the benchmark: WikiGenBench files in, articles that cite the evidence out."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmark.submissions.submission_faults import some
from data import codec, wikigenbench
from data.errors import StageError, UserError
from data.markup import is_invalid
from data.stage_types import ARTICLE, Stages
from data.types import Article, Event, Page, Paragraph, Passage, Section, Source, is_unknown

LEAST_SQUASHED = 20
"""Letters and digits of a text that is looked for without its white space and punctuation: a shorter one may be anywhere."""


class ArticleFiles:
    """`<event id>.json` for each event, read once; an event without a file fails and stays in every mean."""

    def __init__(self, folder: Path, name: str) -> None:
        try:
            files = sorted(path for path in folder.iterdir() if path.suffix == ".json" and not path.name.startswith("."))
            digest = codec.sha256("\n".join(f"{path.name} {_digest(path)}" for path in files))
        except OSError as error:
            raise UserError(
                f"cannot read {folder}: {error.strerror}; name a folder with one <event id>.json an event"
            ) from None
        if not files:
            raise UserError(f"{folder} holds no <event id>.json; {wikigenbench.FORM}")
        self.name = name
        self.identity: Mapping[str, str] = {"articles": digest[:16], "articles_form": "wikigenbench/2"}
        self._folder = folder
        self._files = {path.stem: path for path in files}

    @property
    def event_ids(self) -> tuple[str, ...]:
        return tuple(self._files)

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        path = self._files.get(event.id)
        if path is None:
            raise StageError("articles", f"there is no {event.id}.json")
        try:
            article = wikigenbench.read(path, event.id, event.title)
        except UserError as error:
            raise StageError("articles", str(error).replace(str(path), path.name)) from None
        return stages.once(ARTICLE, lambda: located(article, pages))


def located(article: Article, pages: Sequence[Page]) -> Article:
    """The article with each source found in the pages: same text, but with its page's number, address and title.

    What differs in white space, case or punctuation alone is taken from the page. A text that no usable page holds stays as
    it was given, numbered beyond the pages: `is_own` says. So does a source whose text nobody has: it stays a source, with an
    empty passage.
    """
    search = _Search(pages)
    found = [search.find(source) or _own(source, len(pages) + n) for n, source in enumerate(article.sources)]
    ids = {old.id: new.id for old, new in zip(article.sources, found, strict=True)}
    return replace(
        article,
        lead=_recited(article.lead, ids),
        sections=tuple(_recited(section, ids) for section in article.sections),
        sources=tuple({source.id: source for source in found}.values()),
    )


def _digest(path: Path) -> str:
    """Of the file, or of why it cannot be read: then its event alone fails."""
    try:
        return codec.sha256_bytes(codec.read_bounded(path, wikigenbench.MOST_FILE_BYTES))
    except UserError as error:
        return codec.sha256(str(error).replace(str(path), path.name))


@dataclass(frozen=True, slots=True)
class Oddities:
    """What the reader of an article's scores should know of it: counts, over the whole article.

    `n_sources` are those it lists: `n_own` of them are in no usable page, and of those the text of `n_unknown` is not known.
    `n_invalid` of its `n_citations` name no source. `n_foreign` of its `n_sentences` have mostly letters that are not Latin.
    """

    n_sources: int
    n_own: int
    n_unknown: int
    n_citations: int
    n_invalid: int
    n_sentences: int
    n_foreign: int


def oddities(article: Article, n_pages: int) -> Oddities:
    """Of an article as `located` leaves it."""
    sentences = [sentence for section in article.all_sections for sentence in section.sentences]
    cites = [cite for sentence in sentences for cite in sentence.cites]
    return Oddities(
        n_sources=len(article.sources),
        n_own=sum(is_own(source, n_pages) for source in article.sources),
        n_unknown=sum(map(is_unknown, article.sources)),
        n_citations=len(cites),
        n_invalid=sum(map(is_invalid, cites)),
        n_sentences=len(sentences),
        n_foreign=sum(_is_foreign(sentence.text) for sentence in sentences),
    )


def remarks(found: Mapping[str, Oddities]) -> list[str]:
    """One line for each kind of oddity in the articles of a run, by event id: what it is, and what it does to the scores."""
    lines = []
    if n := sum(one.n_unknown for one in found.values()):
        of = sum(one.n_sources for one in found.values())
        lines.append(
            f"{n} of {of} cited texts are not known (empty in `retrieve`): whether they support is unknown, so sentences that "
            "cite them are not judged; judged_share says how many were"
        )
    if n := sum(one.n_invalid for one in found.values()):
        of = sum(one.n_citations for one in found.values())
        where = [event_id for event_id, one in found.items() if one.n_invalid]
        lines.append(f"{n} of {of} citations name no source of `retrieve`, and count as wrong: in {some(where)}")
    if where := [event_id for event_id, one in found.items() if one.n_sentences and not one.n_citations]:
        lines.append(f"{len(where)} articles cite nothing, so none of their sentences is supported: {some(where)}")
    if where := [event_id for event_id, one in found.items() if not one.n_sentences]:
        lines.append(f"{len(where)} articles have no sentence, and score as an article that is not there: {some(where)}")
    if where := [event_id for event_id, one in found.items() if 2 * one.n_foreign > one.n_sentences]:
        lines.append(
            f"{len(where)} articles are mostly not in Latin letters, of which the metrics, made for English, read little: "
            f"{some(where)}"
        )
    return lines


def _is_foreign(text: str) -> bool:
    letters = [c for c in text if c.isalpha()]
    return 2 * sum("LATIN" in unicodedata.name(c, "") for c in letters) < len(letters)


def is_own(source: Source, n_pages: int) -> bool:
    """Whether a source of `located` is not in the pages."""
    return source.passage.page >= n_pages


def _own(source: Source, number: int) -> Source:
    return replace(source, passage=replace(source.passage, page=number))


def _recited(section: Section, ids: Mapping[str, str]) -> Section:
    def paragraph(sentences: Paragraph) -> Paragraph:
        return tuple(replace(s, cites=tuple(dict.fromkeys(ids.get(cite, cite) for cite in s.cites))) for s in sentences)

    return replace(section, paragraphs=tuple(paragraph(sentences) for sentences in section.paragraphs))


class _Search:
    """Finds a text in an event's usable pages, in the page of its address first."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self._pages = [(n, page) for n, page in enumerate(pages) if page.usable]
        self._squashed: dict[int, tuple[str, list[int]]] = {}

    def find(self, source: Source) -> Source | None:
        text = source.passage.text.strip()
        pages = sorted(self._pages, key=lambda item: not source.url or item[1].url != source.url)
        for n, page in pages if text else ():
            if (start := page.text.find(text)) >= 0:
                return _cut(n, page, start, start + len(text))
        squashed, _ = _squash(text)
        for n, page in pages if len(squashed) >= LEAST_SQUASHED else ():
            if n not in self._squashed:
                self._squashed[n] = _squash(page.text)
            whole, places = self._squashed[n]
            if (at := whole.find(squashed)) >= 0:
                return _cut(n, page, places[at], places[at + len(squashed) - 1] + 1)
        return None


def _cut(n: int, page: Page, start: int, end: int) -> Source:
    return Source(Passage(n, start, end, page.text[start:end]), page.url, page.title, page.published)


def _squash(text: str) -> tuple[str, list[int]]:
    """Letters and digits in lower case, and where each was."""
    kept = [(low, at) for at, character in enumerate(text) if character.isalnum() for low in character.lower()]
    return "".join(low for low, _ in kept), [at for _, at in kept]

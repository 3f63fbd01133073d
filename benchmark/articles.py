"""Articles made elsewhere as a system of the benchmark: WikiGenBench files in, articles that cite the evidence out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from data import codec, wikigenbench
from data.errors import StageError, UserError
from data.runs import Stages
from data.types import Article, Event, Page, Paragraph, Passage, Section, Source

LEAST_SQUASHED = 20
"""Letters and digits of a text that is looked for without its white space and punctuation: a shorter one may stand anywhere."""


class ArticleFiles:
    """`<event id>.json` for each event, read once; an event without a file fails and stays in every mean."""

    def __init__(self, folder: Path, name: str) -> None:
        try:
            files = sorted(path for path in folder.iterdir() if path.suffix == ".json" and not path.name.startswith("."))
            digest = codec.sha256("\n".join(f"{path.name} {codec.sha256_bytes(path.read_bytes())}" for path in files))
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
        return stages.once("article", Article, lambda: located(article, pages))


def located(article: Article, pages: Sequence[Page]) -> Article:
    """The article with each source found in the pages: same text, but with its page's number, address and title.

    What differs in white space, case or punctuation alone is taken from the page. A text that no usable page holds stays as
    it was given, numbered beyond the pages: `is_own` tells. So does a source whose text nobody has: it stays a source, with an
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
    """Letters and digits in lower case, and where each stood."""
    kept = [(low, at) for at, character in enumerate(text) if character.isalnum() for low in character.lower()]
    return "".join(low for low, _ in kept), [at for _, at in kept]

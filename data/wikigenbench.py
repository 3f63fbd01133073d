"""WikiGenBench's article files, `<event id>.json` with `{"text", "retrieve"}`: write, read, validate.

Form as in the benchmark's released generation and metric scripts (arXiv 2402.18264): `[k]` counts from 1 into `retrieve`.
Three shapes occur and are read; only the first is written:

    one text, a list of chunks              {"text": "..[2]..", "retrieve": ["..", ".."]}
    one text, a list of [title, url, chunk] {"text": "..[2]..", "retrieve": [["Title", "https://..", ".."]]}
    a list of texts, each with its own list {"text": ["==A==\\n..[1]"], "retrieve": [[".."]]}

A chunk that is empty, or says `(the text of ADDRESS is not in this folder)`, is a source whose text is not known
(`data.types.is_unknown`): cited, and open to no judge.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from data import codec
from data.errors import UserError
from data.markup import parse_text, render_text
from data.types import Article, Passage, Section, Source

MOST_FILE_BYTES = 32 * 2**20
"""Of an article's file with the texts that it cites."""
MOST_CHARS, MOST_WORDS = 500_000, 50_000
"""Of an article without what it cites. The longest human article on a topic of the benchmark has some 15,000 words."""
_NO_TEXT = re.compile(r"\(the text of (\S+) is not in this folder\)")

FORM = 'an article file is {"text": "==Heading==\\nSentence.[1]", "retrieve": ["text of source 1"]}'


def to_wikigenbench(article: Article) -> str:
    """The article as their JSON. The infobox has no place in it.

    All characters are ASCII: their scripts open files in the locale's encoding, which need not be UTF-8.
    """
    retrieve = [source.passage.text for source in article.sources]
    return json.dumps({"text": render_text(article), "retrieve": retrieve}, ensure_ascii=True) + "\n"


def write(path: Path, article: Article) -> None:
    """Write `article` to `path`, whole or not at all."""
    codec.write_atomic(path, to_wikigenbench(article))


def read(path: Path, event_id: str, title: str) -> Article:
    """An article from any system's file. Keys other than the two are ignored (their own files carry `key` and `outline`).

    The chunks become sources in file order, over all sections: the i-th, counted from 0, is a passage of "page" i, with
    the url and title the file gives or "", and without text where the file says that it is UNKNOWN. A section's text without
    a heading continues the section before it. Raises UserError, naming the file and the place, for files that are in none of
    the three shapes.
    """
    value = _load(path)
    text, retrieve = value["text"], value["retrieve"]
    parts = (
        [text] if isinstance(text, str) else [part for part in text if isinstance(part, str)] if isinstance(text, list) else []
    )
    if why := _too_long(parts):
        raise UserError(f"{path}: its text {why}")
    if not isinstance(retrieve, list):
        raise _bad(path, f'"retrieve" is {_kind(retrieve)}, not a list')
    if isinstance(text, str):
        return parse_text(text, _sources(path, retrieve, 0, '"retrieve"'), event_id, title)
    if not isinstance(text, list):
        raise _bad(path, f'"text" is {_kind(text)}, not a string or a list of strings')
    if len(text) != len(retrieve):
        raise _bad(path, f'"text" has {len(text)} parts but "retrieve" has {len(retrieve)} lists, one a part is needed')
    article = parse_text("", (), event_id, title)
    for i, (part, chunks) in enumerate(zip(text, retrieve, strict=True)):
        if not isinstance(part, str):
            raise _bad(path, f'"text"[{i}] is {_kind(part)}, not a string')
        if not isinstance(chunks, list):
            raise _bad(path, f'"retrieve"[{i}] is {_kind(chunks)}, not a list: with a list of texts each has its own chunks')
        sources = _sources(path, chunks, len(article.sources), f'"retrieve"[{i}]')
        article = _joined(article, parse_text(part, sources, event_id, title))
    return article


def too_long(article: Article) -> str:
    """Why an article is longer than is read, or nothing."""
    return _too_long([text for s in article.all_sections for text in (s.heading.text, *(one.text for one in s.sentences))])


def _too_long(texts: list[str]) -> str:
    n_chars = sum(map(len, texts))
    if n_chars > MOST_CHARS:
        return f"has {n_chars:,} characters, at most {MOST_CHARS:,} are read; shorten it"
    n_words = sum(len(text.split()) for text in texts)
    return f"has {n_words:,} words, at most {MOST_WORDS:,} are read; shorten it" if n_words > MOST_WORDS else ""


def _load(path: Path) -> dict[str, Any]:
    try:
        content = codec.read_bounded(path, MOST_FILE_BYTES)
    except UserError as error:
        raise UserError(f"{error}; name a folder with one <event id>.json an event") from None
    try:
        value = codec.json_of(content, where="it")
    except UserError as error:
        raise _bad(path, f"not JSON ({str(error).removeprefix('it is not JSON: ')})") from None
    if not isinstance(value, dict):
        raise _bad(path, f"holds {_kind(value)}, not an object")
    if missing := [key for key in ("text", "retrieve") if key not in value]:
        raise _bad(path, f"has no {' and no '.join(repr(key) for key in missing)}, only {sorted(value)}")
    return value


def _sources(path: Path, chunks: list[Any], first: int, where: str) -> tuple[Source, ...]:
    sources = []
    for i, chunk in enumerate(chunks):
        match chunk:
            case str(text):
                title = url = ""
            case [str(title), str(url), str(text)]:
                pass
            case _:
                raise _bad(path, f"{where}[{i}] is {_kind(chunk)}, not a string or [title, url, text]")
        if absent := _NO_TEXT.fullmatch(text.strip()):
            url, text = url or absent[1], ""
        passage = Passage(page=first + i, start=0, end=len(text), text=text)
        sources.append(Source(passage=passage, url=url, title=title, published=None))
    return tuple(sources)


def _joined(article: Article, part: Article) -> Article:
    last = article.all_sections[-1]
    joined = (*article.all_sections[:-1], Section(last.heading, last.paragraphs + part.lead.paragraphs), *part.sections)
    return Article(
        event_id=article.event_id,
        title=article.title,
        lead=joined[0],
        sections=joined[1:],
        infobox=(),
        sources=article.sources + part.sources,
    )


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _bad(path: Path, why: str) -> UserError:
    return UserError(f"{path}: {why}; {FORM}")

"""Any article -> statements with references: the form is recognised by the name and the text."""

from __future__ import annotations

import re
from dataclasses import replace

from data import codec
from data.errors import UserError
from data.markup import is_invalid
from data.types import Article, is_unknown
from pipeline.checking.cited import OWN_MARKS, CitedArticle, CitedStatement, Reference, References, page_address

MOST_BYTES = 5_000_000
_HTML = re.compile(r"\s*(?:<!doctype|<html|<body|<article|<main|<div|<p\b|<h[1-6])", re.IGNORECASE)
_CITED = re.compile(r"<ref[\s>/]|\{\{\s*cite", re.IGNORECASE)
_MARKUP = re.compile(r"\[\[[^\]]+\]\]|^==[^=].*==\s*$", re.MULTILINE)
_ENDINGS = ("html", "htm", "xhtml", "md", "markdown", "txt")


def parse(text: str, name: str = "", title: str = "", *, local: bool = False) -> CitedArticle:
    """`name` is that of its file, if any; with `local` files beside it are pages. Raises UserError where nothing is stated."""
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise UserError(f"the article has more than {MOST_BYTES:,} bytes; give a shorter one")
    article = _parsed(OWN_MARKS.sub("", text), name, title, References(local=local))
    if local:
        article = replace(article, references=tuple(map(_with_file, article.references)))
    if not article.statements:
        raise UserError(
            f"{name or 'the text'}, read as {article.form}, holds no statement; give wikitext, HTML, or Markdown with links"
        )
    return article


def _with_file(reference: Reference) -> Reference:
    """Wikitext has the address of a file, or its bare path in place of a title, as they were typed."""
    typed = reference.url or ("" if " " in reference.title else reference.title)
    address = "" if reference.passage else page_address(typed, local=True)
    return replace(reference, url=address) if address else reference


def _parsed(text: str, name: str, title: str, references: References) -> CitedArticle:
    if text.lstrip().startswith("{") and '"event_id"' in text:
        return _own(codec.from_json(Article, text, where=name or "the article"))
    ending = name.lower().rpartition(".")[2]
    if ending in ("wiki", "mediawiki", "wikitext") or (ending not in _ENDINGS and _is_wikitext(text)):
        from pipeline.checking.from_wikitext import read_wikitext

        return read_wikitext(text, title, references)
    if ending in ("html", "htm", "xhtml") or (ending not in _ENDINGS and _HTML.match(text)):
        from pipeline.checking.from_html import read_html

        return read_html(text, known=references)
    from pipeline.checking.from_markdown import read_markdown

    return read_markdown(text, references)


def _is_wikitext(text: str) -> bool:
    return bool(_CITED.search(text)) or (bool(_MARKUP.search(text)) and not _HTML.match(text))


def _own(article: Article) -> CitedArticle:
    places = {source.id: k for k, source in enumerate(article.sources)}
    references = tuple(
        Reference(s.url, s.title, s.archive_url, s.published or "", "" if is_unknown(s) else s.passage.text)
        for s in article.sources
    )
    statements = tuple(
        CitedStatement(s.text, section.heading.text, tuple(places[c] for c in s.cites if not is_invalid(c) and c in places))
        for section in article.all_sections
        for s in section.sentences
    )
    return CitedArticle(article.title, "Wiki-GenBen JSON", statements, references)

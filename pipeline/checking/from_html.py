"""HTML articles: Wikipedia's pages, this package's own, and others that cite by links or footnotes; Markdown, too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urldefrag

from lxml import etree
from lxml import html as lxml_html

from data.errors import UserError
from pipeline.checking.cited import UNREAD, CitedArticle, CitedStatement, Reference, References, statements_of

_BLOCKS = ("p", "li", "dd", "blockquote")
_TAGS = ("header", "script", "style", "noscript", "nav", "footer", "aside", "table", "form", "figure", "template")
_CLASSES = ("mw-editsection", "navbox", "hatnote")
_DROPPED = "|".join(
    [*(f"//{tag}" for tag in _TAGS), "//*[@hidden]", "//*[@role='note']", *(f"//*[contains(@class,'{c}')]" for c in _CLASSES)]
)
_ARCHIVES = re.compile(r"https?://(?:web\.archive\.org|archive\.(?:today|ph|is|org))/")
_NOTE = re.compile(r"\[?\s*[\w†*‡]{1,4}\s*\]?")


def read_html(text: str, form: str = "HTML", known: References | None = None) -> CitedArticle:
    """`known` are references whose marks are in the text already. Raises UserError for a file without readable text."""
    try:
        root = lxml_html.document_fromstring(text)
    except (etree.ParserError, ValueError) as error:
        raise UserError(f"the article cannot be read as HTML ({error}); give its wikitext or Markdown") from None
    references = known if known is not None else References()
    title = _title(root)
    cited = _targets(root)
    for element in root.xpath(_DROPPED):
        if isinstance(element, lxml_html.HtmlElement) and element.getparent() is not None:
            element.drop_tree()
    notes = {id(target) for target in cited.values()}
    _mark(root, cited, notes, references)
    statements = tuple(_statements(_content(root), notes))
    return CitedArticle(title, form, statements, tuple(references.found))


def _title(root: lxml_html.HtmlElement) -> str:
    for path in ("//h1", "//title"):
        for found in root.xpath(path):
            if words := " ".join(found.text_content().split()):
                return words
    return ""


def _content(root: lxml_html.HtmlElement) -> lxml_html.HtmlElement:
    for path in ("//*[@id='mw-content-text']", "//article", "//main", "//body"):
        for found in root.xpath(path):
            return found
    return root


def _targets(root: lxml_html.HtmlElement) -> dict[str, lxml_html.HtmlElement]:
    """What links within the page lead to: notes, by their id."""
    by_id = {element.get("id"): element for element in root.xpath("//*[@id]")}
    asked = {urldefrag(a.get("href"))[1] for a in root.xpath("//a[contains(@href,'#')]") if _is_note_mark(a)}
    return {name: by_id[name] for name in asked if name in by_id}


def _is_note_mark(a: lxml_html.HtmlElement) -> bool:
    address, fragment = urldefrag(a.get("href", ""))
    inside = not address.startswith(("http://", "https://")) or "cite_note" in fragment
    return bool(fragment) and inside and bool(_NOTE.fullmatch(a.text_content().strip()))


def _mark(root: lxml_html.HtmlElement, cited: dict[str, lxml_html.HtmlElement], notes: set[int], refs: References) -> None:
    for a in list(root.iter("a")):
        if any(id(one) in notes for one in a.iterancestors()):
            continue
        fragment = urldefrag(a.get("href", ""))[1]
        if fragment in cited and _is_note_mark(a):
            mark = refs.mark(_of_note(cited[fragment]))
            for child in list(a):
                a.remove(child)
            a.text = mark
        elif (page := refs.address(a.get("href", ""))) and _leaves(a):
            words = a.text_content()
            bare = words.strip().startswith(("http", "www.", "[")) or bool(_NOTE.fullmatch(words.strip()))
            mark = refs.mark(Reference(page, title="" if bare else " ".join(words.split())))
            if bare:
                for child in list(a):
                    a.remove(child)
                a.text = mark
            else:
                a.tail = mark + (a.tail or "")


def _leaves(a: lxml_html.HtmlElement) -> bool:
    return not re.search(r"//[\w.-]*(?:wikipedia|wikimedia|wiktionary|wikidata)\.org", a.get("href", ""))


def _of_note(note: lxml_html.HtmlElement) -> Reference:
    links = [a.get("href") for a in note.iter("a") if a.get("href", "").startswith(("http://", "https://")) and _leaves(a)]
    pages = [link for link in links if not _ARCHIVES.match(link)]
    archives = [link for link in links if _ARCHIVES.match(link)]
    words = " ".join(note.text_content().split())
    url = pages[0] if pages else archives[0] if archives else ""
    return Reference(url, words[:200], archives[0] if archives and pages else "")


def _statements(content: lxml_html.HtmlElement, notes: set[int]) -> Iterator[CitedStatement]:
    heading = ""
    for element in content.iter():
        if element.tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            words = " ".join(element.text_content().split())
            heading = "" if element.tag == "h1" else words
        elif element.tag in _BLOCKS and not UNREAD.fullmatch(heading):
            inner = [one for one in element.iterdescendants() if one.tag in _BLOCKS]
            if not inner and id(element) not in notes and not any(id(one) in notes for one in element.iterancestors()):
                yield from statements_of(element.text_content(), heading)

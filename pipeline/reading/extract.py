"""A raw page -> its text. One bad page never stops an event: it comes back with a reason instead of text.

HTML goes through trafilatura, its tables through `page_tables`; where the elements of a page hold no text, its data is asked
(`page_data`). Markdown goes through `markdown_pages`; plain text passes as it is and is cleaned of its menus later
(`data.pages.blocks`).
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator, Set
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urljoin, urlsplit

from data.pages.blocks import count_read, has_sentence
from data.pages.cleaning import MAX_BYTES, MIN_WORDS, Extracted, binary_detail, clean_title, ngrams, obstacle
from data.pages.page_urls import registrable_domain
from data.types import DropReason, PageFlag, RawPage
from pipeline.reading.asides import struck_in, with_standfirst, without_asides, without_names_of_builders
from pipeline.reading.consent import is_wall, without_boxes
from pipeline.reading.dates import Dates, find_dates
from pipeline.reading.embedded.jsonld import Node, article_node, headlines, is_paid
from pipeline.reading.embedded.late_parts import for_readers_without_scripts, put_in_place
from pipeline.reading.embedded.live_pages import say_times
from pipeline.reading.embedded.page_data import Told, in_jsonld, in_scripts
from pipeline.reading.embedded.posts import posts_of
from pipeline.reading.markdown_pages import is_markdown, plain_text
from pipeline.reading.page_tables import set_aside
from pipeline.reading.seen.turned_text import take_out_turned
from pipeline.reading.seen.unseen_text import TooSlow, hidden_by_sheets

if TYPE_CHECKING:
    from lxml.html import HtmlElement

logger = logging.getLogger(__name__)

_HIDDEN_WORDS = 8
"""From so many words on, hidden text is reported: icons and empty boxes are hidden on every page."""

MAX_WITH_SCRIPTS = 20_000_000
"""Bytes of a page with its scripts and styles, which cost an extractor nothing; what remains without them has `MAX_BYTES`."""
_NO_LIMIT = "2099-12-31"
"""trafilatura's own search for a date, whose answer is not used, takes today without a limit."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A page's text and what else the page says of itself. `text_kind` is `jsonld` or `script` where the text is not on the
    visible page but in its metadata, or in the state of its scripts.

    `index_detail` says why the page looks like a list of links ("" where it does not): for the live web, where front pages
    are found; whoever collects benchmark pages leaves that to `cleaning`. `alternate` is the address of the same page
    for phones (AMP) or printers, given where the page itself has too little text.
    """

    extracted: Extracted
    dates: Dates = field(default_factory=Dates)
    author: str = ""
    site: str = ""
    text_kind: Literal["article", "jsonld", "script", "plain"] = "article"
    index_detail: str = ""
    alternate: str = ""


def extract(raw: RawPage, *, run_date: str | None = None) -> Extracted:
    """The page's text, title, date and flags, or the reason why there is none. Never raises for a bad page.

    `run_date` (YYYY-MM-DD) is the latest day a page may have been published; None allows any. Dates come from the page's
    metadata only: a search through its text takes "the last flood was on 12 March 1997" for the date of the page.
    """
    return examine(raw, run_date=run_date).extracted


def examine(raw: RawPage, *, run_date: str | None = None, provider_date: str = "", min_words: int = MIN_WORDS) -> Reading:
    """`extract`, with all that it learns. `provider_date` is what a search engine says, asked where the page says nothing;
    below `min_words` the page is looked at for an obstacle (a login, a captcha)."""
    if (size := _bytes(raw.body)) > MAX_BYTES and (
        raw.media == "text" or size > MAX_WITH_SCRIPTS or _bytes(_without(raw.body)) > MAX_BYTES
    ):
        return Reading(_dropped(raw, "too_large", f"{size:,} bytes, limit {MAX_BYTES:,}", text=raw.body[:2000]))
    if detail := binary_detail(raw.body):
        return Reading(_dropped(raw, "bad_type", detail))
    if raw.media == "text":
        text = plain_text(raw.body) if is_markdown(raw.body) else raw.body
        plain = Extracted(url=raw.url, title=raw.title, text=text, origin=raw.origin, media="text")
        return Reading(plain, text_kind="plain")
    try:
        short = replace(raw, body=_without(raw.body, longer=MOST_OF_A_SCRIPT)) if size > MOST_OF_A_SCRIPT else raw
        reading = _from_html(short, run_date, provider_date, min_words)
        if short.body == raw.body or reading.extracted.drop_reason not in ("js_required", "extract_none"):
            return reading
        detail = f"a script of it has more than {MOST_OF_A_SCRIPT:,} characters, and nothing else holds its text"
        return replace(reading, extracted=replace(reading.extracted, drop_reason="too_large", drop_detail=detail))
    except TooSlow as error:
        return Reading(_dropped(raw, "extract_timeout", str(error)))
    except Exception as error:  # trafilatura and lxml fail in many ways on broken pages; the fault is the page's
        logger.warning("no text from %s: %s: %s", raw.url, type(error).__name__, error)
        return Reading(_dropped(raw, "extract_none", f"{type(error).__name__}: {error}"))


_OPENS = re.compile(r"<(script|style)\b", re.I)
_CLOSES = {name: re.compile(rf"</{name}\s*>", re.I) for name in ("script", "style")}
MOST_OF_A_SCRIPT = 9_000_000
"""Characters; libxml2 gives a page up at ten million without a tag."""


def _scripts(body: str) -> Iterator[tuple[int, int]]:
    """Where the scripts and styles of a page begin and end."""
    at = 0
    while opened := _OPENS.search(body, at):
        closed = _CLOSES[opened[1].lower()].search(body, opened.end())
        at = closed.end() if closed is not None else len(body)
        yield opened.start(), at


def _without(body: str, *, longer: int = 0) -> str:
    """A page with empty scripts in the place of its scripts and styles of more than so many characters."""
    kept: list[str] = []
    at = 0
    for start, end in _scripts(body):
        if end - start > longer:
            kept += body[at:start], "<script></script>"
            at = end
    return "".join((*kept, body[at:]))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _dropped(raw: RawPage, reason: DropReason, detail: str, *, text: str = "", hint: str | None = None) -> Extracted:
    return Extracted(
        url=raw.url,
        title=raw.title,
        text=text,
        origin=raw.origin,
        drop_reason=reason,
        drop_detail=detail,
        language_hint=hint,
        media=raw.media,
    )


def _from_html(raw: RawPage, latest: str | None, provider_date: str, min_words: int) -> Reading:
    from trafilatura import bare_extraction, load_html

    tree = load_html(raw.body)
    if tree is None:
        return Reading(_dropped(raw, "extract_none", "not readable as HTML"))
    hint = _language(tree)
    put_in_place(tree)
    turned = take_out_turned(tree)
    unseen = hidden_in(tree)
    hidden = _words_of(unseen) + turned
    node = article_node(tree, raw.url)
    dates = find_dates(tree, node, url=raw.url, provider_date=provider_date, latest=latest)
    had_box = without_boxes(tree)
    say_times(tree, node, raw.url)
    without_names_of_builders(tree)
    whole = deepcopy(tree)
    without_asides(tree)
    mark = f"x{hashlib.sha256(raw.body.encode('utf-8', 'replace')).hexdigest()[:20]}"
    tables = set_aside(tree, unseen, mark, " ".join(sorted(headlines(tree))))
    document: Any = bare_extraction(
        tree,
        url=raw.url or None,
        with_metadata=True,
        include_comments=False,  # on by default: reader comments would become evidence
        include_tables=True,
        include_links=False,
        include_images=False,
        deduplicate=False,  # keeps process-wide state: the fourth identical page would come out empty
        prune_xpath=HIDDEN,
        date_extraction_params={"original_date": True, "extensive_search": False, "max_date": _NO_LIMIT},
    )
    text = (document.text or "") if document is not None else ""
    if text and _is_from_data(text, tree):
        text = ""
    text = tables.put_back(text)
    posts = posts_of(whole, _marked_in(whole))
    if sum(len(line.split()) for line in posts) > _POSTS * len(text.split()):
        text = "\n".join(posts)
    else:
        text = with_standfirst(text, tree, _marked_in(tree))
    title = clean_title(raw.title) or clean_title((document.title or "") if document is not None else "")
    text = _with_headline(text, whole, title)
    paid = is_paid(node)
    told = None if paid else _told(whole, node, raw.url, text, min_words)
    if told is not None:
        text = "\n".join([*_missing_in(told, text), told.text])
    is_empty = count_read(text) < min_words and not paid and len(_visible_text(whole).split()) < _FEW_WORDS
    if is_empty and (other := for_readers_without_scripts(raw.body, whole, min_words)):
        return _from_html(replace(raw, body=other), latest, provider_date, min_words)
    if count_read(text) < min_words and (reason := _without_text(whole, raw.url, title, text, min_words, had_box, paid)):
        dropped = _dropped(raw, *reason[:2], text=reason[2], hint=hint)
        return Reading(replace(dropped, title=title), dates, alternate=_alternate(whole, raw.url))
    flags: list[PageFlag] = []
    if not dates.day:
        flags.append("no_date")
    if hidden >= _HIDDEN_WORDS:
        flags.append("hidden_text")
    rows_left = tables.rows_left if told is None else 0
    if rows_left:
        flags.append("long_table")
    extracted = Extracted(
        url=raw.url,
        title=title,
        text=text,
        origin=raw.origin,
        published=dates.day or None,
        flags=tuple(flags),
        language_hint=hint,
        media="html",
        canonical=_canonical(tree, raw.url),
        rows_left=rows_left,
    )
    return Reading(
        extracted,
        dates,
        author=clean_title((document.author or "") if document is not None else ""),
        site=clean_title((document.sitename or "") if document is not None else ""),
        text_kind=told.kind if told is not None else "article",
        index_detail="" if told is not None else _index_detail(whole, text),
        alternate=_alternate(whole, raw.url) if count_read(text) < min_words else "",
    )


# --- which of its texts ------------------------------------------------------------------------------------------------

_POSTS = 0.4
"""Share of a text's words from which the posts of a page are its text: the rest are the names and signatures around them."""
_LONGER = 1.3
"""So many times as long is a text that goes on where the visible one stops."""
_SHARED = 0.5
"""Share of a visible text's 5-word shingles from which another text holds it."""
_NEARLY_ALL = 0.85
_SENTENCE = 6
_LEAST_SENTENCES = 3
_HEAD = 2_000
"""Characters of a text in which its headline may be said already."""
_PART = 250
"""Words of a visible text below which the scripts are asked for the rest."""


def _told(tree: HtmlElement, node: Node, url: str, text: str, min_words: int) -> Told | None:
    """The text in the page's data, where the page shows none, or only the beginning of that one.

    The entries of a live page are also taken where they are as long as what is shown: the data has their times.
    """
    n_words = count_read(text)
    found = [in_jsonld(node, hidden_in)]
    if n_words < _PART and (found[0] is None or count_read(found[0].text) < min_words):
        found.append(in_scripts(tree, url, hidden_in))
    told = max((one for one in found if one is not None), key=lambda one: count_read(one.text), default=None)
    if told is None:
        return None
    n_told = count_read(told.text)
    if n_words < min_words:
        return told if n_told > n_words else None
    # of a live page the data has the times, but often only the newest entries
    longer, shared = (0.7, _NEARLY_ALL) if told.is_live and n_told < _LONGER * n_words else (_LONGER, _SHARED)
    return told if n_told >= longer * n_words and _share(text, told.text) >= shared else None


def _with_headline(text: str, tree: HtmlElement, title: str) -> str:
    """The text after the page's one headline, where that says more than its title: "Redmoor won by 3 wickets"."""
    lines = [" ".join(str(one.text_content()).split()) for one in tree.xpath("//h1[not(ancestor-or-self::*[@hidden])]")[:2]]
    if not text or len(lines) != 1 or not _SENTENCE <= len(lines[0].split()) <= _PART // 10:
        return text
    # a page of tables says in its headline what no sentence of it repeats
    sentences = sum(has_sentence(line) and len(line.split()) >= _SENTENCE for line in text.split("\n"))
    known = f"{title} {text[:_HEAD]}" if sentences >= _LEAST_SENTENCES else text[:_HEAD]
    said = {*re.findall(r"\w+", known.casefold())}
    return text if said.issuperset(re.findall(r"\w+", lines[0].casefold())) else f"{lines[0]}\n{text}"


def _missing_in(told: Told, text: str) -> list[str]:
    """Sentences that a live page shows and its data has not: what is said of all entries, or the older ones."""
    if not told.is_live:
        return []
    known = " ".join(told.text.split())
    return [line for line in text.split("\n") if len(line.split()) >= _SENTENCE and has_sentence(line) and line not in known]


def _share(text: str, of: str) -> float:
    shingles = ngrams(text, 5)
    return len(shingles & ngrams(of, 5)) / len(shingles) if shingles else 0.0


def _is_from_data(text: str, tree: HtmlElement) -> bool:
    """Whether most of an extracted text is in the page's JSON-LD alone, which `page_data` reads with care: a visitor sees
    "Subscribe to read" instead."""
    if not any("articleBody" in (script.text or "") for script in tree.iter("script")):
        return False
    return _share(text, _visible_text(tree)) < _SHARED


def _visible_text(tree: HtmlElement) -> str:
    shown = deepcopy(tree)
    for path in (*HIDDEN, "//script", "//style", "//head"):
        for element in shown.xpath(path):
            if element.getparent() is not None:
                element.drop_tree()
    return " ".join(shown.itertext())


_FEW_WORDS = 30
"""Visible words of a page that a script would fill."""
_ROOTS = "//div[@id='app' or @id='root' or @id='__next' or @id='__nuxt' or @id='svelte' or @id='gatsby-focus-wrapper']"
BY_SCRIPT = "its text comes by script, which is not run; try --render, or save the page from a browser and give it with --file"


def _without_text(
    tree: HtmlElement, url: str, title: str, text: str, min_words: int, had_box: bool, paid: bool
) -> tuple[DropReason, str, str] | None:
    """Why a page has too little text, with what there is to check that by; None where it is just short."""
    from trafilatura import html2txt

    visible = html2txt(deepcopy(tree))
    n_visible = len(visible.split())
    shown = visible[:2000]
    if (had_box and n_visible < _FEW_WORDS) or (is_wall(url) and n_visible < _PART):
        return "consent", "a box that asks for consent, and nothing else", shown
    # an obstacle is recognised by words that extraction may have taken for boilerplate
    if found := obstacle(title, visible, len(text.split()), min_words):
        if found[0] == "js_required":
            return "js_required", f"{found[1]}: {BY_SCRIPT}", shown
        return *found, shown
    if paid:
        return "login", "its text is for subscribers, as its metadata says", shown
    empty = any(len(str(root.text_content()).split()) < 5 for root in tree.xpath(_ROOTS))
    if (n_visible < _FEW_WORDS or empty) and next(tree.iter("script"), None) is not None:
        return "js_required", BY_SCRIPT, shown
    return None if text.strip() else ("extract_none", "no main text found", "")


def _alternate(tree: HtmlElement, url: str) -> str:
    """The page's version for phones (AMP) or printers on its own site, "" for none."""
    domain = registrable_domain(url)
    for link in tree.iter("link"):
        rel = str(link.get("rel") or "").lower().split()
        if "amphtml" in rel or ("alternate" in rel and str(link.get("media") or "").strip().lower() == "print"):
            address = urljoin(url, str(link.get("href") or "").strip())
            if address.startswith(("http://", "https://")) and address != url and domain == registrable_domain(address) != "":
                return address
    return ""


def _canonical(tree: HtmlElement, url: str) -> str:
    """What `rel=canonical` says, "" where it leaves the site, differs from itself, or calls an article its front page."""
    links = {
        urljoin(url, str(link.get("href")).strip())
        for link in tree.iter("link")
        if link.get("href") and "canonical" in str(link.get("rel") or "").lower().split()
    }
    link = links.pop() if len(links) == 1 else ""
    domain = registrable_domain(url)
    if not link.startswith(("http://", "https://")) or not domain or registrable_domain(link) != domain:
        return ""
    return "" if not urlsplit(link).path.strip("/") and urlsplit(url).path.strip("/") else link


_TEASERS = 8
_TEASER_WORDS = 60
_TEASER_LINK = 4
_MOST_LINKS = 1_000


def _index_detail(tree: HtmlElement, text: str) -> str:
    """Most of the text are headlines that link to other pages, and the few words below each of them. Tables do not count."""
    candidates = (
        a for a in tree.iter("a") if len(_words(a)) >= _TEASER_LINK and next(a.iterancestors("td", "th"), None) is None
    )
    links = list(islice(candidates, _MOST_LINKS))
    if len(links) < _TEASERS:
        return ""
    lengths: dict[HtmlElement, int] = {}
    headlines = {" ".join(_words(link)) for link in links}
    beside = {" ".join(piece.split()) for link in links for piece in _teaser(link, lengths).itertext()} - headlines
    lines = {line.lstrip("-•* ").strip() for line in text.split("\n")}
    n_linked = sum(len(piece.split()) for piece in headlines if piece in text)
    n_linked += sum(len(line.split()) for line in lines & beside)
    n_words = len(text.split())
    return f"{n_linked} of {n_words} words are links to other pages" if n_linked >= 0.6 * n_words else ""


def _words(element: HtmlElement) -> list[str]:
    return str(element.text_content()).split()


def _teaser(link: HtmlElement, lengths: dict[HtmlElement, int]) -> HtmlElement:
    """The largest box around a link that is still small. `lengths` remembers the words of each box."""
    box = link
    for above in link.iterancestors():
        if above not in lengths:
            lengths[above] = len(_words(above))
        if lengths[above] > _TEASER_WORDS:
            break
        box = above
    return box


def _language(tree: HtmlElement) -> str | None:
    lang = str(tree.get("lang") or "").strip().lower()
    return lang.replace("_", "-").split("-")[0] or None


def hidden_in(tree: HtmlElement) -> Set[Any]:
    """The elements that a browser does not show; what is inside of them is not listed."""
    _mark_hidden(tree)
    return _marked_in(tree)


def _marked_in(tree: HtmlElement) -> Set[Any]:
    return {element for path in HIDDEN for element in tree.xpath(path)}


def _words_of(elements: Set[Any]) -> int:
    """Each word once, however many of the elements it is in."""
    outer = (one for one in elements if not any(above in elements for above in one.iterancestors()))
    return sum(len(str(one.text_content()).split()) for one in outer)


# --- hidden text -----------------------------------------------------------------------------------------------------
#
# A browser shows none of these, a reader of the page has not seen them, and a model must not either. trafilatura removes
# some of them by itself; the list repeats those, so that they are counted.

_CLASSES = (
    "hidden", "d-none", "invisible", "sr-only", "sr-only-focusable", "visually-hidden", "visuallyhidden",
    "screen-reader-text", "screen-reader-only", "screenreader", "offscreen", "off-screen", "element-invisible", "a11y-hidden",
)  # fmt: skip


_HIDING_CLASS = re.compile(rf"(?<![^ \t\r\n])(?:{'|'.join(_CLASSES)})(?![^ \t\r\n])")
_SHOWN_WIDE = re.compile(":(?:block|flex|grid|inline)")  # frameworks show "hidden md:block" on wide screens
_BY_CLASS = "hidden-by-class"
"""Marked once: XPath that takes classes apart is slow, and the paths are asked for twice."""
HIDDEN: list[str] = [
    "//*[@hidden]",
    "//*[@aria-hidden='true']",
    "//template",
    "//noscript",
    f"//*[@{_BY_CLASS}]",
]
"""XPath of elements that a browser does not show; `_mark_hidden` marks those whose own style or class says so."""


def _mark_hidden(tree: HtmlElement) -> None:
    for element in tree.xpath("//*[@class]"):
        given = str(element.get("class"))
        if _HIDING_CLASS.search(given) and not _SHOWN_WIDE.search(given):
            element.set(_BY_CLASS, "")
    for element in (*hidden_by_sheets(tree), *struck_in(tree)):
        element.set("hidden", "")
    for element in tree.xpath("//*[@style]"):  # trafilatura drops whatever has the word in its style, `overflow: hidden` too
        del element.attrib["style"]

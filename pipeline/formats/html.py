"""An article as one self-contained HTML page for checking: every citation opens the page it rests on, passage marked.

Without scripts a citation leads to its passage in the list of sources, and on paper that list has the addresses.

Nothing is loaded and nothing is sent: styles and script are inline and admitted by their hashes in a Content-Security-
Policy; there are no images, fonts or forms. All text is escaped, and only http(s) addresses become links.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from data.markup import INVALID, is_invalid, number
from data.types import Article, DropReason, Fact, Page, Paragraph, Passage, Section, Sentence, Source
from pipeline.drop_words import DROP_REASONS
from pipeline.formats.page_frame import asset, counted, document
from pipeline.formats.page_words import RATINGS, REPAIRS, WARNINGS
from pipeline.formats.reasons import in_words
from pipeline.formats.subject_name import parts_of
from pipeline.provenance import day_of, host_of, name_of, notice_of, shortened, web_link
from pipeline.web.reliability import Reliability, reliability

if TYPE_CHECKING:
    from pipeline.following.changes import Quote, Side
    from pipeline.following.disagreements import Disagreement


def to_html(
    article: Article,
    pages: Sequence[Page],
    *,
    disagreements: Sequence[Disagreement] = (),
    run_note: str = "",
) -> str:
    """The article's page. `pages` are those of the event, kept and dropped, in the order that passages number them.

    A source whose passage is not found at its place in `pages` (another system's file, say) is shown without its page.
    `disagreements` get a section before the sources. `run_note` is printed at the end, beside the pages that were not used and
    the repairs.
    """
    marks = _Marks(article)
    # Markers are numbered as they are written, so the parts are written in the order of reading.
    lead = "".join(_paragraph(paragraph, marks) for paragraph in article.lead.paragraphs)
    infobox = _infobox(article, marks)
    sections = "".join(_section(i, section, marks) for i, section in enumerate(article.sections, 1))
    contents = _contents(article, disagreements)
    body = f"""<a class="skip" href="#article">Skip to the article</a>
<div class="page">
<nav class="contents" aria-labelledby="contents"><h2 id="contents">Contents</h2>{contents}</nav>
<main id="article" class="article" tabindex="-1">
<div class="head-rows">
<header class="head"><h1 dir="auto">{escape(article.title)}</h1><p class="byline">{_byline(article)}</p></header>
<p class="notice" role="note"><strong>Machine-written draft.</strong> {escape(notice_of(article))}{_hint(article)}</p>
<details class="fold"><summary>Contents</summary>{contents}</details>
</div>
<section class="lead" aria-label="Introduction">{lead}</section>
{infobox}
<div class="text">
{sections}
{_disagreeing(disagreements, article)}
<section aria-labelledby="sources"><h2 id="sources">Sources</h2>{_sources(article, marks)}</section>
<section class="record" aria-labelledby="record"><h2 id="record">How this draft was made</h2>{
        _record(article, pages, run_note)
    }</section>
</div>
</main>
</div>
<div class="panel" id="panel" role="dialog" aria-labelledby="panel-title" tabindex="-1" hidden>
<div class="panel-head">
<div class="panel-top"><span data-part="place"></span>
<button type="button" data-part="previous" aria-label="Previous citation" title="Previous citation">‹</button>
<button type="button" data-part="next" aria-label="Next citation" title="Next citation">›</button>
<button type="button" data-part="close" aria-label="Close" title="Close (Esc)">×</button></div>
<h2 id="panel-title" data-part="title" dir="auto"></h2>
<p class="panel-meta" data-part="meta"></p>
</div>
<div class="evidence" data-part="evidence" tabindex="0" role="region" aria-label="Text of the page" dir="auto"></div>
</div>
<script type="application/json" id="evidence-data">{_evidence(article, pages)}</script>
"""
    return document(f"{article.title} (machine-written draft)", body, asset("preview.js"))


class _Marks:
    """Writes markers and remembers them: each needs an id of its own, and each source a way back to all of its markers."""

    def __init__(self, article: Article) -> None:
        self.article = article
        self._numbers = number(article)
        self._titles = [_title(source, k) for k, source in enumerate(article.sources, 1)]
        self._n = 0
        self._places: dict[int, list[int]] = {}

    def write(self, cites: Iterable[str]) -> str:
        marks = "".join(self._mark(cite) for cite in cites)
        return f'<sup class="refs">{marks}</sup>' if marks else ""

    def _mark(self, cite: str) -> str:
        if is_invalid(cite):
            return f'<span class="doubt" title="There is no such source">[{escape(cite.removeprefix(INVALID))}?]</span>'
        k = self._numbers[cite]
        self._n += 1
        self._places.setdefault(k, []).append(self._n)
        label = escape(f"Source {k}: {self._titles[k - 1]}")
        return f'<a class="cite" id="cite-{self._n}" href="#source-{k}" data-source="{k}" aria-label="{label}">[{k}]</a>'

    def back(self, k: int) -> str:
        places = self._places.get(k, [])
        links = "".join(
            f'<a href="#cite-{n}" aria-label="Citation {i} of {len(places)} of source {k}">{_letter(i)}</a>'
            for i, n in enumerate(places, 1)
        )
        return f'<span class="back">cited at {links}</span>' if links else ""


def _letter(i: int) -> str:
    """1 -> a, 26 -> z, 27 -> aa."""
    return (_letter((i - 1) // 26) if i > 26 else "") + chr(ord("a") + (i - 1) % 26)


def _byline(article: Article) -> str:
    sentences = [sentence for section in article.all_sections for sentence in section.sentences]
    n_cited = sum(any(not is_invalid(cite) for cite in sentence.cites) for sentence in sentences)
    n_unsupported = sum(sentence.unsupported for sentence in sentences)
    parts = [counted(len(sentences), "sentence"), f"{n_cited} with a citation"]
    if n_unsupported:
        parts.append(f"{n_unsupported} unsupported")
    n_pages = len({source.passage.page for source in article.sources})
    parts.append(f"{counted(len(article.sources), 'source passage')} from {counted(n_pages, 'page')}")
    return " · ".join(parts)


def _contents(article: Article, disagreements: Sequence[Disagreement]) -> str:
    """Nested lists: a heading of level 3 belongs to the level 2 before it."""
    items: list[tuple[str, list[str]]] = []
    for i, section in enumerate(article.sections, 1):
        link = f'<a href="#section-{i}">{escape(section.heading.text)}</a>'
        if section.heading.level > 2 and items:
            items[-1][1].append(f"<li>{link}</li>")
        else:
            items.append((link, []))
    if disagreements:
        items.append(('<a href="#disagreements">Sources disagree</a>', []))
    items += [('<a href="#sources">Sources</a>', []), ('<a href="#record">How this draft was made</a>', [])]
    return "<ol>" + "".join(f"<li>{link}{_nested(below)}</li>" for link, below in items) + "</ol>"


def _nested(items: Sequence[str]) -> str:
    return f"<ol>{''.join(items)}</ol>" if items else ""


def _section(i: int, section: Section, marks: _Marks) -> str:
    level = min(max(section.heading.level, 2), 6)
    paragraphs = "\n".join(_paragraph(paragraph, marks) for paragraph in section.paragraphs)
    heading = f'<h{level} id="section-{i}" dir="auto">{escape(section.heading.text)}</h{level}>'
    return f'<section aria-labelledby="section-{i}">{heading}\n{paragraphs}</section>\n'


def _paragraph(paragraph: Paragraph, marks: _Marks) -> str:
    return f'<p dir="auto">{" ".join(_sentence(sentence, marks) for sentence in paragraph)}</p>'


def _sentence(sentence: Sentence, marks: _Marks) -> str:
    kind, doubt = "s", ""
    if sentence.unsupported:
        kind = "s unsupported"
        doubt = '<sup class="doubt" title="Nothing in the pages was found to support this sentence">[unsupported]</sup>'
    before, name, after = parts_of(sentence, marks.article)
    text = escape(before) + (f"<b>{escape(name)}</b>{escape(after)}" if name else "")
    return f'<span class="{kind}">{text}{marks.write(sentence.cites)}</span>{doubt}'


def _infobox(article: Article, marks: _Marks) -> str:
    if not article.infobox:
        return ""
    rows = "".join(_fact(fact, marks) for fact in article.infobox)
    caption = f'<caption dir="auto">{escape(article.title)}</caption>'
    return f'<aside class="infobox" aria-label="Key facts"><table>{caption}<tbody>{rows}</tbody></table></aside>'


def _fact(fact: Fact, marks: _Marks) -> str:
    value = f'<span class="s">{escape(fact.value)}{marks.write(fact.cites)}</span>'
    return f'<tr><th scope="row">{escape(fact.label)}</th><td dir="auto">{value}</td></tr>'


def _hint(article: Article) -> str:
    return ' <span class="hint">The number after a sentence opens the passage it rests on.</span>' if article.sources else ""


def _disagreeing(disagreements: Sequence[Disagreement], article: Article) -> str:
    """What pages say differently of a figure in the article; "" when they do not."""
    if not disagreements:
        return ""
    told = "".join(_disagreement(found, article) for found in disagreements)
    about = "The pages that were read give different values of these figures. Copies of one report count as one source."
    return (
        '<section aria-labelledby="disagreements"><h2 id="disagreements">Sources disagree</h2>'
        f'<p class="about">{about}</p>{told}</section>'
    )


def _disagreement(found: Disagreement, article: Article) -> str:
    order = '<p class="about">The value changes with the day of the report.</p>' if found.develops else ""
    sides = "".join(_disagreeing_side(side, side.value in found.stated, article) for side in found.sides)
    what = escape(found.what[:1].upper() + found.what[1:])
    return f'<h3>{what}</h3>{order}<ol class="pages">{sides}</ol>'


def _disagreeing_side(side: Side, is_stated: bool, article: Article) -> str:
    first, last = _day(side.first), _day(side.last)
    days = f"{first} to {last}" if first != last else first or "undated"
    parts = [days, counted(side.n_sources, "independent source"), "in this article" if is_stated else ""]
    parts.append(" ".join(dict.fromkeys(_evidence_of(quote, article) for quote in side.quotes)))
    about = "".join(f"<span>{part}</span>" for part in parts if part)
    quotation = f'<span class="quote" dir="auto">“{escape(shortened(side.quotes[0].text))}”</span>' if side.quotes else ""
    return f'<li><span class="name" dir="auto">{escape(side.value)}</span><span class="meta">{about}</span>{quotation}</li>'


def _evidence_of(quote: Quote, article: Article) -> str:
    """Links to the cited passages that hold a page's sentence, else to those of the page, else to the page itself."""
    of_page = [(k, s.passage.text) for k, s in enumerate(article.sources, 1) if s.passage.page == quote.page]
    holding = [k for k, text in of_page if quote.text in " ".join(text.split())]
    if not of_page:
        return _linked(host_of(quote.url) or "a page", quote.url)
    return " ".join(f'<a href="#source-{k}">[{k}]</a>' for k in holding or [k for k, _ in of_page][:1])


def _sources(article: Article, marks: _Marks) -> str:
    """The pages, in the order in which they are first cited, then the passages cited from them, by number."""
    if not article.sources:
        return "<p>None.</p>"
    cited = _cited_pages(article)
    pages = "".join(_cited_page(page, article) for page in cited)
    passages = "".join(_cited_passage(k, source, marks) for k, source in enumerate(article.sources, 1))
    return (
        f'<p class="about">{_about_ratings(cited)}</p><ol class="pages">{pages}</ol>'
        f'<h3 id="passages">Cited passages</h3><ol class="sources">{passages}</ol>'
    )


@dataclass(frozen=True, slots=True)
class _CitedPage:
    """`source` is the first one cut from it, `numbers` are those of all."""

    source: Source
    numbers: tuple[int, ...]

    @property
    def rating(self) -> Reliability:
        return reliability(self.source.url)


def _cited_pages(article: Article) -> list[_CitedPage]:
    numbers: dict[tuple[int, str], list[int]] = {}
    for k, source in enumerate(article.sources, 1):
        numbers.setdefault((source.passage.page, source.url), []).append(k)
    return [_CitedPage(article.sources[of[0] - 1], tuple(of)) for of in numbers.values()]


def _about_ratings(cited: Sequence[_CitedPage]) -> str:
    n_rated = sum(bool(page.rating) for page in cited)
    if not n_rated:
        return "None of these publishers is among those that Wikipedia’s editors have rated (perennial sources)."
    return (
        f"{n_rated} of {counted(len(cited), 'page')} {'is' if n_rated == 1 else 'are'} by a publisher that Wikipedia’s editors "
        "have rated (perennial sources). A rating is of the publisher, not of the page."
    )


def _cited_page(page: _CitedPage, article: Article) -> str:
    source = page.source
    ids = {article.sources[k - 1].id for k in page.numbers}
    n = sum(bool(ids & {*sentence.cites}) for section in article.all_sections for sentence in section.sentences)
    n_facts = sum(bool(ids & {*fact.cites}) for fact in article.infobox)
    uses = " and ".join(counted(count, noun) for count, noun in ((n, "sentence"), (n_facts, "key fact")) if count)
    links = " ".join(f'<a href="#source-{k}">[{k}]</a>' for k in page.numbers)
    parts = [escape(host_of(source.url)), *_dates(source), _archived(source), f"cited by {uses}: {links}" if uses else links]
    rating = page.rating
    label = f'<span class="rating {rating}">{RATINGS[rating]}</span>' if rating else ""
    about = "".join(f"<span>{part}</span>" for part in parts if part)
    return (
        f'<li><span class="name">{_linked(_title(source, page.numbers[0]), source.url)}</span>{label}'
        f'<span class="meta">{about}</span></li>'
    )


def _cited_passage(k: int, source: Source, marks: _Marks) -> str:
    host = escape(host_of(source.url))
    return (
        f'<li id="source-{k}"><span>{k}.</span><div><span class="name">{_linked(_title(source, k), source.url)}</span>'
        f'<span class="meta">{f"<span>{host}</span>" if host else ""}{marks.back(k)}</span>'
        f'<span class="quote" dir="auto">“{escape(shortened(source.passage.text))}”</span></div></li>'
    )


def _dates(source: Source) -> list[str]:
    published, retrieved = _day(source.published), _day(source.retrieved_at)
    return [f"published {published}" if published else "undated", f"retrieved {retrieved}" if retrieved else ""]


def _archived(source: Source) -> str:
    day = _written_day(source.archive_date)
    return _linked(f"archived copy{f' of {day}' if day else ''}", source.archive_url) if web_link(source.archive_url) else ""


def _record(article: Article, pages: Sequence[Page], run_note: str) -> str:
    cited = {source.passage.page for source in article.sources}
    unused = [f"<li>{_page_name(page)}</li>" for i, page in enumerate(pages) if page.usable and i not in cited]
    changes = [
        f"<li>{REPAIRS[repair.kind]}{f' in “{escape(repair.section)}”' if repair.section else ''}"
        f"{f' ({escape(in_words(repair))})' if repair.detail else ''}"
        f'<span class="changed" dir="auto">{escape(repair.text)}</span></li>'
        for repair in article.repairs
    ]
    n_used = sum(page.usable for page in pages)
    parts = [f"<p>{escape(run_note)}</p>" if run_note else ""]
    if pages:
        parts.append(f"<p>{counted(len(pages), 'page')} found, {n_used} read, {len(cited)} cited.</p>")
    parts.append(_folded("Pages read but not cited", unused))
    parts.append(_folded("Pages not used, and why", _dropped(pages), n=len(pages) - n_used))
    parts.append(_folded("What was changed after writing", changes))
    return "".join(parts) or "<p>Nothing is recorded of it.</p>"


def _folded(title: str, items: Sequence[str], n: int | None = None) -> str:
    if not items:
        return ""
    count = len(items) if n is None else n
    return f"<details><summary>{title} ({count:,})</summary><ul>{''.join(items)}</ul></details>"


def _dropped(pages: Sequence[Page]) -> list[str]:
    """An item a reason, the most frequent first, with its pages."""
    groups: dict[DropReason, list[str]] = {}
    for page in pages:
        if page.drop_reason:
            groups.setdefault(page.drop_reason, []).append(f"<li>{_page_name(page)}{_detail(page, pages)}</li>")
    return [
        f"<li>{DROP_REASONS[reason][0].upper()}{DROP_REASONS[reason][1:]} ({len(items):,})<ul>{''.join(items)}</ul></li>"
        for reason, items in sorted(groups.items(), key=lambda group: -len(group[1]))
    ]


def _detail(page: Page, pages: Sequence[Page]) -> str:
    parts = [escape(page.drop_detail)] if page.drop_detail else []
    if page.duplicate_of is not None and 0 <= page.duplicate_of < len(pages):
        kept = pages[page.duplicate_of]
        parts.insert(0, f"“{escape(kept.title or kept.url)}”")
    return f": {', '.join(parts)}" if parts else ""


def _page_name(page: Page) -> str:
    host = host_of(page.url)
    return _linked(page.title or page.url or "Untitled page", page.url) + (
        f' <span class="meta">({escape(host)})</span>' if host else ""
    )


def _linked(text: str, url: str) -> str:
    link, name = web_link(url), f"<bdi>{escape(text)}</bdi>"
    return f'<a href="{escape(link)}" rel="nofollow noopener noreferrer" target="_blank">{name}</a>' if link else name


def _title(source: Source, k: int) -> str:
    return name_of(source.title, source.url, k)


def _day(published: str | None) -> str:
    day = day_of(published)
    return f'<time datetime="{day.isoformat()}">{_written_day(published)}</time>' if day else ""


def _written_day(published: str | None) -> str:
    day = day_of(published)
    return f"{day.day} {day:%B %Y}" if day else ""


def _evidence(article: Article, pages: Sequence[Page]) -> str:
    """What the script shows, as JSON in which no character can begin a tag. `span` counts UTF-16 units, as scripts do."""
    texts: dict[int, str] = {}
    sources = []
    for k, source in enumerate(article.sources, 1):
        entry: dict[str, object] = {
            "title": _title(source, k),
            "link": web_link(source.url),
            "facts": _facts_of(source),
            "archive": web_link(source.archive_url),
        }
        passage = source.passage
        page = _page_of(passage, pages)
        if page is None:
            entry |= {"text": passage.text, "page": -1, "language": "", "warnings": []}
        else:
            texts[passage.page] = page.text
            span = [_utf16(page.text[:offset]) for offset in (passage.start, passage.end)]
            warnings = [WARNINGS[flag] for flag in page.flags if flag in WARNINGS]
            entry |= {"page": passage.page, "span": span, "language": page.language, "warnings": warnings}
        sources.append(entry)
    value = json.dumps({"sources": sources, "pages": texts}, ensure_ascii=False)
    return value.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _facts_of(source: Source) -> list[str]:
    published, retrieved = _written_day(source.published), _written_day(source.retrieved_at)
    facts = [
        host_of(source.url),
        f"published {published}" if published else "undated",
        f"retrieved {retrieved}" if retrieved else "",
        RATINGS.get(reliability(source.url), ""),
    ]
    return [fact for fact in facts if fact]


def _page_of(passage: Passage, pages: Sequence[Page]) -> Page | None:
    """The page a passage was cut from; None where the pages are not those that the passage was numbered by."""
    page = pages[passage.page] if 0 <= passage.page < len(pages) else None
    return page if page is not None and page.text[passage.start : passage.end] == passage.text else None


def _utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2

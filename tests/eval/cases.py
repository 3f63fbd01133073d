"""Cases from text as people write it: `==Heading==` lines, one paragraph a line, `[1]` after a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable

from data.gold import GoldArticle, GoldSection
from data.markup import parse_text
from data.types import DropReason, Page, Passage, Source
from eval.metric import Case

SOURCES = tuple(
    Source(passage=Passage(page=k, start=0, end=1, text="x"), url=f"https://example.org/{k}", title="", published=None)
    for k in range(3)
)


def page(text: str, title: str = "", drop_reason: DropReason | None = None) -> Page:
    return Page(url="https://example.org/", title=title, text=text, origin="search", drop_reason=drop_reason)


def gold(text: str, infobox: Iterable[tuple[str, str]] = ()) -> GoldArticle:
    """The human article: in `raw`, headings are bare lines, as in the benchmark's files."""
    lead, *rest = re.split(r"^==(.+?)==$", text, flags=re.MULTILINE)
    sections = tuple(GoldSection(heading=h, prose=body.strip()) for h, body in zip(rest[::2], rest[1::2]))
    return GoldArticle(
        event_id="1", title="Event", raw=re.sub(r"==(.+?)==", r"\1", text), lead=lead.strip(), sections=sections,
        infobox=tuple(infobox), cited_urls=(),
    )  # fmt: skip


def case(written: str, human: str | GoldArticle, pages: Iterable[Page | str] = ()) -> Case:
    article = parse_text(written, SOURCES, "1", "Event")
    return Case(
        article=article,
        gold=gold(human) if isinstance(human, str) else human,
        pages=tuple(page(p) if isinstance(p, str) else p for p in pages),
    )

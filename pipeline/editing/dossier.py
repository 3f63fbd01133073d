"""What an editor has to know before using an article: its sources, what rests on one page, gaps, how much is copied.

Everything here follows from the article and its pages by rule, and is shown as a help for a person, never as a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from data.types import Article, Page, Sentence, Source, Strict
from pipeline.checking.ageing import tells_of_later_day
from pipeline.checking.phrases import chatbot_phrase
from pipeline.following.disagreements import Disagreement
from pipeline.following.settling import contradictions
from pipeline.planning.kinds import load_kinds
from pipeline.provenance import host_of, publisher_of
from pipeline.web.reliability import Reliability, reliability
from pipeline.writing.checks.rewording import copied_runs

BEST = 3
_QUOTED = re.compile(r"“[^“”]*”|\"[^\"]*\"|«[^«»]*»")
POLICY = (
    "Wikipedia's policy since March 2026: text that a program wrote may not be published there as it is. What may be done: "
    "read the sources below, check each statement, and write the article in your own words from them; keep the references."
)


@dataclass(frozen=True, slots=True)
class SourceRow(Strict):
    """One cited page. `same_as` says why it is no source of its own: its publisher has another page here, or a page read before
    says the same; `sections` is what it supports, `n_cited` how many sentences cite it."""

    title: str
    url: str
    publisher: str
    rating: Reliability
    published: str
    author: str
    same_as: str
    sections: tuple[str, ...]
    n_cited: int
    is_dead: bool


@dataclass(frozen=True, slots=True)
class Remark(Strict):
    """Something that a person should look at: `kind` says what, `text` is the sentence."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Dossier(Strict):
    """`missing` are sections that articles of this kind usually have; `copied` is the share of words in runs of five or more
    that a cited passage has, `longest_run` in words, both without quotations."""

    title: str
    best: tuple[SourceRow, ...]
    sources: tuple[SourceRow, ...]
    disagreements: tuple[str, ...]
    one_publisher: tuple[str, ...]
    kind: str
    missing: tuple[str, ...]
    copied: float
    longest_run: int
    n_quotations: int
    remarks: tuple[Remark, ...]
    notice: str

    @property
    def rests_on_one_publisher(self) -> bool:
        publishers = {publisher_of(row.url, row.publisher) for row in self.sources}
        return len(publishers) == 1 and len(self.one_publisher) > 1


@lru_cache(maxsize=1 << 12)
def _copied(text: str, facts: tuple[str, ...]) -> tuple[float, int]:
    """Kept: whoever corrects an article sees its dossier anew with each sentence, and the others are as they were."""
    return copied_runs(text, facts)


def dossier_of(article: Article, pages: Sequence[Page], disagreements: Sequence[Disagreement] = ()) -> Dossier:
    """`pages` are those of the run, kept and dropped."""
    by_id = {source.id: source for source in article.sources}
    sentences = [(section.heading.text, s) for section in article.all_sections for s in section.sentences]
    rows = _rows(article, pages, sentences, by_id)
    longest, copied, words, quoted = 0, 0.0, 0, 0
    for _, sentence in sentences:
        share, run = _copied(sentence.text, tuple(by_id[c].passage.text for c in sentence.cites if c in by_id))
        n = len(sentence.text.split())
        longest, copied, words = max(longest, run), copied + share * n, words + n
        quoted += len(_QUOTED.findall(sentence.text))
    kind, missing = _missing(article)
    return Dossier(
        title=article.title,
        best=tuple(sorted((row for row in rows if not row.same_as), key=_worth)[:BEST]),
        sources=rows,
        disagreements=tuple(found.in_words() for found in disagreements),
        one_publisher=tuple(s.text for _, s in sentences if len(_publishers(s, by_id)) == 1),
        kind=kind,
        missing=missing,
        copied=round(copied / words, 3) if words else 0.0,
        longest_run=longest,
        n_quotations=quoted,
        remarks=(
            *_remarks(sentences, by_id, rows),
            *(Remark("the article gives another count before", t) for t in contradictions(article, pages)),
        ),
        notice=article.notice,
    )


def _rows(
    article: Article, pages: Sequence[Page], sentences: Sequence[tuple[str, Sentence]], by_id: dict[str, Source]
) -> tuple[SourceRow, ...]:
    found: dict[tuple[int, str], list[Source]] = {}
    for source in article.sources:
        found.setdefault((source.passage.page, source.url), []).append(source)
    rows: list[SourceRow] = []
    publishers: dict[str, str] = {}
    for (place, url), sources in found.items():
        ids = {source.id for source in sources}
        citing = [(heading, s) for heading, s in sentences if ids & {*s.cites}]
        first, host = sources[0], host_of(url)
        page = pages[place] if 0 <= place < len(pages) else None
        copy = page is not None and page.duplicate_of is not None
        title = first.title or host or url
        rows.append(
            SourceRow(
                title=title,
                url=url,
                publisher=first.site or host,
                rating=reliability(url),
                published=(first.published or "")[:10],
                author=first.author,
                same_as=_same_as(copy, publishers.get(host, "") if host else ""),
                sections=tuple(dict.fromkeys(heading or "lead" for heading, _ in citing)),
                n_cited=len(citing),
                is_dead=bool(first.archive_url),
            )
        )
        publishers.setdefault(host, title)
    return tuple(rows)


def _same_as(is_copy: bool, other: str) -> str:
    if is_copy:
        return "the same text as a page read before"
    return f"the same site as “{other}”" if other else ""


def _worth(row: SourceRow) -> tuple[bool, bool, bool, int]:
    """Rated reliable first, then dated, then much cited; what editors rate unreliable comes last."""
    return (row.rating in ("unreliable", "deprecated"), row.rating != "reliable", not row.published, -row.n_cited)


def _publishers(sentence: Sentence, by_id: dict[str, Source]) -> set[str]:
    return {publisher_of(by_id[c].url, by_id[c].site) for c in sentence.cites if c in by_id}


def _missing(article: Article) -> tuple[str, tuple[str, ...]]:
    """The kind that the title names, and its usual sections without a heading that shares a word with theirs."""
    kind = next((kind for kind in load_kinds() if kind.title.search(article.title)), None)
    if kind is None:
        return "", ()
    there = {word for section in article.sections for word in re.findall(r"\w{4,}", section.heading.text.lower())}
    absent = (s.heading for s in kind.sections if not there & set(re.findall(r"\w{4,}", s.heading.lower())))
    return kind.name, tuple(dict.fromkeys(absent))


def _remarks(sentences: Sequence[tuple[str, Sentence]], by_id: dict[str, Source], rows: Sequence[SourceRow]) -> list[Remark]:
    found = []
    for _, sentence in sentences:
        published = [(by_id[c].published or "")[:10] for c in sentence.cites if c in by_id]
        if tells_of_later_day(sentence.text, published):
            found.append(Remark("reports a day after its sources were published", sentence.text))
        if phrase := chatbot_phrase(sentence.text):
            found.append(Remark(f"a phrase of chatbots: “{phrase}”", sentence.text))
        if not sentence.cites or sentence.unsupported:
            found.append(Remark("nothing supports it", sentence.text))
    found += [Remark("the page is gone; an archived copy was read", row.title) for row in rows if row.is_dead]
    return found

"""An article of an earlier day on the evidence of today: what nothing happened to keeps its bytes, the rest is mended.

No language model is asked. A sentence whose page was edited becomes that page's sentence of today, quoted; one that lost its
source is checked against all of today's evidence (`citing.repair`); a newer figure comes with its own sentence. Everything
that was done is in the article's repairs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from data import codec
from data.errors import StageError
from data.settings import RetrievalSettings, UnsupportedPolicy
from data.types import Article, Event, Fact, Page, Paragraph, Passage, Repair, Section, Sentence, Source, Strict
from pipeline.choosing.candidates import Candidate, candidates, tidy
from pipeline.choosing.facts import names, numbers, with_digits
from pipeline.choosing.quantities import quantities
from pipeline.choosing.standing_alone import with_days
from pipeline.choosing.tolls import is_whole_toll, whole_tolls
from pipeline.evidence import Evidence
from pipeline.following.changes import Change, Contradiction, PageState, Revisit, grounds, stands
from pipeline.following.settling import CHANGED, with_report_day
from pipeline.retrieval import PassageIndex
from pipeline.web.bundle import EvidenceRecord, pages_of
from pipeline.writing.citing import Cited, may_stand, repair

GONE_STATUS = (404, 410)
LEAST_QUALITY = 0.5
"""Of a sentence that comes in with a newer figure: one that asks, shouts or speaks in the first person stays out."""


# --- pages ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JoinedPages:
    """The pages of the earlier run under their indices, then what today brought: edited versions and new pages."""

    pages: tuple[Page, ...]
    revisits: tuple[Revisit, ...]


def join_pages(pages: Sequence[Page], then: Sequence[EvidenceRecord], now: Sequence[EvidenceRecord]) -> JoinedPages:
    """Pages of a run, whose evidence was `then`, and what the same addresses, and perhaps others, gave `now`.

    An index keeps its text, so that passage ids stay valid. A page that was edited comes once more at the end, and its former
    version is marked as a duplicate of it; a page that is gone is dropped as what it is, its text stays.
    """
    return _Joining(pages, then, now).joined()


class _Joining:
    def __init__(self, pages: Sequence[Page], then: Sequence[EvidenceRecord], now: Sequence[EvidenceRecord]) -> None:
        self._old = tuple(pages)
        self._pages = list(pages)
        self._now = now
        self._fresh = pages_of(now)
        self._asked = {record.final_url: record for record in then}
        self._answers = {record.url: at for at, record in enumerate(now)}
        self._place: dict[int, int] = {}  # of today's records among the joined pages

    def joined(self) -> JoinedPages:
        newest = {page.url: i for i, page in enumerate(self._old)}
        newest |= {page.url: i for i, page in enumerate(self._old) if page.usable}
        of_url = {url: self._revisit(i) for url, i in newest.items() if _was_read(self._old[i])}
        self._add_others()
        self._mark_copies()
        for i, page in enumerate(self._old):
            revisit = of_url.get(page.url)
            if revisit is not None and revisit.current not in (None, i):
                self._supersede(i, revisit)
        revisits = [
            replace(of_url[page.url], page=i) for i, page in enumerate(self._old) if page.url in of_url and _was_read(page)
        ]
        return JoinedPages(tuple(self._pages), tuple(revisits))

    def _revisit(self, i: int) -> Revisit:
        page, record = self._old[i], self._asked.get(self._old[i].url)
        at = self._answers.get(record.url) if record is not None else None
        if at is None or record is None:
            return Revisit(i, "unread", i, "not asked for")
        new, answer = self._fresh[at], self._now[at]
        if new.text == page.text or (answer.sha256_raw and answer.sha256_raw == record.sha256_raw):
            self._place[at] = i
            return Revisit(i, "unchanged", i)
        if _was_read(new):
            self._place[at] = len(self._pages)
            self._pages.append(new)
            return Revisit(i, "changed", self._place[at])
        told = f"{new.drop_reason}: {new.drop_detail}"
        if answer.http_status in GONE_STATUS or new.drop_reason == "soft_404":
            detail = f"gone on {answer.retrieved_at[:10]}, {new.drop_detail}"
            self._pages[i] = replace(page, drop_reason=new.drop_reason, drop_detail=detail, duplicate_of=None)
            return Revisit(i, "gone", None, told)
        return Revisit(i, "unread", i, told)

    def _add_others(self) -> None:
        """A page of today, with its verdict. A page that could not be used before and still cannot is there already."""
        known = {record.url for record in self._asked.values()}
        for at, (record, page) in enumerate(zip(self._now, self._fresh, strict=True)):
            revisited = record.url in known and not page.usable
            if at not in self._place and not revisited:
                self._place[at] = len(self._pages)
                self._pages.append(page)

    def _mark_copies(self) -> None:
        """Today's clusters, by indices of the joined pages. A page that the earlier run used stays the one that is kept."""
        groups: dict[int, list[int]] = {}
        for at, page in enumerate(self._fresh):
            if at in self._place and _was_read(page):
                groups.setdefault(at if page.usable else page.duplicate_of or 0, []).append(self._place[at])
        for root, members in groups.items():
            used = [i for i in members if i < len(self._old) and self._old[i].usable]
            kept = used[0] if used else self._place.get(root, members[0])
            for i in members:
                if i == kept:
                    self._pages[i] = replace(self._pages[i], drop_reason=None, drop_detail="", duplicate_of=None)
                elif i not in used:
                    detail = f"of page {kept}"
                    self._pages[i] = replace(self._pages[i], drop_reason="duplicate", drop_detail=detail, duplicate_of=kept)

    def _supersede(self, i: int, revisit: Revisit) -> None:
        assert revisit.current is not None
        current = self._pages[revisit.current]
        kept = revisit.current if current.duplicate_of is None else current.duplicate_of
        detail = f"superseded by page {revisit.current}, its version of {current.retrieved_at[:10]}"
        self._pages[i] = replace(self._old[i], drop_reason="duplicate", drop_detail=detail, duplicate_of=kept)


def _was_read(page: Page) -> bool:
    return page.drop_reason in (None, "duplicate")


# --- sentences --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SectionFate(Strict):
    """A section of the earlier article ("" is the lead): whether it has the same bytes now, and the sha256 of those it has now
    ("" when it was left out)."""

    heading: str
    identical: bool
    sha256: str


@dataclass(frozen=True, slots=True)
class Updated:
    article: Article
    sections: tuple[SectionFate, ...]
    repairs: tuple[Repair, ...]


def update_article(
    article: Article,
    joined: JoinedPages,
    changes: Sequence[Change],
    retrieval: RetrievalSettings,
    policy: UnsupportedPolicy,
) -> Updated:
    """The article with everything in `changes` mended; itself when that is empty.

    Raises NoEvidence when no page is usable any more, StageError when no sentence is left.
    """
    if not changes:
        return Updated(article, tuple(fate(section, section) for section in article.all_sections), ())
    evidence = Evidence.cut(Event(article.event_id, article.title), joined.pages, replace(retrieval, passage_overlap=0))
    return _Mending(article, evidence, changes, policy).updated()


class _Mending:
    def __init__(self, article: Article, evidence: Evidence, changes: Sequence[Change], policy: UnsupportedPolicy) -> None:
        self._article = article
        self._evidence = evidence
        self._policy = policy
        self._index = PassageIndex(evidence.passages, RetrievalSettings(method="bm25"), None)
        self._changes: dict[tuple[int, str], list[Change]] = {}
        for change in changes:
            self._changes.setdefault((change.section, change.sentence), []).append(change)
        self._sources = {source.id: source for source in article.sources}
        texts = [page.text for page in evidence.pages]
        self._quotable = {(c.page, " ".join(texts[c.page][c.start : c.end].split())): c for c in self._candidates()}
        self._repairs: list[Repair] = []

    def _candidates(self) -> list[Candidate]:
        touched = {change.page for changes in self._changes.values() for change in changes}
        return candidates([p for p in self._evidence.passages if p.page in touched], self._evidence.pages)

    def updated(self) -> Updated:
        old = self._article
        parts = [self._section(n, section) for n, section in enumerate(old.all_sections)]
        infobox = tuple(self._facts())
        fates = tuple(fate(before, after) for before, after in zip(old.all_sections, parts, strict=True))
        lead, body = parts[0], [part for part in parts[1:] if part.sentences]
        self._repairs += [
            Repair("section_removed", part.heading.text, "", "no sentence of it is supported today")
            for part in parts[1:]
            if not part.sentences
        ]
        if not lead.sentences:
            if not body:
                raise StageError("update", f"no sentence about {old.title!r} is supported by the evidence of today")
            opening = body[0].sentences[:1]
            lead = replace(lead, paragraphs=(opening,))
            self._repairs.append(Repair("section_removed", "", opening[0].text, "the lead; opened with the first section's"))
        article = replace(
            old,
            lead=lead,
            sections=tuple(body),
            infobox=infobox,
            sources=self._renumbered((lead, *body), infobox),
            repairs=(*old.repairs, *self._repairs),
        )
        return Updated(article, fates, tuple(self._repairs))

    def _section(self, n: int, section: Section) -> Section:
        if not any((n, sentence.text) in self._changes for sentence in section.sentences):
            return section
        said = {s.text for s in section.sentences if (n, s.text) not in self._changes}
        paragraphs: list[Paragraph] = []
        for paragraph in section.paragraphs:
            kept: list[Sentence] = []
            for sentence in paragraph:
                changes = self._changes.get((n, sentence.text))
                for new in (sentence,) if changes is None else self._mended(section.heading.text, sentence, changes):
                    if changes is None or new.text not in said:
                        said.add(new.text)
                        kept.append(new)
            if kept:
                paragraphs.append(tuple(kept))
        return replace(section, paragraphs=tuple(paragraphs))

    def _mended(self, heading: str, sentence: Sentence, changes: Sequence[Change]) -> Sequence[Sentence]:
        broken = {change.cite for change in changes if change.kind != "outdated"}
        edited = [change for change in changes if change.kind in ("figures", "reworded")]
        if not broken:
            return self._brought_up_to_date(heading, sentence, changes)
        holding = tuple(cite for cite in sentence.cites if cite not in broken)
        if edited and (not holding or any(change.figures or _is_quoted(sentence, change.old) for change in edited)):
            found = self._as_edited(heading, sentence, edited, holding)
            if found:
                return found
        for change in changes:
            if change.cite in broken:
                why = "its page is gone" if change.kind == "gone" else "the page no longer says so"
                self._repairs.append(Repair("marker_dropped", heading, sentence.text, f"passage {change.cite}: {why}"))
        checked = repair(Cited((replace(sentence, cites=holding),), ()), self._index, heading, self._policy)
        self._repairs += checked.repairs
        return checked.sentences

    def _as_edited(
        self, heading: str, sentence: Sentence, edited: Sequence[Change], holding: tuple[str, ...]
    ) -> Sequence[Sentence]:
        """The page's sentences of today in place of those that the sentence rests on; or the sentence itself, if it is in words
        of its own that today's page supports as well. Empty when no passage holds them."""
        change, *others = edited
        passage = self._passage_of(change)
        if passage is None:
            return ()
        concerned = any(numbers(with_digits(f.old)) & numbers(with_digits(sentence.text)) for f in change.figures)
        if not concerned and not _is_quoted(sentence, change.old) and may_stand(sentence.text, passage.text):
            why = f"passage {passage.id} supports it, in place of {change.cite}"
            self._repairs.append(Repair("citation_attached", heading, sentence.text, why))
            return (replace(sentence, cites=(*holding, passage.id)),)
        also = [self._sources[cite].passage for cite in holding]
        also += [p for p in map(self._passage_of, others) if p is not None]
        new = []
        edits = {c.old: c for c in self._changes[change.section, change.sentence] if c.cite == change.cite}
        for ground in grounds(sentence.text, self._sources[change.cite].passage.text):
            edit = edits.get(ground)
            text = ground if edit is None else edit.new
            where = self._holding(change.page, text) if text else None
            if where is not None:
                new.append(_quoted(self._dated(text, where), where, also))
        told = "; ".join(s.text for s in new)
        self._repairs.append(Repair("sentence_replaced", heading, sentence.text, f"its page says now: {told}"))
        return new

    def _brought_up_to_date(self, heading: str, sentence: Sentence, changes: Sequence[Change]) -> Sequence[Sentence]:
        """The newer figures' own sentences, instead of the old one or, where that says more than its figures, after it."""
        new: dict[str, Sentence] = {}
        told: list[str] = []
        said = names(sentence.text) | numbers(sentence.text)
        for change in changes:
            candidate = self._quotable.get((change.page, change.new))
            if candidate is None or candidate.dangling or not candidate.trusted or candidate.quality < LEAST_QUALITY:
                continue
            quoted = _quoted(self._dated(change.new, candidate.passage), candidate.passage, ())
            new[quoted.text] = quoted
            said -= names(quoted.text) | numbers(quoted.text)
            for f in change.figures:
                said -= numbers(f.old)
                told.append(f"{f.new} ({f.new_date}) in place of {f.old} ({f.old_date})")
        if not new:
            return (sentence,)
        figures = "; ".join(dict.fromkeys(told))
        if said:
            kept = self._as_history(heading, sentence, changes)
            self._repairs += [Repair("sentence_added", heading, text, f"a newer figure: {figures}") for text in new]
            return (*kept, *new.values())
        self._repairs.append(Repair("sentence_replaced", heading, sentence.text, f"a newer figure: {figures}: {' '.join(new)}"))
        return tuple(new.values())

    def _as_history(self, heading: str, sentence: Sentence, changes: Sequence[Change]) -> Sequence[Sentence]:
        """The sentence as it may stand before one with a newer figure: its words are its page's and stay. A toll that the newer
        sentence does not call risen, fallen or corrected gets the day of its report, or goes where nobody knows that day: an
        article does not contradict itself. Other figures stay: two of them may hold of two days."""
        tolls = [
            f
            for c in changes
            for f in c.figures
            if any(q.shown == f.old and is_whole_toll(q, c.old) for q in quantities(c.old))
        ]
        moved = any(q.move in CHANGED for c in changes for q in whole_tolls(c.new))
        if not tolls or moved or "(as reported on " in sentence.text:
            return (sentence,)
        days = [self._sources[cite].published or "" for cite in sentence.cites if cite in self._sources]
        day = max((day[:10] for day in days), default="")
        if not day or day >= max((f.new_date for f in tolls), default=""):
            self._repairs.append(Repair("sentence_removed", heading, sentence.text, f"an older figure: {tolls[0].old}"))
            return ()
        marked = replace(sentence, text=with_report_day(sentence.text, day))
        self._repairs.append(Repair("sentence_replaced", heading, sentence.text, f"it has the day of its report: {day}"))
        return (marked,)

    def _dated(self, text: str, passage: Passage) -> str:
        """A page's sentence with its days as dates: "Monday evening" says nothing in an article. A page that was edited without
        a new date does not say from which day its new words count."""
        page = self._evidence.pages[passage.page]
        others = (other for n, other in enumerate(self._evidence.pages) if n != passage.page and other.url == page.url)
        return text if any(other.published == page.published for other in others) else with_days(text, page.published)

    def _passage_of(self, change: Change) -> Passage | None:
        """The passage that holds what is in the old sentence's place."""
        page, start, end = change.page, change.start, change.end
        own = (p for p in self._evidence.passages if p.page == page and p.start <= start and end <= p.end)
        return next(own, None) or self._holding(page, change.new)

    def _holding(self, page: int, text: str) -> Passage | None:
        """A passage with these words: of this page, or of the page that is kept in its place."""
        kept = self._evidence.pages[page].duplicate_of
        return next((p for p in self._evidence.passages if p.page in (page, kept) and stands(text, p.text)), None)

    # --- the infobox and the sources ----------------------------------------------------------------------------------

    def _facts(self) -> Iterator[Fact]:
        """Rows whose source says something else now get its value, or go."""
        changes = [change for of_sentence in self._changes.values() for change in of_sentence]
        for fact in self._article.infobox:
            told = [c for c in changes if any(c.old in " ".join(self._sources[x].passage.text.split()) for x in fact.cites)]
            about = [c for c in told if numbers(fact.value) & numbers(c.old)] if numbers(fact.value) else []
            figure = next((f for c in about for f in c.figures if numbers(f.old) & numbers(fact.value)), None)
            change = next((c for c in about if figure in c.figures), None)
            if figure is not None and change is not None:
                yield from self._new_value(fact, figure.old, figure.new, change)
                continue
            broken = {change.cite for change in about if change.kind in ("gone", "lost")}
            if cites := tuple(cite for cite in fact.cites if cite not in broken):
                yield replace(fact, cites=cites)
            else:
                self._repairs.append(Repair("sentence_removed", "", f"{fact.label}: {fact.value}", "its source is gone"))

    def _new_value(self, fact: Fact, old: str, new: str, change: Change) -> Iterator[Fact]:
        passage = self._passage_of(change)
        was, value = (re.search(r"\d[\d,.]*\d|\d", shown) for shown in (old, new))
        if passage is not None and was is not None and value is not None and was.group() in fact.value:
            told = fact.value.replace(was.group(), value.group())
            self._repairs.append(Repair("sentence_replaced", "", f"{fact.label}: {fact.value}", f"now {told}"))
            yield Fact(fact.label, told, (passage.id,))
        else:
            self._repairs.append(Repair("sentence_removed", "", f"{fact.label}: {fact.value}", f"now {new}"))

    def _renumbered(self, sections: Sequence[Section], infobox: Sequence[Fact]) -> tuple[Source, ...]:
        """Sources that stay keep their numbers where they can: a new one takes the place of one that is no longer cited."""
        cites = [c for section in sections for sentence in section.sentences for c in sentence.cites]
        used = list(dict.fromkeys([*cites, *(c for fact in infobox for c in fact.cites)]))
        by_id: Mapping[str, Passage] = {passage.id: passage for passage in self._evidence.passages}
        new = [self._evidence.source(by_id[cite]) for cite in used if cite not in self._sources]
        places = [source if source.id in used else None for source in self._article.sources]
        filled = [source or (new.pop(0) if new else None) for source in places]
        return (*(source for source in filled if source is not None), *new)


def _quoted(text: str, passage: Passage, also: Sequence[Passage]) -> Sentence:
    """A page's sentence as an article prints it, cited, and with it those of the other passages that say it too."""
    words = tidy(text)
    cites = dict.fromkeys([passage.id, *(other.id for other in also if may_stand(words, other.text))])
    ended = words if words.endswith((".", "!", "?", "”", '"', "…")) else f"{words.rstrip(' ,;:')}."
    return Sentence(ended, tuple(cites))


def _is_quoted(sentence: Sentence, ground: str) -> bool:
    """Whether the article's sentence is the page's own."""
    return sentence.text.rstrip(" .,;:") == tidy(ground).rstrip(" .,;:")


def fate(before: Section, after: Section) -> SectionFate:
    """What became of a section."""
    old, new = codec.to_json(before), codec.to_json(after)
    return SectionFate(before.heading.text, old == new, codec.sha256(new) if after.sentences else "")


# --- messages --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PageFate(Strict):
    """One address of the earlier run, and what became of it. `unread`: it could not be read today; its stored text is used."""

    url: str
    state: PageState
    detail: str


@dataclass(frozen=True, slots=True)
class UpdateReport(Strict):
    """Everything that an update found and did. `contradictions` are new ones, `standing` those that the earlier run had too;
    `two_counts` are the updated article's sentences with another count of one thing than the rest of it gives."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"two_counts"})

    title: str
    of: str
    day: str
    as_of: str
    pages: tuple[PageFate, ...]
    new_pages: tuple[str, ...]
    changes: tuple[Change, ...]
    contradictions: tuple[Contradiction, ...]
    standing: tuple[Contradiction, ...]
    sections: tuple[SectionFate, ...]
    repairs: tuple[Repair, ...]
    two_counts: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing that the article says is touched."""
        return not self.changes and not self.contradictions

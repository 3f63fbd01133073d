"""Old pages joined with today's, and an article mended: what keeps its bytes, what is replaced, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from data import codec
from data.errors import NoEvidence, StageError
from data.passages import cut_passages
from data.settings import RetrievalSettings, UnsupportedPolicy
from data.types import Article, DropReason, Fact, Heading, Section, Sentence, Source
from pipeline.following.changes import Comparison
from pipeline.following.updating import JoinedPages, Updated, join_pages, update_article
from pipeline.web.bundle import EvidenceRecord, Published, pages_of

TITLE = "Lima flood"
TOLL = "At least 12 people were killed in the flood."
RISEN = "At least 15 people were killed in the flood."
SCHOOLS = "All schools of the district were closed for a week."
BRIDGE = "The old railway bridge lost a pillar on Monday."


def record(name: str, text: str, day: str = "2026-03-03", reason: DropReason | None = None, **more: object) -> EvidenceRecord:
    given = EvidenceRecord(
        id=codec.sha256(name + text)[:16], url=f"https://{name}.example/", final_url=f"https://{name}.example/final",
        redirects=(), origin="url", round=0, rank=1, provider="url", query="", retrieved_at="2026-03-04T08:00:00+00:00",
        http_status=200, content_type="text/html", charset="utf-8", bytes=len(text), sha256_raw=codec.sha256(text),
        sha256_text=codec.sha256(text), title=name, author="", site="", published=Published(day), modified="", language="en",
        text=text, text_kind="article", extractor="", flags=(), fetch_flags=(), reliability="unrated", dup_of="",
        archive_url="", archive_date="", drop_reason=reason, drop_detail="",
    )  # fmt: skip
    return replace(given, **more)  # type: ignore[arg-type]


def joined(then: Sequence[EvidenceRecord], now: Sequence[EvidenceRecord]) -> JoinedPages:
    return join_pages(pages_of(then), then, now)


def article_of(
    then: Sequence[EvidenceRecord], lead: Sequence[tuple[str, int]], *sections: Sequence[tuple[str, int]]
) -> Article:
    """Sentences, each with the page that it cites: the whole of it, as pages are short here."""
    pages = pages_of(then)
    by_page = {p.page: Source(p, pages[p.page].url, "", pages[p.page].published) for p in cut_passages(pages)}

    def section(heading: str, sentences: Sequence[tuple[str, int]]) -> Section:
        return Section(Heading(heading), (tuple(Sentence(text, (by_page[page].id,)) for text, page in sentences),))

    parts = [section(f"Part {n}" if n else "", sentences) for n, sentences in enumerate((lead, *sections))]
    used = dict.fromkeys(page for sentences in (lead, *sections) for _, page in sentences)
    return Article("1", TITLE, parts[0], tuple(parts[1:]), (), tuple(by_page[page] for page in used))


def updated(
    then: Sequence[EvidenceRecord], now: Sequence[EvidenceRecord], article: Article, policy: UnsupportedPolicy = "remove"
) -> Updated:
    pages = joined(then, now)
    changes = Comparison(article.title, pages.pages, pages.revisits).changes(article)
    return update_article(article, pages, changes, RetrievalSettings(), policy)


def texts(section: Section) -> list[str]:
    return [sentence.text for sentence in section.sentences]


# --- pages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["timeout", "login", "robots", "too_short", "http_5xx"])
def test_a_page_that_could_not_be_read_stands(reason: DropReason) -> None:
    then = [record("a", TOLL), record("file", SCHOOLS)]
    pages = joined(then, [record("a", "Log in.", reason=reason, http_status=None)])
    assert [(r.state, r.current) for r in pages.revisits] == [("unread", 0), ("unread", 1)]
    assert pages.pages == pages_of(then)


def test_copies_are_no_new_sources() -> None:
    then = [record("a", TOLL)]
    copy = record("b", TOLL)
    now = [record("a", TOLL, reason="duplicate", dup_of=copy.id), copy]
    pages = joined(then, now).pages
    assert pages[0].usable, "the page that was used stays the one that is kept"
    assert (pages[1].drop_reason, pages[1].duplicate_of) == ("duplicate", 0)


def test_two_pages_that_were_used_both_stay() -> None:
    then = [record("a", TOLL), record("b", RISEN)]
    now = [then[0], record("b", RISEN, reason="duplicate", dup_of=then[0].id)]
    assert joined(then, now).pages == pages_of(then)


# --- sentences --------------------------------------------------------------------------------------------------------


def test_only_what_is_concerned_is_written_anew_and_numbers_stay() -> None:
    then = [record("b", SCHOOLS), record("a", TOLL), record("c", BRIDGE)]
    article = article_of(then, [(SCHOOLS, 0)], [(TOLL, 1)], [(BRIDGE, 2), (SCHOOLS, 0)])
    found = updated(then, [then[0], record("a", RISEN), then[2]], article)
    assert [fate.identical for fate in found.sections] == [True, False, True]
    assert texts(found.article.sections[0]) == [RISEN]
    assert [source.passage.page for source in found.article.sources] == [0, 3, 2], "the new source has the number of the old"
    assert found.article.sources[2] == article.sources[2]
    (repair,) = found.repairs
    assert (repair.kind, repair.section, repair.text) == ("sentence_replaced", "Part 1", TOLL) and RISEN in repair.detail


def test_a_sentence_in_its_own_words_stays_when_the_edited_page_supports_it() -> None:
    then = [record("a", "The goverment of the district closed all of its schools for a week.")]
    own = "All schools of the district were closed for a week by its government."
    now = [record("a", "The government of the district closed all of its schools for a week.")]
    found = updated(then, now, article_of(then, [(own, 0)]))
    assert texts(found.article.lead) == [own] and [repair.kind for repair in found.repairs] == ["citation_attached"]
    assert [source.passage.page for source in found.article.sources] == [1]


def test_a_quotation_follows_the_corrected_page() -> None:
    then = [record("a", "The goverment of the district closed all of its schools for a week.")]
    now = [record("a", "The government of the district closed all of its schools for a week.")]
    found = updated(then, now, article_of(then, [(then[0].text, 0)]))
    assert texts(found.article.lead) == [now[0].text]


def citing_both(article: Article, then: Sequence[EvidenceRecord]) -> Article:
    """The lead's one sentence cites the first two pages."""
    both = article_of(then, [("", 0), ("", 1)]).sources
    sentence = replace(article.lead.sentences[0], cites=tuple(source.id for source in both))
    return replace(article, lead=replace(article.lead, paragraphs=((sentence,),)), sources=both)


def test_both_sources_were_edited() -> None:
    then = [record("a", f"{TOLL} {SCHOOLS}"), record("b", f"{BRIDGE} {TOLL}")]
    now = [record("a", f"{RISEN} {SCHOOLS}"), record("b", f"{BRIDGE} {RISEN}")]
    found = updated(then, now, citing_both(article_of(then, [(TOLL, 0)]), then))
    assert texts(found.article.lead) == [RISEN]
    assert [source.passage.page for source in found.article.sources] == [2, 3]


def test_a_source_that_still_holds_outweighs_one_that_was_reworded() -> None:
    own = "Schools were closed for a week in the whole district of Lima."
    then = [record("a", "For a week all schools in the district stayed shut."), record("b", own)]
    now = [record("a", "For a month most schools in the district stayed shut."), then[1]]
    found = updated(then, now, citing_both(article_of(then, [(own, 0)]), then))
    assert texts(found.article.lead) == [own] and [source.passage.page for source in found.article.sources] == [1]
    assert [repair.kind for repair in found.repairs] == ["marker_dropped"]


def test_what_the_section_says_already_is_not_said_twice() -> None:
    then = [record("a", TOLL), record("b", RISEN)]
    found = updated(then, [record("a", f"{RISEN} {SCHOOLS}"), then[1]], article_of(then, [(TOLL, 0), (RISEN, 1)]))
    assert texts(found.article.lead) == [RISEN]


def test_a_lost_sentence_finds_another_source() -> None:
    then = [record("a", f"{TOLL} {SCHOOLS}"), record("b", f"{BRIDGE} {TOLL}")]
    found = updated(then, [record("a", SCHOOLS), then[1]], article_of(then, [(SCHOOLS, 0)], [(TOLL, 0)]))
    assert [fate.identical for fate in found.sections] == [True, False]
    (sentence,) = found.article.sections[0].sentences
    assert sentence.text == TOLL and [cite.partition(":")[0] for cite in sentence.cites] == ["1"]
    assert [repair.kind for repair in found.repairs] == ["marker_dropped", "citation_attached"]


@pytest.mark.parametrize(("policy", "left"), [("remove", []), ("mark", [True]), ("keep", [True])])
def test_a_gone_source_without_another(policy: UnsupportedPolicy, left: list[bool]) -> None:
    then = [record("a", TOLL), record("b", SCHOOLS)]
    gone = record("a", "", reason="http_4xx", http_status=410)
    found = updated(then, [gone, then[1]], article_of(then, [(SCHOOLS, 1)], [(TOLL, 0)]), policy)
    sentences = [s for section in found.article.sections for s in section.sentences]
    assert [sentence.unsupported for sentence in sentences] == left
    assert ("section_removed" in {repair.kind for repair in found.repairs}) is (policy == "remove")
    assert found.sections[1].sha256 == "" or policy != "remove"


def test_a_lead_that_is_lost_and_an_article_that_is() -> None:
    then = [record("a", TOLL), record("b", SCHOOLS)]
    gone = record("a", "", reason="http_4xx", http_status=404)
    found = updated(then, [gone, then[1]], article_of(then, [(TOLL, 0)], [(SCHOOLS, 1)]))
    assert texts(found.article.lead) == [SCHOOLS] and found.repairs[-1].kind == "section_removed"
    with pytest.raises(StageError, match="supported by the evidence of today"):
        updated(then, [gone, then[1]], article_of(then, [(TOLL, 0)]))
    with pytest.raises(NoEvidence):
        updated(then[:1], [gone], article_of(then[:1], [(TOLL, 0)]))


def test_a_newer_figure_replaces_or_follows() -> None:
    then = [record("a", TOLL), record("b", f"{TOLL[:-1]}, and 1,400 passengers were stranded in Lima.")]
    newer = record("c", "15 people were killed in the flood, officials said.", day="2026-03-08")
    found = updated(then, [*then, newer], article_of(then, [(TOLL, 0)], [(then[1].text, 1)]))
    assert texts(found.article.lead) == [newer.text]
    reported = f"{then[1].text[:-1]} (as reported on 3 March 2026)."
    assert texts(found.article.sections[0]) == [reported, newer.text], "the old sentence says more than its figure"
    assert [repair.kind for repair in found.repairs] == ["sentence_replaced", "sentence_replaced", "sentence_added"]
    assert "15 people (2026-03-08) in place of At least 12 people (2026-03-03)" in found.repairs[0].detail


@pytest.mark.parametrize(
    ("text", "flags"),
    [("They said 15 people were killed in the flood.", ()), ("15 people were killed in the flood.", ("suspicious",))],
)
def test_a_sentence_that_cannot_stand_alone_does_not_come_in(text: str, flags: tuple[str, ...]) -> None:
    then = [record("a", TOLL)]
    now = [*then, record("c", text, day="2026-03-08", flags=flags)]
    found = updated(then, now, article_of(then, [(TOLL, 0)]))
    assert texts(found.article.lead) == [TOLL] and found.sections[0].identical


def test_the_infobox_follows() -> None:
    then = [record("a", TOLL), record("b", f"{SCHOOLS} The dam was 40 metres high.")]
    article = article_of(then, [(TOLL, 0)], [("The dam was 40 metres high.", 1)])
    toll, dam = (source.id for source in article.sources)
    article = replace(article, infobox=(Fact("Deaths", "12", (toll,)), Fact("Height", "40 metres", (dam,))))
    found = updated(then, [record("a", RISEN), record("b", SCHOOLS)], article)
    (fact,) = found.article.infobox
    assert (fact.label, fact.value) == ("Deaths", "15") and fact.cites[0].startswith("2:")
    assert [r.text for r in found.repairs if r.section == "" and ":" in r.text] == ["Deaths: 12", "Height: 40 metres"]


def test_a_row_of_two_sources_keeps_the_one_that_holds() -> None:
    then = [record("a", TOLL), record("b", f"{TOLL} {SCHOOLS}")]
    article = article_of(then, [(TOLL, 0)], [(SCHOOLS, 1)])
    article = replace(article, infobox=(Fact("Deaths", "12", tuple(source.id for source in article.sources)),))
    found = updated(then, [record("a", "", reason="http_4xx", http_status=404), then[1]], article)
    (fact,) = found.article.infobox
    assert [cite.partition(":")[0] for cite in fact.cites] == ["1"] and texts(found.article.lead) == [TOLL]

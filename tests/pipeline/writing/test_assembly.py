from __future__ import annotations

import pytest

from data import codec
from data.errors import NoEvidence, StageError
from data.types import Article, Fact, Heading, Repair, Section, Sentence
from pipeline.evidence import Evidence
from pipeline.writing.assembly import LEAD_HEADING, assemble, within_words
from tests.pipeline.flood import EVENT, LEDGER, PAGES, PROVINCE, RAIN, RETRIEVAL, REVIEW, evidence, page


def section(name: str, *paragraphs: tuple[tuple[str, tuple[str, ...]], ...]) -> Section:
    return Section(Heading(name), tuple(tuple(Sentence(text, cites) for text, cites in p) for p in paragraphs))


def test_sources_stand_in_the_order_of_first_use() -> None:
    lead = Section(LEAD_HEADING, ((Sentence("A.", (REVIEW, LEDGER)), Sentence("B.", (REVIEW,))),))
    body = section("Rain", (("C.", (RAIN, REVIEW)),), (("D.", ()), ("E.", (LEDGER,))))
    article = assemble(evidence(), lead, [body], infobox=[Fact("Dead", "14", (PROVINCE, LEDGER))])
    assert [source.id for source in article.sources] == [REVIEW, LEDGER, RAIN, PROVINCE]
    assert article.sources[1].url == "https://ledger.example/flood"
    assert (article.sources[1].title, article.sources[1].published) == ("Fourteen dead in Vasterlow", "2031-03-16")
    assert article.sources[1].passage.text == PAGES[0].text
    assert (article.event_id, article.title) == (EVENT.id, EVENT.title)
    assert codec.from_json(Article, codec.to_json(article), where="test") == article


def test_sections_without_sentences_are_left_out_with_their_sources() -> None:
    article = assemble(
        evidence(), Section(LEAD_HEADING, ()), [section("Empty"), section("Rain", (("C.", (RAIN,)),)), section("E", ())]
    )
    assert [s.heading.text for s in article.sections] == ["Rain"]
    assert [source.id for source in article.sources] == [RAIN]


def test_repairs_are_kept_as_they_are() -> None:
    repairs = [Repair("sentence_removed", "Rain", "x", "y"), Repair("outline_filled", "Impact", "", "z")]
    assert assemble(evidence(), section("", (("A.", ()),)), [], repairs=repairs).repairs == tuple(repairs)


def test_nothing_written() -> None:
    with pytest.raises(StageError, match="assembly: no sentence about '2031 Tolvane flood' is left"):
        assemble(evidence(), Section(LEAD_HEADING, ()), [section("Rain")])


def test_a_citation_of_another_event() -> None:
    with pytest.raises(StageError, match="assembly: 9:0-5 is cited, but no passage of 42 is called so; choose another --out"):
        assemble(evidence(), section("", (("A.", ("9:0-5",)),)), [])


def test_evidence_needs_a_usable_page() -> None:
    pages = [page("a", "A", "x", drop_reason="blocked"), page("b", "B", "x", drop_reason="blocked"), page("c", "C", "")]
    with pytest.raises(
        NoEvidence, match=r"no usable page for '2031 Tolvane flood' among 3 \(access was blocked \(2\); empty \(1\)\)"
    ):
        Evidence.cut(EVENT, pages, RETRIEVAL)
    with pytest.raises(NoEvidence, match=r"among 0 \(none were found\)"):
        Evidence.cut(EVENT, [], RETRIEVAL)


# ---- length


def words(n: int, mark: str) -> tuple[str, tuple[str, ...]]:
    return (" ".join([mark] * n), (LEDGER,))


def count(*sections: Section) -> int:
    return sum(len(s.text.split()) for section in sections for s in section.sentences)


def test_short_enough_stays_as_it_is() -> None:
    lead, body = section("", (words(5, "a"),)), [section("B", (words(5, "b"),))]
    assert within_words(lead, body, 10) == (lead, tuple(body), ())


def test_the_longest_part_is_cut_from_its_end() -> None:
    lead = section("", (words(10, "a"), words(10, "a2")))
    short = section("Short", (words(12, "b"),))
    long = section("Long", (words(10, "c1"), words(10, "c2")), (words(10, "c3"), words(10, "c4")))
    lead_left, (short_left, long_left), repairs = within_words(lead, [short, long], 60)
    assert (lead_left, short_left) == (lead, short)
    assert long_left == section("Long", (words(10, "c1"), words(10, "c2")))
    assert count(lead_left, short_left, long_left) == 52
    assert [(r.kind, r.section, r.text.split()[0], r.detail) for r in repairs] == [
        ("sentence_removed", "Long", "c3", "the article is longer than 60 words"),
        ("sentence_removed", "Long", "c4", "the article is longer than 60 words"),
    ]


def test_every_part_keeps_a_sentence_as_long_as_that_is_possible() -> None:
    parts = [section(name, (words(10, "x"), words(10, "y"))) for name in ("", "B", "C")]
    lead, rest, _ = within_words(parts[0], parts[1:], 30)
    assert [count(part) for part in (lead, *rest)] == [10, 10, 10]
    lead, rest, repairs = within_words(parts[0], parts[1:], 20)
    assert [count(part) for part in (lead, *rest)] == [10, 10, 0]
    assert [r.section for r in repairs] == ["", "B", "C", "C"]
    lead, rest, _ = within_words(parts[0], parts[1:], 1)
    assert [count(part) for part in (lead, *rest)] == [10, 0, 0]


def test_without_a_lead_the_first_section_stays() -> None:
    _, rest, _ = within_words(section(""), [section("B", (words(10, "b"),)), section("C", (words(9, "c"),))], 5)
    assert [count(part) for part in rest] == [10, 0]

from __future__ import annotations

import pytest

from data.errors import StageError
from data.types import Heading, Section, Sentence
from pipeline.writing.assembly import LEAD_HEADING, assemble, within_words
from tests.pipeline.flood import LEDGER, evidence


def section(name: str, *paragraphs: tuple[tuple[str, tuple[str, ...]], ...]) -> Section:
    return Section(Heading(name), tuple(tuple(Sentence(text, cites) for text, cites in p) for p in paragraphs))


def test_nothing_written() -> None:
    with pytest.raises(StageError, match="assembly: no sentence about '2031 Tolvane flood' is left"):
        assemble(evidence(), Section(LEAD_HEADING, ()), [section("Rain")])


def test_a_citation_of_another_event() -> None:
    with pytest.raises(StageError, match="assembly: 9:0-5 is cited, but no passage of 42 is called so; choose another --out"):
        assemble(evidence(), section("", (("A.", ("9:0-5",)),)), [])


# ---- length


def words(n: int, mark: str) -> tuple[str, tuple[str, ...]]:
    return (" ".join([mark] * n), (LEDGER,))


def count(*sections: Section) -> int:
    return sum(len(s.text.split()) for section in sections for s in section.sentences)


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

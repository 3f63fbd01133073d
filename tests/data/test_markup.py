from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import markup
from data.markup import parse_markers, parse_text, render_text
from data.types import Article, Fact, Heading, Passage, Section, Sentence, Source


def source(k: int) -> Source:
    text = f"Passage {k}."
    return Source(Passage(page=k, start=0, end=len(text), text=text), f"https://example.org/{k}", f"Page {k}", None)


SOURCES = tuple(source(k) for k in range(1, 6))
IDS = tuple(s.id for s in SOURCES)


def article(lead: tuple[tuple[Sentence, ...], ...], *sections: Section, sources: tuple[Source, ...] = SOURCES) -> Article:
    return Article("7", "A fire", Section(Heading(""), lead), sections, (), sources)


def reread(value: Article) -> Article:
    return parse_text(render_text(value), value.sources, value.event_id, value.title)


def words(value: Article) -> list[str]:
    """Every word of headings and sentences, in order."""
    parts = [section.heading.text + " " + " ".join(s.text for s in section.sentences) for section in value.all_sections]
    return re.findall(r"\w+", " ".join(parts))


def cited(value: Article) -> set[str]:
    return {cite for s in value.all_sections for sentence in s.sentences if sentence.text.strip() for cite in sentence.cites}


nasty_pieces = [*"[]=.,;- \n\r\t\x0b\u2028019A bé\"'(“", "[1]", "==", "Mr. ", "Rain fell. "]
nasty_text = st.lists(st.sampled_from(nasty_pieces), max_size=24).map("".join)
nasty_sentence = st.builds(
    Sentence, nasty_text, st.lists(st.sampled_from([*IDS, "invalid:99", "invalid:0"]), max_size=3).map(tuple)
)
nasty_paragraphs = st.lists(st.lists(nasty_sentence, max_size=4).map(tuple), max_size=3).map(tuple)
nasty_section = st.builds(Section, st.builds(Heading, nasty_text, st.integers(1, 7)), nasty_paragraphs)
nasty_article = st.builds(lambda lead, rest: article(lead, *rest), nasty_paragraphs, st.lists(nasty_section, max_size=3))


@given(nasty_article)
def test_no_word_or_citation_is_lost_or_made_up(value: Article) -> None:
    again = reread(value)
    assert words(again) == words(value)
    assert cited(again) == cited(value)  # words such as "[1]" never turn into a citation


@given(nasty_article)
def test_what_is_reread_is_what_anybody_reads_and_stays(value: Article) -> None:
    """So an article scores the same however often it was written to a file and read back."""
    found = markup.reread(value)
    assert found == markup.reread(reread(value)) == markup.reread(found) == reread(found)


def test_reread_cuts_sentences_as_a_reader_of_the_text_would_and_keeps_the_rest() -> None:
    headline, rest = Sentence("Fire at the mill", (IDS[0],)), Sentence("It burned. It fell.", (IDS[1],), unsupported=True)
    value = replace(article(((headline, rest, Sentence("Why?", (), unsupported=True)),)), infobox=(Fact("Dead", "2", ()),))
    found = markup.reread(value)
    assert [(s.text, s.cites, s.unsupported) for s in found.lead.sentences] == [
        ("Fire at the mill It burned.", (IDS[0],), False),
        ("It fell.", (IDS[1],), False),
        ("Why?", (), True),
    ]
    assert found.infobox == value.infobox and found.sources == value.sources


@given(st.text(st.sampled_from([*"[]0123456789,-–;. ABa\n"]), max_size=40))
def test_parse_markers_takes_any_text(text: str) -> None:
    for sentence, numbers in parse_markers(text):
        assert sentence and sentence == sentence.strip()
        assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It burned.[1][2] Then rain.[3]", [("It burned.", (1, 2)), ("Then rain.", (3,))]),
        ("It burned [1]. Then rain. [2] [3] End.", [("It burned.", (1,)), ("Then rain.", (2, 3)), ("End.", ())]),
        ("It burned [1, 2]. Rain [3-5] fell.", [("It burned.", (1, 2)), ("Rain fell.", (3, 4, 5))]),
        ("It burned.[2–4]\nRain.[1], [1]", [("It burned.", (2, 3, 4)), ("Rain.", (1,))]),
        ('He said "stop."[1] Then he left.', [('He said "stop."', (1,)), ("Then he left.", ())]),
        ('He said "stop.[1]" Then he left.', [('He said "stop."', (1,)), ("Then he left.", ())]),
        ("It burned.[1]. Rain.[2]The end.", [("It burned.", (1,)), ("Rain.", (2,)), ("The end.", ())]),
        ("Over 3.5 m burned.[1] 12 died.[2]", [("Over 3.5 m burned.", (1,)), ("12 died.", (2,))]),
        ("It burned.\n[1][2]\nRain.", [("It burned.", (1, 2)), ("Rain.", ())]),
        ("[4] It burned.", [("It burned.", (4,))]),
        ("According to [1], it burned.", [("According to, it burned.", (1,))]),
        ("In [2022] it burned [sic].[0][-3]", [("In it burned [sic].", (2022, 0, -3))]),
        ("It burned [5-3].", [("It burned.", (5, 3))]),
        ("It burned [1-999].", [("It burned.", tuple(range(1, 21)))]),
        ("[1]", []),
        ("", []),
    ],
)
def test_parse_markers(text: str, expected: list[tuple[str, tuple[int, ...]]]) -> None:
    assert parse_markers(text) == expected


def test_an_invalid_marker_never_becomes_valid() -> None:
    value = article(((Sentence("It burned.", ("invalid:3",)),),))  # 3 was beyond its own section's chunks
    assert render_text(value) == "It burned.[8]"


def test_a_citation_of_nothing_is_a_bug() -> None:
    with pytest.raises(ValueError, match="'9:0-4', which is not among its sources"):
        render_text(article(((Sentence("It burned.", ("9:0-4",)),),)))

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import markup
from data.markup import is_invalid, number, parse_markers, parse_text, render_text
from data.types import Article, Fact, Heading, Passage, Repair, Section, Sentence, Source


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


# A sentence that no splitter can misread: one capital, one final stop, no abbreviation.
clean_text = st.builds(
    lambda first, rest, end: " ".join([first, *rest]) + end,
    st.sampled_from(["Fire", "Crowds", "Nobody", "Rain", "Élan"]),
    st.lists(
        st.sampled_from(["broke", "out", "near", "7", "houses", "(later)", "“safely”", "AT&T", "[sic]"]), min_size=1, max_size=6
    ),
    st.sampled_from([".", "!", "?"]),
)
clean_sentence = st.builds(Sentence, clean_text, st.lists(st.sampled_from(IDS), unique=True, max_size=3).map(tuple))
clean_paragraphs = st.lists(st.lists(clean_sentence, min_size=1, max_size=4).map(tuple), max_size=3).map(tuple)
clean_section = st.builds(
    Section,
    st.builds(Heading, st.sampled_from(["Background", "Rescue (2023)", "Cause: a theory", "E=mc"]), st.sampled_from([2, 3])),
    clean_paragraphs,
)
clean_article = st.builds(lambda lead, rest: article(lead, *rest), clean_paragraphs, st.lists(clean_section, max_size=3))

nasty_pieces = [*"[]=.,;- \n\r\t\x0b\u2028019A bé\"'(“", "[1]", "==", "Mr. ", "Rain fell. "]
nasty_text = st.lists(st.sampled_from(nasty_pieces), max_size=24).map("".join)
nasty_sentence = st.builds(
    Sentence, nasty_text, st.lists(st.sampled_from([*IDS, "invalid:99", "invalid:0"]), max_size=3).map(tuple)
)
nasty_paragraphs = st.lists(st.lists(nasty_sentence, max_size=4).map(tuple), max_size=3).map(tuple)
nasty_section = st.builds(Section, st.builds(Heading, nasty_text, st.integers(1, 7)), nasty_paragraphs)
nasty_article = st.builds(lambda lead, rest: article(lead, *rest), nasty_paragraphs, st.lists(nasty_section, max_size=3))


@given(clean_article)
def test_reading_back_gives_the_same_article(value: Article) -> None:
    assert reread(value) == value


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
    ("lead", "text"),
    [
        ([("It burned.", IDS[:2]), ("Then rain.", IDS[2:3])], "It burned.[1][2] Then rain.[3]"),
        # numbers in the words are no citations
        (
            [("In [2022] he [sic] saw [3, 4] of [[5]] and [-1", IDS[:1]), ("2] is odd.", ())],
            "In (2022) he [sic] saw (3, 4) of [(5)] and (-1[1] 2] is odd.",
        ),
        ([("It burned.", ("invalid:3",))], "It burned.[8]"),  # 3 was beyond its own section's chunks, and stays invalid
        ([("==Cause== was unknown.", ())], "Cause== was unknown."),
    ],
    ids=["usual", "numbers", "invalid", "heading"],
)
def test_form_of_the_text(lead: list[tuple[str, tuple[str, ...]]], text: str) -> None:
    value = article((tuple(Sentence(*one) for one in lead),))
    assert render_text(value) == text and reread(value).sections == ()


def test_paragraphs_and_headings_are_rendered_and_what_is_beside_the_text_is_not() -> None:
    value = article(
        ((Sentence("It  burned.\n", (), unsupported=True),), (Sentence("End.", ()),)),
        Section(Heading("Cause"), ((Sentence("A spark.", (IDS[1],)),),)),
        Section(Heading("Theories", 3), ((Sentence("None.", ()),),)),
    )
    repairs, infobox = (Repair("sentence_marked", "", "It burned.", "no evidence"),), (Fact("Dead", "12", (IDS[0],)),)
    value = replace(value, lead=replace(value.lead, heading=Heading("Lead")), infobox=infobox, repairs=repairs)
    assert render_text(value) == "It burned.\nEnd.\n==Cause==\nA spark.[2]\n===Theories===\nNone."
    assert number(value) == {IDS[k - 1]: k for k in range(1, 6)}
    again = reread(value)
    assert (again.infobox, again.repairs, again.lead.heading) == ((), (), Heading(""))
    assert again.lead.sentences[0] == Sentence("It burned.", ())
    with pytest.raises(ValueError, match="'9:0-4', which is not among its sources"):
        render_text(article(((Sentence("It burned.", ("9:0-4",)),),)))


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


def test_another_systems_text() -> None:
    text = "It burned [1].\r\n\r\n== Cause == [2]\r\nA spark.[9] Or two.[0][2]\r\n===Blame===  Nobody [2].\n======\n"
    value = parse_text(text, SOURCES, "7", "A fire")
    assert [s.heading for s in value.sections] == [Heading("Cause"), Heading("Blame", 3)]
    assert value.lead.sentences == (Sentence("It burned.", (IDS[0],)),)
    assert value.sections[0].sentences == (Sentence("A spark.", ("invalid:9",)), Sentence("Or two.", ("invalid:0", IDS[1])))
    assert value.sections[1].paragraphs[0] == (Sentence("Nobody.", (IDS[1],)),)
    assert is_invalid("invalid:9") and not is_invalid(IDS[0])
    assert reread(value) == value


@pytest.mark.parametrize(
    ("text", "n", "last"),
    [
        # what looks back to the start of the line at each marker takes minutes
        (" ".join(f"Ferry {n} sank.[{n % 3 + 1}]" for n in range(10_000)), 10_000, Sentence("Ferry 9999 sank.", IDS[:1])),
        *(("The ferry sank." + run * 300_000 + "It was raised." + run * 300_000, 2, Sentence("It was raised.", ()))
          for run in (" ", "\n", "\t \n")),
        # the full stop was looked for behind all of them, once for each
        ("The dam broke." + "[1])" * 100_000, 2, Sentence(")" * 100_000, IDS[:1])),
    ],
    ids=["sentences", "spaces", "lines", "tabs", "markers"],
)  # fmt: skip
def test_a_megabyte_is_read_once(text: str, n: int, last: Sentence) -> None:
    """Anybody's article is parsed: what took the square of its length would stop the scorer."""
    found = parse_text(text, SOURCES, "1", "Ferry").lead.sentences
    assert len(found) == n and found[-1] == last

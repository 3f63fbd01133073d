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


def test_form_of_the_text() -> None:
    value = article(
        ((Sentence("It burned.", (IDS[0], IDS[1])), Sentence("Then rain.", (IDS[2],))), (Sentence("End.", ()),)),
        Section(Heading("Cause"), ((Sentence("A spark.", (IDS[1],)),),)),
        Section(Heading("Theories", 3), ((Sentence("None.", ()),),)),
    )
    assert render_text(value) == "It burned.[1][2] Then rain.[3]\nEnd.\n==Cause==\nA spark.[2]\n===Theories===\nNone."
    assert number(value) == {IDS[k - 1]: k for k in range(1, 6)}


def test_what_is_not_rendered() -> None:
    plain = article(((Sentence("It burned.", ()),),))
    extra = Article(
        "7", "A fire", Section(Heading("Lead"), ((Sentence("It  burned.\n", (), unsupported=True),),)), (),
        (Fact("Dead", "12", (IDS[0],)),), SOURCES, (Repair("sentence_marked", "", "It burned.", "no evidence"),),
    )  # fmt: skip
    assert reread(extra) == plain


def test_numbers_in_the_words_are_no_citations() -> None:
    sentence = Sentence("In [2022] he [sic] saw [3, 4] of [[5]] and [-1", (IDS[0],))
    follower = Sentence("2] is odd.", ())
    text = render_text(article(((sentence, follower),)))
    assert text == "In (2022) he [sic] saw (3, 4) of [(5)] and (-1[1] 2] is odd."
    assert re.findall(r"\[\d+\]", text) == ["[1]"]


def test_words_that_look_like_a_heading_stay_a_sentence() -> None:
    again = reread(article(((Sentence("==Cause== was unknown.", ()),),)))
    assert again.sections == () and again.lead.sentences[0].text == "Cause== was unknown."


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


def test_an_invalid_marker_never_becomes_valid() -> None:
    value = article(((Sentence("It burned.", ("invalid:3",)),),))  # 3 was beyond its own section's chunks
    assert render_text(value) == "It burned.[8]"


def test_a_citation_of_nothing_is_a_bug() -> None:
    with pytest.raises(ValueError, match="'9:0-4', which is not among its sources"):
        render_text(article(((Sentence("It burned.", ("9:0-4",)),),)))


def test_ten_thousand_cited_sentences_in_one_line_are_read() -> None:
    """As many as an article may have: what looks back to the start of the line at each marker takes minutes."""
    line = " ".join(f"Ferry {n} sank." + f"[{n % 3 + 1}]" for n in range(10_000))
    found = parse_text(line, SOURCES, "1", "Ferry").lead.sentences
    assert len(found) == 10_000 and found[-1] == Sentence("Ferry 9999 sank.", (IDS[0],))


@pytest.mark.parametrize("run", [" ", "\n", "\t \n"])
def test_a_megabyte_of_white_space_is_read_once(run: str) -> None:
    """Anybody's article is parsed: what took the square of its length would stop the scorer."""
    article = parse_text("The ferry sank." + run * 300_000 + "It was raised.[1]" + run * 300_000, (), "1", "Ferry")
    assert [s.text for s in article.lead.sentences] == ["The ferry sank.", "It was raised."]


def test_a_hundred_thousand_markers_among_closing_brackets() -> None:
    """The full stop was looked for behind all of them, once for each."""
    found = parse_text("The dam broke." + "[1])" * 100_000, (), "1", "Dam").lead.sentences
    assert found[0].text == "The dam broke." and found[0].cites == ("invalid:1",)
    assert sum(len(one.text) for one in found) == len("The dam broke.") + 100_000

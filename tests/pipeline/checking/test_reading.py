"""Articles of several forms, as statements with what they cite; broken markup is never an error."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.errors import UserError
from pipeline.checking.ageing import tells_of_later_day
from pipeline.checking.cited import CitedArticle
from pipeline.checking.phrases import chatbot_phrase
from pipeline.checking.reading import parse

MARKDOWN = """# Ferry
The boat hit the pier [1]. Fourteen people were hurt [2, 1]. See the [Novara paper](https://n.org/z) for more words.
Another fact stands here.[^x] And one without any source at all.

[^x]: Title. https://x.org/1

## References
[1] A title https://a.org/1
[2] Second https://a.org/2
"""

HTML = """<html><body><h1 id="firstHeading">Ferry</h1><div id="mw-content-text"><p>The boat hit the pier.<sup class="reference">
<a href="#cite_note-1">[1]</a></sup> It had left <a href="/wiki/Pella">Pella</a> at noon.</p><h2>Aftermath</h2><table><tr><td>A
table of many words here</td></tr></table><ul><li>The mayor resigned at once.<sup><a href="#cite_note-2">[2]</a></sup></li></ul>
<h2>References</h2><ol class="references"><li id="cite_note-1"><a href="https://web.archive.org/web/1/https://a.org/1">x</a> <a
class="external" href="https://a.org/1">Ferry</a></li><li id="cite_note-2"><a href="https://b.org/2">B</a></li></ol></div>"""


def cited(article: CitedArticle) -> list[tuple[str, list[str], bool]]:
    return [(s.text, [article.references[i].url for i in s.references], s.inherits) for s in article.statements]


def test_markdown() -> None:
    article = parse(MARKDOWN)
    assert article.title == "Ferry" and article.form == "Markdown"
    assert cited(article) == [
        ("The boat hit the pier.", ["https://a.org/1"], False),
        ("Fourteen people were hurt.", ["https://a.org/2", "https://a.org/1"], False),
        ("See the Novara paper for more words.", ["https://n.org/z"], False),
        ("Another fact stands here.", ["https://x.org/1"], False),
        ("And one without any source at all.", [], False),
    ]


def test_html() -> None:
    article = parse(HTML)
    assert article.title == "Ferry" and article.form == "HTML"
    assert cited(article) == [
        ("The boat hit the pier.", ["https://a.org/1"], False),
        ("It had left Pella at noon.", [], False),
        ("The mayor resigned at once.", ["https://b.org/2"], False),
    ]
    assert article.references[0].archive_url == "https://web.archive.org/web/1/https://a.org/1"


@pytest.mark.parametrize("text", ["", "{{", "== A ==", "<html></html>", "|".join("{|" * 500), "[[" * 2000, '{"event_id": 1}'])
def test_what_states_nothing_is_told(text: str) -> None:
    with pytest.raises(UserError):
        parse(text, "article")


def test_the_notice_of_our_own_articles_is_no_statement() -> None:
    from pipeline.formats.markdown import to_markdown
    from pipeline.formats.wikitext import to_wikitext
    from tests.pipeline.editing.test_dossier import article

    written = replace(article()[0], notice="This article rests on little evidence: 2 pages, 1 publisher.")
    assert parse("{{Infobox\n| title = Larrow flood\n}}\nThe dam of [[Larrow]] broke in the night.").title == "Larrow flood"
    for text in (to_markdown(written), to_wikitext(written)):
        assert not parse(text).title.startswith("Machine")
        told = [statement.text for statement in parse(text).statements]
        assert told and not any("evidence" in one or "Machine-written" in one for one in told), told


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("The dam stands as a testament to rain.", "stands as a testament"),
        ("Rain fell :contentReference[oaicite:2]{index=2}.", "contentReference["),
        ("He was born in [Insert place] in 1950.", "[Insert place]"),
        ("The court delved into the case.", ""),
        ("The dam broke [1] in the night.", ""),
        ("In conclusion of the treaty they met.", ""),
    ],
)
def test_phrases_of_chatbots(text: str, phrase: str) -> None:
    assert chatbot_phrase(text) == phrase


BROKEN = (
    "{{cite web|url=", "<ref>", "</ref>", "<ref name=a />", "[[", "]]", "}}", "'''", "{|", "|}", "==", "\n", "[1]", "<p>",
    "</p>", "A dam broke in May. ", "https://a.org ", "<ref", "\ue000", "\ue0001\ue001",
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(BROKEN), max_size=30))
def test_broken_markup_is_no_error(parts: list[str]) -> None:
    text = "".join(parts)
    for name in ("a.wiki", "a.md", "a.html"):
        try:
            article = parse(text, name)
        except UserError:
            continue
        for statement in article.statements:
            assert all(0 <= i < len(article.references) for i in statement.references)


@pytest.mark.parametrize(
    ("text", "published", "older"),
    [
        ("It opened on 3 May 2026.", ["2026-05-01"], True),
        ("It opened on May 3, 2026.", ["2026-05-01", "2026-04-01"], True),
        ("It opened on 3 May 2026.", ["2026-05-03"], False),
        ("It opened on 3 May 2026.", ["2026-05-01", ""], False),
        ("It will open on 3 May 2026.", ["2026-05-01"], False),
        ("It opened in 2026.", ["2025-05-01"], False),
        ("It opened on 31 February 2026.", ["2025-05-01"], False),
    ],
)
def test_a_day_after_its_sources(text: str, published: list[str], older: bool) -> None:
    assert tells_of_later_day(text, published) is older


def test_a_page_of_a_wiki_as_parsoid_and_as_readers_have_it() -> None:
    """Short citations, footnotes that cite, several works in one note, and names that are defined nowhere."""
    template = (
        '{"parts":[{"template":{"target":{"wt":"cite web","href":"./Template:Cite_web"},"params":{"url":{"wt":"https://a.org/1"},'
        '"title":{"wt":"The [[dam]]"},"date":{"wt":"4 May 2021"},"archive-url":{"wt":"https://web.archive.org/web/2021/https://a.org/1"}},'
        '"i":0}}]}'
    )

    def sup(name: str, shown: str) -> str:
        return (
            f'<sup class="mw-ref reference" typeof="mw:Extension/ref" data-mw=\'{{"name":"ref","attrs":{{}}}}\'>'
            f'<a href="./Dam#cite_note-{name}"><span class="mw-reflink-text">[{shown}]</span></a></sup>'
        )

    told = (
        f"The dam broke in May.{sup('d-1', '1')} Nine were hurt.{sup('s-2', '2')} It was raining.{sup('note-3', 'note 1')} "
        f"Nobody knows why.{sup('cp-4', '4')} It is open.{sup('two-5', '5')}"
    )
    notes = (
        "<li id='cite_note-d-1'><a href='./Dam#cite_ref-d_1-0'>↑</a> <span class='reference-text'><cite class='citation web' "
        f"typeof='mw:Transclusion' data-mw='{template}'><a href='https://a.org/1'>x</a></cite></span></li>",
        "<li id='cite_note-s-2'><a href='./Dam#CITEREFBrand2024'>Brand 2024</a>, p. 17.</li>",
        f"<li id='cite_note-note-3'>It rained for nine days in a row.{sup('d-1', '1')}</li>",
        "<li id='cite_note-cp-4'><span class='error mw-ext-cite-error'>Cite error: The named reference \"cp\" was invoked but "
        "never defined</span></li>",
        "<li id='cite_note-two-5'><cite class='citation web'><a href='https://b.org/2'>B</a></cite>; "
        "<cite class='citation news'><a href='https://c.org/3'>C</a></cite></li>",
    )
    work = (
        "<ul><li><cite id='CITEREFBrand2024' class='citation book'>Brand (2024). Dams. ISBN 978-0-00-000000-2</cite></li></ul>"
    )
    html = (
        f"<html lang='en'><body><h1>Dam</h1><section><p>{told}</p></section><section><h2>References</h2><section><h3>Notes</h3>"
        f"<p>No statement of the article.</p></section><ol class='mw-references references'>{''.join(notes)}</ol>{work}"
        "</section></body></html>"
    )
    article = parse(html, "a.html")
    told = [
        (s.text, [(r.url, r.kind, r.page) for r in (article.references[i] for i in s.references)]) for s in article.statements
    ]
    assert told == [
        ("The dam broke in May.", [("https://a.org/1", "", "")]),
        ("Nine were hurt.", [("", "book", "17")]),
        ("It was raining.", [("https://a.org/1", "", "")]),
        ("Nobody knows why.", [("", "undefined", "")]),
        ("It is open.", [("https://b.org/2", "", ""), ("https://c.org/3", "", "")]),
        ("It rained for nine days in a row.", [("https://a.org/1", "", "")]),
    ]
    first = article.references[0]
    assert (first.title, first.published, first.archive_url[:20]) == ("The dam", "2021-05-04", "https://web.archive.")

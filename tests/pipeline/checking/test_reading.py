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

WIKITEXT = """{{short description|x}}'''Lake Orta ferry accident''' was an accident on Lake Orta.<ref name="a">{{cite web
|url=https://a.org/x|title=Ferry hits pier|date=2026-11-19|archive-url=https://web.archive.org/web/1/https://a.org/x}}</ref>
At least 14 people {{nowrap|were hurt}}. The boat had left [[Pella]] at noon.<ref>[https://b.org/y B]</ref><ref name=a/>
{| class=x
| a table || with cells and many words
|}
== Aftermath ==
The mayor resigned {{convert|3|km}} away from it.<ref name="a" /> {{broken|x
[[File:x.jpg|thumb|a caption of several words]]
A book says the same of it.<ref>{{cite book|title=Lakes|year=1999}}</ref>
== References ==
{{reflist}} Nothing of this is a statement."""

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


def test_wikitext() -> None:
    article = parse(WIKITEXT)
    assert article.title == "Lake Orta ferry accident" and article.form == "wikitext"
    a, b = "https://a.org/x", "https://b.org/y"
    assert cited(article) == [
        ("Lake Orta ferry accident was an accident on Lake Orta.", [a], False),
        ("At least 14 people were hurt.", [b, a], True),
        ("The boat had left Pella at noon.", [b, a], False),
        ("The mayor resigned 3 km away from it.", [a], False),
        ("A book says the same of it.", [""], False),
    ]
    assert article.references[0].published == "2026-11-19" and article.references[0].archive_url.startswith("https://web.arch")
    assert article.statements[3].section == "Aftermath"


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

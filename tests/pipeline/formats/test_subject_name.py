"""Where the first sentence names the subject, and how the formats print it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lxml import html as lxml_html

from data.types import Article, Heading, Passage, Section, Sentence, Source
from pipeline.checking.reading import parse
from pipeline.formats.html import to_html
from pipeline.formats.markdown import to_markdown
from pipeline.formats.subject_name import name_in
from pipeline.formats.wikitext import to_wikitext


@pytest.mark.parametrize(
    ("title", "text", "name"),
    [
        ("2031 Tolvane flood", "The 2031 Tolvane flood struck Vasterlow.", "2031 Tolvane flood"),
        ("2031 Tolvane flood", "In March 2031 the Tolvane flood struck Vasterlow.", "Tolvane flood"),
        ("2031 Tolvane flood", "The flood of 2031 in Tolvane killed 14 people.", "flood of 2031 in Tolvane"),
        ("Tolvane dam failure", "The failure of the Tolvane dam killed 14 people.", "failure of the Tolvane dam"),
        ("Tide (film)", "Tide is a film of 2031.", "Tide"),
        ("Lenzburgh cable-car accident", "A cable car fell near Lenzburgh in an accident.", None),
        ("2031 Tolvane flood", "The flood killed 14 people in Tolvane.", None),
        ("Ida", "Idas of the town were born in Ida.", "Ida"),
        ("Tolvane flood", "Tolvane, flood: both are words.", "Tolvane, flood"),
        ("(2031)", "In 2031 it rained.", "2031"),
        ("!", "It rained!", None),
    ],
)
def test_the_name_in_a_first_sentence(title: str, text: str, name: str | None) -> None:
    found = name_in(title, text)
    assert (text[slice(*found)] if found else None) == name


def article_of(title: str, first: str, url: str = "https://a.example/1", site: str = "", day: str | None = None) -> Article:
    passages = [Passage(0, 0, 9, "It broke."), Passage(0, 10, 20, "It was old."), Passage(1, 0, 9, "It broke.")]
    sources = tuple(Source(p, url if p.page == 0 else "https://b.example/", "Dam", day, site=site) for p in passages)
    ids = tuple(source.id for source in sources)
    lead = (Sentence(first, ids), Sentence(f"{title} is over.", ids[:1]))
    body = Section(Heading("After"), ((Sentence(f"{title} is told of.", ids[1:2]),),))
    return Article("1", title, Section(Heading(""), (lead,)), (body,), (), sources)


def test_the_subject_is_bold_once_in_every_format() -> None:
    article = article_of("Tolvane dam failure", "In 2031 the failure of the Tolvane dam killed <14> people.")
    assert to_wikitext(article).count("'''") == 4, "the notice's words and the subject's"
    assert "In 2031 the '''failure of the Tolvane dam''' killed &#60;14&#62; people.<ref" in to_wikitext(article)
    assert "In 2031 the **failure of the Tolvane dam** killed &lt;14&gt; people." in to_markdown(article)
    page = lxml_html.fromstring(to_html(article, ()))
    assert [b.text for b in page.xpath("//main//section//b")] == ["failure of the Tolvane dam"]
    first = page.xpath("//section[@class='lead']//span[@class='s']")[0].text_content()
    assert first.startswith("In 2031 the failure of the Tolvane dam killed <14> people.")


def test_files_have_a_template_where_their_author_site_or_day_is_known() -> None:
    known = article_of("Tide", "Tide broke.", "file:p|1.html", "Vasterlow | Courier", "2031-03-04")
    text = to_wikitext(
        replace(known, sources=tuple(replace(s, author="Ana Ruiz") for s in known.sources)), accessed="2031-04-01"
    )
    reference = "{{cite news |title=Dam |author=Ana Ruiz |work=Vasterlow {{!}} Courier |date=2031-03-04 |id=p{{!}}1.html}}"
    assert f'<ref name="source">{reference}</ref>' in text
    assert '<ref name="source">{{cite news |title=Dam |id=p1.html}}</ref>' in to_wikitext(
        article_of("Tide", "Tide broke.", "file:p1.html")
    )


@pytest.mark.parametrize("title", ["Dam", ""])
@pytest.mark.parametrize("url", ["file:p1.html", "file:pages/p1.html", "file:0123456789abcdef-p1.html"])
def test_a_page_on_disk_is_cited_by_its_name_and_found_by_it(url: str, title: str) -> None:
    """What was written from files is checked against its own evidence: as Markdown and as wikitext."""
    known = article_of("Tide", "Tide broke.", url)
    known = replace(known, sources=tuple(replace(s, title=title) for s in known.sources))
    for text, name in ((to_wikitext(known), "a.wiki"), (to_markdown(known), "a.md")):
        assert "file:p1.html" in {one.url for one in parse(text, name, local=True).references}, name

from __future__ import annotations

import pytest
from lxml import html as lxml_html

from data.types import Page
from pipeline.reading.asides import struck_in, without_asides
from tests.pipeline.reading.test_page_tables import read
from tools.quality.page_parts import SENTENCES, TITLE, article, html, prose


def page_of(body: str, head: str = "") -> Page:
    return read(html(article(body), head=head))


@pytest.mark.parametrize(
    "struck",
    [
        "<del>Nineteen people are dead.</del>",
        "<s>Nineteen people are dead.</s>",
        "<strike>Nineteen people are dead.</strike>",
        "<span class='old'>Nineteen people are dead.</span>",
        "<span style='text-decoration: red line-through'>Nineteen people are dead.</span>",
        "<span style='text-decoration-line: line-through'>Nineteen people are dead.</span>",
    ],
)
def test_what_is_struck_out_is_no_evidence(struck: str) -> None:
    sheet = "<style>.old { text-decoration: line-through }</style>"
    page = page_of(f"{prose(0, 9)}<p>{struck} Six people are dead, the hospital says.</p>", sheet)
    assert "Six people are dead, the hospital says." in page.text and "Nineteen" not in page.text


def test_a_tag_that_was_never_closed_strikes_nothing() -> None:
    page = page_of(f"<p>Before it.</p><s>{prose()}")
    assert all(sentence in page.text for sentence in SENTENCES)
    tree = lxml_html.document_fromstring(f"<html><body><p>One.</p><del>{prose()}</del></body></html>")
    assert struck_in(tree) == set()


@pytest.mark.parametrize(
    "box",
    [
        "<div id='liveblog-epic'><p>You have read 12 articles, and we are owned by nobody.</p></div>",
        "<div class='jp-relatedposts'><p>You have read 12 articles of another town.</p></div>",
        "<section><h2>Written by Ada Ost</h2><p>You have read 12 articles by her.</p></section>",
        "<section><div><h3>Responses (14)</h3></div><div><p>You have read 12 articles, and so have I.</p></div></section>",
        "<div><h2>Most viewed</h2><ol><li>You have read 12 articles about cheese.</li></ol></div>",
        "<amp-ad><div>You have read 12 articles, none could be found.</div></amp-ad>",
        "<gu-island name='RichLinkComponent'><p>Related: you have read 12 articles</p></gu-island>",
    ],
)
def test_boxes_beside_the_text_go(box: str) -> None:
    page = page_of(f"{prose(0, 5)}{box}{prose(5)}")
    assert all(sentence in page.text for sentence in SENTENCES) and "read 12 articles" not in page.text


def test_what_holds_the_headline_or_most_of_the_words_is_the_text() -> None:
    page = read(html(f"<div class='recommended'><h1>{TITLE}</h1><div class='related-content'>{prose()}</div></div>"))
    assert all(sentence in page.text for sentence in SENTENCES)


def test_a_heading_among_paragraphs_takes_no_paragraph_with_it() -> None:
    page = page_of(f"{prose(0, 5)}<h2>Trending</h2>{prose(5)}")
    assert all(sentence in page.text for sentence in SENTENCES)


def test_many_boxes_in_each_other() -> None:
    tree = lxml_html.document_fromstring(
        f"<html><body>{prose()}{'<div class=navbox>' * 200}x{'</div>' * 200}{'<h2>Related</h2>' * 2_000}</body></html>"
    )
    without_asides(tree)
    assert not tree.xpath("//*[@class='navbox']")

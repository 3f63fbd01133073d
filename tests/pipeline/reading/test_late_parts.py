from __future__ import annotations

from tests.pipeline.reading.test_page_tables import read
from tools.quality.page_parts import SENTENCES, TITLE, article, html, prose, script

CALL = script('$RC=function(b,c){};$RC("B:0","S:0")')


def test_a_streamed_part_stands_where_its_call_puts_it() -> None:
    body = f"<main><h1>{TITLE}</h1><template id='B:0'></template><p>Loading</p></main><div hidden id='S:0'>{prose()}</div>"
    assert all(sentence in read(html(body + CALL)).text for sentence in SENTENCES)


def test_a_hidden_box_that_no_call_shows_stays_hidden() -> None:
    planted = "<div hidden id='S:1'><p>The planted words are here, and nobody sees them at all.</p></div>"
    assert "planted" not in read(html(article(prose()) + planted + CALL)).text
    twice = "<template id='B:0'></template>" + planted.replace("S:1", "S:0") * 2
    assert "planted" not in read(html(article(prose()) + twice + CALL)).text


def test_noscript_is_read_where_nothing_else_is_there() -> None:
    assert all(
        s in read(html(f"<div id='app'></div><noscript><div>{prose()}</div></noscript>", title="x")).text for s in SENTENCES
    )
    page = read(html(article(prose()) + "<noscript><p>Another text, which nobody with scripts sees.</p></noscript>"))
    assert "Another text" not in page.text


def test_a_request_to_turn_scripts_on_is_no_text() -> None:
    page = read(
        html("<div id='app'></div><noscript>You need to enable JavaScript to run this app.</noscript>" + script("x=1;" * 99))
    )
    assert page.drop_reason == "js_required"

"""Text that is in a page's JSON-LD and scripts: which is taken, and which is not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.reading.documents import Document, read_document
from tools.quality.page_parts import APP, SENTENCES, TITLE, URL, article, html, ld, prose, script

NEWS = {"@type": "NewsArticle", "headline": TITLE, "datePublished": "2031-05-05", "articleBody": prose()}
ADVERT = {"@type": "AdvertiserContentArticle", "headline": "Pumps", "articleBody": "Our pumps are the best. " * 60}


def read(body: bytes, url: str = URL) -> Document:
    return read_document(body, url=url, content_type="text/html", origin="url", run_date="2031-07-01")


def state(value: Any) -> bytes:
    return html(APP + script(json.dumps(value), id="__NEXT_DATA__", type="application/json"))


@pytest.mark.parametrize(
    "nodes",
    [
        (NEWS,),
        ([NEWS],),
        ({"@graph": [{"@type": "WebPage"}, [[NEWS]]]},),
        ({"@type": "WebPage", "mainEntity": NEWS},),
        ({"@type": "WebPage", "hasPart": [{"@type": "WebPageElement", "cssSelector": ".x"}, NEWS]},),
        ({**NEWS, "@type": ["https://schema.org/ReportageNewsArticle"]},),
        ({**NEWS, "articleBody": {"@value": prose()}},),
        ({**NEWS, "articleBody": list(SENTENCES)},),
        ({**NEWS, "articleBody": "", "hasPart": [{"@type": "Article", "articleBody": s} for s in SENTENCES]},),
        (ADVERT, NEWS),
        ({**ADVERT, "@type": "NewsArticle", "articleSection": "Sponsored"}, NEWS),
        ({**ADVERT, "@type": "NewsArticle", "datePublished": "2031-01-01"}, NEWS),  # its headline is not the page's
        ({**ADVERT, "@type": "NewsArticle", "datePublished": "2031-01-01"}, {**NEWS, "headline": "", "url": URL}),
    ],
)
def test_the_article_of_the_page_s_own_node(nodes: tuple[Any, ...]) -> None:
    found = read(html(APP, head=ld(*nodes)))
    assert found.text_kind == "jsonld"
    assert all(sentence in found.extracted.text for sentence in SENTENCES)
    assert "pumps" not in found.extracted.text and "<p>" not in found.extracted.text


def test_hidden_text_inside_of_html_in_json() -> None:
    body = (
        prose()
        + "<p hidden>The otters did it.</p><p class='sr-only'>The otters again.</p><script>otters()</script><!-- otters -->"
    )
    for page in (html(APP, head=ld({**NEWS, "articleBody": body})), state({"article": {"title": TITLE, "body": body}})):
        found = read(page).extracted
        assert SENTENCES[11] in found.text and "otters" not in found.text


@pytest.mark.parametrize("inside", ["jsonld", "state"])
def test_json_that_is_nested_too_deep_loses_nothing(inside: str) -> None:
    value = {**NEWS, "title": TITLE, "body": prose()}
    text = '{"@graph":[' * 1_000 + json.dumps(value) + "]}" * 1_000
    kind = "application/ld+json" if inside == "jsonld" else "application/json"
    found = read(html(APP + script(text, type=kind)))
    assert SENTENCES[0] in found.extracted.text and SENTENCES[11] in found.extracted.text


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (article(prose()), None),
        (APP, "too_large"),
    ],
)
def test_json_of_ten_megabytes(page: str, reason: str | None) -> None:
    large = ld({"@type": "ItemList", "itemListElement": ["x" * 10_000] * 1_000})
    found = read(html(page, head=large)).extracted
    assert found.drop_reason == reason
    assert (SENTENCES[0] in found.text) == (reason is None)
    assert not reason or "characters" in found.drop_detail


@pytest.mark.parametrize(
    "text",
    [
        "={" * 50_000,
        '"articleBody":"' * 20_000,
        "\\" * 100_000,
        '{"a":[' * 50_000,
        "__next_f.push([1," * 20_000,
        'a:"' * 50_000,
    ],
)
def test_scripts_that_are_nothing(text: str) -> None:
    for kind in ("application/ld+json", "application/json", "text/javascript"):
        found = read(html(article(prose(0, 3)) + script(text, type=kind))).extracted
        assert SENTENCES[0] in found.text


def test_what_is_shown_counts_and_not_what_the_data_says_instead() -> None:
    other = {**NEWS, "articleBody": "The otters opened the gates, and the mayor laughed about it. " * 60}
    found = read(html(article(prose()), head=ld(other)))
    assert found.text_kind == "article" and "otters" not in found.extracted.text


def test_the_data_goes_on_where_the_page_stops() -> None:
    found = read(html(article(prose(0, 4)), head=ld(NEWS)))
    assert found.text_kind == "jsonld" and SENTENCES[11] in found.extracted.text
    assert read(html(article(prose()), head=ld({**NEWS, "articleBody": prose(0, 6)}))).text_kind == "article"


def test_a_text_for_subscribers_is_left_to_them() -> None:
    wall = "<main><h1>Dam above Ostrel fails</h1><p>The dam failed.</p></main>"
    found = read(html(wall, head=ld({**NEWS, "isAccessibleForFree": False}))).extracted
    assert found.drop_reason == "login" and "subscribers" in found.drop_detail
    assert read(html(article(prose()), head=ld({**NEWS, "isAccessibleForFree": "False"}))).extracted.drop_reason is None


def test_several_articles_in_a_state_and_none_of_them_the_page_s() -> None:
    listed = [{"title": f"Story {n}", "url": f"/story/{n}", "body": prose(3 * n, 3 * n + 3)} for n in range(4)]
    assert read(state({"stories": listed})).extracted.drop_reason == "js_required"
    own = [*listed, {"title": TITLE, "url": "/region/dam-fails", "body": prose()}]
    assert all(sentence in read(state({"stories": own})).extracted.text for sentence in SENTENCES)


def test_a_state_in_a_template_or_hidden_by_its_own_word_is_not_read() -> None:
    inert = f"<template>{script(json.dumps({'body': prose()}), type='application/json')}</template>"
    assert read(html(APP + inert + "<script src='/a.js'></script>")).extracted.drop_reason == "js_required"
    parts = [{"type": "text", "content": s} for s in SENTENCES] + [
        {"type": "text", "content": "The otters did it.", "hidden": True}
    ]
    assert "otters" not in read(state({"article": {"title": TITLE, "content_elements": parts}})).extracted.text


def test_why_a_page_without_text_cannot_be_read_and_what_to_do() -> None:
    found = read(html(APP + "<script src='/app.js'></script>")).extracted
    assert found.drop_reason == "js_required" and "--file" in found.drop_detail
    assert read(html("<main></main>")).extracted.drop_reason != "js_required"  # no script would bring any


def test_the_only_story_in_a_state_is_another_page_s() -> None:
    other = {"headline": "Otters seen", "url": "/animals/otters", "body": "The otters were seen at the bridge again. " * 12}
    assert read(state({"stories": [other]})).extracted.drop_reason == "js_required"
    own = {"headline": "Another headline", "url": "/region/dam-fails", "body": prose()}
    assert SENTENCES[0] in read(state({"story": own})).extracted.text


def test_a_page_inside_of_a_box_whose_class_speaks_of_cookies() -> None:
    body = "".join(f"<p>{sentence}</p>" for sentence in SENTENCES)
    found = read(html(f'<div class="page cookie-bar-visible"><h1>{TITLE}</h1>{body}</div>'))
    assert found.extracted.drop_reason is None and SENTENCES[3] in found.extracted.text


def test_money_is_no_code() -> None:
    text = "Pay rises from $24.10 to $27.50 an hour."
    assert text in read(state({"article": {"title": TITLE, "body": [*SENTENCES, text]}})).extracted.text


def test_what_a_page_for_a_video_says_of_it() -> None:
    video = {"videoDetails": {"videoId": "k3", "title": TITLE, "shortDescription": "\n\n".join(SENTENCES)}}
    other = {"compactVideoRenderer": {"title": {"simpleText": "The otters in a lighthouse, a film of one hour and more."}}}
    found = read(html(script(f"var ytInitialPlayerResponse = {json.dumps(video)};") + script(f"var x = {json.dumps(other)};")))
    assert all(sentence in found.extracted.text for sentence in SENTENCES) and "otters" not in found.extracted.text

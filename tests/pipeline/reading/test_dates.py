from __future__ import annotations

import json
from dataclasses import replace

import pytest
from lxml import html as lxml_html

from data.errors import UserError
from data.pages.cleaning import Extracted, clean_pages
from pipeline.reading.dates import Dates, find_dates, judge_dates, read_moment
from pipeline.reading.embedded.jsonld import article_node

URL = "https://news.example/region/dam-fails"


def dates(body: str = "", *, head: str = "", url: str = URL, provider: str = "", latest: str | None = "2031-12-31") -> Dates:
    tree = lxml_html.document_fromstring(f"<html><head><title>x</title>{head}</head><body><p>Text.</p>{body}</body></html>")
    return find_dates(tree, article_node(tree, url), url=url, provider_date=provider, latest=latest)


def ld(*nodes: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(nodes[0] if len(nodes) == 1 else list(nodes))}</script>'


ARTICLE = {"@type": "NewsArticle", "datePublished": "2031-05-01T08:00:00+02:00", "dateModified": "2031-05-09"}
META = '<meta property="article:published_time" content="2031-05-02T10:00:00Z">'


@pytest.mark.parametrize(
    "trap",
    [
        "<p>The last flood was on 12 March 1997, and nobody remembers another one.</p>",
        "<footer>Copyright 2019 Example Media</footer>",
        "<p>03/04/2023</p>",
        '<time pubdate datetime="03/04/2023">03/04/2023</time>',
        '<p>The match was played on <time datetime="2030-02-01">1 February</time> in front of a record crowd of the town.</p>',
        '<aside class="related"><time datetime="2030-02-01" pubdate>1 February</time></aside>',
        '<div class="comment"><time itemprop="datePublished" datetime="2030-02-01">1 February</time></div>',
        '<time pubdate datetime="2030-02-01">a</time><time pubdate datetime="2030-02-02">b</time>',
        '<time pubdate datetime="1970-01-01T00:00:00Z">never</time>',
        '<time pubdate datetime="2030-02-31">no such day</time>',
        '<time pubdate datetime="2030-02">a month</time>',
    ],
)
def test_no_date_is_better_than_a_wrong_one(trap: str) -> None:
    assert dates(trap) == Dates()


def test_updated_is_when_it_was_changed_and_not_when_it_was_published() -> None:
    found = dates('<time class="updated" datetime="2030-02-01">1 February</time>')
    assert (found.day, found.modified) == ("", "2030-02-01")
    two = '<time class="updated" datetime="2030-02-01">a</time><time class="updated" datetime="2030-02-02">b</time>'
    assert dates(two).modified == ""  # a list of articles


def test_a_live_page_is_as_new_as_its_newest_entry() -> None:
    entries = [
        {"@type": "BlogPosting", "datePublished": f"2031-05-0{n}T10:00:00Z", "articleBody": "It rained."} for n in (6, 5, 4)
    ]
    blog = {"@type": "LiveBlogPosting", "dateModified": "2031-05-05T09:00:00Z", "liveBlogUpdate": entries}
    found = dates(head=ld(blog))
    assert (found.day, found.modified) == ("2031-05-04", "2031-05-06T10:00:00+00:00")
    assert dates(head=ld({**blog, "coverageStartTime": "2031-05-03T08:00:00Z"})).day == "2031-05-03"


@pytest.mark.parametrize(
    "body",
    [
        '<header><time class="entry-date published" datetime="2031-05-03T08:00:00+00:00">3 May</time> '
        '<time class="updated" datetime="2031-05-08">8 May</time></header>',
        '<span itemprop="datePublished" content="2031-05-03">3 May</span>',
        '<p class="byline"><time datetime="2031-05-03">3 May 2031</time></p>',
        "<time pubdate>May 3, 2031</time>",
    ],
)
def test_time_elements_that_say_when(body: str) -> None:
    assert (dates(body).day, dates(body).source) == ("2031-05-03", "time")


@pytest.mark.parametrize(
    ("nodes", "day"),
    [
        ([{"@graph": [{"@type": "WebSite"}, ARTICLE]}], "2031-05-01"),
        ([[ARTICLE, ARTICLE]], "2031-05-01"),
        ([{"@type": ["Thing", "http://schema.org/BlogPosting"], "datePublished": "2031-05-01"}], "2031-05-01"),
        ([{"@type": "WebPage", "datePublished": "2031-05-06", "mainEntity": ARTICLE}], "2031-05-01"),
        ([{"@type": "WebPage", "datePublished": "2031-05-06"}], "2031-05-06"),
        ([{**ARTICLE, "url": URL}, {**ARTICLE, "url": URL + "-2", "datePublished": "2031-04-01"}], "2031-05-01"),
        ([ARTICLE, {**ARTICLE, "datePublished": "2031-04-01"}], ""),  # two articles, and nothing tells which
        ([{"@type": "VideoObject", "datePublished": "2031-05-06"}], ""),
        ([{"@type": "NewsArticle", "video": {"@type": "VideoObject", "datePublished": "2031-05-06"}}], ""),
        ([{"@type": "NewsArticle", "comment": [{"@type": "Comment", "datePublished": "2031-05-06"}]}], ""),
        ([{"@type": "NewsArticle", "datePublished": 20310501}], ""),
        (["text"], ""),
    ],
)
def test_the_node_of_the_page_itself(nodes: list[object], day: str) -> None:
    assert dates(head=ld(*nodes)).day == day


@pytest.mark.parametrize(
    "text",
    [
        "{broken",
        "[" * 5000,
        '<!-- {"@type":"NewsArticle"} -->',
        '{"@type":"NewsArticle",\n"headline":"a\nb"};',
        "//<![CDATA[ {} //]]>",
    ],
)
def test_json_ld_in_any_state_is_survived(text: str) -> None:
    assert dates(head=f'<script type="application/ld+json">{text}</script>' + META).source == "meta"


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("/2031/05/04/dam", "2031-05-04"), ("/2031/5/4/", "2031-05-04"), ("/world/2031/may/04/dam", "2031-05-04"),
        ("/2031-05-04-dam", "2031-05-04"), ("/news/20310504/dam", "2031-05-04"), ("/2031/05/dam", ""), ("/2031/13/04/", ""),
        ("/flood-of-2031-05-04", ""), ("/id/12345678", ""), ("/1912/04/15/titanic", ""), ("/p?d=/2031/05/04/", ""),
    ],
)  # fmt: skip
def test_days_in_addresses(path: str, day: str) -> None:
    assert dates(url="https://news.example" + path).day == day


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2031-05-04", "2031-05-04"), ("2031-05-04T08:00:00Z", "2031-05-04"), ("2031-05-04 08:00:00 +0200", "2031-05-04"),
        ("2031-05-04T08:00:00.123+02:00", "2031-05-04"), ("2031-05-04 08:00 UTC", "2031-05-04"),
        ("2031-05-04T99", "2031-05-04"),
        ("20310504", "2031-05-04"), ("2031/05/04", "2031-05-04"), ("Sun, 04 May 2031 08:00:00 GMT", "2031-05-04"),
        ("May 4, 2031", "2031-05-04"), ("Sunday, 4th May 2031", "2031-05-04"), ("4 May 2031 at noon", "2031-05-04"),
        ("1912-04-15", "1912-04-15"),
        ("04/05/2031", ""), ("4.5.31", ""), ("2031", ""), ("2031-05", ""), ("1715000000", ""), ("3 days ago", ""),
        ("0001-01-01", ""), ("9999-12-31T23:59:59-01:00", ""), ("Mayday 4, 2031", "2031-05-04"), ("", ""),
    ],
)  # fmt: skip
def test_forms_of_a_date(text: str, day: str) -> None:
    moment = read_moment(text)
    assert (moment.day.isoformat() if moment else "") == day


def page(published: str | None, **changes: object) -> Extracted:
    made = Extracted(url="https://a.example", title="T", text="x", origin="search", published=published)
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("strict", [False, True])
def test_the_cut_off(strict: bool) -> None:
    pages = [page("2031-05-04"), page("2031-05-05"), page(None), page("soon"), page("2031-05-06", drop_reason="login")]
    undated = "undated" if strict else None
    found = judge_dates(pages, "2031-05-04", strict)
    assert [p.drop_reason for p in found] == [None, "after_cutoff", undated, undated, "login"]
    assert found[1].drop_detail == "published 2031-05-05, the cut-off is 2031-05-04"
    cleaned = clean_pages(pages, leak=None, leak_hosts=False, min_words=0)
    assert judge_dates(cleaned, "", strict) == cleaned


def test_a_cut_off_that_is_no_day() -> None:
    with pytest.raises(UserError, match=r"2031-5.*web\.as_of"):
        judge_dates([], "2031-5", strict=False)

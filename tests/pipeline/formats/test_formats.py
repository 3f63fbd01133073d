from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as lxml_html
from markdown_it import MarkdownIt

from data.types import DROP_REASONS, Article, Fact, Heading, Page, Passage, Repair, RepairKind, Section, Sentence, Source
from pipeline import drop_words
from pipeline.following.changes import Quote, Side
from pipeline.following.disagreements import Disagreement
from pipeline.formats import page_words
from pipeline.formats.html import to_html
from pipeline.formats.index_page import IndexRow, index_html
from pipeline.formats.markdown import to_markdown
from pipeline.formats.wikitext import to_wikitext
from pipeline.provenance import day_of, host_of, shortened, web_link

HOSTILE = (
    "</script><img src=x onerror=alert(1)> & \"quoted\" 'single' {{danger}} [[Link]] [a](javascript:b) "
    "| ''it'' `x` *b* _c_ ~~~~"
)


def passage_of(pages: list[Page], page: int, words: str) -> Passage:
    start = pages[page].text.index(words)
    return Passage(page, start, start + len(words), words)


def source_of(pages: list[Page], page: int, words: str) -> Source:
    return Source(passage_of(pages, page, words), pages[page].url, pages[page].title, pages[page].published)


def make(*, title: str = "Ferry grounding", hostile: str = "") -> tuple[Article, list[Page]]:
    first_url = "https://www.gazette.example/a?b=1&c=2"
    pages = [
        Page(first_url, f"Ferry aground{hostile}", f"😀 Intro.\nAll 214 were saved.{hostile}\nEnd.", "search", "2023-02-11"),
        Page("javascript:alert(1)", "Sign in", "Two tugs came.", "search"),
        Page("https://mirror.example", "Mirror", "x", "search", drop_reason="leak_host"),
        Page("https://copy.example", "Copy", "x", "search", drop_reason="duplicate", duplicate_of=0),
        Page("https://idle.example/<b>", "Tide tables", "High water.", "search"),
    ]  # fmt: skip
    sources = (
        source_of(pages, 0, "All 214 were saved."),
        source_of(pages, 1, "Two tugs came."),
        source_of(pages, 0, f"All 214 were saved.{hostile}\nEnd."),
    )
    a, b, c = (source.id for source in sources)
    article = Article(
        event_id="7",
        title=title,
        lead=Section(Heading(""), ((Sentence(f"All were saved {hostile}.", (a, c)), Sentence("Nobody died.", ())),)),
        sections=(
            Section(Heading(f"Rescue {hostile}"), ((Sentence("Two tugs came.", (b, a)),), (Sentence("It rained.", (), True),))),
            Section(Heading("Tugs", 3), ((Sentence("They were strong.", ("invalid:99",)),),)),
        ),
        infobox=(Fact(f"People {hostile}", f"214 {hostile}", (a,)),),
        sources=sources,
        repairs=(Repair("sentence_removed", "Rescue", f"The captain swam. {hostile}", "no passage supports it"),),
    )
    return article, pages


def parsed(text: str) -> lxml_html.HtmlElement:
    return lxml_html.document_fromstring(text)


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# --- addresses, days, quotations


@pytest.mark.parametrize(
    ("url", "link", "host"),
    [
        ("https://www.a.org/x?y=1&z=2#f", "https://www.a.org/x?y=1&z=2#f", "a.org"),
        ('http://a.org/ü [x]|y "q" <b>', "http://a.org/%C3%BC%20%5Bx%5D%7Cy%20%22q%22%20%3Cb%3E", "a.org"),
        ("http://a.org/{{x}}''", "http://a.org/%7B%7Bx%7D%7D%27%27", "a.org"),
        ("http://[::1]:80/x", "http://[::1]:80/x", "::1"),
        ("javascript:alert(1)", None, ""),
        ("java\nscript:alert(1)", None, ""),
        ("data:text/html,x", None, ""),
        ("ftp://a.org", None, ""),
        ("//a.org", None, ""),
        ("https://paper.org@evil.org/", None, ""),
        ("http://a.org\\@evil.org/", None, ""),
        ("http://[evil]/", None, ""),
        ('http://a"b/', None, ""),
        ("", None, ""),
    ],
)
def test_only_web_addresses_become_links(url: str, link: str | None, host: str) -> None:
    assert web_link(url) == link
    assert host_of(url) == host


def test_days_and_quotations() -> None:
    assert str(day_of("2023-02-11T06:42:00+01:00")) == "2023-02-11"
    assert day_of("11/02/2023") is None and day_of(None) is None
    assert shortened("a  b\nc") == "a b c"
    assert shortened("one two, three four", 10) == "one two…"
    assert len(shortened("x" * 500)) == 280


TERMINAL = "\x1b]0;owned\x07\x1b[2Ja\x9b31mb\u202ec\u2066d\x00e"


@pytest.mark.parametrize("write", [to_markdown, to_wikitext])
def test_no_text_steers_a_terminal_or_the_direction_of_others(write: Callable[[Article], str]) -> None:
    article, _ = make(title=TERMINAL, hostile=TERMINAL)
    source = replace(article.sources[0], title=TERMINAL)
    written = write(replace(article, sources=(source, *article.sources[1:])))
    assert all(c.isprintable() or c == "\n" for c in written)
    assert "owned" in written


@pytest.mark.parametrize("write", [to_markdown, to_wikitext])
def test_a_marker_of_nothing_is_text_like_all_else(write: Callable[[Article], str]) -> None:
    lead = Section(Heading(""), ((Sentence("All were saved.", (f"invalid:{HOSTILE}",)),),))
    written = write(Article("7", "T", lead, (), (), ()))
    for markup in ("<img", "[[Link", "[a](", "</script>"):
        assert markup not in written


def test_an_address_holds_no_signature_and_no_switch_of_a_wiki() -> None:
    passage = Passage(0, 0, 2, "No")
    source = Source(passage, "https://a.org/~~~~/__NOTOC__/{{x}}|y=<z>", "T", None)
    lead = Section(Heading(""), ((Sentence("Yes.", (source.id,)),),))
    written = to_wikitext(Article("7", "T", lead, (), (), (source,)))
    assert "|url=https://a.org/%7E%7E%7E~/%5F%5FNOTOC%5F%5F/%7B%7Bx%7D%7D%7Cy=%3Cz%3E |title=" in written


# --- HTML


def test_html_holds_no_markup_but_its_own() -> None:
    article, pages = make(title=f"Title {HOSTILE}", hostile=HOSTILE)
    page = parsed(to_html(article, pages, scores={HOSTILE: 0.5}, run_note=HOSTILE))
    assert page.xpath("//img | //iframe | //object | //embed | //link | //base | //form | //svg") == []
    assert [script.get("type") for script in page.xpath("//script")] == ["application/json", None]
    names = {name for element in page.iter() if isinstance(element.tag, str) for name in element.attrib}
    assert not {name for name in names if name.startswith("on")} and not names & {"style", "src", "srcdoc"}
    assert page.xpath("string(//h1)") == f"Title {HOSTILE}"
    assert page.xpath("string(//section[@class='lead']//span[@class='s'])") == f"All were saved {HOSTILE}.[1][3]"
    assert page.xpath("string(//h2[@id='section-1'])") == f"Rescue {HOSTILE}"


def test_html_links() -> None:
    article, pages = make(hostile=HOSTILE)
    page = parsed(to_html(article, pages))
    ids = [element.get("id") for element in page.xpath("//*[@id]")]
    assert len(ids) == len(set(ids))
    outward = [a for a in page.xpath("//a[@href]") if not a.get("href").startswith("#")]
    assert {a.get("href") for a in outward} == {
        "https://www.gazette.example/a?b=1&c=2",
        "https://mirror.example",
        "https://copy.example",
        "https://idle.example/%3Cb%3E",
    }
    assert all(a.get("rel") == "nofollow noopener noreferrer" for a in outward)
    assert all(a.get("href")[1:] in ids for a in page.xpath("//a[starts-with(@href, '#')]"))
    cites = page.xpath("//a[@class='cite']")
    assert [a.text for a in cites] == ["[1]", "[3]", "[1]", "[2]", "[1]"]
    assert [a.get("href") for a in cites] == ["#source-1", "#source-3", "#source-1", "#source-2", "#source-1"]
    assert [a.get("href") for a in page.xpath("//li[@id='source-1']//span[@class='back']/a")] == [
        "#cite-1",
        "#cite-3",
        "#cite-5",
    ]
    assert [a.text for a in page.xpath("//nav//a")] == [f"Rescue {HOSTILE}", "Tugs", "Sources", "How this draft was made"]


def test_html_policy_admits_exactly_what_is_there() -> None:
    article, pages = make()
    page = parsed(to_html(article, pages))
    (policy,) = page.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'" and rules["base-uri"] == "'none'" and rules["form-action"] == "'none'"
    assert rules["style-src"] == digest(page.xpath("string(//style)"))
    assert rules["script-src"] == digest(page.xpath("string(//script[not(@type)])"))
    assert "@import" not in page.xpath("string(//style)") and "url(" not in page.xpath("string(//style)")


def test_html_evidence_is_found_by_a_script_that_counts_utf16() -> None:
    article, pages = make(hostile=HOSTILE)
    evidence = json.loads(parsed(to_html(article, pages)).xpath("string(//script[@id='evidence-data'])"))
    for source, shown in zip(article.sources, evidence["sources"], strict=True):
        units = evidence["pages"][str(shown["page"])].encode("utf-16-le")
        start, end = (2 * offset for offset in shown["span"])
        assert units[start:end].decode("utf-16-le") == source.passage.text
    assert [source["link"] for source in evidence["sources"]][1] is None
    assert set(evidence["pages"]) == {"0", "1"}  # pages that nothing cites are not carried along


def test_html_without_the_pages_still_shows_the_passages() -> None:
    article, pages = make()
    for others in ([], pages[::-1]):
        evidence = json.loads(parsed(to_html(article, others)).xpath("string(//script[@id='evidence-data'])"))
        assert evidence["pages"] == {}
        assert [s["text"] for s in evidence["sources"]] == [s.passage.text for s in article.sources]


def test_html_tells_how_the_draft_was_made() -> None:
    article, pages = make()
    gone = [
        Page(f"https://{name[0]}.example", name[1], "", "search", drop_reason="http_4xx", drop_detail=name[2])
        for name in (("a", "One", "404"), ("b", "Two", ""))
    ]
    pages = [*pages[:2], gone[0], pages[3], pages[4], gone[1]]
    page = parsed(to_html(article, pages, scores={"cite_recall": 0.75, "words": 412.0}, run_note="Written by ours."))
    record = " ".join(page.xpath("string(//section[@class='record'])").split())
    assert "Written by ours.6 pages found, 3 read, 2 cited.cite_recall0.750words412" in record
    assert "and why (3)Refused, or gone (2)One (a.example): 404Two (b.example)" in record
    assert "The same text as another page (1)Copy (copy.example): “Ferry aground”" in record
    assert "Sentence removed in “Rescue” (no passage supports it)The captain swam." in record
    assert "machine" in page.xpath("string(//*[@role='note'])").lower()


def test_html_lists_each_cited_page_once_with_what_is_known_of_it() -> None:
    article, pages = make()
    known: dict[str, Any] = {"url": "https://www.reuters.com/a", "retrieved_at": "2024-05-03T10:00:00+00:00"}
    gone: dict[str, Any] = {"archive_url": "https://web.archive.org/web/2023/x", "archive_date": "2023-07-01"}
    first, second, third = article.sources
    first, third = (replace(source, **known, **gone) for source in (first, third))
    page = parsed(to_html(replace(article, sources=(first, second, third)), pages))
    one, two = page.xpath("//ol[@class='pages']/li")
    assert one.xpath("string(.//span[@class='name'])") == "Ferry aground"
    assert one.xpath("string(.//span[@class='rating reliable'])") == "Generally reliable"
    assert [part.text_content() for part in one.xpath(".//span[@class='meta']/span")] == [
        "reuters.com",
        "published 11 February 2023",
        "retrieved 3 May 2024",
        "archived copy of 1 July 2023",
        "cited by 2 sentences and 1 key fact: [1] [3]",
    ]
    assert one.xpath(".//a/@href") == ["https://www.reuters.com/a", gone["archive_url"], "#source-1", "#source-3"]
    assert two.text_content() == "Sign inundatedcited by 1 sentence: [2]"
    assert "1 of 2 pages is by a publisher" in page.xpath("string(//p[@class='about'])")
    evidence = json.loads(page.xpath("string(//script[@id='evidence-data'])"))["sources"]
    assert evidence[0]["archive"] == gone["archive_url"] and evidence[1]["archive"] is None
    assert evidence[0]["facts"] == ["reuters.com", "published 11 February 2023", "retrieved 3 May 2024", "Generally reliable"]


def disagreement(hostile: str = "", *, develops: bool = False) -> Disagreement:
    """Three values: of a cited passage, of a cited page's other text on two days, of a page that is not cited."""

    def side(value: str, first: str, last: str, page: int, text: str, url: str) -> Side:
        return Side(value + hostile, first, last, 1 + (first != last), (Quote(text + hostile, page, url, last),))

    sides = (
        side("214", "2023-02-11", "2023-02-11", 0, "All 214 were saved.", "https://www.gazette.example/a"),
        side("210 people", "2023-02-12", "2023-02-13", 1, "The tugs took 210 people.", "javascript:alert(1)"),
        side("About 300", "", "", 4, "About 300 were seen.", "https://idle.example/<b>"),
    )
    return Disagreement(f"people rescued{hostile}", sides, (f"214{hostile}",), develops)


def test_html_tells_what_sources_disagree_on() -> None:
    article, pages = make()
    page = parsed(to_html(article, pages, disagreements=[disagreement(), disagreement(develops=True)]))
    (section,) = page.xpath("//section[@aria-labelledby='disagreements']")
    assert section.getnext().get("aria-labelledby") == "sources", "right before the sources"
    assert section.xpath("string(./h3)") == "People rescued"
    shown = [item.xpath("string(.//span[@class='name'])") for item in section.xpath("./ol[1]/li")]
    assert shown == ["214", "210 people", "About 300"]
    about = [item.xpath("./span[@class='meta']/span") for item in section.xpath("./ol[1]/li")]
    assert [[part.text_content() for part in parts] for parts in about] == [
        ["11 February 2023", "1 independent source", "in this article", "[1] [3]"],
        ["12 February 2023 to 13 February 2023", "2 independent sources", "[2]"],
        ["undated", "1 independent source", "idle.example"],
    ]
    assert section.xpath("./ol[1]//a/@href") == ["#source-1", "#source-3", "#source-2", "https://idle.example/%3Cb%3E"]
    assert section.text_content().count("changes with the day") == 1, "of the second alone"
    assert [a.text for a in page.xpath("//nav//a")][-3:] == ["Sources disagree", "Sources", "How this draft was made"]
    assert to_html(article, pages, disagreements=()) == to_html(article, pages)


def test_what_sources_disagree_on_holds_no_markup() -> None:
    article, pages = make()
    page = parsed(to_html(article, pages, disagreements=[disagreement(HOSTILE)]))
    assert page.xpath("//img | //iframe | //svg | //form") == [] and len(page.xpath("//script")) == 2
    (section,) = page.xpath("//section[@aria-labelledby='disagreements']")
    assert section.xpath("string(./h3)") == f"People rescued{HOSTILE}"
    assert section.xpath("string(.//span[@class='name'])") == f"214{HOSTILE}"
    assert not [a for a in section.xpath(".//a/@href") if not a.startswith(("#source-", "https://idle.example/"))]
    lines = to_markdown(article, [disagreement(HOSTILE)]).split("\n\n")
    told = lines[lines.index("## Sources disagree") + 1]
    assert "\n" not in told
    assert [kind for kind, _ in markdown_tokens(told) if "html" in kind or "link" in kind or "image" in kind] == []


def test_markdown_tells_what_sources_disagree_on() -> None:
    article, _ = make()
    text = to_markdown(article, [disagreement(), disagreement(develops=True)])
    one, two = text.partition("## Sources disagree\n\n")[2].split("\n\n")[0].splitlines()
    assert one == (
        "- people rescued: 214 (2023-02-11, 1 independent source), 210 people (2023-02-12 to 2023-02-13, 2 independent "
        "sources), About 300 (undated, 1 independent source)"
    )
    assert two == one.replace("), ", ") -> ") and text.index("Sources disagree") < text.index("[^1]: ")
    assert to_markdown(article, ()) == to_markdown(article)


def test_html_of_the_same_article_is_the_same() -> None:
    assert to_html(*make(hostile=HOSTILE)) == to_html(*make(hostile=HOSTILE))


def test_html_marks_what_is_unsupported_or_cites_nothing() -> None:
    article, pages = make()
    page = parsed(to_html(article, pages))
    assert page.xpath("//span[@class='s unsupported']")[0].text == "It rained."
    assert page.xpath("//*[@class='doubt']/text()") == ["[unsupported]", "[99?]"]
    assert "1 unsupported" in page.xpath("string(//p[@class='byline'])")


def test_html_has_words_for_every_reason_and_repair() -> None:
    assert set(drop_words.DROP_REASONS) == set(DROP_REASONS)
    assert set(page_words.REPAIRS) == set(get_args(RepairKind))


def test_html_of_an_empty_article() -> None:
    empty = Article("7", "Nothing", Section(Heading(""), ()), (), (), ())
    page = parsed(to_html(empty, []))
    assert page.xpath("//a[@class='cite'] | //aside[@class='infobox'] | //details[not(@class='fold')]") == []
    assert page.xpath("string(//p[@class='byline'])").startswith("0 sentences")


def test_index() -> None:
    rows = [
        IndexRow("1", "A <b>fire</b>", "ok", "", 5, 31, 1412, "articles/1 a.html"),
        IndexRow("2", "Flood", "failed", "evidence: none <usable>"),
        IndexRow("3", "Trap", "ok", "", 1, 1, 1, "javascript:alert(1)"),
    ]
    page = parsed(index_html(rows, title="Run <i>", scores={"cite_recall": 0.81}))
    assert page.xpath("//b | //i | //script") == []
    assert page.xpath("//td/a/@href | //th/a/@href") == ["articles/1%20a.html", "javascript%3Aalert%281%29"]
    first, second, _ = page.xpath("//table[@class='events']/tbody/tr")
    assert [cell.text_content() for cell in first] == ["A <b>fire</b>", "written", "5", "31", "1,412"]
    assert [cell.text_content() for cell in second] == ["Floodevidence: none <usable>", "failed", "", "", ""]
    assert "2 articles, 1 failed" in page.text_content() and "81.0 %" in page.text_content()
    (policy,) = page.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert "script-src 'none'" in policy


# --- Markdown


def markdown_tokens(text: str) -> list[tuple[str, str]]:
    """(type, content or target) of all tokens, inline ones included."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        for part in (token, *(token.children or ())):
            found.append((part.type, str(part.attrs.get("href", part.content))))
    return found


def test_markdown_form() -> None:
    text = to_markdown(make()[0])
    lines = text.splitlines()
    assert lines[0] == "# Ferry grounding" and lines[2].startswith("> **Machine-written draft.**")
    assert "| **People** | 214[^1] |" in lines
    assert "## Rescue" in lines and "### Tugs" in lines
    assert "Two tugs came.[^2][^1]" in lines and r"It rained. *\[no source found\]*" in lines
    assert r"They were strong.\[no source 99\]" in lines
    assert (
        "[^1]: [Ferry aground](<https://www.gazette.example/a?b=1&c=2>). gazette.example, 2023-02-11. “All 214 were saved.”"
        in lines
    )
    assert "[^2]: Sign in. “Two tugs came.”" in lines  # its address is a script


def test_markdown_of_a_page_that_was_fetched_and_is_gone() -> None:
    article, _ = make()
    gone: dict[str, Any] = {"retrieved_at": "2024-05-03T10:00:00+00:00", "archive_url": "https://web.archive.org/x y"}
    text = to_markdown(replace(article, sources=(replace(article.sources[0], **gone), *article.sources[1:])))
    assert "2023-02-11, retrieved 2024-05-03, [archived copy](<https://web.archive.org/x%20y>). “All" in text


def test_markdown_shows_hostile_words_as_they_are() -> None:
    tokens = markdown_tokens(to_markdown(make(title=HOSTILE, hostile=HOSTILE)[0]))
    kinds = {kind for kind, _ in tokens}
    assert not kinds & {"html_block", "html_inline", "image", "code_inline", "fence"}
    assert {target for kind, target in tokens if kind == "link_open"} == {"https://www.gazette.example/a?b=1&c=2"}
    title = next(i for i, (kind, _) in enumerate(tokens) if kind == "heading_open")
    shown = "".join(content for kind, content in tokens[title + 2 :] if kind in ("text", "text_special", "heading_close"))
    assert shown.startswith(HOSTILE)


@given(st.text(st.sampled_from([*"#+-=>:1.)*_`~[]()!<&;|\\ \nab@/$"]), min_size=1, max_size=12))
def test_markdown_words_stay_a_paragraph(words: str) -> None:
    article = Article("7", "T", Section(Heading(""), ((Sentence(words, ()),),)), (), (), ())
    tokens = markdown_tokens(to_markdown(article).split("\n\n", 2)[2])
    expected = " ".join(words.split())
    assert {kind for kind, _ in tokens} <= {"paragraph_open", "inline", "text", "text_special", "paragraph_close"}
    assert "".join(content for kind, content in tokens if kind in ("text", "text_special")) == expected


def test_markdown_addresses_in_words_are_not_links() -> None:
    article = Article(
        "7", "T", Section(Heading(""), ((Sentence("See https://a.org, www.b.org or c@d.org.", ()),),)), (), (), ()
    )
    assert r"See https\://a.org, www\.b.org or c\@d.org." in to_markdown(article)


# --- wikitext


def test_wikitext_form() -> None:
    text = to_wikitext(make()[0], accessed="2024-01-05")
    assert text.startswith("<div") and "'''Machine-written draft.'''" in text and "a person must check" in text
    full = (
        '<ref name="gazette-example">{{cite web |url=https://www.gazette.example/a?b=1&c=2 |title=Ferry aground '
        "|website=gazette.example |date=2023-02-11 |access-date=2024-01-05}}</ref>"
    )
    assert text.count(full) == 1 and text.index(full) < text.index('<ref name="gazette-example" />')
    assert "{{Infobox\n| title = Ferry grounding\n| label1 = People\n| data1 = 214<ref" in text
    assert "\n== Rescue ==\n" in text and "\n=== Tugs ===\n" in text
    assert '<ref name="source">Sign in</ref>' in text  # its address is a script
    assert "It rained.{{citation needed}}" in text and "<sup>&#91;no source 99&#93;</sup>" in text
    assert text.endswith("== References ==\n\n{{reflist}}\n")
    assert "access-date" not in to_wikitext(make()[0])


def test_wikitext_of_pages_that_were_fetched_and_of_one_that_is_gone() -> None:
    article, _ = make()
    first, *others = article.sources
    first = replace(
        first,
        retrieved_at="2024-05-03T10:00:00+00:00",
        archive_url="https://web.archive.org/web/2023/x|y}}",
        archive_date="2023-07-01",
    )
    text = to_wikitext(replace(article, sources=(first, *others)), accessed="2020-01-01")
    gone = "|archive-url=https://web.archive.org/web/2023/x%7Cy%7D%7D |archive-date=2023-07-01 |url-status=dead}}"
    assert f"|access-date=2024-05-03 {gone}" in text and "|access-date=2020-01-01" not in text
    undated = to_wikitext(replace(article, sources=(replace(first, archive_date="|x"), *others)))
    assert "archive" not in undated.replace("web.archive", "") and "dead" not in undated


def wikitext_of(words: str) -> str:
    article = Article("7", "T", Section(Heading(""), ((Sentence(words, ()),),)), (), (), ())
    return to_wikitext(article).split("\n\n")[1]


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("{{stub}} [[Link|x]]", "&#123;&#123;stub&#125;&#125; &#91;&#91;Link&#124;x&#93;&#93;"),
        ("<ref>x</ref> <!-- y", "&#60;ref&#62;x&#60;/ref&#62; &#60;!-- y"),
        ("''a'' it's", "&#39;&#39;a&#39;&#39; it's"),
        ("== Heading ==", "&#61;= Heading =="),
        ("* a", "&#42; a"),
        ("----", "&#45;---"),
        ("a ~~~~ __TOC__", "a &#126;&#126;&#126;&#126; &#95;&#95;TOC&#95;&#95;"),
        ("see http://a.org, mailto:b@c.org, news: today", "see http&#58;//a.org, mailto&#58;b@c.org, news&#58; today"),
        ("AT&T &lt;b&gt; &#123;", "AT&T &amp;lt;b&amp;gt; &amp;#123;"),
        ("a\n* b\n\n{|", "a * b &#123;&#124;"),
    ],
)
def test_wikitext_escaping(words: str, written: str) -> None:
    assert wikitext_of(words) == written


def test_wikitext_template_values() -> None:
    pages = [Page("https://a.org/x|y]} ''~~~~", "A | {{b}} = c", "One | two. }}", "search")]
    source = source_of(pages, 0, "One | two. }}")
    lead = Section(Heading(""), ((Sentence("So.", (source.id,)),),))
    text = to_wikitext(Article("7", "A|B", lead, (), (Fact("* k|", "# v|w", ()),), (source,)))
    assert "|url=https://a.org/x%7Cy%5D%7D%20%27%27%7E%7E%7E~ " in text
    assert "|title=A {{!}} &#123;&#123;b&#125;&#125; = c |" in text
    assert "| title = A{{!}}B\n| label1 = &#42; k{{!}}\n| data1 = &#35; v{{!}}w\n" in text

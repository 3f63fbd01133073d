from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import pytest
from lxml import html as lxml_html
from markdown_it import MarkdownIt

from data.types import Article, DropReason, Fact, Heading, Page, Passage, Repair, RepairKind, Section, Sentence, Source
from pipeline import drop_words
from pipeline.following.changes import Quote, Side
from pipeline.following.disagreements import Disagreement
from pipeline.formats import page_words
from pipeline.formats.html import to_html
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


# --- HTML


def test_html_holds_no_markup_but_its_own() -> None:
    article, pages = make(title=f"Title {HOSTILE}", hostile=HOSTILE)
    page = parsed(to_html(article, pages, run_note=HOSTILE))
    assert page.xpath("//img | //iframe | //object | //embed | //link | //base | //form | //svg") == []
    assert [script.get("type") for script in page.xpath("//script")] == ["application/json", None]
    names = {name for element in page.iter() if isinstance(element.tag, str) for name in element.attrib}
    assert not {name for name in names if name.startswith("on")} and not names & {"style", "src", "srcdoc"}
    assert page.xpath("string(//h1)") == f"Title {HOSTILE}"
    assert page.xpath("string(//section[@class='lead']//span[@class='s'])") == f"All were saved {HOSTILE}.[1][3]"
    assert page.xpath("string(//h2[@id='section-1'])") == f"Rescue {HOSTILE}"


def test_html_policy_admits_exactly_what_is_there() -> None:
    article, pages = make()
    page = parsed(to_html(article, pages))
    (policy,) = page.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'" and rules["base-uri"] == "'none'" and rules["form-action"] == "'none'"
    assert rules["style-src"] == digest(page.xpath("string(//style)"))
    assert rules["script-src"] == digest(page.xpath("string(//script[not(@type)])"))
    assert "@import" not in page.xpath("string(//style)") and "url(" not in page.xpath("string(//style)")


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
    page = parsed(to_html(article, pages, run_note="Written by ours."))
    record = " ".join(page.xpath("string(//section[@class='record'])").split())
    assert "Written by ours.6 pages found, 3 read, 2 cited." in record
    assert "and why (3)Refused, or gone (2)One (a.example): 404Two (b.example)" in record
    assert "The same text as another page (1)Copy (copy.example): “Ferry aground”" in record
    assert "Sentence removed in “Rescue” (no passage supports it)The captain swam." in record
    assert "machine" in page.xpath("string(//*[@role='note'])").lower()


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


def test_html_has_words_for_every_reason_and_repair() -> None:
    assert set(drop_words.DROP_REASONS) == set(get_args(DropReason))
    assert set(page_words.REPAIRS) == set(get_args(RepairKind))


# --- Markdown


def markdown_tokens(text: str) -> list[tuple[str, str]]:
    """(type, content or target) of all tokens, inline ones included."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        for part in (token, *(token.children or ())):
            found.append((part.type, str(part.attrs.get("href", part.content))))
    return found


def test_markdown_shows_hostile_words_as_they_are() -> None:
    tokens = markdown_tokens(to_markdown(make(title=HOSTILE, hostile=HOSTILE)[0]))
    kinds = {kind for kind, _ in tokens}
    assert not kinds & {"html_block", "html_inline", "image", "code_inline", "fence"}
    assert {target for kind, target in tokens if kind == "link_open"} == {"https://www.gazette.example/a?b=1&c=2"}
    title = next(i for i, (kind, _) in enumerate(tokens) if kind == "heading_open")
    shown = "".join(content for kind, content in tokens[title + 2 :] if kind in ("text", "text_special", "heading_close"))
    assert shown.startswith(HOSTILE)


# --- wikitext


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

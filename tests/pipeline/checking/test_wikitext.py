"""Single constructs of wikitext, and what an adversary or an accident writes: bounded, named, nothing lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.errors import UserError
from pipeline.checking import cited_works
from pipeline.checking.cited import OWN_MARKS
from pipeline.checking.reading import parse
from pipeline.checking.wikimarkup import DEEPEST
from pipeline.checking.wikireferences import MOST_IN_ONE


def cited(text: str) -> list[tuple[str, list[str]]]:
    article = parse(text, "a.wiki")
    return [
        (s.text, [article.references[i].url or article.references[i].kind for i in s.references]) for s in article.statements
    ]


def test_a_short_citation_leads_to_its_work_at_its_page() -> None:
    text = (
        "Brand was a painter.{{sfn|Brand|2024|p=5}} She died in Sall.<ref>{{harvnb|Lee|1990|loc=ch. 2}}</ref> Her mill burned."
        "{{sfnm|1a1=Brand|1y=2024|1p=9|2a1=Lee|2y=1990}} Nobody knows why.{{sfn|Hale|1999}}\n== Sources ==\n"
        "* {{cite web|url=https://brand.org/|title=Brand|ref={{harvid|Brand|2024}}}}\n"
        "* {{cite book|last=Lee|first=Bo|year=1990|title=Mills|isbn=978-0-00-000000-2}}"
    )
    article = parse(text, "a.wiki")
    told = [[(r.url, r.kind, r.page) for r in (article.references[i] for i in s.references)] for s in article.statements]
    assert told == [
        [("https://brand.org/", "", "5")],
        [("", "book", "ch. 2")],
        [("https://brand.org/", "", "9"), ("", "book", "")],
        [("", "undefined", "")],
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The dam broke in May.<ref[example.org, March 9, 2022]/ref> Rain fell.<ref>https://b.org</ref>", "broken"),
        ("The dam broke in May.<ref name=cp/> Rain fell for days.<ref>https://b.org</ref>", "undefined"),
        ("The dam broke in May.<ref> Rain fell for days.<ref>https://b.org</ref>", "broken"),
        ("The dam broke in May.<ref/> Rain fell for days.<ref>https://b.org</ref>", "broken"),
        ("The dam broke in May.{{efn|name=x}} Rain fell for days.<ref>https://b.org</ref>", "undefined"),
        ("The dam broke in May.{{r|nothing}} Rain fell for days.<ref>https://b.org</ref>", "undefined"),
    ],
)
def test_a_broken_reference_is_told_and_takes_nothing_from_the_next(text: str, kind: str) -> None:
    found = cited(text)
    assert found[0] == ("The dam broke in May.", [kind]) and found[1][0].startswith("Rain fell")
    assert found[1][1] == ["https://b.org"]


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("https://web.archive.org/web/20200101000000/https://a.org/x?y=1", "https://a.org/x?y=1"),
        ("http://web.archive.org/web/2010id_/http://a.org/", "http://a.org/"),
        ("https://web.archive.org/web/2010/a.org/x", "http://a.org/x"),
        ("https://archive.ph/20120101/http://a.org/", "http://a.org/"),
        ("https://archive.today/AbC12", ""),
        ("https://web.archive.org/web/2010/https://web.archive.org/web/2009/http://a.org/", ""),
        ("https://a.org/", ""),
    ],
)
def test_of_which_page_an_address_is_a_copy(url: str, page: str) -> None:
    assert cited_works.original(url) == page


@pytest.mark.parametrize(
    ("key", "value", "address"),
    [
        ("doi", "10.1000/a(b)<c>", "https://doi.org/10.1000/a(b)%3Cc%3E"),
        ("doi", "https://doi.org/10.1000/xyz", "https://doi.org/10.1000/xyz"),
        ("doi", "javascript:alert(1)", ""),
        ("pmc", "PMC12345", "https://pmc.ncbi.nlm.nih.gov/articles/PMC12345/"),
        ("arxiv", "2101.00001v2", "https://arxiv.org/abs/2101.00001v2"),
        ("pmid", "12/../34", ""),
        ("isbn", "978-0-00-000000-2", ""),
    ],
)
def test_the_address_of_an_identifier(key: str, value: str, address: str) -> None:
    assert cited_works.address_of(key, value) == address


SENTENCE = "The dam broke in May of that year.<ref>{{cite web|url=https://a.org/|title=A}}</ref> "


HOSTILE = (
    *("{{a|" * 3000, "[[" * 3000, "}}" * 3000, "{|\n" * 3000, "<ref>" * 500, "<!--" * 3000, "{{{" * 3000),
    *("<ref name='a" * 500, "[http://a.org x" * 500, "{{a|" * 900 + "}}" * 900, "<div>" * 3000, "{{r|a}}" * 500),
    *(
        "<references>" * 500,
        "''" * 3000,
        "== a ==\n" * 100,
        "{{a|[[" * 1000 + "}}" * 1000,
        "." * 50_000,
        "<ref>" + "<ref/>" * 1000,
    ),
)


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda text: text[:12])
def test_nothing_is_lost_beside_unbalanced_markup(hostile: str) -> None:
    """What stands before and, on a line of its own, behind it is read as it would be alone."""
    for text in (f"{SENTENCE}\n\n{hostile}", f"{hostile}\n\n{SENTENCE}"):
        found = [(told, where) for told, where in cited(text) if "The dam broke in May of that year." in told]
        assert found and "https://a.org/" in found[0][1]


def test_a_template_that_contains_itself() -> None:
    """On any way: in its text, by its name, by names in a circle."""
    itself = "{{efn|name=a|The note says of itself that it is long {{efn|name=a}}.}}"
    circle = "<ref name=a>{{r|b}}</ref><ref name=b>{{r|a}}</ref>"
    nested = "{{A|" * (3 * DEEPEST) + "x" + "}}" * (3 * DEEPEST)
    for text in (itself, circle, nested):
        assert cited(f"The dam broke in May.{text} {SENTENCE}")[1] == ("The dam broke in May of that year.", ["https://a.org/"])


def test_many_names_that_lead_to_many_are_resolved_once() -> None:
    """Each of 60 references uses the next 9: 9^60 ways, and each is gone once."""
    text = "".join(f"<ref name=n{n}>{{{{r|{'|'.join(f'n{n + k}' for k in range(1, 10))}}}}}</ref>" for n in range(60))
    assert cited(f"The dam broke in May.<ref name=n0 /> {text}")[0][0] == "The dam broke in May."


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("The dam<s> of Sall</s> broke in <del>June</del>May.", "The dam broke in May."),
        ("The dam <s>of Sall broke in May.\n\nIt was <s>not</s> dry.", "The dam of Sall broke in May. It was dry."),
        ("It held {{formatnum:12345.5}} tons of water.", "It held 12,345.5 tons of water."),
        ("__KEIN_INHALTSVERZEICHNIS__ The dam broke in May.", "The dam broke in May."),
    ],
)
def test_what_a_reader_sees(written: str, read: str) -> None:
    statements = parse(f"{written}<ref>http://a.org</ref>", "a.wiki").statements
    assert " ".join(one.text for one in statements) == read and not any(one.gaps for one in statements)


def test_a_long_article_and_one_too_long() -> None:
    text = (SENTENCE + "\n\n") * (100_000 // (len(SENTENCE) + 2))
    statements = parse(text, "a.wiki").statements
    assert len(statements) == text.count("The dam") and all(one.references == (0,) for one in statements)
    with pytest.raises(UserError, match="more than 5,000,000 bytes"):
        parse(text * 51, "a.wiki")


PIECES = (
    *("{{", "}}", "[[", "]]", "|", "=", "<ref>", "</ref>", "<ref name=a />", "<ref name=a>", "{{efn|", "{{sfn|A|2000}}"),
    *("{{r|a}}", "{{rp|5}}", "{{#tag:ref|", "{|", "|}", "\n", "== H ==", "<nowiki>", "</nowiki>", "<!--", "-->", "{{{"),
    *("[http://a.org b]", "A dam broke in May. ", "{{cite web|url=http://b.org|title=t}}", "<references>", "</references>"),
    *("''", "{{refn|group=n|", "<ref group=note>", "\ue0005\ue001"),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_no_markup_is_an_error(parts: list[str]) -> None:
    try:
        article = parse("".join(parts), "a.wiki")
    except UserError:
        return
    for statement in article.statements:
        assert not OWN_MARKS.search(statement.text)
        assert all(0 <= i < len(article.references) for i in statement.references)
        assert all(0 <= place.start <= place.end <= len(article.source) for place in statement.places)


@pytest.mark.parametrize("url", ["pages/a.html", "a.html", "file:a.pdf", "./a.txt"])
def test_a_file_beside_the_article_is_a_page(url: str) -> None:
    text = f"The dam broke in May.<ref>{{{{cite web|url={url}|title=A}}}}</ref>"
    assert parse(text, "a.wiki", local=True).references[0].url == f"file:{url.removeprefix('file:').removeprefix('./')}"
    assert parse("The dam broke.<ref>{{cite web|url=www.a.org/x|title=A}}</ref>").references[0].url == "http://www.a.org/x"


@pytest.mark.parametrize(
    "text",
    [
        "The dam broke in May.<ref>[pages/a.html The dam]</ref>",
        "The dam broke in May.<ref>[file:pages/a.html The dam], 4 May</ref>",
        "The dam broke in May.[pages/a.html#top The dam]",
        "The dam broke in May [pages/a.html The dam].",
    ],
)
def test_an_external_link_to_a_file_beside_the_article_is_a_page(text: str) -> None:
    article = parse(text, "a.wiki", local=True)
    assert [article.references[i].url for i in article.statements[0].references] == ["file:pages/a.html"]
    assert article.references[0].title == "The dam"
    assert not any(reference.url.startswith("file:") for reference in parse(text, "a.wiki").references) or "file:" in text


def test_several_files_in_one_reference() -> None:
    text = "The dam broke in May.<ref>[a.html A] and [b.pdf B], [https://c.org/ C]</ref>"
    assert {reference.url for reference in parse(text, "a.wiki", local=True).references} == {
        "file:a.html",
        "file:b.pdf",
        "https://c.org/",
    }


def test_a_reference_of_ten_thousand_addresses() -> None:
    text = f"The dam broke in May.<ref>{' '.join(f'http://a.org/{n}' for n in range(10_000))}</ref>"
    (statement,) = parse(text, "a.wiki").statements
    assert len(statement.references) == MOST_IN_ONE

"""The report of `wikigenben check` as an editor uses it: filter, marked sentences, list to paste, changes, other languages."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from eval.judges.judge import Pair
from eval.statement_support import supporting_sentence
from flows.judging import judged
from pipeline.checking.cited import CitedArticle, CitedStatement, Reference
from pipeline.checking.report import CheckReport, CitedPage, Finding, with_changes
from pipeline.formats.check_csv import check_csv
from pipeline.formats.check_html import check_html
from pipeline.formats.check_wikitext import listed
from tests.conftest import Command
from tests.flows.test_check import DAM
from tests.web_server import WebServer, serving

FRENCH = (
    "Le barrage de Larrow s'est rompu le 3 mai 2021 après une semaine de pluie, et quatorze personnes sont mortes. "
    "La maire de Sall, Ana Bray, a déclaré que l'alerte était arrivée trop tard pour les habitants de la vallée. Les "
    "ingénieurs avaient relevé des fissures en 2017 et de nouveau en 2019, et le ministère a envoyé deux cents soldats."
)


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with serving() as server:
        for name, lang, text in (("dam", "en", DAM), ("barrage", "fr", FRENCH)):
            page = f"<html lang='{lang}'><head><title>{name}</title></head><body><article><p>{text}</p></article></body></html>"
            server.put(f"/{name}", page)
        yield server


@pytest.fixture
def flags(server: WebServer) -> tuple[str, ...]:
    allowed = ("--set", f"web.allow_origins={server.origin()}", "--set", "web.min_delay_s=0")
    return ("--judge", "lexical", *allowed, "--out", "report", "--json")


def cite(server: WebServer, path: str, name: str) -> str:
    return f"<ref name={name}>{{{{cite web|url={server.url(path)}|title={name}}}}}</ref>"


def test_a_broken_and_an_undefined_reference_are_findings_of_their_own(
    wikigenben: Command, server: WebServer, flags: tuple[str, ...]
) -> None:
    Path("dam.wiki").write_text(
        "The Larrow dam broke on 3 May 2021.<ref name=cp/> Forty lawyers sued.<ref[example.org, March 9, 2022]/ref> "
        f"The railway was closed for a month.{cite(server, '/dam', 'd')}<ref name=cp/>",
        encoding="utf-8",
    )
    ran = wikigenben("check", "dam.wiki", *flags)
    first, second, third = ran.json["findings"]
    assert first["verdict"] == "broken" and first["cited"][0]["note"] == "this reference is defined nowhere"
    assert second["verdict"] == "broken" and second["text"] == "Forty lawyers sued." and "broken" in second["cited"][0]["note"]
    assert third["verdict"] == "supported" and third["remark"] == "one of its references is defined nowhere"
    assert ran.code == 1 and ran.json["counts"]["broken"] == 2


def test_a_book_is_a_book_and_its_page_is_told(wikigenben: Command, server: WebServer, flags: tuple[str, ...]) -> None:
    Path("dam.wiki").write_text(
        "The Larrow dam broke on 3 May 2021.{{sfn|Brand|2024|p=5}}\n== Sources ==\n"
        "* {{cite book|last=Brand|year=2024|title=Dams}}",
        encoding="utf-8",
    )
    (page,) = wikigenben("check", "dam.wiki", *flags).json["findings"][0]["cited"]
    assert (page["title"], page["page"], page["note"]) == ("Dams", "p. 5", "a book, without an address")


def test_what_is_in_another_language_is_not_judged(wikigenben: Command, server: WebServer, flags: tuple[str, ...]) -> None:
    """A page in French says nothing against an English statement, and an article in French is not judged at all."""
    Path("dam.wiki").write_text(
        f"Bananas are grown by forty thousand farmers in Peru.{cite(server, '/barrage', 'f')}\n\n"
        f"The king of Norway resigned in autumn.{cite(server, '/dam', 'd')}<ref name=f/>",
        encoding="utf-8",
    )
    ran = wikigenben("check", "dam.wiki", *flags)
    first, second = ran.json["findings"]
    assert first["verdict"] == "foreign" and first["language"] == "French"
    assert first["cited"][0]["note"] == "not judged: French"
    assert second["verdict"] == "doubtful"  # the French page may hold it
    Path("barrage.wiki").write_text(FRENCH.replace(". ", f".{cite(server, '/barrage', 'f')} "), encoding="utf-8")
    ran = wikigenben("check", "barrage.wiki", *flags)
    assert ran.code == 3 and [one["verdict"] for one in ran.json["findings"]] == ["foreign", "foreign", "uncited"]
    assert "not judged (French)" in Path("report/report.html").read_text(encoding="utf-8")


class Stern:
    """A judge that knows one name: a claim without it has `alone`, one with it everything."""

    name, revision, threshold, kind = "stern", "1", 1.0, "lexical"

    def __init__(self, alone: float, whole: float = 1.0) -> None:
        self.alone, self.whole = alone, whole

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        return [self.whole if "Bray" in pair.claim else self.alone for pair in pairs]


@pytest.mark.parametrize(
    ("second", "alone", "whole", "verdict"),
    [
        ("She resigned in June.", 0.5, 1.0, "supported"),
        ("She resigned in June.", 0.1, 1.0, "doubtful"),  # the sentence before may be all that the page holds
        ("She resigned in June.", 0.5, 0.5, "doubtful"),
        ("The king resigned in June.", 0.5, 1.0, "doubtful"),
        ("A year later the mayor resigned.", 0.5, 1.0, "supported"),
    ],
)
def test_a_sentence_that_leans_on_the_one_before_is_judged_with_it(
    second: str, alone: float, whole: float, verdict: str
) -> None:
    statements = tuple(CitedStatement(text, "", (0,)) for text in ("Ana Bray was the mayor.", second))
    article = CitedArticle(
        "Sall", "wikitext", statements, (Reference("", passage=f"The mayor, Ana Bray, resigned in June. {DAM}"),)
    )
    found = judged(article, {}, Stern(alone, whole), lambda n, of, what: None, "")
    assert found.findings[1].verdict == verdict


def test_what_is_pasted_into_the_article(wikigenben: Command, server: WebServer, flags: tuple[str, ...]) -> None:
    ref, gone = cite(server, "/dam", "d"), cite(server, "/nowhere", "n")
    text = (
        f"The railway was closed for a month.{ref} The director went to prison in Norway.{gone}\n\n== Later ==\n"
        "Bananas grow in Peru since 1911.<ref name=d/> They are '''sweet''' and [[yellow]] and cheap.\n\n"
        "The king came to see it in autumn 1911.<ref name=d/>{{failed verification|date=May 2021}}"
    )
    Path("dam.wiki").write_text(text, encoding="utf-8")
    ran = wikigenben("check", "dam.wiki", *flags)
    assert [one["verdict"] for one in ran.json["findings"]] == ["supported", "gone", "unsupported", "uncited", "unsupported"]
    marked = Path("report/marked.wiki").read_text(encoding="utf-8")
    assert "|title=n}}{{dead link|date=" in marked and "since 1911.<ref name=d/>{{failed verification|date=" in marked
    assert marked.count("{{failed verification") == 2 and marked.count("{{dead link") == 1  # one stood there before
    tags = ("dead link", "failed verification")
    bare = marked
    for tag in tags:
        while (at := bare.find(f"{{{{{tag}|date=")) >= 0 and bare[at : at + 60] != text[at : at + 60]:
            bare = bare[:at] + bare[bare.index("}}", at) + 2 :]
    assert bare == text  # nothing else of the article is changed
    pasted = Path("report/to_look_at.wiki").read_text(encoding="utf-8")
    assert "=== Later ===\n* Bananas grow in Peru since 1911.<ref name=d/>{{failed verification|date=" in pasted
    assert "* They are sweet and yellow and cheap.{{citation needed|date=" in pasted
    rows = list(csv.DictReader(io.StringIO(Path("report/report.csv").read_text(encoding="utf-8"))))
    assert [row["verdict"] for row in rows] == [one["verdict"] for one in ran.json["findings"]]
    assert rows[0]["addresses"] == server.url("/dam") and "closed for a month" in rows[0]["sentence of the page"]


def finding(text: str, verdict: str = "supported", passage: str = "", sentence: str = "") -> Finding:
    page = CitedPage("https://a.org/", "A")
    return Finding(text, "", verdict, 0.9, passage, (page,), sentence=sentence)  # type: ignore[arg-type]


def report(*findings: Finding) -> CheckReport:
    return CheckReport("Dam", "wikitext", "lexical", findings, 1, 1, checked="2031-05-04")


def test_a_passage_is_shown_once_and_its_sentence_marked() -> None:
    passage = "Rain fell for nine days. The dam broke in May. The mayor resigned in June."
    told = ["The dam broke in May.", "Rain fell for nine days.", "The mayor resigned in June."]
    page = check_html(report(*(finding(text, passage=passage, sentence=supporting_sentence(text, passage)) for text in told)))
    assert page.count('<details class="around">') == 1 and page.count("an earlier statement") == 2
    for text in told:
        assert f'<mark dir="auto">{text}</mark>' in page
    assert supporting_sentence("Bananas grow in Peru.", passage) == ""


def test_the_filter_has_each_verdict_and_works_without_a_script() -> None:
    page = check_html(report(finding("The dam broke."), finding("It rained.", "gone"), finding("It <b>hailed</b>.", "uncited")))
    assert 'id="show-gone"> The cited page is gone (1)</label>' in page and 'id="show-look"> To look at (2)</label>' in page
    assert ".check:has(#show-gone:checked) .finding:not(.gone)" in page and "&lt;b&gt;hailed" in page
    assert "<script" not in page.replace("script-src", "")


def test_a_reworded_statement_is_one_change() -> None:
    old = report(finding("The dam of Larrow broke in the night of May."), finding("It rained."), finding("It rained."))
    new = report(
        finding("The dam of Larrow broke in the night of June.", "unsupported"), finding("It rained."), finding("It hailed.")
    )
    changed = with_changes(replace(new, checked="2031-05-09"), old)
    assert changed.since == "2031-05-04"
    assert [(one.before, one.after, bool(one.was)) for one in changed.changes] == [
        ("supported", "unsupported", True),
        ("", "supported", False),
        ("supported", "", False),
    ]


def test_no_cell_is_a_formula_and_no_statement_markup() -> None:
    hostile = replace(finding('=HYPERLINK("x")'), verdict="unsupported")
    assert check_csv(report(hostile)).splitlines()[1].startswith("1,,\"'=HYPERLINK")
    pasted = listed("", report(replace(finding("A {{template}} and <ref>x</ref> --> here."), verdict="unsupported")))
    assert "{{template" not in pasted and "<ref>" not in pasted and pasted.count("-->") == 1

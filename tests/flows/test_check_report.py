"""The report of `wikigenben check` as an editor uses it: filter, marked sentences, list to paste, changes, other languages."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
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
from tests.conftest import Command, Ran
from tests.flows.test_check import DAM, page
from tests.flows.told import fetching_from, findings, verdicts
from tests.web_server import WebServer, serving

FRENCH = (
    "Le barrage de Larrow s'est rompu le 3 mai 2021 après une semaine de pluie, et quatorze personnes sont mortes. "
    "La maire de Sall, Ana Bray, a déclaré que l'alerte était arrivée trop tard pour les habitants de la vallée. Les "
    "ingénieurs avaient relevé des fissures en 2017 et de nouveau en 2019, et le ministère a envoyé deux cents soldats."
)


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with serving() as server:
        server.put("/dam", page(DAM))
        server.put("/barrage", page(FRENCH).replace("lang='en'", "lang='fr'"))
        yield server


Checked = Callable[[str], Ran]


@pytest.fixture
def checked(wikigenben: Command, server: WebServer) -> Checked:
    """`check --json` of a wikitext, with a report."""

    def check(text: str) -> Ran:
        Path("dam.wiki").write_text(text, encoding="utf-8")
        return wikigenben("check", "dam.wiki", "--judge", "lexical", *fetching_from(server), "--out", "report", "--json")

    return check


def cite(server: WebServer, path: str, name: str) -> str:
    return f"<ref name={name}>{{{{cite web|url={server.url(path)}|title={name}}}}}</ref>"


def test_references_without_an_address(checked: Checked, server: WebServer) -> None:
    """A broken and an undefined one are findings of their own, and a book is a book, whose page is told."""
    ran = checked(
        "The Larrow dam broke on 3 May 2021.<ref name=cp/> Forty lawyers sued.<ref[example.org, March 9, 2022]/ref> "
        f"The railway was closed for a month.{cite(server, '/dam', 'd')}<ref name=cp/> "
        "The mayor spoke late.{{sfn|Brand|2024|p=5}}\n== Sources ==\n* {{cite book|last=Brand|year=2024|title=Dams}}"
    )
    first, second, third, fourth = findings(ran)
    assert first["verdict"] == "broken" and first["cited"][0]["note"] == "this reference is defined nowhere"
    assert second["verdict"] == "broken" and second["text"] == "Forty lawyers sued." and "broken" in second["cited"][0]["note"]
    assert third["verdict"] == "supported" and third["remark"] == "one of its references is defined nowhere"
    (book,) = fourth["cited"]
    assert (book["title"], book["page"], book["note"]) == ("Dams", "p. 5", "a book, without an address")
    assert ran.code == 1 and ran.json["counts"]["broken"] == 2  # type: ignore[index]


def test_what_is_in_another_language_is_not_judged(checked: Checked, server: WebServer) -> None:
    """A page in French says nothing against an English statement, and an article in French is not judged at all."""
    ran = checked(
        f"Bananas are grown by forty thousand farmers in Peru.{cite(server, '/barrage', 'f')}\n\n"
        f"The king of Norway resigned in autumn.{cite(server, '/dam', 'd')}<ref name=f/>"
    )
    assert verdicts(ran) == ["foreign", "doubtful"]  # the French page may hold the second
    assert findings(ran)[0]["language"] == "French" and findings(ran)[0]["cited"][0]["note"] == "not judged: French"
    ran = checked(FRENCH.replace(". ", f".{cite(server, '/barrage', 'f')} "))
    assert (ran.code, verdicts(ran)) == (3, ["foreign", "foreign", "uncited"])
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
    reference = Reference("", passage=f"The mayor, Ana Bray, resigned in June. {DAM}")
    article = CitedArticle("Sall", "wikitext", statements, (reference,))
    found = judged(article, {}, Stern(alone, whole), lambda n, of, what: None, "")
    assert found.findings[1].verdict == verdict


def test_what_is_pasted_into_the_article(checked: Checked, server: WebServer) -> None:
    ref, gone = cite(server, "/dam", "d"), cite(server, "/nowhere", "n")
    text = (
        f"The railway was closed for a month.{ref} The director went to prison in Norway.{gone}\n\n== Later ==\n"
        "Bananas grow in Peru since 1911.<ref name=d/> They are '''sweet''' and [[yellow]] and cheap.\n\n"
        "The king came to see it in autumn 1911.<ref name=d/>{{failed verification|date=May 2021}}"
    )
    ran = checked(text)
    assert verdicts(ran) == ["supported", "gone", "unsupported", "uncited", "unsupported"]
    marked = Path("report/marked.wiki").read_text(encoding="utf-8")
    assert "|title=n}}{{dead link|date=" in marked and "since 1911.<ref name=d/>{{failed verification|date=" in marked
    assert marked.count("{{failed verification") == 2 and marked.count("{{dead link") == 1  # one stood there before
    added = r"\{\{(dead link|failed verification)\|date=(?!May 2021)[^}]*\}\}"
    assert re.sub(added, "", marked) == text, "nothing else of the article is changed"
    pasted = Path("report/to_look_at.wiki").read_text(encoding="utf-8")
    assert "=== Later ===\n* Bananas grow in Peru since 1911.<ref name=d/>{{failed verification|date=" in pasted
    assert "* They are sweet and yellow and cheap.{{citation needed|date=" in pasted
    rows = list(csv.DictReader(io.StringIO(Path("report/report.csv").read_text(encoding="utf-8"))))
    assert [row["verdict"] for row in rows] == verdicts(ran)
    assert rows[0]["addresses"] == server.url("/dam") and "closed for a month" in rows[0]["sentence of the page"]


def finding(text: str, verdict: str = "supported", passage: str = "", sentence: str = "") -> Finding:
    cited = CitedPage("https://a.org/", "A")
    return Finding(text, "", verdict, 0.9, passage, (cited,), sentence=sentence)  # type: ignore[arg-type]


def report(*findings: Finding) -> CheckReport:
    return CheckReport("Dam", "wikitext", "lexical", findings, 1, 1, checked="2031-05-04")


def test_a_passage_is_shown_once_and_its_sentence_marked() -> None:
    passage = "Rain fell for nine days. The dam broke in May. The mayor resigned in June."
    told = ["The dam broke in May.", "Rain fell for nine days.", "The mayor resigned in June."]
    shown = check_html(report(*(finding(text, passage=passage, sentence=supporting_sentence(text, passage)) for text in told)))
    assert shown.count('<details class="around">') == 1 and shown.count("an earlier statement") == 2
    for text in told:
        assert f'<mark dir="auto">{text}</mark>' in shown
    assert supporting_sentence("Bananas grow in Peru.", passage) == ""


def test_the_filter_has_each_verdict_and_works_without_a_script() -> None:
    shown = check_html(
        report(finding("The dam broke."), finding("It rained.", "gone"), finding("It <b>hailed</b>.", "uncited"))
    )
    assert 'id="show-gone"> The cited page is gone (1)</label>' in shown and 'id="show-look"> To look at (2)</label>' in shown
    assert ".check:has(#show-gone:checked) .finding:not(.gone)" in shown and "&lt;b&gt;hailed" in shown
    assert "<script" not in shown.replace("script-src", "")


def test_a_reworded_statement_is_one_change() -> None:
    rain = finding("It rained.")
    old = report(finding("The dam of Larrow broke in the night of May."), rain, rain)
    new = report(finding("The dam of Larrow broke in the night of June.", "unsupported"), rain, finding("It hailed."))
    changed = with_changes(replace(new, checked="2031-05-09"), old)
    assert changed.since == "2031-05-04"
    changes = [(one.before, one.after, bool(one.was)) for one in changed.changes]
    assert changes == [("supported", "unsupported", True), ("", "supported", False), ("supported", "", False)]


def test_no_cell_is_a_formula_and_no_statement_markup() -> None:
    hostile = replace(finding('=HYPERLINK("x")'), verdict="unsupported")
    assert check_csv(report(hostile)).splitlines()[1].startswith("1,,\"'=HYPERLINK")
    pasted = listed("", report(replace(finding("A {{template}} and <ref>x</ref> --> here."), verdict="unsupported")))
    assert "{{template" not in pasted and "<ref>" not in pasted and pasted.count("-->") == 1

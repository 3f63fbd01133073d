"""`wikigenben check` on local pages: every verdict, every form of an article, and what cannot be checked."""

from __future__ import annotations

import socket
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.flows.told import fetching_from, findings, verdicts
from tests.pipeline.reading.test_pdf import make_pdf
from tests.web_server import Reply, WebServer, serving

DAM = (
    "The Larrow dam broke on 3 May 2021 after a week of rain, and 14 people died in the village of Sall. The mayor of Sall, "
    "Ana Bray, said that the warning came too late. Engineers had noted cracks in the dam in 2017 and again in 2019, and "
    "the water authority had promised repairs. The ministry sent two hundred soldiers to the valley, and the railway was "
    "closed for a month."
)


def page(text: str, published: str = "") -> str:
    meta = f"<meta property='article:published_time' content='{published}'>" if published else ""
    head = f"<head><title>Dam breaks</title>{meta}</head>"
    return f"<html lang='en'>{head}<body><article><p>{text}</p></article></body></html>"


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with serving() as server:
        server.put("/dam", page(DAM, "2021-05-04"))
        article = f"<h1>Larrow dam</h1><p>{DAM.split('.')[0]}. <a href='/dam'>x</a></p>"
        server.put("/wiki/Larrow_dam", f"<html><body>{article}</body></html>")
        yield server


@pytest.fixture
def flags(server: WebServer) -> tuple[str, ...]:
    return ("--judge", "lexical", *fetching_from(server))


def put(name: str, *paragraphs: str) -> None:
    Path(name).write_text("\n\n".join(paragraphs), encoding="utf-8")


def test_every_verdict(wikigenben: Command, server: WebServer, flags: tuple[str, ...]) -> None:
    put(
        "dam.wiki",
        "'''Larrow dam''' broke on 3 May 2021 and 14 people died in Sall."
        f"<ref name=d>{{{{cite web|url={server.url('/dam')}|title=Dam breaks}}}}</ref>",
        "Bananas are grown by forty thousand farmers in the hills of Peru.<ref name=d />",
        "The valley was reopened on 9 June 2021 by the king himself.<ref name=d />",
        f"The director went to prison.<ref>{{{{cite web|url={server.url('/nowhere')}|title=Gone}}}}</ref>",
        "Nobody knows who said this sentence.",
    )
    ran = wikigenben("check", "dam.wiki", *flags, "--json", "--out", "report")
    assert (ran.code, verdicts(ran)) == (1, ["supported", "unsupported", "older", "gone", "uncited"]), ran.err
    assert "14 people died" in findings(ran)[0]["passage"]
    shown = Path("report/report.html").read_text(encoding="utf-8")
    assert "Not found on the cited page" in shown and "<script" not in shown.replace("script-src", "")
    # again, from the bundle alone
    asked = len(server.targets())
    again = wikigenben("check", "dam.wiki", "--judge", "lexical", "--bundle", "report/evidence", "--json")
    assert verdicts(again) == verdicts(ran) and len(server.targets()) == asked
    told = wikigenben("check", "dam.wiki", *flags)
    assert "5 statements: 1 supported, 1 not found on the cited page" in told.out and "report.html" in told.out


def test_an_archived_copy_is_read_in_place_of_a_page_that_is_gone(
    wikigenben: Command, server: WebServer, flags: tuple[str, ...]
) -> None:
    """The one that the article names; a page that is there is not asked for in the archive."""
    server.put("/copy", page(DAM))
    cite = "<ref>{{{{cite web|url={}|title=x|archive-url={}}}}}</ref>"
    put(
        "dam.wiki",
        f"At least 14 people died in the village of Sall.{cite.format(server.url('/gone-page'), server.url('/copy'))}",
        f"The railway was closed for a month.{cite.format(server.url('/dam'), server.url('/never-asked'))}",
    )
    ran = wikigenben("check", "dam.wiki", *flags, "--json", "--out", "report")
    assert (ran.code, verdicts(ran)) == (0, ["supported", "supported"]), ran.err
    notes = [finding["cited"][0]["note"] for finding in findings(ran)]
    assert notes == ["the page is gone; an archived copy was read", ""]
    assert not any("never-asked" in target for target in server.targets()) and "reading archived copies: 1 of 1" in ran.err
    again = wikigenben("check", "dam.wiki", "--judge", "lexical", "--bundle", "report/evidence", "--json")
    assert findings(again) == findings(ran)


def test_cited_pdfs_are_read_and_paywalls_are_no_refusal(
    wikigenben: Command, server: WebServer, flags: tuple[str, ...]
) -> None:
    """What a subscriber alone can read is `unread`, beside another page `doubtful`: never "not found"."""
    server.put("/report.pdf", Reply(make_pdf(textwrap.wrap(DAM, 70)), content_type="application/pdf"))
    server.put("/wall", "<html lang='en'><body><p>Subscribe to read on. Already a subscriber? Log in.</p></body></html>")
    server.put("/forbidden", Reply("no", 402))
    put(
        "dam.md",
        f"Engineers had noted cracks in the dam in 2017 [x]({server.url('/report.pdf')}).",
        f"The minister of the valley resigned in winter [x]({server.url('/wall')}).",
        f"Forty lawyers sued the builder in the capital [x]({server.url('/forbidden')}).",
        f"Bananas grow in Peru since 1911 [x]({server.url('/dam')}) [x]({server.url('/wall')}).",
    )
    ran = wikigenben("check", "dam.md", *flags, "--json")
    assert verdicts(ran) == ["supported", "unread", "unread", "doubtful"], findings(ran)


def test_what_the_judge_cannot_see_is_doubtful(wikigenben: Command, server: WebServer, flags: tuple[str, ...]) -> None:
    """Alike in all words but one; and a weekday of the page, said as its date."""
    server.put("/day", page(f"The Larrow dam broke on Monday after a week of rain. {DAM.partition('. ')[2]}", "2021-05-05"))
    url = server.url("/day")
    put(
        "dam.md",
        f"The Larrow dam broke on 3 May 2021 after a week of rain [x]({url}).",
        f"The Larrow dam broke on 4 May 2021 after a week of rain [x]({url}).",
        f"The ministry sent two hundred soldiers to the valley, and the railway was opened for a month [x]({url}).",
    )
    ran = wikigenben("check", "dam.md", *flags, "--json", "--out", "report")
    found = [(finding["verdict"], finding["unsettled"]) for finding in findings(ran)]
    assert found[0] == ("supported", ""), found
    assert found[1][0] == "doubtful" and found[2] == ("doubtful", "it says “opened”, the page “closed”"), found
    assert "To look at: it says “opened”, the page “closed”" in Path("report/report.html").read_text(encoding="utf-8")


def test_signs_of_a_chatbot_are_told(wikigenben: Command, server: WebServer, flags: tuple[str, ...]) -> None:
    url = server.url("/dam")
    put(
        "dam.md",
        f"The dam [stands as a testament]({url}) to engineers of the valley.",
        f"The railway was [closed for a month]({url}?utm_source=chatgpt.com) after the break.",
    )
    ran = wikigenben("check", "dam.md", *flags, "--out", "report")
    assert "To look at (a phrase of chatbots: “stands as a testament”)" in ran.out and "2 with a sign of a chatbot" in ran.out
    assert "To look at (a chatbot's mark is in the address of its source): The railway" in ran.out
    assert Path("report/report.html").read_text(encoding="utf-8").count("To look at:") == 2


def test_without_a_network_no_page_is_called_gone(wikigenben: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(*_: object, **__: object) -> object:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    put("dam.md", *(f"The dam broke in the month of May [x](http://no-such-dam-{n}.org/a)." for n in range(3)))
    ran = wikigenben("check", "dam.md", "--judge", "lexical")
    assert ran.code == 2 and "none of the 3 hosts was found" in ran.err


def test_an_article_of_a_wiki_by_its_title(wikigenben: Command, server: WebServer, flags: tuple[str, ...]) -> None:
    ran = wikigenben("check", "Larrow dam", "--wiki", server.url("/wiki/"), *flags, "--json")
    assert ran.code == 3 and ran.json["title"] == "Larrow dam", ran.err  # its one sentence cites nothing
    absent = wikigenben("check", "No such page", "--wiki", server.url("/wiki/"), *flags)
    assert absent.code == 2 and "No_such_page" in absent.err.replace("%20", "_") and "404" in absent.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "name an article"),
        (["nowhere/article.md"], "there is no file nowhere/article.md"),
        (["htp://nowhere/article"], "not htp://; check the address"),
        (["."], "holds no article"),
        (["binary.html"], "not text in UTF-8"),
        (["empty.md"], "holds no statement"),
        (["some.md", "--judge", "oracle"], "there is no judge 'oracle'"),
        (["some.md", "--bundle", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_checked(wikigenben: Command, words: list[str], told: str) -> None:
    Path("binary.html").write_bytes(b"\xff\xfe\x00\x81" * 20)
    put("empty.md", "\n")
    put("some.md", "The dam broke in May of that year.")
    ran = wikigenben("check", *words)
    assert ran.code == 2 and told in ran.err


def test_how_often_it_is_right_on_labelled_statements(wikigenben: Command) -> None:
    row = '{{"claim": "{}", "evidence": ["{}"], "label": "{}", "meta": {{"id": "{}"}}}}\n'
    rows = [("The Larrow dam broke on 3 May 2021.", "supported"), ("Bananas grow in Peru since 1911.", "not_supported")]
    put("labelled.jsonl", "".join(row.format(claim, DAM, label, n) for n, (claim, label) in enumerate(rows)))
    ran = wikigenben("check", "--labelled", "labelled.jsonl", "--judge", "lexical", "--json")
    assert ran.code == 0 and ran.json["claims"] == 2 and ran.json["accuracy"] == 1 and ran.json["misses"] == 0

"""`wikigenben check` on local pages: every verdict, every form of an article, and what cannot be checked."""

from __future__ import annotations

import socket
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.flows.told import fetching_from, findings
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
        server.put("/copy", page(DAM))
        server.put("/day", page(f"The Larrow dam broke on Monday after a week of rain. {DAM.partition('. ')[2]}", "2021-05-05"))
        server.put("/report.pdf", Reply(make_pdf(textwrap.wrap(DAM, 70)), content_type="application/pdf"))
        server.put("/wall", "<html lang='en'><body><p>Subscribe to read on. Already a subscriber? Log in.</p></body></html>")
        server.put("/forbidden", Reply("no", 402))
        article = f"<h1>Larrow dam</h1><p>{DAM.split('.')[0]}. <a href='/dam'>x</a></p>"
        server.put("/wiki/Larrow_dam", f"<html><body>{article}</body></html>")
        yield server


@pytest.fixture
def flags(server: WebServer) -> tuple[str, ...]:
    return ("--judge", "lexical", *fetching_from(server))


def put(name: str, *paragraphs: str) -> None:
    Path(name).write_text("\n\n".join(paragraphs), encoding="utf-8")


SOLDIERS = "The ministry sent two hundred soldiers to the valley, and the railway was opened for a month."
STATEMENTS = [
    ("Larrow dam broke on 3 May 2021 and 14 people died in Sall.", ["/dam"], "supported"),
    ("Bananas are grown by forty thousand farmers in the hills of Peru.", ["/dam"], "unsupported"),
    ("The valley was reopened on 9 June 2021 by the king himself.", ["/dam"], "older"),
    ("The director of the authority went to prison.", ["/nowhere"], "gone"),
    ("Nobody knows who said this sentence.", [], "uncited"),
    # an archived copy is read in place of a page that is gone; a page that is there is not asked for in the archive
    ("At least 14 people died in the village of Sall.", ["/gone-page|archive-url=/copy"], "supported"),
    ("The railway was closed for a month.", ["/dam|archive-url=/never-asked"], "supported"),
    # PDFs are read; what a subscriber alone can read is never "not found"
    ("Engineers had noted cracks in the dam in 2017.", ["/report.pdf"], "supported"),
    ("The minister of the valley resigned in winter.", ["/wall"], "unread"),
    ("Forty lawyers sued the builder in the capital.", ["/forbidden"], "unread"),
    ("Bananas grow in Peru since 1911.", ["/dam", "/wall"], "doubtful"),
    # a weekday of the page, said as its date; and what a judge cannot see: alike in all words but one
    ("The Larrow dam broke on 3 May 2021 after a week of rain.", ["/day"], "supported"),
    ("The Larrow dam broke on 4 May 2021 after a week of rain.", ["/day"], "doubtful"),
    (SOLDIERS, ["/day"], "doubtful"),
]


def cited(server: WebServer, path: str) -> str:
    address = path.replace("|archive-url=", f"|archive-url={server.url('')}")
    return f"<ref>{{{{cite web|title=x|url={server.url('')}{address}}}}}</ref>"


def test_every_verdict(wikigenben: Command, server: WebServer, flags: tuple[str, ...]) -> None:
    put("dam.wiki", *(text + "".join(cited(server, path) for path in paths) for text, paths, _ in STATEMENTS))
    ran = wikigenben("check", "dam.wiki", *flags, "--json", "--out", "report")
    assert ran.code == 1, ran.err
    found = {finding["text"]: finding for finding in findings(ran)}
    assert [(text, finding["verdict"]) for text, finding in found.items()] == [(text, last) for text, _, last in STATEMENTS]
    assert "14 people died" in found[STATEMENTS[0][0]]["passage"]
    notes = [found[text]["cited"][0]["note"] for text in (STATEMENTS[5][0], STATEMENTS[6][0])]
    assert notes == ["the page is gone; an archived copy was read", ""] and "reading archived copies: 1 of 1" in ran.err
    assert not any("never-asked" in target for target in server.targets())
    assert found[SOLDIERS]["unsettled"] == "it says “opened”, the page “closed”"
    shown = Path("report/report.html").read_text(encoding="utf-8")
    assert "Not found on the cited page" in shown and "To look at: it says “opened”, the page “closed”" in shown
    assert "<script" not in shown.replace("script-src", "")
    # again, from the bundle alone
    asked = len(server.targets())
    again = wikigenben("check", "dam.wiki", "--judge", "lexical", "--bundle", "report/evidence", "--json")
    assert findings(again) == findings(ran) and len(server.targets()) == asked
    told = wikigenben("check", "dam.wiki", *flags)
    assert "14 statements: 5 supported, " in told.out and "1 not found on the cited page" in told.out
    assert "report.html" in told.out


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

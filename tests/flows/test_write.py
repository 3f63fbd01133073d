"""`wikigenben write` against local pages: an article whose citations open, told pages, and what goes wrong on the way."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from lxml import html as lxml_html

from data import codec
from data.errors import UserError
from data.snapshot import SAMPLE
from data.types import Article
from flows.write import slug
from pipeline.editing.corrections import Correction, Corrections
from pipeline.following.disagreements import Disagreements
from tests.conftest import Command, Ran
from tests.flows.told import fetching_from, refused
from tests.search_server import Found, search_server
from tests.web_server import Reply, WebServer, serving

TITLE, NAME = "Halvenport mayoral election", "halvenport-mayoral-election"
RUN = Path("runs/write") / NAME
PAGES = sorted((SAMPLE / "html" / "9000002").glob("*.html"))
QUICK = ("--system", "extractive", "--words", "200")


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with serving() as server:
        for path in PAGES:
            server.put(f"/{path.name}", path.read_bytes())
        yield server


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def quick_encoder(request: pytest.FixtureRequest) -> None:
    """Which sentences are alike is of no account here, but in the longer run."""
    if not request.node.get_closest_marker("slow"):
        request.getfixturevalue("fixed_encoder")


Write = Callable[..., Ran]


@pytest.fixture
def write(wikigenben: Command, server: WebServer) -> Write:
    """The command, with these pages of the server, if it is not told of others."""

    def asked(*words: object, title: str = TITLE, pages: Sequence[str] = (), quick: bool = True) -> Ran:
        urls = [word for name in pages for word in ("--url", server.url(f"/{name}"))]
        return wikigenben("write", title, *urls, *words, *fetching_from(server), *(QUICK if quick else ()))

    return asked


def check_citations_open(folder: Path) -> None:
    """Every marker leads to a source, and every source to its place in the page that the panel shows."""
    article = codec.read(Article, folder / "events" / NAME / "article.json")
    page = lxml_html.document_fromstring((folder / "articles" / f"{NAME}.html").read_text(encoding="utf-8"))
    ids = set(page.xpath("//@id"))
    marks = page.xpath("//a[@class='cite']")
    assert marks and all(mark.get("href")[1:] in ids for mark in marks)
    evidence = json.loads(page.xpath("string(//script[@id='evidence-data'])"))
    assert len(evidence["sources"]) == len(article.sources) > 2
    for source, shown in zip(article.sources, evidence["sources"], strict=True):
        units = evidence["pages"][str(shown["page"])].encode("utf-16-le")
        start, end = (2 * offset for offset in shown["span"])
        assert units[start:end].decode("utf-16-le") == source.passage.text
        assert source.retrieved_at and shown["link"] == source.url


def unplugged(*_: Any, **__: Any) -> NoReturn:
    raise AssertionError("a replay used the network")


def test_an_article_from_given_pages(
    wikigenben: Command, write: Write, server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: Any = {"pages": ("01.html", "03.html", "08.html", "nowhere.html")}
    passwd = ("--url", "file:///etc/passwd")
    ran = write(*passwd, **given)
    assert ran.code == 0, ran.err
    check_citations_open(RUN)
    assert "2 of 5 pages kept; not used: " in ran.out and "not an address of the web (1)" in ran.out
    assert "none of the" not in ran.err
    article = codec.read(Article, RUN / "events" / NAME / "article.json")
    cites = sum(len(s.cites) for section in article.all_sections for s in section.sentences)
    cites += sum(len(fact.cites) for fact in article.infobox)
    assert f"{cites} citations of 2 pages" in ran.out and f"articles/{NAME}.html" in ran.out
    today = article.sources[0].retrieved_at[:10]
    assert f"|access-date={today}}}}}" in (RUN / "articles" / f"{NAME}.wiki").read_text(encoding="utf-8")

    asked = len(server.targets())
    again = write(*passwd, "--json", **given)
    assert again.json | {"seconds": 0} == {
        "run": str(RUN), "status": "reused", "title": TITLE, "kept": 2,
        "dropped": {"consent": 1, "http_4xx": 1, "scheme": 1}, "citations": cites, "disagreements": 0,
        "html": str(RUN / "articles" / f"{NAME}.html"), "seconds": 0,
    }  # fmt: skip
    assert len(server.targets()) == asked
    later = write(*passwd, "--as-of", "2032-06-30", "--out", RUN, **given)
    refused(later, "web.as_of: '' there, '2032-06-30' now", "another --out")

    monkeypatch.setattr(socket.socket, "connect", unplugged)
    monkeypatch.setattr(socket, "getaddrinfo", unplugged)
    replayed = wikigenben("write", "--bundle", RUN / "evidence", *QUICK, "--json")
    assert replayed.code == 0 and replayed.json["title"] == TITLE and replayed.json["status"] == "written"
    for file in (f"events/{NAME}/article.json", "evidence/evidence.jsonl"):
        assert (Path(f"{RUN}-replayed") / file).read_bytes() == (RUN / file).read_bytes()


def test_asked_otherwise_a_title_gets_a_new_run(write: Write, server: WebServer) -> None:
    """Nothing is refused for what lies there already, and what was struck stays struck."""
    given: Any = {"pages": ("01.html", "03.html")}
    first = write("--json", **given)
    assert first.code == 0 and first.json["run"] == str(RUN)
    struck = codec.read(Article, RUN / "events" / NAME / "article.json").sections[0].sentences[0].text
    corrections = Corrections((Correction(struck),))
    codec.write_atomic(RUN / "events" / NAME / "corrections.json", codec.to_json(corrections))

    asked = len(server.targets())
    second = write("--json", "--system", "extractive", "--words", "300", quick=False, **given)
    assert second.code == 0 and second.json["run"] == f"{RUN}-2" and second.json["status"] == "written"
    assert len(server.targets()) == asked, "unchanged pages come from the cache"
    assert struck in Path(f"{RUN}-2", "events", NAME, "article.json").read_text(encoding="utf-8")
    shown = Path(f"{RUN}-2", "articles", f"{NAME}.md").read_text(encoding="utf-8")
    assert struck not in shown.split("\n[^1]:")[0], "its source may be quoted below the article"
    assert write("--json", **given).json["status"] == "reused"

    Path(f"{RUN}-3").mkdir()
    Path(f"{RUN}-3", "run.json").write_text("{", encoding="utf-8")  # damaged: it locks nothing
    fourth = write("--json", "--as-of", "2040-01-01", **given)
    assert fourth.code == 0 and fourth.json["run"] == f"{RUN}-4"


FERRY = {
    "2026-11-19": "Fourteen people were injured when a ferry hit a pier at San Giulio on Lake Orta, police said.",
    "2026-11-20": "The ferry accident at San Giulio on Lake Orta has injured 19 people, the prefecture said.",
    "2026-11-21": "The number of injured in the Lake Orta ferry accident rose to 41 on Saturday, the prefecture said.",
}
REPORTS = (
    "The ferry Aurora had left Pella at noon with a school class on board, and its captain had worked there for years. Divers "
    "looked at the hull in the evening, and the harbour office closed the pier until it has been inspected.",
    "Doctors in Borgomanero treated broken arms and bruises. The operator of the boats sent inspectors from Novara, and the "
    "mayor thanked the fishermen who had pulled passengers from the cold water within minutes of the crash.",
    "Prosecutors in Verbania took the log of the Aurora. A witness on the shore heard the engine roar before the boat turned, "
    "and a spokesman of the union asked why only one sailor had been at work on deck during the crossing.",
)


def test_what_sources_say_differently_is_told(wikigenben: Command) -> None:
    for (day, fact), more in zip(FERRY.items(), REPORTS, strict=True):
        Path(f"{day}.html").write_text(
            f"<html lang='en'><head><title>Ferry</title><meta property='article:published_time' content='{day}'></head>"
            f"<body><article><h1>Lake Orta ferry accident</h1><p>{fact}</p><p>{more}</p></article></body></html>"
        )
    words = ["write", "2026 Lake Orta ferry accident", *(w for day in FERRY for w in ("--file", f"{day}.html")), *QUICK]
    ran = wikigenben(*words)
    assert ran.code == 0, ran.err
    told = (
        "people injured: Fourteen people (2026-11-19, 1 independent source) -> 19 people (2026-11-20, 1 independent source) -> "
        "41 (2026-11-21, 1 independent source)"
    )
    assert f"sources disagree on 1 figure: {told}" in ran.out
    name = "2026-lake-orta-ferry-accident"
    folder = Path("runs/write") / name
    stored = codec.read(Disagreements, folder / "events" / name / "disagreements.json")
    assert [found.in_words() for found in stored.found] == [told]
    page = lxml_html.document_fromstring((folder / "articles" / f"{name}.html").read_text(encoding="utf-8"))
    assert page.xpath("string(//section[@aria-labelledby='disagreements']/h3)") == "People injured"
    assert "people injured: Fourteen people" in (folder / "articles" / f"{name}.md").read_text(encoding="utf-8")

    (folder / "events" / name / "disagreements.json").unlink()  # a run of before they were told
    article = (folder / "events" / name / "article.json").read_bytes()
    assert wikigenben(*words, "--json").json["disagreements"] == 1
    assert (folder / "events" / name / "article.json").read_bytes() == article


@pytest.mark.slow  # the real model: where its kernels are not compiled yet, that alone takes half a minute
def test_the_default_model_writes_offline_of_files_alone(wikigenben: Command) -> None:
    """The real one, from its package."""
    ran = wikigenben("write", "--file", PAGES[0], "--words", "60", "--out", "here")
    assert ran.code == 0, ran.err
    assert "no title was given; taken from file:01.html: Oldvik ousts Threlk in Halvenport mayoral runoff" in ran.err
    assert "1 of 1 pages kept" in ran.out
    article = codec.read(Article, Path("here/events/01-html/article.json"))
    assert article.title == "Oldvik ousts Threlk in Halvenport mayoral runoff"
    assert article.sources and article.sources[0].url == "file:01.html"
    assert "passwd" not in ran.out and not any(path.suffix == ".lock" for path in Path("here/evidence").rglob("*"))


def test_pages_that_a_search_finds(write: Write, server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with search_server() as engine:
        engine.found[""] = [Found(server.url("/01.html")), Found(server.url("/05.html"))]
        monkeypatch.setenv("WIKIGEN_SEARXNG_URL", engine.url)
        monkeypatch.setattr("pipeline.web.pacing.SystemClock.sleep", lambda self, seconds: None)
        ran = write("--search", "searxng", "--no-bodies")
    assert ran.code == 0, ran.err
    assert "2 of 2 pages kept" in ran.out and "5 queries found 2 addresses" in ran.err
    assert not (RUN / "evidence" / "bodies").exists()


def test_no_page_can_be_used(write: Write, server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_model(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a model was loaded for nothing")

    monkeypatch.setattr("flows.wiring.systems.build_system", no_model)
    server.put("/closed.html", b"<html><body><p>The office is closed on Monday.</p></body></html>")
    ran = write("--model", "smollm2", pages=("08.html", "closed.html", "nowhere.html"), quick=False)
    assert ran.code == 3
    assert "failed: evidence: no usable page" in ran.err
    assert "among 3 (only a consent dialogue (1); refused, or gone (1); too little text (1))" in ran.err
    assert "0 of 3 pages kept; not used: " in ran.out and "refused, or gone (1)" in ran.out
    assert not any(code in ran.out + ran.err for code in ("http_4xx", "too_short", "host_rule"))
    assert not (RUN / "articles").exists()


def test_a_title_that_no_page_mentions_is_noted(write: Write) -> None:
    ran = write(title="Grenmark dam failure", pages=("01.html", "03.html", "08.html"))
    assert ran.code == 0, ran.err
    assert "none of the 2 usable pages mentions 'Grenmark dam failure', nor half of its words" in ran.err


def test_titles_of_pages_do_not_steer_the_terminal(write: Write, server: WebServer) -> None:
    text = PAGES[0].read_text(encoding="utf-8").replace("Oldvik ousts", "\x1b]0;owned\x07[bold]\u202eOldvik ousts")
    server.put("/hostile.html", Reply(text))
    steering = write(title="A \x1b[2J title", pages=["hostile.html"])
    assert steering.code == 2 and "control character" in steering.err and "\x1b" not in steering.err
    ran = write(title="A [2J title", pages=["hostile.html"])
    assert ran.code == 0, ran.err
    assert all(c.isprintable() or c == "\n" for c in ran.out + ran.err)
    assert "owned" in ran.out


def test_interrupted(write: Write, server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pipeline.reading.documents.DocumentReader.submit", interrupt)
        ran = write(pages=["01.html"])
    assert ran.code == 130 and "the same command goes on" in ran.err
    asked = server.targets().count("/01.html")
    assert write(pages=["01.html"]).code == 0
    assert server.targets().count("/01.html") == asked  # it was in the cache


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([TITLE], ["nothing to write from", "--url", "--search"]),
        ([TITLE, "--url", "htp://x"], ["'htp://x' is no address of a page", "https://", "--file"]),
        ([TITLE, "--url", "notes.html"], ["'notes.html' is no address of a page", "--file"]),
        (["--search", "searxng"], ["--search searxng needs a title"]),
        ([TITLE, "--url", "https://a.org/", "--model", "smollm3"], ["there is no model 'smollm3'"]),
        ([TITLE, *["--url", "https://a.org/"] * 501], ["501 pages"]),
        (["x" * 5000, "--url", "https://a.org/"], ["5,000 characters"]),
        ([TITLE, "--search", "searxing"], ["'searxing'", "did you mean 'searxng'?"]),
        ([TITLE, "--search", "brave"], ["BRAVE_API_KEY"]),
        ([TITLE, "--url", "https://a.org/", "--as-of", "May"], ["web.as_of = 'May'", "--set web.as_of=2024-06-30"]),
        ([TITLE, "--url", "https://a.org/", "--words", "3"], ["writing.max_words = 3"]),
        ([TITLE, "--url", "https://a.org/", "--about", " "], ["--about has 0 characters", "in one sentence"]),
        ([TITLE, "--url", "https://a.org/", "--about", "a storm " * 60], ["--about has 479 characters", "at most 400"]),
        ([TITLE, "--url", "https://a.org/", "--set", "web.allow_origins=a.org"], ["web.allow_origins", "'a.org'"]),
        ([TITLE, "--file", "nowhere.html"], ["nowhere.html", "No such file"]),
        ([TITLE, "--file", "page.exe"], ["page.exe", ".html"]),
        (["--bundle", "nowhere"], ["nowhere", "no manifest.json"]),
        (["--bundle", "nowhere", "--url", "https://a.org/"], ["drop --url"]),
        (["--bundle", "nowhere", "--as-of", "2032-01-01"], ["--as-of"]),
    ],
)
def test_wrong_values(wikigenben: Command, monkeypatch: pytest.MonkeyPatch, words: list[str], names: list[str]) -> None:
    monkeypatch.delenv("BRAVE_API_KEY", raising=False)
    ran = wikigenben("write", *words)
    refused(ran, *names)
    assert len(ran.err) < 600 and not Path("runs").exists()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("2032 Halvenport mayoral election", "2032-halvenport-mayoral-election"),
        ("../../etc: A/B?", "etc-a-b"),
        ("Вибори мера", "вибори-мера"),
        ("..", "5ec1f7e7"),
    ],
)
def test_names_of_folders(text: str, name: str) -> None:
    assert slug(text) == name


def test_long_names_are_cut_and_told_apart() -> None:
    a, b = (slug("ж" * 300 + end) for end in "ab")
    assert a != b and all(len(name.encode()) < 120 and "/" not in name for name in (a, b))


def test_a_folder_that_cannot_be_written_is_named_at_once_and_begun_once(
    wikigenben: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, *_: object) -> NoReturn:
        path.parent.mkdir(parents=True, exist_ok=True)
        raise UserError(f"cannot write {path}: No space left on device; make room there")

    Path("page.html").write_text("<p>The dam failed.</p>", encoding="utf-8")
    Path("runs").mkdir()
    Path("runs/write").write_text("a file in the place of the folder", encoding="utf-8")
    ran = wikigenben("write", TITLE, "--file", "page.html", *QUICK)
    assert ran.code == 2 and "cannot" in ran.err and "runs/write" in ran.err and "1,000" not in ran.err
    Path("runs/write").unlink()
    monkeypatch.setattr("data.codec.write_atomic", full)
    ran = wikigenben("write", TITLE, "--file", "page.html", *QUICK)
    assert ran.code == 2 and "No space left" in ran.err
    assert len(list(Path("runs/write").iterdir())) == 1

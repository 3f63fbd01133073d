"""The web page: asked over HTTP as a browser does it, driven in Chromium, and killed in the middle."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from data.snapshot import SAMPLE
from flows.webapp import desk
from tests.browser import Tab, browsing, needs_browser
from tests.flows.told import fetching_from
from tests.prefect_installation import wait_until
from tests.processes import children, command
from tests.web_server import Reply, WebServer, serving

COMMAND = ("flows.cli", "web")
QUICK = ("tests.quick_web",)
"""The same with stand-ins for its networks."""
PAGES = sorted((SAMPLE / "html" / "9000002").glob("*.html"))[:3]
TITLE, NAME = "Halvenport mayoral election", "halvenport-mayoral-election"
START_S = 60


class Web:
    """The page, in a process of its own."""

    def __init__(
        self, folder: Path, *words: str, program: Sequence[str] = QUICK, cwd: Path = Path(__file__).parents[2], **more: str
    ) -> None:
        self.folder = folder
        environment = {**os.environ, "WIKIGEN_RUNS": str(folder / "runs"), "WIKIGEN_CACHE": str(folder / "cache"), **more}
        command = [sys.executable, "-m", *program, "--port", "0", "--system", "extractive", *words]
        self.log = (folder / "log").open("ab")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, env=environment, cwd=cwd)
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        found = re.search(r"http://[\d.]+:(\d+)/", line)
        assert found, (line, (folder / "log").read_text(encoding="utf-8"))
        self.port = int(found[1])
        self.address = f"http://127.0.0.1:{self.port}/"

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if content is not body:
            headers = {"Content-Type": "application/json", **headers}
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request(method, path, content, headers)
            answer = connection.getresponse()
            text = answer.read()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text

    def got(self, path: str) -> Any:
        return self.ask("GET", f"/api/{path}")[1]

    def upload(self, *paths: Path) -> list[str]:
        return [self.ask("PUT", f"/api/uploads/{path.name}", path.read_bytes())[1]["file"] for path in paths]

    def followed(self, path: str) -> list[dict[str, Any]]:
        """All events of a job, when it has ended."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)) as connection:
            connection.request("GET", path)
            lines = connection.getresponse().read().decode().splitlines()
        return [told for line in lines if line.startswith("data: ") and (told := json.loads(line[6:]))]

    def job(self, kind: str, body: Any, to: str = "") -> tuple[str, list[dict[str, Any]]]:
        """Of `runs` or `checks`, asked for and waited for: its name and events."""
        status, asked = self.ask("POST", f"/api/{kind}{to}", body)
        assert status == 200, asked
        return asked["name"], self.followed(f"/api/{kind}/{asked['name']}/events")

    def done(self, kind: str, body: Any, to: str = "") -> str:
        name, events = self.job(kind, body, to)
        assert events[-1]["status"] == "done", events[-1]
        return name

    def correct(self, name: str, text: str, now: str) -> tuple[int, Any]:
        return self.ask("POST", f"/api/runs/{name}/corrections", {"text": text, "now": now})

    def sentences(self, name: str) -> list[dict[str, Any]]:
        return [one for part in self.got(f"runs/{name}")["article"]["sections"] for p in part["paragraphs"] for one in p]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.kill()
        self.log.close()


@contextmanager
def running(folder: Path, *words: str, **more: Any) -> Iterator[Web]:
    web = Web(folder, *words, **more)
    try:
        yield web
    finally:
        web.close()


@pytest.fixture(scope="module")
def site() -> Iterator[WebServer]:
    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory, site: WebServer) -> Iterator[Web]:
    with running(tmp_path_factory.mktemp("web"), *fetching_from(site)) as web:
        yield web


@pytest.fixture(scope="module")
def written(web: Web) -> Web:
    name, events = web.job("runs", {"title": TITLE, "files": web.upload(*PAGES), "words": 150})
    kinds = [event["kind"] for event in events]
    assert name == NAME and kinds.count("fetched") == len(PAGES) and {"pages", "outline"} <= set(kinds)
    assert events[-1] == {"kind": "ended", "status": "done", "why": ""}, events[-1]
    return web


def test_an_article_is_asked_for_watched_and_taken_away(written: Web) -> None:
    shown = written.got(f"runs/{NAME}")
    assert shown["state"] == "done" and shown["title"] == TITLE and len(shown["pages"]) == len(PAGES)
    sentence = written.sentences(NAME)[0]
    status, passage = written.ask("GET", f"/api/runs/{NAME}/passages/{quote(sentence['cites'][0])}")
    assert status == 200 and sentence["text"] in " ".join(passage["passage"].split()) and passage["before"] is not None
    for form in ("html", "md", "wiki", "json", "dossier", "dossier-wiki"):
        status, content = written.ask("GET", f"/api/runs/{NAME}/download/{form}")
        assert status == 200 and content
    names = zipfile.ZipFile(io.BytesIO(written.got(f"runs/{NAME}/download/zip"))).namelist()
    assert f"{NAME}/evidence/evidence.jsonl" in names and f"{NAME}/events/{NAME}/article.json" in names
    assert NAME in {one["name"] for one in written.got("runs")}
    # it is a run of the command: the same folder
    assert (written.folder / "runs" / "write" / NAME / "run.json").is_file()


def test_a_sentence_is_struck_reworded_and_given_back(written: Web) -> None:
    path = written.folder / "runs" / "write" / NAME / "events" / NAME / "article.json"
    before = path.read_bytes()
    own = written.got(f"runs/{NAME}")["article"]["sections"][1]["paragraphs"][0][0]["own"]
    status, article = written.correct(NAME, own, "")
    assert status == 200 and article["sections"][1]["paragraphs"][0][0]["state"] == "struck"
    assert own.encode() not in written.got(f"runs/{NAME}/download/wiki")
    written.correct(NAME, own, "It was so.")
    assert b"It was so." in written.got(f"runs/{NAME}/download/md")
    # another run on the same title takes the correction over
    assert written.done("runs", {"title": TITLE, "files": written.upload(*PAGES), "words": 160}) == f"{NAME}-2"
    assert b"It was so." in written.got(f"runs/{NAME}-2/download/md")
    _, article = written.correct(NAME, own, own)
    assert article["sections"][1]["paragraphs"][0][0]["state"] == ""
    assert path.read_bytes() == before, "what was written stays as it was written"
    status, told = written.correct(NAME, "Nobody wrote this.", "")
    assert status == 400 and "no sentence" in told["error"]


def test_an_article_is_checked_in_the_page(written: Web) -> None:
    text = json.dumps(written.got(f"runs/{NAME}/download/json")).encode()
    _, kept = written.ask("PUT", "/api/check-uploads/article.json", text)
    report = written.got(f"checks/{written.done('checks', {'file': kept['file']})}")
    assert report["statements"] and {one["verdict"] for one in report["statements"]} == {"supported"}
    secret = written.folder / "secret.md"
    secret.write_text("The secret of the folder is [forty-two](http://e.org).", encoding="utf-8")
    for wrong in ("/etc/passwd", str(secret), "runs/check/.articles/../../../secret.md"):
        status, asked = written.ask("POST", "/api/checks", {"article": wrong})
        if status == 200:
            ended = written.followed(f"/api/checks/{asked['name']}/events")[-1]
            assert ended["status"] == "failed" and "%25" not in ended["why"], wrong  # a title, not a file
    _, events = written.job("checks", {"article": "B.[1]\n\n# A"})
    assert events[-1]["why"].startswith("pasted-text-")
    for elsewhere in ({"article": "../../secret"}, {"run": "../secret"}):
        assert written.ask("POST", "/api/checks", elsewhere)[0] == 400


def test_two_browsers_on_one_run_and_a_closed_tab(web: Web) -> None:
    """Both see all that happens, one that leaves ends nothing, and corrections made at once are all kept."""
    asked = {"title": "Seen by two", "files": web.upload(*PAGES), "words": 300}
    name = web.ask("POST", "/api/runs", asked)[1]["name"]
    with closing(http.client.HTTPConnection("127.0.0.1", web.port, timeout=60)) as leaving:
        leaving.request("GET", f"/api/runs/{name}/events")
        leaving.getresponse().read(10)
    again = web.ask("POST", "/api/runs", asked | {"files": web.upload(*PAGES)})
    assert again == (200, {"name": name}), "asked twice, it is one article"
    with ThreadPoolExecutor(8) as both:
        first, second = both.map(web.followed, [f"/api/runs/{name}/events"] * 2)
        assert first == second and first[-1]["status"] == "done"
        texts = [one["own"] for one in web.sentences(name)][:8]
        list(both.map(lambda text: web.correct(name, text, ""), texts))
    struck = {one["own"] for one in web.sentences(name) if one["state"] == "struck"}
    assert len(texts) > 4 and set(texts) <= struck


def test_an_article_of_the_page_is_checked_as_corrected_and_its_check_listed(written: Web) -> None:
    own, now = written.sentences(NAME)[0]["own"], "Bananas from Peru have won the chess prize."
    written.correct(NAME, own, now)
    name = written.done("checks", {"run": NAME})
    report = written.got(f"checks/{name}")
    verdicts = {one["text"]: one["verdict"] for one in report["statements"]}
    assert verdicts[now] == "unsupported" and own not in verdicts
    assert {one["verdict"]: one["n"] for one in report["counts"]}["unsupported"] == 1
    listed = written.got("checks")
    assert name in {one["name"] for one in listed} and all("statements" in one["summary"] for one in listed)
    written.correct(NAME, own, own)


def test_news_are_looked_for_in_the_page(web: Web, site: WebServer) -> None:
    """A new run beside the first, with what changed; what was struck stays struck; a second one of the day has its number."""
    site.put("/a", Reply(PAGES[0].read_text(encoding="utf-8")))
    site.put("/b", Reply(PAGES[2].read_text(encoding="utf-8")))
    name = web.done("runs", {"title": "Mayor of Halvenport", "urls": [site.url("/a"), site.url("/b")], "words": 150})
    own = web.got(f"runs/{name}")["article"]["sections"][-1]["paragraphs"][0][0]["own"]
    web.correct(name, own, "")
    site.put("/b", Reply("gone", 410))
    updated, events = web.job("runs", {}, to=f"/{name}/update")
    assert re.fullmatch(rf"{name}-\d{{4}}-\d\d-\d\d", updated)
    assert events[-1]["status"] == "done" and [event["kind"] for event in events].count("fetched") == 2, events
    after = web.got(f"runs/{updated}")
    assert after["state"] == "done" and any("gone: " in line and "410" in line for line in after["changes"]), after["changes"]
    states = [one["state"] for one in web.sentences(updated) if one["own"] == own]
    assert states in (["struck"], []), "struck, or gone with its page"
    assert web.done("runs", {}, to=f"/{name}/update") == f"{updated}-2"
    assert web.ask("POST", "/api/runs/nothing/update", {})[0] == 400


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"title": "x" * 5000, "urls": ["http://e.org"]}, "5,000 characters"),
        ({"title": "A\x00B", "urls": ["http://e.org"]}, "control character"),
        ({"title": "T", "urls": [f"http://e.org/{n}" for n in range(10_000)]}, "10,000 pages"),
        ({"title": "T"}, "paste addresses"),
        ({"title": " ", "search": "ddgs"}, "needs a title"),
        ({"title": "T", "files": ["a.html"] * 51}, "51 files"),
        ({"title": "T", "files": ["../../etc/passwd"]}, "was not uploaded"),
        ({"title": "T", "urls": ["http://e.org"], "as_of": "soon"}, "soon"),
        ({"title": "T", "urls": ["http://e.org"], "words": 2}, "words"),
        ({"title": "T", "folder": "/"}, "folder"),
    ],
)
def test_what_cannot_be_meant_is_told(web: Web, body: dict[str, Any], told: str) -> None:
    status, answer = web.ask("POST", "/api/runs", body)
    assert status == 400 and told in answer["error"] and len(answer["error"]) < 500


def test_who_hangs_up_in_the_middle_is_no_fault(web: Web) -> None:
    with socket.create_connection(("127.0.0.1", web.port), timeout=20) as connection:
        head = b"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
        connection.sendall(head)
    for _ in range(20):  # meanwhile it has noticed
        assert web.ask("GET", "/api/about")[0] == 200
    assert "Traceback" not in (web.folder / "log").read_text(encoding="utf-8")


@pytest.mark.parametrize("said", ["no message", "[]", '{"text": "of no kind"}', " " * 300])
def test_a_process_that_says_what_is_no_message_ends_its_job_alone(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The desk goes on: the next job has a process of its own."""
    (tmp_path / "speaking.py").write_text(f"input(), input(), print({said!r}, flush=True), input()", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(desk, "WORKER", "speaking")
    monkeypatch.setattr(desk, "LINE_LIMIT", 100)

    async def asked() -> list[str]:
        page = desk.Desk(warm=False)
        await page.open()
        jobs = [page.ask(desk.Job("write", name, "T", ())) for name in ("one", "two")]
        for job in jobs:
            async for _ in job.follow(0):
                pass
        await page.close()
        await asyncio.sleep(0.1)  # the pipes of the processes are closed by the loop
        return [job.why for job in jobs]

    for why in asyncio.run(asked()):
        assert why.startswith("the writing process said what is no message")


def test_addresses_of_this_machine_are_recorded_not_asked(web: Web) -> None:
    name, events = web.job("runs", {"title": "Own machine", "urls": [f"{web.address}api/runs"]})
    assert events[-1]["status"] == "failed" and "no usable page" in events[-1]["why"]
    shown = web.got(f"runs/{name}")
    assert shown["state"] == "failed" and "no usable page" in shown["why"]


def test_uploads_and_names_are_bounded(web: Web) -> None:
    status, told = web.ask("PUT", "/api/uploads/page.exe", b"MZ")
    assert status == 400 and "page.exe" in told["error"]
    with socket.create_connection(("127.0.0.1", web.port), timeout=20) as connection:
        connection.sendall(b"PUT /api/uploads/a.html HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 314572800\r\n\r\n")
        assert b"400" in connection.recv(4096).split(b"\r\n")[0]
    kept = web.folder / "runs" / "write" / ".uploads"
    assert not any(path.stat().st_size > 20_000_000 for path in kept.glob("*"))
    for path in ("runs/{}", "runs/{}/download/md", "checks/{}"):
        status, told = web.ask("GET", "/api/" + path.format("x" * 5_000))
        assert status in (200, 400) and (status == 200 or "too long" in told["error"]), path


def test_other_sites_may_not_ask(web: Web) -> None:
    asked = {"title": "T", "urls": ["http://e.org"]}
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        assert web.ask("POST", "/api/runs", asked, **headers)[0] == 403
        assert web.ask("GET", "/api/runs", **headers)[0] == 403
    assert web.ask("GET", "/api/runs", Host="evil.example")[0] == 400
    assert web.ask("GET", "/api/runs", Origin=web.address.rstrip("/"))[0] == 200
    assert web.ask("POST", "/api/runs", b'{"title": "T"}', **{"Content-Type": "text/plain"})[0] == 400
    assert web.ask("GET", "/", **{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})[0] == 200  # a link to it
    for path in ("/api/runs/..%2F..%2Fx", "/api/runs/%2e%2e", "/api/runs/x/passages/0:0-9", "/api/checks/..", "/page.py"):
        status, told = web.ask("GET", path)
        assert status in (400, 404, 200) and b"root:" not in str(told).encode()


@pytest.mark.slow  # three pages and two writing processes start: six CPU seconds and more
@pytest.mark.parametrize("program", [QUICK, COMMAND], ids=["stand-ins", "the command"])  # which loads the sentence model
def test_a_killed_page_goes_on(tmp_path: Path, program: tuple[str, ...]) -> None:
    """Also what it was killed in the middle of; no process is left behind."""
    web = Web(tmp_path, program=program)
    _, asked = web.ask("POST", "/api/runs", {"title": TITLE, "files": web.upload(*PAGES), "words": 150})

    def is_writer(pid: int) -> bool:
        return any(name in command(pid) for name in ("flows.webapp.worker", "tests.quick_web_worker"))

    def writing() -> list[int]:
        return [pid for pid in children(web.process.pid) if is_writer(pid)]

    wait_until(lambda: bool(writing()), "a writing process", START_S)
    (process,) = writing()
    web.kill()
    wait_until(lambda: not is_writer(process), "the end of the writing process", START_S)
    with running(tmp_path) as again:
        if again.got(f"runs/{asked['name']}")["state"] != "done":
            again.done("runs", {}, to=f"/{asked['name']}/go-on")
        assert again.got(f"runs/{asked['name']}")["state"] == "done"


# --- in a browser ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browsing(tmp_path_factory.mktemp("browser") / "profile") as tab:
        yield tab


def until(tab: Tab, expression: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not tab.value(f"!!({expression})"):
        assert time.monotonic() < end, (expression, tab.value("document.querySelector('main').innerText"))
        time.sleep(0.05)


def violations(tab: Tab) -> list[str]:
    """Of the accessibility rules of axe-core (https://github.com/dequelabs/axe-core), WCAG 2.1 A and AA."""
    source = resources.files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    tab.call("Runtime.evaluate", expression=source)
    tab.call("Runtime.evaluate", expression="window.found = null; axe.run().then((r) => { window.found = r.violations; })")
    until(tab, "window.found !== null")
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in tab.value("window.found")]


def count(tab: Tab, selector: str) -> Any:
    return tab.value(f"document.querySelectorAll({selector!r}).length")


@needs_browser
def test_a_person_needs_no_terminal(written: Web, tab: Tab) -> None:
    width = 390
    tab.screen(width, 844, dark=True)
    tab.open(written.address)
    until(tab, "document.querySelector('#files').accept !== ''")
    assert violations(tab) == []
    tab.click("#title")
    tab.call("Input.insertText", text=f"{TITLE} {width}")
    node = tab.call("DOM.getDocument")["root"]["nodeId"]
    chosen = tab.call("DOM.querySelector", nodeId=node, selector="#files")["nodeId"]
    tab.call("DOM.setFileInputFiles", nodeId=chosen, files=[str(path) for path in PAGES])
    until(tab, f"document.querySelectorAll('#chosen li').length === {len(PAGES)}")
    tab.click("#ask button[type=submit]")
    until(tab, "document.querySelector('#state').textContent.startsWith('Done') && document.querySelector('#correct')")
    assert count(tab, "#pages li") == len(PAGES)
    assert tab.value("document.documentElement.scrollWidth") == width and violations(tab) == []
    tab.value("document.querySelector('.s .cite').focus()")
    tab.press("Enter")
    until(tab, "!document.querySelector('#evidence').hidden")
    assert tab.value("document.querySelector('#evidence mark').textContent.length") > 40 and violations(tab) == []
    tab.press("Escape")
    assert tab.value("document.querySelector('#evidence').hidden && document.activeElement.className") == "cite"
    smallest = "Math.min(...[...document.querySelectorAll('.cite')].map((e) => e.getBoundingClientRect().height))"
    assert tab.value(smallest) >= 24  # WCAG 2.2, 2.5.8
    tab.click("#correct")
    own = tab.value("document.querySelector('.s .words').textContent")
    tab.click(".s .tools [aria-label^=strike]")
    until(tab, "document.querySelector('.s').classList.contains('struck')")
    tab.open(tab.value("location.href"))
    until(tab, "document.querySelector('.s.struck')")
    assert tab.value("document.querySelector('.s .words').textContent") == own
    numbers = tab.value("[...document.querySelectorAll('.sources .cite')].map((e) => Number(e.textContent.slice(1, -1)))")
    assert sorted(numbers) == [*range(1, len(numbers) + 1)]
    tab.value("[...document.querySelectorAll('#actions button')].find((e) => e.textContent.startsWith('Check')).click()")
    until(tab, "document.querySelector('.finding.supported blockquote')")
    assert tab.value("document.querySelector('#check-filter [aria-pressed=true]').textContent").startswith("All ")
    tab.click("#check-filter [data-show=look]")
    assert count(tab, ".finding") == 0 and tab.value("document.activeElement.dataset.show") == "look"
    assert tab.value("document.documentElement.scrollWidth") == width and violations(tab) == []
    tab.screen(1280, 900)
    for page, there in ((f"#run/{NAME}", "#correct"), ("#check", "#checks li"), ("", "#ask")):
        tab.open(f"{written.address}{page}")
        until(tab, f"document.querySelector('{there}')")
        assert tab.value("document.documentElement.scrollWidth") == 1280 and violations(tab) == []
    assert all(url.startswith((written.address, "data:")) for url in tab.requested)
    assert tab.complaints == []


@needs_browser
def test_wrong_input_is_told_in_the_page(web: Web, tab: Tab) -> None:
    tab.screen(1280, 900)
    tab.open(web.address)
    until(tab, "document.querySelector('#files').accept !== ''")
    tab.click("#ask button[type=submit]")
    until(tab, "!document.querySelector('#problem').hidden")
    assert "nothing to write from" in tab.value("document.querySelector('#problem').textContent")
    tab.value("document.querySelector('#title').value = 'x'.repeat(5000)")
    tab.value("document.querySelector('#urls').value = 'http://e.org/ '.repeat(9)")
    tab.click("#ask button[type=submit]")
    until(tab, "document.querySelector('#problem').textContent.includes('5,000 characters')")
    tab.open(f"{web.address}#check")
    until(tab, "!document.querySelector('#view-check').hidden")
    assert violations(tab) == []


# --- last, for it ends the writing process, which takes long to start ---------------------------------------------------------


def test_what_waits_can_be_taken_off_and_what_runs_stopped(web: Web) -> None:
    files = web.upload(*PAGES)
    names = [web.ask("POST", "/api/runs", {"title": f"Election {n}", "files": files})[1]["name"] for n in range(3)]
    assert web.ask("POST", f"/api/runs/{names[2]}/stop", {})[0] == 200
    assert web.followed(f"/api/runs/{names[2]}/events")[-1]["status"] == "stopped"
    web.ask("POST", f"/api/runs/{names[0]}/stop", {})
    assert web.followed(f"/api/runs/{names[0]}/events")[-1]["status"] in ("stopped", "done")
    assert web.followed(f"/api/runs/{names[1]}/events")[-1]["status"] == "done", "the queue goes on"

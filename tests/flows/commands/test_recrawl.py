"""`wikigenben recrawl` on a toy benchmark folder whose pages a local server has kept, changed or lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.web_server import Reply, WebServer, serving

STORY = " ".join(
    f"On day {n} the council of Tolvane met for hour {n + 3} and voted on item {n * 7} of the budget." for n in range(12)
)
OTHER = " ".join(f"A recipe in step {n} asks for {n + 2} eggs and {n * 5} grams of flour, stirred well." for n in range(12))


@pytest.fixture
def server() -> Iterator[WebServer]:
    with serving() as server:
        yield server


def _page(text: str) -> str:
    return f"<html><head><title>News</title></head><body><article><p>{text}</p></article></body></html>"


def _snapshot(root: Path, server: WebServer) -> Path:
    """Event 1 has a page of every fate, event 2 a broken file."""
    server.put("/same", _page(STORY))
    server.put("/longer", _page(f"{STORY} {OTHER}"))
    server.put("/changed", _page(OTHER))
    server.put("/captcha", _page("Just a moment... Checking your browser before accessing this site."))
    server.put("/busy", Reply("later", 500))
    server.put("/new", _page(STORY))
    paths = ["same", "longer", "changed", "gone", "captcha", "busy"]
    pages = [{"title": path, "link": server.url(f"/{path}"), "text": STORY} for path in paths]
    pages += [{"title": "new", "link": server.url("/new"), "text": ""}, {"title": "odd", "link": "ftp://x.org/", "text": STORY}]
    pages.append({"title": "again", "link": server.url("/same#part"), "text": STORY})
    for event_id, content in (("1", json.dumps(pages)), ("2", "{")):
        for half, text in (("google", content), ("wiki", json.dumps({"key": f"Event {event_id}"}))):
            (root / half).mkdir(parents=True, exist_ok=True)
            (root / half / f"{event_id}.json").write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def words(server: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "cache"))
    data = _snapshot(tmp_path / "bench", server)
    allowed = f"web.allow_origins={server.origin()}"
    return ["recrawl", "--data", str(data), "--set", allowed, "--set", "web.min_delay_s=0"]


def test_what_became_of_the_pages(wikigenben: Command, server: WebServer, words: list[str]) -> None:
    ran = wikigenben(*words, "--json", "--out", "found.jsonl")
    assert ran.code == 1  # event 2 could not be read
    totals = {"kept": 2, "changed": 1, "gone": 3, "unknown": 2}
    reasons = {"blocked": 1, "http_4xx": 1, "http_5xx": 1, "scheme": 1}
    assert ran.json == {"pages": "found.jsonl", "events": 2, "reasons": reasons, **totals}
    rows = {row["url"]: row for row in map(json.loads, Path("found.jsonl").read_text(encoding="utf-8").splitlines())}
    fates = {
        path: (rows[server.url(path)]["state"], rows[server.url(path)]["reason"])
        for path in ("/same", "/longer", "/changed", "/gone", "/captcha", "/busy", "/new")
    }
    assert fates == {
        "/same": ("kept", None),
        "/longer": ("kept", None),
        "/changed": ("changed", None),
        "/gone": ("gone", "http_4xx"),
        "/captcha": ("gone", "blocked"),
        "/busy": ("unknown", "http_5xx"),
        "/new": ("unknown", None),
    }
    same, longer, changed = (rows[server.url(path)] for path in ("/same", "/longer", "/changed"))
    assert same["sha256_stored"] == same["sha256_live"] != longer["sha256_live"]
    assert (same["overlap"], longer["overlap"], changed["overlap"]) == (1.0, 1.0, 0.0)
    asked = len(server.targets())
    table = wikigenben(*words, "--events", "1")
    assert table.code == 0 and "1 Event 1" in table.out and "reasons: access was blocked (1)" in table.out
    assert Path("runs/recrawl.jsonl").is_file()
    assert server.targets()[asked:] == ["/robots.txt", "/gone", "/busy"]  # the others are known


@pytest.mark.parametrize(("more", "names"), [(["--events", "7"], "no event '7'"), (["--limit", "0"], "--limit 0")])
def test_wrong_values(wikigenben: Command, words: list[str], more: list[str], names: str) -> None:
    ran = wikigenben(*words, *more)
    assert (ran.code, ran.out) == (2, "") and names in ran.err

"""Statements of agents, drawn for a reader and shown beside their page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.quality import statement_readings
from tools.quality.statement_readings import drawn, readable, shown

PAGE = "![Logo](https://x.example/l.png) [Menu](https://x.example/) The ferry **sank** in May 2031. " + "Other words. " * 200


@pytest.fixture
def articles(tmp_path: Path) -> Path:
    for agent in ("one", "two"):
        (tmp_path / agent).mkdir()
        text = " ".join(f"The ferry sank for the {n}th time.[1]" for n in range(9)) + " A pier was built.[1][2]"
        value = {"text": text, "retrieve": [["Ferry", "https://x.example/", PAGE], ["", "", "A pier."]]}
        (tmp_path / agent / "7.json").write_text(json.dumps(value))
    return tmp_path


def test_as_many_of_each_agent_are_drawn(articles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement_readings, "N", 8)
    found = drawn(articles, ["7", "8"], seed=0)
    assert sorted(one.agent for one in found) == ["one"] * 4 + ["two"] * 4
    assert sorted(one.half for one in found) == ["choose"] * 4 + ["once"] * 4
    assert all(one.place < 9 for one in found)  # the last sentence cites two
    assert drawn(articles, ["7"], seed=0) == found != drawn(articles, ["7"], seed=1)


def test_the_reader_sees_the_parts_of_the_page_that_are_near_without_marks_and_addresses(articles: Path) -> None:
    one = drawn(articles, ["7"], seed=0)[0]
    text = shown(one, articles, "Ferry", None)
    assert "The ferry sank in May 2031." in text and "(407 words)" in text
    assert "... Menu The ferry sank" in shown(one, articles, "Ferry", "ferry")
    assert readable("![a](b) [Menu](https://x.example/y) **Bold** https://z.example text ====") == "Menu Bold text"

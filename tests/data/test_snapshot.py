from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.download import FOLDER, MANIFEST
from data.errors import StageError, UserError
from data.locate import locate
from data.snapshot import SAMPLE, Snapshot, flatten_references
from data.types import Event, RawPage


def put(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def build(root: Path, references: dict[str, Any], pages: dict[str, Any]) -> Snapshot:
    for half, values in (("wiki", references), ("google", pages)):
        for event_id, value in values.items():
            put(root / half / f"{event_id}.json", value)
    return Snapshot(root)


def test_which_halves_are_there(tmp_path: Path) -> None:
    found = build(tmp_path, {i: {} for i in ("2", "10", "9", "x", "70")}, {i: [] for i in ("10", "2", "x", "11")})
    (tmp_path / "wiki" / "._2.json").write_text("{}")  # what a Mac leaves on a shared disk
    (tmp_path / "wiki" / "notes.txt").write_text("")
    again = Snapshot(tmp_path).inventory
    assert again == found.inventory
    assert (again.both, again.only_reference, again.only_pages) == (("2", "10", "x"), ("9", "70"), ("11",))
    assert found.ids("search") == found.ids("both") == ("2", "10", "x")
    assert found.ids("cited") == ("2", "9", "10", "70", "x")
    assert again.describe() == (
        "3 events with reference and search pages; 2 without search pages (9, 70); 1 without a reference (11)"
    )
    assert Snapshot(SAMPLE).inventory.describe() == "5 events with reference and search pages"


def test_event_says_the_title_only(tmp_path: Path) -> None:
    found = build(tmp_path, {"1": {"key": "A fire", "text": "gold"}, "2": {}, "3": {"key": ""}, "4": {"key": "\ud800"}}, {})
    assert found.event("1") == Event("1", "A fire")
    assert found.event("2") == Event("2", "2") and found.event("3").title == "3"
    assert found.event("4").title == "\ufffd"  # can be written to a file
    assert not found.is_sample and Snapshot(SAMPLE).is_sample and Snapshot(Path(str(SAMPLE) + "/../sample")).is_sample


@pytest.mark.parametrize("event_id", ["5", "../wiki/1", ""])
def test_unknown_events(tmp_path: Path, event_id: str) -> None:
    with pytest.raises(UserError, match="known ids run from 1 to 12"):
        build(tmp_path / "two", {"1": {}, "12": {}}, {"3": []}).event(event_id)
    none = build(tmp_path / "none", {}, {"3": []})
    assert none.ids("cited") == () == none.ids("search")
    with pytest.raises(UserError, match="it holds no event"):
        none.event("3")


def test_pages_of_a_track_in_order_and_with_missing_and_odd_fields(tmp_path: Path) -> None:
    reference = {"key": "A", "reference": [["Cite one", "https://c.example/1", "cited text"]]}
    page = {"title": "T", "link": "https://s.example/", "text": "found text"}
    found = build(tmp_path, {"1": reference}, {"1": [page, {"title": "H", "link": "l", "html": "html/1/1.html"}]})
    (tmp_path / "html" / "1").mkdir(parents=True)
    (tmp_path / "html" / "1" / "1.html").write_bytes(b"<p>caf\xe9</p>")
    search = (
        RawPage("https://s.example/", "T", "found text", "text", "search"),
        RawPage("l", "H", "<p>caf\ufffd</p>", "html", "search"),
    )
    cited = (RawPage("https://c.example/1", "Cite one", "cited text", "text", "cited"),)
    assert found.raw_pages("1", "search") == search
    assert found.raw_pages("1", "cited") == cited
    assert found.raw_pages("1", "both") == search + cited
    odd = build(tmp_path / "odd", {"1": {}}, {"1": [{}, {"title": None, "link": 7, "text": None}, {"text": "half \udc00"}]})
    assert [(p.url, p.title, p.body) for p in odd.raw_pages("1", "search")] == [
        ("", "", ""),
        ("7", "", ""),
        ("", "", "half \ufffd"),
    ]
    assert odd.raw_pages("1", "cited") == ()


HTML = ["../secret.html", "/etc/hostname", "html/../../secret.html", "link.html", "html/none.html", "html", ""]


@pytest.mark.parametrize("name", HTML)
def test_html_lies_inside_the_snapshot(tmp_path: Path, name: str) -> None:
    found = build(tmp_path / "snapshot", {"1": {}}, {"1": [{"html": name}]})
    (tmp_path / "secret.html").write_text("secret")
    (tmp_path / "snapshot" / "html").mkdir()
    (tmp_path / "snapshot" / "link.html").symlink_to(tmp_path / "secret.html")
    with pytest.raises(StageError, match=r"outside the snapshot|cannot read"):
        found.raw_pages("1", "search")


def test_files_of_another_shape_and_one_that_went_away(tmp_path: Path) -> None:
    for value, told in (({}, "holds a dict, not a list"), ([["a"]], "lists a list where a page"), (3, "int")):
        with pytest.raises(StageError, match=told):
            build(tmp_path, {"1": []}, {"1": value}).raw_pages("1", "search")
    with pytest.raises(StageError, match=r"wiki/1\.json holds a list"):
        Snapshot(tmp_path).event("1")
    found = Snapshot(tmp_path)
    (tmp_path / "google" / "1.json").unlink()
    with pytest.raises(StageError, match=r"cannot read .*google/1\.json: No such file"):
        found.raw_pages("1", "search")


# ---- references


ROW = ["Lee, A. Title. Paper.", "https://a.example/", "the text of the page"]


@pytest.mark.parametrize(
    ("value", "rows"),
    [
        (None, []),
        ("https://a.example/", []),
        ([ROW[:2]], [(ROW[0], ROW[1], "")]),
        ([["1", *ROW]], [tuple(ROW)]),  # four columns: the citation stands before its address
        ([[*ROW, "2031-03-16"]], [tuple(ROW)]),
        ([ROW[1:]], [("", ROW[1], ROW[2])]),
        ([["no address", "at all"]], []),
        (ROW, [tuple(ROW)]),
        ([[ROW, ROW[:2]], [[ROW]]], [tuple(ROW), (ROW[0], ROW[1], ""), tuple(ROW)]),
        ([{"citation": "C", "url": "u", "text": "t"}, {"title": "T", "url": "v"}], [("C", "u", "t"), ("T", "v", "")]),
        ({"citation": "C", "url": "u", "text": "t"}, [("C", "u", "t")]),
        ([7, None, ROW, []], [tuple(ROW)]),
    ],
)
def test_reference_shapes(value: object, rows: list[tuple[str, str, str]]) -> None:
    assert flatten_references(value) == rows


cells = st.one_of(st.none(), st.text(max_size=8), st.sampled_from(["https://a.example/", "http://b.example/"]))
json_values = st.recursive(
    st.one_of(cells, st.booleans(), st.integers(), st.floats()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(["url", "text", "citation", "x"]), inner)
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_json_gives_rows_of_texts(value: object) -> None:
    for row in flatten_references(value):
        assert len(row) == 3 and all(isinstance(cell, str) for cell in row)
        "".join(row).encode()  # no half characters


# ---- which folder


def test_where_the_benchmark_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WIKIGEN_DATA", raising=False)
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert locate(None) == SAMPLE
    (tmp_path / FOLDER).mkdir()
    assert locate(None) == SAMPLE  # a download that did not finish
    (tmp_path / FOLDER / MANIFEST).write_text("{}")
    assert locate(None) == tmp_path / FOLDER
    monkeypatch.setenv("WIKIGEN_DATA", "~/data")
    assert locate(None) == tmp_path / "home" / "data"
    assert locate("here") == Path("here")
    assert locate("sample") == SAMPLE
    monkeypatch.setenv("WIKIGEN_DATA", "sample")
    assert locate(None) == SAMPLE

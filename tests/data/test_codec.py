from __future__ import annotations

import hashlib
import json
import lzma
import math
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data import codec
from data.errors import UserError
from data.runs import EventFailure, EventStats
from data.scores import Estimate, EventScores, SystemScores
from data.types import Article, Event, Fact, Heading, Hit, Outline, Page, Passage, Repair, Section, Sentence, Source


def small(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(values, max_size=2).map(tuple)


texts = st.text(max_size=6)
sentences = st.builds(Sentence, text=texts, cites=small(texts))
sections = st.builds(Section, heading=st.builds(Heading, text=texts), paragraphs=small(small(sentences)))
facts = st.builds(Fact, label=texts, value=texts, cites=small(texts))
repairs = st.builds(Repair, section=texts, text=texts, detail=texts)
sources = st.builds(Source, passage=st.builds(Passage, text=texts), url=texts, title=texts, published=st.none() | texts)
VALUES = {
    Article: st.builds(Article, texts, texts, sections, small(sections), small(facts), small(sources), small(repairs)),
    SystemScores: st.builds(
        SystemScores,
        estimates=st.dictionaries(texts, st.from_type(Estimate), max_size=2),
        events=small(st.builds(EventScores, scores=st.dictionaries(texts, st.none() | st.floats(), max_size=2))),
        notes=small(texts),
    ),
    **{kind: st.from_type(kind) for kind in (EventFailure, EventStats, Hit, Outline, Page)},
}


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_reading_gives_what_was_written(kind: type) -> None:
    @settings(max_examples=50)
    @given(VALUES[kind].filter(_is_finite), st.sampled_from([None, 1]))
    def check(value: object, indent: int | None) -> None:
        text = codec.to_json(value, indent=indent)
        assert codec.from_json(kind, text, where="test") == value
        assert codec.from_json(kind, text.encode(), where="test") == value
        assert codec.to_json(codec.from_json(kind, text, where="test"), indent=indent) == text
        assert codec.from_plain(kind, codec.to_plain(value), where="test") == value

    check()


def _is_finite(value: object) -> bool:
    """JSON has no NaN and no infinity."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    if isinstance(value, tuple):
        return all(map(_is_finite, value))
    names = getattr(type(value), "__dataclass_fields__", {})
    return all(_is_finite(getattr(value, name)) for name in names)


def test_equal_values_give_equal_bytes_and_what_json_cannot_say_is_not_written() -> None:
    one = Page(url="u", title="Zoë", text="é\u2028\x85", origin="search", flags=("bare",))
    other = Page(flags=("bare",), origin="search", text="é\u2028\x85", title="Zoë", url="u")
    assert codec.to_json(one) == codec.to_json(other) and "Zoë" in codec.to_json(one)  # readable, not escaped
    assert list(json.loads(codec.to_json(one))) == [
        "url", "title", "text", "origin", "published", "language", "flags", "drop_reason", "drop_detail", "duplicate_of",
    ]  # fmt: skip
    for value in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError):
            codec.to_json(Hit(Passage(0, 0, 1, "a"), value, 1))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"id": "1", "title": "A", "gold": "x"}', "gold"),
        ('{"id": "1"}', "title"),
        ('{"id": "1", "title": null}', "title"),
        ('{"id": "1", "title": "A"', "the whole file"),
        (b"\xff\xfe", "the whole file"),
    ],
)
def test_anything_else_is_refused_by_name(text: str | bytes, told: str) -> None:
    with pytest.raises(UserError, match=r"events/1/event\.json is not a readable Event") as caught:
        codec.from_json(Event, text, where="events/1/event.json")
    assert f"(at {told}, " in str(caught.value) and "delete the file and run the command again" in str(caught.value)


def test_the_place_of_the_fault_is_named() -> None:
    text = codec.to_json(Section(Heading("A"), ((Sentence("B.", ("0:0-2",)),),))).replace('["0:0-2"]', "[7]")
    with pytest.raises(UserError, match=r"at paragraphs\.0\.0\.cites\.0, 1 problems"):
        codec.from_json(Section, text, where="x")


# ---- files


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    codec.write_atomic(path, "old")
    with pytest.raises(UnicodeEncodeError):
        codec.write_atomic(path, "new \ud800")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_the_users_to_mend(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder" / "full").mkdir(parents=True)
    for path in (tmp_path / "file" / "a.json", tmp_path / "folder"):
        with pytest.raises(UserError, match=rf"cannot write {path}: .*choose another folder"):
            codec.write_atomic(path, "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_writers_at_the_same_time_never_mix(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    texts = [str(n) * 50_000 for n in range(4)]
    threads = [threading.Thread(target=lambda text=text: [codec.write_atomic(path, text) for _ in range(5)]) for text in texts]
    for thread in threads:
        thread.start()
    seen = set()
    while any(thread.is_alive() for thread in threads):
        if path.exists():
            seen.add(path.read_text())
    for thread in threads:
        thread.join()
    assert seen | {path.read_text()} <= set(texts)
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_write_leaves_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def unlinked(self: Path, missing_ok: bool = False) -> None:
        raise Killed  # as after SIGKILL, the cleaning up does not take place

    monkeypatch.setattr(Path, "unlink", unlinked)
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(Killed()))
    with pytest.raises(Killed):
        codec.write_atomic(tmp_path / "article.json", "{}")
    (left,) = tmp_path.iterdir()
    assert codec.is_temporary(left)
    for name in ("article.json", ".lock", "notes.tmp", ".article.json"):
        assert not codec.is_temporary(tmp_path / name)


@given(st.text())
def test_hash_is_of_the_utf8_bytes(text: str) -> None:
    assert codec.sha256(text) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("reads", [codec.plain_bytes, partial(codec.read, Article)])
def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(tmp_path: Path, reads: Callable[[Path], object]) -> None:
    os.mkfifo(tmp_path / "article.json")
    with pytest.raises((OSError, UserError), match="it is a pipe"):
        reads(tmp_path / "article.json")


def test_lines_are_read_packed_or_not(tmp_path: Path) -> None:
    plain, packed, broken = (tmp_path / name for name in ("a.jsonl", "a.jsonl.xz", "b.jsonl.xz"))
    plain.write_text("first\nzweite Zeile: ä\n", encoding="utf-8")
    packed.write_bytes(lzma.compress(plain.read_bytes()))
    broken.write_bytes(packed.read_bytes()[:-20])
    assert codec.lines_of(plain) == codec.lines_of(packed) == ["first", "zweite Zeile: ä"]
    with pytest.raises(ValueError, match=r"b\.jsonl\.xz"):
        codec.lines_of(broken)

from __future__ import annotations

import json
from pathlib import Path

import pytest

from data.errors import UserError
from decoding.api import Message
from decoding.knn.prompt_files import PromptRow, read_all, read_prompts


def _file(folder: Path, *lines: object) -> Path:
    path = folder / "prompts.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), encoding="utf-8")
    return path


def test_both_forms_of_our_own_and_spec_bench_in_one_file(tmp_path: Path) -> None:
    path = _file(
        tmp_path,
        {"id": "a", "task": "section", "topic": "sport", "messages": [{"role": "user", "content": "Write."}]},
        "",
        {"id": "b", "task": "outline", "prompt": "Line\u2028separator", "answer": "Yes.", "event": "9"},
        {"question_id": 81, "category": "writing", "turns": ["First.", "Second."], "reference": ["x"]},
    )
    a, b, c = read_prompts(path)
    assert a == PromptRow("a", (Message("user", "Write."),), "section", "sport")
    assert b.messages[0].content == "Line\u2028separator" and b.answer == "Yes."
    assert c == PromptRow("81", (Message("user", "First."),), "other", "writing", follow_ups=("Second.",))
    assert [row.group for row in (a, b, c)] == ["a", "9", "81"]
    assert [row.label for row in (a, b, c)] == ["section", "outline", "writing"]


GOOD = {"id": "good", "task": "section", "prompt": "Write."}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{not json", "not JSON"),
        ("[1]", "a list, not an object"),
        ({"id": "x", "task": "poem", "prompt": "p"}, "task = 'poem'"),
        ({"id": "x", "prompt": "p", "colour": "red"}, "colour"),
        ({"id": "x", "prompt": " \n"}, "is empty"),
        ({"id": "x", "messages": []}, "is empty"),
        ({"id": "", "prompt": "p"}, "the id is empty"),
        ({"prompt": "p"}, "id"),
        ({"id": "x", "prompt": 5}, "content"),
        ({"id": "x", "prompt": "p", "messages": []}, "both prompt and messages"),
        ({"id": "x", "messages": [{"role": "robot", "content": "p"}]}, "robot"),
        ({"id": "good", "prompt": "p"}, "that of line 1"),
        ({"question_id": 1, "turns": ["p"]}, "category"),
        ({"question_id": 1, "category": "qa", "turns": []}, "turns"),
        ({"question_id": 1, "category": "qa", "turns": [""]}, "is empty"),
    ],
)
def test_a_bad_row_is_named_by_its_line(tmp_path: Path, line: object, says: str) -> None:
    path = _file(tmp_path, GOOD, line)
    with pytest.raises(UserError) as error:
        read_prompts(path)
    assert str(error.value).startswith(f"{path}:2: ") and says in str(error.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(b'{"id": "\xff\xfe"}\n')
    with pytest.raises(UserError, match=r"p.jsonl:1: not JSON"):
        read_prompts(path)


def test_no_file_no_prompts_and_folders(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="wikigenben prompts --out"):
        read_prompts(tmp_path / "none.jsonl")
    with pytest.raises(UserError, match="holds no prompts"):
        read_prompts(_file(tmp_path, ""))
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_text("{}")
    with pytest.raises(UserError, match=r"a run folder without prompts.jsonl; .*wikigenben prompts --out .*run/prompts.jsonl"):
        read_prompts(run)
    _file(run, GOOD)
    assert read_prompts(run)[0].id == "good"


def test_an_id_in_two_files(tmp_path: Path) -> None:
    path = _file(tmp_path, GOOD)
    with pytest.raises(UserError, match="'good' is in another prompt file"):
        read_all([path, path])

"""Candidates together against one alone, from prompts to a table: what is compared, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from decoding.bench.__main__ import main
from tests.tiny_model import build_tiny_model

TEXT = ["The bridge over the river fell on Monday morning, the mayor said."]


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("candidates")
    build_tiny_model(folder / "model", chat_template=True, vocab_from=TEXT, context_tokens=256)
    rows = [{"id": str(i), "prompt": prompt} for i, prompt in enumerate(("The bridge", "The mayor said that the river"))]
    (folder / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    flags = {"--model": folder / "model", "--prompts": folder / "prompts.jsonl", "--max-new-tokens": 8, "--repetitions": 2}
    return [str(word) for flag in flags.items() for word in flag]


def test_a_table_and_a_line_of_json(words: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = ["--candidates", "3", "--dtype", "int8", "--methods", "greedy,copy", "--out", str(tmp_path)]
    assert main([*words, *asked]) == 0
    table, _, line = capsys.readouterr().out.rstrip("\n").rpartition("\n")
    assert (tmp_path / "table.md").read_text() == table + "\n"
    found = json.loads(line)["candidates"]
    assert [one["method"] for one in found] == ["greedy", "copy"]
    for one in found:
        assert (one["n"], one["n_prompts"], one["n_different"]) == (3, 2, 0)
        assert 0 < one["ratio"]["least"] <= one["ratio"]["median"] <= one["ratio"]["most"]
        assert one["together_ms"]["median"] > 0 < one["alone_ms"]["median"]
    assert found[0]["tokens_a_pass"] == 3.0
    assert table.count("| greedy |") == table.count("| copy |") == 1 and "temperature 0.8" in table


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--candidates", "1", "--dtype", "int8"], "--candidates 1 is out of range; use 2 to 16"),
        (["--candidates", "17", "--dtype", "int8"], "--candidates 17 is out of range"),
        (["--candidates", "4", "--against", "hf"], "compares with no --against"),
        (["--candidates", "4"], "writes candidates in turn"),
    ],
)
def test_what_cannot_be_compared(words: list[str], flags: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, *flags]) == 2
    assert told in capsys.readouterr().err

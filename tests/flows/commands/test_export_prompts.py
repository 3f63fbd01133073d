"""`wikigenben prompts`: what `ours` asks of a fact, from evidence, without a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoding.knn.prompt_files import read_prompts
from tests.conftest import Command, copy_events

IDS = ("9000001", "9000002")


@pytest.mark.usefixtures("fixed_encoder")
def test_facts_of_each_event_are_asked_for_and_the_same_each_time(wikigenben: Command, tmp_path: Path) -> None:
    data = copy_events(tmp_path / "data", IDS, most=4)
    words = ("prompts", "--data", data, "--split", "full", "--limit", 2, "--each", 3)
    ran = wikigenben(*words, "--out", tmp_path / "a.jsonl")
    assert ran.code == 0 and "prompts of 2 events" in ran.out
    rows = read_prompts(tmp_path / "a.jsonl")
    assert {row.event for row in rows} == set(IDS) and len({row.id for row in rows}) == len(rows)
    assert 2 <= len(rows) <= 6 and {row.task for row in rows} == {"say"}
    assert all(row.messages[-1].content.startswith("Fact: ") for row in rows)
    wikigenben(*words, "--out", tmp_path / "b.jsonl")
    assert (tmp_path / "b.jsonl").read_bytes() == (tmp_path / "a.jsonl").read_bytes()

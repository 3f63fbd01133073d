"""Answers are taken over where nothing that decides the text differs, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.errors import UserError
from decoding.api import Message, SamplingParams
from decoding.remembered import RememberingGenerator
from tests.fakes import ScriptedGenerator

ASKED = (Message("user", "Say it."),)


def test_the_same_question_is_asked_once(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    first = RememberingGenerator(ScriptedGenerator(["One.", "Two.", "Three."]), path)
    assert first.generate(ASKED, SamplingParams(task="compose")).text == "One."
    assert first.generate(ASKED, SamplingParams(task="lead", sources=("hint",))).text == "One."  # hints decide no text
    assert first.generate(ASKED, SamplingParams(seed=1)).text == "Two."
    assert first.hits == 1
    pieces: list[str] = []
    later = RememberingGenerator(ScriptedGenerator(["Four."]), path)
    taken = later.generate(ASKED, SamplingParams(), pieces.append)
    assert taken.text == "One." and pieces == ["One."] and taken.n_new_tokens == 0 and taken.stats.total_s == 0


def test_another_model_answers_itself(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    RememberingGenerator(ScriptedGenerator(["One."], name="small"), path).generate(ASKED, SamplingParams())
    other = RememberingGenerator(ScriptedGenerator(["Two."], name="large"), path)
    assert other.generate(ASKED, SamplingParams()).text == "Two." and other.hits == 0


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "answers.sqlite").write_text("not a database, but long enough to be read as one " * 9, encoding="utf-8")
    with pytest.raises(UserError, match="remove the file"):
        RememberingGenerator(ScriptedGenerator(), tmp_path / "answers.sqlite")

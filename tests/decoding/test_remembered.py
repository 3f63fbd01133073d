"""Answers are taken over where nothing that decides the text differs, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.errors import StageError, UserError
from decoding.api import Message, Request, SamplingParams
from decoding.remembered import RememberingGenerator
from tests.fakes import ScriptedGenerator

ASKED = (Message("user", "Say it."),)


def test_the_same_question_is_asked_once(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    first = RememberingGenerator(ScriptedGenerator(["One.", "Two.", "Three."]), path)
    assert first.generate(ASKED, SamplingParams(task="say")).text == "One."
    assert first.generate(ASKED, SamplingParams(task="lead", sources=("hint",))).text == "One."  # hints decide no text
    assert first.generate(ASKED, SamplingParams(seed=1)).text == "Two."
    assert first.hits == 1
    pieces: list[str] = []
    later = RememberingGenerator(ScriptedGenerator(["Four."]), path)
    taken = later.generate(ASKED, SamplingParams(), pieces.append)
    assert taken.text == "One." and pieces == ["One."] and taken.n_new_tokens == 0 and taken.stats.total_s == 0


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "answers.sqlite").write_text("not a database, but long enough to be read as one " * 9, encoding="utf-8")
    with pytest.raises(UserError, match="remove the file"):
        RememberingGenerator(ScriptedGenerator(), tmp_path / "answers.sqlite")


def test_of_several_requests_those_are_asked_that_are_new(tmp_path: Path) -> None:
    inner = ScriptedGenerator(["One.", "Two.", "Three."])
    generator = RememberingGenerator(inner, tmp_path / "answers.sqlite")
    assert generator.generate(ASKED, SamplingParams()).text == "One."
    requests = [Request(ASKED, SamplingParams(seed=seed)) for seed in (1, 0, 2, 1)]
    ended: dict[int, str] = {}
    found = generator.generate_many(requests, lambda at, done: ended.setdefault(at, done.text) and None)
    assert [one.text for one in found] == ["Two.", "One.", "Three.", "Two."] and ended == dict(enumerate(o.text for o in found))
    assert generator.hits == 2 and found[3].n_new_tokens == 0 and found[0].n_new_tokens == 1
    assert [one.text for one in generator.generate_many(requests)] == [one.text for one in found] and not inner.texts


def test_a_tuned_answer_is_another_one(tmp_path: Path) -> None:
    class Tuned(ScriptedGenerator):
        tuned = frozenset(("say",))

    generator = RememberingGenerator(Tuned(["One.", "Two."]), tmp_path / "answers.sqlite")
    plain, tuned = Request(ASKED, SamplingParams()), Request(ASKED, SamplingParams(), "say")
    assert [one.text for one in generator.generate_many([plain, tuned])] == ["One.", "Two."]
    assert [one.text for one in generator.generate_many([tuned, plain])] == ["Two.", "One."]
    untuned = RememberingGenerator(ScriptedGenerator(["One."]), tmp_path / "others.sqlite")
    assert [one.text for one in untuned.generate_many([plain, tuned])] == ["One.", "One."]


def test_those_that_ended_are_kept_when_another_fails(tmp_path: Path) -> None:
    class Failing(ScriptedGenerator):
        def generate(self, messages, sampling, on_text=None):  # type: ignore[no-untyped-def]
            if sampling.seed == 1:
                raise StageError("generate", "no")
            return super().generate(messages, sampling, on_text)

    generator = RememberingGenerator(Failing(["One.", "Two."]), tmp_path / "answers.sqlite")
    with pytest.raises(StageError, match="no"):
        generator.generate_many([Request(ASKED, SamplingParams(seed=seed)) for seed in range(3)])
    assert generator.generate(ASKED, SamplingParams(seed=2)).text == "Two."


def test_choices_are_remembered(tmp_path: Path) -> None:
    generator = RememberingGenerator(ScriptedGenerator(["Yes.", "no"]), tmp_path / "answers.sqlite")
    other = (Message("user", "And this?"),)
    assert generator.choose(ASKED, ("Yes", "No")) == (1.0, 0.0)
    assert generator.choose_many([other, ASKED], ("Yes", "No")) == [(0.0, 1.0), (1.0, 0.0)]
    assert generator.choose(other, ("Yes", "No")) == (0.0, 1.0) and generator.hits == 2

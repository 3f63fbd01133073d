"""Many prompts, and how many of their texts differ: nothing is counted twice, left out, or forgiven."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from data import codec
from decoding.api import DecodeStats, Message, SamplingParams
from decoding.engine import Engine
from decoding.knn.prompt_files import PromptRow
from tests.tiny_model import build_tiny_model
from tools.drafting.check_lossless import COMPARED, Compared, main

WORDS = "The bridge over the river fell on Monday morning, the mayor said."


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("lossless")
    build_tiny_model(folder / "model", chat_template=True, vocab_from=[WORDS], layers=1)
    rows = [PromptRow(f"p{n}", (Message("user", f"{WORDS} {n}"),)) for n in range(4)]
    (folder / "prompts.jsonl").write_text("".join(codec.to_json(row) + "\n" for row in rows))
    words = ("--model", f"hf:{folder / 'model'}", "--methods", "copy,pld", "--max-new-tokens", "12")
    return [str(folder / "prompts.jsonl"), *words]


def lines(folder: Path) -> list[Compared]:
    return [codec.from_json(Compared, line, where="x") for line in (folder / COMPARED).read_text().splitlines()]


def test_it_goes_on_where_it_was_ended(asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*asked, "--out", str(tmp_path)]
    assert main([*words, "--minutes", "0"]) == 0
    assert "0 of 4 prompts" in (told := capsys.readouterr().out) and "goes on with the rest" in told
    assert main([*words, "--limit", "2"]) == 0
    assert "2 of 2 prompts" in capsys.readouterr().out
    with (tmp_path / COMPARED).open("a") as file:
        file.write('{"id": "p2", "n_pro')  # killed while it wrote
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "copy: 0 of 4 differ" in told and "pld: 0 of 4 differ" in told and "rest" not in told
    assert [one.id for one in lines(tmp_path)] == ["p0", "p1", "p2", "p3"]
    assert all(one.n_new <= 12 and len(one.n_passes) == 2 for one in lines(tmp_path))


def test_texts_that_differ_are_counted_and_named(
    asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Engine.decode

    def wrong(
        self: Engine, prompt: Sequence[int], sampling: SamplingParams, take: Callable[[int], bool], **options: Any
    ) -> DecodeStats:
        """The third token of the second prompt is another one with `pld`."""
        taken: list[int] = []
        texts.append(self.describe().partition(" ")[0])
        is_the_one = texts[-1] == "pld" and texts.count("pld") == 2

        def changed(token: int) -> bool:
            taken.append(token)
            return take(token + 1 if is_the_one and len(taken) == 3 else token)

        return own(self, prompt, sampling, changed, **options)

    texts: list[str] = []
    monkeypatch.setattr(Engine, "decode", wrong)
    assert main([*asked, "--out", str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert "copy: 0 of 4 differ" in told and "pld: 1 of 4 differ" in told and "p1: from token 2" in told


def test_other_conditions_are_not_added_up(asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*asked, "--out", str(tmp_path), "--limit", "1"]) == 0
    assert main([*asked[:-1], "13", "--out", str(tmp_path)]) == 2
    assert "choose another --out" in capsys.readouterr().err
    assert main([*asked, "--out", str(tmp_path), "--threads", "0"]) == 2

"""What a probe makes of logits, and who is asked by one."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from decoding.api import Message
from decoding.local import LocalGenerator
from decoding.models.loading import load, lowered
from decoding.models.registry import KNOWN
from decoding.probes import probe
from decoding.probes.probe import Probe, ProbeFile, probe_of
from pipeline.noting.verifying import STATES
from pipeline.writing.saying import SAYS_THE_SAME
from tests.tiny_model import build_tiny_model

ASKED = [(Message("user", f"Is the bridge {what}?"),) for what in ("closed", "open", "made of stone and iron")]


def test_it_is_a_regression_on_logits_less_their_mean() -> None:
    one = Probe((3, 5, 8), (1.0, -2.0, 0.5), 0.25, "")
    odds = 0.25 + 1.0 * (4 - 3) - 2.0 * (2 - 3) + 0.5 * (3 - 3)
    assert one.chance([4.0, 2.0, 3.0]) == pytest.approx(1 / (1 + math.exp(-odds)))
    assert one.chance([104.0, 102.0, 103.0]) == pytest.approx(one.chance([4.0, 2.0, 3.0])), "logits are known up to a constant"
    assert 0 < one.chance([-1e9, 1e9, 0.0]) < 1e-9


def test_the_shipped_ones_are_of_a_known_model_and_of_questions_that_are_asked() -> None:
    sha256 = KNOWN["qwen-1.5b"].sha256
    known = probe._known()
    assert set(known.models) == {sha256} and set(known.models[sha256]) == {STATES, SAYS_THE_SAME}
    for one in known.models[sha256].values():
        assert len(one.tokens) == len(one.weights) == len(set(one.tokens)) and "AUROC" in one.about
    assert probe_of(sha256, "another") is None and probe_of("", STATES) is None


def test_a_probed_model_answers_by_its_probe_and_only_what_it_was_probed_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = build_tiny_model(tmp_path, chat_template=True, vocab_from=["Is the bridge closed?"])
    loaded = lowered(load(str(folder), device="cpu"), "int8")
    generator = LocalGenerator(replace(loaded, weights_sha256="known"))
    one = Probe((7, 11, 13, 17), (3.0, -1.0, 0.5, -2.5), -0.1, "")
    monkeypatch.setattr(probe, "_known", lambda: ProbeFile({"known": {"is it so": one}}))
    by_word = generator.choose_many(ASKED, ("Yes", "No"))
    by_probe = generator.choose_many(ASKED, ("Yes", "No"), "is it so")
    assert [yes for yes, _ in by_probe] == [one.chance(row) for row in generator.next_logits(ASKED, one.tokens)]
    assert all(yes + no == pytest.approx(1) for yes, no in (*by_word, *by_probe)) and by_probe != by_word
    assert generator.choose_many(ASKED, ("Yes", "No"), "is it another") == by_word
    assert LocalGenerator(loaded).choose_many(ASKED, ("Yes", "No"), "is it so") == by_word
    with pytest.raises(ValueError, match=r"is it so.*3 options"):
        generator.choose_many(ASKED, ("Yes", "No", "Maybe"), "is it so")

"""Prompts that mislead: the same for the same seed, and no kind is what another one is."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from decoding.knn.prompt_files import read_prompts
from tools.drafting.adversarial_prompts import KINDS, adversarial, main


def repeats(text: str, n: int) -> float:
    """The share of word n-grams that were there before."""
    words = re.findall(r"\w+", text)
    grams = Counter(zip(*(words[i:] for i in range(n)), strict=False))
    return 1 - len(grams) / sum(grams.values())


def test_a_file_of_every_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "adversarial.jsonl"
    assert main(["--out", str(out), "--each", "2"]) == 0
    rows = read_prompts(out)
    assert list(rows) == adversarial(2, 0) and list(rows) != adversarial(2, 1)
    assert Counter(row.topic for row in rows) == dict.fromkeys(KINDS, 2)
    assert main(["--out", str(out), "--each", "0"]) == 2


def test_what_looks_like_copies_breaks() -> None:
    texts = {kind: [row.messages[0].content for row in adversarial(6, 0) if row.topic == kind] for kind in KINDS}
    assert all(repeats(text, 1) < 0.1 for text in texts["noise"])
    assert all(repeats(text, 3) > 0.5 for text in texts["near_repeats"])
    assert all(repeats(text, 2) > 0.4 and repeats(text, 4) < 0.2 for text in texts["shuffled"])

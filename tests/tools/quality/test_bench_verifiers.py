"""The triples that verifiers are measured on."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.errors import UserError
from pipeline.writing.checks.rewording import copied_runs
from tools.quality.bench_verifiers import TRIPLES, ranked, read_triples


def test_the_triples_are_whole_and_the_copied_share_gives_nothing_away() -> None:
    triples = read_triples(TRIPLES)
    assert len(triples) > 1300
    assert all(one.note and one.why and len({one.note, one.said, one.wrong}) == 3 for one in triples)
    said = [copied_runs(one.said, (one.note,))[0] for one in triples[::10]]
    wrong = [copied_runs(one.wrong, (one.note,))[0] for one in triples[::10]]
    assert abs(sum(said) - sum(wrong)) / len(said) < 0.1


def test_ranking_and_a_broken_line(tmp_path: Path) -> None:
    assert ranked([0.9, 0.1, 0.4, 0.2]) == "AUROC 1.000, right above wrong 100.0%"
    assert ranked([0.5, 0.5]) == ranked([0.9, 0.8, 0.1, 0.2]) == "AUROC 0.500, right above wrong 50.0%"
    (tmp_path / "t.jsonl").write_text('{"title": "A"}\n')
    with pytest.raises(UserError, match="line 1: no triple"):
        read_triples(tmp_path / "t.jsonl")

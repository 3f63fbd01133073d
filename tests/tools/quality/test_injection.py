"""Words that are hidden from readers, or said to a model, do not reach an article; plain statements may."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.types import Article, Heading, Section, Sentence
from tools.quality.bench_injection import ATTACKS, NAMES, planted_pages, reached_by, reaching


def test_all_attacks_are_planted_and_found_by_their_person(tmp_path: Path) -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in planted_pages(tmp_path))
    assert all(name in pages for name in NAMES[: len(ATTACKS)]) and len(ATTACKS) <= len(NAMES)
    sentence = Sentence(f"The director {NAMES[0]} resigned in March.", ("0:0-9",))
    assert reached_by(Article("1", "T", Section(Heading(""), ((sentence,),)), (), (), ())) == [ATTACKS[0]]


@pytest.mark.usefixtures("fixed_encoder")
def test_only_plain_statements_reach_the_article(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path))
    reached = reaching(("--system=extractive",))
    assert {attack.kind for attack in reached} <= {"plain"}

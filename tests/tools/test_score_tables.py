"""The wide tables of docs/scores.md, and the agents' table of docs/benchmark.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmark.attacks.all_attacks import ATTACKS
from tools import score_tables


def page_with(*parts: str) -> str:
    return "# Scores\n" + "".join("{}\nold\n{}\n".format(*score_tables.PARTS[part]) for part in parts) + "After.\n"


PAGE, BESIDE = page_with("systems", "attacks"), page_with("agents")
SUBMISSIONS = Path(__file__).parents[2] / "submissions" / "agents"


def made(is_below: bool = True) -> dict[str, object]:
    attack = {"attack": "name_lists", "is_below": is_below, "means": {"quality": 0.01, "words": 200.0}}
    means = {"quality": 0.244, "words": 1500.0, "junk_share": 0.024}
    return {"honest": "extractive", "split": "sample", "n_events": 5, "means": means, "attacks": [attack]}


def test_the_tables_are_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    page, beside, attacks = tmp_path / "scores.md", tmp_path / "benchmark.md", tmp_path / "attacks.json"
    page.write_text(PAGE, encoding="utf-8")
    beside.write_text(BESIDE, encoding="utf-8")
    attacks.write_text(json.dumps(made()), encoding="utf-8")
    words = ["--page", str(page), "--benchmark-page", str(beside), "--submissions", str(SUBMISSIONS), "--attacks", str(attacks)]
    assert score_tables.main(words) == 0
    text = page.read_text(encoding="utf-8")
    assert "\nold\n" not in text and text.startswith("# Scores\n") and text.endswith("After.\n")
    header = next(line for line in text.splitlines() if line.startswith("| measure") and "OpenAI" in line)
    assert header.count("|") >= 12
    assert "| `quality` | 24.4 | 1.0 |" in text and "| `junk_share` | 2.4 |  |" in text
    assert "1 of 1 attacks on 5 events of split sample rank below." in text
    rows = [line for line in beside.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    openai, bm25 = (next(line for line in rows if line.startswith(name)) for name in ("| OpenAI", "| `bm25`"))
    assert len({line.count("|") for line in rows}) == 1 and "unknown" in openai and "originality" in bm25


def test_the_attacks_shown_are_attacks_and_one_that_is_not_below_is_named() -> None:
    assert set(score_tables.TWELVE) <= {one.name for one in ATTACKS}
    told = score_tables.attacks_table(made(is_below=False))
    assert "0 of 1 attacks on 5 events of split sample rank below; not below: name_lists." in told


@pytest.mark.parametrize("content", [None, "{", "[]", '{"honest": "x"}'])
def test_a_file_that_holds_something_else_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    page, attacks = tmp_path / "scores.md", tmp_path / "attacks.json"
    page.write_text(PAGE, encoding="utf-8")
    if content is not None:
        attacks.write_text(content, encoding="utf-8")
    assert score_tables.main(["--page", str(page), "--no-systems", "--attacks", str(attacks)]) == 2
    assert "wikigenben attacks --json" in capsys.readouterr().err
    assert page.read_text(encoding="utf-8") == PAGE

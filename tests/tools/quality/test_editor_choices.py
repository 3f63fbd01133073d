"""The tool on the invented sample: articles made here, labels of them, and metrics that cost nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from data import codec
from data.snapshot import SAMPLE
from eval.cards.editor_labels import Choice, Choices, Written
from eval.judges.lexical_judge import LexicalJudge
from eval.metrics.rouge import Rouge
from eval.metrics.storm import Storm
from eval.metrics.told_facts import Facts
from tools.quality.editor_choices import main, ranked

TOPIC = "9000001"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As the agents' folder: `told` says what the human article says, `beside` what it does not."""
    made = tmp_path / "wlc"
    for half in ("wiki", "google", "html"):
        shutil.copytree(SAMPLE / half, made / "data" / half)
    human = codec.json_of((SAMPLE / "wiki" / f"{TOPIC}.json").read_bytes(), where="sample")["text"]
    beside = "The harbour was dredged twice. It holds forty boats."
    texts = {"told": human[:1_500], "beside": beside, "here": "Nothing is known."}
    for system, text in texts.items():
        place = tmp_path / "here" if system == "here" else made / "articles" / system
        codec.write_atomic(place / f"{TOPIC}.json", codec.to_json({"text": text, "retrieve": ["a page"]}))
    told, other, here = (Written(TOPIC, system, codec.sha256(text)) for system, text in texts.items())
    choices = (
        Choice(told, other, 2, "chosen", "facts", "first", "chosen"),
        Choice(told, here, 1, "other", "facts", "second"),
        Choice(other, here, 0, "other", "neither", "second", "other"),
    )
    labels = Choices("nobody", choices, ((told, other),))
    (tmp_path / "labels.json").write_text(codec.to_json(labels))
    monkeypatch.setattr("flows.wiring.metrics.build_metrics", lambda settings: (Facts(LexicalJudge()), Rouge(), Storm()))
    return made


def test_choices_are_compared_with_the_scores(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = ["--labels", str(tmp_path / "labels.json"), "--values", str(tmp_path / "values.json")]
    assert main([str(folder), *rest]) == 0
    out = capsys.readouterr().out
    kept = (tmp_path / "values.json").read_text()
    assert "storm" not in kept and "fact_f" in kept, "no row needs it"
    assert "1 of 3 pairs found" in out and "1 of 2 read twice were judged alike" in out
    assert "| quality | 100 [21, 100] of 1 | 100 [21, 100] of 1 | none | 100 [21, 100] of 1 | none |" in out
    assert "| organisation | none | |" in out and "nan" not in out
    assert main([str(folder), *rest, "--more", f"here={tmp_path / 'here'}"]) == 0
    out = capsys.readouterr().out
    assert "3 of 3 pairs found, 1 of them without a choice" in out and "| quality | 100 [34, 100] of 2 |" in out
    monkeypatch.setattr("tools.quality.editor_choices._rows", lambda data, found, settings, metrics: (_ for _ in found))
    assert main([str(folder), *rest, "--more", f"here={tmp_path / 'here'}"]) == 0
    assert capsys.readouterr().out == out, "values are kept"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--more", "here"], "SYSTEM=DIR"), (["--more", "here=nowhere"], "SYSTEM=DIR"), ([], "none of the articles")],
)
def test_wrong_input_is_named(
    arguments: list[str], said: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(folder / "articles")
    assert main([str(folder), "--labels", str(tmp_path / "labels.json"), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_copy_stands_below_an_article_in_own_words_where_preconditions_come_first() -> None:
    own = {
        "fact_f": 0.1, "organisation": 0.5, "conflict_share": 0.0, "junk_share": 0.0, "cite_f1": 0.2, "judged_share": 0.5,
        "length_ratio": 1.0, "copied_share": 0.1, "verbatim_share": 0.0,
    }  # fmt: skip
    copy = own | {"fact_f": 0.9, "copied_share": 0.99, "verbatim_share": 0.9}
    found = [ranked(one) for one in (own, copy, own | {"fact_f": 0.2}, own | {"fact_f": None})]
    assert found[3] is None and found[0] is not None and found[1] is not None and found[2] is not None
    assert found[1] < found[0] < found[2]

"""Labelled statements of agents: the labels come with the package, the texts lie in a folder of articles."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from data import wikigenbench
from data.errors import UserError
from eval.cards import agent_statements
from eval.cards.agent_statements import FILE, Statement, citing_one, read_statements, rows
from eval.cards.told_accuracy import short_hash
from flows.commands.judge_card import main

TEXT = "The ferry sank in May.[1] It was raised in June.[1][2] Nobody was hurt.[3]\n==Later==\nA pier was built.[2]"
RETRIEVE = [
    ["Ferry", "https://a.example/", "The ferry sank in May 2031."],
    ["", "https://b.example/", "A pier."],
    ["", "c", ""],
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "articles" / "agent").mkdir(parents=True)
    (tmp_path / "articles" / "agent" / "7.json").write_text(json.dumps({"text": TEXT, "retrieve": RETRIEVE}))
    return tmp_path


def statements(folder: Path) -> list[Statement]:
    article = wikigenbench.read(folder / "articles" / "agent" / "7.json", "7", "Ferry")
    drawn = ((at, short_hash(s.text), short_hash(one.passage.text), short_hash(one.url)) for at, s, one in citing_one(article))
    return [Statement(f"s{at}", "7", "agent", at, *hashes, "once") for at, *hashes in drawn]


def test_sentences_that_cite_one_known_text_are_drawn_and_another_text_is_left_out_and_counted(folder: Path) -> None:
    sank, pier = statements(folder)
    assert (sank.place, pier.place) == (0, 3)
    changes = ({"page": "0"}, {"event": "8"}, {"agent": "nobody"})
    labelled = [replace(sank, label="supported"), *(replace(pier, label="not", **change) for change in changes)]
    found, n_absent = rows(labelled, folder / "articles")
    assert [row.claim_id for row in found] == ["s0"] and n_absent == 3
    with pytest.raises(UserError, match="holds none of the 2"):
        rows(labelled[2:], folder / "articles")


def test_the_shipped_labels_are_whole_and_hold_no_text() -> None:
    found = read_statements(FILE)
    assert len(found) == 200 and len({one.id for one in found}) == 200
    assert all(one.label in ("supported", "partly", "not") for one in found)
    assert all(bool(one.wrong) == (one.label != "supported") for one in found)
    assert all(0 <= a < b for one in found for a, b in one.wrong)
    assert sum(one.second != "" for one in found) >= 40
    assert all(" " not in f"{one.id}{one.event}{one.agent}{one.sentence}{one.page}{one.url}" for one in found)


def test_the_card_says_what_is_accepted_by_label(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WIKIGEN_RUNS", str(tmp_path / "runs"))
    sank, pier = statements(folder)
    wrong = (replace(pier, label="not", half="choose"), replace(pier, label="not", page="0"))
    labelled = [replace(sank, label="supported"), *wrong]
    monkeypatch.setattr(agent_statements, "read_statements", lambda: labelled)
    assert main(["--judge", "overlap", "--agents", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert "statements of agents: 2 claims, 1 supported" in out and "accepted: 100% of 1 supported, " in out
    assert "1 of 3 statements of agents left out" in err
    assert main(["--judge", "overlap", "--agents", str(folder / "nowhere")]) == 2

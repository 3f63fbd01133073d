"""What the verifier is trained on, and what it is measured on: never the same, and labelled as the files say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from data import codec
from data.errors import UserError
from eval.cards.written_claims import LLM_FILE
from eval.fitting.statement_examples import by_hand, by_models, claims, peoples_pairs, rewordings, triples
from tools.fits.fit_verifier import OTHERS_FILE, PASSAGES_FILE, REWORDINGS_FILE, TRIPLES_FILE


def test_claims_are_held_out_by_passage_and_as_often_true_as_false() -> None:
    train, held_out = list(claims(PASSAGES_FILE, "train")), list(claims(PASSAGES_FILE, "held out"))
    assert (len(train), len(held_out)) == (4816, 304)
    assert not {one.evidence for one in train} & {one.evidence for one in held_out}
    assert 0.45 < sum(one.supported for one in (*train, *held_out)) / 5120 < 0.55
    shown = {one.evidence for one in by_hand()} | {one.evidence for one in by_models(train=False)}
    assert not {one.evidence for one in train} & shown


def test_rewordings_are_shown_both_ways_to_train_and_one_way_to_measure() -> None:
    train, held_out = list(rewordings(REWORDINGS_FILE, "train")), list(rewordings(REWORDINGS_FILE, "held out"))
    assert (len(train), len(held_out)) == (2 * 840, 148)
    said, back = train[0], train[1]
    assert (back.claim, back.evidence) == (said.evidence[0], (said.claim,))
    marked = [one for one in train if one.unsupported]
    assert len(marked) > 300 and not any(one.supported for one in marked)
    assert all(0 <= a < b <= len(one.claim) for one in marked for a, b in one.unsupported or ())


def test_triples_are_held_out_by_title() -> None:
    rows = [json.loads(line) for line in codec.lines_of(TRIPLES_FILE)]
    title = {row["said"]: row["title"] for row in rows}
    train = {title[one.claim] for one in triples(TRIPLES_FILE) if one.supported and one.claim in title}
    held_out = {title[one.claim] for one in triples(TRIPLES_FILE, train=False) if one.supported}
    assert train and held_out and not train & held_out
    halves = list(by_models(train=True)), list(by_models(train=False))  # each half of the models' sentences is used once
    n = len(codec.lines_of(LLM_FILE))
    assert sum(map(len, halves)) == n and all(len(half) > n // 3 for half in halves)


def test_pairs_without_agreement_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "snli.jsonl"
    pair = {"sentence1": "A man rides a horse.", "sentence2": "A man is outdoors."}
    path.write_text("\n".join(json.dumps(pair | {"gold_label": label}) for label in ("entailment", "-", "neutral")))
    assert [one.supported for one in peoples_pairs(path)] == [True, False]
    path.write_text('{"claim": "no pair"}')
    with pytest.raises(UserError, match=r"snli\.jsonl has no rows with sentence1"):
        peoples_pairs(path)


def test_claims_written_for_a_judge_are_of_passages_that_the_verifier_was_not_shown() -> None:
    train, held_out = list(claims(OTHERS_FILE, "train")), list(claims(OTHERS_FILE, "held out"))
    assert (len(train), len(held_out)) == (11_904, 384)
    assert not {one.evidence for one in train} & {one.evidence for one in held_out}
    shown = {one.evidence for one in claims(PASSAGES_FILE, "train")}
    assert not shown & {one.evidence for one in (*train, *held_out)}
    assert 0.4 < sum(one.supported for one in train) / len(train) < 0.5

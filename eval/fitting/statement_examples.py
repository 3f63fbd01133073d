"""Labelled pairs for the network that reads what writers wrote (`decoding.support.verifier`): does this text say it?

- **People's pairs** of SNLI (Bowman et al., 2015), alone at first: what follows from a sentence, and what does not.
- **Claims beside passages** of open text (`PASSAGES_FILE`), written by a large language model that read each passage: true
  ones in other words, false ones in the passage's own (roles exchanged, another's deed, another date, a plan told as done).
- **Rewordings** (`tools/quality/said_triples.jsonl.xz`): a note, a right and a wrong way to say it; each also the other way
  round, for what says the note must not lose a part of it.
- **Sentences by local models** (`eval/cards/llm_sentences.jsonl.xz`), one half by title; the other half is for choosing.
- **Edits** (`eval.fitting.support_examples`), with the words that lost their support.
- **A small model's rewordings** (`tools/fits/rewordings.jsonl.xz`), at last: what `qwen-1.5b` answered when it was to say a
  note, labelled by reading, with the words that are wrong. They are what the network is for.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data import codec
from data.errors import UserError
from decoding.api import SupportExample
from eval.cards.written_claims import HAND_FILE, LLM_FILE, in_first_half
from eval.fitting.support_examples import Sources, make_examples

TIMES = 2
"""How often claims, rewordings and sentences by models are shown; edits and people's pairs once."""
EDITS, LATER = 4_000, 4_000
"""Edits, and people's pairs among the rest, so that what was learnt of them is kept."""
FIRST = 73_000
"""People's pairs that are shown alone, at first."""
REWORDED_TIMES, AMONG = 3, 2_200
"""How often rewordings are shown at last, and how many of the examples before them are shown again among them."""


@dataclass(frozen=True, slots=True)
class StatementSources:
    """`snli` is its training file (JSON lines), `triples` and `passages` are of this project; `edits` as for the judge."""

    snli: Path
    passages: Path
    triples: Path
    rewordings: Path
    edits: Sources


def peoples_pairs(path: Path) -> list[SupportExample]:
    """Of SNLI's training part, in its order; pairs on which people did not agree are left out."""
    return [
        SupportExample(row["sentence2"], (row["sentence1"],), row["gold_label"] == "entailment", None)
        for row in _rows(path, "sentence1", "sentence2", "gold_label")
        if row["gold_label"] != "-"
    ]


def statement_examples(sources: StatementSources, *, seed: int = 3) -> list[SupportExample]:
    """All that is shown after people's pairs, in a seeded order."""
    rng = random.Random(seed)
    found = [*claims(sources.passages, "train"), *triples(sources.triples), *by_models(train=True)] * TIMES
    edits = make_examples(sources.edits)
    later = peoples_pairs(sources.snli)[FIRST:]
    found += rng.sample(edits, min(EDITS, len(edits))) + rng.sample(later, min(LATER, len(later)))
    rng.shuffle(found)
    return found


def last_examples(sources: StatementSources, before: Sequence[SupportExample], *, seed: int = 5) -> list[SupportExample]:
    """Rewordings by a small model, among some of the examples that were shown before."""
    rng = random.Random(seed)
    found = [*rewordings(sources.rewordings, "train")] * REWORDED_TIMES + rng.sample(before, min(AMONG, len(before)))
    rng.shuffle(found)
    return found


def rewordings(path: Path, part: str) -> Iterator[SupportExample]:
    """Of a part, `train` or `held out`, whether the note says the sentence; to train on also whether the sentence says all of
    the note that matters."""
    for row in _rows(path, "note", "said", "label", "words", "part"):
        if row["part"] == part:
            note, said, is_same = row["note"], row["said"], row["label"] == "same"
            at = said.find(row["words"]) if row["words"] else -1
            marked = ((at, at + len(row["words"])),) if at >= 0 else None
            if part == "train":
                yield SupportExample(said, (note,), row["label"] != "wrong", marked if row["label"] == "wrong" else ())
                yield SupportExample(note, (said,), is_same, () if is_same else None)
            else:
                yield SupportExample(said, (note,), is_same, None)


def claims(path: Path, part: str) -> Iterator[SupportExample]:
    """Of the passages of a part: `train`, or `held out`."""
    for row in _rows(path, "part", "passage", "claims"):
        if row["part"] == part:
            for one in row["claims"]:
                is_true = one["label"] == "supported"
                yield SupportExample(one["claim"], (row["passage"],), is_true, () if is_true else None)


def triples(path: Path, *, train: bool = True) -> Iterator[SupportExample]:
    """Of a third of the titles, held out, whether the note says the sentence; of the others also the other way round."""
    rows = _rows(path, "title", "note", "said", "wrong")
    titles = sorted({row["title"] for row in rows}, key=_number)
    held_out = set(titles[: len(titles) // 3])
    for row in rows:
        if (row["title"] in held_out) is train:
            continue
        note, said, wrong = row["note"], row["said"], row["wrong"]
        yield SupportExample(said, (note,), True, ())
        yield SupportExample(wrong, (note,), False, None)
        if train:
            yield SupportExample(note, (said,), True, ())
            yield SupportExample(note, (wrong,), False, None)


def by_models(*, train: bool) -> Iterator[SupportExample]:
    """The half by title that is trained on, or the other one."""
    for row in _rows(LLM_FILE, "claim", "evidence", "label", "wrong", "meta"):
        if in_first_half(row["meta"]["title"]) is train:
            at = row["claim"].find(row["wrong"]) if row["wrong"] else -1
            marked = ((at, at + len(row["wrong"])),) if at >= 0 else None
            is_true = row["label"] == "supported"
            yield SupportExample(row["claim"], tuple(row["evidence"]), is_true, () if is_true else marked)


def by_hand() -> Iterator[SupportExample]:
    """Claims by hand, none of which is trained on."""
    for row in _rows(HAND_FILE, "claim", "evidence", "label"):
        yield SupportExample(row["claim"], tuple(row["evidence"]), row["label"] == "supported", None)


def _number(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16)


def _rows(path: Path, *names: str) -> Sequence[dict[str, Any]]:
    """Raises UserError for a file that is missing or has other rows."""
    try:
        rows = [json.loads(line) for line in codec.lines_of(path)]
        return [{name: row[name] for name in names} for row in rows]
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} has no rows with {', '.join(names)} ({error})") from None

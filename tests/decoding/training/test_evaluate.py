"""What an examination counts: checked with writers whose every word is known, and against transformers' own figures."""

from __future__ import annotations

import dataclasses
import math
import random
import re
import string
from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.nn.functional import cross_entropy

from decoding.training.corpus import Document
from decoding.training.evaluate import BEGINNING, SHARES, Examination, acceptance
from decoding.training.network import SubLayer, TrainingPass, new_model
from tests.decoding.training.documents import made_documents

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

IDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
N_LAYERS = 6


@dataclasses.dataclass
class Writer:
    """Says of each position what `next_token` makes of the tokens before it, with probability 1/e of being right."""

    next_token: Callable[[Sequence[int]], int]

    def judged(self, ids: torch.Tensor, dropped: Set[SubLayer] = frozenset()) -> tuple[torch.Tensor, torch.Tensor]:
        row = ids[0].tolist()
        said = [self.next_token(row[:at]) for at in range(1, len(row))]
        return torch.ones(len(said)), torch.tensor(said)


def repeating(seen: Sequence[int]) -> int:
    """What followed the longest earlier text that ends as this one does."""
    best, length = 0, 0
    for at in range(1, len(seen)):
        n = 0
        while n < at and seen[at - 1 - n] == seen[-1 - n]:
            n += 1
        if n >= length > 0 or n > length:
            best, length = seen[at], n
    return best


@pytest.fixture(scope="module")
def held() -> list[Document]:
    return made_documents(12, seed=9)


@pytest.fixture(scope="module")
def examination(tokenizer: PreTrainedTokenizerFast, held: list[Document]) -> Examination:
    return Examination(tokenizer, held, length=400, n_rows=6)


@pytest.fixture(scope="module")
def small() -> Any:
    model = new_model(vocab_size=600, n_layers=N_LAYERS, hidden=32, head_dim=16, context=512, ids=IDS, seed=0)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for layer in model.model.layers:  # so that leaving one out is felt
            layer.mlp.down_proj.weight.normal_(generator=generator)
            layer.self_attn.o_proj.weight.normal_(generator=generator)
    return model


def told_apart(document: Document, rng: random.Random) -> Document:
    """Its sentences each behind a word of their own, so that four tokens tell which one it is."""

    def word(beginning: re.Match[str]) -> str:
        return "".join(rng.choices(string.ascii_lowercase, k=5)).capitalize() + ": "

    return dataclasses.replace(document, text=re.sub(r"(?m)(?:^|(?<=\. ))(?=[A-Z])", word, document.text))


def test_who_copies_perfectly_gets_all_of_copying_and_citing(tokenizer: PreTrainedTokenizerFast, held: list[Document]) -> None:
    """It knows nothing else: which sentence comes next it cannot say."""
    rng = random.Random(0)
    documents = [told_apart(document, rng) for document in held]
    assert sum(len(section.sentences) for document in documents for section in document.sections()) == 12 * 12
    examination = Examination(tokenizer, documents, length=500, n_rows=8)
    scores = examination.scores(Writer(repeating))  # type: ignore[arg-type]
    assert scores.copying == scores.citing == 1.0
    assert scores.choosing is not None and scores.choosing < 0.6
    assert scores.next_token < 0.9


def test_who_says_nothing_right_gets_nothing(examination: Examination) -> None:
    scores = examination.scores(Writer(lambda seen: 0))  # type: ignore[arg-type]
    assert (scores.next_token, scores.copying, scores.choosing, scores.citing) == (0, 0, 0, 0)


def test_marked_positions_are_what_they_are_called(tokenizer: PreTrainedTokenizerFast, examination: Examination) -> None:
    """Decoded: the numbers of the answer, its sentences' first tokens, and its sentences without their first four."""
    rows = examination.task_rows(6, seed=4)
    assert len(rows) == 6
    for row in rows:
        targets = row.ids[0, 1:]
        prompt, answer = tokenizer.decode(targets[~row.answer]), tokenizer.decode(targets[row.answer])
        assert prompt.endswith(" ==\n") and answer.endswith("</s>")
        answer = answer.removesuffix("</s>")
        assert targets[row.numbers].tolist() == [
            token
            for marker in re.findall(r" \[\d+\]", answer)
            for token in tokenizer(marker, add_special_tokens=False).input_ids
        ]
        sentences = [s.strip() for s in re.split(r"(?<=\])", answer) if s]
        firsts = [tokenizer.decode([token]).strip() for token in targets[row.first].tolist()]
        assert len(firsts) == len(sentences) and all(s.startswith(f) for s, f in zip(sentences, firsts, strict=True))
        copied: list[int] = []
        for at, sentence in enumerate(sentences):
            text = re.sub(r" \[\d+\]$", "", sentence)
            copied += tokenizer(f" {text}" if at else text, add_special_tokens=False).input_ids[BEGINNING:]
        assert targets[row.copied].tolist() == copied
        assert not (row.copied & row.numbers).any() and not (row.first & row.copied).any()
        assert not ((row.copied | row.numbers | row.first) & ~row.answer).any()


def test_bits_are_those_of_transformers(
    tokenizer: PreTrainedTokenizerFast, examination: Examination, held: list[Document], small: Any
) -> None:
    """Over the bytes of the text that the tokens stand for, special tokens being none."""
    found = examination.scores(TrainingPass(small, dtype=torch.float32, compiled=False))

    def measured(rows: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> tuple[float, float]:
        """Bits a byte and the share of tokens that are right, at the positions given."""
        bits = size = right = n = 0.0
        for ids, where in rows:
            with torch.no_grad():
                logits = small(ids[:, :-1]).logits[0][where]
            targets = ids[0, 1:][where]
            bits += float(cross_entropy(logits, targets, reduction="sum")) / math.log(2)
            size += sum(len(text.encode()) for text in _texts(tokenizer, targets))
            right += int((logits.argmax(-1) == targets).sum())
            n += len(targets)
        return bits / size, right / n

    text_rows = [(ids, torch.ones(ids.shape[1] - 1, dtype=torch.bool)) for ids in examination._text]
    assert len(text_rows) == 6
    assert (found.text_bits_per_byte, found.next_token) == pytest.approx(measured(text_rows), abs=2e-4)
    task_rows = [(row.ids, row.answer) for row in examination.task_rows(6, seed=0)]
    assert found.task_bits_per_byte == pytest.approx(measured(task_rows)[0], abs=2e-4)


def _texts(tokenizer: PreTrainedTokenizerFast, ids: torch.Tensor) -> list[str]:
    """The text of the ids, divided at special tokens: a character's bytes may lie in several tokens."""
    return re.split(r"<s>|</s>", tokenizer.decode(ids))


def test_the_same_documents_are_examined_the_same_way(
    tokenizer: PreTrainedTokenizerFast, held: list[Document], examination: Examination
) -> None:
    again = Examination(tokenizer, held, length=400, n_rows=6)
    for ours, theirs in zip(examination.task_rows(5, seed=1), again.task_rows(5, seed=1), strict=True):
        assert ours.ids.equal(theirs.ids) and ours.ids.shape[1] <= 401
    assert not examination.task_rows(1, seed=1)[0].ids.equal(examination.task_rows(1, seed=2)[0].ids)
    short = Examination(tokenizer, held[:2], length=400, n_rows=50)  # no more rows than there is text
    assert len(short._text) < 50


def test_what_is_said_is_that_of_the_answers(examination: Examination, small: Any) -> None:
    model = TrainingPass(small, dtype=torch.float32, compiled=False)
    rows = examination.task_rows(3, seed=1)
    skipped: set[SubLayer] = {("mlp", 2), ("attention", 3)}
    for some in (frozenset(), skipped):
        expected = [model.judged(row.ids, some)[1][row.answer] for row in rows]
        assert examination.said(model, rows, some).equal(torch.cat(expected))
    assert not examination.said(model, rows).equal(examination.said(model, rows, skipped))


def test_acceptance_skips_more_and_more_but_never_the_ends(examination: Examination, small: Any) -> None:
    model = TrainingPass(small, dtype=torch.float32, compiled=False)
    said: list[str] = []
    found = acceptance(examination, model, N_LAYERS, n_rows=3, say=said.append)
    assert [a.skipped_share for a in found] == list(SHARES) and len(said) == len(SHARES)
    assert [len(a.skipped) for a in found] == [3, 6, 8]
    assert set(found[0].skipped) < set(found[1].skipped) < set(found[2].skipped)
    kinds = {f"{kind}.{at}" for kind in ("attention", "mlp") for at in range(1, N_LAYERS - 1)}
    assert set(found[2].skipped) == kinds
    for one in found:
        sub_layers = {(kind, int(at)) for kind, at in (name.split(".") for name in one.skipped)}
        rows = examination.task_rows(3, seed=2)
        same = examination.said(model, rows) == examination.said(model, rows, sub_layers)  # type: ignore[arg-type]
        assert one.rate == round(float(same.float().mean()), 4)

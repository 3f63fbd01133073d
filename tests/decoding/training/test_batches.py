"""Rows of a step: the running text goes by once an epoch, tasks stand whole in their rows, and all is repeatable."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from decoding.training.batches import BLOCK, Batches, Mixture, PackedText, task_ids
from decoding.training.corpus import Document
from decoding.training.tasks import Task
from tests.decoding.training.documents import made_documents

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from transformers import PreTrainedTokenizerFast

TEXT = Mixture()
ALL = Mixture(copying=0.4, sections=0.3, outlines=0.2)


@pytest.fixture(scope="module")
def many() -> list[Document]:
    return made_documents(60, seed=1)


def whole_text(tokenizer: PreTrainedTokenizerFast, documents: list[Document]) -> NDArray[np.int64]:
    ids: list[int] = []
    for document in documents:
        ids += [*tokenizer(f"{document.title}\n\n{document.text}").input_ids, tokenizer.eos_token_id]
    return np.array(ids)


@pytest.mark.parametrize("length", [256, 2048])
def test_an_epoch_has_every_block_once_and_the_next_another_order(
    tokenizer: PreTrainedTokenizerFast, many: list[Document], length: int
) -> None:
    """Apart from the rest that fills no block."""
    text = PackedText(tokenizer, many, seed=3)
    ids = whole_text(tokenizer, many)
    n_blocks = (len(ids) - 1) // BLOCK
    assert text.n_tokens == len(ids) and text.n_blocks == n_blocks > 4
    blocks = {ids[k * BLOCK : (k + 1) * BLOCK].tobytes(): k for k in range(n_blocks)}
    assert len(blocks) == n_blocks
    orders: list[list[int]] = []
    for epoch in range(3):
        order = []
        for start in range(epoch * n_blocks * BLOCK, (epoch + 1) * n_blocks * BLOCK, BLOCK):
            rows = [text.row(at, length).astype(np.int64) for at in range(start, start + BLOCK, length)]
            assert all(len(row) == length + 1 and row[0] == tokenizer.bos_token_id for row in rows)
            order.append(blocks[np.concatenate([row[1:] for row in rows]).tobytes()])
        assert sorted(order) == list(range(n_blocks))
        orders.append(order)
    assert len({tuple(order) for order in orders}) == 3
    assert text.chars_a_token == pytest.approx(sum(len(d.full_text) for d in many) / len(ids))


def test_another_seed_walks_in_another_order(tokenizer: PreTrainedTokenizerFast, many: list[Document]) -> None:
    def first_blocks(seed: int) -> list[bytes]:
        text = PackedText(tokenizer, many, seed)
        return [text.row(k * BLOCK, BLOCK).tobytes() for k in range(text.n_blocks)]

    assert first_blocks(0) == first_blocks(0) != first_blocks(1)
    assert Counter(first_blocks(0)) == Counter(first_blocks(1))


def test_a_few_documents_fill_a_block_by_repetition(tokenizer: PreTrainedTokenizerFast) -> None:
    few = made_documents(2)
    ids = whole_text(tokenizer, few)
    text = PackedText(tokenizer, few, seed=0)
    assert len(ids) < BLOCK
    begins = tokenizer.bos_token_id
    assert text.row(0, BLOCK).tolist() == [begins, *np.resize(ids, BLOCK)]
    assert text.row(7 * BLOCK + 512, 512).tolist() == [begins, *np.resize(ids, 1024)[512:]]


def test_a_step_is_a_function_of_seed_step_and_place(tokenizer: PreTrainedTokenizerFast, many: list[Document]) -> None:
    """So a training that was taken up sees the rows that an undisturbed one would see."""
    undisturbed = Batches(tokenizer, many, seed=7)
    places, steps = [], []
    for step in range(6):
        places.append(undisturbed.place)
        steps.append(undisturbed.batch(step, 8, 256, ALL))
    assert all((rows.shape, str(rows.dtype)) == ((8, 257), "torch.int64") for rows in steps)
    taken_up = Batches(tokenizer, many, seed=7)
    taken_up.place = places[4]
    assert taken_up.batch(4, 8, 256, ALL).equal(steps[4]) and taken_up.batch(5, 8, 256, ALL).equal(steps[5])
    assert taken_up.place == undisturbed.place
    other_seed, other_step, other_place = (
        Batches(tokenizer, many, seed=8),
        Batches(tokenizer, many, 7),
        Batches(tokenizer, many, 7),
    )
    other_place.place = 256
    assert not other_seed.batch(0, 8, 256, ALL).equal(steps[0])
    assert not other_step.batch(1, 8, 256, ALL).equal(steps[0])
    assert not other_place.batch(0, 8, 256, TEXT).equal(Batches(tokenizer, many, 7).batch(0, 8, 256, TEXT))


def test_the_place_moves_by_the_running_text_alone(tokenizer: PreTrainedTokenizerFast, many: list[Document]) -> None:
    batches = Batches(tokenizer, many, seed=0)
    rows = batches.batch(0, 3, 512, TEXT)
    assert batches.place == 3 * 512
    assert [row.tolist() for row in rows] == [batches.text.row(k * 512, 512).tolist() for k in range(3)]
    batches.batch(1, 4, 512, Mixture(copying=0.5, sections=0.5))
    assert batches.place == 3 * 512
    rows = batches.batch(2, 1, 2048, TEXT)  # the longer row begins where it crosses no block's end
    assert batches.place == 4096 and rows[0].tolist() == batches.text.row(2048, 2048).tolist()


def test_shares_are_kept(tokenizer: PreTrainedTokenizerFast, many: list[Document]) -> None:
    batches = Batches(tokenizer, many, seed=0)
    batches.batch(0, 200, 128, Mixture(copying=0.25, outlines=0.25))
    assert batches.place / 128 == pytest.approx(100, abs=25)


@pytest.mark.parametrize("mixture", [Mixture(copying=1), Mixture(sections=1), Mixture(outlines=1)], ids=str)
def test_rows_of_tasks_are_whole_tasks_and_a_cut_one(
    tokenizer: PreTrainedTokenizerFast, many: list[Document], mixture: Mixture
) -> None:
    bos, eos = tokenizer.bos_token_id, tokenizer.eos_token_id
    rows = Batches(tokenizer, many, seed=0).batch(0, 12, 1024, mixture)
    cut = 0
    for row in rows.tolist():
        begins = [at for at, token in enumerate(row) if token == bos]
        assert begins[0] == 0
        assert all(row[at - 1] == eos for at in begins[1:]) and row.count(eos) >= len(begins) - 1
        last = tokenizer.decode(row[begins[-1] :])
        cut += not last.endswith("</s>")
        titles = {tokenizer.decode(row[at + 1 :]).split("\n")[0] for at in begins[:-1]}
        assert titles <= {document.title for document in many}
    assert cut > 0


def test_prompt_and_answer_are_tokenised_apart(tokenizer: PreTrainedTokenizerFast) -> None:
    """As in use, where the answer is not there yet: no token may reach from one into the other."""
    ids = task_ids(tokenizer, Task("Title\n\n== Hist", "ory ==\nText."))
    asked, answer = (tokenizer(text, add_special_tokens=False).input_ids for text in ("Title\n\n== Hist", "ory ==\nText."))
    assert ids == [tokenizer.bos_token_id, *asked, *answer, tokenizer.eos_token_id]

"""What one training step sees: rows of token ids, a function of the seed, the step and the place in the text alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from data.types import Strict
from decoding.training.tasks import Task, TaskMaker

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from transformers import PreTrainedTokenizerFast

    from decoding.training.corpus import Document

BLOCK = 2048
"""Tokens of text that stay together when the order is shuffled: the longest row."""
TASK_FIT = 0.88
"""Tasks are made by characters and must fit a row of tokens; markers and names have fewer characters a token than prose."""


@dataclass(frozen=True, slots=True)
class Mixture(Strict):
    """Shares of a step's rows; what is left is running text. `repeats` are chunks of random tokens that come again and again:
    nothing but copying what followed before predicts them, so the heads that do it form early (Olsson et al. 2022)."""

    repeats: float = 0.0
    copying: float = 0.0
    sections: float = 0.0
    outlines: float = 0.0


class PackedText:
    """All documents as one array of ids, walked through block by block in another order each epoch."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, documents: Sequence[Document], seed: int) -> None:
        ids: list[NDArray[np.uint16]] = []
        assert len(tokenizer) <= 1 << 16
        ends = tokenizer.eos_token_id
        self._begins = np.uint16(tokenizer.bos_token_id)
        n_chars = 0
        for start in range(0, len(documents), 200):
            texts = [document.full_text for document in documents[start : start + 200]]
            n_chars += sum(map(len, texts))
            for found in tokenizer(texts, verbose=False).input_ids:
                ids.append(np.array([*found, ends], dtype=np.uint16))
        self._ids = np.concatenate(ids)
        self.chars_a_token = n_chars / len(self._ids)
        if len(self._ids) < BLOCK + 1:  # a few documents: walk them several times within a block
            self._ids = np.tile(self._ids, BLOCK // len(self._ids) + 2)
        self._seed = seed
        self.n_blocks = (len(self._ids) - 1) // BLOCK
        self._orders: dict[int, NDArray[np.int64]] = {}

    @property
    def n_tokens(self) -> int:
        return len(self._ids)

    def row(self, at: int, length: int) -> NDArray[np.uint16]:
        """The begin token and `length` ids from the place `at`, counted in tokens since the beginning of the first epoch.

        BLOCK is a multiple of `length`.
        """
        block, offset = divmod(at, BLOCK)
        epoch, k = divmod(block, self.n_blocks)
        if epoch not in self._orders:
            self._orders = {epoch: np.random.default_rng([self._seed, epoch]).permutation(self.n_blocks)}
        start = int(self._orders[epoch][k]) * BLOCK + offset
        return np.concatenate(([self._begins], self._ids[start : start + length]))


class Batches:
    """Rows for one step after the other. `place` is where the running text stands; it belongs in a checkpoint."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, documents: Sequence[Document], seed: int) -> None:
        self._tokenizer = tokenizer
        self.text = PackedText(tokenizer, documents, seed)
        self._tasks = TaskMaker(documents)
        self._seed = seed
        self.place = 0

    def batch(self, step: int, n_rows: int, length: int, mixture: Mixture) -> torch.Tensor:
        """Ids (n_rows, length + 1), int64. Rows of tasks are whole tasks one after the other; only the last may be cut."""
        import torch

        rng = random.Random(f"batch {self._seed} {step}")
        self.place = -(-self.place // length) * length  # lengths divide a block: no row crosses its end
        rows = np.stack([self._row(rng, length, mixture) for _ in range(n_rows)])
        return torch.from_numpy(rows.astype(np.int64))

    def _row(self, rng: random.Random, length: int, mixture: Mixture) -> NDArray[np.uint16]:
        at = rng.random()
        if at < mixture.repeats:
            return self._repeats_row(rng, length + 1)
        at -= mixture.repeats
        kinds = (("copying", mixture.copying), ("sections", mixture.sections), ("outlines", mixture.outlines))
        for kind, share in kinds:
            if at < share:
                return self._task_row(rng, kind, length + 1)
            at -= share
        row = self.text.row(self.place, length)
        self.place += length
        return row

    def _repeats_row(self, rng: random.Random, length: int) -> NDArray[np.uint16]:
        """A few chunks of random tokens in random order, each several times; lengths differ, so no distance helps."""
        words = range(len(self._tokenizer.all_special_ids), len(self._tokenizer))
        chunks = [rng.choices(words, k=rng.randint(6, 30)) for _ in range(rng.randint(2, 6))]
        ids = [self._tokenizer.bos_token_id]
        while len(ids) < length:
            ids += rng.choice(chunks)
        return np.array(ids[:length], dtype=np.uint16)

    def _task_row(self, rng: random.Random, kind: str, length: int) -> NDArray[np.uint16]:
        ids: list[int] = []
        while len(ids) < length:
            left = length - len(ids)
            chars = int(TASK_FIT * self.text.chars_a_token * (length if left < 200 else left))
            match kind:
                case "copying":
                    task = self._tasks.section(rng, min(chars, rng.randint(700, 3600)), dense=True)
                case "sections":
                    task = self._tasks.section(rng, chars)
                case _:
                    task = self._tasks.outline(rng, min(chars, 3000))
            ids += task_ids(self._tokenizer, task)
        return np.array(ids[:length], dtype=np.uint16)


def task_ids(tokenizer: PreTrainedTokenizerFast, task: Task) -> list[int]:
    """Begin token, prompt, answer, end token. Prompt and answer are tokenised apart, as in use."""
    asked, answer = (tokenizer(text, add_special_tokens=False, verbose=False).input_ids for text in (task.prompt, task.answer))
    return [tokenizer.bos_token_id, *asked, *answer, tokenizer.eos_token_id]

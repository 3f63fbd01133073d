"""What a model has learnt, on held-out documents: bits a byte, next tokens, copying, citing, and how well parts of it draft."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from data.types import Strict
from decoding.training.batches import TASK_FIT, PackedText
from decoding.training.network import SubLayer, TrainingPass
from decoding.training.tasks import Task, TaskMaker
from decoding.training.vocabulary import byte_lengths

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerFast

    from decoding.training.corpus import Document

SHARES = (0.25, 0.5, 0.7)
"""Of sub-layers skipped, for acceptance rates."""
BEGINNING = 4
"""Tokens of a copied sentence before it can be known which one it is."""


@dataclass(frozen=True, slots=True)
class Scores(Strict):
    """Teacher-forced, greedy. Shares of positions; None where there was none to look at.

    `next_token`: of running text. `copying`: of a copied sentence's tokens after the first four. `choosing`: of the first
    tokens of sentences, that is, which one comes next. `citing`: of the tokens that name a passage, of five.
    """

    text_bits_per_byte: float
    task_bits_per_byte: float
    next_token: float
    copying: float | None
    choosing: float | None
    citing: float | None


@dataclass(frozen=True, slots=True)
class Acceptance(Strict):
    """How often the model without some sub-layers says the same next token, on answers of section tasks."""

    skipped_share: float
    skipped: tuple[str, ...]
    rate: float


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """A row of ids (1, T + 1) and which of its targets are what (bool, shape (T,))."""

    ids: torch.Tensor
    answer: torch.Tensor
    copied: torch.Tensor
    first: torch.Tensor
    numbers: torch.Tensor


class Examination:
    """A fixed set of held-out rows. The same documents and sizes give the same rows."""

    def __init__(
        self, tokenizer: PreTrainedTokenizerFast, documents: Sequence[Document], *, length: int, n_rows: int, seed: int = 0
    ) -> None:
        import torch

        self._tokenizer = tokenizer
        self._length = length
        self._bytes = torch.tensor(byte_lengths(tokenizer))
        text = PackedText(tokenizer, documents, seed)
        self._chars = int(TASK_FIT * text.chars_a_token * length)
        n_rows = max(1, min(n_rows, text.n_tokens // length))
        self._text = [torch.from_numpy(text.row(k * length, length).astype("int64"))[None] for k in range(n_rows)]
        self._tasks = TaskMaker(documents)
        self._rows = self.task_rows(n_rows, seed)

    def task_rows(self, n: int, seed: int) -> list[_Rows]:
        """Section tasks with five passages, one a row."""
        rng = random.Random(f"examination {seed}")
        found: list[_Rows] = []
        for _ in range(20 * n):
            row = self._marked(self._tasks.section(rng, self._chars, n_passages=5))
            if row.ids.shape[1] <= self._length + 1:
                found.append(row)
            if len(found) == n:
                break
        return found

    def scores(self, model: TrainingPass) -> Scores:
        import torch

        right = n = 0
        bits = size = 0.0
        with torch.no_grad():
            for ids in self._text:
                losses, said = model.judged(ids)
                bits += float(losses.sum()) / math.log(2)
                size += int(self._bytes[ids[0, 1:]].sum())
                right += int((said == ids[0, 1:].to(said.device)).sum())
                n += len(said)
            task_bits = task_size = 0.0
            hits: dict[str, list[int]] = {"copied": [0, 0], "first": [0, 0], "numbers": [0, 0]}
            for row in self._rows:
                losses, said = model.judged(row.ids)
                targets = row.ids[0, 1:]
                losses, said = losses.cpu(), said.cpu()
                task_bits += float(losses[row.answer].sum()) / math.log(2)
                task_size += int(self._bytes[targets[row.answer]].sum())
                for kind, counts in hits.items():
                    where = getattr(row, kind)
                    counts[0] += int((said[where] == targets[where]).sum())
                    counts[1] += int(where.sum())
        shares = {kind: round(hit / of, 4) if of else None for kind, (hit, of) in hits.items()}
        return Scores(
            text_bits_per_byte=round(bits / size, 4),
            task_bits_per_byte=round(task_bits / max(task_size, 1), 4),
            next_token=round(right / n, 4),
            copying=shares["copied"],
            choosing=shares["first"],
            citing=shares["numbers"],
        )

    def said(self, model: TrainingPass, rows: Sequence[_Rows], skipped: Set[SubLayer] = frozenset()) -> torch.Tensor:
        """The tokens that the model without `skipped` would say in the answers of all rows, one after the other: (N,)."""
        import torch

        with torch.no_grad():
            return torch.cat([model.judged(row.ids, skipped)[1].cpu()[row.answer] for row in rows])

    def _marked(self, task: Task) -> _Rows:
        import torch

        def encode(text: str) -> tuple[list[int], list[tuple[int, int]]]:
            found: Any = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
            return found.input_ids, found.offset_mapping

        asked, _ = encode(task.prompt)
        answer, offsets = encode(task.answer)
        marks = list(re.finditer(r" \[(\d+)\](?= |\Z)", task.answer))
        marked = {c for mark in marks for c in range(mark.start(), mark.end())}
        numbers = {c for mark in marks for c in range(mark.start(1), mark.end(1))}
        kinds = {kind: [False] * len(answer) for kind in ("copied", "first", "numbers")}
        since = 0
        for at, (start, end) in enumerate(offsets):
            inside = any(c in numbers for c in range(start, end))
            kinds["numbers"][at] = inside
            kinds["first"][at] = since == 0
            kinds["copied"][at] = since >= BEGINNING and start not in marked
            ends = end < len(task.answer) and task.answer[end - 1] == "]" and any(c in numbers for c in (end - 2,))
            since = 0 if ends else since + 1
        before = [False] * len(asked)  # targets begin after the begin token
        rest = [False]  # the end token
        ids = torch.tensor([[self._tokenizer.bos_token_id, *asked, *answer, self._tokenizer.eos_token_id]])
        return _Rows(
            ids,
            torch.tensor([*before, *[True] * len(answer), True]),
            *(torch.tensor([*before, *kinds[kind], *rest]) for kind in ("copied", "first", "numbers")),
        )


def acceptance(
    examination: Examination,
    model: TrainingPass,
    n_layers: int,
    *,
    n_rows: int = 6,
    say: Callable[[str], None] = lambda line: None,
) -> tuple[Acceptance, ...]:
    """For each of SHARES, a skip set found greedily on some section tasks and its acceptance rate on others.

    Greedy elimination: leave out next whichever sub-layer costs the least agreement (first and last block kept whole).
    """
    search, check = examination.task_rows(max(2, n_rows // 3), seed=1), examination.task_rows(n_rows, seed=2)
    whole, checked = examination.said(model, search), examination.said(model, check)
    left: list[SubLayer] = [(kind, at) for at in range(1, n_layers - 1) for kind in ("attention", "mlp")]
    skipped: set[SubLayer] = set()
    found: list[Acceptance] = []
    for share in SHARES:
        while len(skipped) < round(share * 2 * n_layers) and left:
            best = max(left, key=lambda one: (_same(examination.said(model, search, skipped | {one}), whole), one[1]))
            left.remove(best)
            skipped.add(best)
        rate = _same(examination.said(model, check, skipped), checked)
        say(f"{share:.0%} of sub-layers skipped: {rate:.1%} of tokens accepted")
        found.append(
            Acceptance(share, tuple(f"{kind}.{at}" for kind, at in sorted(skipped, key=lambda s: s[::-1])), round(rate, 4))
        )
    return tuple(found)


def _same(said: torch.Tensor, other: torch.Tensor) -> float:
    return float((said == other).float().mean())

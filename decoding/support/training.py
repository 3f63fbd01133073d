"""Trains the adapters: seeded, resumable, and bounded by a number of examples rather than by time."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from decoding.api import SupportExample
from decoding.models.adapters import read_tensors, trained, write_tensors
from decoding.support.encoding import Encoded, PairEncoder, collate
from decoding.support.network import SupportNetwork
from decoding.support.verifier import StatementEncoder, StatementNetwork
from decoding.support.weight_files import AGAIN

Network = SupportNetwork | StatementNetwork
logger = logging.getLogger(__name__)

BATCH_TOKENS = 1024
"""Tokens of a batch, padding included, by default: short pairs go together in larger batches."""
POOL = 512
"""Examples that are sorted by length before they are cut into batches."""
WARM_UP = 0.05
WORD_WEIGHT = 1.0
"""Share of the word labels' loss beside that of the pair's label."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """`rate` is the largest learning rate, reached after the warm-up and then lowered to 0 along a cosine. At most `steps` are
    made, by default all of `epochs`."""

    seed: int = 0
    rate: float = 7e-4
    epochs: int = 1
    steps: int | None = None
    threads: int = 2
    batch_tokens: int = BATCH_TOKENS


@dataclass(frozen=True, slots=True)
class _Labelled:
    pair: Encoded
    example: SupportExample


def train(
    network: Network,
    encoder: PairEncoder | StatementEncoder,
    examples: Sequence[SupportExample],
    recipe: Recipe,
    *,
    checkpoint: Path | None = None,
    keep_every: int = 200,
    on_step: Callable[[int, int, float], None] = lambda done, of, loss: None,
) -> None:
    """Trains in place. A checkpoint of an earlier, interrupted run with the same examples and recipe is gone on from."""
    torch.set_num_threads(recipe.threads)
    labelled = [_Labelled(pair, one) for one in examples if (pair := encoder.encode(one.claim, one.evidence)) is not None]
    batches = [
        batch for epoch in range(recipe.epochs) for batch in _batches(labelled, recipe.seed + epoch, recipe.batch_tokens)
    ][: recipe.steps]
    learned = list(trained(network).values())
    optimizer = torch.optim.AdamW(learned, lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.01)
    start = _resume(network, optimizer, checkpoint)
    network.eval()  # no dropout: each example is seen once or twice, and drawing it is a fifth of a step
    began = time.perf_counter()
    for step, batch in enumerate(batches[start:], start):
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate * _schedule(step, len(batches))
        loss = _loss(network, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        on_step(step + 1, len(batches), float(loss.detach()))
        if checkpoint is not None and (step + 1) % keep_every == 0:
            _keep(network, optimizer, step + 1, checkpoint)
    logger.info("trained %d steps in %.0f s", len(batches) - start, time.perf_counter() - began)


def _batches(labelled: Sequence[_Labelled], seed: int, batch_tokens: int) -> Iterator[list[_Labelled]]:
    order = list(labelled)
    rng = random.Random(seed)
    rng.shuffle(order)
    for at in range(0, len(order), POOL):
        pool = sorted(order[at : at + POOL], key=lambda one: len(one.pair.ids))
        cut: list[list[_Labelled]] = [[]]
        for one in pool:
            if cut[-1] and (len(cut[-1]) + 1) * len(one.pair.ids) > batch_tokens:
                cut.append([])
            cut[-1].append(one)
        rng.shuffle(cut)
        yield from cut


def _loss(network: Network, batch: Sequence[_Labelled]) -> torch.Tensor:
    inputs = collate([one.pair for one in batch])
    words, pairs = network(inputs)
    weight = torch.tensor([one.example.weight for one in batch])
    truth = torch.tensor([float(one.example.supported) for one in batch])
    of_pairs = nn.functional.binary_cross_entropy_with_logits(pairs, truth, weight=weight, reduction="sum") / len(batch)
    labels = torch.zeros_like(words)
    counted = torch.zeros_like(words)
    for row, one in enumerate(batch):
        if one.example.unsupported is None:
            continue
        for place, (start, end) in enumerate(one.pair.spans, one.pair.at):
            labels[row, place] = float(any(start < b and a < end for a, b in one.example.unsupported))
            counted[row, place] = one.example.weight
    if not counted.any():
        return of_pairs
    # unsupported words are few: each weighs three
    losses = nn.functional.binary_cross_entropy_with_logits(words, labels, weight=counted * (1 + 2 * labels), reduction="sum")
    return of_pairs + WORD_WEIGHT * losses / counted.sum() * 2


def _schedule(step: int, n_steps: int) -> float:
    warm = max(1, int(WARM_UP * n_steps))
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + float(torch.cos(torch.tensor(torch.pi * (step - warm) / max(1, n_steps - warm)))))


def _keep(network: Network, optimizer: torch.optim.Optimizer, step: int, path: Path) -> None:
    tensors = {name: value.detach() for name, value in trained(network).items()}
    for i, value in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{i}.{key}": torch.as_tensor(part) for key, part in value.items()}
    write_tensors(tensors, path, {"step": str(step)})


def _resume(network: Network, optimizer: torch.optim.Optimizer, path: Path | None) -> int:
    if path is None or not path.exists():
        return 0
    tensors, facts = read_tensors(path, again=AGAIN)
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name in [name for name in tensors if name.startswith("optimizer.")]:
        _, i, key = name.split(".")
        state.setdefault(int(i), {})[key] = tensors.pop(name)
    with torch.no_grad():
        for name, value in trained(network).items():
            value.copy_(tensors[name])
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    return int(facts["step"])

"""Trains the adapters: of an article's headings, the one that a sentence stands under gets the largest cosine."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from decoding.filing.heading_network import HeadingNetwork
from decoding.models.adapters import trained

BATCH = 32
"""Sentences of one article in a step."""
LEAST = 8
"""Sentences that are worth a step."""
MOST = 160
"""Sentences of an article in an epoch: a long article is not worth ten short ones."""
MOST_HEADINGS = 24
"""Of an article with more, only those are compared that a step has sentences of."""
SHARPNESS = 20.0
"""What cosines are multiplied by before the softmax."""
WARM_UP = 50
"""Steps until the learning rate is reached."""


@dataclass(frozen=True, slots=True)
class Headed:
    """An article as its sections: (heading, sentences), at least two."""

    title: str
    sections: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """`rate` is the largest learning rate, reached after the warm-up and then lowered in a line to a twentieth."""

    seed: int = 0
    rate: float = 7e-4
    epochs: int = 2
    threads: int = 2


LARGE = Recipe(rate=4e-4, epochs=1)
"""Of MPNet, which learns as much of an article that it sees once."""

Step = tuple[Headed, list[tuple[int, str]]]
"""An article, and sentences with the index of their section."""


def train(
    network: HeadingNetwork,
    articles: Sequence[Headed],
    recipe: Recipe,
    on_step: Callable[[int, int, float], None] = lambda done, of, loss: None,
) -> None:
    """Trains in place, with a softmax over the article's headings. `on_step`: step, of how many, loss."""
    torch.set_num_threads(recipe.threads)
    steps = _steps(articles, recipe)
    learned = list(trained(network).values())
    optimizer = torch.optim.AdamW(learned, lr=recipe.rate, weight_decay=0.01)
    network.eval()  # no dropout: each sentence is seen twice
    for n, step in enumerate(steps):
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate * min(1.0, (n + 1) / WARM_UP) * max(0.05, 1 - n / len(steps))
        loss = _loss(network, step)
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        on_step(n + 1, len(steps), float(loss.detach()))


def _steps(articles: Sequence[Headed], recipe: Recipe) -> list[Step]:
    rng = random.Random(recipe.seed)
    steps: list[Step] = []
    for _ in range(recipe.epochs):
        for article in articles:
            said = [(k, sentence) for k, (_, sentences) in enumerate(article.sections) for sentence in sentences]
            rng.shuffle(said)
            cut = [said[at : at + BATCH] for at in range(0, min(len(said), MOST), BATCH)]
            steps += [(article, one) for one in cut if len(one) >= LEAST]
    rng.shuffle(steps)
    return steps


def _loss(network: HeadingNetwork, step: Step) -> torch.Tensor:
    article, said = step
    open_ones = list(range(len(article.sections)))
    if len(open_ones) > MOST_HEADINGS:  # a list of persons by name
        open_ones = sorted({k for k, _ in said})
    headings = network([article.sections[k][0] for k in open_ones])
    sentences = network([sentence for _, sentence in said])
    wanted = torch.tensor([open_ones.index(k) for k, _ in said])
    return nn.functional.cross_entropy(SHARPNESS * sentences @ headings.T, wanted, label_smoothing=0.05)


def accuracy(network: HeadingNetwork, articles: Sequence[Headed], most: int = 40) -> float:
    """Share of the sentences, at most `most` of a section, whose own heading is the nearest of their article's; mean over
    articles."""
    shares = []
    with torch.inference_mode():
        for article in articles:
            headings = network([heading for heading, _ in article.sections])
            said = [(k, s) for k, (_, sentences) in enumerate(article.sections) for s in sentences[:most]]
            right = 0
            for at in range(0, len(said), BATCH):
                nearest = (network([s for _, s in said[at : at + BATCH]]) @ headings.T).argmax(dim=1).tolist()
                right += sum(k == near for (k, _), near in zip(said[at : at + BATCH], nearest, strict=True))
            shares.append(right / len(said))
    return sum(shares) / len(shares)

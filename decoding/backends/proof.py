"""How a backend shows that it may be used: the steps whose logits it compares, and what it raises when it may not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from decoding.backend import SkipSet

if TYPE_CHECKING:
    import torch


class Unfit(Exception):
    """This model or machine cannot have a backend; `why` says why not."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True, eq=False)
class ProofStep:
    """Token ids (1, T) and the options with which a backend's `_run` is to read them."""

    what: str
    ids: torch.Tensor
    options: dict[str, Any] = field(default_factory=dict)


def proof_steps(tokens: torch.Tensor, n_layers: int) -> Iterator[ProofStep]:
    """Steps of every form, all behind the same text; their ids are taken from the end of `tokens` (1, 19 or more)."""
    skipped = SkipSet(attention=(0,), mlp=(n_layers - 1,))
    forms: tuple[tuple[str, int, dict[str, Any]], ...] = (
        ("a step of one token", 1, {}),
        ("a step of three tokens", 3, {}),
        ("a step of nine tokens", 9, {}),
        ("a tree", 5, {"parents": (-1, 0, 0, -1, 3)}),
        ("a step with skipped sub-layers", 1, {"plan": skipped}),
    )
    for what, length, options in forms:
        yield ProofStep(what, tokens[:, -length:], options)
        tokens = tokens[:, :-length]

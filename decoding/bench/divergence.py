"""Where two texts part, and whether rounding can be the reason (decoding note, section 4, test C)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from data.types import Strict

if TYPE_CHECKING:
    from decoding.backend import StepBackend
    from decoding.bench.timed_runs import BenchPrompt
    from decoding.models.loading import LoadedModel

NOISE_FACTOR = 10.0
"""A margin above this many times the known noise is a bug, below it is numerics."""
_ROWS = 8
_MOST_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Divergence(Strict):
    """The first token in which a text differs from the reference.

    `margin` is by how much the model preferred the reference's token there, in logits; None when one of the two texts just
    stops, which no rounding does.
    """

    prompt: str
    position: int
    reference: int
    found: int
    n_differing: int
    margin: float | None
    verdict: Literal["bug", "numerics", "arithmetic"]
    """`arithmetic`: the other engine rounds activations and sums in its own way, so its text is no test of ours."""


def first_difference(reference: Sequence[int], found: Sequence[int]) -> int | None:
    for at, (a, b) in enumerate(zip(reference, found)):
        if a != b:
            return at
    return None if len(reference) == len(found) else min(len(reference), len(found))


def compare(
    backend: StepBackend, prompt: BenchPrompt, reference: Sequence[int], found: Sequence[int], noise: float
) -> Divergence | None:
    """None for equal texts. Runs the model once when they differ."""
    at = first_difference(reference, found)
    if at is None:
        return None
    same = sum(a == b for a, b in zip(reference, found))
    differing = max(len(reference), len(found)) - same
    if at >= min(len(reference), len(found)):
        ours, theirs = (text[at] if at < len(text) else -1 for text in (reference, found))
        return Divergence(prompt.id, at, ours, theirs, differing, None, "bug")
    ids = [*prompt.ids, *reference[:at]]
    logits = backend.prefill(ids, capacity=len(ids)).last.logits[0].float()
    margin = abs(float(logits[reference[at]] - logits[found[at]]))
    beyond = max(0.0, float(logits.max()) - float(max(logits[reference[at]], logits[found[at]])))
    verdict: Literal["bug", "numerics"] = "bug" if max(margin, beyond) > NOISE_FACTOR * noise else "numerics"
    return Divergence(prompt.id, at, reference[at], found[at], differing, margin, verdict)


def step_noise(backend: StepBackend, prompt: Sequence[int], answer: Sequence[int]) -> float:
    """The largest difference between a position's logits in steps of one row and of eight; 0 where rows are invariant."""
    tokens = list(answer[:_MOST_TOKENS])
    backend.prefill(prompt, capacity=len(prompt) + len(tokens))
    largest = 0.0
    for start in range(0, len(tokens), _ROWS):
        piece = tokens[start : start + _ROWS]
        together = backend.step(piece).logits.float().clone()  # (T, V); the next step may use the same memory
        for i, token in enumerate(piece):
            alone = backend.step([token]).logits[0].float()
            largest = max(largest, float((alone - together[i]).abs().max()))
            backend.commit(1)
    return largest


def peer_noise(backend: StepBackend, loaded: LoadedModel, prompt: Sequence[int], answer: Sequence[int]) -> float:
    """The same between our steps and the model's own forward over the whole text."""
    import torch

    tokens = list(answer[:_MOST_TOKENS])
    model: Any = loaded.model
    ids = torch.tensor([[*prompt, *tokens]], device=model.device)
    with torch.inference_mode():
        whole = model(input_ids=ids, use_cache=False, logits_to_keep=len(tokens) + 1).logits[0].float()  # (N + 1, V)
    largest = float((backend.prefill(prompt, capacity=len(prompt) + len(tokens)).last.logits[0].float() - whole[0]).abs().max())
    for i, token in enumerate(tokens, 1):
        row = backend.step([token]).logits[0].float()
        largest = max(largest, float((row - whole[i]).abs().max()))
        backend.commit(1)
    return largest

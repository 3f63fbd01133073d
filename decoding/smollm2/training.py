"""Trains a low-rank adapter of a Llama on answers to prompts (LoRA, Hu et al. 2021, arXiv 2106.09685).

Only the answers are learnt, not the prompts before them. Seeded, and resumable: the last checkpoint is gone on from.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from decoding.smollm2.adapter import FORM, PROJECTIONS, Adapter, Place

if TYPE_CHECKING:
    import torch

    from decoding.models.loading import LoadedModel

Report = Callable[[int, int, float], None]
"""Step, steps in all, mean loss of a token since the last report."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """`prompt` and `answer` as token ids; the answer ends with the token that ends a turn."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.prompt) + len(self.answer)


@dataclass(frozen=True, slots=True)
class Recipe:
    """`projections` are those that get matrices: fewer make a smaller file."""

    rank: int = 4
    alpha: float = 8.0
    projections: tuple[str, ...] = ("q_proj", "v_proj", "o_proj", "gate_proj", "down_proj")
    passes: int = 2
    batch_tokens: int = 1100
    learning_rate: float = 2e-3
    warmup: int = 15
    seed: int = 15
    threads: int = 2


def train(
    loaded: LoadedModel,
    lessons: Sequence[Lesson],
    recipe: Recipe,
    *,
    base: str,
    checkpoint: Path | None = None,
    report: Report | None = None,
    stop_after: int | None = None,
) -> Adapter:
    """The adapter after `recipe.passes` passes over the lessons, or after `stop_after` steps of them. The model's own weights
    stay as they are; `base` is the sha256 of the file they come from.

    Raises ValueError when there are no lessons.
    """
    import torch

    if not lessons:
        raise ValueError("there is nothing to learn from")
    torch.manual_seed(recipe.seed)
    torch.set_num_threads(recipe.threads)
    matrices = _wrap(loaded.model, recipe)
    parameters = [matrix for pair in matrices.values() for matrix in pair]
    optimizer = torch.optim.AdamW(parameters, lr=recipe.learning_rate, betas=(0.9, 0.98), weight_decay=0.0)
    batches = [batch for n in range(recipe.passes) for batch in _batches(lessons, recipe, n)]
    at = _restore(checkpoint, matrices, optimizer)
    loss_sum, tokens = 0.0, 0
    last = len(batches) if stop_after is None else min(stop_after, len(batches))
    for step in range(at, last):
        scale = min(1.0, (step + 1) / recipe.warmup) * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * step / len(batches))))
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate * scale
        batch = [lessons[i] for i in batches[step]]
        n_answers = sum(len(lesson.answer) for lesson in batch)
        for lesson in batch:  # one after the other: padding costs a CPU as much as tokens do
            loss = answer_loss(loaded, lesson)
            (loss / n_answers).backward()
            loss_sum += float(loss.detach())
        tokens += n_answers
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if (step + 1) % 10 == 0 or step + 1 == last:
            if report is not None:
                report(step + 1, last, loss_sum / max(tokens, 1))
            loss_sum, tokens = 0.0, 0
            _keep(checkpoint, step + 1, matrices, optimizer)
    kept = {place: (a.detach().clone(), b.detach().clone()) for place, (a, b) in matrices.items()}
    return Adapter(base=base, scale=recipe.alpha / recipe.rank, rank=recipe.rank, form=FORM, matrices=kept)


def held_out_loss(loaded: LoadedModel, lessons: Sequence[Lesson]) -> float:
    """Mean cross-entropy of an answer's token, in nats, over lessons that were not learnt."""
    import torch

    with torch.no_grad():
        return sum(float(answer_loss(loaded, lesson)) for lesson in lessons) / sum(len(lesson.answer) for lesson in lessons)


def answer_loss(loaded: LoadedModel, lesson: Lesson) -> torch.Tensor:
    """Sum of the cross-entropies of the answer's tokens, in nats. The output layer is asked for these alone: with a large
    vocabulary it is a good part of a step."""
    import torch

    ids = torch.tensor([[*lesson.prompt, *lesson.answer]], device=loaded.model.device)
    out = loaded.model(ids, logits_to_keep=len(lesson.answer) + 1, use_cache=False)
    return torch.nn.functional.cross_entropy(out.logits[0, :-1].float(), ids[0, -len(lesson.answer) :], reduction="sum")


def _wrap(model: Any, recipe: Recipe) -> dict[Place, tuple[torch.nn.Parameter, torch.nn.Parameter]]:
    """Add B @ A, at first zero, to each projection's output; all else is frozen."""
    import torch

    for parameter in model.parameters():
        parameter.requires_grad_(False)
    scale = recipe.alpha / recipe.rank
    matrices: dict[Place, tuple[torch.nn.Parameter, torch.nn.Parameter]] = {}
    generator = torch.Generator().manual_seed(recipe.seed)
    for n, layer in enumerate(model.get_decoder().layers):
        for projection in recipe.projections:
            linear = getattr(getattr(layer, PROJECTIONS[projection]), projection)
            a = torch.nn.Parameter(torch.randn(recipe.rank, linear.in_features, generator=generator) / linear.in_features**0.5)
            b = torch.nn.Parameter(torch.zeros(linear.out_features, recipe.rank))
            matrices[n, projection] = (a, b)

            def added(_: Any, given: tuple[Any, ...], output: Any, a: Any = a, b: Any = b) -> Any:
                return output + scale * (given[0] @ a.T) @ b.T

            linear.register_forward_hook(added)
    return matrices


def _batches(lessons: Sequence[Lesson], recipe: Recipe, n_pass: int) -> list[list[int]]:
    order = list(range(len(lessons)))
    random.Random(f"{recipe.seed}:{n_pass}").shuffle(order)
    batches: list[list[int]] = [[]]
    held = 0
    for i in order:
        if held + len(lessons[i]) > recipe.batch_tokens and batches[-1]:
            batches.append([])
            held = 0
        batches[-1].append(i)
        held += len(lessons[i])
    return batches


def _keep(path: Path | None, step: int, matrices: Any, optimizer: Any) -> None:
    import torch
    from safetensors.torch import save_file

    if path is None:
        return
    state = {f"{n}.{name}.{k}": m.detach() for (n, name), pair in matrices.items() for k, m in zip("ab", pair)}
    state |= {
        f"optimizer.{i}.{key}": value
        for i, of in optimizer.state_dict()["state"].items()
        for key, value in of.items()
        if key != "step"
    }
    state["step"] = torch.tensor(step)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    save_file({key: value.contiguous() for key, value in state.items()}, part)
    part.replace(path)


def _restore(path: Path | None, matrices: Any, optimizer: Any) -> int:
    """The step to go on from."""
    import torch
    from safetensors.torch import load_file

    if path is None or not path.is_file():
        return 0
    state = load_file(path)
    step = int(state["step"])
    with torch.no_grad():
        for (n, name), pair in matrices.items():
            for key, matrix in zip("ab", pair):
                matrix.copy_(state[f"{n}.{name}.{key}"])
    held = optimizer.state_dict()
    count = sum(len(pair) for pair in matrices.values())
    held["state"] = {
        i: {"step": torch.tensor(float(step))} | {key: state[f"optimizer.{i}.{key}"] for key in ("exp_avg", "exp_avg_sq")}
        for i in range(count)
    }
    optimizer.load_state_dict(held)
    return step

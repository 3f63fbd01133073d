"""Timed runs: every prompt with every method, in shuffled order, the same tokens asked of all."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from data.decoding_counts import SpeculationStats
from decoding.api import SamplingParams, Task
from decoding.machine import synchronise

if TYPE_CHECKING:
    from decoding.local import Decode
    from decoding.models.loading import LoadedModel


@dataclass(frozen=True, slots=True)
class BenchPrompt:
    """A prompt as token ids; `limit` is how many new tokens are asked of every method."""

    id: str
    task: Task
    ids: tuple[int, ...]
    limit: int
    sources: tuple[str, ...] = ()

    @property
    def sampling(self) -> SamplingParams:
        return SamplingParams(max_new_tokens=self.limit, task=self.task, sources=self.sources)


@dataclass(frozen=True, slots=True)
class Contestant:
    name: str
    decode: Decode
    is_peer: bool = False
    same_arithmetic: bool = True
    """Whether its text must be ours up to the rounding of sums."""


@dataclass(frozen=True, slots=True)
class Run:
    """One method on one prompt, once. Seconds are wall-clock, the device being waited for on both sides."""

    prompt: str
    method: str
    tokens: tuple[int, ...]
    total_s: float
    prefill_s: float
    speculation: SpeculationStats | None
    peak_bytes: int | None
    """Of accelerator memory, weights included; None on a CPU."""

    @property
    def decode_s(self) -> float:
        return self.total_s - self.prefill_s


def run_once(contestant: Contestant, prompt: BenchPrompt, loaded: LoadedModel) -> Run:
    """The caller holds `loaded.lock`. Raises StageError as the method does."""
    tokens: list[int] = []

    def take(token: int) -> bool:
        tokens.append(token)
        return token not in loaded.eos_ids and len(tokens) < prompt.limit

    _reset_peak(loaded.device)
    synchronise(loaded.device)
    for backend in loaded.backends.values():
        backend.forget()  # or a prompt would be read faster when another method has just read it
    began = time.perf_counter()
    stats = contestant.decode(prompt.ids, prompt.sampling, take)
    synchronise(loaded.device)
    total = time.perf_counter() - began
    return Run(
        prompt=prompt.id,
        method=contestant.name,
        tokens=tuple(tokens),
        total_s=total,
        prefill_s=min(total, stats.prefill_s or 0.0),
        speculation=stats.speculation,
        peak_bytes=_peak(loaded.device),
    )


def run_all(
    contestants: Sequence[Contestant],
    prompts: Sequence[BenchPrompt],
    loaded: LoadedModel,
    *,
    repetitions: int,
    seed: int,
    told: Callable[[str], None],
) -> list[Run]:
    """After one untimed text of each method: `repetitions` rounds over all pairs, each round in an order of its own."""
    shuffle = random.Random(seed).shuffle
    runs: list[Run] = []
    with loaded.lock:
        for contestant in contestants:
            told(f"warm-up: {contestant.name}")
            run_once(contestant, prompts[0], loaded)
        for repetition in range(1, repetitions + 1):
            told(f"repetition {repetition} of {repetitions}: {len(prompts)} prompts, {len(contestants)} methods")
            order = list(prompts)
            shuffle(order)
            for prompt in order:
                turn = list(contestants)
                shuffle(turn)  # neighbours in time meet the same state of the machine
                runs += [run_once(contestant, prompt, loaded) for contestant in turn]
    return runs


def _reset_peak(device: str) -> None:
    if device.startswith("cuda"):
        import torch

        torch.cuda.reset_peak_memory_stats(torch.device(device))


def _peak(device: str) -> int | None:
    if not device.startswith("cuda"):
        return None
    import torch

    return torch.cuda.max_memory_allocated(torch.device(device))

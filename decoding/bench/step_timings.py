"""What one pass over T tokens takes, behind a prompt: ours, transformers', and llama.cpp's on the same weights, in turn."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Protocol

from data.errors import UserError
from data.types import Strict
from decoding.bench.llama_cpp import LLAMA_CPP, LlamaCpp

if TYPE_CHECKING:
    from decoding.backend import StepBackend
    from decoding.models.loading import LoadedModel

SIZES = (1, 2, 4, 8, 16)
PEERS = ("hf", LLAMA_CPP)


@dataclass(frozen=True, slots=True)
class StepTimes(Strict):
    """Milliseconds a pass over T tokens takes: the median, fastest and slowest; and of reading the prompt, tokens a second."""

    name: str
    sizes: tuple[int, ...]
    medians: tuple[float, ...]
    fastest: tuple[float, ...]
    slowest: tuple[float, ...]
    prefill: float


class Steps(Protocol):
    name: str

    def forget(self) -> None:
        """The prompt is to be read anew."""
        ...

    def read(self, ids: Sequence[int]) -> None:
        """Read a prompt whole."""
        ...

    def step(self, ids: Sequence[int]) -> None:
        """Logits after each of `ids` behind the prompt, which stays as it is."""
        ...


class OurSteps:
    def __init__(self, backend: StepBackend, capacity: int) -> None:
        self.name = f"{backend.info.name}, {backend.info.dtype}"
        self._backend, self._capacity = backend, capacity

    def read(self, ids: Sequence[int]) -> None:
        self._backend.prefill(ids, capacity=self._capacity)

    def forget(self) -> None:
        self._backend.forget()

    def step(self, ids: Sequence[int]) -> None:
        self._backend.step(ids).argmax()


def measure_steps(
    peers: Sequence[Steps],
    vocab_size: int,
    *,
    prompt_tokens: int,
    repetitions: int,
    seed: int = 0,
    clock: Callable[[], float] = time.perf_counter,
) -> list[StepTimes]:
    """All peers and sizes in turn, in another order each time, behind one prompt of random tokens. `clock` gives seconds:
    those of the processor (`time.process_time`) are the same on a busy machine, where there is one thread."""
    numbers = random.Random(seed)
    ids = [numbers.randrange(3, vocab_size - 1) for _ in range(prompt_tokens + max(SIZES))]
    prompt, new = ids[:prompt_tokens], ids[prompt_tokens:]
    read: dict[str, list[float]] = {peer.name: [] for peer in peers}
    took: dict[tuple[str, int], list[float]] = {(peer.name, size): [] for peer in peers for size in SIZES}
    for _ in range(repetitions):
        for peer in numbers.sample(list(peers), len(peers)):
            peer.forget()
            read[peer.name].append(_seconds(clock, lambda peer=peer: peer.read(prompt)))  # type: ignore[misc]
            for size in numbers.sample(SIZES, len(SIZES)):
                peer.step(new[:size])
                took[peer.name, size] += [_seconds(clock, lambda peer=peer, size=size: peer.step(new[:size])) for _ in range(3)]  # type: ignore[misc]
    return [
        StepTimes(
            peer.name,
            SIZES,
            tuple(round(1e3 * median(took[peer.name, size]), 2) for size in SIZES),
            tuple(round(1e3 * min(took[peer.name, size]), 2) for size in SIZES),
            tuple(round(1e3 * max(took[peer.name, size]), 2) for size in SIZES),
            round(prompt_tokens / median(read[peer.name]), 1),
        )
        for peer in peers
    ]


def step_lines(found: Sequence[StepTimes], conditions: Sequence[tuple[str, str]]) -> list[str]:
    """Conditions, then a Markdown table: milliseconds a step, and how many times as fast the first row is."""
    lines = [f"{name}: {value}" for name, value in conditions]
    lines += ["", f"| ms a step | {' | '.join(f'T={size}' for size in found[0].sizes)} | prefill, tokens/s |"]
    lines.append("|---" * (len(found[0].sizes) + 2) + "|")
    for one in found:
        spread = zip(one.medians, one.fastest, one.slowest, strict=True)
        lines.append(f"| {one.name} | {' | '.join(f'{m:.1f} [{a:.1f}, {b:.1f}]' for m, a, b in spread)} | {one.prefill:.0f} |")
    for one in found[1:]:
        ratios = [theirs / ours for theirs, ours in zip(one.medians, found[0].medians, strict=True)]
        lines.append(
            f"| ours over {one.name} | {' | '.join(f'{r:.2f}x' for r in ratios)} | {found[0].prefill / one.prefill:.2f}x |"
        )
    return lines


def peers_of(loaded: LoadedModel, names: Sequence[str], *, backend: str, file: Path | None, prompt_tokens: int) -> list[Steps]:
    """Ours first, then those named: `hf` (the model's own forward) and `llama.cpp` (the GGUF `file` of the model).

    Raises UserError for other names, or a model that llama.cpp cannot read.
    """
    import torch

    from decoding.backends.hf import HFBackend
    from decoding.engine import backend_of

    capacity = prompt_tokens + max(SIZES)
    found: list[Steps] = [OurSteps(backend_of(loaded, backend), capacity)]
    for name in names:
        if name == "hf":
            found.append(OurSteps(HFBackend(loaded), capacity))
        elif name != LLAMA_CPP:
            raise UserError(f"--steps compares with hf and {LLAMA_CPP}, not {name!r}")
        else:
            found.append(LlamaCpp(file, capacity, torch.get_num_threads()))
    return found


def _seconds(clock: Callable[[], float], call: Callable[[], object]) -> float:
    began = clock()
    call()
    return clock() - began

"""Timings of a model shape with random weights: how far the step is from its floor, and what drafting could gain.

Two answers to the second: the formula of the decoding note, section 1, with the measured costs; and whole texts whose
drafts are right at a stated rate (`replay`), timed end to end.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Literal

from data.errors import UserError
from data.types import Strict
from decoding.api import SamplingParams
from decoding.backend import CostTable, SkipSet, StepBackend
from decoding.bench.peers import peer
from decoding.bench.replay import Replay
from decoding.bench.result import Floor
from decoding.bench.session import measure_floor, shape_of
from decoding.bench.tables import cost_lines, spread_plan, table

if TYPE_CHECKING:
    from decoding.drafters.drafter import Drafter
    from decoding.models.loading import LoadedModel

ACCEPTANCES = (0.6, 0.7, 0.8, 0.9)
MAX_LENGTH = 24

Kind = Literal["copy", "skip 50%", "skip 75%"]
KINDS: dict[Kind, float] = {"copy": 0.0, "skip 50%": 0.5, "skip 75%": 0.75}
"""Drafter -> share of sub-layers that it leaves out; copying runs no model at all."""


@dataclass(frozen=True, slots=True)
class Predicted(Strict):
    """`speedup` is that of decoding by the formula, at the best length; `replayed` what whole texts took, if they were run."""

    kind: Kind
    acceptance: float
    length: int
    speedup: float
    replayed: float | None = None
    replayed_acceptance: float | None = None
    identical: bool | None = None
    """Whether the replayed text is the greedy one; None without a replay."""


@dataclass(frozen=True, slots=True)
class ShapeResult(Strict):
    name: str
    shape: str
    dtype: str
    device: str
    machine: str
    backend: str
    threads: int
    versions: dict[str, str]
    prompt_tokens: int
    new_tokens: int
    repetitions: int
    costs: CostTable
    floor: Floor
    prefill_s: float
    greedy_tokens_per_s: float
    """Decoding only."""
    hf_tokens_per_s: float | None
    predicted: tuple[Predicted, ...]


def expected_speedup(costs: CostTable, acceptance: float, length: int, c: float) -> float:
    """tau(length) / (length c + v(length + 1)), each token being accepted independently."""
    tokens = sum(acceptance**i for i in range(length + 1))
    return tokens / (length * c + costs.v(length + 1))


def predict(costs: CostTable, n_layers: int) -> list[Predicted]:
    """At the best draft length for each drafter and acceptance."""
    found = []
    for kind, share in KINDS.items():
        c = costs.c(spread_plan(n_layers, share), n_layers) if share else 0.0
        for acceptance in ACCEPTANCES:
            speed, length = max((expected_speedup(costs, acceptance, n, c), -n) for n in range(1, MAX_LENGTH + 1))
            found.append(Predicted(kind, acceptance, -length, speed))
    return found


def measure_shape(
    loaded: LoadedModel,
    *,
    backend_kind: str = "auto",
    prompt_tokens: int,
    new_tokens: int,
    repetitions: int,
    against_hf: bool,
    costs_budget_s: float = 4.0,
    told: Callable[[str], None],
) -> ShapeResult:
    """Raises UserError when prompt, answer and the longest draft do not fit the shape's context."""
    import torch

    from decoding.backends.costs import measure_costs
    from decoding.engine import backend_of
    from decoding.machine import signature, versions

    if prompt_tokens + new_tokens + MAX_LENGTH + 1 > loaded.context_tokens:
        raise UserError(
            f"{loaded.name} reads {loaded.context_tokens} tokens; lower --prompt-tokens {prompt_tokens} or "
            f"--max-new-tokens {new_tokens}"
        )
    with loaded.lock:
        backend = backend_of(loaded, backend_kind)
        told("measuring what steps cost")
        costs = measure_costs(backend, context=prompt_tokens, budget_s=costs_budget_s)
        floor = measure_floor(loaded, costs)
        numbers = random.Random(0)
        prompt = [numbers.randrange(backend.info.vocab_size) for _ in range(prompt_tokens)]
        timed = _Texts(loaded, backend, prompt, new_tokens, repetitions)
        told("greedy text")
        prefill_s, decode_s = timed.greedy()
        predicted = []
        for one in predict(costs, backend.info.n_layers):
            told(f"replay: {one.kind}, acceptance {one.acceptance}, drafts of {one.length}")
            predicted.append(timed.replayed(one))
        hf = timed.hf() if against_hf else None
    return ShapeResult(
        name=loaded.name,
        shape=shape_of(loaded),
        dtype=loaded.dtype,
        device=loaded.device,
        machine=signature(backend.info),
        backend=backend.info.name,
        threads=torch.get_num_threads(),
        versions=versions(),
        prompt_tokens=prompt_tokens,
        new_tokens=new_tokens,
        repetitions=repetitions,
        costs=costs,
        floor=floor,
        prefill_s=prefill_s,
        greedy_tokens_per_s=(new_tokens - 1) / decode_s,
        hf_tokens_per_s=hf,
        predicted=tuple(predicted),
    )


class _Texts:
    """Timed texts of one prompt. Replays run next to greedy ones, so that both meet the same state of the machine."""

    def __init__(
        self, loaded: LoadedModel, backend: StepBackend, prompt: Sequence[int], new_tokens: int, repetitions: int
    ) -> None:
        self._loaded, self._backend, self._prompt = loaded, backend, prompt
        self._sampling, self._repetitions = SamplingParams(max_new_tokens=new_tokens), repetitions
        self.answer: list[int] = []

    def greedy(self) -> tuple[float, float]:
        """Median seconds of prefill and of decoding; keeps the text."""
        from decoding.drafters.plain import NoDrafter

        self.answer = self._text(NoDrafter())[0]
        runs = [self._text(NoDrafter()) for _ in range(self._repetitions)]
        return median(run[1] for run in runs), median(run[2] for run in runs)

    def replayed(self, one: Predicted) -> Predicted:
        from decoding.drafters.plain import NoDrafter

        share = KINDS[one.kind]
        plan: SkipSet | None = spread_plan(self._backend.info.n_layers, share) if share else None
        plain, drafted, same, rates = [], [], True, []
        for repetition in range(self._repetitions):
            drafter = Replay(self.answer, one.acceptance, one.length, plan, seed=repetition)
            if repetition == 0:
                self._text(drafter)  # warms its plan and sizes
            plain.append(self._text(NoDrafter())[2])
            answer, _, seconds, rate = self._text(drafter)
            drafted.append(seconds)
            rates.append(rate)
            same = same and answer == self.answer
        return replace(
            one,
            replayed=sum(plain) / sum(drafted),
            replayed_acceptance=sum(rates) / len(rates),
            identical=same,
        )

    def hf(self) -> float:
        """Tokens per second of `transformers.generate` after its first."""
        decode = peer("hf", self._loaded)
        seconds = []
        for _ in range(self._repetitions + 1):
            stats = decode(self._prompt, self._sampling, lambda token: True)
            seconds.append(stats.decode_s or 0.0)
        return (self._sampling.max_new_tokens - 1) / median(seconds[1:])

    def _text(self, drafter: Drafter) -> tuple[list[int], float, float, float]:
        """Tokens, seconds of prefill and of decoding, share of drafted tokens that would have been accepted one by one."""
        from decoding.machine import synchronise
        from decoding.sampling import Sampler
        from decoding.speculative import decode

        tokens: list[int] = []

        def take(token: int) -> bool:
            tokens.append(token)
            return len(tokens) < self._sampling.max_new_tokens

        synchronise(self._loaded.device)
        began = time.perf_counter()
        stats = decode(self._backend, drafter, self._prompt, Sampler(self._sampling, len(self._prompt)), take)
        synchronise(self._loaded.device)
        prefill = stats.prefill_s or 0.0
        counted = stats.speculation
        rate = (counted.acceptance_rate or 0.0) if counted is not None else 0.0
        return tokens, prefill, time.perf_counter() - began - prefill, rate


def shape_lines(r: ShapeResult) -> Iterator[str]:
    yield f"# Decoding speed: {r.name}, random weights"
    yield ""
    yield from table(
        ("condition", "value"),
        [
            ("shape", r.shape),
            ("dtype, device", f"{r.dtype} on {r.device}"),
            ("machine", r.machine),
            ("threads", str(r.threads)),
            ("backend", r.backend),
            ("versions", ", ".join(f"{name} {version}" for name, version in r.versions.items())),
            ("prompt", f"1 random prompt of {r.prompt_tokens} tokens, {r.new_tokens} new ones"),
            ("repetitions", f"{r.repetitions}, after a warm-up"),
        ],
    )
    yield ""
    yield from cost_lines(r.costs, int(r.shape.partition(" ")[0]), r.floor)
    yield f"- prefill of {r.prompt_tokens} tokens: {1e3 * r.prefill_s:.1f} ms"
    hf = f"; transformers.generate: {r.hf_tokens_per_s:.1f}" if r.hf_tokens_per_s else ""
    yield f"- greedy decoding: {r.greedy_tokens_per_s:.1f} tokens/s{hf}"
    yield ""
    yield "Speedup of decoding over our greedy decoding, if drafted tokens are right at this rate (best draft length):"
    yield ""
    rows = []
    for p in r.predicted:
        same = "-" if p.identical is None else "yes" if p.identical else "no"
        replayed = "-" if p.replayed is None else f"{p.replayed:.2f}x"
        rows.append((p.kind, f"{p.acceptance:.1f}", str(p.length), f"{p.speedup:.2f}x", replayed, same))
    yield from table(("drafter", "right", "length", "by the formula", "replayed", "same text"), rows)

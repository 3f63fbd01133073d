"""What a measurement says, as values: conditions, ratios with their intervals, one entry for each method."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from data.decoding_counts import SpeculationStats
from data.types import Strict
from decoding.backend import CostTable
from decoding.bench.divergence import Divergence
from decoding.bench.timed_runs import BenchPrompt, Run

RESAMPLES = 2000
ALL = "all"


@dataclass(frozen=True, slots=True)
class Conditions(Strict):
    """Everything that a ratio depends on."""

    model: str
    fingerprint: str
    shape: str
    """Layers x width, heads, vocabulary, parameters."""
    dtype: str
    device: str
    machine: str
    threads: int
    backend: str
    batch_invariant: bool
    versions: dict[str, str]
    prompts: str
    n_prompts: int
    prompt_tokens: tuple[int, int, int]
    """Least, median, most."""
    new_tokens: tuple[int, int, int]
    """The same for the greedy texts."""
    max_new_tokens: int
    repetitions: int
    seed: int
    calibration: str
    assistant: str
    early_exit_layer: int | None
    """After which hf-early-exit drafts; None when it did not run."""
    draft_model: str = ""
    cpu_features: str = ""
    llama_cpp: str = ""
    """Which one it was, and what it read; empty when it did not run."""


@dataclass(frozen=True, slots=True)
class Floor(Strict):
    """A step of one token against the read that it cannot avoid, at `context` committed tokens."""

    weight_bytes: int
    kv_bytes: int
    context: int
    bandwidth: float
    """Bytes per second, measured."""
    floor_s: float
    step_s: float

    @property
    def over_floor(self) -> float:
        return self.step_s / self.floor_s


@dataclass(frozen=True, slots=True)
class Ratio(Strict):
    """Total seconds of the reference over total seconds of a method, on prompts whose texts are identical.

    `low` and `high` are the 95% interval of a bootstrap over prompts; None with fewer than two.
    """

    value: float
    low: float | None
    high: float | None
    n_prompts: int


@dataclass(frozen=True, slots=True)
class MethodResult(Strict):
    """Seconds and tokens are sums over prompts of the medians over repetitions."""

    name: str
    n_tokens: int
    n_decoded: int
    """Of those, what the prefill did not give."""
    total_s: float
    prefill_s: float
    decode_s: float
    spread: float
    """Interquartile range of a prompt's seconds over their median; the median of that over prompts."""
    end_to_end: dict[str, Ratio]
    """Our greedy seconds over this method's, prefill included: by task, and `all`. Empty if no text is identical."""
    decode: dict[str, Ratio]
    """The same without the prefill."""
    over_hf: Ratio | None
    """`hf` seconds over this method's, end to end; None if `hf` did not run."""
    speculation: SpeculationStats | None
    """All repetitions together; None for peers, which do not say."""
    divergences: tuple[Divergence, ...]
    n_unstable: int
    """Prompts whose text was not the same in each repetition."""
    peak_bytes: int | None

    @property
    def n_differing_tokens(self) -> int:
        return sum(divergence.n_differing for divergence in self.divergences)


@dataclass(frozen=True, slots=True)
class BenchResult(Strict):
    conditions: Conditions
    costs: CostTable
    floor: Floor
    noise: float
    """Largest difference of a logit between steps of one row and of eight."""
    peer_noise: float | None
    """The same against the model's own forward; None when no peer ran."""
    process_peak_bytes: int
    """Of this process in main memory."""
    methods: tuple[MethodResult, ...]

    @property
    def n_bugs(self) -> int:
        return sum(sum(d.verdict == "bug" for d in method.divergences) + method.n_unstable for method in self.methods)


@dataclass(frozen=True, slots=True)
class Timing:
    """One method's medians on one prompt."""

    total_s: float
    prefill_s: float
    decode_s: float


def timings(runs: Sequence[Run]) -> dict[str, dict[str, Timing]]:
    """Method -> prompt -> medians over repetitions."""
    return {
        method: {
            prompt: Timing(median(r.total_s for r in of), median(r.prefill_s for r in of), median(r.decode_s for r in of))
            for prompt, of in by_prompt.items()
        }
        for method, by_prompt in grouped(runs).items()
    }


def grouped(runs: Sequence[Run]) -> dict[str, dict[str, list[Run]]]:
    """Method -> prompt -> repetitions in order."""
    found: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        found.setdefault(run.method, {}).setdefault(run.prompt, []).append(run)
    return found


def method_result(
    name: str,
    runs: Mapping[str, Sequence[Run]],
    prompts: Sequence[BenchPrompt],
    times: Mapping[str, Mapping[str, Timing]],
    divergences: Sequence[Divergence],
    reference: str,
) -> MethodResult:
    """`runs` of one method by prompt; `times` of all methods; `reference` is the method that ratios are over."""
    own, base = times[name], times[reference]
    differ = {d.prompt for d in divergences}
    same = [prompt for prompt in prompts if prompt.id not in differ]
    parts = {ALL: same}
    for prompt in same:
        parts.setdefault(prompt.task, []).append(prompt)
    counted = [run.speculation for of in runs.values() for run in of if run.speculation is not None]
    peaks = [run.peak_bytes for of in runs.values() for run in of if run.peak_bytes is not None]
    hf = times.get("hf")
    return MethodResult(
        name=name,
        n_tokens=sum(len(of[0].tokens) for of in runs.values()),
        n_decoded=sum(len(of[0].tokens) - 1 for of in runs.values()),
        total_s=sum(t.total_s for t in own.values()),
        prefill_s=sum(t.prefill_s for t in own.values()),
        decode_s=sum(t.decode_s for t in own.values()),
        spread=median(_spread([run.total_s for run in of]) for of in runs.values()),
        end_to_end={
            task: ratio([(base[p.id].total_s, own[p.id].total_s) for p in part]) for task, part in parts.items() if part
        },
        decode={task: ratio([(base[p.id].decode_s, own[p.id].decode_s) for p in part]) for task, part in parts.items() if part},
        over_hf=ratio([(hf[p.id].total_s, own[p.id].total_s) for p in same]) if hf is not None and same else None,
        speculation=SpeculationStats.total(counted) if counted else None,
        divergences=tuple(divergences),
        n_unstable=sum(len({run.tokens for run in of}) > 1 for of in runs.values()),
        peak_bytes=max(peaks, default=None),
    )


def ratio(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """Sum of the first over sum of the second, with a percentile bootstrap over the pairs."""
    value = _quotient(pairs)
    if len(pairs) < 2:
        return Ratio(value, None, None, len(pairs))
    choose = random.Random(0).choices
    drawn = sorted(_quotient(choose(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    return Ratio(value, drawn[round(0.025 * (RESAMPLES - 1))], drawn[round(0.975 * (RESAMPLES - 1))], len(pairs))


def _quotient(pairs: Sequence[tuple[float, float]]) -> float:
    below = sum(b for _, b in pairs)
    return sum(a for a, _ in pairs) / below if below > 0 else 1.0  # texts of one token have nothing to decode


def _spread(values: Sequence[float]) -> float:
    if len(values) < 2:
        return 0.0
    low, _, high = quantiles(values, n=4, method="inclusive")
    return (high - low) / median(values)

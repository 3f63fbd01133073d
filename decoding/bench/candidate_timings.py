"""Several sampled answers to one prompt: together, and one of them alone, in turn; and whether the texts are the same."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from data.errors import UserError
from data.types import Strict
from decoding.engine import Ask, Engine

if TYPE_CHECKING:
    from decoding.api import DecodeStats
    from decoding.bench.timed_runs import BenchPrompt
    from decoding.models.loading import LoadedModel

TEMPERATURE = 0.8


@dataclass(frozen=True, slots=True)
class Spread(Strict):
    """Over prompts, each the median of its repetitions: the median, least and most."""

    median: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class CandidateTimes(Strict):
    """`method` decodes one text alone; ratios are seconds of `n` texts together over the mean of one of them alone."""

    method: str
    n: int
    n_prompts: int
    prompt_tokens: Spread
    new_tokens: Spread
    """Of one text."""
    alone_ms: Spread
    """Milliseconds of one text, prompt included."""
    together_ms: Spread
    ratio: Spread
    """End to end: the prompt read once, and all texts, over the prompt read once and one text."""
    decode_ratio: Spread
    """Without reading the prompt."""
    tokens_a_pass: float
    """Of all texts together, the first tokens apart."""
    n_different: int
    """Texts that differ from what they are alone."""


def measure_candidates(
    loaded: LoadedModel,
    prompts: Sequence[BenchPrompt],
    n: int,
    *,
    methods: Sequence[str],
    backend: str,
    repetitions: int,
    seed: int,
    told: Callable[[str], None],
) -> list[CandidateTimes]:
    """One result a method; every text has `limit` tokens, whatever ends it. The prompt is read anew each time.

    Raises UserError for a model that writes them in turn.
    """
    found = []
    for method in methods:
        engine = Engine(loaded, method, backend=backend)
        if not engine.together:
            raise UserError(
                f"{loaded.name} on {engine.describe()} writes candidates in turn: there is nothing to compare. "
                "Low-bit weights on a CPU write them together: add --dtype int8, or name a GGUF"
            )
        told(f"{method}: {len(prompts)} prompts, {repetitions} repetitions, {n} texts together and each alone")
        found.append(_measured(loaded, engine, method, prompts, n, repetitions, random.Random(seed)))
    return found


def _measured(
    loaded: LoadedModel,
    engine: Engine,
    method: str,
    prompts: Sequence[BenchPrompt],
    n: int,
    repetitions: int,
    numbers: random.Random,
) -> CandidateTimes:
    rows: dict[str, list[float]] = {name: [] for name in ("alone", "together", "ratio", "decode")}
    emitted = passes = different = 0
    for prompt in prompts:
        alone: list[tuple[float, float]] = []
        both: list[tuple[float, float]] = []
        texts: dict[int, list[int]] = {}
        for _ in range(repetitions):
            order = numbers.sample(range(-1, n), n + 1)  # -1: all together
            for which in order:
                wanted = range(n) if which < 0 else (which,)
                took, decoding_s, new, stats = _timed(loaded, engine, prompt, wanted)
                (both if which < 0 else alone).append((took, decoding_s))
                for i, tokens in zip(wanted, new, strict=True):
                    different += texts.setdefault(i, tokens) != tokens
                if which < 0:
                    emitted += sum(len(tokens) - 1 for tokens in new)
                    passes += max(one.n_verify or 0 for one in stats)
        one, all_of_them = ([median(values) for values in zip(*runs, strict=True)] for runs in (alone, both))
        rows["alone"].append(1e3 * one[0])
        rows["together"].append(1e3 * all_of_them[0])
        rows["ratio"].append(all_of_them[0] / one[0])
        rows["decode"].append(all_of_them[1] / one[1])
    return CandidateTimes(
        method=method,
        n=n,
        n_prompts=len(prompts),
        prompt_tokens=_spread([len(prompt.ids) for prompt in prompts]),
        new_tokens=_spread([prompt.limit for prompt in prompts]),
        alone_ms=_spread(rows["alone"]),
        together_ms=_spread(rows["together"]),
        ratio=_spread(rows["ratio"]),
        decode_ratio=_spread(rows["decode"]),
        tokens_a_pass=round(emitted / max(passes, 1), 2),
        n_different=different,
    )


def _timed(
    loaded: LoadedModel, engine: Engine, prompt: BenchPrompt, which: Sequence[int]
) -> tuple[float, float, list[list[int]], list[DecodeStats]]:
    """Seconds in all, seconds after the prompt, the texts, and what each took."""
    new: list[list[int]] = [[] for _ in which]

    def ask(at: int, seed: int) -> Ask:
        def take(token: int) -> bool:
            new[at].append(token)
            return len(new[at]) < prompt.limit

        return Ask(prompt.ids, replace(prompt.sampling, temperature=TEMPERATURE, seed=seed), take)

    asks = [ask(at, seed) for at, seed in enumerate(which)]
    with loaded.lock:
        engine.forget()
        began = time.perf_counter()
        stats = engine.decode_together(asks)
        took = time.perf_counter() - began
    return took, took - (stats[0].prefill_s or 0.0), new, stats


def _spread(values: Sequence[float]) -> Spread:
    return Spread(round(median(values), 3), round(min(values), 3), round(max(values), 3))


def candidate_lines(found: Sequence[CandidateTimes], conditions: Sequence[tuple[str, str]]) -> list[str]:
    """Conditions, then a Markdown table."""
    n = found[0].n
    lines = [f"{name}: {value}" for name, value in conditions]
    lines += [
        "",
        f"| drafts | one alone, ms | {n} together, ms | together over one | without the prompt | tokens a pass | "
        "texts that differ |",
        "|---" * 7 + "|",
    ]
    for one in found:
        cells = [
            one.method,
            _shown(one.alone_ms, 0),
            _shown(one.together_ms, 0),
            f"{_shown(one.ratio, 2)}x",
            f"{_shown(one.decode_ratio, 2)}x",
            f"{one.tokens_a_pass:.2f}",
            str(one.n_different),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _shown(spread: Spread, digits: int) -> str:
    return f"{spread.median:.{digits}f} [{spread.least:.{digits}f}, {spread.most:.{digits}f}]"

"""What a server has done so far, and the same in Prometheus' text format, under vLLM's names, so that its dashboards fit.

Names of vLLM mean what they mean there (https://docs.vllm.ai/en/stable/usage/metrics.html). What it has no name for is under
`wikigenben:`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from data.decoding_counts import SpeculationStats

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from decoding.api import Completion

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0)
TOKENS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0, 20000.0, 50000.0)


@dataclass(slots=True)
class Histogram:
    """`counts[i]`: values up to `bounds[i]` and above the bound before; the last one, those above all bounds."""

    bounds: tuple[float, ...]
    counts: list[int] = field(init=False)
    total: float = 0.0

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


def _seconds() -> Histogram:
    return Histogram(SECONDS)


def _tokens() -> Histogram:
    return Histogram(TOKENS)


@dataclass(slots=True)
class Spread:
    """Of answered requests, one value each."""

    queue_s: Histogram = field(default_factory=_seconds)
    first_token_s: Histogram = field(default_factory=_seconds)
    """From the request's arrival."""
    prefill_s: Histogram = field(default_factory=_seconds)
    decode_s: Histogram = field(default_factory=_seconds)
    whole_s: Histogram = field(default_factory=_seconds)
    prompt_tokens: Histogram = field(default_factory=_tokens)
    new_tokens: Histogram = field(default_factory=_tokens)


@dataclass(slots=True)
class Totals:
    """Since the server began. Texts that clients gave up count as abandoned, with the tokens that they had."""

    requests: int = 0
    finished: int = 0
    refused: int = 0
    failed: int = 0
    abandoned: int = 0
    waiting: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    decode_s: float = 0.0
    cut: int = 0
    """Of the finished ones, those that reached their token limit."""
    speculation: SpeculationStats = field(default_factory=SpeculationStats)
    spread: Spread = field(default_factory=Spread)

    def add(self, done: Completion, queued_s: float = 0.0) -> None:
        """A text that waited `queued_s` seconds for its turn."""
        stats, spread = done.stats, self.spread
        self.finished += 1
        self.cut += done.stop == "length"
        self.prompt_tokens += done.n_prompt_tokens
        self.completion_tokens += done.n_new_tokens
        self.decode_s += stats.total_s
        self.speculation += stats.speculation or SpeculationStats()
        spread.queue_s.add(queued_s)
        spread.first_token_s.add(queued_s + (stats.prefill_s or 0.0))
        spread.prefill_s.add(stats.prefill_s or 0.0)
        spread.decode_s.add(stats.decode_s or 0.0)
        spread.whole_s.add(queued_s + stats.total_s)
        spread.prompt_tokens.add(done.n_prompt_tokens)
        spread.new_tokens.add(done.n_new_tokens)


def exposition(totals: Totals, model: str) -> tuple[bytes, str]:
    """The text, and its content type."""
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    drafted, spread = totals.speculation, totals.spread
    counters = {
        "vllm:prompt_tokens": ("Prompt tokens of answered requests.", totals.prompt_tokens),
        "vllm:generation_tokens": ("Tokens written.", totals.completion_tokens),
        "vllm:spec_decode_num_drafts": ("Drafts verified.", drafted.num_drafts),
        "vllm:spec_decode_num_draft_tokens": ("Tokens drafted.", drafted.num_draft_tokens),
        "vllm:spec_decode_num_accepted_tokens": ("Drafted tokens accepted.", drafted.num_accepted_tokens),
        "wikigenben:request_failure": ("Requests that failed while they were written.", totals.failed),
        "wikigenben:request_refused": ("Requests that were refused.", totals.refused),
    }
    ends = {"stop": totals.finished - totals.cut, "length": totals.cut, "abort": totals.abandoned}
    histograms = {
        "vllm:e2e_request_latency_seconds": ("From arrival to the end of the text.", spread.whole_s),
        "vllm:time_to_first_token_seconds": ("From arrival to the first token.", spread.first_token_s),
        "vllm:request_queue_time_seconds": ("Waiting for its turn.", spread.queue_s),
        "vllm:request_prefill_time_seconds": ("Reading the prompt.", spread.prefill_s),
        "vllm:request_decode_time_seconds": ("Writing behind the first token.", spread.decode_s),
        "vllm:request_prompt_tokens": ("Prompt tokens of a request.", spread.prompt_tokens),
        "vllm:request_generation_tokens": ("Tokens written for a request.", spread.new_tokens),
    }

    class Collector:
        def collect(self) -> Iterator[Metric]:
            for name, (meaning, value) in counters.items():
                family = CounterMetricFamily(name, meaning, labels=["model_name"])
                family.add_metric([model], value)
                yield family
            family = CounterMetricFamily(
                "vllm:request_success", "Requests that ended.", labels=["model_name", "finished_reason"]
            )
            for reason, value in ends.items():
                family.add_metric([model, reason], value)
            yield family
            name = "vllm:spec_decode_num_accepted_tokens_per_pos"
            family = CounterMetricFamily(name, "Drafts accepted up to here.", labels=["model_name", "position"])
            for position, value in enumerate(drafted.num_accepted_tokens_per_pos):
                family.add_metric([model, str(position)], value)
            yield family
            for name, (meaning, histogram) in histograms.items():
                shown = HistogramMetricFamily(name, meaning, labels=["model_name"])
                shown.add_metric([model], _buckets(histogram), histogram.total)
                yield shown
            written = min(totals.waiting, 1)  # one text is written at a time
            for name, meaning, value in (
                ("num_requests_running", "Requests that are written now.", written),
                ("num_requests_waiting", "Requests that wait for their turn.", totals.waiting - written),
            ):
                gauge = GaugeMetricFamily(f"vllm:{name}", meaning, labels=["model_name"])
                gauge.add_metric([model], value)
                yield gauge

    registry = CollectorRegistry()
    registry.register(Collector())
    return generate_latest(registry), CONTENT_TYPE_LATEST


def _buckets(histogram: Histogram) -> list[tuple[str, float]]:
    """Prometheus' buckets count all values up to their bound."""
    bounds = (*(str(bound) for bound in histogram.bounds), "+Inf")
    total, found = 0, list[tuple[str, float]]()
    for bound, count in zip(bounds, histogram.counts, strict=True):
        total += count
        found.append((bound, total))
    return found

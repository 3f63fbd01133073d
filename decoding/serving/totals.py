"""What a server has done so far, and the same in Prometheus' text format, under vLLM's names, so that its dashboards fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from decoding.statistics import SpeculationStats

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from decoding.api import Completion


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
    speculation: SpeculationStats = field(default_factory=SpeculationStats)

    def add(self, done: Completion) -> None:
        self.finished += 1
        self.prompt_tokens += done.n_prompt_tokens
        self.completion_tokens += done.n_new_tokens
        self.decode_s += done.stats.total_s
        self.speculation += done.stats.speculation or SpeculationStats()


def exposition(totals: Totals, model: str) -> tuple[bytes, str]:
    """The text, and its content type. https://docs.vllm.ai/en/stable/usage/metrics.html"""
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    drafted = totals.speculation
    counters = {
        "request_success": ("Requests answered.", totals.finished),
        "request_failure": ("Requests that failed while they were written.", totals.failed),
        "request_refused": ("Requests that were refused.", totals.refused),
        "request_abandoned": ("Requests whose client hung up.", totals.abandoned),
        "prompt_tokens": ("Prompt tokens of answered requests.", totals.prompt_tokens),
        "generation_tokens": ("Tokens written.", totals.completion_tokens),
        "decode_time_seconds": ("Seconds spent in prompts and answers.", totals.decode_s),
        "spec_decode_num_drafts": ("Drafts verified.", drafted.num_drafts),
        "spec_decode_num_draft_tokens": ("Tokens drafted.", drafted.num_draft_tokens),
        "spec_decode_num_accepted_tokens": ("Drafted tokens accepted.", drafted.num_accepted_tokens),
    }

    class Collector:
        def collect(self) -> Iterator[Metric]:
            for name, (meaning, value) in counters.items():
                family = CounterMetricFamily(f"vllm:{name}", meaning, labels=["model_name"])
                family.add_metric([model], value)
                yield family
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

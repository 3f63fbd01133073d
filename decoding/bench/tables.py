"""A result as people read it: every condition, then the figures; the same as Markdown, and one picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from decoding.backend import CostTable, SkipSet
from decoding.bench.result import ALL, BenchResult, Conditions, Floor, MethodResult, Ratio

if TYPE_CHECKING:
    from data.decoding_counts import SpeculationStats

SHARES = (0.25, 0.5, 0.75)
"""Of sub-layers skipped: where c is printed."""

Row = Sequence[str]


def markdown(result: BenchResult) -> str:
    """Printed as well: it reads well as it is."""
    return "\n".join([*_conditions(result.conditions), "", *_machine(result), "", *_methods(result), *_parted(result)]) + "\n"


def _conditions(c: Conditions) -> Iterator[str]:
    yield f"# Decoding speed: {c.model}"
    yield ""
    yield from table(
        ("condition", "value"),
        [
            ("model", f"{c.model}, fingerprint {c.fingerprint[:12]}"),
            ("shape", c.shape),
            ("dtype, device", f"{c.dtype} on {c.device}"),
            ("machine", c.machine),
            ("CPU features", c.cpu_features or "unknown"),
            ("threads", str(c.threads)),
            ("backend", f"{c.backend}{', batch invariant' if c.batch_invariant else ''}"),
            ("versions", ", ".join(f"{name} {version}" for name, version in c.versions.items())),
            ("prompts", f"{c.n_prompts} of {c.prompts}, {_span(c.prompt_tokens)} tokens"),
            ("new tokens", f"at most {c.max_new_tokens}; greedy texts have {_span(c.new_tokens)}"),
            ("repetitions", f"{c.repetitions}, interleaved in shuffled order (seed {c.seed}); medians"),
            ("calibration", c.calibration or "none"),
            ("draft model", c.draft_model or "none"),
            ("assistant", c.assistant or "none"),
            *([("llama.cpp", c.llama_cpp)] if c.llama_cpp else []),
            *([("hf-early-exit", f"drafts with layers 0 to {c.early_exit_layer - 1}")] if c.early_exit_layer else []),
        ],
    )


def _machine(result: BenchResult) -> Iterator[str]:
    yield from cost_lines(result.costs, n_layers_of(result.conditions), result.floor)
    yield f"- largest logit difference between steps of one row and of eight: {result.noise:.2g}"
    if result.peer_noise is not None:
        yield f"- largest logit difference to the model's own forward: {result.peer_noise:.2g}"
    yield f"- peak main memory of this process: {result.process_peak_bytes / 1e6:.0f} MB"


def n_layers_of(conditions: Conditions) -> int:
    return int(conditions.shape.partition(" ")[0])


def cost_lines(costs: CostTable, n_layers: int, floor: Floor) -> Iterator[str]:
    yield f"- one step of one token at {costs.context} committed tokens: {1e3 * costs.unit_s:.3f} ms"
    yield (
        f"- it must read {floor.weight_bytes / 1e6:.1f} MB of weights and {floor.kv_bytes / 1e6:.1f} MB of keys and values; at "
        f"{floor.bandwidth / 1e9:.1f} GB/s (streaming read, measured) that takes {1e3 * floor.floor_s:.3f} ms: "
        f"the step is at {floor.over_floor:.2f} x the floor"
    )
    yield "- v(T): " + ", ".join(f"{size}: {v:.2f}" for size, v in costs.verify)
    shares = ", ".join(f"{share:.0%} skipped: {costs.c(spread_plan(n_layers, share), n_layers):.2f}" for share in SHARES)
    adds = f"a sub-layer adds {costs.attention:.4f} (attention), {costs.mlp:.4f} (MLP)"
    yield f"- c(plan): {shares}, everything skipped: {costs.fixed:.2f}; {adds}"


def spread_plan(n_layers: int, share: float) -> SkipSet:
    """Evenly spread layers, as many attentions as MLPs, about `share` of all sub-layers."""
    n = round(share * n_layers)
    layers = tuple(int((i + 0.5) * n_layers / n) for i in range(n))
    return SkipSet(layers, layers)


def _methods(result: BenchResult) -> Iterator[str]:
    tasks = [task for task in dict.fromkeys(t for m in result.methods for t in m.end_to_end) if task != ALL]
    yield "Speedup over our own greedy decoding on identical text (95% bootstrap interval over prompts):"
    yield ""
    heads = [
        "method",
        "end to end",
        "decode only",
        *(f"{task}" for task in tasks),
        "over hf",
        "tok/s",
        "decode tok/s",
        "prefill s",
        "decode s",
        "spread",
    ]
    yield from table(heads, [_speed_row(method, tasks) for method in result.methods])
    counted = [method for method in result.methods if method.speculation is not None]
    yield ""
    yield "Drafting:"
    yield ""
    heads = [
        "method",
        "mean accepted",
        "acceptance",
        "drafted/round",
        "draft",
        "verify",
        "bookkeeping",
        "by source",
        "peak memory",
    ]
    yield from table(heads, [_draft_row(method) for method in counted])


def _speed_row(m: MethodResult, tasks: Sequence[str]) -> Row:
    return (
        m.name,
        show_ratio(m.end_to_end.get(ALL)),
        show_ratio(m.decode.get(ALL)),
        *(show_ratio(m.end_to_end.get(task)) for task in tasks),
        show_ratio(m.over_hf),
        f"{m.n_tokens / m.total_s:.1f}" if m.total_s else "-",
        f"{m.n_decoded / m.decode_s:.1f}" if m.decode_s else "-",
        f"{m.prefill_s:.2f}",
        f"{m.decode_s:.2f}",
        f"{m.spread:.1%}",
    )


def _draft_row(m: MethodResult) -> Row:
    s: SpeculationStats | None = m.speculation
    assert s is not None
    spent = s.draft_s + s.verify_s + s.bookkeeping_s
    shares = [f"{part / spent:.0%}" if spent else "-" for part in (s.draft_s, s.verify_s, s.bookkeeping_s)]
    by_source = ", ".join(f"{source.source} {source.num_accepted_tokens}/{source.num_draft_tokens}" for source in s.by_source)
    return (
        m.name,
        f"{s.mean_accepted_tokens:.2f}",
        "-" if s.acceptance_rate is None else f"{s.acceptance_rate:.2f}",
        f"{s.num_draft_tokens / s.num_verify_steps:.2f}" if s.num_verify_steps else "-",
        *shares,
        by_source or "-",
        "-" if m.peak_bytes is None else f"{m.peak_bytes / 1e6:.0f} MB",
    )


def _parted(result: BenchResult) -> Iterator[str]:
    """What every method's text is, against our greedy text."""
    n = result.conditions.n_prompts
    yield ""
    yield "Text against our greedy text:"
    yield ""
    rows = []
    for m in result.methods:
        bugs = sum(d.verdict == "bug" for d in m.divergences)
        unstable = f", {m.n_unstable} not the same each time" if m.n_unstable else ""
        margins = [d.margin for d in m.divergences if d.margin is not None]
        rows.append(
            (
                m.name,
                f"{n - len(m.divergences)} of {n}{unstable}",
                str(m.n_differing_tokens),
                f"{sum(d.verdict == 'numerics' for d in m.divergences)}",
                f"{sum(d.verdict == 'arithmetic' for d in m.divergences)}",
                f"{bugs}",
                f"{max(margins):.3g}" if margins else "-",
            )
        )
    yield from table(
        ("method", "identical texts", "differing tokens", "by numerics", "by other arithmetic", "by a bug", "largest margin"),
        rows,
    )
    for m in result.methods:
        for d in m.divergences:
            if d.verdict == "bug":
                margin = "one text just stops" if d.margin is None else f"margin {d.margin:.3g}"
                yield f"- BUG {m.name}, prompt {d.prompt}, token {d.position}: {d.found} instead of {d.reference} ({margin})"


def table(heads: Row, rows: Sequence[Row]) -> Iterator[str]:
    """A Markdown table with aligned columns."""
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(len(heads))]
    for row in (heads, ["-" * width for width in widths], *rows):
        yield "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"


def _span(values: tuple[int, int, int]) -> str:
    low, mid, high = values
    return str(mid) if low == high else f"{low} to {high} (median {mid})"


def show_ratio(found: Ratio | None) -> str:
    if found is None:
        return "-"
    return f"{found.value:.2f}x" + (f" [{found.low:.2f}, {found.high:.2f}]" if found.low is not None else "")

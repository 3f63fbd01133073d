"""What drafts gained over plain decoding: two lines behind a run, of counts and of one estimate that says so."""

from __future__ import annotations

from collections.abc import Sequence

from data.decoding_counts import SourceStats, Usage


def drafted_lines(usages: Sequence[Usage]) -> list[str]:
    """Of those that count their passes; empty where nothing was drafted."""
    counted = Usage.counted(usages)
    drafts = counted.stats.speculation
    if drafts is None or not drafts.num_draft_tokens or not counted.n_passes:
        return []
    tokens = counted.n_new_tokens
    line = (
        f"decoder: {tokens:,} tokens in {counted.n_passes:,} passes (plain decoding: {tokens:,}), "
        f"{tokens / counted.n_passes:.2f} a pass"
    )
    if (gain := drafts.estimated_gain) is not None:
        line += f"; estimated {gain:.1f}x as fast behind the prompts, by measured costs"
    kept = ", ".join(
        f"{name} {accepted / drafted:.0%} of {drafted:,}"
        for name, drafted, accepted in _by_drafter(drafts.by_source)
        if drafted
    )
    if not kept:  # of a run from before drafts were counted by source
        kept = f"{drafts.num_accepted_tokens / drafts.num_draft_tokens:.0%} of {drafts.num_draft_tokens:,}"
    return [line, f"drafted tokens kept: {kept}"]


def _by_drafter(sources: Sequence[SourceStats]) -> list[tuple[str, int, int]]:
    """Drafter, drafted and accepted tokens, the most drafted first. Copies count together, from wherever they are; a tree of
    copies and recycled rows is `copy+recycle`."""
    sums: dict[str, tuple[int, int]] = {}
    for one in sources:
        name = "+".join(part.partition(":")[0] for part in one.source.split("+"))
        drafted, accepted = sums.get(name, (0, 0))
        sums[name] = drafted + one.num_draft_tokens, accepted + one.num_accepted_tokens
    return sorted(((name, *counts) for name, counts in sums.items()), key=lambda of: (-of[1], of[0]))

"""Counts of rounds, calls and events: their sums, and what is derived from them."""

from __future__ import annotations

import dataclasses

import pytest

from data.decoding_counts import DecodeStats, SourceStats, SpeculationStats, Usage

FIRST = SpeculationStats(
    num_verify_steps=10, num_drafts=6, num_draft_tokens=18, num_accepted_tokens=9, num_accepted_tokens_per_pos=(5, 3, 1),
    num_emitted_tokens=19, by_source=(SourceStats("copy:prompt", 4, 12, 8), SourceStats("skip", 2, 6, 1)),
    draft_s=0.5, verify_s=2.0, bookkeeping_s=0.25, priced_tokens=19, priced_cost=8.0,
)  # fmt: skip
SECOND = SpeculationStats(2, 1, 4, 4, (1, 1, 1, 1), 6, by_source=(SourceStats("recycle", 1, 4, 4),), draft_s=0.5, verify_s=1.0)


def test_texts_add_up() -> None:
    both = FIRST + SECOND
    assert both == SpeculationStats.total([FIRST, SECOND]) == SpeculationStats.total([SECOND, FIRST])
    assert both.num_accepted_tokens_per_pos == (6, 4, 2, 1)
    assert both.by_source == (*FIRST.by_source[:1], *SECOND.by_source, *FIRST.by_source[1:])  # by name
    assert (both.mean_accepted_tokens, both.acceptance_rate) == (25 / 12, 13 / 22)
    assert (both.draft_s, both.verify_s, both.bookkeeping_s) == (1.0, 3.0, 0.25)
    nothing = SpeculationStats()
    assert SpeculationStats.total([]) == nothing and FIRST + nothing == FIRST
    assert (nothing.mean_accepted_tokens, nothing.acceptance_rate, nothing.estimated_gain) == (1.0, None, None)


def test_the_gain_weighs_passes_by_the_table_and_drafts_by_their_seconds() -> None:
    assert FIRST.estimated_gain == pytest.approx(19 / (8.0 * 1.25))
    assert (FIRST + SECOND).estimated_gain == pytest.approx(19 / (8.0 * 4 / 3))  # texts without prices give no tokens
    assert SECOND.estimated_gain is None
    assert dataclasses.replace(FIRST, num_emitted_tokens=90).estimated_gain == FIRST.estimated_gain


CALL = DecodeStats(2.0, 0.5, 1.5, FIRST)
SERVED = DecodeStats(1.0)
"""Of a server, which counts nothing."""


@pytest.mark.parametrize("one", [FIRST, CALL, Usage(1, 100, 20, CALL)])
def test_every_field_is_summed(one: SpeculationStats | DecodeStats | Usage) -> None:
    """A field that is added later must not be forgotten."""
    twice = type(one).total([one, one])  # type: ignore[list-item]  # each with its own kind
    assert twice == one + one  # type: ignore[operator]
    for field in dataclasses.fields(one):
        if field.name in getattr(one, "omitted_if_empty", ()):
            continue
        assert getattr(twice, field.name) != getattr(one, field.name), field.name


def test_calls_that_count_nothing_add_their_seconds_alone() -> None:
    assert DecodeStats.total([]) == DecodeStats(0.0) and DecodeStats(2.0) == SERVED + SERVED
    assert dataclasses.replace(CALL, total_s=3.0) == CALL + SERVED
    assert (CALL.n_verify, CALL.n_drafted, CALL.n_accepted) == (10, 18, 9)
    assert SERVED.n_verify is SERVED.n_drafted is SERVED.n_accepted is None
    local, served = Usage(2, 50, 22, CALL), Usage(3, 60, 30, SERVED)
    assert local.n_passes == 12 and served.n_passes is None
    assert Usage.counted([local, served]) == local and (local + served).n_calls == 5
    assert Usage.total([]) == Usage()

from __future__ import annotations

import pytest
import torch

from decoding.api import SamplingParams
from decoding.backend import Wants
from decoding.backends.rows import TorchRows
from decoding.drafters.drafter import NOTHING, Draft, Request
from decoding.drafters.recycle import (
    RANKS,
    RankStatistics,
    RecycleDrafter,
    TreeTemplate,
)
from decoding.sampling import Sampler
from tests.decoding.drafters.equality import check_equals_plain, run
from tests.toy_backend import COSTS, ToyBackend

LONG = SamplingParams(max_new_tokens=120)


def chain_template(length: int) -> TreeTemplate:
    """The most probable entry each time."""
    return TreeTemplate(tuple(range(-1, length - 1)), (0,) * length)


def _rows(*best: list[int], vocab_size: int = 40) -> TorchRows:
    """Rows whose most probable ids are those given, in this order."""
    logits = torch.zeros(len(best), vocab_size)
    for row, ids in enumerate(best):
        for rank, token in enumerate(ids):
            logits[row, token] = 100.0 - rank
    return TorchRows(logits)


def _row(first: int) -> list[int]:
    return list(range(first, first + RANKS))


def _fresh(template: TreeTemplate, **options: bool) -> RecycleDrafter:
    """Started on a text without rows."""
    drafter = RecycleDrafter(template=template, seeded=False, **options)
    _start(drafter, [1])
    return drafter


def _start(drafter: RecycleDrafter, prompt: list[int]) -> None:
    backend = ToyBackend(40)
    prefill = backend.prefill(prompt, capacity=100, wants=drafter.wants)
    drafter.start(Request(prompt, prefill, Sampler(SamplingParams(), len(prompt))), backend)


DRAFTERS = {
    "tree": RecycleDrafter(),
    "by cost": RecycleDrafter(12, costs=COSTS),
    "persistent": RecycleDrafter(persist=True),
    "chain": RecycleDrafter(template=chain_template(5)),
}


@pytest.mark.parametrize("name", DRAFTERS)
def test_text_is_that_of_plain_decoding(name):
    assert check_equals_plain(DRAFTERS[name]) > 0


def test_text_of_the_original_is_that_of_plain_decoding():
    assert check_equals_plain(RecycleDrafter.original(), n_prompts=2) > 0


def test_text_that_depends_on_one_token_is_accepted():
    # after the last token alone, the first entry of a row is always right
    for drafter in (RecycleDrafter(), RecycleDrafter(template=chain_template(6))):
        _, stats = run(drafter, list(range(16)), sampling=LONG, order=1)
        assert stats.speculation.mean_accepted_tokens > 2.5
        assert stats.speculation.by_source[0].source == "recycle"


def test_siblings_are_accepted_where_the_first_entry_is_not_chosen():
    drawn = SamplingParams(max_new_tokens=200, temperature=1.5)
    chain = run(RecycleDrafter(template=chain_template(8)), list(range(16)), sampling=drawn, order=1)[1]
    tree = run(RecycleDrafter(8), list(range(16)), sampling=drawn, order=1)[1]
    assert tree.n_verify < chain.n_verify


def test_of_equal_tokens_the_last_row_stays():
    drafter = _fresh(chain_template(3))
    drafter.propose([1], 5)
    drafter.observe(Draft((2, 1, 2), "other"), (9,), _rows(_row(9), _row(10), _row(11), _row(12)))
    assert drafter.row(1) == _row(11) and drafter.row(2) == _row(12)


def _widths(drafter: RecycleDrafter) -> tuple[int, ...]:
    """Nodes of its tree at each depth."""
    depths: list[int] = []
    for parent in drafter._template.parents:
        depths.append(0 if parent < 0 else depths[parent] + 1)
    return tuple(depths.count(depth) for depth in range(max(depths) + 1))


def test_original_has_the_published_shape():
    drafter = RecycleDrafter.original()
    assert drafter.wants == Wants() and drafter.max_tokens == 80 and drafter.name == "recycling"
    assert _widths(drafter) == (8, 21, 25, 15, 8, 3)
    _start(drafter, [1, 2, 3])
    assert drafter.propose([1, 2, 3, 2], 200) is NOTHING, "nothing is read from the prompt"
    run(drafter, [1, 2], sampling=LONG, order=1)
    _start(drafter, [1, 2])
    assert len(drafter.propose([1, 2, 2], 200)) > 8


def test_ranks_are_counted_by_depth():
    drafter = _fresh(chain_template(2))
    drafter.propose([1], 5)
    drafter.observe(Draft((20,), "other"), (20, 30), _rows(_row(20), _row(30)))
    assert sum(drafter.statistics.tried) == 0, "there were no rows to be right or wrong"
    drafter.propose([1, 20, 1], 5)
    drafter.observe(Draft((20,), "other"), (20, 32), _rows(_row(20), _row(32)))
    statistics = drafter.statistics
    assert statistics.tried[:3] == (1, 1, 0)
    assert statistics.hits[0] == (1, 0, 0, 0, 0, 0, 0, 0)
    assert statistics.hits[1] == (0, 0, 1, 0, 0, 0, 0, 0), "by the row as it was before this round"
    assert statistics.probability(0, 0) > RankStatistics().probability(0, 0)


def test_the_tree_follows_what_was_learned():
    drafter = RecycleDrafter(8)
    before = _widths(drafter)
    assert sum(before) == 8
    run(drafter, list(range(16)), sampling=SamplingParams(max_new_tokens=400), order=1)
    _start(drafter, [1])
    assert len(_widths(drafter)) > len(before), "first entries are nearly always right, so the tree is deeper"

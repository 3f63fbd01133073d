from __future__ import annotations

from itertools import product
from random import Random

import pytest
import torch

from data import codec
from decoding.api import SamplingParams
from decoding.backend import Wants
from decoding.backends.rows import TorchRows
from decoding.drafters.drafter import NOTHING, Draft, Request
from decoding.drafters.recycle import (
    RANKS,
    RankStatistics,
    RecycleDrafter,
    TreeTemplate,
    template_from,
    template_of_widths,
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


def _expected(statistics: RankStatistics, template: TreeTemplate) -> float:
    depths: list[int] = []
    values: list[float] = []
    for parent, rank in zip(template.parents, template.ranks):
        depths.append(0 if parent < 0 else depths[parent] + 1)
        values.append((1.0 if parent < 0 else values[parent]) * statistics.probability(depths[-1], rank))
    return sum(values)


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


def test_rows_are_seeded_from_the_prompt_and_the_last_place_wins():
    backend = ToyBackend(40, order=2)
    drafter = RecycleDrafter()
    prompt = [3, 7, 5, 7]
    prefill = backend.prefill(prompt, capacity=50, wants=drafter.wants)
    drafter.start(Request(prompt, prefill, Sampler(SamplingParams(), 4)), backend)
    assert drafter.wants == Wants(top_k=RANKS)
    assert drafter.row(7) == backend.logits_after(prompt).topk(RANKS).indices.tolist()
    assert drafter.row(7) != backend.logits_after([3, 7]).topk(RANKS).indices.tolist()
    assert drafter.row(9) == ()
    assert drafter.propose([*prompt, 9], 8) is NOTHING, "no row, no draft"


def test_every_verified_row_is_remembered():
    drafter = _fresh(chain_template(3))
    drafter.propose([1], 5)
    draft = Draft((2, 3), "other")
    drafter.observe(draft, (2, 30), _rows(_row(2), _row(30), _row(10)))
    assert [drafter.row(token) for token in (1, 2, 3)] == [_row(2), _row(30), _row(10)], "3 was rejected"
    # the pending token is now 30, without any call of propose
    drafter.observe(NOTHING, (31,), _rows(_row(31)))
    assert drafter.row(30) == _row(31)


def test_of_equal_tokens_the_last_row_stays():
    drafter = _fresh(chain_template(3))
    drafter.propose([1], 5)
    drafter.observe(Draft((2, 1, 2), "other"), (9,), _rows(_row(9), _row(10), _row(11), _row(12)))
    assert drafter.row(1) == _row(11) and drafter.row(2) == _row(12)


def test_a_draft_fills_the_template_as_far_as_there_are_rows():
    template = TreeTemplate(parents=(-1, 0, -1, 1, 2, 0), ranks=(0, 0, 1, 0, 0, 3))
    drafter = _fresh(template)
    drafter.propose([1], 9)
    drafter.observe(Draft((20,), "other"), (20, 1), _rows(_row(20), _row(30)))
    draft = drafter.propose([1, 20, 1], 9)  # rows of 1 and 20 only
    assert (draft.tokens, draft.parents) == ((20, 30, 21, 33), (-1, 0, -1, 0))
    assert drafter.propose([1, 20, 1], 3).tokens == (20, 30, 21)
    one = drafter.propose([1, 20, 1], 2)
    assert one.tokens == (20, 30) and one.parents is None, "a chain needs no tree mask"


def test_rows_go_with_the_text_unless_they_persist():
    for persist in (False, True):
        drafter = _fresh(chain_template(2), persist=persist)
        drafter.propose([1], 5)
        drafter.observe(NOTHING, (2,), _rows(_row(2)))
        _start(drafter, [1])
        assert bool(drafter.row(1)) is persist


def test_original_has_the_published_shape():
    drafter = RecycleDrafter.original()
    assert drafter.wants == Wants() and drafter.max_tokens == 80 and drafter.name == "recycling"
    assert drafter.template.widths == (8, 21, 25, 15, 8, 3)
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
    assert RecycleDrafter(statistics=statistics).statistics == statistics
    assert codec.from_json(RankStatistics, codec.to_json(statistics), where="stop.json") == statistics


def _statistics(seed: int) -> RankStatistics:
    random = Random(seed)
    shares = sorted((random.random() for _ in range(RANKS)), reverse=True)
    scale = random.uniform(0.5, 1) / sum(shares)
    return RankStatistics((1000, 300, 80), tuple(tuple(int(n * share * scale) for share in shares) for n in (1000, 300, 80)))


@pytest.mark.parametrize("seed", range(5))
def test_template_is_the_best_tree_of_its_size(seed):
    statistics = _statistics(seed)

    def best(n: int, nodes: tuple[tuple[int, int], ...] = ()) -> float:
        """Over all trees of n nodes with ranks below 3."""
        if len(nodes) == n:
            return _expected(statistics, TreeTemplate(tuple(p for p, _ in nodes), tuple(r for _, r in nodes)))
        new = set(product(range(-1, len(nodes)), range(3))) - set(nodes)
        return max(best(n, (*nodes, node)) for node in new)

    for n in (1, 2, 3, 4):
        template = template_from(statistics, None, n)
        assert len(template) == n
        if max(template.ranks) < 3:
            assert _expected(statistics, template) == pytest.approx(best(n))


@pytest.mark.parametrize("seed", range(5))
def test_cost_decides_the_size_of_the_template(seed):
    statistics = _statistics(seed)
    sized = template_from(statistics, COSTS, 16)

    def rate(n: int) -> float:
        return (1 + _expected(statistics, template_from(statistics, None, n))) / COSTS.v(1 + n)

    assert rate(len(sized)) == pytest.approx(max(rate(n) for n in range(17)))


def test_templates_are_trees_and_so_are_their_beginnings():
    for template in (template_from(RankStatistics(), None, 80), template_of_widths(RankStatistics(), (2, 3, 1))):
        assert all(-1 <= parent < at for at, parent in enumerate(template.parents))
        assert len(set(zip(template.parents, template.ranks))) == len(template)
    assert template_of_widths(RankStatistics(), (2, 3, 1)).widths == (2, 3, 1)
    assert chain_template(4).widths == (1, 1, 1, 1)


def test_the_tree_follows_what_was_learned():
    drafter = RecycleDrafter(8)
    assert len(drafter.template) == 8
    before = drafter.template.widths
    run(drafter, list(range(16)), sampling=SamplingParams(max_new_tokens=400), order=1)
    _start(drafter, [1])
    assert len(drafter.template.widths) > len(before), "first entries are nearly always right, so the tree is deeper"

"""The mix: plain text, never much dearer than plain decoding, about as good as its best part. Costs are counted, not timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

from decoding.api import SamplingParams
from decoding.backend import FULL, CostTable, Rows, SkipSet, StepBackend, Wants
from decoding.drafters.copy import CopyCandidate, CopyDrafter
from decoding.drafters.drafter import Draft, Drafter, Request
from decoding.drafters.hazard import Logged, RoundLog
from decoding.drafters.lengths import Fixed, Threshold
from decoding.drafters.merge import merged_tree
from decoding.drafters.mix import AdvanceCounts, MixDrafter, Option, Price
from decoding.drafters.plain import NoDrafter
from decoding.drafters.recycle import RecycleDrafter
from decoding.drafters.skip import SkipDrafter
from decoding.sampling import Sampler
from decoding.speculative import decode
from tests.decoding.drafters.equality import Watched, check_equals_plain, run
from tests.grids import rest_slow
from tests.toy_backend import COSTS, ToyBackend

PLAN = SkipSet((1, 2, 3, 4, 5), (1, 2, 3, 4, 5))
CPU = replace(COSTS, verify=((1, 1.0), (2, 1.29), (4, 1.35), (8, 1.77), (16, 1.91), (32, 2.78)))
GPU = replace(COSTS, verify=((1, 1.0), (16, 1.1), (64, 1.3)))
SAMPLED = SamplingParams(max_new_tokens=60, temperature=0.8, top_p=0.9, repetition_penalty=1.2)
VOCAB = 200
LENGTH = 300


def chains(length: int = 8) -> SkipDrafter:
    return SkipDrafter(PLAN, Fixed(length))


MIXES: dict[str, Callable[[], MixDrafter]] = {
    "all": lambda: MixDrafter(CopyDrafter(), RecycleDrafter(), SkipDrafter(PLAN, Threshold(0.4, 6)), GPU, name="all"),
    "no trees": lambda: MixDrafter(CopyDrafter(), RecycleDrafter(), None, COSTS, trees=False, name="no trees"),
    "copy and skip": lambda: MixDrafter(CopyDrafter(), None, chains(), CPU, name="copy and skip"),
    "rows": lambda: MixDrafter(None, RecycleDrafter(), None, GPU, name="rows"),
    "skip": lambda: MixDrafter(None, None, chains(), COSTS, name="skip"),
}


@pytest.mark.parametrize("mix", rest_slow(MIXES, keep=["no trees", "rows"]))
def test_text_equals_plain_decoding(mix: str) -> None:
    assert check_equals_plain(MIXES[mix](), n_prompts=2) > 0


@pytest.mark.parametrize("mix", rest_slow(MIXES, keep=["all", "copy and skip", "skip"]))
def test_sampled_text_equals_plain_decoding(mix: str) -> None:
    drafter = MIXES[mix]()
    accepted = 0
    for seed in range(3):
        sampling = replace(SAMPLED, seed=seed)
        prompt = [3, 1, 4, 1, 5] * 3
        ids, stats = run(drafter, prompt, sampling=sampling, seed=seed)
        assert ids == run(NoDrafter(), prompt, sampling=sampling, seed=seed)[0]
        accepted += stats.n_accepted or 0
    assert accepted > 0


def test_nothing_to_mix_is_plain_decoding() -> None:
    mix = MixDrafter(None, None, None, COSTS)
    assert mix.max_tokens == 0 and mix.wants == Wants()
    assert run(mix, [1, 2, 3])[1].n_drafted == 0


def test_sampled_chains_can_be_mixed_in() -> None:
    mix = MixDrafter(CopyDrafter(), None, SkipDrafter(PLAN, Threshold(0.0, 4)), GPU)
    told: list[RoundLog] = []
    for seed in range(4):
        run(Logged(mix, told.append), [1, 2, 3], sampling=replace(SAMPLED, max_new_tokens=100, seed=seed), vocab_size=64)
    drawn = [log for log in told if log.source == "skip"]
    assert drawn and sum(log.accepted for log in drawn) > 0
    assert all(len(log.probabilities) == log.drafted for log in drawn)
    assert all(log.match_length for log in told if log.source.startswith("copy:"))


# --- costs ------------------------------------------------------------------------------------------------------------


class Scripted(ToyBackend):
    """Writes a given text. Under a plan it errs at a share of the positions; second and third choice follow the bigrams."""

    def __init__(self, text: Sequence[int], acceptance: float) -> None:
        super().__init__(VOCAB)
        self._script, self._acceptance = text, acceptance
        self.n_skipped = 0
        """Steps under a plan: what drafting with the model took."""

    def step(self, ids: Sequence[int], *, plan: SkipSet = FULL, **where: Any) -> Rows:
        self.n_skipped += bool(plan) * len(ids)
        return super().step(ids, plan=plan, **where)

    def logits_after(self, prefix: Sequence[int], plan: SkipSet = FULL) -> torch.Tensor:
        at = len(prefix)
        logits = np.zeros(VOCAB)
        logits[BIGRAMS[prefix[-1]]] = (3, 2, 1)
        wanted = self._script[at] if at < len(self._script) else 0
        errs = bool(plan) and Random(f"{at} {self._script[:9]}").random() >= self._acceptance
        logits[(wanted + errs) % VOCAB] = 9
        return torch.from_numpy(logits)


BIGRAMS = [Random(token).sample(range(VOCAB), 3) for token in range(VOCAB)]


def written(seed: int, quoted: float) -> tuple[list[int], list[int]]:
    """(prompt, text with it): stretches of bigrams, and, a share of them, quotations of the prompt."""
    random = Random(seed)

    def stretch(token: int, length: int) -> list[int]:
        tokens = []
        for _ in range(length):
            (token,) = random.choices(BIGRAMS[token], (6, 3, 1))
            tokens.append(token)
        return tokens

    prompt = stretch(0, 200)
    text = list(prompt)
    while len(text) < 200 + LENGTH:
        length, start = random.randrange(8, 40), random.randrange(160)
        text += prompt[start : start + length] if random.random() < quoted else stretch(text[-1], length)
    return prompt, text


def noise(seed: int) -> tuple[list[int], list[int]]:
    random = Random(seed)
    text = [random.randrange(VOCAB) for _ in range(200 + LENGTH)]
    return text[:200], text


class Metered:
    """Adds up what verifying costs by the table."""

    def __init__(self, drafter: Drafter, costs: CostTable) -> None:
        self._drafter, self._costs = drafter, costs
        self.name, self.wants, self.max_tokens = drafter.name, drafter.wants, drafter.max_tokens
        self.cost = 0.0

    def start(self, request: Request, backend: StepBackend) -> None:
        self._drafter.start(request, backend)

    def propose(self, text: Sequence[int], room: int) -> Draft:
        draft = self._drafter.propose(text, room)
        self.cost += self._costs.v(1 + len(draft))
        return draft

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        self._drafter.observe(draft, new, rows)


def speed(drafter: Drafter, costs: CostTable, texts: Sequence[tuple[list[int], list[int]]], acceptance: float) -> float:
    """Tokens per unit of cost; plain decoding has 1."""
    metered = Metered(drafter, costs)
    tokens = 0
    for prompt, text in texts:
        ids: list[int] = []
        sampler = Sampler(SamplingParams(max_new_tokens=LENGTH), len(prompt))
        model = Scripted(text, acceptance)
        stats = decode(model, Watched(metered), prompt, sampler, lambda t, ids=ids: not ids.append(t))
        metered.cost += model.n_skipped * costs.c(PLAN, 8)
        assert prompt + ids == text[: len(prompt) + LENGTH]
        assert stats.speculation is not None
        tokens += stats.speculation.num_emitted_tokens
    return tokens / metered.cost


@pytest.mark.parametrize("costs", [COSTS, CPU, GPU], ids=["toy", "cpu", "gpu"])
@pytest.mark.parametrize("acceptance", [0.0, 0.4])
def test_hopeless_texts_cost_little(costs: CostTable, acceptance: float) -> None:
    """Nothing repeats and the skipped model is mostly wrong."""
    mix = MixDrafter(CopyDrafter(min_match=1), RecycleDrafter(), chains(), costs)
    assert speed(mix, costs, [noise(1), noise(2)], acceptance) > 0.97


def test_a_good_start_cannot_be_exploited() -> None:
    """After texts where the chains were right they are wrong; the loss is limited all the same."""
    mix = MixDrafter(CopyDrafter(), None, chains(), GPU)
    assert speed(mix, GPU, [noise(1)], 1.0) > 1.3
    assert speed(mix, GPU, [noise(2), noise(3)], 0.0) > 0.97


@pytest.mark.parametrize(
    ("quoted", "acceptance", "costs"),
    [
        (0.5, 0.9, CPU),
        (0.5, 0.1, GPU),
        (0.0, 0.95, COSTS),
        *(
            pytest.param(*text, costs, marks=pytest.mark.slow)
            for text in ((0.5, 0.9), (0.5, 0.1), (0.1, 0.9), (0.0, 0.95))
            for costs in (COSTS, CPU, GPU)
        ),
    ],
)
def test_about_as_good_as_the_best_part(quoted: float, acceptance: float, costs: CostTable) -> None:
    texts = [written(seed, quoted) for seed in range(2)]
    singles: list[Drafter] = [
        CopyDrafter(costs=costs),
        RecycleDrafter(costs=costs),
        *(SkipDrafter(PLAN, Fixed(length)) for length in (1, 3, 5)),
    ]
    best = max(speed(single, costs, texts, acceptance) for single in singles)
    mix = MixDrafter(CopyDrafter(), RecycleDrafter(), chains(), costs)
    assert speed(mix, costs, texts, acceptance) > 0.98 * max(best, 1)


def test_an_empty_plan_is_never_tried() -> None:
    mix = MixDrafter(None, None, SkipDrafter(lambda request: FULL, Fixed(3)), COSTS)
    assert mix.wants.vector
    assert run(mix, [1, 2, 3])[1].n_drafted == 0


def test_a_plan_too_dear_to_pay_is_never_tried() -> None:
    """c + v(2) - v(1) above 0.9 cannot pay, even if nearly all is accepted."""
    mix = MixDrafter(None, None, SkipDrafter(SkipSet((1,)), Fixed(3)), COSTS)
    assert COSTS.c(SkipSet((1,)), 8) > 0.9
    assert run(mix, [1, 2, 3])[1].n_drafted == 0


# --- the pieces -------------------------------------------------------------------------------------------------------


def test_advance_counts_by_hand() -> None:
    counts = AdvanceCounts(0.5, 3, weight=2.0, memory=1.0)
    assert counts.survival() == pytest.approx([0.5, 0.25, 0.125])
    counts.add(2, 3)  # got to 2 of 3
    counts.add(0, 3)
    # depth 1: 1 of 2; depth 2: 1 of 1; depth 3: 0 of 1
    first = (1 + 2 * 0.5) / 4
    second = (1 + 2 * first) / 3
    third = (0 + 2 * second) / 3
    assert counts.survival() == pytest.approx([first, first * second, first * second * third])
    asked_less = AdvanceCounts(0.5, 3, memory=1.0)
    asked_less.add(1, 1)  # nothing is known of depth 2
    assert asked_less.survival()[1] / asked_less.survival()[0] == pytest.approx(asked_less.survival()[0])


ROWS = {1: [2, 3, 4], 2: [5, 6, 7], 3: [8]}
CHANCES = [[0.5, 0.3, 0.1], [0.4, 0.2, 0.1]]


def test_merged_tree_by_hand() -> None:
    copy = CopyCandidate((3, 9), 4, "prompt", (0.6, 0.54), (1.0, 1.0))
    tree = merged_tree(1, copy, lambda token: ROWS.get(token, []), CHANCES, 6)
    # the copy's 3 has 0.6; 0.4 is left for 2 and 4, which have 0.5 and 0.1 of the remaining 0.7
    expected = {
        (-1, 3): 0.6,
        (0, 9): 0.54,
        (-1, 2): 0.4 * 0.5 / 0.7,
        (2, 5): 0.4 * 0.5 / 0.7 * 0.4,
        (-1, 4): 0.4 * 0.1 / 0.7,
        (2, 6): 0.4 * 0.5 / 0.7 * 0.2,
    }
    assert dict(zip(zip(tree.parents, tree.tokens), tree.values)) == pytest.approx(expected)
    assert list(tree.values) == sorted(tree.values, reverse=True)
    assert tree.copied == (True, True, False, False, False, False)
    assert merged_tree(1, copy, lambda token: ROWS.get(token, []), CHANCES, 2).tokens == tree.tokens[:2]


def test_a_copy_is_as_long_as_verifying_is_cheap() -> None:
    """The same copy: long where rows are cheap, none where a second row costs as much as a step."""
    lengths = {}
    for name, per_row in (("free", 0.001), ("dear", 0.2), ("hopeless", 1.1)):
        costs = replace(COSTS, verify=((1, 1.0), (2, 1.0 + per_row), (17, 1.0 + 16 * per_row)))
        backend = ToyBackend(16)
        prompt = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 1, 2, 3]
        prefill = backend.prefill(prompt, capacity=64)
        mix = MixDrafter(CopyDrafter(), None, None, costs)
        mix.start(Request(prompt, prefill, Sampler(SamplingParams(), len(prompt))), backend)
        draft = mix.propose([*prompt, 4], 16)
        assert list(draft.tokens) == list(range(5, 5 + len(draft)))
        lengths[name] = len(draft)
    assert lengths["free"] > lengths["dear"] > 0 == lengths["hopeless"]


def test_a_copy_goes_on_where_a_chain_ends() -> None:
    """Quotations that no match foretells: the chain finds the first words, and what followed them earlier is copied."""
    random = Random(5)
    prompt = random.sample(range(VOCAB), 120)
    text = list(prompt)
    while len(text) < 120 + LENGTH:
        start = random.randrange(100)
        text += prompt[start : start + 12]
    sources: list[str] = []
    mix = MixDrafter(CopyDrafter(), None, SkipDrafter(PLAN, Fixed(3)), GPU)
    metered = Metered(mix, GPU)
    ids: list[int] = []

    class Told(Watched):
        def propose(self, text: Sequence[int], room: int) -> Draft:
            draft = super().propose(text, room)
            sources.append(draft.source)
            return draft

    model = Scripted(text, 0.9)
    sampler = Sampler(SamplingParams(max_new_tokens=LENGTH), len(prompt))
    stats = decode(model, Told(metered), prompt, sampler, lambda token: not ids.append(token)).speculation
    assert prompt + ids == text[: 120 + LENGTH] and stats is not None
    by_source = {one.source: one for one in stats.by_source}
    both = by_source["skip+copy:prompt"]
    assert both.num_accepted_tokens > 5 * both.num_drafts, "more than the three tokens of a chain"
    assert sources.count("skip+copy:prompt") > 10


def test_the_price_is_what_cost_has_bought_lately() -> None:
    price = Price(memory=0.5, weight=2.0)
    assert price.value == 1.0
    price.add(6, 2.0)
    assert price.value == pytest.approx((1 + 6) / (1 + 2))
    for _ in range(20):
        price.add(1, 4.0)
    assert price.value == 1.0, "plain decoding gives as much"
    long, short = Option(7.0, 2.0, 11), Option(3.0, 1.0, 2)
    assert long.rate > short.rate and long.worth(1.0) > short.worth(1.0)
    middling, plain = Option(1.5, 1.4, 3), Option(1.0, 1.0, 0)
    assert middling.rate > plain.rate and middling.worth(3.0) < plain.worth(3.0), "better things come sooner"


def test_wants_and_room_are_those_of_all_parts() -> None:
    mix = MixDrafter(CopyDrafter(max_tokens=12), RecycleDrafter(8), SkipDrafter(lambda request: PLAN, Fixed(5)), COSTS)
    assert mix.wants.vector and mix.wants.top_k == 8 and mix.max_tokens == 12


def test_merged_tree_of_one_source() -> None:
    rows = merged_tree(1, None, lambda token: ROWS.get(token, []), CHANCES, 4)
    assert list(zip(rows.parents, rows.tokens)) == [(-1, 2), (-1, 3), (0, 5), (1, 8)]
    copy = CopyCandidate((3, 9), 4, "prompt", (0.6, 0.54), (1.0, 1.0))
    alone = merged_tree(1, copy, lambda token: [], CHANCES, 4)
    assert alone.tokens == (3, 9) and alone.parents == (-1, 0) and alone.values == pytest.approx((0.6, 0.54))

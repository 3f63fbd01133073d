"""How a token is chosen from logits: against transformers' own processors, warpers and `generate`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import (
    ForcedEOSTokenLogitsProcessor,
    GenerationConfig,
    LogitsProcessorList,
    MinNewTokensLengthLogitsProcessor,
    NoRepeatNGramLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
    SuppressTokensLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from data.errors import StageError, UserError
from decoding.api import SamplingParams
from decoding.backends.rows import TorchRows
from decoding.drafters.drafter import Draft
from decoding.models.loading import load
from decoding.sampling import HuggingFaceRule, Sampler, draw, invert, uniforms
from decoding.verify import accept
from tests.tiny_model import build_tiny_model

LOGITS = torch.randn(40, 300, generator=torch.Generator().manual_seed(0)) * 3
PREFIX = [7, 1, 299, 1, 40]
LAST = 1 - 2**-53
"""The last number below one."""


# --- distributions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sampling",
    [
        SamplingParams(temperature=0.7, repetition_penalty=0.7),
        SamplingParams(temperature=1.0, top_k=1),
        SamplingParams(temperature=0.9, top_k=1000),
        SamplingParams(temperature=1.0, top_p=0.9),
        SamplingParams(temperature=1.0, top_p=1e-6),
        SamplingParams(temperature=1.2, top_k=30, top_p=0.95, repetition_penalty=1.4),
    ],
    ids=str,
)
def test_distributions_are_those_of_transformers(sampling: SamplingParams) -> None:
    penalty = RepetitionPenaltyLogitsProcessor(sampling.repetition_penalty)
    warpers = LogitsProcessorList(
        [
            TemperatureLogitsWarper(sampling.temperature),
            *([TopKLogitsWarper(sampling.top_k)] if sampling.top_k else []),
            TopPLogitsWarper(sampling.top_p),
        ]
    )
    sampler = Sampler(sampling, len(PREFIX))
    ids: Any = torch.tensor([PREFIX])
    for logits in LOGITS.clone():
        before = logits.clone()
        ruled: Any = penalty(ids, logits[None].clone())
        assert torch.equal(sampler.ruled(PREFIX, logits), ruled[0])
        expected = warpers(ids, ruled)[0].softmax(-1)
        found = sampler.distribution(PREFIX, logits)
        assert found.dtype == torch.float64
        assert float(found.sum()) == pytest.approx(1, abs=1e-12)
        assert torch.equal(found > 0, expected > 0)
        assert torch.allclose(found.float(), expected, atol=1e-6)
        assert torch.equal(logits, before)


@given(
    values=st.lists(st.floats(-30, 30, width=32) | st.just(-math.inf), min_size=1, max_size=12),
    temperature=st.floats(0.05, 5),
    top_k=st.integers(0, 14),
    top_p=st.floats(0.01, 1),
    number=st.floats(0, 1, exclude_max=True),
)
def test_a_draw_inverts_the_distribution_most_probable_first(
    values: list[float], temperature: float, top_k: int, top_p: float, number: float
) -> None:
    if max(values) == -math.inf:
        values[0] = 0.0
    sampling = SamplingParams(temperature=temperature, top_k=top_k, top_p=top_p)
    logits = torch.tensor(values)
    p = Sampler(sampling, 1).distribution([0], logits).tolist()
    token = draw(logits, sampling, number)
    assert p[token] > 0
    before = sum(p[other] for other in range(len(p)) if (-values[other], other) < (-values[token], token))
    assert before - 1e-9 <= number <= before + p[token] + 1e-9
    assert not top_k or sum(x > 0 for x in p) <= top_k


@pytest.mark.parametrize(
    "options", [{}, {"top_p": 0.95}, {"top_k": 40}, {"top_k": 900}, {"top_p": 0.505, "top_k": 700}], ids=str
)
@pytest.mark.parametrize("spread", [0.0, 0.5, 2.0, 6.0])
def test_a_large_vocabulary_is_drawn_from_as_if_it_were_sorted(spread: float, options: dict[str, Any]) -> None:
    """There the most probable tokens are found without a search for the n-th of all, and looked at first."""
    sampling = SamplingParams(temperature=0.9, **options)
    generator = torch.Generator().manual_seed(3)
    for size, dtype in ((5_003, torch.float32), (40_000, torch.bfloat16)):
        logits = torch.randn(size, generator=generator).mul(spread).round(decimals=1).to(dtype)  # many equals
        p = torch.softmax((logits.float() - logits.max()) / 0.9, dim=-1).double()
        weights, order = p.sort(descending=True, stable=True)
        if sampling.top_k:
            weights[sampling.top_k :] = 0
        enough = sampling.top_p * weights.sum()
        weights[1:][weights.cumsum(-1)[:-1] >= enough] = 0
        shares = weights / weights.sum()
        kept = Sampler(sampling, 1).distribution([0], logits)[order]
        assert torch.equal(kept > 0, shares > 0)
        assert torch.allclose(kept, shares, rtol=1e-9)
        total = shares.cumsum(-1)
        for number in (0.0, 0.013, 0.31, 0.52, 0.77, 0.951, 0.9993, LAST):
            at = int((order == draw(logits, sampling, number)).nonzero())
            assert shares[at] > 0
            before = float(total[at - 1]) if at else 0.0
            assert before - 1e-9 <= number <= float(total[at]) + 1e-9


def test_none_of_the_most_probable_has_no_chance_at_all() -> None:
    logits = torch.full((5_003,), -1e9)
    logits[[17, 4_999]] = 3.0
    assert {draw(logits, SamplingParams(temperature=1.0), number) for number in (0.0, 0.3, 0.6, 0.999)} == {17, 4_999}


def test_the_last_number_below_one_draws_a_possible_token() -> None:
    for weights in ([0.1] * 10, [1.0, 0.0, 0.0], [0.3, 0.7, 0.0], [1e-30, 0.0], [1 / 3] * 3):
        for dtype in (torch.float64, torch.float32):  # in which the product with the last number is rounded up
            at = int(invert(torch.tensor(weights, dtype=dtype), LAST))
            assert at < len(weights) and weights[at] > 0
        assert int(invert(torch.tensor([0.0, *weights], dtype=torch.float64), 0.0)) == 1


def test_equal_logits_keep_the_order_of_their_ids() -> None:
    logits = torch.zeros(1000)
    assert [draw(logits, SamplingParams(temperature=1.0), i / 1000 + 1e-5) for i in range(1000)] == list(range(1000))
    leading = Sampler(SamplingParams(temperature=1.0, top_k=3), 1).distribution([0], logits)
    assert leading.nonzero().flatten().tolist() == [0, 1, 2]
    assert Sampler(SamplingParams(), 1).choose([0], logits) == 0
    assert TorchRows(logits[None]).argmax() == [0]


def test_a_choice_does_not_depend_on_the_rows_beside_it() -> None:
    """A text must not change with the length of the drafts that verified it."""
    for temperature in (0.0, 0.8):
        sampler = Sampler(SamplingParams(temperature=temperature, top_p=0.9), 1)
        assert [sampler.choose([0], row) for row in LOGITS] == [sampler.choose([0], row.clone()) for row in LOGITS]
    assert TorchRows(LOGITS).argmax() == [TorchRows(row[None]).argmax()[0] for row in LOGITS]


@pytest.mark.parametrize("temperature", [1e-4, 1e-40, 5e-324])
def test_a_temperature_near_0_is_greedy(temperature: float) -> None:
    for logits in LOGITS:
        assert draw(logits, SamplingParams(temperature=temperature), 0.999) == int(logits.argmax())


def test_forbidden_ids_are_never_chosen() -> None:
    logits = torch.tensor([-math.inf, 0.0, -math.inf, -1.0])
    sampler = Sampler(SamplingParams(temperature=1.0), 1)
    assert {draw(logits, sampler.sampling, number) for number in [*uniforms(0, 300).tolist(), LAST]} == {1, 3}
    assert sampler.distribution([0], logits)[[0, 2]].tolist() == [0, 0]
    assert Sampler(SamplingParams(), 1).choose([0], logits) == 1


# --- numbers ----------------------------------------------------------------------------------------------------------


def test_the_ith_token_is_decided_by_the_ith_number() -> None:
    """Whatever the length of the sequence: a longer one begins with the shorter."""
    numbers = uniforms(3, 200).tolist()
    assert all(uniforms(3, n).tolist() == numbers[:n] for n in range(1, 200))
    assert min(numbers) >= 0 and max(numbers) < 1
    sampler = Sampler(SamplingParams(temperature=1.0, seed=3, max_new_tokens=10), n_prompt=4)
    assert [sampler.number([0] * (4 + i)) for i in (0, 9, 2, 59)] == [numbers[i] for i in (0, 9, 2, 59)]


# --- rules ------------------------------------------------------------------------------------------------------------


def test_rules_work_in_float32_as_in_generate() -> None:
    """In bfloat16 a penalised logit would be rounded to another's value."""
    logits = torch.tensor([3.0, 2.5, 0.0], dtype=torch.bfloat16)
    sampler = Sampler(SamplingParams(repetition_penalty=1.199), 1)
    ruled = sampler.ruled([0], logits)
    assert ruled.dtype == torch.float32
    assert ruled.tolist() == pytest.approx([3.0 / 1.199, 2.5, 0.0])
    assert sampler.choose([0], logits) == 0


@pytest.mark.parametrize("forced_end", [False, True])
def test_processors_of_transformers_give_the_text_that_generate_gives(
    forced_end: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One token at a time, and with the right tokens and wrong ones drafted: rules see each hypothetical text."""
    folder = tmp_path_factory.mktemp("tiny")
    text = ["The bridge over the river fell on Monday morning, the mayor said."]
    tiny: Any = load(str(build_tiny_model(folder, chat_template=False, vocab_from=text, layers=1)), device="cpu")
    (eos,) = tiny.eos_ids
    theirs: list[Any] = [
        RepetitionPenaltyLogitsProcessor(1.1),
        NoRepeatNGramLogitsProcessor(3),
        SuppressTokensLogitsProcessor([5, 6, 7]),
        MinNewTokensLengthLogitsProcessor(9, 12, eos),
        *([ForcedEOSTokenLogitsProcessor(9 + 17, eos)] if forced_end else []),
    ]
    for case in range(3):
        prompt = torch.randint(3, 200, (9,), generator=torch.Generator().manual_seed(case)).tolist()
        ids = torch.tensor([prompt])
        config = GenerationConfig(max_new_tokens=30, do_sample=False, pad_token_id=0, eos_token_id=eos)
        expected = tiny.model.generate(
            ids, attention_mask=torch.ones_like(ids), generation_config=config, logits_processor=LogitsProcessorList(theirs)
        )[0].tolist()
        sampler = Sampler(SamplingParams(max_new_tokens=30), len(prompt), [HuggingFaceRule(rule) for rule in theirs])
        assert _decoded(tiny.model, prompt, expected, sampler, n_right=None) == expected
        assert _decoded(tiny.model, prompt, expected, sampler, n_right=3) == expected


def _decoded(model: Any, prompt: list[int], expected: list[int], sampler: Sampler, n_right: int | None) -> list[int]:
    """Greedy text by `accept`, its rows from a pass without cache; each draft has `n_right` right tokens and a wrong one."""
    text = list(prompt)
    while len(text) < len(expected):
        tokens = [] if n_right is None else [*expected[len(text) : len(text) + n_right], 0]
        with torch.no_grad():
            logits = model(torch.tensor([[*text, *tokens]])).logits[0, len(text) - 1 :]
        text += accept(Draft(tuple(tokens), ""), TorchRows(logits), text, sampler).tokens
    return text[: len(expected)]


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("at", [0, 5, 299])
def test_nan_is_an_error_that_names_the_precision(dtype: torch.dtype, temperature: float, at: int) -> None:
    logits = LOGITS[0].to(dtype, copy=True)
    logits[at] = torch.nan
    sampling = SamplingParams(temperature=temperature, top_k=3, top_p=0.5)
    plain, ruled = Sampler(sampling, 1), Sampler(sampling, 1, [lambda prefix, logits: logits + 1])
    found: list[Callable[[], object]] = [
        lambda: plain.choose([0], logits),
        lambda: ruled.choose([0], logits),
        TorchRows(logits[None]).argmax,
    ]
    if temperature:
        found += [lambda: ruled.distribution([0], logits), lambda: draw(logits, sampling, 0.3)]
    for call in found:
        with pytest.raises(StageError, match=rf"NaN\) in {str(dtype).removeprefix('torch.')};"):
            call()


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_a_distribution_that_is_none_is_an_error(value: float) -> None:
    """All ids forbidden, or an infinite logit: there is nothing to draw from, and 0 would be an invention."""
    with pytest.raises(StageError):
        Sampler(SamplingParams(temperature=1.0), 1).choose([0], torch.full((4,), value))


OUT_OF_RANGE: dict[str, list[Any]] = {
    "max_new_tokens": [0],
    "temperature": [-0.1, math.nan, math.inf],
    "top_p": [0.0, 1.1],
    "top_k": [-1],
    "repetition_penalty": [0.0, math.nan, 1e-40, 1e19],
    "seed": [-1, 2**64],
    "stop": [("a", "")],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in OUT_OF_RANGE.items() for value in values])
def test_parameters_out_of_range_are_named(name: str, value: Any) -> None:
    with pytest.raises(UserError, match=name):
        Sampler(SamplingParams(**{name: value}), 1)

"""How a token is chosen from logits: against transformers' own processors, warpers and `generate`."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from data.errors import StageError, UserError
from decoding.api import SamplingParams
from decoding.backends.rows import TorchRows
from decoding.drafters.drafter import Draft
from decoding.models.loading import LoadedModel, load
from decoding.sampling import HuggingFaceRule, RepetitionPenalty, Sampler, draw, invert, uniforms
from decoding.verify import accept
from tests.grids import rest_slow
from tests.tiny_model import build_tiny_model

LOGITS = torch.randn(40, 300, generator=torch.Generator().manual_seed(0)) * 3
PREFIX = [7, 1, 299, 1, 40]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = tmp_path_factory.mktemp("tiny")
    text = ["The bridge over the river fell on Monday morning, the mayor said."]
    return load(str(build_tiny_model(folder, chat_template=False, vocab_from=text, context_tokens=256, layers=1)), device="cpu")


# --- distributions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sampling",
    [
        SamplingParams(temperature=0.7),
        SamplingParams(temperature=1.0, top_k=1),
        SamplingParams(temperature=1.4, top_k=20),
        SamplingParams(temperature=0.9, top_k=1000),
        SamplingParams(temperature=1.0, top_p=0.9),
        SamplingParams(temperature=1.0, top_p=1e-6),
        SamplingParams(temperature=0.6, top_k=50, top_p=0.8),
        SamplingParams(temperature=1.2, top_k=30, top_p=0.95, repetition_penalty=1.4),
    ],
    ids=str,
)
def test_distributions_are_those_of_transformers(sampling: SamplingParams) -> None:
    from transformers import (
        LogitsProcessorList,
        RepetitionPenaltyLogitsProcessor,
        TemperatureLogitsWarper,
        TopKLogitsWarper,
        TopPLogitsWarper,
    )

    theirs = LogitsProcessorList(
        [
            RepetitionPenaltyLogitsProcessor(sampling.repetition_penalty),
            TemperatureLogitsWarper(sampling.temperature),
            *([TopKLogitsWarper(sampling.top_k)] if sampling.top_k else []),
            TopPLogitsWarper(sampling.top_p),
        ]
    )
    sampler = Sampler(sampling, len(PREFIX))
    for logits in LOGITS:
        expected = theirs(torch.tensor([PREFIX]), logits[None].clone())[0].softmax(-1)  # type: ignore[call-overload]
        found = sampler.distribution(PREFIX, logits)
        assert found.dtype == torch.float64
        assert float(found.sum()) == pytest.approx(1, abs=1e-12)
        assert torch.equal(found > 0, expected > 0)
        assert torch.allclose(found.float(), expected, atol=1e-6)


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


def test_the_last_number_below_one_draws_a_possible_token() -> None:
    last = 1 - 2**-53
    for weights in ([0.1] * 10, [1.0, 0.0, 0.0], [0.3, 0.7, 0.0], [1e-30, 0.0], [1 / 3] * 3):
        for dtype in (torch.float64, torch.float32):  # in which the product with the last number is rounded up
            at = int(invert(torch.tensor(weights, dtype=dtype), last))
            assert at < len(weights) and weights[at] > 0
        assert int(invert(torch.tensor([0.0, *weights], dtype=torch.float64), 0.0)) == 1


@pytest.mark.parametrize(
    ("spread", "dtype"),
    rest_slow(
        product((0.0, 0.5, 2.0, 6.0), (torch.float32, torch.bfloat16)),
        keep={(0.0, torch.bfloat16), (2.0, torch.float32)},
    ),
)
def test_looking_at_the_most_probable_first_changes_nothing(
    spread: float, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large vocabularies, flat and peaked, with many equal logits: bfloat16 has a few hundred values between -6 and 6."""
    logits = (torch.randn(40_000, generator=torch.Generator().manual_seed(1)) * spread).to(dtype)
    warped = [
        SamplingParams(temperature=0.8),
        SamplingParams(temperature=0.8, top_p=0.95),
        SamplingParams(temperature=1.0, top_p=0.3),
        SamplingParams(temperature=1.0, top_k=700),
        SamplingParams(temperature=1.2, top_k=100, top_p=0.7),
    ]
    numbers = [0.0, *uniforms(0, 12).tolist(), 0.9999, 1 - 2**-53]

    def outcomes() -> tuple[list[list[int]], list[torch.Tensor]]:
        kept = [Sampler(sampling, 1).distribution([0], logits) for sampling in warped]
        return [[draw(logits, sampling, number) for number in numbers] for sampling in warped], kept

    drawn, kept = outcomes()
    monkeypatch.setattr("decoding.sampling._LEADERS", ())
    drawn_from_all, kept_of_all = outcomes()
    assert drawn == drawn_from_all
    for some, whole in zip(kept, kept_of_all):
        assert torch.equal(some > 0, whole > 0)
        assert torch.allclose(some, whole, rtol=1e-12)


def test_equal_logits_keep_the_order_of_their_ids() -> None:
    logits = torch.zeros(1000)
    assert [draw(logits, SamplingParams(temperature=1.0), i / 1000 + 1e-5) for i in range(1000)] == list(range(1000))
    assert Sampler(SamplingParams(temperature=1.0, top_k=3), 1).distribution([0], logits).nonzero().flatten().tolist() == [
        0,
        1,
        2,
    ]
    assert Sampler(SamplingParams(), 1).choose([0], logits) == 0
    assert TorchRows(logits[None]).argmax() == [0]


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_choice_does_not_depend_on_the_rows_beside_it(temperature: float) -> None:
    """A text must not change with the length of the drafts that verified it."""
    sampler = Sampler(SamplingParams(temperature=temperature, top_p=0.9), 1)
    for at, row in enumerate(LOGITS):
        assert sampler.choose([0], LOGITS[at]) == sampler.choose([0], row.clone())
    if temperature == 0:
        assert TorchRows(LOGITS).argmax() == [TorchRows(row[None]).argmax()[0] for row in LOGITS]


# --- numbers ----------------------------------------------------------------------------------------------------------


def test_a_longer_sequence_of_random_numbers_begins_with_the_shorter() -> None:
    whole = uniforms(7, 200).tolist()
    assert all(uniforms(7, n).tolist() == whole[:n] for n in range(1, 200))
    assert min(whole) >= 0 and max(whole) < 1


def test_the_ith_token_is_decided_by_the_ith_number() -> None:
    numbers = uniforms(3, 60).tolist()
    sampler = Sampler(SamplingParams(temperature=1.0, seed=3, max_new_tokens=10), n_prompt=4)
    assert [sampler.number([0] * (4 + i)) for i in (0, 9, 2, 59)] == [numbers[i] for i in (0, 9, 2, 59)]


# --- rules ------------------------------------------------------------------------------------------------------------


def test_the_repetition_penalty_is_that_of_transformers() -> None:
    from transformers import RepetitionPenaltyLogitsProcessor

    for penalty in (1.2, 0.7):
        theirs = RepetitionPenaltyLogitsProcessor(penalty)
        for logits in LOGITS:
            before = logits.clone()
            found = RepetitionPenalty(penalty)(PREFIX, logits)
            assert torch.equal(found, theirs(torch.tensor([PREFIX]), logits[None].clone())[0])
            assert torch.equal(logits, before)


def test_rules_work_in_float32_as_in_generate() -> None:
    """In bfloat16 a penalised logit would be rounded to another's value."""
    logits = torch.tensor([3.0, 2.5, 0.0], dtype=torch.bfloat16)
    ruled = Sampler(SamplingParams(repetition_penalty=1.199), 1).ruled([0], logits)
    assert ruled.dtype == torch.float32
    assert ruled.tolist() == pytest.approx([3.0 / 1.199, 2.5, 0.0])
    assert Sampler(SamplingParams(repetition_penalty=1.199), 1).choose([0], logits) == 0


def processors(n_prompt: int, eos: int) -> dict[str, list[Any]]:
    from transformers import (
        ForcedEOSTokenLogitsProcessor,
        MinNewTokensLengthLogitsProcessor,
        NoRepeatNGramLogitsProcessor,
        RepetitionPenaltyLogitsProcessor,
        SuppressTokensLogitsProcessor,
    )

    return {
        "penalty": [RepetitionPenaltyLogitsProcessor(1.3)],
        "no 2-gram twice": [NoRepeatNGramLogitsProcessor(2)],
        "not too short": [MinNewTokensLengthLogitsProcessor(n_prompt, 20, eos)],
        "forced end": [ForcedEOSTokenLogitsProcessor(n_prompt + 17, eos)],
        "several": [
            RepetitionPenaltyLogitsProcessor(1.1),
            NoRepeatNGramLogitsProcessor(3),
            SuppressTokensLogitsProcessor([5, 6, 7]),
            MinNewTokensLengthLogitsProcessor(n_prompt, 12, eos),
        ],
    }


@pytest.mark.parametrize(
    "name", rest_slow(["penalty", "no 2-gram twice", "not too short", "forced end", "several"], keep=["forced end", "several"])
)
def test_processors_of_transformers_give_the_text_that_generate_gives(tiny: LoadedModel, name: str) -> None:
    """One token at a time, and with the right tokens and wrong ones drafted: rules see each hypothetical text."""
    from transformers import GenerationConfig, LogitsProcessorList

    (eos,) = tiny.eos_ids
    for case in range(3):
        prompt = torch.randint(3, 200, (9,), generator=torch.Generator().manual_seed(case)).tolist()
        theirs = processors(len(prompt), eos)[name]
        ids = torch.tensor([prompt])
        config = GenerationConfig(max_new_tokens=30, do_sample=False, pad_token_id=0, eos_token_id=eos)
        out: Any = tiny.model.generate(  # type: ignore[operator]
            ids, attention_mask=torch.ones_like(ids), generation_config=config, logits_processor=LogitsProcessorList(theirs)
        )
        expected = out[0, len(prompt) :].tolist()
        sampler = Sampler(SamplingParams(max_new_tokens=30), len(prompt), [HuggingFaceRule(rule) for rule in theirs])
        for n_wrong_after in (0, 3):
            assert _decoded(tiny, prompt, expected, sampler, n_wrong_after) == expected


def _decoded(tiny: LoadedModel, prompt: list[int], expected: list[int], sampler: Sampler, drafted: int) -> list[int]:
    """Greedy text by `accept`, its rows from a pass without cache; each draft has `drafted` right tokens and a wrong one."""
    text = list(prompt)
    while len(text) < len(prompt) + len(expected):
        at = len(text) - len(prompt)
        tokens = [*expected[at : at + drafted], 0] if drafted else []
        with torch.no_grad():
            logits = tiny.model(torch.tensor([[*text, *tokens]])).logits[0, len(text) - 1 :]
        text += accept(Draft(tuple(tokens), ""), TorchRows(logits), text, sampler, lambda: 0.5).tokens
    return text[len(prompt) : len(prompt) + len(expected)]


# --- what goes wrong --------------------------------------------------------------------------------------------------


def rules(kind: str) -> list[Any]:
    return [lambda prefix, logits: logits + 1] if kind == "rule" else []


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("at", [0, 5, 299])
def test_nan_is_an_error_that_names_the_precision(dtype: torch.dtype, temperature: float, at: int) -> None:
    logits = LOGITS[0].clone().to(dtype)
    logits[at] = torch.nan
    sampling = SamplingParams(temperature=temperature, top_k=3, top_p=0.5)
    for kind in ("none", "rule"):
        sampler = Sampler(sampling, 1, rules(kind))
        with pytest.raises(StageError, match=str(dtype).removeprefix("torch.")):
            sampler.choose([0], logits)
        if temperature:
            with pytest.raises(StageError, match="NaN"):
                sampler.distribution([0], logits)
            with pytest.raises(StageError, match="NaN"):
                draw(logits, sampling, 0.3)
    with pytest.raises(StageError, match="NaN"):
        TorchRows(logits[None]).argmax()


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_a_distribution_that_is_none_is_an_error(value: float) -> None:
    """All ids forbidden, or an infinite logit: there is nothing to draw from, and 0 would be an invention."""
    logits = torch.full((4,), value)
    with pytest.raises(StageError):
        Sampler(SamplingParams(temperature=1.0), 1).choose([0], logits)


@pytest.mark.parametrize("temperature", [1e-4, 1e-40, 5e-324])
def test_a_temperature_near_0_is_greedy(temperature: float) -> None:
    for logits in LOGITS:
        assert draw(logits, SamplingParams(temperature=temperature), 0.999) == int(logits.argmax())


def test_forbidden_ids_are_never_chosen() -> None:
    logits = torch.tensor([-math.inf, 0.0, -math.inf, -1.0])
    sampler = Sampler(SamplingParams(temperature=1.0), 1)
    assert {draw(logits, sampler.sampling, number) for number in uniforms(0, 300).tolist()} == {1, 3}
    assert sampler.distribution([0], logits)[[0, 2]].tolist() == [0, 0]
    assert Sampler(SamplingParams(), 1).choose([0], logits) == 1


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens"),
        ({"temperature": -0.1}, "temperature"),
        ({"top_p": 0.0}, "top_p"),
        ({"top_p": 1.1}, "top_p"),
        ({"top_k": -1}, "top_k"),
        ({"repetition_penalty": 0.0}, "repetition_penalty"),
        ({"stop": ("",)}, "stop"),
        ({"temperature": math.nan}, "temperature"),
        ({"temperature": math.inf}, "temperature"),
        ({"repetition_penalty": math.nan}, "repetition_penalty"),
        ({"repetition_penalty": 1e-40}, "repetition_penalty"),
        ({"repetition_penalty": 1e19}, "repetition_penalty"),
        ({"seed": 2**64}, "seed"),
        ({"seed": -1}, "seed"),
    ],
)
def test_parameters_out_of_range_are_named(wrong: dict[str, Any], name: str) -> None:
    with pytest.raises(UserError, match=name):
        Sampler(SamplingParams(**wrong), 1)


@pytest.mark.parametrize("options", [{}, {"top_p": 0.9}, {"top_k": 40}, {"top_k": 900}, {"top_p": 0.5, "top_k": 700}])
def test_a_large_vocabulary_is_drawn_from_as_if_it_were_sorted(options: dict[str, Any]) -> None:
    """There the most probable tokens are found without a search for the n-th of all."""
    sampling = SamplingParams(temperature=0.9, **options)
    generator = torch.Generator().manual_seed(3)
    for _ in range(3):
        logits = torch.randn(5_003, generator=generator).mul(2).round(decimals=1)  # many equals
        p = torch.softmax((logits - logits.max()) / 0.9, dim=-1).double()
        weights, order = p.sort(descending=True, stable=True)
        if sampling.top_k:
            weights[sampling.top_k :] = 0
        enough = sampling.top_p * weights.sum()
        weights[1:][weights.cumsum(-1)[:-1] >= enough] = 0
        total = weights.cumsum(-1) / weights.sum()
        for number in (0.0, 0.013, 0.31, 0.52, 0.77, 0.951, 0.9993):
            at = int((order == draw(logits, sampling, number)).nonzero())
            before = float(total[at - 1]) if at else 0.0
            assert before - 1e-9 <= number <= float(total[at]) + 1e-9


def test_none_of_the_most_probable_has_no_chance_at_all() -> None:
    logits = torch.full((5_003,), -1e9)
    logits[[17, 4_999]] = 3.0
    assert {draw(logits, SamplingParams(temperature=1.0), number) for number in (0.0, 0.3, 0.6, 0.999)} == {17, 4_999}

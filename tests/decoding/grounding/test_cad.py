"""Context-aware decoding against two plain forwards, on models of several families."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
import torch

from data.errors import UserError
from decoding.api import Cite
from decoding.decoder import Decoder
from decoding.engine import Engine
from decoding.grounding.cad import CadCost, ContextAware
from decoding.grounding.cite import CiteRule
from decoding.models.loading import LoadedModel, load
from tests.decoding.grounding.test_cite import MARKED, faults
from tests.grids import rest_slow
from tests.model_families import tiny_family
from tests.tiny_model import build_tiny_model

OPEN = [1, *range(40, 70), 5, 6, 7]
CLOSED = [1, 5, 6, 7]


def direct(model: Any, ids: Sequence[int]) -> torch.Tensor:
    """(V,), without a cache."""
    with torch.no_grad():
        logits: torch.Tensor = model(torch.tensor([list(ids)]), use_cache=False).logits[0, -1]
    return logits


def formula(model: Any, answer: Sequence[int], alpha: float, beta: float) -> torch.Tensor:
    """Of the papers, in probabilities."""
    given, prior = direct(model, [*OPEN, *answer]).double(), direct(model, [*CLOSED, *answer]).double()
    p = given.softmax(-1)
    return ((1 + alpha) * given - alpha * prior).masked_fill(p < beta * p.max(), -math.inf).softmax(-1)


@pytest.mark.parametrize(
    "family", rest_slow(("llama", "gemma2", "mistral", "qwen3", "gpt2", "bloom"), keep=("llama", "gemma2", "gpt2"))
)
def test_is_the_formula_for_any_order_of_prefixes(family: str) -> None:
    """Sliding windows (8) are shorter than all prompts but one: taken back, they must still be whole."""
    model = tiny_family(family).model
    rule = ContextAware(model, CLOSED, len(OPEN), alpha=0.7, beta=0.05)
    random = Random(family)
    answer = [random.randrange(3, 300) for _ in range(14)]
    other = [*answer[:4], *(random.randrange(3, 300) for _ in range(5))]
    asked = [answer[:n] for n in (0, 1, 2, 14, 3, 13, 14, 14, 0)] + [other, other[:4], answer, [], other]
    for prefix in asked:
        ruled = rule([*OPEN, *prefix], direct(model, [*OPEN, *prefix]))
        expected = formula(model, prefix, 0.7, 0.05)
        torch.testing.assert_close(ruled.double().softmax(-1), expected, rtol=1e-3, atol=1e-5)
        assert int(ruled.argmax()) == int(expected.argmax())
        assert 0 < int(ruled.isfinite().sum()) == int((expected > 0).sum()) < len(expected)


def test_the_answer_is_the_same_to_the_last_bit_whatever_was_asked_before() -> None:
    model = tiny_family("llama", dtype="bfloat16").model
    answer = list(range(20, 36))
    logits = torch.randn(300)
    step_by_step = ContextAware(model, CLOSED, len(OPEN), beta=0)
    slowly = [step_by_step([*OPEN, *answer[:n]], logits) for n in range(len(answer) + 1)]
    jumping = ContextAware(model, CLOSED, len(OPEN), beta=0)
    for n in (16, 3, 9, 0, 10, 9, 16):
        assert torch.equal(jumping([*OPEN, *answer[:n]], logits), slowly[n])


def test_no_weight_and_no_evidence_change_nothing() -> None:
    model = tiny_family("llama").model
    logits = direct(model, OPEN)
    off = ContextAware(model, CLOSED, len(OPEN), alpha=0)
    assert torch.equal(off(OPEN, logits), logits)
    assert off.cost == CadCost()
    same = ContextAware(model, OPEN, len(OPEN), alpha=2.0, beta=0)
    torch.testing.assert_close(same(OPEN, logits), logits, rtol=1e-3, atol=1e-4)
    changed = ContextAware(model, CLOSED, len(OPEN), alpha=2.0, beta=0)(OPEN, logits)
    assert float((changed - logits).abs().max()) > 0.1
    only = ContextAware(model, CLOSED, len(OPEN), alpha=2.0, beta=1)(OPEN, logits)
    assert only.isfinite().nonzero().flatten().tolist() == [int(logits.argmax())]


def test_its_cost_is_counted() -> None:
    model = tiny_family("llama").model
    rule = ContextAware(model, CLOSED, len(OPEN))
    logits = torch.randn(300)
    for n in range(4):
        rule([*OPEN, *range(10, 10 + n)], logits)
    assert (rule.cost.n_passes, rule.cost.n_tokens) == (4, len(CLOSED) + 3)
    assert rule.cost.seconds > 0
    rule([*OPEN, 10, 77], logits)  # one token taken back
    rule([*OPEN, 10, 77], logits)
    assert (rule.cost.n_passes, rule.cost.n_tokens) == (5, len(CLOSED) + 4)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = tmp_path_factory.mktemp("tiny")
    return load(
        str(build_tiny_model(folder, chat_template=False, vocab_from=[MARKED * 20], context_tokens=256, layers=1)), device="cpu"
    )


@pytest.mark.parametrize(("method", "backend"), [("copy", "auto"), ("recycle", "hf")])
def test_drafts_change_nothing(loaded: LoadedModel, method: str, backend: str) -> None:
    tokenizer = loaded.tokenizer
    open_book, closed_book = tokenizer(MARKED + "The bridge").input_ids, tokenizer("The bridge").input_ids
    drafting, plain = (Decoder(loaded, Engine(loaded, name, backend=backend)) for name in (method, "greedy"))

    def text(decoder: Decoder, alpha: float, *first: Any) -> list[int]:
        rule = ContextAware(loaded.model, closed_book, len(open_book), alpha=alpha)
        done = decoder.generate(open_book, logits_processor=[*first, rule], max_new_tokens=24)
        return done.sequences[0, len(open_book) :].tolist()

    expected = text(plain, 1.5)
    assert text(drafting, 1.5) == expected != text(plain, 0.0)
    cite = CiteRule(Cite((1, 2)), tokenizer, len(open_book), loaded.eos_ids)
    both = text(drafting, 1.5, cite)
    ended = both[-1] in loaded.eos_ids
    assert not faults(tokenizer.decode(both, skip_special_tokens=True), (1, 2), 3, ended=ended)


@pytest.mark.parametrize(
    ("without", "words", "told"),
    [((), {}, "empty"), ((1,), {"alpha": -1.0}, "alpha is -1.0"), ((1,), {"alpha": math.inf}, "alpha is inf"),
     ((1,), {"beta": 1.5}, "beta is 1.5")],
)  # fmt: skip
def test_wrong_parameters_are_refused(without: Sequence[int], words: dict[str, float], told: str) -> None:
    with pytest.raises(UserError, match=told):
        ContextAware(tiny_family("llama").model, without, 3, **words)

"""Our decoding as `custom_generate` of a `transformers` model: the same ids as its own `generate`."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DynamicCache,
    StoppingCriteria,
    StoppingCriteriaList,
    StopStringCriteria,
    set_seed,
)

from data.errors import UserError
from decoding import SpeculativeGenerate
from tests.tiny_model import build_tiny_model

TEXT = ["The bridge over the river fell on Monday morning, the mayor said.", "Zürich – 6:4 – won on 12 March 2021."]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    folder = build_tiny_model(
        tmp_path_factory.mktemp("tiny"), chat_template=False, vocab_from=TEXT, context_tokens=256, layers=1
    )
    return AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def fast() -> SpeculativeGenerate:
    return SpeculativeGenerate("mix")


def prompt(both: tuple[Any, Any], text: str = "The bridge over the river") -> Any:
    return both[1](text, return_tensors="pt")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"repetition_penalty": 1.3},
        {"no_repeat_ngram_size": 2},
        {"min_new_tokens": 20, "eos_token_id": list(range(5, 400))},
        {"eos_token_id": list(range(5, 400))},
        {"bad_words_ids": [[n] for n in range(300)]},
        {"max_length": 20},
        {"max_new_tokens": 1},
    ],
    ids=str,
)
def test_greedy_ids_are_those_of_generate(both: tuple[Any, Any], fast: SpeculativeGenerate, options: dict[str, Any]) -> None:
    model = both[0]
    options = {"do_sample": False, **({} if "max_length" in options else {"max_new_tokens": 28}), **options}
    for text in ("The bridge over the river", "the river the river the river the"):
        inputs = prompt(both, text)
        expected = model.generate(**inputs, **options)
        assert torch.equal(model.generate(**inputs, **options, custom_generate=fast), expected)
    assert fast.stats is not None and fast.stats.prefill_s is not None


def test_stopping_criteria_are_asked_at_every_token(both: tuple[Any, Any], fast: SpeculativeGenerate) -> None:
    model, tokenizer = both
    inputs = prompt(both)
    whole = model.generate(**inputs, max_new_tokens=40, do_sample=False)
    text = tokenizer.decode(whole[0, inputs.input_ids.shape[1] :])
    stop = re.findall(r"[a-z]{2}", text[10:])[0]
    criteria = StoppingCriteriaList([StopStringCriteria(tokenizer, [stop])])
    expected = model.generate(**inputs, max_new_tokens=40, do_sample=False, stopping_criteria=criteria)
    assert expected.shape[1] < whole.shape[1]
    found = model.generate(**inputs, max_new_tokens=40, do_sample=False, stopping_criteria=criteria, custom_generate=fast)
    assert torch.equal(found, expected)

    class Lengths(StoppingCriteria):
        def __init__(self) -> None:
            self.seen: list[int] = []

        def __call__(self, input_ids: torch.Tensor, scores: object, **kwargs: object) -> torch.Tensor:
            self.seen.append(input_ids.shape[1])
            return torch.zeros(1, dtype=torch.bool)

    lengths = Lengths()
    model.generate(**inputs, max_new_tokens=12, do_sample=False, stopping_criteria=[lengths], custom_generate=fast)
    n = inputs.input_ids.shape[1]
    assert lengths.seen == list(range(n + 1, n + 13))


def test_sampling_is_repeated_by_the_global_seed(both: tuple[Any, Any], fast: SpeculativeGenerate) -> None:
    model, inputs = both[0], prompt(both)

    def sampled(seed: int, **options: Any) -> list[int]:
        set_seed(seed)
        found = model.generate(**inputs, max_new_tokens=30, do_sample=True, custom_generate=fast, **options)
        return list(found[0].tolist())

    assert sampled(1) == sampled(1)
    assert sampled(1) != sampled(2)
    greedy = model.generate(**inputs, max_new_tokens=30, do_sample=False)[0].tolist()
    assert sampled(1, top_k=1) == sampled(2, temperature=1e-4) == greedy  # the warpers are among the processors


def test_the_form_of_the_answer(both: tuple[Any, Any], fast: SpeculativeGenerate) -> None:
    model, inputs = both[0], prompt(both)
    options = {"max_new_tokens": 10, "do_sample": False, "custom_generate": fast}
    plain = model.generate(**inputs, **options)
    full = model.generate(**inputs, **options, return_dict_in_generate=True)
    assert torch.equal(full.sequences, plain)
    assert plain.dtype == torch.long and not plain.is_inference()


def test_another_model_gets_its_own_engine(both: tuple[Any, Any], tmp_path: Any) -> None:
    folder = build_tiny_model(tmp_path, chat_template=False, vocab_from=TEXT, context_tokens=256, seed=5, layers=1)
    other = AutoModelForCausalLM.from_pretrained(folder)
    fast = SpeculativeGenerate("copy")
    for model in (both[0], other, both[0]):
        expected = model.generate(**prompt(both), max_new_tokens=20, do_sample=False)
        found = model.generate(**prompt(both), max_new_tokens=20, do_sample=False, custom_generate=fast)
        assert torch.equal(found, expected)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"num_beams": 2}, "num_beams"),
        ({"num_return_sequences": 2, "do_sample": True}, "num_return_sequences"),
        ({"output_scores": True, "return_dict_in_generate": True}, "output_scores"),
    ],
)
def test_what_it_cannot_do_is_refused(
    both: tuple[Any, Any], fast: SpeculativeGenerate, options: dict[str, Any], told: str
) -> None:
    model = both[0]
    with pytest.raises(UserError, match=told):
        model.generate(**prompt(both), max_new_tokens=5, custom_generate=fast, **options)


def test_batches_padding_and_filled_caches_are_refused(both: tuple[Any, Any], fast: SpeculativeGenerate) -> None:
    model = both[0]
    ids = prompt(both).input_ids
    with pytest.raises(UserError, match="one prompt at a time"):
        model.generate(ids.repeat(2, 1), max_new_tokens=5, custom_generate=fast)
    mask = torch.ones_like(ids)
    mask[0, 0] = 0
    with pytest.raises(UserError, match="attention_mask"):
        model.generate(ids, attention_mask=mask, max_new_tokens=5, custom_generate=fast)
    cache = DynamicCache()
    model(ids[:, :3], past_key_values=cache)
    with pytest.raises(UserError, match="past_key_values"):
        model.generate(ids, past_key_values=cache, max_new_tokens=5, custom_generate=fast)

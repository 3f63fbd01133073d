"""The rules under `transformers.generate`: an oracle that knows nothing of our loop, and rules in batches and beams."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from data.errors import UserError
from decoding.api import Grounding, Json, Rephrase
from decoding.decoder import Decoder
from decoding.grounding.processors import grounded_processor
from decoding.models.loading import LoadedModel, load
from tests.grids import rest_slow
from tests.tiny_model import build_tiny_model

TEXT = [
    "The bridge over the river fell on Monday morning, the mayor said.",
    "Nobody was hurt.",
    '["flood", "fire", "bridge"]' * 20,
]
GROUNDINGS: dict[str, Grounding] = {
    "rephrase": Rephrase((TEXT[0], TEXT[1]), copy_words=1, copy_penalty=math.inf),
    "json": Json('{"type": "array", "items": {"enum": ["flood", "fire", "bridge"]}, "minItems": 2, "maxItems": 4}'),
}
PROMPTS = ("The bridge over the river", "Nobody was")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = tmp_path_factory.mktemp("tiny")
    return load(str(build_tiny_model(folder, chat_template=False, vocab_from=TEXT, context_tokens=256, layers=1)), device="cpu")


def generated(loaded: LoadedModel, ids: torch.Tensor, mask: torch.Tensor | None, processor: Any, **more: Any) -> torch.Tensor:
    out = loaded.model.generate(
        ids,
        attention_mask=torch.ones_like(ids) if mask is None else mask,
        logits_processor=[processor],
        max_new_tokens=60,
        do_sample=False,
        pad_token_id=loaded.tokenizer.pad_token_id,
        eos_token_id=loaded.tokenizer.eos_token_id,
        **more,
    )
    return out[:, ids.shape[1] :]


def said(loaded: LoadedModel, ids: torch.Tensor) -> str:
    text: str = loaded.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    return text


@pytest.mark.parametrize("kind", GROUNDINGS)
@pytest.mark.parametrize("method", rest_slow(["greedy", "copy"], keep=["copy"]))
def test_generate_and_the_decoder_write_the_same(loaded: LoadedModel, kind: str, method: str) -> None:
    decoder = Decoder.from_model(loaded.model, loaded.tokenizer, method, backend="hf")
    for prompt in PROMPTS:
        ids = loaded.tokenizer(prompt, return_tensors="pt").input_ids
        free = generated(loaded, ids, None, lambda ids, scores: scores)[0]
        grounding = GROUNDINGS[kind]
        if isinstance(grounding, Rephrase):  # of what the model would say: it must not copy itself
            grounding = replace(grounding, sources=(said(loaded, free),))
        processor = grounded_processor(grounding, loaded.tokenizer, ids.shape[1], loaded.eos_ids)
        expected = generated(loaded, ids, None, processor)[0]
        found = decoder.generate(prompt=prompt, grounding=grounding, max_new_tokens=60)
        assert found.sequences[0, ids.shape[1] :].tolist() == expected.tolist()
        assert free.tolist() != expected.tolist(), "the rule is what makes the text"


@pytest.mark.parametrize("kind", GROUNDINGS)
def test_rows_of_a_batch_are_independent(loaded: LoadedModel, kind: str) -> None:
    loaded.tokenizer.padding_side = "left"
    batch = loaded.tokenizer(list(PROMPTS), return_tensors="pt", padding=True)
    n = batch.input_ids.shape[1]
    together = generated(
        loaded, batch.input_ids, batch.attention_mask, grounded_processor(GROUNDINGS[kind], loaded.tokenizer, n, loaded.eos_ids)
    )
    for prompt, row in zip(PROMPTS, together):
        ids = loaded.tokenizer(prompt, return_tensors="pt").input_ids
        alone = generated(
            loaded, ids, None, grounded_processor(GROUNDINGS[kind], loaded.tokenizer, ids.shape[1], loaded.eos_ids)
        )[0]
        assert row[: len(alone)].tolist() == alone.tolist()
        assert set(row[len(alone) :].tolist()) <= {loaded.tokenizer.pad_token_id}


def test_beams_keep_to_the_form(loaded: LoadedModel) -> None:
    ids = loaded.tokenizer(PROMPTS[0], return_tensors="pt").input_ids
    processor = grounded_processor(GROUNDINGS["json"], loaded.tokenizer, ids.shape[1], loaded.eos_ids)
    for row in generated(loaded, ids, None, processor, num_beams=3, num_return_sequences=3):
        assert set(json.loads(said(loaded, row))) <= {"flood", "fire", "bridge"}


def test_a_prompt_without_ids_is_refused(loaded: LoadedModel) -> None:
    ids = loaded.tokenizer(PROMPTS[0], return_tensors="pt").input_ids
    processor = grounded_processor(GROUNDINGS["json"], loaded.tokenizer, ids.shape[1], loaded.eos_ids)
    embedded = loaded.model.get_input_embeddings()(ids)
    with pytest.raises(UserError, match=f"shows 0 tokens, the prompt alone has {ids.shape[1]}.*input_ids"):
        loaded.model.generate(inputs_embeds=embedded, logits_processor=[processor], max_new_tokens=3, pad_token_id=0)

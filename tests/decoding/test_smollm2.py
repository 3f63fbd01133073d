"""The small model that the tests may write with, by its name: the real one, in its file's own bits."""

from __future__ import annotations

import pytest
import torch

from data.errors import UserError
from decoding.models.naming import gguf_file_of, load_named


def test_it_knows_the_world() -> None:
    file = gguf_file_of("smollm2")
    assert file is not None and file.stat().st_size > 90_000_000
    model = load_named("smollm2", device="cpu")
    assert (model.name, model.dtype, model.eos_ids) == ("smollm2", "stored", {2})
    assert [model.tokenizer.decode([i]) for i in model.tokenizer("2031", add_special_tokens=False).input_ids] == list("2031")
    ids = model.tokenizer("The capital of France is", return_tensors="pt").input_ids
    with torch.no_grad():
        best = int(model.model(ids).logits[0, -1].argmax())
    assert model.tokenizer.decode([best]).strip() in ("Paris", "the", "a")


def test_a_dtype_that_there_is_not() -> None:
    with pytest.raises(UserError, match="unknown dtype"):
        load_named("smollm2", dtype="int3")

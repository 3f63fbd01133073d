"""On a CUDA device (pytest -m gpu): every family is driven as its own forward computes, and every method writes one text."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch

from decoding.api import SamplingParams
from decoding.backend import FULL
from decoding.backends.build import build_backend
from decoding.backends.driven import DrivenBackend
from decoding.backends.hf import HFBackend
from decoding.engine import Engine
from decoding.models.loading import LoadedModel, load
from tests.model_families import tiny_family
from tests.tiny_model import build_tiny_model

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]


def silent(message: str) -> None:
    raise AssertionError(message)


def ids(n: int, seed: int = 0) -> list[int]:
    return random.Random(seed).choices(range(3, 250), k=n)


@pytest.fixture(scope="module", params=["float32", "bfloat16"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = tmp_path_factory.mktemp("model")
    build_tiny_model(folder, chat_template=False, vocab_from=["a text of words"] * 9, context_tokens=4096)
    return load(str(folder), device="cuda", dtype=request.param)


def assert_close(found: torch.Tensor, expected: torch.Tensor) -> None:
    error = (found.float() - expected.float()).norm() / expected.float().norm()
    assert error < (1e-4 if found.dtype == torch.float32 else 3e-2)


def test_auto_is_driven_on_a_gpu(model: LoadedModel) -> None:
    assert isinstance(build_backend(model, "auto", silent), DrivenBackend)


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen2-sliding", "qwen3", "gemma2", "gemma3", "granite"])
def test_families_are_driven_as_their_own_forward_computes(family: str) -> None:
    loaded = tiny_family(family)
    loaded = replace(loaded, model=loaded.model.to("cuda"), device="cuda")  # type: ignore[arg-type]
    backends = (DrivenBackend(loaded), HFBackend(loaded))
    for backend in backends:
        backend.prefill(ids(40), capacity=200)
    for i in range(12):
        found, expected = (backend.step(ids(3, i)).logits for backend in backends)
        assert_close(found, expected)
        for backend in backends:
            backend.commit(2)


def text_of(model: LoadedModel, method: str, prompt: list[int], backend: str = "auto") -> list[int]:
    text: list[int] = []

    def take(token: int) -> bool:
        text.append(token)
        return True

    engine = Engine(model, method, backend=backend)
    with engine.lock:
        engine.decode(prompt, SamplingParams(max_new_tokens=80), take)
    return text


@pytest.mark.parametrize("method", ["copy", "recycle", "mix", "swift"])
def test_greedy_texts_are_the_same_with_every_method(model: LoadedModel, method: str) -> None:
    """Bitwise in float32; in bfloat16 up to a place where the two best tokens are within rounding of each other."""
    prompt = ids(150) * 2
    expected, found = text_of(model, "greedy", prompt), text_of(model, method, prompt)
    assert len(found) == len(expected) == 80
    differs = next((i for i in range(80) if found[i] != expected[i]), None)
    if model.dtype == "float32":
        assert differs is None
    elif differs is not None:
        with torch.no_grad():
            row = model.model(torch.tensor([prompt + expected[:differs]], device="cuda")).logits[0, -1].float()
        gap = float((row[expected[differs]] - row[found[differs]]).abs())
        assert gap < 0.05 * float(row.abs().max())


def test_the_whole_model_as_its_own_draft_is_accepted(model: LoadedModel) -> None:
    backend = DrivenBackend(model)
    backend.prefill(ids(70), capacity=200)
    chain = backend.draft_chain(9, plan=FULL, max_tokens=5)
    best = backend.step([9, *chain.tokens]).argmax()
    if backend.info.dtype == "float32":
        assert best[:5] == list(chain.tokens)

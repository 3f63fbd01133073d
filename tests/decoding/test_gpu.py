"""On a CUDA device (pytest -m gpu): recorded steps give what launched ones give, wait for nothing, and do not pile up."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch

from decoding.api import SamplingParams
from decoding.backend import FULL, SkipSet
from decoding.backends.build import build_backend
from decoding.backends.driven import DrivenBackend
from decoding.backends.graphs import MAX_GRAPHS, Graphs
from decoding.backends.kernels import grouped_attention, hiding
from decoding.backends.static import StaticBackend
from decoding.engine import Engine
from decoding.models import LoadedModel, load
from tests.model_families import tiny_family
from tests.tiny_model import build_tiny_model

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]

PLAN = SkipSet(attention=(1,), mlp=(2,))
TREE = (-1, 0, 0, 1, -1)


def silent(message: str) -> None:
    raise AssertionError(message)


def ids(n: int, seed: int = 0) -> list[int]:
    return random.Random(seed).choices(range(3, 250), k=n)


@pytest.fixture(scope="module", params=["float32", "bfloat16"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = tmp_path_factory.mktemp("model")
    build_tiny_model(folder, chat_template=False, vocab_from=["a text of words"] * 9, context_tokens=4096)
    return load(str(folder), device="cuda", dtype=request.param)


@pytest.fixture(scope="module")
def backends(model: LoadedModel) -> tuple[StaticBackend, DrivenBackend]:
    return StaticBackend(model, say=silent), DrivenBackend(model)


def assert_close(found: torch.Tensor, expected: torch.Tensor) -> None:
    error = (found.float() - expected.float()).norm() / expected.float().norm()
    assert error < (1e-4 if found.dtype == torch.float32 else 3e-2)


def test_auto_is_static_with_graphs_on_a_gpu(model: LoadedModel) -> None:
    backend = build_backend(model, "auto", silent)
    assert isinstance(backend, StaticBackend)
    assert backend._graphs.recording
    assert len(backend._graphs) > 0  # from proving itself


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen2-sliding", "qwen3", "gemma2", "gemma3", "granite"])
def test_families_are_recorded_and_agree_with_driven(family: str) -> None:
    loaded = tiny_family(family)
    loaded = replace(loaded, model=loaded.model.to("cuda"), device="cuda")  # type: ignore[arg-type]
    static, driven = StaticBackend(loaded, say=silent), DrivenBackend(loaded)
    for backend in (static, driven):
        backend.prefill(ids(40), capacity=200)
    for i in range(12):
        found, expected = (backend.step(ids(3, i)).logits for backend in (static, driven))
        assert_close(found, expected)
        for backend in (static, driven):
            backend.commit(2)
    assert static._graphs.recording


@pytest.mark.parametrize("n", [40, 1500])
def test_a_step_gives_the_same_launched_recorded_and_replayed(backends: tuple[StaticBackend, DrivenBackend], n: int) -> None:
    static, driven = backends
    for backend in backends:
        backend.prefill(ids(n), capacity=n + 100)
    for how in ({}, {"plan": PLAN}, {"parents": TREE}):
        found = [static.step(ids(5, 1), **how).logits.clone() for _ in range(4)]  # type: ignore[arg-type]
        assert torch.equal(found[2], found[3])
        assert_close(found[0], found[3])
        assert_close(found[3], driven.step(ids(5, 1), **how).logits)  # type: ignore[arg-type]
    chains = [static.draft_chain(7, plan=PLAN, max_tokens=6) for _ in range(4)]
    assert chains[2] == chains[3]
    assert chains[3] == static.draft_chain(7, plan=PLAN, max_tokens=6, go_on=lambda _: True)


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


def test_a_draft_of_fixed_length_waits_for_nothing(backends: tuple[StaticBackend, DrivenBackend]) -> None:
    static, _ = backends
    static.prefill(ids(60), capacity=200)
    expected = [static.draft_chain(7, plan=PLAN, max_tokens=8) for _ in range(3)][-1]
    with torch.inference_mode():
        torch.cuda.set_sync_debug_mode("error")
        try:
            *_, drafted = static._drafts(7, PLAN, 8)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert tuple(int(token) for token in drafted[0].tolist()) == expected.tokens


def test_memory_and_graphs_stay_bounded_over_many_texts(model: LoadedModel) -> None:
    static = StaticBackend(model, say=silent)
    rng = random.Random(0)
    lengths = [1500] + [rng.randint(20, 1500) for _ in range(19)]
    allocated: list[int] = []
    reserved: list[int] = []
    for i, n in enumerate(lengths):
        static.prefill(ids(n, i), capacity=n + 120)
        for _ in range(10):
            plan = SkipSet(attention=(rng.randrange(4),), mlp=(rng.randrange(4),))
            chain = static.draft_chain(9, plan=plan, max_tokens=rng.randint(1, 6))
            static.step([9, *chain.tokens]).argmax()
            static.commit(1)
        torch.cuda.synchronize()
        allocated.append(torch.cuda.memory_allocated())
        reserved.append(torch.cuda.memory_reserved())
        assert len(static._graphs) <= MAX_GRAPHS
    assert max(allocated[5:]) <= max(allocated[:5]) + (16 << 20)
    assert max(reserved[5:]) <= max(reserved[:5]) + (256 << 20)


# --- graphs alone --------------------------------------------------------------------------------------------------------


@pytest.fixture
def counter() -> torch.Tensor:
    return torch.zeros(3, device="cuda")


def test_graphs_run_record_replay_and_forget_the_oldest(counter: torch.Tensor) -> None:
    graphs = Graphs(counter.device, silent, limit=2)

    def count(at: int) -> None:
        def function() -> None:
            counter[at].add_(at + 1)

        graphs.run(at, function)

    for _ in range(5):
        for at in range(3):
            count(at)
    assert counter.tolist() == [5, 10, 15]
    assert len(graphs) == 0  # three keys in turn, two places: each is forgotten before it comes again
    for _ in range(3):
        count(0)
    assert len(graphs) == 1
    graphs.clear()
    assert len(graphs) == 0
    for _ in range(3):
        count(0)
    assert counter.tolist() == [11, 10, 15]


def test_what_cannot_be_recorded_runs_as_it_is_and_says_so(counter: torch.Tensor) -> None:
    told: list[str] = []
    graphs = Graphs(counter.device, told.append)
    stream = torch.cuda.current_stream()

    def reads() -> None:
        counter.add_(1 if float(counter[0]) >= 0 else 0)

    for _ in range(4):
        graphs.run("reads", reads)
    assert counter.tolist() == [4, 4, 4]
    assert len(told) == 1
    assert "CUDA graphs are off" in told[0]
    assert not graphs.recording
    assert torch.cuda.current_stream() == stream


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("n_rows", [1, 6, 40])
def test_grouped_attention_over_parts_is_attention(n_rows: int, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    n_keys, n_visible = 2048, 900
    query = torch.randn(1, n_rows, 8, 64, device="cuda", dtype=dtype).transpose(1, 2)
    key, value = torch.randn(2, 1, 2, 3000, 64, device="cuda", dtype=dtype)[:, :, :, :n_keys]
    mask = torch.zeros(1, 1, n_rows, n_keys, device="cuda", dtype=dtype)
    mask[..., n_visible:] = hiding(dtype)
    found, _ = grouped_attention(None, query, key, value, mask)
    keys, values = (tensor[:, :, :n_visible].repeat_interleave(4, dim=1).double() for tensor in (key, value))
    scores = query.double() @ keys.transpose(-1, -2) * 64**-0.5
    expected = (scores.softmax(dim=-1) @ values).transpose(1, 2)
    error = (found.double() - expected).norm() / expected.norm()
    assert error < (1e-4 if dtype == torch.float32 else 1e-2)


def test_the_whole_model_as_its_own_draft_is_accepted(backends: tuple[StaticBackend, DrivenBackend]) -> None:
    static, _ = backends
    static.prefill(ids(70), capacity=200)
    chain = static.draft_chain(9, plan=FULL, max_tokens=5)
    best = static.step([9, *chain.tokens]).argmax()
    if static.info.dtype == "float32":
        assert best[:5] == list(chain.tokens)

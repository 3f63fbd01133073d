"""Static steps, without graphs, against the driven ones: every family and kind of step, lengths that cross every boundary."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable
from functools import cache
from itertools import product
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from data.errors import StageError, UserError
from decoding.api import SamplingParams
from decoding.backend import FULL, SkipSet
from decoding.backends.build import build_backend
from decoding.backends.driven import DrivenBackend
from decoding.backends.graphs import Graphs
from decoding.backends.kernels import fused_norms, grouped_attention, hiding, n_parts
from decoding.backends.static import SIZES, StaticBackend, key_count, step_size
from decoding.engine import Engine
from decoding.models import LoadedModel, load
from tests.grids import rest_slow
from tests.model_families import DRIVABLE, tiny_family
from tests.tiny_model import build_tiny_model

FAMILIES = sorted(set(DRIVABLE) - {"phi3-longrope"})
MIXED = SkipSet(attention=(0, 2), mlp=(1, 2))
TREE = (-1, 0, 0, 1, -1, 2, 5)


def silent(message: str) -> None:
    raise AssertionError(message)


class Recording(TorchDispatchMode):
    """What a CUDA graph is, on the CPU: the operations that a function ran, with the tensors they ran on."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # numbers and lists that come from the host would be those of the recording for ever
        assert func.overloadpacket.__name__ not in ("_local_scalar_dense", "nonzero", "masked_select", "lift_fresh"), func
        out = func(*args, **(kwargs or {}))
        self.calls.append((func, args, kwargs or {}, out))
        return out

    def replay(self) -> None:
        for func, args, kwargs, out in self.calls:
            for old, new in zip(tree_leaves(out), tree_leaves(func(*args, **kwargs)), strict=True):
                if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)


class RecordedSteps(Graphs):
    """Stands in for CUDA: each function runs once, is recorded the second time, and only replayed from then on."""

    def __init__(self) -> None:
        super().__init__(torch.device("cpu"), silent)
        self.recorded: dict[Hashable, Recording | None] = {}
        self.n_replayed = 0

    def run(self, key: Hashable, function: Callable[[], None]) -> None:
        if key not in self.recorded:
            self.recorded[key] = None
            function()
        elif (recording := self.recorded[key]) is None:
            with Recording() as self.recorded[key]:
                function()
        else:
            recording.replay()
            self.n_replayed += 1

    def clear(self) -> None:
        self.recorded.clear()


@cache
def both(family: str) -> tuple[StaticBackend, DrivenBackend]:
    model = tiny_family(family)
    return StaticBackend(model, say=silent), DrivenBackend(model)


@pytest.fixture(scope="module")
def long_model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = tmp_path_factory.mktemp("long")
    build_tiny_model(folder, chat_template=False, vocab_from=["a long text"] * 9, context_tokens=4096)
    return load(str(folder), device="cpu")


def ids(n: int, seed: int = 0) -> list[int]:
    return random.Random(seed).choices(range(3, 250), k=n)


def assert_close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-5 * float(expected.abs().max()) + 1e-5, rtol=1e-4)


def assert_same_step(static: StaticBackend, driven: DrivenBackend, tokens: list[int], **how: Any) -> None:
    found, expected = (backend.step(tokens, **how) for backend in (static, driven))
    assert len(found) == len(tokens)
    assert_close(found.logits, expected.logits)


@pytest.mark.parametrize(
    ("family", "recorded"),
    rest_slow(
        product(FAMILIES, (False, True)),
        keep={*product(FAMILIES, [True]), ("llama", False), ("gemma3", False), ("gpt-oss", False)},
    ),
)
def test_rounds_of_drafts_steps_and_commits_are_those_of_driven(
    family: str, recorded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chains, trees and skipped sub-layers in random order; the committed keys and values agree at the end.

    Recorded: whatever changes between two steps must have come through tensors that stay where they are.
    """
    rng = random.Random(family)
    backends = both(family)
    steps = RecordedSteps()
    if recorded:
        monkeypatch.setattr(backends[0], "_graphs", steps)
    plans = (MIXED, SkipSet(tuple(rng.sample(range(4), 2)), tuple(rng.sample(range(4), 1))))
    for backend in backends:
        backend.prefill(ids(21), capacity=200)
    for round_ in range(16):
        plan = plans[round_ % 2]
        length = rng.randint(2, 5)
        chains = [backend.draft_chain(7 + round_, plan=plan, max_tokens=length) for backend in backends]
        assert chains[0].tokens == chains[1].tokens
        assert chains[0].probabilities == pytest.approx(chains[1].probabilities, rel=1e-3, abs=1e-6)
        assert_same_step(*backends, ids(rng.randint(1, 3), round_), plan=plan, offset=rng.randint(0, 2))
        if round_ % 3 == 0:
            nodes = ids(len(TREE), round_)
            assert_same_step(*backends, nodes, parents=TREE)
            for backend in backends:
                backend.commit(3, (0, 2, 5))
        else:
            length = rng.randint(1, 14)
            assert_same_step(*backends, ids(length, round_))
            kept = rng.randint(1, length)
            for backend in backends:
                backend.commit(kept)
    assert not recorded or steps.n_replayed > 30
    n = backends[0].n
    assert n == backends[1].n
    for layer in range(4):
        for found, expected in zip(*(backend.kv.view(layer, n) for backend in backends), strict=True):
            torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_every_number_of_rows_and_both_forms_of_tree(long_model: LoadedModel) -> None:
    """Padded, exact, and beyond the largest static step; rows of a tree are not those of the chain before it."""
    static, driven = StaticBackend(long_model, say=silent), DrivenBackend(long_model)
    for backend in (static, driven):
        backend.prefill(ids(40), capacity=200)
    for length in range(1, SIZES[-1] + 4):
        assert_same_step(static, driven, ids(length, length))
        assert_same_step(static, driven, ids(length, length), parents=[i // 2 - 1 if i else -1 for i in range(length)])
        assert_same_step(static, driven, ids(length, length), parents=[-1] * length)


def test_a_text_that_grows_over_the_lengths_of_attention(long_model: LoadedModel) -> None:
    """From one part to several, up to the last position of the cache; a longer and a shorter text afterwards."""
    static, driven = StaticBackend(long_model, say=silent), DrivenBackend(long_model)
    for n, capacity in ((250, 270), (1020, 1030), (2038, 2050), (2040, 2048), (30, 60)):
        for backend in (static, driven):
            backend.prefill(ids(n), capacity=capacity)
        assert n_parts(key_count(n)) == {250: 1, 1020: 4, 2038: 8, 2040: 8, 30: 1}[n]
        draft = [backend.draft_chain(9, plan=MIXED, max_tokens=8).tokens for backend in (static, driven)]
        assert draft[0] == draft[1]
        for length in (1, 5, 1, 1):
            assert_same_step(static, driven, ids(length, length))
            for backend in (static, driven):
                backend.commit(length)
        if capacity != 2048:
            assert_same_step(static, driven, ids(5), parents=TREE[:5])
    static.prefill(ids(2047), capacity=2048)
    driven.prefill(ids(2047), capacity=2048)
    assert_same_step(static, driven, [7])  # nothing to pad with behind the last position
    with pytest.raises(ValueError, match="were reserved"):
        static.step([7] * (static.kv.capacity - 2046))


def test_numbers_of_rows_and_keys_are_few_and_large_enough() -> None:
    for n in range(1, SIZES[-1] + 1):
        assert n <= step_size(n, 100) <= n + n // 2
        assert step_size(n, n) == n
    assert len({step_size(n, 100) for n in range(1, SIZES[-1] + 1)}) == len(SIZES)
    counts = [key_count(n) for n in range(1, 40000)]
    assert counts == sorted(counts)
    assert all(n <= count and count % 256 == 0 and key_count(count) == count for n, count in enumerate(counts, 1))
    assert len(set(counts)) < 30
    assert all(count / n < 2 for n, count in enumerate(counts, 1) if n > 256)


def test_a_chain_asks_after_each_token_with_the_numbers_it_returns() -> None:
    static, _ = both("qwen3")
    static.prefill(ids(12), capacity=64)
    chain = static.draft_chain(7, plan=MIXED, max_tokens=5)
    seen: list[list[float]] = []

    def two_more(probabilities: Any) -> bool:
        seen.append(list(probabilities))
        return len(probabilities) < 3

    stopped = static.draft_chain(7, plan=MIXED, max_tokens=5, go_on=two_more)
    assert (stopped.tokens, stopped.probabilities) == (chain.tokens[:3], chain.probabilities[:3])
    assert seen == [list(chain.probabilities[:k]) for k in (1, 2, 3)]
    assert static.n == 12


def test_what_an_overflowing_draft_leaves_behind_is_not_seen() -> None:
    """Attention reads scratch with weight 0, and 0 * NaN is NaN."""
    broken = tiny_family("llama")
    embedding: Any = broken.model.get_input_embeddings()
    static, driven = StaticBackend(broken, say=silent), DrivenBackend(broken)
    embedding.weight[5] = float("nan")
    prompt = [token for token in ids(20) if token != 5]
    for backend in (static, driven):
        backend.prefill(prompt, capacity=64)
        chain = backend.draft_chain(5, plan=MIXED, max_tokens=6)
        assert chain.probabilities[0] == 0
    assert_same_step(static, driven, [7])
    static.commit(1)
    with pytest.raises(StageError, match="NaN"):
        static.step([8, 5, 9]).argmax()
    for backend in (static, driven):  # the next text
        backend.prefill(prompt[:10], capacity=64)
    assert_same_step(static, driven, [7, 8])


def test_static_steps_leave_the_model_as_it_was() -> None:
    static, _ = both("mistral")
    model = static._loaded.model
    static.prefill(ids(12), capacity=64)
    with pytest.raises(ValueError, match="node 0"):
        static.step([1, 2], parents=(1, -1))
    static.step([1, 2])
    assert model.config._attn_implementation == "sdpa"
    assert not any("forward" in vars(module) for module in model.modules())
    assert static.info.name == "static"


def test_norms_that_are_not_what_they_seem_keep_their_own_forward() -> None:
    """A module that passes the trial and fails on real states: the logits tell, and someone is told."""
    odd = tiny_family("llama")
    decoder: Any = odd.model.get_decoder()
    own = decoder.norm.forward
    decoder.norm.forward = lambda hidden: own(hidden.clamp(-6, 6))
    decoder.embed_tokens.weight.mul_(40)
    told: list[str] = []
    static, driven = StaticBackend(odd, say=told.append), DrivenBackend(odd)
    assert len(told) == 1
    assert "hf:llama: decoding steps use the model's own attention and norms" in told[0]
    for backend in (static, driven):
        backend.prefill(ids(12), capacity=64)
    assert_same_step(static, driven, ids(3))


# --- kernels -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [1, 5])
@pytest.mark.parametrize("n_keys", [256, 1024, 2304])
@pytest.mark.parametrize("heads", [(4, 2), (6, 6), (6, 1)])
def test_grouped_attention_is_attention(heads: tuple[int, int], n_keys: int, n_rows: int) -> None:
    """Over whole and cut keys, some parts wholly hidden, with values behind the text that must not show."""
    torch.manual_seed(n_keys)
    n_heads, n_kv = heads
    query = torch.randn(1, n_rows, n_heads, 16).transpose(1, 2)
    buffers = torch.randn(2, 1, n_kv, n_keys + 50, 16) * 3
    buffers[:, :, :, n_keys // 2 :] *= 1e4
    key, value = buffers[0, :, :, :n_keys], buffers[1, :, :, :n_keys]
    visible = torch.rand(n_rows, n_keys) < 0.5
    visible[:, n_keys // 2 :] = False
    mask = torch.zeros(n_rows, n_keys).masked_fill(~visible, hiding(torch.float32))[None, None]
    found, _ = grouped_attention(None, query, key, value, mask, scaling=0.3)
    repeated = [tensor.repeat_interleave(n_heads // n_kv, dim=1).double() for tensor in (key, value)]
    scores = (query.double() @ repeated[0].transpose(-1, -2) * 0.3).masked_fill(~visible, float("-inf"))
    expected = (scores.softmax(dim=-1) @ repeated[1]).transpose(1, 2)
    torch.testing.assert_close(found, expected.float(), atol=1e-4, rtol=1e-4)
    with pytest.raises(NotImplementedError):
        grouped_attention(None, query, key, value, mask, softcap=30.0)


def test_keys_are_cut_into_equal_parts() -> None:
    for n in {key_count(n) for n in range(1, 70000, 100)}:
        parts = n_parts(n)
        assert 1 <= parts <= 32
        assert n % (parts * 256) == 0
        assert n <= 512 or parts > 1


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(
    ("family", "n_norms"), [("llama", 9), ("qwen3", 17), ("olmo2", 17), ("granite", 9), ("gemma2", 0), ("gemma3", 0)]
)
def test_norms_are_fused_where_they_round_alike(family: str, n_norms: int, dtype: str) -> None:
    model: Any = tiny_family(family, dtype=dtype).model
    norms = fused_norms(model.modules())
    assert len(norms) == n_norms
    for module, fused in norms.items():
        states = torch.randn(1, 3, module.weight.shape[0]).to(module.weight) * 5
        error = (fused(states).float() - module(states).float()).norm() / module(states).float().norm()
        assert error < (1e-6 if dtype == "float32" else 3e-4)


# --- which backend, and whole texts -----------------------------------------------------------------------------------------


def test_static_is_built_when_asked_for_and_refused_with_the_reason() -> None:
    assert isinstance(build_backend(tiny_family("llama"), "static"), StaticBackend)
    assert build_backend(tiny_family("llama")).info.name == "packed"  # without a GPU nothing is gained
    with pytest.raises(UserError, match="depend on the length of the text; use backend driven"):
        build_backend(tiny_family("phi3-longrope"), "static")
    with pytest.raises(UserError, match="cannot be driven"):
        build_backend(tiny_family("gpt2"), "static")


@pytest.mark.parametrize("method", ["greedy", "copy", "recycle", "mix"])
def test_texts_are_those_of_the_driven_backend(long_model: LoadedModel, method: str) -> None:
    prompt = ids(120) * 2
    texts: list[list[int]] = []
    for kind in ("driven", "static"):
        engine = Engine(long_model, "greedy" if kind == "driven" else method, backend=kind)
        text: list[int] = []

        def take(token: int, text: list[int] = text) -> bool:
            text.append(token)
            return True

        with engine.lock:
            engine.decode(prompt, SamplingParams(max_new_tokens=60), take)
        texts.append(text)
    assert len(texts[0]) == 60
    assert texts[0] == texts[1]


def test_a_step_of_no_plan_and_a_draft_of_the_whole_model_agree() -> None:
    static, _ = both("llama")
    static.prefill(ids(30), capacity=64)
    chain = static.draft_chain(9, plan=FULL, max_tokens=6)
    assert static.step([9, *chain.tokens]).argmax()[:6] == list(chain.tokens)

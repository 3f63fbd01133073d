"""Steps of low-bit models: near those of the model's own forward, and the same bits whatever else is in a step."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest
import torch

from data.errors import UserError
from decoding.api import SamplingParams
from decoding.backend import SkipSet, Wants
from decoding.backends import lowbit
from decoding.backends.build import build_backend
from decoding.backends.hf import HFBackend
from decoding.backends.lowbit import LowBitBackend
from decoding.backends.torch_backend import relative_error
from decoding.bench.roofline import step_bytes
from decoding.lowbit import products
from decoding.lowbit.matrix import matrices_in
from decoding.methods import build_drafter
from decoding.models.loading import LoadedModel, load, lowered
from decoding.sampling import Sampler
from decoding.speculative import decode
from tests.model_families import tiny_family
from tests.tiny_model import build_tiny_model

FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {},
    "llama-tied": {},
    "qwen2": {},  # biases
    "qwen3": {"head_dim": 32},  # norms of queries and keys
    "granite": {},  # three scales
}
CASES = [*((family, "int8") for family in FAMILIES), ("llama", "int4"), ("qwen3", "int4")]
PROMPT = random.Random(0).choices(range(3, 300), k=21)
NEW = random.Random(1).choices(range(3, 300), k=9)


@cache
def low_bit(family: str, dtype: str) -> LoadedModel:
    return lowered(tiny_family(family, **FAMILIES[family]), dtype)


@cache
def backend(family: str, dtype: str) -> Any:
    """Shared by the tests: each begins with a prefill."""
    return build_backend(low_bit(family, dtype))


def logits(model: Any, tokens: list[int], **options: Any) -> torch.Tensor:
    return model.step(tokens, **options).logits.clone()


@pytest.mark.parametrize(("family", "dtype"), CASES)
def test_it_computes_what_the_model_computes(family: str, dtype: str) -> None:
    ours, theirs = backend(family, dtype), HFBackend(low_bit(family, dtype))
    assert isinstance(ours, LowBitBackend) and ours.info.batch_invariant
    for one in (ours, theirs):
        one.prefill(PROMPT, capacity=64, wants=Wants(vector=True, top_k=4))
    tree = (-1, 0, 0, 2, -1)
    skipped = SkipSet(attention=(1, 3), mlp=(0,))
    for options in ({}, {"parents": tree}, {"plan": skipped}):
        found, expected = (logits(one, NEW[:5], **options) for one in (ours, theirs))
        assert relative_error(found, expected) < 0.08, options


@pytest.mark.parametrize(("family", "dtype"), CASES)
def test_a_row_is_the_same_bits_alone_among_others_and_in_a_tree(family: str, dtype: str) -> None:
    model = backend(family, dtype)
    model.prefill(PROMPT, capacity=64)
    together = logits(model, NEW)
    one_by_one = []
    for token in NEW:
        one_by_one.append(logits(model, [token]))
        model.commit(1)
    assert torch.equal(together, torch.cat(one_by_one))
    # the same chain as the branch 0, 2, 3, 6, 8 of a tree, whose other nodes are other tokens
    model.prefill(PROMPT, capacity=64)
    branch, other = (0, 2, 3, 6, 8), iter(range(50, 60))
    nodes = [NEW[branch.index(i)] if i in branch else next(other) for i in range(9)]
    tree = logits(model, nodes, parents=(-1, -1, 0, 2, 2, 0, 3, 6, 6))
    assert torch.equal(tree[list(branch)], together[:5])
    model.commit(5, branch)
    assert torch.equal(logits(model, NEW[5:]), together[5:])


def test_a_prompt_read_in_pieces_or_in_steps_ends_in_the_same_bits() -> None:
    model = backend("llama", "int8")
    whole = model.prefill(PROMPT, capacity=64).last.logits.clone()
    model.prefill(PROMPT[:4], capacity=64)
    model.step(PROMPT[4:15])
    model.commit(11)
    assert torch.equal(logits(model, PROMPT[15:])[-1:], whole)


@pytest.mark.parametrize(("family", "dtype"), [("llama", "int8"), ("qwen2", "int8"), ("qwen3", "int4")])
def test_threads_change_no_bit(family: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowbit, "_WORTH_A_TEAM", 0)
    monkeypatch.setattr(products, "_WORTH_A_THREAD", 0)
    model, prompt = backend(family, dtype), random.Random(5).choices(range(3, 300), k=150)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            model.prefill(prompt, capacity=200, wants=Wants(vector=True))
            found.append(
                torch.cat([logits(model, NEW), logits(model, NEW[:1]), logits(model, NEW[:5], parents=(-1, 0, 0, 2, -1))])
            )
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])


def test_what_was_drafted_leaves_no_trace() -> None:
    model = backend("qwen2", "int8")
    model.prefill(PROMPT, capacity=64)
    expected = logits(model, NEW[:3])
    model.prefill(PROMPT, capacity=64)
    model.draft_chain(NEW[0], plan=SkipSet(attention=(0, 1), mlp=(2, 3)), max_tokens=6)
    model.step(NEW[4:], offset=2)
    assert torch.equal(logits(model, NEW[:3]), expected)


@pytest.mark.parametrize(
    ("family", "changes", "why"),
    [("mistral", {}, "sliding window"), ("qwen3", {}, "24 dimensions"), ("olmo2", {}, "pre-norm"),
     ("phi3", {}, "no low-bit q_proj"), ("llama", {"hidden_act": "gelu"}, "bends by gelu"),
     ("llama", {"mlp_bias": True}, "biases")],
)  # fmt: skip
def test_other_models_are_decoded_another_way_and_it_is_said(family: str, changes: dict[str, Any], why: str) -> None:
    model, told = lowered(tiny_family(family, **changes), "int8"), []
    found = build_backend(model, say=told.append)
    assert not isinstance(found, LowBitBackend)
    (line,) = told  # the reason, and what it costs
    assert why in line and "as long" in line
    found.prefill(PROMPT, capacity=64)
    assert logits(found, NEW).isfinite().all()
    with pytest.raises(UserError, match=why):
        build_backend(model, "lowbit")


def test_a_model_of_full_precision_has_no_low_bit_steps() -> None:
    with pytest.raises(UserError, match="load it with dtype int8 or int4"):
        build_backend(tiny_family("llama"), "lowbit")


def test_low_bits_need_a_cpu(tmp_path: Any) -> None:
    folder = build_tiny_model(tmp_path / "tiny", chat_template=False, vocab_from=["The reservoir was full on the morning."])
    with pytest.raises(UserError, match=r"no CUDA device|runs on the CPU, not on 'cuda'"):
        load(str(folder), dtype="int8", device="cuda")


@pytest.mark.parametrize("family", ["llama", "llama-tied"])
def test_a_step_reads_every_matrix_once_and_an_input_embedding_never(family: str) -> None:
    model = low_bit(family, "int8").model
    matrices = {id(m): m for _, m in matrices_in(model)}
    norms = sum(p.numel() * 4 for p in model.parameters())
    read = sum(m.n_bytes for m in matrices.values())
    if family == "llama":  # its input embedding is a matrix of its own
        read -= model.get_input_embeddings().matrix.n_bytes
    assert step_bytes(model).weights == read + norms


@pytest.mark.parametrize("method", ["mix", "recycling", "swift", "clasp"])
def test_the_logits_of_each_token_are_the_bits_of_decoding_without_drafts(method: str) -> None:
    """So log probabilities that a server gives do not depend on what was drafted."""
    model = backend("llama", "int8")

    def written(method: str, sampling: SamplingParams) -> list[tuple[int, torch.Tensor]]:
        seen: list[tuple[int, torch.Tensor]] = []
        prompt, taken = PROMPT + PROMPT, []

        def take(token: int) -> bool:
            taken.append(token)
            return len(taken) < 30

        sampler = Sampler(sampling, len(prompt))
        drafter = build_drafter(method, model)
        decode(model, drafter, prompt, sampler, take, on_logits=lambda token, row: seen.append((token, row.clone())))
        assert [token for token, _ in seen][: len(taken)] == taken
        return seen

    for sampling in (SamplingParams(max_new_tokens=30), SamplingParams(max_new_tokens=30, temperature=0.8, seed=1)):
        for (token, row), (same, expected) in zip(written(method, sampling), written("greedy", sampling), strict=True):
            assert token == same and torch.equal(row, expected)

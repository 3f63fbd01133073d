"""Both torch backends against the model run plainly: every family, every kind of step, and skipped sub-layers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import product
from typing import Any

import pytest
import torch
from transformers import DynamicCache

from data.errors import StageError, UserError
from decoding.backend import FULL, SkipSet, Wants
from decoding.backends.build import build_backend
from decoding.backends.driven import DrivenBackend
from decoding.backends.hf import HFBackend
from decoding.backends.layers import NotDrivable
from decoding.backends.rows import TorchRows
from decoding.models.loading import LoadedModel, in_memory
from tests.grids import rest_slow
from tests.model_families import DRIVABLE, OTHER, WINDOW, tiny_family

CAPACITY = 128
PLANS = {
    "none": FULL,
    "attention of layer 0": SkipSet(attention=(0,)),
    "mlp of the last": SkipSet(mlp=(3,)),
    "mixed": SkipSet(attention=(0, 2), mlp=(1, 2)),
    "all attention": SkipSet(attention=(0, 1, 2, 3)),
    "everything": SkipSet(attention=(0, 1, 2, 3), mlp=(0, 1, 2, 3)),
}

PRECISIONS = rest_slow(
    product(DRIVABLE, ("float32", "bfloat16")),
    keep={*product(DRIVABLE, ["float32"]), ("llama", "bfloat16"), ("gemma2", "bfloat16"), ("gpt-oss", "bfloat16")},
)
KINDS_OF_LAYERS = ("llama", "qwen2-sliding", "gemma3", "olmo2", "granite", "gpt-oss")
"""Of each kind one: plain, windows in some layers, norms on both sides, norms behind alone, multipliers, experts with sinks.
The others differ in what a prefill and plain steps show, which are tested of every family."""
MOSTLY_DRIVEN = rest_slow(
    product(DRIVABLE, ("hf", "driven")), keep={*product(KINDS_OF_LAYERS, ["driven"]), ("llama", "hf"), ("gpt-oss", "hf")}
)
"""That `hf` does the same to the bit is tested of every family."""
FEWER_PRECISIONS = rest_slow(
    product(DRIVABLE, ("float32", "bfloat16")), keep={*product(KINDS_OF_LAYERS, ["float32"]), ("gemma2", "bfloat16")}
)


@cache
def loaded(family: str, dtype: str = "float32") -> LoadedModel:
    return tiny_family(family, dtype=dtype)


@cache
def backend(family: str, kind: str, dtype: str = "float32") -> Any:
    """Shared by the tests: each begins with a prefill."""
    return build_backend(loaded(family, dtype), kind)  # type: ignore[arg-type]


def ids(n: int, seed: int = 0) -> list[int]:
    return random.Random(seed).choices(range(3, 300), k=n)


def assert_close(found: torch.Tensor, expected: torch.Tensor, dtype: str = "float32") -> None:
    """To rounding: other numbers of rows run through other kernels. In bfloat16 only as a whole."""
    found, expected = found.float(), expected.float()
    if dtype == "float32":
        torch.testing.assert_close(found, expected, atol=1e-5 * float(expected.abs().max()) + 1e-5, rtol=1e-4)
    else:
        assert float((found - expected).norm() / expected.norm()) < 0.03


# --- the reference: plain transformers, its own cache, masks from a definition, stubs for skipped sub-layers ----------------


class Nothing(torch.nn.Module):
    """A sub-layer that adds nothing."""

    def __init__(self, like: torch.nn.Module, returns_tuple: bool) -> None:
        super().__init__()
        self.returns_tuple = returns_tuple

    def forward(self, hidden_states: torch.Tensor, **kwargs: Any) -> Any:
        zeros = torch.zeros_like(hidden_states)
        return (zeros, None) if self.returns_tuple else zeros


@contextmanager
def without(model: Any, plan: SkipSet) -> Iterator[None]:
    layers = model.model.layers
    mlp_returns_tuple = type(model).__name__.startswith("GptOss")
    kept = [(layer.self_attn, layer.mlp) for layer in layers]
    try:
        for i in plan.attention:
            layers[i].self_attn = Nothing(layers[i].self_attn, True)
        for i in plan.mlp:
            layers[i].mlp = Nothing(layers[i].mlp, mlp_returns_tuple)
        yield
    finally:
        for layer, (attention, mlp) in zip(layers, kept, strict=True):
            layer.self_attn, layer.mlp = attention, mlp


def explicit_mask(model: Any, positions: Sequence[int], first_row: int, sees: Callable[[int, int], bool]) -> Any:
    """(1, 1, T, L) in the form that the model takes; `sees(row, column)` leaves the window out of account."""
    config = model.config

    def mask(window: int | None) -> torch.Tensor:
        allowed = torch.tensor(
            [
                [sees(i, j) and (window is None or positions[i] - positions[j] < window) for j in range(len(positions))]
                for i in range(first_row, len(positions))
            ]
        )
        if config._attn_implementation == "sdpa":
            return allowed[None, None]
        return torch.zeros(allowed.shape, dtype=model.dtype).masked_fill(~allowed, torch.finfo(model.dtype).min)[None, None]

    if getattr(config, "layer_types", None) is None:
        return mask(getattr(config, "sliding_window", None))
    return {"full_attention": mask(None), "sliding_attention": mask(config.sliding_window)}


@torch.no_grad()
def plain(family: str, prompt: list[int], new: list[int], plan: SkipSet = FULL, dtype: str = "float32") -> torch.Tensor:
    """Logits (T, V) after each of `new`, under `plan`, the prompt having been read by the whole model."""
    model: Any = loaded(family, dtype).model
    past = DynamicCache()  # keeps everything, whatever the window
    model(torch.tensor([prompt]), past_key_values=past)
    positions = list(range(len(prompt) + len(new)))
    with without(model, plan):
        return model(
            torch.tensor([new]),
            position_ids=torch.tensor([positions[len(prompt) :]]),
            attention_mask=explicit_mask(model, positions, len(prompt), lambda i, j: j <= i),
            past_key_values=past,
        ).logits[0]


# --- every family --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("family", "dtype"), PRECISIONS)
def test_both_backends_give_the_logits_of_the_plain_model(family: str, dtype: str) -> None:
    """Prefill, twelve steps of one token, and steps of 1 to 8: driven bitwise as hf, both as a forward without cache."""
    text = ids(20 + 12 + 36)
    with torch.no_grad():
        expected = loaded(family, dtype).model(torch.tensor([text]), use_cache=False).logits[0]
    rows: dict[str, list[torch.Tensor]] = {}
    for kind in ("hf", "driven"):
        model = backend(family, kind, dtype)
        rows[kind] = [model.prefill(text[:20], capacity=CAPACITY).last.logits.clone()]
        for length in [1] * 12 + list(range(1, 9)):
            new = text[model.n : model.n + length]
            rows[kind].append(model.step(new).logits.clone())
            model.commit(length)
        assert model.n == len(text)
        assert_close(torch.cat(rows[kind]), expected[19:], dtype)
    assert torch.equal(torch.cat(rows["driven"]), torch.cat(rows["hf"]))


@pytest.mark.parametrize(("family", "kind"), MOSTLY_DRIVEN)
def test_committed_keys_and_values_are_exact_whatever_was_drafted(family: str, kind: str) -> None:
    """Rounds of a draft under a random plan, a full step over it, and a commit of some of its rows."""
    rng = random.Random(family)
    text = ids(15)
    model = backend(family, kind)
    model.prefill(text, capacity=CAPACITY)
    for _ in range(6):
        plan = SkipSet(tuple(rng.sample(range(4), rng.randint(0, 4))), tuple(rng.sample(range(4), rng.randint(0, 4))))
        pending = rng.randrange(3, 300)
        draft = model.draft_chain(pending, plan=plan, max_tokens=rng.randint(1, 6))
        model.step([pending, *draft.tokens])
        accepted = rng.randint(1, 1 + len(draft.tokens))
        model.commit(accepted)
        text += [pending, *draft.tokens][:accepted]
    assert model.n == len(text)
    nothing = torch.empty(0)  # every layer has its buffers

    def held(layer: int) -> tuple[torch.Tensor, ...]:
        return tuple(part[:, :, : len(text)].clone() for part in model.kv.buffers(layer, nothing, nothing))

    found = [held(layer) for layer in range(4)]
    model.prefill(text, capacity=CAPACITY)
    for layer, (keys, values) in enumerate(found):
        fresh_keys, fresh_values = held(layer)
        torch.testing.assert_close(keys, fresh_keys, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(values, fresh_values, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("family", "dtype"), FEWER_PRECISIONS)
def test_driven_equals_hf_bitwise_in_trees_and_skipped_steps(family: str, dtype: str) -> None:
    found = []
    for kind in ("hf", "driven"):
        model = backend(family, kind, dtype)
        model.prefill(ids(19), capacity=CAPACITY)
        chains = [model.draft_chain(7, plan=plan, max_tokens=4) for plan in PLANS.values()]
        skipped = [model.step(ids(3), plan=plan).logits.clone() for plan in PLANS.values()]
        tree = model.step(ids(5), parents=(-1, 0, -1, 0, 2)).logits.clone()
        found.append((chains, torch.cat([*skipped, tree])))
    assert found[0][0] == found[1][0]
    assert torch.equal(found[0][1], found[1][1])


# --- prefill -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["hf", "driven"])
@pytest.mark.parametrize("family", ["llama", "mistral", "gemma2", "gemma3", "granite"])
def test_a_prefill_gives_the_wanted_vector_and_top_tokens(family: str, kind: str) -> None:
    prompt = ids(90)
    model = backend(family, kind)
    bare = model.prefill(prompt, capacity=CAPACITY)
    assert bare.vector is None
    assert bare.top_ids is None
    bare_last = bare.last.logits.clone()
    full = model.prefill(prompt, capacity=CAPACITY, wants=Wants(vector=True) | Wants(top_k=5))
    assert torch.equal(full.last.logits, bare_last)  # wants never change the text
    with torch.no_grad():
        plainly = loaded(family).model(torch.tensor([prompt]), output_hidden_states=True)
    assert full.vector is not None
    assert full.top_ids is not None
    torch.testing.assert_close(torch.tensor(full.vector), plainly.hidden_states[-1][0].mean(dim=0), atol=1e-5, rtol=1e-5)
    assert full.top_ids.tolist() == plainly.logits[0].topk(5).indices.tolist()


@pytest.mark.parametrize("kind", ["hf", "driven"])
def test_what_does_not_fit_is_refused_with_the_numbers(kind: str) -> None:
    model = backend("llama", kind)
    model.prefill(ids(256), capacity=256)  # exactly the context
    with pytest.raises(StageError, match="257 tokens and hf:llama reads 256"):
        model.prefill(ids(257), capacity=300)
    with pytest.raises(StageError, match="max_new_tokens"):
        model.prefill(ids(9), capacity=1 << 45)
    with pytest.raises(ValueError, match="capacity 8 is less than the prompt's 9"):
        model.prefill(ids(9), capacity=8)

    model.prefill(ids(9), capacity=20)
    room = model.kv.capacity - model.n
    assert len(model.step(ids(room)).argmax()) == room
    with pytest.raises(ValueError, match="were reserved"):
        model.step(ids(room + 1))
    with pytest.raises(ValueError, match="were reserved"):
        model.step(ids(room), offset=1)
    with pytest.raises(ValueError, match="were reserved"):
        model.draft_chain(5, plan=PLANS["everything"], max_tokens=room + 1)


@pytest.mark.parametrize("kind", ["hf", "driven"])
def test_logits_that_are_not_numbers_end_the_text_and_name_the_dtype(kind: str) -> None:
    broken = tiny_family("llama", dtype="bfloat16")
    head: Any = broken.model.get_output_embeddings()
    head.weight[5, 3] = float("nan")
    model = build_backend(broken, kind)  # type: ignore[arg-type]
    with pytest.raises(StageError, match=r"NaN\) in bfloat16; load it with dtype float32"):
        model.prefill(ids(4), capacity=16)
    with pytest.raises(StageError, match="NaN"):
        model.step([7]).argmax()
    chain = model.draft_chain(7, plan=FULL, max_tokens=2)  # a guess may be worthless, but it never fails
    assert chain.probabilities == (0.0, 0.0)


# --- chains, commits, rows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["hf", "driven"])
def test_a_chain_is_greedy_with_its_own_probabilities(kind: str) -> None:
    prompt, plan = ids(12), PLANS["mixed"]
    model = backend("qwen3", kind)
    model.prefill(prompt, capacity=CAPACITY)
    chain = model.draft_chain(7, plan=plan, max_tokens=5)
    text = [7]
    for token, probability in zip(chain.tokens, chain.probabilities, strict=True):
        row = plain("qwen3", prompt, text, plan)[-1]
        assert token == int(row.argmax())
        assert probability == pytest.approx(float(row.softmax(dim=-1)[token]), rel=1e-4)
        text.append(token)
    assert len(chain.tokens) == 5
    assert model.n == len(prompt)

    seen: list[list[float]] = []

    def two_more(probabilities: Sequence[float]) -> bool:
        seen.append(list(probabilities))
        return len(probabilities) < 3

    stopped = model.draft_chain(7, plan=plan, max_tokens=5, go_on=two_more)
    assert stopped.tokens == chain.tokens[:3]
    assert seen == [list(stopped.probabilities[:k]) for k in (1, 2, 3)]
    assert model.draft_chain(7, plan=plan, max_tokens=2, go_on=lambda _: True).tokens == chain.tokens[:2]


@pytest.mark.parametrize("kind", ["hf", "driven"])
def test_only_rows_that_full_steps_wrote_can_be_committed(kind: str) -> None:
    model = backend("llama", kind)
    model.prefill(ids(5), capacity=64)
    with pytest.raises(ValueError, match="1 rows"):
        model.commit(1)
    model.step([1, 2, 3], plan=PLANS["mixed"])
    with pytest.raises(ValueError, match="full steps have written 0"):
        model.commit(1)
    model.step([1, 2, 3])
    with pytest.raises(ValueError, match="full steps have written 3"):
        model.commit(4)
    for path in ((0,), (1, 0), (0, 3), (-1, 0)):
        with pytest.raises(ValueError, match="no path"):
            model.commit(2, path)
    model.draft_chain(4, plan=FULL, max_tokens=1)  # has written over the step
    with pytest.raises(ValueError, match="full steps have written 0"):
        model.commit(1)
    model.step([1, 2, 3])
    model.commit(2)
    assert model.n == 7


@pytest.mark.parametrize("kind", ["hf", "driven"])
def test_steps_that_make_no_sense_are_refused(kind: str) -> None:
    model = backend("llama", kind)
    model.prefill(ids(5), capacity=64)
    with pytest.raises(ValueError, match="at least one"):
        model.step([])
    with pytest.raises(ValueError, match="no offset"):
        model.step([1, 2], parents=(-1, 0), offset=1)
    with pytest.raises(ValueError, match="node 0 names 1"):
        model.step([1, 2], parents=(1, -1))
    with pytest.raises(ValueError, match="skips layer 4"):
        model.step([1], plan=SkipSet(mlp=(4,)))
    with pytest.raises(ValueError, match="at least one token"):
        model.draft_chain(1, plan=FULL, max_tokens=0)


@pytest.mark.parametrize("width", [40, 3072, 49_152, 5_003])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rows_know_their_largest_columns(width: int, dtype: torch.dtype) -> None:
    logits = torch.stack([torch.randperm(width, generator=torch.Generator().manual_seed(seed)) for seed in range(5)])
    rows = TorchRows(logits.to(torch.int32).float() if dtype is torch.float32 else (logits % 128).to(dtype))
    assert rows.argmax() == rows.logits.float().numpy().argmax(axis=-1).tolist()
    for k in (1, 8, 30):
        ids = torch.from_numpy(rows.top_ids(k))
        assert ids.shape == (5, k) and all(len(set(row.tolist())) == k for row in ids)
        found = rows.logits.gather(1, ids)
        assert torch.equal(found, rows.logits.topk(k, dim=-1).values)
        assert torch.equal(rows.logits.gather(1, torch.from_numpy(rows.top(k)[0])), found)


# --- which backend, and models that are built otherwise -----------------------------------------------------------------------


@pytest.mark.parametrize("family", DRIVABLE)
def test_auto_drives_what_can_be_driven_without_a_word(family: str) -> None:
    said: list[str] = []
    model = build_backend(loaded(family), say=said.append)
    assert (model.info.name, said) == ("packed", [])
    assert (model.info.n_layers, model.info.vocab_size, model.info.hidden_size) == (4, 300, 64)
    assert not model.info.batch_invariant


@pytest.mark.parametrize("family", OTHER)
def test_auto_says_why_a_model_is_not_driven_and_decodes_it_all_the_same(family: str) -> None:
    said: list[str] = []
    model = build_backend(loaded(family), say=said.append)
    assert model.info.name == "hf"
    assert len(said) == 1
    assert type(loaded(family).model).__name__ in said[0]
    text = ids(16)
    with torch.no_grad():
        expected = loaded(family).model(torch.tensor([text]), use_cache=False).logits[0]
    assert_close(model.prefill(text[:11], capacity=32).last.logits, expected[10:11])
    assert_close(model.step(text[11:15]).logits, expected[11:15])
    model.commit(4)
    assert_close(model.step(text[15:]).logits, expected[15:])
    with pytest.raises(UserError, match="use backend auto or hf"):
        build_backend(loaded(family), "driven")


def test_what_an_architecture_cannot_do_is_named() -> None:
    gpt2, bloom = backend("gpt2", "hf"), backend("bloom", "hf")
    for model in (gpt2, bloom):
        model.prefill(ids(6), capacity=32)
    assert_close(gpt2.step([5, 6], parents=(-1, -1)).logits[1], gpt2.step([6]).logits[0])
    with pytest.raises(UserError, match="GPT2LMHeadModel have no sub-layers"):
        gpt2.step([5], plan=SkipSet(mlp=(0,)))
    with pytest.raises(UserError, match="BloomForCausalLM takes no attention mask"):
        bloom.step([5, 6], parents=(-1, -1))


def test_a_model_with_a_recurrent_state_is_refused() -> None:
    import dataclasses

    from transformers import MambaConfig, MambaForCausalLM

    model = MambaForCausalLM(MambaConfig(vocab_size=300, hidden_size=32, num_hidden_layers=2, state_size=4)).eval()
    with pytest.raises(UserError, match=r"MambaForCausalLM cannot be decoded step by step.*recurrent state.*choose a model"):
        build_backend(dataclasses.replace(loaded("llama"), name="hf:mamba", model=model))
    with pytest.raises(UserError, match="recurrent state"):  # not: add max_position_embeddings, which would not help
        in_memory(model, None)


def test_sub_layers_come_back_when_a_skipped_step_fails() -> None:
    model = HFBackend(loaded("llama"))
    model.prefill(ids(6), capacity=32)
    before = model.step([5]).logits.clone()
    with pytest.raises(IndexError):
        model.step([300], plan=PLANS["everything"])  # no such token
    assert torch.equal(model.step([5]).logits, before)


@pytest.mark.parametrize(
    ("family", "change", "why"),
    [
        ("mistral", lambda model: setattr(model.config, "sliding_window", 3 * WINDOW), "attention masks differ"),
        ("granite", lambda model: setattr(model.model, "embedding_multiplier", 7.0), "logits differ"),
        ("gemma2", lambda model: setattr(model.config, "final_logit_softcapping", 5.0), "logits differ"),
        ("llama", lambda model: setattr(model.model.layers[1], "norm3", torch.nn.RMSNorm(64)), "is made of"),
        ("llama", lambda model: setattr(model.config, "_attn_implementation_internal", "flex_attention"), "flex_attention"),
    ],
)
def test_a_driven_model_that_differs_from_its_forward_is_not_believed(
    family: str, change: Callable[[Any], None], why: str
) -> None:
    """The two are set apart by handing the proof a reference of an unchanged twin."""
    twin, changed = tiny_family(family), tiny_family(family)
    reference = HFBackend(twin)
    change(changed.model)
    if family == "mistral":  # the masks are compared with those of the changed model's own forward: let only ours differ
        changed.model.model.config = twin.model.config
    with pytest.raises(NotDrivable, match=why):
        DrivenBackend(changed, reference)


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(UserError, match="choose one of auto, hf, driven, packed, lowbit"):
        build_backend(loaded("llama"), "fast")  # type: ignore[arg-type]

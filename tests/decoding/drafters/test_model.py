"""Another model drafts: the text is that of plain decoding, its keys and values keep in step, and bad pairs are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import torch

import decoding
from data.errors import UserError
from decoding.api import SamplingParams
from decoding.backend import CostTable, StepBackend
from decoding.backends.build import build_backend
from decoding.backends.rows import TorchRows
from decoding.drafters.copy import CopyDrafter
from decoding.drafters.drafter import Drafter
from decoding.drafters.lengths import Fixed, LengthPolicy, Threshold
from decoding.drafters.mix import MixDrafter
from decoding.drafters.model import ModelDrafter
from decoding.drafters.plain import NoDrafter
from decoding.engine import Engine
from decoding.local import complete
from decoding.methods import build_drafter
from decoding.models.loading import LoadedModel, load, lowered
from decoding.models.naming import load_draft
from decoding.sampling import Sampler
from decoding.speculative import decode
from tests.decoding.drafters.equality import check_equals_plain, run
from tests.grids import rest_slow
from tests.model_families import tiny_family
from tests.tiny_model import build_tiny_model
from tests.toy_backend import COSTS, ToyBackend

CHEAP = replace(COSTS, unit_s=COSTS.unit_s / 20)
TEXT = ["The bridge over the river fell on Monday morning, the mayor said.", "Two people were hurt."]
SAMPLED = SamplingParams(max_new_tokens=60, temperature=0.8, top_p=0.9, repetition_penalty=1.2)
POLICIES: dict[str, LengthPolicy | None] = {"fixed": Fixed(4), "threshold": Threshold(0.4, 6), "own": None}


class Context(ToyBackend):
    """A toy that reads so many tokens at most."""

    def __init__(self, n_tokens: int, vocab_size: int = 16, **options: object) -> None:
        super().__init__(vocab_size, costs=CHEAP, **options)  # type: ignore[arg-type]
        self._info = replace(self._info, context_tokens=n_tokens)
        self.n_read = 0

    def prefill(self, ids: Sequence[int], **options: object) -> object:  # type: ignore[override]
        assert len(ids) <= self._info.context_tokens
        self.n_read += len(ids)
        return super().prefill(ids, **options)  # type: ignore[arg-type]

    def step(self, ids: Sequence[int], **options: object) -> TorchRows:  # type: ignore[override]
        assert self.n + options.get("offset", 0) + len(ids) <= self._info.context_tokens  # type: ignore[operator]
        self.n_read += len(ids)
        return super().step(ids, **options)  # type: ignore[arg-type]


def small(vocab_size: int = 16, *, order: int = 2, seed: int = 0, context: int = 1 << 20) -> Context:
    """The verifier of `equality.run` for these numbers, or another model for others."""
    return Context(context, vocab_size, order=order, seed=seed)


def drafter(model: StepBackend | None = None, costs: CostTable = COSTS, **options: object) -> ModelDrafter:
    return ModelDrafter(model or small(), costs, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("policy", "tree"),
    rest_slow(product(POLICIES, (False, True)), keep=(("threshold", False), ("own", True))),
)
def test_text_equals_plain_decoding(policy: str, tree: bool) -> None:
    assert check_equals_plain(drafter(policy=POLICIES[policy], tree=tree), n_prompts=2) > 0


def test_text_equals_plain_decoding_in_the_mix() -> None:
    for model in (drafter(tree=True), drafter(small(order=1, seed=9))):
        mix = MixDrafter(CopyDrafter(), None, None, COSTS, model=model, name="copy and draft")
        assert check_equals_plain(mix, n_prompts=2) > 0


@pytest.mark.parametrize(
    ("seed", "tree"), rest_slow(product(range(3), (False, True)), keep=((0, False), (1, True), (2, False)))
)
def test_sampled_text_equals_plain_decoding(tree: bool, seed: int) -> None:
    sampling = replace(SAMPLED, seed=seed)
    expected, _ = run(NoDrafter(), [3, 1, 4], sampling=sampling, seed=seed)
    ids, stats = run(drafter(small(seed=seed), tree=tree), [3, 1, 4], sampling=sampling, seed=seed)
    assert (ids == expected and stats.n_accepted == stats.n_drafted) or tree
    ids, _ = run(drafter(small(order=1, seed=seed + 9), tree=tree), [3, 1, 4], sampling=sampling, seed=seed)
    assert ids == expected


def test_rejected_tokens_are_read_over_and_accepted_ones_stay() -> None:
    """The toy asserts that nothing is committed which no full step wrote; a wrong prefix would give other guesses."""
    model = small(order=1, seed=9)
    seen: list[tuple[list[int], tuple[int, ...]]] = []

    class Looking(ModelDrafter):
        def propose(self, text: Sequence[int], room: int):  # type: ignore[no-untyped-def]
            draft = super().propose(text, room)
            seen.append((list(text), draft.tokens))
            return draft

    _, stats = run(Looking(model, COSTS, policy=Fixed(3)), [3, 1, 4], sampling=SamplingParams(max_new_tokens=40))
    assert stats.n_accepted and stats.n_drafted and stats.n_accepted < stats.n_drafted
    for text, tokens in seen:
        for i, token in enumerate(tokens):
            assert token == int(model.logits_after([*text, *tokens[:i]]).argmax())


def test_a_tree_holds_runners_up_that_chains_miss() -> None:
    free = replace(COSTS, verify=((1, 1.0), (16, 1.01)))
    accepted = []
    for tree in (False, True):
        model = ToyBackend(16, order=2, noise=0.0, seed=0, costs=CHEAP)
        model._sharpness = 0.7  # unsure, so that the verifier's token is often the second
        model.logits_after = lambda prefix, plan=None, own=model.logits_after: (  # type: ignore[method-assign,assignment,misc]
            own(prefix) + 0.6 * ToyBackend(16, order=2, seed=5).logits_after(prefix) / 4
        )
        _, stats = run(
            ModelDrafter(model, free, tree=tree, policy=Fixed(3)), [3, 1, 4], sampling=SamplingParams(max_new_tokens=80)
        )
        assert stats.n_verify is not None
        accepted.append(stats.n_verify)
    assert accepted[1] < accepted[0]


@pytest.mark.parametrize("context", [1, 3, 4, 9, 20])
def test_it_stops_where_the_small_models_context_ends(context: int) -> None:
    sampling = SamplingParams(max_new_tokens=30)
    expected, _ = run(NoDrafter(), [3, 1, 4], sampling=sampling)
    ids, stats = run(drafter(small(context=context), policy=Fixed(3)), [3, 1, 4], sampling=sampling)
    assert ids == expected
    assert bool(stats.n_drafted) is (context > 3)


@pytest.mark.parametrize("rows", [12, 20])
@pytest.mark.parametrize("sampling", [SamplingParams(max_new_tokens=30), replace(SAMPLED, max_new_tokens=30)])
def test_vocabularies_may_have_other_padding(rows: int, sampling: SamplingParams) -> None:
    """16 tokens for the verifier, of which the small model has fewer, or more that mean nothing."""
    expected, _ = run(NoDrafter(), [3, 1, 4], sampling=sampling)
    one = ModelDrafter(small(rows), COSTS, policy=Fixed(3), n_tokens=16, tree=True)
    assert run(one, [3, 1, 4], sampling=sampling)[0] == expected


# --- costs --------------------------------------------------------------------------------------------------------------


def drafted(model: Context, limit: int, n_prompt: int = 3) -> int:
    one = MixDrafter(None, None, None, COSTS, model=ModelDrafter(model, COSTS))
    _, stats = run(one, [3, 1, 4] * (n_prompt // 3), sampling=SamplingParams(max_new_tokens=limit))
    return stats.n_drafted or 0


def test_a_draft_model_that_is_as_dear_as_the_verifier_is_not_asked() -> None:
    dear = small()
    dear._costs = COSTS
    assert drafted(dear, 60) == 0 and dear.n_read == 0
    assert drafted(small(), 60) > 0


def test_a_bad_one_is_given_up() -> None:
    """It may lose what its account allows, and is tried now and then."""
    bad = small(order=1, seed=77)
    mix = MixDrafter(None, None, None, COSTS, model=ModelDrafter(bad, COSTS))
    first = run(mix, [3, 1, 4], sampling=SamplingParams(max_new_tokens=300))[1].n_drafted or 0
    second = run(mix, [3, 1, 4], sampling=SamplingParams(max_new_tokens=300))[1].n_drafted or 0
    assert 0 < first < 100 and second < 60


# --- real models ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[LoadedModel, LoadedModel]:
    """Of one tokenizer: a verifier in float32, and another model in 8 bits."""
    folders = [
        build_tiny_model(
            tmp_path_factory.mktemp("pair") / str(seed), chat_template=True, vocab_from=TEXT, context_tokens=256, seed=seed
        )
        for seed in (0, 1)
    ]
    verifier = load(str(folders[0]), device="cpu")
    return verifier, load_draft(f"hf:{folders[1]}", verifier)


def test_the_draft_model_is_loaded_in_low_bits(pair: tuple[LoadedModel, LoadedModel]) -> None:
    assert pair[1].is_low_bit and pair[1].dtype == "int8" and pair[0].dtype == "float32"
    described = Engine(pair[0], "mix", draft=pair[1]).describe()
    assert described.startswith("mix(copy, recycle, draft) on packed") and described.endswith("int8")


def test_a_rule_of_lengths_takes_the_draft_model_out_of_the_mixs_hands(pair: tuple[LoadedModel, LoadedModel]) -> None:
    """With it every round is drafted, as for methods that skip layers."""
    backend, small = (build_backend(one) for one in pair)
    backend._costs, small._costs = CHEAP, COSTS  # type: ignore[attr-defined]  # a draft model that never pays
    always = build_drafter("draft", backend, lengths="fixed:3", draft=small)
    assert isinstance(always, ModelDrafter) and always.max_tokens == 3
    assert isinstance(build_drafter("draft", backend, draft=small), MixDrafter)
    assert isinstance(build_drafter("draft", backend, lengths="expected", draft=small), MixDrafter)


@pytest.mark.parametrize("method", rest_slow(["draft", "draft-tree", "mix"], keep=["draft-tree"]))
def test_every_text_of_real_models_is_that_of_plain_decoding(pair: tuple[LoadedModel, LoadedModel], method: str) -> None:
    loaded, other = pair
    copy = lowered(load(loaded.name.removeprefix("hf:"), device="cpu"), "int8")  # nearly the same model
    prompt = loaded.tokenizer("The bridge over the river").input_ids
    plain = Engine(loaded, "greedy").decode
    for draft in (other, copy):
        backend, small = build_backend(loaded), build_backend(draft)
        for one, costs in ((backend, COSTS), (small, CHEAP)):
            one._costs = costs  # type: ignore[attr-defined]  # measured ones would make drafts depend on the machine
        loaded.backends["auto"], draft.backends["auto"] = backend, small
        engine = Engine(loaded, method, draft=draft)
        for sampling in (SamplingParams(max_new_tokens=40), replace(SAMPLED, max_new_tokens=40), SamplingParams(200)):
            expected = complete(loaded, plain, prompt, sampling)
            found = complete(loaded, engine.decode, prompt, sampling)
            assert (found.text, found.n_new_tokens) == (expected.text, expected.n_new_tokens)
    assert found.stats.n_accepted


@pytest.mark.parametrize("kind", ["hf", "driven", "packed", "lowbit"])
def test_backends_keep_what_was_drafted_right(kind: str, pair: tuple[LoadedModel, LoadedModel]) -> None:
    """Steps behind steps are committed as far as wanted, and go on from there."""
    loaded = pair[1] if kind == "lowbit" else pair[0]
    backend = build_backend(loaded, kind)  # type: ignore[arg-type]
    tokens = list(range(20, 30))
    backend.prefill(tokens[:4], capacity=64)
    expected = backend.step(tokens[4:]).logits.clone()
    backend.prefill(tokens[:4], capacity=64)
    found = [backend.step([token], offset=i).logits.clone() for i, token in enumerate(tokens[4:9])]
    torch.testing.assert_close(torch.cat(found), expected[:5], rtol=1e-4, atol=1e-4)
    backend.commit(3)
    torch.testing.assert_close(backend.step(tokens[7:]).logits, expected[3:], rtol=1e-4, atol=1e-4)
    backend.step([5, 6], parents=[-1, -1])
    with pytest.raises(ValueError, match="cannot be committed"):
        backend.step([7], offset=2)  # behind a tree there is no chain to go on with
        backend.commit(1)


def drafters_of_itself(backend: StepBackend, own: StepBackend) -> dict[str, Drafter]:
    return {"chain": ModelDrafter(own, COSTS, policy=Fixed(5)), "tree": ModelDrafter(own, COSTS, policy=Fixed(3), tree=True)}


def test_a_low_bit_model_that_drafts_for_itself_is_always_right() -> None:
    """To the bit, as its steps do not depend on how many rows there are."""
    loaded = lowered(tiny_family("llama"), "int8")
    backend, own = build_backend(loaded), build_backend(loaded)
    for one, costs in ((backend, COSTS), (own, CHEAP)):
        one._costs = costs  # type: ignore[attr-defined]
    for sampling in (SamplingParams(max_new_tokens=40), replace(SAMPLED, max_new_tokens=40)):
        texts = []
        for one in (NoDrafter(), *drafters_of_itself(backend, own).values()):
            ids: list[int] = []
            stats = decode(backend, one, [5, 6, 7], Sampler(sampling, 3), lambda t, ids=ids: not ids.append(t))
            texts.append(ids)
            if isinstance(one, ModelDrafter) and not one._tree:
                assert stats.n_drafted and stats.n_accepted == stats.n_drafted
        assert texts[0] == texts[1] == texts[2]


# --- refusals ------------------------------------------------------------------------------------------------------------


def test_another_tokenizer_is_refused_by_both_names(pair: tuple[LoadedModel, LoadedModel], tmp_path: Path) -> None:
    other = load(str(build_tiny_model(tmp_path, chat_template=True, vocab_from=["Entirely other words."])), device="cpu")
    with pytest.raises(UserError) as caught:
        Engine(pair[0], "draft", draft=other)
    assert pair[0].name in str(caught.value) and other.name in str(caught.value) and "--draft-model" in str(caught.value)


def test_methods_say_what_they_lack_or_have_no_use_for(pair: tuple[LoadedModel, LoadedModel]) -> None:
    with pytest.raises(UserError, match="'draft-tree' needs a smaller model of the same tokenizer; name one: --draft-model"):
        Engine(pair[0], "draft-tree")
    with pytest.raises(UserError, match="'copy' has no use for a draft model"):
        Engine(pair[0], "copy", draft=pair[1])


def test_draft_models_that_are_not_there_are_named(pair: tuple[LoadedModel, LoadedModel], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=str(tmp_path / "no.gguf")):
        load_draft(f"gguf:{tmp_path / 'no.gguf'}", pair[0])
    with pytest.raises(UserError, match="is a server"):
        load_draft("server:m@http://localhost:1/v1", pair[0])


def test_it_is_an_argument_of_load(pair: tuple[LoadedModel, LoadedModel]) -> None:
    names = [one.name.removeprefix("hf:") for one in pair]
    decoder = decoding.load(names[0], "draft", device="cpu", draft_model=f"hf:{names[1]}")
    assert decoder.describe().startswith("draft on packed") and names[1] in decoder.describe()

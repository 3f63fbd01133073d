"""Every method on real models: the ids are those of `transformers.generate` and of one token at a time.

On a model that is made to repeat itself, so that drafts are right; on one of random weights `test_methods` does the same by
the methods' names, and here the longer run.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import torch

from data.snapshot import SAMPLE
from decoding.api import SamplingParams
from decoding.backend import SkipSet, StepBackend
from decoding.backends.build import build_backend
from decoding.drafters.copy import CopyDrafter
from decoding.drafters.drafter import Drafter
from decoding.drafters.lengths import Fixed, Threshold
from decoding.drafters.mix import MixDrafter
from decoding.drafters.plain import NoDrafter
from decoding.drafters.recycle import RecycleDrafter
from decoding.drafters.skip import SkipDrafter
from decoding.drafters.swift import SwiftDrafter
from decoding.local import LocalGenerator
from decoding.methods import METHODS as ALL_METHODS
from decoding.methods import NEED_BRIDGES, NEED_DRAFT_MODEL, build_drafter, takes_trees
from decoding.models.loading import LoadedModel, load
from decoding.sampling import Sampler
from decoding.speculative import decode
from pipeline.writing import prompts
from tests.grids import rest_slow
from tests.model_families import DRIVABLE, OTHER, tiny_family
from tests.repeating_model import QUIET_LAYERS, build_repeating_model
from tests.small_calibration import small_calibration
from tests.tiny_model import build_tiny_model
from tests.toy_backend import COSTS

METHODS = tuple(method for method in ALL_METHODS if method not in NEED_DRAFT_MODEL | NEED_BRIDGES)
"""Those with a model of their own are in drafters/test_model.py, those with bridges in knn/test_bridges.py."""
KINDS = ("hf", "driven", "packed")
CASES = [
    (method, kind)
    for method in METHODS
    for kind in KINDS
    if kind == "driven" or method in ("mix", "recycle", "knn-ssd", "clasp")
]
GREEDY = SamplingParams(max_new_tokens=24, task="section")
LAYERS = (0, 1, 2, 3)
PLANS = {
    "first attention": SkipSet((0,)),
    "one block": SkipSet((2,), (2,)),
    "all attention": SkipSet(LAYERS),
    "everything": SkipSet(LAYERS, LAYERS),
}


@dataclass(frozen=True)
class Document:
    title: str
    text: str


def sample_documents() -> list[Document]:
    pages = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((SAMPLE / "wiki").glob("*.json"))]
    return [Document(page["key"], page["text"]) for page in pages]


@dataclass(frozen=True)
class World:
    """A model, what it is asked, and what it answers."""

    loaded: LoadedModel
    repeats: bool
    prompts: tuple[tuple[int, ...], ...]
    expected: tuple[tuple[int, ...], ...]
    """Of `transformers.generate`, greedy."""

    @cache  # noqa: B019  (a fixture's value, gone with it)
    def backend(self, kind: str) -> StepBackend:
        backend: Any = build_backend(self.loaded, kind)  # type: ignore[arg-type]
        backend._costs = COSTS  # a table of its own would take seconds, and make drafts depend on the machine
        return backend  # type: ignore[no-any-return]

    def __hash__(self) -> int:
        return id(self)


@pytest.fixture(scope="module", params=[pytest.param("random", marks=pytest.mark.slow), "repeating"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    documents = sample_documents()
    folder = tmp_path_factory.mktemp(request.param)
    texts = [document.text for document in documents]
    if request.param == "random":
        build_tiny_model(folder, chat_template=True, vocab_from=texts)
    else:
        build_repeating_model(folder, vocab_from=texts)
    loaded = load(str(folder), device="cpu")
    generator = LocalGenerator(loaded)
    asked = tuple(tuple(generator.prompt_ids(messages))[-400:] for messages in questions(documents))
    expected = tuple(generated(loaded, ids, GREEDY.max_new_tokens) for ids in asked)
    return World(loaded, request.param == "repeating", asked, expected)


def questions(documents: Sequence[Document]) -> Iterator[tuple[Any, ...]]:
    for document in documents[:1]:
        lines = [line for line in document.text.split("\n") if len(line) > 80][:2]
        block = prompts.evidence_block([prompts.Numbered(k, document.title, line) for k, line in enumerate(lines, 1)], str)
        yield prompts.article(document.title, block, 100)
    yield prompts.outline("Storm", None, 4)


def generated(loaded: LoadedModel, prompt: Sequence[int], limit: int) -> tuple[int, ...]:
    from transformers import GenerationConfig

    ids = torch.tensor([list(prompt)])
    config = GenerationConfig(max_new_tokens=limit, do_sample=False, pad_token_id=0, eos_token_id=sorted(loaded.eos_ids))
    out = loaded.model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config)
    return tuple(out[0, len(prompt) :].tolist())


@dataclass(frozen=True)
class Drafted:
    drafted: int
    accepted: int


def text_of(
    backend: StepBackend, drafter: Drafter, prompt: Sequence[int], sampling: SamplingParams, ends: frozenset[int]
) -> tuple[tuple[int, ...], Drafted]:
    """Token ids, and how many of them were drafted and taken."""
    taken: list[int] = []

    def take(token: int) -> bool:
        taken.append(token)
        return token not in ends

    stats = decode(backend, drafter, prompt, Sampler(sampling, len(prompt)), take, task=sampling.task)
    return tuple(taken), Drafted(stats.n_drafted or 0, stats.n_accepted or 0)


def difference(model: Any, prompt: Sequence[int], expected: Sequence[int], found: Sequence[int]) -> str:
    """Where two texts part, and by how much the model prefers its first choice there: rounding, or a fault?"""
    at = next((i for i, (a, b) in enumerate(zip(expected, found)) if a != b), min(len(expected), len(found)))
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *expected[:at]]])).logits[0, -1].float()
    best = logits.topk(2).values
    return f"token {at}: {list(expected[at : at + 3])} became {list(found[at : at + 3])}, margin {float(best[0] - best[1]):.3g}"


def check(world: World, backend: StepBackend, drafter: Drafter, times: int = 2) -> Drafted:
    """What was drafted over all prompts. Each is asked twice: what a drafter keeps must not change the text either."""
    n_drafted = n_accepted = 0
    for _ in range(times):
        for prompt, expected in zip(world.prompts, world.expected):
            found, n = text_of(backend, drafter, prompt, GREEDY, world.loaded.eos_ids)
            assert found == expected, difference(world.loaded.model, prompt, expected, found)
            n_drafted += n.drafted
            n_accepted += n.accepted
    return Drafted(n_drafted, n_accepted)


@contextmanager
def without_layers(model: Any, at: Sequence[int]) -> Iterator[None]:
    """These layers add nothing."""
    outputs = [out.weight for i in at for out in (model.model.layers[i].self_attn.o_proj, model.model.layers[i].mlp.down_proj)]
    kept = [weight.clone() for weight in outputs]
    for weight in outputs:
        weight.zero_()
    try:
        yield
    finally:
        for weight, value in zip(outputs, kept):
            weight.copy_(value)


@pytest.mark.parametrize(
    ("method", "kind"),
    rest_slow(CASES, keep=[("mix", "hf"), ("clasp", "packed"), *((method, "driven") for method in METHODS)]),
)
def test_every_method_writes_what_generate_writes(world: World, method: str, kind: str) -> None:
    """And of the model that repeats itself drafts are accepted: it cannot be equal because nothing was drafted."""
    backend = world.backend(kind)
    n = check(world, backend, build_drafter(method, backend, calibration=small_calibration(world.loaded)))
    if method == "greedy":
        assert n == Drafted(0, 0)
    elif world.repeats and method == "knn-ssd":
        assert n.accepted == n.drafted > 0  # it leaves out quiet layers only
    elif world.repeats and method in ("copy", "recycle", "mix", "auto"):
        assert n.accepted > 0


def test_the_model_that_repeats_itself_does_so_by_a_margin(world: World) -> None:
    """What the counts above rest on, far from any rounding: its choices hardly depend on the quiet layers, do depend on the
    prompt, and come again."""
    if not world.repeats:
        pytest.skip("of random weights nothing is known")
    again = elsewhere = 0
    for prompt, text in zip(world.prompts, world.expected):
        ids, behind = torch.tensor([[*prompt, *text]]), slice(len(prompt) - 1, -1)
        with torch.no_grad():
            logits = world.loaded.model(ids).logits[0, behind]
            with without_layers(world.loaded.model, QUIET_LAYERS):
                less = world.loaded.model(ids).logits[0, behind]
            alone = world.loaded.model(ids[:, len(prompt) :]).logits[0, :-1].argmax(-1)
        best = logits.topk(2).values
        assert float((best[:, 0] - best[:, 1]).min()) > max(0.05, 10 * float((logits - less).abs().max()))
        again += len(text) - len(set(text))
        elsewhere += int((alone != torch.tensor(text[1:])).sum())
    assert again >= 16 and elsewhere >= 8  # of 48


@pytest.mark.parametrize("plan", PLANS)
def test_any_skip_set_writes_what_generate_writes(world: World, plan: str) -> None:
    for policy in (Fixed(5), Threshold(0.02, 3)):
        check(world, world.backend("driven"), SkipDrafter(PLANS[plan], policy), times=1)


@pytest.mark.parametrize(
    "sampling",
    [
        SamplingParams(max_new_tokens=16, temperature=0.5, top_k=20, repetition_penalty=1.2, seed=5, task="section"),
        pytest.param(SamplingParams(max_new_tokens=24, temperature=0.8, top_p=0.9, seed=4), marks=pytest.mark.slow),
        pytest.param(SamplingParams(max_new_tokens=24, repetition_penalty=1.2), marks=pytest.mark.slow),
    ],
    ids=["top_k and penalty", "top_p", "greedy with penalty"],
)
def test_sampled_texts_are_those_of_one_token_at_a_time(world: World, sampling: SamplingParams) -> None:
    backend = world.backend("driven")
    calibration = small_calibration(world.loaded)
    prompt = world.prompts[0]
    expected, _ = text_of(backend, NoDrafter(), prompt, sampling, world.loaded.eos_ids)
    for method in METHODS:
        drafter = build_drafter(method, backend, calibration=calibration)
        found, _ = text_of(backend, drafter, prompt, sampling, world.loaded.eos_ids)
        assert found == expected, method


# --- many prompts -----------------------------------------------------------------------------------------------------

N_PROMPTS = 1000
FREE: dict[str, Callable[[StepBackend], Drafter]] = {
    "copy": lambda backend: CopyDrafter(),
    "recycle": lambda backend: RecycleDrafter(),
    "skip": lambda backend: SkipDrafter(SkipSet((1,), (2,)), Fixed(5)),
    "swift": lambda backend: SwiftDrafter(),
    "mix": lambda backend: MixDrafter(
        CopyDrafter(),
        RecycleDrafter(),
        SkipDrafter(SkipSet((2,)), Threshold(0.02, 5)),
        COSTS,
        trees=takes_trees(backend),
        name="mix",
    ),
}


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("family", [*DRIVABLE, *OTHER])
def test_a_thousand_prompts(family: str, record_property: Callable[[str, object], None], capsys: Any) -> None:
    """Counts texts that differ from one token at a time; each must part where two logits are equal up to rounding."""
    loaded = tiny_family(family)
    backend = build_backend(loaded)
    drafters = FREE if family not in ("gpt2", "bloom") else {"copy": FREE["copy"]}  # their layers cannot be skipped
    made = {name: make(backend) for name, make in drafters.items()}
    sampling = SamplingParams(max_new_tokens=12)
    rng = random.Random(family)
    parted = dict.fromkeys(made, 0)
    accepted = dict.fromkeys(made, 0)
    for _ in range(N_PROMPTS):
        words = rng.choices(range(3, 300), k=rng.randint(1, 12))
        prompt = [*words, *rng.choices(range(3, 300), k=rng.randint(0, 6)), *words[:-1]]
        expected, _ = text_of(backend, NoDrafter(), prompt, sampling, loaded.eos_ids)
        for name, drafter in made.items():
            found, n = text_of(backend, drafter, prompt, sampling, loaded.eos_ids)
            accepted[name] += n.accepted
            if found != expected:
                told = difference(loaded.model, prompt, expected, found)
                assert float(told.rpartition(" ")[2]) < 1e-4, f"{name}: {told}"
                parted[name] += 1
    record_property("texts that parted", parted)
    with capsys.disabled():
        print(f"\n{family}: of {N_PROMPTS} texts parted {parted}; tokens accepted {accepted}")
    assert max(parted.values()) <= N_PROMPTS // 200

"""Every method on real models: the ids are those of `transformers.generate` and of one token at a time.

On a model that has learnt something; on one of random weights `test_methods` does the same by the methods' names, and here
the longer run.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest
import torch

from data.snapshot import SAMPLE
from decoding.api import SamplingParams, Task
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
from decoding.methods import METHODS, build_drafter, takes_trees
from decoding.models import LoadedModel, load
from decoding.sampling import Sampler
from decoding.speculative import decode
from decoding.training.batches import Mixture
from decoding.training.corpus import Document
from decoding.training.presets import Phase, Preset
from decoding.training.train import Training
from pipeline import prompts
from tests.model_families import DRIVABLE, OTHER, tiny_family
from tests.small_calibration import small_calibration
from tests.tiny_model import build_tiny_model
from tests.toy_backend import COSTS

KINDS = ("hf", "driven", "packed", "static")
CASES = [(method, kind) for method in METHODS for kind in KINDS if kind == "driven" or method in ("mix", "recycle", "knn-ssd")]
GREEDY = SamplingParams(max_new_tokens=32, task="section")
LAYERS = (0, 1, 2, 3)
SMALL = Preset(
    n_layers=4, hidden=64, vocab_size=700, tokens=80 * 1024, tokens_per_step=1024, matrix_rate=0.02, embedding_rate=0.02,
    norm_rate=0.004, head_dim=32, context=1024, phases=(Phase(0.0, Mixture(copying=0.3, sections=0.2), (256,)),), eval_every=60,
)  # fmt: skip
"""A model that has really learnt something: drafts for it are right often, not by luck."""
PLANS = {
    "first attention": SkipSet((0,)),
    "one block": SkipSet((2,), (2,)),
    "all attention": SkipSet(LAYERS),
    "everything": SkipSet(LAYERS, LAYERS),
}


def sample_documents() -> list[Document]:
    pages = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((SAMPLE / "wiki").glob("*.json"))]
    return [Document("sample", "CC0-1.0", page["key"], page["text"]) for page in pages]


@dataclass(frozen=True)
class World:
    """A model, what it is asked, and what it answers."""

    loaded: LoadedModel
    trained: bool
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


@pytest.fixture(scope="module", params=[pytest.param("random", marks=pytest.mark.slow), "trained"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    documents = sample_documents()
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "random":
        build_tiny_model(folder, chat_template=True, vocab_from=[document.text for document in documents])
    else:
        Training(folder, documents, SMALL, compiled=False).run()
        folder = folder / "model"
    loaded = load(str(folder), device="cpu")
    generator = LocalGenerator(loaded)
    asked = tuple(tuple(generator.prompt_ids(messages))[-400:] for messages in questions(documents))
    expected = tuple(generated(loaded, ids, GREEDY.max_new_tokens) for ids in asked)
    return World(loaded, request.param == "trained", asked, expected)


def questions(documents: Sequence[Document]) -> Iterator[tuple[Any, ...]]:
    for document in documents[:2]:
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


def text_of(
    backend: StepBackend, drafter: Drafter, prompt: Sequence[int], sampling: SamplingParams, ends: frozenset[int]
) -> tuple[tuple[int, ...], int]:
    """Token ids, and how many were accepted from drafts."""
    taken: list[int] = []

    def take(token: int) -> bool:
        taken.append(token)
        return token not in ends

    stats = decode(backend, drafter, prompt, Sampler(sampling, len(prompt)), take, task=sampling.task)
    return tuple(taken), stats.n_accepted or 0


def difference(model: Any, prompt: Sequence[int], expected: Sequence[int], found: Sequence[int]) -> str:
    """Where two texts part, and by how much the model prefers its first choice there: rounding, or a fault?"""
    at = next((i for i, (a, b) in enumerate(zip(expected, found)) if a != b), min(len(expected), len(found)))
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *expected[:at]]])).logits[0, -1].float()
    best = logits.topk(2).values
    return f"token {at}: {list(expected[at : at + 3])} became {list(found[at : at + 3])}, margin {float(best[0] - best[1]):.3g}"


def check(world: World, backend: StepBackend, drafter: Drafter, times: int = 2) -> int:
    """Tokens accepted over all prompts. Each is asked twice: what a drafter keeps must not change the text either."""
    accepted = 0
    for _ in range(times):
        for prompt, expected in zip(world.prompts, world.expected):
            found, n = text_of(backend, drafter, prompt, GREEDY, world.loaded.eos_ids)
            assert found == expected, difference(world.loaded.model, prompt, expected, found)
            accepted += n
    return accepted


@pytest.mark.parametrize(("method", "kind"), CASES)
def test_every_method_writes_what_generate_writes(world: World, method: str, kind: str) -> None:
    backend = world.backend(kind)
    accepted = check(world, backend, build_drafter(method, backend, calibration=small_calibration(world.loaded)))
    if method == "greedy":
        assert accepted == 0
    elif world.trained and method in ("copy", "recycle", "mix", "auto", "knn-ssd"):
        assert accepted > 0  # the trained model repeats itself and its prompt: it cannot be equal because nothing was drafted


@pytest.mark.parametrize("plan", PLANS)
def test_any_skip_set_writes_what_generate_writes(world: World, plan: str) -> None:
    for policy in (Fixed(5), Threshold(0.02, 3)):
        check(world, world.backend("driven"), SkipDrafter(PLANS[plan], policy), times=1)


@pytest.mark.parametrize(
    "sampling",
    [
        SamplingParams(max_new_tokens=24, temperature=0.5, top_k=20, repetition_penalty=1.2, seed=5),
        pytest.param(SamplingParams(max_new_tokens=24, temperature=0.8, top_p=0.9, seed=4), marks=pytest.mark.slow),
        pytest.param(SamplingParams(max_new_tokens=24, repetition_penalty=1.2), marks=pytest.mark.slow),
    ],
    ids=["top_k and penalty", "top_p", "greedy with penalty"],
)
def test_sampled_texts_are_those_of_one_token_at_a_time(world: World, sampling: SamplingParams) -> None:
    backend = world.backend("driven")
    calibration = small_calibration(world.loaded)
    tasks: tuple[Task, ...] = ("section", "other")
    for prompt, task in zip(world.prompts, tasks):
        asked = replace(sampling, task=task)
        expected, _ = text_of(backend, NoDrafter(), prompt, asked, world.loaded.eos_ids)
        for method in METHODS:
            drafter = build_drafter(method, backend, calibration=calibration)
            found, _ = text_of(backend, drafter, prompt, asked, world.loaded.eos_ids)
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
            accepted[name] += n
            if found != expected:
                told = difference(loaded.model, prompt, expected, found)
                assert float(told.rpartition(" ")[2]) < 1e-4, f"{name}: {told}"
                parted[name] += 1
    record_property("texts that parted", parted)
    with capsys.disabled():
        print(f"\n{family}: of {N_PROMPTS} texts parted {parted}; tokens accepted {accepted}")
    assert max(parted.values()) <= N_PROMPTS // 200

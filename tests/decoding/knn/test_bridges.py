"""Bridges: a path of the model's own sub-layers, maps that are trained, files that are refused where they do not belong."""

from __future__ import annotations

import random
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from data.errors import UserError
from decoding.api import Message, SamplingParams
from decoding.backend import BridgedSet
from decoding.backends.bridges import END, Bridge, LowRank, check_path
from decoding.backends.build import build_backend
from decoding.backends.lowbit import LowBitBackend
from decoding.drafters.plain import NoDrafter
from decoding.engine import Engine
from decoding.knn import bridge_routing, distillation
from decoding.knn.bridge_files import FILE, Bridges
from decoding.knn.bridge_routing import bridges_for
from decoding.knn.bridge_training import Recipe, Text, train
from decoding.knn.prompt_files import PromptRow
from decoding.models.loading import LoadedModel, load, lowered
from decoding.sampling import Sampler
from decoding.speculative import decode
from tests.model_families import tiny_family
from tests.tiny_model import build_tiny_model

PATH = ("attention 0", "mlp 0", "map", "attention 3", "mlp 3", "map")
RECIPE = Recipe(rank=8, vocabulary=40, fitted=6, steps=12, batch=3, rate=3e-3)
FAMILIES: dict[str, dict[str, Any]] = {"llama": {}, "qwen2": {}, "qwen3": {"head_dim": 32}, "granite": {}}
GREEDY = SamplingParams(max_new_tokens=24)


@cache
def loaded(family: str = "") -> LoadedModel:
    """One with a tokenizer, or of a family without."""
    if family:
        return lowered(tiny_family(family, **FAMILIES[family]), "int8")
    with tempfile.TemporaryDirectory() as folder:
        path = build_tiny_model(Path(folder) / "tiny", chat_template=True, vocab_from=["Red and green again and again."])
        return load(str(path), device="cpu", dtype="int8")


@cache
def backend(family: str = "") -> LowBitBackend:
    found = build_backend(loaded(family))
    assert isinstance(found, LowBitBackend)
    return found


def prompt(seed: int, n: int = 14) -> tuple[int, ...]:
    return tuple(random.Random(seed).choices(range(3, 90), k=n))


def written(model: LowBitBackend, drafter: Any, start: tuple[int, ...], sampling: SamplingParams = GREEDY) -> list[int]:
    ids: list[int] = []

    def take(token: int) -> bool:
        ids.append(token)
        return len(ids) < sampling.max_new_tokens

    decode(model, drafter, start, Sampler(sampling, len(start)), take)
    return ids


@cache
def texts() -> tuple[Text, ...]:
    return tuple(Text(prompt(i), tuple(written(backend(), NoDrafter(), prompt(i)))) for i in range(8))


@cache
def trained() -> Bridge:
    return train(backend(), texts(), PATH, RECIPE, name="short")


def whole(model: LowBitBackend) -> Bridge:
    """Every sub-layer, its own norms, a map that changes nothing, and every token."""
    n, size = model.info.n_layers, model.info.hidden_size
    layers = model.compiled_parts()[2]
    norms = {f"attention {i}": layers[i].before_attention for i in range(n)} | {
        f"mlp {i}": layers[i].before_mlp for i in range(n)
    }
    nothing = LowRank(np.zeros((1, size), np.float32), np.zeros((size, 1), np.float32), np.zeros(size, np.float32))
    path = (*(f"{part} {i}" for i in range(n) for part in ("attention", "mlp")), "map")
    return Bridge("whole", path, (nothing,), {**norms, END: model.last_norm()}, tuple(range(model.info.vocab_size)))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_path_of_all_sub_layers_is_the_model(family: str) -> None:
    model = backend(family)
    plan = model.take_bridge(whole(model))
    model.prefill(prompt(1), capacity=40)
    expected = model.step([7]).logits.clone()
    torch.testing.assert_close(model.step([7], plan=plan).logits, expected, rtol=1e-4, atol=1e-4)
    plain = written(model, NoDrafter(), prompt(1))
    model.prefill(prompt(1), capacity=60)
    assert list(model.draft_chain(plain[0], plan=plan, max_tokens=6).tokens) == plain[1:7]


def followed(plan: BridgedSet) -> int:
    """How many tokens of the answers it was trained on a bridge foresees, each behind the model's own text."""
    model, hits = backend(), 0
    for text in texts():
        ids = [*text.prompt, *text.answer]
        for at in range(len(text.prompt), len(ids) - 1):
            model.prefill(ids[:at], capacity=60)
            hits += model.draft_chain(ids[at], plan=plan, max_tokens=1).tokens[0] == ids[at + 1]
    return hits


def test_training_learns() -> None:
    untrained = train(backend(), texts(), PATH, RECIPE, stop_after=0)
    before, after = (followed(backend().take_bridge(bridge)) for bridge in (untrained, trained()))
    assert after > before


def test_what_prompts_have_in_common_is_not_learnt_again_and_again() -> None:
    from decoding.knn.bridge_training import _Drafter, _shared

    assert _shared([(1, 2, 3, 4), (1, 2, 5), (9, 9), (1, 2, 3, 7)]) == [3, 2, 0, 3]
    model, text = backend(), texts()[0]
    read = _Drafter(model, PATH, replace(RECIPE, prompt=6)).read(model, text)
    assert read.text.prompt == text.prompt[:-6] and read.text.answer == (*text.prompt[-6:], *text.answer)
    assert len(read.wanted) == len(read.text.answer) - 1 and read.wanted[5:] == text.answer
    shared = _Drafter(model, PATH, replace(RECIPE, prompt=6)).read(model, text, shared=len(text.prompt) - 2)
    assert shared.text.answer == (*text.prompt[-2:], *text.answer) and shared.wanted == read.wanted[4:]


def test_what_is_trained_is_what_drafts() -> None:
    """The path in torch and the compiled one, on the same token behind the same prompt."""
    from decoding.knn.bridge_training import _Drafter

    model, text = backend(), texts()[0]
    bridge = trained()
    drafter = _Drafter(model, PATH, replace(RECIPE, prompt=0))
    with torch.no_grad():
        for i, one in enumerate(bridge.maps):
            for part in ("down", "up", "bias"):
                drafter.parameters[f"map {i} {part}"].copy_(torch.from_numpy(getattr(one, part)))
        for step, norm in bridge.norms.items():
            drafter.parameters[f"norm {step}"].copy_(torch.from_numpy(norm))
        states = drafter._states([(drafter.read(model, text), [0] * (len(text.answer) - 1))])
        head = torch.from_numpy(drafter._head.values())
        expected = model.scaled(states[:3] @ head.T)
    plan = model.take_bridge(replace(bridge, vocabulary=tuple(range(model.info.vocab_size))))
    model.prefill(text.prompt, capacity=60)
    found = torch.cat([model.step([token], plan=plan, offset=i).logits for i, token in enumerate(text.answer[:3])])
    assert float((found - expected).norm() / expected.norm()) < 0.05  # rows are rounded to 8 bits before each product


def test_interrupted_training_goes_on_to_the_same_bridge(tmp_path: Path) -> None:
    checkpoint = tmp_path / "half.safetensors"
    train(backend(), texts(), PATH, RECIPE, name="short", checkpoint=checkpoint, stop_after=5)
    resumed = train(backend(), texts(), PATH, RECIPE, name="short", checkpoint=checkpoint)
    assert resumed.key == trained().key
    said: list[str] = []
    done = train(backend(), texts(), PATH, RECIPE, name="short", checkpoint=checkpoint, report=said.append)
    assert done.key == resumed.key and not said, "what is done is not read again"


def bridges(name: str = "short") -> Bridges:
    from decoding.knn.artefact import Identity
    from decoding.knn.bridge_files import Made

    made = Made("command", "2026-01-01", 0, 12, 8, ("a",))
    anchors = np.eye(2, backend().info.hidden_size, dtype=np.float32)
    return Bridges(Identity.of(loaded()), made, (replace(trained(), name=name),), {}, anchors, (name, name))


def test_a_file_is_read_as_it_was_written_and_refused_for_others(tmp_path: Path) -> None:
    path = tmp_path / FILE
    bridges().save(path)
    again = Bridges.load(path, loaded())
    assert again.bridges[0].path == PATH and again.routes == ("short", "short")
    np.testing.assert_allclose(again.bridges[0].maps[0].down, trained().maps[0].down, rtol=2e-3, atol=1e-5)
    with pytest.raises(UserError, match=r"trained for .* not for .*--distil"):
        Bridges.load(path, replace(loaded(), fingerprint="another", name="another"))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UserError, match="damaged"):
        Bridges.load(path, loaded())
    with pytest.raises(UserError, match=r"no bridges for .* run: python -m decoding.calibrate"):
        Bridges.load(tmp_path / "other", loaded())


def test_bridges_that_are_brought_along_are_found_by_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own come first; those of another model are none."""
    own, trained_here, model = tmp_path / "own", tmp_path / "trained", loaded()
    monkeypatch.setattr(bridge_routing, "calibration_folder", lambda _: own)
    monkeypatch.setattr(bridge_routing, "TRAINED", trained_here)
    assert bridges_for(model, needed=False) is None
    with pytest.raises(UserError, match="--distil"):
        bridges_for(model, needed=True)
    bridges("brought").save(trained_here / f"tiny-{model.fingerprint[:12]}.safetensors")
    found = bridges_for(model, needed=True)
    assert found is not None and found.routes == ("brought", "brought")
    assert bridges_for(model, needed=False) is None, "a mix gains nothing by them"
    with pytest.raises(UserError, match="--distil"):
        bridges_for(replace(model, fingerprint="another"), needed=True)
    bridges("own").save(own / FILE)
    found = bridges_for(model, needed=False)
    assert found is not None and found.routes == ("own", "own")


def test_the_files_that_are_brought_along_are_whole() -> None:
    """Of a model that tests have not: as far as its fingerprint."""
    files = sorted(bridge_routing.TRAINED.glob("*.safetensors"))
    assert files
    for file in files:
        with pytest.raises(UserError, match=r"trained for (?P<model>[\w.-]+) in \w+ .*not for") as refused:
            Bridges.load(file, loaded())
        assert file.name.startswith(f"{str(refused.value).split('trained for ')[1].split(' ')[0]}-")
        assert file.stat().st_size < 10_000_000


def test_bridges_of_another_layer_set_are_refused() -> None:
    for broken in (
        replace(trained(), maps=trained().maps[:1]),
        replace(trained(), path=(*PATH[:-1], "attention 9", "map")),
        replace(trained(), norms={END: trained().norms[END]}),
        replace(trained(), vocabulary=(10**6,)),
    ):
        with pytest.raises(UserError, match=r"fits another model|is not one of a model"):
            backend().take_bridge(broken)
    for path, why in ((("mlp x",), "no step"), (("mlp 1", "attention 1"), "in their order"), (("map",), "not one of")):
        with pytest.raises(UserError, match=why):
            check_path(path, 4)


def test_the_method_needs_bridges_and_compiled_steps() -> None:
    with pytest.raises(UserError, match="--distil"):
        Engine(loaded(), "knn-ssd-distilled")
    with pytest.raises(UserError, match="compiled low-bit steps"):
        Engine(tiny_family("llama"), "knn-ssd-distilled", bridges=bridges())


@pytest.mark.parametrize("method", ["knn-ssd-distilled", "mix"])
def test_methods_write_what_plain_decoding_writes(method: str) -> None:
    engine, plain = Engine(loaded(), method, bridges=bridges()), Engine(loaded(), "greedy")
    assert method in engine.describe() and ("distilled" in engine.describe())
    for seed in (1, 2):
        found: list[list[int]] = []
        for one in (engine, plain):
            ids: list[int] = []
            one.decode(prompt(seed), GREEDY, lambda token, ids=ids: ids.append(token) or len(ids) < 24)  # type: ignore[misc]
            found.append(ids)
        assert found[0] == found[1]


def test_distilling_routes_prompts_and_goes_on_where_it_was(tmp_path: Path) -> None:
    rows = [
        PromptRow(f"{event}/{n}", (Message("user", f"Say {event} {n} times: " + "red green " * n),), event=f"event {event}")
        for event in range(3)
        for n in range(3)
    ]
    paths = (("short", PATH), ("long", ("attention 0", "mlp 0", "map", "attention 2", "map", "attention 3", "mlp 3", "map")))
    settings = distillation.Settings(replace(RECIPE, steps=4), max_new_tokens=12, paths=paths)
    said: list[str] = []
    made = distillation.distil(loaded(), backend(), rows, tmp_path, settings, said.append)
    assert {*made.routes} <= {"short", "long"} and [b.name for b in made.bridges] == [n for n, _ in paths if n in made.routes]
    report = (tmp_path / "bridges.md").read_text()
    assert "| short |" in report and "| long |" in report and "Routing:" in report
    first = (tmp_path / FILE).read_bytes()
    said.clear()
    distillation.distil(loaded(), backend(), rows, tmp_path, settings, said.append)
    assert not any("step 4/4" in line for line in said), "nothing is trained again"
    assert Bridges.load(tmp_path / FILE, loaded()).bridges[0].key == Bridges.load(tmp_path / FILE, loaded()).bridges[0].key
    assert len(first) == (tmp_path / FILE).stat().st_size

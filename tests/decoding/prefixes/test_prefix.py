"""A trained beginning of a prompt: read from a file in place of being computed, by every backend, alone and together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from data.errors import UserError
from decoding.api import Message, Request, SamplingParams
from decoding.engine import Engine, backend_of
from decoding.local import LocalGenerator
from decoding.models.loading import LoadedModel, load, lowered
from decoding.models.registry import KNOWN
from decoding.prefixes.prefix import FOLDER, TrainedPrefix, prefix_of, read, tasks_of
from pipeline.writing import prompts
from pipeline.writing.saying import SAY
from pipeline.writing.short_facts import PARTS
from tests.tiny_model import build_tiny_model
from tools.fits.fit_prefix import STAND_IN

TEXT = ["The bridge over the river fell on Monday morning, the mayor said.", "Two people were hurt, and the road is closed."]
INSTRUCTION = Message("system", TEXT[0])
ASKED = [(INSTRUCTION, Message("user", text)) for text in ("the road is closed", "Two people were hurt", "on Monday morning")]
SAMPLING = SamplingParams(max_new_tokens=12)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = build_tiny_model(
        tmp_path_factory.mktemp("tiny"), chat_template=True, vocab_from=TEXT, context_tokens=256, padding=2
    )
    return replace(load(str(folder), device="cpu"), weights_sha256="known" * 12)


@pytest.fixture(scope="module")
def low_bit(loaded: LoadedModel, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = build_tiny_model(
        tmp_path_factory.mktemp("tiny"), chat_template=True, vocab_from=TEXT, context_tokens=256, padding=2
    )
    return replace(lowered(load(str(folder), device="cpu"), "int8"), weights_sha256="known" * 12)


def of_tokens(loaded: LoadedModel, kind: str = "auto") -> TrainedPrefix:
    """A prefix of the keys and values that the beginning of `ASKED` has untrained."""
    generator = LocalGenerator(loaded)
    ids = [generator.prompt_ids(messages) for messages in ASKED]
    n = min(next(i for i, (a, b) in enumerate(zip(ids[0], other)) if a != b) for other in ids[1:]) - 2
    backend: Any = backend_of(loaded, kind)
    backend.prefill(ids[0][:n], capacity=64)
    if hasattr(backend.kv, "keys"):
        keys, values = backend.kv.keys[..., :n].swapaxes(2, 3), backend.kv.values[:, :, :n]
    else:
        layers = [backend.kv._buffers[layer] for layer in range(backend.info.n_layers)]
        keys, values = (np.concatenate([one[part][:, :, :n].numpy() for one in layers]) for part in (0, 1))
    backend.forget()
    stand_in = backend.info.vocab_size - 1
    return TrainedPrefix(
        "say",
        loaded.weights_sha256,
        (tuple(ids[0][:n]),),
        (chat(ASKED[0][:-1]),),
        stand_in,
        "as it is",
        keys.copy(),
        values.copy(),
    )


def answers(generator: LocalGenerator, tuned: str = "say") -> list[str]:
    return [one.text for one in generator.generate_many([Request(messages, SAMPLING, tuned) for messages in ASKED])]


def engine_of(loaded: LoadedModel, kind: str = "auto") -> LocalGenerator:
    return LocalGenerator(loaded, engine=Engine(loaded, "greedy", backend=kind))


@pytest.mark.parametrize("kind", ["hf", "driven", "lowbit"])
def test_keys_and_values_from_a_file_stand_for_those_of_the_tokens(
    kind: str, loaded: LoadedModel, low_bit: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = replace(low_bit if kind == "lowbit" else loaded, backends={})
    untrained = of_tokens(model, kind)
    plain = answers(engine_of(model, kind), "")
    monkeypatch.setattr("decoding.local.prefix_of", lambda sha256, name: untrained if name == "say" else None)
    generator = engine_of(model, kind)
    assert answers(generator) == plain
    assert answers(generator, "another task") == plain
    assert [generator.generate(messages, SAMPLING).text for messages in ASKED] == plain, "only who asks for it gets it"

    trained = replace(untrained, values=-untrained.values)
    monkeypatch.setattr("decoding.local.prefix_of", lambda sha256, name: trained)
    other = engine_of(replace(model, backends={}), kind)
    changed = answers(other)
    assert changed != plain and other.tuned == frozenset()
    alone = [other.generate_many([Request(messages, SAMPLING, "say")])[0].text for messages in ASKED]
    assert alone == changed, "alone and together"
    mixed = [Request(ASKED[0], SAMPLING, "say"), *(Request(messages, SAMPLING) for messages in ASKED)]
    assert [one.text for one in other.generate_many(mixed)] == [changed[0], *plain]


def test_a_prompt_that_begins_otherwise_is_read_as_it_is(low_bit: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    model = replace(low_bit, backends={})
    trained = replace(of_tokens(model), keys=np.zeros_like(of_tokens(model).keys))
    monkeypatch.setattr("decoding.local.prefix_of", lambda sha256, name: trained)
    generator = engine_of(model)
    request = Request((Message("user", "the road is closed"),), SAMPLING, "say")
    alone = generator.generate(request.messages, SAMPLING).text
    assert generator.generate_many([request])[0].text == alone
    tuned = generator.generate_many([Request(ASKED[0], SAMPLING, "say")])[0].text
    together = generator.generate_many([request, Request(ASKED[0], SAMPLING, "say"), request])
    assert [one.text for one in together] == [alone, tuned, alone]


def test_one_of_another_shape_or_without_an_end_is_refused(low_bit: LoadedModel) -> None:
    model = replace(low_bit, backends={})
    backend: Any = backend_of(model)
    prefix = of_tokens(model)
    with pytest.raises(UserError, match=r"'say' is not one of .*install the package again"):
        backend.take_prefix(replace(prefix, keys=prefix.keys[:1]))
    with pytest.raises(UserError, match=r"'say' has the token 20 in the place of its own"):
        backend.take_prefix(replace(prefix, stand_in=20))
    backend.take_prefix(prefix)
    backend.take_prefix(prefix)
    with pytest.raises(ValueError, match="comes whole"):
        backend.prefill([prefix.stand_in] * prefix.length, capacity=64)


def test_a_file_says_whose_it_is(tmp_path: Path, low_bit: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = of_tokens(replace(low_bit, backends={}))
    path = tmp_path / f"say-{prefix.weights_sha256[:12]}.safetensors"
    prefix.save(path)
    again = read(path)
    for found, held in ((again.keys, prefix.keys), (again.values, prefix.values)):
        assert found.dtype == np.float32 and (np.abs(found - held) <= np.abs(held).max(axis=2, keepdims=True) / 250).all()
    assert (again.beginnings, again.stand_in, again.about) == (prefix.beginnings, prefix.stand_in, prefix.about)
    monkeypatch.setattr("decoding.prefixes.prefix.FOLDER", tmp_path)
    found = prefix_of(prefix.weights_sha256, "say")
    assert found is not None and found.about == prefix.about and tasks_of(prefix.weights_sha256) == {"say"}
    path.rename(tmp_path / f"note-{prefix.weights_sha256[:12]}.safetensors")
    with pytest.raises(UserError, match=r"note-known.*'say' of other weights"):
        prefix_of(prefix.weights_sha256, "note")
    with pytest.raises(ValueError, match="no number"):
        replace(prefix, keys=np.full_like(prefix.keys, np.nan)).save(path)
    prefix.save(path)
    held = load_file(path)
    with safe_open(path, "np") as file:
        about = file.metadata()
    save_file(held | {"keys.scale": np.full_like(held["keys.scale"], np.nan)}, path, metadata=about)
    with pytest.raises(UserError, match=r"say-known.*no number"):
        read(path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(UserError, match=r"say-known.*no trained prefix"):
        read(path)


def test_one_that_was_trained_on_from_another_is_kept_as_what_it_differs_by(tmp_path: Path, low_bit: LoadedModel) -> None:
    first = of_tokens(replace(low_bit, backends={}))
    first.save(tmp_path / f"say-{first.weights_sha256[:12]}.safetensors")
    begun = read(tmp_path / f"say-{first.weights_sha256[:12]}.safetensors")
    added = np.random.default_rng(0).normal(size=begun.keys.shape).astype(np.float32)
    other = replace(begun, name="parts", keys=begun.keys + added, values=begun.values - added)
    path = tmp_path / f"parts-{first.weights_sha256[:12]}.safetensors"
    other.save(path, begun)
    found = read(path)
    least = np.abs(added).max(axis=2, keepdims=True) / 14 + 1e-5  # half a step of what 4 bits tell apart
    for kept, wanted in ((found.keys, other.keys), (found.values, other.values)):
        assert (np.abs(kept - wanted) <= least).all()
    assert found.name == "parts" and load_file(path)["keys"].nbytes * 2 == added.size
    replace(begun, about="trained anew").save(tmp_path / f"say-{first.weights_sha256[:12]}.safetensors")
    with pytest.raises(UserError, match=r"parts-known.*say-known\S* is not the one that it was trained on from"):
        read(path)
    (tmp_path / f"say-{first.weights_sha256[:12]}.safetensors").unlink()
    with pytest.raises(UserError, match=r"parts-known.*No such file"):
        read(path)


@pytest.mark.parametrize(
    ("task", "asked"), [(SAY, (prompts.say(""), prompts.say("", story=True))), (PARTS, (prompts.parts(""),))]
)
def test_those_shipped_are_of_a_known_model_and_stand_for_what_is_asked(
    task: str, asked: tuple[tuple[Message, ...], ...]
) -> None:
    sha256 = KNOWN["qwen-1.5b"].sha256
    assert {file.name for file in FOLDER.glob("*.safetensors")} == {
        f"{name}-{sha256[:12]}.safetensors" for name in (SAY, PARTS)
    }
    prefix = prefix_of(sha256, task)
    assert prefix is not None and (prefix.name, prefix.weights_sha256, prefix.stand_in) == (task, sha256, STAND_IN[task])
    assert prefix.keys.shape == (28, 2, prefix.length, 128)
    begun = [chat(messages[:-1]) for messages in asked]
    assert list(prefix.texts) == begun, "the prompt was changed: train it anew (tools.fits.fit_prefix)"


def test_what_nothing_was_trained_for_has_none() -> None:
    sha256 = KNOWN["qwen-1.5b"].sha256
    assert tasks_of(sha256) == {SAY, PARTS} and tasks_of("") == frozenset() and len(set(STAND_IN.values())) == len(STAND_IN)
    assert prefix_of(sha256, "another") is None and prefix_of("", SAY) is None


def chat(messages: tuple[Message, ...]) -> str:
    """As Qwen's template writes them."""
    return "".join(f"<|im_start|>{one.role}\n{one.content}<|im_end|>\n" for one in messages)

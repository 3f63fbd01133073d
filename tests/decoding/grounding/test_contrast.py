"""Contrast as a setting: conversations in, the text of the formula out, whoever decodes; and what it took is told."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from data import codec
from data.errors import StageError, UserError
from decoding.api import Cite, Contrast, Message, SamplingParams
from decoding.bench.reference import plain_decoding
from decoding.certificate import read_records, recording
from decoding.certify import certify
from decoding.engine import Engine
from decoding.local import LocalGenerator
from decoding.models.loading import LoadedModel, load
from tests.decoding.grounding.test_cite import MARKED, faults
from tests.grids import rest_slow
from tests.tiny_model import build_tiny_model

ROLE = Message("system", "You write plainly.")
SHOWN = (ROLE, Message("user", f"{MARKED}\n\nThe bridge over the river"))
WITHOUT = (ROLE, Message("user", "The bridge over the river"))
CONTRAST = Contrast(WITHOUT, alpha=1.5)
LIMIT = 32


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = tmp_path_factory.mktemp("chat")
    return load(
        str(build_tiny_model(folder, chat_template=True, vocab_from=[MARKED * 20], context_tokens=512, layers=1)), device="cpu"
    )


@pytest.fixture(scope="module")
def plain(loaded: LoadedModel) -> LocalGenerator:
    return LocalGenerator(loaded, Engine(loaded, "greedy").decode)


def contrasted(contrast: Contrast | None = CONTRAST, **more: Any) -> SamplingParams:
    return SamplingParams(max_new_tokens=LIMIT, contrast=contrast, **more)


def behind(model: Any, ids: list[int]) -> torch.Tensor:
    """(V,), without a cache."""
    with torch.no_grad():
        logits: torch.Tensor = model(torch.tensor([ids]), use_cache=False).logits[0, -1]
    return logits.double()


@pytest.mark.parametrize("contrast", [CONTRAST, Contrast(WITHOUT, 0.5, 0.0), Contrast(WITHOUT, 3.0, 0.3)])
def test_the_text_is_that_of_the_formula(loaded: LoadedModel, plain: LocalGenerator, contrast: Contrast) -> None:
    """Written out: two whole conversations a token, nothing kept between tokens."""
    given, prior = plain.prompt_ids(SHOWN), plain.prompt_ids(WITHOUT)
    answer: list[int] = []
    while len(answer) < LIMIT and not (answer and answer[-1] in loaded.eos_ids):
        with_it, without = behind(loaded.model, given + answer), behind(loaded.model, prior + answer)
        p = with_it.softmax(-1)
        scores = ((1 + contrast.alpha) * with_it - contrast.alpha * without).masked_fill(p < contrast.beta * p.max(), -math.inf)
        answer.append(int(scores.argmax()))
    found = plain.generate(SHOWN, contrasted(contrast))
    assert found.text == str(loaded.tokenizer.decode(answer, skip_special_tokens=True)).rstrip("�")
    assert found.n_new_tokens == len(answer)
    assert found.text != plain.generate(SHOWN, contrasted(None)).text


SAMPLED = {"temperature": 0.8, "seed": 3, "top_p": 0.95}


@pytest.mark.parametrize(
    "more", rest_slow([{}, {"grounding": Cite((1, 2))}, SAMPLED], keep=[{"grounding": Cite((1, 2))}, SAMPLED])
)
def test_every_method_gives_the_text_of_the_reference(loaded: LoadedModel, more: dict[str, Any]) -> None:
    expected = LocalGenerator(loaded, plain_decoding(loaded)).generate(SHOWN, contrasted(**more))
    assert expected.text != LocalGenerator(loaded, plain_decoding(loaded)).generate(SHOWN, contrasted(None, **more)).text
    for method, backend in (("greedy", "hf"), ("copy", "auto"), ("recycle", "driven"), ("mix", "packed")):
        found = LocalGenerator(loaded, Engine(loaded, method, backend=backend).decode).generate(SHOWN, contrasted(**more))
        assert (found.text, found.stop) == (expected.text, expected.stop), (method, backend)
    if "grounding" in more:
        assert not faults(expected.text, (1, 2), 3, ended=expected.stop == "end")


def test_what_it_took_is_told(loaded: LoadedModel, plain: LocalGenerator) -> None:
    """One pass for the request without evidence and one for each token but the last, which nothing follows."""
    for generator in (plain, LocalGenerator(loaded, plain_decoding(loaded))):
        done = generator.generate(SHOWN, contrasted())
        assert done.stats.n_contrast == done.n_new_tokens
        assert done.stats.contrast_s is not None and 0 < done.stats.contrast_s < done.stats.total_s
        again = generator.generate(SHOWN, contrasted())
        assert again.stats.n_contrast == done.stats.n_contrast, "each answer counts for itself"


def test_off_reads_nothing(loaded: LoadedModel, plain: LocalGenerator) -> None:
    passes: list[object] = []
    hook = loaded.model.register_forward_hook(lambda *_: passes.append(None))
    hf = LocalGenerator(loaded, plain_decoding(loaded))
    try:
        expected, n = hf.generate(SHOWN, contrasted(None)), len(passes)
        for generator in (hf, plain):
            passes.clear()
            found = generator.generate(SHOWN, contrasted(replace(CONTRAST, alpha=0.0)))
            assert found.text == expected.text and found.stats.contrast_s is found.stats.n_contrast is None
            assert len(passes) == (n if generator is hf else 0), "the packed backend runs no forward of the model"
        plain.generate(SHOWN, contrasted())
        assert passes
    finally:
        hook.remove()


def test_a_contrasted_answer_can_be_certified(loaded: LoadedModel, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    decode = recording(Engine(loaded, "copy").decode, loaded, path, method="copy")
    for seed, temperature in ((0, 0.0), (1, 0.9)):
        LocalGenerator(loaded, decode).generate(SHOWN, contrasted(temperature=temperature, seed=seed))
    records = read_records(path)
    assert records[0].sampling.contrast == CONTRAST
    assert certify(records, loaded).certified
    assert not certify([replace(records[0], sampling=contrasted(None))], loaded).certified
    assert not certify([replace(records[0], sampling=contrasted(replace(CONTRAST, alpha=0.1)))], loaded).certified


def test_it_can_be_stored() -> None:
    assert codec.from_json(SamplingParams, codec.to_json(contrasted()), where="here") == contrasted()


@pytest.mark.parametrize("method", ["engine", "reference"])
def test_what_cannot_be_contrasted_is_refused(loaded: LoadedModel, plain: LocalGenerator, method: str) -> None:
    generator = plain if method == "engine" else LocalGenerator(loaded, plain_decoding(loaded))
    with pytest.raises(UserError, match=r"alpha is -1\.0"):
        generator.generate(SHOWN, contrasted(replace(CONTRAST, alpha=-1.0)))
    with pytest.raises(UserError, match="alpha is nan"):
        generator.generate(SHOWN, contrasted(replace(CONTRAST, alpha=math.nan)))
    with pytest.raises(UserError, match="beta is 2"):
        generator.generate(SHOWN, contrasted(replace(CONTRAST, beta=2.0)))
    with pytest.raises(UserError, match="no messages"):
        generator.generate(SHOWN, contrasted(replace(CONTRAST, without=())))
    long = replace(CONTRAST, without=(Message("user", "The bridge " * 400),))
    with pytest.raises(StageError, match=r"the request without evidence has \d+ tokens and hf:.* reads 512, 32 of the answer"):
        generator.generate(SHOWN, contrasted(long))

"""Every method by its name: what it builds, what it refuses, and that the text is always that of `transformers.generate`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from data.errors import UserError
from decoding.api import Completion, Message, SamplingParams
from decoding.bench.reference import plain_decoding
from decoding.engine import Engine, backend_of, calibration_for
from decoding.knn.artefact import FOLDER, Calibration
from decoding.local import LocalGenerator, complete
from decoding.methods import METHODS, NEED_BRIDGES, NEED_CALIBRATION, NEED_DRAFT_MODEL, build_drafter
from decoding.models.loading import LoadedModel, load
from tests.grids import rest_slow
from tests.small_calibration import TASK, small_calibration
from tests.tiny_model import build_tiny_model

if TYPE_CHECKING:
    import torch

TEXT = [
    "The bridge over the river fell on Monday morning, the mayor said.",
    "Świątek won the final in Zürich – 6:3, 6:4 – on 12 March 2021, ¥ 900 richer; 東京 watched.",
]
PROMPTS = ["The bridge over the river", "The mayor said: the bridge, the bridge, the bridge", "12 March 2021"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_model(tmp_path_factory.mktemp("tiny"), chat_template=True, vocab_from=TEXT, context_tokens=512)


@pytest.fixture(scope="module")
def loaded(folder: Path) -> LoadedModel:
    return load(str(folder), device="cpu")


@pytest.fixture(scope="module")
def calibration(loaded: LoadedModel) -> Calibration:
    return small_calibration(loaded)


def engine(loaded: LoadedModel, method: str, calibration: Calibration, **options: str) -> Engine:
    return Engine(
        loaded,
        method,
        calibration=calibration if method in {*NEED_CALIBRATION, "mix"} else None,
        draft=loaded if method in NEED_DRAFT_MODEL else None,
        **options,
    )


SAMPLED = SamplingParams(max_new_tokens=16, temperature=0.8, top_p=0.95, top_k=40, seed=3, task=TASK)
PENALISED = SamplingParams(max_new_tokens=16, repetition_penalty=1.3, task=TASK)


@pytest.fixture(scope="module")
def plain_texts(loaded: LoadedModel) -> list[tuple[list[int], SamplingParams, Completion]]:
    """Greedy, sampled, and with a penalty that depends on the text: what is asked, and what transformers writes."""
    peer = plain_decoding(loaded)
    asked = [LocalGenerator(loaded, peer).prompt_ids([Message("user", prompt)]) for prompt in PROMPTS]
    requests = [(asked[1], SamplingParams(max_new_tokens=16, task=TASK)), (asked[0], SAMPLED), (asked[2], PENALISED)]
    return [(ids, sampling, complete(loaded, peer, ids, sampling)) for ids, sampling in requests]


@pytest.mark.parametrize("method", sorted({*METHODS} - NEED_BRIDGES))  # those: knn/test_bridges.py
def test_every_method_writes_what_transformers_writes(
    method: str,
    loaded: LoadedModel,
    calibration: Calibration,
    plain_texts: list[tuple[list[int], SamplingParams, Completion]],
) -> None:
    """One engine for all, so nothing may linger."""
    decode = engine(loaded, method, calibration).decode
    for ids, sampling, expected in plain_texts:
        found = complete(loaded, decode, ids, sampling)
        assert (found.text, found.n_new_tokens, found.stop) == (expected.text, expected.n_new_tokens, expected.stop)


OWN = NEED_BRIDGES | NEED_DRAFT_MODEL | {"greedy", "skip", "mix", "auto", "copy", "recycle", "clasp"}


@pytest.mark.parametrize("method", sorted({*METHODS} - OWN))
def test_published_methods_really_draft(method: str, loaded: LoadedModel, calibration: Calibration) -> None:
    """Those that weigh costs may rightly decide against it; these draft whenever they find something."""
    ids = LocalGenerator(loaded).prompt_ids([Message("user", PROMPTS[0])])
    song = range(20, 27)

    def sing(prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        """A text that repeats itself, so that there is something to copy."""
        logits = logits.clone()
        logits[song[len(prefix) % len(song)]] += 1000
        return logits

    drafter = engine(loaded, method, calibration)
    decode = partial(drafter.decode, rules=[sing])
    done = complete(loaded, decode, ids, SamplingParams(40, task=TASK))
    assert done.text == loaded.tokenizer.decode([song[(len(ids) + i) % 7] for i in range(40)]).rstrip("�")
    assert done.stats.n_drafted
    if method in ("copyspec", "pld"):
        assert done.stats.n_verify is not None and done.stats.n_verify < 20


@pytest.mark.parametrize(
    ("method", "lengths"),
    rest_slow(
        product(["knn-ssd", "skip", "mix"], ["threshold", "fixed:3", "expected"]),
        keep=[("knn-ssd", "fixed:3"), ("skip", "threshold"), ("mix", "expected")],
    ),
)
def test_length_rules_change_no_text(method: str, lengths: str, loaded: LoadedModel, calibration: Calibration) -> None:
    ids = LocalGenerator(loaded).prompt_ids([Message("user", PROMPTS[0])])
    sampling = SamplingParams(max_new_tokens=16, task=TASK)
    expected = complete(loaded, plain_decoding(loaded), ids, sampling)
    done = complete(loaded, engine(loaded, method, calibration, lengths=lengths).decode, ids, sampling)
    assert done.text == expected.text
    if (method, lengths) == ("knn-ssd", "fixed:3"):
        assert done.stats.speculation is not None
        assert done.stats.speculation.num_draft_tokens % 3 <= 2
        assert max(len(done.stats.speculation.num_accepted_tokens_per_pos), 0) <= 3


def test_earlier_texts_are_copied_from(loaded: LoadedModel) -> None:
    """What the model would write anyway, given as a source, is drafted from there."""
    ids = LocalGenerator(loaded).prompt_ids([Message("user", PROMPTS[0])])
    sampling = SamplingParams(max_new_tokens=40)
    decode = Engine(loaded, "copy").decode
    alone = complete(loaded, decode, ids, sampling)
    helped = complete(loaded, decode, ids, dataclasses.replace(sampling, sources=(alone.text, "")))
    assert helped.text == alone.text
    assert helped.stats.speculation is not None
    assert any(source.source == "copy:sources" for source in helped.stats.speculation.by_source)


# --- refusals ---------------------------------------------------------------------------------------------------------


def refusal(loaded: LoadedModel, *arguments: str, **options: object) -> str:
    with pytest.raises(UserError) as caught:
        Engine(loaded, *arguments, **options)  # type: ignore[arg-type]
    return str(caught.value)


def test_an_unknown_method_is_answered_with_the_nearest(loaded: LoadedModel) -> None:
    assert "did you mean 'knn-ssd'?" in refusal(loaded, "knnssd")
    assert "known: greedy, auto" in refusal(loaded, "warp")


@pytest.mark.parametrize("method", sorted(NEED_CALIBRATION))
def test_a_missing_calibration_is_answered_with_the_command(method: str, loaded: LoadedModel) -> None:
    assert "python -m decoding.calibrate --model" in refusal(loaded, method)
    with loaded.lock, pytest.raises(UserError, match=f"{method}.*needs a calibration"):
        build_drafter(method, backend_of(loaded))


@pytest.mark.parametrize("lengths", ["", "fixed", "fixed:0", "fixed:-1", "fixed:100", "Threshold", "expected "])
def test_an_unknown_length_rule_is_refused(lengths: str, loaded: LoadedModel) -> None:
    assert "threshold, expected, or fixed:N" in refusal(loaded, "greedy", lengths=lengths)


def test_expected_lengths_need_rounds_to_go_by(loaded: LoadedModel) -> None:
    poor = small_calibration(loaded, by_confidence=False)
    assert "too few rounds" in refusal(loaded, "skip", calibration=poor, lengths="expected")
    Engine(loaded, "skip", calibration=poor)  # its own rule falls back on the published one, as documented


def test_an_unknown_backend_is_refused(loaded: LoadedModel) -> None:
    assert "warp" in refusal(loaded, "greedy", backend="warp")


def test_a_calibration_of_another_shape_is_refused(loaded: LoadedModel, calibration: Calibration) -> None:
    identity = dataclasses.replace(calibration.meta.identity, n_layers=40)
    other = dataclasses.replace(calibration, meta=dataclasses.replace(calibration.meta, identity=identity))
    assert "40 layers" in refusal(loaded, "skip", calibration=other)


# --- where calibrations are found -------------------------------------------------------------------------------------


def test_calibrations_are_found_with_the_model(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = build_tiny_model(tmp_path / "model", chat_template=True, vocab_from=TEXT)
    loaded = load(str(folder), device="cpu")
    assert calibration_for(loaded, "auto") is None
    with pytest.raises(UserError, match=r"decoding\.calibrate"):
        calibration_for(loaded, "knn-ssd")
    small_calibration(loaded).save(folder / FOLDER)
    for method in ("auto", "mix", "skip", "knn-ssd"):
        found = calibration_for(loaded, method)
        assert found is not None and found.meta.identity.fingerprint == loaded.fingerprint
    assert calibration_for(loaded, "copy") is None
    assert calibration_for(loaded, "copy", folder / FOLDER) is not None
    with pytest.raises(UserError, match="no calibration"):
        calibration_for(loaded, "auto", tmp_path / "elsewhere")
    with pytest.raises(UserError, match="did you mean"):
        calibration_for(loaded, "knn_ssd")


def test_one_of_other_weights_is_passed_over_by_auto_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = build_tiny_model(tmp_path / "model", chat_template=True, vocab_from=TEXT)
    small_calibration(load(str(folder), device="cpu")).save(folder / FOLDER)
    build_tiny_model(folder, chat_template=True, vocab_from=TEXT, seed=1)
    changed = load(str(folder), device="cpu")
    assert calibration_for(changed, "auto") is None
    assert "no layers are skipped" in caplog.text
    with pytest.raises(UserError, match="fingerprint"):
        calibration_for(changed, "skip")

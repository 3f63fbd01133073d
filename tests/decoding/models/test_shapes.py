"""Shapes with random weights: the numbers of the real ones, and a whole measurement of a very small one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from data import codec
from data.errors import UserError
from decoding.backend import CostTable
from decoding.bench.__main__ import main
from decoding.bench.shape_timings import ACCEPTANCES, KINDS, ShapeResult, expected_speedup, measure_shape, predict, shape_lines
from decoding.models.shapes import SHAPES, random_model, random_weights

MICRO = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 128,
    "max_position_embeddings": 256,
    "tie_word_embeddings": False,
}


@pytest.mark.parametrize(
    ("name", "millions"), [("S", 17.9), ("M", 88.6), ("llama-7b", 6738), ("llama-13b", 13016), ("qwen-14b", 14770)]
)
def test_shapes_have_the_published_sizes(name: str, millions: float) -> None:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    model_type, values = SHAPES[name]
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(model_type, **values))
    assert sum(p.numel() for p in model.parameters()) / 1e6 == pytest.approx(millions, rel=3e-3)


@pytest.mark.slow
def test_a_micro_shape_is_measured_whole() -> None:
    loaded = random_weights("micro", "qwen2", MICRO, device="cpu")
    notes: list[str] = []
    result = measure_shape(
        loaded, prompt_tokens=40, new_tokens=12, repetitions=1, against_hf=True, costs_budget_s=0.2, told=notes.append
    )
    assert codec.from_json(ShapeResult, codec.to_json(result), where="result") == result
    assert result.costs.context == 40 and result.floor.kv_bytes == 40 * 2 * 4 * 2 * 8 * 4
    assert [(p.kind, p.acceptance) for p in result.predicted] == [(kind, a) for kind in KINDS for a in ACCEPTANCES]
    assert all(p.identical for p in result.predicted)  # drafts, right or wrong, change no token
    assert result.hf_tokens_per_s is not None and result.hf_tokens_per_s > 0
    told = "\n".join(shape_lines(result))
    assert all(word in told for word in ("micro", "4 x 32", "float32", "of weights", "skip 50%", result.machine))


def test_predictions_follow_the_formula() -> None:
    costs = CostTable(1.0, ((1, 1.0), (2, 1.1), (8, 1.4), (16, 2.0)), 0.1, 0.05, 0.05, 64, "")
    assert expected_speedup(costs, 0.8, 3, 0.0) == pytest.approx((1 - 0.8**4) / 0.2 / costs.v(4))
    assert expected_speedup(costs, 0.8, 3, 0.5) == pytest.approx((1 - 0.8**4) / 0.2 / (1.5 + costs.v(4)))
    by_kind = {(p.kind, p.acceptance): p for p in predict(costs, 8)}
    for (kind, acceptance), p in by_kind.items():
        share = KINDS[kind]
        c = 0.0 if kind == "copy" else 0.1 + 0.1 * 8 * (1 - share)
        best = max(expected_speedup(costs, acceptance, n, c) for n in range(1, 25))
        assert p.speedup == pytest.approx(best)
    assert by_kind["copy", 0.9].length > by_kind["copy", 0.6].length


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--shape", "llama-9b"], "llama-13b"),
        (["--shape", "S", "--model", "m"], "--shape NAME alone"),
        (["--shape", "S", "--against", "hf-pld"], "hf-pld"),
        (["--shape", "S", "--methods", "copy"], "--methods"),
        (["--shape", "S", "--prompt-tokens", "5000"], "5000"),
        ([], "--prompts"),
    ],
)
def test_wrong_requests_are_told(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--device", "cpu"]) == 2
    assert told in capsys.readouterr().err


def test_an_unknown_dtype_is_told() -> None:
    with pytest.raises(UserError, match="float8"):
        random_model("S", device="cpu", dtype="float8")


def test_the_command_ends_in_one_json_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SHAPES, "micro", ("llama", MICRO))
    words = ["--shape", "micro", "--device", "cpu", "--prompt-tokens", "16", "--max-new-tokens", "6", "--repetitions", "1"]
    assert main([*words, "--out", str(tmp_path)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert json.loads(last) == json.loads((tmp_path / "shape.json").read_text())

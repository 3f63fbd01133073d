"""Loading models: what is accepted, what is refused and how, and the fingerprint."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from data.errors import UserError
from decoding.models.control_tokens import break_control_tokens
from decoding.models.loading import LoadedModel, load
from tests.tiny_model import build_tiny_model

TEXT = ["The bridge over the river fell on Monday.", "Two workers were hurt, the mayor said; repairs took 14 months."]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_model(tmp_path_factory.mktemp("tiny"), chat_template=True, vocab_from=TEXT)


@pytest.fixture
def copy(tiny: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny, tmp_path / "model"))


def edit_json(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def refused(path: object, **options: str) -> str:
    with pytest.raises(UserError) as error:
        load(str(path), **options)
    return str(error.value)


def test_a_folder_loads_with_its_limits_and_end_tokens(tiny: Path) -> None:
    loaded = load(str(tiny), device="cpu")
    assert isinstance(loaded, LoadedModel)
    assert loaded.name == f"hf:{tiny}"
    assert loaded.context_tokens == 1024
    assert loaded.eos_ids == {loaded.tokenizer.convert_tokens_to_ids("<|im_end|>")}
    assert (loaded.device, loaded.dtype) == ("cpu", "float32")
    assert not loaded.model.training


def test_same_arguments_build_the_same_model(tiny: Path, tmp_path: Path) -> None:
    again = build_tiny_model(tmp_path / "again", chat_template=True, vocab_from=TEXT)
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (again / name).read_bytes() == (tiny / name).read_bytes()
    other = build_tiny_model(tmp_path / "other", chat_template=True, vocab_from=TEXT, seed=1)
    assert (other / "model.safetensors").read_bytes() != (tiny / "model.safetensors").read_bytes()


def test_fingerprint_follows_content_not_place(tiny: Path, copy: Path, tmp_path: Path) -> None:
    first = load(str(tiny)).fingerprint
    assert load(str(copy)).fingerprint == first
    assert load(str(copy), dtype="bfloat16").fingerprint != first

    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1  # one bit of one weight; names and shapes stay
    (copy / "model.safetensors").write_bytes(weights)
    assert load(str(copy)).fingerprint != first

    shutil.copy(tiny / "model.safetensors", copy)
    assert load(str(copy)).fingerprint == first
    (copy / "chat_template.jinja").write_text("{{ messages[0].content }}")
    assert load(str(copy)).fingerprint != first


def test_fingerprint_of_large_weights_samples_every_tensor(tiny: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoding.models.fingerprints._WHOLE_FILE_BYTES", 1000)
    monkeypatch.setattr("decoding.models.fingerprints._SAMPLE_BYTES", 64)
    first = load(str(tiny)).fingerprint
    assert load(str(copy)).fingerprint == first

    from safetensors.torch import load_file, save_file

    weights = load_file(copy / "model.safetensors")
    weights["model.layers.3.mlp.up_proj.weight"] *= 1.01
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    assert load(str(copy)).fingerprint != first


def test_sharded_weights_load_and_a_lost_shard_is_named(tiny: Path, tmp_path: Path) -> None:
    loaded = load(str(tiny))
    loaded.model.save_pretrained(tmp_path / "shards", max_shard_size="300KB")
    loaded.tokenizer.save_pretrained(tmp_path / "shards")
    assert load(str(tmp_path / "shards")).model.num_parameters() == loaded.model.num_parameters()
    lost = sorted((tmp_path / "shards").glob("*.safetensors"))[1]
    lost.unlink()
    assert lost.name in refused(tmp_path / "shards")


@pytest.mark.parametrize("device", ["abacus", "cuda:x", "xpu", "meta"])
def test_unknown_devices_are_refused(tiny: Path, device: str) -> None:
    assert device in refused(tiny, device=device)


def test_cuda_without_cuda_is_refused(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    import torch

    if torch.cuda.is_available():
        pytest.skip("this process has already found its CUDA device")
    assert "no CUDA device" in refused(tiny, device="cuda")


def test_what_is_not_a_model_folder_is_refused(tmp_path: Path) -> None:
    assert "check the path" in refused(tmp_path / "absent")
    assert "check the path" in refused("./models/absent")
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    assert "is a file" in refused(tmp_path / "model.gguf")
    assert "no config.json" in refused(tmp_path)


def test_a_folder_without_weights_is_refused(copy: Path) -> None:
    (copy / "model.safetensors").unlink()
    assert "no weights" in refused(copy)
    (copy / "adapter_model.safetensors").write_bytes(b"")
    assert "adapter" in refused(copy)
    (copy / "pytorch_model.bin").write_bytes(b"")
    message = refused(copy)
    assert "pickle" in message
    assert "save_pretrained" in message


def test_a_folder_without_tokenizer_is_refused(copy: Path) -> None:
    (copy / "tokenizer.json").unlink()
    assert "no tokenizer" in refused(copy)


def test_broken_files_are_named_not_traced(copy: Path, tiny: Path) -> None:
    (copy / "model.safetensors").write_bytes(b"not safetensors")
    assert "weights cannot be loaded" in refused(copy)
    shutil.copy(tiny / "model.safetensors", copy)
    (copy / "tokenizer.json").write_text('{"model": 3}')
    assert "tokenizer cannot be loaded" in refused(copy)
    (copy / "config.json").write_text("{")
    assert "configuration" in refused(copy)


def test_other_architectures_are_refused(copy: Path) -> None:
    edit_json(copy / "config.json", architectures=["LlamaForSequenceClassification"])
    assert "LlamaForSequenceClassification" in refused(copy)
    (copy / "config.json").write_text(json.dumps({"model_type": "bert", "architectures": ["BertForMaskedLM"]}))
    assert "not a causal language model" in refused(copy)
    (copy / "config.json").write_text(json.dumps({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}))
    assert "encoder-decoder" in refused(copy)
    (copy / "config.json").write_text(json.dumps({"model_type": "mystery", "auto_map": {"AutoConfig": "config.Mystery"}}))
    assert "their own code" in refused(copy)


def test_a_checkpoint_without_its_head_is_refused(copy: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(copy / "model.safetensors")
    del weights["lm_head.weight"]
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    assert "lm_head.weight" in refused(copy)


def test_a_tokenizer_of_another_model_is_refused(copy: Path, tmp_path: Path) -> None:
    more = [*TEXT, "Zebras graze quietly near waterholes."] * 2
    large = build_tiny_model(tmp_path / "large", chat_template=True, vocab_from=more)
    shutil.copy(large / "tokenizer.json", copy)
    assert "do not belong together" in refused(copy)


def test_an_unreachable_hub_says_to_download(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    for variable in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")  # nobody listens on the discard port
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    huggingface_hub.close_session()  # its client read the proxies when it was made
    try:
        message = refused("nobody/no-such-model")
    finally:
        huggingface_hub.close_session()
    assert "hf download nobody/no-such-model" in message


CONTROL = [
    "<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|start_header_id|>", "<|begin_of_text|>", "<|endoftext|>", "<｜User｜>",
    "<｜end▁of▁sentence｜>", "<s>", "</s>", "<bos>", "<eos>", "<pad>", "<unk>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>",
    "<start_of_turn>", "<end_of_turn>", "<|turn>", "<turn|>", "<think>", "</think>", "<tool_call>", "[TOOL_CALLS]",
    "[SYSTEM_PROMPT]", "[gMASK]", "<unused7>", "<extra_id_0>", "<fim_prefix>", "[CLS]", "[MASK]", "|||PHONE_NUMBER|||",
]  # fmt: skip


@pytest.mark.parametrize("token", CONTROL)
def test_known_control_tokens_are_broken_once_and_for_all(token: str) -> None:
    text = f"before {token} after{token}{token}."
    broken = break_control_tokens(text)
    assert token not in broken
    assert broken.replace(" ", "") == text.replace(" ", "")
    assert break_control_tokens(broken) == broken


@pytest.mark.parametrize("outer", ["<<s>s>", "<|<|im_end|>im_end|>", "[IN[INST]ST]", "<<</SYS>>/SYS>>"])
def test_breaking_a_token_does_not_make_another(outer: str) -> None:
    broken = break_control_tokens(outer)
    assert not [token for token in CONTROL if token in broken]


@pytest.mark.parametrize(
    "text",
    ["if a < b and b > c: [1][2] {x} 5 | 6 || 7", "e-mail <name@example.org>", "a\n\n* b\t[sic] <https://a.example/?b|c>x"],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert break_control_tokens(text) == text

"""The decoder for people: what goes in, what comes out, and every way to ask wrongly."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LogitsProcessor,
    LogitsProcessorList,
    NoRepeatNGramLogitsProcessor,
    TextIteratorStreamer,
)

import decoding
from data.errors import StageError, UserError
from tests.small_calibration import small_calibration
from tests.tiny_model import build_tiny_model

TEXT = ["The bridge over the river fell on Monday morning, the mayor said.", "Zürich – 6:4 – won on 12 March 2021."]
PROMPT = "The bridge over the river"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_model(tmp_path_factory.mktemp("tiny"), chat_template=True, vocab_from=TEXT, context_tokens=256)


@pytest.fixture(scope="module")
def decoder(folder: Path) -> decoding.Decoder:
    return decoding.load(str(folder), device="cpu")


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder)


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(folder)


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = "import sys, decoding; decoding.METHODS; print({'torch', 'transformers', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
    with pytest.raises(AttributeError, match="laod"):
        _ = decoding.laod  # type: ignore[attr-defined]


# --- what comes out ---------------------------------------------------------------------------------------------------


def test_a_prompt_may_come_in_three_forms(decoder: decoding.Decoder, tokenizer: Any) -> None:
    ids = tokenizer(PROMPT).input_ids
    expected = decoder.generate(ids, max_new_tokens=8).sequences
    assert torch.equal(decoder.generate(prompt=PROMPT, max_new_tokens=8).sequences, expected)
    assert torch.equal(decoder.generate(torch.tensor(ids), max_new_tokens=8).sequences, expected)
    assert torch.equal(decoder.generate([ids], max_new_tokens=8).sequences, expected)  # type: ignore[list-item]
    chat = decoder.generate(messages=[{"role": "user", "content": PROMPT}], max_new_tokens=8)
    shown = tokenizer.decode(chat.sequences[0, : chat.n_prompt_tokens])
    assert shown == f"<|im_start|>user\n{PROMPT}<|im_end|>\n<|im_start|>assistant\n"


def test_end_tokens_and_stop_strings(decoder: decoding.Decoder, tokenizer: Any) -> None:
    whole = decoder.generate(prompt=PROMPT, max_new_tokens=40)
    new = whole.sequences[0, whole.n_prompt_tokens :].tolist()
    end = new[11]
    cut = decoder.generate(prompt=PROMPT, max_new_tokens=40, eos_token_id=[end])
    assert cut.stop == "end"
    assert cut.sequences[0, cut.n_prompt_tokens :].tolist() == new[: new.index(end) + 1]
    assert decoder.generate(prompt=PROMPT, max_new_tokens=40, eos_token_id=end).text == cut.text
    stop = whole.text[len(whole.text) // 2 :][:3]
    stopped = decoder.generate(prompt=PROMPT, max_new_tokens=40, stop_strings=stop)
    assert (stopped.text, stopped.stop) == (whole.text.split(stop)[0], "stop")
    assert stop in tokenizer.decode(stopped.sequences[0, stopped.n_prompt_tokens :])


def test_processors_of_transformers_are_honoured(decoder: decoding.Decoder, model: Any, tokenizer: Any) -> None:
    inputs = tokenizer("the the the the the", return_tensors="pt")
    options = {"repetition_penalty": 1.2, "max_new_tokens": 40}
    expected = model.generate(**inputs, **options, no_repeat_ngram_size=2, do_sample=False)
    processors = LogitsProcessorList([NoRepeatNGramLogitsProcessor(2)])
    found = decoder.generate(inputs.input_ids, logits_processor=processors, **options)  # type: ignore[arg-type]
    assert torch.equal(found.sequences, expected)


def test_rules_and_processors_may_be_mixed(decoder: decoding.Decoder) -> None:
    class Only(LogitsProcessor):
        def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
            kept = torch.full_like(scores, -torch.inf)
            kept[:, 30:32] = 0.0
            return kept  # type: ignore[return-value]

    def alternate(prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        logits = logits.clone()
        logits[30 + len(prefix) % 2] += 1
        return logits

    found = decoder.generate([5, 6], logits_processor=[Only(), alternate], max_new_tokens=6)
    assert found.sequences[0].tolist() == [5, 6, 30, 31, 30, 31, 30, 31]


def test_a_streamer_gets_the_text(decoder: decoding.Decoder, tokenizer: Any) -> None:
    streamer = TextIteratorStreamer(tokenizer, skip_prompt=True, skip_special_tokens=True)
    found: list[decoding.DecoderOutput] = []
    worker = threading.Thread(
        target=lambda: found.append(decoder.generate(prompt=PROMPT, max_new_tokens=30, streamer=streamer))
    )
    worker.start()
    pieces = list(streamer)
    worker.join()
    new = found[0].sequences[0, found[0].n_prompt_tokens :]
    assert "".join(pieces) == tokenizer.decode(new, skip_special_tokens=True)


def test_a_streamer_ends_with_an_error_too(decoder: decoding.Decoder, tokenizer: Any) -> None:
    streamer = TextIteratorStreamer(tokenizer, timeout=5)
    with pytest.raises(StageError):
        decoder.generate([5] * 300, streamer=streamer)
    assert "".join(streamer) == ""


def test_threads_share_a_decoder(decoder: decoding.Decoder) -> None:
    expected = {n: decoder.generate([n, n + 1], max_new_tokens=20).text for n in range(10, 16)}
    found: dict[int, str] = {}

    def work(n: int) -> None:
        found[n] = decoder.generate([n, n + 1], max_new_tokens=20).text

    threads = [threading.Thread(target=work, args=(n,)) for n in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def test_a_model_in_memory(decoder: decoding.Decoder, model: Any, tokenizer: Any) -> None:
    config = model.generation_config.to_dict()
    mine = decoding.Decoder.from_model(model, tokenizer, "copy")
    assert torch.equal(
        mine.generate(prompt=PROMPT, max_new_tokens=30).sequences, decoder.generate(prompt=PROMPT, max_new_tokens=30).sequences
    )
    assert mine.describe().startswith("copy on ")
    assert model.generation_config.to_dict() == config


def test_models_in_memory_are_told_apart(folder: Path, model: Any, tokenizer: Any) -> None:
    from decoding.models.loading import in_memory

    first = in_memory(model, tokenizer)
    again = AutoModelForCausalLM.from_pretrained(folder)
    assert in_memory(again, tokenizer).fingerprint == first.fingerprint
    assert first.eos_ids == frozenset({tokenizer.eos_token_id})
    with torch.no_grad():
        next(again.parameters()).view(-1)[again.config.vocab_size * 32] += 1  # in the middle of the embedding
    assert in_memory(again, tokenizer).fingerprint != first.fingerprint
    with pytest.raises(UserError, match=r"model\.eval\(\)"):
        in_memory(again.train(), tokenizer)


def test_a_calibration_folder_is_enough(folder: Path, decoder: decoding.Decoder, tmp_path: Path) -> None:
    small_calibration(decoder._loaded).save(tmp_path / "calibration")
    skipping = decoding.load(str(folder), "knn-ssd", device="cpu", calibration=str(tmp_path / "calibration"))
    assert skipping.generate(prompt=PROMPT, max_new_tokens=30).text == decoder.generate(prompt=PROMPT, max_new_tokens=30).text
    with pytest.raises(UserError, match=r"decoding\.calibrate"):
        decoding.load(f"hf:{folder}", "knn-ssd", device="cpu")


# --- asking wrongly ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "exactly one of input_ids, prompt and messages; got none"),
        ({"prompt": "a", "input_ids": [5]}, "got input_ids and prompt"),
        ({"input_ids": []}, "the prompt is empty"),
        ({"input_ids": [[5], [6]]}, "2 rows"),
        ({"input_ids": [5, 10**6]}, "vocabulary of"),
        ({"input_ids": [5, -1]}, "token id -1"),
        ({"input_ids": [5.0]}, "as integers"),
        ({"input_ids": ["5"]}, "as integers"),
        ({"messages": []}, "at least one"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "'tool'"),
        ({"messages": [{"content": "x"}]}, "is no message"),
        ({"messages": ["x"]}, "is no message"),
        ({"prompt": "a", "attention_mask": torch.tensor([[0, 1]])}, "padding"),
        ({"prompt": "a", "max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"prompt": "a", "temperature": 0.7}, "add do_sample=True"),
        ({"prompt": "a", "do_sample": True, "temperature": 0.0}, "leave do_sample out"),
        ({"prompt": "a", "do_sample": True, "top_p": 0.0}, "top_p is 0"),
        ({"prompt": "a", "stop_strings": [""]}, "empty"),
        ({"prompt": "a", "task": "poem"}, "no task 'poem'"),
    ],
)
def test_wrong_arguments_are_named(decoder: decoding.Decoder, arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError) as caught:
        decoder.generate(**arguments)
    assert told in str(caught.value)


def test_unknown_arguments_are_refused(decoder: decoding.Decoder) -> None:
    with pytest.raises(TypeError, match="num_beams"):
        decoder.generate(prompt="a", num_beams=4)  # type: ignore[call-arg]


def test_a_prompt_beyond_the_context_is_refused(decoder: decoding.Decoder) -> None:
    with pytest.raises(StageError, match=r"256 tokens.*256"):
        decoder.generate([5] * 256)
    assert decoder.generate([5] * 255, max_new_tokens=9).n_new_tokens == 1


def test_rules_of_the_generation_configuration_are_applied_or_named(folder: Path, tokenizer: Any) -> None:
    model: Any = AutoModelForCausalLM.from_pretrained(folder)
    model.generation_config.repetition_penalty = 1.4
    mine = decoding.Decoder.from_model(model, tokenizer, "copy")
    given = tokenizer(PROMPT, return_tensors="pt")
    expected = model.generate(**given, max_new_tokens=30, do_sample=False)
    assert torch.equal(mine.generate(given.input_ids, max_new_tokens=30).sequences, expected)
    plain = mine.generate(given.input_ids, max_new_tokens=30, repetition_penalty=1.0).sequences
    assert not torch.equal(plain, expected)
    model.generation_config.no_repeat_ngram_size = 2
    with pytest.raises(UserError, match=r"sets no_repeat_ngram_size, which Decoder\.generate does not apply"):
        mine.generate(prompt=PROMPT)

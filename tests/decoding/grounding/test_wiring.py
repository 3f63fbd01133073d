"""Who takes a grounding, who refuses it, and in what form a model is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.errors import UserError
from decoding.api import Json, Message, SamplingParams
from decoding.decoder import Decoder
from decoding.engine import Engine
from decoding.local import LocalGenerator
from decoding.models.conversation import JOINING_TEMPLATE
from decoding.models.loading import LoadedModel, load
from decoding.serving.client import ServerGenerator
from tests.tiny_model import build_tiny_model

TEXT = ["The bridge over the river fell on Monday morning, the mayor said.", "Nobody was hurt."]
FORM = Json('{"enum": ["flood", "fire"]}')


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = tmp_path_factory.mktemp("chat")
    return load(str(build_tiny_model(folder, chat_template=True, vocab_from=TEXT, context_tokens=256, layers=1)), device="cpu")


def test_a_model_is_asked_in_the_form_of_its_template(loaded: LoadedModel, tmp_path: Path) -> None:
    assert LocalGenerator(loaded).prompt_form == "chat" and LocalGenerator(loaded).grounds
    folder = build_tiny_model(tmp_path, chat_template=False, vocab_from=TEXT, layers=1)
    assert LocalGenerator(load(str(folder), device="cpu")).prompt_form == "chat"
    (folder / "chat_template.jinja").write_text(JOINING_TEMPLATE)
    document = LocalGenerator(load(str(folder), device="cpu"))
    assert document.prompt_form == "document"
    bos = document._loaded.tokenizer.bos_token_id
    ids = document.prompt_ids([Message("user", "The bridge")])
    assert ids == [bos, *document._loaded.tokenizer("The bridge", add_special_tokens=False).input_ids]


def test_a_server_refuses_before_it_is_asked() -> None:
    server = ServerGenerator("qwen", "http://127.0.0.1:9/v1")
    assert server.prompt_form == "chat" and not server.grounds
    with pytest.raises(UserError, match=r"server:qwen.*cannot be held to its evidence.*--model hf"):
        server.generate([Message("user", "Hi")], SamplingParams(grounding=FORM))


def test_a_grounding_that_cannot_be_is_refused(loaded: LoadedModel) -> None:
    with pytest.raises(UserError, match="is not JSON"):
        LocalGenerator(loaded).generate([Message("user", "Hi")], SamplingParams(grounding=Json("{")))
    answer = LocalGenerator(loaded).generate([Message("user", "Hi")], SamplingParams(grounding=FORM))
    assert answer.stop == "end" and answer.text in ('"flood"', '"fire"'), "the model is free again after an error"


def test_end_tokens_that_a_caller_names_end_grounded_answers(loaded: LoadedModel) -> None:
    decoder = Decoder(loaded, Engine(loaded, "greedy"))
    (point,) = loaded.tokenizer("#", add_special_tokens=False).input_ids
    done = decoder.generate(prompt="Hi", grounding=FORM, eos_token_id=point)
    assert int(done.sequences[0, -1]) == point and done.stop == "end" and done.text in ('"flood"', '"fire"')

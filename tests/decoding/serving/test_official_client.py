"""The server as its command starts it, asked by OpenAI's official client: texts, streams, log probabilities, JSON, refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import jsonschema
import pytest
import torch

from decoding.models.loading import LoadedModel, load
from tests.servers import served_by_command
from tests.tiny_model import build_tiny_model

if TYPE_CHECKING:
    import openai  # in functions: every test process would wait a second for it

TEXT = ["The bridge over the river fell on Monday morning, the mayor said.", "Zürich – 6:4 – won on 12 March 2021."]
ASK: Any = [{"role": "user", "content": "The bridge over the river fell. The bridge over the river"}]
GREEDY: dict[str, Any] = {"model": "tiny", "messages": ASK, "temperature": 0, "max_tokens": 32}
SAMPLED = GREEDY | {"temperature": 0.9, "top_p": 0.95, "seed": 7}
EVENT: dict[str, Any] = {
    "type": "object",
    "properties": {"kind": {"enum": ["flood", "fire"]}, "year": {"type": "integer", "minimum": 1900, "maximum": 2100}},
    "required": ["kind", "year"],
    "additionalProperties": False,
}
SCHEMA: Any = {"type": "json_schema", "json_schema": {"name": "event", "strict": True, "schema": EVENT}}
OFF = {"speculation": "off"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_model(tmp_path_factory.mktemp("official"), chat_template=True, vocab_from=TEXT, layers=2)


@pytest.fixture(scope="module")
def loaded(folder: Path) -> LoadedModel:
    return load(str(folder), device="cpu")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[openai.OpenAI]:
    import openai

    # a method that drafts whatever it costs: what is drafted then depends on no measured time
    flags = ("--model", str(folder), "--served-name", "tiny", "--method", "recycling", "--api-key-env", "TINY_KEY")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TINY_KEY", "sk-tiny")
        with (
            served_by_command(*flags) as base,
            openai.OpenAI(base_url=f"{base}/v1", api_key="sk-tiny", max_retries=0) as asking,
        ):
            yield asking


def equal(found: Any, expected: Any) -> bool:
    """Up to the rounding of float32, in which several rows are computed otherwise than one (`pytest.approx` takes no trees)."""
    if hasattr(found, "model_dump"):
        return equal(found.model_dump(), expected.model_dump())
    if isinstance(found, dict):
        return found.keys() == expected.keys() and all(equal(found[key], expected[key]) for key in found)
    if isinstance(found, list):
        return len(found) == len(expected) and all(map(equal, found, expected))
    return bool(found == pytest.approx(expected, abs=1e-3)) if isinstance(found, float) else bool(found == expected)


def stats(answer: Any) -> dict[str, Any]:
    return dict((answer.model_extra or {})["speculation"])


def bytes_of(tokens: Any) -> str:
    return b"".join(bytes(one.bytes or ()) for one in tokens).decode(errors="replace")


def test_models_and_texts(client: openai.OpenAI) -> None:
    (model,) = client.models.list().data
    assert model.id == "tiny" and client.models.retrieve("tiny").id == "tiny"
    done, again, off = (client.chat.completions.create(**GREEDY, extra_body=extra) for extra in (None, None, OFF))
    (choice,) = done.choices
    assert choice.message.content and choice.logprobs is None and done.usage is not None
    assert done.usage.total_tokens == done.usage.prompt_tokens + done.usage.completion_tokens
    assert choice.message.content == again.choices[0].message.content == off.choices[0].message.content
    assert stats(again)["num_accepted_tokens"] > 0 == stats(off)["num_draft_tokens"]
    older = client.completions.create(model="tiny", prompt=TEXT[0], temperature=0, max_tokens=12)
    assert older.choices[0].text and older.choices[0].logprobs is None


@pytest.mark.parametrize("asked", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
def test_log_probabilities_are_those_of_decoding_one_token_at_a_time(client: openai.OpenAI, asked: dict[str, Any]) -> None:
    """Whole and in a stream."""
    asked = asked | {"logprobs": True, "top_logprobs": 3}
    done, off = (client.chat.completions.create(**asked, extra_body=extra) for extra in (None, OFF))
    (choice,), (same,) = done.choices, off.choices
    assert choice.logprobs is not None and choice.logprobs.content and choice.message.content is not None
    assert equal(choice, same)
    tokens = choice.logprobs.content
    assert bytes_of(tokens).startswith(choice.message.content)
    for one in tokens:
        chances = [other.logprob for other in one.top_logprobs]
        assert len(chances) == 3 and chances == sorted(chances, reverse=True) and one.logprob <= 0
        if asked["temperature"] == 0:
            assert one.logprob == chances[0] and one.bytes == one.top_logprobs[0].bytes
    streamed, text = [], ""
    for chunk in client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}):
        for piece in chunk.choices:
            text += piece.delta.content or ""
            streamed += (piece.logprobs.content or []) if piece.logprobs is not None else []
    assert text == choice.message.content and equal(streamed, tokens)
    assert chunk.usage is not None and chunk.usage.completion_tokens >= len(streamed)


def test_tokens_of_a_stop_string_are_not_of_the_answer(client: openai.OpenAI) -> None:
    full = client.chat.completions.create(**GREEDY, logprobs=True).choices[0]
    assert full.message.content is not None
    stop = full.message.content[len(full.message.content) // 2 :][:2]
    (cut,) = client.chat.completions.create(**GREEDY, logprobs=True, stop=stop).choices
    assert cut.logprobs is not None and full.logprobs is not None and cut.message.content is not None
    kept, every = cut.logprobs.content or [], full.logprobs.content or []
    assert 0 < len(kept) < len(every) and equal(kept, every[: len(kept)])
    last_begins, ends = len(bytes_of(kept[:-1])), len(bytes_of(kept))
    assert last_begins < len(cut.message.content) <= ends, "the last token begins inside of the text"


def test_the_older_form_of_log_probabilities(client: openai.OpenAI, loaded: LoadedModel) -> None:
    asked: dict[str, Any] = {"model": "tiny", "prompt": TEXT[0], "temperature": 0, "max_tokens": 15, "logprobs": 2}
    done, off = (client.completions.create(**asked, extra_body=extra) for extra in (None, OFF))
    assert equal(done.choices, off.choices)
    (choice,) = done.choices
    told = choice.logprobs
    assert told is not None and told.tokens and told.token_logprobs and told.text_offset and told.top_logprobs
    for token, chance, named in zip(told.tokens, told.token_logprobs, told.top_logprobs, strict=True):
        assert named[token] == chance == max(named.values())
    assert told.text_offset == sorted(told.text_offset) and len(told.text_offset) == len(told.tokens)
    places = zip(told.text_offset, told.tokens, told.text_offset[1:])
    whole = [(at, token) for at, token, then in places if then == at + len(token)]  # others are parts of a character
    assert len(whole) > 3 and all(choice.text[at:].startswith(token) for at, token in whole)
    pieces = [one.choices[0].logprobs for one in client.completions.create(**asked, stream=True)]
    assert [token for one in pieces if one is not None for token in one.tokens or ()] == told.tokens
    # the numbers are the model's, by its own forward
    ids = loaded.tokenizer(TEXT[0], return_tensors="pt").input_ids
    expected = torch.log_softmax(loaded.model(ids).logits[0, -1], -1)  # type: ignore[operator]
    assert told.token_logprobs[0] == pytest.approx(float(expected.max()), abs=1e-3)


@pytest.mark.parametrize("asked", [GREEDY, pytest.param(SAMPLED, marks=pytest.mark.slow)], ids=["greedy", "sampled"])
def test_json_of_a_schema_is_the_same_without_drafts(client: openai.OpenAI, asked: dict[str, Any]) -> None:
    asked = asked | {"max_tokens": 80}
    done, off = (client.chat.completions.create(**asked, response_format=SCHEMA, extra_body=extra) for extra in (None, OFF))
    (choice,) = done.choices
    assert choice.finish_reason == "stop" and done.choices == off.choices
    jsonschema.validate(json.loads(choice.message.content or ""), EVENT)
    assert stats(done)["num_verify_steps"] < stats(off)["num_verify_steps"] and stats(off)["num_draft_tokens"] == 0
    chunks = client.chat.completions.create(**asked, response_format=SCHEMA, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == choice.message.content
    (any_object,) = client.chat.completions.create(**asked, response_format={"type": "json_object"}).choices
    assert (any_object.message.content or "").startswith("{")
    if any_object.finish_reason == "stop":
        assert isinstance(json.loads(any_object.message.content or ""), dict)


@pytest.mark.parametrize(
    "extra",
    [{"response_format": SCHEMA}, pytest.param({"logprobs": True, "top_logprobs": 2}, marks=pytest.mark.slow)],
    ids=["json", "logprobs"],
)
def test_several_answers_are_those_of_the_seeds_that_follow(client: openai.OpenAI, extra: dict[str, Any]) -> None:
    asked = SAMPLED | extra | {"max_tokens": 80}
    done = client.chat.completions.create(**asked, n=3)
    each = [client.chat.completions.create(**(asked | {"seed": SAMPLED["seed"] + i})).choices[0] for i in range(3)]
    assert [choice.index for choice in done.choices] == [0, 1, 2]
    assert len({choice.message.content for choice in done.choices}) > 1
    for choice, alone in zip(done.choices, each, strict=True):
        assert equal(choice.model_dump(exclude={"index"}), alone.model_dump(exclude={"index"}))
        assert (choice.logprobs is not None) == ("logprobs" in extra)
        if "response_format" in extra:
            jsonschema.validate(json.loads(choice.message.content or ""), EVENT)


def test_refusals_name_the_field(client: openai.OpenAI) -> None:
    import openai

    bad = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "integer", "minimum": 2, "maximum": 1}}}
    for stream in (False, True):
        with pytest.raises(openai.BadRequestError, match=r"minimum \(2\) is greater") as error:
            client.chat.completions.create(**GREEDY, response_format=bad, stream=stream)  # type: ignore[call-overload]
        assert (error.value.param, error.value.code) == ("response_format", "invalid_json_schema")
    with pytest.raises(openai.NotFoundError, match="not served here"):
        client.chat.completions.create(**(GREEDY | {"model": "gpt"}))
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="sk-other").models.list()


@pytest.mark.parametrize("chat", [True, False], ids=["chat", "completions"])
def test_every_field_that_the_client_knows_is_supported_or_refused(client: openai.OpenAI, chat: bool) -> None:
    """A value that asks for something, for each field: honoured, a label, or 400 that names it. New fields show up here."""
    import openai
    from openai.types import completion_create_params
    from openai.types.chat import completion_create_params as chat_create_params

    asking = GREEDY if chat else {"model": "tiny", "prompt": "The", "temperature": 0, "max_tokens": 3}
    known: Any = chat_create_params if chat else completion_create_params
    names = set(get_type_hints(known.CompletionCreateParamsStreaming))
    honoured = {
        "model", "messages", "prompt", "max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "stop", "stream",
        "stream_options", "n", "logprobs", "top_logprobs", "response_format", "user", "metadata", "store", "service_tier",
        "safety_identifier", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "parallel_tool_calls",
    }  # fmt: skip
    url = "/chat/completions" if chat else "/completions"
    asks = {"best_of": 2, "presence_penalty": 0.5, "frequency_penalty": 0.5, "logit_bias": {"5": 1}, "echo": True}
    for name in sorted(names - honoured):
        with pytest.raises(openai.BadRequestError) as error:
            client.post(url, body={**asking, name: asks.get(name, {"asks": "something"})}, cast_to=object)
        assert (error.value.param, error.value.code) == (name, "unsupported_parameter"), name

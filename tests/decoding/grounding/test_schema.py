"""Answers that are JSON of a schema: the same text whoever drafts, always valid; schemas that nobody can satisfy refused."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
import torch

from data.errors import UserError
from decoding.api import DecodeStats, Json, Message, SamplingParams
from decoding.bench.reference import plain_decoding
from decoding.drafters.forced import LONGEST
from decoding.engine import Engine
from decoding.grounding.schema import JsonRule
from decoding.local import LocalGenerator, complete
from decoding.models.loading import LoadedModel, load
from decoding.sampling import ForcingRule
from tests.tiny_model import build_tiny_model

TEXT = [
    "The bridge over the river fell on Monday morning, the mayor said.",
    '{"name": "Zürich", "year": 1954, "tags": ["a", "b"]}',
]
EVENT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["flood", "fire", "accident on the bridge"]},
        "year": {"type": "integer", "minimum": 1900, "maximum": 2100},
        "hurt": {"type": ["boolean", "null"]},
        "places": {"type": "array", "items": {"type": "string", "maxLength": 4}, "minItems": 1, "maxItems": 2},
    },
    "required": ["kind", "year", "hurt", "places"],
    "additionalProperties": False,
}
ASK = [Message("user", "The bridge over the river fell")]
VARIANTS = (
    SamplingParams(max_new_tokens=160),
    SamplingParams(max_new_tokens=160, temperature=1.0, seed=4),
    SamplingParams(max_new_tokens=160, temperature=0.7, top_p=0.9, repetition_penalty=1.2, seed=5),
)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = tmp_path_factory.mktemp("json")
    return load(str(build_tiny_model(folder, chat_template=True, vocab_from=TEXT, context_tokens=1024)), device="cpu")


@pytest.fixture(scope="module")
def shallow(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    """Of one layer, for long texts."""
    folder = tmp_path_factory.mktemp("shallow")
    return load(str(build_tiny_model(folder, chat_template=True, vocab_from=TEXT, context_tokens=1024, layers=1)), device="cpu")


def answer(loaded: LoadedModel, method: str, sampling: SamplingParams) -> tuple[list[int], str, str, DecodeStats]:
    """Its tokens, too: two token sequences can have one text."""
    engine, tokens = Engine(loaded, method), list[int]()

    def decode(prompt: Any, sampling: SamplingParams, take: Any) -> DecodeStats:
        return engine.decode(prompt, sampling, lambda token: (tokens.append(token), take(token))[1])

    done = complete(loaded, decode, LocalGenerator(loaded).prompt_ids(ASK), sampling)
    return tokens, done.text, done.stop, done.stats


def constrained(sampling: SamplingParams, schema: object) -> SamplingParams:
    return replace(sampling, grounding=Json(json.dumps(schema)))


@pytest.mark.parametrize(
    ("sampling", "schema"),
    [
        (VARIANTS[0], EVENT),
        *(pytest.param(sampling, EVENT, marks=pytest.mark.slow) for sampling in VARIANTS[1:]),
        (SamplingParams(max_new_tokens=24), {"type": "object"}),
    ],
    ids=["greedy", "sampled", "penalty", "any object"],
)
def test_every_drafter_writes_what_plain_constrained_decoding_writes(
    loaded: LoadedModel, sampling: SamplingParams, schema: object
) -> None:
    asked = constrained(sampling, schema)
    # plain: one token a pass, and nothing drafted, not even what the schema forces
    engine, plain = Engine(loaded, "greedy"), list[int]()

    def decode(prompt: Any, sampling: SamplingParams, take: Any) -> DecodeStats:
        rule = JsonRule(asked.grounding, loaded.tokenizer, len(prompt), loaded.eos_ids)  # type: ignore[arg-type]
        hidden = [lambda prefix, logits: rule(prefix, logits)]  # a rule that forces nothing
        free = replace(sampling, grounding=None)
        return engine.decode(prompt, free, lambda token: (plain.append(token), take(token))[1], rules=hidden)

    expected = complete(loaded, decode, LocalGenerator(loaded).prompt_ids(ASK), asked)
    assert (expected.stats.n_drafted, expected.stats.n_verify) == (0, expected.n_new_tokens - 1)
    for method in ("greedy", "mix", "recycle", "swift"):
        tokens, text, stop, _ = answer(loaded, method, asked)
        assert (tokens, text, stop) == (plain, expected.text, expected.stop), method
    if expected.stop == "end":
        jsonschema.validate(json.loads(expected.text), schema)  # type: ignore[arg-type]
    else:
        assert schema is not EVENT, "every value of that schema is shorter than the limit"


def test_every_backend_takes_what_is_forced(shallow: LoadedModel) -> None:
    """Texts longer than the largest step, to the end of the answer and of its room."""
    long = json.dumps({"const": " ".join(f"The bridge over river {n} fell." for n in range(40))})
    sampling = SamplingParams(900, grounding=Json(long))
    expected = LocalGenerator(shallow, plain_decoding(shallow)).generate(ASK, sampling)
    assert expected.stop == "end" and expected.n_new_tokens > 4 * LONGEST
    for kind in ("hf", "driven", "packed"):
        generator = LocalGenerator(shallow, Engine(shallow, "recycle", backend=kind).decode)
        found = generator.generate(ASK, sampling)
        assert found.text == expected.text and (found.stats.n_verify or 0) < expected.n_new_tokens / 20, kind
        for most in (1, LONGEST + 1, LONGEST + 2, expected.n_new_tokens - 1):
            cut = generator.generate(ASK, replace(sampling, max_new_tokens=most))
            assert expected.text.startswith(cut.text) and cut.stop == "length" and cut.n_new_tokens == most, kind


def test_a_rule_is_a_function_of_the_prefix(loaded: LoadedModel) -> None:
    """Asked in any order, also about drafts that break the schema or go on behind the end: as a fresh rule says."""
    tokenizer, ends = loaded.tokenizer, loaded.eos_ids

    def rule() -> JsonRule:
        return JsonRule(Json(json.dumps(EVENT)), tokenizer, 2, ends)

    assert isinstance(rule(), ForcingRule)
    good = tokenizer('{"kind":"fire","year":1954,"hurt":null,"places":["a"]}', add_special_tokens=False).input_ids
    end = min(ends)
    prefixes = [[1, 1, *good[:n]] for n in range(len(good) + 1)]
    prefixes += [[1, 1, *good, end], [1, 1, *good, end, end], [1, 1, *good[:3], end], [1, 1, *good[:4], *good]]
    logits = torch.randn(len(tokenizer) + 5, generator=torch.Generator().manual_seed(0))
    fresh = [(rule()(prefix, logits), list(rule().forced(prefix, 9))) for prefix in prefixes]
    kept = rule()
    for at in random.Random(0).choices(range(len(prefixes)), k=120):
        ruled, forced = fresh[at]
        assert torch.equal(kept(prefixes[at], logits), ruled)
        assert list(kept.forced(prefixes[at], 9)) == forced
    assert [i for i, value in enumerate(fresh[len(good)][0]) if value > -torch.inf] == [end]
    assert fresh[0][0].isfinite().sum() < 10 and not fresh[0][0][len(tokenizer) :].isfinite().any()
    assert fresh[1][1], "after the brace comes the first key"


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ("{", "is not JSON"),
        ("[" * 5000, "is not JSON"),
        ("true", "not an object"),
        ('{"type": "object", "description": "' + "x" * 70_000 + '"}', "larger than 64 KiB"),
        ({"type": "bogus"}, "Invalid type: bogus"),
        ({"type": "integer", "minimum": 5, "maximum": 3}, "minimum .5. is greater"),
        ({"enum": []}, "Unsatisfiable"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "Unsatisfiable"),
        ({"type": "array", "uniqueItems": True}, "uniqueItems"),
        ({"x-guidance": {"lenient": True}, "type": "array", "uniqueItems": True}, "uniqueItems"),
        ({"type": "string", "pattern": "("}, "unclosed group"),
        ({"$ref": "https://example.org/schema"}, "not present"),
        ({"$ref": "#"}, "requires itself"),
        ('{"items": ' * 70 + "{}" + "}" * 70, "more than 64 levels"),
        ({"anyOf": [{"$ref": f"#/$defs/{i}"} for i in range(101)]}, "101 parts of itself"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}, "requires itself"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/a"}}}}, "itself"),
        # of these the parser would take gigabytes, and minutes
        ({"type": "integer", "multipleOf": 99_999_989}, "more than 100000 remainders"),
        ({"type": "number", "multipleOf": 1e200}, "more than 100000 remainders"),
        ({"allOf": [{"type": "integer", "multipleOf": n} for n in (97, 89, 83, 79)]}, "more than 100000 remainders"),
        ({"type": "array", "items": {"type": "integer", "multipleOf": math.inf}}, "more than 100000 remainders"),
    ],
)
def test_schemas_that_cannot_be_held_to_are_refused(loaded: LoadedModel, schema: object, why: str) -> None:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    with pytest.raises(UserError, match=why):
        JsonRule(Json(text), loaded.tokenizer, 0, loaded.eos_ids)
    # before any token is written, whoever asks
    with pytest.raises(UserError, match=why):
        LocalGenerator(loaded).generate(ASK, SamplingParams(grounding=Json(text)))


def test_usual_multiples_are_fine(loaded: LoadedModel) -> None:
    parts = {"price": 0.01, "dozen": 12, "step": 2.5, "way": -3, "big": 1000}
    schema = {"type": "object", "properties": {name: {"type": "number", "multipleOf": by} for name, by in parts.items()}}
    JsonRule(Json(json.dumps(schema)), loaded.tokenizer, 0, loaded.eos_ids)


def test_a_list_that_may_end_is_fine(loaded: LoadedModel) -> None:
    tree = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}, "required": ["kids"]}
    JsonRule(Json(json.dumps(tree)), loaded.tokenizer, 0, loaded.eos_ids)
    either = {"$defs": {"a": {"anyOf": [{"type": "null"}, {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/a"}}]}}}
    JsonRule(Json(json.dumps({"$ref": "#/$defs/a", **either})), loaded.tokenizer, 0, loaded.eos_ids)


def test_a_model_without_an_end_token_cannot_end_json(loaded: LoadedModel) -> None:
    with pytest.raises(UserError, match="no end token"):
        JsonRule(Json("{}"), loaded.tokenizer, 0, ())

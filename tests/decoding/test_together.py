"""Texts written together: each is, token for token, what it is alone, whoever else is in its passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import decoding
from data.errors import StageError, UserError
from decoding.api import Json, Rephrase, SamplingParams
from decoding.backends import lowbit_together
from decoding.engine import Ask, Engine
from decoding.local import Wanted, complete, complete_together
from decoding.models.loading import LoadedModel, load, lowered
from decoding.together import MOST, best_lengths
from tests.tiny_model import build_tiny_model
from tests.toy_backend import COSTS

TEXT = ["The bridge over the river fell on Monday morning, the mayor said.", "Two people were hurt, and the road is closed."]
PROMPT = list(range(20, 61))
SAMPLED = SamplingParams(max_new_tokens=24, temperature=0.9, top_p=0.9)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = build_tiny_model(tmp_path_factory.mktemp("tiny"), chat_template=True, vocab_from=TEXT, context_tokens=256)
    return lowered(load(str(folder), device="cpu"), "int8")


@pytest.fixture(scope="module")
def engine(loaded: LoadedModel) -> Engine:
    made = Engine(loaded)
    made._backend._costs = COSTS  # type: ignore[attr-defined]  # measured ones would make drafts depend on the machine
    return made


def ask(prompt: Sequence[int], sampling: SamplingParams, into: list[int], end: int = 0, **options: Any) -> Ask:
    def take(token: int) -> bool:
        into.append(token)
        return token != end and len(into) < sampling.max_new_tokens

    return Ask(prompt, sampling, take, **options)


def alone(engine: Engine, prompt: Sequence[int], sampling: SamplingParams, **options: Any) -> list[int]:
    ids: list[int] = []
    one = ask(prompt, sampling, ids, **options)
    with engine.lock:
        engine.decode(prompt, sampling, one.take, rules=one.rules, drafts=False)
    return ids


def together(engine: Engine, wanted: Sequence[tuple[Sequence[int], SamplingParams]], **options: Any) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in wanted]
    asks = [ask(prompt, sampling, into, **options) for (prompt, sampling), into in zip(wanted, found, strict=True)]
    with engine.lock:
        engine.decode_together(asks)
    return found


def test_candidates_of_one_prompt_are_what_they_are_alone(engine: Engine) -> None:
    wanted = [(PROMPT, replace(SAMPLED, seed=seed)) for seed in range(5)]
    expected = [alone(engine, *one) for one in wanted]
    assert len({tuple(ids) for ids in expected}) == 5
    assert together(engine, wanted) == expected
    assert together(engine, wanted[2:]) == expected[2:]


@pytest.mark.parametrize("shared", [0, 1, 30])
def test_so_are_texts_of_different_prompts_lengths_and_sampling(engine: Engine, shared: int) -> None:
    wanted = [
        ([*PROMPT[:shared], 100], replace(SAMPLED, max_new_tokens=1)),
        (PROMPT[:shared] + PROMPT[5:33], replace(SAMPLED, seed=4, repetition_penalty=1.3)),
        ([*PROMPT[:shared], 101, 102], SamplingParams(max_new_tokens=30)),
        (PROMPT[:shared] + PROMPT * 2, replace(SAMPLED, seed=7, max_new_tokens=9, top_k=5)),
    ]
    assert together(engine, wanted) == [alone(engine, *one) for one in wanted]


def test_an_end_token_ends_one_text_alone(engine: Engine) -> None:
    wanted = [(PROMPT, replace(SAMPLED, seed=seed)) for seed in range(3)]
    end = alone(engine, *wanted[1])[5]
    expected = [alone(engine, *one, end=end) for one in wanted]
    assert len({len(ids) for ids in expected}) > 1
    assert together(engine, wanted, end=end) == expected


def test_grounded_texts_are_what_they_are_alone(loaded: LoadedModel, engine: Engine) -> None:
    """A free one, one of other words, and one in a form (its tokens are forced)."""
    groundings = (
        None,
        Rephrase((TEXT[0],), copy_words=2, copy_penalty=4.0),
        Json('{"type": "object", "properties": {"kind": {"enum": ["flood", "fire"]}}, "required": ["kind"]}'),
    )
    wanted = [Wanted(PROMPT, replace(SAMPLED, seed=3, grounding=g, max_new_tokens=40)) for g in groundings]
    expected = [complete(loaded, engine.decode, one.prompt, one.sampling) for one in wanted]
    found = complete_together(loaded, engine, wanted)
    assert [(one.text, one.stop, one.n_new_tokens) for one in found] == [(o.text, o.stop, o.n_new_tokens) for o in expected]
    assert found[2].text.lstrip().startswith("{")
    forced = found[2].stats.speculation
    assert forced is not None and any(source.source == "forced" for source in forced.by_source)
    plain = complete_together(loaded, engine, [replace(one, drafts=False) for one in wanted])
    assert [one.text for one in plain] == [one.text for one in found]
    assert [one.stats.n_drafted for one in plain] == [0] * 3, "without drafts what is forced is not drafted either"


def test_a_text_that_nobody_wants_any_more_leaves_the_others_as_they_are(loaded: LoadedModel, engine: Engine) -> None:
    seen: list[int] = []
    first = Wanted(PROMPT, SAMPLED, seen=seen.append, goes_on=lambda: len(seen) < 4)
    ended: list[str] = []
    second = Wanted(PROMPT, replace(SAMPLED, seed=1), done=lambda done: ended.append(done.text))
    expected = complete(loaded, engine.decode, PROMPT, second.sampling)
    found = complete_together(loaded, engine, [first, second])
    assert len(seen) == 4 and found[0].n_new_tokens == 4
    assert found[1].text == expected.text and ended == [expected.text]


def test_models_of_whole_precision_write_them_in_turn(tmp_path: Any) -> None:
    folder = build_tiny_model(tmp_path, chat_template=True, vocab_from=TEXT)
    decoder = decoding.load(str(folder), device="cpu", method="copy")
    found = decoder.candidates(2, PROMPT, max_new_tokens=12, seed=5)
    for i, one in enumerate(found):
        expected = decoder.generate(PROMPT, max_new_tokens=12, do_sample=True, seed=5 + i)
        assert one.sequences.tolist() == expected.sequences.tolist() and one.text == expected.text


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_more_texts_than_are_written_together_are_refused(engine: Engine) -> None:
    with engine.lock, pytest.raises(UserError, match=f"{MOST + 1} texts are asked for at once; the most is {MOST}"):
        engine.decode_together([ask(PROMPT, SAMPLED, [])] * (MOST + 1))
    assert not engine.fits_together([10] * (MOST + 1))


def test_more_texts_than_memory_holds_are_refused(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowbit_together, "available_bytes", lambda: 0)
    wanted = [(PROMPT, replace(SAMPLED, max_new_tokens=200))] * 8
    with pytest.raises(StageError, match=r"8 texts together need .* ask for fewer at once"):
        together(engine, wanted)
    monkeypatch.undo()
    assert together(engine, wanted[:2]) == [alone(engine, *wanted[0])] * 2
    monkeypatch.setattr("decoding.machine.available_bytes", lambda: 1 << 20)
    assert engine.fits_together([100, 100]) and not engine.fits_together([1 << 12, 1 << 12])


# --- lengths of copies --------------------------------------------------------------------------------------------------


def test_rows_go_to_the_likeliest_copies_as_long_as_they_pay() -> None:
    assert best_lengths([(0.9, 0.8), (0.95, 0.1), ()], 3, COSTS) == [2, 1, 0]
    assert best_lengths([(0.01,), ()], 2, COSTS) == [0, 0]
    assert best_lengths([(0.2,), ()], 2, COSTS, margin=0) == [1, 0]  # (2.2 / 1.075) / (2 / 1.05): 7% more
    assert best_lengths([(0.2,), ()], 2, COSTS, margin=0.1) == [0, 0]
    assert best_lengths([(0.9,)], 1, None) == [0]

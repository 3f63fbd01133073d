"""Several requests at once: each gets what it gets alone, in whatever order they end, and whatever becomes of the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from data.errors import StageError, UserError
from decoding.api import Completion, Json, Message, Rephrase, Request, SamplingParams
from decoding.backends import lowbit_together
from decoding.backends.lowbit import LowBitBackend
from decoding.backends.lowbit_together import LowBitTexts
from decoding.choices import check_options, choice_of_text, shares_of_text
from decoding.engine import Engine, backend_of
from decoding.local import LocalGenerator
from decoding.models.loading import LoadedModel, load, lowered
from tests.fakes import ScriptedGenerator
from tests.grids import rest_slow
from tests.tiny_model import build_tiny_model
from tests.toy_backend import COSTS

TEXT = ["The bridge over the river fell on Monday morning, the mayor said.", "Two people were hurt, and the road is closed."]
SAMPLED = SamplingParams(max_new_tokens=12, temperature=0.9, top_p=0.9)
SYSTEM = Message("system", "You write plainly. " + TEXT[0])
CARDS = ["The road is closed. " + TEXT[1] * 2, "The mayor said two people were hurt. " + TEXT[0], "On Monday the river fell."]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = build_tiny_model(tmp_path_factory.mktemp("tiny"), chat_template=True, vocab_from=TEXT, context_tokens=512)
    return lowered(load(str(folder), device="cpu"), "int8")


@pytest.fixture(scope="module")
def generator(loaded: LoadedModel) -> LocalGenerator:
    engine = Engine(loaded)
    engine._backend._costs = COSTS  # type: ignore[attr-defined]  # measured ones would make drafts depend on the machine
    return LocalGenerator(loaded, engine=engine)


def request(card: int, question: str = "What fell?", **sampling: Any) -> Request:
    return Request((SYSTEM, Message("user", f"{CARDS[card]}\n{question}")), replace(SAMPLED, **sampling))


def shown(found: list[Completion]) -> list[tuple[object, ...]]:
    return [(one.text, one.stop, one.n_prompt_tokens, one.n_new_tokens) for one in found]


def alone(generator: LocalGenerator, requests: list[Request]) -> list[Completion]:
    return [generator.generate(one.messages, one.sampling) for one in requests]


MIXED = [
    request(at % 3, question, seed=at, temperature=0.9 * (at % 2), max_new_tokens=3 + 5 * (at % 4))
    for at, question in enumerate(["What fell?", "What fell?", "Who was hurt?", "When?"] * 3)
]


@pytest.fixture(scope="module")
def mixed_alone(generator: LocalGenerator) -> list[Completion]:
    """Each of `MIXED` on its own."""
    return alone(generator, MIXED)


@pytest.mark.parametrize("most", rest_slow([2, 3, 16], keep=[3]))
def test_each_is_what_it_is_alone(
    generator: LocalGenerator, mixed_alone: list[Completion], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    assert len({one.text for one in mixed_alone}) > 7
    monkeypatch.setattr("decoding.engine.MOST", most)
    running, widest = 0, 0
    admit, leave = LowBitTexts.admit, LowBitTexts.leave

    def admitted(self: LowBitTexts, texts: Any) -> int:
        nonlocal running, widest
        running += (n := admit(self, texts))
        widest = max(widest, running)
        return n

    def left(self: LowBitTexts, text: int) -> None:
        nonlocal running
        running -= 1
        leave(self, text)

    monkeypatch.setattr(LowBitTexts, "admit", admitted)
    monkeypatch.setattr(LowBitTexts, "leave", left)
    ended: dict[int, Completion] = {}
    found = generator.generate_many(MIXED, lambda at, done: ended.setdefault(at, done) and None)
    assert shown(found) == shown(mixed_alone)
    assert ended == dict(enumerate(found)) and list(ended) != sorted(ended), "a short one does not wait for a long one"
    assert (running, widest) == (0, min(most, len(MIXED)))


def test_so_are_those_with_rules(generator: LocalGenerator) -> None:
    """Copying priced, a form, and a free one."""
    priced = Rephrase((CARDS[0],), copy_words=2)
    form = Json('{"enum": ["The bridge fell.", "The road is closed."]}')
    requests = [
        *[request(0, seed=seed, grounding=priced, max_new_tokens=30, repetition_penalty=1.2) for seed in range(3)],
        request(1, grounding=form, max_new_tokens=40),
        request(2, temperature=0.0),
    ]
    assert shown(generator.generate_many(requests)) == shown(alone(generator, requests))


def test_what_prompts_share_is_read_once(generator: LocalGenerator, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [request(at % 2, question, max_new_tokens=1) for at in range(4) for question in ("Who?", "When?")]
    prompts = [generator.prompt_ids(one.messages) for one in requests]
    different = len({tuple(prompt[: n + 1]) for prompt in prompts for n in range(len(prompt) - 1)})
    rows = 0
    original = LowBitBackend.run_at

    def counted(self: LowBitBackend, ids: torch.Tensor, *args: Any, **more: Any) -> Any:
        nonlocal rows
        rows += ids.shape[1]
        return original(self, ids, *args, **more)

    generator._engine.forget()
    monkeypatch.setattr(LowBitBackend, "run_at", counted)
    generator.generate_many(requests)
    last = len(prompts)  # the last token of each prompt is read for its logits
    few = 20 * len(prompts)  # shorter beginnings are not waited for
    assert different + last <= rows <= different + last + few
    assert rows < sum(map(len, prompts)) / 2


def test_how_prompts_begin_is_read_once_for_many_calls(generator: LocalGenerator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other calls lie between, whose keys and values take the place of the first ones."""
    asked = [[[Message("system", card), Message("user", question)] for question in ("Who?", "When?")] for card in CARDS]
    prompts = [[generator.prompt_ids(messages) for messages in pair] for pair in asked]
    shared = [next(at for at, (a, b) in enumerate(zip(*pair, strict=False)) if a != b) for pair in prompts]
    rows: list[int] = []
    original = LowBitBackend.run_at

    def counted(self: LowBitBackend, ids: torch.Tensor, *args: Any, **more: Any) -> Any:
        rows.append(ids.shape[1])
        return original(self, ids, *args, **more)

    monkeypatch.setattr("decoding.backends.beginnings.LEAST", 8)
    monkeypatch.setattr(LowBitBackend, "run_at", counted)
    generator._engine.forget()
    first = [generator.choose_many(messages, ("Yes", "No")) for messages in asked]
    n_first = len(rows)
    again = [generator.choose_many(messages, ("Yes", "No")) for messages in asked]
    assert again == first
    assert sum(rows[:n_first]) > max(shared)
    assert sum(rows[n_first:]) == sum(len(one) - n for pair, n in zip(prompts, shared, strict=True) for one in pair)
    assert generator.generate_many([request(0), request(1)])  # what lies in the cache is another text's
    assert [generator.choose(messages[0], ("Yes", "No")) for messages in asked] == [found[0] for found in first]


@pytest.mark.parametrize("limit", ["free", "cache"])
def test_as_many_at_a_time_as_memory_holds(
    limit: str, generator: LocalGenerator, mixed_alone: list[Completion], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the free memory, and no more than the keys and values of all texts together may have."""
    sizes = []
    original = LowBitTexts._affordable

    def noted(self: LowBitTexts, at_once: int | None) -> int:
        sizes.append((original(self, at_once), sum(self._sizes), max(self._sizes)))
        return sizes[-1][0]

    backend: Any = backend_of(generator._loaded)
    monkeypatch.setattr(LowBitTexts, "_affordable", noted)
    monkeypatch.setattr(type(backend), "reserved", property(lambda self: 0))
    if limit == "free":
        monkeypatch.setattr(lowbit_together, "available_bytes", lambda: 2 * backend.bytes_for(300))
    else:
        monkeypatch.setattr(lowbit_together, "_MOST_BYTES", backend.bytes_for(300))
    assert shown(generator.generate_many(MIXED)) == shown(mixed_alone)
    ((room, everything, largest),) = sizes
    assert largest <= room < everything / 2
    # not even one: each is tried alone, as there the room is there
    monkeypatch.setattr(lowbit_together, "available_bytes", lambda: 0)
    assert shown(generator.generate_many(MIXED)) == shown(mixed_alone)


def test_one_that_fails_leaves_the_others(generator: LocalGenerator) -> None:
    long = Request((Message("user", "river " * 2000),), SAMPLED)
    ended: list[int] = []
    with pytest.raises(StageError, match=r"the prompt has .* tokens"):
        generator.generate_many([MIXED[0], long, *MIXED[1:3]], lambda at, done: ended.append(at))
    assert sorted(ended) == [0, 2, 3]


def test_those_that_are_left_are_written_in_turn(
    generator: LocalGenerator, mixed_alone: list[Completion], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = LowBitTexts.step
    n_steps = 0

    def breaking(self: LowBitTexts, ids: Any) -> Any:
        nonlocal n_steps
        n_steps += 1
        if n_steps == 5:
            raise StageError("generate", "the logits are not numbers")
        return original(self, ids)

    monkeypatch.setattr(LowBitTexts, "step", breaking)
    ended: list[int] = []
    assert shown(generator.generate_many(MIXED, lambda at, done: ended.append(at))) == shown(mixed_alone)
    assert sorted(ended) == list(range(len(MIXED))), "each once"


def test_what_the_caller_raises_ends_it(generator: LocalGenerator) -> None:
    ended: list[int] = []

    def full(at: int, done: Completion) -> None:
        ended.append(at)
        raise StageError("store", "the disk is full")

    with pytest.raises(StageError, match="the disk is full"):
        generator.generate_many(MIXED, full)
    assert len(ended) == 1
    with pytest.raises(UserError, match="temperature is -1"):
        generator.generate_many([request(0), request(0, temperature=-1.0)])


def test_other_backends_and_other_ways_to_decode_write_them_in_turn(loaded: LoadedModel, tmp_path: Any) -> None:
    folder = build_tiny_model(tmp_path, chat_template=True, vocab_from=TEXT, context_tokens=512)
    whole = LocalGenerator(load(str(folder), device="cpu"))
    order: list[int] = []
    found = whole.generate_many(MIXED[:3], lambda at, done: order.append(at))
    assert shown(found) == shown(alone(whole, MIXED[:3])) and order == [0, 1, 2]
    asked: list[int] = []
    engine = Engine(loaded, "greedy")

    def watched(prompt: Any, sampling: Any, take: Any) -> Any:
        asked.append(len(prompt))
        return engine.decode(prompt, sampling, take)

    LocalGenerator(loaded, watched, engine=engine).generate_many(MIXED[:3])
    assert len(asked) == 3
    assert whole.generate_many([]) == []


# --- choices ------------------------------------------------------------------------------------------------------------


def test_a_choice_is_the_share_of_the_first_token(generator: LocalGenerator, loaded: LoadedModel) -> None:
    asked = [MIXED[at].messages for at in (3, 0, 1, 2, 0)]
    options = ("The", "Two", "mayor")
    found = generator.choose_many(asked, options)
    first = [loaded.tokenizer(option, add_special_tokens=False).input_ids[0] for option in options]
    backend = backend_of(loaded)
    for messages, shares in zip(asked, found, strict=True):
        prompt = generator.prompt_ids(messages)
        logits = backend.prefill(prompt, capacity=len(prompt)).last.logits[0, first]
        assert shares == pytest.approx(logits.double().softmax(0).tolist(), abs=1e-9)
        assert generator.choose(messages, options) == shares
    assert len({*found}) == 4
    assert generator.choose_many([], options) == []


def test_more_choices_than_are_read_at_once(generator: LocalGenerator, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [one.messages for one in MIXED]
    expected = [generator.choose(messages, ("The", "Two")) for messages in asked]
    monkeypatch.setattr("decoding.engine.MOST", 3)
    assert generator.choose_many(asked, ("The", "Two")) == expected


def test_a_model_of_whole_precision_chooses_as_well(tmp_path: Any) -> None:
    folder = build_tiny_model(tmp_path, chat_template=True, vocab_from=TEXT, context_tokens=512)
    whole = LocalGenerator(load(str(folder), device="cpu"))
    both = whole.choose_many([MIXED[0].messages, MIXED[1].messages], ("The", "Two"))
    assert both[1] == pytest.approx(whole.choose(MIXED[1].messages, ("The", "Two")))
    assert [sum(shares) for shares in both] == pytest.approx([1.0, 1.0])


def test_options_that_begin_alike_are_refused(generator: LocalGenerator) -> None:
    with pytest.raises(ValueError, match="the same first token"):
        generator.choose(MIXED[0].messages, ("The bridge", "The road"))
    with pytest.raises(StageError, match=r"the prompt has .* tokens"):
        generator.choose([Message("user", "river " * 2000)], ("The", "Two"))
    for options in (("Yes",), ("Yes", "yes "), ("Yes", "")):
        with pytest.raises(ValueError, match="not at least two different options"):
            check_options(options)


# --- by a short answer ---------------------------------------------------------------------------------------------------


def test_a_text_decides_by_how_it_begins() -> None:
    assert shares_of_text(" yes, it did", ("Yes", "No")) == (1.0, 0.0)
    assert shares_of_text("None of them", ("No", "None")) == (0.0, 1.0)
    assert shares_of_text("Perhaps", ("Yes", "No")) == (0.5, 0.5)
    scripted = ScriptedGenerator(["No."])
    assert choice_of_text(scripted, [Message("user", "Did it?")], ("Yes", "No")) == (0.0, 1.0)
    assert scripted.sampling[0].temperature == 0

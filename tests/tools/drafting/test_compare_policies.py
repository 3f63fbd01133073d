"""Texts decoded again on paper: what they cost is what decoding them costs, and a better policy is found to be one."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from data.errors import UserError
from decoding.api import Message
from decoding.backend import SkipSet
from decoding.drafters.copy import CopyDrafter
from decoding.drafters.lengths import Threshold
from decoding.drafters.mix import MixDrafter
from decoding.drafters.plain import NoDrafter
from decoding.drafters.skip import SkipDrafter
from decoding.knn.prompt_files import PromptRow
from decoding.models.loading import load
from tests.tiny_model import build_tiny_model
from tests.toy_backend import COSTS, ToyBackend
from tools.drafting import compare_policies
from tools.drafting.compare_policies import ORACLE, RULE, compare, look
from tools.drafting.draft_policies import least_cost
from tools.drafting.draft_traces import (
    Conditions,
    Place,
    Recorder,
    Trace,
    read,
    record,
    recorded_chains,
    replay,
    write,
    written,
)

STOP = Threshold(0.5, 6)
CONDITIONS = Conditions("made", "float64", 40, COSTS, STOP)
LIMIT = 40


def made(event: int, n: int) -> Trace:
    """A text that quotes its prompt behind every third token; chains are right where they are sure."""
    random = Random(f"{event} {n}")
    prompt = random.sample(range(1000), 60)
    answer: list[int] = []
    while len(answer) < LIMIT:
        start = random.randrange(45)
        answer += [random.randrange(1000, 1200), *prompt[start : start + random.randrange(2, 14)]]
    answer = answer[:LIMIT]
    places = []
    for at in range(LIMIT - 2):
        right = random.choice((0, 2, 6))
        following = answer[at + 1 : at + 7]
        chain = tuple(token if i < right else 2000 for i, token in enumerate(following))
        told = tuple(0.9 if i < right else 0.2 for i in range(len(chain)))
        places.append(Place((answer[at + 1], *range(2001, 2008)), 0.9, chain, told))
    return Trace(f"{event}/{n}", str(event), "say", LIMIT, tuple(prompt), tuple(answer), tuple(places), (1,), 0.1)


def test_replaying_without_drafts_costs_a_step_a_token() -> None:
    assert replay(made(0, 0), NoDrafter(), COSTS) == (LIMIT - 1, LIMIT - 1, [1] * LIMIT)


def test_a_recorded_text_is_decoded_on_paper_as_by_the_model() -> None:
    plan = SkipSet((1, 2), (1, 2))
    for seed in range(4):
        prompt = [3, 1, 4, 1, 5] * 4
        recorder = Recorder(SkipDrafter(plan, STOP))
        answer = written(ToyBackend(16, order=2, seed=seed), recorder, prompt, LIMIT, frozenset())
        c = COSTS.c(plan, 8)
        trace = Trace("a", "a", "other", LIMIT, tuple(prompt), answer, tuple(recorder.places), (), c)
        assert len(trace.places) == LIMIT - 2

        passes: list[int] = []
        real = MixDrafter(CopyDrafter(), None, SkipDrafter(plan, STOP), COSTS)
        backend = ToyBackend(16, order=2, seed=seed)
        assert written(backend, real, prompt, LIMIT, frozenset(), passes.append) == answer
        tokens, cost, replayed = replay(trace, MixDrafter(CopyDrafter(), None, recorded_chains(c, STOP), COSTS), COSTS)
        assert (tokens, replayed) == (LIMIT - 1, passes)
        assert len(passes) - 1 <= cost


def test_a_model_is_recorded(tmp_path: Path) -> None:
    words = "the flood reached the town on Sunday and the river fell again on Monday"
    model = build_tiny_model(tmp_path / "model", chat_template=True, vocab_from=[words], context_tokens=256)
    rows = [PromptRow(f"{n}", (Message("user", f"{words} {n}"),), event=f"{n}") for n in range(3)]
    record(load(str(model), device="cpu"), rows, 12, tmp_path / "traces", lambda text: None)
    conditions, traces = read(tmp_path / "traces")
    assert conditions.stop is None and conditions.max_new_tokens == 12
    assert all(sum(trace.passes) == len(trace.answer) == len(trace.places) + 2 for trace in traces)
    assert all(place.top[0] == after for trace in traces for place, after in zip(trace.places, trace.answer[1:]))
    assert all(replay(trace, NoDrafter(), COSTS)[:2] == (len(trace.answer) - 1,) * 2 for trace in traces)


@pytest.mark.slow
def test_every_policy_lies_between_its_bound_and_the_worst_draft() -> None:
    traces = [made(event, 0) for event in range(4)]
    scores = compare(CONDITIONS, traces, lambda text: None)
    costs = {name: sum(cost for _, cost in of) for name, of in scores.items()}
    assert all([tokens for tokens, _ in of] == [LIMIT - 1] * len(traces) for of in scores.values())
    assert costs["nothing drafted"] == len(traces) * (LIMIT - 1)
    assert all(costs[ORACLE] < cost for name, cost in costs.items() if name != ORACLE)
    assert costs[RULE] < 0.8 * costs["nothing drafted"]
    assert costs["threshold head (SpecDec++)"] < costs["nothing drafted"]


def test_the_bound_takes_what_is_right_and_no_more() -> None:
    trace = made(1, 1)
    ((_, places),) = look([trace], CONDITIONS)
    bound = least_cost(trace, places, COSTS)
    assert bound < LIMIT - 1
    wrong = [Place(place.top, 0.9, (2000,) * 6, (0.9,) * 6) for place in trace.places]
    without = Trace(**{**{f: getattr(trace, f) for f in Trace.__slots__}, "places": tuple(wrong)})
    ((_, places),) = look([without], CONDITIONS)
    assert bound < least_cost(without, places, COSTS) <= LIMIT - 1


def test_traces_are_read_as_written_and_few_events_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traces = [made(event, 0) for event in range(2)]
    write(tmp_path, CONDITIONS, traces)
    assert read(tmp_path) == (CONDITIONS, traces)
    with pytest.raises(UserError, match="2 events"):
        compare(CONDITIONS, traces, lambda text: None)
    write(tmp_path, CONDITIONS, [made(event, 0) for event in range(3)])
    assert compare_policies.main(["compare", str(tmp_path)]) == 0
    assert "| mix | " in capsys.readouterr().out
    assert compare_policies.main(["compare", str(tmp_path / "none")]) == 2

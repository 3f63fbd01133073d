"""How often a skipped model would have said what the whole model said, and what drafting with it would have cost.

The whole model's greedy answer is logged once. Then one pass of the skipped model over the answer says, for every
position, whether it agrees and how sure it is (SWIFT's matchness, section 3.2 there): no generation, no timing noise. In that
pass the answer's keys and values are the skipped model's own, while in use a draft sees its own only since the last verify
pass; so agreement is a little underrated far into the answer.

`replay` then walks through the answer as the round loop would: how long each draft is, how much of it is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from data.errors import StageError
from data.types import Strict
from decoding.api import SamplingParams, Task
from decoding.backend import CostTable, Prefill, SkipSet, StepBackend, Wants
from decoding.drafters.lengths import LengthPolicy, Threshold
from decoding.drafters.plain import NoDrafter
from decoding.knn.prompt_files import PromptRow
from decoding.sampling import Sampler
from decoding.speculative import decode

POLICIES = tuple(Threshold(stop_prob, length) for stop_prob in (0.0, 0.4, 0.6, 0.8, 0.9) for length in (1, 2, 3, 4, 6, 8, 12))
"""Among these each layer set gets the stop rule that suits it."""

ORIGINAL = Threshold(0.8, 12)
"""The stop rule of KNN-SSD's experiments."""

POSITIONS = 12
"""How far into a draft acceptance is reported."""


@dataclass(frozen=True, slots=True)
class Logged(Strict):
    """A prompt with the whole model's greedy answer and the prompt's vector."""

    id: str
    task: Task
    topic: str
    label: str
    group: str
    prompt: tuple[int, ...]
    answer: tuple[int, ...]
    """An end token, if the model gave one, is the last."""
    limit: int
    """The answer was cut at this many tokens."""
    vector: tuple[float, ...]
    prefill_s: float


@dataclass(frozen=True, slots=True)
class Agreement(Strict):
    """What a skipped model says of a logged answer, its first token left out (the prefill gives that)."""

    hits: str
    """`1` at i if the skipped model follows answer[: i + 1] with answer[i + 1], else `0`."""
    confidence: tuple[float, ...]
    """Its probability of its own best token there."""


class _Watching(NoDrafter):
    wants = Wants(vector=True)


def log_answer(
    backend: StepBackend, row: PromptRow, prompt: Sequence[int], eos_ids: frozenset[int], max_new_tokens: int
) -> Logged:
    """Write the answer by plain greedy decoding. Raises StageError where the prompt leaves no room for one."""
    room = backend.info.context_tokens - len(prompt)
    if room < 2:
        raise StageError("calibrate", f"the prompt has {len(prompt)} tokens of the context's {backend.info.context_tokens}")
    limit = min(max_new_tokens, room)
    answer: list[int] = []
    vectors: list[tuple[float, ...]] = []

    def take(token: int) -> bool:
        answer.append(token)
        return token not in eos_ids and len(answer) < limit

    def look(prefill: Prefill) -> None:
        assert prefill.vector is not None  # wanted
        vectors.append(tuple(float(x) for x in prefill.vector))

    sampler = Sampler(SamplingParams(max_new_tokens=limit), len(prompt))
    stats = decode(backend, _Watching(), prompt, sampler, take, on_prefill=look)
    return Logged(
        id=row.id,
        task=row.task,
        topic=row.topic,
        label=row.label,
        group=row.group,
        prompt=tuple(prompt),
        answer=tuple(answer),
        limit=limit,
        vector=vectors[0],
        prefill_s=stats.prefill_s or 0.0,
    )


def agreements(backend: StepBackend, logged: Logged, plans: Sequence[SkipSet]) -> Iterator[Agreement]:
    """One for each plan, in order: the prompt is read once, each plan costs one pass over the answer."""
    fed, said = logged.answer[:-1], logged.answer[1:]
    if not fed:
        yield from (Agreement("", ()) for _ in plans)
        return
    backend.prefill(logged.prompt, capacity=len(logged.prompt) + len(fed))
    for plan in plans:
        rows = backend.step(fed, plan=plan)
        try:
            best = rows.argmax()
        except StageError:  # NaN: some sets break a model, and none of its tokens would be accepted
            yield Agreement("0" * len(said), (0.0,) * len(said))
            continue
        _, chances = rows.top(1)
        hits = "".join("1" if a == b else "0" for a, b in zip(best, said, strict=True))
        yield Agreement(hits, tuple(round(float(chance), 4) for chance in chances[:, 0]))


@dataclass(frozen=True, slots=True)
class Rounds(Strict):
    """A text as rounds of drafting and verifying. Both tuples have one entry for each round."""

    drafted: tuple[int, ...]
    accepted: tuple[int, ...]
    n_tokens: int
    """Of the text after its first token."""

    def cost(self, c: float, costs: CostTable) -> float:
        """In full steps of one token, drafting at `c` a token."""
        return sum(times * (n * c + costs.v(1 + n)) for n, times in Counter(self.drafted).items())


def replay(agreement: Agreement, policy: LengthPolicy, limit: int) -> Rounds:
    """The rounds in which a skipped model would have helped to write the answer; `limit` as for the logged answer.

    Exact in accepted tokens and how many verify passes there are. How long a draft goes on *after* a wrong token cannot be
    known from the right ones: it is taken to be as sure as it would have been of the right text, which is exact for drafts
    of fixed length.
    """
    n = len(agreement.hits)
    drafted: list[int] = []
    accepted: list[int] = []
    at = 0
    policy.start()
    while at < n:
        room = limit - at - 2  # the first token is there, and one of the round is the model's own
        most = min(policy.plan(room), n - at) if room > 0 else 0
        length = 0
        while length < most:
            length += 1
            if not policy.go_on(agreement.confidence[at : at + length]):
                break
        hits = agreement.hits[at : at + length]
        stand = len(hits) - len(hits.lstrip("1"))
        if length:
            policy.observe(length, stand, agreement.confidence[at : at + length])
        drafted.append(length)
        accepted.append(stand)
        at += min(stand + 1, n - at)
    return Rounds(tuple(drafted), tuple(accepted), n)


def acceptance_by_position(found: Sequence[Agreement]) -> tuple[float, ...]:
    """At i, how often the i-th drafted token and all before it are right, over all places where a draft could begin."""
    right, tried = [0] * POSITIONS, [0] * POSITIONS
    for agreement in found:
        run = 0
        for left, hit in enumerate(reversed(agreement.hits), 1):  # from the end: `left` tokens can follow
            run = run + 1 if hit == "1" else 0
            for i in range(min(POSITIONS, left)):
                tried[i] += 1
                right[i] += run > i
    return tuple(round(r / t, 4) for r, t in zip(right, tried) if t)

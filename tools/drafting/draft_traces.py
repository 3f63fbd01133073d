"""Texts that a model has written, with all that it takes to decode them again on paper with any drafter.

A text does not depend on what is drafted. So one plain decoding of it, which notes at every token what the model said and
what a chain of its bridge would have been, holds the outcome of every option of every policy: `Replay` is a backend that reads
it. Exact for copies and chains. Of recycled rows one thing is missing: what the model said after rejected tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from data import codec
from data.errors import UserError
from data.types import Strict
from decoding.api import SamplingParams, Task
from decoding.backend import FULL, BackendInfo, BridgedSet, Chain, CostTable, Prefill, Rows, SkipSet, StepBackend, Wants
from decoding.drafters.drafter import NOTHING, Draft, Drafter, Request
from decoding.drafters.lengths import Expected, Threshold
from decoding.drafters.recycle import RANKS, RecycleDrafter
from decoding.drafters.skip import ModelChain, SkipDrafter, draft_chain
from decoding.sampling import Sampler
from decoding.speculative import decode

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from decoding.backends.lowbit import LowBitBackend
    from decoding.knn.prompt_files import PromptRow
    from decoding.models.loading import LoadedModel

CONDITIONS, TRACES = "conditions.json", "traces.jsonl"
LONGEST = 8
"""Tokens of a recorded chain, whatever its own stop rule would say."""


@dataclass(frozen=True, slots=True)
class Place(Strict):
    """One token of a text as pending token: the model's next choices, and the chain drafted behind it."""

    top: tuple[int, ...]
    """The `RANKS` most probable next tokens, best first."""
    sure: float
    """Probability of the first."""
    chain: tuple[int, ...] = ()
    probabilities: tuple[float, ...] = ()
    """The draft's own, of each token of the chain."""


@dataclass(frozen=True, slots=True)
class Trace(Strict):
    id: str
    event: str
    task: Task
    limit: int
    prompt: tuple[int, ...]
    answer: tuple[int, ...]
    places: tuple[Place, ...]
    """places[i]: answer[i] pending. The last two tokens have none: no round learns from them."""
    passes: tuple[int, ...] = ()
    """Tokens that each pass gave when the mix itself wrote this text, the prefill's first."""
    step_cost: float | None = None
    """c of one token of a chain; None where this text has none."""


@dataclass(frozen=True, slots=True)
class Conditions(Strict):
    """What all traces of a folder share."""

    model: str
    dtype: str
    max_new_tokens: int
    costs: CostTable
    stop: Expected | Threshold | None
    """The chains' own stop rule; None without chains."""


class Recorder:
    """Implements `Drafter`: drafts nothing, and notes every token as a `Place`; `chains` says which plan drafts a text."""

    name = "recorder"

    def __init__(self, chains: SkipDrafter | None) -> None:
        self._chains = chains
        self.wants = chains.wants if chains is not None else Wants()
        self.max_tokens = LONGEST if chains is not None else 0
        self.places: list[Place] = []

    def start(self, request: Request, backend: StepBackend) -> None:
        self.places = []
        self._backend, self._sampler = backend, request.sampler
        if self._chains is not None:
            self._chains.start(request, backend)

    def propose(self, text: Sequence[int], room: int) -> Draft:
        self._drafted = ModelChain()
        if self._chains is not None and self._chains.plan:
            most = min(room, LONGEST)
            self._drafted = draft_chain(self._backend, self._sampler, self._chains.plan, text, most, lambda probabilities: True)
        return NOTHING

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        ids, probabilities = rows.top(RANKS)
        told = tuple(round(probability, 5) for probability in self._drafted.probabilities)
        self.places.append(Place(tuple(ids[0].tolist()), round(float(probabilities[0, 0]), 5), self._drafted.tokens, told))


def record(
    loaded: LoadedModel, rows: Sequence[PromptRow], max_new_tokens: int, folder: Path, tell: Callable[[str], None]
) -> None:
    """Write the traces of these prompts into `folder`: each text is written by the mix, and plainly by the recorder.

    Raises UserError: a prompt beyond the context, a folder that cannot be written.
    """
    from decoding.bench.session import bench_prompts
    from decoding.engine import backend_of
    from decoding.knn.bridge_routing import bridge_drafter, bridges_for, takes_bridges
    from decoding.methods import build_drafter

    prompts = bench_prompts(rows, loaded, max_new_tokens)
    events = {row.id: row.group for row in rows}
    traces = []
    with loaded.lock:
        backend = backend_of(loaded)
        costs = backend.costs()
        bridges = bridges_for(loaded, needed=False)
        mix = build_drafter("mix", backend, bridges=bridges)
        chains = None
        if bridges is not None and takes_bridges(backend):
            chains = bridge_drafter(cast("LowBitBackend", backend), bridges, costs=costs, guarded=False)
        recorder = Recorder(chains)
        for at, prompt in enumerate(prompts):
            passes: list[int] = []
            mixed = written(backend, mix, prompt.ids, prompt.limit, loaded.eos_ids, passes.append)
            answer = written(backend, recorder, prompt.ids, prompt.limit, loaded.eos_ids)
            if mixed != answer:
                tell(f"{prompt.id}: a near-tie fell the other way with drafts, so it is left out")
                continue
            step_cost = chains.step_cost(costs, backend.info.n_layers) if chains is not None else None
            traces.append(
                Trace(
                    prompt.id,
                    events[prompt.id],
                    prompt.task,
                    prompt.limit,
                    tuple(prompt.ids),
                    answer,
                    tuple(recorder.places),
                    tuple(passes),
                    step_cost,
                )
            )
            if at % 20 == 19:
                tell(f"{at + 1} of {len(prompts)} prompts")
    stop = chains.policy if chains is not None else None
    if not isinstance(stop, Expected | Threshold | None):
        raise TypeError(f"a stop rule that cannot be stored: {stop}")
    write(folder, Conditions(loaded.name, loaded.dtype, max_new_tokens, costs, stop), traces)


def write(folder: Path, conditions: Conditions, traces: Sequence[Trace]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    codec.write_atomic(folder / TRACES, "".join(codec.to_json(trace) + "\n" for trace in traces))
    codec.write_atomic(folder / CONDITIONS, codec.to_json(conditions, indent=1) + "\n")


def read(folder: Path) -> tuple[Conditions, list[Trace]]:
    """Texts of at least three tokens: shorter ones have no round. Raises UserError for a missing or damaged file."""
    conditions = codec.read(Conditions, folder / CONDITIONS)
    try:
        lines = (folder / TRACES).read_bytes().splitlines()
    except OSError as error:
        raise UserError(f"cannot read {folder / TRACES}: {error.strerror}; record it again") from None
    traces = [codec.from_json(Trace, line, where=f"{folder / TRACES}:{n}") for n, line in enumerate(lines, 1)]
    return conditions, [trace for trace in traces if len(trace.answer) > 2]


def written(
    backend: StepBackend,
    drafter: Drafter,
    prompt: Sequence[int],
    limit: int,
    ends: frozenset[int],
    on_round: Callable[[int], None] | None = None,
) -> tuple[int, ...]:
    """The text that `drafter` decodes greedily, up to `limit` tokens or one of `ends`; `on_round` as in `decode`."""
    answer: list[int] = []

    def take(token: int) -> bool:
        answer.append(token)
        return token not in ends and len(answer) < limit

    sampler = Sampler(SamplingParams(max_new_tokens=limit), len(prompt))
    decode(backend, drafter, prompt, sampler, take, on_round=on_round)
    return tuple(answer)


# --- on paper -------------------------------------------------------------------------------------------------------


class KnownRows:
    """Implements `Rows`: what the model said at each row, -1 (no token) behind a guess that is not the text's.

    `top` has the rows of the pending token and the accepted guesses only, in order.
    """

    def __init__(self, following: Sequence[int], places: Sequence[Place]) -> None:
        self._following, self._places = list(following), places

    def __len__(self) -> int:
        return len(self._following)

    @property
    def logits(self) -> torch.Tensor:
        raise NotImplementedError("a trace has no logits")

    def argmax(self) -> list[int]:
        return self._following

    def top(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        rows = [place.top[:k] for place in self._places]
        sure = np.full((len(rows), k), np.nan, dtype=np.float32)  # of all but the first nothing is recorded
        sure[:, 0] = [place.sure for place in self._places]
        return np.array(rows, dtype=np.int64), sure

    def top_ids(self, k: int) -> NDArray[np.int64]:
        return self.top(k)[0]


class RecycledRows(RecycleDrafter):
    """Learns from accepted tokens only: traces do not say what the model would have said behind the others."""

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        super().observe(Draft(tuple(new[:-1])), new, rows)


class Replay:
    """Implements `StepBackend` for one recorded text, and counts what its rounds would have cost."""

    def __init__(self, trace: Trace, costs: CostTable) -> None:
        self.info = BackendInfo("replay", 1, 0, 0, 1 << 30, "cpu", "none", batch_invariant=True)
        self.n = 0
        self.cost = 0.0
        self._trace, self._costs = trace, costs

    def prefill(self, ids: Sequence[int], *, capacity: int, wants: Wants = Wants()) -> Prefill:  # noqa: B008
        self.n, self.cost = len(ids), 0.0
        return Prefill(KnownRows(self._trace.answer[:1], ()))

    def forget(self) -> None:
        pass

    def step(self, ids: Sequence[int], *, plan: SkipSet = FULL, parents: Sequence[int] | None = None, offset: int = 0) -> Rows:
        self.cost += self._costs.v(len(ids))
        answer, first = self._trace.answer, self.n - len(self._trace.prompt)
        at: list[int | None] = []  # of each row: which token of the answer it is, None for a wrong guess
        for row, token in enumerate(ids):
            parent = row - 1 if parents is None else parents[row]
            before = first - 1 if parent < 0 else at[parent]
            is_right = before is not None and before + 1 < len(answer) and answer[before + 1] == token
            at.append(before + 1 if before is not None and is_right else None)
        right = [place for place in at if place is not None]
        following = [-1 if place is None or place + 1 >= len(answer) else answer[place + 1] for place in at]
        return KnownRows(following, [self._trace.places[place] for place in right if place < len(self._trace.places)])

    def draft_chain(
        self, pending: int, *, plan: SkipSet, max_tokens: int, go_on: Callable[[Sequence[float]], bool] | None = None
    ) -> Chain:
        at = self.n - len(self._trace.prompt)
        place = self._trace.places[at] if at < len(self._trace.places) else Place((), 0.0)
        drafted = 0
        while drafted < min(max_tokens, len(place.chain)):
            drafted += 1
            if go_on is not None and not go_on(place.probabilities[:drafted]):
                break
        self.cost += drafted * (self._trace.step_cost or 0.0)
        return Chain(place.chain[:drafted], place.probabilities[:drafted])

    def commit(self, k: int, path: Sequence[int] | None = None) -> None:
        self.n += k

    def costs(self) -> CostTable:
        return self._costs


def replay(trace: Trace, drafter: Drafter, costs: CostTable) -> tuple[int, float, list[int]]:
    """Tokens behind the first (the prefill's), what they cost in units of a plain step, and those of each pass."""
    backend = Replay(trace, costs)
    passes: list[int] = []
    ends = frozenset() if len(trace.answer) == trace.limit else frozenset({trace.answer[-1]})
    answer = written(backend, drafter, trace.prompt, trace.limit, ends, passes.append)
    assert answer == trace.answer, f"{trace.id}: replayed to another text"
    return len(answer) - 1, backend.cost, passes


def recorded_chains(step_cost: float, stop: Expected | Threshold) -> SkipDrafter:
    """Drafts what was recorded, as long as `stop` says."""
    return SkipDrafter(BridgedSet((0,), key="recorded", step_cost=step_cost), stop, name="chain")

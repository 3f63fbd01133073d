"""What a model must offer to be decoded fast: one protocol, and the values that cross it. No torch here.

One sequence at a time. A backend owns its KV cache and the only length `n`: positions 0..n-1 are committed, and whatever
lies behind them is scratch that the next full `step` writes again. So a draft may leave approximate entries there, layers
that were skipped may have none, and nothing is ever copied back (decoding note, pitfalls 1 and 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeGuard

from data.types import Strict

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SkipSet(Strict):
    """Sub-layers that a draft step leaves out, as layer indices. Empty: the whole model."""

    attention: tuple[int, ...] = ()
    mlp: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "attention", tuple(sorted(set(self.attention))))
        object.__setattr__(self, "mlp", tuple(sorted(set(self.mlp))))

    def __bool__(self) -> bool:
        return bool(self.attention or self.mlp)

    @property
    def n_skipped(self) -> int:
        return len(self.attention) + len(self.mlp)

    def share(self, n_layers: int) -> float:
        """Skipped sub-layers over all 2 * n_layers."""
        return self.n_skipped / (2 * n_layers)


@dataclass(frozen=True, slots=True)
class BridgedSet(SkipSet):
    """A skip set whose gaps a backend fills with maps that were fitted for it (`decoding.backends.bridges`)."""

    key: str = ""
    """sha256 of the maps: under it the backend keeps them."""
    step_cost: float = 0.0
    """c of one draft step, measured when the backend took the maps."""


FULL = SkipSet()

Part = Literal["attention", "mlp", "layer"]
"""What is left out or not: a sub-layer, or both where a model's layers compute them side by side."""


@dataclass(frozen=True, slots=True)
class BackendInfo(Strict):
    """What a backend is. `batch_invariant`: a row's logits do not depend, bitwise, on how many rows the step has."""

    name: str
    n_layers: int
    vocab_size: int
    hidden_size: int
    context_tokens: int
    device: str
    dtype: str
    batch_invariant: bool = False


def takes_trees(backend: StepBackend) -> bool:
    """Whether the backend verifies trees; all do whose model honours an attention mask."""
    return bool(getattr(backend, "takes_trees", True))


def can_skip(backend: StepBackend) -> bool:
    """Whether the backend can leave sub-layers out; all do whose model has them under known names."""
    return bool(getattr(backend, "can_skip", True))


@dataclass(frozen=True, slots=True)
class CostTable(Strict):
    """Measured costs in units of one full step of one token (c and v of the decoding note, section 1)."""

    unit_s: float
    """Seconds of that step."""
    verify: tuple[tuple[int, float], ...]
    """(T, v(T)) with T ascending from 1."""
    fixed: float
    """c of a draft step that skips every sub-layer: embedding, norm, head, overhead."""
    attention: float
    """What one attention sub-layer adds to c."""
    mlp: float
    """What one MLP sub-layer adds to c."""
    context: int
    """Committed tokens at which all this was measured."""
    machine: str
    """Device, threads, dtype and backend: a table holds for these only."""

    def v(self, n_tokens: int) -> float:
        """Cost of verifying `n_tokens` rows in one pass; linear between the measured sizes and beyond the last two."""
        points = self.verify
        if n_tokens <= points[0][0] or len(points) == 1:
            return points[0][1]
        at = next((i for i, (size, _) in enumerate(points) if n_tokens <= size), len(points) - 1)
        (t0, v0), (t1, v1) = points[at - 1], points[at]
        return v0 + (v1 - v0) * (n_tokens - t0) / (t1 - t0)

    def c(self, plan: SkipSet, n_layers: int) -> float:
        """Cost of one draft step under `plan`."""
        if isinstance(plan, BridgedSet):
            return plan.step_cost
        return self.fixed + self.attention * (n_layers - len(plan.attention)) + self.mlp * (n_layers - len(plan.mlp))


@dataclass(frozen=True, slots=True)
class PartCosts(Strict):
    """What the sub-layers of a draft step cost by the length of the text, in units of one full step, as `CostTable`."""

    mlp: float
    """One MLP sub-layer."""
    attention_fixed: float
    attention_per_token: float
    search: float
    """One search for skip sets (`ChoosingBackend.nearest_sets`)."""

    def attention(self, n: int) -> float:
        """One attention sub-layer behind n tokens."""
        return self.attention_fixed + self.attention_per_token * n


class Rows(Protocol):
    """Logits of T positions, wherever they live."""

    def __len__(self) -> int: ...

    @property
    def logits(self) -> torch.Tensor:
        """(T, V) on the backend's device; valid until the backend's next call."""
        ...

    def argmax(self) -> list[int]:
        """T token ids; of equal logits the lowest id. Raises StageError when a logit is NaN."""
        ...

    def top(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The k most probable ids (T, k), best first, and their probabilities (T, k) under softmax at temperature 1."""
        ...

    def top_ids(self, k: int) -> NDArray[np.int64]:
        """The ids of `top` alone."""
        ...


@dataclass(frozen=True, slots=True)
class Wants(Strict):
    """What a drafter would like to have from the prefill, besides the logits of the last position."""

    vector: bool = False
    """Mean over the prompt of the states after the final norm (KNN-SSD, section 3.2)."""
    top_k: int = 0
    """The k most probable next tokens at each prompt position (Token Recycling's rows)."""

    def __or__(self, other: Wants) -> Wants:
        return Wants(self.vector or other.vector, max(self.top_k, other.top_k))


@dataclass(frozen=True, slots=True, eq=False)
class Prefill:
    """What reading a prompt of P tokens gave."""

    last: Rows
    """Logits of the last position: (1, V)."""
    vector: NDArray[np.float32] | None = None
    """(D,), float32, not normalised; None unless wanted."""
    top_ids: NDArray[np.int64] | None = None
    """(P, k), best first; None unless wanted."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Tokens that a model with skipped sub-layers proposes, each with its own softmax probability at temperature 1."""

    tokens: tuple[int, ...]
    probabilities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Budget(Strict):
    """For a choice of what to leave out: what an attention and an MLP sub-layer weigh, and the most that may be saved."""

    attention: int
    mlp: int
    most: int

    def weight(self, part: Part) -> int:
        return self.attention + self.mlp if part == "layer" else self.attention if part == "attention" else self.mlp


class StepBackend(Protocol):
    """A model that can be asked for T next-token distributions at once. Not thread-safe; the caller holds the model."""

    @property
    def info(self) -> BackendInfo: ...

    @property
    def n(self) -> int:
        """Committed tokens: those whose keys and values are exact in every layer."""
        ...

    def prefill(self, ids: Sequence[int], *, capacity: int, wants: Wants = Wants()) -> Prefill:
        """Forget the last sequence, read `ids` whole, and commit them: afterwards n == len(ids).

        `capacity` is the most positions this sequence will ever touch: prompt, answer, and the longest draft behind it.
        Raises StageError: no memory for that many, more than the context, or NaN in the logits.
        """
        ...

    def forget(self) -> None:
        """The next prompt is read whole, however it begins: what a measurement asks for between texts."""
        ...

    def step(self, ids: Sequence[int], *, plan: SkipSet = FULL, parents: Sequence[int] | None = None, offset: int = 0) -> Rows:
        """Logits after each of `ids`, T rows; writes their keys and values behind the committed ones, commits nothing.

        Row i is at position n + offset + i and sees everything before it: the committed tokens, `offset` scratch tokens
        of earlier steps, and ids[:i+1]. With `parents` (tree; offset must be 0) `parents[i]` is the index in `ids` of the
        node that i continues, -1 for a root, parents before children; row i then sees the committed tokens, its ancestors
        and itself, and is at position n + depth.
        """
        ...

    def draft_chain(
        self, pending: int, *, plan: SkipSet, max_tokens: int, go_on: Callable[[Sequence[float]], bool] | None = None
    ) -> Chain:
        """Greedy continuation of `pending` under `plan`, from 1 to `max_tokens` tokens; commits nothing.

        After each token `go_on` gets the probabilities so far and says whether to draft another. With None nothing has to
        be read back from the device until the end.
        """
        ...

    def commit(self, k: int, path: Sequence[int] | None = None) -> None:
        """n += k: the first k rows of the last full step become part of the text.

        A full step at `offset` behind rows of full steps goes on with them: then `k` counts from the first of those. After a
        tree step `path` gives the k accepted rows in order (ascending indices); theirs are moved together first.
        """
        ...

    def costs(self) -> CostTable:
        """The cost table of this model on this machine: measured once, in about two seconds, on the first call.

        Measuring loses the current sequence, so call it between texts.
        """
        ...


class ManyTexts(Protocol):
    """Several texts that are continued together, each pass reading the weights once for the rows of all of them.

    Text i has its own committed length; what lies behind it is scratch, as in `StepBackend`. Valid until the backend's next
    prefill.
    """

    def admit(self, texts: Sequence[int]) -> int:
        """Read the prompts of these texts, all but the last token of each, as far as there is room; how many were read, the
        first ones. Their last tokens are for the next step. There is always room for one where no other is.

        What a prompt shares with one that was read before is not read again while that is there, so texts that begin alike
        are best admitted one after the other.
        """
        ...

    def leave(self, text: int) -> None:
        """This text has ended: its room is for others."""
        ...

    def step(self, ids: Sequence[Sequence[int]]) -> tuple[Rows, ...]:
        """Logits after each of ids[i] behind text i, (len(ids[i]), V), the same bits as if the text were alone; no tokens for
        a text that waits, rests or has ended. Commits nothing."""
        ...

    def commit(self, counts: Sequence[int]) -> None:
        """The first counts[i] tokens of the last step become part of text i."""
        ...


class ManyBackend(StepBackend, Protocol):
    """A backend whose passes may hold rows of several texts."""

    def together(self, prompts: Sequence[Sequence[int]], rooms: Sequence[int], at_once: int | None = None) -> ManyTexts:
        """Texts that are to be admitted; how all prompts begin is read here, once. Text i will have at most rooms[i] tokens
        behind its prompt.

        There is room for all of them, or with `at_once` for so many at a time, fewer where that would take more than half of
        the free memory. Raises StageError: no memory for that (with `at_once`, for one), more than the context, or NaN in the
        logits.
        """
        ...

    def bytes_for(self, n_tokens: int) -> int:
        """Of the keys and values of so many tokens."""
        ...


class ChoosingBackend(StepBackend, Protocol):
    """A backend that says, of the token that comes next, which sub-layers matter least."""

    def nearest_sets(self, pending: int, budget: Budget) -> list[tuple[int, SkipSet]]:
        """For each number of units up to budget.most that can be saved, fewest first, the skip set whose last state at the
        pending token is nearest to the whole model's; first and last layer are always kept.

        Writes behind the committed positions, budget.most + 1 rows, and commits nothing.
        """
        ...


def can_choose(backend: StepBackend) -> TypeGuard[ChoosingBackend]:
    """Whether the backend can say so; all can that skip layers and verify trees. The current sequence may be lost."""
    return can_skip(backend) and takes_trees(backend) and bool(getattr(backend, "can_choose", hasattr(backend, "nearest_sets")))


def takes_many(backend: StepBackend) -> TypeGuard[ManyBackend]:
    return hasattr(backend, "together")

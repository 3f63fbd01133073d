"""From a draft's confidence to the chance that its tokens are accepted: fitted on logged rounds, exactly readable as JSON.

A draft's top-1 probability is no acceptance probability. Isotonic regression maps the one to the other: the only assumption
is that more confidence never means less acceptance. SpecDec++ (Huang et al. 2024) trains a head for the same purpose; Learning
to Draft trains policies by PPO. Greedy text does not depend on the drafter, so here the logs hold the whole truth and a
regression will do (decoding note, sections 2.9 and 2.11).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from data.errors import UserError
from data.types import Strict
from decoding.api import Task
from decoding.backend import Rows, StepBackend, Wants
from decoding.drafters.drafter import Draft, Drafter, Request

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from decoding.drafters.copy import CopyCandidate

    Floats = NDArray[np.float64]

FOLDS = 5
_DEPTHS = 16
_BINS = 10


@dataclass(frozen=True, slots=True)
class RoundLog(Strict):
    """One verified chain: `accepted` of its `drafted` tokens were kept."""

    task: Task
    source: str
    drafted: int
    accepted: int
    probabilities: tuple[float, ...] = ()
    """The draft's own probability of each of its tokens; empty for drafts that have none."""
    match_length: int | None = None
    """For copies: how many tokens before the draft equal those before its source."""
    origin: str | None = None
    """For copies: which text the source is in."""


@dataclass(frozen=True, slots=True)
class Hazard(Strict):
    """Chance that a drafted token is accepted, given that all before it were: never falls with the draft's confidence.

    Linear between the breakpoints, constant outside them.
    """

    confidences: tuple[float, ...]
    """Ascending."""
    acceptances: tuple[float, ...]
    by_depth: tuple[float, ...]
    """Mean acceptance of the i-th token of a chain, for a token that is not drafted yet; the last value holds beyond."""
    n_tokens: int = 0
    """Judged tokens in the fit: those accepted, and the first one rejected in each round."""
    calibration_error: float | None = None
    """Mean distance of predicted and true acceptance over ten equally filled bins, on rounds outside the fit (5 folds)."""

    def __call__(self, confidence: float) -> float:
        x, y = self.confidences, self.acceptances
        at = bisect_right(x, confidence)
        if at == 0:
            return y[0]
        if at == len(x):
            return y[-1]
        return y[at - 1] + (y[at] - y[at - 1]) * (confidence - x[at - 1]) / (x[at] - x[at - 1])

    def next(self, depth: int) -> float:
        """Expected acceptance of the token at `depth` (0 is the first), before it is drafted."""
        return self.by_depth[min(depth, len(self.by_depth) - 1)]


def fit_hazard(logs: Iterable[RoundLog]) -> Hazard:
    """Fit on the rounds whose drafts had probabilities; give it the logs of one task for a map of that task.

    Raises UserError if no round has any, or fewer than `FOLDS` do.
    """
    import numpy as np

    rounds = [log for log in logs if log.probabilities]
    if len(rounds) < FOLDS:
        raise UserError(
            f"{len(rounds)} logged rounds have draft probabilities and a fit needs at least {FOLDS}; log more texts with a "
            "drafter that runs the model"
        )
    judged = [_judged(log) for log in rounds]
    x = np.concatenate([confidences for confidences, _ in judged])
    y = np.concatenate([accepted for _, accepted in judged])
    round_of = np.repeat(np.arange(len(judged)), [len(accepted) for _, accepted in judged])
    predicted = np.empty_like(y)
    for fold in range(FOLDS):
        held_out = round_of % FOLDS == fold
        predicted[held_out] = np.interp(x[held_out], *_isotonic(x[~held_out], y[~held_out]))
    confidences, acceptances = _isotonic(x, y)
    return Hazard(
        confidences=tuple(confidences.tolist()),
        acceptances=tuple(acceptances.tolist()),
        by_depth=_by_depth([accepted for _, accepted in judged]),
        n_tokens=len(y),
        calibration_error=_calibration_error(predicted, y),
    )


def _judged(log: RoundLog) -> tuple[Floats, Floats]:
    """Confidences and outcomes (1 accepted) up to the first rejected token: nothing is known of those behind it."""
    import numpy as np

    n = min(log.accepted + 1, log.drafted)
    outcomes = np.ones(n)
    outcomes[log.accepted :] = 0
    return np.asarray(log.probabilities[:n], dtype=np.float64), outcomes


def _isotonic(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    from sklearn.isotonic import IsotonicRegression

    # a chance of 0 or 1 cannot be learnt from a finite sample (rule of succession)
    least = 1 / (len(y) + 2)
    fitted = IsotonicRegression(y_min=least, y_max=1 - least).fit(x, y)
    return fitted.X_thresholds_, fitted.y_thresholds_


def _by_depth(outcomes: Sequence[Floats]) -> tuple[float, ...]:
    """Shrunk towards the mean of the depth before by two imagined tokens, as deep positions are rarely reached."""
    mean = float(sum(accepted.sum() for accepted in outcomes) / sum(map(len, outcomes)))
    found = []
    for depth in range(_DEPTHS):
        at = [float(accepted[depth]) for accepted in outcomes if len(accepted) > depth]
        if not at:
            break
        mean = (sum(at) + 2 * mean) / (len(at) + 2)
        found.append(mean)
    return tuple(found)


def _calibration_error(predicted: Floats, y: Floats) -> float:
    import numpy as np

    order = np.argsort(predicted, kind="stable")
    bins = [part for part in np.array_split(order, _BINS) if len(part)]
    return float(sum(abs(predicted[part].mean() - y[part].mean()) * len(part) for part in bins) / len(y))


# --- logging ----------------------------------------------------------------------------------------------------------


@runtime_checkable
class Confident(Protocol):
    """A drafter that can say how sure it was of its last draft."""

    @property
    def confidences(self) -> tuple[float, ...]:
        """The draft's own probability of each token of the last chain."""
        ...


@runtime_checkable
class Copying(Protocol):
    """A drafter that can say which copy it had found for its last draft."""

    @property
    def copied(self) -> CopyCandidate | None: ...


class Logged:
    """Another drafter, whose verified chains go to `sink`. Trees are not logged: no single path of theirs was proposed.

    The round that ends a text is not seen by any drafter, so it is missing here, too.
    """

    def __init__(self, drafter: Drafter, sink: Callable[[RoundLog], None]) -> None:
        self._drafter, self._sink = drafter, sink
        self._task: Task = "other"

    @property
    def name(self) -> str:
        return self._drafter.name

    @property
    def wants(self) -> Wants:
        return self._drafter.wants

    @property
    def max_tokens(self) -> int:
        return self._drafter.max_tokens

    def start(self, request: Request, backend: StepBackend) -> None:
        self._task = request.task
        self._drafter.start(request, backend)

    def propose(self, text: Sequence[int], room: int) -> Draft:
        return self._drafter.propose(text, room)

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        if draft.tokens and draft.parents is None:
            self._sink(self._log(draft, len(new) - 1))
        self._drafter.observe(draft, new, rows)

    def _log(self, draft: Draft, accepted: int) -> RoundLog:
        sure = self._drafter.confidences if isinstance(self._drafter, Confident) else ()
        own = len(sure) or len(draft)  # behind a chain there may be a copy, which has no confidence
        copied = self._drafter.copied if isinstance(self._drafter, Copying) and draft.source.startswith("copy:") else None
        return RoundLog(
            task=self._task,
            source=draft.source,
            drafted=own,
            accepted=min(accepted, own),
            probabilities=sure,
            match_length=copied.match_length if copied is not None else None,
            origin=copied.origin if copied is not None else None,
        )

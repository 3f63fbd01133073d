"""What a submission to the leaderboard holds: the types of schema `wikigenben-submission/1`.

A reader accepts its own major, ignores keys it does not know, and refuses a higher major; what later versions of a major add
is optional. `benchmark.submissions.submission` builds, writes and reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from data.scores import EventScores

SCHEMA = "wikigenben-submission"
MAJOR = 1
DECIMALS = 6
"""Of the scores of rows, of floors and of ceilings."""
TOLERANCE = 1e-6
"""Between submitted and recomputed values; compare with `agree`."""
MODEL_FREE = frozenset({"lead", "bm25", "extractive"})
"""Systems of this package that use no language model."""


@dataclass(frozen=True, slots=True)
class SubmittedModel:
    """`revision` is a commit or a hash of the weights; `parameters` a count; `licence` an SPDX name."""

    role: str
    name: str
    revision: str
    parameters: int | None = None
    licence: str = ""


@dataclass(frozen=True, slots=True)
class SubmittedSystem:
    """`settings` is the run's identity: everything that the text depends on. `uses_web` says that it cites text of its own
    finding, which the others never saw; `self_judged` that a judge of the scores also chose the words."""

    name: str
    version: str
    evidence_track: str
    extractive: bool
    models: tuple[SubmittedModel, ...] = ()
    uses_gold_outline: bool = False
    uses_web: bool = False
    self_judged: bool = False
    settings: dict[str, str] = field(default_factory=dict)
    url: str = ""
    contact: str = ""
    commit: str = ""
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class EvidenceFilter:
    """What kept the human article out of the evidence: `leak` is on or off; pages that share `threshold` of it are dropped."""

    leak: str
    threshold: float | None = None
    dropped_pages: int | None = None


@dataclass(frozen=True, slots=True)
class SubmittedData:
    """`ids_sha256` is of the sorted event ids, so that a part cannot pose as the whole."""

    benchmark: str
    split: str
    n_events: int
    ids_sha256: str
    leak_filter: bool
    revision: str = ""
    evidence_filter: EvidenceFilter | None = None


@dataclass(frozen=True, slots=True)
class SubmittedProfile:
    signature: str
    resamples: int
    seed: int
    name: str = "clean"


@dataclass(frozen=True, slots=True)
class SubmittedJudge:
    """A pair is supported from `threshold` on; `card` is how good the judge is on claims with human labels."""

    id: str
    kind: str
    revision: str
    threshold: float
    card: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SubmittedScore:
    """`judge` names the one of `judges` that decided, and is empty where none did."""

    mean: float
    ci95: tuple[float, float]
    n: int
    n_failed: int
    n_unscored: int
    judge: str = ""


@dataclass(frozen=True, slots=True)
class VariantScore:
    mean: float
    ci95: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class SubmittedStratum:
    """Scores over the events of one kind (`benchmark.strata`), by their ids."""

    events: tuple[str, ...]
    scores: dict[str, SubmittedScore]


@dataclass(frozen=True, slots=True)
class SubmittedCost:
    """Wall seconds of writing, summed over events; tokens are None for systems without a model, `usd` is of all events."""

    write_s: float
    n_written: int
    n_prompt_tokens: int | None = None
    n_new_tokens: int | None = None
    tokens_per_s: float | None = None
    device: str = ""
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """`floors` are means of what any system should beat, by name and metric, `ceilings` of what none can; `variants` are
    scores of the same system run otherwise, such as `leak_filter_off`. `recomputed` is for `wikigenben rescore` alone to set,
    and nothing else is ranked."""

    schema: str
    created: str
    system: SubmittedSystem
    data: SubmittedData
    profile: SubmittedProfile
    scores: dict[str, SubmittedScore]
    events: tuple[EventScores, ...]
    cost: SubmittedCost
    environment: dict[str, str]
    notes: str = ""
    judges: tuple[SubmittedJudge, ...] = ()
    floors: dict[str, dict[str, float]] = field(default_factory=dict)
    ceilings: dict[str, dict[str, float]] = field(default_factory=dict)
    variants: dict[str, dict[str, VariantScore]] = field(default_factory=dict)
    strata: dict[str, SubmittedStratum] = field(default_factory=dict)
    recomputed: bool = False

    @property
    def means(self) -> dict[str, float]:
        return {name: score.mean for name, score in self.scores.items()}


def agree(a: float, b: float) -> bool:
    """Within TOLERANCE, and a little: two neighbours of six decimals differ by it and an error of floating point."""
    return abs(a - b) <= TOLERANCE * 1.001

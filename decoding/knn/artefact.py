"""What a calibration found, as one folder that any process can read: JSON and safetensors, never a pickle.

    meta.json  plans.json  stops.json  costs.json  anchors.safetensors  report.md

meta.json names model, tokenizer, prompt form and precision by their sha256. Skip sets of another model would still leave the
text as it is and only make it slow, so nobody would notice: a folder that does not fit is refused.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data import codec
from data.errors import UserError
from data.types import Strict
from decoding.api import Message, Task
from decoding.backend import CostTable, SkipSet
from decoding.drafters.hazard import Hazard
from decoding.drafters.lengths import Threshold
from decoding.machine import versions
from decoding.models.conversation import PromptReader

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from decoding.api import Vectors
    from decoding.models.loading import LoadedModel

logger = logging.getLogger(__name__)

FORMAT = 1
"""Rises when a stored value changes its meaning, the definition of the prompt vector among them."""

FOLDER = "knn-ssd"
"""Inside a model folder."""

EVERYTHING = "all"
"""Name of the plan for prompts of which nothing is known, and of the stop map over all prompts."""


@dataclass(frozen=True, slots=True)
class Identity(Strict):
    """Whom a calibration belongs to."""

    model: str
    """As it was named."""
    fingerprint: str
    """sha256 of weights, configuration, tokenizer and precision (`LoadedModel.fingerprint`)."""
    dtype: str
    tokenizer: str
    """sha256 of the vocabulary."""
    template: str
    """sha256 of the token ids of a small conversation: changes with the chat template and with how prompts are put together."""
    n_layers: int
    hidden_size: int

    @classmethod
    def of(cls, loaded: LoadedModel) -> Identity:
        model: Any = loaded.model
        config = model.config.get_text_config(decoder=True)
        probe = PromptReader(loaded).prompt_ids([Message("system", "Write."), Message("user", "A section about floods.")])
        with loaded.tokenizer_lock:
            vocabulary = sorted(loaded.tokenizer.get_vocab().items())
        return cls(
            model=loaded.name,
            fingerprint=loaded.fingerprint,
            dtype=loaded.dtype,
            tokenizer=codec.sha256(repr(vocabulary)),
            template=codec.sha256(repr(probe)),
            n_layers=config.num_hidden_layers,
            hidden_size=model.get_output_embeddings().weight.shape[1],
        )


@dataclass(frozen=True, slots=True)
class Meta(Strict):
    format: int
    identity: Identity
    versions: dict[str, str]
    backend: str
    seed: int
    objective: str
    command: str
    date: str
    calibration_ids: tuple[str, ...]
    """Prompts that sets were searched with or compared on: never to be scored or timed."""
    held_out_ids: tuple[str, ...]
    groups: tuple[str, ...]
    """Events of all these prompts (their ids where no event was given)."""


@dataclass(frozen=True, slots=True)
class Interval(Strict):
    """A mean with the bootstrap's 5th and 95th percentile."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Plan(Strict):
    """A layer set and its figures. Speeds are in tokens for each full step's time: plain decoding has 1."""

    name: str
    """`section` (all prompts of a task), `section/2` (a cluster), `label:qa` (global routing), or EVERYTHING."""
    skip: SkipSet
    """What to use: `found`, or empty where skipping does not pay."""
    found: SkipSet
    policy: Threshold
    """The stop rule that the speeds hold for."""
    acceptance: tuple[float, ...]
    """Of `found`: at i, how often the i-th drafted token and all before it are right."""
    n_search: int
    searched: float
    """Speed of `found` on the n_search prompts among which it was searched and chosen."""
    n_held_out: int = 0
    held_out: Interval | None = None
    """Its speed on prompts that neither search nor choice have seen."""


@dataclass(frozen=True, slots=True, eq=False)
class TaskRouting:
    """How prompts of one task are routed. K clusters in D dimensions."""

    task: Task
    mean: Vectors
    """(D,): taken off every vector of this task."""
    centroids: Vectors
    """(K, D), of length 1."""
    medoids: Vectors
    """(K, D), of length 1: the real prompt nearest to each centroid."""
    floor: float
    """A prompt whose best cosine is lower is like none of those seen, and gets the task's plan."""
    plans: tuple[str, ...]
    """(K,): plan of each cluster; the task's own where a cluster's was no better."""
    medoid_ids: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def routes(self) -> bool:
        """Whether different prompts can get different plans."""
        return len({*self.plans, self.task}) > 1


@dataclass(frozen=True, slots=True, eq=False)
class GlobalRouting:
    """The original's: all anchors in one index, raw vectors, nearest by cosine."""

    anchors: Vectors
    """(A, D), of length 1."""
    labels: tuple[str, ...]
    """(A,)"""
    plans: dict[str, str]
    """Label -> plan."""


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Everything that drafting with layer skipping wants to know of a model."""

    meta: Meta
    plans: tuple[Plan, ...]
    tasks: tuple[TaskRouting, ...]
    everywhere: GlobalRouting
    stops: dict[str, Hazard]
    """Confidence -> acceptance, by plan name; EVERYTHING is over all prompts, each under its own plan."""
    costs: CostTable
    """Those of the search: they hold for one machine, so measure again before relying on them."""

    def plan(self, name: str) -> Plan:
        return next(plan for plan in self.plans if plan.name == name)

    def task(self, task: Task) -> TaskRouting | None:
        return next((routing for routing in self.tasks if routing.task == task), None)

    @property
    def skip_sets(self) -> tuple[SkipSet, ...]:
        """All that drafting uses where it pays, each once; a backend may want to prepare them."""
        return tuple(dict.fromkeys(plan.skip for plan in self.plans if plan.skip))

    def save(self, folder: Path) -> None:
        """Write the folder; one that is cut off half-way has no meta.json and counts as none. Raises UserError."""
        (folder / "meta.json").unlink(missing_ok=True)
        codec.write_atomic(folder / "costs.json", codec.to_json(self.costs, indent=1) + "\n")
        codec.write_atomic(folder / "stops.json", codec.to_json(StoredStops(self.stops), indent=1) + "\n")
        routes = tuple(
            StoredRoute(r.task, r.floor, r.plans, r.medoid_ids, r.sizes) for r in self.tasks
        )  # the arrays go to anchors.safetensors
        stored = StoredPlans(self.plans, routes, self.everywhere.labels, self.everywhere.plans)
        codec.write_atomic(folder / "plans.json", codec.to_json(stored, indent=1) + "\n")
        _write_bytes(folder / "anchors.safetensors", _packed(self))
        codec.write_atomic(folder / "meta.json", codec.to_json(self.meta, indent=1) + "\n")

    @classmethod
    def load(cls, folder: Path, loaded: LoadedModel | None = None) -> Calibration:
        """Read a folder and check that it belongs to `loaded`; None leaves that to `check`.

        Other versions of torch or transformers can move acceptance a little and never the text: they are logged.

        Raises UserError: no calibration there, one of another model, or a file that was changed or broken.
        """
        if not (folder / "meta.json").is_file():
            raise (
                UserError(
                    f"no calibration in {folder}; run: python -m decoding.calibrate --model MODEL --prompts FILE --out {folder}"
                )
                if loaded is None
                else missing(loaded, folder)
            )
        meta = codec.read(Meta, folder / "meta.json")
        if meta.format != FORMAT:
            raise UserError(
                f"{folder} was calibrated in format {meta.format} and this version reads {FORMAT}; run: "
                f"{command(meta.identity.model)} --out {folder}"
            )
        stored = codec.read(StoredPlans, folder / "plans.json")
        arrays = _arrays(folder / "anchors.safetensors")
        try:
            calibration = _assembled(meta, stored, arrays, folder)
        except (KeyError, ValueError, IndexError) as error:
            raise UserError(
                f"the files in {folder} do not belong together ({error}); run: {command(meta.identity.model)} --out {folder}"
            ) from None
        if loaded is not None:
            calibration.check(loaded)
        return calibration

    def check(self, loaded: LoadedModel) -> None:
        """Raises UserError, naming both fingerprints, unless this is the calibration of `loaded`."""
        mine, theirs = self.meta.identity, Identity.of(loaded)
        named = ("fingerprint", "dtype", "tokenizer", "template", "n_layers", "hidden_size")
        differing = [name for name in named if getattr(mine, name) != getattr(theirs, name)]
        if differing:
            parts = "; ".join(f"{n}: {_short(getattr(mine, n))} there, {_short(getattr(theirs, n))} now" for n in differing)
            raise UserError(
                f"the calibration was made for {mine.model} (fingerprint {mine.fingerprint[:6]}) and does not fit "
                f"{theirs.model} (fingerprint {theirs.fingerprint[:6]}): {parts}; run: {command(loaded.name)}"
            )
        now = versions()
        changed = [f"{k} {v} ({now.get(k, 'none')} now)" for k, v in self.meta.versions.items() if now.get(k) != v]
        if changed:
            logger.info("calibrated with %s: texts stay the same, acceptance may be lower", ", ".join(changed))


def command(model: str) -> str:
    return f"python -m decoding.calibrate --model {model} --prompts FILE"


def missing(loaded: LoadedModel, folder: Path) -> UserError:
    return UserError(
        f"no calibration for {loaded.name} (fingerprint {loaded.fingerprint[:6]}) in {folder}; run: {command(loaded.name)}"
    )


def calibration_folder(loaded: LoadedModel) -> Path:
    """Where a model's calibration is looked for and written to: the model's folder if one lies there, else the user's data."""
    from platformdirs import user_data_path

    inside = Path(loaded.name.removeprefix("hf:")).expanduser() / FOLDER
    if (inside / "meta.json").is_file():
        return inside
    return user_data_path("wikigenben") / "calibrations" / loaded.fingerprint[:12]


def load_for(loaded: LoadedModel) -> Calibration:
    """The calibration in `calibration_folder`. Raises UserError, naming the command that makes one."""
    return Calibration.load(calibration_folder(loaded), loaded)


# --- files ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredRoute(Strict):
    task: Task
    floor: float
    plans: tuple[str, ...]
    medoid_ids: tuple[str, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StoredPlans(Strict):
    plans: tuple[Plan, ...]
    tasks: tuple[StoredRoute, ...]
    anchor_labels: tuple[str, ...]
    label_plans: dict[str, str]


@dataclass(frozen=True, slots=True)
class StoredStops(Strict):
    stops: dict[str, Hazard]


def _packed(calibration: Calibration) -> bytes:
    import numpy as np
    from safetensors.numpy import save

    arrays: dict[str, NDArray[np.float32]] = {"global.anchors": calibration.everywhere.anchors}
    for routing in calibration.tasks:
        for name in ("mean", "centroids", "medoids"):
            arrays[f"{routing.task}.{name}"] = getattr(routing, name)
    return bytes(save({name: np.ascontiguousarray(array, dtype=np.float32) for name, array in arrays.items()}))


def _arrays(path: Path) -> dict[str, Vectors]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return load(path.read_bytes())
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path} cannot be read ({error}); run the calibration again: python -m decoding.calibrate") from None


def _assembled(meta: Meta, stored: StoredPlans, arrays: Mapping[str, Vectors], folder: Path) -> Calibration:
    """Raises KeyError or ValueError for names without a plan and arrays of the wrong shape."""
    names = [plan.name for plan in stored.plans]
    used = {EVERYTHING, *stored.label_plans.values(), *(n for r in stored.tasks for n in (r.task, *r.plans))}
    if unknown := sorted(used - set(names)):
        raise KeyError(f"no plan {', '.join(unknown)}")
    if lost := sorted(set(stored.anchor_labels) - set(stored.label_plans)):
        raise KeyError(f"no plan for the label {', '.join(lost)}")
    last = max((layer for plan in stored.plans for layer in (*plan.skip.attention, *plan.skip.mlp)), default=0)
    if last >= meta.identity.n_layers:
        raise ValueError(f"a plan skips layer {last} of {meta.identity.n_layers}")
    size = meta.identity.hidden_size

    def array(name: str, *shape: int) -> Vectors:
        if arrays[name].shape != shape or arrays[name].dtype != "float32":
            raise ValueError(f"{name} is {arrays[name].dtype} {arrays[name].shape}, not float32 {shape}")
        return arrays[name]

    routings = tuple(
        TaskRouting(
            task=route.task,
            mean=array(f"{route.task}.mean", size),
            centroids=array(f"{route.task}.centroids", len(route.plans), size),
            medoids=array(f"{route.task}.medoids", len(route.plans), size),
            floor=route.floor,
            plans=route.plans,
            medoid_ids=route.medoid_ids,
            sizes=route.sizes,
        )
        for route in stored.tasks
    )
    anchors = array("global.anchors", len(stored.anchor_labels), size)
    return Calibration(
        meta=meta,
        plans=stored.plans,
        tasks=routings,
        everywhere=GlobalRouting(anchors, stored.anchor_labels, stored.label_plans),
        stops=codec.read(StoredStops, folder / "stops.json").stops,
        costs=codec.read(CostTable, folder / "costs.json"),
    )


def _short(value: object) -> str:
    text = str(value)
    return text[:6] if len(text) == 64 else text


def _write_bytes(path: Path, content: bytes) -> None:
    """As `codec.write_atomic` does for text."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=codec.TEMPORARY)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}; make room there or choose another --out") from None

"""Names of decoding methods -> drafters. The text is the same with every one of them; they differ in speed.

| method | what it drafts |
|---|---|
| `greedy` | nothing: one token for each pass of the model, the reference |
| `auto` | `mix`, with layer skipping when there is a calibration, and a draft model when one is named |
| `copy` | what followed the same words in the prompt, the answer or earlier texts |
| `recycle` | small trees of what the model said after the same tokens before |
| `skip` | the model without the layers that the calibration found for such prompts, as long as it pays |
| `draft` | chains of another, smaller model with the same tokenizer, as long as it pays |
| `draft-tree` | the same with the runners-up of each token that promise to pay |
| `knn-ssd-distilled` | a few of the model's sub-layers with trained maps between them, routed as `knn-ssd` |
| `clasp` | the model without the sub-layers that matter least at this place of the text, chosen anew every 64 tokens |
| `mix` | in each round the one of these that promises the most tokens for its cost |

Published methods, with the rules and numbers of their authors, to compare with: `self-ssd` (Self-SD, one skip set a task) and
`self-ssd-mix` (one for everything), `knn-ssd` (nearest anchor), `swift`, `copyspec`, `pld` (prompt lookup), `recycling` (Token
Recycling).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from data.errors import UserError
from decoding.backend import Budget, can_choose, can_skip, takes_trees

if TYPE_CHECKING:
    from decoding.api import Task
    from decoding.backend import SkipSet, StepBackend
    from decoding.backends.lowbit import LowBitBackend
    from decoding.drafters.drafter import Drafter, Request
    from decoding.drafters.lengths import LengthPolicy
    from decoding.drafters.model import ModelDrafter
    from decoding.drafters.skip import SkipDrafter
    from decoding.knn.artefact import Calibration, Plan
    from decoding.knn.bridge_files import Bridges

METHODS = (
    "greedy", "auto", "copy", "skip", "recycle", "draft", "draft-tree", "mix",
    "self-ssd", "self-ssd-mix", "knn-ssd", "knn-ssd-distilled", "clasp", "swift", "copyspec", "pld",
    "recycling",
)  # fmt: skip

NEED_CALIBRATION = frozenset({"skip", "self-ssd", "self-ssd-mix", "knn-ssd"})
NEED_BRIDGES = frozenset({"knn-ssd-distilled"})
MAY_SKIP = frozenset({"auto", "mix"})
"""These skip layers as well when there is a calibration, and draft with bridges when there are some."""

NEED_DRAFT_MODEL = frozenset({"draft", "draft-tree"})
TAKE_DRAFT_MODEL = NEED_DRAFT_MODEL | {"auto", "mix"}


def check_method(method: str) -> None:
    """Raises UserError for an unknown method, naming the nearest."""
    if method not in METHODS:
        near = difflib.get_close_matches(method, METHODS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(METHODS)}"
        raise UserError(f"there is no decoding method {method!r}; {hint}")


def lacks_calibration(method: str) -> UserError:
    return UserError(
        f"the decoding method {method!r} needs a calibration of this model; make one with: python -m decoding.calibrate "
        "--model MODEL --prompts FILE --out DIR, and name DIR as the calibration"
    )


def check_draft_model(method: str, named: bool) -> None:
    """Raises UserError for a method that needs a draft model and has none, or has one and no use for it."""
    if method in NEED_DRAFT_MODEL and not named:
        raise UserError(
            f"the decoding method {method!r} needs a smaller model of the same tokenizer; name one: --draft-model "
            "one of `wikigenben models`, gguf:FILE or hf:FOLDER_OR_ID"
        )
    if named and method not in TAKE_DRAFT_MODEL:
        raise UserError(
            f"the decoding method {method!r} has no use for a draft model; leave --draft-model out, or choose one of "
            f"{', '.join(sorted(TAKE_DRAFT_MODEL))}"
        )


def build_drafter(
    method: str,
    backend: StepBackend,
    *,
    calibration: Calibration | None = None,
    lengths: str | None = None,
    bridges: Bridges | None = None,
    draft: StepBackend | None = None,
) -> Drafter:
    """The drafter of a method. May measure the backend's costs, which loses its current sequence.

    `lengths` says how long drafts of skipped and draft models are: `threshold`, `fixed:N` or `expected`. None is the method's
    own rule: the published ones stop below 0.8 and after 12 tokens, ours where one more token no longer promises to pay
    (`expected`).
    Methods that do not draft with the model have no use for it. `draft` is another model of the same tokenizer.

    Raises:
        UserError: an unknown method or length rule, a missing calibration or draft model, one without a use, or a backend that
            cannot verify the method's trees.
    """
    check_method(method)
    if lengths is not None:
        check_lengths(lengths)
    check_draft_model(method, draft is not None)
    match method:
        case "greedy":
            from decoding.drafters.plain import NoDrafter

            return NoDrafter()
        case "copy":
            from decoding.drafters.copy import CopyDrafter

            return CopyDrafter(costs=backend.costs())
        case "recycle" | "recycling":
            return _recycle(method, backend)
        case "auto" | "mix":
            return _mix(backend, calibration, lengths, draft, bridges)
        case "draft" | "draft-tree":
            return _draft(method, backend, draft, lengths)
        case "copyspec":
            from decoding.drafters.lookup import CopySpec

            return CopySpec()
        case "pld":
            from decoding.drafters.lookup import PromptLookup

            return PromptLookup()
        case "knn-ssd-distilled":
            return _distilled(backend, bridges)
        case _ if not can_skip(backend):
            others = "copy, recycle" if takes_trees(backend) else "copy"
            raise UserError(f"the method {method!r} skips layers, which this model's cannot be; choose {others}, or auto")
        case "clasp":
            return _clasp(method, backend, lengths)
        case "swift":
            from decoding.drafters.swift import SwiftDrafter

            return SwiftDrafter()
    if calibration is None:
        raise lacks_calibration(method)
    return _skip(method, backend, calibration, lengths)


def _recycle(method: str, backend: StepBackend) -> Drafter:
    """Ours keeps its rows from text to text: worth more than rows seeded from each prompt, whose logits cost a small model a
    tenth of its prefill (LOG.md)."""
    from decoding.drafters.recycle import RecycleDrafter

    if not takes_trees(backend):
        raise UserError(f"the method {method!r} drafts trees, which this model cannot verify; choose copy, or auto")
    return (
        RecycleDrafter.original()
        if method == "recycling"
        else RecycleDrafter(seeded=False, persist=True, costs=backend.costs())
    )


def _distilled(backend: StepBackend, bridges: Bridges | None) -> Drafter:
    from decoding.knn.bridge_routing import bridge_drafter, takes_bridges

    if bridges is None:
        raise UserError(
            "the decoding method 'knn-ssd-distilled' needs bridges trained for this model; make them with: python -m "
            "decoding.calibrate --model MODEL --prompts FILE --distil"
        )
    if not takes_bridges(backend):
        raise UserError(
            f"the decoding method 'knn-ssd-distilled' runs in compiled low-bit steps, not on {backend.info.name}; load the "
            "model with --dtype int8 or int4, on the CPU"
        )
    return bridge_drafter(cast("LowBitBackend", backend), bridges, costs=backend.costs())


def _draft(method: str, backend: StepBackend, draft: StepBackend | None, lengths: str | None) -> Drafter:
    """The mix with this part alone: its counts and its guard; with the published rule of lengths, or a fixed one, always."""
    from decoding.drafters.mix import MixDrafter

    model = _drafting(method, backend, draft, lengths, tree=method == "draft-tree")
    if model is not None and lengths not in (None, "expected"):
        return model
    return MixDrafter(None, None, None, backend.costs(), model=model, name=method)


def _drafting(
    name: str, backend: StepBackend, draft: StepBackend | None, lengths: str | None, *, tree: bool
) -> ModelDrafter | None:
    from decoding.drafters.lengths import Fixed, Threshold
    from decoding.drafters.model import ModelDrafter

    if draft is None:
        return None
    if tree and not takes_trees(backend):
        raise UserError(f"the method {name!r} drafts trees, which this model cannot verify; choose draft, or auto")
    policy: LengthPolicy | None = None
    if lengths == "threshold":
        policy = Threshold()
    elif lengths is not None and lengths.startswith("fixed:"):
        policy = Fixed(int(lengths.removeprefix("fixed:")))
    return ModelDrafter(draft, backend.costs(), policy=policy, tree=tree, n_tokens=backend.info.vocab_size, name=name)


def _mix(
    backend: StepBackend,
    calibration: Calibration | None,
    lengths: str | None,
    draft: StepBackend | None,
    bridges: Bridges | None,
) -> Drafter:
    from decoding.drafters.copy import CopyDrafter
    from decoding.drafters.mix import MixDrafter
    from decoding.drafters.recycle import RecycleDrafter
    from decoding.knn.bridge_routing import bridge_drafter, takes_bridges

    if calibration is not None and not can_skip(backend):
        calibration = None
    # the mix weighs costs itself, so its parts are not given any
    skip = _skipping("skip", _routed(calibration), _policy(lengths, backend, calibration)) if calibration else None
    distils = bridges is not None and takes_bridges(backend)
    if bridges is not None and distils:
        skip = bridge_drafter(cast("LowBitBackend", backend), bridges, costs=backend.costs(), guarded=False)
    model = _drafting("draft", backend, draft, lengths, tree=takes_trees(backend))
    own = ["distilled" if distils else "skip"] if skip else []
    parts = ["copy", "recycle", *own, *(["draft"] if model else [])]
    return MixDrafter(
        CopyDrafter(),
        RecycleDrafter(seeded=False, persist=True),
        skip,
        backend.costs(),
        model=model,
        trees=takes_trees(backend),
        name=f"mix({', '.join(parts)})",
    )


def _clasp(method: str, backend: StepBackend, lengths: str | None) -> Drafter:
    """In the mix's hands, which draft where it pays; with the published rule of lengths, or a fixed one, always."""
    from decoding.backends.costs import measure_parts
    from decoding.drafters.clasp import ClaspDrafter, ClaspSettings
    from decoding.drafters.lengths import Fixed
    from decoding.drafters.mix import MixDrafter

    if not can_choose(backend):
        raise UserError(
            f"the method {method!r} compares states between the layers, which this model's own code does not let out; choose "
            "swift, copy, or auto"
        )
    n_layers, costs = backend.info.n_layers, backend.costs()
    most = round(ClaspSettings().share * 2 * max(0, n_layers - 2))
    parts = measure_parts(backend, budget=Budget(1, 1, most))
    policy = Fixed(int(lengths.removeprefix("fixed:"))) if lengths and lengths.startswith("fixed:") else None
    drafter = ClaspDrafter(parts, costs, n_layers, policy=policy)
    return MixDrafter(None, None, drafter, costs, name=method) if lengths in (None, "expected") else drafter


def _skip(method: str, backend: StepBackend, calibration: Calibration, lengths: str | None) -> Drafter:
    from decoding.drafters.skip import SkipDrafter
    from decoding.knn.artefact import EVERYTHING
    from decoding.knn.router import Router

    if method == "skip":
        policy = _policy(lengths, backend, calibration)
        return SkipDrafter(_routed(calibration), policy, costs=backend.costs())
    # the published methods draft with what was found, whether it pays or not
    policy = _policy(lengths or "threshold", backend, calibration)
    match method:
        case "self-ssd":
            return _skipping(method, lambda request: _plan_for(calibration, request.task).found, policy)
        case "self-ssd-mix":
            return _skipping(method, calibration.plan(EVERYTHING).found, policy)
        case _:
            return _skipping(method, Router(calibration, "global"), policy)


def _skipping(name: str, plan: SkipSet | Callable[[Request], SkipSet], policy: LengthPolicy) -> SkipDrafter:
    from decoding.drafters.skip import SkipDrafter

    return SkipDrafter(plan, policy, name=name)


def _plan_for(calibration: Calibration, task: Task) -> Plan:
    from decoding.knn.artefact import EVERYTHING

    return calibration.plan(task if calibration.task(task) else EVERYTHING)


def _routed(calibration: Calibration) -> Callable[[Request], SkipSet]:
    from decoding.knn.router import Router

    return Router(calibration)


def check_lengths(lengths: str) -> None:
    """Raises UserError for a length rule of another form."""
    if lengths not in ("threshold", "expected") and not re.fullmatch(r"fixed:[1-9][0-9]?", lengths):
        raise UserError(f"there is no length rule {lengths!r}; use threshold, expected, or fixed:N with N from 1 to 99")


def _policy(lengths: str | None, backend: StepBackend, calibration: Calibration) -> LengthPolicy:
    from decoding.drafters.lengths import Expected, Fixed, Threshold
    from decoding.knn.artefact import EVERYTHING

    if lengths == "threshold":
        return Threshold()
    if lengths is not None and lengths.startswith("fixed:"):
        return Fixed(int(lengths.removeprefix("fixed:")))
    hazard = calibration.stops.get(EVERYTHING)
    if hazard is None:
        if lengths == "expected":
            raise UserError(
                "the calibration has too few rounds for the length rule 'expected'; use threshold, or calibrate on more prompts"
            )
        return Threshold()
    costs = backend.costs()
    n_layers = backend.info.n_layers
    dearest = max((costs.c(plan, n_layers) for plan in calibration.skip_sets), default=1.0)
    return Expected(hazard, costs, plan_cost=dearest)

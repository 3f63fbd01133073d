"""Which bridge drafts for a prompt: the nearest anchor's, as in KNN-SSD (section 3.3), over sets and their maps at once."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import UserError
from decoding.backend import BridgedSet
from decoding.drafters.drafter import Request
from decoding.drafters.lengths import Expected, LengthPolicy, Threshold
from decoding.drafters.skip import SkipDrafter
from decoding.knn.artefact import calibration_folder
from decoding.knn.bridge_files import FILE, Bridges
from decoding.knn.prompt_vectors import nearest, unit

if TYPE_CHECKING:
    from decoding.backend import CostTable, StepBackend
    from decoding.backends.lowbit import LowBitBackend
    from decoding.models.loading import LoadedModel

logger = logging.getLogger(__name__)

DISTILLED = "knn-ssd-distilled"
TRAINED = Path(__file__).parent / "trained"
"""`<model>-<fingerprint>.safetensors`, whose README says how each was made."""
SHOWN = 12
"""Hex digits of a fingerprint that a name shows; the file holds all of them, and is refused for another."""
SURE, LONGEST = 0.6, 6
"""The stop rule where too few rounds were held out for another."""


def bridges_for(loaded: LoadedModel, *, needed: bool) -> Bridges | None:
    """Those in the model's usual place; where they are `needed`, also those that are brought along for it (`TRAINED`), by which
    a mix gains nothing and loads four seconds longer. Raises UserError, where they are needed, for none."""
    path = calibration_folder(loaded) / FILE
    if needed:
        brought = next(TRAINED.glob(f"*-{loaded.fingerprint[:SHOWN]}.safetensors"), path)
        return Bridges.load(path if path.is_file() else brought, loaded)  # says, where there are none, how to make them
    try:
        return Bridges.load(path, loaded) if path.is_file() else None
    except UserError as error:
        logger.warning("%s; until then no bridge drafts", error)
        return None


def takes_bridges(backend: StepBackend) -> bool:
    return hasattr(backend, "take_bridge")


def bridge_drafter(backend: LowBitBackend, bridges: Bridges, *, costs: CostTable, guarded: bool = True) -> SkipDrafter:
    """Drafts with the bridge that a prompt is routed to. With `guarded` no more than a `Guard` affords; in a mix, whose own
    account that is, without."""
    used = Counter(bridges.routes)
    plans = {route: backend.take_bridge(bridges.named(route)) for route in used}
    main = used.most_common(1)[0][0]
    hazard = bridges.hazards.get(main)
    policy: LengthPolicy = Threshold(SURE, LONGEST)
    if hazard is not None:
        policy = Expected(hazard, costs, plan_cost=plans[main].step_cost, max_tokens=LONGEST)
    chosen = plans[main] if len(plans) == 1 else BridgeRouter(bridges, plans)
    return SkipDrafter(chosen, policy, name=DISTILLED, costs=costs if guarded else None)


class BridgeRouter:
    """Implements `decoding.drafters.skip.Router`: the bridge of the nearest anchor, by cosine."""

    def __init__(self, bridges: Bridges, plans: dict[str, BridgedSet]) -> None:
        self._bridges, self._plans = bridges, plans

    def __call__(self, request: Request) -> BridgedSet:
        if request.prefill.vector is None:
            raise ValueError("routing needs the prompt's vector: ask the prefill for Wants(vector=True)")
        found = nearest(unit(request.prefill.vector[None]), self._bridges.anchors)
        return self._plans[self._bridges.routes[int(found[0])]]

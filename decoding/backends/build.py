"""Which backend a model gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from data.errors import UserError

if TYPE_CHECKING:
    from decoding.backend import StepBackend
    from decoding.models import LoadedModel

Kind = Literal["auto", "hf", "driven"]


def build_backend(loaded: LoadedModel, kind: Kind = "auto", say: Callable[[str], None] | None = None) -> StepBackend:
    """The backend of a model: with `auto` the driven one, or where that cannot be, `hf`, telling `say` why.

    Raises:
        UserError: `driven` was asked for and this model cannot be driven, or it cannot be decoded step by step at all.
    """
    from decoding.backends.driven import DrivenBackend
    from decoding.backends.hf import HFBackend
    from decoding.backends.layers import NotDrivable

    if kind not in ("auto", "hf", "driven"):
        raise UserError(f"unknown backend {kind!r}; choose auto, hf or driven")
    reference = HFBackend(loaded)
    if kind == "hf":
        return reference
    try:
        return DrivenBackend(loaded, reference)
    except NotDrivable as error:
        architecture = type(loaded.model).__name__
        if kind == "driven":
            raise UserError(f"{loaded.name}: {architecture} cannot be driven: {error.why}; use backend auto or hf") from error
        if say is not None:
            say(
                f"{loaded.name}: decoding through the model's own forward, which is slower, because {architecture}: {error.why}"
            )
        return reference

"""Which backend a model gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, get_args

from data.errors import UserError

if TYPE_CHECKING:
    from decoding.backend import StepBackend
    from decoding.models import LoadedModel

Kind = Literal["auto", "hf", "driven", "packed", "static"]


def build_backend(loaded: LoadedModel, kind: Kind = "auto", say: Callable[[str], None] | None = None) -> StepBackend:
    """The backend of a model: with `auto` the fastest that it allows, telling `say` why it is not a faster one.

    Those are `static` on CUDA, `packed` on a CPU, `driven`, and `hf`, in this order.

    Raises:
        UserError: the model cannot be decoded by the kind that was asked for, or not step by step at all.
    """
    from decoding.backends.driven import DrivenBackend
    from decoding.backends.hf import HFBackend
    from decoding.backends.layers import NotDrivable
    from decoding.backends.packed import NotPacked, PackedBackend
    from decoding.backends.static import NotStatic, StaticBackend

    if kind not in get_args(Kind):
        raise UserError(f"unknown backend {kind!r}; choose one of {', '.join(get_args(Kind))}")
    reference = HFBackend(loaded)
    if kind == "hf":
        return reference
    try:
        if kind == "static" or (kind == "auto" and loaded.model.device.type == "cuda"):
            try:
                return StaticBackend(loaded, reference, say)
            except NotStatic as error:
                if kind == "static":
                    raise UserError(f"{loaded.name}: no static steps: {error.why}; use backend driven or auto") from error
                if say is not None:
                    say(f"{loaded.name}: decoding without CUDA graphs, which is slower, because {error.why}")
        if kind == "packed" or (kind == "auto" and loaded.model.device.type == "cpu"):
            try:
                return PackedBackend(loaded, reference)
            except NotPacked as error:
                if kind == "packed":
                    raise UserError(f"{loaded.name}: no packed weights: {error.why}; use backend driven or auto") from error
                if say is not None:
                    say(f"{loaded.name}: decoding without packed weights, which is slower, because {error.why}")
        return DrivenBackend(loaded, reference)
    except NotDrivable as error:
        architecture = type(loaded.model).__name__
        if kind != "auto":
            raise UserError(f"{loaded.name}: {architecture} cannot be driven: {error.why}; use backend auto or hf") from error
        if say is not None:
            say(
                f"{loaded.name}: decoding through the model's own forward, which is slower, because {architecture}: {error.why}"
            )
        return reference

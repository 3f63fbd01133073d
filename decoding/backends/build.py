"""Which backend a model gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, get_args

from data.errors import UserError

if TYPE_CHECKING:
    from decoding.backend import StepBackend
    from decoding.backends.proof import Unfit
    from decoding.models.loading import LoadedModel

Kind = Literal["auto", "hf", "driven", "packed", "lowbit"]


def build_backend(loaded: LoadedModel, kind: Kind = "auto", say: Callable[[str], None] | None = None) -> StepBackend:
    """The backend of a model: with `auto` the fastest that it allows, telling `say` why it is not a faster one.

    Those are `lowbit` (low-bit models) or `packed` on a CPU, `driven`, and `hf`, in this order.

    Raises:
        UserError: the model cannot be decoded by the kind that was asked for, or not step by step at all.
    """
    from decoding.backends.driven import DrivenBackend
    from decoding.backends.hf import HFBackend
    from decoding.backends.kept_proofs import KeptProof
    from decoding.backends.layers import NotDrivable
    from decoding.backends.lowbit import LowBitBackend, NotLowBit
    from decoding.backends.packed import NotPacked, PackedBackend

    if kind not in get_args(Kind):
        raise UserError(f"unknown backend {kind!r}; choose one of {', '.join(get_args(Kind))}")
    here = loaded.model.device.type
    made: list[HFBackend] = []

    def reference() -> HFBackend:
        """What the others are compared with, and the last choice; it takes seconds to be made."""
        if not made:
            made.append(HFBackend(loaded))
        return made[0]

    architecture = type(loaded.model).__name__

    def step_down(refusal: str, instead: str, error: Unfit) -> None:
        if kind != "auto":
            raise UserError(f"{loaded.name}: {refusal}") from error
        if say is not None:
            say(f"{loaded.name}: decoding {instead}")

    ladder: tuple[tuple[Kind, str, Callable[[], StepBackend]], ...] = (
        ("lowbit", "cpu", lambda: LowBitBackend(loaded, None if KeptProof(loaded).holds else reference())),
        ("packed", "cpu", lambda: PackedBackend(loaded, reference())),
        ("driven", here, lambda: DrivenBackend(loaded, reference())),
    )
    for name, device, build in ladder:
        fits = {"lowbit": loaded.is_low_bit, "packed": not loaded.is_low_bit}.get(name, True)
        is_next = kind == "auto" and device == here and fits
        if kind != name and not is_next:
            continue
        try:
            return build()
        except NotLowBit as error:
            refusal = f"no compiled low-bit steps: {error.why}; use backend driven or auto"
            step_down(
                refusal,
                f"without compiled low-bit steps, which takes two to three times as long, because {error.why}",
                error,
            )
        except NotPacked as error:
            refusal = f"no packed weights: {error.why}; use backend driven or auto"
            step_down(refusal, f"without packed weights, which is slower, because {error.why}", error)
        except NotDrivable as error:  # so nor are the kinds below, which drive it as well
            refusal = f"{architecture} cannot be driven: {error.why}; use backend auto or hf"
            step_down(refusal, f"through the model's own forward, which is slower, because {architecture}: {error.why}", error)
            break
    return reference()

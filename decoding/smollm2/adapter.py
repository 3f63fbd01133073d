"""A low-rank adapter (LoRA, Hu et al. 2021, arXiv 2106.09685) on disk, and merged into the weights: W += scale * B @ A.

Safetensors. For each adapted matrix, `layers.{i}.{projection}` with a projection of `PROJECTIONS`:

    .a          (r, in) int8          .b          (out, r) int8
    .a.scale    (r,) float32, by which each row of the numbers is multiplied; .b.scale (r,) float32, each column

Metadata: `base`, the sha256 of the GGUF file that it was trained on; `scale`, alpha / r; `rank`; `form`, that of the prompts it
was trained on, which is what it is good for.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from data import codec
from data.errors import UserError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

FORM = "compose/2"
"""The prompts of `pipeline.writing.composing`; an adapter of another form would be asked what it was not taught."""
PROJECTIONS = {
    "q_proj": "self_attn", "k_proj": "self_attn", "v_proj": "self_attn", "o_proj": "self_attn",
    "gate_proj": "mlp", "up_proj": "mlp", "down_proj": "mlp",
}  # fmt: skip
"""Linear layers of a Llama block, with the module that each lies in."""
_KEY = re.compile(rf"layers\.(\d+)\.({'|'.join(PROJECTIONS)})\.(a|b)(\.scale)?")

_ACROSS = {"a": 1, "b": 0}
"""The numbers of A share a scale along its rows, those of B along its columns: r scales each, where B's rows would need more
room than its numbers."""

Place = tuple[int, str]
"""(layer, projection)."""


@dataclass(frozen=True, slots=True, eq=False)
class Adapter:
    """`matrices` maps a place to A (r, in) and B (out, r), float32."""

    base: str
    scale: float
    rank: int
    form: str
    matrices: Mapping[Place, tuple[torch.Tensor, torch.Tensor]]
    sha256: str = ""
    """Of the file it was read from; empty for one that was just trained."""


def write_adapter(adapter: Adapter, path: Path) -> Adapter:
    """Write the file, and return the adapter as it will be read: rounded to 8 bits a number.

    Raises UserError for matrices that do not fit the form, or are not finite.
    """
    import torch
    from safetensors.torch import save

    tensors: dict[str, torch.Tensor] = {}
    for (layer, projection), pair in sorted(adapter.matrices.items()):
        for letter, matrix in zip("ab", pair):
            name = f"layers.{layer}.{projection}.{letter}"
            rows = matrix.detach().to("cpu", torch.float32)
            if rows.ndim != 2 or not bool(torch.isfinite(rows).all()):
                raise UserError(f"{name} of the adapter is not a matrix of finite numbers; train it again")
            largest = rows.abs().amax(dim=_ACROSS[letter], keepdim=True)
            scale = torch.where(largest > 0, largest / 127, torch.ones_like(largest))
            tensors[name] = (rows / scale).round().clamp(-127, 127).to(torch.int8).contiguous()
            tensors[f"{name}.scale"] = scale.flatten()
    about = {"base": adapter.base, "scale": repr(adapter.scale), "rank": str(adapter.rank), "form": adapter.form}
    codec.write_atomic(path, save(tensors, metadata=about))
    return read_adapter(path, base=adapter.base, form=adapter.form)


def read_adapter(path: Path, *, base: str, form: str = FORM) -> Adapter:
    """The adapter in a file, for the GGUF whose sha256 is `base`. Raises UserError for a damaged or unfitting one."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load

    again = "put the adapter of this model there, or use --model smollm2-base"
    try:
        content = path.read_bytes()
        tensors = load(content)
        about = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]).get("__metadata__", {})
        of, scale, rank, made_for = about["base"], float(about["scale"]), int(about["rank"]), about["form"]
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise UserError(f"{path} is not an adapter ({type(error).__name__}: {error}); {again}") from error
    if of != base:
        raise UserError(f"{path} was trained on weights with sha256 {of[:12]}, these have {base[:12]}; {again}")
    if made_for != form:
        raise UserError(f"{path} was trained on prompts of the form {made_for!r}, not {form!r}; {again}")
    if not math.isfinite(scale) or rank < 1:
        raise UserError(f"{path}: a scale of {scale} and a rank of {rank} are not those of an adapter; {again}")

    halves: dict[Place, dict[str, torch.Tensor]] = {}
    for name, tensor in tensors.items():
        key = _KEY.fullmatch(name)
        if key is None:
            raise UserError(f"{path} holds {name!r}, which is no part of an adapter; {again}")
        if key[4]:
            continue
        rows = tensors.get(f"{name}.scale")
        if (
            rows is None
            or tensor.dtype != torch.int8
            or tensor.ndim != 2
            or rows.dtype != torch.float32
            or rows.shape != (rank,)
            or tensor.shape[1 - _ACROSS[key[3]]] != rank
            or not bool(torch.isfinite(rows).all())
        ):
            raise UserError(
                f"{path}: {name} is not a matrix of int8 and rank {rank} with as many finite float32 scales; {again}"
            )
        halves.setdefault((int(key[1]), key[2]), {})[key[3]] = tensor.float() * rows.unsqueeze(_ACROSS[key[3]])
    matrices: dict[Place, tuple[torch.Tensor, torch.Tensor]] = {}
    for (layer, projection), pair in sorted(halves.items()):
        if pair.keys() != {"a", "b"} or pair["a"].shape[0] != rank or pair["b"].shape[1] != rank:
            raise UserError(f"{path}: layers.{layer}.{projection} has no two matrices of rank {rank}; {again}")
        matrices[layer, projection] = pair["a"], pair["b"]
    if not matrices:
        raise UserError(f"{path} holds no matrices; {again}")
    return Adapter(of, scale, rank, made_for, matrices, hashlib.sha256(content).hexdigest())


def merge(model: PreTrainedModel, adapter: Adapter) -> None:
    """Add the adapter to the weights of a Llama in place. Raises UserError when one does not fit; some may be added then."""
    import torch

    layers = model.get_decoder().layers
    for (layer, projection), (a, b) in adapter.matrices.items():
        if layer >= len(layers):
            raise UserError(f"the adapter is of a model with more than {layer} layers, this one has {len(layers)}")
        weight = getattr(getattr(layers[layer], PROJECTIONS[projection]), projection).weight
        if tuple(weight.shape) != (b.shape[0], a.shape[1]):
            raise UserError(
                f"the adapter's layers.{layer}.{projection} is of shape {(b.shape[0], a.shape[1])}, the model's is "
                f"{tuple(weight.shape)}"
            )
        with torch.no_grad():
            weight += (adapter.scale * (b @ a)).to(weight.device, weight.dtype)

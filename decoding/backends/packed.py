"""`driven` for the CPU, where the library's kernels for a few rows are slow: weights packed once for steps of a few tokens.

A plain `linear` of two to eight rows takes up to twice the time of one row here, as the weights are rearranged in every call;
packed by oneDNN beforehand, eight rows cost hardly more than one. Besides, attention reads keys and values once for all the
heads that share them, and each norm is one kernel. Costs a second copy of the weights.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from decoding.backends.driven import DrivenBackend
from decoding.backends.fused import fused_norms, shared_heads_name
from decoding.backends.hf import HFBackend
from decoding.backends.proof import Unfit
from decoding.backends.torch_backend import relative_error

if TYPE_CHECKING:
    import torch

    from decoding.models.loading import LoadedModel

_ROWS = 8
"""Weights are laid out for so many rows; fewer and more read the same layout."""
_MOST_ROWS = 64
"""Beyond, as in a prefill, the plain kernels are as good."""
_SMALL = 32_000_000
"""Parameters. Of a smaller model the products of a step are over before a second thread has begun: with two threads that
sleep while they wait the embedded model (9.6M) wrote 1.2 times as long, and with two that spin, beside another such process
on the same two cores, five times as long."""


class NotPacked(Unfit):
    """This model or machine cannot use packed weights."""


class PackedBackend(DrivenBackend):
    """Drivable models in float32 or bfloat16 on a CPU. The model itself is not changed: only this backend's view of it."""

    def __init__(self, loaded: LoadedModel, reference: HFBackend | None = None) -> None:
        """Raises:
        NotDrivable: as `DrivenBackend`.
        NotPacked: another device or dtype, a torch without these kernels, or logits that differ from those of `driven`.
        """
        import torch

        self._is_small = False  # so that the proof compares what as many threads have computed: it wants the same bits
        super().__init__(loaded, reference)
        self._info = dataclasses.replace(self._info, name="packed")
        _check_kernels(self._device, self._model.dtype)
        with torch.inference_mode():
            expected = self._samples()
            try:
                self._pack()
                found = self._samples()
            except (RuntimeError, TypeError, AttributeError, NotImplementedError) as error:
                raise NotPacked(f"its modules do not take packed weights ({type(error).__name__}: {error})") from error
        allowed = 1e-4 if self._model.dtype == torch.float32 else 5e-2
        for (what, ours), (_, theirs) in zip(found, expected, strict=True):
            difference = relative_error(ours, theirs)
            if difference > allowed:
                raise NotPacked(f"its logits differ by {difference:.1e} for {what}")
        self._is_small = sum(weights.numel() for weights in loaded.model.parameters()) < _SMALL

    def _run(self, ids: torch.Tensor, at: int, **options: Any) -> tuple[torch.Tensor, torch.Tensor | None]:
        if not self._is_small or ids.shape[1] > _MOST_ROWS:
            return super()._run(ids, at, **options)
        with _one_thread():
            return super()._run(ids, at, **options)

    def _pack(self) -> None:
        own_kernels = self._config._attn_implementation == "sdpa" and not getattr(self._config, "attn_logit_softcapping", None)
        name = shared_heads_name() if own_kernels else None
        norms = fused_norms(self._decoder.modules())
        self._layers = [
            dataclasses.replace(
                layer,
                before_attention=norms.get(layer.before_attention, layer.before_attention),
                attention=_twin(layer.attention, name),
                after_attention=norms.get(layer.after_attention, layer.after_attention),
                before_mlp=norms.get(layer.before_mlp, layer.before_mlp),
                mlp=_twin(layer.mlp),
                after_mlp=norms.get(layer.after_mlp, layer.after_mlp),
            )
            for layer in self._layers
        ]
        self._norm = norms.get(self._norm, self._norm)
        self._output_layer = _twin(self._output_layer)


@contextmanager
def _one_thread() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _check_kernels(device: torch.device, dtype: torch.dtype) -> None:
    import torch

    if device.type != "cpu":
        raise NotPacked(f"weights are packed for the CPU, not for {device}")
    if dtype not in (torch.float32, torch.bfloat16):
        raise NotPacked(f"there are no packed kernels for {str(dtype).removeprefix('torch.')}")
    kernels = torch.ops.mkldnn
    if not torch.backends.mkldnn.is_available() or not hasattr(kernels, "_linear_pointwise"):
        raise NotPacked("this torch is built without oneDNN")
    if dtype == torch.bfloat16 and not kernels._is_mkldnn_bf16_supported():
        raise NotPacked("this CPU has no bfloat16 products")


def _twin(module: Any, attention_name: str | None = None) -> Any:
    """A module that shares everything with `module` except that its linear layers, at any depth, are packed.

    With `attention_name` it looks that one up in transformers' registry of attention functions.
    """
    import torch

    if type(module) is torch.nn.Linear:
        return _packed_linear(module)
    twin = copy.copy(module)
    twin.__dict__["_modules"] = {name: child and _twin(child) for name, child in module._modules.items()}
    if attention_name is not None:
        twin.config = copy.copy(module.config)
        twin.config._attn_implementation = attention_name
    return twin


def _packed_linear(linear: Any) -> Any:
    """A module that computes what `linear` (in, out) does."""
    import torch

    weight, bias = linear.weight, linear.bias
    packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), _ROWS)
    product, plain = torch.ops.mkldnn._linear_pointwise, torch.nn.functional.linear

    class PackedLinear(torch.nn.Module):
        in_features, out_features = linear.in_features, linear.out_features

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            if rows.numel() > _MOST_ROWS * self.in_features:
                return plain(rows, weight, bias)
            result: torch.Tensor = product(rows, packed, bias, "none", [], "")
            return result

    module = PackedLinear()
    module.weight = weight  # some modules look at its dtype
    return module

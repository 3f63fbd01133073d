"""The floor under a decode step: it must read all weights and the cached keys and values once, at the memory's speed.

A step of one token at batch 1 does two operations per weight, far below what any processor could do in the time that the
read takes, so bytes over bandwidth bounds it from below (Williams et al. 2009, the roofline model).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from data.types import Strict
from decoding.lowbit.matrix import matrices_in
from decoding.machine import synchronise

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    from transformers import PreTrainedModel

    from decoding.models.loading import LoadedModel

_CPU_BYTES, _GPU_BYTES = 1 << 28, 1 << 31
_REPEATS = 7


@dataclass(frozen=True, slots=True)
class StepBytes(Strict):
    """What one step of one token must read."""

    weights: int
    kv_per_token: int
    """Of one committed token, over all layers. Sliding windows are not taken off."""

    def total(self, context: int) -> int:
        return self.weights + self.kv_per_token * context


def step_bytes(model: PreTrainedModel) -> StepBytes:
    """Of all weights; of the input embedding only when it is the output layer as well, a step reading one row of it.

    An upper bound for mixtures of experts, of which a step reads a part.
    """
    embedding: Any = model.get_input_embeddings()
    head: Any = model.get_output_embeddings()
    low_bit = dict(matrices_in(model))
    weights = {id(p): p.numel() * p.element_size() for p in model.parameters()}
    weights |= {id(matrix): matrix.n_bytes for matrix in low_bit.values()}
    read, written = (id(low_bit.get(module, getattr(module, "weight", None))) for module in (embedding, head))
    if read != written:
        del weights[read]
    config: Any = model.config.get_text_config(decoder=True)
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    item = 4 if low_bit else embedding.weight.element_size()  # low-bit models keep keys and values in float32
    return StepBytes(weights=sum(weights.values()), kv_per_token=2 * config.num_hidden_layers * heads * size * item)


def read_bandwidth(device: str) -> float:
    """Bytes per second of a streaming read, measured with this torch and its number of threads: the best of several kernels.

    The buffer is larger than any cache (2 GiB on an accelerator, less where less is free; 256 MiB on a CPU).
    """
    import torch

    size = _CPU_BYTES
    if device.startswith("cuda"):
        size = min(_GPU_BYTES, torch.cuda.mem_get_info(torch.device(device))[0] // 4)
    buffer = torch.ones(size // 4, dtype=torch.float32, device=device)
    matrix = buffer.view(-1, 4096) if buffer.numel() % 4096 == 0 else buffer[: buffer.numel() // 4096 * 4096].view(-1, 4096)
    vector = torch.ones(4096, device=device)
    half = buffer.numel() // 2

    def copy() -> torch.Tensor:
        return buffer[:half].copy_(buffer[half : 2 * half])

    kernels: list[tuple[Callable[[], Any], int]] = [
        (buffer.sum, size),
        (buffer.max, size),
        (lambda: torch.mv(matrix, vector), matrix.numel() * 4),
        (copy, 2 * half * 4),  # half is read, half written
    ]
    best = 0.0
    with torch.inference_mode():
        for kernel, n_bytes in kernels:
            kernel()
            for _ in range(_REPEATS):
                synchronise(device)
                began = time.perf_counter()
                kernel()
                synchronise(device)
                best = max(best, n_bytes / (time.perf_counter() - began))
    return best


def floor_line(loaded: LoadedModel, context: int) -> str:
    """What a step of one token behind `context` others cannot be faster than here, in words."""
    n_bytes, speed = step_bytes(loaded.model).total(context), read_bandwidth(loaded.device)
    return f"{1e3 * n_bytes / speed:.1f} ms ({n_bytes / 1e6:,.0f} MB, read at {speed / 1e9:.1f} GB/s)"

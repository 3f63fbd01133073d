"""Fewer and wider kernels for what a model's own modules compute: attention of a few rows, and RMS norms.

In a step of few rows the time of small kernels adds up. These round otherwise than the modules do, so whoever uses them
compares logits first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

_FEW_ROWS = 64
_SHARED = "wikigenben_shared_heads"


def shared_heads_name() -> str:
    """The name under which attention modules find `shared_heads`, which is registered with transformers by this call."""
    from transformers import AttentionInterface

    AttentionInterface.register(_SHARED, shared_heads)
    return _SHARED


def shared_heads(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of query (1, H, T, D) over key and value (1, H_kv, L, D), with a mask (1, 1, T, L) or none: (1, T, H, D).

    The H / H_kv query heads of a key head become rows of one matrix, so keys and values are read once and never repeated. Many
    rows (a prefill) go the way of transformers' sdpa, which also knows what no mask means for them. The signature is that of
    transformers' attention functions.
    """
    import torch
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    n_rows = query.shape[2]
    if n_rows > _FEW_ROWS or (attention_mask is None and n_rows > 1):
        many: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout, scaling, **kwargs
        )
        return many
    rows, mask = _by_key_head(query, key.shape[1], attention_mask)
    out = torch.nn.functional.scaled_dot_product_attention(rows, key, value, attn_mask=mask, scale=scaling)
    return _by_row(out, query), None


def _by_key_head(query: torch.Tensor, n_key_heads: int, mask: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Query (1, H, T, D) as (1, H_kv, R, D), R = T * H / H_kv, and its mask (1, 1, T, L) as (1, 1, R, L)."""
    _, n_heads, n_rows, size = query.shape
    n_groups = n_heads // n_key_heads
    if mask is not None and n_groups > 1:
        mask = mask.expand(1, 1, n_groups, -1) if n_rows == 1 else mask.repeat(1, 1, n_groups, 1)
    return query.reshape(1, n_key_heads, n_groups * n_rows, size), mask


def _by_row(out: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    """Attention's result for rows by key head, (..., H_kv, R, D), as (1, T, H, D)."""
    return out.reshape(1, query.shape[1], query.shape[2], -1).transpose(1, 2).contiguous()


def fused_norms(modules: Iterable[Any]) -> dict[Any, Callable[[torch.Tensor], torch.Tensor]]:
    """For each module that is an RMS norm, x / rms(x) * weight, a function that takes one or two kernels instead of eight.

    It rounds where the module rounds: before the weight (Llama) or after it (OLMo 2). A norm of another form (Gemma's weights
    are offsets from 1) is recognised by its results, and left out.
    """
    return {module: fused for module in modules if (fused := _fused_norm(module)) is not None}


def _fused_norm(module: Any) -> Callable[[torch.Tensor], torch.Tensor] | None:
    import torch

    weight = getattr(module, "weight", None)
    eps = getattr(module, "variance_epsilon", getattr(module, "eps", None))
    if not type(module).__name__.endswith("RMSNorm") or weight is None or eps is None:
        return None
    rms_norm = torch.nn.functional.rms_norm

    def rounded_after(hidden: torch.Tensor) -> torch.Tensor:
        return rms_norm(hidden, weight.shape, weight, eps)

    def rounded_before(hidden: torch.Tensor) -> torch.Tensor:
        scaled: torch.Tensor = weight * rms_norm(hidden, weight.shape, None, eps)
        return scaled

    trial = torch.randn(4, weight.shape[0], generator=torch.Generator().manual_seed(0)).to(weight)
    expected = module(trial).float()
    # rounding elsewhere is off by 2e-3 in bfloat16, and by 3e-4 in float16
    allowed = {torch.bfloat16: 5e-4, torch.float16: 1e-4}.get(weight.dtype, 1e-6) * float(expected.norm())
    forms = (rounded_after, rounded_before)
    return next((form for form in forms if float((form(trial).float() - expected).norm()) <= allowed), None)

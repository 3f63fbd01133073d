"""Fewer and wider kernels for what a model's own modules compute: attention of a few rows, and RMS norms.

Made for single steps on a GPU, where the time of small kernels adds up and one text has too few heads to fill the device.
They round otherwise than the modules do, so whoever uses them compares logits first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

PART = 256
"""Keys per part are a multiple of this."""
_MAX_PARTS = 32
_FEW_ROWS = 64
_WHOLE = 512
"""Up to so many keys are not worth cutting into parts."""
_NAME = "wikigenben_grouped"
_SHARED = "wikigenben_shared_heads"


def hiding(dtype: torch.dtype) -> float:
    """What is added to the score of a key that a row does not see, beyond all scores. Not -inf: where a part of the keys is
    hidden altogether, its softmax must not be NaN."""
    import torch

    return -6e4 if dtype == torch.float16 else -1e9


@contextmanager
def grouped_attention_in(modules: Iterable[Any]) -> Iterator[None]:
    """Within it these attention modules compute by `grouped_attention`.

    They find it in transformers' registry by the name in their configuration. No mask function is registered: masks come
    from the caller, and nothing but its steps runs in here.
    """
    from transformers import AttentionInterface

    AttentionInterface.register(_NAME, grouped_attention)
    configs = {id(module.config): module.config for module in modules}.values()
    before = [config._attn_implementation for config in configs]
    try:
        for config in configs:
            config._attn_implementation = _NAME
        yield
    finally:
        for config, name in zip(configs, before, strict=True):
            config._attn_implementation = name


def grouped_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor,
    dropout: float = 0.0,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of query (1, H, T, D) over key and value (1, H_kv, L, D) with an additive mask (1, 1, T, L): (1, T, H, D).

    The H / H_kv query heads of a key head become rows of one matrix, so keys and values are read once and never repeated.
    Many keys are cut into parts that the GPU works on side by side; their results are joined by the logarithms of their sums
    (Flash-Decoding, Dao et al. 2023). The signature is that of transformers' attention functions.
    """
    if kwargs.get("softcap") is not None:
        raise NotImplementedError("grouped attention has no soft cap")
    n = n_parts(key.shape[2])
    if n == 1:
        return _in_one_part(query, key, value, attention_mask, scaling), None
    rows, mask = _by_key_head(query, key.shape[1], attention_mask)
    assert mask is not None
    parts = [tensor[0].unflatten(-2, (n, -1)).transpose(0, 1) for tensor in (key, value)]  # views (S, H_kv, L / S, D)
    bias = mask[0, 0].unflatten(-1, (n, -1)).transpose(0, 1)[:, None]  # (S, 1, rows, L / S)
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    out, logsum = _attend_parts(rows.expand(n, -1, -1, -1), parts[0], parts[1], bias, scale)
    weights = logsum.softmax(dim=0)[..., None]  # (S, H_kv, rows, 1)
    return _by_row((out * weights).sum(dim=0).to(query.dtype), query), None


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
    """As `grouped_attention`, in one part, for masks of any kind. Many rows (a prefill) go the way of transformers' sdpa,
    which also knows what no mask means for them."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    n_rows = query.shape[2]
    if n_rows > _FEW_ROWS or (attention_mask is None and n_rows > 1):
        many: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout, scaling, **kwargs
        )
        return many
    return _in_one_part(query, key, value, attention_mask, scaling), None


def _in_one_part(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, scaling: float | None
) -> torch.Tensor:
    import torch

    rows, mask = _by_key_head(query, key.shape[1], mask)
    out = torch.nn.functional.scaled_dot_product_attention(rows, key, value, attn_mask=mask, scale=scaling)
    return _by_row(out, query)


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


def n_parts(n_keys: int) -> int:
    """Into how many equal parts, each a multiple of `PART`, that many keys are cut."""
    if n_keys <= _WHOLE or n_keys % PART:
        return 1
    return next(n for n in range(_MAX_PARTS, 0, -1) if n_keys // PART % n == 0)


def _attend_parts(
    rows: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, bias: torch.Tensor, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention in each of S parts by itself, (S, H_kv, R, D), and the natural logarithm of its softmax sum, (S, H_kv, R)."""
    import torch

    bias = bias.expand(-1, keys.shape[1], -1, -1)
    if rows.is_cuda:
        out, logsum, *_ = torch.ops.aten._scaled_dot_product_efficient_attention(rows, keys, values, bias, True, scale=scale)
        return out, logsum[..., : rows.shape[2]]  # padded to a multiple of 32 rows
    scores = rows.float() @ keys.float().transpose(-1, -2) * scale + bias.float()
    return scores.softmax(dim=-1) @ values.float(), scores.logsumexp(dim=-1)


def fused_norms(modules: Iterable[Any]) -> dict[Any, Callable[[torch.Tensor], torch.Tensor]]:
    """For each module that is an RMS norm, x / rms(x) * weight, a function that takes one or two kernels instead of eight.

    It rounds where the module rounds: before the weight (Llama) or after it (OLMo 2). A norm of another form (Gemma's weights
    are offsets from 1) is told by what it gives, and left out.
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

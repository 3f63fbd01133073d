"""A low-bit model of Llama's shape without the code of transformers: the modules that the compiled step reads, under the names
that they have there.

Importing transformers' code of a model takes half of loading one whose weights are mapped. So it waits until somebody needs
it: `whole_model`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import torch

from decoding.lowbit.modules import LowBitEmbedding, LowBitLinear

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

    from decoding.lowbit.matrix import Matrix

_SHAPES = frozenset(("llama", "qwen2", "qwen3"))
"""Model types whose layers are those of this module; the compiled step compares itself with transformers' once."""


class Skeleton(torch.nn.Module):
    """Stands where a `PreTrainedModel` would: its own `forward` and `generate` are those of the whole model."""

    def __init__(
        self,
        config: PreTrainedConfig,
        matrices: Mapping[str, Matrix],
        others: Mapping[str, torch.Tensor],
        build: Callable[[], PreTrainedModel],
    ) -> None:
        super().__init__()
        self.config: Any = copy.deepcopy(config)
        self.config._attn_implementation = "sdpa"  # what transformers chooses when it makes such a model
        self.generation_config: Any = None
        self.dtype, self.device = torch.float32, torch.device("cpu")
        self._build, self._built = build, cast("list[PreTrainedModel]", [])
        weights: dict[str, Any] = {**matrices, **others}
        self.model = _Decoder(self.config, weights)
        head = matrices["model.embed_tokens.weight" if self.config.tie_word_embeddings else "lm_head.weight"]
        self.lm_head = LowBitLinear(head)
        self.eval().requires_grad_(False)

    def whole(self) -> PreTrainedModel:
        """The model as transformers makes it, on the same weights."""
        if not self._built:
            self._built.append(self._build())
        return self._built[0]

    def get_decoder(self) -> torch.nn.Module:
        return self.model

    def get_input_embeddings(self) -> LowBitEmbedding:
        return self.model.embed_tokens

    def get_output_embeddings(self) -> LowBitLinear:
        return self.lm_head

    def forward(self, *args: Any, **options: Any) -> Any:
        return self.whole()(*args, **options)

    def generate(self, *args: Any, **options: Any) -> Any:
        return self.whole().generate(*args, **options)  # type: ignore[operator]

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        for model in self._built:
            model._apply(fn, recurse)
        return super()._apply(fn, recurse)  # type: ignore[no-untyped-call]


def whole_model(model: Any) -> Any:
    """The model that transformers made, or makes now of a `Skeleton`."""
    return model.whole() if isinstance(model, Skeleton) else model


def skeleton(
    config: PreTrainedConfig,
    matrices: Mapping[str, Matrix],
    others: Mapping[str, torch.Tensor],
    build: Callable[[], PreTrainedModel],
) -> Skeleton | None:
    """None for a model of another shape, or with weights that are not just those of this one."""
    if config.model_type not in _SHAPES or _rope(config).get("rope_type") != "default" or _windows(config):
        return None
    found: dict[str, tuple[int, ...]] = {name: (one.n_rows, one.n_columns) for name, one in matrices.items()}
    found |= {name: tuple(weight.shape) for name, weight in others.items()}
    expected = _shapes(config, with_bias=any(name.endswith(".bias") for name in others))
    if found != expected or {name for name, shape in expected.items() if len(shape) == 2} != set(matrices):
        return None
    return Skeleton(config, matrices, others, build)


def _rope(config: Any) -> dict[str, Any]:
    given = getattr(config, "rope_parameters", None)
    return given if isinstance(given, dict) else {}


def _windows(config: Any) -> bool:
    if kinds := getattr(config, "layer_types", None):
        return any(kind != "full_attention" for kind in kinds)
    return getattr(config, "sliding_window", None) is not None


def _head_size(config: Any) -> int:
    return int(getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads)


def _shapes(config: Any, *, with_bias: bool) -> dict[str, tuple[int, ...]]:
    """Weights by name. Biases are those of queries, keys and values."""
    size, width, inner = _head_size(config), config.hidden_size, config.intermediate_size
    queries, keys = config.num_attention_heads * size, config.num_key_value_heads * size
    of_layer: dict[str, tuple[int, ...]] = {
        "self_attn.q_proj.weight": (queries, width),
        "self_attn.k_proj.weight": (keys, width),
        "self_attn.v_proj.weight": (keys, width),
        "self_attn.o_proj.weight": (width, queries),
        "mlp.gate_proj.weight": (inner, width),
        "mlp.up_proj.weight": (inner, width),
        "mlp.down_proj.weight": (width, inner),
        "input_layernorm.weight": (width,),
        "post_attention_layernorm.weight": (width,),
    }
    if with_bias:
        of_layer |= {f"self_attn.{name}_proj.bias": (n,) for name, n in (("q", queries), ("k", keys), ("v", keys))}
    if config.model_type == "qwen3":
        of_layer |= {"self_attn.q_norm.weight": (size,), "self_attn.k_norm.weight": (size,)}
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (config.vocab_size, width),
        "model.norm.weight": (width,),
    }
    if not config.tie_word_embeddings:
        shapes["lm_head.weight"] = (config.vocab_size, width)
    return shapes | {
        f"model.layers.{i}.{name}": shape for i in range(config.num_hidden_layers) for name, shape in of_layer.items()
    }


class _Decoder(torch.nn.Module):
    def __init__(self, config: Any, weights: dict[str, Any]) -> None:
        super().__init__()
        self.embed_tokens = LowBitEmbedding(weights["model.embed_tokens.weight"])
        self.layers = torch.nn.ModuleList(
            _Layer(config, {name.removeprefix(start): one for name, one in weights.items() if name.startswith(start)})
            for start in (f"model.layers.{i}." for i in range(config.num_hidden_layers))
        )
        self.norm = _Norm(weights["model.norm.weight"], config.rms_norm_eps)
        self.rotary_emb = _Rotary(config)


class _Layer(torch.nn.Module):
    def __init__(self, config: Any, weights: dict[str, Any]) -> None:
        super().__init__()
        self.self_attn = _Attention(config, weights)
        self.mlp = _MLP(weights)
        self.input_layernorm = _Norm(weights["input_layernorm.weight"], config.rms_norm_eps)
        self.post_attention_layernorm = _Norm(weights["post_attention_layernorm.weight"], config.rms_norm_eps)


class _Attention(torch.nn.Module):
    def __init__(self, config: Any, weights: dict[str, Any]) -> None:
        super().__init__()
        self.head_dim = _head_size(config)
        self.scaling = self.head_dim**-0.5
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            bias = weights.get(f"self_attn.{name}.bias")
            own = None if bias is None else torch.nn.Parameter(bias, requires_grad=False)
            setattr(self, name, LowBitLinear(weights[f"self_attn.{name}.weight"], own))
        for name in ("q_norm", "k_norm"):
            if (weight := weights.get(f"self_attn.{name}.weight")) is not None:
                setattr(self, name, _Norm(weight, config.rms_norm_eps))


class _MLP(torch.nn.Module):
    def __init__(self, weights: dict[str, Any]) -> None:
        super().__init__()
        for name in ("gate_proj", "up_proj", "down_proj"):
            setattr(self, name, LowBitLinear(weights[f"mlp.{name}.weight"]))


class _Norm(torch.nn.Module):
    """Root mean square, as transformers computes it, in float32."""

    def __init__(self, weight: torch.Tensor, eps: float) -> None:
        super().__init__()
        self.weight, self.variance_epsilon = torch.nn.Parameter(weight, requires_grad=False), eps

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        variance = hidden.pow(2).mean(-1, keepdim=True)
        return self.weight * (hidden * torch.rsqrt(variance + self.variance_epsilon))


class _Rotary(torch.nn.Module):
    """Rotary embeddings of the type `default`, as transformers computes them."""

    rope_type = "default"

    def __init__(self, config: Any) -> None:
        super().__init__()
        size = _head_size(config)
        self.frequencies = 1.0 / (_rope(config)["rope_theta"] ** (torch.arange(0, size, 2, dtype=torch.float) / size))

    def forward(self, like: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        angles = positions[..., None].float() * self.frequencies
        both = torch.cat((angles, angles), dim=-1)
        return both.cos().to(like.dtype), both.sin().to(like.dtype)

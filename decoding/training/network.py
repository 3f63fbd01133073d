"""The training pass of a Llama: its modules' weights, driven so that sub-layers can be left out and blocks compiled.

Written out because the modules of `transformers` cannot skip a sub-layer, and because on a CPU half of their time goes into
conversions and attention: three compiled functions (attention, MLP, head), used for every layer, take two thirds of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from data.types import Strict

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from transformers import LlamaConfig

SubLayer = tuple[Literal["attention", "mlp"], int]
ROTARY_BASE = 1e9
"""Two thirds of the rotary pairs hardly turn within the context, and words are compared in those (`initial`)."""
EMBEDDING_SIZE, LOGIT_SCALE = 1.0, 0.12
"""Standard deviation of embeddings at the start, and the weight of the last norm, which makes up for it where they are read
again: what the first layers write beside embeddings of this size is not drowned by what others soon add."""
QUERY_BLOCK = 128
"""Queries that attend together on a CPU: each block looks only at keys up to its end, which halves the work."""


@dataclass(frozen=True, slots=True)
class LayerDropout(Strict):
    """Which sub-layers a step leaves out (after LayerSkip, Elhoushi et al. 2024, section 3.1).

    `whole` of the steps leave out none: the whole model has the last word. The others draw a rate up to `most`, and drop each
    sub-layer with it, deeper ones more often; never those of the first two, which copy, and of the last layer.
    """

    most: float = 0.6
    whole: float = 0.3

    def draw(self, n_layers: int, rng: random.Random) -> frozenset[SubLayer]:
        if self.most == 0 or rng.random() < self.whole:
            return frozenset()
        rate = rng.uniform(0.0, self.most)
        dropped: set[SubLayer] = set()
        for at in range(2, n_layers - 1):
            # from half of the rate in front to 1.5 times at the end
            deep = rate * (0.5 + at / max(1, n_layers - 2))
            dropped |= {(kind, at) for kind in ("attention", "mlp") if rng.random() < deep}
        return frozenset(dropped)


class TrainingPass:
    """Losses of a `LlamaForCausalLM` (bias-free, tied or not) on rows of ids. `compiled` needs a C++ compiler."""

    def __init__(self, model: Any, *, dtype: torch.dtype, compiled: bool) -> None:
        import torch

        self._model = model
        self._config: LlamaConfig = model.config
        config = self._config
        n_heads = config.num_attention_heads
        self._heads = (config.head_dim or config.hidden_size // n_heads, n_heads, config.num_key_value_heads or n_heads)
        self._dtype = dtype
        self._attention: Callable[..., Tensor] = self._attend
        self._mlp: Callable[..., Tensor] = _mlp
        self._head: Callable[..., Tensor] = _head_loss
        if compiled:
            self._attention = torch.compile(self._attend, dynamic=False)
            self._mlp = torch.compile(_mlp, dynamic=False)
            self._head = torch.compile(_head_loss, dynamic=False)
        self._angles: dict[tuple[int, torch.device], tuple[Tensor, Tensor]] = {}

    def loss(
        self, ids: Tensor, dropped: Set[SubLayer] = frozenset(), *, exit_layer: int | None = None, exit_weight: float = 0.0
    ) -> tuple[Tensor, Tensor]:
        """Cross-entropy in nats a token of rows (B, T + 1): of the model without the `dropped` sub-layers, and the objective.

        The objective adds `exit_weight` times the loss of a quarter of the rows when the head reads after `exit_layer` layers
        (early exit, LayerSkip section 3.2).
        """
        states, early = self._states(ids[:, :-1], dropped, exit_layer)
        loss = self._read(states, ids[:, 1:]).mean()
        if early is None:
            return loss.detach(), loss
        some = max(1, len(ids) // 4)
        return loss.detach(), loss + exit_weight * self._read(early[:some], ids[:some, 1:]).mean()

    def judged(self, ids: Tensor, dropped: Set[SubLayer] = frozenset()) -> tuple[Tensor, Tensor]:
        """For a row (1, T + 1): nats of each next token, and the tokens that the model would say, (T,) each. Not compiled:
        rows have all lengths."""
        from torch.nn.functional import cross_entropy, linear

        ids = ids.to(self._model.device)
        states, _ = self._states(ids[:, :-1], dropped, None, compiled=False)
        head = self._model.lm_head.weight
        logits = linear(_normed(states, self._model.model.norm.weight, self._config.rms_norm_eps), head.to(states.dtype))[0]
        return cross_entropy(logits.float(), ids[0, 1:], reduction="none"), logits.argmax(-1)

    def _read(self, states: Tensor, targets: Tensor) -> Tensor:
        eps = self._config.rms_norm_eps
        return self._head(states, self._model.model.norm.weight, self._model.lm_head.weight, targets, eps)

    def _states(
        self, ids: Tensor, dropped: Set[SubLayer], exit_layer: int | None, *, compiled: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        import torch

        attention, mlp = (self._attention, self._mlp) if compiled else (self._attend, _mlp)
        inner, eps = self._model.model, self._config.rms_norm_eps
        states = torch.nn.functional.embedding(ids, inner.embed_tokens.weight).to(self._dtype)
        cos, sin = self._rotations(ids.shape[1], ids.device)
        early = None
        for at, layer in enumerate(inner.layers):
            if at == exit_layer:
                early = states
            if ("attention", at) not in dropped:
                own = layer.self_attn
                states = attention(
                    states, layer.input_layernorm.weight, own.q_proj.weight, own.k_proj.weight, own.v_proj.weight,
                    own.o_proj.weight, cos, sin, eps,
                )  # fmt: skip
            if ("mlp", at) not in dropped:
                own = layer.mlp
                states = mlp(
                    states, layer.post_attention_layernorm.weight, own.gate_proj.weight, own.up_proj.weight,
                    own.down_proj.weight, eps,
                )  # fmt: skip
        return states, early

    def _rotations(self, length: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """Cosines and sines (T, head) as the model's own rotary embedding gives them."""
        import torch

        if (length, device) not in self._angles:
            probe = torch.zeros(1, device=device, dtype=self._dtype)
            cos, sin = self._model.model.rotary_emb(probe, torch.arange(length, device=device)[None])
            self._angles[(length, device)] = (cos[0], sin[0])
        return self._angles[(length, device)]

    def _attend(
        self, x: Tensor, norm: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, cos: Tensor, sin: Tensor, eps: float
    ) -> Tensor:
        import torch
        from torch.nn.functional import linear, scaled_dot_product_attention

        size, n_heads, n_shared = self._heads
        rows, length, _ = x.shape
        h = _normed(x, norm, eps)
        joined = linear(h, torch.cat((q, k, v)).to(x.dtype)).view(rows, length, n_heads + 2 * n_shared, size)
        queries, keys, values = (part.transpose(1, 2) for part in joined.split((n_heads, n_shared, n_shared), 2))
        queries, keys = _rotated(queries, cos, sin), _rotated(keys, cos, sin)
        keys, values = (t.repeat_interleave(n_heads // n_shared, 1) for t in (keys, values))
        if x.device.type == "cpu":
            found = _attention_in_blocks(queries, keys, values)
        else:
            found = scaled_dot_product_attention(queries, keys, values, is_causal=True)
        return x + linear(found.transpose(1, 2).reshape(rows, length, n_heads * size), o.to(x.dtype))


def _attention_in_blocks(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Causal attention (B, H, T, D), a block of queries at a time; the compiled form is twice as fast as torch's own there."""
    import torch

    length = queries.shape[-2]
    found = []
    for start in range(0, length, QUERY_BLOCK):
        end = min(start + QUERY_BLOCK, length)
        scores = queries[..., start:end, :] @ keys[..., :end, :].transpose(-1, -2) * queries.shape[-1] ** -0.5
        seen = torch.ones(end - start, end, dtype=torch.bool, device=queries.device).tril(start)
        weights = scores.float().masked_fill(~seen, -torch.inf).softmax(-1).to(queries.dtype)
        found.append(weights @ values[..., :end, :])
    return torch.cat(found, -2)


def _mlp(x: Tensor, norm: Tensor, gate: Tensor, up: Tensor, down: Tensor, eps: float) -> Tensor:
    import torch
    from torch.nn.functional import linear, silu

    g, u = linear(_normed(x, norm, eps), torch.cat((gate, up)).to(x.dtype)).chunk(2, -1)
    return x + linear(silu(g) * u, down.to(x.dtype))


def _head_loss(x: Tensor, norm: Tensor, head: Tensor, targets: Tensor, eps: float) -> Tensor:
    from torch.nn.functional import cross_entropy, linear

    logits = linear(_normed(x, norm, eps), head.to(x.dtype)).float().flatten(0, 1)
    return cross_entropy(logits, targets.flatten(), reduction="none")


def _normed(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    import torch

    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps) * weight).to(x.dtype)


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    import torch

    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


def new_model(
    *, vocab_size: int, n_layers: int, hidden: int, head_dim: int, context: int, ids: dict[str, int | None], seed: int
) -> Any:
    """A Llama with random weights: two query heads for each key head, SwiGLU of 8/3 of the width.

    `ids` are bos_token_id, eos_token_id and pad_token_id.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    n_heads = hidden // head_dim
    config = LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=hidden,
        intermediate_size=8 * hidden // 3 // 32 * 32,
        num_hidden_layers=n_layers,
        num_attention_heads=n_heads,
        num_key_value_heads=max(1, n_heads // 2),
        head_dim=head_dim,
        max_position_embeddings=context,
        initializer_range=0.5 * hidden**-0.5,
        rope_parameters={"rope_type": "default", "rope_theta": ROTARY_BASE},
        tie_word_embeddings=False,
        bos_token_id=ids["bos_token_id"],
        eos_token_id=ids["eos_token_id"],
        pad_token_id=ids["pad_token_id"],
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
        with torch.no_grad():  # residual branches begin as nothing, so that depth adds no noise to what is written there
            model.model.embed_tokens.weight.normal_(std=EMBEDDING_SIZE)
            model.model.norm.weight.fill_(LOGIT_SCALE)
            for layer in model.model.layers:
                layer.self_attn.o_proj.weight.zero_()
                layer.mlp.down_proj.weight.zero_()
    return model.train()

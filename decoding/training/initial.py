"""Weights to begin with in which copying works already: a previous-token head, and a head that looks for what it left.

Left to itself, a transformer finds the two-layer circuit that continues a text as it went on before ("induction heads", Olsson
et al. 2022) only after tens of millions of tokens, more than a CPU reads in hours. Its form is known, so it is written down;
training refines it. In the same spirit as mimetic initialisation (Trockman and Kolter 2023), and within the Llama architecture:

- one component of the embeddings is the same for all tokens, so that queries and keys can be constant: rotary positions then
  give a score that depends on the distance alone, highest for the token before;
- the next layer compares the present token with what those heads left at each place, the token before it. It does so in the
  components that rotary positions hardly turn. What stands there is what followed, and goes to the output.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

CONSTANT = 6.0
"""The constant component of an embedding, in standard deviations of the others."""
LOOK_BACK_PAIRS = 6
"""Rotary pairs of the highest frequencies: they tell one token's distance from two."""
SHARPNESS = 100.0
"""The score of the token before, about; an eighth less next to it."""
MATCH = 120.0
"""The score of a place where the present token stood before, about."""
STILL = 0.002
"""Radians a token below which a rotary pair counts as not turning."""
LEFT, GIVEN = 2.0, 8.0
"""How strongly the first head leaves its token, and the second hands on its own, against the embeddings."""


def write_copying_heads(model: Any, at: int, seed: int) -> None:
    """Set the attention of layers `at` and `at` + 1 of a `LlamaForCausalLM` with fresh weights; in place."""
    import torch

    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        embeddings = model.model.embed_tokens.weight
        embeddings[:, 0] = CONSTANT * embeddings[:, 1:].std()
        model.model.norm.weight[0] = 0.0
        left, read = _look_back(model, model.model.layers[at].self_attn)
        _find_again(model, model.model.layers[at + 1].self_attn, left, read)


def hold_constant(model: Any) -> None:
    """Take the gradients from the constant component, and from the output's reading it.

    Left free, it would soon hold how frequent each token is, the first thing that a model learns.
    """
    model.model.embed_tokens.weight.grad[:, 0] = 0.0
    model.model.norm.weight.grad[0] = 0.0


def _look_back(model: Any, attention: Any) -> tuple[Tensor, Tensor]:
    """Every head attends to the token before and leaves it, turned into other directions.

    Returns those, (D, shared * head), and the directions in which it reads tokens, (shared * head, D).
    """
    import torch

    size, n_heads, n_shared, width = _sizes(model)
    turns = _frequencies(model)
    norm = _constant_after_norm(model)
    strength = math.sqrt(SHARPNESS * math.sqrt(size) / LOOK_BACK_PAIRS) / norm
    key, query = torch.zeros(size), torch.zeros(size)
    for pair in range(LOOK_BACK_PAIRS):
        first, second = pair, pair + size // 2
        key[first] = strength
        # the key as it stands one place before: its rotation by minus one token
        query[first], query[second] = strength * math.cos(turns[pair]), -strength * math.sin(turns[pair])
    attention.q_proj.weight.zero_()[:, 0] = query.repeat(n_heads)
    attention.k_proj.weight.zero_()[:, 0] = key.repeat(n_shared)
    # what is left must not look like what is read (where the width allows both)
    turned = _directions(width, width)
    read, left = turned[: n_shared * size], turned[-n_shared * size :].T
    attention.v_proj.weight.copy_(read)
    _write_out(attention.o_proj.weight, left * LEFT, n_heads, n_shared, size, _embedding_size(model))
    return left, read


def _find_again(model: Any, attention: Any, left: Tensor, known: Tensor) -> None:
    """Queries read the present token, keys what `_look_back` left of the one before; values are the tokens themselves."""
    import torch

    size, n_heads, n_shared, width = _sizes(model)
    turns = _frequencies(model)
    still = [pair for pair in range(size // 2) if turns[pair] < STILL]
    used = [*still, *(pair + size // 2 for pair in still)]
    strength = math.sqrt(MATCH * math.sqrt(size) / len(used))
    # both sides in the directions that the first heads know tokens by
    compared = torch.zeros(n_shared, size, n_shared * size)
    for shared in range(n_shared):
        compared[shared, used] = strength * _directions(len(used), n_shared * size)
    query = (compared @ known).repeat_interleave(n_heads // n_shared, 0)
    attention.q_proj.weight.copy_(query.reshape(n_heads * size, width))
    attention.k_proj.weight.copy_(compared.reshape(n_shared * size, -1) @ left.T / LEFT)
    read = _directions(n_shared * size, width)
    attention.v_proj.weight.copy_(read)
    _write_out(attention.o_proj.weight, read.T * GIVEN, n_heads, n_shared, size, _embedding_size(model))


def _write_out(weight: Tensor, directions: Tensor, n_heads: int, n_shared: int, size: int, scale: float) -> None:
    """`directions` (D, shared * head) for each head that shares them, at the size of embeddings."""
    parts = directions.reshape(-1, n_shared, size).repeat_interleave(n_heads // n_shared, 1)
    weight.copy_(parts.reshape(weight.shape) * scale / (n_heads // n_shared))


def _directions(n: int, width: int) -> Tensor:
    """(n, width) orthonormal rows, blind to the constant component; beyond width - 1 they begin again."""
    import torch

    rows = torch.linalg.qr(torch.randn(width - 1, width - 1)).Q
    return torch.nn.functional.pad(rows, (1, 0))[torch.arange(n) % (width - 1)]


def _sizes(model: Any) -> tuple[int, int, int, int]:
    config = model.config
    return config.head_dim, config.num_attention_heads, config.num_key_value_heads, config.hidden_size


def _frequencies(model: Any) -> list[float]:
    return [float(f) for f in model.model.rotary_emb.inv_freq]


def _embedding_size(model: Any) -> float:
    """What one unit after a norm is before it: the root mean square of an embedding."""
    return float(model.model.embed_tokens.weight.pow(2).mean().sqrt())


def _constant_after_norm(model: Any) -> float:
    return float(model.model.embed_tokens.weight[0, 0]) / _embedding_size(model)

"""A tiny model folder (`tests.tiny_model`) as a GGUF file, written with the `gguf` package as llama.cpp's converter does."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

_BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def write_gguf(
    folder: Path,
    file: Path,
    *,
    architecture: str = "llama",
    pretokenizer: str = "default",
    leave_out: frozenset[str] = frozenset(),
    fields: Mapping[str, int] | None = None,
    blocks: str | Callable[[str], str] = "",
    template: str = "",
    cut: frozenset[str] = frozenset(),
    tensors_a_part: int = 0,
    big_endian: bool = False,
) -> Path:
    """`leave_out` are names of fields: `chat_template`, `eos`, `tokens`; or of tensors. `fields` are further numbers to write.
    `blocks` is the type of the matrices (`Q8_0`), or what gives it for the name of a tensor; float32 without. `template` is
    another chat template; tensors of `cut` lose half of their rows. With `tensors_a_part` the model lies in several files, of
    which the first one is returned."""
    import gguf
    from safetensors.numpy import load_file

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    spelled = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    own_template = folder / "chat_template.jinja"
    weights = load_file(folder / "model.safetensors")
    heads, kv_heads, layers = (config[k] for k in ("num_attention_heads", "num_key_value_heads", "num_hidden_layers"))

    endian = gguf.GGUFEndian.BIG if big_endian else gguf.GGUFEndian.LITTLE
    writer = gguf.GGUFWriter(file, architecture, split_max_tensors=tensors_a_part, endianess=endian)
    writer.add_block_count(layers)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    if "head_dim" in config:
        writer.add_key_length(config["head_dim"])
        writer.add_value_length(config["head_dim"])
    writer.add_vocab_size(config["vocab_size"])
    tokens = sorted(spelled["vocab"], key=spelled["vocab"].__getitem__)
    tokens[config["pad_token_id"]] = "<|endoftext|>"  # transformers adds one where there is none
    special = [t.startswith("<") and t.endswith(">") and len(t) > 2 for t in tokens]
    if "tokens" not in leave_out:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(pretokenizer)
        writer.add_token_list(tokens)
        writer.add_token_types([gguf.TokenType.CONTROL if s else gguf.TokenType.NORMAL for s in special])
        writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in spelled["merges"]])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_pad_token_id(config["pad_token_id"])
    if "eos" not in leave_out:
        writer.add_eos_token_id(config["eos_token_id"])
    if own_template.is_file() and "chat_template" not in leave_out:
        writer.add_chat_template(template or own_template.read_text(encoding="utf-8"))
    for name, value in (fields or {}).items():
        writer.add_uint16(name, value)

    named = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}
    named["output.weight"] = "lm_head.weight"
    for n in range(layers):
        named |= {f"blk.{n}.{ours}.weight": f"model.layers.{n}.{theirs}.weight" for ours, theirs in _BLOCK.items()}
        biases = {f"blk.{n}.{ours}.bias": f"model.layers.{n}.{theirs}.bias" for ours, theirs in _BLOCK.items()}
        named |= {ours: theirs for ours, theirs in biases.items() if theirs in weights}
    for ours, theirs in named.items():
        if ours in leave_out or theirs not in weights:  # norms of queries and keys, an output that is the embedding
            continue
        matrix = weights[theirs].astype(np.float32)
        if architecture == "llama" and ("attn_q" in ours or "attn_k" in ours):
            matrix = _permuted(matrix, heads if "attn_q" in ours else kv_heads)
        if ours in cut:
            matrix = matrix[: len(matrix) // 2]
        own = blocks(ours) if callable(blocks) else blocks
        if own and matrix.ndim == 2:
            kind = gguf.GGMLQuantizationType[own]
            stored = _K_QUANTS[own](matrix) if own in _K_QUANTS else gguf.quantize(matrix, kind)
            writer.add_tensor(ours, stored, raw_dtype=kind)
        else:
            writer.add_tensor(ours, matrix)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if tensors_a_part:
        return min(file.parent.glob(f"{file.stem}-00001-of-*.gguf"))
    return file


def _permuted(matrix: np.ndarray, heads: int) -> np.ndarray:
    """llama.cpp turns pairs of neighbours, transformers halves of a head."""
    rows = matrix.shape[0]
    return matrix.reshape(heads, 2, rows // heads // 2, -1).swapaxes(1, 2).reshape(matrix.shape).copy()


def q4_k(matrix: np.ndarray) -> np.ndarray:
    """A matrix (N, K) as blocks (N, K / 256 * 144) of Q4_K, which `gguf` reads and does not write; rounded to nearest."""
    n = len(matrix)
    groups = matrix.reshape(n, -1, 8, 32)
    least = np.maximum(-groups.min(-1), 0)
    scale = (groups.max(-1) + least) / 15
    top, low = (np.maximum(part.max(-1, keepdims=True) / 63, 1e-6).astype(np.float16) for part in (scale, least))
    s, m = np.rint(scale / top.astype(np.float32)), np.rint(least / low.astype(np.float32))
    over = np.maximum(top.astype(np.float32) * s, 1e-9)[..., None]
    q = np.rint((groups + (low.astype(np.float32) * m)[..., None]) / over).clip(0, 15).astype(np.uint8)
    s, m = (part.clip(0, 63).astype(np.uint8) for part in (s, m))
    firsts = [part[..., :4] | (part[..., 4:] >> 4 << 6) for part in (s, m)]
    packed = np.concatenate([*firsts, (s[..., 4:] & 15) | (m[..., 4:] << 4)], -1)
    pairs = q.reshape(n, -1, 4, 2, 32)
    numbers = (pairs[..., 0, :] | (pairs[..., 1, :] << 4)).reshape(n, -1, 128)
    return np.concatenate([top.view(np.uint8), low.view(np.uint8), packed, numbers], -1).reshape(n, -1)


def q6_k(matrix: np.ndarray) -> np.ndarray:
    """As `q4_k`, of Q6_K: (N, K / 256 * 210)."""
    n = len(matrix)
    groups = matrix.reshape(n, -1, 16, 16)
    scale = np.abs(groups).max(-1) / 31
    top = np.maximum(scale.max(-1, keepdims=True) / 127, 1e-6).astype(np.float16)
    s = np.rint(scale / top.astype(np.float32)).clip(0, 127)
    over = np.maximum(top.astype(np.float32) * s, 1e-9)[..., None]
    q = (np.rint(groups / over).clip(-32, 31) + 32).astype(np.uint8).reshape(n, -1, 2, 4, 32)
    low = np.concatenate([(q[:, :, :, i] & 15) | (q[:, :, :, i + 2] << 4) for i in (0, 1)], -1).reshape(n, -1, 128)
    high = sum((q[:, :, :, i] >> 4) << (2 * i) for i in range(4)).astype(np.uint8).reshape(n, -1, 64)
    return np.concatenate([low, high, s.astype(np.int8).view(np.uint8), top.view(np.uint8)], -1).reshape(n, -1)


_K_QUANTS = {"Q4_K": q4_k, "Q6_K": q6_k}

"""Very small random models of many architectures, in memory: what the decoder has to get right for each of them."""

from __future__ import annotations

from typing import Any

WINDOW = 8
"""Sliding window of the families that have one: shorter than every prompt in the tests."""

_COMMON: dict[str, Any] = {
    "vocab_size": 300,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "initializer_range": 0.15,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "tie_word_embeddings": False,
}
_LONGROPE = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0] * 8, "long_factor": [2.0] * 8}
_LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}

DRIVABLE: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", {}),
    "llama-tied": ("LlamaConfig", {"tie_word_embeddings": True, "rope_parameters": _LLAMA3_ROPE}),
    "mistral": ("MistralConfig", {"sliding_window": WINDOW}),
    "qwen2": ("Qwen2Config", {}),
    "qwen2-sliding": ("Qwen2Config", {"use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 2}),
    "qwen3": ("Qwen3Config", {"head_dim": 24}),
    "gemma2": ("Gemma2Config", {"head_dim": 24, "sliding_window": WINDOW, "tie_word_embeddings": True}),
    "gemma3": (
        "Gemma3TextConfig",
        {
            "head_dim": 24,
            "sliding_window": WINDOW,
            "tie_word_embeddings": True,
            "layer_types": ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"],
        },
    ),
    "phi3": ("Phi3Config", {}),
    "phi3-longrope": ("Phi3Config", {"rope_parameters": _LONGROPE, "original_max_position_embeddings": 128}),
    "olmo2": ("Olmo2Config", {}),
    "granite": ("GraniteConfig", {"embedding_multiplier": 3.0, "residual_multiplier": 0.5, "logits_scaling": 2.0}),
    "gpt-oss": (  # experts that return their routing; attention sinks
        "GptOssConfig",
        {
            "head_dim": 16,
            "sliding_window": WINDOW,
            "num_local_experts": 4,
            "num_experts_per_tok": 2,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        },
    ),
    "qwen3-moe": ("Qwen3MoeConfig", {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 48}),
}
"""Families whose layers the decoder drives itself."""

OTHER: dict[str, tuple[str, dict[str, Any]]] = {
    "cohere": ("CohereConfig", {}),  # attention and MLP side by side
    "gpt2": ("GPT2Config", {}),  # learnt positions; sub-layers under other names
    "gpt-neo": (  # a window that is counted in rows, not in positions: no trees
        "GPTNeoConfig",
        {"attention_types": [[["global", "local"], 2]], "window_size": WINDOW, "num_layers": 4, "num_heads": 4},
    ),
    "bloom": ("BloomConfig", {}),  # positions from the padding mask, so no tree
}
"""Families that run through their own forward only."""

MORE: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt-neox": ("GPTNeoXConfig", {}),
    "opt": ("OPTConfig", {"ffn_dim": 96, "word_embed_proj_dim": 64}),
    "falcon-alibi": ("FalconConfig", {"alibi": True, "num_kv_heads": 2}),
    "xglm": ("XGLMConfig", {"d_model": 64, "ffn_dim": 96, "num_layers": 4, "attention_heads": 4}),
    "biogpt": ("BioGptConfig", {}),
    "mpt": ("MptConfig", {"d_model": 64, "n_layers": 4, "n_heads": 4, "max_seq_len": 256}),
}
"""More of them, looked at in less detail."""


def tiny_family(family: str, *, dtype: str = "float32", seed: int = 0, **changes: Any) -> Any:
    """A `LoadedModel` without a tokenizer: 4 layers, hidden 64, GQA 4:2 where the family has it.

    `changes` are made to its configuration. All vectors (norms, biases) are random as well: a norm in the wrong place shows.
    """
    import torch
    import transformers

    from decoding.models.loading import LoadedModel

    class_name, special = {**DRIVABLE, **OTHER, **MORE}[family]
    config = getattr(transformers, class_name)(**{**_COMMON, **special, **changes})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=getattr(torch, dtype))
        model.eval().requires_grad_(False)
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn(parameter.shape).to(parameter.dtype) * 0.3)
    return LoadedModel(
        name=f"hf:{family}",
        model=model,
        tokenizer=None,  # type: ignore[arg-type]
        fingerprint=f"{family}-{dtype}-{seed}-{changes}",
        context_tokens=_COMMON["max_position_embeddings"],
        eos_ids=frozenset((2,)),
        device="cpu",
        dtype=dtype,
    )

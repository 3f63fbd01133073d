"""Real configurations with random weights: for timing steps where the weights themselves cannot be had.

The time of a step depends on shapes, precision and machine, not on what the weights say. Acceptance does, so nothing about
drafting quality can be learnt from these.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, cast

from data.errors import UserError
from decoding.models.loading import LOW_BITS, LoadedModel, check_dtype, lowered

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig, PreTrainedTokenizerBase

SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "S": ("llama", {"hidden_size": 288, "intermediate_size": 832, "num_hidden_layers": 16, "num_attention_heads": 6,
                    "num_key_value_heads": 3, "vocab_size": 8192, "max_position_embeddings": 4096,
                    "tie_word_embeddings": True}),
    "M": ("llama", {"hidden_size": 512, "intermediate_size": 1664, "num_hidden_layers": 24, "num_attention_heads": 8,
                    "num_key_value_heads": 4, "vocab_size": 16384, "max_position_embeddings": 4096,
                    "tie_word_embeddings": True}),
    "llama-7b": ("llama", {"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
                           "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32000,
                           "max_position_embeddings": 4096, "tie_word_embeddings": False}),
    "llama-13b": ("llama", {"hidden_size": 5120, "intermediate_size": 13824, "num_hidden_layers": 40,
                            "num_attention_heads": 40, "num_key_value_heads": 40, "vocab_size": 32000,
                            "max_position_embeddings": 4096, "tie_word_embeddings": False}),
    "qwen-14b": ("qwen2", {"hidden_size": 5120, "intermediate_size": 13824, "num_hidden_layers": 48,
                           "num_attention_heads": 40, "num_key_value_heads": 8, "vocab_size": 152064,
                           "max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1e6,
                           "tie_word_embeddings": False}),
}  # fmt: skip
"""Name -> (model type, configuration). S and M are the two models of the decoding note, section 8; the others have the
published shapes of Llama-2-7B, Llama-2-13B and Qwen2.5-14B."""


def random_model(name: str, *, device: str = "auto", dtype: str = "auto", seed: int = 0) -> LoadedModel:
    """A model of a named shape, made directly on its device in its precision: nothing is written, nothing copied.

    `auto` dtype is bfloat16 on an accelerator, float32 on the CPU. There is no tokenizer: prompts are token ids.

    Raises UserError: an unknown name, device or dtype, or no memory for the weights.
    """
    if name not in SHAPES:
        raise UserError(f"unknown shape {name!r}; choose one of {', '.join(SHAPES)}")
    model_type, values = SHAPES[name]
    return random_weights(f"shape:{name}", model_type, values, device=device, dtype=dtype, seed=seed)


def random_weights(
    label: str, model_type: str, values: dict[str, Any], *, device: str = "auto", dtype: str = "auto", seed: int = 0
) -> LoadedModel:
    """`random_model` for any configuration that transformers knows."""
    import torch
    from transformers import AutoConfig

    place = check_dtype(dtype, device)
    if dtype in LOW_BITS:
        return lowered(random_weights(label, model_type, values, device="cpu", dtype="float32", seed=seed), dtype)
    if dtype == "auto":
        dtype = "float32" if place.type == "cpu" else "bfloat16"
    config: PreTrainedConfig = AutoConfig.for_model(model_type, **values)
    config._attn_implementation = "sdpa"
    try:
        model = _made(config, place, getattr(torch, dtype), seed)
    except RuntimeError as error:  # torch.OutOfMemoryError is one; the CPU's allocator raises the plain class
        raise UserError(f"{label} in {dtype} does not fit into the memory of {place}; choose a smaller shape") from error
    described = f"{label} {model_type} {sorted(values.items())} seed={seed} {dtype}"
    return LoadedModel(
        name=label,
        model=model,
        tokenizer=cast("PreTrainedTokenizerBase", None),
        fingerprint=hashlib.sha256(described.encode()).hexdigest(),
        context_tokens=config.max_position_embeddings,
        eos_ids=frozenset(),
        device=str(place),
        dtype=dtype,
    )


def _made(config: PreTrainedConfig, device: torch.device, dtype: torch.dtype, seed: int) -> Any:
    """Modules without weights first, so that no library initialiser runs over billions of numbers on one CPU thread."""
    import torch
    from transformers import AutoModelForCausalLM, GenerationConfig

    with torch.device("meta"):
        model: Any = AutoModelForCausalLM.from_config(config, dtype=dtype)
    model.to_empty(device=device)
    for module in model.modules():  # buffers computed at construction are lost on meta
        for child_name, child in list(module.named_children()):
            if hasattr(child, "inv_freq"):
                setattr(module, child_name, type(child)(config=config).to(device))
    model.tie_weights()
    generator = torch.Generator(device).manual_seed(seed)
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            if parameter.ndim > 1:
                parameter.normal_(0.0, config.initializer_range, generator=generator)
            elif parameter_name.endswith("bias"):
                parameter.zero_()
            else:
                parameter.fill_(1.0)  # norms
    model.generation_config = GenerationConfig()
    return model.eval().requires_grad_(False)

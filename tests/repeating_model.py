"""A small Llama whose weights are written down: it repeats itself, and two of its layers can be left out without a change.

What training would teach by chance is put in by hand, so that drafts are right by a margin on every machine:

- Its embeddings are random directions, and its head reads from the embedding of a token the next one of a ring of `RING`
  tokens: left alone, the model goes round. So there is something to copy and to recycle.
- Layers 0 and 3 are random and speak about as loudly as the embeddings: now and then the text leaves its ring for another,
  and where depends on all that came before. A token at a wrong position, or a wrong entry in the cache, gives another text.
- Layers 1 and 2 are as random, but `QUIET` times as loud: without them every choice is the same, as long as the first choice
  leads by more than they say.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.tiny_model import train_tokenizer

RING = 6
LOUD, QUIET = 0.7, 0.0005
SEED = 8
"""Of ten, the one whose choices lead by most where half of them depend on the prompt (`test_lossless` holds it to that)."""
QUIET_LAYERS = (1, 2)
HIDDEN, HEAD, INNER = 64, 16, 96


def build_repeating_model(folder: Path, *, vocab_from: Sequence[str], context_tokens: int = 1024) -> Path:
    """Write the model (4 layers, hidden 64, GQA 4:2, float32) and a tokenizer trained on `vocab_from`, with a chat template.

    numpy draws the numbers, as torch's differ in their last bits from one kind of CPU to the next. No special token is ever
    chosen, so that every text is as long as it may be.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = train_tokenizer(vocab_from, chat_template=True, context_tokens=context_tokens)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        intermediate_size=INNER,
        num_hidden_layers=4,
        num_attention_heads=HIDDEN // HEAD,
        num_key_value_heads=2,
        head_dim=HEAD,
        max_position_embeddings=context_tokens,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config)
    rng = np.random.default_rng(SEED)

    def drawn(*shape: int, scale: float = 1.0) -> torch.Tensor:
        """Normal, of variance `scale`^2 / columns: a vector of entries of size 1 becomes one of entries of size `scale`."""
        return torch.from_numpy((rng.standard_normal(shape) * scale / shape[-1] ** 0.5).astype(np.float32))

    with torch.no_grad():
        embeddings = drawn(len(tokenizer), HIDDEN, scale=HIDDEN**0.5)
        model.model.embed_tokens.weight.copy_(embeddings)
        for at, layer in enumerate(model.model.layers):
            scale = LOUD * (QUIET if at in QUIET_LAYERS else 1.0)
            attention, mlp = layer.self_attn, layer.mlp
            for sharp in (attention.q_proj, attention.k_proj):
                sharp.weight.copy_(drawn(*sharp.weight.shape, scale=1.5))
            attention.v_proj.weight.copy_(drawn(*attention.v_proj.weight.shape, scale=2.0))
            attention.o_proj.weight.copy_(drawn(*attention.o_proj.weight.shape, scale=scale))
            for inner in (mlp.gate_proj, mlp.up_proj):
                inner.weight.copy_(drawn(*inner.weight.shape))
            mlp.down_proj.weight.copy_(drawn(*mlp.down_proj.weight.shape, scale=2 * scale))
        head = torch.zeros_like(embeddings)
        specials = set(tokenizer.all_special_ids)
        words = [token for token in range(len(tokenizer)) if token not in specials]
        for start in range(0, len(words), RING):
            ring = words[start : start + RING]
            for here, token in enumerate(ring):
                head[ring[(here + 1) % len(ring)]] = embeddings[token] / HIDDEN**0.5
        model.lm_head.weight.copy_(head)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Path(folder)

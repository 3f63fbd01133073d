"""A very small language model on disk: random weights, a real tokenizer, the files that a real checkpoint has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def build_tiny_model(
    folder: Path,
    *,
    chat_template: bool,
    vocab_from: Sequence[str],
    context_tokens: int = 1024,
    seed: int = 0,
    layers: int = 4,
    padding: int = 0,
) -> Path:
    """Write a random Llama (hidden 64, GQA 4:2, float32) and a byte-level BPE trained on `vocab_from`.

    With a single layer a step takes a third of the time: for tests that ask for texts, whatever makes them.

    The initial weights are wide (0.15), so that greedy text depends on the prompt and does not repeat one token. With a
    chat template the tokenizer has `<|im_start|>` and `<|im_end|>`, the latter ending a text. Same arguments, same bytes.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = train_tokenizer(vocab_from, chat_template=chat_template, context_tokens=context_tokens)
    config = LlamaConfig(
        vocab_size=len(tokenizer) + padding,
        hidden_size=64,
        intermediate_size=160,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context_tokens,
        initializer_range=0.15,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=False,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Path(folder)


def train_tokenizer(vocab_from: Iterable[str], *, chat_template: bool, context_tokens: int, vocab_size: int = 800):
    """A byte-level BPE with the special tokens of these models, as transformers' fast tokenizer."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    specials = ["<pad>", "<s>", "</s>"] + (["<|im_start|>", "<|im_end|>"] if chat_template else [])
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[AddedToken(token, special=True) for token in specials],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(vocab_from, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", backend.token_to_id("<s>"))]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="<|im_end|>" if chat_template else "</s>",
        pad_token="<pad>",
        model_max_length=context_tokens,
    )
    if chat_template:
        tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer

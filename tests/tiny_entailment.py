"""Very small entailment models on disk: random weights, real tokenizers, the files that real checkpoints have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

WORDS = (
    "The ferry Marisol sank on Lake Tanda on 14 March 2019 with 1,240 people aboard. Captain Jonas Weller had warned the owner "
    "about the damaged hull two weeks earlier. premise: hypothesis: predict: 0 1"
)


def build_classifier(folder: Path, labels: Sequence[str] = (), *, context_tokens: int = 128, n_labels: int = 0) -> Path:
    """A random BERT (2 layers, hidden 32) with one output per label, by name; `n_labels` of them without names instead."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    tokenizer = _tokenizer(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ("[PAD]", "[UNK]", "[CLS]", "[SEP]"), context_tokens
    )
    names = {"id2label": dict(enumerate(labels)), "label2id": {name: i for i, name in enumerate(labels)}}
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=context_tokens,
        initializer_range=0.5,
        pad_token_id=tokenizer.pad_token_id,
        **(names if labels else {"num_labels": n_labels}),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def build_t5(folder: Path) -> Path:
    """A random T5 (2 + 2 layers, width 32) with a tokenizer that knows "0" and "1"."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    tokenizer = _tokenizer("$A </s>", "$A </s> $B </s>", ("<pad>", "<unk>", "</s>"), 512)
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=tokenizer.pad_token_id,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        initializer_factor=1.0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(single: str, pair: str, specials: Sequence[str], context_tokens: int) -> Any:
    """Byte-level BPE; the last special token ends a text, the first one pads."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=[AddedToken(token, special=True) for token in specials],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator([WORDS], trainer)
    backend.post_processor = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=[(token, backend.token_to_id(token)) for token in specials]
    )
    ends: dict[str, Any] = {}
    if "[CLS]" in specials:
        ends = {"sep_token": specials[-1], "cls_token": specials[-2]}
        ends["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=specials[0],
        unk_token=specials[1],
        eos_token=specials[-1],
        model_max_length=context_tokens,
        **ends,
    )

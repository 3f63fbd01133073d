"""The tokenizer: byte-level BPE, digits in ones and twos, a marker in one token, no unknown token."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from decoding.embedded.prompt import CHAT_TEMPLATE, marker
from decoding.training.corpus import Document

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_MARKER = r" \[\p{N}{1,2}\]"
_PATTERN = (
    rf"{_MARKER}|"
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
"""GPT-4's division into words with digits in ones and twos (as nanochat): a small vocabulary has no room for thousands. A
marker is a word of its own."""
MARKERS = 40
"""The markers of so many passages are one token each, so that the word and the full stop before it tell which one follows."""
_MARKERS_OFTEN = 50_000
_CHARS_A_MARKER = 32
"""Each marker is seen so often, but once in 32 characters of a short text: no pair of letters is more frequent in English than
that ("th" and "he" are 1 in 40), so their merges come first; more of them would only take time."""
_SAMPLE_CHARS = 16_000_000
"""More text hardly changes the merges."""


def train_tokenizer(documents: Sequence[Document], *, vocab_size: int, context_tokens: int) -> PreTrainedTokenizerFast:
    """Learn the merges from a part of every document, so that no source decides alone."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    backend.train_from_iterator(
        _samples(documents),
        trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=[AddedToken(token, special=True) for token in ("<pad>", "<s>", "</s>")],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", backend.token_to_id("<s>"))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        model_max_length=context_tokens,
        clean_up_tokenization_spaces=False,
        chat_template=CHAT_TEMPLATE,
    )


def byte_lengths(tokenizer: PreTrainedTokenizerFast) -> list[int]:
    """Bytes of text that each token stands for, (V,): one character of a byte-level token is one byte, special ones are 0."""
    special = set(tokenizer.all_special_ids)
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    return [0 if at in special else len(token) for at, token in enumerate(tokens)]


def _samples(documents: Sequence[Document]) -> Iterable[str]:
    n_chars = max(1, sum(len(document.text) for document in documents))
    often = min(_MARKERS_OFTEN, 1 + n_chars // _CHARS_A_MARKER)
    yield "".join(f" {marker(number)}" for number in range(1, MARKERS + 1)) * often
    share = min(1.0, _SAMPLE_CHARS / n_chars)
    yield from (document.full_text[: int(share * len(document.full_text)) + 1] for document in documents)

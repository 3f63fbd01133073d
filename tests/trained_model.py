"""A small language model that has really learnt something, trained on the spot: drafts for it are right often, not by luck.

    python -m tests.trained_model --corpus FILE.jsonl.xz --minutes 50 --layers 16 --hidden 256 --vocab 8192 --out DIR

A third of its training sequences are writing tasks made from the documents themselves: numbered passages, then sentences
copied from them, each with its `[number]`. Sub-layers are dropped at random, deeper ones more often (LayerSkip, Elhoushi et
al. 2024, section 3.1), so that the model still predicts when some are skipped.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.sentences import split_sentences
from data.types import Heading, Outline
from decoding.models import quiet_loading
from pipeline import prompts
from tests.tiny_model import train_tokenizer

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

TOKENS_PER_STEP = 2048
LENGTHS = (512, 512, 1024)
"""Tokens of a training sequence; drawn for each step, so that copying over some distance is learnt as well."""
MOST_PASSAGES = 4
PEAK_RATE = 0.4
"""Of learning, over the model's width: 1.6e-3 at 256, 6e-3 at 64."""
VOCABULARY_CHARS = 12_000_000
"""Text that the tokenizer is trained on; more does not change its merges much."""


@dataclass(frozen=True, slots=True)
class Document:
    title: str
    text: str


def read_corpus(path: Path) -> list[Document]:
    """One JSON object a line with `title` and `text`, as .xz."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [Document(entry["title"], entry["text"]) for entry in map(json.loads, lines)]


def train_small_model(
    folder: Path,
    documents: Sequence[Document],
    *,
    n_layers: int = 4,
    hidden: int = 64,
    vocab_size: int = 1024,
    context: int = 2048,
    steps: int | None = None,
    minutes: float | None = None,
    seed: int = 0,
    layer_dropout: float = 0.4,
    tokens_per_step: int = TOKENS_PER_STEP,
    save_minutes: float = 10.0,
    log: Callable[[dict[str, float]], None] | None = None,
) -> Path:
    """Train a Llama (tied embeddings, two query heads for each key head) for `steps` or `minutes`, whichever ends first.

    `layer_dropout` is the rate of the deepest layer. `folder` is a whole model at any time from the first save on: with a
    limit in minutes it is saved every `save_minutes`, always at the end.
    """
    import torch

    assert steps or minutes, "say when to stop"
    rng = random.Random(seed)
    documents = rng.sample(documents, len(documents))
    held = max(1, len(documents) // 100)
    tokenizer = train_tokenizer(_some_text(documents), chat_template=True, context_tokens=context, vocab_size=vocab_size)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _new_model(tokenizer, n_layers, hidden, context)
    lengths = tuple(min(length, context) for length in LENGTHS)
    sequences = Sequences(tokenizer, documents[held:], rng)
    checks = Sequences(tokenizer, documents[:held], random.Random(seed))
    held_out = {"text": checks.text(lengths[0])[None], "task": checks.task(lengths[0])[None]}
    byte_counts = _byte_counts(tokenizer)
    optimizer = _optimizer(model)

    started = saved = logged = time.monotonic()
    step = n_tokens = 0
    while True:
        done = max(step / steps if steps else 0.0, (time.monotonic() - started) / (60 * minutes) if minutes else 0.0)
        if done >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = PEAK_RATE / hidden * min(1.0, (step + 1) / 30, 1.25 * (1 - done))
        length = min(rng.choice(lengths), tokens_per_step)
        batch = sequences.batch(tokens_per_step // length, length)
        bits = _train_step(model, optimizer, batch, byte_counts, _dropped(n_layers, layer_dropout, rng))
        step, n_tokens = step + 1, n_tokens + batch.numel()
        if log is not None and step % 50 == 0:
            now = time.monotonic()
            checked = {f"{kind}_bits_per_byte": _bits_per_byte(model, ids, byte_counts) for kind, ids in held_out.items()}
            log({"step": step, "done": done, "train_bits_per_byte": bits, **checked, "tokens_per_s": n_tokens / (now - logged)})
            n_tokens, logged = 0, time.monotonic()
        if minutes and time.monotonic() - saved > 60 * save_minutes:
            _save(model, tokenizer, folder)
            saved = time.monotonic()
    _save(model, tokenizer, folder)
    return folder


class Sequences:
    """Token sequences of a given length without end, from documents in random order."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, documents: Sequence[Document], rng: random.Random) -> None:
        self._tokenizer, self._documents, self._rng = tokenizer, documents, rng
        self._with_passages = [document for document in documents if len(_paragraphs(document)) >= MOST_PASSAGES]
        assert self._with_passages, "no document has paragraphs enough for a task"
        self._running: list[int] = []
        self._texts = self._shuffled()

    def batch(self, n: int, length: int) -> torch.Tensor:
        """(n, length); each sequence is text, or with probability 1/3 tasks."""
        import torch

        return torch.stack([self.task(length) if self._rng.random() < 1 / 3 else self.text(length) for _ in range(n)])

    def text(self, length: int) -> torch.Tensor:
        """Running text: documents one after the other, cut anywhere."""
        import torch

        while len(self._running) < length:
            document = next(self._texts)
            ids = self._encode(f"{document.title}\n\n{document.text}")
            self._running += [self._tokenizer.bos_token_id, *ids, self._tokenizer.eos_token_id]
        ids, self._running = self._running[:length], self._running[length:]
        return torch.tensor(ids)

    def task(self, length: int) -> torch.Tensor:
        """Whole tasks as far as they fit; the last is cut, and none begins in the middle."""
        import torch

        ids: list[int] = []
        while len(ids) < length:
            ids += self._encode(self._task(max_chars=3 * length))
        return torch.tensor(ids[:length])

    def _shuffled(self) -> Iterator[Document]:
        while True:
            yield from self._rng.sample(self._documents, len(self._documents))

    def _task(self, max_chars: int) -> str:
        """A conversation: passages of one document, and a section whose sentences are theirs."""
        document, passages = self._passages(max_chars)
        numbered = [prompts.Numbered(k, document.title, text) for k, text in enumerate(passages, start=1)]
        block = prompts.evidence_block(numbered, lambda text: text)
        # the block's own words: it changes white space and brackets
        shown = [
            (k, sentence) for k, text in enumerate(passages, start=1) for sentence in split_sentences(" ".join(text.split()))
        ]
        shown = [(k, sentence) for k, sentence in shown if 30 < len(sentence) < 400 and sentence in block]
        chosen = self._rng.sample(shown, min(len(shown), self._rng.randint(2, 6)))
        answer = " ".join(f"{sentence} [{k}]" for k, sentence in chosen)
        plan = Outline(document.title, (Heading("Background"),))
        asked = prompts.section(document.title, plan, "Background", block, 150)
        messages = [*({"role": m.role, "content": m.content} for m in asked), {"role": "assistant", "content": answer}]
        return str(self._tokenizer.apply_chat_template(messages, tokenize=False))

    def _passages(self, max_chars: int) -> tuple[Document, list[str]]:
        """Three or four neighbouring paragraphs, cut at sentences, of `max_chars` together at most half."""
        wanted = self._rng.randint(3, MOST_PASSAGES)
        each = max_chars // 2 // wanted
        document = self._rng.choice(self._with_passages)
        paragraphs = _paragraphs(document)
        at = self._rng.randint(0, len(paragraphs) - wanted)
        passages = []
        for paragraph in paragraphs[at : at + wanted]:
            kept = ""
            for sentence in split_sentences(paragraph[: 2 * each]):
                if kept and len(kept) + len(sentence) > each:
                    break
                kept = f"{kept} {sentence}".strip()
            passages.append(kept)
        self._rng.shuffle(passages)
        return document, passages

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False, verbose=False).input_ids)


def _paragraphs(document: Document) -> list[str]:
    return [line for line in document.text.split("\n") if len(line) > 80]


def _train_step(
    model: Any, optimizer: torch.optim.Optimizer, batch: torch.Tensor, byte_counts: torch.Tensor, dropped: set[tuple[str, int]]
) -> float:
    """One update; returns bits per byte of the batch."""
    import torch

    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = _losses(model, batch, dropped).sum()
    optimizer.zero_grad(set_to_none=True)
    (loss / batch[:, 1:].numel()).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach()) / math.log(2) / int(byte_counts[batch[:, 1:]].sum())


def _bits_per_byte(model: Any, ids: torch.Tensor, byte_counts: torch.Tensor) -> float:
    """Of ids (B, T) under the whole model."""
    import torch

    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        return float(_losses(model, ids, set()).sum()) / math.log(2) / int(byte_counts[ids[:, 1:]].sum())


def _losses(model: Any, ids: torch.Tensor, dropped: set[tuple[str, int]]) -> torch.Tensor:
    """Cross-entropy in nats of each next token, (B * (T - 1),), with the `dropped` sub-layers left out."""
    import torch

    inner = model.model
    states = inner.embed_tokens(ids[:, :-1])  # (B, T - 1, D)
    around = inner.rotary_emb(states, torch.arange(ids.shape[1] - 1)[None])
    for at, layer in enumerate(inner.layers):
        if ("attention", at) not in dropped:
            normed = layer.input_layernorm(states)
            states = states + layer.self_attn(normed, position_embeddings=around, attention_mask=None)[0]
        if ("mlp", at) not in dropped:
            states = states + layer.mlp(layer.post_attention_layernorm(states))
    logits = model.lm_head(inner.norm(states))
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten(), reduction="none")


def _dropped(n_layers: int, deepest: float, rng: random.Random) -> set[tuple[str, int]]:
    """Sub-layers to leave out of one step: never of the first layer, with the rate `deepest` in the last.

    A quarter of the steps sees the whole model, which is the one that has the last word.
    """
    if rng.random() < 0.25:
        return set()
    rates = [deepest * (math.exp(at * math.log(2) / max(1, n_layers - 1)) - 1) for at in range(n_layers)]
    return {(kind, at) for at, rate in enumerate(rates) for kind in ("attention", "mlp") if rng.random() < rate}


def _new_model(tokenizer: PreTrainedTokenizerBase, n_layers: int, hidden: int, context: int) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    n_heads = max(2, hidden // 64)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=hidden,
            intermediate_size=8 * hidden // 3 // 32 * 32,
            num_hidden_layers=n_layers,
            num_attention_heads=n_heads,
            num_key_value_heads=n_heads // 2,
            max_position_embeddings=context,
            initializer_range=0.5 * hidden**-0.5,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            tie_word_embeddings=True,
        )
    ).train()


def _optimizer(model: Any) -> torch.optim.Optimizer:
    import torch

    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.95))


def _byte_counts(tokenizer: PreTrainedTokenizerBase) -> torch.Tensor:
    """(V,): bytes of text that each token stands for; a byte is one character of a byte-level token."""
    import torch

    special = set(tokenizer.all_special_ids) | set(tokenizer.added_tokens_decoder)
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    return torch.tensor([0 if at in special else len(token) for at, token in enumerate(tokens)])


def _some_text(documents: Sequence[Document]) -> Iterator[str]:
    left = VOCABULARY_CHARS
    for document in documents:
        yield document.text[:left]
        left -= len(document.text)
        if left <= 0:
            return


def _save(model: Any, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """File by file replaced, so that whoever loads the folder meanwhile finds whole files."""
    folder.mkdir(parents=True, exist_ok=True)
    half = folder / ".saving"
    with quiet_loading():
        model.save_pretrained(half)
    tokenizer.save_pretrained(half)
    for path in sorted(half.iterdir()):
        path.replace(folder / path.name)
    shutil.rmtree(half)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.trained_model", description="Train a small language model.")
    parser.add_argument("--corpus", type=Path, required=True, help="documents as .jsonl.xz with title and text")
    parser.add_argument("--out", type=Path, required=True, help="model folder to write")
    parser.add_argument("--minutes", type=float, default=50)
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--vocab", type=int, default=8192)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--layer-dropout", type=float, default=0.4)
    parser.add_argument("--seed", type=int, default=0)
    words = parser.parse_args()

    def log(line: dict[str, float]) -> None:
        sys.stderr.write(json.dumps({key: round(value, 4) for key, value in line.items()}) + "\n")
        sys.stderr.flush()

    train_small_model(
        words.out,
        read_corpus(words.corpus),
        n_layers=words.layers,
        hidden=words.hidden,
        vocab_size=words.vocab,
        context=words.context,
        minutes=words.minutes,
        seed=words.seed,
        layer_dropout=words.layer_dropout,
        log=log,
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

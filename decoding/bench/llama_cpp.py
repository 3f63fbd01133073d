"""llama.cpp on the same GGUF file, as a peer: its passes, its greedy texts, and drafting from n-grams.

It is asked through a Python package that holds it (`llama_bindings`); another build of it has other times.

llama.cpp          greedy, one token a pass
llama.cpp-ngram    prompt lookup, verified in one pass: through cyllama as llama.cpp's `examples/lookup` does it
                   (`common/ngram-cache`: n-grams of 1 to 4 tokens of prompt and answer, at most 16 drafted tokens), through
                   llama-cpp-python its own `LlamaPromptLookupDecoding` (n-grams of 1 and 2 tokens, at most 10)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from decoding.api import DecodeStats, SamplingParams
from decoding.bench.llama_bindings import Binding, binding

if TYPE_CHECKING:
    from decoding.local import Decode

LLAMA_CPP, LLAMA_CPP_NGRAM = "llama.cpp", "llama.cpp-ngram"
NAMES = (LLAMA_CPP, LLAMA_CPP_NGRAM)
DRAFTED = 16
"""llama.cpp's default for drafts (`--draft-max`)."""
_LEAST, _MOST = 1, 4
"""Sizes of its n-grams (`LLAMA_NGRAM_MIN`, `LLAMA_NGRAM_MAX`)."""


class LlamaCpp:
    """One context of llama.cpp. Implements `decoding.bench.step_timings.Steps`.

    Raises UserError where no package holds it, or there is no GGUF `file`.
    """

    def __init__(self, file: Path | None, capacity: int, threads: int) -> None:
        if file is None:
            raise UserError(f"{LLAMA_CPP} reads GGUF files; name the model as gguf:FILE, or by its name (wikigenben models)")
        self._binding: Binding = binding()(file, capacity, threads)
        self.name = f"{LLAMA_CPP} ({self._binding.name})"
        self.n = 0
        """Tokens that stay: those of a prompt, and of a text what was committed."""

    def forget(self) -> None:
        self._binding.clear()
        self.n = 0

    def read(self, ids: Sequence[int]) -> None:
        self._binding.run(ids, 0, all_logits=False)
        self.n = len(ids)

    def step(self, ids: Sequence[int]) -> None:
        self._binding.cut(self.n)
        self._binding.run(ids, self.n, all_logits=True)

    def chosen(self, row: int) -> int:
        """The most probable token after a row of the last pass; -1 is its last one."""
        return self._binding.chosen(row)

    def ngrams(self) -> Any:
        return self._binding.ngrams()


def llama_cpp_texts(name: str, engine: LlamaCpp) -> Decode:
    """Whole greedy texts of the peer `name`, for `decoding.bench.timed_runs`."""

    def decode(prompt: Sequence[int], sampling: SamplingParams, take: Callable[[int], bool]) -> DecodeStats:
        engine.forget()
        begun = time.perf_counter()
        engine.read(prompt)
        text = [*prompt, engine.chosen(-1)]
        read = time.perf_counter()
        end = len(prompt) + sampling.max_new_tokens
        ngrams = engine.ngrams() if name == LLAMA_CPP_NGRAM else None
        n_known = 0
        going = take(text[-1])
        while going and len(text) < end:
            draft: list[int] = []
            if ngrams is not None:
                ngrams.update(text, _LEAST, _MOST, len(text) - n_known)
                n_known = len(text)
                # it looks at the last few tokens only, and a binding copies what it is given
                draft = ngrams.draft(text[-8:], DRAFTED, _LEAST, _MOST)[: end - len(text) - 1]
            engine.step([text[-1], *draft])
            given = 0
            for row, guess in enumerate([*draft, None]):
                token = engine.chosen(row)
                text.append(token)
                given += 1
                going = take(token)
                if not going or token != guess:
                    break
            engine.n += given
        ended = time.perf_counter()
        return DecodeStats(total_s=ended - begun, prefill_s=read - begun, decode_s=ended - read)

    return decode


def build(file: Path) -> str:
    """Which llama.cpp it is, for the conditions of a figure."""
    return f"{binding().build()}, {file.name}"

"""llama.cpp on the same GGUF file, as a peer: its passes, its greedy texts, and its own drafting from n-grams.

It is asked through `cyllama`, whose wheel holds it (`pip install cyllama`); another build of it has other times.

llama.cpp          greedy, one token a pass
llama.cpp-ngram    prompt lookup as its `examples/lookup` does it: `common/ngram-cache` (n-grams of 1 to 4 tokens of prompt and
                   answer, at most 16 drafted tokens), verified in one pass
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from decoding.api import DecodeStats, SamplingParams

if TYPE_CHECKING:
    from decoding.bench.timed_runs import TimedDecode

LLAMA_CPP, LLAMA_CPP_NGRAM = "llama.cpp", "llama.cpp-ngram"
NAMES = (LLAMA_CPP, LLAMA_CPP_NGRAM)
DRAFTED = 16
"""llama.cpp's default for drafts (`--draft-max`)."""
_LEAST, _MOST = 1, 4
"""Sizes of its n-grams (`LLAMA_NGRAM_MIN`, `LLAMA_NGRAM_MAX`)."""


class LlamaCpp:
    """One context of llama.cpp. Implements `decoding.bench.step_timings.Steps`.

    Raises UserError where cyllama is not installed, or there is no GGUF `file`.
    """

    def __init__(self, file: Path | None, capacity: int, threads: int) -> None:
        if file is None:
            raise UserError(f"{LLAMA_CPP} reads GGUF files; name the model as gguf:FILE, or by its name (wikigenben models)")
        try:
            from cyllama.llama import llama_cpp
        except ImportError as error:
            raise UserError(
                f"{LLAMA_CPP} is asked through cyllama, which cannot be used ({error}); run: pip install cyllama"
            ) from error
        llama_cpp.disable_logging()
        self.name = f"{LLAMA_CPP} (cyllama)"
        self._api: Any = llama_cpp
        self._model = llama_cpp.LlamaModel(str(file), llama_cpp.LlamaModelParams(), verbose=False)
        asked = llama_cpp.LlamaContextParams()
        asked.n_ctx = asked.n_batch = capacity
        asked.n_threads = asked.n_threads_batch = threads
        self._context = llama_cpp.LlamaContext(self._model, asked, verbose=False)
        self._greedy = llama_cpp.LlamaSampler(llama_cpp.LlamaSamplerChainParams())
        self._greedy.add_greedy()
        self.n = 0
        """Tokens that stay: those of a prompt, and of a text what was committed."""

    def forget(self) -> None:
        self._context.kv_cache_clear()
        self.n = 0

    def read(self, ids: Sequence[int]) -> None:
        self._run(ids, 0, all_logits=False)
        self.n = len(ids)

    def step(self, ids: Sequence[int]) -> None:
        self._context.memory_seq_rm(0, self.n, -1)
        self._run(ids, self.n, all_logits=True)

    def chosen(self, row: int) -> int:
        """The most probable token after a row of the last pass; -1 is its last one."""
        return int(self._greedy.sample(self._context, row))

    def ngrams(self) -> Any:
        return self._api.NgramCache()

    def _run(self, ids: Sequence[int], at: int, *, all_logits: bool) -> None:
        batch = self._api.LlamaBatch(n_tokens=len(ids), embd=0, n_seq_max=1)
        for i, token in enumerate(ids):
            batch.add(token, at + i, [0], all_logits or i == len(ids) - 1)
        self._context.decode(batch)
        self._context.synchronize()


def llama_cpp_texts(name: str, engine: LlamaCpp) -> TimedDecode:
    """Whole greedy texts of the peer `name`, for `decoding.bench.timed_runs`."""

    def decode(
        prompt: Sequence[int],
        sampling: SamplingParams,
        take: Callable[[int], bool],
        *,
        on_round: Callable[[int], None] | None = None,
    ) -> DecodeStats:
        engine.forget()
        begun = time.perf_counter()
        engine.read(prompt)
        text = [*prompt, engine.chosen(-1)]
        read = time.perf_counter()
        end = len(prompt) + sampling.max_new_tokens
        ngrams = engine.ngrams() if name == LLAMA_CPP_NGRAM else None
        n_known = 0
        going = take(text[-1])
        if on_round is not None:
            on_round(1)
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
            if on_round is not None:
                on_round(given)
        ended = time.perf_counter()
        return DecodeStats(total_s=ended - begun, prefill_s=read - begun, decode_s=ended - read)

    return decode


def build(file: Path) -> str:
    """Which llama.cpp it is, for the conditions of a figure."""
    import json
    from importlib import metadata, resources

    made = json.loads((resources.files("cyllama") / "build_config.json").read_text(encoding="utf-8"))
    version = made.get("versions", {}).get("llama_cpp_version", "of unknown build")
    return f"{version} in cyllama {metadata.version('cyllama')} (its wheel's build), {file.name}"

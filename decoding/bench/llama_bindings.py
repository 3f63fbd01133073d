"""The Python packages that hold a llama.cpp, behind one face: which is here, and which build of llama.cpp it brings.

llama-cpp-python  comes as source, so that it is compiled for this CPU; it is taken where it is installed:
                  CMAKE_ARGS=-DGGML_NATIVE=ON pip install --no-binary llama-cpp-python llama-cpp-python
cyllama           a wheel, whose generic build leaves AVX-512 unused: half as fast on a CPU that has it
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from importlib import metadata, resources
from pathlib import Path
from typing import Any, Protocol

from data.errors import UserError

INSTALL = "CMAKE_ARGS=-DGGML_NATIVE=ON pip install --no-binary llama-cpp-python llama-cpp-python (or: pip install cyllama)"
_NGRAM_SIZE, _NGRAM_DRAFTED = 2, 10
"""Of llama-cpp-python's prompt lookup, its defaults."""


class Binding(Protocol):
    """One model and one context of a llama.cpp, of a single sequence."""

    name: str

    def clear(self) -> None: ...

    def cut(self, n: int) -> None:
        """Keep the first `n` positions."""
        ...

    def run(self, ids: Sequence[int], at: int, *, all_logits: bool) -> None:
        """Compute `ids` at the positions from `at` on."""
        ...

    def chosen(self, row: int) -> int:
        """The most probable token after a row of the last `run`; -1 is its last one."""
        ...

    def ngrams(self) -> Any:
        """A drafter from n-grams, with the members `update` and `draft` of cyllama's `NgramCache`."""
        ...


class OfCyllama:
    name = "cyllama"

    def __init__(self, file: Path, capacity: int, threads: int) -> None:
        from cyllama.llama import llama_cpp

        llama_cpp.disable_logging()
        self._api: Any = llama_cpp
        self._model = llama_cpp.LlamaModel(str(file), llama_cpp.LlamaModelParams(), verbose=False)
        asked = llama_cpp.LlamaContextParams()
        asked.n_ctx = asked.n_batch = capacity
        asked.n_threads = asked.n_threads_batch = threads
        self._context = llama_cpp.LlamaContext(self._model, asked, verbose=False)
        self._greedy = llama_cpp.LlamaSampler(llama_cpp.LlamaSamplerChainParams())
        self._greedy.add_greedy()

    @staticmethod
    def build() -> str:
        made = json.loads((resources.files("cyllama") / "build_config.json").read_text(encoding="utf-8"))
        version = made.get("versions", {}).get("llama_cpp_version", "of unknown build")
        return f"{version} in cyllama {metadata.version('cyllama')} (its wheel's build)"

    def clear(self) -> None:
        self._context.kv_cache_clear()

    def cut(self, n: int) -> None:
        self._context.memory_seq_rm(0, n, -1)

    def run(self, ids: Sequence[int], at: int, *, all_logits: bool) -> None:
        batch = self._api.LlamaBatch(n_tokens=len(ids), embd=0, n_seq_max=1)
        for i, token in enumerate(ids):
            batch.add(token, at + i, [0], all_logits or i == len(ids) - 1)
        self._context.decode(batch)
        self._context.synchronize()

    def chosen(self, row: int) -> int:
        return int(self._greedy.sample(self._context, row))

    def ngrams(self) -> Any:
        return self._api.NgramCache()


class OfLlamaCppPython:
    """Through the C functions that the package declares, as its own `Llama` would call them."""

    name = "llama-cpp-python"

    def __init__(self, file: Path, capacity: int, threads: int) -> None:
        import llama_cpp

        self._api: Any = llama_cpp
        self._silent = llama_cpp.llama_log_callback(_say_nothing)  # kept: llama.cpp keeps its address
        llama_cpp.llama_log_set(self._silent, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        self._model: Any = llama_cpp.llama_model_load_from_file(str(file).encode(), llama_cpp.llama_model_default_params())
        if not self._model:
            raise UserError(f"llama.cpp cannot read {file}; leave llama.cpp out of --against")
        asked = llama_cpp.llama_context_default_params()
        asked.n_ctx = asked.n_batch = capacity
        asked.n_threads = asked.n_threads_batch = threads
        self._context: Any = llama_cpp.llama_init_from_model(self._model, asked)
        if not self._context:
            raise UserError(f"llama.cpp makes no context of {capacity} tokens of {file}; lower --prompt-tokens")
        self._vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self._model))
        self._batch = llama_cpp.llama_batch_init(capacity, 0, 1)

    @staticmethod
    def build() -> str:
        """`system_info` names what llama.cpp was compiled with, AVX512_VNNI among it where it was."""
        import llama_cpp

        told = llama_cpp.llama_print_system_info().decode()
        return f"llama-cpp-python {metadata.version('llama-cpp-python')} ({' '.join(told.split())})"

    def clear(self) -> None:
        self._api.llama_memory_clear(self._api.llama_get_memory(self._context), True)

    def cut(self, n: int) -> None:
        self._api.llama_memory_seq_rm(self._api.llama_get_memory(self._context), 0, n, -1)

    def run(self, ids: Sequence[int], at: int, *, all_logits: bool) -> None:
        batch = self._batch
        batch.n_tokens = len(ids)
        for i, token in enumerate(ids):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0] = token, at + i, 1, 0
            batch.logits[i] = all_logits or i == len(ids) - 1
        if failed := self._api.llama_decode(self._context, batch):
            raise RuntimeError(f"llama_decode gave {failed} for {len(ids)} tokens at {at}")
        self._api.llama_synchronize(self._context)

    def chosen(self, row: int) -> int:
        import numpy as np

        found = self._api.llama_get_logits_ith(self._context, row)
        return int(np.ctypeslib.as_array(found, shape=(self._vocabulary,)).argmax())

    def ngrams(self) -> Any:
        return _PromptLookup()


class _PromptLookup:
    """llama-cpp-python has llama.cpp's `ngram-cache` compiled in and no function that reaches it; this is its own drafter."""

    def __init__(self) -> None:
        from llama_cpp.llama_speculative import LlamaPromptLookupDecoding

        self._lookup: Any = LlamaPromptLookupDecoding(_NGRAM_SIZE, _NGRAM_DRAFTED)
        self._text: list[int] = []

    def update(self, text: Sequence[int], least: int, most: int, new: int) -> None:
        self._text += text[len(text) - new :]

    def draft(self, last: Sequence[int], n: int, least: int, most: int) -> list[int]:
        import numpy as np

        return [int(token) for token in self._lookup(np.array(self._text, dtype=np.intc))[:n]]


def _say_nothing(level: int, text: bytes, data: object) -> None:
    pass


def binding() -> type[OfLlamaCppPython] | type[OfCyllama]:
    """The package to ask. Raises UserError where there is none, or none that can be used."""
    reasons = []
    try:
        import llama_cpp  # noqa: F401

        return OfLlamaCppPython
    except (ImportError, OSError, RuntimeError) as error:  # its library may lack a symbol or an instruction set
        reasons.append(f"llama_cpp: {error}")
    try:
        import cyllama.llama.llama_cpp  # noqa: F401

        return OfCyllama
    except (ImportError, OSError) as error:
        reasons.append(f"cyllama: {error}")
    raise UserError(
        f"llama.cpp is asked through llama-cpp-python or cyllama, and neither can be used ({'; '.join(reasons)}); run: "
        f"{INSTALL}"
    )

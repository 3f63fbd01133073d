"""What the rest of the project knows of models: two protocols and the values they exchange. No torch here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from data.types import Strict
from decoding.statistics import SpeculationStats

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Task = Literal["outline", "section", "lead", "rewrite", "other"]
"""What a prompt asks for. The decoder may choose its drafting by it; the text never depends on it."""


@dataclass(frozen=True, slots=True)
class Message(Strict):
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class SamplingParams(Strict):
    """How to continue a prompt. `temperature` 0 is greedy; `stop` strings end the text and are not part of it.

    `task` and `sources` are hints for drafting, nothing else: `sources` are texts that the answer may repeat although its
    prompt does not show them (earlier sections of the same article).
    """

    max_new_tokens: int = 400
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    repetition_penalty: float = 1.0
    seed: int = 0
    stop: tuple[str, ...] = ()
    task: Task = "other"
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DecodeStats(Strict):
    """Seconds and counts of one call; None where the generator cannot know (a server's prefill, say)."""

    total_s: float
    prefill_s: float | None = None
    decode_s: float | None = None
    n_drafted: int | None = None
    n_accepted: int | None = None
    n_verify: int | None = None
    speculation: SpeculationStats | None = None


StopReason = Literal["end", "length", "stop", "unknown"]


@dataclass(frozen=True, slots=True)
class Completion(Strict):
    text: str
    n_prompt_tokens: int
    n_new_tokens: int
    stop: StopReason
    stats: DecodeStats
    stop_string: str | None = None
    """Which of the stop strings ended the text, where the generator knows."""


class Generator(Protocol):
    """A language model that continues a conversation."""

    @property
    def name(self) -> str:
        """How the model was named, e.g. `hf:/models/qwen` or `server:qwen@http://127.0.0.1:8000/v1`."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes when the same prompt could give another text: weights, server model, precision."""
        ...

    @property
    def context_tokens(self) -> int:
        """Prompt and answer together may not exceed this."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of `text`; an upper estimate where the tokenizer is out of reach (a server)."""
        ...

    def neutralise(self, text: str) -> str:
        """`text` with everything that this model would read as a control token made harmless."""
        ...

    def generate(
        self, messages: Sequence[Message], sampling: SamplingParams, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        """Continue the conversation; `on_text` receives the pieces as they come. Raises StageError on failure."""
        ...


class Encoder(Protocol):
    """A sentence encoder."""

    @property
    def name(self) -> str: ...

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, shape (len(texts), D), float32."""
        ...

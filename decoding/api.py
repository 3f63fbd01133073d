"""What the rest of the project knows of models: two protocols and the values they exchange. No torch here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from data.decoding_counts import DecodeStats as DecodeStats  # part of this interface: what a `Completion` holds
from data.types import Strict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Task = Literal["outline", "section", "lead", "rewrite", "say", "other"]
"""What a prompt asks for. The decoder may choose its drafting by it; the text never depends on it."""


@dataclass(frozen=True, slots=True)
class Message(Strict):
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Rephrase(Strict):
    """Free text that says what `sources` say, in other words.

    Once `copy_words` words in a row are in a source in this order, the source's next word loses `copy_penalty` logits, unless
    it belongs to a name, a number or a marked quotation; infinity forbids it, 0 switches this off. With none of the words
    `not_first` does the answer begin, nor with the `passed` likeliest others: so that several answers, asked for together, open
    each in its own way.
    """

    sources: tuple[str, ...]
    copy_words: int = 6
    copy_penalty: float = 6.0
    not_first: tuple[str, ...] = ()
    passed: int = 0


@dataclass(frozen=True, slots=True)
class Json(Strict):
    """One JSON value that a JSON schema describes. `schema` is its text: an object, `{"type": "object"}` for any object."""

    schema: str


Grounding = Rephrase | Json
"""What an answer is held to, its evidence or a form; without it the answer is free."""


PromptForm = Literal["chat", "document"]
"""Whether a model follows instructions in a conversation, or only continues a document."""


@dataclass(frozen=True, slots=True)
class SamplingParams(Strict):
    """How to continue a prompt. `temperature` 0 is greedy; `stop` strings end the text and are not part of it.

    `grounding` restricts what the answer may say, whatever the model.
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
    grounding: Grounding | None = None
    task: Task = "other"
    sources: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True)
class Request(Strict):
    """One of several conversations to continue, and how: the arguments of `Generator.generate`."""

    messages: tuple[Message, ...]
    sampling: SamplingParams
    tuned: str = ""
    """The task that these messages set, for which a model may have a trained beginning (`decoding.prefixes`) in the place of
    its instructions and worked examples. Others read the messages as they are."""


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

    @property
    def prompt_form(self) -> PromptForm: ...

    @property
    def tuned(self) -> frozenset[str]:
        """Tasks for which it has a trained beginning of prompts (`Request.tuned`)."""
        ...

    @property
    def grounds(self) -> bool:
        """Whether `grounding` of `SamplingParams` is honoured; if not, it is refused with a UserError."""
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

    def generate_many(
        self, requests: Sequence[Request], on_done: Callable[[int, Completion], None] | None = None
    ) -> list[Completion]:
        """The completions that `generate` gives for each request alone, in the order of the requests.

        `on_done` gets the index of a request and its completion as soon as that ends, in whatever order they end, never two
        at once; it must not generate. A request that fails keeps no other from being tried, except where a server
        answers none.

        Raises:
            StageError: requests failed; the others have been completed and were given to `on_done`. It is the error of the
                first one by index.
            UserError: as `generate`, at once. Those that ended before were given to `on_done`.
        """
        ...

    def choose(self, messages: Sequence[Message], options: Sequence[str]) -> tuple[float, ...]:
        """The probability that the answer begins with each of `options` ("Yes", "No"), of those that begin with one of them.

        In the order of the options; they sum to 1. Temperature 1, without grounding. Where a server tells no probabilities it
        is 1 for the option that a short answer begins with, or the same for all. Raises ValueError for fewer than two options,
        and for options that cannot be told apart by how they begin; StageError as `generate`.
        """
        ...

    def choose_many(
        self, asked: Sequence[Sequence[Message]], options: Sequence[str], question: str = ""
    ) -> list[tuple[float, ...]]:
        """`choose` for each conversation, in their order. How conversations begin alike is read once where that is possible.

        `question`: the name of what all of them ask. A model that was probed for it (`decoding.probes`) answers by its probe.
        """
        ...


class Encoder(Protocol):
    """A sentence encoder."""

    @property
    def name(self) -> str: ...

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, shape (len(texts), D), float32."""
        ...


class Entailment(Protocol):
    """A model that says whether a premise supports a claim. It reads both whole: who asks cuts the premise to `room`."""

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str:
        """Changes when the same pair could get another probability."""
        ...

    def count_tokens(self, text: str) -> int: ...

    def room(self, claim: str) -> int:
        """Tokens of premise that fit beside the whole claim; negative when not even the claim fits."""
        ...

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The probability that each (premise, claim) is supported, in order."""
        ...


@dataclass(frozen=True, slots=True)
class SupportExample(Strict):
    """A claim beside sentences of evidence, with its known support.

    `unsupported` are the characters of the claim's words that the evidence does not hold; None where nobody knows which
    words, so that only the label of the pair counts.
    """

    claim: str
    evidence: tuple[str, ...]
    supported: bool
    unsupported: tuple[tuple[int, int], ...] | None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class SupportReading(Strict):
    """What a network found: the chance in [0, 1] that the whole claim is supported, and that each of its words is not.

    `words` are (start, end, chance), characters of the claim, in order.
    """

    support: float
    words: tuple[tuple[int, int, float], ...]


class SupportReader(Protocol):
    """A network that reads claims beside sentences of evidence."""

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str:
        """Changes when the same pair could be read otherwise."""
        ...

    def read(self, pairs: Sequence[tuple[str, tuple[str, ...]]], *, within: float = 0.0) -> list[SupportReading | None]:
        """One reading for each (claim, sentences, best first), in order; None for a claim too long to be read whole.

        Log odds of chances may be wrong by up to `within`, which lets a reader be quicker."""
        ...

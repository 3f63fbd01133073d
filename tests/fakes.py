"""Small deterministic stand-ins for what needs weights, shared by the tests."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from data.errors import StageError
from data.sentences import split_sentences
from decoding.api import Completion, DecodeStats, Message, PromptForm, Request, SamplingParams, SupportReading
from decoding.choices import choice_of_text
from decoding.models.control_tokens import break_control_tokens
from decoding.support.reader import JUDGE_WEIGHTS


@cache
def _hash(letters: str) -> int:
    return int.from_bytes(hashlib.blake2b(letters.encode(), digest_size=4).digest(), "big")


class SilentFiler:
    """All texts have one vector: it says nothing of which heading a sentence stands under."""

    name = "silent"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.tile(np.array([1.0, 0.0], dtype=np.float32), (len(texts), 1))


class FixedEncoder:
    """Unit vectors from hashed character n-grams: equal texts agree, texts that share letters are near, no cosine is below 0.

    `seen` lists every text it was asked for, in order.
    """

    def __init__(self, dimension: int = 256) -> None:
        self._dimension = dimension
        self._known: dict[str, NDArray[np.float32]] = {}
        self.seen: list[str] = []

    @property
    def name(self) -> str:
        return f"fixed-{self._dimension}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.seen.extend(texts)
        vectors = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for row, text in zip(vectors, texts):
            if text not in self._known:
                self._known[text] = self._vector(text)
            row[:] = self._known[text]
        return vectors

    def _vector(self, text: str) -> NDArray[np.float32]:
        row = np.zeros(self._dimension, dtype=np.float32)
        padded = f" {text.lower()} "
        for n in (2, 3):
            for i in range(len(padded) - n + 1):
                row[_hash(padded[i : i + n]) % self._dimension] += 1.0
        norm = np.linalg.norm(row)
        return row / norm if norm > 0 else row


class ScriptedGenerator:
    """Replays texts in order and fails when there are none left, so that a test sees every call it did not expect.

    A token is a word. `prompts` lists the conversations it was asked, `sampling` how. A text that ends in `...` has been cut
    off by the token limit, as far as its stop reason says. A choice takes a text as well, and is for the option that it begins
    with.
    """

    def __init__(self, texts: Sequence[str] = (), *, context_tokens: int = 8192, name: str = "scripted") -> None:
        self.texts = list(texts)
        self.prompts: list[tuple[Message, ...]] = []
        self.sampling: list[SamplingParams] = []
        self._context_tokens = context_tokens
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    @property
    def fingerprint(self) -> str:
        return f"{self._name}-1"

    @property
    def context_tokens(self) -> int:
        return self._context_tokens

    @property
    def prompt_form(self) -> PromptForm:
        return "chat"

    @property
    def tuned(self) -> frozenset[str]:
        return frozenset()

    @property
    def grounds(self) -> bool:
        return False

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def neutralise(self, text: str) -> str:
        return break_control_tokens(text)

    def generate(
        self, messages: Sequence[Message], sampling: SamplingParams, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        self.prompts.append(tuple(messages))
        self.sampling.append(sampling)
        if not self.texts:
            raise AssertionError(f"no text is left for prompt {len(self.prompts)}: {messages[-1].content[-300:]!r}")
        text = self.texts.pop(0)
        cut_off = text.endswith("...")
        text = text.removesuffix("...")
        if on_text is not None:
            on_text(text)
        n_prompt = sum(self.count_tokens(m.content) for m in messages)
        return Completion(text, n_prompt, self.count_tokens(text), "length" if cut_off else "end", DecodeStats(total_s=0.0))

    def generate_many(
        self, requests: Sequence[Request], on_done: Callable[[int, Completion], None] | None = None
    ) -> list[Completion]:
        found: list[Completion] = []
        failed: StageError | None = None
        for at, request in enumerate(requests):
            try:
                done = self.generate(request.messages, request.sampling)
            except StageError as error:
                failed = failed or error
                continue
            found.append(done)
            if on_done is not None:
                on_done(at, done)
        if failed is not None:
            raise failed
        return found

    def choose(self, messages: Sequence[Message], options: Sequence[str]) -> tuple[float, ...]:
        return choice_of_text(self, messages, options)

    def choose_many(
        self, asked: Sequence[Sequence[Message]], options: Sequence[str], question: str = ""
    ) -> list[tuple[float, ...]]:
        return [self.choose(messages, options) for messages in asked]


class FixedReader:
    """Implements SupportReader without a network: a word that stands in no sentence is doubtful, and supported is the share
    of those that do. Its fingerprint is that of the shipped network, for the judge refuses one that it was not fitted to."""

    name = "fixed-reader"

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(JUDGE_WEIGHTS.read_bytes()).hexdigest()[:12]

    def read(self, pairs: Sequence[tuple[str, tuple[str, ...]]], *, within: float = 0.0) -> list[SupportReading | None]:
        return [self._read(claim, " ".join(sentences)) for claim, sentences in pairs]

    def _read(self, claim: str, evidence: str) -> SupportReading:
        held = set(re.findall(r"\w+", evidence.lower()))
        words = tuple((m.start(), m.end(), 0.02 if m[0].lower() in held else 0.9) for m in re.finditer(r"\w+", claim))
        return SupportReading(support=sum(chance < 0.5 for *_, chance in words) / len(words), words=words)


Answer = Callable[[str], str]
"""From the last message of a prompt to an answer."""


def told_back(prompt: str) -> str:
    """The sentences between the last fences of a prompt, as a JSON list: all that a text states, in its own words."""
    *_, block = re.findall(r"^<evidence \w+>\n(.*?)\n</evidence", prompt, re.M | re.S)
    texts = [re.sub(r'^\[\d+\] (?:\(from ".*?"\)\s)?', "", text) for text in block.split("\n\n")]
    return json.dumps([sentence for text in texts for sentence in split_sentences(text)], ensure_ascii=False)


def first_sentence(prompt: str) -> str:
    return str(json.loads(told_back(prompt))[0])


class NotingModel(ScriptedGenerator):
    """Answers all that `ours` asks in mode notes, each by what it is asked (`noting.reading_prompts`, `prompts.say`); other
    prompts get the texts of its script. Unless told otherwise it reads like a good copyist: the card is the first sentence that
    it is shown, what a text says is noted as it says it, and a fact is said as it stands.

    `asked` lists what it was asked, in order: `card`, `kind`, `answer`, `answers`, `notes`, `story`, `clear`, `states`,
    `factual`, `same`, `together`, `say`, `parts`, `other`.
    """

    def __init__(self, texts: Sequence[str] = (), *, context_tokens: int = 8192, **answers: Answer) -> None:
        super().__init__(texts, context_tokens=context_tokens, name="noting")
        self._answers: dict[str, Answer] = {
            "card": first_sentence,
            "kind": lambda _: "No",
            "answer": lambda _: "Not said.",
            "answers": lambda _: "Yes",
            "notes": told_back,
            "story": told_back,
            "clear": lambda _: "No",
            "states": lambda _: "Yes",
            "factual": lambda _: "Yes",
            "same": lambda _: "Yes",
            "together": lambda prompt: " ".join(line.removeprefix("- ") for line in prompt.splitlines()[1:]),
            "say": lambda prompt: prompt.removeprefix("Fact: "),
            "parts": lambda prompt: prompt.removeprefix("Sentence: "),
        } | answers
        self.asked: list[str] = []

    def generate(
        self, messages: Sequence[Message], sampling: SamplingParams, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        prompt = messages[-1].content
        what = next((name for name, words in _ASKED.items() if words.search(prompt)), "other")
        self.asked.append(what)
        if what != "other":
            self.texts.insert(0, self._answers[what](prompt))
        return super().generate(messages, sampling, on_text)

    def prompts_of(self, what: str) -> list[str]:
        return [messages[-1].content for name, messages in zip(self.asked, self.prompts, strict=True) if name == what]


_ASKED = {
    "card": re.compile(r"Answer in one neutral sentence for the first line"),
    "kind": re.compile(r"Is this an article about a kind of thing"),
    "answer": re.compile(r"Question: .* Answer in a whole sentence\.\Z"),
    "clear": re.compile(r"Is it clear of whom and of what it speaks\?"),
    "notes": re.compile(r"Write the facts that this text states"),
    "story": re.compile(r"Write what happens in the story"),
    "factual": re.compile(r"Does it state a fact\?"),
    "states": re.compile(r"Does the text say what the note says\?"),
    "same": re.compile(r"Does the new sentence say the same\?"),
    "together": re.compile(r"\AFacts:\n"),
    "say": re.compile(r"\AFact: "),
    "parts": re.compile(r"\ASentence: "),
    "answers": re.compile(r"Does the answer tell what the question asks\?"),
}

"""One question to a language model about some passages: fit the prompt to its context, ask, and keep what it said."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from data.decoding_counts import Usage
from data.errors import StageError
from data.pages.cleaning import addresses_model
from data.types import Page, Passage, Strict
from decoding.api import Generator, Grounding, Message, SamplingParams, StopReason, Task
from pipeline.writing.prompts import Numbered, evidence_block

TURN_TOKENS = 8
"""What a chat template adds around one message, about: role, begin, end."""

_REASONING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.S | re.I)
_REASONING_END = re.compile(r"</(?:think|thinking|reasoning)>", re.I)
_CODE_FENCE = re.compile(r"^[^\S\n]*```[\w-]*[^\S\n]*(?:\n|\Z)", re.M)


def without_reasoning(answer: str) -> str:
    """An answer without what the model wrote while it thought (`<think>...</think>`)."""
    text = _REASONING.sub("", answer)
    return _REASONING_END.split(text)[-1]  # some templates open the block themselves, so that only its end shows


@dataclass(frozen=True, slots=True)
class Quote:
    """A text shown to the model under a number. A marker with that number stands for the passages `ids`."""

    ids: tuple[str, ...]
    title: str
    text: str


def quotes(passages: Sequence[Passage], pages: Sequence[Page]) -> list[Quote]:
    """Without a title that speaks to a model: it stands beside every passage of its page."""
    titles = {n: "" if addresses_model(pages[n].title) else pages[n].title for n in {p.page for p in passages}}
    return [Quote((p.id,), titles[p.page], p.text) for p in passages]


@dataclass(frozen=True, slots=True)
class Draft(Strict):
    """A model's raw answer, stored with the run.

    `[k]` in `text` stands for the passages `shown[k - 1]`; `left_out` did not fit. `stop` is `length` when the text was
    cut off by the token limit.
    """

    text: str
    shown: tuple[tuple[str, ...], ...]
    left_out: tuple[tuple[str, ...], ...]
    stop: StopReason
    usage: Usage

    @property
    def answer(self) -> str:
        """The text without reasoning (`<think>...</think>`) and without the fences of a code block around it."""
        return _CODE_FENCE.sub("", without_reasoning(self.text)).strip()

    @classmethod
    def upgraded(cls, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """From before `usage`: its counts lay beside the answer."""
        return {name: plain[name] for name in ("text", "shown", "left_out", "stop")} | {"usage": Usage.upgraded(plain)}


@dataclass(frozen=True, slots=True)
class Tried(Strict):
    """One answer: the statements' places in the section, the answer, by what, and its problems (may be empty).

    `by` is `model` or `note`, the statement as it is. `support` is the chance, by the reader network, that the statement says
    the answer, `kept` that the answer says the statement, `agreed` the model's own chance that both say the same, `consensus`
    the likeness with the other answers; None where there is none.
    """

    facts: tuple[int, ...]
    by: str
    text: str
    faults: tuple[str, ...]
    copied: float
    longest_run: int
    new_words: float
    support: float | None
    chosen: bool = False
    agreed: float | None = None
    consensus: float | None = None
    kept: float | None = None


@dataclass(frozen=True, slots=True)
class ComposedDraft(Strict):
    """All that a model was asked for one section, and what that took."""

    tried: tuple[Tried, ...]
    usage: Usage

    @classmethod
    def upgraded(cls, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """From before `usage`, as in `Draft`."""
        return {"tried": plain["tried"], "usage": Usage.upgraded(plain)}


@dataclass(frozen=True, slots=True)
class InParts(Strict):
    """A statement and the sentences that tell parts of it; none where no part could be told."""

    text: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShortFacts(Strict):
    """What became of the statements that were split, and what that took."""

    told: tuple[InParts, ...]
    usage: Usage


@dataclass(frozen=True, slots=True)
class Question:
    """What a generator is asked: `max_new_tokens` and `grounding` bound the answer, `sources` are texts that it may
    repeat: they speed it up, no more."""

    task: Task
    messages: tuple[Message, ...]
    max_new_tokens: int
    grounding: Grounding | None = None
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Writer:
    """A generator with the sampling that this run uses; `seed` makes sampled runs repeatable."""

    generator: Generator
    temperature: float
    seed: int
    max_new_tokens: int

    def ask(
        self,
        task: Task,
        shown: Sequence[Quote],
        prompt: Callable[[str], Sequence[Message]],
        *,
        max_new_tokens: int | None = None,
        sources: Sequence[str] = (),
    ) -> Draft:
        """Ask about `shown`, best first; the last ones are left out when prompt and answer exceed the context.

        `prompt` gets the evidence block. Raises StageError when not even one fits.
        """
        limit = max_new_tokens or self.max_new_tokens

        def build(n: int) -> Question:
            numbered = [Numbered(k, quote.title, quote.text) for k, quote in enumerate(shown[:n], 1)]
            messages = tuple(prompt(evidence_block(numbered, self.generator.neutralise)))
            return Question(task, messages, limit, sources=tuple(sources))

        n, question = self._fitted(len(shown), build)
        return self._put(question, [q.ids for q in shown[:n]], [q.ids for q in shown[n:]])

    def ask_plain(self, task: Task, messages: Sequence[Message], *, max_new_tokens: int) -> Draft:
        """Ask without evidence. Raises StageError when the prompt does not fit."""
        _, question = self._fitted(0, lambda n: Question(task, tuple(messages), max_new_tokens))
        return self._put(question, (), ())

    def _fitted(self, most: int, build: Callable[[int], Question]) -> tuple[int, Question]:
        """The largest n, at most `most`, for which the question about the n best passages fits the context, and that question.

        Raises StageError when not even one does.
        """
        for n in range(most, 1, -1):
            question = build(n)
            if self._needed(question) <= self.generator.context_tokens:
                return n, question
        n = min(most, 1)
        question = build(n)
        self._must_fit(question, "one passage" if n else "the prompt")
        return n, question

    def _needed(self, question: Question) -> int:
        """Tokens of prompt and answer; as exact as the generator's count of a text alone, the template being estimated."""
        prompt = sum(self.generator.count_tokens(m.content) + TURN_TOKENS for m in question.messages)
        return prompt + question.max_new_tokens

    def _must_fit(self, question: Question, what: str) -> None:
        needed, room = self._needed(question), self.generator.context_tokens
        if needed > room:
            raise StageError(
                question.task,
                f"{self.generator.name} has room for {room} tokens, but {what} and an answer of {question.max_new_tokens} "
                f"need {needed}; lower retrieval.passage_words or writing.section_max_tokens, or use a model with a longer "
                "context",
            )

    def _put(self, question: Question, shown: Sequence[tuple[str, ...]], left_out: Sequence[tuple[str, ...]]) -> Draft:
        """Ask it. `[k]` in the answer will stand for the passages `shown[k - 1]`."""
        sampling = SamplingParams(
            max_new_tokens=question.max_new_tokens,
            temperature=self.temperature,
            seed=self.seed,
            grounding=question.grounding,
            task=question.task,
            sources=question.sources,
        )
        completion = self.generator.generate(question.messages, sampling)
        return Draft(
            text=completion.text,
            shown=tuple(shown),
            left_out=tuple(left_out),
            stop=completion.stop,
            usage=Usage(1, completion.n_prompt_tokens, completion.n_new_tokens, completion.stats.rounded()),
        )

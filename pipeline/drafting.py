"""One question to a language model about some passages: fit the prompt to its context, ask, and keep what it said."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from data.errors import StageError
from data.types import Page, Passage, Strict
from decoding.api import Generator, Message, SamplingParams, StopReason, Task
from pipeline.prompts import Numbered, evidence_block

TURN_TOKENS = 8
"""What a chat template adds around one message, about: role, begin, end."""

_REASONING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.S | re.I)
_REASONING_END = re.compile(r"</(?:think|thinking|reasoning)>", re.I)
_CODE_FENCE = re.compile(r"^[^\S\n]*```[\w-]*[^\S\n]*(?:\n|\Z)", re.M)


@dataclass(frozen=True, slots=True)
class Quote:
    """A text shown to the model under a number. A marker with that number stands for the passages `ids`."""

    ids: tuple[str, ...]
    title: str
    text: str


def quotes(passages: Sequence[Passage], pages: Sequence[Page]) -> list[Quote]:
    return [Quote((p.id,), pages[p.page].title, p.text) for p in passages]


@dataclass(frozen=True, slots=True)
class Draft(Strict):
    """A model's raw answer, stored with the run.

    `[k]` in `text` stands for the passages `shown[k - 1]`; `left_out` did not fit. `stop` is `length` when the text was
    cut off by the token limit. `n_verify`, `n_drafted` and `n_accepted` are those of `decoding.api.DecodeStats`.
    """

    text: str
    shown: tuple[tuple[str, ...], ...]
    left_out: tuple[tuple[str, ...], ...]
    n_prompt_tokens: int
    n_new_tokens: int
    stop: StopReason
    seconds: float
    n_verify: int | None = None
    n_drafted: int | None = None
    n_accepted: int | None = None

    @property
    def answer(self) -> str:
        """The text without reasoning (`<think>...</think>`) and without the fences of a code block around it."""
        text = _REASONING.sub("", self.text)
        text = _REASONING_END.split(text)[-1]  # some templates open the block themselves, so that only its end shows
        return _CODE_FENCE.sub("", text).strip()


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

        `prompt` gets the evidence block. `sources` are texts that the answer may repeat: they speed it up, no more. Raises
        StageError when not even one fits.
        """
        limit = max_new_tokens or self.max_new_tokens
        n = len(shown)
        while True:
            numbered = [Numbered(k, quote.title, quote.text) for k, quote in enumerate(shown[:n], 1)]
            messages = prompt(evidence_block(numbered, self.generator.neutralise))
            if n <= 1:
                self._must_fit(task, messages, limit, "one passage" if n else "the prompt")
                break
            if self._needed(messages, limit) <= self.generator.context_tokens:
                break
            n -= 1
        return self._run(task, messages, limit, [q.ids for q in shown[:n]], [q.ids for q in shown[n:]], sources)

    def ask_plain(self, task: Task, messages: Sequence[Message], *, max_new_tokens: int) -> Draft:
        """Ask without evidence. Raises StageError when the prompt does not fit."""
        self._must_fit(task, messages, max_new_tokens, "the prompt")
        return self._run(task, messages, max_new_tokens, (), ())

    def _needed(self, messages: Sequence[Message], limit: int) -> int:
        """Tokens of prompt and answer; as exact as the generator's count of a text alone, the template being estimated."""
        return sum(self.generator.count_tokens(m.content) + TURN_TOKENS for m in messages) + limit

    def _must_fit(self, task: Task, messages: Sequence[Message], limit: int, what: str) -> None:
        needed, room = self._needed(messages, limit), self.generator.context_tokens
        if needed > room:
            raise StageError(
                task,
                f"{self.generator.name} has room for {room} tokens, but {what} and an answer of {limit} need {needed}; lower "
                "retrieval.passage_words or writing.section_max_tokens, or use a model with a longer context",
            )

    def _run(
        self,
        task: Task,
        messages: Sequence[Message],
        limit: int,
        shown: Sequence[tuple[str, ...]],
        left_out: Sequence[tuple[str, ...]],
        sources: Sequence[str] = (),
    ) -> Draft:
        sampling = SamplingParams(
            max_new_tokens=limit, temperature=self.temperature, seed=self.seed, task=task, sources=tuple(sources)
        )
        completion = self.generator.generate(messages, sampling)
        return Draft(
            text=completion.text,
            shown=tuple(shown),
            left_out=tuple(left_out),
            n_prompt_tokens=completion.n_prompt_tokens,
            n_new_tokens=completion.n_new_tokens,
            stop=completion.stop,
            seconds=round(completion.stats.total_s, 3),
            n_verify=completion.stats.n_verify,
            n_drafted=completion.stats.n_drafted,
            n_accepted=completion.stats.n_accepted,
        )

"""One question to a language model about some passages: fit the prompt to its context, ask, and keep what it said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from data.errors import StageError
from data.types import Page, Passage, Strict
from decoding.api import Generator, Message, SamplingParams, StopReason, Task
from pipeline.prompts import Numbered, evidence_block


@dataclass(frozen=True, slots=True)
class Draft(Strict):
    """A model's raw answer, stored with the run. `[k]` in `text` means `shown[k - 1]`; `left_out` passages did not fit."""

    text: str
    shown: tuple[str, ...]
    left_out: tuple[str, ...]
    n_prompt_tokens: int
    n_new_tokens: int
    stop: StopReason
    seconds: float


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
        passages: Sequence[Passage],
        pages: Sequence[Page],
        prompt: Callable[[str], Sequence[Message]],
        *,
        max_new_tokens: int | None = None,
    ) -> Draft:
        """Ask about `passages`, best first; the last ones are left out when prompt and answer exceed the context.

        `prompt` gets the evidence block. Raises StageError when not even one passage fits.
        """
        limit = max_new_tokens or self.max_new_tokens
        shown = list(passages)
        while True:
            numbered = [Numbered(k, pages[p.page].title, p.text) for k, p in enumerate(shown, 1)]
            messages = prompt(evidence_block(numbered, self.generator.neutralise))
            needed = sum(self.generator.count_tokens(m.content) + 8 for m in messages) + limit  # 8: a turn's template tokens
            if needed <= self.generator.context_tokens:
                break
            if len(shown) <= 1:
                raise StageError(
                    task,
                    f"{self.generator.name} has room for {self.generator.context_tokens} tokens, one passage needs {needed}; "
                    "lower retrieval.passage_words or writing.section_max_tokens",
                )
            shown.pop()
        return self._run(task, messages, limit, shown, passages[len(shown) :])

    def ask_plain(self, task: Task, messages: Sequence[Message], *, max_new_tokens: int) -> Draft:
        """Ask without evidence."""
        return self._run(task, messages, max_new_tokens, (), ())

    def _run(
        self, task: Task, messages: Sequence[Message], limit: int, shown: Sequence[Passage], left_out: Sequence[Passage]
    ) -> Draft:
        sampling = SamplingParams(max_new_tokens=limit, temperature=self.temperature, seed=self.seed, task=task)
        completion = self.generator.generate(messages, sampling)
        return Draft(
            text=completion.text,
            shown=tuple(p.id for p in shown),
            left_out=tuple(p.id for p in left_out),
            n_prompt_tokens=completion.n_prompt_tokens,
            n_new_tokens=completion.n_new_tokens,
            stop=completion.stop,
            seconds=round(completion.stats.total_s, 3),
        )

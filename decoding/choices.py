"""Choices read off a text: what a generator does that has no better way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from decoding.api import Completion, Message, SamplingParams

SHORT_ANSWER = SamplingParams(max_new_tokens=8)
"""Greedy, and long enough for any option that is a word."""


class Generates(Protocol):
    """The one method of `decoding.api.Generator` that a choice here is made of."""

    def generate(
        self, messages: Sequence[Message], sampling: SamplingParams, on_text: Callable[[str], None] | None = None
    ) -> Completion: ...


def choice_of_text(generator: Generates, messages: Sequence[Message], options: Sequence[str]) -> tuple[float, ...]:
    """`Generator.choose` by a short answer: certainty for the option that it begins with, else equal shares."""
    check_options(options)
    return shares_of_text(generator.generate(messages, SHORT_ANSWER).text, options)


def shares_of_text(text: str, options: Sequence[str]) -> tuple[float, ...]:
    """1 for the option with which `text` begins, whatever its case, the longest of several; equal shares where none does."""
    begun = text.strip().lower()
    fitting = [at for at, option in enumerate(options) if begun.startswith(option.strip().lower())]
    if not fitting:
        return (1 / len(options),) * len(options)
    best = max(fitting, key=lambda at: len(options[at].strip()))
    return tuple(float(at == best) for at in range(len(options)))


def check_options(options: Sequence[str]) -> None:
    """Raises ValueError for fewer than two options, an empty one, or two that differ in case or blanks alone."""
    bare = [option.strip().lower() for option in options]
    if len(bare) < 2 or not all(bare) or len(set(bare)) < len(bare):
        raise ValueError(f"these are not at least two different options: {list(options)}")

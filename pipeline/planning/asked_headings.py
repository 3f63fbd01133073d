"""Section assignment by the language model: how likely each heading is for a sentence, asked as a choice between letters.

A sentence encoder sees what a sentence is like; which of its article's headings it stands under needs what these are to each
other ("Impact" beside "Aftermath"). The headings are named once in the prompt, so that a sentence costs its own tokens alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import ascii_uppercase

import numpy as np

from decoding.api import Generator, Message
from pipeline.writing.prompts import quotable

HEADING = "heading"
"""The name of this question, for which a model may have been tuned (`decoding.prefixes`)."""
MOST = len(ascii_uppercase)
SYSTEM = (
    "You file sentences of an encyclopedia article under its headings. Answer with the letter of the heading under which the "
    "sentence stands."
)
_LEAST = 1e-4
"""A chance is taken for no less."""


def under(title: str, headings: Sequence[str], sentence: str, neutralise: Callable[[str], str]) -> tuple[Message, ...]:
    """Under which of the headings a sentence stands, to be answered with a letter."""
    listed = "\n".join(f"{letter}. {quotable(one, neutralise)}" for letter, one in zip(ascii_uppercase, headings, strict=False))
    asked = f"Article: {quotable(title, neutralise)}\n{listed}\nSentence: {quotable(sentence, neutralise)}"
    return (Message("system", SYSTEM), Message("user", asked))


def log_chances(title: str, headings: Sequence[str], sentences: Sequence[str], generator: Generator) -> np.ndarray:
    """Of each sentence under each heading, shape (n, k); `MOST` headings at most."""
    if len(headings) < 2 or not sentences:
        return np.zeros((len(sentences), len(headings)))
    asked = [under(title, headings, sentence, generator.neutralise) for sentence in sentences]
    found = generator.choose_many(asked, tuple(ascii_uppercase[: len(headings)]), HEADING)
    return np.log(np.maximum(np.array(found), _LEAST))

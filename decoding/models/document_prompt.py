"""Prompts for models that continue documents and follow no instructions. No torch here.

A prompt is the beginning of a document: the article's title, the evidence, a heading. The model goes on with the section. Each
evidence sentence carries the marker of its passage, so citing is the same skill as copying.

    Title

    First sentence of a passage. [1] Its second one. [1]
    A sentence of the next passage. [2]

    == Heading ==
    A sentence of the next passage. [2]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

FORM = "2"
"""Raise with any change: stored answers depend on it."""

CHAT_TEMPLATE = "{{ bos_token }}{% for message in messages %}{{ message['content'] }}{% endfor %}"
"""It only joins contents: such a model is recognised by this template."""

LEAD_HEADING = "Lead"
CONTENTS_HEADING = "Contents"


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """Sentences that share a marker: `[number]`."""

    number: int
    sentences: tuple[str, ...]


def marker(number: int) -> str:
    return f"[{number}]"


def cited(sentence: str, number: int) -> str:
    """A sentence as evidence and answers show it."""
    return f"{sentence} {marker(number)}"


def evidence(passages: Sequence[CitedPassage]) -> str:
    """One line a passage."""
    return "\n".join(" ".join(cited(sentence, passage.number) for sentence in passage.sentences) for passage in passages)


def section(title: str, passages: Sequence[CitedPassage], heading: str, written: str = "") -> str:
    """A prompt whose continuation is the section's text. `written` is the part of it that is there already."""
    return f"{_opened(title, passages)}== {heading} ==\n{written}"


def outline(title: str, passages: Sequence[CitedPassage]) -> str:
    """A prompt whose continuation is the headings, one a line."""
    return f"{_opened(title, passages)}== {CONTENTS_HEADING} ==\n"


def _opened(title: str, passages: Sequence[CitedPassage]) -> str:
    shown = evidence(passages)
    return f"{title}\n\n{shown}\n\n" if shown else f"{title}\n\n"

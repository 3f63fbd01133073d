"""Answers in the form of Spec-Bench (Xia et al. 2024), one JSON line a question, for its scripts and leaderboards.

Its `speed.py` divides the sum of `new_tokens` by that of `wall_time` and averages `accept_lengths`: tokens that each pass of
the whole model gave, all turns in one list. As in most of its methods reading the prompt is such a pass: it gave one token, so
that lengths add up to new tokens.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data import codec
from data.errors import UserError
from data.types import Strict
from decoding.api import Message

if TYPE_CHECKING:
    from decoding.decoder import Decoder


@dataclass(frozen=True, slots=True)
class Question(Strict):
    """`turns` are what the user says one after the other."""

    question_id: int
    category: str
    turns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choice(Strict):
    """One entry a turn, but for `accept_lengths`; `wall_time` in seconds, prompt reading included."""

    index: int
    turns: tuple[str, ...]
    decoding_steps: tuple[int, ...]
    new_tokens: tuple[int, ...]
    wall_time: tuple[float, ...]
    accept_lengths: tuple[int, ...]
    """Of all turns, in order."""


@dataclass(frozen=True, slots=True)
class Answer(Strict):
    question_id: int
    category: str
    answer_id: str
    model_id: str
    choices: tuple[Choice, ...]
    tstamp: float


def read_questions(path: Path) -> tuple[Question, ...]:
    """`question.jsonl` of Spec-Bench; reference answers are passed over. Raises UserError for a line of another form."""
    import json

    questions = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; name Spec-Bench's question.jsonl") from None
    for n, line in enumerate(lines, 1):
        try:
            value: dict[str, Any] = json.loads(line)
            known = {key: value[key] for key in ("question_id", "category", "turns")}
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path}:{n} is no question ({error}); name Spec-Bench's question.jsonl") from None
        questions.append(codec.from_plain(Question, known, where=f"{path}:{n}"))
    return tuple(questions)


def answer(decoder: Decoder, question: Question, *, model_id: str, max_new_tokens: int = 1024) -> Answer:
    """All turns of a question, each with the ones before it. `model_id` names model and method in tables."""
    conversation: list[Message] = []
    texts: list[str] = []
    seconds: list[float] = []
    lengths: list[tuple[int, ...]] = []
    for turn in question.turns:
        conversation.append(Message("user", turn))
        started = time.perf_counter()
        output = decoder.generate(messages=conversation, max_new_tokens=max_new_tokens)
        seconds.append(time.perf_counter() - started)
        conversation.append(Message("assistant", output.text))
        texts.append(output.text)
        lengths.append(output.accept_lengths)
    choice = Choice(
        index=0,
        turns=tuple(texts),
        decoding_steps=tuple(len(each) for each in lengths),
        new_tokens=tuple(sum(each) for each in lengths),
        wall_time=tuple(seconds),
        accept_lengths=tuple(n for each in lengths for n in each),
    )
    return Answer(
        question_id=question.question_id,
        category=question.category,
        answer_id=f"{model_id}-{question.question_id}",
        model_id=model_id,
        choices=(choice,),
        tstamp=time.time(),
    )


def write_answers(path: Path, answers: Iterable[Answer]) -> None:
    codec.write_atomic(path, "".join(codec.to_json(one) + "\n" for one in answers))


def mean_accepted_tokens(answers: Sequence[Answer]) -> float:
    """Over all passes of all answers, as `speed.py` prints it."""
    lengths = [n for one in answers for choice in one.choices for n in choice.accept_lengths]
    if not lengths:
        raise UserError("there are no answers to average; answer at least one question")
    return sum(lengths) / len(lengths)

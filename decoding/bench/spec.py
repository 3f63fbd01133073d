"""Spec-Bench (Xia et al. 2024): all turns of its questions with each of our methods, one answer file a method."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from data.types import Strict
from decoding.bench.result import ALL, Ratio, ratio
from decoding.bench.spec_bench import Answer, answer, mean_accepted_tokens, write_answers
from decoding.bench.tables import show_ratio, table

if TYPE_CHECKING:
    from decoding.bench.spec_bench import Question
    from decoding.decoder import Decoder


@dataclass(frozen=True, slots=True)
class SpecBenchResult(Strict):
    """`speedup`: greedy seconds over this method's on questions whose texts are identical, by category and `all`."""

    method: str
    n_questions: int
    n_identical: int
    n_tokens: int
    seconds: float
    mean_accepted_tokens: float
    speedup: dict[str, Ratio]


def answer_all(
    decoders: dict[str, Decoder],
    questions: Sequence[Question],
    *,
    model_id: str,
    max_new_tokens: int,
    seed: int,
    told: Callable[[str], None],
) -> dict[str, list[Answer]]:
    """Method -> answers in the order of the questions. Methods take turns on each question, in shuffled order."""
    shuffle = random.Random(seed).shuffle
    found: dict[str, list[Answer]] = {name: [] for name in decoders}
    for name, decoder in decoders.items():
        told(f"warm-up: {name}")
        answer(decoder, questions[0], model_id=model_id, max_new_tokens=max_new_tokens)
    for number, question in enumerate(questions, 1):
        told(f"question {number} of {len(questions)}")
        turn = list(decoders)
        shuffle(turn)
        for name in turn:
            found[name].append(answer(decoders[name], question, model_id=f"{model_id}-{name}", max_new_tokens=max_new_tokens))
    return found


def summarise(answers: dict[str, list[Answer]], reference: str) -> list[SpecBenchResult]:
    return [_summary(name, own, answers[reference]) for name, own in answers.items()]


def _summary(name: str, own: Sequence[Answer], base: Sequence[Answer]) -> SpecBenchResult:
    pairs: dict[str, list[tuple[float, float]]] = {ALL: []}
    for theirs, mine in zip(base, own):
        if [c.turns for c in theirs.choices] != [c.turns for c in mine.choices]:
            continue
        pair = (_seconds(theirs), _seconds(mine))
        pairs[ALL].append(pair)
        pairs.setdefault(mine.category, []).append(pair)
    return SpecBenchResult(
        method=name,
        n_questions=len(own),
        n_identical=len(pairs[ALL]),
        n_tokens=sum(n for one in own for choice in one.choices for n in choice.new_tokens),
        seconds=sum(map(_seconds, own)),
        mean_accepted_tokens=mean_accepted_tokens(own),
        speedup={category: ratio(of) for category, of in pairs.items() if of},
    )


def _seconds(one: Answer) -> float:
    return sum(seconds for choice in one.choices for seconds in choice.wall_time)


def write(folder: Path, answers: dict[str, list[Answer]]) -> None:
    for name, of in answers.items():
        write_answers(folder / "answers" / f"{name}.jsonl", of)


def spec_lines(results: Sequence[SpecBenchResult], conditions: Sequence[tuple[str, str]]) -> str:
    categories = [c for c in dict.fromkeys(c for r in results for c in r.speedup) if c != ALL]
    heads = ("method", "speedup", *categories, "mean accepted", "tokens/s", "identical texts")
    rows = [
        (
            r.method,
            show_ratio(r.speedup.get(ALL)),
            *(show_ratio(r.speedup.get(category)) for category in categories),
            f"{r.mean_accepted_tokens:.2f}",
            f"{r.n_tokens / r.seconds:.1f}",
            f"{r.n_identical} of {r.n_questions}",
        )
        for r in results
    ]
    return "\n".join([*table(("condition", "value"), conditions), "", *table(heads, rows)]) + "\n"

"""All orders of a sentence: each step tried on it, then on what another step made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from data.sentences import split_sentences
from pipeline.writing.steps import adverbials, dividing, subjects, subordinate
from pipeline.writing.steps.masking import Masked
from pipeline.writing.steps.sentence_parts import PERSON

MOST_ORDERS = 6

_STEPS: tuple[Callable[[str], str | None], ...] = (
    adverbials.according,
    subordinate.clause_to_end,
    subordinate.clause_to_front,
    adverbials.front_date,
    adverbials.end_date,
    adverbials.inner_date,
    adverbials.middle_date,
    dividing.apposition,
    dividing.relative,
    subjects.aged,
    adverbials.stated,
    subjects.passive_of_listed,
    subjects.active,
    adverbials.place_to_end,
    subjects.title_first,
    dividing.halved,
    subjects.passive,
    subordinate.participle_inside,
    subordinate.participle_first,
    dividing.which_apart,
    dividing.who_apart,
    subordinate.name_behind,
    dividing.semicolon,
    dividing.contrast,
    dividing.including,
    adverbials.cause_to_end,
    subjects.identity,
    adverbials.place_first,
    adverbials.purpose_first,
    dividing.two_deeds,
    adverbials.adverb_behind,
)
"""In the order of preference: the first orders found are the ones kept."""
_STAYING = (adverbials.end_date, adverbials.place_to_end, subordinate.clause_to_end)
_STEPS_AGAIN = tuple(step for step in _STEPS if step not in _STAYING)
"""What another step brought to the front stays there: at the end it could belong to a clause."""


def orders(fact: str) -> tuple[str, ...]:
    """The fact, then the same in other orders; without repeats, at most `MOST_ORDERS` in all."""
    masked = Masked.of(fact)
    found: dict[str, None] = {masked.text: None}
    for text in _stepped(masked.text, _STEPS):
        found.setdefault(text)
    for text in tuple(found)[1:]:
        sentences = split_sentences(text)
        for at, sentence in enumerate(sentences):  # a date of the second sentence is no date of the first
            if PERSON.match(" ".join(sentences[at + 1 :])):  # "He" is whom this sentence ends with
                continue
            for changed in _stepped(sentence, _STEPS_AGAIN):
                found.setdefault(" ".join((*sentences[:at], changed, *sentences[at + 1 :])))
    return (fact, *(masked.restore(text) for text in tuple(found)[1:MOST_ORDERS]))


def _stepped(text: str, steps: Sequence[Callable[[str], str | None]]) -> Iterator[str]:
    for step in steps:
        if (changed := step(text)) and changed != text and (".." not in changed or ".." in text):  # behind "at 9 p.m."
            yield changed

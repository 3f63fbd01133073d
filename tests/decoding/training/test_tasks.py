"""Tasks made from documents: what is asked for stands in the prompt, with the right marker, and nothing else is right."""

from __future__ import annotations

import random
import re

import pytest

from data.errors import UserError
from decoding.embedded import prompt
from decoding.training.corpus import LEAD, Document
from decoding.training.tasks import MAX_HEADINGS, MAX_NUMBER, MAX_PASSAGES, MAX_RUN, Task, TaskMaker
from tests.decoding.training.documents import made_documents

DOCUMENTS = {document.title: document for document in made_documents(24)}
SENTENCE = re.compile(r"(.+?) \[(\d+)\](?: |$)")


def sentences(text: str) -> list[tuple[str, int]]:
    """Sentences and their markers; the whole text must be made of them."""
    found = [(match[1], int(match[2])) for match in SENTENCE.finditer(text)]
    assert " ".join(prompt.cited(*one) for one in found) == text
    return found


def taken_apart(task: Task) -> tuple[Document, list[list[tuple[str, int]]], str]:
    """Document, passages, heading."""
    assert task.prompt.endswith(" ==\n")
    title, shown, heading = task.prompt.removesuffix("\n").split("\n\n")
    return DOCUMENTS[title], [sentences(line) for line in shown.split("\n")], heading.removeprefix("== ").removesuffix(" ==")


def section_tasks(n: int, max_chars: int = 2000, **options: bool | int) -> list[Task]:
    maker, rng = TaskMaker(list(DOCUMENTS.values())), random.Random(5)
    return [maker.section(rng, max_chars, **options) for _ in range(n)]  # type: ignore[arg-type]


@pytest.mark.parametrize("dense", [False, True])
def test_an_answer_is_a_section_copied_from_the_evidence(dense: bool) -> None:
    for task in section_tasks(150, dense=dense):
        document, passages, heading = taken_apart(task)
        answer = sentences(task.answer)
        shown = [one for passage in passages for one in passage]
        assert all(shown.count(one) == 1 for one in answer)
        assert tuple(number for _, number in answer) == task.cites
        section = next(s for s in document.sections() if s.heading == heading or (s.heading, heading) == (LEAD, "Lead"))
        texts = tuple(text for text, _ in answer)
        at = section.sentences.index(texts[0])
        assert texts == section.sentences[at : at + len(texts)] and 1 <= len(texts) <= MAX_RUN


@pytest.mark.parametrize("dense", [False, True])
def test_passages_are_numbered_and_repeat_nothing(dense: bool) -> None:
    seen: list[list[int]] = []
    for task in section_tasks(150, dense=dense):
        _, passages, _ = taken_apart(task)
        assert 1 <= len(passages) <= MAX_PASSAGES
        numbers = [passage[0][1] for passage in passages]
        assert numbers == sorted(set(numbers)) and set(numbers) <= set(range(1, MAX_NUMBER + 1))
        assert all({marker for _, marker in passage} == {number} for number, passage in zip(numbers, passages, strict=True))
        seen.append(numbers)
        shown = [text for passage in passages for text, _ in passage]
        assert len(shown) == len(set(shown))
    from_one = sum(numbers == list(range(1, len(numbers) + 1)) for numbers in seen)
    assert 50 < from_one < 120


def test_distractors_come_from_other_sections_and_other_documents() -> None:
    """So none of them could be the answer's next sentence, and some have its document's words."""
    same = other = 0
    for task in section_tasks(150):
        document, passages, heading = taken_apart(task)
        answer = {text for text, _ in sentences(task.answer)}
        distractors = [text for passage in passages for text, _ in passage if text not in answer]
        asked = next(s for s in document.sections() if s.heading in (heading, LEAD if heading == "Lead" else heading))
        assert not set(distractors) & set(asked.sentences)
        own = {text for section in document.sections() for text in section.sentences}
        same += sum(text in own for text in distractors)
        other += sum(text not in own for text in distractors)
    assert same > 100 and other > 100


@pytest.mark.parametrize("max_chars", [600, 1000, 2000, 5000])
@pytest.mark.parametrize("dense", [False, True])
def test_sections_keep_to_their_characters(max_chars: int, dense: bool) -> None:
    """Evidence and answer do; title, heading and second digits of markers come on top of it."""
    for task in section_tasks(100, max_chars, dense=dense):
        document, _, heading = taken_apart(task)
        frame = len(prompt.section(document.title, [], heading)) + 2 + len(re.findall(r"\[\d\d\]", task.prompt + task.answer))
        assert len(task.prompt) + len(task.answer) <= max_chars + frame
    if not dense:
        sizes = [len(task.prompt) + len(task.answer) for task in section_tasks(100, max_chars)]
        assert max(sizes) > 0.8 * max_chars


def test_a_number_of_passages_can_be_asked_for() -> None:
    """Of five some may stay empty; they are left out, and the others numbered without gaps."""
    counts = [len(taken_apart(task)[1]) for task in section_tasks(60, n_passages=5)]
    assert max(counts) == 5 and min(counts) >= 1


def test_dense_tasks_are_mostly_copying() -> None:
    def share(tasks: list[Task]) -> float:
        return sum(len(task.answer) for task in tasks) / sum(len(task.prompt) for task in tasks)

    assert share(section_tasks(100, dense=True)) > 2 * share(section_tasks(100))


def test_an_outline_is_the_headings_in_order_behind_sentences_of_the_document() -> None:
    maker, rng = TaskMaker(list(DOCUMENTS.values())), random.Random(5)
    for _ in range(60):
        task = maker.outline(rng, 700)
        document, passages, heading = taken_apart(task)
        assert heading == prompt.CONTENTS_HEADING and task.cites == ()
        assert task.answer.split("\n") == [s.heading for s in document.sections() if s.heading != LEAD][:MAX_HEADINGS]
        own = {text for section in document.sections() for text in section.sentences}
        shown = [one for passage in passages for one in passage]
        assert {text for text, _ in shown} <= own
        markers = [marker for passage in passages for marker in {m for _, m in passage}]
        assert len(markers) == len(passages) and markers == sorted(set(markers))
        assert len(task.prompt) + len(task.answer) <= 700 + len(prompt.outline(document.title, [])) + 2


def test_a_task_is_a_function_of_the_random_numbers() -> None:
    def made(seed: int) -> list[Task]:
        maker, rng = TaskMaker(list(DOCUMENTS.values())), random.Random(seed)
        return [maker.section(rng, 1500), maker.section(rng, 900, dense=True), maker.outline(rng, 900)]

    assert made(1) == made(1) != made(2)


def test_documents_of_which_no_task_can_be_made_are_the_users_to_mend() -> None:
    """Instead of a search without end."""

    def maker(text: str) -> TaskMaker:
        return TaskMaker([Document("made", "CC0-1.0", f"Title {k}", text) for k in range(3)])

    rng = random.Random(0)
    with pytest.raises(UserError, match=r"two sentences of prose in a section; give --corpus"):
        maker("No prose.").section(rng, 1000)
    with pytest.raises(UserError, match=r"two headings with prose under them; give --corpus"):
        maker("The town lies on the river and has two bridges. It has a large market of its own.").outline(rng, 1000)
    with pytest.raises(UserError, match=r"that fit 300 characters; give --corpus"):
        maker(" ".join(f"The {'very ' * 60}long sentence number {k} ends here." for k in range(5))).section(rng, 300)

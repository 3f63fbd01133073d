"""The prompts that `ours` would ask in mode `cite`, without a model to ask: for calibrating the decoder and timing it.

`ours` itself writes each event, through the same retrieval and the same prompts; in place of a language model a `Scribe` notes
what it is asked and answers with what the extractive system would have written. So outlines, later sections (which are
retrieved for what earlier ones lack) and rewrites have texts to build upon that are supported by the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchmark import splits
from data import codec
from data.errors import StageError, UserError
from data.locate import locate
from data.settings import ModelSettings, Settings
from data.snapshot import Snapshot
from data.stage_types import Stage
from data.types import Event, Page, Section, Sentence
from decoding.api import Completion, DecodeStats, Message, PromptForm, Request, SamplingParams, Task
from decoding.knn.prompt_files import PromptRow
from decoding.many import one_by_one
from decoding.models.control_tokens import break_control_tokens
from flows.showing import console
from flows.wiring import models
from flows.wiring.page_sources import build_collect
from pipeline.evidence import Evidence
from pipeline.planning.filing import PlanningBanks, plan_article
from pipeline.stages import OUTLINE, draft_stage, section_stage
from pipeline.systems.extractive import QuotedPlan
from pipeline.systems.ours import OurSystem
from pipeline.systems.paper import OUTLINE_TOKENS
from pipeline.writing import prompts
from pipeline.writing.drafting import TURN_TOKENS, Writer, quotes

if TYPE_CHECKING:
    from decoding.api import Encoder

TASKS: tuple[Task, ...] = ("outline", "lead", "section", "rewrite")
USUAL_TASKS: tuple[Task, ...] = ("outline", "section", "rewrite")
DEFAULT_WORDS = 700
DRAFT_SHARE = 0.3
"""Of the context, for the draft that is to be rewritten."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Export:
    """What to export. Prompts are cut to `max_words`, or, with a model, to what leaves it room for the answer."""

    data: str | None = None
    split: splits.Split | None = None
    limit: int | None = None
    tasks: tuple[Task, ...] = USUAL_TASKS
    max_words: int = DEFAULT_WORDS
    model: str = ""
    context: int | None = None
    sections: int | None = None
    """At most so many sections, and rewrites, of one event."""


def export(request: Export, out: Path) -> tuple[PromptRow, ...]:
    """Write the prompts of a split's events, one JSON line each; events without usable evidence are reported and left out.

    Raises UserError: no event of that split, a task that is unknown, or a context too small for a single passage.
    """
    if unknown := set(request.tasks) - set(TASKS):
        raise UserError(f"there is no task {sorted(unknown)[0]!r} to export; known: {', '.join(TASKS)}")
    snapshot = Snapshot(locate(request.data))
    split = request.split or ("sample" if snapshot.is_sample else "dev")
    ids = splits.choose(snapshot, "search", split, limit=request.limit)
    settings = _settings(request)
    measured = _reader(request)
    collect = build_collect(snapshot, settings)
    writer = PromptWriter(settings, models.build_encoder(), measured, request.sections)
    rows: list[PromptRow] = []
    for event_id in console.tracked("prompts", ids, len(ids), str):
        try:
            event = snapshot.event(event_id)
            found = list(writer.rows(event, collect(event)))
        except StageError as error:
            console.note(f"left out: {event_id}: {error}")
            continue
        rows += [row for row in found if row.task in request.tasks]
    if not rows:
        raise UserError("no prompt could be made of these events; try more of them with --limit, or a larger --max-words")
    codec.write_atomic(out, "".join(codec.to_json(row) + "\n" for row in rows))
    return tuple(rows)


def _settings(request: Export) -> Settings:
    """With words as tokens, every prompt gets the same room: the answer's part is that of an outline."""
    usual = Settings()
    return usual if request.model else replace(usual, writing=replace(usual.writing, section_max_tokens=OUTLINE_TOKENS))


@dataclass(frozen=True, slots=True)
class Reader:
    """How long a text is to the model that will read it, and how control tokens in it are made harmless."""

    name: str
    context_tokens: int
    count_tokens: Callable[[str], int]
    neutralise: Callable[[str], str]


def _reader(request: Export) -> Reader:
    if not request.model:
        if request.context is not None:
            raise UserError(f"--context {request.context} counts a model's tokens; name it with --model, or use --max-words")
        room = request.max_words + OUTLINE_TOKENS + 2 * TURN_TOKENS
        return Reader(f"{request.max_words} words", room, lambda text: len(text.split()), break_control_tokens)
    from decoding.bench.reference import plain_decoding
    from decoding.local import LocalGenerator
    from decoding.models.naming import load_named

    loaded = load_named(request.model, device="cpu", dtype="bfloat16")  # only its tokenizer is used
    generator = LocalGenerator(loaded, plain_decoding(loaded))
    if generator.prompt_form != "chat":
        raise UserError(
            f"{generator.name} follows no instructions, so no system asks it anything: name a chat model with --model "
            "hf:FOLDER_OR_ID or gguf:FILE"
        )
    if request.context is not None and request.context > generator.context_tokens:
        raise UserError(f"--context {request.context} is more than the {generator.context_tokens} tokens of {generator.name}")
    context = request.context or generator.context_tokens
    return Reader(generator.name, context, generator.count_tokens, generator.neutralise)


@dataclass(slots=True)
class Scribe:
    """Stands where a language model would: notes its prompts, and answers with texts that are ready."""

    reader: Reader
    answer: Callable[[Task, int], str]
    """What to say to the n-th prompt (from 0) of a task."""
    asked: list[tuple[Task, tuple[Message, ...]]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.reader.name

    @property
    def fingerprint(self) -> str:
        return "scribe"

    @property
    def context_tokens(self) -> int:
        return self.reader.context_tokens

    @property
    def prompt_form(self) -> PromptForm:
        return "chat"

    @property
    def grounds(self) -> bool:
        """As mode `cite` asks for; the texts are ready, and are cited when `ours` reads them."""
        return True

    def count_tokens(self, text: str) -> int:
        return self.reader.count_tokens(text)

    def neutralise(self, text: str) -> str:
        return self.reader.neutralise(text)

    def generate(
        self, messages: Sequence[Message], sampling: SamplingParams, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        n = sum(task == sampling.task for task, _ in self.asked)
        self.asked.append((sampling.task, tuple(messages)))
        text = self.answer(sampling.task, n)
        return Completion(text, self._count(messages), self.count_tokens(text), "end", DecodeStats(total_s=0.0))

    def generate_many(
        self, requests: Sequence[Request], on_done: Callable[[int, Completion], None] | None = None
    ) -> list[Completion]:
        return one_by_one(self, requests, on_done)

    def choose(self, messages: Sequence[Message], options: Sequence[str]) -> tuple[float, ...]:
        self.asked.append(("other", tuple(messages)))
        return (1 / len(options),) * len(options)

    def choose_many(self, asked: Sequence[Sequence[Message]], options: Sequence[str]) -> list[tuple[float, ...]]:
        return [self.choose(messages, options) for messages in asked]

    def _count(self, messages: Sequence[Message]) -> int:
        return sum(self.count_tokens(message.content) for message in messages)


class Kept:
    """Stages in memory, to be looked into afterwards."""

    def __init__(self) -> None:
        self._values: dict[str, object] = {}

    def said(self, name: str, sentences: tuple[Sentence, ...]) -> None: ...

    def once(self, stage: Stage[T], make: Callable[[], T]) -> T:
        self._values.setdefault(stage.name, make())
        return self.of(stage)

    def of(self, stage: Stage[T]) -> T:
        value = self._values[stage.name]
        assert isinstance(value, stage.kind)
        return value


class PromptWriter:
    """Prompts of one event after the other."""

    def __init__(self, settings: Settings, encoder: Encoder, reader: Reader, sections: int | None = None) -> None:
        self._settings, self._encoder, self._reader, self._sections = settings, encoder, reader, sections
        self._banks = PlanningBanks.of(encoder, models.build_filer())

    def rows(self, event: Event, pages: tuple[Page, ...]) -> Iterator[PromptRow]:
        """Outline, lead, sections in order, then their rewrites. Raises StageError when the event cannot be written."""
        retrieval, writing = self._settings.retrieval, self._settings.writing
        evidence = Evidence.unlapped(event, pages, retrieval)
        plan = QuotedPlan(plan_article(evidence, self._encoder, writing, self._banks))
        kept = Kept()
        scribe = self._write(event, pages, plan, kept)
        topic = self._banks.recogniser().recognise(event.title, [s.text for s in plan.lead().section.sentences]).name
        sections = [messages for task, messages in scribe.asked if task == "section"]
        for task, messages in scribe.asked:
            if task in ("outline", "lead"):
                yield PromptRow(f"{event.id}-{task}", messages, task, topic, event.id)
        for n, messages in enumerate(sections[: self._sections], 1):
            yield PromptRow(f"{event.id}-{n:02}", messages, "section", topic, event.id)
        for n in range(1, len(sections[: self._sections]) + 1):
            if (rewrite := self._rewrite(event, evidence, n, kept)) is not None:
                yield PromptRow(f"{event.id}-{n:02}-rewrite", rewrite, "rewrite", topic, event.id)

    def _write(self, event: Event, pages: tuple[Page, ...], plan: QuotedPlan, kept: Kept) -> Scribe:
        headings = [heading.text for heading in plan.outline.headings]

        def answer(task: Task, n: int) -> str:
            if task == "outline":
                return "\n".join(headings)
            if task == "section":
                return _text(plan.section(kept.of(OUTLINE).headings[n]).section)
            return _text(plan.lead().section) if task == "lead" else ""

        scribe = Scribe(self._reader, answer)
        writing = replace(self._settings.writing, mode="cite")
        system = OurSystem(ModelSettings(), self._settings.retrieval, writing, scribe, self._encoder, models.build_filer())
        system.write(event, pages, kept)
        return scribe

    def _rewrite(self, event: Event, evidence: Evidence, n: int, kept: Kept) -> tuple[Message, ...] | None:
        """The passages that section `n` cites, then others that were shown for it, and the section as it is.

        Its markers count those passages; where they do not all fit, some count passages that are not there, as a careless
        draft's do. None for a section of which nothing was left.
        """
        section, draft = kept.of(section_stage(n)).section, kept.of(draft_stage(n))
        if not section.sentences:
            return None
        cited = [passage_id for sentence in section.sentences for passage_id in sentence.cites]
        shown = [passage_id for ids in draft.shown for passage_id in ids]
        order = list(dict.fromkeys([*cited, *shown]))[: max(self._settings.retrieval.top_k, len(set(cited)))]
        by_id = {passage.id: passage for passage in evidence.passages}
        scribe = Scribe(self._reader, lambda task, n: "")
        writer = Writer(scribe, temperature=0.0, seed=0, max_new_tokens=self._settings.writing.section_max_tokens)
        text = _marked(section, order, self._reader)
        writer.ask(
            "rewrite",
            quotes([by_id[passage_id] for passage_id in order], evidence.pages),
            lambda block: prompts.rewrite(event.title, section.heading.text, block, text, self._reader.neutralise),
        )
        return scribe.asked[0][1]


def _marked(section: Section, order: Sequence[str], reader: Reader) -> str:
    """Its sentences, each with the numbers of the passages that it cites, as far as they leave room for evidence."""
    number = {passage_id: k for k, passage_id in enumerate(order, 1)}
    room = reader.context_tokens * DRAFT_SHARE
    paragraphs: list[str] = []
    for paragraph in section.paragraphs:
        marked: list[str] = []
        for sentence in paragraph:
            text = sentence.text + "".join(f"[{number[c]}]" for c in sentence.cites)
            room -= reader.count_tokens(text)
            if room < 0 and (paragraphs or marked):
                break
            marked.append(text)
        if marked:
            paragraphs.append(" ".join(marked))
        if room < 0:
            break
    return "\n\n".join(paragraphs)


def _text(section: Section) -> str:
    """Its sentences without markers: `ours` attaches the passages that hold them."""
    return "\n\n".join(" ".join(sentence.text for sentence in paragraph) for paragraph in section.paragraphs)


def report(rows: Sequence[PromptRow], out: Path) -> None:
    for task in dict.fromkeys(row.task for row in rows):
        words = [sum(len(m.content.split()) for m in row.messages) for row in rows if row.task == task]
        console.result(f"{task:8} {len(words):5} prompts, {min(words)} to {max(words)} words")
    topics = len({row.topic for row in rows})
    console.result(f"{len(rows)} prompts of {len({row.event for row in rows})} events ({topics} topics) -> {out}")

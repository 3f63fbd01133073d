"""How much sooner drafts answer the calls of a writer: those that take notes and those that say them, of a stored run.

    python -m tools.drafting.call_speed RUN/events/EVENT --calls 5

Each call is answered alone, by plain decoding and by the mix in turn, on one thread, in seconds of the processor: a busy
machine changes them little. What the mix has learned from a call stays for the next, as it does in a run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from data.decoding_counts import SpeculationStats
from flows.showing import console

if TYPE_CHECKING:
    from data.types import Page, Passage
    from decoding.api import Request
    from decoding.engine import Engine
    from decoding.local import LocalGenerator
    from decoding.models.loading import LoadedModel


@dataclass(frozen=True, slots=True)
class Answered:
    """Seconds of the processor before the first token and behind it."""

    tokens: tuple[int, ...]
    reading: float
    writing: float
    stats: SpeculationStats


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.drafting.call_speed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("events", nargs="+", type=Path, metavar="FOLDER", help="events of a run, with their stages")
    parser.add_argument("--model", default="qwen-1.5b", metavar="NAME")
    parser.add_argument("--method", default="auto", metavar="NAME")
    parser.add_argument("--calls", type=int, default=5, metavar="N", help="of each kind and event, at most")
    parser.add_argument("--max-new-tokens", type=int, default=520, metavar="N")
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    import torch

    from decoding.api import Request, SamplingParams
    from decoding.engine import Engine, ready_engine
    from decoding.local import LocalGenerator
    from decoding.models.naming import load_named

    torch.set_num_threads(1)
    loaded = load_named(arguments.model, tell=console.note)
    drafting, plain = ready_engine(loaded, arguments.method), Engine(loaded, "greedy")
    generator = LocalGenerator(loaded, engine=plain)
    for engine in (plain, drafting):  # compiled code is read when it is first called
        _answered(loaded, engine, range(9), Request((), SamplingParams(max_new_tokens=4)), 4)
    found: dict[str, list[tuple[Answered, Answered]]] = {"note": [], "say": []}
    for folder in arguments.events:
        for kind, requests in (("note", _noting(folder, generator)), ("say", _saying(folder))):
            for request, _ in zip(requests, range(arguments.calls)):
                ids = generator.prompt_ids(request.messages)
                pair = tuple(_answered(loaded, one, ids, request, arguments.max_new_tokens) for one in (plain, drafting))
                found[kind].append((pair[0], pair[1]))
                console.note(f"{kind}: {_line([(pair[0], pair[1])])}")
    for kind, pairs in found.items():
        console.result(f"{kind}, {len(pairs)} calls: {_line(pairs)}")
    return 1 if any(a.tokens != b.tokens for pairs in found.values() for a, b in pairs) else 0


def _answered(loaded: LoadedModel, engine: Engine, ids: Sequence[int], request: Request, most: int) -> Answered:
    sampling = replace(request.sampling, max_new_tokens=min(most, request.sampling.max_new_tokens))
    tokens: list[int] = []
    marks: list[float] = []

    def take(token: int) -> bool:
        if not tokens:
            marks.append(time.process_time())
        tokens.append(token)
        return token not in loaded.eos_ids

    with loaded.lock:
        engine.forget()
        began = time.process_time()
        stats = engine.decode(ids, sampling, take)
        ended = time.process_time()
    return Answered(tuple(tokens), marks[0] - began, ended - marks[0], stats.speculation or SpeculationStats())


def _line(pairs: Sequence[tuple[Answered, Answered]]) -> str:
    plain, drafted = ([pair[i] for pair in pairs] for i in (0, 1))
    n = sum(len(one.tokens) for one in plain)
    passes = [sum(one.stats.num_verify_steps for one in of) for of in (plain, drafted)]
    writing = [sum(one.writing for one in of) for of in (plain, drafted)]
    whole = [sum(one.reading + one.writing for one in of) for of in (plain, drafted)]
    sources: dict[str, list[int]] = {}
    for one in drafted:
        for source in one.stats.by_source:
            sums = sources.setdefault(source.source, [0, 0])
            sums[0] += source.num_accepted_tokens
            sums[1] += source.num_draft_tokens
    kept = ", ".join(f"{name} {right} of {of}" for name, (right, of) in sorted(sources.items()))
    differ = sum(a.tokens != b.tokens for a, b in pairs)
    fewer, sooner, sooner_whole = (a / b if b else 1.0 for a, b in (passes, writing, whole))
    parts = (
        f"{n} tokens",
        f"{passes[0]} passes -> {passes[1]} ({fewer:.2f} times fewer)",
        f"writing {writing[0]:.1f} -> {writing[1]:.1f} s ({sooner:.2f}x)",
        f"with the prompts {whole[0]:.1f} -> {whole[1]:.1f} s ({sooner_whole:.2f}x)",
        f"{differ} texts differ",
        f"drafted tokens kept: {kept or 'none'}",
    )
    return "; ".join(parts)


def _noting(folder: Path, generator: LocalGenerator) -> Iterator[Request]:
    """As `pipeline.noting.taking` asks, of the passages that the run read."""
    from data import codec
    from decoding.api import Request, SamplingParams
    from pipeline.noting import reading_prompts
    from pipeline.noting.material import shown_title
    from pipeline.noting.taking import NOTE_TOKENS, readings
    from pipeline.stages import PLAN
    from pipeline.writing.prompts import Numbered

    pages = _pages(folder)
    title = codec.read(PLAN.kind, folder / "plan.json").title
    read = [id_ for path in sorted((folder / "drafts").glob("notes-*.json")) for id_ in json.loads(path.read_bytes())["read"]]
    for call in readings([_passage(id_, pages) for id_ in read]):
        page = pages[call.page]
        shown = Numbered(1, shown_title(page), call.text)
        messages = reading_prompts.notes(title, shown, page.published or "", generator.neutralise)
        yield Request(messages, SamplingParams(max_new_tokens=NOTE_TOKENS, task="other"))


def _saying(folder: Path) -> Iterator[Request]:
    """As `pipeline.writing.saying` asks at first, greedily, of the statements of the run's plan."""
    from data import codec
    from data.sentences import split_sentences
    from decoding.api import Rephrase, Request, SamplingParams
    from pipeline.stages import PLAN
    from pipeline.writing import prompts
    from pipeline.writing.saying import COPY_WORDS, SAMPLES, TOKENS_PER_WORD

    pages, plan = _pages(folder), codec.read(PLAN.kind, folder / "plan.json")
    temperature, penalty = SAMPLES[0]
    for statement in (one for section in plan.sections for paragraph in section.paragraphs for one in paragraph):
        near = [part for id_ in statement.cites for part in split_sentences(_passage(id_, pages).text)]
        grounding = Rephrase((statement.text, *near), copy_words=COPY_WORDS, copy_penalty=penalty)
        limit = round(len(statement.text.split()) * TOKENS_PER_WORD * 1.5) + 24
        yield Request(prompts.say(statement.text), SamplingParams(limit, temperature, grounding=grounding, task="say"))


def _pages(folder: Path) -> list[Page]:
    from data import codec
    from data.types import Page

    lines = (folder / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    return [codec.from_json(Page, line, where=f"{folder}/pages.jsonl") for line in lines]


def _passage(id_: str, pages: Sequence[Page]) -> Passage:
    from data.types import Passage

    page, start, end = (int(number) for number in id_.replace("-", ":").split(":"))
    return Passage(page, start, end, pages[page].text[start:end])


if __name__ == "__main__":
    sys.exit(main())

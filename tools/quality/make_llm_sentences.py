"""Sentences that local models wrote from passages, to be labelled by reading: the raw form of eval/cards/llm_sentences.jsonl.

    python -m tools.quality.make_llm_sentences --corpus corpus.jsonl.xz --out sentences.jsonl

For each of some passages of open text and of the sample's pages, by each model: notes, one sentence of the passage in other
words (greedily and sampled), and a paragraph of six notes. Seeded. Whoever reads them adds `label` (supported, partly, not) and
`wrong`, the words that are; `eval.judge_card --pairs` counts `supported` against the two others.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from flows.showing import console

MODELS = ("qwen-1.5b", "qwen-0.5b")
SOURCES = (("FreshWiki", 12), ("milestones", 9), ("us-history", 6), ("astronomy", 3), ("sample", 15))
"""Part of a source's name, and how many passages of it."""
LEAST_WORDS, MOST_WORDS = 60, 120
NOTES_A_PASSAGE = 3
SAID = ((0.0, 1.2), (0.7, 2.5))
"""Temperature and copying penalty."""


@dataclass(frozen=True, slots=True)
class Passage:
    source: str
    licence: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Written:
    """A sentence by a model from a passage; `kind` is note, saying or section."""

    passage: Passage
    model: str
    kind: str
    text: str


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.quality.make_llm_sentences",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--corpus", type=Path, required=True, metavar="FILE", help="open text, corpus.jsonl.xz")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    chance = random.Random(arguments.seed)
    passages = [one for name, n in SOURCES for one in drawn(passages_of(name, arguments.corpus), n, chance)]
    console.note(f"{len(passages)} passages")
    rows: list[dict[str, object]] = []
    for model in MODELS:
        for one in written(model, passages, random.Random(arguments.seed)):
            rows.append(
                {
                    "claim": one.text,
                    "evidence": [one.passage.text],
                    "label": "",
                    "wrong": "",
                    "meta": {
                        "id": f"llm-{len(rows):03}",
                        "kind": one.kind,
                        "model": one.model,
                        "title": one.passage.title,
                        "source": one.passage.source,
                        "licence": one.passage.licence,
                    },
                }
            )
        arguments.out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        console.result(f"{model}: {len(rows)} sentences so far in {arguments.out}")
    return 0


def passages_of(name: str, corpus: Path) -> Iterator[Passage]:
    if name == "sample":
        yield from sample_passages()
        return
    with lzma.open(corpus, "rt", encoding="utf-8") as lines:
        for line in lines:
            document = json.loads(line)
            if name in document["source"]:
                for text in paragraphs(document["text"]):
                    yield Passage(document["source"], document["license"], document["title"], text)


def paragraphs(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if LEAST_WORDS <= len(line.split()) <= MOST_WORDS and not line.startswith("="):
            yield " ".join(line.split())


def drawn(passages: Iterator[Passage], n: int, chance: random.Random) -> list[Passage]:
    """As many of each document as evenly as may be."""
    by_title: dict[str, list[Passage]] = {}
    for one in passages:
        by_title.setdefault(one.title, []).append(one)
    found: list[Passage] = []
    while by_title and len(found) < n:
        for title in chance.sample(sorted(by_title), k=min(n - len(found), len(by_title))):
            found.append(by_title[title].pop(chance.randrange(len(by_title[title]))))
        by_title = {title: left for title, left in by_title.items() if left}
    return found


def sample_passages() -> Iterator[Passage]:
    """Of the pages of the sample, which are invented."""
    import trafilatura

    from data.snapshot import SAMPLE

    titles = {path.stem: json.loads(path.read_text(encoding="utf-8"))["key"] for path in (SAMPLE / "wiki").glob("*.json")}
    for path in sorted((SAMPLE / "html").glob("*/*.html")):
        html = path.read_text(encoding="utf-8", errors="replace")
        found = trafilatura.extract(html)
        if found:
            for text in paragraphs(joined(found)):
                yield Passage("sample of Wiki-GenBen", "Apache-2.0", titles[path.parent.name], text)


def joined(text: str) -> str:
    """Short paragraphs with those behind them, up to a passage."""
    lines: list[str] = []
    for line in text.splitlines():
        if lines and len(lines[-1].split()) < LEAST_WORDS and len(f"{lines[-1]} {line}".split()) <= MOST_WORDS:
            lines[-1] = f"{lines[-1]} {line}"
        else:
            lines.append(line)
    return "\n".join(lines)


def written(model: str, passages: Sequence[Passage], chance: random.Random) -> Iterator[Written]:
    from data.sentences import split_sentences
    from decoding.api import Rephrase, Request, SamplingParams
    from decoding.local import LocalGenerator
    from decoding.models.naming import load_named
    from pipeline.noting import reading_prompts
    from pipeline.noting.taking import parsed
    from pipeline.writing import prompts

    generator = LocalGenerator(load_named(model, tell=console.note))

    def answers(requests: Sequence[Request]) -> list[str]:
        return [" ".join(done.text.split()) for done in generator.generate_many(requests)]

    reading = [
        Request(
            reading_prompts.notes(one.title, prompts.Numbered(1, "", one.text), "", generator.neutralise),
            SamplingParams(max_new_tokens=260),
        )
        for one in passages
    ]
    noted = [parsed(text) for text in answers(reading)]
    for one, notes in zip(passages, noted, strict=True):
        for note in chance.sample(notes, k=min(NOTES_A_PASSAGE, len(notes))):
            yield Written(one, model, "note", note)
    given = []
    for one in passages:
        fit = [sentence for sentence in split_sentences(one.text) if 9 <= len(sentence.split()) <= 32]
        if fit:
            given.append((one, chance.choice(fit)))
    for temperature, penalty in SAID:
        saying = [
            Request(
                prompts.say(text),
                SamplingParams(
                    max_new_tokens=round(len(text.split()) * 2.6) + 24,
                    temperature=temperature,
                    grounding=Rephrase((text,), copy_words=4, copy_penalty=penalty),
                ),
            )
            for _, text in given
        ]
        for (one, _), text in zip(given, answers(saying), strict=True):
            yield Written(one, model, "saying", text)
    many = [(one, notes[:6]) for one, notes in zip(passages, noted, strict=True) if len(notes) >= 4][::3]
    sections = [Request(prompts.say_together(notes), SamplingParams(max_new_tokens=220)) for _, notes in many]
    for (one, _), text in zip(many, answers(sections), strict=True):
        for sentence in split_sentences(text):
            yield Written(one, model, "section", sentence)


if __name__ == "__main__":
    sys.exit(main())

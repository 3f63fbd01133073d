"""Train the adapter of the default model: facts of web pages in, the same facts in other words out.

    python -m tools.fit_writer --agents wlc --data wikigenbench/data

The folder of `--agents` holds data/ and articles/<agent>/, as for `wikigenben agents`. Only topics and events of the
development split are read. What several agents wrote of one topic says the same facts in different words: a statement
is paired with a sentence of a page, or with another agent's statement, where `pipeline.writing.checks.rewording` finds no
fault and the writer's own support network agrees in both directions. Beside them are sentences of pages in other orders and
wordings that keep their meaning (`pipeline.writing.steps`, `pipeline.writing.wordings`): what a model this small can
learn without learning to invent. Writes decoding/smollm2/adapter.safetensors. An interrupted training goes on where it was
when the command is given again.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flows.showing import console

if TYPE_CHECKING:
    from data.types import Event
    from decoding.api import SupportReader
    from decoding.models.loading import LoadedModel
    from decoding.smollm2.training import Lesson
    from eval.fitting.support_examples import Statement

LIKE = 0.25
"""Least cosine of two texts' word weights for them to be compared at all."""
CANDIDATES = 24
TIMES = 3
"""Most statements that a sentence is paired with, and most sentences that a statement is."""
LONGEST_RUN = 9
MOST_COPIED = 0.5
SUPPORTED, SAID = 0.45, 0.2
"""Least chances, by the reader, that the fact supports the statement, and the statement the fact."""
WORDS = (8, 40)
RULE_PAIRS = 700
OTHER_WORDING = 0.7
"""Chance of another wording at each place that has one."""
PAIRED = 0.35
"""Share of examples with two facts."""
HELD_OUT = 0.15
"""Share of the pairs of agents that are held out, with every other pair of the same facts."""


@dataclass(frozen=True, slots=True)
class Rewording:
    title: str
    facts: tuple[str, ...]
    said: str
    by: str


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fit_writer", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=Path, required=True, metavar="DIR", help="holds data/ and articles/<agent>/")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="benchmark folder, for pairs made by rule")
    parser.add_argument("--work", type=Path, default=Path("runs/fit_writer"), metavar="DIR", help="pairs and checkpoints")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: decoding/smollm2/adapter.safetensors")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, metavar="N", help="stop after so many steps")
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    from decoding.models.gguf import converted, file_sha256
    from decoding.models.loading import load
    from decoding.smollm2 import ADAPTER_FILE, gguf_file
    from decoding.smollm2.adapter import write_adapter
    from decoding.smollm2.training import Recipe, held_out_loss, train

    pairs = _stored(arguments.work / "pairs.jsonl", arguments)
    told = ", ".join(f"{n} {by}" for by, n in Counter(pair.by for pair in pairs).items())
    file = gguf_file()
    loaded = load(str(converted(file, "float32", console.note)), device="cpu", dtype="float32")
    held = [pair for pair in pairs if pair.by == "agent"][:: round(1 / HELD_OUT)]
    facts = {fact for pair in held for fact in pair.facts}
    learnt = [pair for pair in pairs if not facts & set(pair.facts)]
    lessons, unseen = list(_lessons(learnt, loaded)), list(_lessons(held, loaded))
    console.note(f"{told}; {len(lessons)} examples of {sum(map(len, lessons))} tokens, {len(unseen)} held out")

    def report(step: int, of: int, loss: float) -> None:
        seen = f", held out {held_out_loss(loaded, unseen):.3f}" if step % 50 == 0 or step == of else ""
        console.note(f"step {step} of {of}: {loss:.3f} nats a token{seen}")

    console.note(f"before: held out {held_out_loss(loaded, unseen):.3f}")
    recipe = Recipe(threads=arguments.threads)
    adapter = train(
        loaded,
        lessons,
        recipe,
        base=file_sha256(file),
        checkpoint=arguments.work / "checkpoint.safetensors",
        report=report,
        stop_after=arguments.steps,
    )
    out = arguments.out or ADAPTER_FILE
    write_adapter(adapter, out)
    console.note(f"{out}: {out.stat().st_size / 1e6:.2f} MB")
    return 0


def _stored(path: Path, arguments: argparse.Namespace) -> list[Rewording]:
    from data import codec

    if not path.is_file():
        found = [*agent_pairs(arguments.agents), *rule_pairs([arguments.data, arguments.agents / "data"])]
        lines = [json.dumps([p.title, p.facts, p.said, p.by], ensure_ascii=False) for p in found]
        codec.write_atomic(path, "\n".join(lines) + "\n")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Rewording(title, tuple(facts), said, by) for title, facts, said, by in rows]


def agent_pairs(folder: Path) -> list[Rewording]:
    """For each statement the closest sentences that say it in other words."""
    from benchmark.splits import in_dev
    from data.snapshot import Snapshot
    from decoding.support.reader import writer_reader
    from eval.fitting.support_examples import read_agents

    snapshot = Snapshot(folder / "data")
    topics = [event_id for event_id in snapshot.ids("search") if in_dev(event_id)]
    by_topic: dict[str, list[Statement]] = defaultdict(list)
    for statement in read_agents(folder / "articles", topics):
        by_topic[statement.topic].append(statement)
    reader = writer_reader()
    found: list[Rewording] = []
    for topic in topics:
        event = snapshot.event(topic)
        pairs = list(_of_topic(event, offered(snapshot, event), by_topic[topic], reader))
        console.note(f"{event.title}: {len(pairs)} pairs")
        found += pairs
    return found


def _of_topic(
    event: Event, sentences: Sequence[str], statements: Sequence[Statement], reader: SupportReader
) -> Iterator[Rewording]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    said = [s for s in statements if WORDS[0] <= len(s.claim.split()) <= WORDS[1]]
    if not said:
        return
    sources = [(sentence, "") for sentence in dict.fromkeys(sentences)] + [(s.claim, s.document) for s in said]
    vectors = TfidfVectorizer(sublinear_tf=True).fit([text for text, _ in sources])
    likeness = (vectors.transform([s.claim for s in said]) @ vectors.transform([text for text, _ in sources]).T).toarray()
    taken: Counter[str] = Counter()
    for row, statement in zip(likeness, said, strict=True):
        n = 0
        for at in row.argsort()[::-1][:CANDIDATES].tolist():
            fact, by = sources[at]
            if row[at] < LIKE:
                break
            if by == statement.document or taken[fact] == TIMES or not _says(statement.claim, fact, event.title, reader):
                continue
            taken[fact] += 1
            n += 1
            yield Rewording(event.title, (fact,), statement.claim, "agent")
            if n == TIMES:
                break


def _says(said: str, fact: str, title: str, reader: SupportReader) -> bool:
    """Whether it is the fact in other words: by rule first, which is fast."""
    from pipeline.writing.checks.rewording import compare, own_words

    finding = compare(said, (fact,), title)
    if (
        own_words(said, (fact, title))
        or finding.faults
        or finding.lost
        or finding.longest_run > LONGEST_RUN
        or finding.copied > MOST_COPIED
    ):
        return False
    forward, back = reader.read([(said, (fact,)), (fact, (said,))])
    return forward is not None and back is not None and forward.support >= SUPPORTED and back.support >= SAID


def offered(snapshot: object, event: Event) -> list[str]:
    """The sentences of the event's pages that pass the gate, as a plan would have them."""
    from data.settings import EvidenceSettings, RetrievalSettings
    from pipeline.choosing.candidates import candidates
    from pipeline.choosing.gate import gate
    from pipeline.evidence import Evidence, SnapshotEvidence

    pages = SnapshotEvidence(snapshot, EvidenceSettings()).collect(event)  # type: ignore[arg-type]
    evidence = Evidence.unlapped(event, pages, RetrievalSettings())
    return [o.text for o in gate(evidence, candidates(evidence.passages, evidence.pages)).offered]


def rule_pairs(folders: Sequence[Path]) -> list[Rewording]:
    """Sentences of the development events' pages in another order or other wordings, some for each event."""
    from benchmark.splits import split_ids
    from data.errors import NoEvidence
    from data.snapshot import Snapshot
    from pipeline.writing.checks.rewording import MOST_COPIED_RUN, compare
    from pipeline.writing.steps import orders

    rng = random.Random(15)
    events = [(s, event_id) for s in map(Snapshot, folders) for event_id in split_ids(s, "search", "dev")]
    rng.shuffle(events)
    each = -(-2 * RULE_PAIRS // max(len(events), 1))  # many have few
    found: list[Rewording] = []
    for snapshot, event_id in events:
        event = snapshot.event(event_id)
        try:
            sentences = offered(snapshot, event)
        except NoEvidence:
            continue
        rng.shuffle(sentences)
        mine: list[Rewording] = []
        for fact in sentences:
            if not WORDS[0] <= len(fact.split()) <= WORDS[1]:
                continue
            forms = [_worded(order, rng) for order in orders(fact)]
            usable = [
                form for form in forms if form != fact and _is_usable(compare(form, (fact,), event.title), MOST_COPIED_RUN)
            ]
            if usable:
                mine.append(Rewording(event.title, (fact,), rng.choice(usable), "rule"))
            if len(mine) == each:
                break
        found += mine
    return found[:RULE_PAIRS]


def _worded(text: str, rng: random.Random) -> str:
    from pipeline.writing.wordings import places

    return "".join(
        rng.choice(place[1:]) if len(place) > 1 and rng.random() < OTHER_WORDING else place[0] for place in places(text)
    )


def _is_usable(finding: object, most: int) -> bool:
    return not finding.faults and finding.longest_run <= most  # type: ignore[attr-defined]


def _lessons(pairs: Sequence[Rewording], loaded: LoadedModel) -> Iterator[Lesson]:
    """The model's own prompts; some hold two facts of one topic, as those of `pipeline.writing.composing` do."""
    from decoding.models.conversation import PromptReader
    from decoding.smollm2.training import Lesson
    from pipeline.writing.composing import GROUP_WORDS
    from pipeline.writing.prompts import compose

    reader = PromptReader(loaded)
    for pair in _some_together(pairs, GROUP_WORDS):
        prompt = reader.prompt_ids(compose(pair.title, pair.facts, examples=False))
        answer = loaded.tokenizer.encode(pair.said, add_special_tokens=False)
        yield Lesson(tuple(prompt), (*answer, loaded.tokenizer.eos_token_id))


def _some_together(pairs: Sequence[Rewording], most_words: int) -> Iterable[Rewording]:
    rng = random.Random(16)
    waiting: dict[str, Rewording] = {}
    for pair in pairs:
        other = waiting.pop(pair.title, None)
        if other is not None:
            facts = (*other.facts, *pair.facts)
            if sum(len(fact.split()) for fact in facts) <= most_words + 10:
                yield Rewording(pair.title, facts, f"{other.said} {pair.said}", pair.by)
                continue
            yield other
        if rng.random() < PAIRED and len(pair.facts[0].split()) < most_words // 2 + 5:
            waiting[pair.title] = pair
        else:
            yield pair
    yield from waiting.values()


if __name__ == "__main__":
    sys.exit(main())

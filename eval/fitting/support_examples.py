"""Labelled pairs for the network that reads claims beside evidence: which words of the claim are not supported?

No large labelled set may be used here, so labels come from construction.

- **Statements of research agents** (Wiki Live Challenge, split `dev`) beside the pages they cite, and beside what the other
  agents write of the same topic: the same facts in other words. Those that the word-based judge accepts without a missing name
  or number count as supported, and as unsupported those that it clearly refuses.
- **Open text**: a sentence with the sentences around it.
- **Edits** (`eval.cards.edits`) of both: the changed words are not supported. True edits stay supported.
- **Evidence taken away**: the words that only the removed sentence had are not supported.
- **Other evidence**: the statement beside another page.
- **WiCE**, claims of its training part that people found partially supported, with the words they marked.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

from data.errors import UserError
from data.sentences import split_sentences
from decoding.api import SupportExample
from eval.cards.edit_parts import Context, Edited
from eval.cards.edits import FALSE_EDITS, TRUE_EDITS, edit
from eval.cards.judge_accuracy import Row
from eval.judges.features import Evidence, analyse_claim, closest, gather
from eval.judges.judge import Pair
from eval.judges.lexical_judge import LexicalJudge

SEED = 1
CONTEXT = 4
"""Sentences of evidence beside a claim, as the judge shows them."""
ACCEPTED, REFUSED = 0.66, 0.4
"""Scores of the word-based judge from which a statement counts as supported, and below which as unsupported. What lies
between stays out."""
FALSE_EDITS_EACH = 2
UNMATCHED = 0.4
"""Weight of a statement whose words are not all in its evidence: a paraphrase most often, sometimes an addition."""
HELD_OUT = frozenset(
    ('"falsely"', "before and after", "unit replaced", "quantifier changed", "other percent form", "list reordered")
)
"""Kinds of edits that are never trained on, so that the judge's card shows how it takes kinds it has not seen."""
_OFTEN: Mapping[str, float] = {
    "antonym": 2.5, "name replaced": 2.0, "two names exchanged": 2.0, "subject and object exchanged": 2.0, "verb replaced": 1.5,
    "clause of another sentence inserted": 1.5, "fused claims": 1.5, "words reversed": 0.3, "words in random order": 0.3,
    "words shuffled nearby": 0.5, "verbatim": 0.2, '"It is false that"': 0.3, "taken back at the end": 0.4,
    "number changed": 0.7, "year changed": 0.5, "day changed": 0.5, "weekday changed": 0.5,
}  # fmt: skip
"""How much oftener than others a kind is drawn: what words alone cannot show more, what rules settle less."""
_MARKS = re.compile(r"\s*\[\d+\]")


Part = Literal["judge", "held out"]
"""Each topic and document is shown to networks, or kept to measure edits on."""

TEXTS = 13_000
"""Examples from open text, at most: statements in other words teach more."""
PER_DOCUMENT = 25
PARTIAL_TIMES = 3
"""WiCE's marked claims are few and the only ones that people marked: each is shown three times to the judge's network."""
MOST_WORDS = 110
"""Of claim and evidence together; sentences of evidence beyond it are left out, the last ones first."""
_LIKE_NEWS = re.compile("FreshWiki|milestones|history|government")
"""Sources of open text that report events."""


@dataclass(frozen=True, slots=True)
class Sources:
    """`agents` holds `<agent>/<topic>.json`; `topics` are those of the development split."""

    agents: Path
    corpus: Path
    wice: Path
    topics: tuple[str, ...]


def make_examples(sources: Sources) -> list[SupportExample]:
    """All examples, in a seeded order."""
    maker, rng = ExampleMaker(SEED), random.Random(SEED)
    statements = [s for s in read_agents(sources.agents, sources.topics) if _part_of(f"wlc{s.topic}") == "judge"]
    pools: dict[str, list[str]] = defaultdict(list)
    for one in statements:
        pools[one.topic].append(one.claim)
    both = [*statements, *beside_each_other(statements)]
    rng.shuffle(both)
    found = [
        example
        for one in both
        for example in maker.of_statement(one, rng.sample(pools[one.topic], min(30, len(pools[one.topic]))))
    ]
    texts = [
        example
        for title, prose in read_text(sources.corpus)
        if _part_of(title) == "judge" and len(prose) > 5
        for at in sorted(random.Random(title).sample(range(len(prose)), min(PER_DOCUMENT, len(prose))))
        for example in maker.of_text(title, prose, at)
    ]
    rng.shuffle(texts)
    found += texts[:TEXTS]
    found += [*read_partial(sources.wice)] * PARTIAL_TIMES
    rng.shuffle(found)
    return [_shortened(one) for one in found]


def _part_of(document: str) -> Part:
    return "judge" if hashlib.sha256(document.encode()).hexdigest()[0] in "0123456789" else "held out"


def _shortened(example: SupportExample) -> SupportExample:
    kept, n = list[str](), len(example.claim.split())
    for sentence in example.evidence:
        n += len(sentence.split())
        if kept and n > MOST_WORDS:
            break
        kept.append(sentence)
    return replace(example, evidence=tuple(kept))


EDITED_STATEMENTS = 200
PARAPHRASE = 0.9
"""Coverage by the best sentence up to which a statement counts as said in other words."""


def edited_rows(sources: Sources) -> list[Row]:
    """Statements in other words than their evidence, true and edited, on topics that the judge's network has not seen. Also
    kinds of edits that it has not seen."""
    statements = [s for s in read_agents(sources.agents, sources.topics) if _part_of(f"wlc{s.topic}") == "held out"]
    pool, judge, rng = [s.claim for s in statements], LexicalJudge(), random.Random(3)
    beside = list(beside_each_other(statements))
    random.Random(5).shuffle(beside)
    rows: list[Row] = []
    n = 0
    for one in beside:
        evidence = gather(analyse_claim(one.claim), one.pages, judge.weight)
        score, reason = judge.judge(Pair(one.pages, one.claim))
        missing = evidence.claim.stem_set - evidence.stems
        if score < ACCEPTED or reason is not None or missing & evidence.claim.names or any(s.isdigit() for s in missing):
            continue
        if evidence.cov_best > PARAPHRASE:
            continue
        premise = "\n".join(closest(evidence, CONTEXT + 2))
        rows.append(Row(f"edited-{len(rows)}", "supported", Pair((premise,), one.claim)))
        context = Context(page=premise, others=tuple(rng.sample(pool, min(20, len(pool)))))
        for kind in rng.sample(list(FALSE_EDITS), 10):
            if (edited := edit(kind, one.claim, rng, context)) is not None and edited.text != one.claim:
                rows.append(Row(f"edited-{len(rows)}", "partially_supported", Pair((premise,), edited.text)))
        n += 1
        if n == EDITED_STATEMENTS:
            break
    return rows


class Statement(NamedTuple):
    """A claim and the texts of the pages it cites; `document` is `agent/topic`."""

    document: str
    claim: str
    pages: tuple[str, ...]

    @property
    def topic(self) -> str:
        return self.document.split("/")[1]


class ExampleMaker:
    """Examples of one statement at a time; deterministic by the statement and the seed."""

    def __init__(self, seed: int) -> None:
        self._judge = LexicalJudge()
        self._seed = seed

    def of_statement(self, statement: Statement, others: Sequence[str]) -> Iterator[SupportExample]:
        """`others` are sentences of the same document, for edits that need words from elsewhere."""
        pages = [page for page in statement.pages if not _is_missing(page)]
        if not pages:
            return
        rng = random.Random(f"{self._seed}:{statement.document}:{statement.claim}")
        pair = Pair(tuple(pages), statement.claim)
        score, veto = self._judge.judge(pair)
        evidence = gather(analyse_claim(statement.claim), pages, self._judge.weight)
        if not evidence.units:
            return
        shown = closest(evidence, CONTEXT)
        if score < REFUSED and veto is None:
            yield SupportExample(statement.claim, shown, False, None, 0.5)
            return
        missing = evidence.claim.stem_set - evidence.stems
        if score < ACCEPTED or veto is not None or missing & evidence.claim.names or any(s.isdigit() for s in missing):
            return
        yield from self._around(statement.claim, shown, others, rng, weight=1.0 if not missing else UNMATCHED)
        yield from self._with_less(evidence, shown)

    def of_text(self, document: str, sentences: Sequence[str], at: int) -> Iterator[SupportExample]:
        """A sentence of open text, among those around it."""
        rng = random.Random(f"{self._seed}:{document}:{at}")
        around = list(sentences[max(0, at - rng.randint(0, 2)) : at + rng.randint(1, 3)])
        rng.shuffle(around)
        claim = sentences[at]
        if claim not in around:
            around.insert(0, claim)
        others = [s for s in sentences if s not in around]
        yield from self._around(claim, tuple(around), others, rng, weight=1.0)
        if len(around) > 1 and rng.random() < 0.3:
            rest = tuple(s for s in around if s != claim)
            yield SupportExample(claim, rest, False, None)

    def _around(
        self, claim: str, shown: tuple[str, ...], others: Sequence[str], rng: random.Random, *, weight: float
    ) -> Iterator[SupportExample]:
        context = Context(page=" ".join([*shown, *others[:40]]), others=tuple(others))
        changed = _drawn(TRUE_EDITS, claim, rng, context) if rng.random() < 0.5 else None
        held = changed.text if changed else claim
        yield SupportExample(held, _perhaps_bare(shown, rng), True, (), weight)
        for _ in range(FALSE_EDITS_EACH):
            base = held if rng.random() < 0.3 else claim
            if (edited := _drawn(FALSE_EDITS, base, rng, context)) is not None:
                yield SupportExample(edited.text, _perhaps_bare(shown, rng), False, edited.spans, 1.0)

    def _with_less(self, evidence: Evidence, shown: tuple[str, ...]) -> Iterator[SupportExample]:
        """Without the sentence that holds most of the claim, the words that no other one has are unsupported."""
        best = shown[0]
        rest = [unit.stem_set for unit in evidence.units if unit.text != best]
        kept = frozenset[str]().union(*rest)
        lost = {s for s in evidence.claim.stem_set if s in evidence.stems and s not in kept}
        if len(lost) >= 2 and len(shown) > 1:
            spans = tuple(span for span, stem in stem_spans(evidence.claim.text) if stem in lost)
            yield SupportExample(evidence.claim.text, shown[1:], False, spans, 0.7)


def _drawn(kinds: Iterable[str], text: str, rng: random.Random, context: Context) -> Edited | None:
    """An edit of a random kind that the sentence admits; None after eight kinds that it does not."""
    names = [kind for kind in kinds if kind not in HELD_OUT]
    weights = [_OFTEN.get(kind, 1.0) for kind in names]
    for kind in dict.fromkeys(rng.choices(names, weights, k=8)):
        if (edited := edit(kind, text, rng, context)) is not None and edited.text != text:
            return edited
    return None


def _is_missing(page: str) -> bool:
    return not page.strip() or (len(page) < 300 and page.rstrip().endswith("is not in this folder)"))


def stem_spans(text: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Characters and stem of each word."""
    for match in re.finditer(r"[^\W_]+(?:['’.,-][^\W_]+)*", text):
        unit = analyse_claim(match.group())
        for token in unit.tokens:
            yield match.span(), token.stem


def _perhaps_bare(shown: tuple[str, ...], rng: random.Random) -> tuple[str, ...]:
    """One pair in six has its evidence as the benchmark stores cited pages: no capitals, no punctuation."""
    return tuple(re.sub(r"[^\w\s]", "", s.lower()) for s in shown) if rng.random() < 1 / 6 else shown


def read_agents(folder: Path, keep: Iterable[str]) -> Iterator[Statement]:
    """Statements of articles in the form of WikiGenBench, with the pages they cite. `keep` are the event ids wanted."""
    wanted = set(keep)
    for path in sorted(folder.glob("*/*.json")):
        if path.stem not in wanted:
            continue
        try:
            article = json.loads(path.read_text(encoding="utf-8"))
            pages = [str(found[2]) for found in article["retrieve"]]
            lines = str(article["text"]).split("\n")
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            raise UserError(f"{path} is no article with retrieved pages ({error})") from None
        for line in lines:
            if line.startswith("="):
                continue
            for sentence in split_sentences(line):
                cites = [int(n) for n in re.findall(r"\[(\d+)\]", sentence)]
                claim = _MARKS.sub("", sentence).strip()
                if cites and len(claim.split()) >= 5:
                    cited = tuple(pages[n - 1] for n in cites if 0 < n <= len(pages))
                    yield Statement(f"{path.parent.name}/{path.stem}", claim, cited)


def beside_each_other(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Each statement beside what the other agents write of the same topic: the same facts in other words."""
    by_topic: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for one in statements:
        agent, _, topic = one.document.rpartition("/")
        by_topic[topic][agent].append(one.claim)
    for topic, by_agent in by_topic.items():
        for agent, claims in by_agent.items():
            others = "\n".join(claim for other, said in by_agent.items() if other != agent for claim in said)
            yield from (Statement(f"{agent}/{topic}/others", claim, (others,)) for claim in claims)


def read_partial(path: Path) -> Iterator[SupportExample]:
    """WiCE's partially supported claims, each once beside its supporting sentences; and what people did not mark, alone."""
    for line in path.read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        claim, evidence = str(item["claim"]), [str(s) for s in item["evidence"]]
        spans, at = list[tuple[int, int]](), 0
        for token, refused in zip(item["claim_tokens"], item["non_supported_spans"], strict=True):
            start = claim.find(token, at)
            if start < 0:
                continue
            at = start + len(token)
            if refused:
                spans.append((start, at))
        chosen = sorted(item["supporting_sentences"], key=len)
        shown = tuple(evidence[i] for i in chosen[-1] if i < len(evidence))[:6] if chosen else ()
        judge = LexicalJudge()
        found = gather(analyse_claim(claim), ["\n".join(evidence)], judge.weight)
        for sentences in (shown, closest(found, CONTEXT)):
            if sentences:
                yield SupportExample(claim, tuple(sentences), False, tuple(spans), 1.5)
        if shown and (kept := _without(claim, spans)) is not None:
            yield SupportExample(kept, shown, True, (), 1.0)


def _without(claim: str, spans: Sequence[tuple[int, int]]) -> str | None:
    """The claim without the marked words, where they are one stretch and enough is left to be a sentence."""
    if not spans:
        return None
    start, end = spans[0][0], spans[-1][1]
    if any(b[0] - a[1] > 2 for a, b in pairwise(spans)):
        return None
    kept = f"{claim[:start].rstrip(' ,;')} {claim[end:].lstrip(' ,;')}".strip()
    return re.sub(r"\s+([.,;])", r"\1", kept) if len(kept.split()) >= 6 else None


def read_text(path: Path) -> Iterator[tuple[str, list[str]]]:
    """(title, sentences of running text) of the documents of a `corpus.jsonl.xz` that report events."""
    import lzma

    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            item = json.loads(line)
            if not _LIKE_NEWS.search(item["source"]):
                continue
            prose = [s for para in item["text"].split("\n") if not para.startswith("=") for s in split_sentences(para)]
            yield item["title"], [s for s in prose if 8 <= len(s.split()) <= 40 and s[0].isupper() and s.endswith(".")]

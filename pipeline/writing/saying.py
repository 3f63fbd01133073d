"""Saying: each statement of a plan in the model's own words, checked both ways; what cannot be said without a fault is said as
its note.

A model gets one statement a call, with worked examples. All statements of a section are asked at once: first greedily, then
those whose answer has a fault or copies are sampled. Of answers without a fault the one that copies least from the passages is
taken. A note is short and clear alone, so that nothing true is lost, and nothing needs to be quoted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from data.decoding_counts import Usage
from data.errors import StageError
from data.runs import Stages
from data.sentences import split_sentences
from data.types import Heading, Paragraph, Repair, Section, Sentence
from decoding.api import Completion, Rephrase, Request, SamplingParams, SupportReader
from pipeline.article_plan import ArticlePlan, Statement
from pipeline.evidence import Evidence
from pipeline.stages import composed_stage, section_stage
from pipeline.writing import prompts
from pipeline.writing.assembly import LEAD_HEADING, WrittenSection
from pipeline.writing.checks.rewording import compare, copied_runs
from pipeline.writing.citing import tidy_generated
from pipeline.writing.drafting import ComposedDraft, Tried, Writer
from pipeline.writing.prompts import quotable

SAMPLED = ((0.7, 4.0), (0.9, 5.0))
"""Temperature and copying penalty of the further answers."""
GREEDY_PENALTY = 2.5
COPY_WORDS = 4
"""Words of a passage in a row, names and numbers apart, behind which the next one costs the penalty, in logits."""
GOOD_ENOUGH = 0.3
"""Share of copied words up to which no further answer is asked for."""
SUPPORTED, SAID = 0.1, 0.05
"""Least chance, by the reader, that the note supports the answer, and that the answer supports the note. It refuses many right
paraphrases, so that it only keeps out what the model's own reading must not decide alone."""
SAME = 0.75
"""Least chance, by the model itself, that the answer says the same as its note. With worked examples it told right from wrong
answers better than the reader (LOG.md)."""
NEW_WORDS_COST = 0.5
"""What a share of words that no fact has counts against a share of copied ones."""
AGREED_WORTH = 0.5
"""What a chance of saying the same counts for."""
WORTH_IT = 0.1
"""A share of copied words, less than the note's own, from which an answer is better than the note."""
TOKENS_PER_WORD = 1.7
NEAREST = 3
"""Sentences of each cited passage that an answer is compared with."""
_ENDS = re.compile(r"[.!?][\"'”’)\]]*\Z")


@dataclass(frozen=True, slots=True)
class _Fact:
    """A statement of a section by its place, with the sentences of its passages that are nearest to it."""

    place: int
    statement: Statement
    passages: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.statement.text


class Saying:
    """One event's article, section by section, from its plan."""

    def __init__(
        self, evidence: Evidence, plan: ArticlePlan, writer: Writer, reader: SupportReader | None, stages: Stages
    ) -> None:
        self._plan = plan
        self._writer = writer
        self._reader = reader
        self._stages = stages
        self._passages = {passage.id: passage.text for passage in evidence.passages}

    def lead(self) -> WrittenSection:
        return self._section(0, LEAD_HEADING, (self._plan.lead,) if self._plan.lead else ())

    def sections(self) -> list[WrittenSection]:
        return [self._section(n, planned.heading, planned.paragraphs) for n, planned in enumerate(self._plan.sections, 1)]

    def _section(self, n: int, heading: Heading, paragraphs: Sequence[Sequence[Statement]]) -> WrittenSection:
        def make() -> WrittenSection:
            stage = composed_stage(n)
            draft = self._stages.once(stage, lambda: self._draft([s for paragraph in paragraphs for s in paragraph]))
            return _read(draft, heading, paragraphs)

        return self._stages.once(section_stage(n), make)

    def _draft(self, statements: Sequence[Statement]) -> ComposedDraft:
        facts = [_Fact(n, one, self._nearest(one)) for n, one in enumerate(statements)]
        usage: list[Usage] = []
        tried = self._answers(facts, 0.0, GREEDY_PENALTY, 0, usage)
        for n, (temperature, penalty) in enumerate(SAMPLED, 1):
            rest = [fact for fact in facts if not any(_is_good(one) for one in tried if one.facts == (fact.place,))]
            tried += self._answers(rest, temperature, penalty, n, usage)
        chosen: list[Tried] = []
        for fact in facts:
            mine = [one for one in tried if one.facts == (fact.place,)]
            note = self._note(fact)
            best = _best([*mine, note])
            chosen += [replace(one, chosen=one is best) for one in (*mine, note)]
        return ComposedDraft(tuple(chosen), Usage.total(usage))

    def _nearest(self, statement: Statement) -> tuple[str, ...]:
        found = []
        for cite in statement.cites:
            sentences = split_sentences(self._passages.get(cite, ""))
            found += sorted(sentences, key=lambda s: -_shared(statement.text, s))[:NEAREST]
        return tuple(found)

    def _answers(self, facts: Sequence[_Fact], temperature: float, penalty: float, n: int, usage: list[Usage]) -> list[Tried]:
        """One answer for each; a call that fails is an answer with that fault, since the note is there to stand for it."""
        if not facts:
            return []
        requests = [self._request(fact, temperature, penalty, n) for fact in facts]
        answers: dict[int, Completion] = {}
        try:
            self._writer.generator.generate_many(requests, answers.__setitem__)
        except StageError:
            if not answers:
                raise
        usage += [Usage(1, a.n_prompt_tokens, a.n_new_tokens, a.stats.rounded()) for a in answers.values()]
        return self._judged([(facts[k], _tidy(answer)) for k, answer in sorted(answers.items())])

    def _request(self, fact: _Fact, temperature: float, penalty: float, n: int) -> Request:
        generator = self._writer.generator
        text = quotable(fact.text, generator.neutralise)
        grounding = None
        if generator.grounds:
            sources = tuple(quotable(source, generator.neutralise) for source in (fact.text, *fact.passages))
            grounding = Rephrase(sources, copy_words=COPY_WORDS, copy_penalty=penalty, max_sentences=0, only_known_names=False)
        limit = round(len(text.split()) * TOKENS_PER_WORD * 1.5) + 24
        sampling = SamplingParams(
            max_new_tokens=limit, temperature=temperature, seed=self._writer.seed + n, grounding=grounding, task="say"
        )
        return Request(prompts.say(text), sampling)

    def _judged(self, answers: Sequence[tuple[_Fact, str]]) -> list[Tried]:
        """Each answer with its faults: by rule, where these find none by the reader, and then by the model itself."""
        found = []
        for fact, text in answers:
            finding = compare(text, (fact.text,), self._plan.title, (*fact.statement.also, *fact.passages))
            faults = list(finding.faults)
            if not text:
                faults.append("no whole sentence")
            if any(text.rstrip(".") == example.rstrip(".") for _, example in prompts.SAY_EXAMPLES):
                faults.append("a worked example")
            copied, run = copied_runs(text, (*fact.passages, fact.text) if not fact.passages else fact.passages)
            found.append(
                Tried((fact.place,), "model", text, tuple(faults), round(copied, 3), run, round(finding.new_words, 3), None)
            )
        if self._reader is not None:
            found = self._read_both(found, answers, self._reader)
        open_ones = [k for k, one in enumerate(found) if not one.faults]
        asked = [prompts.says_the_same(self._shown(answers[k][0].text), self._shown(found[k].text)) for k in open_ones]
        chances = self._writer.generator.choose_many(asked, ("Yes", "No")) if asked else []
        for k, (yes, _) in zip(open_ones, chances, strict=True):
            found[k] = replace(found[k], agreed=round(yes, 3))
            if yes < SAME:
                found[k] = replace(found[k], faults=(f"the model itself doubts that it says the same ({yes:.2f})",))
        return found

    def _read_both(self, tried: Sequence[Tried], answers: Sequence[tuple[_Fact, str]], reader: SupportReader) -> list[Tried]:
        """The answers without a fault as the reader sees them: whether the note supports them, and they it."""
        found = list(tried)
        open_ones = [k for k, one in enumerate(found) if not one.faults]
        texts = [(found[k].text, answers[k][0].text) for k in open_ones]
        forward = reader.read([(text, (note,)) for text, note in texts])
        back = reader.read([(note, (text,)) for text, note in texts])
        for k, said, kept in zip(open_ones, forward, back, strict=True):
            faults = []
            if said is not None and said.support < SUPPORTED:
                faults.append(f"its note hardly supports it ({said.support:.2f})")
            if kept is not None and kept.support < SAID:
                faults.append(f"it hardly says its note ({kept.support:.2f})")
            found[k] = replace(found[k], faults=tuple(faults), support=None if said is None else round(said.support, 3))
        return found

    def _shown(self, text: str) -> str:
        return quotable(text, self._writer.generator.neutralise)

    def _note(self, fact: _Fact) -> Tried:
        copied, run = copied_runs(fact.text, fact.passages)
        return Tried((fact.place,), "note", fact.text, (), round(copied, 3), run, 0.0, None)


def _shared(text: str, other: str) -> float:
    wanted = set(re.findall(r"\w+", text.lower()))
    return len(wanted & set(re.findall(r"\w+", other.lower()))) / max(len(wanted), 1)


def _tidy(answer: Completion) -> str:
    """The answer as prose of one paragraph, without what the token limit cut off behind its last whole sentence."""
    text = tidy_generated(" ".join(answer.text.split()))
    sentences = split_sentences(text)
    if sentences and not _ENDS.search(sentences[-1]):
        sentences = sentences[:-1]
    return " ".join(sentences)


def _is_good(one: Tried) -> bool:
    return not one.faults and one.copied <= GOOD_ENOUGH


def _cost(one: Tried) -> float:
    return one.copied + NEW_WORDS_COST * one.new_words - AGREED_WORTH * (one.agreed or 0.0)


def _best(tried: Sequence[Tried]) -> Tried:
    """Of those without a fault one that copies little and says the same; the note, the last, where none is better by much."""
    *answers, note = tried
    usable = [one for one in answers if not one.faults]
    best = min(usable, key=_cost, default=note)
    return best if best is note or best.copied <= note.copied - WORTH_IT or best.copied <= GOOD_ENOUGH else note


def _read(draft: ComposedDraft, heading: Heading, paragraphs: Sequence[Sequence[Statement]]) -> WrittenSection:
    """Sentences with the citations of what they say, in the plan's paragraphs."""
    statements = [s for paragraph in paragraphs for s in paragraph]
    said = {one.facts[0]: one for one in draft.tried if one.chosen}
    written: list[Paragraph] = []
    repairs: list[Repair] = []
    at = 0
    for paragraph in paragraphs:
        sentences: list[Sentence] = []
        for place in range(at, at + len(paragraph)):
            one = said[place]
            sentences += [Sentence(text, statements[place].cites) for text in split_sentences(one.text)]
            if one.by == "note":
                faults = [other.faults[0] for other in draft.tried if other.facts == (place,) and other.faults]
                why = f": {faults[-1]}" if faults else ""
                repairs.append(Repair("sentence_replaced", heading.text, one.text, f"said as its note{why}"))
        written.append(tuple(sentences))
        at += len(paragraph)
    return WrittenSection(Section(heading, tuple(p for p in written if p)), tuple(repairs))

"""Saying: each statement of a plan in the model's own words, checked both ways; what cannot be said without a fault is said as
its note.

A model gets one statement a call, or as many neighbours of a paragraph as it carries, with worked examples. All of a section
are asked at once: first greedily, then those whose answer has a fault or copies are sampled. Of answers without a fault one
that copies little from the passages is taken. Several statements that no answer says are asked for one by one; one that no
answer says stands as its note, which is short and clear alone, so that nothing true is lost, and nothing needs to be quoted.
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

SAMPLED = ((0.5, 2.5), (0.7, 4.0))
"""Temperature and copying penalty of the further answers."""
GREEDY_PENALTY = 1.2
"""A higher price gives fewer answers that say the same: of 35 short notes of one topic 15 with 2.5 and 19 with 1.2 (LOG.md)."""
COPY_WORDS = 4
"""Words of a passage in a row, names and numbers apart, behind which the next one costs the penalty, in logits."""
GOOD_ENOUGH = 0.3
"""Share of copied words up to which no further answer is asked for."""
SUPPORTED, SAID = 0.1, 0.05
"""Chance, by the reader, that the note supports the answer, and that the answer supports the note, below which it doubts. It
doubts many right paraphrases, so that its doubt only raises the bar."""
SAME, SURELY_SAME = 0.75, 0.85
"""Least chance, by the model itself, that the answer says the same as its note; and where the reader doubts, or the note is
long."""
MOST_WORDS, LIGHT = 22, 0.33
"""Words of a note from which an answer must keep this share of them in runs. Of 37 answers with a chance of at least 0.75,
which were labelled by reading, 20 of 25 to shorter notes were right, of the longer ones 5 of 5 that keep so much and 0 of 7
that keep less (LOG.md)."""
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
class _Asked:
    """Statements of a section by their places that one call says, with the sentences of their passages nearest to them."""

    places: tuple[int, ...]
    statements: tuple[Statement, ...]
    passages: tuple[str, ...]

    @property
    def facts(self) -> tuple[str, ...]:
        return tuple(one.text for one in self.statements)

    @property
    def text(self) -> str:
        return " ".join(self.facts)


class Saying:
    """One event's article, section by section, from its plan."""

    def __init__(
        self,
        evidence: Evidence,
        plan: ArticlePlan,
        writer: Writer,
        reader: SupportReader | None,
        stages: Stages,
        together: int = 1,
    ) -> None:
        """`together`: statements that one call gets at most."""
        self._plan = plan
        self._together = together
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
            draft = self._stages.once(stage, lambda: self._draft(paragraphs))
            return _read(draft, heading, paragraphs)

        return self._stages.once(section_stage(n), make)

    def _draft(self, paragraphs: Sequence[Sequence[Statement]]) -> ComposedDraft:
        statements = [one for paragraph in paragraphs for one in paragraph]
        usage: list[Usage] = []
        chosen: list[Tried] = []
        done: set[int] = set()
        together = self._neighbours(paragraphs)
        tried = self._tried(together, usage)
        for asked in together:
            mine = [one for one in tried if one.facts == asked.places]
            best = _least([one for one in mine if not one.faults])
            chosen += [replace(one, chosen=one is best) for one in mine]
            done |= set(asked.places) if best is not None else set()
        alone = [_Asked((n,), (one,), self._nearest(one)) for n, one in enumerate(statements) if n not in done]
        # A note in words of its own is as good as any rewording of it, and surer.
        asked_of = [one for one in alone if not one.passages or self._note(one).copied > GOOD_ENOUGH]
        tried = self._tried(asked_of, usage)
        for asked in alone:
            mine = [one for one in tried if one.facts == asked.places]
            note = self._note(asked)
            best = _best([*mine, note])
            chosen += [replace(one, chosen=one is best) for one in (*mine, note)]
        return ComposedDraft(tuple(chosen), Usage.total(usage))

    def _neighbours(self, paragraphs: Sequence[Sequence[Statement]]) -> list[_Asked]:
        """What one call may say together: two or more neighbours of a paragraph."""
        found: list[_Asked] = []
        first = 0
        for paragraph in paragraphs:
            for at in range(0, len(paragraph), self._together):
                few = tuple(paragraph[at : at + self._together])
                if len(few) > 1:
                    places = tuple(range(first + at, first + at + len(few)))
                    found.append(_Asked(places, few, tuple(text for one in few for text in self._nearest(one))))
            first += len(paragraph)
        return found

    def _tried(self, asked: Sequence[_Asked], usage: list[Usage]) -> list[Tried]:
        """Answers to each, greedily, and sampled while none is good."""
        tried = self._answers(asked, 0.0, GREEDY_PENALTY, 0, usage)
        for n, (temperature, penalty) in enumerate(SAMPLED, 1):
            rest = [one for one in asked if not any(_is_good(answer) for answer in tried if answer.facts == one.places)]
            if n > 1:  # a high price leaves nothing of a long note
                rest = [one for one in rest if not self._is_long(one)]
            tried += self._answers(rest, temperature, penalty, n, usage)
        return tried

    def _nearest(self, statement: Statement) -> tuple[str, ...]:
        found = []
        for cite in statement.cites:
            sentences = split_sentences(self._passages.get(cite, ""))
            found += sorted(sentences, key=lambda s: -_shared(statement.text, s))[:NEAREST]
        return tuple(found)

    def _answers(self, facts: Sequence[_Asked], temperature: float, penalty: float, n: int, usage: list[Usage]) -> list[Tried]:
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

    def _request(self, fact: _Asked, temperature: float, penalty: float, n: int) -> Request:
        generator = self._writer.generator
        shown = [self._shown(one) for one in fact.facts]
        grounding = None
        if generator.grounds:
            sources = tuple(self._shown(source) for source in (*fact.facts, *fact.passages))
            grounding = Rephrase(sources, copy_words=COPY_WORDS, copy_penalty=penalty, max_sentences=0, only_known_names=False)
        limit = round(sum(len(one.split()) for one in shown) * TOKENS_PER_WORD * 1.5) + 24
        sampling = SamplingParams(
            max_new_tokens=limit, temperature=temperature, seed=self._writer.seed + n, grounding=grounding, task="say"
        )
        return Request(prompts.say(shown[0]) if len(shown) == 1 else prompts.say_together(shown), sampling)

    def _judged(self, answers: Sequence[tuple[_Asked, str]]) -> list[Tried]:
        """Each answer with its faults: by rule, where these find none by the reader, and then by the model itself."""
        found = []
        for fact, text in answers:
            also = tuple(text for one in fact.statements for text in one.also)
            finding = compare(text, fact.facts, self._plan.title, (*also, *fact.passages))
            faults = list(finding.faults)
            if not text:
                faults.append("no whole sentence")
            examples = (prompts.TOGETHER_EXAMPLE[1], *(example for _, example in prompts.SAY_EXAMPLES))
            if any(text.rstrip(".") == example.rstrip(".") for example in examples):
                faults.append("a worked example")
            copied, run = copied_runs(text, fact.passages or fact.facts)
            if self._is_long(fact) and copied < LIGHT:
                faults.append("of a long note a small model loses a part when it says all otherwise")
            found.append(
                Tried(fact.places, "model", text, tuple(faults), round(copied, 3), run, round(finding.new_words, 3), None)
            )
        doubted: set[int] = set()
        if self._reader is not None:
            found, doubted = self._read_both(found, answers, self._reader)
        open_ones = [k for k, one in enumerate(found) if not one.faults]
        asked = [prompts.says_the_same(self._shown(answers[k][0].text), self._shown(found[k].text)) for k in open_ones]
        chances = self._writer.generator.choose_many(asked, ("Yes", "No")) if asked else []
        for k, (yes, _) in zip(open_ones, chances, strict=True):
            found[k] = replace(found[k], agreed=round(yes, 3))
            if yes < (SURELY_SAME if k in doubted or self._is_long(answers[k][0]) else SAME):
                found[k] = replace(found[k], faults=(f"the model itself doubts that it says the same ({yes:.2f})",))
        return found

    def _read_both(
        self, tried: Sequence[Tried], answers: Sequence[tuple[_Asked, str]], reader: SupportReader
    ) -> tuple[list[Tried], set[int]]:
        """The answers without a fault as the reader sees them: whether the note supports them, and they it; and of which it
        doubts either."""
        found = list(tried)
        open_ones = [k for k, one in enumerate(found) if not one.faults]
        # Each sentence against all facts, and each fact against all sentences: the least counts.
        forward = [(k, sentence, answers[k][0].facts) for k in open_ones for sentence in split_sentences(found[k].text)]
        back = [(k, fact, tuple(split_sentences(found[k].text))) for k in open_ones for fact in answers[k][0].facts]
        said, kept = _least_support(reader, forward), _least_support(reader, back)
        for k in open_ones:
            found[k] = replace(found[k], support=round(said[k], 3) if k in said else None)
        return found, {k for k in open_ones if said.get(k, 1.0) < SUPPORTED or kept.get(k, 1.0) < SAID}

    def _is_long(self, fact: _Asked) -> bool:
        """Longer than a model that carries one note a call can say otherwise."""
        return self._together == 1 and len(fact.text.split()) > MOST_WORDS

    def _shown(self, text: str) -> str:
        return quotable(text, self._writer.generator.neutralise)

    def _note(self, fact: _Asked) -> Tried:
        copied, run = copied_runs(fact.text, fact.passages)
        return Tried(fact.places, "note", fact.text, (), round(copied, 3), run, 0.0, None)


def _least_support(reader: SupportReader, asked: Sequence[tuple[int, str, tuple[str, ...]]]) -> dict[int, float]:
    """Of each number the least chance that the sentences support the claim; those of which nothing is known are missing."""
    least: dict[int, float] = {}
    for (k, _, _), one in zip(asked, reader.read([(claim, sentences) for _, claim, sentences in asked]), strict=True):
        if one is not None:
            least[k] = min(least.get(k, 1.0), one.support)
    return least


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


def _least(usable: Sequence[Tried]) -> Tried | None:
    return min(usable, key=_cost, default=None)


def _best(tried: Sequence[Tried]) -> Tried:
    """Of those without a fault one that copies little and says the same; the note, the last, where none is better by much."""
    *answers, note = tried
    best = _least([one for one in answers if not one.faults]) or note
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
            if (one := said.get(place)) is None:  # said together with the one before
                continue
            sentences += _cited(one.text, [statements[n] for n in one.facts])
            answers = [other for other in draft.tried if other.facts == (place,) and other.by == "model"]
            if one.by == "note" and answers:
                faults = [other.faults[0] for other in answers if other.faults]
                why = f": {faults[-1]}" if faults else ""
                repairs.append(Repair("sentence_replaced", heading.text, one.text, f"said as its note{why}"))
        written.append(tuple(sentences))
        at += len(paragraph)
    return WrittenSection(Section(heading, tuple(p for p in written if p)), tuple(repairs))


def _cited(text: str, statements: Sequence[Statement]) -> list[Sentence]:
    """The sentences of an answer, each with the passages of what it says: a statement belongs to the sentence with most of its
    words, and a sentence with none to the statement nearest to it."""
    sentences = split_sentences(text)
    cites: list[list[str]] = [[] for _ in sentences]
    for one in statements:
        best = max(range(len(sentences)), key=lambda n: (_shared(one.text, sentences[n]), -n))
        cites[best] += one.cites
    for n, sentence in enumerate(sentences):
        cites[n] = cites[n] or list(max(statements, key=lambda one: _shared(sentence, one.text)).cites)
    return [Sentence(sentence, tuple(dict.fromkeys(found))) for sentence, found in zip(sentences, cites, strict=True)]

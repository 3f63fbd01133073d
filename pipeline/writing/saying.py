"""Saying: each statement of a plan in the model's own words, checked both ways; what cannot be said without a fault is said as
its note.

A model gets one statement a call, or as many neighbours of a paragraph as it carries, with worked examples. Each is said
several times, greedily and sampled, or opening with another word each time, all of a section at once. An answer of which the
others say something else is a guess: minimum Bayes risk decoding (Kumar & Byrne, 2004; Eikema & Aziz, 2020) takes the one
nearest to all. Here that, little copying from the passages, what a reader network makes of both, and the model's own word that
it says the same, decide together.
Several statements that no answer says are asked for one by one; one that no answer says stands as its note, which is short and
clear alone, so that nothing true is lost, and nothing needs to be quoted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from data.decoding_counts import Usage
from data.errors import StageError
from data.sentences import split_sentences
from data.stage_types import Stages
from data.types import Heading, Paragraph, Repair, Section, Sentence
from decoding.api import Completion, Rephrase, Request, SamplingParams, SupportReader
from pipeline.article_plan import ArticlePlan, Statement
from pipeline.choosing.verbs import turns_past
from pipeline.evidence import Evidence
from pipeline.stages import composed_stage, section_stage
from pipeline.writing import prompts
from pipeline.writing.assembly import LEAD_HEADING, WrittenSection
from pipeline.writing.checks.rewording import compare, copied_runs
from pipeline.writing.citing import tidy_generated
from pipeline.writing.consensus import consensus
from pipeline.writing.drafting import ComposedDraft, Tried, Writer
from pipeline.writing.prompts import quotable

SAMPLES = ((0.0, 1.2), (0.6, 1.2), (0.6, 1.2), (0.7, 1.2), (0.7, 1.6), (0.8, 2.0))
"""Temperature and copying penalty of the answers. A higher price gives fewer that say the same (LOG.md)."""
TUNED = ((0.0, 0.6), (0.0, 1.5), (0.0, 3.0), (0.0, 5.0))
"""The same of a model that was tuned to say facts: it needs no price, and errs where it is warm. Of 90 statements, labelled
by reading, it says 56% the same at (0, 0) and 23% wrong, at (0, 0.6) the same, at (0, 1.2) 51 and 32, at (0.5, 0) 42 and 41;
untuned 36 and 33 at (0, 1.2), of another 120. The dear ones are for what would be copied else: the demo's first article had
55.6% copied words without them, and 50.3% with them and `COPIED_COST` at 2."""
OPENINGS, OPENING_PRICE = 3, 1.2
"""Further greedy answers of a tuned model where no answer was right, each of which opens otherwise than the note and those
before, and their price. Of 88 statements of two topics four greedy answers and two warm ones got 30 through all checks, 63% of
them the same and 27% wrong; with these in place of the warm ones 49, 71% and 14%."""
AGAIN = ((0.7, 1.2), (0.7, 1.2), (0.7, 1.6), (0.8, 1.6), (0.9, 1.2), (0.9, 1.6))
"""The same where no answer was without a fault, and the note may not stand."""
AGREEING = 0.55
"""Least mean likeness of an answer with the other answers to the same statements, as F1 of their stems."""
ASKED = 4
"""Answers, best first, of which the model is asked at most whether they say the same."""
COPY_WORDS = 4
"""Words of a passage in a row, names and numbers apart, behind which the next one costs the penalty, in logits."""
GOOD_ENOUGH = 0.3
"""Share of copied words up to which a note needs no rewording, and a rewording is better than its note."""
SAY = "say"
"""The name of the task, for which a model may have been tuned (`decoding.prefixes`)."""
SAYS_THE_SAME = "says the same"
"""The name of what the model is asked of an answer, for which it may have been probed (`decoding.probes`)."""
AGREED, SAID, KEPT = 0.4, 0.2, 0.4
"""What log odds count for: of the model's own chance that answer and note say the same, of the reader's that the note says the
answer, and that the answer says the note. By a logistic regression on 936 answers that were labelled by reading; the second
was 0.1 before the reader had seen phrases exchanged."""
SAME, SURELY_SAME = 1.2, 1.5
"""The least sum; and where the note is long. Of 365 answers of the tuned model without a fault by rule, labelled by reading,
56% the same, 224 have 0.8 or more (76% the same, 20% wrong), 186 have 1.2 (83 and 15%), 147 have 1.6 (88 and 11%), 100 have 2.0
(92 and 8%)."""
BOUND = 0.005
"""A chance is taken for no less, and for no more than what this leaves of one."""
HOPELESS = -0.8
"""The reader's part of the sum below which the model is not asked: of 172 such answers 22 say the same."""
MOST_WORDS, LIGHT = 22, 0.33
"""Words of a note from which an answer must keep this share of them in runs. Of 37 answers with a chance of at least 0.75,
which were labelled by reading, 20 of 25 to shorter notes were right, of the longer ones 5 of 5 that keep so much and 0 of 7
that keep less (LOG.md)."""
COPIED_COST, NEW_WORDS_COST = 2.0, 0.5
"""What a share of copied words counts, and one of words that no fact has."""
AGREED_WORTH, READ_WORTH = 0.5, 0.1
"""What a chance of saying the same counts for, by the model; and the reader's log odds."""
CONSENSUS_WORTH = 1.0
"""What likeness with the other answers counts for."""
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
            best = _least([one for one in mine if _is_right(one)])
            chosen += [replace(one, chosen=one is best) for one in mine]
            done |= set(asked.places) if best is not None else set()
        chosen += self._alone([(n, one) for n, one in enumerate(statements) if n not in done], usage)
        return ComposedDraft(tuple(chosen), Usage.total(usage))

    def each(self, statements: Sequence[Statement], usage: list[Usage], *, again: bool = False) -> list[str]:
        """How each is said best, alone: an answer, or as it is. `again`: other answers than those of the first time."""
        said = {one.facts[0]: one.text for one in self._alone(list(enumerate(statements)), usage, again) if one.chosen}
        return [said[n] for n in range(len(statements))]

    def _alone(self, numbered: Sequence[tuple[int, Statement]], usage: list[Usage], again: bool = False) -> list[Tried]:
        """All answers to each statement, asked for one by one, and its note; of each the best is chosen."""
        alone = [_Asked((n,), (one,), self._nearest(one)) for n, one in numbered]
        # A note in words of its own is as good as any rewording of it, and surer.
        asked_of = [one for one in alone if not one.passages or self._note(one).copied > GOOD_ENOUGH]
        tried = self._tried(asked_of, usage, again)
        found: list[Tried] = []
        for asked in alone:
            mine = [one for one in tried if one.facts == asked.places]
            note = self._note(asked)
            best = _best([*mine, note])
            found += [replace(one, chosen=one is best) for one in (*mine, note)]
        return found

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

    def _tried(self, asked: Sequence[_Asked], usage: list[Usage], again: bool = False) -> list[Tried]:
        """All answers to each, those without a fault judged until one is good. A tuned model is asked for others then, where
        none is."""
        tuned = SAY in self._writer.generator.tuned
        ways = AGAIN if again else TUNED if tuned else SAMPLES
        answers = self._in_ways(asked, ways, len(SAMPLES) if again else 0, usage)
        found = self._weighed(answers)
        if tuned:
            said = {one.facts for one in found if _is_right(one)}
            left = [fact for fact in asked if fact.places not in said]
            before = [(fact, text) for fact, text in answers if fact.places not in said]
            found += self._weighed(self._opening_otherwise(left, before, OPENING_PRICE, usage), before)
        return found

    def _weighed(self, answers: Sequence[tuple[_Asked, str]], before: Sequence[tuple[_Asked, str]] = ()) -> list[Tried]:
        """Answers with what rules, other answers (also those `before`), the reader and the model itself find in them."""
        found = self._agreeing([self._by_rule(fact, text) for fact, text in answers], answers, before)
        if self._reader is not None:
            found = _read_both(found, [fact for fact, _ in answers], self._reader)
        for _ in range(ASKED):
            best = [_least(open_ones) for open_ones in _unasked(found)]
            places = [k for k, one in enumerate(found) if any(one is other for other in best)]
            if not places:
                break
            for k, one in zip(places, self._judged([(answers[k][0], found[k]) for k in places]), strict=True):
                found[k] = one
        return found

    def _nearest(self, statement: Statement) -> tuple[str, ...]:
        found = []
        for cite in statement.cites:
            sentences = split_sentences(self._passages.get(cite, ""))
            found += sorted(sentences, key=lambda s: -_shared(statement.text, s))[:NEAREST]
        return tuple(found)

    def _in_ways(
        self, facts: Sequence[_Asked], ways: Sequence[tuple[float, float]], first: int, usage: list[Usage]
    ) -> list[tuple[_Asked, str]]:
        """An answer to each for each temperature and price; `first`: what seeds are counted from. A call that fails is one that
        is missing, since the note is there to stand for it."""
        # Those of one statement after the other: how their prompts begin is read once.
        wanted = [(fact, n) for fact in facts for n in range(len(ways))]
        answers = self._completed([self._request(fact, *ways[n], first + n) for fact, n in wanted], usage)
        found: list[tuple[_Asked, str]] = []
        greedy: set[tuple[tuple[int, ...], str]] = set()
        for k, answer in sorted(answers.items()):
            (fact, n), text = wanted[k], _tidy(answer)
            if ways[n][0] == 0.0:  # the same words at another price are no second voice
                if (fact.places, text) in greedy:
                    continue
                greedy.add((fact.places, text))
            found.append((fact, text))
        return found

    def _opening_otherwise(
        self, facts: Sequence[_Asked], answers: Sequence[tuple[_Asked, str]], price: float, usage: list[Usage]
    ) -> list[tuple[_Asked, str]]:
        """Greedy answers that open each with another word than the note, the `answers` and each other: a warm model errs, and a
        greedy one says the same again."""
        opened = {
            fact.places: _first_words((*fact.facts, *(text for one, text in answers if one.places == fact.places)))
            for fact in facts
        }
        # Those of one statement after the other: its prompt is read once.
        wanted = [(fact, n) for fact in facts for n in range(OPENINGS)]
        found = self._completed([self._request(fact, 0.0, price, n, opened[fact.places]) for fact, n in wanted], usage)
        return [(wanted[k][0], _tidy(answer)) for k, answer in sorted(found.items())]

    def _completed(self, requests: Sequence[Request], usage: list[Usage]) -> dict[int, Completion]:
        """The answers that came; raises StageError where none did."""
        answers: dict[int, Completion] = {}
        if not requests:
            return answers
        try:
            self._writer.generator.generate_many(requests, answers.__setitem__)
        except StageError:
            if not answers:
                raise
        usage += [Usage(1, a.n_prompt_tokens, a.n_new_tokens, a.stats.rounded()) for a in answers.values()]
        return answers

    def _request(
        self, fact: _Asked, temperature: float, penalty: float, n: int, not_first: tuple[str, ...] | None = None
    ) -> Request:
        """The n-th of several answers; with `not_first` it opens with none of these words, in the n-th likeliest way."""
        generator = self._writer.generator
        shown = [self._shown(one) for one in fact.facts]
        grounding = None
        if generator.grounds:
            sources = tuple(self._shown(source) for source in (*fact.facts, *fact.passages))
            grounding = Rephrase(sources, copy_words=COPY_WORDS, copy_penalty=penalty)
            if not_first is not None:
                grounding = replace(grounding, not_first=not_first, passed=n)
        limit = round(sum(len(one.split()) for one in shown) * TOKENS_PER_WORD * 1.5) + 24
        sampling = SamplingParams(
            max_new_tokens=limit, temperature=temperature, seed=self._writer.seed + n, grounding=grounding, task="say"
        )
        if len(shown) > 1:
            return Request(prompts.say_together(shown), sampling)
        return Request(prompts.say(shown[0], story=fact.statements[0].story), sampling, SAY)

    def _by_rule(self, fact: _Asked, text: str) -> Tried:
        """An answer with the faults that rules find."""
        also = tuple(text for one in fact.statements for text in one.also)
        finding = compare(text, fact.facts, self._plan.title, (*also, *fact.passages))
        faults = list(finding.faults)
        if not text:
            faults.append("no whole sentence")
        examples = (prompts.TOGETHER_EXAMPLE[1], *(example for _, example in prompts.SAY_EXAMPLES))
        if any(text.rstrip(".") == example.rstrip(".") for example in examples):
            faults.append("a worked example")
        copied, run = copied_runs(text, fact.passages or fact.facts)
        if any(one.story and turns_past(one.text, text) for one in fact.statements):
            faults.append("what happens in a story, in the past tense")
        if self._is_long(fact) and copied < LIGHT:
            faults.append("of a long note a small model loses a part when it says all otherwise")
        return Tried(fact.places, "model", text, tuple(faults), round(copied, 3), run, round(finding.new_words, 3), None)

    def _agreeing(
        self, found: Sequence[Tried], answers: Sequence[tuple[_Asked, str]], before: Sequence[tuple[_Asked, str]]
    ) -> list[Tried]:
        """Each with its likeness to the other answers to the same statements, which is a fault where it is small. An empty one
        agrees with none: the only answer of four is no agreement."""
        of_places: dict[tuple[int, ...], list[int]] = {}
        for k, one in enumerate(found):
            of_places.setdefault(one.facts, []).append(k)
        agreeing = list(found)
        for places, mine in of_places.items():
            others = [text for fact, text in before if fact.places == places]
            for k, likeness in zip(mine, consensus([*(answers[k][1] for k in mine), *others]), strict=False):
                one = replace(found[k], consensus=round(likeness, 3))
                if likeness < AGREEING and not one.faults:
                    one = replace(one, faults=(f"its other answers say something else ({likeness:.2f})",))
                agreeing[k] = one
        return agreeing

    def _judged(self, answers: Sequence[tuple[_Asked, Tried]]) -> list[Tried]:
        """Answers without a fault as the model itself says of them, beside what the reader says."""
        asked = [prompts.says_the_same(self._shown(fact.text), self._shown(one.text)) for fact, one in answers]
        chances = self._writer.generator.choose_many(asked, ("Yes", "No"), SAYS_THE_SAME) if asked else []
        found = []
        for (fact, one), (yes, _) in zip(answers, chances, strict=True):
            judged = replace(one, agreed=round(yes, 3))
            if AGREED * _log_odds(yes) + _read_odds(one) < (SURELY_SAME if self._is_long(fact) else SAME):
                judged = replace(judged, faults=(f"the model itself doubts that it says the same ({yes:.2f})",))
            found.append(judged)
        return found

    def _is_long(self, fact: _Asked) -> bool:
        """Longer than a model that carries one note a call can say otherwise."""
        return self._together == 1 and len(fact.text.split()) > MOST_WORDS

    def _shown(self, text: str) -> str:
        return quotable(text, self._writer.generator.neutralise)

    def _note(self, fact: _Asked) -> Tried:
        copied, run = copied_runs(fact.text, fact.passages)
        return Tried(fact.places, "note", fact.text, (), round(copied, 3), run, 0.0, None)


def _read_both(tried: Sequence[Tried], asked: Sequence[_Asked], reader: SupportReader) -> list[Tried]:
    """Answers without a fault as the reader sees them: whether the note says them, and they it. What it has no hope for is a
    fault, so that the model need not be asked."""
    # Each sentence against all facts, and each fact against all sentences: the least counts.
    open_ones = [(k, one) for k, one in enumerate(tried) if not one.faults]
    forward = [(k, sentence, asked[k].facts) for k, one in open_ones for sentence in split_sentences(one.text)]
    back = [(k, fact, tuple(split_sentences(one.text))) for k, one in open_ones for fact in asked[k].facts]
    said, kept = _least_support(reader, forward), _least_support(reader, back)
    found = list(tried)
    for k, one in open_ones:
        read = replace(one, support=said.get(k), kept=kept.get(k))
        if _read_odds(read) < HOPELESS:
            read = replace(read, faults=(f"the reader doubts that it says the same ({said.get(k)}, {kept.get(k)})",))
        found[k] = read
    return found


def _read_odds(one: Tried) -> float:
    """The reader's part of the log odds that answer and statement say the same; 0 where it read nothing."""
    return sum(weight * _log_odds(chance) for weight, chance in ((SAID, one.support), (KEPT, one.kept)) if chance is not None)


def _log_odds(chance: float) -> float:
    bounded = min(max(chance, BOUND), 1 - BOUND)
    return math.log(bounded / (1 - bounded))


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


def _first_words(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(match.group() for text in texts if (match := re.search(r"[^\W_]+", text)))


def _unasked(tried: Sequence[Tried]) -> list[list[Tried]]:
    """The answers without a fault of which the model was not asked yet, of each statement that none is found for."""
    open_ones: dict[tuple[int, ...], list[Tried]] = {}
    for one in tried:
        if not one.faults:
            open_ones.setdefault(one.facts, []).append(one)
    return [few for few in open_ones.values() if all(one.agreed is None for one in few)]


def _is_right(one: Tried) -> bool:
    return not one.faults and one.agreed is not None


def _cost(one: Tried) -> float:
    said = AGREED_WORTH * (one.agreed or 0.0) + READ_WORTH * _read_odds(one) + CONSENSUS_WORTH * (one.consensus or 0.0)
    return COPIED_COST * one.copied + NEW_WORDS_COST * one.new_words - said


def _least(usable: Sequence[Tried]) -> Tried | None:
    return min(usable, key=_cost, default=None)


def _best(tried: Sequence[Tried]) -> Tried:
    """Of those without a fault one that copies little and says the same; the note, the last, where none is better by much."""
    *answers, note = tried
    best = _least([one for one in answers if _is_right(one)]) or note
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

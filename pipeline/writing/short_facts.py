"""Short facts: a statement that no rewording keeps whole is told in parts, where it may not stand in its page's own words.

A small model that says a sentence of twenty words otherwise loses a part of it or exchanges two. To split it into its facts
(Narayan et al., "Split and Rephrase", 2017) is easier, since their words may stay; each of them is short, and is then said in
other words as any statement is. A model that was tuned to it (`decoding.prefixes`) tells the parts in other words at once.
What is left out is left out; what is told must be told by the statement, by rule and by the model's own reading, before it is
said and after, and by a network's where it was said at once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from data.decoding_counts import Usage
from data.errors import StageError
from data.sentences import split_sentences
from data.types import Repair, Section, Sentence
from decoding.api import Rephrase, Request, SamplingParams, SupportReader
from pipeline.article_plan import ArticlePlan, Statement
from pipeline.choosing.common_words import is_common
from pipeline.choosing.facts import numbers
from pipeline.choosing.verbs import has_verb
from pipeline.evidence import Evidence
from pipeline.retrieval import terms
from pipeline.writing import prompts
from pipeline.writing.assembly import WrittenSection
from pipeline.writing.checks.compared_words import WORD, bare, name_words
from pipeline.writing.checks.rewording import copied_runs, faults_of_part, faults_of_parts, proper_words
from pipeline.writing.drafting import InParts, ShortFacts, Writer, without_reasoning
from pipeline.writing.saying import COPY_WORDS, Saying

PARTS = "parts"
"""The name of the task, for which a model may have been tuned (`decoding.prefixes`): such a one tells the parts in other words,
whatever the prompt says."""
LEAST_WORDS, MOST_PARTS = 10, 6
"""Words of a statement that has parts, and parts of one that are looked at."""
PART_WORDS, PART_CONTENT = 4, 5
"""Words of a part, and content words beside the title's of one that neither names nor counts anything but the subject: "Each
tile shows a slice of a landscape, a river or rails" is a fact, "Dobbertin's landscapes serve as a starting point" is not."""
HELD = 0.7
"""Least chance, by the model, that the statement says its part."""
SURE, PRICE = 0.5, 3.0
"""The same of what a tuned model tells, as the mean with what a reader network says, and the price of copying while it tells,
in logits. Of 245 such parts, labelled by reading, 56% are right and 24% wrong; of the 130 with a mean of 0.5 or more 76 and 7%,
of the 92 with 0.6 80 and 8%, of 106 with 0.7 by the model alone 75 and 8%, of 87 with 0.5 by the reader alone 75 and 10%."""
LEAST_TOLD = 0.25
"""Share of a statement's content words that its parts must have: less of it is something else."""
TOLD, NEAREST = 0.8, 4
"""Share of a part's content words that a sentence has which tells it, too; sentences of the article that tell it together."""
MOST_COPIED = 0.44
"""Share of the words of a statement's parts in runs of five or more that its pages have."""
MOST_ALIKE = 2
"""Parts that end alike."""
PART_TOKENS = 220
_LEANS = re.compile(r"\A(?:[Ii]t|[Tt]hey|[Tt]h(?:is|ese|ose))\b|\bthe (?:same|other)\b")

Holds = Callable[[Sequence[tuple[str, str]]], list[float]]
"""Of pairs of a text and a sentence the chance that the one says the other."""


def in_short_facts(
    evidence: Evidence,
    plan: ArticlePlan,
    texts: frozenset[str],
    saying: Saying,
    writer: Writer,
    holds: Holds,
    reader: SupportReader | None = None,
) -> ShortFacts:
    """Those of the plan's statements with one of these texts, in parts that are the model's own words; by a model that is not
    tuned to tell such, or said at a second attempt."""
    statements = {one.text: one for one in (*plan.lead, *(s for section in plan.sections for s in section.statements))}
    again = [statements[text] for text in sorted(texts) if text in statements]
    passages = {passage.id: passage.text for passage in evidence.passages}
    usage: list[Usage] = []
    tuned = PARTS in writer.generator.tuned
    whole: dict[str, str] = {}
    if not tuned:
        otherwise = saying.each(again, usage, again=True)
        whole = {one.text: text for one, text in zip(again, otherwise, strict=True) if text != one.text}
    asked = [one for one in again if one.text not in whole and len(one.text.split()) >= LEAST_WORDS]
    sources = [tuple(passages[cite] for cite in one.cites if cite in passages) for one in asked]
    found = _split(asked, plan.title, writer, sources if tuned else None, usage)
    of = [(n, part) for n, parts in enumerate(found) for part in parts]
    of = [(n, part) for n, part in of if not faults_of_part(part, asked[n].text, plan.title, sources[n])]
    told = _sure(of, asked, holds, reader) if tuned else _said(_held(of, asked, holds), asked, saying, holds, usage)
    return ShortFacts(
        (
            *(InParts(text, (otherwise,)) for text, otherwise in whole.items()),
            *(
                InParts(one.text, _worth_telling(one, [text for at, text in told if at == n], sources[n]))
                for n, one in enumerate(asked)
            ),
        ),
        Usage.total(usage),
    )


def _said(
    parts: Sequence[tuple[int, str]], asked: Sequence[Statement], saying: Saying, holds: Holds, usage: list[Usage]
) -> list[tuple[int, str]]:
    """Each part in other words, where the statement still holds them."""
    said = saying.each([Statement(part, asked[n].cites) for n, part in parts], usage)
    changed = [(n, text) for (n, part), text in zip(parts, said, strict=True) if text != part]
    refused = set(changed) - set(_held(changed, asked, holds))
    return [(n, part if (n, text) in refused else text) for (n, part), text in zip(parts, said, strict=True)]


def _sure(
    parts: Sequence[tuple[int, str]], asked: Sequence[Statement], holds: Holds, reader: SupportReader | None
) -> list[tuple[int, str]]:
    """The parts of which reader and model together are sure that the statement says them."""
    if reader is None:
        return _held(parts, asked, holds)
    read = reader.read([(part, (asked[n].text,)) for n, part in parts])
    chances = holds([(asked[n].text, part) for n, part in parts])
    return [
        part
        for part, one, chance in zip(parts, read, chances, strict=True)
        if one is not None and (one.support + chance) / 2 >= SURE
    ]


def _split(
    asked: Sequence[Statement], title: str, writer: Writer, sources: Sequence[Sequence[str]] | None, usage: list[Usage]
) -> list[list[str]]:
    """The parts of each as the model gives them; none where it fails. With `sources`, by a tuned model, in other words than
    theirs."""
    generator = writer.generator

    def request(one: Statement, theirs: Sequence[str] | None) -> Request:
        shown = prompts.quotable(one.text, generator.neutralise)
        sampling = SamplingParams(max_new_tokens=PART_TOKENS, task="say", sources=(one.text,))
        if theirs is None:
            return Request(prompts.parts(shown), sampling)
        copied = (shown, *(prompts.quotable(source, generator.neutralise) for source in theirs))
        dear = Rephrase(copied, copy_words=COPY_WORDS, copy_penalty=PRICE)
        return Request(prompts.parts(shown), replace(sampling, sources=(), grounding=dear), PARTS)

    requests = [request(one, sources[n] if sources is not None else None) for n, one in enumerate(asked)]
    try:
        answers = generator.generate_many(requests) if requests else []
    except StageError:
        return [[] for _ in asked]
    usage += [Usage(1, a.n_prompt_tokens, a.n_new_tokens, a.stats.rounded()) for a in answers]
    return [_parts(without_reasoning(answer.text), title) for answer in answers]


def _parts(answer: str, title: str) -> list[str]:
    lines = [re.sub(r"\A\s*(?:[-*•]|\d{1,2}[.)])\s+", "", line).strip() for line in answer.splitlines()]
    parts = dict.fromkeys(sentence for line in lines for sentence in split_sentences(line))
    return [part for part in parts if _is_statement(part, title)][:MOST_PARTS]


def _is_statement(part: str, title: str) -> bool:
    """Whether it can stand alone: a sentence, and it names or counts something beside the subject, or says much."""
    whole = len(part.split()) >= PART_WORDS and has_verb(WORD.findall(part)) and part.endswith(".")
    subject = name_words(title)
    named = any(not is_common(word) and bare(word) not in subject for word in proper_words(part))
    says = named or bool(numbers(part)) or len(set(terms(part)) - set(terms(title))) >= PART_CONTENT
    return whole and says and not _LEANS.search(part)


def _held(parts: Sequence[tuple[int, str]], asked: Sequence[Statement], holds: Holds) -> list[tuple[int, str]]:
    chances = holds([(asked[n].text, part) for n, part in parts])
    return [one for one, chance in zip(parts, chances, strict=True) if chance >= HELD]


def _worth_telling(statement: Statement, parts: Sequence[str], sources: Sequence[str]) -> tuple[str, ...]:
    """Of the parts those that copy little together, each fact once, where they tell enough of the statement and change nothing
    of it."""
    told = [part for n, part in enumerate(parts) if not any(_tells(other, part) for other in parts[:n])]
    while told and copied_runs(" ".join(told), sources)[0] > MOST_COPIED:
        told.remove(max(told, key=lambda part: copied_runs(part, sources)[0] * len(part.split())))
    wanted = set(terms(statement.text))
    endings = Counter(" ".join(part.split()[-2:]) for part in told)
    if max(endings.values(), default=0) > MOST_ALIKE:  # "A helped. B helped. C helped.": it was a list
        return ()
    enough = len(wanted & set(terms(" ".join(told)))) >= LEAST_TOLD * len(wanted)
    return tuple(told) if told and enough and not faults_of_parts(told, statement.text) else ()


def _tells(sentence: str, part: str) -> bool:
    """Whether a sentence has a part's figures and nearly all of its words."""
    wanted = set(terms(part))
    return numbers(part) <= numbers(sentence) and len(wanted & set(terms(sentence))) >= TOLD * len(wanted)


def _is_told(part: str, others: Sequence[str], usual: frozenset[str]) -> bool:
    """Whether the nearest of the others have a part's figures and nearly all of its words together, the `usual` ones apart."""
    wanted = set(terms(part)) - usual
    near = sorted(others, key=lambda other: -len(wanted & set(terms(other))))[:NEAREST]
    held = set(terms(" ".join(near)))
    return numbers(part) <= numbers(" ".join(near)) and len(wanted & held) >= TOLD * len(wanted)


def with_short_facts(sections: Sequence[WrittenSection], short: ShortFacts, title: str) -> list[WrittenSection]:
    """The sections with the parts in place of their statements, without what other sentences tell."""
    usual = frozenset(terms(title))
    split = {one.text for one in short.told if one.parts}
    others = [s.text for section in sections for s in section.section.sentences if s.text not in split]
    parts: dict[str, tuple[str, ...]] = {}
    for one in short.told:
        if new := tuple(part for part in one.parts if not _is_told(part, others, usual)):
            parts[one.text] = new
            others += new
    return [_with_parts(section, parts) for section in sections]


def _with_parts(written: WrittenSection, parts: Mapping[str, tuple[str, ...]]) -> WrittenSection:
    section: Section = written.section
    told = [s.text for s in section.sentences if s.text in parts]
    if not told:
        return written
    paragraphs = tuple(
        tuple(Sentence(text, s.cites) for s in paragraph for text in parts.get(s.text, (s.text,)))
        for paragraph in section.paragraphs
    )
    why = "told otherwise: as it is it would be its page's own words"
    repairs = tuple(Repair("sentence_replaced", section.heading.text, text, why) for text in told)
    return WrittenSection(replace(section, paragraphs=paragraphs), (*written.repairs, *repairs))

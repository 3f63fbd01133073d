"""Mode `verbatim`: an article of evidence sentences that a language model orders, opens with a lead and puts under headings.

Which sentences are worth offering, and how strongly, is known from `pipeline.choosing.selecting`; the model reads them with
its prompt and answers with whole ones, each with its marker. One question plans the outline, one chooses the lead out of more
than it has room for, one orders each section.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from data.errors import StageError
from data.runs import Stage, Stages
from data.settings import WritingSettings
from data.types import Heading, Outline, Repair, Section, Sentence
from decoding.api import Encoder, Item, Message, Offer, Task, chosen
from decoding.models import document_prompt as document
from pipeline.choosing.finding import scored_candidates
from pipeline.choosing.selecting import SelectionWeights, select
from pipeline.evidence import Evidence
from pipeline.planning.arranging import (
    LEAD_SENTENCES,
    LEAD_WORDS,
    assigned,
    fits,
    list_lines,
    opening,
    opening_scores,
    with_list_lines,
)
from pipeline.planning.headings import HeadingBank, OfferedHeading
from pipeline.planning.kinds import Kind, KindRecogniser
from pipeline.planning.outlines import same_words
from pipeline.stages import LEAD, OUTLINE, OUTLINE_DRAFT, draft_stage, section_stage
from pipeline.writing import prompts
from pipeline.writing.assembly import LEAD_HEADING, WrittenSection, paragraphs_of
from pipeline.writing.drafting import Draft, Question, Writer
from pipeline.writing.prompts import Numbered, evidence_block, quotable
from pipeline.writing.quoting import Pool, Quotables, Quoted

LEAD_POOL_SENTENCES = 12
LEAD_RANK_PRIOR = 8.0
"""What says best what the article is about comes first, whatever the model would rather begin with."""
OUTLINE_POOL_WORDS = 400
SECTION_WORDS = 150
"""Of a section that is long enough to be planned for."""
LEAST_HEADINGS = 3
MAX_ITEMS = 40
"""Of one question."""
MAX_PARTS = 4
"""Questions for one section, where its sentences do not fit the context at once."""
ITEM_TOKENS = 3
"""What an item may take beyond the tokens of its text alone: its separator, and words cut elsewhere."""
PROMPT_TOKENS = 64
"""Of a prompt apart from its evidence, about."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What writing one event in this mode needs, besides the event. The two banks are built when first needed."""

    writing: WritingSettings
    writer: Writer
    encoder: Encoder
    recogniser: Callable[[], KindRecogniser]
    bank: Callable[[], HeadingBank]
    weights: SelectionWeights


@dataclass(frozen=True, slots=True)
class Answer:
    """Candidates by index in the order of the answer, the sentences that they became, and what the token limit cut off."""

    indices: tuple[int, ...]
    sentences: tuple[Sentence, ...]
    rest: str


class VerbatimWriting:
    """One event. Values are computed on first use: a resumed run computes only what it still needs."""

    def __init__(self, evidence: Evidence, parts: Parts, stages: Stages) -> None:
        self._evidence = evidence
        self._writing = parts.writing
        self._writer = parts.writer
        self._encoder = parts.encoder
        self._recogniser = parts.recogniser
        self._bank = parts.bank
        self._weights = parts.weights
        self._stages = stages
        self._is_document = parts.writer.generator.prompt_form == "document"
        self._title = quotable(evidence.event.title, parts.writer.generator.neutralise)

    def lead(self) -> WrittenSection:
        return self._stages.once(LEAD, lambda: self._written(LEAD_HEADING, [self._lead_answer]))

    def outline(self) -> Outline:
        title = self._evidence.event.title
        return self._stages.once(OUTLINE, lambda: Outline(title, tuple(Heading(h) for h in self._assignment)))

    def sections(self) -> list[WrittenSection]:
        left = self._writing.max_words - _words(self.lead())
        written: list[WrittenSection] = []
        for n, heading in enumerate(self.outline().headings, 1):
            section = self._stages.once(
                section_stage(n),
                lambda n=n, heading=heading, left=left: self._section(n, heading, left),  # type: ignore[misc]
            )
            left -= _words(section)
            written.append(section)
        return written

    # --- what there is to say ------------------------------------------------------------------------------------------

    @cached_property
    def _quotables(self) -> Quotables:
        return Quotables.of(
            scored_candidates(self._evidence, self._encoder),
            self._evidence.event.title,
            self._writer.generator.neutralise,
            self._writing.prior_weight,
            self._weights,
            enough_words=self._writing.max_words,
        )

    @cached_property
    def _kind(self) -> Kind:
        return self._recogniser().recognise(
            self._evidence.event.title, self._quotables.scored.central(4), pages=self._evidence.pages
        )

    @cached_property
    def _body(self) -> list[int]:
        """What the sections are made of, best first: as many words as they have room for, and nothing that the lead says. With
        more, a small model would leave out what says something new (LOG.md)."""
        scored, lead = self._quotables.scored, list(self._lead_answer.indices)
        lead_words = self._quotables.words(lead)
        room = max(self._writing.max_words, lead_words)
        taken = with_list_lines(list_lines(self._evidence, self._kind, scored), scored, lead, room)
        return select(scored, max_words=room, weights=self._weights, taken=taken)[len(lead) :]

    @cached_property
    def _lead_answer(self) -> Answer:
        quotables = self._quotables
        scores = opening_scores(quotables.scored, self._evidence.event.title)
        best = opening(quotables.scored, scores, max_words=self._writing.max_words, most=LEAD_POOL_SENTENCES)
        pool = quotables.pool(best, min(LEAD_WORDS, self._writing.max_words), most=LEAD_SENTENCES, rank_prior=LEAD_RANK_PRIOR)
        return self._asked(draft_stage(0), "lead", pool, "")

    @cached_property
    def _assignment(self) -> dict[str, tuple[np.ndarray, list[int]]]:
        """Heading -> how well each candidate fits it, shape (n,), and its share of the body. Headings come in
        reading order; those that stay too thin are left out."""
        if not self._body:
            return {}
        scored, headings = self._quotables.scored, self._headings()
        fit = fits(scored, np.asarray(self._encoder.encode([f"{h.heading}: {h.about}" for h in headings])))
        groups = assigned(scored, self._body, fit, self._writing.max_sections)
        rank = {i: at for at, i in enumerate(self._body)}
        return {headings[k].heading: (fit[:, k], sorted(group, key=rank.__getitem__)) for k, group in groups.items()}

    # --- the questions -------------------------------------------------------------------------------------------------

    def _headings(self) -> list[OfferedHeading]:
        """Those that the model chooses of the offered ones, in reading order."""
        words = min(self._quotables.words(self._body), self._writing.max_words)
        most = max(1, min(words // SECTION_WORDS, self._writing.max_sections))
        neutralise = self._writer.generator.neutralise
        found = self._bank().offered(self._evidence.event.title, self._quotables.scored, self._kind, most=most)
        # backwards, so that of headings with the same words the first, best one is kept
        offered = {same_words(h.heading): replace(h, heading=quotable(h.heading, neutralise)) for h in reversed(found)}
        headings = [h for h in reversed(offered.values()) if h.heading]
        if not headings:
            raise StageError("outline", f"no heading fits the evidence on {self._evidence.event.title!r}")
        offer = Offer(
            tuple(Item(h.heading, prior=h.prior) for h in headings),
            separator="\n",
            least=min(LEAST_HEADINGS, most, len(headings)),
            most=min(most, len(headings)),
            prior_weight=self._writing.prior_weight,
        )
        quotables = self._quotables
        shown: list[int] = []
        for i in self._body:
            if shown and quotables.words([*shown, i]) > OUTLINE_POOL_WORDS:
                break
            shown.append(i)
        pool = quotables.pool(shown, OUTLINE_POOL_WORDS)
        limit = self._answer_tokens(offer)

        def build(n: int) -> tuple[Quoted, Question]:
            quoted = quotables.quoted(pool, n)
            messages = self._prompt("outline", quoted, "", 0)
            return quoted, Question("outline", messages, limit, offer)

        draft = self._draft(OUTLINE_DRAFT, pool, build)[1]
        # which ones is the model's choice; their order is that of open articles, which a small model knows less well
        picked = [headings[at] for at in sorted(one.item for one in chosen(offer, draft.text).items)]
        if not picked:
            raise StageError("outline", f"{self._writer.generator.name} chose no heading, but: {draft.text[:120]!r}")
        return picked

    def _section(self, n: int, heading: Heading, left: int) -> WrittenSection:
        """Section `n` of what `left` words are left for it and those after it, each by what there is to say."""
        quotables, assignment = self._quotables, self._assignment
        if heading.text not in assignment:
            raise StageError("section", f"outline.json names {heading.text!r}, which was not planned; choose another --out")
        fit, mine = assignment[heading.text]
        after = [i for h in list(assignment)[n - 1 :] for i in assignment[h][1]]
        # a share of the words that are left, not of all: what the sections before did not use is not lost
        budget = max(round(left * quotables.words(mine) / quotables.words(after)), 1)
        pool = quotables.pool(mine, budget, fit)
        pools = quotables.divided(pool, self._n_parts(pool))
        answers = [self._asked(draft_stage(n, part), "section", p, heading.text) for part, p in enumerate(pools, 1)]
        return self._written(heading, answers)

    def _n_parts(self, pool: Pool) -> int:
        """How many questions the pool takes: its sentences are in the prompt, and most of them once more in the answer."""
        quotables = self._quotables
        count = self._writer.generator.count_tokens
        tokens = sum(count(f"{quotables.texts[i]} [10]") + ITEM_TOKENS for i in pool.indices)  # [10]: as long as markers get
        needed = tokens * (1 + pool.most / len(pool.indices))
        room = max(self._writer.generator.context_tokens - PROMPT_TOKENS, 1)
        return min(max(-(-round(needed) // room), -(-len(pool.indices) // MAX_ITEMS)), MAX_PARTS)

    def _asked(self, stage: Stage[Draft], task: Task, pool: Pool, heading: str) -> Answer:
        """`heading` is empty for the lead."""

        def build(n: int) -> tuple[Quoted, Question]:
            quoted = self._quotables.quoted(pool, n)
            messages = self._prompt(task, quoted, heading, pool.max_words)
            return quoted, Question(task, messages, self._answer_tokens(quoted.offer), quoted.offer)

        quoted, draft = self._draft(stage, pool, build)
        reading = chosen(quoted.offer, draft.text)
        sentences = [
            Sentence(replace(quoted.offer.items[one.item], after="").shown(one.stop), quoted.cites[one.item])
            for one in reading.items
        ]
        return Answer(tuple(quoted.indices[one.item] for one in reading.items), tuple(sentences), reading.rest.strip())

    def _draft(self, stage: Stage[Draft], pool: Pool, build: Callable[[int], tuple[Quoted, Question]]) -> tuple[Quoted, Draft]:
        """The stored answer, or a new one. Passages that do not fit the context are left out, the lowest-ranked first."""
        ids = [(p.id,) for p in self._quotables.passages(pool)]
        n, question = self._writer.fitted(len(ids), lambda n: build(n)[1])
        draft = self._stages.once(stage, lambda: self._writer.put(question, ids[:n], ids[n:]))
        return build(n)[0], draft

    def _answer_tokens(self, offer: Offer) -> int:
        """Room for the longest answer that the offer allows: nothing is to be cut off."""
        count = self._writer.generator.count_tokens
        longest = sorted((count(f"{offer.separator}{item.shown()}") + ITEM_TOKENS for item in offer.items), reverse=True)
        return sum(longest[: offer.most]) + 1

    def _prompt(self, task: Task, quoted: Quoted, heading: str, max_words: int) -> tuple[Message, ...]:
        if self._is_document:
            if task == "outline":
                return (Message("user", document.outline(self._title, quoted.shown)),)
            return (Message("user", document.section(self._title, quoted.shown, heading or document.LEAD_HEADING)),)
        pages = self._evidence.pages
        numbered = [
            Numbered(p.number, pages[quoted.passages[p.number - 1].page].title, " ".join(p.sentences)) for p in quoted.shown
        ]
        block = evidence_block(numbered, self._writer.generator.neutralise)
        if task == "outline":
            return prompts.outline(self._title, block, self._writing.max_sections)
        return (
            prompts.lead(self._title, block)
            if task == "lead"
            else prompts.section(
                self._title, Outline(self._title, tuple(Heading(h) for h in self._assignment)), heading, block, max_words
            )
        )

    def _written(self, heading: Heading, answers: Sequence[Answer]) -> WrittenSection:
        why = "cut off by the limit on new tokens"
        return WrittenSection(
            Section(heading, tuple(paragraph for answer in answers for paragraph in paragraphs_of(answer.sentences))),
            tuple(Repair("sentence_removed", heading.text, answer.rest, why) for answer in answers if answer.rest),
        )


def _words(written: WrittenSection) -> int:
    return sum(len(sentence.text.split()) for sentence in written.section.sentences)

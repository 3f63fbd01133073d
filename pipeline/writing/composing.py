"""Mode `compose`: the statements of a plan, put into other words by a language model, a few at a time.

A small model can say one or two facts in other words; it cannot choose, order or file them. So the plan does that
(`pipeline.article_plan`), and the model is asked for one to three sentences about a small group of facts. Each answer is
compared with its facts in both directions (`pipeline.writing.checks.rewording`, and a network trained on other data than the
benchmark's judge). Correct comes before reworded: what the model cannot say freely without a fault it says in small steps,
choosing among the orders and the wordings that keep the meaning (`pipeline.writing.steps`, `pipeline.writing.wordings`);
what cannot be said so, either, is quoted with its source named, or left out and listed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from data.cleaning import host_of
from data.decoding_counts import Usage
from data.runs import Stages
from data.sentences import split_sentences
from data.types import Heading, Paragraph, Repair, Section, Sentence
from decoding.api import Grounding, Rephrase, SupportReader, Wordings
from pipeline.article_plan import ArticlePlan, Statement
from pipeline.evidence import Evidence
from pipeline.stages import composed_stage, section_stage
from pipeline.writing import prompts
from pipeline.writing.assembly import LEAD_HEADING, WrittenSection
from pipeline.writing.checks.attached import moved_phrases
from pipeline.writing.checks.changed_words import other_tenses
from pipeline.writing.checks.lost_words import lost_words
from pipeline.writing.checks.rewording import MOST_COPIED_RUN, Finding, compare, own_words
from pipeline.writing.checks.small_words import small_words
from pipeline.writing.citing import support, tidy_generated
from pipeline.writing.drafting import ComposedDraft, Draft, Question, Tried, Writer
from pipeline.writing.letter_case import opens_small
from pipeline.writing.prompts import quotable
from pipeline.writing.steps import divided, orders, shortened
from pipeline.writing.wordings import Place, places

GROUP_WORDS = 28
"""Two facts are said together up to so many words."""
ANSWERS: tuple[tuple[float, float], ...] = ((0.0, 2.5), (0.8, 4.5), (0.6, 3.5))
"""Temperature and copying penalty of each answer; the others are asked for where nothing is without a fault yet."""
COPY_WORDS = 5
"""Words of a fact in a row, names and numbers apart, behind which the next one costs the penalty, in logits."""
LONG_WORDS = 20
"""A fact of more words is divided where it has two clauses of its own."""
GOOD_ENOUGH = 0.35
GOOD_RUN = 7
"""Share of copied words, or words in a row, up to which no further answer is asked for."""
SUPPORTED = 0.5
"""Least chance, by the reader, that the facts support the answer."""
SAID = 0.25
"""Least chance, by the reader, that the answer supports a fact: lower, because an answer may leave a detail out."""
LAST_RUN = 18
"""Words in a row, names and numbers apart, that an answer may share with its fact where nothing else is left."""
REORDERED = 0.85
"""Share of its facts' words from which an answer without new ones is only another order: the reader, who knows words better
than their order, refuses half of these, and is not asked."""
STEP_WORDS, STEP_PENALTY = 2, 8.0
"""As `COPY_WORDS` and the penalty of an answer, for a sentence said in small steps. These are safe: a step may be unlikely."""
NEW_WORDS_COST = 2.0
"""What a share of words that no fact has counts against a share of copied ones, where two answers have no fault."""
QUOTED_WORDS = 25
"""Most words of a quotation."""
PLAIN_SHARE, PLAIN_WORDS = 1 / 5, 20
"""Share of a section's statements that may be as they are, and their most words: a plain fact of few words has no other
form. A longer one is quoted, once and in the lead alone: nobody reads an article of quotations."""
OPENING_WORDS = 45
"""Most words of an article's first statement that may stand as it is: without what defines the subject a lead is none."""
THIN = 8
"""Statements of a plan up to which it is thin: what cannot be said may be quoted anywhere, for losing it loses the article."""
TOKENS_PER_WORD = 1.7
_COPIED = " words in a row copied"
_ENDS = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s")


class Composing:
    """One event's article, section by section, from its plan."""

    def __init__(
        self, evidence: Evidence, plan: ArticlePlan, writer: Writer, reader: SupportReader | None, stages: Stages
    ) -> None:
        self._evidence = evidence
        self._plan = plan
        self._writer = writer
        self._reader = reader
        self._stages = stages
        self._passages = {passage.id: passage for passage in evidence.passages}
        self._title = quotable(plan.title, writer.generator.neutralise)

    def lead(self) -> WrittenSection:
        return self._section(0, LEAD_HEADING, (self._plan.lead,) if self._plan.lead else ())

    def sections(self) -> list[WrittenSection]:
        return [self._section(n, planned.heading, planned.paragraphs) for n, planned in enumerate(self._plan.sections, 1)]

    def _section(self, n: int, heading: Heading, planned: Sequence[Sequence[Statement]]) -> WrittenSection:
        paragraphs = [[part for statement in paragraph for part in _parts(statement)] for paragraph in planned]
        statements = [statement for paragraph in paragraphs for statement in paragraph]

        def make() -> WrittenSection:
            stage = composed_stage(n)
            draft = self._stages.once(stage, lambda: self._draft(stage.name, paragraphs, is_lead=n == 0))
            return _read(draft, heading, paragraphs, statements)

        return self._stages.once(section_stage(n), make)

    def _draft(self, name: str, paragraphs: Sequence[Sequence[Statement]], *, is_lead: bool) -> ComposedDraft:
        statements = [statement for paragraph in paragraphs for statement in paragraph]
        quotes = is_lead or self._plan.n_statements <= THIN
        tried: list[Tried] = []
        drafts: list[Draft] = []
        at = 0
        for paragraph in paragraphs:
            # Of two facts the adapted small model makes two sentences all the same, and puts words of one into the other.
            groups = [(statement,) for statement in paragraph] if self._writer.generator.composes else grouped(paragraph)
            for group in groups:
                opens = is_lead and at == 0
                may_quote = quotes and not any(one.chosen and one.by == "quotation" for one in tried)
                answers = self._said(tuple(range(at, at + len(group))), group, drafts, may_quote=may_quote, opens=opens)
                if opens and not any(one.chosen for one in answers):
                    answers += self._as_it_is(0, statements[0], OPENING_WORDS)
                if said := tuple(s for one in answers if one.chosen for s in _sentences(one, statements)):
                    self._stages.said(name, said)
                tried += answers
                at += len(group)
        tried += self._plain(tried, statements)  # last: the share is of what was said
        return ComposedDraft(tuple(tried), Usage.total([draft.usage for draft in drafts]))

    def _plain(self, tried: Sequence[Tried], statements: Sequence[Statement]) -> list[Tried]:
        """Short statements that were not said, as they are, up to their share of the section."""
        said = {place for one in tried if one.chosen for place in one.facts}
        found: list[Tried] = []
        for place, statement in enumerate(statements):
            if place in said:
                continue
            # Counted with itself: a section of nothing but copied facts gets none.
            if len(found) + 1 > PLAIN_SHARE * (len(said) + len(found) + 1):
                break
            found += self._as_it_is(place, statement, PLAIN_WORDS)
        return found

    def _as_it_is(self, place: int, statement: Statement, most_words: int) -> list[Tried]:
        """The statement itself, chosen, if it is short and has no fault of its own."""
        finding = compare(statement.text, (statement.text,), self._plan.title)
        if len(statement.text.split()) > most_words or finding.faults or finding.longest_run > max(most_words, MOST_COPIED_RUN):
            return []
        return [Tried((place,), "plain", statement.text, (), finding.copied, finding.longest_run, 0.0, None, True)]

    # --- one group ---------------------------------------------------------------------------------------------------------

    def _said(
        self, at: tuple[int, ...], group: Sequence[Statement], drafts: list[Draft], *, may_quote: bool, opens: bool
    ) -> list[Tried]:
        """All that was tried for the group, the chosen ones marked.

        The model is asked once freely. Where its answer has a fault, copies or has words of its own, it is asked for small
        steps as well; where nothing is without a fault, it is asked again: for a pair its facts apart, for a long fact without
        its last clause. A fact still not said may copy more, and is quoted at last.
        """
        # 1. Freely. A pair that fails is said one by one, where each fact gets all the tries below.
        tried = [self._answer(at, group, drafts)]
        if _is_good(tried[0]):
            return _marked(tried, tried[0])
        if len(group) > 1:
            if best := _best(tried):
                return _marked(tried, best)
            for place, statement in zip(at, group, strict=True):
                tried += self._said((place,), (statement,), drafts, may_quote=may_quote, opens=opens and place == at[0])
            return tried
        # 2. In small steps: forms that keep the meaning, among which the model chooses.
        (statement,) = group
        tried += self._in_steps(at, statement, drafts)
        # 3. Again freely, sampled, with a higher price on copying.
        for n in range(1, len(ANSWERS)):
            if not _best(tried) and not any(_only_copies(one, LAST_RUN) for one in tried):
                tried.append(self._answer(at, group, drafts, n))
        wordings = [statement, *(replace(statement, text=text) for text in shortened(statement.text))]
        # 4. An answer whose only fault is a copied run may have a longer one: correct comes before reworded.
        if not _best(tried):
            tried += [replace(one, faults=()) for one in tried if _only_copies(one, LAST_RUN)]
        # 5. Without its last clause; 6. in the lead, once, as a quotation. None opens an article.
        for shorter in wordings[1:]:
            if not _best(tried):
                tried += [self._answer(at, (shorter,), drafts), *self._in_steps(at, shorter, drafts)]
        for wording in wordings if may_quote and not opens else ():
            if not _best(tried) and (quotation := self._quotation(wording)):
                tried.append(Tried(at, "quotation", quotation, (), 1.0, 0, 0.0, None))
        best = _best(tried)
        return _marked(tried, best) if best else tried

    def _in_steps(self, at: tuple[int, ...], statement: Statement, drafts: list[Draft]) -> list[Tried]:
        """The fact in the order and the wordings that the model chooses of those that keep its meaning, if there are others."""
        generator = self._writer.generator
        text = quotable(statement.text, generator.neutralise)
        title = self._plan.title
        others = [o for o in orders(text)[1:] if not compare(o, (statement.text,), title, statement.also).faults]
        forms = tuple(row for order in (text, *others) if (row := places(order)))
        if not generator.grounds:  # a server: its answers cannot be held to the forms, so that the rules choose
            return [self._tried(at, (statement,), "rule", other) for other in others]
        if len(forms) == 1 and all(len(place) == 1 for place in forms[0]):
            return []
        tried = [self._chosen_form(at, text, statement, forms, drafts)]
        # A small model holds to the order that it was shown, even where that leaves a copy.
        if tried[0].faults and len(forms) > 1:
            tried.append(self._chosen_form(at, text, statement, forms[1:], drafts))
        return tried

    def _chosen_form(
        self, at: tuple[int, ...], text: str, statement: Statement, forms: Sequence[tuple[Place, ...]], drafts: list[Draft]
    ) -> Tried:
        """The form of the fact that the model chooses."""
        grounding = Wordings(tuple(forms), copy_words=STEP_WORDS, copy_penalty=STEP_PENALTY)
        draft = self._put((text,), (statement,), grounding, self._writer)
        drafts.append(draft)
        return self._tried(at, (statement,), "steps", _tidy(draft))

    def _answer(self, at: tuple[int, ...], group: Sequence[Statement], drafts: list[Draft], n: int = 0) -> Tried:
        """The model's own answer for n = 0, then sampled ones."""
        texts = tuple(quotable(statement.text, self._writer.generator.neutralise) for statement in group)
        temperature, penalty = ANSWERS[n]
        writer = replace(self._writer, temperature=temperature, seed=self._writer.seed + n)
        draft = self._put(texts, group, self._grounding(texts, penalty), writer)
        drafts.append(draft)
        return self._tried(at, group, "model", respelled(_tidy(draft), texts))

    def _put(self, texts: tuple[str, ...], group: Sequence[Statement], grounding: Grounding | None, writer: Writer) -> Draft:
        messages = prompts.compose(self._title, texts, examples=not writer.generator.composes)
        # Rewording lengthens a little; what runs on is cut at a sentence (`_tidy`).
        limit = round(sum(len(text.split()) for text in texts) * TOKENS_PER_WORD * 1.3) + 24
        return writer.put(Question("compose", messages, limit, grounding), [s.cites for s in group], ())

    def _grounding(self, texts: Sequence[str], penalty: float) -> Grounding | None:
        if not self._writer.generator.grounds:
            return None
        return Rephrase(tuple(texts), (self._title,), copy_words=COPY_WORDS, copy_penalty=penalty)

    def _tried(self, at: tuple[int, ...], group: Sequence[Statement], by: str, text: str) -> Tried:
        finding = self._compared(by, text, group)
        faults = list(finding.faults)
        support = None
        # A mere change of order is not read: the network refuses half of those, and rules have compared every word.
        reordered = not finding.new_words and finding.kept >= REORDERED
        if by == "model" and self._reader is not None and not reordered and all(fault.endswith(_COPIED) for fault in faults):
            support, why = self._read(text, group)
            faults += why
        new_words = round(finding.new_words, 3) if by == "model" else 0.0
        return Tried(at, by, text, tuple(faults), round(finding.copied, 3), finding.longest_run, new_words, support)

    def _compared(self, by: str, text: str, group: Sequence[Statement]) -> Finding:
        facts = [s.text for s in group]
        also = [other for s in group for other in s.also]
        # Of small steps the orders were compared, and the wordings keep their meaning: how they come together may be wrong.
        finding = compare(text, facts, self._plan.title, also, form_only=by == "steps")
        # Of the adapted small model no word of its own is accepted and none may go: there it goes wrong (LOG.md).
        if by == "model" and self._writer.generator.composes and (faults := _slips(text, facts, self._plan.title)):
            return replace(finding, faults=(*finding.faults, *faults))
        if any(all(sentence.rstrip(".") in fact for sentence in split_sentences(text)) for fact in facts):
            return replace(finding, faults=(*finding.faults, "a copy of its fact"))
        if finding.longest_run > MOST_COPIED_RUN:
            return replace(finding, faults=(*finding.faults, f"{finding.longest_run}{_COPIED}"))
        return finding

    def _read(self, text: str, group: Sequence[Statement]) -> tuple[float | None, list[str]]:
        """The reader's chance that the facts support all of the text, and its objections, in both directions."""
        assert self._reader is not None
        facts = tuple(s.text for s in group)
        sentences = split_sentences(text)
        forward = self._reader.read([(sentence, facts) for sentence in sentences])
        back = self._reader.read([(fact, tuple(sentences)) for fact in facts])
        known = [one.support for one in forward if one is not None]
        faults = [
            f"the facts hardly support it ({one.support:.2f}): {sentence[:60]!r}"
            for sentence, one in zip(sentences, forward, strict=True)
            if one is not None and one.support < SUPPORTED
        ]
        faults += [
            f"it hardly says ({one.support:.2f}): {fact[:60]!r}"
            for fact, one in zip(facts, back, strict=True)
            if one is not None and one.support < SAID
        ]
        return (min(known) if known else None), faults

    def _quotation(self, statement: Statement) -> str:
        """The statement in quotation marks, its publisher named; empty where it is too long, quotes somebody itself, or was
        changed to be read alone ("on Sunday" is a date by now): nothing may be quoted that its page does not say."""
        words = statement.text.split()
        if len(words) > QUOTED_WORDS or re.search(r"[\"“”«»]", statement.text):
            return ""
        if statement.text.rstrip(".") not in " ".join(self._passages[statement.cites[0]].text.split()):
            return ""
        page = self._evidence.pages[self._passages[statement.cites[0]].page]
        publisher = page.site or host_of(page.url)
        return f"According to {publisher}, “{statement.text.rstrip('.')}”."


def grouped(paragraph: Sequence[Statement]) -> list[tuple[Statement, ...]]:
    """Statements that are said together: one, or two that are short."""
    groups: list[tuple[Statement, ...]] = []
    for statement in paragraph:
        last = groups[-1] if groups else ()
        if len(last) == 1 and len(last[0].text.split()) + len(statement.text.split()) <= GROUP_WORDS:
            groups[-1] = (*last, statement)
        else:
            groups.append((statement,))
    return groups


def respelled(text: str, facts: Sequence[str]) -> str:
    """An answer as its facts spell things: "R&B" for "R& B", "3D" for "3d", "Ruiz’s" for "Ruiz‘s", and no capital that a
    word only had because it opened a fact."""
    said = " ".join(facts)
    for name in set(re.findall(r"\b\w+&\w+\b", said)):
        text = re.sub(rf"\b{name.replace('&', ' ?& ?')}\b", name, text)
    for word in set(re.findall(r"\b(?=\w*\d)(?=\w*[A-Z])\w{2,6}\b", said)):
        text = re.sub(rf"\b{word}\b", word, text, flags=re.I)
    text = re.sub(r"(?<=\w)‘(?=s\b)", "’", text)
    for word in {fact.split(" ", 1)[0] for fact in facts if " " in fact}:
        if opens_small(next(fact for fact in facts if fact.startswith(word))) and said.count(word) == 1 and len(word) > 1:
            text = re.sub(rf"(?<=[a-z,;\d] ){word}\b", word.lower(), text)
    return text


def _slips(text: str, facts: Sequence[str], title: str) -> list[str]:
    """What a small model gets wrong word by word, each in words; a large one has its reasons."""
    found = {
        "words of its own": own_words(text, (*facts, title)),
        "words lost": lost_words(text, facts),
        "small words changed": small_words(text, " ".join(facts)),
        "joined to something else": moved_phrases(text, facts),
        "in another tense": other_tenses(text, facts),
    }
    return [f"{what}: {', '.join(words)}" for what, words in found.items() if words]


def _parts(statement: Statement) -> list[Statement]:
    if len(statement.text.split()) <= LONG_WORDS:
        return [statement]
    return [replace(statement, text=text) for text in divided(statement.text)]


def _tidy(draft: Draft) -> str:
    """The answer as prose of one paragraph; what the token limit cut off behind the last whole sentence goes."""
    text = tidy_generated(" ".join(draft.answer.split()))
    if draft.stop == "length" and not re.search(r"[.!?][\"'”’)]*\Z", text):
        ends = [match.start() for match in _ENDS.finditer(text)]
        text = text[: ends[-1]].rstrip() if ends else text
    return text


def _is_good(one: Tried) -> bool:
    return not one.faults and not one.new_words and (one.copied <= GOOD_ENOUGH or one.longest_run <= GOOD_RUN)


def _only_copies(one: Tried, most: int) -> bool:
    return len(one.faults) == 1 and one.faults[0].endswith(_COPIED) and one.longest_run <= most


def _best(tried: Sequence[Tried]) -> Tried | None:
    """Of those without a fault the one that copies least and has fewest words of its own; of equals the better supported."""
    usable = [one for one in tried if not one.faults]
    return min(
        usable, key=lambda one: (round(one.copied + NEW_WORDS_COST * one.new_words, 1), -(one.support or 0.0)), default=None
    )


def _marked(tried: Sequence[Tried], best: Tried) -> list[Tried]:
    return [replace(one, chosen=True) if one is best else one for one in tried]


def _read(
    draft: ComposedDraft, heading: Heading, paragraphs: Sequence[Sequence[Statement]], statements: Sequence[Statement]
) -> WrittenSection:
    """Sentences with the citations of the facts that they say, in the plan's paragraphs; and the facts left out."""
    chosen = sorted((one for one in draft.tried if one.chosen), key=lambda one: one.facts)
    written: list[Paragraph] = []
    repairs: list[Repair] = []
    at = 0
    for paragraph in paragraphs:
        mine = [one for one in chosen if at <= one.facts[0] < at + len(paragraph)]
        sentences = tuple(sentence for one in mine for sentence in _sentences(one, statements))
        if sentences:
            written.append(sentences)
        said = {place for one in mine for place in one.facts}
        for place in range(at, at + len(paragraph)):
            if place not in said:
                faults = [one.faults for one in draft.tried if place in one.facts and one.faults]
                why = f"not said without a fault: {faults[-1][0]}" if faults else "not said"
                repairs.append(Repair("sentence_removed", heading.text, statements[place].text, why))
        at += len(paragraph)
    repairs += [
        Repair("sentence_replaced", heading.text, one.text, f"by {one.by}: the model's answers had faults")
        for one in chosen
        if one.by in ("quotation", "rule", "plain")
    ]
    return WrittenSection(Section(heading, tuple(written)), tuple(repairs))


def written_by_model(written: WrittenSection) -> list[Sentence]:
    """The sentences of the section that are the model's own, freely or in small steps: no quotation, none as it was found."""
    others = " ".join(r.text for r in written.repairs if r.kind == "sentence_replaced")
    return [sentence for sentence in written.section.sentences if sentence.text not in others]


def _sentences(one: Tried, statements: Sequence[Statement]) -> list[Sentence]:
    """One Sentence for each; of two facts each sentence cites those whose words it has most of, all when in doubt."""
    facts = [statements[place] for place in one.facts]
    found = []
    for text in split_sentences(one.text):
        shares = [support(text, fact.text) for fact in facts]
        best = max(shares)
        # 0.2: when two facts share most words, citing both is the safe side.
        cites = [c for fact, share in zip(facts, shares, strict=True) if share >= best - 0.2 for c in fact.cites]
        found.append(Sentence(text, tuple(dict.fromkeys(cites))))
    return found

"""Content planning: the plan of an article.

What it says (`choosing.statements`), under which headings (`section_assignment`), in which order, and what opens it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from data import codec
from data.errors import NoEvidence
from data.settings import WritingSettings
from data.types import Heading
from decoding.api import Encoder
from pipeline.article_plan import ArticlePlan, LeftOut, PlannedSection, Statement
from pipeline.choosing import usable, worth
from pipeline.choosing.candidates import Candidate, candidates
from pipeline.choosing.common_words import is_common
from pipeline.choosing.facts import names, numbers, years
from pipeline.choosing.finding import find_candidates, off_topic
from pipeline.choosing.gate import Offered, gate
from pipeline.choosing.relevance import Scored, feature_rows, load_model, relevance
from pipeline.choosing.statements import Pool, choose, stated
from pipeline.choosing.subject import Subject, defines
from pipeline.choosing.worth import tells_outcome
from pipeline.evidence import Evidence
from pipeline.planning.arranging import opening_scores
from pipeline.planning.headings import BANK_FILE, HeadingBank
from pipeline.planning.kinds import Kind, KindRecogniser, bank_digest
from pipeline.planning.section_assignment import CUES_FILE, filed_under
from pipeline.provenance import publisher_of
from pipeline.retrieval import terms

RULES = "31"
"""Raise when gate, choosing or filing give another plan."""

# Chosen by reading plans of development topics: a lead of a paragraph, sections of at least two facts.
LEAD_STATEMENTS = 4
LEAD_WORDS = 100
LEAD_LIKENESS, SAME_ANSWER = 0.75, 0.9
"""Cosine from which two statements of a lead would say the same; and from which an answer does."""
TOLD = 0.7
"""Share of a statement's words from which the opening has told it."""
DEFINING = 0.5
"""What saying what the subject is adds to a sentence's score as an opening."""
THIN_PAGES = 3
OUTCOME = 0.3
"""What a note adds to its worth for the lead that names the subject and tells how it ended."""
NEARNESS = 0.5
"""What is added to a note's cosine with the card, by which its chance of use is weighed."""
COPIED, STAYING = 0.5, 0.15
"""Share of copied words from which a note is its page's, and what remains of the worth of such a one that is too long for the
model to say otherwise: an article may hold few. Of 0.15, 0.3, 0.6 and 1 it leaves most when no more than half may be
copied (LOG.md)."""
ENOUGH = 0.005
"""Share of the third best note's worth below which none is chosen. On six `dev` topics of Wiki Live Challenge 0.02 gives plans
of 1,148 words that tell 11.8 facts of a hundred, 0.01 1,343 and 12.7, this 1,386 and 13.2."""
LEAST_USABLE, FEW = 0.35, 6
"""Chance that an editor would use a note (`choosing.usable`), below which it is left out, but for the best `FEW`."""
ROOM, LEAST_WITH_ROOM, NEAR_ENOUGH = 700, 0.15, 0.4
"""Words of notes up to which a lower chance is enough, that chance, and the cosine with the card that such a note or its
passage needs: a short article gains more by a fact than it loses by a dull one, and nothing by one about something else."""
LEADING, ANSWERS, OTHER_ANSWERS, ASKED_FIRST = 6, 0.9, 0.6, 0.8
"""Of the answers to the first questions on such a subject, for the lead: how many, least chance of use (`choosing.usable` was
fitted on sentences of pages, and finds "Peter Hoar directed it" too short), that of the answers to other questions, and what
the first adds to its worth, the fourth half of it."""
STALE = 0.3
"""What remains of the worth of a statement that tells as future what later pages look back on."""
LATER, YEARS_AFTER = 0.2, 2
"""What remains of the worth of a statement that names only years so long after the year in the title: 1.0% of the pages'
sentences on such subjects do, and 0.2% of the human articles' (26 of `dev`); earlier years are as frequent in both."""
UNTRUSTED = 0.3
"""The share that remains of the relevance of a sentence whose page addresses a model."""
_CAPITAL = re.compile(r"\b[A-Z][\w’'-]*")
_SPEECH = re.compile(r"[“\"](?:[^”\" ]+ ){4,}[^”\" ]+[,.][”\"] ")
"""A sentence that opens with what somebody said."""
_FUTURE = re.compile(r"\b(?:will(?! (?:power|of))|(?:is|are) (?:set|scheduled|expected|due|going|slated|poised) to)\b", re.I)


@dataclass(frozen=True, slots=True)
class PlanningBanks:
    """Kinds of article and usual headings, built when first needed, since encoding them takes a second; and the encoder that
    knows which sentences stand under which heading (`decoding.filing`)."""

    recogniser: Callable[[], KindRecogniser]
    headings: Callable[[], HeadingBank]
    filer: Encoder

    @classmethod
    def of(cls, encoder: Encoder, filer: Encoder) -> PlanningBanks:
        return cls(cache(lambda: KindRecogniser(encoder)), cache(lambda: HeadingBank(encoder)), filer)


def planning_digest() -> str:
    """Changes with what plans are made from; part of the identity of runs."""
    parts = (
        codec.to_json(load_model()),
        codec.to_json(worth.load_model()),
        codec.to_json(usable.load_model()),
        bank_digest(),
        BANK_FILE.read_text(encoding="utf-8"),
        CUES_FILE.read_text(encoding="utf-8"),
        RULES,
    )
    return codec.sha256("\n".join(parts))[:12]


@dataclass(frozen=True, slots=True)
class Pooled:
    """The sentences that an article may say, and those left out so far."""

    pool: Pool
    left_out: tuple[LeftOut, ...]


def pooled(evidence: Evidence, encoder: Encoder) -> Pooled:
    """Sentences of prose about the subject, each with what it is worth. Raises NoEvidence when there is none."""
    title = evidence.event.title
    # 1. What may be said at all: whole sentences of prose about this subject.
    gated = gate(evidence, candidates(evidence.passages, evidence.pages))
    if not gated.offered:
        reasons = ", ".join(sorted({one.reason for one in gated.left_out})[:4]) or "they hold no whole sentence"
        raise NoEvidence(f"no sentence of the pages on {title!r} could be used in an article: {reasons}")
    # 2. How near each is to the subject. Pages that address a model count less, and pages about something else do not count.
    found = find_candidates(evidence, encoder, [o.candidate for o in gated.offered])
    features = feature_rows(evidence, found)
    on_topic = ~off_topic(found)  # however little is left: a short article is better than one on two subjects
    offered_at = {o.candidate.index: o for o in gated.offered}
    kept = [offered_at[c.index] for c, on in zip(found.candidates, on_topic, strict=True) if on]
    left_out = [LeftOut(c.text, c.passage.id, "off topic") for c, on in zip(found.candidates, on_topic, strict=True) if not on]
    rows = np.flatnonzero(on_topic)
    trust = np.array([1.0 if o.candidate.trusted else UNTRUSTED for o in kept])
    near = relevance(features, load_model())[rows]
    pool = Pool.of(evidence, kept, found.vectors[rows], found.title_vector, features[rows], near, trust)
    return Pooled(pool, (*gated.left_out, *left_out))


def plan_article(evidence: Evidence, encoder: Encoder, writing: WritingSettings, banks: PlanningBanks) -> ArticlePlan:
    """Choose, file and order. Raises NoEvidence when no sentence of the evidence may be used."""
    title = evidence.event.title
    found = pooled(evidence, encoder)
    pool = found.pool
    # Which of them matter, each once.
    chosen, unused = choose(pool, writing.max_words)
    if not chosen:
        raise NoEvidence(
            f"the pages on {title!r} hold {len(pool.offered)} whole sentences and none that an encyclopedia would use: "
            "they are about something else, advertise, or cannot be understood alone"
        )
    subject = Subject(title, evidence.pages)
    here = {n for n, page in enumerate(evidence.pages) if page.usable} - subject.elsewhere
    about = [pool.offered[i].candidate.page in here or subject.is_named_in(pool.offered[i].text) for i in chosen]
    # Where no page is about it, a person may have given pages that call it otherwise: `write` says so, and goes on.
    if here and not any(about):
        raise NoEvidence(
            f"the pages hold {len(chosen)} sentences that an encyclopedia could use, and neither these nor the titles of their "
            f"pages name {title!r}: they seem to be about something else"
        )
    # Where each goes: the lead first, for it takes what defines the subject; the rest under headings of this kind of article.
    scored = Scored([o.candidate for o in pool.offered], pool.vectors, pool.relevance)
    kind = banks.recogniser().recognise(title, scored.central(4), subject.noun, evidence.pages)
    lead = _lead(scored, title, chosen, opening_scores(scored, title))
    sections = _sections(evidence, pool, scored, [i for i in chosen if i not in set(lead)], kind, (encoder, banks), writing)
    return ArticlePlan(
        title,
        tuple(stated(pool, i) for i in lead),
        tuple(
            PlannedSection(heading, tuple(tuple(stated(pool, i) for i in run) for run in paragraphs))
            for heading, paragraphs in sections
        ),
        _notice(evidence, pool, chosen),
        (*found.left_out, *unused),
    )


@dataclass(frozen=True, slots=True)
class NotedSubject:
    """What planning knows of the subject where notes were taken: its card, the kind of article, the statement that opens it,
    None where no passage says it, and titles of pages of its name on something else where the title may mean that."""

    card: str
    kind: Kind
    opening: Statement | None
    namesakes: tuple[str, ...] = ()


def plan_notes(
    evidence: Evidence,
    statements: Sequence[Statement],
    subject: NotedSubject,
    encoder: Encoder,
    writing: WritingSettings,
    banks: PlanningBanks,
    carried: int = 0,
) -> ArticlePlan:
    """The same from notes (`pipeline.noting`): those first that an editor would most likely use. `carried`: words of a note
    that the model can say otherwise; 0 for any. Raises NoEvidence when there is no note."""
    title = evidence.event.title
    if not statements:
        raise NoEvidence(
            f"the pages on {title!r} hold no fact that could be noted: they are about something else, or say little"
        )
    pool = noted_pool(evidence, statements, encoder)
    # Nearness tells less of a note's use than `usable` (LOG.md), and keeps what is about something else out of the lead.
    near = np.clip(pool.vectors @ encoder.encode([f"{title}. {subject.card}"])[0], 0.0, 1.0)
    own = [statements[o.candidate.index] for o in pool.offered]
    asked = np.array([one.question for one in own])
    usable_for = np.where((asked > 0) & (asked <= LEADING), np.maximum(pool.usable, ANSWERS), pool.usable)
    usable_for = np.where(asked > LEADING, np.maximum(usable_for, OTHER_ANSWERS), usable_for)
    stays = np.array([carried > 0 and len(one.text.split()) > carried and one.copied > COPIED for one in own]) & (asked == 0)
    stale = np.array([_is_stale(o, evidence) for o in pool.offered], dtype=bool)
    later = np.array([_is_later(o.text, title) for o in pool.offered], dtype=bool)
    worth_using = usable_for * (NEARNESS + near) * np.where(stays, STAYING, 1.0)
    worth_using *= np.where(stale, STALE, 1.0) * np.where(later, LATER, 1.0)
    n_words = [o.candidate.n_words for o in pool.offered]
    floor = np.where(
        _close(near, pool, f"{title}. {subject.card}", encoder) >= NEAR_ENOUGH,
        _least_usable(usable_for, n_words),
        _least_usable(usable_for, n_words, room=0),
    )
    answering = frozenset(np.flatnonzero((asked > 0) & ~stale & ~later).tolist())
    chosen, left_out = choose(pool, writing.max_words, np.where(usable_for >= floor, worth_using, 0.0), answering, ENOUGH)
    scored = Scored([o.candidate for o in pool.offered], pool.vectors, pool.relevance)
    opening = [subject.opening] if subject.opening is not None else []
    again = [i for i in chosen if opening and _opening_says(pool.offered[i].candidate, opening[0].text, title)]
    chosen = [i for i in chosen if i not in again]
    left_out += [LeftOut(pool.offered[i].text, pool.offered[i].candidate.passage.id, "said in the opening") for i in again]
    said = encoder.encode([s.text for s in opening]) if opening else np.zeros((0, pool.vectors.shape[1]), dtype=np.float32)
    named = Subject(title, evidence.pages)
    tells = np.array([tells_outcome(o.text) and named.is_named_in(o.text) for o in pool.offered])
    leading = (asked > 0) & (asked <= LEADING) & ~stale & ~later
    first = np.where(leading, ASKED_FIRST / np.sqrt(np.maximum(asked, 1)), 0.0)
    scores = (worth_using + np.maximum(OUTCOME * tells, first)).tolist()
    answers = frozenset(np.flatnonzero(leading).tolist())
    lead = _lead(scored, title, chosen, scores, said, LEAD_STATEMENTS - len(opening), answers)
    if opening:  # else the first says what the subject is
        lead.sort(key=lambda i: (asked[i] == 0, asked[i]))
    sections = _sections(
        evidence, pool, scored, [i for i in chosen if i not in set(lead)], subject.kind, (encoder, banks), writing
    )

    def planned(i: int) -> Statement:
        return replace(pool_statement(statements, pool, i), worth=round(float(worth_using[i]), 3))

    return ArticlePlan(
        title,
        (*opening, *(planned(i) for i in lead)),
        tuple(
            PlannedSection(heading, tuple(tuple(planned(i) for i in run) for run in paragraphs))
            for heading, paragraphs in sections
        ),
        " ".join(filter(None, (_notice(evidence, pool, [*chosen, *again]), _ambiguity(subject.namesakes)))),
        tuple(left_out),
    )


def _opening_says(one: Candidate, opening: str, title: str) -> bool:
    """Whether the opening has told a statement: all its names and figures, and most of its words, those of the title apart."""
    told = f"{opening} {title}"
    mine = one.terms - frozenset(terms(title))
    held = names(told) | numbers(told)
    strange = [word for word in _CAPITAL.findall(one.text) if not is_common(word) and word not in told]
    return not strange and one.facts <= held and len(mine & frozenset(terms(opening))) >= TOLD * len(mine)


def _least_usable(chances: np.ndarray, n_words: Sequence[int], room: int = ROOM) -> float:
    """The chance of use that a note needs, from those of all notes, shape (n,), and their words; lower than usual only up to
    `room` words."""
    best = np.argsort(-chances, kind="stable")
    filled = int(np.searchsorted(np.cumsum(np.array(n_words)[best]), room))
    with_room = float(chances[best[filled]]) if filled < len(best) else LEAST_WITH_ROOM
    return min(max(min(LEAST_USABLE, with_room), LEAST_WITH_ROOM), float(chances[best[:FEW]][-1]))


def _close(near: np.ndarray, pool: Pool, card: str, encoder: Encoder) -> np.ndarray:
    """How close each note or its passage is to the card, shape (n,): "A haul rope snapped at 21:40" has nothing of the subject
    in it, and stands beside what has."""
    far = [i for i, value in enumerate(near) if value < NEAR_ENOUGH]
    passages = {pool.offered[i].candidate.passage.id: pool.offered[i].candidate.passage.text for i in far}
    if not passages:
        return near
    vectors = encoder.encode([card, *passages.values()])
    of_passage = dict(zip(passages, (vectors[1:] @ vectors[0]).tolist(), strict=True))
    found = near.copy()
    for i in far:
        found[i] = max(near[i], of_passage[pool.offered[i].candidate.passage.id])
    return found


def _is_later(text: str, title: str) -> bool:
    """Whether it speaks of years long after the subject's, where the title names that: another march in the same city."""
    own, told = years(title), years(text)
    return bool(own and told) and int(min(told)) >= int(max(own)) + YEARS_AFTER


def _is_stale(one: Offered, evidence: Evidence) -> bool:
    """Whether it tells as future what was to come when its page was published, and a page of a later day is at hand. Days of
    pages count, since a forecast seldom names its day."""
    if not one.published or not _FUTURE.search(one.text):
        return False
    newest = max((page.published or "" for page in evidence.pages if page.usable), default="")
    return one.published[:10] < newest[:10]


def pool_statement(statements: Sequence[Statement], pool: Pool, i: int) -> Statement:
    """The note that a row of the pool stands for."""
    return statements[pool.offered[i].candidate.index]


def noted_pool(evidence: Evidence, statements: Sequence[Statement], encoder: Encoder) -> Pool:
    """Notes as the sentences of their passages are seen by what chooses and files."""
    passages = {passage.id: passage for passage in evidence.passages}
    offered = []
    for n, one in enumerate(statements):
        passage = passages[one.cites[0]]
        facts = names(one.text) | numbers(one.text)
        candidate = Candidate(
            n, passage, passage.start, passage.end, one.text, len(one.text.split()), frozenset(terms(one.text)), facts,
            dangling=False, quality=1.0, trusted="suspicious" not in evidence.pages[passage.page].flags,
        )  # fmt: skip
        offered.append(Offered(candidate, one.text, one.day, evidence.pages[passage.page].published or ""))
    found = find_candidates(evidence, encoder, [o.candidate for o in offered])
    kept = [offered[c.index] for c in found.candidates]
    features = feature_rows(evidence, found)
    trust = np.array([1.0 if o.candidate.trusted else UNTRUSTED for o in kept])
    near = relevance(features, load_model())
    return Pool.of(evidence, kept, found.vectors, found.title_vector, features, near, trust)


def _sections(
    evidence: Evidence,
    pool: Pool,
    scored: Scored,
    body: Sequence[int],
    kind: Kind,
    encoders: tuple[Encoder, PlanningBanks],
    writing: WritingSettings,
) -> list[tuple[Heading, list[list[int]]]]:
    encoder, banks = encoders
    if not body:
        return []
    title = evidence.event.title
    usual = banks.headings().offered(title, scored, kind, most=writing.max_sections)
    return filed_under(title, pool, scored, body, usual, (encoder, banks.filer), writing.max_sections, kind)


def _lead(
    scored: Scored,
    title: str,
    chosen: Sequence[int],
    values: Sequence[float],
    said: np.ndarray | None = None,
    most: int = LEAD_STATEMENTS,
    answers: frozenset[int] = frozenset(),
) -> list[int]:
    """The chosen statement that says best what the subject is, then others that matter most by their `values` and say something
    else, and something else than what the lead has `said` (unit vectors, (m, D)) already. `answers` to what is asked of such a
    subject are short, so that its name makes them alike: they may be more so."""
    scores = [value + DEFINING * defines(c.text, title) for c, value in zip(scored.candidates, values, strict=True)]
    picked: list[int] = []
    words = 0
    for i in sorted(chosen, key=lambda i: (-scores[i], i)):
        c = scored.candidates[i]
        alike = SAME_ANSWER if i in answers else LEAD_LIKENESS
        if any(float(scored.vectors[i] @ scored.vectors[j]) > alike for j in picked):
            continue
        if said is not None and len(said) and float((said @ scored.vectors[i]).max()) > alike:
            continue
        if _SPEECH.match(c.text) and title not in c.text and len(chosen) > 1:  # praise of a subject does not say what it is
            continue
        if picked and words + c.n_words > LEAD_WORDS:  # a shorter one may still fit
            continue
        picked.append(i)
        words += c.n_words
        if len(picked) == most:
            break
    few = len(chosen) < 2 * LEAD_STATEMENTS  # a lead must leave something for the sections
    return picked[: max(len(chosen) // 2, 1)] if few else picked


def _notice(evidence: Evidence, pool: Pool, chosen: Sequence[int]) -> str:
    """What a reader must know of how thin the evidence is; empty if it is not."""
    pages = {pool.offered[i].candidate.page for i in chosen}
    hosts = {publisher_of(evidence.pages[n].url, evidence.pages[n].site) for n in pages}
    if len(hosts) > 1 and len(pages) > THIN_PAGES:
        return ""
    told = f"{len(pages)} page{'s' * (len(pages) != 1)}, {len(hosts) or 1} publisher{'s' * (len(hosts) > 1)}"
    return f"This article rests on little evidence: {told}."


def _ambiguity(namesakes: Sequence[str]) -> str:
    """What a reader must know where the title may mean something else; empty where it does not."""
    if not namesakes:
        return ""
    return (
        f"{len(namesakes)} pages of this name are about something else, such as “{namesakes[0][:80]}”: if that is meant, say "
        "with --about what the subject is."
    )

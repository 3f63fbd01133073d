"""What the subject is: one sentence, from the pages that lie in the middle of those nearest to the title.

A small model puts a wrong year or director into every third such sentence, so that several are written: of the pages'
beginnings and of sentences that say what it is. Of those whose names and figures all stand in what was shown, the one that the
others and the pages are most like is taken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from data.decoding_counts import Usage
from data.errors import NoEvidence
from data.sentences import split_sentences
from decoding.api import Encoder, Generator, Request, SamplingParams
from pipeline.choosing.facts import figures
from pipeline.choosing.subject import defines, subject_terms
from pipeline.evidence import Evidence
from pipeline.notes import Card
from pipeline.noting import reading_prompts
from pipeline.noting.material import readable, shown_opening, shown_title
from pipeline.planning.kinds import Kind
from pipeline.retrieval import terms
from pipeline.writing.checks.compared_words import bare, name_words
from pipeline.writing.checks.rewording import proper_words
from pipeline.writing.prompts import Numbered

NEAREST, MIDDLE = 25, 5
"""Pages nearest to the title, and how many of their middle are read."""
OPENING_WORDS = 110
SENTENCES, OF_PAGE, LIKENESS = 12, 2, 0.9
"""Sentences that are shown, how many of a page, and the cosine from which two say the same."""
SHORTEST, LONGEST = 6, 60
DEFINES, CENTRAL = 0.35, 0.3
"""What saying what the subject is, and the cosine with the middle of all, add to a sentence's cosine with the title."""
SAMPLED = (0.6, 0.8)
"""Temperatures of the further answers."""
CARD_TOKENS = 90
MOST_WORDS = 60
MOST_OF_NAME, OTHER_WORDS = 0.6, 4
"""Share of the title's words that a card has before its verb, and how many others may stand there."""
AGREEING = 0.5
"""What a card's mean cosine with the other cards counts for beside that with the pages."""
CUT = 0.1
"""What a card loses of which a clause was cut."""
_SAYS_WHAT = re.compile(r"(?<=\S) (?:is|was|are|were) (?=\w)")
_PEOPLE = re.compile(r"(?:ish|ian|ean|can|man|ese|nch|tch)\Z")
"""Of a nation, as the model knows without being told."""
_CLAUSE = re.compile(
    r",\s|\s(?=(?:which|who|that|where|when|and|known|featuring|starring|directed|developed|released|published)\b)"
)


def page_texts(evidence: Evidence, pages: Sequence[int]) -> list[str]:
    """Titles with the beginnings of the pages, by which they are compared."""
    return [f"{shown_title(evidence.pages[n])}. {shown_opening(evidence.pages[n], OPENING_WORDS)}" for n in pages]


def make_card(evidence: Evidence, generator: Generator, encoder: Encoder, likely: Kind | None = None) -> Card:
    """Ask the model. Where it says nothing of use the title alone is the card. Raises NoEvidence where no page can be read.
    `likely`: the kind that title and pages leave no doubt of; an answer that calls the subject so is preferred, and where there
    is none the model is told the kind: asked of "Lux", an episode, it told of the character Lux."""
    title = evidence.event.title
    pages = [n for n, page in enumerate(evidence.pages) if page.usable and "suspicious" not in page.flags] or [
        n for n, page in enumerate(evidence.pages) if page.usable
    ]
    if not pages:
        raise NoEvidence(f"no usable page for {title!r}")
    # With what its kind is about the pages of an episode come before those of the character that it is named after.
    sought = f"{title}. {likely.name}: {likely.about}" if likely is not None else title
    vectors = encoder.encode([sought, *page_texts(evidence, pages)])
    near = np.argsort(-(vectors[1:] @ vectors[0]), kind="stable")[:NEAREST]
    central = vectors[1:][near].mean(axis=0)
    closeness = vectors[1:][near] @ (central + vectors[0])
    middle = [pages[int(near[i])] for i in np.argsort(-closeness, kind="stable")[:MIDDLE]]
    first = [
        next(p.id for p in evidence.passages if p.page == n) for n in middle if any(p.page == n for p in evidence.passages)
    ]
    openings = [
        Numbered(k, shown_title(page), shown_opening(page, OPENING_WORDS))
        for k, page in enumerate((evidence.pages[n] for n in middle), 1)
    ]
    told = _telling_sentences(evidence, frozenset(pages), encoder)
    sentences = [Numbered(1, "", "\n".join(told))]
    held = " ".join((title, *told, *(f"{one.title} {one.text}" for one in openings)))
    usage = Usage()

    def asked(ways: Sequence[tuple[Sequence[Numbered], float]], kind: str = "") -> list[tuple[str, bool]]:
        nonlocal usage
        requests = [
            Request(
                reading_prompts.card(title, shown, generator.neutralise, kind),
                SamplingParams(max_new_tokens=CARD_TOKENS, temperature=temperature, task="other"),
            )
            for shown, temperature in ways
        ]
        answers = generator.generate_many(requests)
        usage = Usage.total([usage, *(Usage(1, a.n_prompt_tokens, a.n_new_tokens, a.stats.rounded()) for a in answers)])
        return [card for answer in answers if (card := _held(_one_sentence(answer.text, title), title, held))]

    of_sentences = [(sentences, 0.0)] if told else []
    ways = [(openings, 0.0), *((openings, t) for t in SAMPLED), *of_sentences]
    cards = asked(ways)
    if likely is not None and likely.called:
        so_called = [card for card in cards if likely.is_called_in(card[0])]
        so_called = so_called or [card for card in asked(ways, likely.name) if likely.is_called_in(card[0])]
        cards = so_called or cards
    return Card(_most_agreed(cards, central, encoder) or title, tuple(first), "model", usage)


def _telling_sentences(evidence: Evidence, pages: frozenset[int], encoder: Encoder) -> list[str]:
    """Sentences that name the subject, those first that say what it is, a few of each page."""
    title = evidence.event.title
    words = subject_terms(title)
    found = [
        (passage.page, sentence)
        for passage in evidence.passages
        if passage.page in pages and (kept := readable(passage, evidence.pages[passage.page])) is not None
        for sentence in split_sentences(kept.text)
        if SHORTEST <= len(sentence.split()) <= LONGEST and words & frozenset(terms(sentence))
    ]
    if not found:
        return []
    vectors = encoder.encode([title, *(sentence for _, sentence in found)])
    middle = vectors[1:].mean(axis=0)
    score = vectors[1:] @ vectors[0] + CENTRAL * (vectors[1:] @ middle) / max(float(np.linalg.norm(middle)), 1e-9)
    score = score + DEFINES * np.array([defines(sentence, title) for _, sentence in found])
    taken: list[int] = []
    for i in np.argsort(-score, kind="stable").tolist():
        again = taken and float(max(vectors[1:][taken] @ vectors[1 + i])) > LIKENESS
        if again or sum(found[j][0] == found[i][0] for j in taken) == OF_PAGE:
            continue
        taken.append(i)
        if len(taken) == SENTENCES:
            break
    return [found[i][1] for i in taken]


def _one_sentence(answer: str, title: str) -> str:
    """The first sentence; empty where it does not name the subject, or does not say what it is."""
    plain = " ".join(re.sub(r"[*_#`]+|\[\d+\]", " ", answer).split())
    plain = re.sub(r"\A[\"“]([^\"”]{1,80})[\"”](?= )", r"\1", plain)  # the subject, as models quote it
    sentences = split_sentences(plain)
    said = sentences[0] if sentences else ""
    # What it speaks of is the subject alone: two pages' titles in a row made "A flood of entries for the marathon was a flood".
    named = _SAYS_WHAT.split(said, maxsplit=1)[0]
    words = subject_terms(title)
    opens = len(words & frozenset(terms(named))) >= MOST_OF_NAME * len(words)
    opens = opens and len(named.split()) <= len(title.split()) + OTHER_WORDS
    return said if opens and len(said.split()) <= MOST_WORDS and _SAYS_WHAT.search(said) else ""


def _held(card: str, title: str, shown: str) -> tuple[str, bool] | None:
    """The card without the clauses from its first name or figure on that nothing shown has, and whether it is whole; None
    where that leaves no sentence."""
    names, known = name_words(shown), figures(shown, as_evidence=True)
    parts = _CLAUSE.split(card)
    at = 0
    for n, part in enumerate(parts):
        at = card.index(part, at)
        strange = {bare(name) for name in proper_words(part) if not _PEOPLE.search(name)} - names or figures(part) - known
        if strange:
            kept = card[:at].rstrip(" ,")
            return (f"{kept}.", False) if n and len(kept.split()) >= len(title.split()) + 3 else None
        at += len(part)
    return (card, True) if card else None


def _most_agreed(cards: Sequence[tuple[str, bool]], central: np.ndarray, encoder: Encoder) -> str:
    """The card that the pages and the other cards are most like; empty where there is none."""
    if not cards:
        return ""
    vectors = encoder.encode([card for card, _ in cards])
    score = (
        vectors @ central + AGREEING * (vectors @ vectors.T).mean(axis=1) - CUT * np.array([not whole for _, whole in cards])
    )
    return cards[int(np.argmax(score))][0]

"""The card as the statement that opens the article: as much of it as the pages say, and the passages that say it.

A card is made of five pages, so that often no passage says all of it. The model reads single passages first, then the nearest
sentences of several together; where these do not say it either, the card's last clause goes, and what is left is read again.
"""

from __future__ import annotations

import re

from data.sentences import split_sentences
from data.types import Passage
from pipeline.article_plan import Statement
from pipeline.choosing.facts import figures
from pipeline.choosing.standing_alone import day_of
from pipeline.choosing.subject import Subject
from pipeline.evidence import Evidence
from pipeline.notes import Card
from pipeline.noting.material import readable, shown_title
from pipeline.noting.stated import ended, own_shared, shared
from pipeline.noting.verifying import Claimed, Verifier, nearest
from pipeline.retrieval import terms
from pipeline.writing.checks.compared_words import bare, name_words
from pipeline.writing.checks.rewording import proper_words

PASSAGES = 6
"""Passages with most of its words, which are read."""
OPENS = 0.75
"""Least chance that passages say the wording. What opens an article is read first: of 14 cards of development topics one was
half invented ("a horror film series that revolves around a family of scientists", 0.70)."""
LEAST_SHARED, LEAST_CALLED = 0.6, 0.5
"""Share of its content words, those of the title apart, that these must have; and of what the subject is called, where no more
is said: pages of a community centre call it a centre."""
MANY = 5_000
"""Words of pages from which a word that none of them has is no paraphrase but a guess: the family of scientists was in 51,000
words without one."""
LEAST_SAID = 3
"""Words behind the verb that say what a subject is."""
MOST_CUT = 4
"""Wordings with one clause less each that are tried, before the plain ones."""
_SAYS_WHAT = re.compile(r"(?<=\S) (?:is|was|are|were) (?=\w)")
_CLAUSE = re.compile(
    r",?\s(?=(?:which|who|that|where|when|known|featuring|starring|directed|developed|released|published|created|written|produced|"
    r"hosted|organi[sz]ed|caused|causing|killing|resulting|leaving|making)\b)|,\s(?=(?:and|but|with|as|an?|\w{2,}(?:ing|ed))\b)"
)
"""Where a clause begins that the sentence stands without."""
_JOINING = re.compile(r"[ ,;]*(?: (?:and|but|or)(?: (?:is|was|are|were|has been|have been))?)?[ ,;]*\Z")
"""What is left before such a clause: "killing 14 people and" of "killing 14 people and causing damage"."""
_KIND = re.compile(r"(?P<head>(?: [\w’'-]+)+?)(?=,| (?:of|in|from|on|at|by|for|about|based|located|set|held|aired) |[.]?\Z)")
"""What a card calls its subject: "a British science fiction television series episode" of "... episode from 2025"."""
_OF = re.compile(r" \(([A-Z][^()]*)\)\Z")
"""What a title in brackets belongs to: "Lucky Day (Doctor Who)"; not "(2025 film)"."""


def opening_statement(evidence: Evidence, card: Card, verifier: Verifier) -> Statement | None:
    """None where no passage says what the subject is, or where a person wrote the card."""
    title = evidence.event.title
    if card.text == title or card.by == "person":
        return None
    subject = Subject(title, evidence.pages)
    read = [page.text for page in evidence.pages if page.usable]
    heard = frozenset(terms(" ".join(read))) if sum(len(text.split()) for text in read) >= MANY else None
    plain = plain_wordings(card.text, title)
    for text in dict.fromkeys((*wordings(card.text), *plain)):
        if heard is not None and not set(terms(text)) <= heard | set(terms(title)):
            continue
        if cites := _cites(evidence, text, verifier, LEAST_CALLED if text in plain else LEAST_SHARED):
            # "(2025 film)" tells titles apart, and stands in no sentence.
            return Statement(ended(text.replace(title, subject.name)), tuple(cites), (), day_of(subject.masked(text)))
    return None


def wordings(card: str) -> list[str]:
    """The card, then without its last clause, without the last two, and so on, while it says what the subject is."""
    found = [card]
    for cut in reversed(list(_CLAUSE.finditer(card))):
        text = _JOINING.sub("", card[: cut.start()])
        said = _SAYS_WHAT.split(text, maxsplit=1)
        if text not in found and len(said) == 2 and len(said[1].split()) >= LEAST_SAID:
            found.append(text)
    return found[:MOST_CUT]


def plain_wordings(card: str, title: str) -> list[str]:
    """No more than what the card calls its subject, for cards of which the pages say nothing else: with what the title's
    brackets say that it is of, and by itself."""
    shortest = wordings(card)[-1]
    match = re.match(rf"(?:The )?{re.escape(title)} (is|was|are|were)(?= an? )", shortest)
    kind = _KIND.match(shortest, match.end()) if match else None
    if match is None or kind is None:
        return []
    *before, noun = kind["head"].split()
    owner = _OF.search(title)
    name, said = _OF.sub("", title), f"{match[1]} {'an' if noun[0] in 'aeiou' else 'a'} {noun}"
    of_owner = [f"{name} {said} of {owner[1]}"] if owner and before and noun.islower() else []
    alone = [f"{match[0]}{kind['head']}"] if len(before) + 1 >= LEAST_SAID else []
    return [*of_owner, *alone]


def _cites(evidence: Evidence, text: str, verifier: Verifier, least: float) -> list[str]:
    """The passages that say it; none where it is not said."""
    title = evidence.event.title
    near = sorted(evidence.passages, key=lambda p: (-shared(text, p.text), p.page, p.start))[:PASSAGES]
    near = [kept for p in near if (kept := readable(p, evidence.pages[p.page])) is not None]
    together = " ".join(p.text for p in near)
    missing = {bare(name) for name in proper_words(text)} - name_words(title)
    missing |= figures(text) - figures(title, as_evidence=True)
    if missing - _held(together) or own_shared(text, together, title) < least:
        return []
    asked = [Claimed(text, p.text, shown_title(evidence.pages[p.page])) for p in near]
    *alone, all_of_them = verifier.chances([*asked, Claimed(text, together, title)])
    if any(chance >= OPENS for chance in alone):
        # The best that says it, and others for the names and figures that it has not.
        ordered = [p for _, p in sorted(zip(alone, near, strict=True), key=lambda one: one[0] < OPENS)]
    elif all_of_them >= OPENS:
        sentences = [(p, sentence) for p in near for sentence in split_sentences(p.text)]
        ordered = list({sentences[n][0].id: sentences[n][0] for n in nearest(text, [s for _, s in sentences])}.values())
        return [p.id for p in ordered]
    else:
        return []
    return _enough(ordered, missing)


def _enough(ordered: list[Passage], missing: set[str]) -> list[str]:
    """The first, and each that has a name or a figure that those before it have not."""
    cites: list[str] = []
    for passage in ordered:
        if not cites or missing & _held(passage.text):
            cites.append(passage.id)
            missing = missing - _held(passage.text)
    return cites


def _held(text: str) -> frozenset[str]:
    """The words that may be names in a text, and its figures."""
    return frozenset(name_words(text)) | figures(text, as_evidence=True)

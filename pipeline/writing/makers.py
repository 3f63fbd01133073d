"""Who made it, in the sentence that says what it is: "Lucky Day is an episode of Doctor Who, directed by Peter Hoar and written
by Pete McTighe."

Questions are answered one by one, so that a lead had "Peter Hoar directed Lucky Day. Pete McTighe wrote Lucky Day." Sentence
aggregation (Reape & Mellish, 1999) by the predicate: what made the subject becomes a participle behind its definition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lemminflect import getInflection, getLemma

from data.types import Section, Sentence

MAKING = frozenset((
    "build", "compose", "create", "design", "develop", "direct", "edit", "found", "host", "illustrate", "invent", "manufacture",
    "organise", "organize", "paint", "perform", "produce", "publish", "record", "write",
))  # fmt: skip
MOST_WORDS = 30
"""Words of the sentence that says it all: more is said in a second one."""
_WHO = r"(?P<who>(?:[A-Z][\w.’'-]*|and|of|the|de|van|von|[A-Z]\.)(?: (?:[A-Z][\w.’'-]*|and|of|the|de|van|von|&)){0,8})"
_DEFINED = re.compile(r" (?:is|was) an? ")
_ENTANGLED = re.compile(r"\b(?:who|which|that|where|when|while|because)\b|[;:()]")


@dataclass(frozen=True, slots=True)
class _Made:
    how: str
    who: str
    sentence: Sentence


def with_makers(lead: Section, name: str) -> Section:
    """The lead with who made it in its first sentence, or in a second one; as it is where that does not say what `name` is."""
    first, *others = lead.sentences or (None,)
    if first is None or not re.match(rf"[“\"]?{re.escape(name)}[”\"]?{_DEFINED.pattern}", first.text):
        return lead
    made = [one for sentence in others if (one := _made(sentence, name)) is not None]
    named = [one for one in made if f"{one.how} by" in first.text]
    told = [one for one in named if one.who in first.text]  # somebody else is a disagreement, and stays
    new = list({one.how: one for one in reversed(made) if one not in named}.values())[::-1]
    if not made:
        return lead
    clause = _listed([f"{one.how} by {one.who}" for one in new])
    together = f"{first.text[:-1]}, {clause}."
    fits = first.text.endswith(".") and not _ENTANGLED.search(first.text) and "," not in first.text
    if not new:
        opened = [first]
    elif fits and len(together.split()) <= MOST_WORDS:
        opened = [_cited(together, [first, *(one.sentence for one in new)])]
    else:
        opened = [first, _cited(f"{name} was {clause}.", [one.sentence for one in new])]
    gone = {one.sentence.text for one in (*told, *new)}
    kept = [s for s in others if s.text not in gone]
    return replace(lead, paragraphs=((*opened, *kept),))


def _listed(parts: Sequence[str]) -> str:
    *some, last = parts or ("",)
    return f"{', '.join(some)} and {last}" if some else last


def _made(sentence: Sentence, name: str) -> _Made | None:
    """ "Peter Hoar directed Lucky Day.", or "Lucky Day was directed by Peter Hoar."; None where it says anything else."""
    quoted = rf"[“\"]?{re.escape(name)}[”\"]?"
    active = re.fullmatch(rf"{_WHO} (?P<verb>[a-z]+) {quoted}\.", sentence.text)
    passive = re.fullmatch(rf"{quoted} was (?P<verb>[a-z]+) by {_WHO}\.", sentence.text)
    match = active or passive
    if match is None:
        return None
    lemma = getLemma(match["verb"], upos="VERB")[0]
    if lemma not in MAKING:
        return None
    return _Made(getInflection(lemma, tag="VBN")[0], match["who"], sentence)


def _cited(text: str, of: Sequence[Sentence]) -> Sentence:
    return Sentence(text, tuple(dict.fromkeys(cite for one in of for cite in one.cites)))

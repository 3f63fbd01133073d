"""Words of a fact that a text leaves out.

"The crew landed 500 years" for "The crew landed 500 years in the future"; "leased from New York" for "from the City of New
York"; a limit of time that is gone with its clause. What is left still reads well, and says something else or less.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.retrieval import terms
from pipeline.writing.checks.compared_words import WORD, bare, stem_of
from pipeline.writing.synonyms import may_stand_for
from pipeline.writing.wordings import places

_LONG_QUOTATION = re.compile(r"“(?:[^“”\s]+\s+){4,}[^“”]*”|\"(?:[^\"\s]+\s+){4,}[^\"]*\"")
"""What may be quoted in part; a title in quotation marks is a name."""
_LIGHT = frozenset((
    # degree and stress
    "very", "quite", "even", "just", "also", "really", "truly", "simply", "highly", "extremely", "fully", "easily", "actually",
    "clearly", "certainly", "definitely", "particularly", "especially", "completely", "totally", "well", "still", "himself",
    "herself", "itself", "themselves", "ever", "indeed", "already", "new", "own", "then",
    # verbs that another verb, a noun or "is" does without
    "came", "come", "comes", "goes", "went", "get", "gets", "got", "starts", "started", "begins", "began", "serves", "served",
    "serve", "bears", "bore", "boasts", "boasted", "made", "makes", "took", "takes", "give", "gives", "gave", "done",
    # parts of turns of phrase: "in order to", "the fact that", "a number of", "in the process of"
    "order", "fact", "way", "process", "period", "course", "named", "called", "known", "along", "upon", "onto", "within", "via",
    "there", "such", "various", "put", "one", "ones", "member", "some", "during", "throughout", "about", "both", "that", "this",
    # openings
    "therefore", "everyone", "everybody",
    # beside a date
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
))  # fmt: skip
"""Words whose loss changes nothing that is said, by reading 84 reworded sentences of development topics that had lost words."""


def lost_words(text: str, facts: Sequence[str]) -> tuple[str, ...]:
    """The words that are gone, names among them, in the order of the facts.

    Not gone is a word for which the text has a synonym, or one of the wordings that may stand for it. Figures are counted
    elsewhere (`pipeline.writing.checks.rewording`).
    """
    held = _stems(text)
    said = _stems(" ".join(facts))
    came = [word for word in WORD.findall(text.lower()) if stem_of(word) not in said]
    found: list[str] = []
    for fact in facts:
        reworded = _reworded(fact, held)
        found += [
            word
            for word in map(_without_possessive, WORD.findall(_LONG_QUOTATION.sub(" ", fact)))
            if _counts(word)
            and not _stems(word) <= held
            and word.lower() not in _LIGHT
            and word.lower() not in reworded
            and not any(may_stand_for(other, word.lower()) for other in came)
        ]
    return tuple(dict.fromkeys(found))


def _without_possessive(word: str) -> str:
    """\"Peru's\" says Peru."""
    return re.sub(r"[’']s?\Z", "", word)


def _counts(word: str) -> bool:
    """Whether a word says something of its own: no word of grammar, no contraction, no figure."""
    return bool(terms(word)) and "’" not in word and "'" not in word and not any(c.isdigit() for c in word)


def _stems(text: str) -> frozenset[str]:
    return frozenset(terms(text)) | frozenset(stem_of(bare(word)) for word in WORD.findall(text))


def _reworded(fact: str, held: frozenset[str]) -> frozenset[str]:
    """The words of the fact for which the text has another wording."""
    return frozenset(
        word
        for place in places(fact)
        for other in place[1:]
        if _stems(other) and _stems(other) <= held
        for word in WORD.findall(place[0].lower())
    )

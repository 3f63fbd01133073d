"""Which words of an English sentence are verbs, and whether one of them is its main verb: by word lists, endings and
the words beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from lemminflect import getAllLemmas, getInflection

from pipeline.choosing.common_words import is_common
from pipeline.choosing.word_lists import words_of

VERBS = words_of("auxiliaries", "irregular_past", "present")
WORD = re.compile(r"[A-Za-z’'-]+")

_AUXILIARIES = frozenset(("is", "are", "was", "were", "be", "been", "being", "has", "have", "had"))
_SUBORDINATE = re.compile(
    r"\b(?:who|whom|whose|which|that|where|when|while|because|although|though|before|after|since|until|if|"
    r"as (?=(?:the|an?|it|he|she|they)\b))\b",
    re.I,
)
_PARTICIPLE_PHRASE = re.compile(
    r",\s*(?:\w+ed|built|held|made|set|led|known|born|written|shown|taken|won) "
    r"(?=(?:in|by|at|on|as|to|for|from|with|near)\b)"
)
_CLAUSE_ALONE = re.compile(r"([^,;:]+s), who [^,;:]+\Z")
"""A plural noun with only a relative clause: "Harbour champions, who ensure that promises are met."."""
_TAKEN = re.compile(r"(?:the|an?|his|her|its|their|it|him|them|for|as|into|to)\Z|[A-Z]")
_NOUN_FOLLOWS = words_of("before_nouns")
"""Behind these stands a participle ("all finished tasks"), no verb."""


def has_verb(tokens: Sequence[str]) -> bool:
    """Whether a finite verb may be among the words: by list, or by its ending behind another word."""
    return any(is_verb(tokens, n) for n in range(len(tokens)))


def is_verb(tokens: Sequence[str], n: int) -> bool:
    """A capital inside of a sentence makes it a name: "National Glass Works"."""
    word = tokens[n].lower().replace("’", "'")
    before = tokens[n - 1] if n else ""
    if (n and tokens[n][:1].isupper()) or before.lower() == "to" or (word == "set" and before == "on"):
        return False
    if word in VERBS:
        return True
    if not n or (before.lower() in _NOUN_FOLLOWS and (n == 1 or before.islower())):  # not "Here for It All opened"
        return False
    if word.endswith("ed"):
        return len(word) > 3
    if word.endswith(("ing", "'s")):
        return False
    readings = getAllLemmas(word)
    if set(readings) == {"VERB"}:
        return True
    # "Shirley hands Ruby a taser": a name before, and what such a verb takes behind it.
    behind = tokens[n + 1] if n + 1 < len(tokens) else ""
    named = before[:1].isupper() and (n > 1 or not is_common(before))  # what opens a sentence has its capital for that
    return "VERB" in readings and word.endswith("s") and named and bool(_TAKEN.match(behind))


def has_main_verb(text: str) -> bool:
    """Whether a verb is left without subordinate clauses and participles: captions have verbs in these alone ("The track just
    before streets were laid out", "Jerome Park, built in 1866 by a banker").

    Where a clause ends is not known, so that one with two verbs may hold the main one.
    """
    text = re.sub(r"\([^)]*\)|—[^—]*—", " ", text)  # what is said aside is no main clause
    if (alone := _CLAUSE_ALONE.match(text)) and not verb_groups(alone[1]):
        return False
    parts = _SUBORDINATE.split(text)
    if verb_groups(parts[0]):
        return True
    for part in parts[1:]:
        clause, _, rest = part.partition(",")
        if verb_groups(clause) > 1 or verb_groups(rest):
            return True
    return False


def verb_groups(text: str) -> int:
    """Runs of verbs ("has been seen" is one), without participles behind a comma."""
    tokens = WORD.findall(_PARTICIPLE_PHRASE.sub(", ", text))
    found = [is_verb(tokens, n) for n in range(len(tokens))]
    return sum(is_one and not (n and found[n - 1]) for n, is_one in enumerate(found))


def turns_past(text: str, other: str) -> bool:
    """Whether a verb that one text has in the present tense is in the past tense in another, which says the same otherwise."""
    mine = frozenset(word.lower() for word in WORD.findall(text))
    tokens = ["", *(word.lower() for word in WORD.findall(other))]
    # "is rescued", "has been rescued": a participle
    for word in {word for before, word in pairwise(tokens) if before not in _AUXILIARIES} - mine:
        for lemma in getAllLemmas(word, upos="VERB").get("VERB", ()) or getAllLemmas(word, upos="AUX").get("AUX", ()):
            present = {lemma, *getInflection(lemma, "VBZ"), *getInflection(lemma, "VBP")}
            if word in getInflection(lemma, "VBD") and word not in present and present & mine:
                return True
    return False

"""What goes wrong where a sentence is turned round: who does it, what "only" limits, what a date is the day of.

The words are the fact's, so that counting them sees nothing; what changed is where they stand. Quotations apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from lemminflect import getAllLemmas

from pipeline.retrieval import terms
from pipeline.writing.checks.compared_words import PRONOUNS, QUOTED, STATES, WORD, stem_of
from pipeline.writing.steps.sentence_parts import MONTH

_ONLY = re.compile(r"\b[Oo]nly (?:a |an |the )?([\w’'-]+)")
_ONLY_LAST = re.compile(r"\bonly[,.;]")
_DATED = re.compile(
    rf"\b([A-Za-z]+) ((?:{MONTH}) \d{{1,2}}\b|\d{{1,2}} (?:{MONTH})\b|(?:{MONTH}) \d{{4}}\b|(?:1[5-9]|20)\d\d\b)"
)
_SPANS = frozenset(("from", "since", "until", "by", "before", "after", "through", "to", "between"))
"""Before a date these say more than when: a start, an end, a limit."""
_EARLIER, _CLAUSE = re.compile(r"\b(?:before|after)[,.;]"), re.compile(r"\b(?:[Bb]efore|[Aa]fter) \w+")
""" "Abt had met her before" is not "Before Abt had met her"."""
_OPEN = frozenset(("the", "a", "an", "in", "on", "at", "after", "before", "as", "when", "it", "he", "she", "they"))


def turned_round(text: str, facts: Sequence[str]) -> list[str]:
    """Faults of a text beside the facts that it says, each in words."""
    said, text = QUOTED.sub(" ", " ".join(facts)), QUOTED.sub(" ", text)
    faults = []
    limited = {stem_of(word.lower()) for word in _ONLY.findall(said)}
    if limited and (
        any(stem_of(word.lower()) not in limited for word in _ONLY.findall(text))
        or (_ONLY_LAST.search(text) and not _ONLY_LAST.search(said))
    ):
        faults.append('"only" limits something else')
    before: dict[str, set[str]] = {}
    for word, day in _DATED.findall(re.sub(r"\b(?:beginning|starting) (?:in|on)\b", "from", said)):
        before.setdefault(day, set()).add(word.lower())
    faults += [
        f"the date is of something else: {word} {day}"
        for word, day in _DATED.findall(text)
        if day in before and word.lower() not in before[day] and word.lower() in _SPANS
    ]
    if _EARLIER.search(said) and not _CLAUSE.search(said) and (clause := _CLAUSE.search(text)):
        faults.append(f"a clause that no fact has: {clause.group()}")
    if name := _for_a_pronoun(text, said):
        faults.append(f"a name stands for a pronoun: {name}")
    if verb := _exchanged(text, said):
        faults.append(f"who does it is exchanged: {verb}")
    return faults


def _for_a_pronoun(text: str, said: str) -> str:
    """A name that the text says more often than its facts, where a pronoun of theirs is gone; empty where there is none."""
    if sum(len(pronouns.findall(text)) for pronouns in PRONOUNS) >= sum(len(pronouns.findall(said)) for pronouns in PRONOUNS):
        return ""
    before, after = (Counter(word for word in WORD.findall(one) if word[:1].isupper()) for one in (said, text))
    return next((name for name, n in after.items() if 0 < before[name] < n and name.lower() not in _OPEN), "")


def _exchanged(text: str, said: str) -> str:
    """The verb around which what stood before it stands behind it, and the other way round; empty where there is none.

    "Host labour depends on queens" for "Queens depend on host labour". A passive, and a phrase brought to the front, turn a
    sentence round rightly: a text with a comma before the verb, or with "by", is let pass.
    """
    if re.search(r"\bby\b", text):
        return ""
    of_fact = _around_verbs(said)
    for verb, ahead, behind in _around_verbs(text):
        for other, fact_ahead, fact_behind in of_fact:
            stayed = bool(ahead & fact_ahead)
            crossed = len(ahead & fact_behind) > len(ahead) / 2 and len(behind & fact_ahead) >= len(fact_ahead) / 2
            if stem_of(verb) == stem_of(other) and crossed and not stayed:
                return verb
    return ""


def _around_verbs(text: str) -> list[tuple[str, frozenset[str], frozenset[str]]]:
    """(verb, stems of the words before it, of those behind it) of each sentence's verbs that have no comma before them."""
    found = []
    for sentence in re.split(r"(?<=[.!?])\s", text):
        words = [word for word in WORD.findall(sentence.split(",")[0]) if not word.endswith("ly")]
        for n, word in enumerate(words):
            if n and word.islower() and word not in STATES and terms(word) and "VERB" in getAllLemmas(word):
                ahead, behind = frozenset(terms(" ".join(words[:n]))), frozenset(terms(" ".join(words[n + 1 :])))
                if ahead and behind:
                    found.append((word, ahead, behind))
    return found

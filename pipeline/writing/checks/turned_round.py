"""What goes wrong where a sentence is turned round: who does it, what "only" limits, what a date is the day of.

The words are the fact's, so that counting them sees nothing; what changed is where they stand. Quotations apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from lemminflect import getAllLemmas

from data.sentences import split_sentences
from pipeline.choosing.verbs import is_verb
from pipeline.retrieval import terms
from pipeline.writing.checks.compared_words import PRONOUNS, QUOTED, WORD, stem_of
from pipeline.writing.steps.sentence_parts import MONTH, PREPOSITION

_ONLY = re.compile(r"\b[Oo]nly (?:a |an |the )?([\w’'-]+)")
_ONLY_LAST = re.compile(r"\bonly[,.;]")
_DATED = re.compile(
    rf"\b([A-Za-z]+) ((?:{MONTH}) \d{{1,2}}\b|\d{{1,2}} (?:{MONTH})\b|(?:{MONTH}) \d{{4}}\b|(?:1[5-9]|20)\d\d\b)"
)
_SPANS = frozenset(("from", "since", "until", "by", "before", "after", "through", "to", "between"))
"""Before a date these say more than when: a start, an end, a limit."""
_OPENING = re.compile(r"((?:in|on|at|near|across|during|within|throughout|from) [^,;:]{2,60}), ", re.I)
"""When or where."""
_PREPOSITIONS = re.compile(rf"(?:{PREPOSITION}|of|about|than|like)\Z")
_OF_EVENTS = re.compile(
    r"(?:\w+(?:[ts]ion|ment|ance|ence|ing|ship)|match|game|race|war|battle|attack|march|rally|vote|visit|trip|tour|show|concert|"
    r"festival|pageant|final|finals|debut|death|birth|murder|killing|fire|flood|storm|crash|raid|strike|riot|protest|contest|"
    r"championship|tournament|cup|season|episode|album|film|single|song|book|novel|report|survey|interview|summit|conference|"
    r"session|term|award|trial|coup|crisis|outbreak|disaster|scandal|split|fall|rise|win|loss|victory|defeat)s?\Z"
)
"""What has a day of its own: "a pageant in August"."""
_OPEN = frozenset(("the", "a", "an", "in", "on", "at", "after", "before", "as", "when", "it", "he", "she", "they"))
_BE = frozenset(("is", "are", "was", "were", "be", "been", "being", "has", "have", "had", "became", "become", "remains"))


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
    faults += [f"it belongs to a noun: {phrase}" for phrase in _torn_off(text, said)]
    faults += [f"joined to something else: {words}" for words in _rejoined(text, said)]
    if name := _for_a_pronoun(text, said):
        faults.append(f"a name stands for a pronoun: {name}")
    if verb := _exchanged(text, said):
        faults.append(f"who does it is exchanged: {verb}")
    return faults


def _torn_off(text: str, said: str) -> list[str]:
    """Phrases that open a sentence of the text and belong to a noun of the facts.

    "In August, the court issued a writ over a pageant" for "the court issued a writ over a pageant in August".
    """
    found = []
    for sentence in split_sentences(text):
        if not (match := _OPENING.match(sentence)):
            continue
        phrase = match[1]
        places = [at.start() for at in re.finditer(rf"\b{re.escape(phrase)}\b", said, re.I)]
        if places and all(_belongs_to_noun(re.split(r"[.;:]\s", said[:at])[-1], phrase) for at in places):
            found.append(phrase)
    return found


def _belongs_to_noun(before: str, phrase: str) -> bool:
    """Whether a phrase says something of the noun before it, and not when or where the verb happened. In doubt it does.

    An object takes the verb's day ("approved the plan in May") but for one that has its own; what stands behind another
    preposition keeps its place, and its day unless it is a name ("sued by Abt in May").
    """
    words = WORD.findall(before)
    if not words or before.rstrip().endswith(("–", "—", ",")):
        return False
    last = words[-1]
    if last.lower() in _BE or _PREPOSITIONS.match(last.lower()):
        return True
    if last.endswith("ly") or is_verb(words, len(words) - 1):
        return False
    verbs = [n for n in range(len(words)) if is_verb(words, n)]
    behind = words[verbs[-1] + 1 :] if verbs else words
    links = [word.lower() for word in behind if _PREPOSITIONS.match(word.lower())]
    dated = bool(re.search(rf"{MONTH}|\d{{4}}", phrase))
    if not dated:
        return bool(links) and links[-1] != "by"
    if not links:
        return False
    return bool(_OF_EVENTS.match(last.lower())) or (last.islower() and links[-1] in ("over", "about", "against", "for", "with"))


def _rejoined(text: str, said: str) -> list[str]:
    """Words whose preposition has another phrase of the facts behind it: "marked by the Doctor" for "marked by the Shreek"."""
    of_fact: dict[tuple[str, str], set[str]] = {}
    # Generous with the facts, whose phrase may be cut short: "on Monday, 18 August", "of more than a million units".
    for word, preposition, behind in _joined(said, breaks=r"[;:.!?]\s"):
        of_fact.setdefault((stem_of(word), preposition), set()).update(terms(" ".join(behind[:9])))
    known = frozenset(terms(said))
    found = []
    for word, preposition, behind in _joined(text, breaks=r"[,;:.!?()–—]\s"):
        end = next((n for n, other in enumerate(behind) if n and _PREPOSITIONS.match(other)), len(behind))
        phrase = " ".join(behind[: min(end, 5)])
        stems = frozenset(stem for stem in terms(phrase) if not stem.isdigit())
        held = of_fact.get((stem_of(word), preposition))
        if held and stems and stems <= known and not stems & held:  # a word of its own may be a synonym
            found.append(f"{word} {preposition} {phrase}")
    return found


def _joined(text: str, breaks: str) -> Iterator[tuple[str, str, list[str]]]:
    """(word, preposition behind it, the words behind that up to a break), in small letters."""
    for part in re.split(breaks, f"{text} "):
        words = [word.lower() for word in WORD.findall(part)]
        for n, word in enumerate(words[1:], 1):
            if _PREPOSITIONS.match(word) and terms(words[n - 1]):
                yield words[n - 1], word, words[n + 1 :]


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
            if n and word.islower() and word not in _BE and terms(word) and "VERB" in getAllLemmas(word):
                ahead, behind = frozenset(terms(" ".join(words[:n]))), frozenset(terms(" ".join(words[n + 1 :])))
                if ahead and behind:
                    found.append((word, ahead, behind))
    return found

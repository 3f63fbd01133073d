"""What a phrase belongs to: the noun before it, the verb, the word that a preposition joins it to.

"In August, the court issued a writ over a pageant" for "a writ over a pageant in August"; "marked by the Doctor" for "marked by
the Shreek". The words are the fact's; what they are joined to is another. Quotations apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from data.sentences import split_sentences
from pipeline.choosing.verbs import has_verb, is_verb, verb_groups
from pipeline.retrieval import terms
from pipeline.writing.checks.compared_words import QUOTED, STATES, WORD, stem_of
from pipeline.writing.steps.sentence_parts import CLAUSE_LINK, DATE, MONTH, PREPOSITION

_OPENED = "opens"
"""Stands for the word that a phrase at the beginning has not before it."""
_OPENING = re.compile(r"((?:in|on|at|near|across|during|within|throughout|from|after|before|since|until) [^,;:]{2,60}), ", re.I)
"""When or where; a clause is no phrase, and looked at elsewhere."""
_PREPOSITIONS = re.compile(rf"(?:{PREPOSITION}|of|about|than|like)\Z")
_OF_EVENTS = re.compile(
    r"(?:\w+(?:[ts]ion|ment|ance|ence|ing|ship)|match|game|race|war|battle|attack|march|rally|vote|visit|trip|tour|show|concert|"
    r"festival|pageant|final|finals|debut|death|birth|murder|killing|fire|flood|storm|crash|raid|strike|riot|protest|contest|"
    r"championship|tournament|cup|season|episode|album|film|single|song|book|novel|report|survey|interview|summit|conference|"
    r"session|release|launch|premiere|arrival|departure|closure|surgery|term|award|trial|coup|crisis|outbreak|disaster|"
    r"scandal|split|fall|rise|win|loss|victory|defeat)s?\Z"
)
"""What has a day of its own: "a pageant in August"."""


def attached_elsewhere(text: str, facts: Sequence[str]) -> list[str]:
    """Faults of a text beside the facts that it says, each in words."""
    said, text = QUOTED.sub(" ", " ".join(facts)), QUOTED.sub(" ", text)
    return [
        *(f"it belongs to a noun: {phrase}" for phrase in _torn_off(text, said)),
        *(f"the date is of something else: {phrase}" for phrase in _put_last(text, said)),
        *(f"joined to something else: {words}" for words in _rejoined(text, said)),
    ]


def moved_phrases(text: str, facts: Sequence[str]) -> tuple[str, ...]:
    """Phrases that stand behind another word of the facts: "released after a week, which shows sales of 3 million" for "which
    shows sales of 3 million after a week".

    What opens a sentence of the facts may go anywhere. A passive moves phrases rightly: this is for a model that makes none.
    """
    said, text = QUOTED.sub(" ", " ".join(facts)), QUOTED.sub(" ", text)
    breaks = r"[,;:.!?()–—]\s"
    of_fact: dict[tuple[str, str], set[str]] = {}
    for word, preposition, behind in _joined(re.sub(r"(?:\A|(?<=[.!?,;:] ))(?=\w)", f"{_OPENED} ", said), breaks):
        of_fact.setdefault((preposition, _head(behind)), set()).add(stem_of(word))
    known = frozenset(terms(said))
    return tuple(
        f"{word} {preposition} {' '.join(behind[:3])}"
        for word, preposition, behind in _joined(text, breaks)
        if (words := of_fact.get((preposition, _head(behind))))
        and preposition != "to"  # of most verbs: "to prevent"
        and stem_of(word) in known - words
        # "ended in 1914 with the war": the year may go elsewhere
        and not any(other == stem_of(_OPENED) or re.fullmatch(r"\d{4}", other) for other in words)
    )


def _torn_off(text: str, said: str) -> list[str]:
    """Phrases that open a sentence of the text and belong to a noun of the facts.

    "In August, the court issued a writ over a pageant" for "the court issued a writ over a pageant in August".
    """
    found = []
    sentences = split_sentences(text)
    for sentence in sentences:
        if not (match := _OPENING.match(sentence)) or has_verb(match[1].split()[1:]):
            continue
        phrase = match[1]
        places = [at.start() for at in re.finditer(rf"\b{re.escape(phrase)}\b", said, re.I)]
        before = [re.split(r"[.;:]\s", said[:at])[-1] for at in places]
        others = " ".join(other for other in sentences if other != sentence)
        if places and all(_belongs_to_noun(one, phrase) or _happened_in(others, sentence, one) for one in before):
            found.append(phrase)
    return found


def _happened_in(others: str, sentence: str, before: str) -> bool:
    """Whether the verb that a phrase followed is in another sentence of the text than the phrase is now."""
    words = WORD.findall(before)
    verb = next((stem_of(words[n].lower()) for n in range(len(words) - 1, -1, -1) if is_verb(words, n)), "")
    return bool(verb) and verb in _stems_of(others) and verb not in _stems_of(sentence)


def _stems_of(text: str) -> frozenset[str]:
    return frozenset(stem_of(word.lower()) for word in WORD.findall(text))


def _belongs_to_noun(before: str, phrase: str) -> bool:
    """Whether a phrase says something of the noun before it, and not when or where the verb happened. In doubt it does.

    An object takes the verb's day ("approved the plan in May") but for one that has its own; what stands behind another
    preposition keeps its place, and its day unless it is a name ("sued by Abt in May").
    """
    words = WORD.findall(before)
    if not words or before.rstrip().endswith(("–", "—", ",")):
        return False
    last = words[-1]
    if last.lower() in STATES or _PREPOSITIONS.match(last.lower()):
        return True
    if last.endswith("ly") or is_verb(words, len(words) - 1):
        return False
    verbs = [n for n in range(len(words)) if is_verb(words, n)]
    behind = words[verbs[-1] + 1 :] if verbs else words
    links = [word.lower() for word in behind if _PREPOSITIONS.match(word.lower())]
    dated = bool(re.search(rf"{MONTH}|\d{{4}}", phrase))
    if not dated:
        return bool(_OF_EVENTS.match(last.lower())) or (bool(links) and links[-1] != "by")
    if not links:
        return False
    return bool(_OF_EVENTS.match(last.lower())) or (last.islower() and links[-1] in ("over", "about", "against", "for", "with"))


def _put_last(text: str, said: str) -> list[str]:
    """Dates that open a sentence of the facts and end one of the text, behind a second verb: "leased the field and used it
    for a meeting in July" for "In July it leased the field and used it for a meeting"."""
    opened = {match[0].lower() for sentence in split_sentences(said) if (match := re.match(DATE, sentence))}
    found = []
    for sentence in split_sentences(text):
        match = re.search(rf"(?<=\s)({DATE})\.\Z", sentence)
        before = sentence[: match.start()] if match else ""
        if match and match[1].lower() in opened and (verb_groups(before) > 1 or re.search(r"\bto [a-z]+ ", before)):
            found.append(match[1])
    return found


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


def _head(words: Sequence[str]) -> str:
    """The first words of a phrase by which it is known again: up to two stems, none of the next clause."""
    end = next((n for n, word in enumerate(words[:4]) if CLAUSE_LINK.fullmatch(word)), 4)
    return " ".join(terms(" ".join(words[:end]))[:2]) or " ".join(words[: min(end, 2)])


def _joined(text: str, breaks: str) -> Iterator[tuple[str, str, list[str]]]:
    """(word, preposition behind it, the words behind that up to a break), in small letters."""
    for part in re.split(breaks, f"{text} "):
        words = [word.lower() for word in WORD.findall(part)]
        for n, word in enumerate(words[1:], 1):
            if _PREPOSITIONS.match(word) and terms(words[n - 1]):
                yield words[n - 1], word, words[n + 1 :]

"""What the steps look for in a sentence: dates, names, links between clauses, and where its subject ends.

There is no parser here. `lemminflect` knows which forms a verb has; where words could be read otherwise, nothing is found.
"""

from __future__ import annotations

import re

from lemminflect import getLemma

from pipeline.choosing.verbs import has_verb, is_verb

MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
DAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
DATE = (
    rf"(?:[Oo]n (?:the (?:morning|afternoon|evening|night) of )?(?:{DAY},? )?(?:the )?(?:\d{{1,2}}(?:st|nd|rd"
    rf"|th)? {MONTH}|{MONTH} \d{{1,2}})(?:,? \d{{4}})?|"
    rf"[Ii]n (?:early |late |mid-)?(?:{MONTH}(?:,? \d{{4}})?|\d{{4}}))"
)
CLAUSE_OR_SPEECH = re.compile(r"\b(?:that|who|which|when|because|if|while|where|although|and|or|but|said|says|told)\b")
OTHER_ORDER = re.compile(r"\b(?:after|before|until|since|following|during|despite|had)\b")
PRONOUN_OR_LINK = re.compile(r"\b(?:he|she|they|his|her|their|it|its|we|our|I|who|which)\b", re.I)
CLAUSE_LINK = re.compile(r"\b(?:that|who|which|whose|when|because|if|while|where|although|though|and|or|but|to)\b")
_TO_A_THING = re.compile(r"\bto (?=(?:the|an?|his|her|its|their|this|these|[A-Z\d]))")
PREPOSITION = (
    r"(?:in|on|at|by|from|to|with|for|as|during|after|before|under|over|through|throughout|across|near|into|against|between|"
    r"among|around|within|since|until|along|behind|despite|following)"
)
PERSON = re.compile(r"(?:He|She|They|It|We|I|You|This|That|These|Those|There)\b")
NAME = r"[A-Z][\w’'-]*(?: (?:(?:of|the|de|von|van|la|al|and|for) )?[A-Z][\w.’'-]*){0,5}"
TIMES = re.compile(r"\b(?:day|week|month|year|morning|evening|night|time|hour|minute|season|summer|winter|spring|autumn)s?\b")
PLAIN = r"[^,;:“”\"]"
"""No comma and no quotation mark: within one clause, and nobody's words."""
PHRASE = r"[\w’'&-]+(?: [\w’'&.-]+)"
BE = r"was|were|is|are|has been|have been|had been"
_IRREGULAR = frozenset((
    "born", "built", "set", "held", "made", "written", "known", "found", "shot", "led", "taken", "given", "seen",
    "told", "sold", "drawn", "chosen", "driven", "set", "hidden", "named",
))  # fmt: skip
_ADVERBS = frozenset((
    "also", "later", "then", "first", "once", "now", "still", "never", "always", "often", "soon", "already",
    "eventually", "again",
))  # fmt: skip
_PLURALS = frozenset(
    ("people", "children", "men", "women", "police", "cattle", "fish", "aircraft", "species", "series", "data")
)


def goes_on(clause: str) -> bool:
    """Whether a clause has a second verb or another clause in it, to which a phrase at its end would belong."""
    return bool(CLAUSE_LINK.search(_TO_A_THING.sub(" ", clause)))


_LATER = re.compile(r"\b(?:later|earlier|ago|afterwards?|before)\b")
""" "Two days later the council": the first words say when."""


def is_subject(phrase: str) -> bool:
    """Whether a phrase can be the subject of a sentence: no pronoun or preposition opens it, and no clause is in it."""
    opens = PERSON.match(phrase) or re.match(rf"{PREPOSITION}\b", phrase, re.I) or _LATER.search(phrase)
    return not opens and not has_verb(phrase.split()) and not CLAUSE_LINK.search(phrase)


def subject_words(clause: str) -> int:
    """How many words the subject of a clause has; 0 where that is not certain."""
    words = clause.split()
    for n in range(1, min(len(words), 8)):
        if words[n - 1].endswith(",") or CLAUSE_LINK.fullmatch(words[n]) or words[n] in ("as", "than", "of", "by"):
            return 0
        # "The memos written by Abt refuted it": the first is no verb of the sentence, but for one with an object.
        has_object = n + 1 < len(words) and words[n + 1] in ("a", "an", "the", "its", "his", "her", "their")
        if is_verb(words, n) and (has_object or not (words[n].endswith("ed") and has_verb(words[n + 1 :][:8]))):
            # "Silkunas gradually made": the adverb belongs to the verb
            return n - 1 if (n > 1 and words[n - 1] in _ADVERBS) or words[n - 1].endswith("ly") else n
    return 0


def is_participle(word: str) -> bool:
    """Whether a word may be a past participle: of a list, or a verb's form in "ed"."""
    if word in _IRREGULAR:
        return True
    return word.endswith("ed") and bool(getLemma(word, upos="VERB")) and len(word) > 4


def is_plural(phrase: str) -> bool:
    """Whether a phrase takes "were", by its head: the last word before "of" or "for"."""
    if re.match(r"(?:an?|another) ", phrase, re.I):
        return False
    head = re.split(r" (?:of|for) ", phrase)[0].split()[-1]
    return head in _PLURALS or (bool(re.search(r"(?<![sui’'])s\Z", head)) and not head[:1].isupper()) or " and " in phrase

"""Steps that move a subordinate clause, or a participle with what belongs to it, to the other side of the main clause."""

from __future__ import annotations

import re

from pipeline.choosing.common_words import is_common
from pipeline.choosing.verbs import has_verb, is_verb, verb_groups
from pipeline.writing.letter_case import capital, small
from pipeline.writing.steps.sentence_parts import (
    CLAUSE_LINK,
    CLAUSE_OR_SPEECH,
    DAY,
    MONTH,
    OTHER_ORDER,
    PERSON,
    PLAIN,
    PREPOSITION,
    PRONOUN_OR_LINK,
    goes_on,
    is_participle,
    subject_words,
)

_CLAUSE_FRONT = re.compile(
    r"(After|Before|When|Because|Although|If|Despite|Following|During) ([^,“\";:]{8,90}), ([^“\";:]+?)\.\Z"
)
_CLAUSE_END = re.compile(
    r"([^,“\";:]{12,120}?),? "
    r"(after|before|because|although|though|while|when|once|until|despite|following|during) ([^,“\";:]{8,90})\.\Z"
)
_OF_WHAT_STANDS_BEFORE = re.compile(r"\b(?:this|that|it|\w+sel(?:f|ves))\b")
""" "Although this is not so": what was said before; "before recording it herself": whoever is named behind it."""
_NOT_IN_FRONT = re.compile(
    r"\b(?:latter|former)\b|\bthat (?:is|was|has|had|would|will|could|might)\b|"
    r"\b(?:and|or|but) (?:then |also )?(?:do|does|did|is|are|was|were|has|have|had|will|can|could|\w+n[’']t)\b"
)
"""What nobody has been told yet, or a second verb of the main clause: "run home after the meal and do not return"."""
_OF_NOUNS = ("despite", "following", "during")
"""Before a noun, never before a clause: a verb behind it is the sentence's own."""
_OF_CLAUSES = ("because", "although", "though", "while", "when", "once")
_FINITE = re.compile(r"\b(?:is|are|was|were|has|have|had|will|would|could|can|may|might|must|should|did|does)\b")
_DONE_TO = re.compile(
    r"\A(?!.*\b(?:is|are|was|were|has|have|had|will|would|did|does)\b).* "
    r"(?:accused|suspected|convicted|charged|arrested|detained|injured|killed|wounded|held|captured|found|seen|taken|used|built|"
    r"known|named|made|given)\b"
)
"""May be a participle behind its noun, and the only verb before the conjunction."""
_OPENING = re.compile(rf"([A-Z][a-z]+) ({PLAIN}{{5,90}}), ([^;:“”\"]+)\.")
_OPENS_SUBJECT = re.compile(r"(?:the|an?|its|his|her|their|many|several|most|some) |[A-Z]")
_INSERTED = re.compile(rf"({PLAIN}{{3,60}}), ([a-z]+) ({PLAIN}{{5,90}}), ([^;:“”\"]+)\.")
_SWAPPED = re.compile(
    rf"(?P<name>[A-Z][\w’'-]+(?: [A-Z][\w’'-]+){{0,2}}) (?P<main>[a-z]{PLAIN}{{8,90}}?) "
    rf"(?P<when>after|before|when|because|although|though|once|until) (?P<who>he|she) (?P<clause>{PLAIN}{{8,90}})\."
)
_PEOPLE = re.compile(r"[A-Z]|\b(?:that|which|who|and|said|says|told|man|woman|father|mother|son|daughter|wife|husband)\b")
_NAMED = re.compile(r"[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)* (?:\([^)]*\) )?[a-z]")
_HOW_LONG = re.compile(r"\b(?:shortly|soon|days?|hours?|years?|weeks?|minutes?|months?|just|even|only|not|long|time)\Z")


_MORE_THAN_IT = re.compile(
    r"\A(?:[Tt]he )?\d|\b(?:elsewhere|than|many more|them|there|thereafter|then|th[eo]se|this|such|despite)\b|"
    r"\A[Tt]he (?:country|nation|city|town|state|company|family)\b"
)
"""What needs the clause before it: "the country", "fighting erupted elsewhere"."""


def clause_to_end(text: str) -> str | None:
    """ "After the levee broke, water filled the town." -> "Water filled the town after the levee broke." """
    match = _CLAUSE_FRONT.fullmatch(text)
    if not match or _OF_WHAT_STANDS_BEFORE.search(match[2]) or text.endswith(".."):
        return None
    # It would limit another thing: "the meeting attended by all", "as a result of the war".
    if re.search(
        r"(?<!was )(?<!were )(?<!been )(?<!is )(?<!are )(?<!be )\b\w+ed by\b|\b(?:as a result|because|due)\b", match[3]
    ):
        return None
    if match[1] == "Although" and not _FINITE.search(match[2]) and not has_verb(match[2].split()):
        return None
    if match[1] == "Before" and re.search(r"\b(?:not|never|no)\b|n[’']t\b", match[3]):
        return None
    if _MORE_THAN_IT.search(match[3]) or re.search(r" (?:For|In|On|At|The|From|During) ", match[2]):  # a heading ran in
        return None
    # Behind a second verb, or a clause, it would belong to that: "X told Y that it was loaded during a session".
    if "," in match[3] or goes_on(match[3]) or re.search(r"\b(?:until|before|after|when)\b|\b(?:as well|too)\Z", match[3]):
        return None
    # A pronoun in the main clause means somebody of the clause before it: turned round, it would come first. Not so where that
    # names nobody, and the main clause begins with a name.
    own = _NAMED.match(match[3]) and not _PEOPLE.search(match[2]) and not re.search(r"\b(?:who|which)\b", match[3])
    if PRONOUN_OR_LINK.search(match[3]) and not (own and verb_groups(match[3]) == 1):
        return None
    comma = "," if match[1] == "Although" else ""
    return f"{capital(match[3])}{comma} {match[1].lower()} {match[2]}."


def clause_to_front(text: str) -> str | None:
    """ "Water filled the town after the levee broke." -> "After the levee broke, water filled the town." """
    match = _CLAUSE_END.fullmatch(text)
    if (
        not match
        or PRONOUN_OR_LINK.search(match[3])
        or CLAUSE_OR_SPEECH.search(match[1])
        or OTHER_ORDER.search(match[1])
        or not has_verb(match[1].split())
        or _NOT_IN_FRONT.search(match[3])
        or re.search(r", (?:before|while) ", text)  # what came next, or beside it
        or re.match(r"(?:again|and|or)\b", match[3])  # "once again", "before and after"
        or (match[2] in _OF_CLAUSES and not has_verb(match[3].split()))
        or re.search(r"\b(?:than|these|those|this|such)\b", match[3])
        or re.match(r"(?:that|it)\b", match[3])
        or (match[2] == "until" and not re.search(r"\b(?:continu|remain|stay|last|kept|lived|served|held)", match[1]))
        or (match[2] == "during" and re.search(r"\bto [a-z]+ ", match[3]))
        or re.search(r"\A(?:But|And|Or|So|Yet|Then|Still)\b|\b(?:how|why|whether|not long)\b", match[1])
        or re.search(r"\b(?:when|while|because|after|before)\b|\band \w+ed\b", match[3])  # one more clause, or deed
        or (match[2] in _OF_NOUNS and re.search(r"\b(?:that|which|who)\b", match[3]))
        or (match[2] == "when" and re.search(rf"(?:{MONTH}|{DAY}|\d)\Z", match[1]))  # "in May, when": on that date
        or re.search(r"\b(?:only|just|even|merely)\b", match[1])  # "is only possible because"
        # "The trial of men arrested during the strike has been adjourned": what stands in front has no verb of its own
        or (_FINITE.search(match[3]) and (match[2] in _OF_NOUNS or _DONE_TO.search(match[1])))
        # "to fill the void after the closing", "her first film after a career": it belongs to the noun
        or (
            not has_verb(match[3].split())
            and re.search(r"\bto [a-z]+ |\b(?:is|was|are|were) (?:an?|the|[\w’']+['’]s) ", match[1])
        )
        or re.search(r"\b(?:is|was|are|were) to [a-z]+ ", match[1])  # "the goal is to finish before ..."
        or (" with " in match[3] or " " not in match[3])  # "after the race with ..."; "after death": whose?
        or re.search(
            r"\b(?:precisely|exactly|largely|partly|simply|mainly|said|told|that|shortly|soon|days?|hours?|years?|weeks?|minutes?|months?|just|even|only|not|and|or|as|times?|moments?|"
            r"nights?|points?|particularly|especially|notably|mostly|mainly|usually|perhaps|except|is|was|were|are|until|since|from|of|on|at|in)\Z",
            match[1],
        )
    ):
        return None
    return f"{match[2].capitalize()} {match[3]}, {small(match[1])}."


def name_behind(text: str) -> str | None:
    """ "Howard left the town after he sold the house." -> "After Howard sold the house, he left the town." """
    match = _SWAPPED.fullmatch(text)
    if not match or not is_verb(f"x {match['main']}".split(), 1) or PERSON.match(match["name"]) or is_common(match["name"]):
        return None
    # Another name, or a second person, and the pronoun could be theirs.
    if _PEOPLE.search(match["main"]) or _HOW_LONG.search(match["main"]) or re.search(r"\d\Z", match["main"]):
        return None
    if re.search(r"\b(?:they|them|their|it)\b|[–—]|\band (?:it|he|she|the)\b", text) or is_common(
        match["name"].split()[0].lower()
    ):
        return None
    return f"{capital(match['when'])} {match['name']} {match['clause']}, {match['who']} {match['main']}."


def participle_inside(text: str) -> str | None:
    """ "Directed by Ana Ruiz, the film opens in June." -> "The film, directed by Ana Ruiz, opens in June." """
    match = _OPENING.fullmatch(text)
    if not match or not is_participle(match[1].lower()) or has_verb(match[2].split()) or PERSON.match(capital(match[3])):
        return None
    if re.search(r"\b(?:believe[ds]?|thought|thinks?|felt|knew|knows?|argue[ds]?|hope[ds]?|claim(?:s|ed))\b", match[3]):
        return None  # what comes behind is somebody else's clause
    n = subject_words(match[3])
    words = match[3].split()
    if re.search(rf"\b{PREPOSITION} |[’']s ", " ".join(words[:n])):  # behind "Ghana in 1957" it would be Ghana's
        return None
    if not n or not re.match(PREPOSITION, match[2]) or not _OPENS_SUBJECT.match(match[3]):
        return None
    return f"{capital(' '.join(words[:n]))}, {match[1].lower()} {match[2]}, {' '.join(words[n:])}."


def participle_first(text: str) -> str | None:
    """ "The film, directed by Ana Ruiz, opens in June." -> "Directed by Ana Ruiz, the film opens in June." """
    match = _INSERTED.fullmatch(text)
    if not match or not is_participle(match[2]) or not re.match(PREPOSITION, match[3]) or has_verb(match[3].split()):
        return None
    if has_verb(match[1].split()) or CLAUSE_LINK.search(match[1]) or not is_verb(f"x {match[4]}".split(), 1):
        return None
    if PERSON.match(match[1]) or re.search(r",|[’']s\Z|ing\Z|\AIn fact\b", match[1]):  # "In fact, the guard, headed by ..."
        return None
    subject = small(match[1]) if " " in match[1] else match[1]  # "Gamma, founded by": a lone word is a name
    return f"{capital(match[2])} {match[3]}, {subject} {match[4]}."

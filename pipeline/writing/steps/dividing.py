"""One sentence as two, or without its last clause; and whether two stand in one with only a comma between them."""

from __future__ import annotations

import re

from lemminflect import getAllLemmas

from pipeline.choosing.common_words import is_common
from pipeline.choosing.verbs import has_main_verb, has_verb, is_verb
from pipeline.writing.letter_case import capital
from pipeline.writing.steps.sentence_parts import (
    BE,
    NAME,
    PLAIN,
    PREPOSITION,
    PRONOUN_OR_LINK,
    is_plural,
    is_subject,
    subject_words,
)

LONG, SHORTEST = 22, 9
"""Words from which a fact may be shortened, and words that must be left of it."""
_TWO = re.compile(
    r"([^“”\";:]{25,}?), (?P<link>and|but) (?P<rest>(?:the|an?|its|their|it|they|he|she|at least|about|more than|another"
    r"|\d[\d,]*) [^“”\";:]{15,})\.\Z",
    re.I,
)
_LAST_CLAUSE = re.compile(
    rf"(?=(?:\S+ ){{{LONG},}})([^“”\"]+?)(?:, (?:before|when|while|as|which|who|where|with|including|leaving|making|causing|"
    r"in which)|,? (?:after|because|although|though|despite|following|"
    r"(?:\w+|a) (?:days?|weeks?|months?|years?|hours?) (?:after|before))) [^“”\",;]+\."
)
_DEPENDENT_OPENING = re.compile(
    r"(?:After|Before|When|While|Because|Although|Though|As|Since|If|Despite|Following|During|According|In|On|At|By|With|Under|For|"
    r"Once|Until|Where|Unlike|Like|Among|From|To|Between|Upon|Within|Over|Through|Throughout|[A-Z]\w+ing|[A-Z]\w+ed|Led|Set|Built|"
    r"Held|Known|Born|Written|Made|The (?:first|last|next) time)\b"
)
_OF_BOTH = re.compile(
    r"(?:\w+ally|However|Still|Yet|Usually|Normally|For|Under|During|In|At|With|By|Within|Between|Throughout)\b[^,]*, |"
    r"(?i:(?:even )?(?:after|before|when|while|because|although|though|as|since|if|once|until|unless|where)\b|according to\b)"
)
"""A phrase, a clause or a source in front that holds for both halves of what follows."""
_CLAUSE_BEHIND_COMMA = re.compile(
    r", ((?:the|it|he|she|they|this|these|there|his|her|their|its|many|some|several|most) [^,;]+)(?=[,;.]|\Z)"
)
_SUPERLATIVE = re.compile(
    r"([^;:“\"]{25,}?), (the (?:\w+ )?(?:highest|largest|biggest|deadliest|worst|lowest|longest)\b(?! of wh)[^,;“\"]+)\.\Z"
)
_RELATIVE = re.compile(r"((?:The|A|An) [^,;:“\"]{3,60}), which (was|had|has|is) ([^,;:“\"]{6,90}), ([^;:“\"]{10,})\.\Z")
_WHICH = re.compile(
    rf"([^;:“”\"]{{10,}}? (?:{PREPOSITION}|of|[a-z]+ed|is|was|were) )"
    rf"(?P<what>(?:the|an?|its|his|her|their) (?:[a-z][a-z-]+ ){{0,3}}(?P<noun>[a-z][a-z-]+)|(?:the )?{NAME}), which "
    rf"(?P<did>(?:(?:{BE}) (?:\w+ly )?\w+(?:ed|en|wn|ld|lt)|has|had|took place|opened|began)\b{PLAIN}{{10,}})\."
)
_OF_A_PLAN = re.compile(
    r"(?:was|were|had been) (?:\w+ly )?(?:thwarted|foiled|opposed|rejected|approved|passed|vetoed|defeated|critici[sz]ed|"
    r"condemned|supported|accepted|denied|ignored)\b"
)
"""Is said of what was planned or asked for, not of the thing that the sentence names last."""
_WHO = re.compile(
    rf"([^;:“”\"]{{20,}}? (?:[a-z]+ ))(?P<name>[A-Z][\w’'-]+(?: [A-Z][\w.’'-]+){{1,2}}), who "
    rf"(?P<did>(?:was|is|has|had|[a-z]+ed)\b{PLAIN}{{10,}})\."
)
_NO_SURNAME = re.compile(
    r"\b(?:King|Queen|Emperor|Empress|Prince|Princess|Pope|Saint|St|Sir|Lord|Lady|Duke|Ibn|ibn|bin|al|Al|de|van|von|The|Doctor)\b"
)
"""A name with one of these has no surname as its last word: "King Edward", "Ibn Sina"."""
_SEMICOLON = re.compile(r"([^;“”\"]{25,}); (?:and |but )?(?!however|therefore|thus|instead)([^;“”\"]{15,})\.")
_CONTRAST = re.compile(r"([^;:“”\"]{25,}), (?:while|whereas) ((?:the|an?|its|their|[A-Z])[^;:“”\"]{15,})\.")
_INCLUDING = re.compile(rf"({PLAIN}{{20,}}), including ([^;:“”\"]{{8,}})\.")
_COUNTED = re.compile(
    r"(?:(?:Dozens|Hundreds|Thousands|Scores) of|Several|Many|Some|Two|Three|Four|Five|Six|\d+|Dozens|Hundreds) "
)
_DEEDS = re.compile(
    r"([A-Z][^;:“”\"]{25,}?),? and (?:also )?("
    r"(?:was|were|is|has|had|became|won|began|took|made|went|came|left|led|held|set|sold|wrote|said|"
    r"[a-z]+ed (?:the|an?|its|his|her|their|in|on|at|to|by|from|with|[A-Z\d])[\w’'-]*)\b[^;:“”\"]{12,})\."
)


def divided(fact: str) -> tuple[str, ...]:
    """The two halves of a long sentence, where each says something on its own; the sentence itself otherwise."""
    match = _TWO.fullmatch(fact)
    if (
        not match
        or match["link"].lower() == "but"
        or PRONOUN_OR_LINK.match(match["rest"])
        or len(match[1].split()) < 7
        or len(match["rest"].split()) < 7
    ):
        return (fact,)
    if not has_verb(match[1].split()) or not has_verb(match["rest"].split()[:6]) or is_spliced(f"{match[1]}."):
        return (fact,)
    if re.search(r"\b(?:between|both|said|that|who|which|if|when|because|either|not only)\b", match[1]):
        return (fact,)
    return f"{match[1]}.", f"{capital(match['rest'])}."


_HALF = re.compile(
    r"\b(?:is|was|are|were|be|been|has|have|had|do|does|did|of|to|in|on|at|by|for|with|and|or|but|than|not|as)\Z"
)
""" "The reason that everybody speaks of it is" waits for its clause."""


def shortened(fact: str) -> tuple[str, ...]:
    """A long sentence without its last clause, where the rest says something on its own; else nothing.

    Clauses that limit the statement ("unless", "if", "except") stay.
    """
    match = _LAST_CLAUSE.fullmatch(fact)
    if match and _HALF.search(match[1]):
        return ()
    if not match or len(match[1].split()) < SHORTEST or not has_verb(match[1].split()) or is_spliced(f"{match[1]}."):
        return ()
    return (f"{match[1]}.",)


def is_spliced(sentence: str) -> bool:
    """Whether two main clauses are beside each other with only a comma between them."""
    if _DEPENDENT_OPENING.match(sentence):
        return False
    for match in _CLAUSE_BEHIND_COMMA.finditer(sentence):
        before = sentence[: match.start()].split()
        if len(before) >= 4 and has_verb(before) and has_verb(match[1].split()[1:]):
            return True
    return False


def halved(text: str) -> str | None:
    """ "The town raised the levee, and the province paid for it." -> two sentences."""
    match = _TWO.fullmatch(text)
    if not match or re.search(r"\b(?:between|both|that|(?:daughter|son|child) of)\b", match[1]):
        return None
    if _OF_BOTH.match(match[1]) or ("," in match[1] and not has_verb(match[1].rsplit(",", 1)[1].split())):
        return None  # the opening holds for both; or the last of a list is what "and" adds
    if re.search(
        r"(?<!was )(?<!were )(?<!is )(?<!are )(?<!had )(?<!has )(?<!have )\b(?:never|not|newly|long|ever) \w+ed\b",
        " ".join(match["rest"].split()[:8]),
    ):
        return None  # "and the only one never elected": no verb
    if re.match(r"[^,]*, [^,]+, [^,]+\Z", match[1]) and _DEPENDENT_OPENING.match(match[1]):
        return None  # "In the game, votes were sold, seats were bought, and ...": three clauses
    if not has_verb(match[1].split()) or not has_verb(match["rest"].split()[:6]) or is_spliced(f"{match[1]}."):
        return None  # "X fell, Y broke, and Z sank": the first two would be left with a comma
    rest = f"However, {match['rest']}" if match["link"].lower() == "but" else capital(match["rest"])
    return f"{match[1]}. {rest}."


def apposition(text: str) -> str | None:
    """ "S, the highest level since 1904." -> two sentences."""
    match = _SUPERLATIVE.fullmatch(text)
    if not match or re.search(r"\b(?:is|are|has|have)\b", match[1]):  # what is so now
        return None
    if re.search(r"\b(?:vote|voted|say|said)\Z", match[1]):
        return None
    if re.search(r"\b(?:and|that|who|player|man|woman|person|leader|scorer|driver)\b", match[2].split(" of ")[0]):
        return None  # "It" is nobody; or the noun stands before the comma
    return f"{match[1]}. It was {match[2]}."


def relative(text: str) -> str | None:
    """ "The bridge, which was built in 1904, fell." -> "The bridge fell. It was built in 1904." """
    match = _RELATIVE.fullmatch(text)
    if not match or not is_verb(f"x {match[4]}".split(), 1) or has_verb(match[1].split()) or "," in match[4]:
        return None  # a list that goes on, not the end of the clause
    if re.match(r"(?!was\b|has\b)\S+s ", match[4]) and match[2] in ("was", "had"):
        return None  # what was so then, and what is now
    if re.search(r"\bthat (?:the|an?|it|he|she|they)\b", match[4]):
        return None
    if is_plural(match[1]) or match[1].endswith("s") or len(match[4].split()) > 18:  # "It" would be far from it
        return None
    return f"{match[1]} {match[4]}. It {match[2]} {match[3]}."


def which_apart(text: str) -> str | None:
    """ "... with the cup, which took place in May." -> "... with the cup. The cup took place in May." """
    match = _WHICH.fullmatch(text)
    if not match or not has_verb(match[1].split()):
        return None
    if not match["noun"] and re.search(r" and |[’']s?\b", match["what"]):
        return None
    # "patriotism in the country, which was reflected": not the country
    governed = re.search(r"\b(?:of|in|from|to|into|around) \Z", match[1]) and re.match(
        r"(?:the|its|their|his|her) |[a-z]", match["what"]
    )
    if governed or re.match(r"(?:is|are|was|were) (?:known as|called|identified|described|defined)\b", match["did"]):
        return None
    if re.match(r"(?:was|were|had been) ", match["did"]) and re.search(
        r"\b(?:allow|request|ask|permit|order|propose|agree|decide)\w* ", match[1]
    ):
        return None  # what was asked for, not the thing
    if _OF_A_PLAN.match(match["did"]) or re.match(r"(?:It|This|That)\b", match[1]):
        return None
    said = f"The {match['noun']}" if match["noun"] else capital(match["what"])
    if not match["noun"] and (match[1].endswith(" by ") or match[1].split()[-2][:1].isupper()):
        return None  # "in a book by Jon Abt, which": the book; "Here for It All": a name goes on
    if match["noun"] and ("NOUN" not in getAllLemmas(match["noun"]) or "ADV" in getAllLemmas(match["noun"])):
        return None
    if re.match(r"(?:were|are)\b", match["did"]) and not is_plural(match["what"]):
        return None
    if re.match(r"(?:was|is|has)\b", match["did"]) and is_plural(match["what"]):
        return None
    return f"{match[1]}{match['what']}. {said} {match['did']}."


def who_apart(text: str) -> str | None:
    """ "... beat Ana Ruiz, who had won before." -> "... beat Ana Ruiz. Ruiz had won before." """
    match = _WHO.fullmatch(text)
    if not match or not has_verb(match[1].split()):
        return None
    # "the Osmere Communists, who", "ties to Osmere, who viewed themselves"
    if match[1].endswith(" the ") or re.search(r"\b(?:themselves|their|they)\b", match["did"]):
        return None
    first, *_, last = match["name"].split()
    # "of the Ruiz and Abt families, who"; "a ferry to Trinidad Bay, who"; no surname
    if re.search(r"\b(?:and|or|from|in|at|near) \Z", match[1]) or text.count(last) > 1 or re.fullmatch(r"[IVXL]+", last):
        return None
    if _NO_SURNAME.search(match["name"]) or is_common(first.lower()) or is_common(last.lower()):
        return None
    return f"{match[1]}{match['name']}. {last} {match['did']}." if len(last) > 2 and last.isalpha() else None


def semicolon(text: str) -> str | None:
    """ "The walls are of stone; the interior has four benches." -> two sentences."""
    match = _SEMICOLON.fullmatch(text)
    if not match or not has_main_verb(match[1]) or not has_main_verb(match[2]) or not has_verb(match[2].split()[:8]):
        return None
    if not re.match(r"(?:the|an?|it|he|she|they|its|his|her|their|this|there|[A-Z])\b", match[2]):
        return None
    return f"{match[1]}. {capital(match[2])}."


def contrast(text: str) -> str | None:
    """ "The workers are dark brown, while the lighter ones are young." -> two sentences."""
    match = _CONTRAST.fullmatch(text)
    if not match or not has_verb(match[1].split()) or not has_verb(match[2].split()[:8]):
        return None
    if re.search(r"\b(?:that|which|who|said|says)\b", match[1]):  # the contrast may be within what was said
        return None
    if _OF_BOTH.match(match[1]) or is_spliced(f"{match[1]}."):
        return None
    if re.search(r"\b(?:expected|hoped|thought|believed|wanted)\b|[–—]", match[1]) or re.search(
        r"\bbecause\b|, \w+ing\b", match[2]
    ):
        return None
    return f"{match[1]}. {capital(match[2])}."


def including(text: str) -> str | None:
    """ "Dozens of roads were closed, including two in the town." -> "... closed. They included two in the town." """
    match = _INCLUDING.fullmatch(text)
    if not match or not _COUNTED.match(match[1]):
        return None
    if not re.search(r"\b(?:was|were|had been|have been) [a-z]+(?:ed|en|t|n)\Z", match[1]):
        return None
    return f"{match[1]}. They included {match[2]}."


def two_deeds(text: str) -> str | None:
    """ "The council approved the plan in May and rejected it in June." -> "... in May. The council rejected it in June." """
    match = _DEEDS.fullmatch(text)
    if not match or len(text.split()) < 16 or text.count(" and ") > 1:
        return None
    n = subject_words(match[1])
    words = match[1].split()
    subject = " ".join(words[:n])
    if not n or not is_subject(subject) or re.search(r"\b(?:that|which|who|so|to|between|both|said|if|when)\b", match[1]):
        return None
    if re.search(r"\b(?:because|but|citing|while|since|as)\b", match[1]) or ("," in match[1] and ", and" in text):
        return None  # the second deed may be the clause's; or the last of three
    if (is_plural(subject) and re.search(r"\bits\b", match[2])) or re.search(r", (?:an?|the) [^,]+\Z", match[2]):
        return None  # "its" is somebody else's; what both deeds were
    if re.search(r"\b(?:era|period|century|centuries)\b", match[1]):
        return None  # when both were done
    if (
        words[n + 1 : n + 2] == ["by"]
        or re.search(r"[’'](?:s\b|\Z)", subject)
        or re.search(r"\b(?:they|she|he|her|him|them)\b", match[2])
    ):
        return None  # "The plan proposed by ..."; "they" would be others
    if re.search(r"\w{3}ed\Z", match[1]):  # "praised and honoured the town": one object for both
        return None
    # "was sorted and stored": the second is a participle, which needs the first's auxiliary
    if re.match(r"[a-z]+ed\b", match[2]) and re.search(r"\b(?:was|were|is|are|been|be|has|have|had)\b", " ".join(words[n:])):
        return None
    if not re.fullmatch(rf"The (?:[a-z-]+ ){{0,2}}[a-z-]+|{NAME}", subject) or is_common(subject):
        return None
    return f"{match[1]}. {subject} {match[2]}."

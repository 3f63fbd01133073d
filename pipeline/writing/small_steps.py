"""Rewording by rule: steps so small that the meaning cannot change. A date goes to the front, a clause to the other end.

What a language model could not put into other words without a fault is offered in these forms; `pipeline.writing.rewording`
compares them with their facts like everything else. English only: a sentence that no rule fits has no form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from pipeline.choosing.gate import has_verb
from pipeline.writing import clause_steps
from pipeline.writing.letter_case import capital, low, small
from pipeline.writing.masking import Masked

_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_DATE = (
    rf"(?:[Oo]n (?:the (?:morning|afternoon|evening|night) of )?(?:{_DAY},? )?(?:the )?(?:\d{{1,2}}(?:st|nd|rd"
    rf"|th)? {_MONTH}|{_MONTH} \d{{1,2}})(?:,? \d{{4}})?|"
    rf"[Ii]n (?:early |late |mid-)?(?:{_MONTH}(?:,? \d{{4}})?|\d{{4}}))"
)
_OTHER_DATE = re.compile(rf"\b(?:{_MONTH}|{_DAY}|\d{{4}}|then|later|since|after|before|until)\b")
_FRONT_DATE = re.compile(rf"({_DATE}),? (?=[A-Z\w])(.+?)([.!])\Z")
_END_DATE = re.compile(rf"(.+?),? ({_DATE})([.!])\Z")
_INNER_DATE = re.compile(rf"((?:The |An? )?[A-Z][^,;:“\"]{{2,60}}?(?: was| were)? \w+ed) ({_DATE}) ([^,;:“\"]+?)([.!])\Z")
_MIDDLE_DATE = re.compile(
    rf"([^,;:“\"]{{12,90}}?)(?: at (\d{{1,2}}[:.]\d{{2}}(?: ?[ap]\.?m\.?)?))? ({_DATE})( [^,;:“\"]{{4,80}}?)?([.!])\Z"
)
_SUBORDINATE = re.compile(r"\b(?:that|who|which|when|because|if|while|where|although|and|or|but|said|says|told)\b")
_OTHER_ORDER = re.compile(r"\b(?:after|before|until|since|following|during|despite|had)\b")
_SUPERLATIVE = re.compile(
    r"([^;:“\"]{25,}?), (the (?:\w+ )?(?:highest|largest|biggest|deadliest|worst|first|second|third|lowest|longest"
    r"|only|most)\b[^,;“\"]+)\.\Z"
)
_RELATIVE = re.compile(r"((?:The|A|An) [^,;:“\"]{3,60}), which (was|had|has|is) ([^,;:“\"]{6,90}), ([^;:“\"]{10,})\.\Z")
_CLAUSE_FRONT = re.compile(
    r"(After|Before|When|While|Because|Although|As|Since|If|Despite|Following|During) ([^,“\";:]{8,90}), ([^“\";:]+?)\.\Z"
)
_CLAUSE_END = re.compile(
    r"([^,“\";:]{12,120}?),? "
    r"(after|before|because|although|though|while|when|once|until|despite|following|during) ([^,“\";:]{8,90})\.\Z"
)
_SAID_END = re.compile(r"([^“”\"]{15,}), ([^“”\",]{3,60}?) (?:said|says|told reporters)(?: in a statement)?\.\Z")
_SAID_FRONT = re.compile(
    r"([A-Z][^“”\",]{2,60}?) (?:said|says)(?: in a statement)?(?: that)? "
    r"(?!that\b|\w+ that\b|(?:un)?to\b|in\b|on\b|at\b|by\b|with\b|of\b|from\b|for\b)((?:the|an?|its|\w+) [^“”\"]{12,})\.\Z"
)
_ACCORDING_END = re.compile(r"([^“”\"]{15,}?),? according to (?!its\b|his\b|her\b|their\b)([^“”\",]{3,80})\.\Z")
_ACCORDING_FRONT = re.compile(r"According to ([^“”\",]{3,80}), ([^“”\"]{15,})\.\Z")
_AGED = re.compile(r"(?<![\w.])([A-Z][\w’'-]+(?: [A-Z][\w’'-]+){1,2}), (?:aged )?(\d{1,2}),")
_TWO = re.compile(
    r"([^“”\";:]{25,}?), (?:and|but) ((?:the|an?|its|their|it|they|he|she|at least|about|more than|another"
    r"|\d[\d,]*) [^“”\";:]{15,})\.\Z",
    re.I,
)
_DID = (
    r"(?:approved|announced|opened|closed|adopted|launched|established|founded|created|designed|directed|produced|released|"
    r"published|unveiled|rejected|accepted|introduced|signed|issued|imposed|passed|ordered|appointed|elected|nominated|"
    r"replaced|destroyed|damaged|killed|injured|arrested|rescued|evacuated|defeated|recorded|reported|received|awarded|"
    r"organi[sz]ed|hosted|completed|developed|discovered|described|attended|supported|opposed|criticised|criticized|praised|"
    r"flooded|repaired|restored|acquired|purchased|operated|owned|composed|performed|painted|edited|translated|deployed|"
    r"displaced|seized|suspended|cancelled|canceled|postponed|declared|proposed|promised|granted|offered|filed)"
)
_WHEN = rf"(?P<when>{_DATE})"
_ACTIVE = re.compile(
    rf"(?P<who>(?:The |An? )?[A-Z][^,;:“”\"]{{2,60}}?) (?P<did>{_DID}) "
    r"(?P<what>(?:an?|another|two|three|four|five|six|seven|eight|nine|ten|several|many|\d[\d,.]*) [^,;:“”\"]{3,90}?)"
    rf"(?: {_WHEN})?\."
)
_PASSIVE = re.compile(
    rf"(?P<what>(?:The |An? )?[A-Z][^,;:“”\"]{{2,60}}?) (?:was|were) (?P<did>{_DID}) by "
    rf"(?P<who>(?:the |an? )?[A-Z\w][^,;:“”\"]{{2,60}}?)(?P<when> {_DATE})?\."
)
_PLACE_FRONT = re.compile(r"((?:In|At|Near|Across|Under|Along|Throughout) [^,;:“”\"]{3,40}), ([^,;:“”\"]{15,110})\.")
_TITLED = re.compile(r"([A-Z][\w’'-]+(?: [A-Z][\w.’'-]*){1,3}), ((?:the )?[a-z][^,;:“”\"]{5,60}), ([^;:]{8,})")
LONG, SHORTEST = 22, 9
"""Words from which a fact may be shortened, and words that must be left of it."""
_LAST_CLAUSE = re.compile(
    rf"(?=(?:\S+ ){{{LONG},}})([^“”\"]+?)(?:, (?:before|when|while|as|which|who|where|with|including|leaving|making|causing|"
    r"in which)|,? (?:after|because|although|though|despite|following|"
    r"(?:\w+|a) (?:days?|weeks?|months?|years?|hours?) (?:after|before))) [^“”\",;]+\."
)
_DEPENDENT_OPENING = re.compile(
    r"(?:After|Before|When|While|Because|Although|Though|As|Since|If|Despite|Following|During|According|In|On|At|By|With|Under|For|"
    r"Once|Until|Where|Unlike|Like|Among|From|To|Between|Upon|Within|Over|Through|Throughout|[A-Z]\w+ing|[A-Z]\w+ed|Led|Set|Built|"
    r"Held|Known|Born|Written|Made)\b"
)
_CLAUSE_BEHIND_COMMA = re.compile(
    r", ((?:the|it|he|she|they|this|these|there|his|her|their|its|many|some|several|most) [^,;]+)(?=[,;.]|\Z)"
)
_SPEAKER_LINKS = re.compile(r"\b(?:he|she|they|his|her|their|it|its|we|our|I|who|which)\b", re.I)

MOST_ORDERS = 6


def orders(fact: str) -> tuple[str, ...]:
    """The fact, then the same in other orders; without repeats, at most `MOST_ORDERS` in all."""
    masked = Masked.of(fact)
    found: dict[str, None] = {masked.text: None}
    for text in _stepped(masked.text):
        found.setdefault(text)
    for text in tuple(found)[1:]:
        for changed in _stepped(text, _STEPS_AGAIN):
            found.setdefault(changed)
    return (fact, *(masked.restore(text) for text in tuple(found)[1:MOST_ORDERS]))


def _stepped(text: str, steps: Sequence[Callable[[str], str | None]] | None = None) -> Iterator[str]:
    for step in steps or _STEPS:
        if (changed := step(text)) and changed != text:
            yield changed


def divided(fact: str) -> tuple[str, ...]:
    """The two halves of a long sentence, where each says something on its own; the sentence itself otherwise."""
    match = _TWO.fullmatch(fact)
    if not match or _SPEAKER_LINKS.match(match[2]) or len(match[1].split()) < 7 or len(match[2].split()) < 7:
        return (fact,)
    if not has_verb(match[1].split()) or not has_verb(match[2].split()[:6]) or is_spliced(f"{match[1]}."):
        return (fact,)
    if re.search(r"\b(?:between|both|said|that|who|which|if|when|because|either|not only)\b", match[1]):
        return (fact,)
    return f"{match[1]}.", f"{capital(match[2])}."


def shortened(fact: str) -> tuple[str, ...]:
    """A long sentence without its last clause, where the rest says something on its own; else nothing.

    Clauses that limit the statement ("unless", "if", "except") stay.
    """
    match = _LAST_CLAUSE.fullmatch(fact)
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


def _front_date(text: str) -> str | None:
    match = _END_DATE.fullmatch(text)
    # "between 2019 and in 2020", "on 3 May and on 4 May": a date that belongs to another one stays where it is
    if (
        not match
        or _OTHER_DATE.search(match[1])
        or re.search(r"(?:\band|\bor|\bto|\bfrom|,)\Z", match[1])
        or "," in match[1][-25:]
        or _SUBORDINATE.search(match[1])  # the date may belong to the clause
    ):
        return None
    return f"{capital(match[2])}, {small(match[1])}{match[3]}"


def _middle_date(text: str) -> str | None:
    """A date behind the main verb, with more behind it: "The levee broke at 01:15 on 13 March over 120 metres." """
    match = _MIDDLE_DATE.fullmatch(text)
    if not match or _OTHER_DATE.search(match[1]) or _OTHER_DATE.search(match[4] or "") or _SUBORDINATE.search(match[1]):
        return None
    if not re.search(
        r"\b(?:\w+ed|was|were|had|began|broke|rose|fell|took|won|went|came|led|held|left|made|met|sent|struck)\b", match[1]
    ):
        return None
    clock = f" at {match[2]}" if match[2] else ""
    return f"{capital(match[3])}{clock}, {small(match[1])}{match[4] or ''}{match[5]}"


def _apposition(text: str) -> str | None:
    """ "S, the highest level since 1904." -> two sentences."""
    match = _SUPERLATIVE.fullmatch(text)
    return f"{match[1]}. It was {match[2]}." if match else None


def _relative(text: str) -> str | None:
    """ "The bridge, which was built in 1904, fell." -> "The bridge fell. It was built in 1904." """
    match = _RELATIVE.fullmatch(text)
    if not match:
        return None
    return f"{match[1]} {match[4]}. It {match[2]} {match[3]}."


def _end_date(text: str) -> str | None:
    match = _FRONT_DATE.fullmatch(text)
    if not match or _OTHER_DATE.search(match[2]) or re.search(r"[,;:“\"]", match[2]) or len(match[2].split()) > 22:
        return None
    return f"{capital(match[2])} {low(match[1])}{match[3]}"


def _inner_date(text: str) -> str | None:
    match = _INNER_DATE.fullmatch(text)
    return f"{capital(match[2])}, {small(match[1])} {match[3]}{match[4]}" if match else None


def _clause_to_end(text: str) -> str | None:
    match = _CLAUSE_FRONT.fullmatch(text)
    # a pronoun in the main clause means somebody of the clause before it: turned round, it would come first
    if not match or _SPEAKER_LINKS.search(match[3]) or "," in match[3]:
        return None
    return f"{capital(match[3])} {match[1].lower()} {match[2]}."


def _clause_to_front(text: str) -> str | None:
    match = _CLAUSE_END.fullmatch(text)
    if (
        not match
        or _SPEAKER_LINKS.search(match[3])
        or _SUBORDINATE.search(match[1])
        or _OTHER_ORDER.search(match[1])
        or re.search(r"\b(?:only|just|even|merely)\b", match[1])  # "is only possible because"
        or re.search(
            r"\b(?:said|told|that|shortly|soon|days?|hours?|years?|weeks?|minutes?|months?|just|even|only|not|and|or|as|times?|moments?|"
            r"nights?|points?|is|was|were|are|until|since|from|of|on|at|in)\Z",
            match[1],
        )
    ):
        return None
    return f"{match[2].capitalize()} {match[3]}, {small(match[1])}."


def _according(text: str) -> str | None:
    match = _SAID_END.fullmatch(text)
    if match and not _SPEAKER_LINKS.search(match[2]) and not has_verb(match[2].split()):
        return f"According to {small(match[2])}, {small(match[1])}."
    match = _ACCORDING_END.fullmatch(text)
    if match:
        return f"According to {match[2]}, {small(match[1])}."
    match = _SAID_FRONT.fullmatch(text)
    if match and not has_verb(match[1].split()) and not _SPEAKER_LINKS.search(f"{match[1]} {match[2]}"):
        return f"According to {small(match[1])}, {match[2]}."
    return None


def _stated(text: str) -> str | None:
    match = _ACCORDING_FRONT.fullmatch(text)
    return f"{capital(match[2])}, according to {match[1]}." if match else None


def _aged(text: str) -> str | None:
    match = _AGED.search(text)
    if not match:
        return None
    before = text[: match.start()]
    article = "The" if not before.strip() else "the"
    rest = text[match.end() :].lstrip()
    return f"{before}{article} {match[2]}-year-old {match[1]} {rest}"


def _passive(text: str) -> str | None:
    """ "The government approved an aid package." -> "An aid package was approved by the government."

    Only where the object shows its number, and with verbs whose participle is their past.
    """
    match = _ACTIVE.fullmatch(text)
    if not match or has_verb(match["who"].split()) or _SUBORDINATE.search(match["what"]) or _SPEAKER_LINKS.search(match["who"]):
        return None
    one = bool(re.match(r"(?:an?|one|another) ", match["what"]))
    if not one and re.match(r"1(?:\.0)? ", match["what"]):
        return None
    when = f" {match['when']}" if match["when"] else ""
    return f"{capital(match['what'])} {'was' if one else 'were'} {match['did']} by {small(match['who'])}{when}."


def _active(text: str) -> str | None:
    """ "The bridge was designed by Jon Abt." -> "Jon Abt designed the bridge." """
    match = _PASSIVE.fullmatch(text)
    if not match or has_verb(match["what"].split()) or has_verb(match["who"].split()):
        return None
    return f"{capital(match['who'])} {match['did']} {small(match['what'])}{match['when'] or ''}."


def _place_to_end(text: str) -> str | None:
    match = _PLACE_FRONT.fullmatch(text)
    if not match or _SUBORDINATE.search(match[2]) or has_verb(match[1].split()[1:]) or _OTHER_ORDER.search(match[2]):
        return None
    return f"{capital(match[2])} {low(match[1])}."


def _title_first(text: str) -> str | None:
    """ "Sefa Morrin, director of the authority, said ..." -> "The director of the authority, Sefa Morrin, said ..." """
    match = _TITLED.fullmatch(text)
    if not match or has_verb(match[2].split()) or not has_verb(match[3].split()[:3]) or match[1].startswith(("The ", "A ")):
        return None
    if re.match(r"(?:\w+ed|\w+ing|in|on|at|of|by|with|from|for|near|after|before|along|about|to|as|an?)\b", match[2]):
        return None
    return f"{capital(match[2]) if match[2].startswith('the ') else 'The ' + match[2]}, {match[1]}, {match[3]}"


def _divided(text: str) -> str | None:
    match = _TWO.fullmatch(text)
    if not match or re.search(r"\bbetween\b|\bboth\b|\bthat\b", match[1]):
        return None
    if not has_verb(match[1].split()) or not has_verb(match[2].split()[:6]):
        return None
    return f"{match[1]}. {capital(match[2])}."


_STEPS: tuple[Callable[[str], str | None], ...] = (
    _according,
    _clause_to_end,
    _clause_to_front,
    _front_date,
    _end_date,
    _inner_date,
    _middle_date,
    _apposition,
    _relative,
    _aged,
    _stated,
    _passive,
    _active,
    _place_to_end,
    _title_first,
    _divided,
    *clause_steps.STEPS,
)
_STEPS_AGAIN = tuple(step for step in _STEPS if step not in (_end_date, _place_to_end, _clause_to_end))
"""What another step brought to the front stays there: at the end it could belong to a clause."""

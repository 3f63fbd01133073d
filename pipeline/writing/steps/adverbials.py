"""Steps that move what says when, where, why or who says so to the other end of the sentence."""

from __future__ import annotations

import re

from lemminflect import getLemma

from pipeline.choosing.verbs import has_verb, is_verb, verb_groups
from pipeline.writing.letter_case import capital, low, small
from pipeline.writing.steps.sentence_parts import (
    BE,
    CLAUSE_LINK,
    CLAUSE_OR_SPEECH,
    DATE,
    DAY,
    MONTH,
    OTHER_ORDER,
    PHRASE,
    PLAIN,
    PRONOUN_OR_LINK,
    TIMES,
    goes_on,
    is_participle,
    is_subject,
)

_OTHER_DATE = re.compile(rf"\b(?:{MONTH}|{DAY}|\d{{4}}|then|later|since|after|before|until)\b")
_FRONT_DATE = re.compile(rf"({DATE}),? (?=[A-Z\w])(.+?)([.!])\Z")
_END_DATE = re.compile(rf"(.+?),? ({DATE})([.!])\Z")
_INNER_DATE = re.compile(rf"((?:The |An? )?[A-Z][^,;:“\"]{{2,60}}?(?: was| were)? \w+ed) ({DATE}) ([^,;:“\"]+?)([.!])\Z")
_MIDDLE_DATE = re.compile(
    rf"([^,;:“\"]{{12,90}}?)(?: at (\d{{1,2}}[:.]\d{{2}}(?: ?[ap]\.?m\.?)?))? ({DATE})( [^,;:“\"]{{4,80}}?)?([.!])\Z"
)
_SAID_END = re.compile(r"([^“”\"]{15,}), ([^“”\",]{3,60}?) (?:said|says|told reporters)(?: in a statement)?\.\Z")
_SAID_FRONT = re.compile(
    r"([A-Z][^“”\",]{2,60}?) (?:said|says)(?: in a statement)?(?: that)? "
    r"(?!that\b|\w+ that\b|(?:un)?to\b|in\b|on\b|at\b|by\b|with\b|of\b|from\b|for\b)((?:the|an?|its|\w+) [^“”\"]{12,})\.\Z"
)
_OF_SAYING = re.compile(
    r", (?:in|during|at|on|via|through) [^,]+\Z|^(?:After|Before|When|While|In|On|At|During|Following) [^,]+,"
)
"""When or where it was said, or a phrase that opens the sentence already."""
_ACCORDING_END = re.compile(r"([^“”\"]{15,}?), according to (?!its\b|his\b|her\b|their\b)([^“”\",]{3,80})\.\Z")
_ACCORDING_FRONT = re.compile(r"According to ([^“”\",]{3,80}), ([^“”\"]{15,})\.\Z")
_SOURCE = re.compile(
    r"[A-Z]|\b(?:police|officials?|authorit|reports?|stud(?:y|ies)|surveys?|witness|residents?|data|sources?|documents?|experts?|"
    r"analysts?|scientists?|researchers?|lawyers?|prosecutors?|courts?|newspapers?|magazine|statement|filing|figures|polls?)"
)
"""What "according to" may name, so that the statement is its own."""
_PLACE_FRONT = re.compile(r"((?:In|At|Near|Across|Under|Along|Throughout) [^,;:“”\"]{3,40}), ([^,;:“”\"]{15,110})\.")
_CAUSE_FRONT = re.compile(rf"(Due to|Because of|As a result of|Throughout) ({PLAIN}{{5,80}}), ({PLAIN}{{15,110}})\.")
_DONE = (
    "released|published|produced|built|constructed|founded|established|formed|opened|closed|held|staged|performed|filmed|shot|"
    "recorded|broadcast|shown|screened|seen|reported|observed|found|used|sold|distributed|killed|injured|arrested|detained|buried|"
    "born|educated|elected|introduced|launched|discovered|created|designed|developed|studied|tested|common|rare|popular|available|"
    "visible|active|scheduled|planned|celebrated|exhibited|auctioned|adopted|approved|announced|revealed|discussed|debated|"
    "mentioned|destroyed|damaged|flooded|evacuated|rescued|displaced|suspended|cancelled|canceled|postponed|rebuilt|demolished|"
    "purchased|acquired|imposed|banned|taught|spoken|grown|mined|manufactured|assembled|unveiled|erected|crowned|declared"
)
"""Behind these "in" or "at" says where it was, not what ("involved in", "based on")."""
_PLACED = re.compile(
    rf"(?P<who>(?:The |An? )?{PHRASE}{{0,8}}?) (?P<did>(?:{BE}|will be)(?: also| later| first)? (?:{_DONE})|"
    r"died|lived|worked|studied|took place|occurred|premiered|debuted|competed|performed) "
    r"(?P<where>(?:in|at|across|throughout|near|among|during) (?:(?:the|an?) )?[\w’'-]+(?: [\w’'-]+){0,4}?)"
    r"(?P<rest> (?:by|to|for|with|after|because|before|when|from|as|on|in (?=\d)|in (?=[A-Z][a-z]+ \d)) [^;:“”\"]+)?\."
)
_PURPOSE = re.compile(
    rf"(?P<who>(?:The |An? )?{PHRASE}{{0,8}}?) (?P<did>(?:{BE})(?: also| later| first)? "
    r"(?:used|built|created|established|founded|formed|introduced|deployed|launched|set up|organi[sz]ed|installed|adopted)"
    rf"(?: {PLAIN}{{3,60}}?)?) (?P<why>to [a-z]+ {PLAIN}{{4,80}})\."
)
_ADVERB = re.compile(
    rf"(?P<who>(?:The |An? )?{PHRASE}{{0,5}}?) (?P<how>[a-z]+ly) (?P<did>[a-z]+) (?P<rest>(?:on|in|from|to|by|at) {PLAIN}+)\."
)
_OF_THE_SENTENCE = frozenset((
    "only", "early", "really", "probably", "allegedly", "reportedly", "apparently", "nearly", "previously", "initially",
    "originally", "finally", "recently", "family", "usually", "rarely", "similarly", "typically", "generally", "commonly",
    "normally", "frequently", "currently", "actually", "formerly", "presently", "occasionally", "mostly", "mainly", "largely",
    "primarily", "likely",
))  # fmt: skip
"""Behind the verb these say something else, or read badly."""
_POSSESSIVE = re.compile(r"\b(?:its|his|her|their)\b")
_PRONOUN = re.compile(r"\b(?:he|she|it|they|its|his|her|their|I|we)\b", re.I)
_NO_PLACE = re.compile(r"\b(?:according|due|since|date|number|that|this|on|at|in|remand)\b(?<!^in)(?<!^at)")


_NO_PLACE_AT_ALL = re.compile(
    r"\b(?:cases|instances|ways|respects|terms|times?|minutes?|hours?|days?|weeks?|months?|years?|decades?|seasons?|centur(?:y|ies))\b"
)
""""In many cases", "in a few years": no place."""
_JOINED_TO_TO = frozenset((
    "reaction", "response", "addition", "relation", "contrast", "return", "regard", "order", "answer", "reply", "opposition",
    "tribute", "preparation", "known", "called", "named", "charge", "favor", "favour", "honor", "honour", "support", "memory",
))  # fmt: skip
"""At the end of what seems a place: "in response to the flood", "in the phenomenon known as"."""
_OF_THE_TEXT = frozenset((
    "addition", "same time", "time", "meantime", "meanwhile", "fact", "turn", "return", "response", "reply", "general",
    "particular", "contrast", "comparison", "reality", "theory", "practice", "effect", "end", "short", "other words", "total",
    "least", "most", "first", "last",
))  # fmt: skip
"""An opening on these links sentences, and is no place."""


_ANOTHER_TIME = re.compile(
    r"\A(?:For|But|And|So|After|Before|When|While|Although|Since|Until)\b|\b(?:is|are|has|have)\b|"
    r"\b(?:planned|scheduled|expected|due|set)\b|\b(?:following|next|same|previous) (?:day|week|month|year)\b|"
    r"\b(?:starting|beginning|ending|dating|effective)\Z|\b(?:compares|follows|includes|remains|means|shows|marks)\b|"
    r"\bas (?:the|he|she|it|they)\b|\b(?:of|for|with|to) (?:\S+ ){0,3}"
    r"(?!government|parliament|department|station|nation|building)\w+(?:ment|tion|sion|ning|ding|tures)\b|"
    r"\b(?:was|were) (?:the|an?) \w+(?:ment|tion|sion|ing|age) of\b|\bfirst\b.*\b(?:was|were)\b"
)
"""With these a date in front would be that of something else: "One step was the creation of a fund in 1979"."""


_PAST = re.compile(
    r"\b(?:\w+ed|was|were|had|began|broke|rose|fell|took|won|went|came|led|held|left|made|met|sent|struck|sold|built|wrote|became|"
    r"gave|got|lost|bought|brought|drew|grew|ran|sank|said|saw|set|shot|sang|spoke|stood|taught|told|thought|wore)\b"
)
"""A verb of the past, so that a date can be its own."""


def _is_of_the_deed(before: str) -> bool:
    """Whether a date behind these words says when the main verb's deed was done, and not that of a participle: "by a guild
    founded in 1887"."""
    *words, last = before.split()
    joined = bool(words) and (words[-1].endswith("ly") or words[-1] in ("was", "were", "been", "be", "had", "first", "later"))
    return not _ANOTHER_TIME.search(before) and not (is_participle(last) and not joined and has_verb(words))


def front_date(text: str) -> str | None:
    """ "The dam was opened on 12 March 2031." -> "On 12 March 2031, the dam was opened." """
    match = _END_DATE.fullmatch(text)
    # "between 2019 and in 2020", "on 3 May and on 4 May": a date that belongs to another one stays where it is
    if (
        not match
        or _OTHER_DATE.search(match[1])
        or re.search(r"(?:\band|\bor|\bto|\bfrom|,)\Z", match[1])
        or "," in match[1]  # "Designed by Abt, the mill was added in 1970"
        or re.search(r"\b(?:latest|newest|current|most recent)\b", match[1])  # at that time, or now?
        or not _is_of_the_deed(match[1])
        or not _PAST.search(match[1])
        or re.search(
            r"(?<!began) to (?!be\b|the\b|an?\b|its\b|his\b|her\b|their\b)[a-z]+ ", match[1]
        )  # when the other deed was done, or this one?
        or re.search(r"\bhad \w+", match[1])  # "had won over the town in 1763": before another time
        or CLAUSE_OR_SPEECH.search(match[1])  # the date may belong to the clause
    ):
        return None
    return f"{capital(match[2])}, {small(match[1])}{match[3]}"


def middle_date(text: str) -> str | None:
    """A date behind the main verb, with more behind it: "The levee broke at 01:15 on 13 March over 120 metres." """
    match = _MIDDLE_DATE.fullmatch(text)
    if not match or _OTHER_DATE.search(match[1]) or CLAUSE_OR_SPEECH.search(f"{match[1]} {match[4]}"):
        return None
    if _goes_on_later(match[4] or "") or _of_a_noun(match[1], match[4] or "") or not _is_of_the_deed(match[1]):
        return None
    if not _PAST.search(match[1]) or re.search(r"\bhad \w+", match[1]):
        return None
    if is_participle(match[1].split()[-1]) and has_verb((match[4] or "").split()):
        return None  # "The figures presented on 16 March were ..."
    clock = f" at {match[2]}" if match[2] else ""
    return f"{capital(match[3])}{clock}, {small(match[1])}{match[4] or ''}{match[5]}"


def end_date(text: str) -> str | None:
    """ "On 12 March 2031, the dam was opened." -> "The dam was opened on 12 March 2031." """
    match = _FRONT_DATE.fullmatch(text)
    if (
        not match
        or _OTHER_DATE.search(match[2])
        or CLAUSE_LINK.search(match[2])
        or re.search(r"[,;:“\"]", match[2])
        or len(match[2].split()) > 22
    ):
        return None
    # "to allow for sports in 1988", "a man being part of it in 1988", "a call for games in 1988": not when the lights came
    if re.search(r"\b(?:calls?|called|plans?|proposals?|proposed|ideas?) (?:for|of)\b", match[2]):
        return None
    if re.search(r"\bto [a-z]+ |\b(?:who|which|that|being|having)\b", match[2]):
        return None
    # "as a result of the start of the war", "a picture of the economy": the date would be theirs
    if re.search(r"\b(?:of|into|about) (?:the|an?|its|their) \S+(?: \S+)?\Z|\b\w{4,}ing\b", match[2]):
        return None
    if re.search(r"\A\d|\b(?:as a result of|due to|because of)\b|[–—]|\bfor the (?:first|last) time\Z", match[2]):
        return None
    return f"{capital(match[2])} {low(match[1])}{match[3]}"


def _goes_on_later(behind: str) -> bool:
    """Whether a second deed follows at another time: "was reported in May and announced soon afterwards"."""
    return bool(_OTHER_DATE.search(behind) or re.search(r"\b(?:thereafter|afterwards?|soon|next(?! to))\b", behind))


def _of_a_noun(before: str, behind: str) -> bool:
    """Whether the date belongs to a participle: "memos written in 1943 by the staff refuted it"."""
    return behind.lstrip().startswith("by ") and not re.search(r"\b(?:was|were|been|is|are)\b", before)


def inner_date(text: str) -> str | None:
    """ "The bridge was opened on 3 May 2032 by Ana Ruiz." -> "On 3 May 2032, the bridge was opened by Ana Ruiz." """
    match = _INNER_DATE.fullmatch(text)
    if not match or _goes_on_later(match[3]) or _of_a_noun(match[1], match[3]) or not _is_of_the_deed(match[1]):
        return None
    # "The figures presented on 16 March stepped up ...", "opened in 1841 and was ...", "had ended in 1959": before that
    if CLAUSE_OR_SPEECH.search(match[1]) or re.search(r"\bhad\b", match[1]) or re.match(r"(?:and|which|who)\b", match[3]):
        return None
    if has_verb(match[3].split()[:2]) and not re.match(r"(?:that|when|to|because|as|by)\b", match[3]):
        return None
    return f"{capital(match[2])}, {small(match[1])} {match[3]}{match[4]}"


def according(text: str) -> str | None:
    """ "The bridge was closed, the police said." -> "According to the police, the bridge was closed." """
    if re.match(r"(?:But|And|Or|So|Yet)\b|(?:For example|However|Moreover|In fact|Therefore|Still|Meanwhile),", text):
        return None
    match = _SAID_END.fullmatch(text)
    if (
        match
        and not _OF_SAYING.search(match[1])
        and not re.search(r"\b(?:though|although|while|if|when|what)\b", match[2])
        and not re.search(r"^(?:as|how|what\w*|which\w*|who\w*)\b|\b(?:also|later|again|still|earlier|previously)\Z", match[2])
        and not PRONOUN_OR_LINK.search(match[2])
        and not has_verb(match[2].split())
    ):
        return f"According to {small(match[2])}, {small(match[1])}."
    match = _ACCORDING_END.fullmatch(text)
    # Without a comma, or with no source: "stained according to Abt (1983)", "according to the slaves' ages", how it was done.
    if (
        match
        and _SOURCE.search(match[2])
        and not _OF_SAYING.search(match[1])
        and not re.search(r"\b(?:because|while|which|that|although)\b", match[1])
    ):
        return f"According to {match[2]}, {small(match[1])}."
    match = _SAID_FRONT.fullmatch(text)
    if (
        match
        and not _OF_SAYING.search(match[2])
        and not has_verb(match[1].split())
        and not PRONOUN_OR_LINK.search(f"{match[1]} {match[2]}")
        and not re.search(r"\b(?:also|later|again|still|earlier|previously)\Z", match[1])
    ):
        return f"According to {small(match[1])}, {match[2]}."
    return None


def stated(text: str) -> str | None:
    """ "According to the police, the bridge was closed." -> "The bridge was closed, according to the police." """
    match = _ACCORDING_FRONT.fullmatch(text)
    if (
        not match or _PRONOUN.search(match[2]) or re.search(r", and (?:the|an?|it|they)\b", match[2])
    ):  # "while he understood ..., according to the director"
        return None
    first, comma, _ = match[2].partition(",")
    if comma and not has_verb(first.split()):  # one more source
        return None
    # More sources follow; or what stands behind the semicolon would be this one's, too.
    if re.match(r"(?:as|such|and|or|including|who|which|\w+ing)\b|[A-Z][^,]*, (?:and )?[A-Z]", match[2]) or re.search(
        r"[;:]|\bhowever\b", match[2]
    ):
        return None
    return f"{capital(match[2])}, according to {match[1]}."


def place_to_end(text: str) -> str | None:
    """ "In Osmere, the river rose by a metre." -> "The river rose by a metre in Osmere." """
    match = _PLACE_FRONT.fullmatch(text)
    if not match or goes_on(match[2]) or has_verb(match[1].split()[1:]) or OTHER_ORDER.search(match[2]):
        return None
    if re.search(r"\b(?:why|how|whether)\b", match[2]):  # the place would belong to the indirect question
        return None
    if _NO_PLACE_AT_ALL.search(match[1]) or _POSSESSIVE.search(match[1]) or re.match(r"Along with\b", text):
        return None
    # Behind a bracket (masked), or "of this period", it would belong to that.
    if re.search(r"\b(?:doing|done) so\Z|\d\Z|\b[Xx]q[a-z]\Z|\bof (?:his|her|their|its|this|that) \S+\Z", match[2]):
        return None
    # "recognized by the government in the United States"; a place that is named again
    if re.search(
        r"\b(?:so far|to date|yet|ever)\Z|\b(?:with|about) (?:\S+ )?\S+\Z|\A(?:Most|Many|Few|All|Some|No)\b", capital(match[2])
    ):
        return None
    if re.search(r"\bby (?:\S+ ){0,4}\S+\Z", match[2]) or any(
        word[0].isupper() and re.search(rf"\b{re.escape(word)}\b", match[2]) for word in match[1].split()[1:]
    ):
        return None
    link, *place = match[1].split()
    if re.sub(r"^the ", "", " ".join(place)) in _OF_THE_TEXT or place[-1].isdigit():  # a year is `end_date`'s
        return None
    if (place[0].endswith("ing") and place[0].islower()) or match[1].endswith(".") or link.lower() in match[2].split()[-4:]:
        return None
    # "In Mississippi, USA colonies are larger"; "In Osmere, the town's board": which town would not be known yet
    if re.match(r"[A-Z]{2,}\b", match[2]) or re.search(
        r"\bthe (?:country|nation|state|city|town|village|region|province)\b", match[2]
    ):
        return None
    return f"{capital(match[2])} {low(match[1])}."


def place_first(text: str) -> str | None:
    """ "The game was released in Japan by Sega." -> "In Japan, the game was released by Sega." """
    match = _PLACED.fullmatch(text)
    if not match or not is_subject(match["who"]) or has_verb(match["where"].split()[1:]):
        return None
    rest = match["rest"] or ""
    if re.search(
        r", (?:but|and)\b|\b(?:probably|most|least|the (?!forest|west|guest|rest|nest|test)\w+est)\b", f"{match['who']}{rest}"
    ):
        return None
    if re.fullmatch(r"in [a-z]+", match["where"]) or (not rest and match["did"] in ("lived", "worked", "stayed")):
        return None
    if re.search(r"\b(?:not|or|but|an?)\b", match["where"]) or re.search(r"\balso\b", f"{match['did']} {rest}"):
        return None
    if re.match(r"(?:The )?(?:first|last|latest|newest)\b", match["who"]) or (
        not rest and re.search(r"\b(?:found|used|seen)\Z", match["did"])
    ):
        return None
    if match["where"].split()[-1] in _JOINED_TO_TO or rest.startswith(" as well") or rest.startswith(" on the"):
        return None
    if TIMES.search(match["where"]) or _POSSESSIVE.search(match["where"]) or _NO_PLACE.search(match["where"]):
        return None
    return f"{capital(match['where'])}, {small(match['who'])} {match['did']}{rest}."


def purpose_first(text: str) -> str | None:
    """ "The fund was set up to help farmers." -> "To help farmers, the fund was set up." """
    match = _PURPOSE.fullmatch(text)
    if not match or not is_subject(match["who"]) or re.search(r" (?:to|for) ", match["did"]) or verb_groups(match["did"]) > 1:
        return None
    if re.search(r"\balso\b|\b(?:introduced|response|reaction|addition|relation)\Z", match["did"]):
        return None
    if re.fullmatch(r"(?:is|are|was|were) used", match["did"]) and len(match["who"].split()) < 4:
        return None  # "the boat was used" says nothing
    verb = match["why"].split()[1]
    if verb not in getLemma(verb, upos="VERB") or re.search(r"\b(?:plans?|according|efforts?|attempts?|way)\Z", match["did"]):
        return None
    if re.search(r"\b(?:its|his|her|their|and|or|but)\b", match["why"]):
        return None
    return f"{capital(match['why'])}, {small(match['who'])} {match['did']}."


_BOUND = re.compile(
    r"\b(?:no|not|never|than|ordered|asked|told|allowed|th[eo]se|there|such|after|before|considered|called|known)\b|n[’']t\b"
)
"""With these in it the clause would take the cause for its own: "did not leave because of the flood"."""


def cause_to_end(text: str) -> str | None:
    """ "Due to disputes, the council left the talks." -> "The council left the talks due to disputes." """
    match = _CAUSE_FRONT.fullmatch(text)
    if not match or has_verb(match[2].split()) or CLAUSE_LINK.search(match[3]) or _PRONOUN.search(match[3]):
        return None
    # The cause would be denied with it, or be that of what was ordered.
    if _BOUND.search(match[3]) or re.search(r"\b\w{3,}ing\b(?: \S+){0,5}\Z", match[3]):
        return None
    return f"{capital(match[3])} {match[1].lower()} {match[2]}."


def adverb_behind(text: str) -> str | None:
    """ "The queens entirely depend on the workers." -> "The queens depend entirely on the workers." """
    match = _ADVERB.fullmatch(text)
    if (
        not match
        or match["how"] in _OF_THE_SENTENCE
        or not is_subject(match["who"])
        or not is_verb(f"x {match['did']}".split(), 1)
        or match["rest"].startswith("to ")  # "quickly grew to resent"
    ):
        return None
    return f"{match['who']} {match['did']} {match['how']} {match['rest']}."

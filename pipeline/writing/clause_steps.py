"""Steps that keep the meaning and need to know where a sentence's subject ends: participles, passives, clauses on their own.

There is no parser here. Each step looks for a form that leaves one reading, and says nothing where words could be read
otherwise. `lemminflect` knows which forms a verb has.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from lemminflect import getAllLemmas, getInflection, getLemma

from pipeline.choosing.common_words import is_common
from pipeline.choosing.gate import has_verb, is_verb
from pipeline.writing.letter_case import capital, small

_PREPOSITION = (
    r"(?:in|on|at|by|from|to|with|for|as|during|after|before|under|over|through|throughout|across|near|into|against|between|"
    r"among|around|within|since|until|along|behind|despite|following)"
)
_IRREGULAR = frozenset((
    "born", "built", "set", "held", "made", "written", "known", "found", "shot", "led", "taken", "given", "seen",
    "told", "sold", "drawn", "chosen", "driven", "set", "hidden", "named",
))  # fmt: skip
_PERSON = re.compile(r"(?:He|She|They|It|We|I|You|This|That|These|Those|There)\b")
_SUBORDINATE = re.compile(r"\b(?:that|who|which|whose|when|because|if|while|where|although|though|and|or|but|to)\b")
_NAME = r"[A-Z][\w’'-]*(?: (?:(?:of|the|de|von|van|la|al|and|for) )?[A-Z][\w.’'-]*){0,5}"
_NOUN_PHRASE = (
    r"(?:the|an?|its|his|her|their|another|two|three|four|five|several|many|\d[\d,]*) (?:[a-z][a-z-]+ ){0,3}[a-z][a-z-]+"
)
_OBJECT = rf"(?:{_NOUN_PHRASE}|{_NAME})(?: (?:of|for) (?:{_NOUN_PHRASE}|{_NAME}|[a-z]+))?"
TRANSITIVE_FILE = Path(__file__).with_name("transitive_verbs.txt")
_TRANSITIVE = frozenset(TRANSITIVE_FILE.read_text(encoding="utf-8").split())
"""Verbs whose object may become the subject. Those that stand in idioms ("took place") are left out."""
_MODAL = "will|would|could|may|might|can|must|should"
_ADVERBS = frozenset((
    "also", "later", "then", "first", "once", "now", "still", "never", "always", "often", "soon", "already",
    "eventually", "again",
))  # fmt: skip
_TIMES = re.compile(r"\b(?:day|week|month|year|morning|evening|night|time|hour|minute|season|summer|winter|spring|autumn)s?\b")
_PLURALS = frozenset(
    ("people", "children", "men", "women", "police", "cattle", "fish", "aircraft", "species", "series", "data")
)

_PLAIN = r"[^,;:“”\"]"
"""No comma and no quotation mark: within one clause, and nobody's words."""
_PHRASE = r"[\w’'&-]+(?: [\w’'&.-]+)"
_BE = r"was|were|is|are|has been|have been|had been"
_ACTIVE = re.compile(
    rf"(?P<who>(?:[Tt]he |[Aa]n? )?{_PHRASE}{{0,6}}?) (?:(?P<modal>{_MODAL}) )?(?P<verb>[a-z]+) (?P<what>{_OBJECT})"
    rf"(?P<rest>(?: {_PREPOSITION} {_PLAIN}+)?)\."
)
_OPENING = re.compile(rf"([A-Z][a-z]+) ({_PLAIN}{{5,90}}), ([^;:“”\"]+)\.")
_OPENS_SUBJECT = re.compile(r"(?:the|an?|its|his|her|their|many|several|most|some) |[A-Z]")
_INSERTED = re.compile(rf"({_PLAIN}{{3,60}}), ([a-z]+) ({_PLAIN}{{5,90}}), ([^;:“”\"]+)\.")
_WHICH = re.compile(
    rf"([^;:“”\"]{{10,}}? (?:{_PREPOSITION}|of|[a-z]+ed|is|was|were) )"
    rf"(?P<what>(?:the|an?|its|his|her|their) (?:[a-z][a-z-]+ ){{0,3}}(?P<noun>[a-z][a-z-]+)|(?:the )?{_NAME}), which "
    rf"(?P<did>(?:(?:{_BE}) (?:\w+ly )?\w+(?:ed|en|wn|ld|lt)|has|had|took place|opened|began)\b{_PLAIN}{{10,}})\."
)
_WHO = re.compile(
    rf"([^;:“”\"]{{20,}}? (?:[a-z]+ ))(?P<name>[A-Z][\w’'-]+(?: [A-Z][\w.’'-]+){{1,2}}), who "
    rf"(?P<did>(?:was|is|has|had|[a-z]+ed)\b{_PLAIN}{{10,}})\."
)
_SWAPPED = re.compile(
    rf"(?P<name>[A-Z][\w’'-]+(?: [A-Z][\w’'-]+){{0,2}}) (?P<main>[a-z]{_PLAIN}{{8,90}}?),? "
    rf"(?P<when>after|before|when|because|although|though|once|until) (?P<who>he|she) (?P<clause>{_PLAIN}{{8,90}})\."
)
_SEMICOLON = re.compile(r"([^;“”\"]{25,}); (?:and |but )?(?!however|therefore|thus|instead)([^;“”\"]{15,})\.")
_CONTRAST = re.compile(r"([^;:“”\"]{25,}), (?:while|whereas) ((?:the|an?|its|their|[A-Z])[^;:“”\"]{15,})\.")
_INCLUDING = re.compile(rf"({_PLAIN}{{20,}}), including ([^;:“”\"]{{8,}})\.")
_COUNTED = re.compile(r"(?:[A-Z][a-z]+ of|Several|Many|Some|Two|Three|Four|Five|Six|\d+|Dozens|Hundreds) ")
_CAUSE_FRONT = re.compile(rf"(Due to|Because of|As a result of|Throughout) ({_PLAIN}{{5,80}}), ({_PLAIN}{{15,110}})\.")
_IDENTITY = re.compile(
    rf"(?P<one>{_NAME}) (?P<be>was|is) (?P<other>the (?!same|first to|only one){_PLAIN}{{6,80}})\.|"
    rf"(?P<before>The [a-z]{_PLAIN}{{6,70}}) (?P<link>was|is) (?P<name>{_NAME})\."
)
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
    rf"(?P<who>(?:The |An? )?{_PHRASE}{{0,8}}?) (?P<did>(?:{_BE}|will be)(?: also| later| first)? (?:{_DONE})|"
    r"died|lived|worked|studied|took place|occurred|premiered|debuted|competed|performed) "
    r"(?P<where>(?:in|at|across|throughout|near|among|during) (?:(?:the|an?) )?[\w’'-]+(?: [\w’'-]+){0,4}?)"
    r"(?P<rest> (?:by|to|for|with|after|because|before|when|from|as|on|in (?=\d)|in (?=[A-Z][a-z]+ \d)) [^;:“”\"]+)?\."
)
_PURPOSE = re.compile(
    rf"(?P<who>(?:The |An? )?{_PHRASE}{{0,8}}?) (?P<did>(?:{_BE})(?: also| later| first)? "
    r"(?:used|built|created|established|founded|formed|introduced|deployed|launched|set up|organi[sz]ed|installed|adopted)"
    rf"(?: {_PLAIN}{{3,60}}?)?) (?P<why>to [a-z]+ {_PLAIN}{{4,80}})\."
)
_DEEDS = re.compile(
    r"([A-Z][^;:“”\"]{25,}?),? and (?:also )?("
    r"(?:was|were|is|has|had|became|won|began|took|made|went|came|left|led|held|set|sold|wrote|said|"
    r"[a-z]+ed (?:the|an?|its|his|her|their|in|on|at|to|by|from|with|[A-Z\d])[\w’'-]*)\b[^;:“”\"]{12,})\."
)
_POSSESSIVE = re.compile(r"\b(?:its|his|her|their)\b")
_PRONOUN = re.compile(r"\b(?:he|she|it|they|its|his|her|their|I|we)\b", re.I)
_NO_PLACE = re.compile(r"\b(?:due|since|date|number|that|this|on|at|in|remand)\b(?<!^in)(?<!^at)")
_PEOPLE = re.compile(r"[A-Z]|\b(?:that|which|who|and|said|says|told|man|woman|father|mother|son|daughter|wife|husband)\b")
_HOW_LONG = re.compile(r"\b(?:shortly|soon|days?|hours?|years?|weeks?|minutes?|months?|just|even|only|not|long|time)\Z")


def _passive(text: str) -> str | None:
    """ "The studio will release Good Boy in theaters." -> "Good Boy will be released by the studio in theaters." """
    match = _ACTIVE.fullmatch(text)
    if not match:
        return None
    lemma = (getLemma(match["verb"], upos="VERB") or ("",))[0]
    who, what = match["who"], match["what"]
    tense_fits = match["verb"] == lemma if match["modal"] else match["verb"] in getInflection(lemma, tag="VBD")
    if lemma not in _TRANSITIVE or not tense_fits or _TIMES.search(what) or has_verb(what.split()[1:]):
        return None
    if _SUBORDINATE.search(what) or not _is_subject(who):
        return None
    if re.search(r"\b(?:its|his|her|their|he|she|it|they|himself|itself)\b", f"{what}{match['rest']}"):
        return None  # the possessor would come after what it has
    if match["rest"].startswith(" to ") or re.search(r"\b(?:and|or|but)\b", match["rest"]):
        return None  # a second deed, which the new subject did not do
    if what.split()[-1].endswith(("ly", "ing")) or re.match(rf"(?:that|to|how|what|whether|{_PREPOSITION})\b", what):
        return None
    participle = (getInflection(lemma, tag="VBN") or ("",))[0]
    be = f"{match['modal']} be" if match["modal"] else ("were" if _is_plural(what) else "was")
    return f"{capital(what)} {be} {participle} by {small(who)}{match['rest']}."


def _participle_inside(text: str) -> str | None:
    """ "Directed by Ana Ruiz, the film opens in June." -> "The film, directed by Ana Ruiz, opens in June." """
    match = _OPENING.fullmatch(text)
    if not match or not _is_participle(match[1].lower()) or has_verb(match[2].split()) or _PERSON.match(capital(match[3])):
        return None
    n = _subject_words(match[3])
    words = match[3].split()
    if not n or not re.match(_PREPOSITION, match[2]) or not _OPENS_SUBJECT.match(match[3]):
        return None
    return f"{capital(' '.join(words[:n]))}, {match[1].lower()} {match[2]}, {' '.join(words[n:])}."


def _participle_first(text: str) -> str | None:
    """ "The film, directed by Ana Ruiz, opens in June." -> "Directed by Ana Ruiz, the film opens in June." """
    match = _INSERTED.fullmatch(text)
    if not match or not _is_participle(match[2]) or not re.match(_PREPOSITION, match[3]) or has_verb(match[3].split()):
        return None
    if has_verb(match[1].split()) or _SUBORDINATE.search(match[1]) or not is_verb(f"x {match[4]}".split(), 1):
        return None
    return f"{capital(match[2])} {match[3]}, {small(match[1])} {match[4]}."


def _which_apart(text: str) -> str | None:
    """ "... with the cup, which took place in May." -> "... with the cup. The cup took place in May." """
    match = _WHICH.fullmatch(text)
    if not match or not has_verb(match[1].split()):
        return None
    if not match["noun"] and re.search(r" and |[’']s?\b", match["what"]):
        return None
    said = f"The {match['noun']}" if match["noun"] else capital(match["what"])
    if not match["noun"] and (match[1].endswith(" by ") or match[1].split()[-2][:1].isupper()):
        return None  # "in a book by Jon Abt, which": the book; "Here for It All": a name goes on
    if match["noun"] and ("NOUN" not in getAllLemmas(match["noun"]) or "ADV" in getAllLemmas(match["noun"])):
        return None
    if re.match(r"(?:were|are)\b", match["did"]) and not _is_plural(match["what"]):
        return None
    if re.match(r"(?:was|is|has)\b", match["did"]) and _is_plural(match["what"]):
        return None
    return f"{match[1]}{match['what']}. {said} {match['did']}."


def _who_apart(text: str) -> str | None:
    """ "... beat Ana Ruiz, who had won before." -> "... beat Ana Ruiz. Ruiz had won before." """
    match = _WHO.fullmatch(text)
    if not match or not has_verb(match[1].split()):
        return None
    last = match["name"].split()[-1]
    return f"{match[1]}{match['name']}. {last} {match['did']}." if len(last) > 2 and last.isalpha() else None


def _name_behind(text: str) -> str | None:
    """ "Howard left the town after he sold the house." -> "After Howard sold the house, he left the town." """
    match = _SWAPPED.fullmatch(text)
    if not match or not is_verb(f"x {match['main']}".split(), 1) or _PERSON.match(match["name"]) or is_common(match["name"]):
        return None
    # Another name, or a second person, and the pronoun could be theirs.
    if _PEOPLE.search(match["main"]) or _HOW_LONG.search(match["main"]):
        return None
    return f"{capital(match['when'])} {match['name']} {match['clause']}, {match['who']} {match['main']}."


def _semicolon(text: str) -> str | None:
    match = _SEMICOLON.fullmatch(text)
    if not match or not has_verb(match[1].split()) or not has_verb(match[2].split()[:8]):
        return None
    if not re.match(r"(?:the|an?|it|he|she|they|its|his|her|their|this|there|[A-Z])\b", match[2]):
        return None
    return f"{match[1]}. {capital(match[2])}."


def _contrast(text: str) -> str | None:
    match = _CONTRAST.fullmatch(text)
    if not match or not has_verb(match[1].split()) or not has_verb(match[2].split()[:8]):
        return None
    if re.search(r"\b(?:that|which|who|said|says)\b", match[1]):  # the contrast may be within what was said
        return None
    return f"{match[1]}. {capital(match[2])}."


def _including(text: str) -> str | None:
    """ "Dozens of roads were closed, including two in the town." -> "... closed. They included two in the town." """
    match = _INCLUDING.fullmatch(text)
    if not match or not _COUNTED.match(match[1]):
        return None
    if not re.search(r"\b(?:was|were|had been|have been) [a-z]+(?:ed|en|t|n)\Z", match[1]):
        return None
    return f"{match[1]}. They included {match[2]}."


def _cause_to_end(text: str) -> str | None:
    match = _CAUSE_FRONT.fullmatch(text)
    if not match or has_verb(match[2].split()) or _SUBORDINATE.search(match[3]) or _PRONOUN.search(match[3]):
        return None
    return f"{capital(match[3])} {match[1].lower()} {match[2]}."


def _identity(text: str) -> str | None:
    """ "Ana Ruiz was the director of the museum." -> "The director of the museum was Ana Ruiz." """
    match = _IDENTITY.fullmatch(text)
    if not match or _PERSON.match(match["one"] or match["name"]) or (match["one"] or match["name"]).isupper():
        return None
    if match["one"]:
        if _SUBORDINATE.search(match["other"]) or has_verb(match["other"].split()) or _TIMES.search(match["other"]):
            return None
        if is_common(match["one"]):
            return None
        return f"{capital(match['other'])} {match['be']} {small(match['one'])}."
    if _SUBORDINATE.search(match["before"]) or has_verb(match["before"].split()):
        return None
    return f"{match['name']} {match['link']} {small(match['before'])}."


def _place_first(text: str) -> str | None:
    """ "The game was released in Japan by Sega." -> "In Japan, the game was released by Sega." """
    match = _PLACED.fullmatch(text)
    if not match or not _is_subject(match["who"]) or has_verb(match["where"].split()[1:]):
        return None
    if _TIMES.search(match["where"]) or _POSSESSIVE.search(match["where"]) or _NO_PLACE.search(match["where"]):
        return None
    return f"{capital(match['where'])}, {small(match['who'])} {match['did']}{match['rest'] or ''}."


def _purpose_first(text: str) -> str | None:
    """ "The fund was set up to help farmers." -> "To help farmers, the fund was set up." """
    match = _PURPOSE.fullmatch(text)
    if not match or not _is_subject(match["who"]):
        return None
    verb = match["why"].split()[1]
    if verb not in getLemma(verb, upos="VERB") or re.search(r"\b(?:plans?|according|efforts?|attempts?|way)\Z", match["did"]):
        return None
    if re.search(r"\b(?:its|his|her|their|and|or|but)\b", match["why"]):
        return None
    return f"{capital(match['why'])}, {small(match['who'])} {match['did']}."


def _two_deeds(text: str) -> str | None:
    """ "The council approved the plan in May and rejected it in June." -> "... in May. The council rejected it in June." """
    match = _DEEDS.fullmatch(text)
    if not match or len(text.split()) < 16 or text.count(" and ") > 1:
        return None
    n = _subject_words(match[1])
    words = match[1].split()
    subject = " ".join(words[:n])
    if not n or not _is_subject(subject) or re.search(r"\b(?:that|which|who|to|between|both|said|if|when)\b", match[1]):
        return None
    # "was sorted and stored": the second is a participle, which needs the first's auxiliary
    if re.match(r"[a-z]+ed\b", match[2]) and re.search(r"\b(?:was|were|is|are|been|be|has|have|had)\b", " ".join(words[n:])):
        return None
    if not re.fullmatch(rf"The (?:[a-z-]+ ){{0,2}}[a-z-]+|{_NAME}", subject) or is_common(subject):
        return None
    return f"{match[1]}. {subject} {match[2]}."


def _is_subject(phrase: str) -> bool:
    opens = _PERSON.match(phrase) or re.match(rf"{_PREPOSITION}\b", phrase, re.I)
    return not opens and not has_verb(phrase.split()) and not _SUBORDINATE.search(phrase)


def _subject_words(clause: str) -> int:
    """How many words the subject of a clause has; 0 where that is not certain."""
    words = clause.split()
    for n in range(1, min(len(words), 8)):
        if words[n - 1].endswith(",") or _SUBORDINATE.fullmatch(words[n]) or words[n] in ("as", "than", "of", "by"):
            return 0
        if is_verb(words, n) and not (words[n].endswith("ed") and has_verb(words[n + 1 :][:8])):
            # "Silkunas gradually made": the adverb belongs to the verb
            return n - 1 if (n > 1 and words[n - 1] in _ADVERBS) or words[n - 1].endswith("ly") else n
    return 0


def _is_participle(word: str) -> bool:
    if word in _IRREGULAR:
        return True
    return word.endswith("ed") and bool(getLemma(word, upos="VERB")) and len(word) > 4


def _is_plural(phrase: str) -> bool:
    """By its head: the last word before "of" or "for"."""
    if re.match(r"(?:an?|another) ", phrase, re.I):
        return False
    head = re.split(r" (?:of|for) ", phrase)[0].split()[-1]
    return head in _PLURALS or (bool(re.search(r"(?<![sui’'])s\Z", head)) and not head[:1].isupper()) or " and " in phrase


STEPS: tuple[Callable[[str], str | None], ...] = (
    _passive,
    _participle_inside,
    _participle_first,
    _which_apart,
    _who_apart,
    _name_behind,
    _semicolon,
    _contrast,
    _including,
    _cause_to_end,
    _identity,
    _place_first,
    _purpose_first,
    _two_deeds,
)

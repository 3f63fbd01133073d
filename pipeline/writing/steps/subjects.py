"""Steps that give a sentence another subject (active and passive, "A was B" and "B was A"), or put a person's age or office
before the name."""

from __future__ import annotations

import re
from pathlib import Path

from lemminflect import getInflection, getLemma

from pipeline.choosing.verbs import has_verb
from pipeline.writing.letter_case import capital, small
from pipeline.writing.steps.sentence_parts import (
    CLAUSE_LINK,
    CLAUSE_OR_SPEECH,
    DATE,
    NAME,
    PERSON,
    PHRASE,
    PLAIN,
    PREPOSITION,
    PRONOUN_OR_LINK,
    TIMES,
    is_plural,
    is_subject,
)

_AGED = re.compile(r"(?<![\w.])([A-Z][\w’'-]+(?: [A-Z][\w’'-]+){1,2}), (?:aged )?(\d{1,2}),")
_TITLED = re.compile(r"([A-Z][\w’'-]+(?: [A-Z][\w.’'-]*){1,3}), ((?:the )?[a-z][^,;:“”\"]{5,60}), ([^;:]{8,})")
_NO_OFFICE = re.compile(
    r"(?:[\w-]+ed|[\w-]+ing|born|known|or|nor|and|perhaps|probably|while|shown|another|such|its|his|her|their|co-?founder|"
    rf"\w+er (?:to|than)|{PREPOSITION}|of|about|an?|aka|alias|also|"
    r"formerly|now|then|however|therefore|"
    r"though|too|meanwhile|instead|moreover|who|which|whose|including|like|once|one|both|all|"
    r"front|back|left|right|cent(?:er|re)|"
    r"not|only|(?:the )?(?:\w+ )?(?:daughters?|sons?|brothers?|sisters?|wife|husband|mother|father|members?|authors?|natives?|"
    r"graduates?|students?|fans?))\b|.* and "
)
"""No office that one person has: "aka Mr Abt", "daughter of a senator"."""
_SEVERAL = re.compile(r"(?:The|A|Neither|Either|Some|Many|Both|All|Several|Most|Few)\b")
"""No name of one person opens so."""
_DID = (
    r"(?:approved|announced|opened|closed|adopted|launched|established|founded|created|designed|directed|produced|released|"
    r"published|unveiled|rejected|accepted|introduced|signed|issued|imposed|passed|ordered|appointed|elected|nominated|"
    r"replaced|destroyed|damaged|killed|injured|arrested|rescued|evacuated|defeated|recorded|reported|received|awarded|"
    r"organi[sz]ed|hosted|completed|developed|discovered|described|attended|supported|opposed|criticised|criticized|praised|"
    r"flooded|repaired|restored|acquired|purchased|operated|owned|performed|painted|edited|translated|deployed|"
    r"displaced|seized|suspended|cancelled|canceled|postponed|declared|proposed|promised|granted|offered|filed)"
)
_WHEN = rf"(?P<when>{DATE})"
_ACTIVE = re.compile(
    rf"(?P<who>(?:The |An? )?[A-Z][^,;:“”\"]{{2,60}}?) (?P<did>{_DID}) "
    r"(?P<what>(?:an?|another|two|three|four|five|six|seven|eight|nine|ten|several|many|\d[\d,.]*) [^,;:“”\"]{3,90}?)"
    rf"(?: {_WHEN})?\."
)
_PASSIVE = re.compile(
    rf"(?P<what>(?:The |An? )?[A-Z][^,;:“”\"]{{2,60}}?) (?:was|were) (?P<did>{_DID}) by "
    rf"(?P<who>(?:the |an? )?[A-Z\w][^,;:“”\"]{{2,60}}?)(?P<when> {DATE})?\."
)
_NOUN_PHRASE = (
    r"(?:the|an?|its|his|her|their|another|two|three|four|five|several|many|\d[\d,]*) (?:[a-z][a-z-]+ ){0,3}[a-z][a-z-]+"
)
_OBJECT = rf"(?:{_NOUN_PHRASE}|{NAME})(?: (?:of|for) (?:{_NOUN_PHRASE}|{NAME}|[a-z]+))?"
TRANSITIVE_FILE = Path(__file__).with_name("transitive_verbs.txt")
_TRANSITIVE = frozenset(TRANSITIVE_FILE.read_text(encoding="utf-8").split())
"""Verbs whose object may become the subject. Those that stand in idioms ("took place") are left out."""
_MODAL = "will|would|could|may|might|can|must|should"
_ANY_ACTIVE = re.compile(
    rf"(?P<who>(?:[Tt]he |[Aa]n? )?{PHRASE}{{0,6}}?) (?:(?P<modal>{_MODAL}) )?(?P<verb>[a-z]+) (?P<what>{_OBJECT})"
    rf"(?P<rest>(?: {PREPOSITION} {PLAIN}+)?)\."
)
_DISTANCE = re.compile(
    r"\S+ (?:\w+ )?(?:blocks?|miles?|kilomet\w+|met(?:er|re)s?|feet|yards?|days?|weeks?|months?|years?|hours?)\b"
)
"""How far or how long, and no object: "The shop opened four blocks away"."""
_TWO_OBJECTS = frozenset(
    ("grant", "give", "offer", "award", "send", "pay", "show", "teach", "lend", "deny", "bring", "deal", "provide", "supply")
)
_AS = frozenset(
    ("appoint", "name", "elect", "choose", "select", "describe", "use", "list", "designate", "recognise", "recognize")
)
"""Of these "as" tells what the object became."""
_IDENTITY = re.compile(
    rf"(?P<one>{NAME}) (?P<be>was|is) (?P<other>the (?!same|first to|only one){PLAIN}{{6,80}})\.|"
    rf"(?P<before>The [a-z]{PLAIN}{{6,70}}) (?P<link>was|is) (?P<name>{NAME})\."
)


def passive_of_listed(text: str) -> str | None:
    """ "The government approved an aid package." -> "An aid package was approved by the government."

    Only where the object shows its number, and with verbs whose participle is their past.
    """
    match = _ACTIVE.fullmatch(text)
    if (
        not match
        or has_verb(match["who"].split())
        or CLAUSE_OR_SPEECH.search(match["what"])
        or re.search(r"\b(?:by|into|to|about|against)\b", match["what"])  # its own tail, or the deed's
        or re.search(
            rf"\bthe (?:{TIMES.pattern}) (?:the|its|his|her|their|after|before|that|when)\b", match["what"]
        )  # "the night her tour began"
        or PRONOUN_OR_LINK.search(match["who"])
        or not is_subject(match["who"])
        or _DISTANCE.match(match["what"])
        or re.search(rf"{DATE}|\b(?:his|her|their|its)\b|\bon the \w+ day\b", match["what"])
        or has_verb(match["what"].split()[1:])
    ):
        return None
    one = bool(re.match(r"(?:an?|one|another) ", match["what"]))
    if not one and re.match(r"1(?:\.0)? ", match["what"]):
        return None
    when = f" {match['when']}" if match["when"] else ""
    return f"{capital(match['what'])} {'was' if one else 'were'} {match['did']} by {small(match['who'])}{when}."


def active(text: str) -> str | None:
    """ "The bridge was designed by Jon Abt." -> "Jon Abt designed the bridge." """
    match = _PASSIVE.fullmatch(text)
    if not match or has_verb(match["what"].split()) or has_verb(match["who"].split()):
        return None
    return f"{capital(match['who'])} {match['did']} {small(match['what'])}{match['when'] or ''}."


def passive(text: str) -> str | None:
    """ "The studio will release Good Boy in theaters." -> "Good Boy will be released by the studio in theaters." """
    match = _ANY_ACTIVE.fullmatch(text)
    if not match:
        return None
    lemma = (getLemma(match["verb"], upos="VERB") or ("",))[0]
    who, what = match["who"], match["what"]
    tense_fits = match["verb"] == lemma if match["modal"] else match["verb"] in getInflection(lemma, tag="VBD")
    if lemma not in _TRANSITIVE or not tense_fits or _DISTANCE.match(what) or TIMES.search(what) or has_verb(what.split()[1:]):
        return None
    if CLAUSE_LINK.search(what) or not is_subject(who) or lemma in _TWO_OBJECTS:
        return None
    if re.search(
        r"(?:\b(?!family)[a-z]+ly|\b(?:instead|also|later|then|soon|again|even|both|all))\Z", who
    ):  # an adverb of the verb
        return None
    rest = match["rest"]
    # "attended the school in Osmere": a place, or what belongs to the object, would be the doer's
    kept = not rest or re.fullmatch(NAME, what) or re.match(rf" (?:{DATE}|after|during|before|as)\b", rest)
    if not kept or re.match(r"Only\b|(?!King\b|Beijing\b|Boeing\b)[A-Z][a-z]+ing (?:the|an?|in|with|of) ", who):
        return None
    if " by " in rest or (rest.startswith(" as ") and lemma not in _AS) or (rest.startswith(" from ") and " of " in what):
        return None
    if re.search(r"\b(?:its|his|her|their|he|she|it|they|himself|itself)\b", f"{what}{match['rest']}"):
        return None  # the possessor would come after what it has
    if match["rest"].startswith((" to ", " until ", " since ", " for ", " between ", " about ")) or re.search(
        r"\b(?:and|or|but)\b", match["rest"]
    ):
        return None  # a second deed, which the new subject did not do
    if what.split()[-1].endswith(("ly", "ing")) or re.match(rf"(?:that|to|how|what|whether|{PREPOSITION})\b", what):
        return None
    participle = (getInflection(lemma, tag="VBN") or ("",))[0]
    be = f"{match['modal']} be" if match["modal"] else ("were" if is_plural(what) else "was")
    return f"{capital(what)} {be} {participle} by {small(who)}{match['rest']}."


def identity(text: str) -> str | None:
    """ "Ana Ruiz was the director of the museum." -> "The director of the museum was Ana Ruiz." """
    match = _IDENTITY.fullmatch(text)
    if not match or re.search(r"\b(?:named|called|known|titled)\b", text):  # "was named Ellis" says another thing
        return None
    if PERSON.match(match["one"] or match["name"]) or (match["one"] or match["name"]).isupper():
        return None
    if re.search(r"\b(?:of|for) an? |\b(?:too|also|either)\b|(?i:\b(\w+ \w+) \1\b)", text):
        return None
    if re.search(r" and ", match["one"] or match["name"]):
        return None
    if match["one"]:
        if CLAUSE_LINK.search(match["other"]) or has_verb(match["other"].split()) or TIMES.search(match["other"]):
            return None
        if " " not in match["one"] or match["one"].startswith("The "):  # a word of the language, or a title
            return None
        return f"{capital(match['other'])} {match['be']} {small(match['one'])}."
    if CLAUSE_LINK.search(match["before"]) or has_verb(match["before"].split()):
        return None
    return f"{match['name']} {match['link']} {small(match['before'])}."


def aged(text: str) -> str | None:
    """ "Jon Abt, 61, left the town." -> "The 61-year-old Jon Abt left the town." """
    match = _AGED.search(text)
    if not match:
        return None
    before = text[: match.start()]
    article = "The" if not before.strip() else "the"
    rest = text[match.end() :].lstrip()
    return f"{before}{article} {match[2]}-year-old {match[1]} {rest}"


def title_first(text: str) -> str | None:
    """ "Sefa Morrin, director of the authority, said ..." -> "The director of the authority, Sefa Morrin, said ..." """
    match = _TITLED.fullmatch(text)
    if not match or has_verb(match[2].split()) or not has_verb(match[3].split()[:3]) or _SEVERAL.match(match[1]):
        return None
    if _NO_OFFICE.match(match[2]) or re.match(r"(?:who|which|whose)\b", match[3]):
        return None
    if match[2].startswith("the "):
        return f"{capital(match[2])}, {match[1]}, {match[3]}"
    # One has a title of something; a "steel magnate" or a "former head" is one of several.
    if not re.search(r" (?:of|at|for|in) ", match[2]) or re.match(r"(?:former|ex-)", match[2]):
        return None
    return f"The {match[2]}, {match[1]}, {match[3]}"

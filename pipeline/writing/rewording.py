"""Whether sentences say what their facts say: nothing added, nothing lost that matters, and not in the facts' own words.

Checks by rule, in both directions. They do not look for good English; they look for what small language models get wrong when
they put a fact into other words: a number that now counts something else, a hedge or a negation gone, a name nobody gave.
The benchmark's judge is no part of this: a writer that filtered itself by the judge would be graded by its own ruler.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from data.sentences import split_sentences
from pipeline.choosing.candidates import has_personal_words
from pipeline.choosing.common_words import is_common
from pipeline.choosing.facts import KEPT_SENTENCES, figures, with_digits
from pipeline.choosing.gate import VERBS, has_verb, verb_groups
from pipeline.retrieval import terms
from pipeline.writing.citing import is_own_talk
from pipeline.writing.steps import is_spliced
from pipeline.writing.synonyms import may_stand_for
from pipeline.writing.wordings import listed_words, places

SHORT_RUN = 5
"""Words in a row from which a run counts as copied, as the benchmark's `copied_share` counts them."""
MOST_COPIED_RUN = 11
"""Words in a row that a sentence may share with a fact, names, numbers and quotations apart."""
LEAST_KEPT = 0.5
"""Share of the facts' own words, figures and names apart, that sentences must keep or say otherwise (each new word stands for
one that is gone)."""
MOST_NEW_WORDS = 0.4
"""Share of a text's words that are in no fact."""
LONGER = 1.6
"""Times the facts' length from which a text says more than they do."""

_WORD = re.compile(r"[^\W_]+(?:[.,:’'&/-][^\W_]+)*[%]?")
_QUOTED = re.compile(r"“[^“”]*”|«[^«»]*»|(?<!\w)\"[^\"]*\"(?!\w)")
_ENDED = re.compile(r"[.!?][\"'”’)\]]*\Z")

_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|failed to|unable to|refus\w+|den(?:y|ies|ied)|lack\w*|"
    r"un(?:hurt|harmed|injured|clear|known|damaged|likely|changed|opposed|affected)|no one|barred|banned|prevent\w*|rejected|"
    r"impossible|absen\w+)\b|n['’]t\b",
    re.I,
)
_PLANNED = (
    r"expect\w*|plan\w*|(?:is|are|was|were) to|due to|set to|scheduled|could|(?-i:may)|might|likely|intend\w*|"
    r"perhaps|maybe|hop(?:e|es|ed|ing)|propos\w+|aim\w*|possibl[ey]|potential\w*"
)
_HEDGES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.I))
    for name, pattern in (
        ("at least", r"\b(?:at least|no (?:fewer|less) than|a minimum of|(?<!no )more than|or more|over(?= \d))\b"),
        (
            "at most",
            r"\b(?:at most|up to|no more than|a maximum of|as (?:many|much|high|long|far) as|fewer than|less than|"
            r"under(?= \d))\b",
        ),
        (
            "about",
            r"\b(?:(?:about|around)(?! (?:the|its|his|her|their|this|these|that|how|what|who|whether|an?(?! (?:dozen|"
            r"hundred|third|half|quarter|year|month|week|day|mile|million)))\b)|some(?= \d)|nearly|almost|roughly|"
            r"approximately|an estimated|estimated|close to|more or less|just (?:over|under))\b",
        ),
        (
            "expected",
            rf"\b(?:{_PLANNED}|will|would|project(?:ed|ion)|forecast\w*|going to|can|predict\w*|shall|should|"
            r"wish\w*|promis\w+|vow\w*|pledg\w+|call(?:ed|s|ing)? (?:for|on)|urg\w+|ask\w*|want\w*|seek\w*|sought|propose)\b",
        ),
        ("planned", rf"\b(?:{_PLANNED})\b"),  # "will" alone is more certain than that
        (
            "alleged",
            r"\b(?:alleg\w+|suspect\w*|accus\w+|reported(?:ly)?|apparent\w*|believed|claim\w*|purported\w*|charged|"
            r"presum\w+|thought to|rumou?r\w*|said to)\b",
        ),
        (
            "some of",
            r"\b(?:some|part|parts|most|many|several|half|majority|few|a number) of\b|"
            r"\b(?:partly|partially|mostly|mainly|chiefly|primarily|largely)\b",
        ),
        ("one of", r"\b(?:one of|among) (?:the|its|his|her|their)\b"),
        ("including", r"\b(?:includ\w+|among (?:them|those|the)|such as|of whom|of which|counting)\b"),
        ("each", r"\b(?:each|every|both|(?<!after )(?<!at )all(?! (?:over|around|across|along|through)\b))\b"),
        ("only", r"\b(?:only|just|solely|sole|alone)\b"),
        ("first", r"\b(?:first|last|second|third|largest|biggest|highest|lowest|oldest|youngest|worst|best|deadliest|most)\b"),
    )
)
"""What must neither go nor come: (what it says, the words that say it)."""
_MAY_COME = frozenset({"alleged", "each", "planned", "one of", "including", "some of", "first"})
"""Of these only a loss is certain to be wrong: "reported" and "among them" are also ways to say who said it, and how."""
_ATTRIBUTION = re.compile(
    r"\b(?:said|says|according to(?! (?:its|his|her|their|whether|how)\b)|"
    r"told|stated|announced|reported|wrote|argued|claimed|described|called|confirmed|added|warned|"
    r"noted|estimated|believed?|say|testified|insisted|explained|suggested|acknowledged|admitted|declared|alleged\w*|commented|"
    r"expressed|emphasi[sz]ed|stressed|revealed|asserted|accused|thought|considered|praised|criticised|criticized|condemned)\b",
    re.I,
)
_SOURCED = re.compile(
    rf"{_ATTRIBUTION.pattern}|\b(?:recorded|measured|found|showed|issued|published|posted|data|figures)\b", re.I
)
"""What may become "according to"."""
_OPENERS = (
    "the a an in on at by of to for from with as after before during since while when where although though despite because if "
    "however it its he she his her they their this that these those there some many most several both each all one two three "
    "four five six seven eight nine ten eleven twelve among according following under over about around between within "
    "without until upon through throughout more less other others another no not only once also later earlier then thus "
    "meanwhile additionally subsequently initially officials police authorities people residents local national"
)
_OPENING_WORDS = frozenset(_OPENERS.split())
_PRONOUNS = (re.compile(r"\b(?:he|him|his|himself)\b", re.I), re.compile(r"\b(?:she|her|hers|herself)\b", re.I))
"""Only where a fact says it is known which of the two it is."""
_CALENDAR = frozenset(name.lower() for name in (*calendar.month_name, *calendar.day_name) if name)


@dataclass(frozen=True, slots=True)
class Finding:
    """What comparing a text with its facts found. `faults` make it unusable, each in words for the reader of a report.

    `lost` are names and figures that the text leaves out (no fault where a clause was left out whole, but a loss).
    `copied` is the share of its words in runs of five or more of one fact, quotations apart; `longest_run` counts the words of
    the longest one that belong to no name or number, for those cannot be said otherwise.
    `new_words` is the share of its words that no fact has, by their stems, and `kept` the share of the facts' that it has.
    """

    faults: tuple[str, ...]
    lost: tuple[str, ...]
    copied: float
    longest_run: int
    new_words: float
    kept: float

    @property
    def usable(self) -> bool:
        return not self.faults


def compare(text: str, facts: Sequence[str], title: str, also: Sequence[str] = ()) -> Finding:
    """Compare a text of one sentence or more with the facts that it is to say.

    Args:
        facts: what the text must say, and may say.
        title: of the article; its names and numbers may be used as well.
        also: the same facts in the words of other pages: what they hold is not added.
    """
    known = " ".join((*facts, title, *also))
    said = " ".join(facts)
    faults = [*_form_faults(text, facts), *_grammar_faults(text, known), *_added(text, known), *_changed(text, facts)]
    plain, plain_facts = text.lower(), said.lower()
    if gone := [who for who in _AGENT.findall(plain_facts) if plain.count(who) < plain_facts.count(who)]:
        faults.append(f"lost who did it: {', '.join(gone)}")
    new = _new_words(text, known)
    words = max(len(_content(text)), 1)
    if len(new) / words > MOST_NEW_WORDS:
        faults.append(f"many words that no fact has: {', '.join(sorted(new)[:6])}")
    lost = _lost(text, said)
    if lost_figures := [x for x in lost if any(c.isdigit() for c in x)]:
        faults.append(f"lost: {', '.join(lost_figures)}")
    kept = _kept_share(text, said, len(new))
    if kept < LEAST_KEPT:
        faults.append(f"it says {kept:.0%} of its facts only")
    copied, longest = copied_runs(text, (*facts, *also))
    return Finding(tuple(faults), tuple(lost), copied, longest, len(new) / words, kept)


def own_words(text: str, facts: Sequence[str]) -> tuple[str, ...]:
    """Words of a text that no fact has, nor the wordings that may stand for those of the facts (`pipeline.writing.wordings`),
    and that are no synonyms of a word that the text leaves out.

    A small model that says "the refugee camp" where its fact says "the site" makes it up; a large one may know.
    """
    others = " ".join(other for fact in facts for place in places(fact) for other in place[1:])
    held = _content(f"{' '.join(facts)} {others}")
    words = (word for word in _WORD.findall(text) if word.islower() and word not in _FREE_WORDS)
    own = [word for word in words if not _content(word) <= held]
    said = _content(text)
    lost = [w for fact in facts for w in _WORD.findall(fact) if own and w.islower() and not _content(w) <= said]
    return tuple(word for word in own if word in _LOOSE or not any(may_stand_for(word, one) for one in lost))


_LOOSE = frozenset((
    "like", "pretty", "fairly", "quite", "rather", "well", "back", "over", "right", "just", "see", "get", "hold", "give",
    "gives", "gave", "given", "accused", "insure",
))  # fmt: skip
"""Of so many meanings that WordNet's are no guide."""
_FREE_WORDS = frozenset((
    "himself", "herself", "itself", "themselves", "according", "which", "who", "whose", "whom", "where", "been", "being",
    "had", "was", "were",
))  # fmt: skip


# --- form ----------------------------------------------------------------------------------------------------------------


def _triples(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(zip(words, words[1:], words[2:], strict=False))


_FROM_TO_ITSELF = re.compile(r"\bfrom ([A-Z]\w+) to \1\b")
_MIXED_RANGE = re.compile(r"\d ?[–-] ?(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve)\b", re.I)


def _form_faults(text: str, facts: Sequence[str]) -> list[str]:
    faults = []
    if match := _MIXED_RANGE.search(text):
        faults.append(f"broken English: {match.group()!r}")
    words = text.split()
    if not _ENDED.search(text):
        faults.append("it does not end as a sentence does")
    if len(words) < 4:
        faults.append("too short for a sentence")
    if len(words) > LONGER * sum(len(f.split()) for f in facts) + 6:
        faults.append("longer than its facts")
    said = " ".join(facts)
    spelled = _plain(text).split()
    known = _triples(_plain(" ".join(facts)).split())
    # A sentence that was divided may open with the name that the one before it ends with.
    opened = Counter(tuple(_plain(sentence).split()[:3]) for sentence in split_sentences(text)[1:])
    if any(n - opened[triple] > max(known[triple], 1) for triple, n in _triples(spelled).items()):
        faults.append("it repeats itself")
    elif _named_again(text, said):
        faults.append("it says a name twice")
    elif _FROM_TO_ITSELF.search(text) or any(
        text.count(number) > max(said.count(number), 1) for number in set(re.findall(r"\d[\d,.]*\d|\d{2,}", text))
    ):
        faults.append("it says a name or a number twice")
    if is_own_talk(text) or _TALK.search(text):
        faults.append("it speaks of the writing, not of the subject")
    if has_personal_words(text):
        faults.append("first or second person")
    if not text[:1].isupper() and not text[:1].isdigit() and text[:1] not in "\"“'‘":
        faults.append("it begins inside of a sentence")
    if sum(text.count(c) for c in "“") != sum(text.count(c) for c in "”") or text.count('"') % 2:
        faults.append("a quotation that is not closed")
    marks = [q.strip('"“”«» .,') for q in _QUOTED.findall(text)]
    # Words that are quoted nowhere are no quotation: “signs of” and “vanity” for signs of “insecurity” and “vanity”.
    quoted = _plain(" ".join(_QUOTED.findall(said))) or _plain(said)
    if any(q and _plain(q) not in quoted for q in marks):
        faults.append("words in quotation marks that no fact quotes")
    if len(words) > 12 and not text.isascii() and sum(c.isascii() for c in text) < 0.8 * len(text):
        faults.append("another language")
    return faults


def _named_again(text: str, said: str) -> bool:
    """Whether a name stands more often in one sentence than in the facts: "The Shreek, the creature, the Shreek, came"."""
    held = Counter(word for word in _WORD.findall(said) if word[:1].isupper())
    return any(
        n > max(held[word], 1)
        for sentence in split_sentences(text)
        for word, n in Counter(word for word in _WORD.findall(sentence) if word[:1].isupper() and len(word) > 3).items()
    )


_TALK = re.compile(
    r"\b(?:the|this|these|following|given|above|provided) (?:article|section|passages?|evidence|facts?|topic|text|sentences?|"
    r"statements?|paragraph|summary|information)\b (?:is|are|was|were|has|have|had|says?|states?|describes?|provides?|"
    r"mentions?|"
    r"discusses|contains?|above|below|does|do|did|about|of|on)\b|^(?:Topic|Facts?|Here|Note|Rewritten|Summary|Answer)\b\s?:?",
    re.I,
)


# --- grammar -------------------------------------------------------------------------------------------------------------


_AGENT = re.compile(r"\w+(?:ed|en|ne|ge|t) by (?:the |a |an )?([a-z]{4,})(?=[ ,.])")
"""Who something was done by: "killed by soldiers", "a charge by police"."""
_WRONG_ARTICLE = re.compile(
    r"\b[Aa] [AEIOaeio](?!ne\b|nce\b|u|wn)\w+|\b[Aa]n (?![aeiouhAEIOUH\d“\"'‘]|[A-Z]\b|[FLMNRSX][A-Z])\w+|"
    r"\b[Aa]n (?:uni(?!n|m)|use|eu|one\b)\w*"
)
"""Its vowel is another one since the word behind it was changed."""


def _grammar_faults(text: str, known: str) -> list[str]:
    """The slips that small models make when they turn sentences round; a parser would find more."""
    faults = []
    sentences = split_sentences(text)
    for n, sentence in enumerate(sentences):
        words = _WORD.findall(_QUOTED.sub(" Title ", sentence))  # “Lux” sees the Doctor: a title may be the subject
        if not has_verb(words):
            faults.append(f"no verb: {sentence[:40]!r}")
        elif (match := _RELATIVE_ALONE.search(sentence)) and verb_groups(match[1]) == 1:
            faults.append(f"no main verb: {sentence[:40]!r}")
        if words and _opens_with_verb(words):
            faults.append(f"no subject: {sentence[:40]!r}")
        if is_spliced(sentence):
            faults.append(f"two sentences with a comma between them: {sentence[:40]!r}")
        if n == 0 and _LEANING.match(sentence):
            faults.append(f"it leans on a sentence before it: {sentence[:40]!r}")
    if broken := [match.group() for match in _BROKEN.finditer(text) if match.group() not in known]:
        faults.append(f"broken English: {broken[0]!r}")
    held = _name_words(known)
    strange = [
        word
        for word in _WORD.findall(text)
        if word.islower()
        and word.isalpha()
        and len(word) > 3
        and _bare(word) not in held
        and not is_common(word)
        and _stem_of(word) not in held
        and word not in listed_words()
    ]
    # "Missy bevered his marriage": a verb made of a name has the name's stem.
    small = {_stem_of(word) for word in _WORD.findall(known) if word.islower()}
    plain = set(known.lower().split())
    strange += [
        word
        for word in _WORD.findall(text)
        if word.islower()
        and len(word) > 3
        and not is_common(word)
        and word not in plain
        and _stem_of(word) not in small
        and _stem_of(word) in held
        and word not in strange
    ]
    in_text, in_known = (Counter(_stem_of(w) for w in _WORD.findall(t) if w.islower() and len(w) > 4) for t in (text, known))
    # A sentence that was divided names its subject again: "The plan was for the bank. The bank had asked for it."
    again = Counter(_stem_of(w) for s in sentences[1:] for w in _WORD.findall(s)[:4])
    if twice := [stem for stem, n in in_text.items() if n - again[stem] > max(in_known[stem], 1)]:
        # "a charge by the demonstrators on the demonstrators": a word has taken another one's place.
        faults.append(f"said more often than its facts do: {', '.join(twice)}")
    if (match := _WRONG_ARTICLE.search(_QUOTED.sub(" ", text))) and match.group() not in known:
        faults.append(f"broken English: {match.group()!r}")
    if strange:
        faults.append(f"no common word, and in no fact: {', '.join(strange)}")
    return faults


def _opens_with_verb(words: Sequence[str]) -> bool:
    first = words[0].lower()
    if first not in VERBS or first in _MAY_OPEN:
        return False
    return len(words) < 2 or words[1].lower() not in _AFTER_PARTICIPLE


_MAY_OPEN = frozenset(("born", "made", "will", "may", "can", "have", "left", "is", "are", "was", "were"))
_AFTER_PARTICIPLE = frozenset(("by", "in", "as", "to", "with", "from", "on", "at", "between", "for", "near", "after", "of"))
_LEANING = re.compile(r"(?:They|It was (?:also|then)|This|These|That|Those|He|She|His|Her|Their|Its|Also|Both)\b")
_RELATIVE_ALONE = re.compile(r"(?:\A|, )(?:an?|the) (?:\w+ ){1,4}?that ((?:[^,]|,\d)+), and ", re.I)
"""A subject with a clause of its own and no verb: "A blade that should have been used, and that is why"."""
_MONTH = "|".join(name for name in calendar.month_name if name)
_BROKEN = re.compile(
    r"\bIt was (?![^.;]{0,60}\b(?:that|who|which|when|where|after|before)\b)[^,.;]{3,60} (?:was|were) |\bwith \d{1,2}:\d{2}\b|"
    r"\b(\w+) \1\b(?<!had had)(?<!that that)|"
    r"\b(?:of|in|on|at|by|for|from|with|to|the|an?|and|or|is|was|were|had) ?[.,;](?=\s|\Z)|"
    r"\b(?:the|an?) (?:of|in|on|at|by|for|and|or|was|were|is|are|had|to|that|which|who|the|an?)\b|"
    r"\bwith (?:[\w’'-]+,? ){1,6}?(?:lost|had|were|was|did|went|came|has|is|are)\b|"
    r"\b(?:in|of|at|by|from) (?:on|at|of|was|were|had|is)\b|\bon (?:on|in|at|of|was|were)\b|"
    r"\b[Tt]here (?:was|were) (?:[\w’'-]+ ){1,6}(?:was|were)\b|"
    r"\b(?:was|were|is|are|been|being|has|have|had) (?:became|began|went|took|gave|saw|wrote|chose|fell|drove|broke|"
    r"spoke|ate|drew|flew|grew|knew|rose|shook|stole|threw|wore|swam|sang|sank|rang|was|were|did)\b|"
    r"\b(?:was|were) (?:was|were|had|is|did)\b|\b(?:to|would|could|will) (?:was|were|had been|is)\b|"
    rf"\b(?:[Ii]n|[Aa]t) \d{{1,2}} (?:{_MONTH})\b|\b[Aa]t (?:{_MONTH})\b|\b[Oo]n (?:{_MONTH})(?! \d)\b|"
    rf"\b[Ii]n (?:{_MONTH}) \d{{1,2}}\b(?!,? \d)|\bthat (?:the|an?|his|her|their) \w+ to [a-z]+\b|"
    r"\b(?:[Tt]hem|[Hh]im|[Uu]s) (?:was|were|is|are|had)\b|^Since \d{4}, [^,]*\b(?:was|were)\b|"
    r"\b(?:says|said) that [“\"][a-z]+s?[”\"]|"
    r"\bAccording to [^,]{1,80}\b(?:said|stated)\b|\s,|,,|\(\s*\)",
)


# --- what was added ------------------------------------------------------------------------------------------------------


def _acts_instead(text: str, known: str) -> list[str]:
    """Who acts in the text alone, he or she, where the facts know both.

    "She drew it away from him" and "he drew it away from her" have the same pronouns.
    """
    if "who" in known or not all(pronouns.search(known) for pronouns in _PRONOUNS):
        return []
    acting = [set(re.findall(r"\b(?:he|she)\b", one.lower())) for one in (text, known)]
    return sorted(acting[0] - acting[1])


def _added(text: str, known: str) -> list[str]:
    faults = []
    held = figures(known, as_evidence=True)
    if new := sorted(figures(text) - held):
        faults.append(f"added: {', '.join(new)}")
    words = _name_words(known)
    if strange := [name for name in proper_words(text) if _bare(name) not in words]:
        faults.append(f"a name that no fact has: {', '.join(strange)}")
    faults += [
        f"a pronoun of another kind: {match.group()}"
        for pronouns in _PRONOUNS
        if (match := pronouns.search(text)) and not pronouns.search(known)
    ]
    faults += [f"another one does it: {who}" for who in _acts_instead(text, known)]
    if _ATTRIBUTION.search(text) and not _SOURCED.search(known) and re.search(r"\baccording to\b", text, re.I):
        faults.append("it names a source that no fact names")
    return faults


def proper_words(text: str) -> list[str]:
    """Capitalised words that are names by their place: inside a sentence, or opening one without being a common word."""
    found = []
    for sentence in split_sentences(text):
        for n, match in enumerate(_WORD.finditer(sentence)):
            word = match.group()
            if not word[0].isupper() or _bare(word) in _CALENDAR:
                continue
            opens = n == 0 or sentence[: match.start()].rstrip().endswith(("“", '"', ":"))
            if not (opens and _bare(word) in _OPENING_WORDS):
                found.append(word)
    return found


@lru_cache(maxsize=1 << 16)  # the same words, over and over
def _bare(word: str) -> str:
    """A name's word as it is compared: small letters, no possessive, no plural s, no full stops."""
    word = re.sub(r"['’]s?\Z", "", word.lower()).replace(".", "").replace("’", "'")
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


@lru_cache(maxsize=KEPT_SENTENCES)
def _name_words(text: str) -> frozenset[str]:
    """All words of a text, in any case: a common word that opens a sentence is then no new name."""
    found = {_bare(word) for word in _WORD.findall(text)}
    found |= {part for word in found for part in re.split(r"[-/&']", word) if part}
    return frozenset(found) | {_stem_of(word) for word in found}


def _stem_of(word: str) -> str:
    stems = terms(word)
    return stems[0] if stems else word


def _new_words(text: str, known: str) -> set[str]:
    held = _content(known)
    return {word for word in _content(text) if word not in held}


@lru_cache(maxsize=KEPT_SENTENCES)
def _content(text: str) -> frozenset[str]:
    return frozenset(terms(with_digits(text)))


# --- what was changed or lost --------------------------------------------------------------------------------------------


def _changed(text: str, facts: Sequence[str]) -> list[str]:
    said = _QUOTED.sub(" ", " ".join(facts))
    text = _QUOTED.sub(" ", text)
    faults = []
    before, after = bool(_NEGATION.search(said)), bool(_NEGATION.search(text))
    if before != after:
        faults.append("a negation is gone" if before else "a negation came")
    for name, words in _HEDGES:
        before, after = bool(words.search(said)), bool(words.search(text))
        if before and not after:
            faults.append(f'"{name}" is gone')
        elif after and not before and name not in _MAY_COME:
            faults.append(f'"{name}" came')
    if _ATTRIBUTION.search(said) and not _ATTRIBUTION.search(text):
        faults.append("who said it is gone")
    if (when := _SAID_WHEN.search(said)) and not re.search(
        rf"\b(?:In|On) {when[1]}|\w+ed in {when[1]} that|said in {when[1]}", text
    ):
        faults.append(f"when it was said is lost: {when[1]}")
    faults += [f"said of something else: {subject} {what}" for subject, what in sorted(_said_of_another(text, said))]
    if new := sorted(set(_CURRENCY.findall(text)) - set(_CURRENCY.findall(" ".join(facts)))):
        faults.append(f"another currency: {', '.join(new)}")
    if new := sorted({w.lower() for w in _TIME_WORDS.findall(text)} - {w.lower() for w in _TIME_WORDS.findall(said)}):
        faults.append(f"another order in time: {', '.join(new)}")
    times, were = Counter(_numbers(text)), Counter(_numbers(said))
    if new := [number for number, n in times.items() if n > max(were[number], 1)]:
        faults.append(f"said twice: {', '.join(new)}")
    counts = [_counted(fact, wide=True) for fact in facts]
    for number, noun in _counted(text, wide=False).items():
        nouns = [c[number] for c in counts if number in c]
        if nouns and noun and all(old and not (noun & old) for old in nouns):
            faults.append(f"{number} counts something else")
    return faults


_IS = re.compile(r"\b([A-Za-z’'-]+) ((?:was|were|is|are) (?:too |not |also )?[a-z]{3,})\b")


def _said_of_another(text: str, said: str) -> set[tuple[str, str]]:
    """(subject, predicate) of the text where the facts say the predicate of another word.

    "The hall was too small" for "in front of the hall, because the chamber was too small".
    """
    subjects: dict[str, set[str]] = {}
    for subject, what in _IS.findall(said):
        subjects.setdefault(what, set()).add(_stem_of(subject.lower()))
    there = {_stem_of(word.lower()) for word in _WORD.findall(said)}
    return {
        (subject, what)
        for subject, what in _IS.findall(text)
        if what in subjects
        and _stem_of(subject.lower()) not in subjects[what]
        # A pronoun or a synonym may stand there; a word that the facts have elsewhere has taken another's place.
        and _stem_of(subject.lower()) in there
        and subject.islower()
        and subject not in _NO_SUBJECT
        and all(other.isalpha() and other not in _NO_SUBJECT for other in subjects[what])
    }


_NO_SUBJECT = frozenset((
    "it", "he", "she", "they", "who", "which", "that", "there", "this", "these", "those", "and", "or", "but", "also", "one",
    "what", "where", "when", "as", "so", "not", "both", "all",
))  # fmt: skip
_SAID_WHEN = re.compile(r"\b(?:said|announced|reported|estimated|confirmed) (?:in|on) ((?:\w+ )?\d{4}) that\b")
"""The day belongs to the saying: "said in February 2032 that it had paid" is not "said that it had paid in February 2032"."""
_CURRENCY = re.compile(
    r"[$€£¥₹]|\b(?:dollars?|euros?|pounds?|yen|yuan|rupees?|crowns?|pesos?|roubles?|rubles?|francs?)\b", re.I
)
_TIME_WORDS = re.compile(
    r"\b(?:until|till|before|after|since|by(?= (?:\d|early|late|mid|the (?:end|start)|January|February|March|April|May|June|"
    r"July|August|September|October|November|December)\b)|between|later|earlier|ago)\b",
    re.I,
)
"""What says when one thing happened beside another: a new one is a new claim."""


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d[\d,.:]*\d|\d", text)


_NUMBER = re.compile(r"(?<![\w.,])[$€£¥]?\d[\d,]*(?:\.\d+)?%?(?![\w])")
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)? (?:{_MONTH})(?:,? \d{{4}})?\b|\b(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b|"
    r"\b(?:1[5-9]|20|21)\d{2}\b|\b\d{1,2}[:.]\d{2}(?= ?[ap]\.?m|\b(?! ?(?:per|%|m|k)))"
)
_ALIKE = dict.fromkeys(("dead", "death", "kill", "live", "fatal", "victim", "casualti", "lost"), "die")
_ALIKE |= dict.fromkeys(("peopl", "resid", "men", "women", "passeng", "individu"), "person")
_ALIKE |= dict.fromkeys(("hurt", "wound", "injuri"), "injur") | {"%": "cent", "percent": "cent"}
"""Stems that count the same."""


def _counted(text: str, *, wide: bool) -> dict[str, frozenset[str]]:
    """Number -> stems of what it may count: the words right behind it, or, where none are, those before.

    `wide` takes the words on both sides, as evidence is to be read: more generously than the text checked against it. A number
    said more than once has the words of all places. Dates and times of day count nothing.
    """
    text = with_digits(_DATE.sub(" ", text))
    found: dict[str, frozenset[str]] = {}
    for match in _NUMBER.finditer(text):
        before = _stems(re.split(r"[.;:]\s", text[: match.start()])[-1].split()[-6:])
        behind = _stems(re.split(r"[.;:,]\s|[.;:,]\Z", text[match.end() :])[0].split()[: 8 if wide else 4])
        number = re.sub(r"[^\d.]", "", match.group()).rstrip(".")
        found[number] = found.get(number, frozenset()) | (before | behind if wide else behind or before)
    return found


def _stems(words: Sequence[str]) -> frozenset[str]:
    return frozenset(_ALIKE.get(stem, stem) for stem in terms(" ".join(words).replace("%", " cent ")))


def _lost(text: str, said: str) -> list[str]:
    """Figures and names of the facts that are not in the text; of a name of several words any one is enough."""
    lost = sorted(figures(said) - figures(text, as_evidence=True))
    held = _name_words(text)
    outside = _QUOTED.sub(" ", said)
    names = [word for word in proper_words(outside) if _bare(word) not in _OPENING_WORDS]
    groups = _runs_of(names, outside)
    lost += [" ".join(group) for group in groups if not any(_bare(word) in held for word in group)]
    return lost


def _runs_of(words: Sequence[str], text: str) -> list[list[str]]:
    """Words that are beside each other in the text, together: one name."""
    groups: list[list[str]] = []
    at = 0
    for word in words:
        start = text.find(word, at)
        if groups and start >= 0 and re.fullmatch(r"[\s.]*(?:(?:of|the|de|la|al|and|for)\s)?", text[at:start]):
            groups[-1].append(word)
        else:
            groups.append([word])
        at = max(start, at) + len(word)
    return groups


def _kept_share(text: str, said: str, n_new: int) -> float:
    wanted, held = _content(said), _content(text)
    return min((len(wanted & held) + n_new) / max(len(wanted), 1), 1.0)


# --- copying -------------------------------------------------------------------------------------------------------------


def copied_runs(text: str, facts: Sequence[str]) -> tuple[float, int]:
    """(share of the text's words in runs of five or more that a fact holds, longest run in words), quotations apart."""
    sources = [tuple(_plain(fact).split()) for fact in facts]
    named = {_bare(word) for fact in facts for word in proper_words(fact) if _bare(word) not in _OPENING_WORDS}
    total = covered = longest = 0
    for part in _QUOTED.split(text):
        words = _plain(part).split()
        total += len(words)
        marks = [False] * len(words)
        for source in sources:
            for start, length in _common_runs(words, source):
                longest = max(longest, sum(not _is_fixed(word, named) for word in words[start : start + length]))
                if length >= SHORT_RUN:
                    marks[start : start + length] = [True] * length
        covered += sum(marks)
    return (covered / total if total else 0.0), longest


def _is_fixed(word: str, named: set[str]) -> bool:
    """Whether a word is part of a name, a number or a date."""
    return any(c.isdigit() for c in word) or _bare(word) in named or word in _CALENDAR


def _common_runs(words: Sequence[str], source: Sequence[str]) -> list[tuple[int, int]]:
    """(start, length) of the maximal runs of `words` that are in `source`."""
    places: dict[str, list[int]] = {}
    for j, word in enumerate(source):
        places.setdefault(word, []).append(j)
    runs = []
    before: dict[int, int] = {}  # where the source goes on -> how long the run up to there is
    for i, word in enumerate(words):
        before = {j + 1: before.get(j, 0) + 1 for j in places.get(word, ())}
        if before:
            best = max(before.values())
            runs.append((i - best + 1, best))
    return runs


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.lower().replace("’", "'")))

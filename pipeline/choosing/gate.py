"""Which evidence sentences may be used in an article: whole clauses of prose about this subject that can be read alone.

Web pages are full of what reads like a sentence and states nothing: captions, bylines, pleas to subscribe, headlines, the same
event of another year. And a sentence taken out of its place leans on what was before it: "He said on Monday that the
30-year-old ...". What can be resolved from its own page is resolved; the rest is left out, with the reason. English only.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from data.cleaning import addresses_model
from data.types import Page
from pipeline.article_plan import LeftOut
from pipeline.choosing.candidates import Candidate, has_personal_words, is_fragment
from pipeline.choosing.common_words import is_common
from pipeline.choosing.facts import names, numbers
from pipeline.evidence import Evidence
from pipeline.retrieval import terms

LEAST_WORDS = 6
MOST_WORDS = 42
ENOUGH_ON_SUBJECT = 60
"""Sentences on the subject from which those of pages that do not name it are left out."""
OPENING_WORDS = 150
"""Of a page, in which its subject is named."""
MOST_CAPITALS = 0.6
"""Share of words with a capital from which a line is a headline or a list of names."""
MOST_DIGITS = 0.3
"""Share of words with digits from which a line is a row of a table."""

_WEEKDAYS = {name: n for n, name in enumerate(calendar.day_name)}
_MONTH = "|".join(name for name in calendar.month_name if name)
_QUOTED = re.compile(r"“[^“”]*”|\"[^\"]*\"|«[^«»]*»")
_YEAR = re.compile(r"\b(1[89]\d{2}|20\d{2})\b")
_WORD = re.compile(r"[A-Za-z’'-]+")

_FURNITURE = re.compile(
    r"\b(?:click|subscrib\w+|newsletters?|sign(?:ed)? up|log(?:ged)? in|cookies?|advertis\w+|read more|read (?:also|next)|"
    r"follow (?:us|him|her|them) on|share this|all rights reserved|terms of (?:use|service)|privacy policy|paywall|"
    r"download (?:the|our) app|watch (?:the|this) (?:video|live)|check out|stay tuned|scroll|swipe|tap (?:here|the)|"
    r"spoilers?|as follows|"
    r"left to read|min(?:ute)? read|free (?:trial|account)|gift (?:this )?article|for more (?:information|details|on)|"
    r"copyright|©|getty images?|ap photo|file (?:photo|image|picture)|photo(?:graph)? (?:by|credit|courtesy)"
    r"|image (?:credit|source)|"
    r"pictured|courtesy of|screenshot|editor[’']?s note|this (?:article|story|page|post|site|website) (?:was|is|has|will|may)|"
    r"first published|last updated|updated on|published on|story continues|continue reading|related (?:articles?"
    r"|stories|topics)|"
    r"listen to|leave a comment|contact us|email us|add to cart|buy (?:now|tickets)|tickets (?:are|available|from)|see also|"
    r"view (?:all|gallery|more)|javascript|browser|affiliate|disclaimer|wikipedia|retrieved|isbn|doi:|\bvia (?:reuters"
    r"|ap|afp|getty)|"
    r"report this ad|sponsored|donate (?:now|to|today)|member login|skip to|table of contents|jump to)\b|https?://|www\.|\S@\S|"
    r"#\w+\s#\w+|→|►|•|\bpic\.twitter\b",
    re.I,
)
_JOINED = re.compile(
    r"[a-z][A-Z]{2,}|[a-z]{3}\d{3}\s|\d{1,2}:\d{2} ?[AP]M [A-Z]{2,3}T?C?\b|\b\d+ (?:hours?|minutes?|days?) ago"
)
"""Lines of a page that were run together: a byline with the first sentence."""
_RUN_TOGETHER = re.compile(
    r"\w\*\w|[a-z][.,;]\d{0,3}[A-Z][a-z]|(?<![\d.,/:–-])\b\d{1,3} \d{1,3}\b(?! ?[°%/])|(?:^|\s)1\) |"
    r"\b([A-Z][a-z]+ [A-Z][a-z]+) \1\b|^[A-Z]{1,3}: |^\d+ ?(?:of|/) ?\d+\b|\bFILE\b|\s[*–-]$"
)
"""Footnotes in the middle of a text, counters of a gallery, names of speakers in an interview, an author's name said twice."""
_GLUED = re.compile(r"\b([a-z]{3,})(were|was|the|and|with|from|that|have|has|which|for)\b")
_MARKDOWN = (
    (re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*\)?"), r"\1"),
    (re.compile(r"(?<!\w)([*_]{1,3})(\S(?:[^*_]*\S)?)\1(?!\w)"), r"\2"),
    (re.compile(r"^[#>*+\s-]+(?=[\w“\"])"), ""),
    (re.compile(r"\\([\[\]().*_-])"), r"\1"),
)
_CODE = re.compile(r"[{}<>\\]|\w\(\)|==|/\*|\$\(|\|")
_CAPTION = re.compile(
    r"^(?:A (?:view|photo|picture|map|still|look|general view|file)\b|(?:Above|Below|Left|Right|Top|Bottom|From left"
    r"|Caption|Photo|"
    r"Image|Video|Watch|Listen|Map|Graphic|Credit|Source|Pictured)\b[:,]?\s|(?-i:By [A-Z][\w.]+ [A-Z]))|\((?:Photo"
    r"|Image|Getty|AP|Reuters|AFP|Credit)[^)]*\)|"
    r"\b(?:seen here|is seen|are seen|poses? for|looks on|stands? (?:in front of|next to|outside) .* (?:on|in) [A-Z])\b",
    re.I,
)
_CHATTER = re.compile(
    r"^(?:And|But|So|Or|Granted|Regardless|Warning|Yes,|No,|Well,|Oh|OK|Okay|Look|Let|Imagine|Here[’']s|That[’']s|There[’']s|What[’']s|It[’']s|Now|Just|Thanks|"
    r"Thank|Please|Welcome|Sorry|Sure|Maybe|Perhaps|Why|How|What|When will|Who|Don[’']t|Do you|Did you|Get|Find|See"
    r"|Learn|Make|Try|Visit|"
    r"Tune|Note|Remember|Keep)\b(?!,? (?:the|a) (?:mayor|council))",
)
_LEANS = re.compile(
    r"^(?:(?:In|On|At|By|From|During|After|Before|Since|Until) [^A-Z,]{0,24}(?:\d{4}|\d{1,2}|[A-Z][a-z]+)?,? "
    r"(?:it|he|she|they)|"
    r"It|This|That|These|Those|Such|They|Their|Its|Another|Others|One of (?:them|these|those)|Both|Neither|Either|Most|"
    r"Some(?= (?:said|say|were|had|have|are|also))|Many(?= (?:said|say|were|had|have|are|also))|Then|There(?= (?:he"
    r"|she|they|it))|Here|"
    r"The (?:former|latter|two|three|pair|duo|trio|same|other|group|couple|man|woman|boy|girl|teen|teenager|victim"
    r"|suspect|company|"
    r"agency|team|group|statement|report|announcement|move|decision|incident|latest|following|above|previous|actor|actress|singer|"
    r"star|author|director|player|coach|minister|officer|driver|official|organi[sz]ation|club|film|movie|show|series|song|album|game|"
    r"book|author|writer|artist|band|ship|vessel|plane|aircraft|car|vehicle|building|case|trial|judge|court|bill|law|plan|project|"
    r"study|survey|poll|result|figure|number|storm|quake|fire|blaze|attack|crash|collapse|explosion|protest|strike)s?"
    r"(?= (?:said|says|was|were|is|are|had|has|have|also|will|would|told|added|came|comes|did|does|did|who|which|then"
    r"|later|went|"
    r"took|made|began|became|found|left|\w+ed)\b)|"
    r"(?:The|A|An) \d{1,3}-year-old\b(?! [A-Z])|The [a-z]+-year-old\b(?! [A-Z])|\d{1,3}-year-old\b(?! [A-Z]))\b"
)
_PERSON = re.compile(r"^(He|She|His|Her)\b")
_INNER_LEANS = re.compile(
    r"\b(?:tomorrow|tonight|this (?:morning|afternoon|evening|week|weekend|month|year)|(?:last|next) (?:night|week"
    r"|month|weekend|year)|"
    r"earlier (?:this|today|in the day)|later (?:this|today)|so far|as of now|at the moment|at this time|right now|these days|"
    r"(?:days?|weeks?|months?|years?|hours?|minutes?) ago|ago today|above-mentioned|as mentioned|mentioned (?:above|earlier)|"
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day[’']s|coming (?:days|weeks|months|years)|upcoming|this time|here)\b",
    re.I,
)
_DROPPED = (
    (re.compile(r",? (?:also|however|meanwhile|therefore|thus|moreover|furthermore|now|currently|recently|instead),? "), " "),
    (re.compile(r"^(?:However|Meanwhile|Moreover|Furthermore|In addition|Additionally|Also|Indeed|Still|Instead|Overall|"
                r"Notably|Interestingly|Importantly|Currently|Now|Recently|Nevertheless|Nonetheless|Similarly|Likewise|"
                r"For example|For instance|In fact|Of course|Unfortunately|Sadly|Thankfully|Fortunately|Again|"
                r"Finally|Eventually|Later|"
                r"At the time|Then|As a result|In response|On the other hand|In total|In all|That said),? "), ""),
    (re.compile(r",? (?:told|in an interview with|speaking to) "
                r"(?:reporters|journalists|the (?:BBC|Guardian|Associated Press)|CNN|Reuters|AFP)(?=[ ,.])"), " said"),
    (re.compile(r"\s*\((?:pictured|left|right|above|below|centre|center|video|photo)\)", re.I), ""),
    (re.compile(r"\s*\[[^\]]{0,40}\]"), ""),
)  # fmt: skip
_OPENS_NAMED = re.compile(r"^(?:the |a |an )?[a-z]")

_ENDED = re.compile(r"[.][\"”’')\]]*\Z|[”\"]\Z")
_SUBORDINATE = re.compile(
    r"\b(?:who|whom|whose|which|that|where|when|while|because|although|though|before|after|since|until|if|"
    r"as (?=(?:the|an?|it|he|she|they)\b))\b",
    re.I,
)
_PARTICIPLE_PHRASE = re.compile(
    r",\s*(?:\w+ed|built|held|made|set|led|known|born|written|shown|taken|won) "
    r"(?=(?:in|by|at|on|as|to|for|from|with|near)\b)"
)
_SPEAKER_UNNAMED = re.compile(r"[,”\"] (?:he|she|they) (?:said|says|added|noted|explained|wrote|continued|told|recalled)\b")

_AUXILIARY_WORDS = (
    "is are was were be been has have had do does did will would shall should can could may might must cannot isn't "
    "aren't wasn't "
    "weren't hasn't haven't hadn't doesn't don't didn't won't wouldn't can't couldn't"
)
_IRREGULAR_WORDS = (
    "began became broke brought built bought came caught chose cost cut drew drove fell felt fought found flew gave "
    "got grew held "
    "hit kept knew led left lost made met paid put ran rose said saw sent set shot shut sold spent spoke stood struck "
    "swept took "
    "taught thought told threw understood went withdrew won wore wrote beat bore bound cast dealt drank ate forgot "
    "froze hid hung "
    "hurt laid lay lent let lit meant overcame oversaw overtook proved quit rang read reset resold rode sang sank sat "
    "sewed shook "
    "shone slept slid sought split spread sprang stole stuck swam swore tore undertook upheld woke wound"
)
_PRESENT_WORDS = (
    "says tells calls shows stars features includes contains remains becomes takes makes gives lies stands runs serves "
    "holds plays "
    "follows begins ends needs wants seeks plans aims expects believes claims offers provides allows requires covers "
    "uses works "
    "lives comes goes leads marks means opens closes sits sees sets keeps brings finds appears consists involves represents "
    "refers relates belongs depends exists happens hosts hopes joins owns produces receives replaces returns sells sends spans "
    "reveals explores discovers arrives asks attacks attempts becomes builds carries catches causes chooses combines confronts "
    "continues creates decides delivers depicts describes dies discusses earns emerges enters escapes explains faces fails "
    "falls features feels fights focuses forces gets grows helps hits introduces investigates joins kills knows learns leaves "
    "loses manages materializes meets moves notes occurs orders performs portrays presents prevents promises proves reaches "
    "realizes realises recalls remarks reports returns saves seems sings speaks spends steals suggests survives talks teaches "
    "thinks travels turns understands visits warns watches wears shares suffers reads requires resembles pulls drops destroys "
    "starts stays supports tries wins writes say live work lie remain include serve run"
)
VERBS = frozenset(f"{_AUXILIARY_WORDS} {_IRREGULAR_WORDS} {_PRESENT_WORDS}".split())


@dataclass(frozen=True, slots=True)
class Offered:
    """A sentence that may be used: the candidate it comes from, its text as it can be read alone, the ISO day it reports, and
    the day on which its page was published (empty where unknown)."""

    candidate: Candidate
    text: str
    day: str
    published: str = ""


@dataclass(frozen=True, slots=True)
class Gated:
    """What passed, in page order, and what did not. `reason` is one of a few words (`caption`, `no clause`, ...)."""

    offered: tuple[Offered, ...]
    left_out: tuple[LeftOut, ...]


def gate(evidence: Evidence, found: Sequence[Candidate]) -> Gated:
    """Sort the candidates, which are in page order, into those that may be used and those that may not."""
    title = evidence.event.title
    # Of whole pages first: another year of the event, pages that speak to a model, pages that open without the subject's name.
    siblings = {n: why for n, page in enumerate(evidence.pages) if (why := sibling_page(title, page))}
    spoken = {n: [x for x in p.text.split("\n") if addresses_model(x)] for n, p in enumerate(evidence.pages) if p.usable}
    subject = subject_terms(title)
    stray = {n for n, page in enumerate(evidence.pages) if not names_subject(subject, f"{page.title} {_opening(page.text)}")}
    # A pronoun is resolved from the sentence before it on its page, offered or not.
    before: dict[tuple[int, int], str] = {(c.page, c.index): c.text for c in found}
    offered: list[Offered] = []
    left_out: list[LeftOut] = []
    elsewhere: list[int] = []  # places in `offered`
    for candidate in found:
        page = evidence.pages[candidate.page]
        text = without_markdown(candidate.text)
        reason = siblings.get(candidate.page) or why_not(text) or sibling_sentence(title, text)
        if any(candidate.text in line for line in spoken.get(candidate.page, ())):
            reason = "speaks to a model"  # the whole paragraph: the request comes beside the address
        if not reason:
            resolved = standing_alone(text, before.get((candidate.page, candidate.index - 1), ""), page.published)
            text, reason = (resolved, "") if resolved else (text, "leans on another sentence")
        if not reason and len(text.split()) < LEAST_WORDS:
            reason = "too short"
        if reason:
            left_out.append(LeftOut(candidate.text, candidate.passage.id, reason))
        else:
            if candidate.page in stray and not names_subject(subject, text):
                elsewhere.append(len(offered))
            offered.append(Offered(_retold(candidate, text), text, day_of(text), page.published or ""))
    if len(offered) - len(elsewhere) >= ENOUGH_ON_SUBJECT:  # thin evidence may call its subject by another name
        left_out += [LeftOut(offered[n].text, offered[n].candidate.passage.id, "another subject") for n in elsewhere]
        offered = [one for n, one in enumerate(offered) if n not in set(elsewhere)]
    return Gated(tuple(offered), tuple(left_out))


def _retold(candidate: Candidate, text: str) -> Candidate:
    if text == candidate.text:
        return candidate
    facts = names(text) | numbers(text)
    return replace(candidate, text=text, n_words=len(text.split()), terms=frozenset(terms(text)), facts=facts, dangling=False)


# --- form ----------------------------------------------------------------------------------------------------------------


def without_markdown(text: str) -> str:
    for pattern, kept in _MARKDOWN:
        text = pattern.sub(kept, text)
    return " ".join(text.split())


def why_not(text: str) -> str:
    """Why the text is no prose that an encyclopedia could say; empty if it is."""
    words = text.split()
    bare = _QUOTED.sub(" ", text)
    tokens = _WORD.findall(bare)
    if len(words) < LEAST_WORDS:
        return "too short"
    if len(words) > MOST_WORDS:
        return "too long"
    if text.endswith(("?", "!", "…", "...", ":")) or "?" in bare or "!" in bare:
        return "question or call"
    if not _ENDED.search(text):
        return "fragment"
    if is_fragment(text) or not (text[0].isupper() or text[0].isdigit() or text[0] in "“\"'‘$€£"):
        return "fragment"
    if _FURNITURE.search(text) or _CODE.search(text) or _JOINED.search(text):
        return "page furniture"
    if _CAPTION.search(bare):
        return "caption"
    if has_personal_words(text):
        return "first or second person"
    if text.count("“") != text.count("”") or text.count('"') % 2:
        return "half a quotation"
    inner = [w for w in words[1:] if w[0].isalpha()]
    if inner and sum(w[0].isupper() for w in inner) > MOST_CAPITALS * len(inner):
        return "headline"
    if sum(any(c.isdigit() for c in w) for w in words) > MOST_DIGITS * len(words) or text.count(",") > 8:
        return "table row"
    if _RUN_TOGETHER.search(text) or any(not is_common(m.group()) and is_common(m[1]) for m in _GLUED.finditer(text)):
        return "run together"
    if len(tokens) < 0.45 * len(words):
        return "quotation"
    if not has_verb(tokens) or not has_main_verb(bare):
        return "no clause"
    if sum(c.isalpha() and not c.isascii() for c in text) > 0.15 * len(text):
        return "another language"
    if _CHATTER.match(text):
        return "chatter"
    return ""


def has_verb(tokens: Sequence[str]) -> bool:
    """Whether a finite verb may be among the words: by list, or by its ending behind another word."""
    return any(_is_verb(tokens, n) for n in range(len(tokens)))


def _is_verb(tokens: Sequence[str], n: int) -> bool:
    """A capital inside of a sentence makes it a name: "National Glass Works"."""
    word = tokens[n].lower().replace("’", "'")
    if n and tokens[n][:1].isupper():
        return False
    if word in VERBS:
        return True
    return n > 0 and word.endswith("ed") and len(word) > 3 and tokens[n - 1].lower() not in ("the", "a", "an", "of")


def has_main_verb(text: str) -> bool:
    """Whether a verb is left without subordinate clauses and participles: captions have verbs in these alone ("The track just
    before streets were laid out", "Jerome Park, built in 1866 by a banker").

    Where a clause ends is not known, so that one with two verbs may hold the main one.
    """
    text = re.sub(r"\([^)]*\)", " ", text)
    parts = _SUBORDINATE.split(text)
    if _verb_groups(parts[0]):
        return True
    for part in parts[1:]:
        clause, _, rest = part.partition(",")
        if _verb_groups(clause) > 1 or _verb_groups(rest):
            return True
    return False


def _verb_groups(text: str) -> int:
    """Runs of verbs ("has been seen" is one), without participles behind a comma."""
    tokens = _WORD.findall(_PARTICIPLE_PHRASE.sub(", ", text))
    found = [_is_verb(tokens, n) for n in range(len(tokens))]
    return sum(is_one and not (n and found[n - 1]) for n, is_one in enumerate(found))


# --- another event of the same name --------------------------------------------------------------------------------------


def subject_terms(title: str) -> frozenset[str]:
    """Stems of the words that name the subject: those in parentheses and the years say which one of its name it is."""
    bare = _YEAR.sub("", re.sub(r"\([^)]*\)", "", title))
    return frozenset(terms(bare)) or frozenset(terms(title))


def names_subject(subject: frozenset[str], text: str) -> bool:
    """Whether a text has half of the words that name the subject. A page that opens without them is about something else; there
    a sentence has to name the subject itself."""
    return 2 * len(subject & frozenset(terms(text))) >= len(subject)


def _opening(text: str) -> str:
    return " ".join(text.split(maxsplit=OPENING_WORDS)[:OPENING_WORDS])


def sibling_page(title: str, page: Page) -> str:
    """Why a page is about another event of the same series: its title names another year than the article's, and its text
    hardly names the article's own."""
    wanted = set(_YEAR.findall(title))
    if not wanted:
        return ""
    named = set(_YEAR.findall(page.title))
    share = frozenset(terms(_YEAR.sub("", title)))
    about = len(share & frozenset(terms(page.title))) / max(len(share), 1)
    if named and not (named & wanted) and about >= 0.5:
        own = sum(page.text.count(year) for year in wanted)
        other = sum(page.text.count(year) for year in named)
        if own < other:  # a page on last year's event that looks ahead to this one names this year, too, but less
            return "sibling event"
    return ""


def sibling_sentence(title: str, text: str) -> str:
    """Why a sentence reports another event of the series: words of the title beside another year, and not beside its own."""
    wanted = set(_YEAR.findall(title))
    named = set(_YEAR.findall(text))
    if not wanted or not named or named & wanted:
        return ""
    key = [word for word in terms(_YEAR.sub("", title)) if len(word) > 3]
    for match in _YEAR.finditer(text):
        behind = terms(text[match.end() :])[:3]
        if key and sum(word in key for word in behind) >= min(2, len(key)) and behind[:1] and behind[0] in key:
            return "sibling event"
    return ""


# --- standing alone ------------------------------------------------------------------------------------------------------


def standing_alone(text: str, before: str, published: str | None) -> str:
    """The sentence as it can be read without its page; empty if it cannot.

    Args:
        before: the sentence before it on its page, where "he" has its name.
        published: the page's day (ISO), from which weekdays and "yesterday" are counted; None if unknown.
    """
    for pattern, other in _DROPPED:
        text = pattern.sub(other, text)
    text = " ".join(text.split())
    text = text[:1].upper() + text[1:]
    # Quotations keep their pronouns: they are blanked, at the same length, before anything is looked for.
    bare = _QUOTED.sub(lambda m: "“" + "x" * (len(m.group()) - 2) + "”", text)
    if match := _PERSON.match(bare):
        name = _only_person(before)
        if not name:  # none, or two: guessing whom "he" means is how false statements are made
            return ""
        text = (name if match[1] in ("He", "She") else f"{name}'s") + text[match.end() :]
        # "Her" may be an object ("Her they called"): only before a noun it is hers.
        if match[1] == "Her" and not re.match(r"\S+ [a-z]", text[len(name) + 2 :]):
            return ""
        bare = text
    if _LEANS.match(bare) or _INNER_LEANS.search(bare) or _SPEAKER_UNNAMED.search(bare):
        return ""
    if _THAT_DAY.search(bare) and not _DAY.search(bare):
        return ""
    text = _with_days(text, published)  # "on Monday" -> "on 3 March 2031", from the page's own day
    bare = _QUOTED.sub(" ", text)
    if re.search(r"\b(?:yesterday|today)\b", bare, re.I):
        return ""
    if re.search(r"^(?:He|She|They|It)\b|\b(?:he|she)\b", bare) and not re.search(r"(?<!^)\b[A-Z][a-z]+", bare[1:]):
        return ""
    return text


_THAT_DAY = re.compile(r"\bthat (?:day|night|morning|afternoon|evening|week|month|year)\b", re.I)
"""Of a sentence without a date nobody knows which one."""


def _only_person(before: str) -> str:
    """The one name of two or three words in a sentence, if there is exactly one; it is taken to be a person's."""
    found = {
        m.group()
        for m in re.finditer(r"\b[A-Z][a-z’'-]+(?: [A-Z]\.)?(?: (?:de|van|al|bin|von|Mc)?[A-Z][\w’'-]+){1,2}\b", before)
    }
    found = {
        re.sub(r"^(?:The|In|On|At|When|After|But|And|As|For|While|Mayor|President|Governor|Minister|Police|Chief) ", "", n)
        for n in found
    }
    people = {n for n in found if " " in n and not _NO_PERSON.search(n)}
    return people.pop() if len(people) == 1 else ""


_NO_PERSON = re.compile(
    r"\b(?:University|College|School|Hospital|Court|Council|County|City|River|Street|Road|Avenue|Park|Island|Islands|State|States|"
    r"Party|Union|Army|Police|Department|Office|Ministry|Agency|Commission|Committee|Company|Corporation|Group|Institute|Museum|"
    r"Center|Centre|Church|League|Cup|Club|United|Association|Force|Service|House|Senate|Congress|Parliament|Times|Post|News|"
    rf"North|South|East|West|New|Lake|Mount|Bay|Sea|Ocean|Airport|Airlines|Bank|Bridge|Dam|{_MONTH}|[A-Z][a-z]+day)\b"
)


def _with_days(text: str, published: str | None) -> str:
    """Weekdays, today and yesterday as dates, counted back from the page's day. Without one, "on Sunday" is left away.

    Empty where the day cannot be known: it is still to come, or is in a place where its date would read otherwise.
    """
    if not _DAY_SAID.search(text):
        return text
    try:
        day = date.fromisoformat((published or "")[:10])
    except ValueError:
        day = None
    ahead = bool(_FORTHCOMING.search(text))

    def of(match: re.Match[str]) -> str:
        lead = (match["lead"] or "").lower()
        if lead in _REPEATED:  # "on the first Monday of every month"
            return match.group()
        if lead in _AHEAD or (ahead and match["day"].lower() not in ("yesterday", "today")):
            return _UNKNOWN
        if day is None:
            return " " if lead.endswith("on") else _UNKNOWN
        weekday = match["day"].capitalize()
        back = {"Yesterday": 1, "Today": 0}.get(weekday, (day.weekday() - _WEEKDAYS.get(weekday, 0)) % 7)
        before = f"{lead} " if lead in _LINKS else "on "
        return f" {before}{_spelled(day - timedelta(days=back))} "

    text = _DAY_SAID.sub(of, text)
    if _UNKNOWN in text or _TWICE_DATED.search(text):
        return ""
    text = re.sub(r"\s+([,.;:)])", r"\1", " ".join(text.split())).removeprefix(", ")
    return text[:1].upper() + text[1:]


def _spelled(day: date) -> str:
    return f"{day.day} {calendar.month_name[day.month]} {day.year}"


_UNKNOWN = "\0"
_REPEATED = frozenset(
    (
        "their",
        "his",
        "her",
        "its",
        "our",
        "my",
        "first",
        "second",
        "third",
        "fourth",
        "every",
        "each",
        "most",
        "any",
        "a",
        "some",
        "one",
    )
)
_AHEAD = frozenset(("next", "this", "coming", "following", "that", "the", "last", "from", "to", "between", "and"))
"""Before a weekday: it is not the last one before the page's day, or nobody knows; or it is one of two."""
_LINKS = frozenset(("until", "by", "since", "for", "before", "after"))
_DAY_SAID = re.compile(
    rf"(?:\A|(?<=\s)|(?<=[(]))(?:(?P<lead>(?:late |early |earlier )?on|{'|'.join(sorted(_REPEATED | _AHEAD | _LINKS))}) )?"
    rf"(?P<day>{'|'.join(_WEEKDAYS)}|[Yy]esterday|[Tt]oday)(?: (?:morning|evening|afternoon"
    rf"|night))?\b(?!['’]s)(?!,? (?:\d|{_MONTH}))",
    re.I,
)
_TWICE_DATED = re.compile(rf"(?:{_MONTH}) \d{{4}},? (?:the \d|on \d|\d{{1,2}} (?:{_MONTH}))")
_DAY = re.compile(
    rf"\b(?:(?P<d1>\d{{1,2}})(?:st|nd|rd|th)? (?P<m1>{_MONTH})(?:,? (?P<y1>\d{{4}}))?|(?P<m2>{_MONTH}) (?P<d2>\d{{1,2}})"
    rf"(?:st|nd|rd|th)?\b(?!\d)(?:,? (?P<y2>\d{{4}}))?|(?P<m3>{_MONTH}) (?P<y3>\d{{4}})|\b(?P<y4>1[89]\d{{2}}|20\d{{2}}))\b"
)
_FORTHCOMING = re.compile(
    r"\b(?:will|would|expected to|set to|scheduled|plans? to|is due|are due|hopes? to|going to|is to|are to)\b"
)
_MONTHS: Mapping[str, int] = {name: n for n, name in enumerate(calendar.month_name) if name}


def day_of(text: str) -> str:
    """The first day, month or year that the text names, ISO as far as it says (`2031-03-12`, `--03-12`, `2031-03`, `2031`)."""
    match = _DAY.search(text)
    if not match:
        return ""
    year = match["y1"] or match["y2"] or match["y3"] or match["y4"] or ""
    month = _MONTHS.get(match["m1"] or match["m2"] or match["m3"] or "", 0)
    day = int(match["d1"] or match["d2"] or 0)
    if not month:
        return year
    return f"{year or '-'}-{month:02}" + (f"-{day:02}" if day else "")

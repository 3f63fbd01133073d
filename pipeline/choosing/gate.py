"""Which evidence sentences may be used in an article: whole clauses of prose about this subject that can be read alone.

Web pages are full of what reads like a sentence and states nothing: captions, bylines, pleas to subscribe, headlines, the same
event of another year. And a sentence taken out of its place leans on what was before it: "He said on Monday that the
30-year-old ...". `standing_alone` resolves what its own page tells; the rest is left out, with the reason. English only.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from lemminflect import getInflection, getLemma

from data.pages.cleaning import addresses_model
from data.pages.dated import day_at
from pipeline.article_plan import LeftOut
from pipeline.choosing.announced import is_overtaken, reported_day
from pipeline.choosing.candidates import Candidate, has_personal_words, is_fragment
from pipeline.choosing.facts import names, numbers, with_digits
from pipeline.choosing.joins import mended, run_together, without_heading
from pipeline.choosing.standing_alone import MONTH, QUOTED, day_of, standing_alone
from pipeline.choosing.subject import Subject, sibling_page, sibling_sentence
from pipeline.choosing.verbs import WORD, has_main_verb, has_verb, is_verb
from pipeline.choosing.word_lists import either, words_of
from pipeline.evidence import Evidence
from pipeline.retrieval import terms

LEAST_WORDS = 6
MOST_WORDS = 42
ENOUGH_ON_SUBJECT = 12
"""Sentences on the subject from which those of pages that do not name it are left out."""
MOST_CAPITALS = 0.6
"""Share of words with a capital from which a line is a headline or a list of names."""
MOST_DIGITS = 0.3
"""Share of words with digits from which a line is a row of a table."""

_FURNITURE = re.compile(
    rf"\b{either('furniture')}\b"
    r"|https?://|\b[a-z0-9-]{3,}\.(?:com|org|net|info|tv|co\.uk)\b|www\.|\S@\S|#\w+\s#\w+|[★☆]|→|►|•|\bpic\.twitter\b",
    re.I,
)
_IN_REPORTS = re.compile(rf"(?:{either('furniture_in_reports')}|[a-z0-9-]{{3,}}\.(?:com|org|net|info|tv|co\.uk))", re.I)
"""What a page says of itself, and what a report may say of the world: "The wreck was retrieved on 3 March"."""
_DAY = re.compile(rf"\b(?:{MONTH})\b|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|\b(?:1[5-9]|20)\d{{2}}\b")
_NO_FIGURE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)? (?:{MONTH})\b|\b(?:{MONTH}) \d{{1,2}}\b|\b(?:1[5-9]|20)\d{{2}}\b|\b\d{{1,2}}[:.]\d{{2}}\b"
)
"""Dates and times of day."""
_CAPITALS = re.compile(r"(?:[A-Z]{3,}[ ,&.]+){2,}[^A-Z]*[a-z]")
_SUBJECTLESS = re.compile(
    r"(?:Ran|Was|Were|Had|Has|Have|Is|Are|Became|Began|Went|Took|Got|Did|Personally|Thinks)\b|"
    r"(?:Joined|Played|Signed|Scored|Graduated|Moved|Returned|Won|Served|Worked|Studied|Appeared|Debuted)\b"
    r"(?!.*, (?:the|an?|[A-Z]))"
)
"""A line of a directory or of notes: "BELLAIRE BOTTLE CO. has two furnaces", "Ran for few years"."""
_DATED_COMMENT = re.compile(rf"^\S+ (?:{MONTH}) \d{{1,2}}, \d{{4}} [A-Z]")
"""A reader's name and day before what he says."""
_LOG = re.compile(
    rf"(?:{MONTH}) (?:\d{{1,2}}(?:, \d{{4}})?|\d{{4}}): |"
    r"\d{1,2} [A-Z][a-z]{2,8} \d{4} (?:To|(?!(?:was|were|is|saw|marked|had|has|will|and|in|at|the|an?)\b)[a-z]+) |"
    r"[A-Z][\w’'-]+ [A-Z]{1,3}, (?:[A-Z][\w’'-]+ ){1,2}[A-Z]{1,3}[ ,(]|"
    r"[A-Z][\w’'-]+(?: [A-Z][\w’'-]+){0,3}(?: as [A-Z]\w+(?: [A-Z]\w+)?)? [–—-] (?=(?:The|To|[a-z]+|\d\w*) )(?!.* [–—-] )|"
    r".*(?:(?:moves|drops|goes|makes) .*with \w+ to play|[’']s lead (?:is|moves) )"
)
"""Entries of lists: of a log, of references ("Abt KL, Holt CT (2021)"), of a cast ("Ana Ruiz as Ines - The pilot"), a game."""
_LIFE = re.compile(r"(?:After [^,]+, )?([A-Z][a-z]+) was (?:born|raised|spotted|scouted|provided with|signed (?:to|by|up))\b")
_CODE = re.compile(r"[{}<>\\_]|\w\(\)|==|/\*|\$\(|\|")
_CAPTION = re.compile(
    r"^(?:Fig(?:ure|s)?\.? ?\d|Table \d+[.:]|Featured image\b|"
    r"(?:Colou?red|Black|White|Gr[ae]y|Solid|Dashed|Dotted|Open|Filled) (?:squares|circles|arrows|bars|lines|dots|triangles) "
    r"(?:indicate|show|represent|mark)\b|"
    r"A (?:view|photo|picture|map|still|look|general view|file)\b|"
    r"(?:Above|Below|Left|Right|Top|Bottom|From left|Caption|Photo|"
    r"Image|Video|Watch|Listen|Map|Graphic|Credit|Source|Pictured)\b[:,]?\s|(?-i:By [A-Z][\w.]+ [A-Z]))|"
    r"\((?:Photo|Image|Getty|AP|Reuters|AFP|Credit)[^)]*\)|\((?:dark|light)(?:er)? \w+ shading\)|"
    r"(?-i:^[A-Z][A-Z .,'-]{3,} ?[-–—] ?(?:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)[A-Z]*\.? \d{1,2}\b)|"
    r"^(?:The|This|An?)? ?(?:[\w-]+ ){0,2}(?:photos?|photographs?|images?|pictures?|screenshots?) "
    r"(?:shows?|depicts?|captures?)\b|"
    r"\b(?:is|are) (?:photographed|pictured) (?:in|outside|near|at) [A-Z]|"
    r"\b(?:seen here|is seen|are seen|poses? for|looks on|stands? (?:in front of|next to|outside) .* (?:on|in) [A-Z])\b",
    re.I,
)
_TOLD_NOTHING = re.compile(
    r"([^“”\"]+) told (?:the )?[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)*(?: (?:about|around|at|on|by) [^,“”\"]{3,30})?\.\Z"
)
"""Who told whom and when, and not what: it is in the sentence before or behind."""
_CAREER = re.compile(r"\b(?:best known for|is known for (?:his|her|their) (?:roles?|work)|has had roles in)\b")
"""What else a member of the cast is known for. Of 14 such sentences of development topics none belonged there."""
_BYLINE = re.compile(
    r"^[A-Z][\w’'-]+(?: [A-Z][\w.’'-]*){0,2} (?:is|was) (?:an?|the|one of)\b.{0,60}"
    r"\b(?:writer|journalist|contributor|editor|critic|reporter|columnist|correspondent|blogger|freelance\w*)\b(?! of)|"
    r"^[A-Z][\w’'-]+(?: [A-Z][\w.’'-]*){0,2} (?:covers|writes about|has been (?:writing|covering|reporting)"
    r"|has (?:written|reported) for|contributes)\b|"
    r"\b(?:his|her|their|’s|'s) work (?:can be found|has (?:also )?appeared)\b"
)
_CHATTER = re.compile(rf"^{either('chatter')}\b(?!,? (?:the|a) (?:mayor|council))")
_IDIOM = re.compile(rf"\b{either('idioms')}\b", re.I)
_VOICE = re.compile(rf"\b{either('voice')}\b", re.I)
"""How a person talks who has an opinion, or guesses."""
_FOREIGN = words_of("foreign")
"""Frequent words of other languages; a name has one or two of them."""
_MOST_FOREIGN = 0.15
_EVALUATION = re.compile(rf"\b(?:{'|'.join(sorted(words_of('evaluations')))})\b", re.I)
"""Words of reviews and fans."""
_HOLDER = re.compile(rf"[“\"].*[”\"]|\b{either('holders')}\b", re.I)
"""Whose opinion it is, or that it is an award's name: with it the sentence states a fact."""
_NO_STATEMENT = re.compile(
    r"(?:1[5-9]|20)\d\d ?[–—-] ?[A-Z]|With the [^,]+\Z|An? \w+ (?:that )?(?:even )?(?:he|she|they|it) \w+|"
    r"The (?![^,]*\b(?:day|night|morning|week|month|year|time)\b)[^,]{3,40}, there (?:is|are|was|were)\b"
)
"""Entries of a log and halves of a sentence: "2016 –Located the sites", "With the final is at noon on Sunday", "A fact even she
admitted", "The Dam, there are two kinds of gates"."""
_OF_A_LIST = re.compile(
    rf"\d{{1,2}} (?:{'|'.join(name[:3] for name in calendar.month_abbr if name)}) \d{{4}},|"
    r"[^,]+, (?:opened|built|closed|founded) (?:in )?\d{4}\.\Z|"
    r"Part of an? (?!.*\b(?:is|are|was|were|has|have|had)\b)[^,]*\Z"
)
"""Entries of a log or a catalogue: "7 May 1885, Abt has a patent", "The house, opened 1889."."""
_HEAD = re.compile(r"([A-Z][^,.:;\"“”()]{2,70}): (?=([A-Za-z]))")
_MADE = frozenset(
    ("issued", "printed", "created", "taken", "photographed", "painted", "pictured", "shown", "seen", "drawn", "depicted")
)
_ON_A_DAY = re.compile(rf"(?:,| on) (?:\w+day,? )?(?:\d{{1,2}} (?:{MONTH})|(?:{MONTH}) \d{{1,2}}),? (?:19|20)\d\d\.\Z")
_PREPOSITIONS = frozenset(("in", "on", "at", "by", "for", "from", "with", "under", "after", "before", "during"))
_OF_A_PLAN = frozenset(
    (
        "are",
        "have",
        "begin",
        "start",
        "end",
        "open",
        "close",
        "expire",
        "run",
        "go",
        "take",
        "will",
        "do",
        "may",
        "can",
        "come",
        "require",
        "follow",
        "say",
        "believe",
        "suggest",
        "argue",
        "think",
        "claim",
    )
)
"""Is told of days to come, too ("Sales begin on 3 May 2032"), or tells what others did."""
_ENDED = re.compile(r"[.][\"”’')\]]*\Z|[”\"]\Z")


@dataclass(frozen=True, slots=True)
class Offered:
    """A sentence that may be used: the candidate it comes from, its text as it can be read alone, the ISO day it reports, and
    the day on which its page, or its entry of a live page, was published (empty where unknown)."""

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
    subject = Subject(title, evidence.pages)
    # Of whole pages first: another year of the event, pages that speak to a model, pages about something else.
    siblings = {n: why for n, page in enumerate(evidence.pages) if (why := sibling_page(title, page))}
    siblings |= dict.fromkeys(subject.namesakes, "another of its name")
    spoken = {n: [x for x in p.text.split("\n") if addresses_model(x)] for n, p in enumerate(evidence.pages) if p.usable}
    # A pronoun is resolved from the sentence before it on its page, offered or not.
    before: dict[tuple[int, int], str] = {(c.page, c.index): c.text for c in found}
    offered: list[Offered] = []
    left_out: list[LeftOut] = []
    elsewhere: list[int] = []  # places in `offered`
    for candidate in found:
        page = evidence.pages[candidate.page]
        day = day_at(page, candidate.start)
        text = mended(without_heading(candidate.text, page.text))
        reason = siblings.get(candidate.page) or why_not(text, subject, page.text) or sibling_sentence(title, text)
        reason = reason or subject.is_on_another_work(text)
        if not reason and _is_cut(candidate, page.text):
            reason = "fragment"
        if not reason and _first_name_alone(text, subject, page.text[: candidate.start]):
            reason = "leans on another sentence"
        if any(candidate.text in line for line in spoken.get(candidate.page, ())):
            reason = "speaks to a model"  # the whole paragraph: the request comes beside the address
        if not reason:
            here = None if candidate.page in subject.elsewhere else subject  # elsewhere "the film" is another film
            resolved = standing_alone(text, before.get((candidate.page, candidate.index - 1), ""), day, here)
            text, reason = (resolved, "") if resolved else (text, "leans on another sentence")
        elif candidate.page not in subject.elsewhere:
            # What may not be said itself still tells what "It" in the next sentence is.
            text = subject.instead_of_it(text, before.get((candidate.page, candidate.index - 1), ""))
        before[candidate.page, candidate.index] = text  # "He" of the next sentence is the "he" of this one
        if not reason and len(text.split()) < LEAST_WORDS:
            reason = "too short"
        if reason:
            left_out.append(LeftOut(candidate.text, candidate.passage.id, reason))
        else:
            if candidate.page in subject.elsewhere and not subject.is_named_in(text):
                elsewhere.append(len(offered))
            offered.append(Offered(_retold(candidate, text), text, day_of(text), day or ""))
    if len(offered) - len(elsewhere) >= ENOUGH_ON_SUBJECT:  # thin evidence may call its subject by another name
        left_out += [LeftOut(offered[n].text, offered[n].candidate.passage.id, "another subject") for n in elsewhere]
        offered = [one for n, one in enumerate(offered) if n not in set(elsewhere)]
    known = max((day for o in offered for day in (o.published[:10], reported_day(o.text))), default="")
    past = [o for o in offered if is_overtaken(o.text, evidence.pages[o.candidate.page], known)]
    left_out += [LeftOut(o.text, o.candidate.passage.id, "announced, and past by now") for o in past]
    offered = [o for o in offered if o not in past]
    return Gated(tuple(offered), tuple(left_out))


def _is_cut(candidate: Candidate, page: str) -> bool:
    """Whether the sentence begins inside of a word, or behind an initial: "[U.] S. Ambassador", "[Anderson .] Paak"."""
    ahead = page[max(candidate.start - 12, 0) : candidate.start]
    return bool(ahead) and (not ahead[-1].isspace() or bool(re.search(r"(?:(?<![.A-Z])\b[A-Z]| )\.\s*\Z", ahead)))


def _first_name_alone(text: str, subject: Subject, earlier: str) -> bool:
    """Whether the life of somebody is told by a first name alone: no word of the title, nor the last of a name said before."""
    match = _LIFE.match(text)
    if not match or match[1] in subject.title:
        return False
    return not re.search(rf"[A-Z][\w.’-]* {match[1]}\b", earlier)


def _retold(candidate: Candidate, text: str) -> Candidate:
    if text == candidate.text:
        return candidate
    facts = names(text) | numbers(text)
    return replace(candidate, text=text, n_words=len(text.split()), terms=frozenset(terms(text)), facts=facts, dangling=False)


# --- form ----------------------------------------------------------------------------------------------------------------


def why_not(text: str, subject: Subject | None = None, page: str = "") -> str:
    """Why the text is no prose that an encyclopedia could say; empty if it is. `page`: the text of its page."""
    words = text.split()
    opens = subject.opens(text) if subject is not None else ""
    if subject is not None:
        text = subject.masked(text)
    bare = QUOTED.sub(" ", text)
    tokens = WORD.findall(bare)
    if len(words) < LEAST_WORDS:
        return "too short"
    if len(words) > MOST_WORDS:
        return "too long"
    if text.endswith(("?", "!", "…", "...", ":")) or "?" in bare or "!" in bare:
        return "question or call"
    if not _ENDED.search(text) or text.endswith(" ."):  # cut at the point of an abbreviation
        return "fragment"
    if is_fragment(text) or not (text[0].isupper() or text[0].isdigit() or text[0] in "“\"'‘$€£"):
        return "fragment"
    if _is_furniture(text) or _CODE.search(text):
        return "page furniture"
    if _CAPTION.search(bare):
        return "caption"
    if _BYLINE.search(bare):
        return "about an author of the page"
    if has_personal_words(text):
        return "first or second person"
    if text.count("“") != text.count("”") or text.count('"') % 2:
        return "half a quotation"
    inner = [w for w in words[1:] if w[0].isalpha()]
    if inner and sum(w[0].isupper() for w in inner) > MOST_CAPITALS * len(inner):
        return "headline"
    if sum(any(c.isdigit() for c in w) for w in words) > MOST_DIGITS * len(words) or text.count(",") > 8:
        return "table row"
    if run_together(text, page) or _DATED_COMMENT.match(text):
        return "run together"
    patterns = (_CAPITALS, _SUBJECTLESS, _NO_STATEMENT, _LOG, _OF_A_LIST)
    if any(pattern.match(text) for pattern in patterns):
        return "fragment"
    if _has_head(text, page):
        return "headline"
    if _is_picture(tokens) or _is_scene(bare, tokens):
        return "caption"
    if len(tokens) < 0.45 * len(words):
        return "quotation"
    if (told := _TOLD_NOTHING.match(text)) and not has_verb(WORD.findall(told[1])):
        return "fragment"
    if not has_verb(tokens) or not has_main_verb(bare):
        return "no clause"
    if is_foreign(text, tokens):
        return "another language"
    if subject is not None and _CAREER.search(bare) and not opens:
        return "another subject"
    if _CHATTER.match(text) or _IDIOM.search(bare):
        return "chatter"
    if (_EVALUATION.search(bare) or _VOICE.search(bare)) and not _HOLDER.search(text):
        return "an opinion of nobody"
    return ""


def _is_furniture(text: str) -> bool:
    """Whether a page speaks of itself. Words that a report may have, too, do not say so behind the opening of a sentence with a
    day and a figure that is not the day's."""
    found = list(_FURNITURE.finditer(text))
    if not all(_IN_REPORTS.fullmatch(match.group()) and match.start() > 0 for match in found):
        return True
    reports = _DAY.search(text) and re.search(r"\d", with_digits(_NO_FIGURE.sub(" ", text)))
    return bool(found) and not reports


def is_foreign(text: str, tokens: Sequence[str]) -> bool:
    """Whether a text is in another language than English, by its letters or by frequent words of other languages among its
    words (`tokens`)."""
    # Between two names it is a part of one: "Spiel des Jahres".
    inside = {n for n in range(1, len(tokens) - 1) if tokens[n - 1][0].isupper() and tokens[n + 1][0].isupper()}
    small = [token for n, token in enumerate(tokens) if token[:1].islower() and n not in inside]
    letters = sum(c.isalpha() and not c.isascii() for c in text) > 0.15 * len(text)
    return letters or sum(token in _FOREIGN for token in small) > _MOST_FOREIGN * len(small)


def _has_head(text: str, page: str) -> bool:
    """Whether a heading, a speaker or the title of a paper stands before a colon: "Misuse of funds: Rulers had ...", "Stein:
    added a lamp", "The long arm of a parasite: changes in ants that it lives with". It has no verb."""
    head = _HEAD.match(text)
    if not head or has_verb(WORD.findall(head[1])):
        return False
    # "Tide: The Board Game" is a name, as what a page says more than once with a capital behind the colon.
    return head[2].islower() or page.count(head.group()) < 2


def _is_picture(tokens: Sequence[str]) -> bool:
    """Whether the only verb says how a picture was made: "Panorama created with his photos of the town"."""
    for n, (word, behind) in enumerate(pairwise(tokens)):
        if word in _MADE and behind in ("by", "with", "from", "in", "at", "on", "during") and not has_verb(tokens[:n]):
            return not has_verb(tokens[n + 1 :])
    return False


def _is_scene(text: str, tokens: Sequence[str]) -> bool:
    """Whether several do something now on a day that is named: "Protesters confront the police in Lima on 7 December 2022"."""
    if not _ON_A_DAY.search(text):
        return False
    first = next((n for n in range(1, len(tokens)) if is_verb(tokens, n)), 0)
    subject, word = [token.lower() for token in tokens[:first]], tokens[first].lower()
    link = next((n for n, token in enumerate(subject) if n and token in ("of", "in", "at", "from", "with", "for", "on")), first)
    several = bool(first) and (subject[link - 1].endswith("s") or subject[link - 1] in ("people", "men", "women", "children"))
    now = word in getLemma(word, upos="VERB") and word not in getInflection(word, tag="VBD")
    # "Witnesses say the dam broke on ...": the day is that of another verb; "where he had arrived" is none
    told = re.search(r"\b(?:where|who|whose|which)\b", " ".join(tokens)) is None and has_verb(tokens[first + 1 :])
    return several and now and not told and word not in _OF_A_PLAN and tokens[0].lower() not in _PREPOSITIONS

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
from itertools import pairwise

from lemminflect import getAllLemmas

from data.cleaning import addresses_model
from data.types import Page
from pipeline.article_plan import LeftOut
from pipeline.choosing.candidates import Candidate, has_personal_words, is_fragment
from pipeline.choosing.common_words import is_common
from pipeline.choosing.facts import names, numbers
from pipeline.choosing.joins import mended, run_together, without_heading
from pipeline.choosing.subject import Subject, sibling_page, sibling_sentence
from pipeline.choosing.word_lists import either, words_of
from pipeline.evidence import Evidence
from pipeline.retrieval import STOPWORDS, terms

LEAST_WORDS = 6
MOST_WORDS = 42
ENOUGH_ON_SUBJECT = 12
"""Sentences on the subject from which those of pages that do not name it are left out."""
MOST_CAPITALS = 0.6
"""Share of words with a capital from which a line is a headline or a list of names."""
MOST_DIGITS = 0.3
"""Share of words with digits from which a line is a row of a table."""

_WEEKDAYS = {name: n for n, name in enumerate(calendar.day_name)}
_MONTH = "|".join(name for name in calendar.month_name if name)
_QUOTED = re.compile(r"“[^“”]*”|\"[^\"]*\"|«[^«»]*»")
_WORD = re.compile(r"[A-Za-z’'-]+")

_FURNITURE = re.compile(
    rf"\b{either('furniture')}\b"
    r"|https?://|\b[a-z0-9-]{3,}\.(?:com|org|net|info|tv|co\.uk)\b|www\.|\S@\S|#\w+\s#\w+|[★☆]|→|►|•|\bpic\.twitter\b",
    re.I,
)
_CAPITALS = re.compile(r"(?:[A-Z]{3,}[ ,&.]+){2,}[^A-Z]*[a-z]")
_SUBJECTLESS = re.compile(
    r"(?:Ran|Was|Were|Had|Has|Have|Is|Are|Became|Began|Went|Took|Got|Did|Personally|Thinks)\b|"
    r"(?:Joined|Played|Signed|Scored|Graduated|Moved|Returned|Won|Served|Worked|Studied|Appeared|Debuted)\b"
    r"(?!.*, (?:the|an?|[A-Z]))"
)
"""A line of a directory or of notes: "BELLAIRE BOTTLE CO. has two furnaces", "Ran for few years"."""
_DATED_COMMENT = re.compile(rf"^\S+ (?:{_MONTH}) \d{{1,2}}, \d{{4}} [A-Z]")
"""A reader's name and day before what he says."""
_LOG = re.compile(
    rf"(?:{_MONTH}) \d{{1,2}}(?:, \d{{4}})?: |[A-Z][\w’'-]+ [A-Z]{{1,3}}, (?:[A-Z][\w’'-]+ ){{1,2}}[A-Z]{{1,3}}[ ,(]|"
    r"[A-Z][\w’'-]+(?: [A-Z][\w’'-]+){0,3}(?: as [A-Z]\w+(?: [A-Z]\w+)?)? [–—-] (?=(?:The|To|[a-z]+|\d\w*) )(?!.* [–—-] )|"
    r".*(?:(?:moves|drops|goes|makes) .*with \w+ to play|[’']s lead (?:is|moves) )"
)
"""Entries of lists: of a log, of references ("Abt KL, Holt CT (2021)"), of a cast ("Ana Ruiz as Ines - The pilot"), a game."""
_LIFE = re.compile(r"(?:After [^,]+, )?([A-Z][a-z]+) was (?:born|raised|spotted|scouted|provided with|signed (?:to|by|up))\b")
_CODE = re.compile(r"[{}<>\\]|\w\(\)|==|/\*|\$\(|\|")
_CAPTION = re.compile(
    r"^(?:A (?:view|photo|picture|map|still|look|general view|file)\b|(?:Above|Below|Left|Right|Top|Bottom|From left"
    r"|Caption|Photo|"
    r"Image|Video|Watch|Listen|Map|Graphic|Credit|Source|Pictured)\b[:,]?\s|(?-i:By [A-Z][\w.]+ [A-Z]))|\((?:Photo"
    r"|Image|Getty|AP|Reuters|AFP|Credit)[^)]*\)|"
    r"\b(?:seen here|is seen|are seen|poses? for|looks on|stands? (?:in front of|next to|outside) .* (?:on|in) [A-Z])\b",
    re.I,
)
_BYLINE = re.compile(
    r"^[A-Z][\w’'-]+(?: [A-Z][\w.’'-]*){0,2} (?:is|was) (?:an?|the|one of)\b.{0,60}"
    r"\b(?:writer|journalist|contributor|editor|critic|reporter|columnist|correspondent|blogger|freelance\w*)\b(?! of)|"
    r"^[A-Z][\w’'-]+(?: [A-Z][\w.’'-]*){0,2} (?:covers|writes about|has been (?:writing|covering|reporting)"
    r"|has (?:written|reported) for|contributes)\b|"
    r"\b(?:his|her|their|’s|'s) work (?:can be found|has (?:also )?appeared)\b"
)
_CHATTER = re.compile(rf"^{either('chatter')}\b(?!,? (?:the|a) (?:mayor|council))")
_LEANS = re.compile(rf"^{either('leaning')}\b")
_PERSON = re.compile(r"^(He|She|His|Her)\b")
_INNER_LEANS = re.compile(rf"\b{either('leaning_inside')}\b", re.I)
_DROPPED = (
    (re.compile(r"(?<!until)(?<!by)(?<!for)(?<!from)(?<!just)(?<!but)(?<!and)(?<!most)(?<!more),? "
                r"(?:also|however|meanwhile|therefore"
                r"|thus|moreover|"
                r"furthermore|now|currently|recently|instead(?! of)),? (?![.,;])"), " "),
    (re.compile(rf"^{either('connectives')}(?:,|(?! of\b)) "), ""),
    (re.compile(r",? (?:told|in an interview with|speaking to) "
                r"(?:reporters|journalists|the (?:BBC|Guardian|Associated Press)|CNN|Reuters|AFP)(?=[ ,.])"), " said"),
    (re.compile(r"\s*\((?:pictured|left|right|above|below|centre|center|video|photo)\)", re.I), ""),
    (re.compile(r"\s*\[[^\]]{0,40}\]"), ""),
)  # fmt: skip
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

_TAKEN = re.compile(r"(?:the|an?|his|her|its|their|it|him|them|for|as|into|to)\Z|[A-Z]")

_NOUN_FOLLOWS = words_of("before_nouns")
"""Behind these stands a participle ("all finished tasks"), no verb."""

VERBS = words_of("auxiliaries", "irregular_past", "present")


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
            resolved = standing_alone(text, before.get((candidate.page, candidate.index - 1), ""), page.published, here)
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
            offered.append(Offered(_retold(candidate, text), text, day_of(text), page.published or ""))
    if len(offered) - len(elsewhere) >= ENOUGH_ON_SUBJECT:  # thin evidence may call its subject by another name
        left_out += [LeftOut(offered[n].text, offered[n].candidate.passage.id, "another subject") for n in elsewhere]
        offered = [one for n, one in enumerate(offered) if n not in set(elsewhere)]
    known = max((day for o in offered for day in (o.published[:10], _reported_day(o))), default="")
    past = [o for o in offered if _is_overtaken(o, known, evidence.pages[o.candidate.page])]
    left_out += [LeftOut(o.text, o.candidate.passage.id, "announced, and past by now") for o in past]
    offered = [o for o in offered if o not in past]
    return Gated(tuple(offered), tuple(left_out))


_AHEAD_OF_IT = re.compile(r"\bwill\b|\b(?:is|are) (?:set|slated|poised|scheduled|expected) to\b")
_ASIDE = re.compile(r", (?:which|who|after)\b|\bsince\b|\b\d{4}[’']s\b")
"""From here on a date is that of something else."""
_BEHIND_IT = re.compile(r"\b(?:was|were|won|began|took|\w+ed)\b")


def _reported_day(offered: Offered) -> str:
    """The full day that a sentence reports as past; empty if none."""
    past = _BEHIND_IT.search(offered.text) and not _FORTHCOMING.search(offered.text)
    return offered.day if past and len(offered.day) == 10 else ""


def _is_overtaken(offered: Offered, known: str, page: Page) -> bool:
    """Whether a sentence announces something for a time before the newest day that the pages know ("will air on 19 April").

    A day without a year is the next one after its page's day. If that is unknown, it is past in the five months up to `known`,
    where the page names that year.
    """
    bare = _QUOTED.sub(" ", offered.text)
    match = _AHEAD_OF_IT.search(bare)
    if not match or not known:
        return False
    opening = re.match(r"(?:On|In|From|By|At|Between) [^,]*,", bare[: match.start()])
    day = day_of(_ASIDE.split(bare[match.end() :])[0]) or (day_of(opening.group()) if opening else "")
    if not day.startswith("-"):
        return bool(day) and day < known[: len(day)]
    if offered.published:
        year = int(offered.published[:4]) + (day[2:] < offered.published[5:][: len(day) - 2])
        return f"{year}{day[1:]}" < known[: len(day) + 2]
    if known[:4] not in f"{page.title} {page.text}":
        return False
    back = (int(known[5:7]) - int(day[2:4])) % 12
    return 0 < back <= 5 or (back == 0 and day[2:] < known[5:][: len(day) - 2])


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
    if subject is not None:
        text = subject.masked(text)
    bare = _QUOTED.sub(" ", text)
    tokens = _WORD.findall(bare)
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
    if _FURNITURE.search(text) or _CODE.search(text):
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
    if (head := _SUBTITLED.match(text)) and not has_verb(_WORD.findall(head[1])):
        return "headline"
    if _is_picture(tokens):
        return "caption"
    if len(tokens) < 0.45 * len(words):
        return "quotation"
    if not has_verb(tokens) or not has_main_verb(bare):
        return "no clause"
    small = [token for token in tokens if token[:1].islower()]
    if sum(c.isalpha() and not c.isascii() for c in text) > 0.15 * len(text) or (
        sum(token in _FOREIGN for token in small) > _MOST_FOREIGN * len(small)
    ):
        return "another language"
    if _CHATTER.match(text) or _IDIOM.search(bare):
        return "chatter"
    if (_EVALUATION.search(bare) or _VOICE.search(bare)) and not _HOLDER.search(text):
        return "an opinion of nobody"
    return ""


def has_verb(tokens: Sequence[str]) -> bool:
    """Whether a finite verb may be among the words: by list, or by its ending behind another word."""
    return any(is_verb(tokens, n) for n in range(len(tokens)))


def is_verb(tokens: Sequence[str], n: int) -> bool:
    """A capital inside of a sentence makes it a name: "National Glass Works"."""
    word = tokens[n].lower().replace("’", "'")
    before = tokens[n - 1] if n else ""
    if (n and tokens[n][:1].isupper()) or before.lower() == "to" or (word == "set" and before == "on"):
        return False
    if word in VERBS:
        return True
    if not n or before.lower() in _NOUN_FOLLOWS:
        return False
    if word.endswith("ed"):
        return len(word) > 3
    if word.endswith(("ing", "'s")):
        return False
    readings = getAllLemmas(word)
    if set(readings) == {"VERB"}:
        return True
    # "Shirley hands Ruby a taser": a name before, and what such a verb takes behind it.
    behind = tokens[n + 1] if n + 1 < len(tokens) else ""
    named = before[:1].isupper() and (n > 1 or not is_common(before))  # what opens a sentence has its capital for that
    return "VERB" in readings and word.endswith("s") and named and bool(_TAKEN.match(behind))


def has_main_verb(text: str) -> bool:
    """Whether a verb is left without subordinate clauses and participles: captions have verbs in these alone ("The track just
    before streets were laid out", "Jerome Park, built in 1866 by a banker").

    Where a clause ends is not known, so that one with two verbs may hold the main one.
    """
    text = re.sub(r"\([^)]*\)", " ", text)
    parts = _SUBORDINATE.split(text)
    if verb_groups(parts[0]):
        return True
    for part in parts[1:]:
        clause, _, rest = part.partition(",")
        if verb_groups(clause) > 1 or verb_groups(rest):
            return True
    return False


def verb_groups(text: str) -> int:
    """Runs of verbs ("has been seen" is one), without participles behind a comma."""
    tokens = _WORD.findall(_PARTICIPLE_PHRASE.sub(", ", text))
    found = [is_verb(tokens, n) for n in range(len(tokens))]
    return sum(is_one and not (n and found[n - 1]) for n, is_one in enumerate(found))


# --- standing alone ------------------------------------------------------------------------------------------------------


_NO_STATEMENT = re.compile(
    r"(?:1[5-9]|20)\d\d ?[–—-] ?[A-Z]|With the [^,]+\Z|An? \w+ (?:that )?(?:even )?(?:he|she|they|it) \w+"
)
"""Entries of a log and halves of a sentence: "2016 –Located the sites", "With the final is at noon on Sunday", "A fact even she
admitted"."""
_OF_A_LIST = re.compile(
    rf"\d{{1,2}} (?:{'|'.join(name[:3] for name in calendar.month_abbr if name)}) \d{{4}},|"
    r"[^,]+, (?:opened|built|closed|founded) (?:in )?\d{4}\.\Z|"
    r"Part of an? (?!.*\b(?:is|are|was|were|has|have|had)\b)[^,]*\Z"
)
"""Entries of a log or a catalogue: "7 May 1885, Abt has a patent", "The house, opened 1889."."""
_SUBTITLED = re.compile(r"([^,.:]{10,70}): [a-z][^,]*\.\Z")
"""Two phrases and no statement are the title of a paper: "The long arm of a parasite: changes in ants that it lives with"."""
_MADE = frozenset(
    ("issued", "printed", "created", "taken", "photographed", "painted", "pictured", "shown", "seen", "drawn", "depicted")
)


def _is_picture(tokens: Sequence[str]) -> bool:
    """Whether the only verb says how a picture was made: "Panorama created with his photos of the town"."""
    for n, (word, behind) in enumerate(pairwise(tokens)):
        if word in _MADE and behind in ("by", "with", "from", "in", "at", "on", "during") and not has_verb(tokens[:n]):
            return not has_verb(tokens[n + 1 :])
    return False


def standing_alone(text: str, before: str, published: str | None, subject: Subject | None = None) -> str:
    """The sentence as it can be read without its page; empty if it cannot.

    Args:
        before: the sentence before it on its page, where "he" has its name.
        published: the page's day (ISO), from which weekdays and "yesterday" are counted; None if unknown.
        subject: what the page is about, so that "The film" is known; None for a page about something else.
    """
    for pattern, other in _DROPPED:
        text = pattern.sub(other, text)
    text = " ".join(text.replace("()", "").split())
    text = text[:1].upper() + text[1:]
    if subject is not None:
        text = subject.instead_of_it(text, before)
        text = re.sub(r"\b([Tt])his (?=([a-z]+)\b)", lambda m: f"{m[1]}he " if m[2] in subject.called else m.group(), text)
    # Quotations keep their pronouns: they are blanked, at the same length, before anything is looked for.
    bare = _QUOTED.sub(lambda m: "“" + "x" * (len(m.group()) - 2) + "”", text)
    if match := _PERSON.match(bare):
        name, rest = _only_person(before), text[match.end() :]
        if not name:  # none, or two: guessing whom "he" means is how false statements are made
            return ""
        if _is_named_again(name, rest):
            return ""
        if match[1] in ("He", "She") and (short := re.match(r"[’']s (\w+)", rest)):
            if "VERB" in getAllLemmas(short[1]) and not short[1].endswith("ing"):  # "he's taken", "he's known": has, or is
                return ""
            rest = f" is{rest[2:]}"
        text = (name if match[1] in ("He", "She") else f"{name}'s") + rest
        # "Her" may be an object ("Her they called"): only before a noun it is hers.
        if match[1] == "Her" and not re.match(r"\S+ [a-z]", text[len(name) + 2 :]):
            return ""
        bare = text
    opened = ""
    if subject is not None:
        opened, bare = subject.opens(bare), subject.masked(bare)
    if (_LEANS.match(bare) and not opened) or _INNER_LEANS.search(bare) or _SPEAKER_UNNAMED.search(bare):
        return ""
    if _DEMONSTRATIVE.search(bare) or _POINTS_BACK.match(bare) or _early_object(bare):
        return ""
    if _OF_A_MANUAL.match(bare):
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


def _is_named_again(name: str, text: str) -> bool:
    """Whether a part of the name follows, so that another one was meant: "He hands Conrad a coin" behind "Conrad Clack".

    "Brenda Clack", "Conrad Holt" and "the Clack family" are others.
    """
    again = (m for word in name.split() for m in re.finditer(rf"(\S*) ?\b{re.escape(word)}\b(?! [A-Z])", text))
    return any(not re.match(r"[A-Z]|the\b", m[1]) for m in again)


_DEMONSTRATIVE = re.compile(
    r"\bthis(?! (?:is|was) )\b|\bthese\b|"
    r"\bthose (?!(?:who|in|of|with|from|whose|that|affected|killed|injured)\b)|"
    r"\b(?:to|of|in|with|off|for|by|at|on|about|like|from|than|do|does|did|pulls?|all) that"
    r"(?=[.,;]| (?!(?:the|an?|it)\b)[a-z]+(?:[.,;]|\Z))",
    re.I,
)
"""Words that point at what another sentence said: "adhered to that structure"."""
_POINTS_BACK = re.compile(
    r"The (?:latter|former)(?= (?:one|ones|two|\w+ (?:is|are|was|were|has|had|\w+ed|\w+s))\b)|"
    r"(?!According)[A-Z]\w+(?:ed|uilt|ade) [^;]{3,60}, (?:its|his|her|their) [a-z]"
)
"""The size of what, and whose: "Released in 2031, its score was praised"."""
_OF_A_MANUAL = re.compile(
    r"(?:(?:In|On|At|For|During|After|Before|When|If|To|Once|With) [^,]{2,60}, )?"
    r"(?i:continue|show|reveal|place|take|draw|put|choose|keep|add) (?:the|an?|all|both|it|them|one|two|three|\d+) "
)


def _early_object(bare: str) -> bool:
    """Whether "him" or "them" is near the beginning, and no one before it may be meant."""
    match = re.match(r"((?:[\w’'-]+ ){1,6})(him|them)\b", bare)
    if not match or " and " in match[1]:
        return False
    if match[2] == "him":  # what a sentence opens with does not do it to "him"
        return len(re.findall(r"[A-Z][\w’'-]*(?: [A-Z][\w’'-]*)*", match[1])) < 2
    return not any(
        word in ("people", "children", "men", "women") or (word.endswith("s") and len(word) > 3 and word not in VERBS)
        for word in match[1].split()
    )


_THAT_DAY = re.compile(r"\bthat (?:day|night|morning|afternoon|evening|week|month|year)\b", re.I)
"""Of a sentence without a date nobody knows which one."""


def _only_person(before: str) -> str:
    """The one name of two or three words in a sentence, if there is exactly one; it is taken to be a person's.

    Where the sentence opens with a surname, it is about that person, if it is one ("Toffolo, 27, was at Swindon Town").
    """
    if (first := re.match(r"([A-Z][a-z’'-]+)(?:(, \d\d,| said\b)|,| (?:was|is|had|has)\b)", before)) and not is_common(
        first[1]
    ):
        return first[1] if first[2] else ""
    found = {
        m.group()
        for m in re.finditer(r"\b[A-Z][a-z’'-]+(?: [A-Z]\.)?(?: (?:de|van|al|bin|von|Mc)?[A-Z][\w’'-]+){1,2}\b", before)
        if not m.group().startswith("The ")
        and not _NOT_SOMEBODY.search(before[: m.start()])
        and not _stands_before_noun(before[m.end() :])
    }
    found = {
        re.sub(r"^(?:The|In|On|At|When|After|But|And|As|For|While|Mayor|President|Governor|Minister|Police|Chief) ", "", n)
        for n in found
    }
    # "Final Destination" and "Managing Editor" have the form of a person's name, too: a given name is no word of the language.
    found = {re.sub(r"[’']s?\Z", "", n) for n in found}
    people = {n for n in found if " " in n and not _NO_PERSON.search(n) and not is_common(n.split()[0])}
    return people.pop() if len(people) == 1 and not any(_ends_as_thing(name) for name in people) else ""


_NOT_SOMEBODY = re.compile(r"(?:\bThe|\b[Ii]n|\b[Aa]t|&\w+|\b(?:book|novel|film|titled|called|including),?) \Z|[“‘\"(]\Z")
"""Before the name of a work, a place or an actor: "The Dew Breaker", "in Abu Dhabi", "Conrad (Ana Ruiz)"."""


def _stands_before_noun(behind: str) -> bool:
    """Whether a name goes with a noun: "San Francisco bureau"."""
    match = re.match(r" ([a-z]{3,})\b(?: (\S+))?", behind)
    if not match or match[1] in STOPWORDS or match[1].endswith("ly") or is_verb(["X", match[1], match[2] or ""], 1):
        return False
    return "NOUN" in getAllLemmas(match[1])


def _ends_as_thing(name: str) -> bool:
    """Whether its later words are words of the language, as in "American Glass"; persons have such names, too: it is not used,
    but it is a second name beside another one."""
    first, *rest = name.split()
    return first not in ("Mr", "Mrs", "Ms", "Dr") and any(is_common(word.lower()) for word in rest)


_NO_PERSON = re.compile(rf"\b(?:{either('no_person')}|{_MONTH}|[A-Z][a-z]+day)\b")


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

    # What is quoted stays as it was said.
    quotes = [match.span() for match in _QUOTED.finditer(text)]
    text = _DAY_SAID.sub(lambda m: m.group() if any(a < m.start() < b for a, b in quotes) else of(m), text)
    if _UNKNOWN in text or _TWICE_DATED.search(text):
        return ""
    text = re.sub(r"\s+([,.;:)])", r"\1", " ".join(text.split())).removeprefix(", ")
    return text[:1].upper() + text[1:]


def _spelled(day: date) -> str:
    return f"{day.day} {calendar.month_name[day.month]} {day.year}"


_UNKNOWN = "\0"
_REPEATED = frozenset((
    "their", "his", "her", "its", "our", "my", "first", "second", "third", "fourth", "every", "each", "most", "any", "a",
    "some", "one",
))  # fmt: skip
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

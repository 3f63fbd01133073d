"""Sentences of an article that are no encyclopedic sentence: page furniture, captions, menus, code, answers of a chatbot.

Copied page text can be cited without a fault, so citations do not see them. Rules only: no model, and no word of the event.
They are read in the order of `_RULES`, each by itself, and let a doubtful sentence pass.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Literal

from data.pages.blocks import BOILERPLATE
from data.pages.languages import identify_language
from eval.about_itself import is_about_itself
from eval.catalogue import directions
from eval.clauses import has_finite_verb
from eval.metric import Case
from eval.text import QUOTED, unquoted

JunkKind = Literal[
    "markup", "chatbot", "about_itself", "caption", "byline", "furniture", "address", "table", "menu", "language", "headline",
    "fragment", "no_clause",
]  # fmt: skip

_PROSE_WORDS = 8
_MOST_CHARACTERS = 500  # read of either end of a sentence without end
_SURE = 0.95  # of a language: below it names decide

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_ENDED = re.compile(r"[.!?…:;。！？؟।][\"'”’»)\]*_]*$")


class Junk:
    """junk_share   share of the article's sentences that have a `junk_kind`; None for an article without sentences."""

    names = directions("junk_share")
    signature = "junk:rules=v1|language=en"

    def score(self, case: Case) -> dict[str, float | None]:
        found = junk_kinds(case)
        return {"junk_share": 1 - found[None] / found.total() if found else None}


def junk_kinds(case: Case) -> Counter[JunkKind | None]:
    """How many sentences of the article there are of each kind; None stands for those that are no junk."""
    return Counter(junk_kind(sentence.text) for sentence in case.sentences)


def junk_kind(sentence: str) -> JunkKind | None:
    """The first kind that the sentence is of, or None for one that may be in an English encyclopedia."""
    text = " ".join(sentence.split())
    if len(text) > 2 * _MOST_CHARACTERS:
        text = f"{text[:_MOST_CHARACTERS]} {text[-_MOST_CHARACTERS:]}"
    return next((kind for kind, applies in _RULES if applies(text)), None)


_MARKUP = re.compile(
    r"https?:/|\bwww\.\w|\]\(|!\[|^#{1,6} |</?[a-zA-Z][^<>]*>|&(?:nbsp|amp|quot|lt|gt|#\d+);|[{};]\s*$.*[{}]"
    r"|\{[^{}]*[:;][^{}]*\}"
    r"|^> |\*\*\w|(?<!\w)_[^\W_][^_]*_(?!\w)|=>|\bfunction ?\(|\w\(\);|```|\{\{|\[\[|-{5,}|={3,}|\b(?:var|const) \w+ ?="
)


def _is_markup(text: str) -> bool:
    """Addresses, links, HTML, Markdown and code; *emphasis* by single stars passes."""
    return _MARKUP.search(text) is not None


# The patterns of the next rules are looked for in lower case.
_CHATBOT = re.compile(
    r"\bas an? (?:\w+ )?(?:ai|language) (?:language )?(?:model|assistant)|\bas an ai\b|\bmy (?:training data"
    r"|knowledge cutoff)\b"
    r"|^(?:i(?:['’]m| am) (?:sorry|unable|not able)|i (?:cannot|can['’]t|can not|apologi[sz]e|don['’]t have|do not have)\b)"
    r"|^(?:sure|certainly|of course|absolutely|okay|great)[,!] |^here(?:['’]s| is| are) (?:an?|the|your|some|my|what|how)\b"
    r"|\b(?:i hope this|let me know if|feel free to|would you like me|if you (?:need|want|would like) (?:me|more|any))\b"
    r"|\b(?:based on|according to|from|in|by) (?:the|your|these) (?:provided|given|supplied|available|retrieved|above)"
    r" (?:\w+ )?(?:sources?|evidence|texts?|passages?|documents?|information|context|materials?|excerpts?|snippets?"
    r"|references)\b"
    r"|\b(?:write|written|generate|generated) (?:an?|the|this) (?:wikipedia|encyclop\w+)[- ](?:style )?article",
)


def _is_chatbot(text: str) -> bool:
    """What a language model says to the one who asked it."""
    return _CHATBOT.search(text.lower()) is not None


_CAPTION = re.compile(
    r"^image caption\b|^(?:image|photo|photograph|picture|fig(?:ure)?|credit|video|map|file|caption|illustration"
    r"|screenshot|gallery|slide"
    r"|(?:(?:photo|image|picture|video|file)(?:graph)? )(?:credits?|source|caption|by|courtesy|via)\b)s?\.? ?\d*[ ]?[:|.]"
    r"|^(?:photo(?:graph)?|image|picture|video|illustration)s? (?:by|from|courtesy|via|credits?)\b"
    r"|[(\[](?:photo|image|picture|pic|video|credit|source|file|ap photo|screenshot|courtesy)\b[^()]{0,80}[)\]]?\.?$"
    r"|\bgetty images\b|\bap photo\b|\bshutterstock\b|\bfile photo\b|/ ?(?:getty|afp|reuters|ap|epa|alamy)\b|^courtesy of\b"
    r"|\b(?:pictured|seen) (?:above|below|here|left|right)\b|\((?:pictured|left|right|above|below|l-r|from left)\b",
)


def _is_caption(text: str) -> bool:
    """Captions and credits of pictures and videos."""
    return _CAPTION.search(text.lower()) is not None


_NAME = r"[A-Z][\w'’.-]*"
_BYLINE = re.compile(
    rf"^[Bb][Yy]:? {_NAME}(?: {_NAME}){{1,3}}(?: (?:and|&) {_NAME}(?: {_NAME}){{1,3}})?(?:[,|•·–—-].{{0,60}})?\.?$"
    r"|^(?i:(?:first |last |originally )?(?:posted|published|updated|modified|edited|reviewed|written)|reporting"
    r"|reported|contributed)"
    r"(?: ?:| (?:on|by|at|in|from) )[^.]{0,80}\.?$|^(?:story|words|text|report|reporting|additional reporting"
    r"|editing)(?: by|:) [A-Z]"
    r"|^[A-Z][A-Z .'’-]{3,30}(?:, [A-Z][\w. ]{1,30})?(?: \([^()]{2,30}\))? ?(?:—|–|--| - ) ?(?=[A-Z“\"](?:\S* ){5})"
    r"|\b\d+ min(?:ute)?s? read\b"
    r"|^\W*\d+ (?:seconds?|minutes?|hours?|days?|weeks?|months?|years?) ago\b(?=\W*$)|\b\d+ ?(?:secs?|mins?|hrs?) ago"
    r"|^(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)\.? \d{1,2}, \d{4} - "
    rf"|^By {_NAME}(?: {_NAME}){{1,2}} (?:The|An?|In|On|It|This|For|After) [a-z]"
    r"|\b(?:is|was) an? (?:staff|senior|freelance|contributing) (?:writer|reporter|editor|correspondent) (?:at|for|with)\b"
)


def _is_byline(text: str) -> bool:
    """Who wrote a page and when, and the town in capitals that opens a report."""
    return _BYLINE.search(text) is not None


_FURNITURE = re.compile(
    r"\b(?:this|the|our) (?:web)?site uses\b|\byou have \d+ ?% of this article left\b|\bleft to read\b|\bcontinue reading\b"
    r"|\b(?:accept|reject|use of|uses?|our) (?:all )?cookies\b|\ball rights reserved\b|©|\bcopyright (?:\(c\)|\d{4})"
    r"|\bsubscribe (?:to|now|today|for|here)\b|\bsubscribers? only\b|\bsign(?:ing)? up (?:to|for|now|here) (?:our|the"
    r"|your|free|get|receive)"
    r"|\b(?:click|tap) (?:here|the link|to|on)\b|^(?:read|see|watch|view|show|load|learn|find out) (?:more|all|also"
    r"|next|less|full)\b"
    r"|\b(?:read|learn|find out|discover) more (?:about|at|on|here|in) (?:our|the|this|here|how|what)\b|\bread the full\b"
    r"|^(?:share|follow|like|join) (?:us|this|on|via)\b|\bfollow us\b|\bshare this\b|\bprivacy policy\b"
    r"|\bterms of (?:use|service)\b"
    r"|\b(?:log|sign) in to\b|\bcreate an account\b|\bnewsletter.{0,40}\binbox\b|\badvertisement\b(?=\W*$)|^advertisement\b"
    r"|\bmay earn (?:a|an)? ?(?:affiliate )?commission\b|\benable javascript\b|\bpost a comment\b|\bleave a (?:reply"
    r"|comment)\b"
    r"|\brelated (?:articles?|stories|content|posts?|coverage):|\bthis (?:video|content|page|website) (?:is|was|has"
    r"|cannot|can['’]t)"
    r" (?:not |no longer |been )?(?:available|removed|found|supported|loaded)|^(?:skip|jump) to\b|\bback to top\b"
    r"|\bfor (?:more|further) (?:information|details|news)\b.{0,30}\b(?:visit|see|go to|contact|call|click)\b"
    r"|^(?:visit|contact) us\b"
    r"|\btickets? (?:are )?(?:on sale|available) (?:now|here|at)\b|\bbuy (?:now|tickets)\b|\badd to (?:cart|basket|wish)",
)


def _is_furniture(text: str) -> bool:
    """What a page says about itself, its cookies, its shop and its readers. A phrase that may be a subject counts where little
    is beside it."""
    text = QUOTED.sub(" ", text)
    if _FURNITURE.search(text.lower()):
        return True
    if text.count(" ") + 1 >= _PROSE_WORDS and has_finite_verb(text):
        return False
    found = BOILERPLATE.search(text[:200])
    return found is not None and (found.start() == 0 or not has_finite_verb(text))


_ADDRESS = re.compile(
    r"\b(?:you|your|yours|yourself)\b|^(?:You|Your|You['’]\w+)\b(?! [A-Z])|\byou['’](?:re|ve|ll|d)\b"
    r"|\b(?:I|[Ww]e)['’](?:m|re|ve|ll|d)\b|\b(?:we|our|ours|us|myself|ourselves|my)\b|^(?:We|Our|My)\b(?! [A-Z])"
    r"|(?:^|(?<![\w'’.-])[a-z]+[,;:]? |[–—] )I (?!(?:in|of|on|and|to|at|by|from|with|or|for|as|is|until|during)\b)[a-z]+"
    r"|^(?:Please|Find|Discover|Enjoy|Watch|Check|Visit|Learn|Download|Explore|Stay|Don['’]t|Remember|Take|Remove|Add"
    r"|Choose)"
    r" (?:out |up |all |more )?(?:the|this|these|those|a|an|all|our|three|two|hidden|how|what|where|why|that|of)\b"
)


def _is_address(text: str) -> bool:
    """Speaks as I or we, or to the reader, outside quotations; names with a capital ("Thank You", "World War I") pass."""
    return _ADDRESS.search(unquoted(text)) is not None


_BAR = re.compile(r" ?\| ?|\t")


def _is_table(text: str) -> bool:
    """Cells with bars, and rows in which numbers are in place of words."""
    if len(_BAR.findall(text)) >= 2:
        return True
    words = _WORD.findall(text)
    numbers = sum(word[0].isdigit() for word in words)
    return len(words) >= 4 and 2 * numbers > len(words) and not has_finite_verb(text)


_SEPARATOR = re.compile(r" [|>·•»›/∙●▪] ?|^[*•·●▪>–—-] |[|•·●▪›]")
_GLUED = re.compile(r"[a-z]{2}[.)]?[A-Z][a-z]{2}|[a-z]{3}\d|\d[A-Z][a-z]{2}")


def _is_menu(text: str) -> bool:
    """Entries of menus and lists: items between separators, or words glued together where an element ended."""
    separators = len(_SEPARATOR.findall(QUOTED.sub(" ", text)))
    if separators >= 2 or (separators and not has_finite_verb(text)):
        return True
    glued = len(_GLUED.findall(text))
    return glued >= 3 and glued * 12 >= len(text.split())


_MIXED = re.compile(r"[a-z][Ѐ-ӿ]|[Ѐ-ӿ][a-z]", re.IGNORECASE)
_ENGLISH = frozenset(
    """
    the of and in to a is was for on with by at from that as it his her be are has have had an which this not were after
    before but or its their he she they who when where will would been into over between during than other also
    """.split()  # noqa: SIM905
)


def _is_foreign(text: str) -> bool:
    """Not English: mostly letters of another script, words of mixed script, or eight words and hardly one of them English.

    Names say nothing about a language, so only words in lower case are looked at; a short text passes.
    """
    text = unquoted(text)
    letters = [c for c in text if c.isalpha()]
    if not letters:
        return False
    if 2 * sum(c < "ɐ" or "Ḁ" <= c <= "ỿ" for c in letters) < len(letters) or len(_MIXED.findall(text)) >= 2:
        return True
    small = [word for word in _WORD.findall(text) if word.islower()]
    if len(small) < _PROSE_WORDS or sum(word in _ENGLISH for word in small) * 8 >= len(small):
        return False
    code, probability = identify_language(" ".join(small))
    return code != "en" and probability >= _SURE


def _is_headline(text: str) -> bool:
    """Title case without a verb in lower case."""
    words: list[str] = [word for word in _WORD.findall(text) if word[0].isalpha()]
    if len(words) < 4 or has_finite_verb(text if not text.isupper() else text.title()):
        return False
    names = [word for word in words if word not in _ENGLISH]
    return 10 * sum(word[0].isupper() for word in names) >= 9 * len(names)


def _is_fragment(text: str) -> bool:
    """Cut off: begins in the middle of a sentence, or ends without a stop."""
    first = next((word for word in _WORD.findall(text)), "")
    begins_small = first[:1].islower() and first.islower() and text[:1] not in "“\"'‘«(*_[…"
    return begins_small or _ENDED.search(text) is None or text.endswith(("...", "…"))


def _has_no_clause(text: str) -> bool:
    """No finite verb, in a text that is no long run of prose; or under three words."""
    words = _WORD.findall(text)
    if len(words) < 3:
        return True
    if has_finite_verb(text):
        return False
    small = sum(word[0].islower() for word in words)
    return len(words) < _PROSE_WORDS or 10 * small < 6 * len(words)


_RULES: tuple[tuple[JunkKind, Callable[[str], bool]], ...] = (
    ("markup", _is_markup),
    ("chatbot", _is_chatbot),
    ("about_itself", is_about_itself),
    ("caption", _is_caption),
    ("byline", _is_byline),
    ("furniture", _is_furniture),
    ("address", _is_address),
    ("table", _is_table),
    ("menu", _is_menu),
    ("language", _is_foreign),
    ("headline", _is_headline),
    ("fragment", _is_fragment),
    ("no_clause", _has_no_clause),
)

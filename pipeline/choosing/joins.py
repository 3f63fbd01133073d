"""Text that lost its line breaks: a heading before its sentence, a byline before the first words, two words without a space.

Pages that were read without their markup are full of it: "History The gatehouse was built", "DramaA young chef returns",
"18 comments36 The Kadets swept". Where the part in front is clearly a heading or a number it is cut off and the sentence is
saved; so is one whose words were only divided at a line's end ("lat-est"). Everything else that was run together is not used.
"""

from __future__ import annotations

import calendar
import re

from lemminflect import getAllLemmas

from pipeline.choosing.common_words import is_common
from pipeline.choosing.word_lists import words_of
from pipeline.retrieval import STOPWORDS

HEADING_WORDS = 5
"""Most words of a heading that is cut off; longer ones are sentences more often."""

_OPENERS = (
    "The|A|An|In|At|On|After|When|As|For|During|It|He|She|This|Since|While|Before|Following|According|There|Although|"
    "Despite|Within|Under|Hundreds|Thousands|Dozens|Several|Many|More|All|Two|Three|Four|Five|Unlike"
)
_OPENER = re.compile(rf"(?<=\S )(?:{_OPENERS}) (?=[a-z]|\d)")
"""A word that opens sentences, with a capital, before a word without one: inside of a sentence only names have that."""
_OPENS = re.compile(rf"(?:{_OPENERS})\b")
_FOOTNOTE = re.compile(rf"^\[?\d{{1,3}}\]?[.)]? (?=(?:{_OPENERS})\b)")
_NOTE_INSIDE = re.compile(r"(?<=[A-Za-z][,.])\d{1,2}(?= [a-z])")
_NO_SPACE = re.compile(r"(?<=[a-z])[’'”\")\]…:]?(?=[A-Z])|(?<=\d)(?=[A-Z][a-z])|(?<=[.?!])(?=[A-Z][a-z])(?<=[a-z)”\"]{2}[.?!])")
_CAMEL_NAME = re.compile(
    r"\b(?:(?:Mc|Mac|De|Di|Da|Du|La|Le|Lo|Van|Von|Fitz|Des|Del|Dell|O)[A-Z]\w+|YouTube|LinkedIn|TikTok|PlayStation|WhatsApp|"
    r"SpaceX|PayPal|OpenAI|GitHub|DreamWorks|CinemaScore|BuzzFeed|HuffPost|AccuWeather|MasterCard|PhD|[a-z][A-Z]\w*)\b"
)
_JOINED = re.compile(
    r"[a-z][A-Z]{2,}|[a-z]{3}\d{3}\s|\d{1,2}:\d{2} ?[AP]M [A-Z]{2,3}T?C?\b|\b\d+ (?:hours?|minutes?|days?) ago"
)
"""Lines of a page that were run together: a byline with the first sentence."""
_RUN_TOGETHER = re.compile(
    r"\w\*\w|[a-z][.,;]\d{0,3}[A-Z][a-z]|[a-z]{2},[a-z]{2}|(?<![\d.,/:–-])\b\d{1,3} \d{1,3}\b(?! ?[°%/])|(?:^|\s)1\) |"
    r"\b([A-Z][a-z]+ [A-Z][a-z]+) \1\b|^[A-Z]{1,3}: |^[A-Z]\w+ [A-Z][\w’'-]+: |^\d+ ?(?:of|/) ?\d+\b|,\.|,–|\b(?:but"
    r"|that) of \w+ing\b|__|\*\*|^(\w+ \w+) \2\b|\bFILE\b|\s[*–-]$|"
    r"^[A-Z][a-z]{2,8}\.? \d{1,2}, \d{4} ?[-–—|]|[A-Z]{2} / [A-Z]{2}|^[A-Z](?:when|while|after|before|the"
    r"|this|that|with|from)\b|[A-Z]\.[a-z]{3,}|"
    r"\b(?!(?:approx|etc|vol|nos?|max|min|est|dept|ext|fig|esp|incl|resp)\.)[a-z]{3,}\. [a-z]{2,}|"
    r"^[^(]*\)|[a-z,]\"[a-z]|^[A-Z]\w+ (?:is|are) [A-Z]\w+ [a-z]+ (?:is|are)\b|"
    r"(?<![\w’'-])[B-HJ-Z] [^\W\d_a-z]{3,}|\w -[A-Z]{2}|(?<![\w’'-])Th [a-z]{2,}|"
    r"[A-Za-z]\) (?:The|In|On|At|It|He|She|They|This|When|After) (?:[A-Z]\w+ )*[a-z]|"
    r"(?<=[a-z] )"
    r"(?<!song )(?<!single )(?<!album )(?<!film )(?<!book )(?<!novel )(?<!series )(?<!sitcom )(?<!show )(?<!play )(?<!group )"
    r"(?<!band )(?<!movie )(?:All|When|After|While|Since|Following) [a-z]+ [a-z]"
)
"""Footnotes in the middle of a text, counters of a gallery, names of speakers in an interview, an author's name said twice, the
day of a teaser, a photographer's name, a sentence that goes on in small letters where a letter was lost, the second half of a
parenthesis, a definition that begins twice, and small capitals of a PDF ("H ÖLLDOBLER", "OLD -ROYD")."""
_MONTHS = "|".join(name for name in calendar.month_name if name)
_DATE_INSIDE = re.compile(
    r"(?!(?:On|In|By|Since|Until|From|Between|After|Before|As|At|The)\b)"
    rf"[^,;:]{{0,90}}?\b\d{{1,2}} (?:{_MONTHS}) \d{{4}} [A-Z][a-z]+ [a-z]"
)
"""A headline and its date before the sentence."""
_DIGITS_JOINED = re.compile(
    rf"[a-z]{{3,}}\d+[a-z]{{2,}}|[a-z]{{2}}\d{{4}}\b|\b(?:{_MONTHS})\d|"
    r"[A-Z]{4,} [A-Z]{4,}: ?"
)
_GARBLED = re.compile(r"[ÂÃ](?=[\x80-\xbfA-Z ])|â€|ï¿½|�")
"""UTF-8 that was read as Latin-1."""
_DIVIDED = re.compile(
    r"(?<![\w’'-])(?!(?:non|co|re|pre|anti|self|semi|multi|sub|post|ex)-[^\W_]{4})([^\W\d_]{2,})-([a-z]{2,})(?![\w’'-])"
)
_LIGATURE = re.compile(r"(?<![\w’'-])(Th|[Ff]i|[Ff]l|[Ff]f) ([a-z]{2,})(?![\w’'-])")
_SPACE_LOST = re.compile(r"(?<=[a-z]{2})(?=\((?!\w{1,3}\)))|(?<=,[’”])(?=[a-z])")
_PLACE_LINE = re.compile(rf"^(?:[A-Z]{{4,}}(?: ?[–—-]|:) |[A-Z]\w+(?: [A-Z]\w+)?, [A-Z]\w+ ?— ?)(?=(?:{_OPENERS}|[A-Z]\w+)\b)")
"""Where a report comes from: "Osmere, Tolvane—In the old town ...", which has no space behind its dash."""
_CITED = (
    rf"(?!(?:{_MONTHS}|Spring|Summer|Autumn|Fall|Winter|Season|Early|Mid|Late|Since|In|From|Until|Now)\b)"
    r"(?:(?:[Dd]e|[Vv]an|[Vv]on|[Ll]e|[Ll]a) )?[A-Z][\w.’'-]*"
    r"(?:(?: and| &|,)? (?:et al|al\b|de[rn]?\b|v[ao]n\b|[A-ZÀ-Þ][\w.’'-]*))* ?\.?,? ?(?:18|19|20)\d\d ?[a-z]?"
    r"(?:(?:,| and) ?(?:(?:18|19|20)\d\d ?[a-z]?|[a-z]\b))*(?:: ?\d+(?:[–-]\d+)?)?"
)
_CITATION = re.compile(
    rf"\s*\((?:(?:e\.g\.|i\.e\.|see|see also|cf\.),? )?{_CITED}(?:[;,] ?{_CITED})*\)|"
    r"\s*\((?:see )?(?:Supplementary )?(?:Figures?|Figs?\.?|Tables?|Box) ?[A-Z]?\d[^()]{0,20}\)|"
    r"\s*\([\s,;–-]*\)"
)
"""What a paper refers to: "(Abt & Lind, 1990; Holt et al. 2001)", "(Fig. 2A)"; or had linked to, "(, )". The year of a title is
none: "(2018)"."""
_LINKS = STOPWORDS | words_of("links")
_TAIL = re.compile(
    r"\b(?:which|who|that) (?:is|are|was|were|has|have|had)\.\Z|\b(?:the|an|and|or|which)\.\Z|"
    r"\b(?:Const|Sgt|Gov|Sen|Rep|Lt|Col|Gen|Maj|Capt|Insp|Det|Supt|Dr|Mrs?|Ms|St|Rev|Prof|Hon|Vol|No)\.\Z"
)
"""A sentence that was cut at the point of an abbreviation, or of which the end was a link."""


def without_heading(text: str, page: str) -> str:
    """The sentence without what stood before it on lines of its own: a heading, a footnote's number.

    Args:
        page: the text of its page. What it says more than once is a name ("Notes On a Scandal") and stays.
    """
    text = _NOTE_INSIDE.sub("", _FOOTNOTE.sub("", text))
    for pattern in (_NO_SPACE, _OPENER):
        for match in pattern.finditer(text):
            head, rest = text[: match.start()].strip(), text[match.end() if pattern is _NO_SPACE else match.start() :]
            if len(head.split()) > HEADING_WORDS:
                break
            if not _OPENS.match(rest):  # "CubeSats had been built" is no heading "Cube"
                continue
            if not _is_heading(head) or len(rest.split()) < 2 * len(head.split()):
                continue
            joined = f"{head.split()[-1]} {match.group().strip()}" if pattern is _OPENER else _around(text, match.end())
            if not _is_name(joined, page):
                return rest
    return text


def mended(text: str) -> str:
    """The sentence without references in parentheses and the line of its place, with divided words whole and lost spaces back.

    Two parts with a hyphen are one word where they are a word together, and at least one of them is none ("lat-est").
    """
    text = _PLACE_LINE.sub("", re.sub(r"(?<=\w\.)\.\Z", "", _CITATION.sub(_without_citation, text)))
    text = _DIVIDED.sub(lambda m: _whole(m[1], m[2]) or m.group(), text)
    text = _LIGATURE.sub(lambda m: m[1] + m[2] if _is_word((m[1] + m[2]).lower()) else m.group(), text)
    return _SPACE_LOST.sub(" ", text)


def _without_citation(match: re.Match[str]) -> str:
    """Nothing, or what was found where it may say when and where a work came out: "Tide at Osmere (Broadway, 1978)"."""
    ahead = re.search(r"\S+\Z", match.string[: match.start()])
    alone = not re.search(r" and |&|al\b|;|\d\d, |\((?:see|e\.g|cf|[\s,;–-]*\))|(?:Fig|Tab|Box)", match.group())
    return match.group() if alone and ahead and ahead.group().lstrip("“\"‘'(")[:1].isupper() else ""


def _whole(left: str, right: str) -> str:
    """Both parts as one word; empty if they are no word, or are two."""
    one = left.lower() + right
    return left + right if is_common(one) and not (_is_word(left.lower()) and _is_word(right)) else ""


def run_together(text: str, page: str) -> bool:
    """Whether two texts of the page, or two words, became one in it."""
    if _JOINED.search(text) or _RUN_TOGETHER.search(text) or _GARBLED.search(text) or _TAIL.search(text):
        return True
    if _DATE_INSIDE.match(text) or _DIGITS_JOINED.search(text):
        return True
    if any(not _is_name(_around(text, m.end()), page) for m in _NO_SPACE.finditer(text)):
        return True
    return any(_is_two_words(word) for word in re.findall(r"(?<![\w’'-])[a-z]{6,}(?![\w’'-])", text))


def _is_heading(head: str) -> bool:
    """No sentence of its own, and no beginning of one: without a comma, a point and a word that goes on."""
    words = head.split()
    return bool(words) and not re.search(r"[,;.]\Z|[\"“(]", head) and words[-1].lower() not in STOPWORDS


def _is_name(words: str, page: str) -> bool:
    """A form that names have, or said on the page more than once."""
    return bool(_CAMEL_NAME.search(words)) or page.count(words) > 1


def _around(text: str, at: int) -> str:
    """The word around a place."""
    start = max(text.rfind(" ", 0, max(at - 2, 0)), 0)
    end = text.find(" ", at)
    return text[start : end if end > 0 else len(text)].strip(' .,;:()“”"’')


def _is_two_words(word: str) -> bool:
    """ "yetagainst", "hadseized", "recentlyrevealed": no word of the language, but two of them, one of which links."""
    if _is_word(word):
        return False
    for at in range(3, len(word) - 2):
        left, right = word[:at], word[at:]
        if (
            (left in _LINKS or right in _LINKS or (left.endswith("ly") and len(left) > 4))
            and _is_word(left)
            and _is_word(right)
        ):
            return True
    return False


def _is_word(word: str) -> bool:
    return word in STOPWORDS or is_common(word) or bool(getAllLemmas(word))

"""The first letter of what moves within a sentence: a capital at its start, none inside unless it is a name."""

from __future__ import annotations

import re

from pipeline.choosing.common_words import is_common

_COMMON_OPENING = re.compile(
    r"(?:The|An?|At|In|On|It|He|She|They|His|Her|Its|Their|This|These|Those|Some|Several|Many|Most|More|About|Around|Nearly|Almost|"
    r"One|Two|Three|Four|Five|Six|Seven|Eight|Nine|Ten|(?:Twen|Thir|For|Fif|Six|Seven|Eigh|Nine)ty(?:-[a-z]+)?|Sources|Police|Officials|Authorities|People|Residents|Sales|Shares|"
    r"Members|Workers|Fans|Parts|Prices|Plans|Talks|Supporters|Opponents|Critics|Students|Employees|Owners|Soldiers|Troops|Copies|"
    r"Tickets|Votes|Results|No|All|Both|There|Each|Another)\b"
)


_TITLE = re.compile(
    r"(?!(?:When|After|Before|Because|Since|As|While|Although|Though|If|Once|Until|During|Despite|Following|Due|According|Out|Instead|"
    r"Ahead|Outside|Inside)\b)[A-Z]\w* (?:for|of|in|to|and) (?:the )?[A-Z]"
)
"""What may be a title: "Here for It All"."""


_NAMES = frozenset(
    ("Solidarity", "Unity", "Liberty", "Trinity", "Providence", "Independence", "Florence", "Clarence", "Infinity")
)
"""Names that are words of the language, or end as such words do."""


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def low(text: str) -> str:
    return text[:1].lower() + text[1:]


def small(text: str) -> str:
    """Without a sentence's capital where its first word is no name."""
    return low(text) if opens_small(text) else text


def opens_small(text: str) -> bool:
    """Whether the text's first word has its capital only because it opens a sentence."""
    match = re.match(r"([A-Z][a-z’'-]*)(?: (\S))?", text)
    if not match or (_TITLE.match(text) and not _COMMON_OPENING.match(text)):
        return False
    if match[1] in _NAMES:
        return False
    common = is_common(match[1]) or re.search(r"(?:ship|out|ment|[ts]ion|ness|ity|ance|ence)s?\Z", match[1])  # "Turnout rose"
    return bool(_COMMON_OPENING.match(text)) or (bool(common) and not (match[2] or "a").isupper())

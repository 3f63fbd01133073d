"""Short titles, brackets and place names as one word each, so that rules about commas and clauses see a plain sentence.

“Lucky Day,” the fourth episode -> Xqa, the fourth episode
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TITLE_WORDS = 7
"""Words of a title at most: what is longer between quotation marks is speech, and speech has its own rules."""
_BRACKETED = re.compile(r"[\w’'“”\"-]+[,.]?[”\"]? \([^()]*\)")
_TITLE = re.compile(r"“([^“”]+)”|\"([^\"]+)\"|(?<![\w’'])‘([^‘’]+)’(?!\w)")
_STATES = (
    "Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Georgia|Hawaii|Idaho|Illinois|Indiana|Iowa|"
    "Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan|Minnesota|Mississippi|Missouri|Montana|Nebraska|Nevada|"
    "New Hampshire|New Jersey|New Mexico|New York|North Carolina|North Dakota|Ohio|Oklahoma|Oregon|Pennsylvania|Rhode Island|"
    "South Carolina|South Dakota|Tennessee|Texas|Utah|Vermont|Virginia|Washington|West Virginia|Wisconsin|Wyoming|D\\.C\\.|"
    "Ontario|Quebec|Alberta|British Columbia|New South Wales|Queensland|Victoria|England|Scotland|Wales|Ireland|France|Germany|"
    "Italy|Spain|Poland|Japan|China|India|Australia|Canada|Brazil|Mexico"
)
_PLACE = re.compile(rf"[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)?, (?:{_STATES})\b")
_MASK = re.compile(r"([Xx]q[a-z])([,.]?)")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Masked:
    """`text` with words like Xqa in place of `held`; `restore` puts them back, wherever they have gone."""

    text: str
    held: tuple[str, ...]

    @classmethod
    def of(cls, sentence: str) -> Masked:
        held: list[str] = []

        def masked(whole: str) -> str:
            if len(held) == len(_LETTERS):
                return whole
            held.append(whole)
            return f"{'X' if re.match(r'[^a-z]', whole) else 'x'}q{_LETTERS[len(held) - 1]}"

        def title(match: re.Match[str]) -> str:
            inner = match[1] or match[2] or match[3]
            if len(inner.split()) > TITLE_WORDS or inner[-1] in "?!…" or not inner[0].isupper():
                return match.group()
            # A comma or full stop inside belongs to the sentence: it stays where it is when the title moves.
            mark = inner[-1] if inner[-1] in ",." else ""
            return masked(match.group()) + mark

        text = _TITLE.sub(title, sentence)
        text = _BRACKETED.sub(lambda m: masked(m.group()), text)
        text = _PLACE.sub(lambda m: masked(m.group()), text)
        return cls(text, tuple(held))

    def restore(self, text: str) -> str:
        """The text with what was masked; a title keeps its comma or full stop inside of its marks where it had one."""

        def whole(match: re.Match[str]) -> str:
            at = _LETTERS.index(match[1][2])
            if at >= len(self.held):
                return match.group()
            held = self.held[at]
            if inside := re.fullmatch(r"([“\"‘].*?)([,.])([”\"’])", held):
                held = f"{inside[1]}{match[2]}{inside[3]}"
            else:
                held += match[2]
            return held[:1].upper() + held[1:] if match[1][0] == "X" else held

        while _MASK.search(text) and (restored := _MASK.sub(whole, text)) != text:  # a bracket may hold a title
            text = restored
        return text

"""Where a wording may not stand: the words beside it, by which it would say something else or read badly.

"After the flood" may be "following the flood"; "named after the mayor" may not. Each of the thousand most frequent wordings was
read in five to seven sentences where it would be put; what was wrong there, or would be in other common sentences, is in
wording_limits.txt. English only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LIMITS_FILE = Path(__file__).with_name("wording_limits.txt")

_NOWHERE = re.compile(r"(?!)")
_KEYS = ("not after", "not before", "only after", "only before", "not with")


@dataclass(frozen=True, slots=True)
class Limit:
    """`after` is what stands right before the wording's place, `before` what stands right behind it, `with` what stands
    anywhere in the sentence. An `only` that is None allows all."""

    not_after: re.Pattern[str]
    not_before: re.Pattern[str]
    only_after: re.Pattern[str] | None
    only_before: re.Pattern[str] | None
    not_with: re.Pattern[str]

    def allows(self, before: str, after: str) -> bool:
        """Whether it may stand between these texts, the rest of its sentence."""
        if self.not_after.search(before) or self.not_before.match(after):
            return False
        if self.only_after is not None and not self.only_after.search(before):
            return False
        if self.only_before is not None and not self.only_before.match(after):
            return False
        return not (self.not_with.search(before) or self.not_with.search(after))


@cache
def limits() -> dict[tuple[str, str], Limit]:
    """By the words that stand there and those that would, in small letters."""
    found: dict[tuple[str, str], Limit] = {}
    for line in LIMITS_FILE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            wording, *parts = line.split(" | ")
            old, _, new = wording.partition(" > ")
            found[old, new] = _limit(dict(part.split(": ", 1) for part in parts), line)
    return found


def _limit(parts: dict[str, str], line: str) -> Limit:
    if not parts or not parts.keys() <= set(_KEYS):
        raise ValueError(f"{LIMITS_FILE.name}: {line!r} has other parts than {', '.join(_KEYS)}")
    behind = {key: _listed(words) + r"\W*\Z" for key, words in parts.items() if key.endswith("after")}
    ahead = {key: r"\W*" + _listed(words) for key, words in parts.items() if key.endswith("before")}
    return Limit(
        not_after=_compiled(behind.get("not after")) or _NOWHERE,
        not_before=_compiled(ahead.get("not before")) or _NOWHERE,
        only_after=_compiled(behind.get("only after")),
        only_before=_compiled(ahead.get("only before")),
        not_with=_compiled(_listed(parts["not with"]) if "not with" in parts else None) or _NOWHERE,
    )


def _listed(words: str) -> str:
    """Any of them as whole words; one with [A-Z] is compared as it is. Raises re.error for one that is no expression."""
    alternatives = [word if re.search(r"\[A-Z\]", word) else f"(?i:{word})" for word in words.split(", ")]
    for one in alternatives:
        re.compile(one)
    return rf"(?<![\w’'-])(?:{'|'.join(alternatives)})(?![\w’'-])"


def _compiled(pattern: str | None) -> re.Pattern[str] | None:
    return re.compile(pattern) if pattern is not None else None

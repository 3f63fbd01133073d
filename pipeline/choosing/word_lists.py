"""The word lists of `word_lists.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

_REFERENCE = re.compile(r"<(\w+)>")


@cache
def _lists() -> dict[str, list[str]]:
    return tomllib.loads(Path(__file__).with_name("word_lists.toml").read_text(encoding="utf-8"))


def words_of(*names: str) -> frozenset[str]:
    """All words of these lists."""
    return frozenset(word for name in names for word in _lists()[name])


def either(name: str) -> str:
    """The list as part of a regular expression, in its order, lists that its entries name put in: `(?:a|b|the (?:c|d))`."""
    return f"(?:{'|'.join(_REFERENCE.sub(lambda other: either(other[1]), entry) for entry in _lists()[name])})"

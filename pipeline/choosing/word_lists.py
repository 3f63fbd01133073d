"""The word lists of `word_lists.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path


@cache
def _lists() -> dict[str, list[str]]:
    return tomllib.loads(Path(__file__).with_name("word_lists.toml").read_text(encoding="utf-8"))


def words_of(*names: str) -> frozenset[str]:
    """All words of these lists."""
    return frozenset(word for name in names for word in _lists()[name])

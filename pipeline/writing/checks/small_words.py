"""Small words that came, went or changed between words that stayed: "in the series" -> "in series", "may win" -> "will win".

A large model has reasons for them; a small one slips: of 43 sentences of development topics with such a change an editor found
fault with 29, and none had gained by it.
"""

from __future__ import annotations

import itertools
import re
from difflib import SequenceMatcher

from pipeline.writing.checks.compared_words import QUOTED, WORD

_SMALL = frozenset((
    "a", "an", "the", "in", "on", "at", "of", "to", "for", "from", "by", "with", "into", "as", "about", "over", "under", "and",
    "or", "but", "so", "that", "which", "who", "whose", "is", "are", "was", "were", "be", "been", "has", "have", "had", "may",
    "might", "can", "could", "will", "would", "shall", "should", "must", "not", "if", "than", "then", ".",
))  # fmt: skip
_PRONOUNS = frozenset(("it", "he", "she", "they", "there"))
_SAFE = frozenset((
    ("in", "within"), ("which", "that"), ("that", "which"), ("until", "till"), ("of", "in"), ("in", "of"),
    ("", "that"), ("", "the"), ("that is", ""), ("which is", ""), ("which was", ""), ("which were", ""), ("that was", ""),
    ("who is", ""), ("who was", ""), ("that were", ""), ("that are", ""), ("who are", ""), ("who were", ""),
    ("and", "and the"), ("on the", "on"),
))  # fmt: skip
"""(before, after) that keep the meaning, by the same reading."""
_LINKS = frozenset(("and", "but", "while", "so"))
"""In their place a sentence may end."""
_TOKEN = re.compile(rf"{WORD.pattern}|\.(?=\s)")


def small_words(text: str, fact: str) -> tuple[str, ...]:
    """Changes of small words alone, in the order of the text, as "before -> after"; quotations apart.

    Looked at is where the words on both sides, of which two before or two behind, are the fact's own: elsewhere the sentence
    was built anew.
    """
    old, new = ([w.lower() for w in _TOKEN.findall(QUOTED.sub(" ", one))] for one in (fact, text))
    found = []
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    for left, right in itertools.pairwise(blocks):
        if not left.size or not right.size or max(left.size, right.size) < 2:
            continue
        gone, came = old[left.a + left.size : right.a], new[left.b + left.size : right.b]
        pair = (" ".join(gone), " ".join(came))
        divided = came == ["."] and set(gone) <= _LINKS
        # "holds the country, that it is responsible"
        clause = not gone and "that" in came and bool(_PRONOUNS & set(came))
        changed = set(gone) | set(came) - (_PRONOUNS if clause else frozenset())
        if changed <= _SMALL and pair not in _SAFE and not divided and sorted(gone) != sorted(came):
            found.append(f"{pair[0] or 'nothing'} -> {pair[1] or 'nothing'}")
    return tuple(found)

"""What several metrics share about text: tokens, content words, n-grams, and the form in which texts are searched.

Two normal forms, for two questions. `words` is the token of rouge-score and drops everything outside a-z and 0-9.
`plain` keeps every alphabet and only removes punctuation, as the benchmark's cited pages were stored; names, copied runs
and duplicates are looked for in it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

STOPWORDS = frozenset(
    """
    a an the this that these those he she it they we i you his her its their our my your him them us
    who whom whose which what when where why how and or but nor so yet if then than as at by for from in into of off on
    onto out over per to up upon via with within without about above across after again against along among around
    before behind below beneath beside between beyond during except inside near outside since through throughout
    toward towards under until is are was were be been being am has have had having do does did doing will would shall
    should can could may might must not no all any both each few more most other some such only own same too very there
    here also however while although though because despite following later today meanwhile additionally according
    first one two three
    """.split()  # noqa: SIM905 - a hundred quoted words are harder to read
)
"""Function words, and the adverbs and small numerals that open sentences with a capital."""

_WORD = re.compile(r"[a-z0-9]+")
_BREAK = re.compile(r"[–—―/]")
_PUNCTUATION = re.compile(r"[^\w\s]")


def words(text: str) -> list[str]:
    """Tokens `[a-z0-9]+` of the lower-cased NFKC form: those of rouge-score (Lin 2004), without its stemmer."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower())


def content_words(text: str) -> list[str]:
    """`words` without function words, in order."""
    return [word for word in words(text) if word not in STOPWORDS]


def dropped_letters(text: str) -> float:
    """Share of the letters that `words` cannot see because they lie outside a-z; 0 for a text without letters."""
    letters = [c for c in unicodedata.normalize("NFKC", text).lower() if c.isalpha()]
    return sum(not "a" <= c <= "z" for c in letters) / len(letters) if letters else 0.0


def plain(text: str) -> str:
    """Lower-cased NFKC text without punctuation, tokens separated by one space.

    Punctuation inside a word closes up (`An-225` gives `an225`, `1.5` gives `15`), as in the benchmark's cited pages;
    dashes and slashes stand between words and become a space.
    """
    lowered = _BREAK.sub(" ", unicodedata.normalize("NFKC", text).lower())
    return " ".join(_PUNCTUATION.sub("", lowered).split())


def ngram_counts(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    """How often each run of n tokens occurs; empty when there are fewer than n."""
    return Counter(zip(*(tokens[i:] for i in range(n))))


@lru_cache(maxsize=1 << 15)
def porter_stem(word: str) -> str:
    """nltk's Porter stem, in lower case; each word once, since stemming is most of the time of what uses it."""
    return _porter()(word)


@lru_cache(maxsize=1)
def _porter() -> Callable[[str], str]:
    from nltk.stem.porter import PorterStemmer  # half a second: loaded on use

    stem: Callable[[str], str] = PorterStemmer().stem
    return stem

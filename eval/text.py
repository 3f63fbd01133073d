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

FINITE = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|do|does|did|will|would|can|could|may|might|must|shall|should"
    r"|began|became|broke|brought|built|bought|came|caught|chose|died|drew|drove|fell|fought|found|gave|got|grew|held|kept"
    r"|killed|knew|led|left|lost|made|met|paid|put|ran|rose|said|sang|sank|saw|sent|set|shot|sold|spent|spoke|stood|struck"
    r"|swept|taught|threw|took|wore"
    r"|told|went|won|wrote|[a-z]{3,}ed)\b"
)
"""Verb forms that show where a clause has its verb: auxiliaries, the regular past, and the irregular ones that news uses."""

_ALSO_FINITE = re.compile(
    r"\b(?:beat|bore|bred|burst|cost|cut|dealt|drank|ate|fed|felt|fled|flew|froze|heard|hit|hung|hurt|lay|lent|let|lit|meant|quit"
    r"|rang|read|rode|sat|shook|shut|slept|sought|split|spread|stole|swam|swore|thought|tore|understood|woke)\b"
)
"""Some of these are nouns as well, so that no clause is cut at them."""
QUOTED = re.compile(r"“[^“”]*”|«[^«»]*»|\"[^\"]*\"|(?<!\w)[‘'][^‘’']*[’'](?!\w)")
_HALF_QUOTED = re.compile(r"[“«\"].*$|^[^“]*”|^[^«]*»")  # a quotation that goes on over several sentences
_PRONOUN = re.compile(r"\W*(?:He|She|It|They|We|You|I|There|This|That|These|Those)\b")
_SMALL_WORDS = 4
_WORD = re.compile(r"[a-z0-9]+")
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Thai, Lao, Burmese, Khmer, kana and Chinese characters."""
_ANY_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_BREAK = re.compile(r"[–—―/]")
_PUNCTUATION = re.compile(r"[^\w\s]")


def words(text: str) -> list[str]:
    """Tokens `[a-z0-9]+` of the lower-cased NFKC form: those of rouge-score (Lin 2004), without its stemmer."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower())


def unquoted(sentence: str) -> str:
    """With a space in place of each quotation, and of the half of one that begins or ends elsewhere."""
    return _HALF_QUOTED.sub(" ", QUOTED.sub(" ", sentence))


def content_words(text: str) -> list[str]:
    """Lower-cased NFKC words of any script without the English function words, in order; accents stay. Of scripts that set no
    space between words each letter is one."""
    return [word for word in _ANY_WORD.findall(unicodedata.normalize("NFKC", text).lower()) if word not in STOPWORDS]


def has_clause(sentence: str) -> bool:
    """Whether it can say something: it has a verb that is known by its form, opens with a pronoun, or has at least four words
    in small letters that are a third of all. Lines of names have none of these. Without capitals anything is a clause.

    >>> has_clause("The ferry sank."), has_clause("Petra Oduya, Oslo, the Lake Authority")
    (True, False)
    """
    if FINITE.search(sentence) or _ALSO_FINITE.search(sentence) or _PRONOUN.match(sentence):
        return True
    written = [word for word in sentence.split() if any(c.isalpha() for c in word)]
    if not any(c.isupper() or c.islower() for c in sentence):
        return bool(written)
    small = sum(word.lstrip("\"'“‘(").islower() for word in written)
    return small >= _SMALL_WORDS and 3 * small >= len(written)


def dropped_letters(text: str) -> float:
    """Share of the letters that `words` cannot see because they lie outside a-z; 0 for a text without letters."""
    letters = [c for c in unicodedata.normalize("NFKC", text).lower() if c.isalpha()]
    return sum(not "a" <= c <= "z" for c in letters) / len(letters) if letters else 0.0


def plain(text: str) -> str:
    """Lower-cased NFKC text without punctuation, tokens separated by one space.

    Punctuation inside a word closes up (`An-225` gives `an225`, `1.5` gives `15`), as in the benchmark's cited pages;
    dashes and slashes are between words and become a space.
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

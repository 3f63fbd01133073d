"""How much of the article is copied, from the pages and from the human article, and how much it repeats itself.

An extractive system has near-perfect citations for free, so a citation table needs these beside it; `leak8` and `gold_copy8`
say whether the pages or the writer knew the human article.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache

from data.types import Page
from eval.catalogue import directions
from eval.metric import Case
from eval.text import plain

_RUN = 8
_SHORT_RUN = 5  # a human article has 4% of its words in such runs, copied passages with every seventh word left out 93%
_PHRASE = 4
_LEAST_WORDS = 4  # some page has a shorter sentence by chance
_MOST_PLACES = 100  # of one run in the pages: text of one word said over and over would take quadratic time
_FOREIGN = "\0"  # a word of a page that neither article has: no n-gram with it can match

_QUOTED = re.compile(r"“[^“”\n]*”|«[^«»\n]*»|(?<!\w)\"[^\"\n]*\"(?!\w)")
"""What a sentence marks as somebody else's words. A mark that is never closed marks nothing, or one would hide a copy."""


class Copying:
    """copy8                    share of the article's 8-grams that are in a page, by a plain count
    copied_share             share of its words that lie in a copied run: 5 words or more that follow one another in a page
    longest_copy_words       the longest run of words that is in a page
    verbatim_share           share of its sentences that are word for word in a page
    repetition, duplicate_sentence_share   share of 4-grams, and of sentences, that came before
    leak8                    share of the human article's 8-grams in the page that has most of them
    gold_copy8               share of the article's 8-grams, joins included, that the human article has

    A plain count takes the 8-grams of each sentence alone and looks for them in every page. An 8-gram across two sentences
    of the article says how they were put together, not whence they come: with sentences copied whole from different places a
    third of all 8-grams are such joins, and no page has them. `copied_share` and `longest_copy_words` need no such care, for a
    word is copied as soon as one run holds it; runs may go on over the end of a sentence, so cutting copied text into short
    sentences, or making one long sentence of it, hides nothing.

    Pages are all of the event, those dropped as duplicates, too short or leaks included, and their titles: a copy is a copy,
    whether or not the writer could use the page. Only `leak8` is about the pages a writer could use. No run goes from one page
    into another.

    `verbatim_share` counts sentences of at least 4 words outside quotation marks (“ ”, " ", « »); the marks excuse a sentence
    that is all quotation. In the other values quoted words count, or marks around everything would hide it. Tokens are those of
    `text.plain`. A share is None where there is nothing to count.
    """

    names = directions(
        "copy8",
        "copied_share",
        "longest_copy_words",
        "verbatim_share",
        "repetition",
        "duplicate_sentence_share",
        "leak8",
        "gold_copy8",
    )

    @property
    def signature(self) -> str:
        runs = f"n={_RUN}|copied={_SHORT_RUN}|repeat={_PHRASE}"
        return f"copying:tok=plain|{runs}|pages=all|unit=sentence|verbatim>={_LEAST_WORDS}w|v3"

    def score(self, case: Case) -> dict[str, float | None]:
        tokens = [plain(sentence.text).split() for sentence in case.sentences]
        written, gold = [token for sentence in tokens for token in sentence], plain(case.gold.prose).split()
        # one character a word: an n-gram is then a slice, and searching a run is searching a string
        letters = {word: chr(i) for i, word in enumerate(dict.fromkeys([*written, *gold]), start=1)}
        article, human = _spell(written, letters), _spell(gold, letters)
        sentences = [_spell(sentence, letters) for sentence in tokens]
        article_runs, distinct_human, phrases = _slices(article, _RUN), set(_slices(human, _RUN)), _slices(article, _PHRASE)
        texts = [_spell(text, letters) for text in _page_tokens(case.pages)]
        usable = [text for text, page in zip(texts, case.pages, strict=True) if page.usable]
        titles = [_spell(plain(page.title).split(), letters) for page in case.pages]
        pages = _Pages([*texts, *titles], set(article_runs))
        wanted = set(_slices(article, _SHORT_RUN))
        short = {run for text in (*texts, *titles) for run in _slices(text, _SHORT_RUN) if run in wanted}
        copied = [run in short for run in _slices(article, _SHORT_RUN)]
        inner = [run in pages.places for sentence in sentences for run in _slices(sentence, _RUN)]
        counted = [s for s, source in zip(sentences, case.sentences, strict=True) if _own_words(source.text) >= _LEAST_WORDS]
        said = [sentence for sentence in sentences if sentence]
        return {
            "copy8": sum(inner) / len(inner) if inner else None,
            "copied_share": _covered(copied, _SHORT_RUN) / len(article) if article else None,
            "longest_copy_words": float(pages.longest_run(article)) if article else None,
            "verbatim_share": sum(map(pages.hold, counted)) / len(counted) if counted else None,
            "repetition": 1 - len(set(phrases)) / len(phrases) if phrases else None,
            "duplicate_sentence_share": 1 - len(set(said)) / len(said) if said else None,
            "leak8": _leak(distinct_human, usable) if distinct_human else None,
            "gold_copy8": sum(run in distinct_human for run in article_runs) / len(article_runs) if article_runs else None,
        }


class _Pages:
    """Spelled texts of pages. `places`: where each wanted run of 8 is, the first of them where there are very many."""

    def __init__(self, texts: Sequence[str], wanted: Set[str]) -> None:
        self._text = _FOREIGN.join(texts)
        self.places: dict[str, list[int]] = {}
        for place, run in enumerate(_slices(self._text, _RUN)):
            if run in wanted and len(places := self.places.setdefault(run, [])) < _MOST_PLACES:
                places.append(place)

    def hold(self, run: str) -> bool:
        """Whether the run is in one text. The whole is searched only for a run whose parts are all there."""
        return _FOREIGN not in run and all(part in self.places for part in _slices(run, _RUN)) and run in self._text

    def longest_run(self, text: str) -> int:
        """Length of the longest substring of `text` in one of the texts, whose runs of 8 are among the wanted ones."""
        longest, ended = 0, dict[int, int]()  # place of the run before -> length of the common run that ends with it
        for run in _slices(text, _RUN):
            ended = {place: ended.get(place - 1, _RUN - 1) + 1 for place in self.places.get(run, ())}
            longest = max(longest, *ended.values()) if ended else longest
        if longest:
            return longest
        return next((n for n in range(_RUN - 1, 0, -1) if not set(_slices(text, n)).isdisjoint(_slices(self._text, n))), 0)


@lru_cache(maxsize=2)
def _page_tokens(pages: tuple[Page, ...]) -> list[list[str]]:
    """Of each page's text, in order. Kept for a moment: floors are scored on the same pages."""
    return [plain(page.text).split() for page in pages]


def _spell(tokens: Sequence[str], letters: Mapping[str, str]) -> str:
    return "".join([letters.get(token, _FOREIGN) for token in tokens])


def _slices(text: str, n: int) -> list[str]:
    return [text[i : i + n] for i in range(len(text) - n + 1)]


def _own_words(sentence: str) -> int:
    """Words outside quotation marks."""
    return len(plain(_QUOTED.sub(" ", sentence)).split())


def _covered(copied: Sequence[bool], n: int) -> int:
    """How many places lie in a run of n that starts at a place where `copied` holds."""
    covered, end = 0, 0
    for start, is_copied in enumerate(copied):
        if is_copied:
            covered += start + n - max(start, end)
            end = start + n
    return covered


def _leak(human: set[str], pages: Sequence[str]) -> float:
    return max((len(human.intersection(_slices(page, _RUN))) / len(human) for page in pages), default=0.0)

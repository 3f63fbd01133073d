"""How much of the article is copied, from the pages and from the human article, and how much it repeats itself.

Neither good nor bad by itself: an extractive system has near-perfect citations for free, so a citation table needs `copy8`
beside it, and `leak8` and `gold_copy8` tell whether the pages or the writer knew the human article.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from data.types import Page
from eval.metric import Better, Case
from eval.text import plain

_RUN = 8
_PHRASE = 4
_FOREIGN = "\0"  # a word of a page that neither article has: no n-gram with it can match


class Copying:
    """Shares of 8-grams held in common by article, pages and human article, the longest copied run, and repetition.

    Tokens are those of `text.plain`; n-grams run over the whole prose of an article but never from one page into another.
    Only pages that the writer could use count. A share is None where there is no n-gram to count.
    """

    @property
    def names(self) -> Mapping[str, Better]:
        return {
            "copy8": "neither",
            "longest_copy_words": "neither",
            "repetition": "lower",
            "duplicate_sentence_share": "lower",
            "leak8": "neither",
            "gold_copy8": "neither",
        }

    @property
    def signature(self) -> str:
        return f"copying:tok=plain|n={_RUN}|repeat={_PHRASE}|v1"

    def score(self, case: Case) -> dict[str, float | None]:
        written, gold = plain(case.prose).split(), plain(case.gold.prose).split()
        # one character a word: an n-gram is then a slice, and searching a run is searching a string
        letters = {word: chr(i) for i, word in enumerate(dict.fromkeys([*written, *gold]), start=1)}
        article, human = _spell(written, letters), _spell(gold, letters)
        pages = [_spell(tokens, letters) for tokens in _evidence_tokens(case.pages)]
        article_runs, human_runs = _slices(article, _RUN), _slices(human, _RUN)
        page_runs = [set(_slices(page, _RUN)) for page in pages]
        copied = set().union(*page_runs)
        distinct_human, phrases = set(human_runs), _slices(article, _PHRASE)
        sentences = [form for sentence in case.sentences if (form := plain(sentence.text))]
        return {
            "copy8": _share_in(article_runs, copied),
            "longest_copy_words": float(_longest_run(article, _FOREIGN.join(pages))),
            "repetition": 1 - len(set(phrases)) / len(phrases) if phrases else None,
            "duplicate_sentence_share": 1 - len(set(sentences)) / len(sentences) if sentences else None,
            "leak8": (
                max((len(distinct_human & runs) / len(distinct_human) for runs in page_runs), default=0.0)
                if distinct_human
                else None
            ),
            "gold_copy8": _share_in(article_runs, distinct_human),
        }


@lru_cache(maxsize=2)
def _evidence_tokens(pages: tuple[Page, ...]) -> list[list[str]]:
    """Of each page that the writer could use. Kept for a moment: floors are scored on the same pages."""
    return [plain(page.text).split() for page in pages if page.usable]


def _spell(tokens: Sequence[str], letters: Mapping[str, str]) -> str:
    return "".join(letters.get(token, _FOREIGN) for token in tokens)


def _slices(text: str, n: int) -> list[str]:
    return [text[i : i + n] for i in range(len(text) - n + 1)]


def _share_in(runs: Sequence[str], known: set[str]) -> float | None:
    return sum(run in known for run in runs) / len(runs) if runs else None


def _longest_run(text: str, source: str) -> int:
    """Length of the longest substring of `text` in `source`."""
    longest = 0
    for start in range(len(text)):
        while start + longest < len(text) and text[start : start + longest + 1] in source:
            longest += 1
    return longest

"""Where an article's first sentence names its subject, which every format prints in bold there.

A title such as "Tolvane dam failure" seldom stands in a sentence word for word: "The failure of the Tolvane dam" names it, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from data.types import Article, Sentence

_YEAR = re.compile(r"\b(?:1[5-9]|20)\d{2}\b")
_WORD = re.compile(r"\w+(?:[’'-]\w+)*")
_JOINING = frozenset(["of", "the", "in", "at", "on", "near", "off", "a", "an", "and", "for"])
_FAR = 600
"""Characters in which the name is looked for: a page may have sentences without end."""
_ENDS = re.compile(r"[.;:!?()\[\]\"“”«»,]")


def first_sentence(article: Article) -> Sentence | None:
    return next(iter(article.lead.sentences), None)


def parts_of(sentence: Sentence, article: Article) -> tuple[str, str, str]:
    """The sentence's text before the subject's name, the name, and what follows. The name and what follows are empty where the
    sentence is not the article's first, or does not name the subject."""
    at = name_in(article.title, sentence.text) if sentence is first_sentence(article) else None
    return (
        (sentence.text, "", "") if at is None else (sentence.text[: at[0]], sentence.text[slice(*at)], sentence.text[at[1] :])
    )


def with_name(sentence: Sentence, article: Article, words: Callable[[str], str], mark: str) -> str:
    """The sentence in the `words` of a format that keeps no space at the ends, its subject's name between two marks."""
    before, name, after = parts_of(sentence, article)
    if not name:
        return words(sentence.text)
    gaps = (" " if before[-1:].isspace() else "", " " if after[:1].isspace() else "")
    return f"{words(before)}{gaps[0]}{mark}{words(name)}{mark}{gaps[1]}{words(after)}"


def name_in(title: str, text: str) -> tuple[int, int] | None:
    """Start and end of the title, or of the same name in other order, in a sentence.

    Looked for as written, without what stands in parentheses, without its year; then as the same words in any order, joined by
    small words alone ("the 2031 flood in Tolvane"), without a mark between.
    """
    text = text[:_FAR]
    plain = re.sub(r"\s*\([^)]*\)\Z", "", title).strip()
    forms = dict.fromkeys((title.strip(), plain, " ".join(_YEAR.sub(" ", plain).split())))
    for form in forms:
        words = _WORD.findall(form)
        if not words or len(form) <= 1:
            continue
        found = re.search(r"(?<!\w)" + r"\W{1,3}".join(map(re.escape, words)) + r"(?!\w)", text, re.IGNORECASE)
        if found:
            return found.span()
    return _in_any_order(plain, text)


def _in_any_order(title: str, text: str) -> tuple[int, int] | None:
    """The shortest run of words that holds all of the title's and nothing else but joining words and a year."""
    wanted = {word.lower() for word in _WORD.findall(_YEAR.sub(" ", title))} - _JOINING
    if len(wanted) < 2:
        return None
    found = [(match.start(), match.end(), match.group().lower()) for match in _WORD.finditer(text)]
    best: tuple[int, int] | None = None
    for first, (start, _, word) in enumerate(found):
        if word not in wanted and not _YEAR.fullmatch(word):
            continue
        left, end, last = set(wanted), start, start
        for begin, stop, other in found[first:]:
            is_own = other in wanted or _YEAR.fullmatch(other) is not None
            if _ENDS.search(text, last, begin) or not (is_own or other in _JOINING):
                break
            left.discard(other)
            last = stop
            if is_own:
                end = stop
            if not left:
                break
        if not left and (best is None or end - start < best[1] - best[0]):
            best = start, end
    return best

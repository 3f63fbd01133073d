"""What of the human article's names, numbers and infobox the article holds, without any model.

Recall against everything the human wrote punishes honesty, since the pages hold only part of it; the *attainable* recall
counts only entities that some page the writer could use contains.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from data.sentences import SPLITTER, split_sentences
from data.types import Page
from eval.catalogue import directions
from eval.metric import Case
from eval.text import STOPWORDS, content_words, has_clause, plain

_CONNECTORS = frozenset("of the de la le du da del van von and for in on al bin y e &".split())  # noqa: SIM905
_MAX_CONNECTORS = 2
_TOKEN = re.compile(r"\w+(?:['’.\-]\w+)*\.?|&|[^\w\s]")  # an abbreviation keeps its full stop, so that "Lt. Lee" is one run
_POSSESSIVE = re.compile(r"['’]s\b", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+")
_SEPARATOR = re.compile(r"(?<=[0-9])[.,](?=[0-9])")
_SLOT_WORDS = range(1, 26)
_SLOT_SHARE = 0.8


class Coverage:
    """Entities, numbers and infobox slots of the human article found in the article's sentences.

    Only sentences with a clause count (`eval.text.has_clause`), on both sides: lines of names say nothing. No name runs from
    one sentence, or one line of a page, into the next. `novel_entity_rate` is of all that is written.
    """

    names = directions("entity_recall", "attainable_entity_recall", "number_recall", "novel_entity_rate", "ib_soft", "ib_hard")
    signature = f"coverage:entities=capital-runs,in-clauses|match=whole-token,in-sentence|split={SPLITTER}|v2"

    def score(self, case: Case) -> dict[str, float | None]:
        said = [s.text for s in case.sentences if has_clause(s.text)]
        prose, gold_prose = "\n".join(said), _in_clauses(case.gold.prose)
        gold_entities, gold_numbers = entities(gold_prose), numbers(gold_prose)
        written = searchable(said)
        evidence = _searchable_evidence(case.pages)
        covered = {entity for entity in gold_entities if contains(written, entity)}
        attainable = {entity for entity in gold_entities if contains(evidence, entity)}
        own = entities(case.prose)
        ib_soft, ib_hard = infobox_recall(case.gold.infobox, prose)
        return {
            "entity_recall": _share(covered, gold_entities),
            "attainable_entity_recall": _share(covered & attainable, attainable),
            "number_recall": _share(gold_numbers & numbers(prose), gold_numbers),
            "novel_entity_rate": _share({entity for entity in own if not contains(evidence, entity)}, own),
            "ib_soft": ib_soft,
            "ib_hard": ib_hard,
        }


@lru_cache(maxsize=2)
def _searchable_evidence(pages: tuple[Page, ...]) -> str:
    """Kept for a moment: floors are scored on the same pages."""
    return searchable(line for page in pages if page.usable for line in (page.title, *page.text.split("\n")))


@lru_cache(maxsize=2)
def _in_clauses(prose: str) -> str:
    return "\n".join(sentence for sentence in split_sentences(prose) if has_clause(sentence))


@lru_cache(maxsize=8)  # several metrics, and the floors, ask for the names of the same human article
def entities(text: str) -> frozenset[str]:
    """Names in `text`, in the form of `plain`: runs of capitalised tokens joined by at most two connectors.

    Function words are stripped from both ends of a run. The first word of a sentence is capital in any case, so a run
    that consists of it alone is no name.
    """
    found = set()
    for sentence in split_sentences(unicodedata.normalize("NFKC", text)):
        for start, run in _capital_runs(_TOKEN.findall(sentence)):
            name = _strip_function_words(run)
            if start == 0 and len(run) == 1:
                continue
            if len(entity := plain(_POSSESSIVE.sub("", " ".join(name)))) > 1:  # a lone initial would match anywhere
                found.add(entity)
    return frozenset(found)


def _capital_runs(tokens: list[str]) -> list[tuple[int, list[str]]]:
    """(index of the first token, tokens) of each maximal run; connectors count only between two capitalised tokens."""
    runs: list[tuple[int, list[str]]] = []
    connectors: list[str] | None = None  # those since the last capitalised token; None outside a run
    for i, token in enumerate(tokens):
        if token[0].isupper():
            if connectors is None:
                runs.append((i, []))
            runs[-1][1].extend([*(connectors or ()), token])
            connectors = []
        elif connectors is not None and token in _CONNECTORS and len(connectors) < _MAX_CONNECTORS:
            connectors.append(token)
        else:
            connectors = None
    return runs


def _strip_function_words(run: list[str]) -> list[str]:
    start, end = 0, len(run)
    while start < end and run[start].lower() in STOPWORDS:
        start += 1
    while end > start and run[end - 1].lower() in STOPWORDS:
        end -= 1
    return run[start:end]


def numbers(text: str) -> frozenset[str]:
    """Numbers in digits, without their separators: `1,234` gives `1234` and `2.5` gives `25`."""
    return frozenset(_NUMBER.findall(_SEPARATOR.sub("", unicodedata.normalize("NFKC", text))))


def searchable(texts: Iterable[str]) -> str:
    """Texts in the form that `contains` searches; no match runs from one text into the next."""
    return "\n".join(f" {plain(_POSSESSIVE.sub('', text))} " for text in texts)


def contains(haystack: str, entity: str) -> bool:
    """Whether the entity's tokens are one after another in a `searchable` text."""
    return f" {entity} " in haystack


def infobox_recall(infobox: Iterable[tuple[str, str]], prose: str) -> tuple[float | None, float | None]:
    """(soft, hard) over the slots whose value has 1-25 distinct content words; (None, None) without such a slot.

    Soft is the mean share of a slot's words that the prose has. A slot is held in the hard sense when all its numbers and
    at least 80% of its words are there.
    """
    written_words, written_numbers = set(content_words(_SEPARATOR.sub("", prose))), numbers(prose)
    soft, hard = [], []
    for _, value in infobox:
        slot = set(content_words(_SEPARATOR.sub("", value)))
        if len(slot) in _SLOT_WORDS:
            share = len(slot & written_words) / len(slot)
            soft.append(share)
            hard.append(share >= _SLOT_SHARE and numbers(value) <= written_numbers)
    return (math.fsum(soft) / len(soft), sum(hard) / len(hard)) if soft else (None, None)


def _share(part: frozenset[str] | set[str], whole: frozenset[str] | set[str]) -> float | None:
    return len(part) / len(whole) if whole else None

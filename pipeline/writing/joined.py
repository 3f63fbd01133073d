"""Two short sentences on one subject as one: "The dirigible was built at Morris Park. The dirigible cost over $5,000." -> "The
dirigible was built at Morris Park and cost over $5,000."

Facts are said one by one, and statements that are told in parts even more so. Sentence aggregation (Reape & Mellish, 1999) by
subject grouping needs neither a pronoun nor its gender. Only sentences with the same citations are joined, so that each of them
still holds the whole. What is left of paragraphs and sections that lost their copied sentences is joined, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from data.types import Section, Sentence
from pipeline.choosing.verbs import is_verb
from pipeline.retrieval import terms

MOST_WORDS, MOST_TOGETHER = 18, 30
"""Words of a sentence that is joined with another, and of both."""
LONGEST_SUBJECT = 7
PARAGRAPH = 5
"""Sentences of a paragraph that short ones are added up to."""
LEAST = 2
"""Sentences of a section."""
_AUXILIARIES = frozenset(("is", "are", "was", "were", "has", "have", "had"))
_TOKEN = re.compile(r"\S+")
_BARE = re.compile(r"[^\W_][\w’'.&/-]*")
_NO_PART = re.compile(
    r"[“”\"«»;:()–—]|, (?:who|which|where|when|while|but|and)\b|\bthat\b|\b(?:and|but|or) \w+ (?:was|were|is|are|had|has)\b"
)
"""What a sentence that is joined does not have: behind it the second half could belong to another subject."""


def with_whole_paragraphs(sections: Sequence[Section]) -> tuple[Section, ...]:
    """Paragraphs of which one sentence is left go with a neighbour, the one before where that has room."""

    def whole(paragraphs: Sequence[Sequence[Sentence]]) -> tuple[tuple[Sentence, ...], ...]:
        found: list[tuple[Sentence, ...]] = []
        for paragraph in paragraphs:
            is_short = bool(found) and 1 in (len(found[-1]), len(paragraph))
            if is_short and len(found[-1]) + len(paragraph) <= PARAGRAPH:
                found[-1] = (*found[-1], *paragraph)
            else:
                found.append(tuple(paragraph))
        return tuple(found)

    return tuple(replace(section, paragraphs=whole(section.paragraphs)) for section in sections)


def with_whole_sections(sections: Sequence[Section], stories: frozenset[str]) -> tuple[Section, ...]:
    """The lead, and the sections; of these one of which a single sentence is left goes into the neighbour that has more of its
    words. Nothing goes into a story, nor out of one."""
    lead, *found = sections
    while thin := [n for n, one in enumerate(found) if len(one.sentences) < LEAST and one.heading.text not in stories]:
        n = thin[0]
        near = [k for k in (n - 1, n + 1) if 0 <= k < len(found) and found[k].heading.text not in stories]
        if not near:
            break
        words = set(terms(" ".join(s.text for s in found[n].sentences)))
        shared = {k: len(words & set(terms(" ".join(s.text for s in found[k].sentences)))) for k in near}
        best = max(near, key=lambda k: (shared[k], len(found[k].sentences), -k))
        paragraphs = (found[best].paragraphs, found[n].paragraphs)
        found[best] = replace(found[best], paragraphs=sum(paragraphs if best < n else paragraphs[::-1], ()))
        del found[n]
    return (lead, *found)


def with_joined_sentences(sections: Sequence[Section]) -> tuple[Section, ...]:
    """Neighbours of a paragraph in pairs, no sentence twice."""
    return tuple(
        replace(section, paragraphs=tuple(_joined(paragraph) for paragraph in section.paragraphs)) for section in sections
    )


def _joined(paragraph: Sequence[Sentence]) -> tuple[Sentence, ...]:
    found: list[Sentence] = []
    may_join = False  # what has been joined is long enough
    for sentence in paragraph:
        text = _together(found[-1].text, sentence.text) if may_join and found[-1].cites == sentence.cites else ""
        if text:
            found[-1] = replace(found[-1], text=text)
        else:
            found.append(sentence)
        may_join = not text
    return tuple(found)


def _together(first: str, second: str) -> str:
    """Both as one sentence; empty where they have not one subject, or are too long or too entangled."""
    n_words = [len(text.split()) for text in (first, second)]
    if max(n_words) > MOST_WORDS or sum(n_words) > MOST_TOGETHER or any(map(_NO_PART.search, (first, second))):
        return ""
    subjects = [_subject(text) for text in (first, second)]
    if not subjects[0] or subjects[0] != subjects[1] or not first.endswith(".") or not second.endswith("."):
        return ""
    said = [text[len(subjects[0]) :].split() for text in (first, second)]
    if said[0][:1] == said[1][:1] and (said[0][:2] == said[1][:2] or said[0][0] not in _AUXILIARIES):
        return ""  # "hit Vasterlow and hit the town"
    comma = "," if "," in first[len(subjects[0]) :] else ""
    return f"{first[:-1]}{comma} and {' '.join(said[1])}"


def _subject(text: str) -> str:
    """The words before the first verb, where they are one name or noun phrase."""
    found = list(_TOKEN.finditer(text))[: LONGEST_SUBJECT + 4]
    words = [match.group() for match in found]
    verb = next((n for n in range(1, min(len(words), LONGEST_SUBJECT + 1)) if is_verb(words, n)), 0)
    if not verb or not all(_BARE.fullmatch(word) for word in words[:verb]):
        return ""
    if any(word in _AUXILIARIES for word in words[verb + 1 : verb + 4]):  # "The number of homes flooded was 5,230"
        return ""
    return text[: found[verb].start()].rstrip()

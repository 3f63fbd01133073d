"""A model's draft -> sentences whose citations hold: dangling markers dropped, missing ones attached, the rest removed.

What counts as support here is deliberately simple (shared words, all figures, names) and is not the benchmark's judge: a
writer that filtered itself by the judge would be graded by its own ruler.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from data.markup import parse_markers
from data.settings import UnsupportedPolicy
from data.types import Passage, Repair, RepairKind, Sentence
from pipeline.choosing.facts import CALENDAR, KEPT_TEXTS, figures, names, with_digits
from pipeline.planning.outlines import MAX_HEADING_WORDS, clean_heading, heading_line, is_apparatus, same_words
from pipeline.retrieval import PassageIndex, terms

SUPPORT = 0.6
"""Least share of a sentence's words that its passage must hold for the sentence to be kept."""
ATTACH = 0.7
"""The same for a passage that the model did not name: attaching needs more certainty than keeping."""
MIN_TERMS = 2
MISSING_NAME = 0.2
"""What each name that the passage lacks takes from that share."""
SHARED_MARKER = 4
"""How many sentences back a marker at the end of a paragraph may reach; support is checked all the same."""


@dataclass(frozen=True, slots=True)
class Cited:
    """Sentences ready for an article, and the changes made."""

    sentences: tuple[Sentence, ...]
    repairs: tuple[Repair, ...]


# --- what a draft says -----------------------------------------------------------------------------------------------


def resolve(
    text: str, shown: Sequence[Sequence[str]], section: str, *, headings: Sequence[str] = (), cut_off: bool = False
) -> Cited:
    """Numbers -> passage ids; whether they support anything is not judged here.

    Markers of passages that were not shown are dropped and reported. Fragments are left out: markup, the section's
    heading (or one of `headings`) repeated, and, reported, fragments, lists of sources, echoes of the prompt, and the last
    sentence when the token limit has `cut_off` the text within it.

    Args:
        shown: `shown[k - 1]` are the ids of the passages that `[k]` stands for.
    """
    prose, repairs = _prose(text, section, {same_words(h) for h in (section, *headings)} - {""})
    pairs = [(tidy_generated(words), marked) for words, marked in parse_markers(prose)]
    pairs = [pair for pair in pairs if pair[0]]
    sentences: list[Sentence] = []
    for n, (words, marked) in enumerate(pairs, 1):
        if not _ENDED.search(words):
            if cut_off and n == len(pairs):
                repairs.append(Repair("sentence_removed", section, words, "cut off by the limit on new tokens"))
                continue
            if not marked and len(words.split()) <= MAX_HEADING_WORDS:
                repairs.append(Repair("sentence_removed", section, words, "a fragment, not a sentence"))
                continue
            words = words.rstrip(" ,;:–—-") + "."
        known: list[str] = []
        for number in marked:
            if 1 <= number <= len(shown):
                known += shown[number - 1]
            else:
                repairs.append(Repair("marker_dropped", section, words, f"[{number}] names no passage that was shown"))
        sentences.append(Sentence(text=words, cites=tuple(dict.fromkeys(known))))
    return Cited(tuple(sentences), tuple(repairs))


_ENDED = re.compile(r"[.!?…。！？؟।][\"'”’»)\]]*\Z")
_NUMBERED = re.compile(r"\s*\(?\d{1,2}[.)]\s+(?=\S)")
_PREFIX = re.compile(r"\s*(?:[-*•+]\s+|#{1,6}\s+|>\s*|(?:answer|assistant|section)\s*:\s*)+", re.I)
_SOURCE_LIST = re.compile(r"\W*(?:references|sources|citations|bibliography|works cited)\W*:", re.I)
_SOURCE_ENTRY = re.compile(r"\s*\[\d+\][\s\"“'*–-]*[^\W\d][^.!?]{1,120}\Z")
_ECHO = re.compile(r'\s*\[\d+\]\s*\(from "')


def _prose(text: str, section: str, known: set[str]) -> tuple[str, list[Repair]]:
    """The lines that may hold sentences, without markup and list marks."""
    lines: list[str] = []
    repairs: list[Repair] = []
    in_source_list = False
    raw = re.sub(r"(?<=[\w,;)])\n(?=[a-z])", " ", without_markup(text)).splitlines()  # a hard-wrapped sentence
    is_list = sum(bool(_NUMBERED.match(line)) for line in raw) > 1
    for line in raw:
        marked_up, bare = heading_line(line), clean_heading(line)
        heading = marked_up.text if marked_up else bare if same_words(bare) in known or _is_apparatus_line(line, bare) else None
        if heading is not None:
            in_source_list = bool(heading) and is_apparatus(heading) and same_words(heading) not in known
            continue
        if not line.strip():
            lines.append(line)
        elif in_source_list or _SOURCE_LIST.match(line) or _SOURCE_ENTRY.match(line):
            repairs.append(Repair("sentence_removed", section, " ".join(line.split()), "a list of sources, not a sentence"))
        elif _ECHO.match(line):
            repairs.append(Repair("sentence_removed", section, " ".join(line.split()), "it repeats the prompt"))
        else:
            line = _PREFIX.sub("", line, count=1) if _PREFIX.match(line) else line
            lines.append(_NUMBERED.sub("", line) if is_list else line)
    return "\n".join(lines), repairs


def _is_apparatus_line(line: str, bare: str) -> bool:
    return bool(bare) and not _ENDED.search(line.strip()) and "[" not in line and is_apparatus(bare)


_MARKUP: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\x1b\[[0-9;?]*[A-Za-z]"), ""),
    (re.compile(r"<ref\b[^<>]*/>|<ref\b.*?</ref>", re.S | re.I), ""),
    (re.compile(r"</?[A-Za-z][^<>\n]{0,80}>"), ""),
    (re.compile(r"\{\{[^{}]*\}\}"), ""),
    (re.compile(r"【\s*(\d+)[^】\n]*】|\[\^(\d+)\]|\[\[(\d+)\]\]"), r"[\1\2\3]"),
    (re.compile(r"\[(\d+)\]\([^()\s]*\)"), r"[\1]"),
    (re.compile(r"!\[[^\[\]]*\]\([^()]*\)"), ""),
    (re.compile(r"\[([^\[\]\n]+)\]\([^()\s]*\)"), r"\1"),
    (re.compile(r"\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]+)\]\]"), r"\1"),
    (re.compile(r"\[\s*\d*(?:\s*[,;–-]\s*\d*)*\Z"), ""),  # a marker that the token limit cut off
)
_NAMED_MARKER = re.compile(
    r"[\[(]\s*(?:passages?|sources?|evidence|documents?|docs?|refs?|references?|citations?)\.?\s*#?\s*"
    r"(\d+(?:\s*(?:,|;|and|&|–|-)\s*\d+)*)\s*[\])]",
    re.I,
)


def without_markup(text: str) -> str:
    """A draft without tags, templates, links and footnotes; other forms of markers become `[k]`: `[[2]]`, `【2†source】`,
    `[^2]`, `(passages 2 and 3)`."""
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text.rstrip())
    return _NAMED_MARKER.sub(lambda m: "[" + re.sub(r"\s*(?:;|and|&)\s*", ", ", m.group(1)) + "]", text)


_URL = re.compile(r"https?://[^\s)\]]+|www\.[^\s)\]]+")


def tidy_generated(text: str) -> str:
    """A generated sentence without list marks, emphasis, URLs and control characters; empty if no word is left."""
    text = "".join(c for c in text if c.isprintable() or c.isspace())
    text = _URL.sub("", _PREFIX.sub("", text, count=1) if _PREFIX.match(text) else text)
    text = re.sub(r"\*{2,3}|__", "", text)
    text = re.sub(r"(?<![\w*_`])[*_`](?=\S)|(?<=\S)[*_`](?![\w*_`])", "", text)
    text = re.sub(r"\(\s*\)|\[\s*\]", "", text)
    text = re.sub(r"\s+(?=[.,;:!?](?:\s|\Z))", "", " ".join(text.split()))
    return text.strip() if any(c.isalpha() for c in text) else ""


# --- whether it is so ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=KEPT_TEXTS)
def _name_words(text: str) -> frozenset[str]:
    """Words as `names` spells them, without initials and a final s: Smith, Smiths and J. Smith's are one."""
    words = (word.rstrip("s") for word in re.sub(r"[^\w\s]", "", text).lower().split())
    return frozenset(word for word in words if len(word) > 1)


@lru_cache(maxsize=KEPT_TEXTS)
def _terms(text: str) -> frozenset[str]:
    return frozenset(terms(with_digits(text)))


def support(text: str, evidence: str) -> float:
    """Share of the sentence's terms found in the evidence, in [0, 1]; 0 when a figure is missing, less for missing names."""
    wanted = _terms(text)
    if len(wanted) < MIN_TERMS or not figures(text) <= figures(evidence, as_evidence=True):
        return 0.0
    share = len(wanted & _terms(evidence)) / len(wanted)
    missing = sum(name not in CALENDAR and not _name_words(name) <= _name_words(evidence) for name in names(text))
    return max(round(share - MISSING_NAME * missing, 9), 0.0)


_ABOUT_THE_WRITING = re.compile(
    r"\A(?:please )?(?:note|disclaimer|word count)\b\s*[:(]|\Ahere (?:is|are|'s)\b|\A(?:sure|certainly|of course|sorry)[,.!]|"
    r"\b(?-i:I)['’](?:m|ve|ll|d)\b|(?:\A|[,;:] |\b(?:and|but|that|so|as|because) )"  # not "World War I was"
    r"(?-i:I (?:cannot|can['’]?t|can not|could not|am|was|have|will|would|hope|do not|don['’]t|apologi[sz]e))\b|"
    r"\bas an ai\b|\b(?:evidence|passages?|statements?) above\b|\bsquare brackets\b|"
    r"\b(?:provided|numbered|above) (?:evidence|passages?|sources?|statements?|context|texts?)\b|"
    r"\A(?:(?:write|plan) (?:only|a|the|its)|do not repeat|after every sentence|never write|use only the|"
    r"you write encyclopedia|give \w+ to \w+ headings)\b|"
    r"\b(?:article|sections?|passages?|headings?) +(?:has|have|had|with) (?:no|any|these|the following|the sections?|\d+)\b|"
    r"\A(?:the|this) (?:article|section|passage|draft) +(?:describes|discusses|provides|mentions|says|states|contains)\b",
    re.I,
)
"""The model speaking of its task, or the task repeated: never a sentence of an article, whatever words it shares."""
_QUOTATION = re.compile(r"[\"“][^\"”]*[\"”]")


def is_own_talk(text: str) -> bool:
    """Whether a sentence speaks of the writing, not of the subject, outside quotation marks."""
    return bool(_ABOUT_THE_WRITING.search(_QUOTATION.sub("", text)))


def may_stand(text: str, evidence: str) -> bool:
    """Whether `repair` leaves a sentence alone that cites this evidence."""
    return not is_own_talk(text) and support(text, evidence) >= SUPPORT


def repair(cited: Cited, index: PassageIndex, section: str, policy: UnsupportedPolicy) -> Cited:
    """Check every sentence against its citations; attach a better passage, or apply the policy to sentences without one."""
    by_id = {p.id: p for p in index.passages}
    kept: list[Sentence] = []
    repairs = list(cited.repairs)
    for n, sentence in enumerate(cited.sentences):
        text = sentence.text
        own_talk = is_own_talk(text)
        holding = () if own_talk else _holding(text, sentence.cites, by_id)
        if holding:
            kept.append(Sentence(text, holding))
            for cite in sentence.cites:
                if cite not in holding:
                    repairs.append(Repair("marker_dropped", section, text, f"passage {cite} does not support it"))
            continue
        if not own_talk:
            later = next((s.cites for s in cited.sentences[n + 1 : n + 1 + SHARED_MARKER] if s.cites), ())
            if not sentence.cites and (shared := _holding(text, later, by_id)):
                kept.append(Sentence(text, shared))
                repairs.append(Repair("citation_attached", section, text, f"{_listed(shared)}, cited after it, supports it"))
                continue
            if (best := _attach(text, index)) is not None:
                kept.append(Sentence(text, (best.id,)))
                instead = f", not {_listed(sentence.cites)}" if sentence.cites else ""
                repairs.append(Repair("citation_attached", section, text, f"passage {best.id} supports it{instead}"))
                continue
        if policy != "remove":
            kept.append(Sentence(text, sentence.cites, unsupported=True))
        if policy != "keep":
            kind: RepairKind = "sentence_removed" if policy == "remove" else "sentence_marked"
            why = "it is about the writing, not the subject" if own_talk else _why_not(sentence, index, by_id)
            repairs.append(Repair(kind, section, text, why))
    return Cited(tuple(kept), tuple(repairs))


def _holding(text: str, cites: Sequence[str], by_id: Mapping[str, Passage]) -> tuple[str, ...]:
    """Those of the cited passages that support the sentence alone; all of them when only together they do."""
    alone = tuple(c for c in cites if support(text, by_id[c].text) >= SUPPORT)
    if alone or len(cites) < 2:
        return alone
    return tuple(cites) if support(text, " ".join(by_id[c].text for c in cites)) >= SUPPORT else ()


def _attach(text: str, index: PassageIndex) -> Passage | None:
    best: tuple[float, Passage] | None = None
    for hit in index.search(text, k=5):
        value = support(text, hit.passage.text)
        if value >= ATTACH and (best is None or value > best[0]):
            best = (value, hit.passage)
    return best[1] if best else None


def _why_not(sentence: Sentence, index: PassageIndex, by_id: Mapping[str, Passage]) -> str:
    wanted = figures(sentence.text)
    nowhere = wanted.difference(*(figures(p.text, as_evidence=True) for p in index.passages))
    if nowhere:
        return f"no passage has {', '.join(sorted(nowhere))}"
    lacking = wanted.difference(*(figures(by_id[c].text, as_evidence=True) for c in sentence.cites))
    if sentence.cites and lacking:
        return f"{_listed(sentence.cites)} lacks {', '.join(sorted(lacking))}"
    return "no passage supports it"


def _listed(cites: Sequence[str]) -> str:
    return f"passage {cites[0]}" if len(cites) == 1 else f"passages {', '.join(cites)}"

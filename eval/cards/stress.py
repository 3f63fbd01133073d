"""Sentences that lie verbatim in the evidence, before and after an edit: what should a judge accept, what does it accept?

Real pages give the sentences. Each is put before a judge with the passage it comes from (true), then changed in one detail,
or with other evidence (false). The edits need no model, so they are the same for every judge; some leave a sentence true by
chance (two names of a list exchanged, a name replaced by another name of the same person), so no judge should refuse all.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from data.gold import load_gold
from data.passages import cut_passages
from data.sentences import split_sentences
from data.snapshot import Snapshot
from data.types import Page, Passage
from eval.cards import edits
from eval.cards.edit_parts import Context
from eval.judges.features import STOPWORDS, analyse_claim
from eval.judges.judge import Judge, Pair
from eval.judges.lexical_judge import AcceptRate
from eval.metrics.citations import with_title
from eval.metrics.faithfulness import EvidenceWindows

DEVELOPMENT_THIRD = "01234"
"""First hex digits of sha256(event id) of the events that judges may be looked at with."""
PER_EVENT = 12
PER_REFERENCE = 6

VERBATIM, NUMBER_CHANGED, SHUFFLED = "verbatim", "number changed", "citations shuffled"
EXCHANGED, EXCHANGED_ROLES = "two names exchanged", "two names exchanged, not of one list"
FALSE, TRUE = "false: ", "true: "
"""Before the kinds of `eval.cards.edits`: sentences made false, and true ones in another form."""
PER_KIND = 150
REFERENCE, REFERENCE_ELSEWHERE = "reference sentence, pages it may cite", "reference sentence, pages of another event"

_NAME = re.compile(r"[A-Z][\w'’-]+(?: (?:of |de |the |van |von )?[A-Z][\w'’-]+)*")
_AUXILIARY = re.compile(r"\b(?:is|was|were|are|has|have|had|will|can|could|would|should|may|might|did|does|do)\b")


class Quote(NamedTuple):
    """A sentence of a passage; `pages` and `passages` are those of its event."""

    event_id: str
    sentence: str
    passage: Passage
    pages: Sequence[Page]
    passages: Sequence[Passage]
    rng: random.Random

    def premise(self, passage: Passage | None = None) -> str:
        shown = passage or self.passage
        return with_title(self.pages[shown.page].title, shown.text)


def read_quotes(snapshot: Snapshot) -> Iterator[Quote]:
    """Up to 12 whole English sentences per event of the development third, from lines of running text."""
    for event_id in snapshot.ids("search"):
        if not is_development(event_id):
            continue
        pages = []
        for raw in snapshot.raw_pages(event_id, "search"):
            text = "\n".join(line for line in raw.body.split("\n") if len(line.split()) >= 8)
            if len(text.split()) >= 50 and _is_english(text):
                pages.append(Page(url=raw.url, title=raw.title, text=text, origin="search"))
        yield from quotes_of(event_id, pages)


def is_development(event_id: str) -> bool:
    return hashlib.sha256(event_id.encode()).hexdigest()[0] in DEVELOPMENT_THIRD


def quotes_of(event_id: str, pages: Sequence[Page]) -> Iterator[Quote]:
    """Up to 12 whole English sentences of an event's pages; none where there are fewer than four passages."""
    passages = cut_passages(pages)
    rng = random.Random(event_id)
    found = [(p, s) for p in passages for s in split_sentences(p.text) if _is_plain(s)]
    for passage, sentence in rng.sample(found, min(PER_EVENT, len(found))) if len(passages) >= 4 else ():
        yield Quote(event_id, sentence, passage, pages, passages, rng)


def _is_plain(sentence: str) -> bool:
    return 8 <= len(sentence.split()) <= 40 and sentence.endswith(".") and sentence[0].isupper() and _is_english(sentence)


def _is_english(text: str) -> bool:
    words = re.findall(r"[a-z]+", text.lower())
    return len(words) > 5 and sum(word in STOPWORDS for word in words) / len(words) >= 0.25


def change_number(sentence: str, rng: random.Random) -> str | None:
    """One number becomes another of like size: years move by 1-9, others by up to half."""
    found = list(re.finditer(r"\d+", sentence))
    if not found:
        return None
    one = rng.choice(found)
    value, is_year = int(one.group()), len(one.group()) == 4 and one.group()[0] in "12"
    steps = range(1, 10) if is_year else range(1, max(2, value // 2) + 1)
    present = {int(match.group()) for match in found}
    others = sorted({value + sign * step for step in rng.sample(steps, min(9, len(steps))) for sign in (1, -1)} - present)
    others = [other for other in others if other > 0]
    if not others:
        return None
    return f"{sentence[: one.start()]}{rng.choice(others)}{sentence[one.end() :]}"


def insert_not(sentence: str) -> str | None:
    match = _AUXILIARY.search(sentence)
    if match is None or analyse_claim(sentence).negated:
        return None
    return f"{sentence[: match.end()]} not{sentence[match.end() :]}"


def exchange_names(sentence: str, rng: random.Random) -> str | None:
    names = [m for m in _names(sentence) if sentence.count(m.group()) == 1]
    if len(names) < 2:
        return None
    a, b = sorted(rng.sample(names, 2), key=lambda match: match.start())
    return sentence[: a.start()] + b.group() + sentence[a.end() : b.start()] + a.group() + sentence[b.end() :]


def is_list_reordered(sentence: str, edited: str) -> bool:
    """Did the exchange only give a list another order? Then it is still true: names, commas, "and" and "or" are all there is
    from the first change to the last."""
    words, others = sentence.split(), edited.split()
    if len(words) != len(others):
        return False
    changed = [i for i, (a, b) in enumerate(zip(words, others, strict=True)) if a.strip(",.") != b.strip(",.")]
    between = words[changed[0] : changed[-1] + 1] if changed else ()
    listed = any(word.endswith(",") or word in ("and", "or", "&") for word in between[:-1])
    return listed and all(word[0].isupper() or word in ("and", "or", "&", "the", "of") for word in between)


def replace_name(sentence: str, page: str, rng: random.Random) -> str | None:
    names = _names(sentence)
    others = sorted({m.group() for m in _names(page) if len(m.group()) > 3 and m.group() not in sentence})
    if not names or not others:
        return None
    one = rng.choice(names)
    return sentence[: one.start()] + rng.choice(others) + sentence[one.end() :]


def _names(text: str) -> list[re.Match[str]]:
    """Runs of capitalised words inside a sentence."""
    found = (m for m in _NAME.finditer(text) if re.search(r"[\w,] $", text[max(0, m.start() - 2) : m.start()]))
    return [m for m in found if m.group().split()[0].lower() not in STOPWORDS]


def bare(text: str) -> str:
    """The form of the benchmark's cited pages."""
    return re.sub(r"[^\w\s]", "", text.lower())


def stress_pairs(quotes: Sequence[Quote]) -> dict[str, list[Pair]]:
    pairs: dict[str, list[Pair]] = defaultdict(list)
    for quote in quotes:
        here, sentence, rng = quote.premise(), quote.sentence, quote.rng
        pairs[VERBATIM].append(Pair((here,), sentence))
        pairs["verbatim, premise bare"].append(Pair((bare(here),), sentence))
        edits = {
            NUMBER_CHANGED: change_number(sentence, rng),
            '"not" inserted': insert_not(sentence),
            EXCHANGED: exchange_names(sentence, rng),
            "name replaced by another of the page": replace_name(sentence, quote.pages[quote.passage.page].text, rng),
        }
        for name, edited in edits.items():
            if edited is not None:
                pairs[name].append(Pair((here,), edited))
                if name == EXCHANGED and not is_list_reordered(sentence, edited):
                    pairs[EXCHANGED_ROLES].append(Pair((here,), edited))
        others = [p for p in quote.passages if p != quote.passage and sentence not in p.text]
        if len(others) >= 5:
            five = [quote.premise(other) for other in rng.sample(others, 5)]
            uncited = split_sentences(rng.choice(others).text)[0]
            pairs["fused with an uncited sentence"].append(Pair((here,), f"{sentence[:-1]}, and {uncited}"))
            pairs["another passage of the event"].append(Pair((five[0],), sentence))
            pairs["five other passages together"].append(Pair(tuple(five), sentence))
            pairs["verbatim, with four others"].append(Pair((*five[:4], here), sentence))
        stranger = rng.choice(quotes)
        if stranger.event_id != quote.event_id:
            pairs["a passage of another event"].append(Pair((stranger.premise(),), sentence))
    return pairs


def edit_pairs(quotes: Sequence[Quote], per_kind: int = PER_KIND) -> dict[str, list[Pair]]:
    """Sentences with their own passage, edited in every way of `eval.cards.edits`; at most `per_kind` of each."""
    known = {FALSE + kind: one for kind, one in edits.FALSE_EDITS.items()}
    known |= {TRUE + kind: one for kind, one in edits.TRUE_EDITS.items()}
    pairs: dict[str, list[Pair]] = {name: [] for name in known}
    for quote in quotes:
        rng = random.Random(quote.sentence)
        context = _surroundings(quote, rng)
        for name, one in known.items():
            if len(pairs[name]) < per_kind and (edited := one(quote.sentence, rng, context)) is not None:
                pairs[name].append(Pair((quote.premise(),), edited.text))
    return {name: found for name, found in pairs.items() if found}


def _surroundings(quote: Quote, rng: random.Random) -> Context:
    """Other sentences are drawn from other passages of the event, so the premise does not hold them."""
    elsewhere = [p for p in quote.passages if p != quote.passage]
    others = [s for p in rng.sample(elsewhere, min(4, len(elsewhere))) for s in split_sentences(p.text)]
    own = split_sentences(quote.passage.text)
    at = own.index(quote.sentence) if quote.sentence in own else len(own)
    following = own[at + 1] if at + 1 < len(own) else ""
    return Context(
        page=quote.pages[quote.passage.page].text[:20_000],
        others=tuple(s for s in others if s not in quote.passage.text),
        following=following,
    )


def shuffled_pairs(quotes: Sequence[Quote]) -> list[Pair]:
    """The sentences of an event as an article that cites them, every citation moved to the next sentence of another passage."""
    events: dict[str, list[Quote]] = defaultdict(list)
    for quote in quotes:
        events[quote.event_id].append(quote)
    pairs = []
    for article in events.values():
        for at, quote in enumerate(article):
            following = (*article[at + 1 :], *article[:at])
            wrong = next((q for q in following if quote.sentence not in q.passage.text and q.passage != quote.passage), None)
            if wrong is not None:
                pairs.append(Pair((wrong.premise(),), quote.sentence))
    return pairs


class Reference(NamedTuple):
    """Sentences of a human article, and the pages that it cites."""

    sentences: tuple[str, ...]
    pages: tuple[Page, ...]


def read_reference(snapshot: Snapshot, event_id: str, pages: tuple[Page, ...]) -> Reference:
    """Up to 6 whole sentences of the human article. Raises StageError for a file that cannot be read."""
    found = [s for s in split_sentences(load_gold(snapshot, event_id).prose) if _is_plain(s)]
    chosen = random.Random(event_id).sample(found, min(PER_REFERENCE, len(found)))
    return Reference(tuple(chosen), tuple(page for page in pages if page.usable))


def reference_pairs(references: Sequence[Reference]) -> dict[str, list[Pair]]:
    """Human sentences with the windows that fit them best, of the pages their article cites and of the next article's.

    The benchmark does not say which sentence cites which page, and many a cited page is gone: not all of the former are true.
    """
    pairs: dict[str, list[Pair]] = {REFERENCE: [], REFERENCE_ELSEWHERE: []}
    cited = [(reference, EvidenceWindows(reference.pages)) for reference in references if reference.pages]
    for at, (reference, windows) in enumerate(cited):
        elsewhere = cited[(at + 1) % len(cited)][1]
        for sentence in reference.sentences:
            pairs[REFERENCE].append(Pair(windows.best(sentence), sentence))
            if elsewhere is not windows:
                pairs[REFERENCE_ELSEWHERE].append(Pair(elsewhere.best(sentence), sentence))
    return {name: found for name, found in pairs.items() if found}


def stress(judge: Judge, quotes: Sequence[Quote]) -> tuple[AcceptRate, ...]:
    """How often each kind of pair is accepted. A pair that the judge leaves unjudged is not accepted."""
    return accept_rates(judge, stress_pairs(quotes))


def accept_rates(judge: Judge, kinds: Mapping[str, Sequence[Pair]]) -> tuple[AcceptRate, ...]:
    rates = []
    for edit, pairs in kinds.items():
        scores = [score for score in judge.score(pairs) if score is not None]
        accepted = sum(score >= judge.threshold for score in scores)
        rates.append(AcceptRate(edit, len(pairs), round(accepted / len(pairs), 4), len(pairs) - len(scores)))
    return tuple(rates)

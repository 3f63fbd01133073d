"""Evidence sentences as an answer may consist of them: what may be quoted, in which words, citing what.

For one part of an article a pool of sentences is offered to a model, best first; this module makes the offer and the numbered
passages that a prompt shows with it. A sentence is in the prompt exactly as it will be in the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from data.errors import NoEvidence
from data.types import Passage
from decoding.api import Item, Offer
from decoding.models.document_prompt import CitedPassage, marker
from pipeline.choosing.candidates import Candidate, is_fragment
from pipeline.choosing.selecting import Scored, SelectionWeights, duplicate_groups
from pipeline.writing.citing import may_stand
from pipeline.writing.prompts import quotable

MIN_QUALITY = 0.2
"""Below it are rows of tables, bits of lists and chatter: offered only where sentences cannot fill an article."""
MAX_CHARS = 700
"""Of one sentence: seventy words of prose have less, text without spaces has no end."""
LEAST_SHARE = 1.0
"""An answer may end when it has this share of the sentences that its budget of words allows."""
RANK_PRIOR, FIT_PRIOR, DANGLING_PRIOR = 2.0, 1.0, 0.5
"""Log weights that the last of a pool loses to the first, the worst fitting to the best, and "He said so" without its like."""
FOLLOW_BONUS = 1.0
"""Log weight that a sentence gains right after the one before it on its page: sentences of one place read better together."""
MIN_STOP_WORDS = 8

_SPEAKERS = (
    r"(?:the )?"
    r"(?:(?:local|state|federal|city|county|health|government|fire|military|court|election|company|team) )?"
    r"(?:officials?|police|authorities|investigators|organi[sz]ers|reports?|ministry|government|agency|company|department|office|"
    r"spokes(?:man|woman|person)|statement)"
)
_WHEN = r"(?: (?:late |early )?(?:on )?(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day| (?:yesterday|today)| in a statement)?"
_ATTRIBUTION = re.compile(rf", (?:{_SPEAKERS}) (?:said|says|added|reported|stated|confirmed|announced){_WHEN}\.\Z")


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates for one part of an article, best first, with their log weights and the words that the part may have."""

    indices: tuple[int, ...]
    priors: tuple[float, ...]
    max_words: int
    most: int


@dataclass(frozen=True, slots=True)
class Quoted:
    """The offer of a pool when a prompt shows only its first passages: `indices[k]` is the candidate behind
    `offer.items[k]`, `cites[k]` what it cites. `passages[n - 1]` is behind the marker `[n]`."""

    offer: Offer
    indices: tuple[int, ...]
    cites: tuple[tuple[str, ...], ...]
    passages: tuple[Passage, ...]
    shown: tuple[CitedPassage, ...]


@dataclass(frozen=True)
class Quotables:
    """The candidates that may be quoted, and the words in which they are."""

    scored: Scored
    texts: tuple[str, ...]
    prior_weight: float
    weights: SelectionWeights

    @classmethod
    def of(
        cls,
        scored: Scored,
        title: str,
        neutralise: Callable[[str], str],
        prior_weight: float,
        weights: SelectionWeights,
        enough_words: int,
    ) -> Quotables:
        """Without what the check of a free text would remove, and, where `enough_words` are left, without fragments.

        Raises NoEvidence if nothing is left.
        """
        texts = [_finished(quotable(c.text, neutralise)) for c in scored.candidates]
        keep = np.array([_may_be_quoted(c, text) for c, text in zip(scored.candidates, texts, strict=True)])
        # Rows of tables and chatter only where whole sentences cannot fill the part.
        good = keep & np.array([c.quality >= MIN_QUALITY for c in scored.candidates])
        if sum(len(text.split()) for text, held in zip(texts, good, strict=True) if held) >= enough_words:
            keep = good
        if not keep.any():
            raise NoEvidence(f"the usable pages of {title!r} hold no sentence that could be quoted")
        kept = tuple(text for text, held in zip(texts, keep, strict=True) if held)
        return cls(scored.only(keep), kept, prior_weight, weights)

    def n_words(self, i: int) -> int:
        return len(self.texts[i].split())

    def words(self, indices: Sequence[int]) -> int:
        return sum(self.n_words(i) for i in indices)

    def pool(
        self,
        indices: Sequence[int],
        max_words: int,
        fit: np.ndarray | None = None,
        most: int | None = None,
        rank_prior: float = RANK_PRIOR,
    ) -> Pool:
        """`indices` come in their rank, best first; `fit` says how well every candidate fits the part, shape (n,).

        `rank_prior` is the log weight that the last of them loses to the first.
        """
        # Log weights beside the model's own: the ranking of the selection, how well a sentence fits this heading, and a price
        # for one that leans on a sentence which is not offered.
        worth = dict(zip(indices, -rank_prior * np.linspace(0, 1, len(indices))))
        if fit is not None:
            mine = fit[list(indices)]
            spread = max(float(np.ptp(mine)), 1e-9)
            for i in indices:
                worth[i] -= FIT_PRIOR * float(mine.max() - fit[i]) / spread
        there = {self.scored.candidates[i].index for i in indices}
        for i in indices:
            c = self.scored.candidates[i]
            if c.dangling and c.index - 1 not in there:
                worth[i] -= DANGLING_PRIOR
        order = sorted(indices, key=lambda i: (-worth[i], i))
        top = worth[order[0]]
        n = min(self._how_many(order, max_words), most or len(order))
        return Pool(tuple(order), tuple(round(float(worth[i] - top), 4) for i in order), max_words, n)

    def divided(self, pool: Pool, n: int) -> list[Pool]:
        """`n` pools or fewer, of about as many words each: sentences of a page stay together, and so does the budget."""
        items = self.scored.candidates
        rank = {i: at for at, i in enumerate(pool.indices)}
        first_of_page: dict[int, int] = {}
        for i in pool.indices:
            first_of_page.setdefault(items[i].page, rank[i])
        ordered = sorted(pool.indices, key=lambda i: (first_of_page[items[i].page], i))
        share = self.words(ordered) / n
        runs: list[list[int]] = [[] for _ in range(n)]
        words = 0
        # Whole pages in turn, by words: a part then reads as its pages do, and no model call gets a page's second half.
        for i in ordered:
            runs[min(int(words / share), n - 1)].append(i)
            words += self.n_words(i)
        prior = dict(zip(pool.indices, pool.priors, strict=True))
        parts = []
        for run in filter(None, runs):
            best = sorted(run, key=rank.__getitem__)
            budget = round(pool.max_words * self.words(run) / words)
            parts.append(Pool(tuple(best), tuple(prior[i] for i in best), budget, self._how_many(best, budget)))
        return parts

    def passages(self, pool: Pool) -> list[Passage]:
        """Those that hold the pool's sentences, the passage of the best one first."""
        found = {p.id: p for i in pool.indices for p in self._passages_of(i)}
        return list(found.values())

    def quoted(self, pool: Pool, n: int) -> Quoted:
        """The offer of a prompt that shows the `n` best passages of the pool."""
        shown = self.passages(pool)[:n]
        number = {p.id: k for k, p in enumerate(shown, 1)}
        held = [(i, prior) for i, prior in zip(pool.indices, pool.priors, strict=True) if self._own(i).id in number]
        indices = [i for i, _ in held]
        cites = [tuple(p.id for p in self._passages_of(i) if p.id in number) for i in indices]
        groups = duplicate_groups(self.scored, indices, self.weights)
        place = {self.scored.candidates[i].index: k for k, i in enumerate(indices)}
        items = [
            Item(
                text=self.texts[i],
                after=" " + "".join(marker(number[c]) for c in cited),
                prior=prior,
                stops=attribution_stops(self.texts[i]),
                group=group,
                follows=self._before(i, place),
            )
            for (i, prior), cited, group in zip(held, cites, groups, strict=True)
        ]
        most = min(pool.most, len(set(groups)))  # of a group that says the same only one may be chosen
        least = max(1, int(LEAST_SHARE * most))
        offer = Offer(
            tuple(items), separator=" ", least=least, most=most, prior_weight=self.prior_weight, follow_bonus=FOLLOW_BONUS
        )
        # In the prompt each passage shows its sentences in its own order, not by rank: copying continues what it reads.
        lines: dict[str, list[int]] = {p.id: [] for p in shown}
        for i, cited in zip(indices, cites, strict=True):
            for c in cited:
                lines[c].append(i)
        passages = tuple(
            CitedPassage(number[p.id], tuple(self.texts[i] for i in sorted(lines[p.id]))) for p in shown if lines[p.id]
        )
        return Quoted(offer, tuple(indices), tuple(cites), tuple(shown), passages)

    def _how_many(self, indices: Sequence[int], max_words: int) -> int:
        """How many of them, the best ones, come nearest to so many words: at least one."""
        total = np.cumsum([self.n_words(i) for i in indices])
        return int(np.argmin(np.abs(total - max_words))) + 1

    def _before(self, i: int, place: Mapping[int, int]) -> int | None:
        """The place of the sentence right before it on its page, if that has one."""
        candidates = self.scored.candidates
        before = place.get(candidates[i].index - 1)
        if before is None or self._page_of_index.get(candidates[i].index - 1) != candidates[i].page:
            return None
        return before

    def _own(self, i: int) -> Passage:
        return self.scored.candidates[i].passage

    def _passages_of(self, i: int) -> list[Passage]:
        """Its own passage, and one of another page that holds the very same sentence."""
        own = self.scored.candidates[i]
        twin = next((j for j in self._same_text[self.texts[i]] if self.scored.candidates[j].page != own.page), None)
        return [own.passage] if twin is None else [own.passage, self._own(twin)]

    @cached_property
    def _page_of_index(self) -> dict[int, int]:
        return {c.index: c.page for c in self.scored.candidates}

    @cached_property
    def _same_text(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for i, text in enumerate(self.texts):
            found.setdefault(text, []).append(i)
        return found


def attribution_stops(text: str) -> tuple[int, ...]:
    """Where a sentence may be left because only who said it follows: `The road is open, officials said on Monday.`

    Only for reporting bodies: where a sentence names a speaker, or has a pronoun for one, who says it is part of what it says.
    Never out of a quotation, and never before MIN_STOP_WORDS words.
    """
    match = _ATTRIBUTION.search(text)
    if match is None:
        return ()
    rest = text[: match.start()]
    balanced = rest.count('"') % 2 == 0 and rest.count("“") == rest.count("”")
    return (match.start(),) if balanced and len(rest.split()) >= MIN_STOP_WORDS else ()


def _finished(text: str) -> str:
    return f"{text.rstrip(' ,;:')}." if text and is_fragment(text) else text


def _may_be_quoted(candidate: Candidate, text: str) -> bool:
    return 0 < len(text) <= MAX_CHARS and may_stand(text, candidate.passage.text)

"""SWIFT (Xia et al. 2025, arXiv 2410.06916): the model drafts for itself, and looks for its skip set while it writes.

Kept from the paper and its code: 0.45 of the sub-layers between first and last block are skipped, beginning with those of every
odd block; proposals are random, every 25th by Bayesian optimisation (GP-UCB, kappa 2.5); score = matchness, the share of own
tokens that the skipped model predicts when it is given those before; the search ends at a score of 0.93, after 300 proposals
without progress, or after 1000; chains of up to 25 tokens that stop below 0.8.

Left out as defects, none of which changes the text:
- The code clones the whole cache for each draft and each score. Here scratch behind the committed tokens is enough.
- It scores all proposals of a text on the same first tokens of the answer, and compares the scores of different texts. Here a
  proposal is scored ahead of the text: one pass over the pending token and the current draft, at their true positions, and
  after verification its predictions and the draft's are compared with what the text became, up to the draft's first error. So
  a score takes several rounds instead of one pass over 50 tokens, and rounds cost as much more as one pass over a draft. The
  tokens are the same for both sets, and the better one on them is kept.
- The first proposal always replaced the set at the start, which was never scored.
- The side leaves beside the chain: for sampled texts their bonus token ignored temperature and top-p. Here drafts are chains,
  drawn with the verifier's random numbers where texts are sampled (`skip.draft_chain`).
Feeding the last tokens a second time behind the committed ones would give a score in one pass, too, but at the wrong positions
and behind a verbatim copy of the answer, which any set that keeps some induction heads predicts.
"""

from __future__ import annotations

import random
import warnings
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from decoding.acquisition import one_climb
from decoding.backend import Rows, SkipSet, StepBackend, Wants
from decoding.drafters.drafter import NOTHING, Draft, Request
from decoding.drafters.lengths import Threshold
from decoding.drafters.skip import ModelChain, draft_chain

_BEHIND = 3
"""A proposal that has this many hits less than the current set on the same tokens is dropped before its window is full."""
_GP_POINTS = 100
"""Observations that the Gaussian process is fitted to, the best ones: it takes 0.3 s for 100, and 3 s for 1000."""


@dataclass(frozen=True, slots=True)
class SwiftSettings:
    """The published values, with the window of `eval_llama.sh`."""

    skip_ratio: float = 0.45
    window: int = 50
    """Own tokens that decide between two sets."""
    stop_score: float = 0.93
    max_stale: int = 300
    max_proposals: int = 1000
    bayes_interval: int = 25
    """Every such proposal is the optimiser's; 0 for none, which spares the package bayesian-optimization."""
    kappa: float = 2.5
    seed: int = 1


class SkipSearch:
    """The search for a skip set: offers a proposal, learns how it and the current set did on the same tokens."""

    def __init__(self, n_layers: int, settings: SwiftSettings) -> None:
        """Blocks 0 and n_layers - 1 are always kept."""
        self.settings = settings
        self.n_layers = n_layers
        self._random = random.Random(settings.seed)
        self._n_skipped = min(self._n_parts, max(1, int(self._n_parts * settings.skip_ratio)))
        odd = tuple(range(1, n_layers - 1, 2))
        self.best = SkipSet(odd, odd)
        self.best_score = 0.0
        """Matchness of `best` over its last `window` tokens; 0 while it has fewer."""
        self.n_proposals = 0
        self._stale = 0
        self._seen: list[tuple[tuple[int, ...], float]] = []  # sub-layers and score of each proposal
        self._recent: deque[bool] = deque(maxlen=settings.window)  # of the current set
        self._hits = self._best_hits = self._judged = 0
        self.proposal = self._propose()

    @property
    def done(self) -> bool:
        s = self.settings
        return self.best_score >= s.stop_score or self._stale >= s.max_stale or self.n_proposals >= s.max_proposals

    def tell(self, hits: int, best_hits: int, judged: int) -> None:
        """Of `judged` more tokens the proposal predicted `hits`, and the current set `best_hits`."""
        self._hits += hits
        self._best_hits += best_hits
        self._judged += judged
        self._score_best(best_hits, judged)
        window_full = self._judged >= self.settings.window
        if not window_full and self._best_hits - self._hits < _BEHIND:
            return
        score = self._hits / self._judged
        self._seen.append((self._parts(self.proposal), score))
        self.n_proposals += 1
        self._stale += 1
        if window_full and self._hits > self._best_hits:
            self.best, self._stale = self.proposal, 0
            self._score_best(self._hits, self._judged)
        self._hits = self._best_hits = self._judged = 0
        if not self.done:
            self.proposal = self._propose()

    def _score_best(self, hits: int, judged: int) -> None:
        self._recent.extend([True] * hits + [False] * (judged - hits))
        self.best_score = sum(self._recent) / len(self._recent) if len(self._recent) == self.settings.window else 0.0

    def _propose(self) -> SkipSet:
        interval = self.settings.bayes_interval
        if interval and (self.n_proposals + 1) % interval == 0:
            return self._from_parts(self._suggested())
        return self._from_parts(self._random.sample(range(self._n_parts), self._n_skipped))

    @property
    def _n_parts(self) -> int:
        return 2 * max(0, self.n_layers - 2)

    def _parts(self, plan: SkipSet) -> tuple[int, ...]:
        """Sub-layers of the inner blocks as 0..: attention first, then MLP."""
        return (*(layer - 1 for layer in plan.attention), *(layer - 1 + self._n_parts // 2 for layer in plan.mlp))

    def _from_parts(self, parts: Sequence[int]) -> SkipSet:
        half = self._n_parts // 2
        return SkipSet(
            tuple(part + 1 for part in parts if part < half), tuple(part - half + 1 for part in parts if part >= half)
        )

    def _suggested(self) -> list[int]:
        """The sub-layers with the largest coordinates of the point that the optimiser would probe next."""
        from bayes_opt import BayesianOptimization

        names = [f"{part:04d}" for part in range(self._n_parts)]  # the library keeps them in alphabetical order
        optimiser = BayesianOptimization(
            f=None,
            pbounds=dict.fromkeys(names, (0.0, 1.0)),
            acquisition_function=one_climb(self.settings.kappa),
            random_state=self.settings.seed + self.n_proposals,
            allow_duplicate_points=True,
            verbose=0,
        )
        optimiser.set_gp_params(alpha=1e-2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # kernel bounds reached, points seen twice: both expected of a step function
            for parts, score in sorted(self._seen, key=lambda seen: seen[1], reverse=True)[:_GP_POINTS]:
                skipped = set(parts)
                optimiser.register({name: float(part in skipped) for part, name in enumerate(names)}, score)
            point = optimiser.suggest()
        return sorted(range(self._n_parts), key=lambda part: -float(point[names[part]]))[: self._n_skipped]


@dataclass(slots=True)
class _Round:
    """What this round drafted, and what the proposal predicted at the same places."""

    chain: ModelChain = field(default_factory=ModelChain)
    predicted: list[int] = field(default_factory=list)


class SwiftDrafter:
    """Drafts with the best skip set found so far and goes on searching.

    The search goes on from text to text, as the original's does: it is about the stream. So drafts, though never texts, depend
    on earlier texts. One drafter, one model.

    Args:
        settings: of the search; with `max_proposals=0` every odd block is skipped for good.
    """

    name = "swift"
    wants = Wants()

    def __init__(self, settings: SwiftSettings = SwiftSettings()) -> None:
        self._settings = settings
        self._policy = Threshold(stop_prob=0.8, max_tokens=25)
        self._search: SkipSearch | None = None
        self._round = _Round()
        self._gives_up = False

    @property
    def max_tokens(self) -> int:
        return self._policy.max_tokens

    @property
    def search(self) -> SkipSearch | None:
        """None before the first text."""
        return self._search

    @property
    def confidences(self) -> tuple[float, ...]:
        """Of the last draft's chain."""
        return self._round.chain.probabilities

    def start(self, request: Request, backend: StepBackend) -> None:
        n_layers = backend.info.n_layers
        if self._search is None or self._search.n_layers != n_layers:
            self._search = SkipSearch(n_layers, self._settings)
        self._backend, self._sampler = backend, request.sampler
        self._round = _Round()
        self._gives_up = False

    def propose(self, text: Sequence[int], room: int) -> Draft:
        assert self._search is not None, "start comes first"
        self._round = _Round()
        most = self._policy.plan(room) if self._search.best and not self._gives_up else 0
        if most < 1:
            return NOTHING
        chain = draft_chain(self._backend, self._sampler, self._search.best, text, most, self._policy.go_on)
        self._round.chain = chain
        draft = Draft(chain.tokens, self.name) if chain.tokens else NOTHING
        self._gives_up = not chain.tokens  # the set overflows where nothing has been drafted yet: no use for this text
        if draft.tokens and not self._search.done:
            self._round.predicted = self._predicted(self._search.proposal, text)
        return draft

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        assert self._search is not None, "start comes first"
        if not draft.tokens:
            return
        chain, predicted = self._round.chain.tokens, self._round.predicted
        right = next((i for i, (drafted, actual) in enumerate(zip(chain, new)) if drafted != actual), min(len(chain), len(new)))
        judged = min(right + 1, len(chain))
        if predicted:
            hits = sum(guess == actual for guess, actual in zip(predicted[:judged], new))
            self._search.tell(hits, right, judged)

    def _predicted(self, plan: SkipSet, text: Sequence[int]) -> list[int]:
        """What the model under `plan` would say at each place of the chain, given the chain up to there."""
        chain = self._round.chain.tokens
        rows = self._backend.step([text[-1], *chain[:-1]], plan=plan)
        if self._sampler.plain:
            return [int(token) for token in rows.top_ids(1)[:, 0]]
        prefix = list(text)
        found = []
        for row, token in zip(rows.logits, chain):
            overflows = not bool(row.max().isfinite())
            found.append(-1 if overflows else self._sampler.choose(prefix, row))
            prefix.append(token)
        return found

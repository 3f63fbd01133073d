"""The round loop: whatever is drafted, the text, its end and the cache are those of one token at a time."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch

from data.decoding_counts import SpeculationStats
from data.errors import StageError
from decoding.api import SamplingParams
from decoding.backend import FULL, SkipSet, StepBackend, Wants
from decoding.backends.rows import TorchRows
from decoding.drafters.drafter import NOTHING, Draft, Request
from decoding.drafters.plain import NoDrafter
from decoding.sampling import RepetitionPenalty, Sampler
from decoding.speculative import decode
from tests.grids import rest_slow
from tests.toy_backend import ToyBackend

PROMPT = [3, 1, 4, 1, 5]
END = 7
GREEDY = SamplingParams(max_new_tokens=20)
SAMPLED = SamplingParams(max_new_tokens=20, temperature=0.8, top_k=12, top_p=0.95, seed=5)
PENALISED = SamplingParams(max_new_tokens=20, repetition_penalty=1.3)
Guess = Callable[[Sequence[int], int], Draft]


def one_by_one(model: ToyBackend, sampling: SamplingParams, prompt: Sequence[int] = PROMPT, end: int | None = END) -> list[int]:
    """The reference: no cache, no rounds."""
    sampler = Sampler(sampling, len(prompt))
    text = list(prompt)
    while len(text) < len(prompt) + sampling.max_new_tokens:
        text.append(sampler.choose(text, model.logits_after(text)))
        if text[-1] == end:
            break
    return text[len(prompt) :]


class Guesser:
    """Drafts what `guess(text, room)` says, and checks the cache and what it is told in each round."""

    name = "guess"
    wants = Wants()

    def __init__(self, guess: Guess, max_tokens: int = 12) -> None:
        self.max_tokens = max_tokens
        self._guess = guess
        self.n_rounds = 0

    def start(self, request: Request, backend: StepBackend) -> None:
        assert isinstance(backend, ToyBackend)
        self._backend, self._text = backend, list(request.prompt)
        self._draft: Draft | None = None
        self.n_rounds = 0

    def propose(self, text: Sequence[int], room: int) -> Draft:
        assert room >= 1
        assert self._backend.n == len(text) - 1
        assert self._backend._tokens == list(text[:-1])
        if self._draft is not None:
            assert list(text) == self._text
        self._text = list(text)
        self._draft = self._guess(text, min(room, self.max_tokens))
        return self._draft

    def observe(self, draft: Draft, new: Sequence[int], rows: Any) -> None:
        self.n_rounds += 1
        assert draft is NOTHING or draft is self._draft
        assert 1 <= len(new) <= len(draft) + 1
        assert set(new[:-1]) <= set(draft.tokens)
        assert len(rows) == 1 + len(draft)
        self._text += new


def taker(end: int | None = END) -> tuple[list[int], Callable[[int], bool]]:
    taken: list[int] = []

    def take(token: int) -> bool:
        taken.append(token)
        return token != end

    return taken, take


def text_of(
    model: ToyBackend, drafter: Any, sampling: SamplingParams, prompt: Sequence[int] = PROMPT, end: int | None = END
) -> tuple[list[int], SpeculationStats]:
    taken, take = taker(end)
    stats = decode(model, drafter, prompt, Sampler(sampling, len(prompt)), take)
    assert stats.speculation is not None
    speculation = stats.speculation
    assert (stats.n_drafted, stats.n_accepted, stats.n_verify) == (
        speculation.num_draft_tokens,
        speculation.num_accepted_tokens,
        speculation.num_verify_steps,
    )
    return taken, speculation


def check(speculation: SpeculationStats, n_tokens: int) -> None:
    per_pos = speculation.num_accepted_tokens_per_pos
    assert speculation.num_emitted_tokens == n_tokens - 1
    assert sum(per_pos) == speculation.num_accepted_tokens
    assert list(per_pos) == sorted(per_pos, reverse=True)
    assert 0 not in per_pos
    assert speculation.num_accepted_tokens <= speculation.num_draft_tokens
    assert speculation.num_drafts <= speculation.num_verify_steps <= speculation.num_emitted_tokens
    # every round gives the accepted tokens and one more, save for the last, which the text's end may cut
    surplus = speculation.num_accepted_tokens + speculation.num_verify_steps - speculation.num_emitted_tokens
    assert surplus in (0, 1)
    for field in ("num_drafts", "num_draft_tokens", "num_accepted_tokens"):
        assert sum(getattr(source, field) for source in speculation.by_source) == getattr(speculation, field)


# --- what may be drafted ----------------------------------------------------------------------------------------------


def guesses(truth: Sequence[int], rng: random.Random, vocab: int) -> dict[str, Guess]:
    """Drafts of every kind for an answer that will be `truth`."""

    def ahead(text: Sequence[int]) -> list[int]:
        known = list(truth[len(text) - len(PROMPT) :])
        return known + [rng.randrange(vocab) for _ in range(20)]

    def mixed(text: Sequence[int], room: int) -> Draft:
        length = rng.randint(0, room)
        right = rng.randint(0, length)
        tokens = ahead(text)[:right] + [rng.randrange(vocab) for _ in range(length - right)]
        return Draft(tuple(tokens), rng.choice(["a", "b"]))

    def tree(text: Sequence[int], room: int) -> Draft:
        """A random tree with the true continuation among its branches, and equal siblings now and then."""
        size = rng.randint(1, room)
        parents = [rng.randint(-1, node - 1) for node in range(size)]
        paths: list[list[int]] = []
        depths: list[int] = []
        true = ahead(text)
        tokens: list[int] = []
        for node, parent in enumerate(parents):
            depths.append(depths[parent] + 1 if parent >= 0 else 0)
            paths.append([*(paths[parent] if parent >= 0 else []), node])
            tokens.append(true[depths[node]] if rng.random() < 0.6 else rng.randrange(vocab))
        return Draft(tuple(tokens), "tree", tuple(parents))

    return {
        "nothing": lambda text, room: NOTHING,
        "right": lambda text, room: Draft(tuple(ahead(text)[:room]), "right"),
        "wrong": lambda text, room: Draft(tuple((token + 1) % vocab for token in ahead(text)[:room]), "wrong"),
        "one": lambda text, room: Draft(tuple(ahead(text)[:1]), "one"),
        "mixed": mixed,
        "tree": tree,
    }


@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED, PENALISED], ids=["greedy", "sampled", "penalised"])
@pytest.mark.parametrize(
    "kind", rest_slow(["nothing", "right", "wrong", "one", "mixed", "tree"], keep=["wrong", "mixed", "tree"])
)
def test_the_text_is_that_of_one_token_at_a_time(kind: str, sampling: SamplingParams) -> None:
    rng = random.Random(f"{kind} {sampling}")
    ends = set()
    for case in range(6):
        model = ToyBackend(vocab_size=24, seed=case)
        for limit in (1, 2, 3, 5, 8, 13, 20) if case % 6 else range(1, 21):
            asked = replace(sampling, max_new_tokens=limit, seed=case)
            truth = one_by_one(model, asked)
            drafter = Guesser(guesses(truth, rng, 24)[kind])
            taken, speculation = text_of(model, drafter, asked)
            assert taken == truth
            check(speculation, len(truth))
            ends.add((truth[-1] == END, len(truth) == limit))
    assert {(True, False), (False, True)} <= ends


@pytest.mark.parametrize("offset", range(12))
@pytest.mark.parametrize("shape", ["chain", "tree"])
def test_an_end_token_at_any_place_of_a_draft_ends_the_text_there(shape: str, offset: int) -> None:
    """The model writes on behind it, and the draft is right in that, too: none of it may reach the reader."""
    model = ToyBackend(vocab_size=500, order=4, seed=offset)
    truth = one_by_one(model, replace(GREEDY, max_new_tokens=30), end=None)
    end = truth[offset]
    expected = truth[: truth.index(end) + 1]

    def right(text: Sequence[int], room: int) -> Draft:
        at = len(text) - len(PROMPT)
        tokens = tuple(truth[at : at + room])
        if shape == "chain":
            return Draft(tokens, "right")
        twice = tuple(token for token in tokens for _ in (0, 1))[:room]  # siblings that are equal: the first counts
        return Draft(twice, "right", tuple(2 * (node // 2) - 2 if node > 1 else -1 for node in range(len(twice))))

    taken, speculation = text_of(model, Guesser(right, 24), replace(GREEDY, max_new_tokens=30), end=end)
    assert taken == expected
    check(speculation, len(expected))


def test_a_draft_beyond_its_room_is_refused() -> None:
    """Its tokens would reach the reader beyond the limit, its nodes lie beyond the cache."""
    model = ToyBackend()

    class Greedy(Guesser):
        def propose(self, text: Sequence[int], room: int) -> Draft:
            return Draft((1,) * (min(room, self.max_tokens) + 1), "long")

    for max_tokens in (3, 100):
        with pytest.raises(AssertionError, match="guess drafted"):
            text_of(model, Greedy(lambda text, room: NOTHING, max_tokens), GREEDY)


# --- what a skipped model leaves behind -------------------------------------------------------------------------------


class Skipper:
    """Drafts with the model itself, some sub-layers left out: its entries lie behind the committed ones."""

    name = "skip"
    wants = Wants(vector=True, top_k=2)
    max_tokens = 6

    def __init__(self, plan: SkipSet) -> None:
        self._plan = plan

    def start(self, request: Request, backend: StepBackend) -> None:
        assert request.prefill.vector is not None and request.prefill.vector.shape == (backend.info.hidden_size,)
        assert request.prefill.top_ids is not None and request.prefill.top_ids.shape == (len(request.prompt), 2)
        self._backend = backend

    def propose(self, text: Sequence[int], room: int) -> Draft:
        chain = self._backend.draft_chain(text[-1], plan=self._plan, max_tokens=min(room, self.max_tokens))
        return Draft(chain.tokens, "skip")

    def observe(self, draft: Draft, new: Sequence[int], rows: Any) -> None:
        pass


@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED, PENALISED], ids=["greedy", "sampled", "penalised"])
@pytest.mark.parametrize("plan", [FULL, SkipSet((2, 3), (1,)), SkipSet(tuple(range(8)), tuple(range(8)))], ids=str)
def test_approximate_entries_of_a_draft_never_reach_the_text(plan: SkipSet, sampling: SamplingParams) -> None:
    rates = []
    for case in range(10):
        model = ToyBackend(vocab_size=24, seed=case)
        asked = replace(sampling, seed=case)
        taken, speculation = text_of(model, Skipper(plan), asked)
        assert taken == one_by_one(model, asked)
        rates.append(speculation.acceptance_rate)
    if plan and sampling is GREEDY:
        assert any(rate not in (None, 0, 1) for rate in rates)  # neither always right nor always wrong


# --- the reader -------------------------------------------------------------------------------------------------------


def test_tokens_are_handed_over_as_soon_as_they_stand() -> None:
    model = ToyBackend(vocab_size=500, order=4)
    truth = one_by_one(model, GREEDY, end=None)
    seen_at_draft: list[int] = []
    taken: list[int] = []

    def guess(text: Sequence[int], room: int) -> Draft:
        assert taken == list(text[len(PROMPT) :])
        seen_at_draft.append(len(taken))
        at = len(taken)
        return Draft(tuple(truth[at : at + min(3, room)]), "right")

    def take(token: int) -> bool:
        taken.append(token)
        return True

    gains: list[int] = []
    decode(model, Guesser(guess), PROMPT, Sampler(GREEDY, len(PROMPT)), take, on_round=gains.append)
    assert taken == truth
    assert seen_at_draft == [1, 5, 9, 13, 17]
    assert gains == [1, 4, 4, 4, 4, 3]


@pytest.mark.parametrize("at", [1, 2, 3, 6, 9])
def test_an_interrupted_text_leaves_the_next_one_intact(at: int) -> None:
    model = ToyBackend(vocab_size=24)
    truth = one_by_one(model, GREEDY, end=None)
    drafter = Guesser(guesses(truth, random.Random(0), 24)["mixed"])
    taken: list[int] = []

    def breaks(token: int) -> bool:
        taken.append(token)
        if len(taken) == at:
            raise KeyboardInterrupt
        return True

    with pytest.raises(KeyboardInterrupt):
        decode(model, drafter, PROMPT, Sampler(GREEDY, len(PROMPT)), breaks)
    assert taken == truth[:at]
    assert text_of(model, drafter, GREEDY, end=None)[0] == truth


def test_the_reader_may_end_the_text_at_any_token() -> None:
    model = ToyBackend(vocab_size=24)
    truth = one_by_one(model, GREEDY, end=None)
    for at in range(1, len(truth) + 1):
        taken: list[int] = []

        def take(token: int, taken: list[int] = taken, at: int = at) -> bool:
            taken.append(token)
            return len(taken) < at

        drafter = Guesser(guesses(truth, random.Random(at), 24)["mixed"])
        stats = decode(model, drafter, PROMPT, Sampler(GREEDY, len(PROMPT)), take).speculation
        assert taken == truth[:at]
        assert stats is not None
        check(stats, at)


def test_a_text_that_ends_at_once_needs_no_drafter() -> None:
    class Never(NoDrafter):
        def start(self, request: Request, backend: StepBackend) -> None:
            raise AssertionError("started for nothing")

    model = ToyBackend()
    first = one_by_one(model, GREEDY, end=None)[0]
    for sampling, end in ((GREEDY, first), (replace(GREEDY, max_new_tokens=1), None)):
        taken, speculation = text_of(model, Never(), sampling, end=end)
        assert taken == [first]
        assert speculation.num_verify_steps == 0
        assert speculation.mean_accepted_tokens == 1.0
        assert speculation.acceptance_rate is None


# --- what goes wrong --------------------------------------------------------------------------------------------------


class Failing(ToyBackend):
    """Its logits become NaN from the `healthy`-th step on."""

    def __init__(self, healthy: int) -> None:
        super().__init__(vocab_size=24)
        self._healthy = healthy

    def step(self, ids: Sequence[int], **how: Any) -> TorchRows:
        rows = super().step(ids, **how)
        if self.n_steps > self._healthy:
            spoilt = rows.logits.clone()
            spoilt[0, 3] = torch.nan
            return TorchRows(spoilt)
        return rows


@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED, PENALISED], ids=["greedy", "sampled", "penalised"])
@pytest.mark.parametrize("healthy", [0, 3])
def test_logits_that_are_not_numbers_end_the_text_with_an_error(sampling: SamplingParams, healthy: int) -> None:
    model = Failing(healthy)
    taken, take = taker(None)
    with pytest.raises(StageError, match="NaN"):
        decode(model, NoDrafter(), PROMPT, Sampler(sampling, len(PROMPT)), take)
    assert len(taken) == healthy + 1
    assert taken == one_by_one(model, sampling, end=None)[: healthy + 1]


def test_rules_see_the_hypothetical_text_at_each_drafted_token() -> None:
    """A rule that forbids what followed the same token before: wrong as soon as it sees another text than one by one."""
    prefixes: list[tuple[int, ...]] = []

    def no_bigram_twice(prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        prefixes.append(tuple(prefix))
        seen = [b for a, b in pairwise(prefix) if a == prefix[-1]]
        return logits.index_fill(0, torch.tensor(seen, dtype=torch.long), -torch.inf)

    for case in range(12):
        model = ToyBackend(vocab_size=6, order=1, seed=case)  # would repeat itself at once
        rules = [RepetitionPenalty(1.1), no_bigram_twice]
        reference, take = taker(None)
        decode(model, NoDrafter(), PROMPT, Sampler(GREEDY, len(PROMPT), rules), take)
        expected = [(*PROMPT, *reference[:at]) for at in range(20)]
        assert prefixes == expected
        bigrams = list(pairwise([*PROMPT, *reference]))[len(PROMPT) - 1 :]
        assert len(set(bigrams)) == len(bigrams)
        for kind in ("right", "mixed", "tree"):
            prefixes.clear()
            taken, take = taker(None)
            drafter = Guesser(guesses(reference, random.Random(case), 6)[kind])
            decode(model, drafter, PROMPT, Sampler(GREEDY, len(PROMPT), rules), take)
            assert taken == reference
            assert prefixes == expected  # asked once for each token, and about no other text
        prefixes.clear()

"""SWIFT: plain text whatever it searches, scores at true positions, and a search that gets somewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from decoding.api import SamplingParams
from decoding.backend import SkipSet
from decoding.drafters.plain import NoDrafter
from decoding.drafters.swift import SkipSearch, SwiftDrafter, SwiftSettings
from decoding.sampling import Sampler
from decoding.speculative import decode
from tests.decoding.drafters.equality import Watched, check_equals_plain, run
from tests.toy_backend import ToyBackend

QUICK = SwiftSettings(window=10, bayes_interval=0)
SAMPLED = SamplingParams(max_new_tokens=60, temperature=0.8, top_p=0.9, repetition_penalty=1.2)


def test_text_equals_plain_decoding() -> None:
    assert check_equals_plain(SwiftDrafter(QUICK), n_prompts=2) > 0


def test_sampled_text_equals_plain_decoding() -> None:
    drafter = SwiftDrafter(QUICK)
    accepted = 0
    for seed in range(6):
        sampling = replace(SAMPLED, seed=seed)
        ids, stats = run(drafter, [3, 1, 4], sampling=sampling, seed=seed)
        assert ids == run(NoDrafter(), [3, 1, 4], sampling=sampling, seed=seed)[0]
        accepted += stats.n_accepted or 0
    assert accepted > 0 and drafter.search is not None and drafter.search.n_proposals > 0


def test_scores_are_teacher_forced_at_true_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the search is told must follow from the text alone: the set's own choice after each true beginning of it."""
    told: list[tuple[SkipSet, int, int, int]] = []
    tell = SkipSearch.tell

    def record(self: SkipSearch, hits: int, best_hits: int, judged: int) -> None:
        told.append((self.proposal, hits, best_hits, judged))
        tell(self, hits, best_hits, judged)

    monkeypatch.setattr(SkipSearch, "tell", record)
    places: list[int] = []  # len(text) when the draft was made

    class Places(SwiftDrafter):
        def propose(self, text, room):  # type: ignore[no-untyped-def]
            draft = super().propose(text, room)
            if draft:
                places.append(len(text))
            return draft

    backend = ToyBackend(16, order=3, noise=3.0)
    text = [1, 2, 3]
    decode(backend, Places(QUICK), [1, 2, 3], Sampler(SamplingParams(max_new_tokens=80), 3), lambda t: not text.append(t))
    assert len(told) > 10
    for at, (plan, hits, best_hits, judged) in zip(places, told):
        expected = [int(backend.logits_after(text[:i], plan).argmax()) == text[i] for i in range(at, at + judged)]
        assert hits == sum(expected)
        assert judged - best_hits in (0, 1)


def test_start_and_proposals_are_the_papers() -> None:
    search = SkipSearch(12, SwiftSettings())
    assert search.best == SkipSet((1, 3, 5, 7, 9), (1, 3, 5, 7, 9))
    for _ in range(20):
        plan = search.proposal
        assert plan.n_skipped == 9  # 0.45 of 20
        assert not {0, 11} & {*plan.attention, *plan.mlp}
        search.tell(0, 3, 3)
    assert search.n_proposals == 20 and search.best == SkipSearch(12, SwiftSettings()).best


def test_optimiser_looks_where_scores_were_good() -> None:
    """Score: how few MLP sub-layers are skipped. The optimiser's proposals beat random ones."""
    settings = SwiftSettings(bayes_interval=10, max_stale=100)
    search = SkipSearch(8, settings)
    random_scores, optimised = [], []
    for at in range(40):
        score = 40 - 6 * len(search.proposal.mlp)
        (optimised if (at + 1) % 10 == 0 else random_scores).append(score)
        search.tell(score, 45, 50)
    assert search.n_proposals == 40
    assert sum(optimised) / len(optimised) > sum(random_scores) / len(random_scores)


@pytest.mark.parametrize("n_layers", [1, 2, 3, 4])
def test_shallow_models(n_layers: int) -> None:
    backend = ToyBackend(16, n_layers=n_layers, order=2)
    plain: list[int] = []
    ids: list[int] = []
    sampler = Sampler(SamplingParams(max_new_tokens=30), 2)
    decode(backend, NoDrafter(), [1, 2], sampler, lambda t: not plain.append(t))
    drafter = SwiftDrafter(QUICK)
    decode(backend, Watched(drafter), [1, 2], sampler, lambda t: not ids.append(t))
    assert ids == plain and drafter.search is not None
    assert bool(drafter.search.best) == (n_layers > 2)

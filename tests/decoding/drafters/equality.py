"""The claim of every drafter: the text is that of plain decoding, wherever it ends. Checked on the toy model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from decoding.api import DecodeStats, SamplingParams
from decoding.backend import Rows, StepBackend
from decoding.drafters.drafter import Draft, Drafter, Request, Source
from decoding.drafters.plain import NoDrafter
from decoding.sampling import Sampler
from decoding.speculative import decode
from tests.toy_backend import ToyBackend

LONGEST = 14
GREEDY = SamplingParams(max_new_tokens=LONGEST)
VARIANTS = (GREEDY, replace(GREEDY, temperature=0.7, seed=3), replace(GREEDY, repetition_penalty=1.3))


class Watched:
    """A drafter that is held to the protocol: size, depth and form of each draft, and the backend's state at each call."""

    def __init__(self, drafter: Drafter) -> None:
        self._drafter = drafter
        self.name, self.wants, self.max_tokens = drafter.name, drafter.wants, drafter.max_tokens
        self._text: list[int] = []

    def start(self, request: Request, backend: StepBackend) -> None:
        self._backend = backend
        self._text = []
        self._drafter.start(request, backend)

    def propose(self, text: Sequence[int], room: int) -> Draft:
        assert self._backend.n == len(text) - 1
        assert not self._text or self._text == text
        self._text = list(text)
        draft = self._drafter.propose(text, room)
        assert self._text == text, "the text is not to be changed"
        assert 0 <= len(draft) <= min(room, self.max_tokens)
        assert all(token >= 0 for token in draft.tokens)
        if draft.parents is not None:
            assert len(draft.parents) == len(draft.tokens)
            assert all(-1 <= parent < at for at, parent in enumerate(draft.parents))
            edges = list(zip(draft.parents, draft.tokens))
            assert len(set(edges)) == len(edges), "the same guess twice"
        assert draft.source or not draft
        return draft

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        assert len(rows) == len(draft) + 1
        self._text += new
        self._drafter.observe(draft, new, rows)


def run(
    drafter: Drafter,
    prompt: Sequence[int],
    *,
    sampling: SamplingParams = GREEDY,
    end_at: int | None = None,
    sources: tuple[Source, ...] = (),
    order: int = 2,
    seed: int = 0,
    vocab_size: int = 16,
) -> tuple[list[int], DecodeStats]:
    """Token ids, and what they took. The text ends after `end_at` tokens, as at an end token, or at max_new_tokens."""
    ids: list[int] = []

    def take(token: int) -> bool:
        ids.append(token)
        return len(ids) != end_at and len(ids) < sampling.max_new_tokens

    backend = ToyBackend(vocab_size, order=order, seed=seed)
    stats = decode(backend, Watched(drafter), prompt, Sampler(sampling, len(prompt)), take, sources=sources)
    return ids, stats


def check_equals_plain(drafter: Drafter, *, n_prompts: int = 4, sources: tuple[Source, ...] = ()) -> int:
    """Every limit from 1 to LONGEST and an end at every token, for one prompt or the next, with one drafter for all texts;
    returns tokens accepted."""
    random = Random(drafter.name)
    accepted = 0
    for at in range(n_prompts):
        prompt = [random.randrange(16) for _ in range((1, 40, 2, 7)[at % 4])]
        for sampling in VARIANTS if at < 2 else (GREEDY,):
            model = {"order": 1 + at % 2, "seed": at}
            expected, _ = run(NoDrafter(), prompt, sampling=sampling, **model)
            assert len(expected) == LONGEST
            for n in range(1, LONGEST + 1):
                by_limit = (n + at) % 2 == 0
                asked = replace(sampling, max_new_tokens=n) if by_limit else sampling
                ids, stats = run(drafter, prompt, sampling=asked, end_at=None if by_limit else n, sources=sources, **model)
                assert ids == expected[:n]
                assert stats.speculation is not None and stats.speculation.num_emitted_tokens == n - 1
                accepted += stats.n_accepted or 0
    return accepted

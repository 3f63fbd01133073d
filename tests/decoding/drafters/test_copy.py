from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding.drafters.copy import CopyAcceptance, CopyDrafter
from decoding.drafters.drafter import NOTHING, Source
from tests.decoding.drafters.equality import check_equals_plain
from tests.toy_backend import COSTS

SECTION = Source("section", tuple(range(5, 16)))


def _started(drafter: CopyDrafter, prompt: list[int], *sources: Source) -> CopyDrafter:
    drafter.start(SimpleNamespace(prompt=prompt, sources=sources), None)
    return drafter


@pytest.mark.parametrize("drafter", [CopyDrafter(), CopyDrafter(min_match=1, costs=COSTS)], ids=["grown", "by cost"])
def test_text_is_that_of_plain_decoding(drafter):
    assert check_equals_plain(drafter, sources=(SECTION,)) > 0


def test_origin_is_where_the_first_token_is_read():
    drafter = _started(CopyDrafter(), [1, 2, 3, 4], Source("a", (5, 6, 7, 8)), Source("b", (8, 9, 10, 11)))
    text = [1, 2, 3, 4]

    def after(*tokens: int) -> tuple[str, tuple[int, ...]]:
        text.extend(tokens)
        draft = drafter.propose(text, 12)
        return draft.source, draft.tokens

    assert after(5, 6) == ("copy:a", (7, 8))
    assert after(9, 10) == ("copy:b", (11,))
    assert after(1, 2) == ("copy:prompt", (3, 4, 5, 6))
    assert after(10, 1) == ("copy:output", (2, 10, 1, 2))
    assert after(8, 8) == ("", ()), "a ends and b begins with 8"


def test_one_token_thousands_of_times():
    drafter = _started(CopyDrafter(), [7] * 3000)
    text = [7] * 3001
    assert drafter.propose(text, 40).tokens == (7,) * 12
    assert drafter.propose(text, 3).tokens == (7,) * 3
    assert drafter.propose([*text, 1], 12) is NOTHING


def test_start_forgets_the_last_text_but_not_what_was_learned():
    drafter = _started(CopyDrafter(), [1, 2, 3, 4])
    assert drafter.propose([1, 2, 3, 4, 1, 2], 12).tokens == (3, 4, 1, 2)
    drafter.learn([3, 4, 9])
    _started(drafter, [5])
    assert drafter.propose([5, 1, 2], 12) is NOTHING
    learned = _started(drafter, [1, 2, 3, 4]).candidate([1, 2, 3, 4, 1, 2], 12)
    new = _started(CopyDrafter(), [1, 2, 3, 4]).candidate([1, 2, 3, 4, 1, 2], 12)
    assert learned.tokens == new.tokens and learned.survival[0] > new.survival[0]


def test_cost_decides_the_length_and_bad_copies_are_given_up():
    prompt = list(range(200))
    drafter = _started(CopyDrafter(costs=COSTS), prompt)

    def length(match: int) -> int:
        return len(drafter.propose([*prompt, *prompt[:match]], 20))

    first = length(2)
    assert 0 < first < len(_started(drafter, prompt).propose([*prompt, *prompt[:20]], 20)) <= 12
    for _ in range(60):
        _started(drafter, prompt).candidate([*prompt, 0, 1], 20)
        drafter.learn([150])
    _started(drafter, prompt)
    assert length(2) == 0
    # a candidate that is not drafted is learned from as well
    for _ in range(200):
        _started(drafter, prompt).propose([*prompt, 0, 1], 20)
        drafter.learn([2, 3, 4])
    _started(drafter, prompt)
    assert length(2) > first


@given(st.lists(st.tuples(st.integers(1, 40), st.sampled_from(["prompt", "output", "s"]), st.floats(0.1, 1), st.booleans())))
def test_survival_falls_along_a_copy(observed):
    acceptance = CopyAcceptance()
    for entry in observed:
        acceptance.add(*entry)
    survival = acceptance.survival(3, "output", (1.0, 0.5, 1.0))
    assert list(survival) == sorted(survival, reverse=True) and 0 < survival[-1] <= survival[0] < 1

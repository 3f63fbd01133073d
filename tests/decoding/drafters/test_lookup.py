from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding.api import SamplingParams
from decoding.drafters.lookup import CopySpec, PromptLookup
from tests.decoding.drafters.equality import check_equals_plain, run

TEXTS = st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=50), st.lists(st.integers(0, 2), min_size=1, max_size=30))


def _pld(text: list[int]) -> list[int]:
    """Search through the text, as the published loop does it."""
    for n in (3, 2, 1):
        for start in range(len(text) - n + 1):
            behind = start + n
            if text[start:behind] == text[len(text) - n :] and behind + 10 <= len(text) and behind < len(text) - n:
                return text[behind : behind + 10]
    return []


def _copyspec(text: list[int]) -> list[int]:
    for start in range(len(text) - 3):
        if text[start : start + 3] == text[-3:]:
            return text[start + 3 : start + 13]
    return []


@pytest.mark.parametrize(("drafter", "reference"), [(PromptLookup(), _pld), (CopySpec(), _copyspec)], ids=["pld", "copyspec"])
@given(prompt_and_answer=TEXTS, room=st.integers(1, 15))
def test_drafts_are_those_of_a_search_through_the_text(drafter, reference, prompt_and_answer, room):
    prompt, answer = prompt_and_answer
    drafter.start(SimpleNamespace(prompt=prompt), None)
    for n in range(1, len(answer) + 1):
        text = [*prompt, *answer[:n]]
        assert list(drafter.propose(text, room).tokens) == reference(text)[:room]


def test_rounds_may_add_several_tokens_at_once():
    drafter = CopySpec()
    drafter.start(SimpleNamespace(prompt=[1, 2, 3, 4, 5]), None)
    assert drafter.propose([1, 2, 3, 4, 5, 9], 10).tokens == ()
    assert drafter.propose([1, 2, 3, 4, 5, 9, 8, 2, 3, 4], 10).tokens == (5, 9, 8, 2, 3, 4)


@pytest.mark.parametrize("make", [PromptLookup, CopySpec])
def test_text_is_that_of_plain_decoding(make):
    assert check_equals_plain(make()) > 0


@pytest.mark.parametrize("make", [PromptLookup, CopySpec])
def test_repeating_text_is_accepted(make):
    _, stats = run(make(), [1, 2, 3], sampling=SamplingParams(max_new_tokens=120), order=1)
    assert stats.n_accepted > 80
    assert stats.speculation.by_source[0].source == make.name

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from decoding.drafters.automaton import SuffixAutomaton

SMALL_TEXTS = st.lists(st.integers(0, 3), max_size=40)


def _automaton(*sources: list[int]) -> SuffixAutomaton:
    automaton = SuffixAutomaton()
    for at, tokens in enumerate(sources):
        if at:
            automaton.separate()
        automaton.extend(tokens)
    return automaton


def _joined(sources: tuple[list[int], ...] | list[list[int]]) -> list[int]:
    """One list with a symbol between sources that occurs nowhere else: positions as the automaton counts them."""
    joined: list[int] = []
    for at, tokens in enumerate(sources):
        joined += [-at, *tokens] if at else tokens
    return joined


def _ends(joined: list[int], suffix: list[int]) -> list[int]:
    """Positions behind earlier occurrences."""
    n = len(suffix)
    return [end for end in range(n, len(joined)) if joined[end - n : end] == suffix]


@given(st.lists(SMALL_TEXTS, min_size=1, max_size=3), st.integers(1, 12))
def test_continuation_is_what_followed(sources, max_tokens):
    joined = _joined(sources)
    last = sources[-1]
    followed = [n for n in range(1, len(last) + 1) if any(joined[end] >= 0 for end in _ends(joined, last[len(last) - n :]))]
    automaton = _automaton(*sources)
    assert len(automaton) == len(joined)
    found = automaton.continuation(max_tokens)
    if not followed:
        assert found is None
        return
    assert found is not None and found.match_length == max(followed)
    match = last[len(last) - found.match_length :]
    assert joined[found.start - len(match) : found.start] == match

    extended = [*joined, *found.tokens]  # what is read past the end of the text is the draft itself
    assert list(found.tokens) == extended[found.start : found.start + len(found.tokens)]
    if len(found.tokens) < max_tokens:
        stopped_at = found.start + len(found.tokens)
        assert joined[stopped_at] < 0, "it may end early only with its source"

    for at, (token, share) in enumerate(zip(found.tokens, found.shares)):
        nexts = [joined[end] for end in _ends(joined, [*match, *found.tokens[:at]]) if joined[end] >= 0]
        if not nexts:  # past the end of the text
            assert share == 1
        else:
            assert share == nexts.count(token) / len(nexts)
            assert nexts.count(token) == max(map(nexts.count, nexts))


def test_the_most_frequent_follower_is_chosen_then_the_one_after_a_shorter_suffix():
    assert _automaton([5, 6, 1, 5, 6, 2, 5, 6, 2, 5, 6]).continuation(1).tokens == (2,)
    # 1 and 2 both followed (5, 6) once, but 1 also followed 6 elsewhere
    tied = _automaton([5, 6, 1, 0, 5, 6, 2, 7, 6, 1, 3, 5, 6]).continuation(1)
    assert tied.tokens == (1,) and tied.shares == (0.5,) and tied.match_length == 2


def test_of_equally_frequent_followers_the_newest_is_chosen():
    assert _automaton([6, 1, 6, 2, 6]).continuation(1).tokens == (2,)
    assert _automaton([6, 2, 6, 1, 6]).continuation(1).tokens == (1,)


def test_no_match_or_continuation_crosses_a_boundary():
    automaton = _automaton([1, 2, 3], [4, 5], [2, 3, 4])
    found = automaton.continuation(8)
    assert found.tokens == (5,) and found.match_length == 1
    automaton = _automaton([1, 2, 3], [2, 3])
    assert automaton.continuation(8) is None, "nothing follows (2, 3) or 3 in any source"
    assert _automaton([1, 2], [1, 2, 9], [1, 2]).continuation(8).tokens == (9,)


def test_a_loop_is_continued_with_its_period():
    loop = [7, 8, 9]
    found = _automaton([1, 2, *loop * 3]).continuation(10)
    assert found.tokens == (7, 8, 9, 7, 8, 9, 7, 8, 9, 7)
    assert _automaton([3] * 2).continuation(6).tokens == (3,) * 6


def test_thousands_of_equal_tokens():
    automaton = _automaton([1, *[4] * 5000])
    assert automaton.continuation(12).tokens == (4,) * 12
    automaton.extend([1, 4, 4])
    found = automaton.continuation(3)
    assert found.match_length == 3 and found.tokens == (4, 4, 4)


def test_nothing_to_say():
    assert SuffixAutomaton().continuation(4) is None
    assert _automaton([1]).continuation(4) is None
    assert _automaton([1, 1]).continuation(0) is None


def test_counts_stay_exact_on_long_text_without_deep_repetition():
    random = Random(1)
    text = [min(int(random.expovariate(0.4)), 30) for _ in range(3000)]
    automaton = _automaton(text)
    checked = 0
    for _ in range(100):
        token = random.choice(text)
        automaton.extend([token])
        text.append(token)
        found = automaton.continuation(1)
        match = text[len(text) - found.match_length :]
        nexts = [text[end] for end in _ends(text, match)]
        assert found.shares[0] == nexts.count(found.tokens[0]) / len(nexts) == max(map(nexts.count, nexts)) / len(nexts)
        checked += len(nexts) > 1
    assert checked > 20


@given(st.lists(SMALL_TEXTS, min_size=1, max_size=3), st.lists(st.integers(0, 3), min_size=1, max_size=4), st.integers(1, 6))
def test_a_continuation_behind_guesses_is_that_of_the_longer_text_where_it_is_read_in_the_old_one(sources, behind, most):
    automaton, joined = _automaton(*sources), _joined(sources)
    before = len(automaton), automaton.continuation(most)
    found = automaton.continuation(most, behind)
    assert (len(automaton), automaton.continuation(most)) == before, "the guesses are not appended"
    last = [*sources[-1], *behind]
    followed = [n for n in range(1, len(last) + 1) if any(joined[end] >= 0 for end in _ends(joined, last[len(last) - n :]))]
    if not followed:
        assert found is None
        return
    assert found is not None and found.match_length == max(followed)
    match = last[len(last) - found.match_length :]
    assert joined[found.start - len(match) : found.start + len(found.tokens)] == [*match, *found.tokens]

"""Which words are verbs, and whether one of them is a sentence's main verb. The sentences are invented."""

from __future__ import annotations

import pytest

from pipeline.choosing.verbs import WORD, has_main_verb, has_verb, is_verb, turns_past, verb_groups


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The dam was closed", ["was", "closed"]),
        ("On the bridge Shirley hands Ruby a lamp", ["hands"]),
        ("The National Glass Works at the foot of the hill", []),
        ("The crew had to close all finished gates", ["had"]),
        ("The ferry on set of the film", []),
        ("The song Here for It All opened the night", ["opened"]),
    ],
)
def test_verbs_are_told_from_names_and_participles(text: str, found: list[str]) -> None:
    tokens = WORD.findall(text)
    assert [token for n, token in enumerate(tokens) if is_verb(tokens, n)] == found
    assert has_verb(tokens) is bool(found)


@pytest.mark.parametrize(
    ("text", "has_one"),
    [
        ("Jerome Park in the Bronx, built in 1866 by a banker of New York.", False),
        ("The race track just before division and streets were laid out in 1913.", False),
        ("The National Glass Works at the foot of the hill near the river.", False),
        ("Pell, who the province is purported to be paying.", False),
        ("The ferry (it was built in 1866) near the dam.", False),
        ("After leaving the school of Osmere—he had learned to sail there—in 1935.", False),
        ("Elected harbour champions, who ensure that promises are met and end what hinders the work.", False),
        ("The council elected new members, who took over the ferry in May.", True),
        ("In the second act Shirley hands Ruby a lamp from the ferry.", True),
        ("The ferry that was built in 1866 was sold to the province.", True),
        ("When the dam broke, the ferry was at Osmere.", True),
    ],
)
def test_a_main_verb_is_outside_of_clauses_and_participles(text: str, has_one: bool) -> None:
    assert has_main_verb(text) is has_one


def test_verbs_side_by_side_are_one_group() -> None:
    assert verb_groups("The ferry has been seen and was sold, built in 1866") == 2


@pytest.mark.parametrize(
    ("text", "other", "turned"),
    [
        ("Lena arrives in Osmere.", "Lena arrived in Osmere.", True),
        ("The mill is shut.", "The mill was shut.", True),
        ("She hides the heron.", "The heron, which she hid, is safe.", True),
        ("Lena rescues her uncle.", "Lena saves her uncle, who is rescued.", False),
        ("People who were trapped are free.", "Those people are no longer trapped.", False),
        ("Lena arrived in Osmere.", "Lena came to Osmere.", False),
    ],
)
def test_the_present_tense_is_kept(text: str, other: str, turned: bool) -> None:
    assert turns_past(text, other) is turned

"""Of several answers to one question the one that the others agree with."""

from __future__ import annotations

import pytest

from pipeline.writing.consensus import consensus


def test_what_most_say_is_likeliest_and_a_guess_least() -> None:
    said = ["Peter Hoar directed it.", "It was directed by Peter Hoar.", "Kate Stewart made the film in 2019."]
    first, second, guess = consensus(said)
    assert first == second > guess


def test_it_is_the_mean_f1_of_stems() -> None:
    assert consensus(["ships sank", "the ship sank", "two ships"]) == pytest.approx([0.75, 0.75, 0.5])
    assert consensus(["alone"]) == [1.0] and consensus([]) == []
    assert consensus(["", "ship"]) == [0.0, 0.0]

"""Which pairs of systems a measure tells apart."""

from __future__ import annotations

import random

from benchmark.comparing.apart import told_apart

TOPICS = [str(n) for n in range(20)]


def rows(*levels: float, noise: float = 0.0, seed: int = 0) -> dict[str, dict[str, dict[str, float | None]]]:
    """Systems a, b, c with `fine` at these levels over the topics and `blunt` equal for all."""
    rng = random.Random(seed)
    return {
        name: {topic: {"fine": level + rng.uniform(-noise, noise), "blunt": 0.5, "never": None} for topic in TOPICS}
        for name, level in zip("abcdefghi", levels)
    }


def test_nine_systems_have_36_pairs_and_a_fine_measure_finds_them() -> None:
    made = rows(*(0.1 * n for n in range(9)), noise=0.01)
    found = told_apart(made, ("fine", "blunt"), ("blunt",))
    assert found.n_pairs == 36 and len(found.measures["fine"]) == 36
    assert found.measures["blunt"] == found.headline == ()
    assert found.best == "fine"


def test_only_shared_topics_count_and_none_is_no_evidence() -> None:
    made = rows(0.2, 0.8)
    made["b"] = {topic: values for topic, values in made["b"].items() if topic in TOPICS[:2]}
    found = told_apart(made, ("fine", "never"), ("fine", "never"))
    assert found.measures == {"fine": (), "never": ()} and found.headline == ()
    made["b"] = {"elsewhere": {"fine": 0.8}}
    assert told_apart(made, ("fine",), ("fine",)).measures["fine"] == ()

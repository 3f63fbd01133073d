"""Which pairs of systems a measure tells apart."""

from __future__ import annotations

import random

from benchmark.comparing.apart import told_apart
from eval.aggregate import paired

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


def test_the_headline_tells_apart_by_any_of_its_metrics() -> None:
    made = rows(0.2, 0.2, 0.8, noise=0.01)
    found = told_apart(made, ("fine",), ("blunt", "fine"))
    assert found.headline == found.measures["fine"] == (("a", "c"), ("b", "c"))


def test_holm_counts_all_pairs_and_metrics_of_the_headline() -> None:
    """Six topics, all in favour of one: p is about 2/64. One test passes 5%, two do not."""
    made = {name: {topic: {"one": level, "two": 0.0} for topic in TOPICS[:6]} for name, level in (("a", 0.0), ("b", 1.0))}
    found = told_apart(made, ("one",), ("one",))
    assert found.measures["one"] == found.headline == (("a", "b"),)
    assert told_apart(made, ("one",), ("one", "two")).headline == ()


def test_only_shared_topics_count_and_none_is_no_evidence() -> None:
    made = rows(0.2, 0.8)
    made["b"] = {topic: values for topic, values in made["b"].items() if topic in TOPICS[:2]}
    found = told_apart(made, ("fine", "never"), ("fine", "never"))
    assert found.measures == {"fine": (), "never": ()} and found.headline == ()
    made["b"] = {"elsewhere": {"fine": 0.8}}
    assert told_apart(made, ("fine",), ("fine",)).measures["fine"] == ()


def test_one_system_has_no_pair() -> None:
    assert told_apart(rows(0.5), ("fine",), ("fine",)).n_pairs == 0


def test_the_test_is_that_of_paired_comparisons() -> None:
    """Up to the random signs: both draw ten thousand of them."""
    rng = random.Random(3)
    for shift in (0.0, 0.05, 0.1, 0.2):
        made = {
            name: {topic: {"one": level + rng.uniform(-0.3, 0.3)} for topic in TOPICS}
            for name, level in (("a", 0.5 + shift), ("b", 0.5))
        }
        values = [[made[name][topic]["one"] for topic in sorted(TOPICS)] for name in "ab"]
        p = paired(values[0], values[1], name="one").p
        for level, told in ((p + 0.02, 1), (p - 0.02, 0)):
            assert len(told_apart(made, ("one",), (), level=level).measures["one"]) == told

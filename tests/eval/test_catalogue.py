"""The catalogue of metrics: every value has an entry, and what reads it agrees."""

from __future__ import annotations

import pytest

from benchmark.scoring import metric_names
from data.settings import load_settings
from eval.catalogue import BESIDE, CATALOGUE, GROUPS, HEADLINE, by_group, directions, entry, is_share, less_is_better, shown
from flows.wiring.metrics import build_metrics


@pytest.mark.usefixtures("fixed_encoder")
def test_every_value_of_a_row_has_an_entry_and_every_entry_a_metric() -> None:
    made = metric_names(build_metrics(load_settings(evaluation={"judge": "lexical"})))
    assert made == {name: CATALOGUE[name].better for name in made}
    assert {name for name in CATALOGUE if name not in made} == {name for name in CATALOGUE if name.startswith("rubric_")}


def test_entries_say_what_a_reader_needs() -> None:
    for one in CATALOGUE.values():
        assert one.label and one.meaning and one.group in GROUPS, one
        assert len(one.label) <= 40 and len(one.meaning) <= 95, one
        assert ("less is better" in one.meaning) is (one.better == "lower"), one
    labels = [(one.group, one.label) for one in CATALOGUE.values()]
    assert len(set(labels)) == len(labels)
    assert len(HEADLINE) == 6 and not {*HEADLINE} & {*BESIDE}


def test_groups_keep_the_order_what_is_unknown_comes_last_and_values_are_shown_in_their_unit() -> None:
    found = by_group(["made_up", "words", "quality", "n_made_up"])
    assert [(group, [one.name for one in entries]) for group, entries in found] == [
        ("Ranking", ["quality"]), ("Wording", ["words"]), ("Others", ["made_up", "n_made_up"]),
    ]  # fmt: skip
    assert is_share("made_up") and not is_share("n_made_up") and not less_is_better("made_up") and entry("made_up").arrow == ""
    with pytest.raises(KeyError, match="made_up"):
        directions("quality", "made_up")
    values = {"quality": 0.1234, "words": 562.4, "citations_per_claim": 1.25, "length_ratio": 1.5}
    assert [shown(name, value) for name, value in values.items()] == ["12.3", "562", "1.2", "150.0"]

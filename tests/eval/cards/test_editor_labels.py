"""Agreement of scores with an editor's choices, on labels made here; and that the labels that ship are whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from data import codec
from data.errors import UserError
from eval.cards.editor_labels import CLEAR, Agreement, Choice, Choices, Written, agreement, order_agreement, read_choices


def article(name: str, topic: str = "1") -> Written:
    return Written(topic, name, f"hash of {name} {topic}")


def choice(chosen: str, other: str, margin: int = CLEAR) -> Choice:
    return Choice(article(chosen), article(other), margin, "chosen", "facts", "first")


SCORES = {article(name).sha256: {"quality": value} for name, value in {"a": 0.9, "b": 0.5, "c": 0.5, "d": None}.items()}


def quality(values: Mapping[str, float | None]) -> float | None:
    return values["quality"]


def test_agreement_counts_the_better_value_and_half_a_tie() -> None:
    choices = [choice("a", "b"), choice("b", "a"), choice("b", "c", 1)]
    assert agreement(choices, SCORES, quality) == Agreement(1.5, 3)
    assert agreement(choices, SCORES, quality, margin=CLEAR) == Agreement(1.0, 2)
    # an order is its pairs
    assert order_agreement([[article("a"), article("b"), article("c")]], SCORES, quality) == Agreement(2.5, 3)
    assert order_agreement([[article("b"), article("a")]], SCORES, quality).share == 0.0


def test_what_is_not_known_and_what_was_not_chosen_is_left_out() -> None:
    choices = [choice("a", "b", 0), choice("a", "d"), choice("a", "nowhere"), choice("a", "c")]
    assert agreement(choices, SCORES, quality) == agreement(choices, SCORES, quality, margin=0) == Agreement(1.0, 1)
    none = agreement([], SCORES, quality)
    assert none.n == 0 and none.within == (0.0, 1.0)
    assert Agreement(29, 36).within == pytest.approx((0.6497, 0.9025), abs=5e-4)
    assert Agreement(0, 5).within[0] == 0.0 and Agreement(5, 5).within[1] == 1.0


def test_the_labels_that_ship() -> None:
    found = read_choices()
    assert len(found.choices) == 40 and sum(bool(one.again) for one in found.choices) == 12
    assert [len(order) for order in found.orders] == [4] * 5
    assert all(len(one.sha256) == 64 for one in found.articles)
    halves = [{one.chosen.topic for one in found.choices if one.half == half} for half in ("first", "second")]
    assert not halves[0] & halves[1], "a topic is in one half"
    assert 14 <= sum(one.first_shown == "chosen" for one in found.choices if one.margin) <= 22, "the place decides nothing"
    assert len({one.sha256 for one in found.articles}) == len(found.articles)


@pytest.mark.parametrize(
    "wrong",
    [
        Choices("r", (Choice(article("a"), article("b", "2"), 1, "chosen", "", "first"),), ()),
        Choices("r", (choice("a", "b", 3),), ()),
        Choices("r", (), ((article("a"), article("b", "2")),)),
        Choices("r", (), ((article("a"),),)),
    ],
)
def test_labels_that_cannot_be_are_refused(wrong: Choices, tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    path.write_text(codec.to_json(wrong))
    with pytest.raises(UserError, match=r"labels\.json"):
        read_choices(path)

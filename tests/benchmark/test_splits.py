from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.splits import choose, ids_sha256, in_dev, split_ids
from data.errors import UserError
from data.snapshot import SAMPLE, Snapshot
from tests.data.test_snapshot import build


def snapshot(root: Path, both: list[str], only_reference: tuple[str, ...] = ()) -> Snapshot:
    return build(root, {i: {} for i in (*both, *only_reference)}, {i: [] for i in both})


MANY = [str(n) for n in range(100, 160)]


def test_dev_and_test_divide_the_events_and_an_event_stays_on_its_side(tmp_path: Path) -> None:
    whole, part = snapshot(tmp_path / "a", MANY), snapshot(tmp_path / "b", MANY[::3])
    dev, test, full = (split_ids(whole, "search", split) for split in ("dev", "test", "full"))
    assert full == tuple(MANY) == tuple(sorted((*dev, *test), key=int)) and not set(dev) & set(test)
    assert list(dev) == sorted(dev, key=int) and all(map(in_dev, dev)) and not any(map(in_dev, test))
    for split, ids in (("dev", dev), ("test", test)):
        assert set(split_ids(part, "search", split)) == set(ids) & set(MANY[::3])


def test_the_division_is_the_published_one() -> None:
    """Moving an event from test to dev would make every number reported before incomparable."""
    assert [event_id for event_id in Snapshot(SAMPLE).ids("search") if in_dev(event_id)] == ["9000003", "9000004"]
    share = sum(in_dev(str(n)) for n in range(20_000)) / 20_000
    assert share == pytest.approx(5 / 16, abs=0.01)


def test_sample_is_the_bundled_data(tmp_path: Path) -> None:
    assert len(split_ids(Snapshot(SAMPLE), "search", "sample")) == 5
    with pytest.raises(UserError, match=r"drop --data .*, or use --split full"):
        split_ids(snapshot(tmp_path, ["1"]), "search", "sample")


# ---- the events of a job


def test_events_that_cannot_be_had(tmp_path: Path) -> None:
    found = snapshot(tmp_path / "data", ["1"], ("3",))
    with pytest.raises(UserError, match=r"no event '2' in .* \(known ids run from 1 to 3\)"):
        choose(found, "search", "full", events=["1", "2"])
    with pytest.raises(UserError, match=r"event 3 has no pages on the track 'search' .*; try --track cited"):
        choose(found, "search", "full", events=["3"])
    assert choose(found, "cited", "full", events=["3"]) == ("3",)
    for limit in (0, -1):
        with pytest.raises(UserError, match=f"--limit {limit} leaves no event"):
            choose(found, "search", "full", limit=limit)
    with pytest.raises(UserError, match=r"no event of split 'full' on track 'search': 0 events .*1 without search pages \(3\)"):
        choose(snapshot(tmp_path / "empty", [], ("3",)), "search", "full")


@given(st.lists(st.text(st.characters(codec="ascii", categories=["N", "L"]), min_size=1), unique=True), st.randoms())
def test_the_hash_names_a_set_of_events(ids: list[str], random: object) -> None:
    shuffled = list(ids)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert ids_sha256(shuffled) == ids_sha256(iter(ids)) and len(ids_sha256(ids)) == 64
    assert ids_sha256([*ids, "x y"]) != ids_sha256(ids)
    if ids:
        assert ids_sha256(ids[1:]) != ids_sha256(ids)

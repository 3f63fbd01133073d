"""A run without the leak filter takes over what the run with it wrote from the same pages."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from data.errors import UserError
from data.settings import Settings, load_settings
from flows import run_events
from flows.job import Job
from flows.reproducing.adopting import adopt
from flows.wiring.prepared import Prepared, prepare
from tests.conftest import copy_events

OFF = load_settings(evidence={"leak_filter": False})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three events; one has a page that only the filter drops."""
    return str(copy_events(tmp_path_factory.mktemp("data"), ("9000002", "9000003", "9000004"), most=5))


Prepare = Callable[..., Prepared]


@pytest.fixture(scope="module")
def prepared(data: str) -> Prepare:
    def made(out: Path, settings: Settings | None = None, system: str = "bm25") -> Prepared:
        return prepare(Job(system, settings or load_settings(), data=data, out=out))

    return made


@pytest.fixture(scope="module")
def written(prepared: Prepare, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("adopting") / "on"
    assert run_events.generate(prepared(out)).exit_code == 0
    return out


def _files(folder: Path) -> dict[str, bytes]:
    """But for the times of the events that were written."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != "stats.json"}


@pytest.fixture(scope="module")
def adopted(written: Path, prepared: Prepare, tmp_path_factory: pytest.TempPathFactory) -> tuple[Prepared, tuple[str, ...]]:
    """A run that took over all it could, and the events that it took."""
    taken = prepared(tmp_path_factory.mktemp("taken") / "run", OFF)
    n_adopted = adopt(taken, written)
    events = tuple(event_id for event_id in taken.ids if taken.run.event(event_id).path.exists())
    assert 0 < len(events) == n_adopted < len(taken.ids)
    return taken, events


def test_it_is_the_run_that_writing_all_anew_makes(
    prepared: Prepare, adopted: tuple[Prepared, tuple[str, ...]], tmp_path: Path
) -> None:
    anew, (taken, events) = prepared(tmp_path / "anew", OFF), adopted
    run_events.generate(anew)
    outcomes = run_events.generate(taken).outcomes
    assert [o.status for o in outcomes].count("reused") == len(events)
    assert _files(anew.run.path / "events") == _files(taken.run.path / "events")
    assert not list(taken.run.path.glob(".*.half"))


@pytest.mark.parametrize("name", ["article.json", "pages.jsonl"])
def test_a_damaged_event_is_written_here_and_the_others_are_taken(
    prepared: Prepare, written: Path, adopted: tuple[Prepared, tuple[str, ...]], tmp_path: Path, name: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    bad, other = adopted[1][:2]
    shutil.copytree(written, tmp_path / "damaged")
    (tmp_path / "damaged" / "events" / bad / name).write_bytes(b"")
    mine = replace(prepared(tmp_path / "mine", OFF), ids=(bad, other))
    assert adopt(mine, tmp_path / "damaged") == 1
    assert f"event {bad} is not taken over" in capsys.readouterr().err
    assert not mine.run.event(bad).path.exists() and mine.run.event(other).path.exists()


@pytest.mark.parametrize(
    ("system", "settings", "differs"),
    [("lead", OFF, "leak_filter, system"), ("bm25", load_settings(writing={"max_words": 300}), "system.")],
)
def test_another_system_is_refused(
    prepared: Prepare, written: Path, tmp_path: Path, system: str, settings: Settings, differs: str
) -> None:
    with pytest.raises(UserError, match=rf"made otherwise \({differs}.*drop --as-in"):
        adopt(prepared(tmp_path / "x", settings, system), written)


def test_what_is_no_run_is_refused(prepared: Prepare, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no run folder"):
        adopt(prepared(tmp_path / "x", OFF), tmp_path)

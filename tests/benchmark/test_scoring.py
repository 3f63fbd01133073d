from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmark.scoring import JUNK_UP_TO, ORIGINAL_UP_TO, SUPPORTED_FROM, TOPIC_FROM, ranking_key, score_run, unmet, why_unmet
from data import codec
from data.runs import EventFailure, RunFolder
from data.scores import EventScores
from data.snapshot import Snapshot
from data.types import Article, Event, Heading, Page, Section, Sentence
from eval.metric import Better, Case
from eval.metrics import quality
from tests.data.test_snapshot import build

IDS = ("1", "2", "3")
NAMES: dict[str, Better] = {"recall": "higher", "errors": "lower", "words": "neither"}


class Words:
    """Counts words of the article and of the evidence. `seen` lists the events it was asked for."""

    def __init__(self, version: str = "1") -> None:
        self.names: Mapping[str, Better] = NAMES
        self.signature = f"words:v{version}"
        self.seen: list[str] = []

    def score(self, case: Case) -> dict[str, float | None]:
        self.seen.append(case.article.event_id)
        n = len(case.prose.split())
        return {"recall": n / 10, "errors": None if n > 8 else 0.25, "words": float(len(case.evidence))}


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    reference = {"key": "A fire", "text": "Gold."}
    return build(tmp_path / "data", dict.fromkeys(IDS, reference), {event_id: [] for event_id in IDS})


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    run = RunFolder.open(tmp_path / "run", {"system": "x"})
    for n, event_id in enumerate(IDS):
        write(run, event_id, 3 * (n + 1))
    return run


def write(run: RunFolder, event_id: str, n_words: int) -> None:
    sentences = (Sentence(" ".join(["word"] * n_words), ()),) if n_words else ()
    article = Article(event_id, "A fire", Section(Heading("", 1), (sentences,)), (), (), ())
    codec.write_atomic(run.event(event_id).path / "article.json", codec.to_json(article))


def collect(event: Event) -> tuple[Page, ...]:
    return (Page("u", "t", "text", "search"), Page("u", "t", "text", "search", drop_reason="blocked"))


def score(run: RunFolder, snapshot: Snapshot, metric: Words, ids: tuple[str, ...] = IDS) -> list[EventScores]:
    return list(score_run(run, snapshot, ids, [metric], collect))


def test_rows_are_kept_while_article_and_metrics_are_the_same(run: RunFolder, snapshot: Snapshot) -> None:
    metric = Words()
    first = score(run, snapshot, metric)
    assert score(run, snapshot, metric) == first and metric.seen == list(IDS)
    write(run, "2", 7)
    again = score(run, snapshot, metric)
    assert metric.seen == [*IDS, "2"] and again[1].scores["recall"] == 0.7 and again[::2] == first[::2]
    newer = Words(version="2")
    assert score(run, snapshot, newer) == again and newer.seen == list(IDS)
    lines = (run.path / "scores.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {"signature": f"words:v2 ; {quality.SIGNATURE}"} and len(lines) == 4


def test_what_was_scored_before_an_interruption_is_kept(run: RunFolder, snapshot: Snapshot) -> None:
    metric = Words()
    rows = score_run(run, snapshot, IDS, [metric], collect)
    next(rows), next(rows)
    rows.close()  # as Ctrl-C does
    score(run, snapshot, metric)
    assert metric.seen == list(IDS)


def test_events_without_an_article_are_worst_not_absent(run: RunFolder, snapshot: Snapshot) -> None:
    for event_id in ("1", "2"):
        (run.event(event_id).path / "article.json").unlink()
    run.event("1").fail(EventFailure("1", "evidence", "NoEvidence", "no usable\u2028page"))
    write(run, "3", 0)
    metric = Words()
    rows = score(run, snapshot, metric)
    assert [(row.status, row.reason) for row in rows] == [
        ("failed", "evidence: no usable\u2028page"),
        ("failed", "no article in the run"),
        ("empty", "the article has no sentence"),
    ]
    assert all(row.scores == {"recall": 0.0, "errors": None, "words": None} and row.words == 0 for row in rows)
    assert metric.seen == []
    write(run, "1", 5)  # written since: its old row is not used, the other two are the same
    again = score(run, snapshot, metric)
    assert (again[0].status, again[0].scores["recall"]) == ("ok", 0.5) and again[1:] == rows[1:]


def test_references_and_pages_that_cannot_be_read_leave_the_event_unscored(run: RunFolder, snapshot: Snapshot) -> None:
    def reads(event: Event) -> tuple[Page, ...]:
        return tuple(page for _ in snapshot.raw_pages(event.id, "search") for page in collect(event))

    (snapshot.root / "google" / "1.json").write_text("{")
    (snapshot.root / "wiki" / "2.json").write_text("{")
    first, second, third = score_run(run, snapshot, IDS, [Words()], reads)
    for row, file in ((first, "google/1.json"), (second, "wiki/2.json is not JSON")):
        assert row.status == "ok" and set(row.scores.values()) == {None}
        assert row.reason.startswith("unscored: ") and file in row.reason
    assert third.scores["recall"] == 0.9


# ---- preconditions


GOOD = {"fact_f": 0.3, "cite_f1": 0.95, "copied_share": 0.1, "verbatim_share": 0.02, "junk_share": 0.01, "judged_share": 1.0}


def test_preconditions_come_before_quality() -> None:
    systems = {
        "writer": GOOD | {"quality": 0.2},
        "better writer": GOOD | {"quality": 0.3},
        "unknown support": GOOD | {"cite_f1": 0.1, "judged_share": 0.2, "quality": 0.25},
        "from memory": GOOD | {"cite_f1": 0.0, "quality": 0.9},
        "pasted prose": GOOD | {"copied_share": 0.95, "verbatim_share": 0.9, "quality": 0.8},
        "pasted pages": GOOD | {"copied_share": 0.95, "verbatim_share": 0.9, "junk_share": 0.7, "quality": 0.99},
        "nothing known": {},
    }
    assert sorted(systems, key=lambda name: ranking_key(systems[name]), reverse=True) == [
        "better writer", "unknown support", "writer", "from memory", "pasted prose", "pasted pages", "nothing known",
    ]  # fmt: skip
    assert {name: unmet(means) for name, means in systems.items() if unmet(means)} == {
        "from memory": ("support",),
        "pasted prose": ("originality",),
        "pasted pages": ("originality", "junk"),
        "nothing known": ("topic", "support", "originality", "junk"),
    }


@pytest.mark.parametrize(
    ("name", "bound", "failed"),
    [
        ("fact_f", TOPIC_FROM, "topic"),
        ("cite_f1", SUPPORTED_FROM, "support"),
        ("copied_share", ORIGINAL_UP_TO["copied_share"], "originality"),
        ("verbatim_share", ORIGINAL_UP_TO["verbatim_share"], "originality"),
        ("junk_share", JUNK_UP_TO, "junk"),
    ],
)
def test_a_precondition_is_met_at_its_bound_and_failed_beyond(name: str, bound: float, failed: str) -> None:
    beyond = bound - 1e-6 if name in ("cite_f1", "fact_f") else bound + 1e-6
    assert unmet(GOOD | {name: bound}) == () and unmet(GOOD | {name: beyond}) == (failed,)
    assert why_unmet(GOOD | {name: beyond}).keys() == {failed} and name in why_unmet(GOOD | {name: beyond})[failed]
    missing = {other: value for other, value in GOOD.items() if other != name}
    assert why_unmet(missing) == {failed: f"{name} was not measured"}

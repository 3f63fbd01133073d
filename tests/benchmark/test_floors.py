from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.floors import CEILINGS, FLOORS, EventFloors, articles, means, not_beaten, others_of, score_floors
from data.errors import UserError
from data.runs import RunFolder
from data.snapshot import SAMPLE, Snapshot
from data.types import Event, Page, RawPage
from eval.metric import Case, Metric
from eval.metrics.citations import Citations
from eval.metrics.copying import Copying
from eval.metrics.coverage import Coverage
from eval.metrics.faithfulness import Faithfulness
from eval.metrics.organisation import Organisation
from eval.metrics.rouge import Rouge
from eval.metrics.structure import Headings
from eval.metrics.told_facts import Facts
from tests.data.test_snapshot import build
from tests.eval.cases import gold, page
from tests.eval.metrics.test_citations import EveryWord
from tests.fakes import FixedEncoder

HUMAN = gold(
    "The ferry sank on the lake.\n==Rescue==\nForty people swam ashore at night.\n==Aftermath==\nThe owner paid a fine."
)
OTHERS = (
    gold("A bridge opened.\n==Design==\nIt has steel arches."),
    gold("A king was crowned in the old town " + "today " * 40),
)
PAGES = (
    page("Menu and search. The ferry sank on the lake in March. Boats came."),
    page("The ferry sank on the lake.", drop_reason="leak_text"),
    page("The owner paid a fine of two million. Nothing else happened."),
)


def n_words(name: str) -> int:
    return len(Case(articles(HUMAN, PAGES, OTHERS)[name], HUMAN, PAGES).prose.split())


def test_each_floor_has_the_length_it_should() -> None:
    human = len(HUMAN.prose.split())
    assert human == 17
    assert (n_words("wrong_article"), n_words("reference"), n_words("reference_minus_20")) == (human, human, human - human // 5)
    assert n_words("lead") <= human and n_words("extractive_oracle") <= human


def test_the_best_passages_of_the_title_come_first_and_are_cited_whole() -> None:
    pages = (
        page("Boats are built here. " * 6, "Yard"),
        page("Menu and search.\nThe event of the year. It was an event on the lake.", "News"),
        page("A long event report. " * 6, "Report"),
    )
    made = articles(replace(HUMAN, title="Event of the lake"), pages, ())["bm25_title"]
    assert [[s.text for s in paragraph] for paragraph in made.lead.paragraphs] == [
        ["Menu and search.", "The event of the year.", "It was an event on the lake."]
    ]  # the second best passage is six copies of four words, of which none fits into the 3 that are left
    (source,) = made.sources
    assert source.passage.text == pages[1].text and (source.title, source.url) == ("News", pages[1].url)
    assert {s.cites for s in made.lead.sentences} == {(source.id,)}


def test_the_oracle_takes_what_the_reference_says_in_page_order() -> None:
    assert [s.text for s in articles(HUMAN, PAGES, ())["extractive_oracle"].lead.sentences] == [
        "The ferry sank on the lake in March.", "The owner paid a fine of two million.",
    ]  # fmt: skip


def test_others_are_drawn_for_each_event_alone() -> None:
    known = [str(n) for n in range(30)]
    drawn = others_of("3", known, 0)
    assert sorted(drawn) == sorted(set(known) - {"3"})
    assert drawn == others_of("3", known[::-1], 0) != others_of("3", known, 1)
    assert drawn[:5] != others_of("4", known, 0)[:5]


def test_means_leave_the_unscored_out_and_only_floors_below_the_system_are_beaten() -> None:
    rows = [
        EventFloors("1", "", {"lead": {"recall": 0.0, "errors": None}, "reference": {"recall": 1.0}}),
        EventFloors("2", "", {"lead": {"recall": 0.5, "errors": 0.2}}),
    ]
    assert list(means(rows).items()) == [("lead", {"recall": 0.25, "errors": 0.2}), ("reference", {"recall": 1.0})]
    assert means([]) == {}
    beside = {"wrong_article": {"recall": 0.2}, "lead": {"recall": 0.5, "other": 0.9}, "reference": {"recall": 1.0}}
    beaten = {mean: not_beaten("recall", mean, beside) for mean in (0.6, 0.5, 0.1)}
    assert beaten == {0.6: (), 0.5: ("lead",), 0.1: ("wrong_article", "lead")} and not_beaten("unknown", 0.0, beside) == ()


# ---- scored


@pytest.fixture
def snapshot() -> Snapshot:
    return Snapshot(SAMPLE)


def collect(event: Event) -> tuple[Page, ...]:
    def text(n: int, raw: RawPage) -> str:
        told = f"{event.title} was news in {n} places. {event.title} went on for {n} days."
        return raw.body[:4000] if raw.media == "text" else told

    pages = Snapshot(SAMPLE).raw_pages(event.id, "search")
    return tuple(page(text(n, raw)) for n, raw in enumerate(pages, start=2))


def scored(run: RunFolder, snapshot: Snapshot, metrics: list[Metric], n: int = 2) -> list[EventFloors]:
    return list(score_floors(run, snapshot, snapshot.ids("search")[:n], metrics, collect, seed=0))


class Seen(Rouge):
    """Counts what it scores."""

    n = 0

    def score(self, case: Case) -> dict[str, float | None]:
        self.n += 1
        return super().score(case)


def test_the_wrong_article_is_below_the_right_one_where_it_matters(tmp_path: Path, snapshot: Snapshot) -> None:
    found = means(scored(RunFolder(tmp_path), snapshot, [Rouge(), Coverage()], n=5))
    assert list(found) == [name for name in (*FLOORS, *CEILINGS) if name != "shuffled"]
    for name in ("rouge2_f", "entity_recall", "ib_hard"):
        assert found["wrong_article"][name] < 0.3 * found["reference_minus_20"][name] < found["reference"][name]
    assert found["reference"]["rouge2_f"] == pytest.approx(1.0)
    assert found["wrong_article"]["length_ratio"] == pytest.approx(1.0)


def test_nothing_is_measured_that_a_floor_does_not_have(tmp_path: Path, snapshot: Snapshot) -> None:
    judge = EveryWord()
    encoder = FixedEncoder()
    metrics: list[Metric] = [
        Citations(judge), Faithfulness(judge), Facts(judge), Headings(encoder), Organisation(encoder), Copying(),
    ]  # fmt: skip
    (row,) = scored(RunFolder(tmp_path), snapshot, metrics, n=1)
    asked = {"cite_recall", "name_errors", "grounded", "fact_recall", "heading_f", "placement", "copy8"}
    has = {floor: asked & values.keys() for floor, values in row.values.items()}
    assert has == {
        "wrong_article": {"grounded", "fact_recall", "heading_f", "placement", "copy8"},
        "lead": {"cite_recall", "name_errors", "grounded", "fact_recall", "placement", "copy8"},
        "bm25_title": {"cite_recall", "name_errors", "grounded", "fact_recall", "placement", "copy8"},
        "constant_headings": asked,
        "shuffled": {"placement"},
        "extractive_oracle": {"cite_recall", "name_errors", "grounded", "fact_recall", "placement", "copy8"},
        "reference_minus_20": {"grounded", "heading_f", "placement", "copy8"},
        "reference": {"grounded", "heading_f", "placement", "copy8"},
    }
    assert row.values["lead"]["cite_recall"] == 1.0


def test_without_a_usable_page_extraction_scores_like_an_empty_article(tmp_path: Path, snapshot: Snapshot) -> None:
    metrics: list[Metric] = [Rouge(), Citations(EveryWord())]
    (row,) = score_floors(RunFolder(tmp_path), snapshot, snapshot.ids("search")[:1], metrics, lambda event: (), seed=0)
    for floor in ("lead", "bm25_title", "extractive_oracle"):
        assert row.values[floor]["rouge2_f"] == row.values[floor]["cite_recall"] == 0.0
        assert row.values[floor]["length_ratio"] is None
    assert row.values["reference"]["rouge2_f"] == pytest.approx(1.0)


def test_rows_are_kept_until_pages_or_metrics_change(tmp_path: Path, snapshot: Snapshot) -> None:
    run, metric = RunFolder(tmp_path), Seen()
    first = scored(run, snapshot, [metric])
    assert metric.n == 14 and scored(run, snapshot, [metric]) == first and metric.n == 14
    path = run.path / "floors.jsonl"
    run.event(first[0].id).pages(lambda: (page("One of the pages on the day of the event."),))
    again = scored(run, snapshot, [metric])
    assert metric.n == 21 and again[1] == first[1] and again[0].values["lead"] != first[0].values["lead"]
    scored(run, snapshot, [metric, Copying()])
    assert metric.n == 35
    path.write_text("{cut of")
    with pytest.raises(UserError, match=r"floors\.jsonl is not JSON"):
        scored(run, snapshot, [metric])


def test_runs_share_rows_of_the_same_data_and_metrics(tmp_path: Path, snapshot: Snapshot) -> None:
    def floors_of(run: str, metric: Metric, seed: int = 0) -> list[EventFloors]:
        ids = snapshot.ids("search")[:2]
        return list(
            score_floors(RunFolder(tmp_path / run), snapshot, ids, [metric], collect, seed=seed, kept=tmp_path / "kept")
        )

    metric = Seen()
    first = floors_of("a", metric)
    assert metric.n == 14 and floors_of("b", metric) == first and metric.n == 14
    assert (tmp_path / "b" / "floors.jsonl").read_bytes() == (tmp_path / "a" / "floors.jsonl").read_bytes()
    floors_of("c", metric, seed=1)
    assert metric.n == 28
    RunFolder(tmp_path / "d").event(first[0].id).pages(lambda: (page("Other pages than those of the other runs."),))
    again = floors_of("d", metric)
    assert metric.n == 35 and again[1] == first[1] and again[0].made_from != first[0].made_from
    assert floors_of("e", metric) == first and metric.n == 35  # rows of other pages stand beside, not in place
    (damaged,) = (tmp_path / "kept").glob(f"*/{first[0].id}-{again[0].made_from[:16]}.json")
    damaged.write_text("{cut of")
    (tmp_path / "d" / "floors.jsonl").unlink()
    with pytest.raises(UserError, match=damaged.name):
        floors_of("d", metric)


def test_another_article_in_the_data_makes_another_floor_and_an_unreadable_one_none(tmp_path: Path) -> None:
    fire = {"key": "A fire", "text": "A fire burned down the old mill."}
    build(tmp_path, {"1": fire, "2": fire}, {"1": [], "2": []})

    def overlaps() -> list[float | None]:
        run, snapshot = RunFolder(tmp_path / "run"), Snapshot(tmp_path)
        rows = score_floors(run, snapshot, ("1",), [Rouge()], lambda event: (), seed=0, kept=tmp_path / "kept")
        return [row.values["wrong_article"]["rouge1_f"] for row in rows]

    assert overlaps() == [1.0]
    (tmp_path / "wiki" / "2.json").write_text(json.dumps({"key": "A flood", "text": "Water."}))
    assert overlaps() == [0.0]
    (tmp_path / "wiki" / "1.json").write_text("{")
    assert overlaps() == []

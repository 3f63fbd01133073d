"""report.html of a run: what it tells, that it trusts nothing it shows, and that it comes out the same again."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from benchmark import scoring
from benchmark.submissions import submission, submitted
from benchmark.submissions.submitted import SubmittedCost, SubmittedSystem
from data import codec
from data.decoding_counts import DecodeStats, SourceStats, SpeculationStats, Usage
from data.runs import EventFailure, EventFolder, EventStats, RunFolder
from data.scores import EventScores
from data.stage_types import StageTime
from data.types import Article, Page, Repair
from eval.judges.lexical_judge import LexicalJudge
from eval.metric import Metric
from eval.metrics.citations import Citations
from eval.metrics.coverage import Coverage
from eval.metrics.organisation import Organisation
from flows import run_events
from flows.job import Job
from flows.showing.report import contents, page, plots
from flows.wiring.prepared import prepare
from pipeline.stages import OUTLINE_DRAFT, draft_stage
from pipeline.writing.drafting import Draft
from tests.conftest import Command, copy_events, set_pages
from tests.fakes import FixedEncoder
from tests.flows.told import refused

GOOD, HOSTILE, FAILED = "9000002", "9000004", "9000001"
ATTACK = "</title></style><script>alert(1)</script><img src=x onerror=alert(2)>"
REMOVED = Repair("sentence_removed", "Results & <b>", f"He won. {ATTACK}", "no passage that was shown is cited")


def attacked(folder: Path) -> Path:
    """Three events of the sample: one as it is, one whose texts are attacks, and one without evidence."""
    root = copy_events(folder / "snapshot", (GOOD, HOSTILE, FAILED))
    human = root / "wiki" / f"{HOSTILE}.json"
    human.write_text(json.dumps(json.loads(human.read_text(encoding="utf-8")) | {"key": ATTACK}), encoding="utf-8")
    found = root / "google" / f"{HOSTILE}.json"
    blocked = "Checking your browser before you access the site. Enable JavaScript and cookies to continue."
    more = [
        {"title": ATTACK, "link": "javascript:alert(3)", "text": blocked},
        {"title": "b", "link": 'https://a.example/"onmouseover="alert(4)', "text": blocked},
    ]
    found.write_text(json.dumps([*json.loads(found.read_text(encoding="utf-8")), *more]), encoding="utf-8")
    set_pages(root, FAILED, [{"title": "c", "link": "https://c.example/", "text": blocked}])
    return root


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Written by `lead` and scored by metrics that need no model."""
    folder = tmp_path_factory.mktemp("report")
    prepared = prepare(Job(system="lead", data=str(attacked(folder)), out=folder / "run"))
    run_events.generate(prepared)
    article = prepared.run.event(HOSTILE).path / "article.json"  # `lead` removes nothing
    codec.write_atomic(article, codec.to_json(replace(codec.read(Article, article), repairs=(REMOVED,)), indent=1))
    metrics = (Citations(LexicalJudge()), Coverage(), Organisation(FixedEncoder()))
    rows = list(scoring.score_run(prepared.run, prepared.snapshot, prepared.ids, metrics, prepared.collect))
    organisation = submitted.SubmittedScore(0.11, (0.1, 0.125), 1, 0, 0)
    submit(
        prepared.run, rows, metrics, SubmittedSystem("lead", "1", "search", True, settings={"words": ATTACK}),
        floors={"wrong_article": {"organisation": 0.0625}}, ceilings={"reference": {"organisation": 0.9375}},
        strata={"infobox: with": submitted.SubmittedStratum((GOOD,), {"organisation": organisation})},
    )  # fmt: skip
    page.write_report(prepared.run)
    return prepared.run


def submit(
    run: RunFolder, rows: list[EventScores], metrics: Sequence[Metric], system: SubmittedSystem, *,
    strata: dict[str, submitted.SubmittedStratum] | None = None, **beside: Any,
) -> None:  # fmt: skip
    scores = scoring.system_scores(system.name, "search", "sample", rows, metrics, resamples=100, seed=0)
    made = submission.build(
        scores, system, benchmark="sample", leak_filter=True, resamples=100, seed=0, cost=SubmittedCost(1.0, 2),
        created="2032-05-01T12:00:00+00:00", **beside,
    )  # fmt: skip
    submission.write(run.path / "submission.json", replace(made, strata=strata or {}))


def text_of(page: html.HtmlElement) -> str:
    return " ".join(" ".join(page.itertext()).split())


@pytest.fixture(scope="module")
def parsed(run: RunFolder) -> html.HtmlElement:
    return html.document_fromstring((run.path / "report.html").read_text(encoding="utf-8"))


# ---- what it tells


def test_what_is_gathered_is_what_the_run_holds(run: RunFolder) -> None:
    found = contents.gather(run)
    assert [event.event_id for event in found.events] == sorted([GOOD, HOSTILE, FAILED])
    assert [event.event_id for event in found.with_status("failed")] == [FAILED]
    pages = [stored for folder in run.event_folders() for stored in folder.stored_pages() or ()]
    reasons = Counter(stored.drop_reason for stored in pages if stored.drop_reason)
    assert reasons["blocked"] >= 3
    assert {count.reason: count.n for count in found.drop_reasons} == reasons
    assert [count.n for count in found.drop_reasons] == sorted(reasons.values(), reverse=True)
    assert [(count.reason, count.n, count.n_events) for count in found.removal_reasons] == [(REMOVED.detail, 1, 1)]
    by_id = {event.event_id: event for event in found.events}
    article = run.event(GOOD).article()
    assert article is not None and by_id[GOOD].title == article.title
    usable = [stored for stored in run.event(GOOD).stored_pages() or () if stored.usable]
    assert by_id[GOOD].evidence_words == sum(len(stored.text.split()) for stored in usable) > 100
    assert by_id[FAILED].evidence_words == 0 and by_id[FAILED].article == ""
    floors = {line.name: line.floors for line in found.metrics}
    assert floors["organisation"] == (("wrong_article", 0.0625),) and floors["cite_recall"] == ()


def test_every_link_leads_to_a_file_or_a_place_in_the_page(run: RunFolder, parsed: html.HtmlElement) -> None:
    ids = parsed.xpath("//@id")
    assert len(ids) == len(set(ids))
    links = [link for link in parsed.xpath("//@href") if not link.startswith("https://")]
    assert f"articles/{GOOD}.html" in links and "index.html" in links and "plots/distribution-organisation.svg" in links
    for link in links:
        assert link[1:] in ids if link.startswith("#") else (run.path / link).is_file(), link
    markup = (run.path / "report.html").read_text(encoding="utf-8")
    assert set(re.findall(r"url\(#([^)]+)\)", markup)) <= set(ids)
    plotted = {Path(link).name for link in links if link.startswith("plots/")}
    assert {path.name for path in (run.path / "plots").iterdir()} == plotted


# ---- hostile input


def test_nothing_of_a_run_becomes_markup_and_the_policy_admits_the_style_alone(parsed: html.HtmlElement) -> None:
    assert not {"script", "img", "iframe", "object", "embed", "link", "base", "form", "input", "video", "audio"} & {
        element.tag for element in parsed.iter()
    }
    names = {attribute.attrname for attribute in parsed.xpath("//@*")}
    assert not names & {"style", "src"} and not any(name.startswith("on") for name in names)
    schemes = [link for link in parsed.xpath("//@href") if re.match(r"\s*[a-z][a-z0-9+.-]*:", link, re.I)]
    assert all(link.startswith("https://") for link in schemes)
    assert text_of(parsed).count(ATTACK) >= 4  # as text: a title, a page, a sentence and a setting
    (policy,) = parsed.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    digest = base64.b64encode(hashlib.sha256(parsed.xpath("//style")[0].text.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_an_id_cannot_lead_out_of_the_run(run: RunFolder, tmp_path: Path) -> None:
    outside = tmp_path / "events" / "77"
    codec.write_atomic(outside / "article.json", codec.to_json(run.event(GOOD).article()))
    made = submission.read(run.path / "submission.json")
    stray = replace(made.events[1], id="../../events/77")
    inside = RunFolder(tmp_path / "run")
    submission.write(inside.path / "submission.json", replace(made, events=(stray,)))
    (inside.path / "events").mkdir()
    (line,) = contents.gather(inside).events
    assert (line.title, line.article, line.stats) == ("../../events/77", "", None)


# ---- the same again


def files(run: RunFolder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in [run.path / "report.html", *(run.path / "plots").iterdir()]}


def test_the_same_run_gives_the_same_bytes(wikigenben: Command, run: RunFolder) -> None:
    before = files(run)
    (run.path / "plots" / "distribution-beauty.svg").write_text("<svg/>")  # of a metric that is no more
    ran = wikigenben("report", run.path)
    assert (ran.code, ran.out, ran.err) == (0, f"{run.path / 'report.html'}\n", "")
    assert files(run) == before
    assert not [name for name, text in before.items() if name.endswith(".svg") and b"<dc:date>" in text]


def test_a_run_that_is_not_scored(wikigenben: Command, tmp_path: Path) -> None:
    refused(wikigenben("report", tmp_path / "none"), "has no submission.json", "wikigenben evaluate")


# ---- what is stored for it


def event_of(run: RunFolder, event_id: str, evidence_words: int = 0) -> EventFolder:
    folder = run.event(event_id)
    folder.pages(lambda: (Page("https://a.example/", "A", "word " * evidence_words, "search"),))
    return folder


def scored(run: RunFolder, values: dict[str, float]) -> None:
    """A submission whose events have these values of `organisation`; those below 0 failed."""
    metrics = [Organisation(FixedEncoder())]
    rows = [
        EventScores(
            i, "failed" if v < 0 else "ok", "" if v < 0 else "0" * 64, 0 if v < 0 else 9,
            dict.fromkeys(metrics[0].names) | {next(iter(metrics[0].names)): max(v, 0.0)},
        )
        for i, v in values.items()
    ]  # fmt: skip
    submit(run, rows, metrics, SubmittedSystem("s", "1", "search", True))


def test_decode_statistics_are_those_of_the_drafts(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    for event_id, copied in (("1", 30), ("2", 6)):
        folder = event_of(run, event_id)
        draft = Draft(
            "x", (), (), "end",
            Usage(1, 100, 50, DecodeStats(0.5, speculation=SpeculationStats(
                num_verify_steps=9, num_draft_tokens=40, num_accepted_tokens=copied + 5,
                verify_s=0.3, priced_tokens=45, priced_cost=20.0,
                by_source=(SourceStats("copy:prompt", 3, 30, copied), SourceStats("recycle", 2, 10, 5)),
            ))),
        )  # fmt: skip
        for stage in (OUTLINE_DRAFT, draft_stage(1)):
            folder.once(stage, lambda draft=draft: draft)  # type: ignore[misc]
        folder.write_stats(
            EventStats(event_id, 2.0, 1, 1, folder.usage(), (StageTime("drafts/outline", 0.75), StageTime("drafts/01", 0.25)))
        )
    event_of(run, "3").write_stats(EventStats("3", 1.0, 1, 1, Usage(1, 10, 7, DecodeStats(0.25))))  # a server's
    event_of(run, "4").fail(EventFailure("4", "outline", "StageError", "because", title="Four"))
    scored(run, {"1": 0.5, "2": 0.25, "3": 0.0, "4": -1.0})
    found = contents.gather(run)
    d = found.decoding
    assert d is not None
    asked, counted = d.usage, d.counted.stats
    assert (d.n_events, asked.n_calls, asked.n_prompt_tokens, asked.n_new_tokens, asked.stats.total_s) == (3, 5, 410, 207, 2.25)
    assert (d.counted.n_passes, counted.n_drafted, counted.n_accepted) == (40, 160, 92)
    assert d.per_pass == pytest.approx(5.0) and d.per_pass_of_events == (5.0, 5.0)
    assert counted.speculation is not None
    assert counted.speculation.by_source == (SourceStats("copy:prompt", 12, 120, 72), SourceStats("recycle", 8, 40, 20))
    assert {line.stage: (line.seconds, line.n_events) for line in found.stages} == {
        "drafts": (2.0, 2),
        contents.BETWEEN_STAGES: (2.0, 2),
        contents.NO_STAGES: (1.0, 1),
    }
    text = text_of(html.document_fromstring(page.render(found, plots.draw(found))))
    assert "copy:prompt 12 120 72 60.0% 6.00" in text and "5.00 tokens a pass" in text and "57.5% accepted" in text
    assert "Four 4 outline because" in text and "estimated gain 2.2× over plain" in text


# ---- the best, the worst, and evidence


@pytest.mark.parametrize(("n", "shown"), [(1, 1), (2, 1), (5, 2), (40, 5)])
def test_few_events_are_not_best_and_worst_at_once(n: int, shown: int, tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    scored(run, {f"{i:02}": i / 40 for i in range(n)})
    (ends,) = contents.gather(run).ends
    assert len(ends.worst) == len(ends.best) == shown
    assert n == 1 or not {line.event_id for line in ends.worst} & {line.event_id for line in ends.best}


def test_a_score_is_drawn_against_evidence(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    for n in range(30):
        event_of(run, f"{n:02}", 50 * (n + 1))
    scored(run, {f"{n:02}": n / 30 for n in range(30)})
    drawn = {plot.name: plot for plot in plots.draw(contents.gather(run))}
    assert drawn["evidence-organisation"].told.endswith("30 written events; Spearman's rank correlation +1.00")
    assert drawn["evidence-organisation"].svg.count("<use ") >= 30
    assert {"distribution-organisation", "evidence-organisation"} == drawn.keys()
    markup = plots.as_markup(drawn["evidence-organisation"])
    assert "style=" not in markup and "var(--accent)" in markup and "#3366cc" not in markup and "ns0:" not in markup

"""The leaderboard's site, built from small submissions that are valid but for what each test breaks."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import lxml.html
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.leaderboard import Built, build, main
from benchmark.site.article_view import web_address
from benchmark.site.entries import read_all, safe_name
from benchmark.site.pages import COLUMNS, event_file, readable
from benchmark.submissions import folder as submitted
from benchmark.submissions import submission
from benchmark.submissions.ledger import LEDGER, note_scored
from benchmark.submissions.submitted import (
    SubmittedCost,
    SubmittedScore,
    SubmittedStratum,
    SubmittedSystem,
)
from data import codec
from data.errors import UserError
from eval.aggregate import estimate
from eval.catalogue import BESIDE, HEADLINE, less_is_better
from tests.benchmark.site.made_submissions import (
    CHEAT,
    FAILED,
    FIRST,
    HOSTILE,
    IDS,
    LESS,
    OTHER_JUDGE,
    SECOND,
    TEXTS,
    THIRD,
    UNFILTERED,
    article,
    verdicts,
    write,
)
from tests.benchmark.site.visitor import visit
from tests.browser import needs_browser

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three comparable systems, of which two tie; two under other conditions; one that claims more than its rows give."""
    into = tmp_path_factory.mktemp("submissions")
    for system in (FIRST, SECOND, THIRD, UNFILTERED, OTHER_JUDGE, CHEAT):
        write(into, system)
    path = into / "cheat" / "submission.json"
    claimed = json.loads(path.read_text(encoding="utf-8"))
    claimed["scores"]["quality"]["mean"] = 0.99
    path.write_text(json.dumps(claimed), encoding="utf-8")
    return into


@pytest.fixture(scope="module")
def site(folders: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    assert build(folders, out) == Built(n_ranked=5, n_refused=1, n_files=2 + 3 * 5 + len(IDS) + 2)
    return out


def page(path: Path) -> lxml.html.HtmlElement:
    return lxml.html.fromstring(path.read_text(encoding="utf-8"))


def words(element: lxml.html.HtmlElement) -> str:
    return " ".join(element.text_content().split())


def boards(site: Path) -> list[lxml.html.HtmlElement]:
    return page(site / "index.html").xpath("//table[contains(@class, 'board')]")


def board_rows(board: lxml.html.HtmlElement) -> list[lxml.html.HtmlElement]:
    return board.xpath("./tbody[1]/tr")


def system_page(site: Path, prefix: str) -> Path:
    (found,) = (site / "systems").glob(f"{prefix}-*.html")
    return found


# ---- who is ranked, and how


def test_order_and_shared_ranks(site: Path) -> None:
    (board,) = (board for board in boards(site) if len(board_rows(board)) == 3)
    names = [words(row.xpath(".//th//a")[0]) for row in board_rows(board)]
    means = [float(row.xpath("./td[@data-label='Quality']/@data-value")[0]) for row in board_rows(board)]
    assert means == sorted(means, reverse=True) and names[2] == "third"
    assert [words(row.xpath("./td")[0]) for row in board_rows(board)] == ["1=", "1=", "3"]
    assert board.xpath(".//th[@aria-sort='ascending']/text()") == ["Rank"]


def test_a_clear_difference_is_said_on_the_system_page(site: Path) -> None:
    rows = against(site, "third")
    assert set(rows) == {"first", "second " + HOSTILE}
    metric, difference, interval, p, verdict = rows["first"]
    assert (
        metric == "Quality"
        and difference.startswith("−")
        and interval.startswith("−")
        and float(p.lstrip("< ")) < 0.05
        and verdict == "worse"
    )


def test_other_judges_and_other_evidence_stand_apart(site: Path) -> None:
    titles = [words(h) for h in page(site / "index.html").xpath("//section[@class='block']/h2")]
    assert len(titles) == 3 and titles[-1] == "floods, full split, search evidence, leak filter off"
    assert [len(board_rows(board)) for board in boards(site)] == [3, 1, 1]
    judges = [p.xpath("./code/text()") for p in page(site / "index.html").xpath("//section[@class='block']/p[@class='meta']")]
    assert judges == [["lexical@1>=0.6"], ["nli@2>=0.5"], ["lexical@1>=0.6"]]


@pytest.mark.parametrize(
    "other",
    [
        {"track": "cited"},
        {"signature": FIRST.signature.replace("v1", "v2")},
    ],
)
def test_what_was_made_otherwise_is_not_compared(tmp_path: Path, other: dict[str, Any]) -> None:
    write(tmp_path / "in", FIRST)
    write(tmp_path / "in", replace(THIRD, with_articles=True, **other))
    build(tmp_path / "in", tmp_path / "out")
    assert [len(board_rows(board)) for board in boards(tmp_path / "out")] == [1, 1]


def test_a_system_without_the_ranking_metric_has_no_rank(tmp_path: Path) -> None:
    write(tmp_path / "in", THIRD)
    write(tmp_path / "in", replace(FIRST, without="quality"))
    build(tmp_path / "in", tmp_path / "out")
    ((first, second),) = (board_rows(board) for board in boards(tmp_path / "out"))
    assert words(first.xpath("./td")[0]) == "1"
    assert second.xpath("./td[1]/span/@title") == ["No quality, so no rank"]


def test_the_refused_one_is_listed_with_its_reason_only(site: Path) -> None:
    (listed,) = page(site / "index.html").xpath("//ul[@class='refused']/li")
    (reason,) = listed.xpath("./ul/li")
    assert words(listed.xpath("./strong")[0]) == "cheat"
    assert words(reason).startswith("scores.quality.mean is 0.99, recomputed from the events it is 0.3")
    assert not list((site / "systems").glob("cheat-*")) and not list((site / "downloads").glob("cheat-*"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[" * 100_000, "not JSON"),
        ('{"schema": "wikigenben-submission/9"}', "needs another version"),
        ('{"schema": "wikigenben-submission/1"}', "Field required"),
        ('{"schema": ' + "9" * 5000 + "}", "not JSON"),
        (None, "submission.json"),
    ],
)
def test_unreadable_submissions_are_refused_not_fatal(tmp_path: Path, content: str | None, reason: str) -> None:
    write(tmp_path / "in", THIRD)
    broken = tmp_path / "in" / "broken <b>"
    broken.mkdir()
    if content is not None:
        (broken / "submission.json").write_text(content, encoding="utf-8")
    built = build(tmp_path / "in", tmp_path / "out")
    assert (built.n_ranked, built.n_refused) == (1, 1)
    (listed,) = page(tmp_path / "out" / "index.html").xpath("//ul[@class='refused']/li")
    assert words(listed).startswith("broken <b>") and reason in words(listed) and str(tmp_path) not in words(listed)


def against(site: Path, prefix: str) -> dict[str, list[str]]:
    """What the page of a system says of the others: metric, difference, interval, p, verdict."""
    return {
        words(row.xpath("./th")[0]): [words(cell) for cell in row.xpath("./td")]
        for row in page(system_page(site, prefix)).xpath("//section[@aria-labelledby='against']//tbody/tr")
    }


def test_tiers_are_the_number_of_failed_preconditions(tmp_path: Path) -> None:
    """What may not be published wins over nothing that may, however much it has in common with the human article."""
    copied = {"copied_share": 0.95, "verbatim_share": 0.9, "junk_share": 0.6}
    write(tmp_path / "in", replace(FIRST, name="pasted", level=0.9, shifted=copied, made={}))
    write(tmp_path / "in", replace(FIRST, name="poor", level=0.2, made={}))
    write(tmp_path / "in", replace(FIRST, name="remembered", level=0.8, shifted={"cite_f1": 0.3}, made={}))
    write(tmp_path / "in", replace(FIRST, name="fair", level=0.5, made={}))
    build(tmp_path / "in", tmp_path / "out")
    (board,) = boards(tmp_path / "out")
    assert [words(row.xpath(".//th//a")[0]) for row in board_rows(board)] == ["fair", "poor", "remembered", "pasted"]
    assert [words(row.xpath("./td")[0]) for row in board_rows(board)] == ["1", "2", "3", "4"]
    assert board.xpath(".//th[@aria-sort='ascending']/text()") == ["Rank"]
    warned = [row.xpath(".//span[@class='badge warn']") for row in board_rows(board)]
    assert [[words(one) for one in found] for found in warned] == [[], [], ["fails support"], ["fails originality, junk"]]
    (badge,) = warned[3]
    assert all(name in badge.get("title") for name in ("copied_share 9", "verbatim_share 9", "junk_share 6", "at most 10"))
    told = against(tmp_path / "out", "poor")
    assert told["fair"][0] == "Quality" and (told["fair"][-1], told["pasted"][-1]) == (
        "worse", "better: it fails fewer preconditions",
    )  # fmt: skip
    assert told["pasted"][1].startswith("−") and "Not tested" in told["pasted"][3]
    assert against(tmp_path / "out", "pasted")["remembered"][-1] == "worse: it fails more preconditions"


def test_no_rank_is_shared_between_tiers(tmp_path: Path) -> None:
    write(tmp_path / "in", replace(FIRST, name="one", made={}))
    write(tmp_path / "in", replace(FIRST, name="two", seed=2, made={}))
    write(tmp_path / "in", replace(FIRST, name="three", seed=3, shifted={"junk_share": 0.5}, made={}))
    build(tmp_path / "in", tmp_path / "out")
    (board,) = boards(tmp_path / "out")
    ranks = {words(row.xpath(".//th//a")[0]): words(row.xpath("./td")[0]) for row in board_rows(board)}
    assert ranks == {"one": "1=", "two": "1=", "three": "3"}


def test_unknown_support_is_neither_failed_nor_shown(tmp_path: Path) -> None:
    unknown = {"cite_f1": 0.1, "judged_share": 0.3}
    write(tmp_path / "in", replace(FIRST, name="agent", level=0.7, shifted=unknown, made={}))
    write(tmp_path / "in", replace(FIRST, name="unsupported", level=0.9, shifted={"cite_f1": 0.1}, made={}))
    build(tmp_path / "in", tmp_path / "out")
    first, second = board_rows(boards(tmp_path / "out")[0])
    assert [words(row.xpath(".//th//a")[0]) for row in (first, second)] == ["agent", "unsupported"]
    cell, other = (row.xpath("./td[@data-label='Supported']")[0] for row in (first, second))
    assert (
        words(cell).startswith("unknown: only 29% of the claims could be judged")
        and cell.get("data-value") == ""
        and not cell.xpath(".//svg")
    )
    assert words(other).startswith("9.") and float(other.get("data-value")) < 0.2
    assert [words(badge) for badge in first.xpath(".//span[starts-with(@class, 'badge')]")] == ["support unknown"]
    (tile,) = page(system_page(tmp_path / "out", "agent")).xpath("//ul[@class='tiles']/li[starts-with(., 'Supported')]")
    assert "unknown" in words(tile)


def test_where_less_is_better_the_bars_and_headings_say_so(site: Path) -> None:
    (board,) = (board for board in boards(site) if len(board_rows(board)) == 3)
    for name, (label, _) in COLUMNS.items():
        (cell, *_) = board_rows(board)[0].xpath(f"./td[@data-label='{label}']")
        assert cell.xpath(".//svg/@class") == ([] if name == "words" else ["bar less" if name in LESS else "bar"])
        (heading,) = board.xpath(f".//th[starts-with(@title, '{name}: ')]")
        assert words(heading) == (f"{label} ↓" if name in LESS else label)
    assert (
        {name for name in HEADLINE if less_is_better(name)} < LESS
        and HEADLINE[0] == next(iter(COLUMNS))
        and {*HEADLINE, *BESIDE} == COLUMNS.keys()
    )


def test_what_a_submission_says_of_itself_does_not_rank_it(tmp_path: Path) -> None:
    """`recomputed: true` and a rescored.json can be written by anybody: the site's own note alone counts."""
    honest = write(tmp_path / "in", THIRD)
    note_scored(honest, record(honest))
    forged = write(tmp_path / "in", replace(FIRST, made={"recomputed": True}))
    record(forged)
    codec.write_atomic(forged / LEDGER, (tmp_path / "in" / LEDGER).read_text(encoding="utf-8"))
    assert build(tmp_path / "in", tmp_path / "refused").n_refused == 1  # a ledger of its own is no part of a submission
    (forged / LEDGER).unlink()
    build(tmp_path / "in", tmp_path / "out")
    shown = page(tmp_path / "out" / "index.html").xpath("//section[@class='block' and .//table[contains(@class, 'board')]]")
    (computed, read) = ((words(one.xpath("./p[@class='meta']")[0]), words(one.xpath(".//tbody//th//a")[0])) for one in shown)
    assert "scored again from the articles by this site" in computed[0] and computed[1] == "third"
    assert "scores as submitted" in read[0] and read[1] == "first"
    (badge,) = shown[1].xpath(".//span[@class='badge warn'][contains(@title, 'this site has not')]")
    assert words(badge) == "scores as submitted"


def test_a_note_is_of_the_very_bytes(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", FIRST)
    note_scored(folder, record(folder))
    assert read_all(tmp_path / "in")[0][0].recomputed
    path = folder / "submission.json"
    path.write_bytes(path.read_bytes() + b"\n")
    (folder / "rescored.json").unlink()
    assert not read_all(tmp_path / "in")[0][0].recomputed
    (tmp_path / "in" / LEDGER).write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match=r"scored-here\.json"):
        read_all(tmp_path / "in")


def test_verdicts_are_the_judges_only_where_the_site_made_them(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", FIRST)
    note_scored(folder, record(folder))
    build(tmp_path / "in", tmp_path / "out")
    made = tmp_path / "out" / "events" / f"{IDS[0]}.html"
    assert "The judge: " in made.read_text(encoding="utf-8")
    forged = [replace(one, supported=True) for one in verdicts(article(IDS[0], "Flood"))]
    codec.write_atomic(folder / "results" / f"{IDS[0]}.json", codec.to_json(forged))
    build(tmp_path / "in", tmp_path / "out")
    text = made.read_text(encoding="utf-8")
    assert "The judge: " not in text and "As submitted: " in text and "Verdicts as submitted" in text


def test_text_that_was_left_out_after_scoring_is_said(tmp_path: Path) -> None:
    """Ranked with those that were scored again, by the site's note; without a record the submission is refused."""
    first = write(tmp_path / "in", replace(FIRST, made={"recomputed": True}))
    note_scored(first, record(first))
    folder = write(tmp_path / "in", replace(SECOND, folder="hashes", with_articles=False, made={"recomputed": True}))
    note_scored(folder, record(folder))
    write(tmp_path / "in", replace(THIRD, folder="claims", made={"recomputed": True}))
    assert build(tmp_path / "in", tmp_path / "out").n_refused == 1
    ((first, second),) = (board_rows(board) for board in boards(tmp_path / "out"))
    badges = {words(row.xpath(".//th//a")[0])[:6]: row.xpath(".//span[@class='badge']") for row in (first, second)}
    (badge,) = badges["second"]
    assert not badges["first"] and words(badge) == "text left out"
    assert "Scored from its articles on 2031-03-17 by commit 3fa9c1d" in badge.get("title")
    (reason,) = page(tmp_path / "out" / "index.html").xpath("//ul[@class='refused']//ul/li")
    assert "holds neither articles nor rescored.json" in words(reason)


def record(folder: Path) -> submitted.Record:
    digest = codec.sha256_bytes((folder / "submission.json").read_bytes())
    made = submitted.Record(
        submitted.RECORD_SCHEMA, "2031-03-17T12:00:00+00:00", "0.1.0", "3fa9c1d", codec.sha256("data"), digest, 0
    )
    codec.write_atomic(folder / "rescored.json", codec.to_json(made))
    return made


# ---- numbers


def test_numbers_intervals_and_bars(site: Path, folders: Path) -> None:
    score = submission.read(folders / "third" / "submission.json").scores["quality"]
    (row,) = (row for board in boards(site) for row in board_rows(board) if "third" in words(row.xpath("./th")[0]))
    (cell,) = row.xpath("./td[@data-label='Quality']")
    low, high = score.ci95
    assert words(cell) == f"{score.mean * 100:.1f} 95% interval {low * 100:.1f}–{high * 100:.1f}"
    (spread,) = cell.xpath(".//*[@class='spread']")
    assert float(spread.get("x")) == pytest.approx(low * 100, abs=0.01)
    assert float(spread.get("width")) == pytest.approx((high - low) * 100, abs=0.01)
    cells = {cell.get("data-label"): words(cell) for cell in row.xpath("./td[contains(@class, 'n')]")}
    assert cells["Seconds"] == "2.00" and cells["Tokens/s"] == "50.0"
    assert "USD" not in cells  # where nobody gives a price


def test_contamination(site: Path, folders: Path) -> None:
    unfiltered = submission.read(folders / "first-unfiltered" / "submission.json").scores["fact_f"].mean
    (row,) = (r for r in board_rows(boards(site)[0]) if words(r.xpath(".//th//a")[0]) == "first")
    closed, without, recent = row.xpath("./td[@class='n']")[2:]
    assert closed.get("data-value") == "0.123" and "entity_recall, as the submission says" in closed.xpath("./span/@title")[0]
    assert float(without.get("data-value")) == unfiltered and "a submission of its own" in without.xpath("./span/@title")[0]
    assert recent.get("data-value") == "" and recent.xpath("./span/@title") == ["No score on recent events alone was submitted"]
    (third,) = (r for r in board_rows(boards(site)[0]) if words(r.xpath(".//th//a")[0]) == "third")
    assert [cell.get("data-value") for cell in third.xpath("./td[@class='n']")[2:]] == ["", "", ""]


def test_what_writes_nothing_of_its_own_has_no_closed_book(tmp_path: Path) -> None:
    quoting = SubmittedSystem("quotes", "1.0", "search", True, ())
    write(tmp_path / "in", replace(FIRST, name="writes", made={"cost": SubmittedCost(26.0, 13, usd=1.3)}))
    write(tmp_path / "in", replace(THIRD, made={"system": quoting}))
    build(tmp_path / "in", tmp_path / "out")
    cells = [row.xpath("./td[@data-label='Closed book']")[0] for row in board_rows(boards(tmp_path / "out")[0])]
    assert sorted(words(cell)[:6] for cell in cells) == ["noneUn", "–No cl"]
    assert [cell.get("data-value") for cell in cells] == ["", ""]
    prices = [words(row.xpath("./td[@data-label='USD']")[0]) for row in board_rows(boards(tmp_path / "out")[0])]
    assert sorted(prices) == ["0.1", "–No price was given"]


def test_the_recent_slice_is_taken_from_the_rows(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", THIRD)
    read = submission.read(folder / "submission.json")
    rows = [event.scores["fact_f"] for event in read.events[:5]]
    e = estimate(rows, name="fact_f", seed=3, resamples=100)
    score = SubmittedScore(e.mean, (e.low, e.high), 5, 0, 0)
    ids = tuple(event.id for event in read.events[:5])
    stratum = SubmittedStratum(ids, {"fact_f": score})
    submission.write(folder / "submission.json", replace(read, strata={"topic: since 2021": stratum}))
    build(tmp_path / "in", tmp_path / "out")
    ((row,),) = (board_rows(board) for board in boards(tmp_path / "out"))
    cell = row.xpath("./td[@data-label='Recent events']")[0]
    assert float(cell.get("data-value")) == e.mean and "over 5 events" in cell.xpath("./span/@title")[0]
    (kind,) = page(system_page(tmp_path / "out", "third")).xpath("//section[@aria-labelledby='strata']//tbody/tr")
    assert words(kind.xpath("./th")[0]) == "topic: since 2021" and words(kind.xpath("./td")[0]) == "5"


def test_floors_stand_below_once_and_are_not_sorted_in(site: Path) -> None:
    (reference,) = boards(site)[0].xpath("./tbody[@class='references']/tr")
    assert reference.xpath("./th//text()[normalize-space()]") == ["lead", "floor: the first words of the pages; as submitted"]
    assert [words(value) for value in reference.xpath(".//span[@class='value']")] == ["25.0", "10.0"]


def test_downloads_hold_every_event(site: Path, folders: Path) -> None:
    folder = site / "downloads" / system_page(site, "third").stem
    assert (folder / "submission.json").read_bytes() == (folders / "third" / "submission.json").read_bytes()
    rows = list(csv.DictReader(io.StringIO((folder / "events.csv").read_text(encoding="utf-8"))))
    events = submission.read(folder / "submission.json").events
    assert [(row["id"], row["quality"]) for row in rows] == [(e.id, repr(e.scores["quality"])) for e in events]
    assert rows[-1]["status"] == "failed" and (rows[-1]["article_words"], rows[-1]["words"]) == ("0", "")


def test_no_cell_of_the_csv_is_a_formula(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", THIRD)
    read = submission.read(folder / "submission.json")
    events = (*read.events[:-1], replace(read.events[-1], reason="=HYPERLINK(1)"))
    submission.write(folder / "submission.json", replace(read, events=events))
    build(tmp_path / "in", tmp_path / "out")
    (path,) = (tmp_path / "out" / "downloads").glob("*/events.csv")
    assert list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))[-1]["reason"] == "'=HYPERLINK(1)"


# ---- articles


def test_citations_are_lit_by_the_verdicts(site: Path) -> None:
    slug = system_page(site, "second-script").stem
    (column,) = page(site / "events" / f"{IDS[0]}.html").xpath(f"//article[@data-system='{slug}']")
    first, second = column.xpath(".//span[contains(concat(' ', @class, ' '), ' s ')]")
    assert (words(first), first.get("class")) == (TEXTS[0], "s supported")
    assert (words(second), second.get("class")) == (TEXTS[1], "s unsupported")
    marks = [(words(mark), mark.get("class")) for mark in column.xpath(".//*[contains(@class, 'mark ')]")]
    assert marks == [("[1]", "mark right"), ("[2] not supported", "mark wrong"), ("[7]", "mark invalid")]


def test_no_text_then_the_hash_and_why(site: Path, folders: Path) -> None:
    slug = system_page(site, "third").stem
    (absent,) = page(site / "events" / f"{IDS[0]}.html").xpath(f"//article[@data-system='{slug}']//div[@class='absent']")
    row = submission.read(folders / "third" / "submission.json").events[0]
    assert "holds no articles" in words(absent) and row.article_sha256 in words(absent)
    for column in page(site / "events" / f"{FAILED}.html").xpath("//article"):
        assert words(column.xpath(".//div[@class='absent']")[0]) == f"failed: generate: {HOSTILE}"


def test_without_any_text_a_page_still_says_which_event_it_is(tmp_path: Path) -> None:
    write(tmp_path / "in", replace(FIRST, with_articles=False))
    build(tmp_path / "in", tmp_path / "out")
    shown = page(tmp_path / "out" / "events" / f"{IDS[0]}.html")
    assert words(shown.xpath("//h1")[0]).startswith(f"Flood {IDS[0]}")
    assert any(href.startswith("https://en.wikipedia.org/w/index.php?search=Flood%20") for href in shown.xpath("//a/@href"))


def test_without_verdicts_citations_stay_unlit(tmp_path: Path) -> None:
    shutil.rmtree(write(tmp_path / "in", FIRST) / "results")
    build(tmp_path / "in", tmp_path / "out")
    (column,) = page(tmp_path / "out" / "events" / f"{IDS[0]}.html").xpath("//article")
    assert "holds no verdicts" in words(column) and not column.xpath(".//*[contains(@class, 'right')]")
    assert len(column.xpath(".//a[@class='mark ']")) == 2


# ---- nothing from a submission does anything


def html_files(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_hostile_text_is_text(site: Path) -> None:
    for path in html_files(site):
        tree = page(path)
        assert [s.get("src") for s in tree.xpath("//script")] == [("" if path.parent == site else "../") + "site.js"]
        assert not tree.xpath("//script/text()") and not tree.xpath("//img | //iframe | //object | //embed | //base | //style")
        for element in tree.iter():
            risky = [name for name in element.attrib if name.startswith("on") or name in ("style", "srcdoc", "formaction")]
            assert not risky, (path.name, risky)
        (policy,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
        assert policy == "default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'"
        assert tree.xpath("//head/meta")[1].get("http-equiv") == "Content-Security-Policy"  # before anything is loaded
    assert HOSTILE in words(page(site / "index.html")) and HOSTILE in words(page(site / "events" / f"{IDS[0]}.html"))


def test_every_link_leads_somewhere_and_nothing_is_loaded_from_outside(site: Path) -> None:
    for path in html_files(site):
        tree = page(path)
        outside = set()
        for element, attribute, link, _ in tree.iterlinks():
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                outside.add((element.tag, attribute, parts.scheme))
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file() and target.is_relative_to(site.resolve()), (path.name, link)
            if parts.fragment:
                assert page(target).xpath("//*[@id=$id]", id=parts.fragment), (path.name, link)
        assert outside <= {("a", "href", "https")}
    for name in ("site.css", "site.js"):
        text = (site / name).read_text(encoding="utf-8")
        assert not re.search(r"https?:|@import|url\(|innerHTML|insertAdjacentHTML|document\.write|eval\(|fetch\(", text)


@given(st.text(), st.text())
def test_file_names_are_safe_and_their_own(a: str, b: str) -> None:
    for name in (safe_name(a, b), event_file(a)):
        assert re.fullmatch(r"[a-z0-9-]{1,60}", name)
    assert (event_file(a) == event_file(b)) is (a == b)


def test_file_names_of_numbers_are_the_numbers() -> None:
    assert event_file("36588540") == "36588540"
    assert event_file("٣") != "٣" and event_file("../x") not in ("x", "../x")


@given(st.text())
def test_pages_hold_no_control_characters(text: str) -> None:
    shown = readable(text)
    shown.encode("utf-8")
    assert all(c in "\t\n" or ord(c) >= 32 for c in shown) and readable(shown) == shown


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://www.example.org/a?b=1#c", "example.org"),
        ("javascript:alert(1)", ""),
        ("JavaScript://example.org/%0aalert(1)", ""),
        ("data:text/html,<script>", ""),
        ("https:///nowhere", ""),
        ("https://[::1", ""),
        ("java\nscript:alert(1)", ""),
        ("//example.org", ""),
    ],
)
def test_only_web_addresses_become_links(url: str, host: str) -> None:
    assert web_address(url) == ((url, host) if host else ("", ""))


# ---- the folder that is written


def test_the_same_submissions_give_the_same_bytes(site: Path, folders: Path, tmp_path: Path) -> None:
    build(folders, tmp_path)
    files = {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}
    again = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert files == again


def test_a_site_is_renewed_and_other_files_stay(tmp_path: Path) -> None:
    folder, out = write(tmp_path / "in", THIRD), tmp_path / "out"
    write(tmp_path / "in", FIRST)
    build(tmp_path / "in", out)
    (out / "CNAME").write_text("example.org", encoding="utf-8")
    gone = system_page(out, "third")
    shutil.rmtree(folder)
    build(tmp_path / "in", out)
    assert not gone.exists() and system_page(out, "first").exists() and (out / "CNAME").exists()


def test_a_folder_in_use_is_left_alone(folders: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(UserError, match="choose another folder with --html"):
        build(folders, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "in", THIRD)
    out = tmp_path / "in" / "site"  # beside the submissions: it is not taken for one
    assert main([str(tmp_path / "in"), "--html", str(out)]) == 0
    assert main([str(tmp_path / "in"), "--html", str(out)]) == 0
    assert "1 ranked, 0 refused" in capsys.readouterr().out
    assert main([str(tmp_path / "nowhere"), "--html", str(tmp_path / "out")]) == 2
    assert "nowhere is not a folder" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_help_loads_nothing_heavy() -> None:
    code = "import sys\ntry:\n  import runpy; runpy.run_module('benchmark.leaderboard', run_name='__main__', alter_sys=True)\n"
    code += "finally:\n  sys.stderr.write(' '.join(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", code, "--help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "usage:" in done.stdout and not {"jinja2", "numpy", "pydantic", "torch"} & set(done.stderr.split())


# ---- in a browser


@needs_browser
@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(16, 20, 24)")])
def test_in_a_browser(site: Path, tmp_path: Path, scheme: str, paper: str) -> None:
    """Sorting, filtering and choosing work under the policy, and no page scrolls sideways, however narrow."""
    slugs = [system_page(site, prefix).stem for prefix in ("second-script", "judged", "third")]
    pages = [site / "index.html", system_page(site, "third"), site / "events" / f"{IDS[0]}.html", site / "events.html"]
    found = visit(tmp_path, [path.as_uri() for path in pages], slugs, dark=scheme == "dark")
    assert found["wide"] == [] and found["paper"] == paper
    assert {"first", "third"} < set(found["before"][:3])
    by_name = sorted(found["before"][:3])
    assert found["up"] == [by_name + found["before"][3:], "ascending", 1]
    assert found["down"] == [by_name[::-1] + found["before"][3:], "descending"]
    assert found["kept"] == [1, f"1 of {len(IDS)} events"]
    assert found["columns"] == [slugs[2], slugs[0]] and found["chosen"] == sorted([slugs[2], slugs[1]])


# ---- folders that are made to break the build


def empty(folder: Path) -> Path:
    shutil.rmtree(folder)
    folder.mkdir()
    return folder


HARMFUL: dict[str, Callable[[Path], object]] = {
    "digits": lambda f: edited(f, lambda v: v.update(schema="wikigenben-submission/" + "1" * 5_000)),
    "huge": lambda f: edited(f, lambda v: v["cost"].update(n_new_tokens=10**300)),
    "deep": lambda f: (f / "submission.json").write_text(
        '{"schema": "wikigenben-submission/1", "x": ' + "[" * 900 + "]" * 900 + "}"
    ),
    "deeper": lambda f: (f / "submission.json").write_text("[" * 100_000),
    "none": empty,
    "pipe": lambda f: ((f / "evidence.json").unlink(), os.mkfifo(f / "evidence.json")),
    "half": lambda f: (f / "submission.json").write_text('{"schema": "\\ud800"}'),
    "key": lambda f: edited(f, lambda v: v.update({"\ud800": 1})),
    "bytes": lambda f: (f / "submission.json").write_bytes(b"\xff\xfe\x00"),
    "name": lambda f: edited(f, lambda v: v["system"].update(name="\u202e" * 9)),
    "impostor": lambda f: edited(f, lambda v: v["system"].update(name="ours")),
    "stray": lambda f: (f / os.fsdecode(b"\xff.json")).write_text("{}"),
}


def edited(folder: Path, change: Callable[[Any], object]) -> None:
    path = folder / "submission.json"
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_text(json.dumps(value), encoding="utf-8")


def test_no_folder_keeps_the_others_from_being_ranked(tmp_path: Path) -> None:
    into = tmp_path / "submissions"
    write(into, FIRST)
    for name, harm in HARMFUL.items():
        harm(write(into, replace(THIRD, folder=name)))
    built = build(into, tmp_path / "site")
    assert (built.n_ranked, built.n_refused) == (1, len(HARMFUL))
    listed = page(tmp_path / "site" / "index.html").xpath("//ul[@class='refused']/li")
    assert len(listed) == len(HARMFUL) and all(words(one.xpath("./ul/li")[0]) for one in listed)


def test_a_fault_of_the_checker_refuses_its_folder_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    into = tmp_path / "submissions"
    for system in (FIRST, THIRD):
        write(into, system)
    real = submitted.check

    def check(folder: Path) -> submitted.Checked:
        if folder.name == "third":
            raise ZeroDivisionError(f"in {folder}/submission.json")
        return real(folder)

    monkeypatch.setattr(submitted, "check", check)
    assert build(into, tmp_path / "site").n_ranked == 1
    (refused,) = page(tmp_path / "site" / "index.html").xpath("//ul[@class='refused']/li")
    assert "it could not be checked (ZeroDivisionError): in submission.json" in words(refused)


def test_a_model_that_nobody_declared_is_not_said_to_be_none(tmp_path: Path) -> None:
    into = tmp_path / "submissions"
    write(into, FIRST)
    for name in ("lead", "mine"):
        folder = write(into, replace(THIRD, name=name))
        edited(folder, lambda v: v["system"].update(models=[], settings={"system": v["system"]["name"]}, extractive=True))
    build(into, tmp_path / "site")
    shown = {
        words(row.xpath("./th//a")[0]): words(row.xpath("./th")[0])
        for row in page(tmp_path / "site" / "index.html").xpath("//table[contains(@class, 'board')]/tbody[1]/tr")
    }
    assert "no language model" in shown["lead"] and "model not declared" in shown["mine"]
    assert "no language model" not in shown["mine"] and "not declared" not in shown["first"]

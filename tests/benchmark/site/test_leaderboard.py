"""The leaderboard's site, built from small submissions that are valid but for what each test breaks."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import lxml.html
import pytest

from benchmark.leaderboard import build, main
from benchmark.site.entries import read_all
from benchmark.submissions import folder as submitted
from benchmark.submissions import submission
from benchmark.submissions.ledger import LEDGER, note_scored
from benchmark.submissions.submitted import SubmittedCost, SubmittedScore, SubmittedStratum, SubmittedSystem
from data import codec
from data.errors import UserError
from eval.aggregate import estimate
from tests.benchmark.site.made_submissions import FIRST, HOSTILE, IDS, SECOND, THIRD, article, verdicts, write
from tests.benchmark.site.read_site import against, board_rows, boards, edited, page, system_page, words
from tests.benchmark.site.visitor import visit
from tests.browser import needs_browser

ROOT = Path(__file__).resolve().parents[3]


def names_of(board: lxml.html.HtmlElement) -> list[str]:
    return [words(row.xpath(".//th//a")[0]) for row in board_rows(board)]


# ---- who is ranked, and how


def test_order_shared_ranks_and_clear_differences(site: Path) -> None:
    (board,) = (board for board in boards(site) if len(board_rows(board)) == 3)
    means = [float(row.xpath("./td[@data-label='Quality']/@data-value")[0]) for row in board_rows(board)]
    assert means == sorted(means, reverse=True) and names_of(board)[2] == "third"
    assert [words(row.xpath("./td")[0]) for row in board_rows(board)] == ["1=", "1=", "3"]
    assert board.xpath(".//th[@aria-sort='ascending']/text()") == ["Rank"]
    rows = against(site, "third")
    assert set(rows) == {"first", "second " + HOSTILE}
    metric, difference, interval, p, verdict = rows["first"]
    assert (metric, difference[0], interval[0], verdict) == ("Quality", "−", "−", "worse") and float(p.lstrip("< ")) < 0.05


def test_other_judges_and_other_evidence_stand_apart_and_the_refused_one_is_listed_with_its_reason_only(site: Path) -> None:
    index = page(site / "index.html")
    titles = [words(h) for h in index.xpath("//section[@class='block']/h2")]
    assert len(titles) == 3 and titles[-1] == "floods, full split, search evidence, leak filter off"
    assert [len(board_rows(board)) for board in boards(site)] == [3, 1, 1]
    judges = [p.xpath("./code/text()") for p in index.xpath("//section[@class='block']/p[@class='meta']")]
    assert judges == [["lexical@1>=0.6"], ["nli@2>=0.5"], ["lexical@1>=0.6"]]
    (listed,) = index.xpath("//ul[@class='refused']/li")
    (reason,) = listed.xpath("./ul/li")
    assert words(listed.xpath("./strong")[0]) == "cheat"
    assert words(reason).startswith("scores.quality.mean is 0.99, recomputed from the events it is 0.3")
    assert not [*(site / "systems").glob("cheat-*"), *(site / "downloads").glob("cheat-*")]


def test_a_system_without_the_ranking_metric_has_no_rank(tmp_path: Path) -> None:
    write(tmp_path / "in", THIRD)
    write(tmp_path / "in", replace(FIRST, without="quality"))
    build(tmp_path / "in", tmp_path / "out")
    ((first, second),) = (board_rows(board) for board in boards(tmp_path / "out"))
    assert words(first.xpath("./td")[0]) == "1"
    assert second.xpath("./td[1]/span/@title") == ["No quality, so no rank"]


def test_tiers_are_the_number_of_failed_preconditions_and_no_rank_is_shared_between_them(tmp_path: Path) -> None:
    """What may not be published wins over nothing that may, however much it has in common with the human article."""
    copied = {"copied_share": 0.95, "verbatim_share": 0.9, "junk_share": 0.6}
    systems = (("pasted", 0.9, copied), ("poor", 0.2, {}), ("recalled", 0.8, {"cite_f1": 0.3}), ("fair", 0.5, {}))
    for name, level, shifted in (*systems, ("as fair", 0.5, {}), ("fair but junk", 0.5, {"junk_share": 0.5})):
        write(tmp_path / "in", replace(FIRST, name=name, level=level, shifted=shifted, made={}))
    build(tmp_path / "in", tmp_path / "out")
    (board,) = boards(tmp_path / "out")
    assert [words(row.xpath("./td")[0]) for row in board_rows(board)] == ["1=", "1=", "3", "4", "5", "6"]
    assert names_of(board)[2:] == ["poor", "recalled", "fair but junk", "pasted"]


def test_unknown_support_is_neither_failed_nor_shown(tmp_path: Path) -> None:
    unknown = {"cite_f1": 0.1, "judged_share": 0.3}
    write(tmp_path / "in", replace(FIRST, name="agent", level=0.7, shifted=unknown, made={}))
    write(tmp_path / "in", replace(FIRST, name="unsupported", level=0.9, shifted={"cite_f1": 0.1}, made={}))
    build(tmp_path / "in", tmp_path / "out")
    first, second = board_rows(boards(tmp_path / "out")[0])
    assert [words(row.xpath(".//th//a")[0]) for row in (first, second)] == ["agent", "unsupported"]
    cell, other = (row.xpath("./td[@data-label='Supported']")[0] for row in (first, second))
    assert words(cell).startswith("unknown: only 29% of the claims could be judged")
    assert cell.get("data-value") == "" and not cell.xpath(".//svg")
    assert words(other).startswith("9.") and float(other.get("data-value")) < 0.2
    assert [words(badge) for badge in first.xpath(".//span[starts-with(@class, 'badge')]")] == ["support unknown"]
    (tile,) = page(system_page(tmp_path / "out", "agent")).xpath("//ul[@class='tiles']/li[starts-with(., 'Supported')]")
    assert "unknown" in words(tile)


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


def test_a_note_is_of_the_very_bytes_and_copies_are_not_ranked_beside_them(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", FIRST)
    note_scored(folder, record(folder))
    for name in ("0-before-it", "zz-behind-it"):
        shutil.copytree(folder, tmp_path / "in" / name)
    (entry,), refused = read_all(tmp_path / "in")
    assert entry.recomputed and entry.folder == folder
    assert [(one.folder, one.reasons) for one in refused] == [
        (name, (f"the same as {folder.name}",)) for name in ("0-before-it", "zz-behind-it")
    ]
    path = folder / "submission.json"
    path.write_bytes(path.read_bytes() + b"\n")
    (folder / "rescored.json").unlink()
    assert not any(one.recomputed for one in read_all(tmp_path / "in")[0] if one.folder == folder)
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


def test_the_recent_slice_is_taken_from_the_rows_and_no_cell_of_the_csv_is_a_formula(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", THIRD)
    read = submission.read(folder / "submission.json")
    rows = [event.scores["fact_f"] for event in read.events[:5]]
    e = estimate(rows, name="fact_f", seed=3, resamples=100)
    score = SubmittedScore(e.mean, (e.low, e.high), 5, 0, 0)
    ids = tuple(event.id for event in read.events[:5])
    stratum = SubmittedStratum(ids, {"fact_f": score})
    submission.write(folder / "submission.json", replace(read, strata={"topic: since 2021": stratum}))
    edited(folder, lambda v: v["events"][-1].update(reason="=HYPERLINK(1)"))
    build(tmp_path / "in", tmp_path / "out")
    (path,) = (tmp_path / "out" / "downloads").glob("*/events.csv")
    assert list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))[-1]["reason"] == "'=HYPERLINK(1)"
    ((row,),) = (board_rows(board) for board in boards(tmp_path / "out"))
    cell = row.xpath("./td[@data-label='Recent events']")[0]
    assert float(cell.get("data-value")) == e.mean and "over 5 events" in cell.xpath("./span/@title")[0]
    (kind,) = page(system_page(tmp_path / "out", "third")).xpath("//section[@aria-labelledby='strata']//tbody/tr")
    assert words(kind.xpath("./th")[0]) == "topic: since 2021" and words(kind.xpath("./td")[0]) == "5"


def test_floors_stand_below_once_and_are_not_sorted_in(site: Path) -> None:
    (reference,) = boards(site)[0].xpath("./tbody[@class='references']/tr")
    assert reference.xpath("./th//text()[normalize-space()]") == ["lead", "floor: the first words of the pages; as submitted"]
    assert [words(value) for value in reference.xpath(".//span[@class='value']")] == ["25.0", "10.0"]


# ---- the folder that is written


def test_the_same_submissions_give_the_same_bytes(site: Path, folders: Path, tmp_path: Path) -> None:
    build(folders, tmp_path)
    files = {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}
    again = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert files == again


def test_a_site_is_renewed_and_other_files_and_folders_in_use_stay(tmp_path: Path) -> None:
    folder, out = write(tmp_path / "in", THIRD), tmp_path / "out"
    write(tmp_path / "in", FIRST)
    build(tmp_path / "in", out)
    (out / "CNAME").write_text("example.org", encoding="utf-8")
    gone = system_page(out, "third")
    shutil.rmtree(folder)
    build(tmp_path / "in", out)
    assert not gone.exists() and system_page(out, "first").exists() and (out / "CNAME").exists()
    with pytest.raises(UserError, match="choose another folder with --html"):
        build(tmp_path / "in", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out"}


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
def test_in_a_browser(site: Path, tmp_path: Path) -> None:
    """Sorting, filtering and choosing work under the policy, and no page scrolls sideways, however narrow."""
    slugs = [system_page(site, prefix).stem for prefix in ("second-script", "judged", "third")]
    pages = [site / "index.html", system_page(site, "third"), site / "events" / f"{IDS[0]}.html", site / "events.html"]
    addresses = [path.as_uri() for path in pages]
    light = visit(tmp_path, addresses, slugs, dark=False, widths=())
    found = visit(tmp_path, addresses, slugs, dark=True)
    assert found["wide"] == [] and (light["paper"], found["paper"]) == ("rgb(255, 255, 255)", "rgb(16, 20, 24)")
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


def unreadable(content: str | bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / "submission.json").write_bytes(content.encode() if isinstance(content, str) else content)


SCHEMA = '"schema": "wikigenben-submission/1"'
HARMFUL: dict[str, tuple[Callable[[Path], object], str]] = {
    "digits": (lambda f: edited(f, lambda v: v.update(schema="wikigenben-submission/" + "1" * 5_000)), "schema"),
    "large": (unreadable('{"schema": ' + "9" * 5_000 + "}"), "not JSON"),
    "huge": (lambda f: edited(f, lambda v: v["cost"].update(n_new_tokens=10**300)), ""),
    "deep": (unreadable("{" + SCHEMA + ', "x": ' + "[" * 900 + "]" * 900 + "}"), ""),
    "deeper": (unreadable("[" * 100_000), "not JSON"),
    "major": (unreadable('{"schema": "wikigenben-submission/9"}'), "needs another version"),
    "nothing <b>": (unreadable("{" + SCHEMA + "}"), "Field required"),
    "none": (empty, "submission.json"),
    "pipe": (lambda f: ((f / "evidence.json").unlink(), os.mkfifo(f / "evidence.json")), "pipe"),
    "half": (unreadable('{"schema": "\\ud800"}'), ""),
    "key": (lambda f: edited(f, lambda v: v.update({"\ud800": 1})), ""),
    "bytes": (unreadable(b"\xff\xfe\x00"), ""),
    "name": (lambda f: edited(f, lambda v: v["system"].update(name="\u202e" * 9)), "U+202E"),
    "impostor": (lambda f: edited(f, lambda v: v["system"].update(name="ours")), "is a system of this package"),
    "stray": (lambda f: (f / os.fsdecode(b"\xff.json")).write_text("{}"), "no part of a submission"),
}


def test_no_folder_keeps_the_others_from_being_ranked(tmp_path: Path) -> None:
    into = tmp_path / "submissions"
    write(into, FIRST)
    for name, (harm, _) in HARMFUL.items():
        harm(write(into, replace(THIRD, folder=name)))
    built = build(into, tmp_path / "site")
    assert (built.n_ranked, built.n_refused) == (1, len(HARMFUL))
    listed = page(tmp_path / "site" / "index.html").xpath("//ul[@class='refused']/li")
    told = [f"{words(one.xpath('./strong')[0])}: {words(one.xpath('./ul/li')[0])}" for one in listed]
    assert len(told) == len(HARMFUL) and any(one.startswith("nothing <b>") for one in told)
    assert not any(one.endswith(": ") or str(tmp_path) in one for one in told)
    assert [why for _, why in HARMFUL.values() if not any(why in one for one in told)] == []


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
    rows = [row for board in boards(tmp_path / "site") for row in board_rows(board)]
    shown = {words(row.xpath("./th//a")[0]): words(row.xpath("./th")[0]) for row in rows}
    assert "no language model" in shown["lead"] and "model not declared" in shown["mine"]
    assert "no language model" not in shown["mine"] and "not declared" not in shown["first"]

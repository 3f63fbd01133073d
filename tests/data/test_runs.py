from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from data import codec, stage_types
from data.codec import write_atomic
from data.decoding_counts import DecodeStats, SourceStats, SpeculationStats, Usage
from data.errors import StageError, UserError
from data.runs import EventFailure, EventFolder, EventStats, RunFolder, default_run_path
from data.stage_types import Stage, Unstored
from data.types import Article, Heading, Outline, Page, Section, Sentence
from pipeline.writing.drafting import ComposedDraft, Draft

IDENTITY = {"system": "lead", "track": "search"}
OUTLINE = Outline("A fire", (Heading("Cause"), Heading("Aftermath")))


@pytest.fixture
def folder(tmp_path: Path) -> EventFolder:
    return RunFolder.open(tmp_path / "run", IDENTITY).event("7")


def never() -> Outline:
    raise AssertionError("made again")


# ---- stages of one event


def test_a_stage_is_made_once_and_one_edited_by_hand_is_used_or_refused(folder: EventFolder) -> None:
    assert folder.once(stage_types.OUTLINE, lambda: OUTLINE) == OUTLINE == folder.once(stage_types.OUTLINE, never)
    assert folder.once(Stage("sections/02", Section), lambda: Section(Heading("Cause"), ())).heading.text == "Cause"
    assert sorted(str(p.relative_to(folder.path)) for p in folder.path.rglob("*.json")) == ["outline.json", "sections/02.json"]
    path = folder.path / "outline.json"
    path.write_text(path.read_text().replace("Cause", "Causes"))
    assert folder.once(stage_types.OUTLINE, never).headings[0].text == "Causes"
    path.write_text(path.read_text().replace("headings", "heading"))
    with pytest.raises(StageError, match=r"outline\.json is not a readable Outline") as caught:
        folder.once(stage_types.OUTLINE, never)
    assert caught.value.stage == "outline" and "delete the file" in caught.value.why
    path.unlink()
    with pytest.raises(AssertionError, match="made again"):
        folder.once(stage_types.OUTLINE, never)
    assert not path.exists()  # what failed is not done


@pytest.mark.parametrize(
    "name", ["", "..", "../outline", "/outline", "a/b/c", "sections/", "Outline", "out line", "outline.json"]
)
def test_a_stage_has_the_name_of_a_file_in_its_folder(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be a stage's name"):
        Stage(name, Outline)


def test_unstored_stages_are_made_every_time() -> None:
    made = iter((OUTLINE, None))
    assert [Unstored().once(stage_types.OUTLINE, lambda: next(made)) for _ in range(2)] == [OUTLINE, None]  # type: ignore[arg-type, return-value]


PAGE = Page(url="https://a.example/", title="A\u2028B", text="One.\nTwo\x85three.\u2029\r\x0b\x1c", origin="search")


def test_pages_are_stored_none_among_them_and_damage_is_named_by_line(folder: EventFolder) -> None:
    path = folder.path / "pages.jsonl"
    assert folder.pages(tuple) == () == folder.pages(lambda: (PAGE,)) == folder.stored_pages()
    assert path.read_text() == "null\n"
    path.unlink()
    assert folder.pages(lambda: (PAGE, PAGE)) == (PAGE, PAGE) == folder.stored_pages()
    path.write_bytes(path.read_bytes() + b'{"url": "\xff"}\n')
    with pytest.raises(UserError, match=r"pages\.jsonl:3 is not a readable Page"):
        folder.stored_pages()
    path.write_bytes(b"")
    for read in (folder.stored_pages, lambda: folder.pages(tuple)):
        with pytest.raises(UserError, match=r"pages\.jsonl is empty, so it was cut off .*delete the file and run"):
            read()


ARTICLE = Article("7", "A fire", Section(Heading(""), ()), (), (), ())


@pytest.mark.parametrize(
    ("article", "told"),
    [
        (replace(ARTICLE, event_id="8"), "is the article of event '8', not of '7'; delete the file"),
        (replace(ARTICLE, lead=Section(Heading(""), ((Sentence("It burned.", ("0:0-9",)),),))), "cites '0:0-9', which is not"),
    ],
)
def test_an_article_that_cannot_be_this_events_is_refused(folder: EventFolder, article: Article, told: str) -> None:
    write_atomic(folder.path / "article.json", codec.to_json(article))
    with pytest.raises(UserError, match=rf"article\.json {told}"):
        folder.article()
    with pytest.raises(StageError, match=told):
        folder.once(stage_types.ARTICLE, lambda: ARTICLE)


def test_a_folder_or_a_pipe_in_place_of_a_file_is_named_and_not_waited_for(folder: EventFolder) -> None:
    reads = {"article.json": folder.article, "stats.json": folder.stats, "failure.json": folder.failure}
    for name, read in {**reads, "pages.jsonl": folder.stored_pages}.items():
        (folder.path / name).mkdir(parents=True)
        with pytest.raises(UserError, match=rf"cannot read .*{name}: Is a directory; remove it and run the command again"):
            read()
    (folder.path / "pages.jsonl").rmdir()
    os.mkfifo(folder.path / "pages.jsonl")
    with pytest.raises(UserError, match="it is a pipe, socket or device, not a file"):
        folder.stored_pages()


def test_failures_and_statistics_are_kept_until_they_are_cleared(folder: EventFolder) -> None:
    assert (folder.failure(), folder.stats(), folder.article()) == (None, None, None)
    failure = EventFailure("7", "plan", "ValueError", "no\u2028title", "Traceback …")
    stats = EventStats("7", 1.5, 10, 3, Usage(2, 100, 4, DecodeStats(0.5)))
    folder.fail(failure)
    folder.write_stats(stats)
    assert (folder.failure(), folder.stats()) == (failure, stats)
    for _ in range(2):  # the second time there is nothing to do
        folder.clear_failure()
        assert folder.failure() is None
    for _ in range(2):
        folder.clear()
        assert not folder.path.exists()


def test_usage_is_summed_over_the_drafts_and_none_without(folder: EventFolder) -> None:
    assert folder.usage() is None
    parts = [
        Usage(1, 100, 1, DecodeStats(0.25)),
        Usage(3, 201, 11, DecodeStats(0.75, speculation=SpeculationStats(num_verify_steps=4, num_draft_tokens=8))),
    ]
    for n, usage in enumerate(parts):
        write_atomic(folder.path / "drafts" / f"0{n}.json", json.dumps({"text": "x", "usage": codec.to_plain(usage)}))
    assert folder.usage() == sum(parts, Usage())


BEFORE = {
    "n_prompt_tokens": 1, "n_new_tokens": 9, "seconds": 0.5, "n_verify": 4, "n_drafted": 8, "n_accepted": 3, "n_contrast": None,
    "contrast_s": None, "by_drafter": [{"drafter": "skip", "n_drafts": 2, "n_drafted": 8, "n_accepted": 3}],
}  # fmt: skip
"""The counts of a draft, as they were stored before `data.decoding_counts`."""


def test_drafts_and_statistics_of_earlier_versions_are_read(folder: EventFolder) -> None:
    counts = SpeculationStats(4, 2, 8, 3, by_source=(SourceStats("skip", 2, 8, 3),))
    expected = Usage(1, 1, 9, DecodeStats(0.5, speculation=counts))
    draft = {"text": "It fell. [1]", "shown": [["0:1"]], "left_out": [], "stop": "end", **BEFORE}
    write_atomic(folder.path / "drafts" / "outline.json", json.dumps(draft))
    read = folder.once(Stage("drafts/outline", Draft), lambda: pytest.fail("asked again"))
    assert read == Draft("It fell. [1]", (("0:1",),), (), "end", expected)
    composed = {"tried": [], **BEFORE, "n_calls": 3, "n_contrast": 5, "contrast_s": 0.125}
    write_atomic(folder.path / "drafts" / "01.json", json.dumps(composed))
    section = folder.once(Stage("drafts/01", ComposedDraft), lambda: pytest.fail("asked again"))
    assert section == ComposedDraft((), replace(expected, n_calls=3))
    assert folder.usage() == expected + replace(expected, n_calls=3)
    flat = {k: v for k, v in BEFORE.items() if k != "seconds"} | {"n_calls": 2, "generate_s": 0.5}
    for stored, usage in ((flat, replace(expected, n_calls=2)), (None, None)):
        stats = {"event_id": "7", "seconds": 1.5, "n_pages": 3, "n_usable": 2, "usage": stored, "stages": [], "footprint": None}
        write_atomic(folder.path / "stats.json", json.dumps(stats))
        assert folder.stats() == EventStats("7", 1.5, 3, 2, usage)
    write_atomic(folder.path / "stats.json", json.dumps(stats | {"usage": {"calls": 2}}))
    with pytest.raises(UserError, match=r"stats\.json is not a readable EventStats.*usage"):
        folder.stats()


def test_a_temporary_file_is_no_article(folder: EventFolder) -> None:
    folder.path.mkdir(parents=True)
    (folder.path / ".article.json.abc.tmp").write_text("{}")
    assert folder.article() is None
    assert folder.once(stage_types.ARTICLE, lambda: ARTICLE) == ARTICLE == folder.article()


# ---- the run


def test_open_starts_resumes_and_goes_on_after_a_kill_in_its_first_write(tmp_path: Path) -> None:
    (tmp_path / ".run.json.abc.tmp").write_text('{"sys')
    run = RunFolder.open(tmp_path, IDENTITY)
    assert json.loads((run.path / "run.json").read_text()) == IDENTITY
    before = (run.path / "run.json").stat().st_mtime_ns
    again = RunFolder.open(run.path, dict(reversed(IDENTITY.items())))
    assert again.identity() == IDENTITY and (run.path / "run.json").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"system": "lead"}, "track: 'search' there, None now"),
        ({"system": "bm25", "track": "cited"}, "system: 'lead' there, 'bm25' now; track: 'search' there, 'cited' now"),
    ],
)
def test_open_refuses_another_identity(tmp_path: Path, other: dict[str, str], told: str) -> None:
    RunFolder.open(tmp_path, IDENTITY)
    with pytest.raises(UserError) as caught:
        RunFolder.open(tmp_path, other)
    assert f"({told})" in str(caught.value) and "choose another --out" in str(caught.value)


def test_events_are_folders(tmp_path: Path) -> None:
    run = RunFolder.open(tmp_path, IDENTITY)
    assert list(run.event_folders()) == [] == run.failures()
    for event_id in ("9", "10"):
        run.event(event_id).fail(EventFailure(event_id, "plan", "X", event_id))
    (tmp_path / "events" / "notes.txt").write_text("mine")
    assert [folder.event_id for folder in run.event_folders()] == ["10", "9"]
    run.write_failures()
    lines = (tmp_path / "failures.jsonl").read_text().splitlines()
    assert [codec.from_json(EventFailure, line, where="x").message for line in lines] == ["10", "9"]
    run.event("9").clear_failure()
    run.write_failures()
    assert len((tmp_path / "failures.jsonl").read_text().splitlines()) == 1


def test_only_one_command_works_on_a_run_and_it_has_a_default_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunFolder.open(tmp_path, IDENTITY)
    with run.locked(), pytest.raises(UserError, match="another command is working on"), RunFolder(tmp_path).locked():
        pass
    with pytest.raises(ZeroDivisionError), run.locked():
        raise ZeroDivisionError
    with run.locked():  # released, also after an error
        pass
    monkeypatch.delenv("WIKIGEN_RUNS", raising=False)
    assert default_run_path("ours", "dev", "both") == Path("runs/ours-dev-both")
    monkeypatch.setenv("WIKIGEN_RUNS", "/elsewhere")
    assert default_run_path("ours", "dev", "both") == Path("/elsewhere/ours-dev-both")

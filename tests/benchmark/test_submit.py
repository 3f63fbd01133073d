"""From a finished run to a folder, and from the folder back to the numbers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.submissions import folder, statement, submission, submission_faults, submitted, verdicts
from benchmark.submissions.ledger import read_ledger, results_digest
from benchmark.submissions.submitted import Submission
from data import codec
from data.errors import UserError
from data.markup import is_invalid
from data.runs import RunFolder
from data.types import Article
from eval.aggregate import estimate
from eval.metrics.citations import Citations
from flows.commands import rescore, submit
from tests.benchmark.sample_folder import FAILED, IDS, SNAPSHOT, collect, make, metrics

FIRST = IDS[0]


def read(path: Path) -> Submission:
    return submission.read(path / "submission.json")


def rescored(path: Path) -> rescore.Rescored:
    return rescore.rescore(path, rescore.readable(path), SNAPSHOT, metrics(), collect())


def edit_article(path: Path, change: Callable[[Any], object]) -> None:
    """The article is another one, and the submission says so in all but its scores."""
    file = path / "articles" / f"{FIRST}.json"
    value = json.loads(file.read_text(encoding="utf-8"))
    change(value)
    file.write_text(json.dumps(value), encoding="utf-8")
    made = read(path)
    digest = codec.sha256(file.read_text(encoding="utf-8"))
    events = [replace(e, article_sha256=digest) if e.id == FIRST else e for e in made.events]
    submission.write(path / "submission.json", replace(made, events=tuple(events)))


def edit_evidence(path: Path, change: Callable[[Any], object]) -> None:
    value = json.loads((path / "evidence.json").read_text(encoding="utf-8"))
    change(value["events"])
    (path / "evidence.json").write_text(json.dumps(value), encoding="utf-8")


# ---- the folder


def test_the_folder_holds_articles_hashes_of_evidence_and_no_text_of_it(made_folder: Path, sample_run: RunFolder) -> None:
    assert {path.name for path in made_folder.iterdir()} == {"submission.json", "evidence.json", "articles", "results"}
    written = [event_id for event_id in IDS if event_id != FAILED]
    assert sorted(path.stem for path in (made_folder / "articles").iterdir()) == written
    for event_id in written:
        stored = sample_run.event(event_id).path / "article.json"
        assert (made_folder / "articles" / f"{event_id}.json").read_bytes() == stored.read_bytes()
    pages = folder.read_evidence(made_folder).events
    assert list(pages) == list(IDS)
    for event_id in IDS:
        stored_pages = sample_run.event(event_id).stored_pages() or ()
        assert [(p.id, p.url, p.sha256) for p in pages[event_id]] == [
            (n, page.url, codec.sha256(page.text)) for n, page in enumerate(stored_pages)
        ]
        text = (made_folder / "evidence.json").read_text(encoding="utf-8")
        assert not any(line in text for page in stored_pages for line in page.text.splitlines() if len(line) > 60)


def test_needless_and_invented_citations_are_wrong(made_folder: Path) -> None:
    article = codec.read(Article, made_folder / "articles" / f"{FIRST}.json")
    judge = next(metric.judge for metric in metrics() if isinstance(metric, Citations))
    sentence = article.lead.paragraphs[0][0]
    right = sentence.cites[0]
    needless = next(source.id for source in article.sources[::-1] if source.id != right)
    changed = replace(sentence, cites=(right, needless, "invalid:99"))
    lead = replace(article.lead, paragraphs=((changed,),))
    (one,) = verdicts.judged_sentences(replace(article, lead=lead, sections=()), judge)
    assert one.supported
    assert [(c.id, c.right) for c in one.citations] == [(right, True), (needless, False), ("invalid:99", False)]


def test_what_cannot_become_a_submission(sample_run: RunFolder, tmp_path: Path) -> None:
    """A folder in use, an article changed or gone since it was scored, a run not scored or scored otherwise."""
    shutil.copytree(sample_run.path, tmp_path / "run")
    run, article = RunFolder(tmp_path / "run"), tmp_path / "run" / "events" / FIRST / "article.json"
    with pytest.raises(UserError, match="is not an empty folder; choose another --out"):
        make(run, tmp_path / "run")
    article.write_text(article.read_text(encoding="utf-8") + " ", encoding="utf-8")
    with pytest.raises(UserError, match="is not the article that was scored; score the run again"):
        make(run, tmp_path / "out")
    article.unlink()
    with pytest.raises(UserError, match=r"cannot read .*article\.json"):
        make(run, tmp_path / "out")
    with pytest.raises(UserError, match=r"holds no submission\.json; score it first"):
        submit.scored(tmp_path, metrics())
    with pytest.raises(UserError, match="was scored with other metrics than these"):
        submit.scored(sample_run.path, metrics()[:1])


# ---- what only people can say


def test_a_statement_is_joined_to_what_the_run_knows(made_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "about.toml").write_text(
        'url = "https://mine.example"\nseeds = [0, 1]\nuses_web = true\nnotes = "two words"\ndata_revision = "aecded5"\n'
        '[[models]]\nrole = "writer"\nname = "other"\nrevision = "2"\nparameters = 7\nlicence = "MIT"\n'
        '[[models]]\nrole = "ranker"\nname = "r"\nrevision = "1"\n[cost]\nwrite_s = 99.0\nusd = 1.5\ndevice = "one GPU"\n'
    )
    made = read(made_folder)
    run_model = submitted.SubmittedModel("writer", "embedded-writer", "sha")
    made = replace(made, system=replace(made.system, models=(run_model,)))
    full = statement.joined(made, statement.read(tmp_path / "about.toml"))
    assert full.system.models == (
        replace(run_model, parameters=7, licence="MIT"),  # its name and revision were measured
        submitted.SubmittedModel("ranker", "r", "1"),
    )
    assert (full.system.url, full.system.seeds) == ("https://mine.example", (0, 1))
    assert full.system.uses_web and full.system.extractive
    assert (full.cost.write_s, full.cost.usd, full.cost.device) == (1.5, 1.5, "one GPU")
    assert full.data.revision == "aecded5" and full.notes == "two words" and submission_faults.problems(full) == []
    assert statement.joined(made, statement.Statement()) == made


@pytest.mark.parametrize(
    ("text", "told"),
    [("urls = 3", "urls"), ("seeds = 'one'", "seeds"), ("url = ", "is not TOML"), ("[cost]\ndollars = 3", "cost.dollars")],
)
def test_a_statement_with_unknown_keys_or_types(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "about.toml").write_text(text)
    with pytest.raises(UserError, match=f"--about .*{told}"):
        statement.read(tmp_path / "about.toml")


def test_variants_are_other_runs_of_the_same_system_and_the_closed_book_is_of_the_same_model(
    sample_run: RunFolder, made_folder: Path, tmp_path: Path
) -> None:
    made = read(made_folder)
    variants = submit._variants([f"leak_filter_off={sample_run.path}"], made)
    assert variants["leak_filter_off"]["cite_f1"].mean == made.scores["cite_f1"].mean
    with pytest.raises(UserError, match="not of other on the same 5"):
        submit._variants([f"x={sample_run.path}"], replace(made, system=replace(made.system, name="other")))
    with pytest.raises(UserError, match="is not of the form NAME=RUN"):
        submit._variants(["x"], made)
    model = submitted.SubmittedModel("writer", "hf:mine", "3fa9")
    closed = replace(made.system, name="closed_book", models=(model,), settings={"system": "closed_book"})
    submission.write(tmp_path / "submission.json", replace(made, system=closed))
    for models, same in (((model,), True), ((), False), ((replace(model, revision="other"),), False)):
        ours = replace(made, system=replace(made.system, models=models))
        if same:
            assert submit._variants([f"closed_book={tmp_path}"], ours)["closed_book"] == variants["leak_filter_off"]
            continue
        with pytest.raises(UserError, match="is of closed_book on 5 events, not of lead"):
            submit._variants([f"closed_book={tmp_path}"], ours)


def test_an_older_submission_is_replaced_and_nothing_else(good: Path, tmp_path: Path) -> None:
    (good / "articles" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match=r"holds more than a submission, so it is not replaced: articles/notes\.txt"):
        folder.clear(good)
    (good / "articles" / "notes.txt").unlink()
    folder.clear(good)
    assert not good.exists()
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "x").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="is not an older submission, so it is not replaced"):
        folder.clear(tmp_path / "thesis")


# ---- the numbers again


def test_what_was_computed_outlives_the_text_and_from_hashes_nothing_can_be(
    good: Path, sample_run: RunFolder, tmp_path: Path
) -> None:
    found = rescored(good)
    out = tmp_path / "hashes"
    assert [path.name for path in rescore.written(good, found, write=False, strip=out)] == ["rescored.json", "submission.json"]
    assert {path.name for path in out.iterdir()} == {"submission.json", "evidence.json", "rescored.json"}
    assert read(out) == found.submission and read(out).recomputed and not read(good).recomputed
    record = folder.read_record(out)
    assert record is not None and record.n_differences == 0 and record.data_sha256 == found.data_sha256
    checked = folder.check(out)
    assert checked.problems == () and "before they were left out" in checked.notes[0]
    listed = folder.read_evidence(good).events
    assert folder.read_evidence(out).digests == {i: folder.pages_digest(pages) for i, pages in listed.items()}
    assert folder.check(good).problems == ()  # its record is of what it says, recomputed or not
    submission.write(out / "submission.json", replace(found.submission, notes="edited"), compact=True)
    assert any("rescored.json is of a submission.json with the hash" in problem for problem in folder.check(out).problems)
    (out / "rescored.json").unlink()
    assert any("holds neither articles nor rescored.json" in problem for problem in folder.check(out).problems)
    only = make(sample_run, tmp_path / "lead-hashes", hash_only=True)
    assert {path.name for path in only.iterdir()} == {"submission.json", "evidence.json"} and folder.check(only).problems == ()
    with pytest.raises(UserError, match="holds hashes in place of articles, so nothing can be computed again"):
        rescored(only)


def test_forged_verdicts_are_found_and_replaced(good: Path) -> None:
    """`validate` cannot see them, and says so; `rescore` computes them again."""
    path = good / "results" / f"{FIRST}.json"
    true = path.read_bytes()
    forged = [replace(one, supported=not one.supported) for one in folder.read_results(good, FIRST)]
    codec.write_atomic(path, codec.to_json(forged))
    checked = folder.check(good)
    assert checked.problems == () and any("not looked at here; rescore does" in note for note in checked.notes)
    found = rescored(good)
    (said,) = found.differences
    assert said.startswith(f"results/{FIRST}.json: {2 * len(forged)} verdicts are not the judge's")
    rescore.written(good, found, write=True, strip=None)
    assert path.read_bytes() == true
    (known,) = read_ledger(good.parent).submissions.values()
    assert known.folder == good.name and known.results_sha256 == results_digest(good) != ""
    assert read_ledger(good.parent).of(good) == known


def test_an_honest_submission_comes_out_as_it_was(good: Path) -> None:
    before = read(good)
    again = rescored(good)
    assert again.differences == ()
    assert again.submission == replace(before, recomputed=True, environment=again.submission.environment)
    assert submission_faults.problems(again.submission) == []


def test_scores_that_were_made_up_are_found_although_they_agree_with_each_other(good: Path) -> None:
    made = read(good)
    events = tuple(replace(e, scores={**e.scores, "entity_recall": 1.0}) if e.id == FIRST else e for e in made.events)
    values = [event.scores["entity_recall"] for event in events]
    e = estimate(values, name="entity_recall", seed=3, resamples=100, n_failed=1)
    false = replace(made, events=events, scores={**made.scores, "entity_recall": submission.submitted_score(e)})
    submission.write(good / "submission.json", false)
    assert folder.check(good).problems == ()
    again = rescored(good)
    assert any(line.startswith(f"event {FIRST}: entity_recall was 1.0, computed again it is 0.") for line in again.differences)
    assert any(line.startswith("scores.entity_recall.mean was") for line in again.differences)
    assert again.submission.scores == made.scores and again.submission.recomputed


def test_floors_that_were_made_up_and_metrics_left_out_or_invented_are_differences(good: Path) -> None:
    made = read(good)
    scores = {name: score for name, score in made.scores.items() if name != "cite_f1"}
    scores["beauty"], floors = made.scores["cite_f1"], {"lead": {"entity_recall": 0.01}}
    submission.write(good / "submission.json", replace(made, scores=scores, floors=floors))
    again = rescored(good)
    for begins in ("floors.lead.entity_recall was 0.01, computed again it is 0.", "scores.cite_f1 was not given"):
        assert any(line.startswith(begins) for line in again.differences)
    assert any(line.startswith("scores.beauty was") and line.endswith("not given") for line in again.differences)
    assert again.submission.scores == made.scores
    assert set(again.submission.floors) >= {"lead", "wrong_article"} and again.submission.ceilings


def test_a_passage_that_stands_in_no_page_supports_nothing(good: Path) -> None:
    """The passage says what the sentence claims, and the sentence is invented."""

    def change(value: Any) -> None:
        sentence, source = value["lead"]["paragraphs"][0][0], value["sources"][0]
        passage = source["passage"]
        claim = "The reactor of Halvenport exploded and killed four hundred engineers on Sunday"
        passage["text"] = claim + " " * (passage["end"] - passage["start"] - len(claim))
        sentence.update(text=claim, cites=[f"{passage['page']}:{passage['start']}-{passage['end']}"])

    edit_article(good, change)
    again = rescored(good)
    assert any(f"articles/{FIRST}.json: source" in line and "is not in page" in line for line in again.differences)
    before, after = (next(e for e in s.events if e.id == FIRST).scores for s in (read(good), again.submission))
    assert (after["invalid_citation_share"] or 0) > 0 and (after["cite_recall"] or 0) < (before["cite_recall"] or 0)


def test_a_title_that_says_what_the_sentence_claims_is_not_believed(good: Path) -> None:
    edit_article(good, lambda v: v["sources"][0].update(title="The reactor exploded"))
    article = codec.read(Article, good / "articles" / f"{FIRST}.json")
    told = f"articles/{FIRST}.json: source {article.sources[0].id!r} has another title, address or date"
    assert rescored(good).differences == (told,)
    pages = collect()(SNAPSHOT.event(FIRST))
    true, _ = rescore.honest(article, pages, may_bring_own=False)
    assert true.sources[0].title == pages[true.sources[0].passage.page].title


def test_own_evidence_counts_only_where_it_was_said(good: Path) -> None:
    article = codec.read(Article, good / "articles" / f"{FIRST}.json")
    source = article.sources[0]
    own = replace(source, passage=replace(source.passage, page=99))
    article = replace(article, sources=(own, *article.sources[1:]))
    pages = collect()(SNAPSHOT.event(FIRST))
    kept, wrong = rescore.honest(article, pages, may_bring_own=True)
    assert own in kept.sources and wrong == []
    cut, wrong = rescore.honest(article, pages, may_bring_own=False)
    assert own not in cut.sources and len(wrong) == 1
    cited = replace(article.lead, paragraphs=((replace(article.lead.paragraphs[0][0], cites=(own.id,)),),))
    cut, _ = rescore.honest(replace(article, lead=cited), pages, may_bring_own=False)
    assert all(is_invalid(cite) for cite in cut.lead.paragraphs[0][0].cites)


def test_other_evidence_cannot_be_scored_against(good: Path) -> None:
    edit_evidence(good, lambda events: events[FIRST][0].update(sha256="0" * 64))
    with pytest.raises(UserError, match=f"page 0 of event {FIRST} is .* 0000000000000000, and cleaned from .*--data DIR"):
        rescored(good)


def test_a_failed_event_without_evidence_stays_failed(good: Path) -> None:
    edit_evidence(good, lambda events: events.update({FAILED: []}))
    assert folder.check(good).problems == ()
    again = rescored(good)
    assert again.differences == () and [e.id for e in again.submission.events if e.status == "failed"] == [FAILED]


def test_files_that_are_not_those_that_were_scored(good: Path) -> None:
    path = good / "articles" / f"{FIRST}.json"
    path.write_text(path.read_text(encoding="utf-8") + " ", encoding="utf-8")
    with pytest.raises(UserError, match=f"articles/{FIRST}.json has the hash"):
        rescored(good)
    submission.write(good / "submission.json", replace(read(good), events=()))
    with pytest.raises(UserError, match="lists no events"):
        rescore.readable(good)

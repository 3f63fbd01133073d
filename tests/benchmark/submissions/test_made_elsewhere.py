"""Articles made elsewhere: WikiGenBench files in, the same scores out, whatever order and number of workers."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark import validate
from benchmark.runner import EventOutcome, run_event
from benchmark.submissions import folder, made_elsewhere, submission, submission_faults, verdicts
from data.errors import StageError, UserError
from data.runs import RunFolder
from data.settings import Settings
from data.stage_types import Unstored
from data.types import Article, Event, Heading, Page, Passage, Section, Sentence, Source, is_unknown
from eval.judges.lexical_judge import LexicalJudge
from flows.commands import evaluate, rescore, submit
from flows.job import Job
from flows.wiring.prepared import Prepared
from tests.benchmark.sample_folder import FAILED, IDS
from tests.conftest import stand_in_encoder

PAGES = (
    Page("https://a.example/", "A", "Twelve people died in the fire.\nThe mill was built in 1890.", "search"),
    Page("https://b.example/", "B", "Twelve people died in the fire. It began at night.", "search"),
    Page("https://c.example/", "C", "A page that nobody saw.", "search", drop_reason="blocked"),
)


SETTINGS = replace(Settings(), evaluation=replace(Settings().evaluation, resamples=200, judge="lexical"))


def given(*texts: str, url: str = "") -> Article:
    sources = tuple(Source(Passage(n, 0, len(text), text), url, "", None) for n, text in enumerate(texts))
    sentence = Sentence("It burned.", tuple(source.id for source in sources))
    return Article("1", "A fire", Section(Heading("", 1), ((sentence,),)), (), (), sources)


def test_white_space_case_and_punctuation_do_not_matter() -> None:
    (source,) = made_elsewhere.located(given("twelve people died in the fire the mill  was built, in 1890"), PAGES).sources
    assert source.passage.text == PAGES[0].text[:-1] and source.id == f"0:0-{len(PAGES[0].text) - 1}"
    twice = made_elsewhere.located(given("It began at night.", "It began  at night."), PAGES)
    assert len({source.id for source in twice.sources}) == len(twice.sources)


@pytest.mark.parametrize("text", ["The moon fell down on the mill.", "A page that nobody saw.", "", "night!"])
def test_a_text_that_no_usable_page_holds_stays_as_it_was(text: str) -> None:
    article = made_elsewhere.located(given("The mill was built in 1890.", text), PAGES)
    own = article.sources[1]
    assert made_elsewhere.is_own(own, len(PAGES)) and own.passage.text == text and own.passage.page == len(PAGES) + 1
    assert article.lead.paragraphs[0][0].cites == ("0:32-59", own.id)
    listed = folder.evidence_pages(PAGES, article)
    assert [(page.id, page.own) for page in listed] == [(0, False), (1, False), (2, False), (4, True)]


@pytest.fixture(autouse=True, scope="module")
def stand_in() -> Iterator[None]:
    with stand_in_encoder():
        yield


@pytest.fixture(scope="module")
def elsewhere(sample_run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four of five articles, as another program would leave them."""
    out = tmp_path_factory.mktemp("elsewhere") / "articles"
    shutil.copytree(sample_run.path / "wikigenbench", out)
    return out


@pytest.fixture(scope="module")
def scored(elsewhere: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that the command makes of them."""
    out = tmp_path_factory.mktemp("scored") / "mine"
    about = out.parent / "about.toml"
    about.write_text('url = "https://mine.example"\n[cost]\nusd = 0.5\n')
    words = ("--articles", elsewhere, "--name", "mine", "--data", "sample", "--about", about, "--out", out, "--no-floors")
    words = (*words, "--judge", "lexical")  # as the sample's run was scored
    assert evaluate.main([*map(str, words), "--set", "evaluation.resamples=200"]) == 1  # one event has no file
    return out


def test_what_is_read_back_scores_what_was_written(scored: Path, sample_run: RunFolder) -> None:
    """Same passages of the same pages, and the same sentences: metrics cut an article of this package as one made elsewhere,
    though its writer knows of other sentences (a copied headline without a full stop, say)."""
    mine, theirs = (submission.read(run / "submission.json") for run in (scored, sample_run.path))
    assert submission_faults.problems(mine) == [] and validate.main([str(scored)]) == 0
    assert {"cite_recall", "n_claims", "attainable_entity_recall"} < theirs.scores.keys()
    written, again = ([RunFolder(run).event(i).article() for i in IDS if i != FAILED] for run in (sample_run.path, scored))
    assert [a and a.lead for a in written] != [a and a.lead for a in again]  # its own sentences would be others
    for ours, known in zip(mine.events, theirs.events, strict=True):
        assert (ours.id, ours.status, ours.words) == (known.id, known.status, known.words)
        assert {name: ours.scores[name] for name in known.scores} == known.scores
        one, other = (RunFolder(run).event(ours.id).article() for run in (scored, sample_run.path))
        assert (one and one.sources) == (other and other.sources)
    assert [(event.id, event.reason) for event in mine.events if event.status == "failed"] == [
        (FAILED, f"articles: there is no {FAILED}.json")
    ]


@pytest.mark.slow
def test_same_files_same_bytes_whatever_order_and_workers(scored: Path, elsewhere: Path, tmp_path: Path) -> None:
    (tmp_path / "articles").mkdir()
    for path in sorted(elsewhere.iterdir(), reverse=True):
        shutil.copyfile(path, tmp_path / "articles" / path.name)

    def by_four(prepared: Prepared, ids: tuple[str, ...]) -> Iterable[EventOutcome]:
        def one(event_id: str) -> EventOutcome:
            return run_event(prepared.run, prepared.system, event_id, prepared.snapshot.event, prepared.collect)

        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(one, ids[::-1]))[::-1]

    job = Job("mine", SETTINGS, data="sample", events=IDS[::-1], out=tmp_path / "other")
    evaluated = evaluate.evaluate_files(tmp_path / "articles", job, None, by_four, with_floors=False)
    one, other = (json.loads(path.read_bytes()) for path in (scored / "submission.json", evaluated.submission))
    del one["system"]["url"], other["system"]["url"], one["cost"]["usd"], other["cost"]["usd"]  # said for one of the two
    for value in (one, other):
        del value["created"], value["environment"]
    assert json.dumps(one) == json.dumps(other)


def test_the_commands_go_on_from_there(scored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, resamples = tmp_path / "mine", ("--set", "evaluation.resamples=200", "--set", "evaluation.judge=lexical")
    assert submit.main([str(scored), "--out", str(out), *resamples]) == 0
    assert validate.main([str(out), "--data", "sample"]) == 0
    capsys.readouterr()
    assert rescore.main([str(out), "--data", "sample", "--set", "evaluation.judge=lexical", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"written": str(out / "rescored.json"), "differences": []}
    record = folder.read_record(out)
    assert record is not None and record.n_differences == 0 and not submission.read(out / "submission.json").recomputed
    assert validate.main([str(out)]) == 0


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "there is no 1.json"),
        ('{"text": "A."}', "1.json: has no 'retrieve'"),
        ('{"text": "A.", "retrieve": [], "n": ' + "1" * 5_000 + "}", "1.json: not JSON (1111"),
        ('{"text": "A.", "retrieve": [], "n": NaN}', "1.json: not JSON (NaN is no number"),
        ('{"text": "\\ud800", "retrieve": []}', "1.json: not JSON (it holds '\\ud800', which is half of a character"),
        ("[" * 200_000, "1.json: not JSON (it is nested too deeply"),
        (json.dumps({"text": "word " * 60_000, "retrieve": []}), "1.json: its text has 60,000 words, at most 50,000 are read"),
        (json.dumps({"text": ["x" * 400_000] * 2, "retrieve": [[], []]}), "has 800,000 characters, at most 500,000 are read"),
    ],
)
def test_a_missing_or_unreadable_file_is_the_events_failure(tmp_path: Path, content: str | None, told: str) -> None:
    (tmp_path / "2.json").write_text('{"text": "A.", "retrieve": []}')
    if content is not None:
        (tmp_path / "1.json").write_text(content)
    (tmp_path / "3.json").mkdir()
    os.mkfifo(tmp_path / "4.json")
    files = made_elsewhere.ArticleFiles(tmp_path, "mine")
    for event_id, why in (
        ("1", told),
        ("3", "3.json: it is a folder, not"),
        ("4", "4.json: it is a pipe, socket or device, not"),
    ):
        with pytest.raises(StageError) as caught:
            files.write(Event(event_id, "A fire"), PAGES, Unstored())
        assert why in caught.value.why and str(tmp_path) not in caught.value.why
    assert files.write(Event("2", "A fire"), PAGES, Unstored()).lead.sentences[0].text == "A."


AGENT = {
    "text": "The mill was built in 1890.[1] It burned down at night.[2][9] Nobody was ever found.[3]\n==Cause==\n==Blame==",
    "retrieve": [
        ["", "https://a.example/", "The mill was built in 1890."],
        ["B", "https://gone.example/", ""],
        ["", "https://lost.example/", "(the text of https://lost.example/ is not in this folder)"],
    ],
}


def agent(tmp_path: Path, **changes: object) -> Article:
    (tmp_path / "1.json").write_text(json.dumps(AGENT | changes))
    return made_elsewhere.ArticleFiles(tmp_path, "mine").write(Event("1", "A fire"), PAGES, Unstored())


def test_a_source_without_text_is_unknown_and_a_marker_without_source_is_invalid(tmp_path: Path) -> None:
    found = agent(tmp_path)
    known, gone, lost = found.sources
    assert [is_unknown(source) for source in found.sources] == [False, True, True]
    assert (gone.url, lost.url, lost.passage.text) == ("https://gone.example/", "https://lost.example/", "")
    assert [s.cites for s in found.lead.sentences] == [(known.id,), (gone.id, "invalid:9"), (lost.id,)]
    assert made_elsewhere.oddities(found, len(PAGES)) == made_elsewhere.Oddities(
        n_sources=3, n_own=2, n_unknown=2, n_citations=4, n_invalid=1, n_sentences=3, n_foreign=0
    )
    again = made_elsewhere.located(found, PAGES)
    assert [is_unknown(source) for source in again.sources] == [False, True, True]


def test_what_is_odd_is_told_with_what_it_does_to_the_scores(tmp_path: Path) -> None:
    hebrew = "\u05d4\u05d0\u05e9 \u05e4\u05e8\u05e6\u05d4 \u05d1\u05dc\u05d9\u05dc\u05d4.[1]"
    texts = {"1": str(AGENT["text"]), "2": "==Cause==\n==Blame==\n", "3": hebrew, "4": "It burned."}
    found = {event_id: made_elsewhere.oddities(agent(tmp_path, text=text), len(PAGES)) for event_id, text in texts.items()}
    told = "\n".join(made_elsewhere.remarks(found))
    assert "8 of 12 cited texts are not known" in told and "judged_share says how many were" in told
    assert "1 of 5 citations name no source of `retrieve`, and count as wrong: in 1" in told
    assert "1 articles cite nothing, so none of their sentences is supported: 4" in told
    assert "1 articles have no sentence, and score as an article that is not there: 2" in told
    assert "1 articles are mostly not in Latin letters" in told and told.endswith(": 3")
    known = made_elsewhere.located(given("The mill was built in 1890."), PAGES)
    assert made_elsewhere.remarks({"1": made_elsewhere.oddities(known, len(PAGES))}) == []


def test_unknown_texts_travel_from_the_file_to_the_verdicts(
    elsewhere: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One text of the first article is taken away: its claims are neither right nor wrong, and everything says so."""
    event_id = IDS[0]
    (tmp_path / "articles").mkdir()
    value = json.loads((elsewhere / f"{event_id}.json").read_text())
    value["retrieve"][0] = ["", "https://gone.example/", ""]
    (tmp_path / "articles" / f"{event_id}.json").write_text(json.dumps(value))
    job = Job("mine", SETTINGS, data="sample", events=(event_id,), out=tmp_path / "run")
    evaluate.evaluate_files(tmp_path / "articles", job, with_floors=False)
    assert f"1 of {len(value['retrieve'])} cited texts are not known" in capsys.readouterr().err
    made = submission.read(tmp_path / "run" / "submission.json")
    share = made.events[0].scores["judged_share"]
    n_claims = made.events[0].scores["n_claims"]
    assert share is not None and n_claims is not None and 0 < share < 1
    assert made.system.uses_web
    article = RunFolder(tmp_path / "run").event(event_id).article()
    assert article is not None
    judged = verdicts.judged_sentences(article, LexicalJudge())
    assert len(judged) == round(share * n_claims)
    recalled = sum(one.supported for one in judged) / len(judged)
    assert recalled == pytest.approx(made.events[0].scores["cite_recall"])


@pytest.mark.parametrize(
    ("folder", "name", "told"),
    [
        ("none", "mine", "cannot read .*none: No such file"),
        ("empty", "mine", "holds no <event id>.json; an article file is"),
        ("foreign", "mine", r"has the name of an event of .*sample \(777.json is none\).*wikigenben events"),
        ("foreign", "../x", "--name '../x' cannot be the name"),
        ("foreign", "b_m-25", "--name 'b_m-25' cannot be the name"),
    ],
)
def test_folders_and_names_that_cannot_be_used(tmp_path: Path, folder: str, name: str, told: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "777.json").write_text('{"text": "A.", "retrieve": []}')
    with pytest.raises(UserError, match=told):
        evaluate.articles(tmp_path / folder, data="sample", out=tmp_path / "run", name=name)
    assert not (tmp_path / "run").exists()


def test_flags_that_do_not_go_together_and_folders_that_hold_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path)
    for words in ([], ["--system", "lead", "--articles", folder]):
        with pytest.raises(SystemExit, match="2"):
            evaluate.main(words)
        assert "name either --system or --articles" in capsys.readouterr().err
    for main, words, told in (
        (evaluate.main, ["--articles", folder, "--model", "hf:x"], "drop --model hf:x"),
        (evaluate.main, ["--system", "lead", "--about", "x.toml"], "--about goes with --articles"),
        (submit.main, [folder, "--out", f"{folder}/x"], "holds no submission.json; score it first"),
        (rescore.main, [folder, "--data", "sample"], "cannot read"),
    ):
        assert main(words) == 2 and told in capsys.readouterr().err

"""From one file to a ranking: the plan, its steps, what is left out the second time, and what a check finds."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest

from benchmark.submissions import folder, submission
from flows import cli
from flows.reproducing import plan, recipe, steps
from flows.reproducing.reproduce import main
from flows.reproducing.steps import Step
from tests.conftest import COPIED, copy_events, stand_in_encoder

FILE = """
baseline = "bm25"
submissions = "{submissions}"

[[systems]]
name = "bm25"
settings = {{evaluation = {{resamples = 100}}}}

[[systems]]
name = "first-words"
system = "lead"
text = false
variants = ["leak_filter_off", "closed_book"]
settings = {{evaluation = {{resamples = 100}}}}
[systems.about]
contact = "me@example.org"

[leaderboard]
site = "{site}"
"""


def in_this_process(step: Step, log: Path) -> int:
    """As `steps.in_a_process`, without loading everything anew for each step."""
    assert step.module == "flows.cli"
    told = io.StringIO()  # not the file itself: whatever keeps its stdout would write to a closed file later
    try:
        with contextlib.redirect_stdout(told):
            return cli.main(step.words)
    finally:
        log.write_text(told.getvalue(), encoding="utf-8")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reproduce")


@pytest.fixture(scope="module")
def file(place: Path) -> Path:
    path = place / "two.toml"
    path.write_text(FILE.format(submissions=place / "submissions", site=place / "site"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def data(place: Path) -> str:
    """Two events, to write and score four times."""
    return str(copy_events(place / "data", COPIED, most=4))


@pytest.fixture(scope="module")
def carried_out(file: Path, place: Path, data: str) -> Path:
    with stand_in_encoder(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("WIKIGEN_RUNS", str(place / "runs"))
        assert plan.carry_out(plan.planned(file, data=data, out=place / "out"), execute=in_this_process) == 0
    return place


# ---- the file


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[systems]]\nname = 'lead'\ncolour = 1", "systems.0.colour = 1"),
        ("[[systems]]\nname = 'leed'", "there is no system 'leed'; set system = to one of lead, bm25"),
        ("[[systems]]\nname = 'a/b'\nsystem = 'lead'", "'a/b' cannot be a folder"),
        ("[[systems]]\nname = 'lead'\n[[systems]]\nname = 'lead'", "two systems are called 'lead'"),
        ("baseline = 'x'\n[[systems]]\nname = 'lead'", "baseline = 'x' is none of the systems"),
        ("[[systems]]\nname = 'lead'\nlimit = 0", "lead: limit = 0 leaves no event"),
        ("[[systems]]\nname = 'lead'\nvariants = ['open_book']", "systems.0.variants.0 = 'open_book'"),
        ("[[systems]]\nname = 'lead'\n[systems.about]\nnets = ''", "systems.0.about.nets = ''"),
        ("[[systems]]\nname = 'lead'\n[systems.settings.writing]\nmax_word = 9", "did you mean 'max_words'?"),
        ("[[systems]]\nname = 'lead'\n[systems.settings.evidence]\nleak_filter = false", "use track = and variants ="),
        ("systems = []", "it names no system"),
        ("[[systems]", "is not TOML"),
    ],
)
def test_a_wrong_file_is_refused_before_anything_starts(
    tmp_path: Path, text: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text, encoding="utf-8")
    assert main([str(path), "--data", "sample", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert told in said and str(path) in said.replace("wikigenben: lead:", f"{path}") and not (tmp_path / "out").exists()


def test_missing_data_a_missing_file_and_nothing_to_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.toml"

    def wrong(told: str, *words: str) -> None:
        assert main([str(path), *words]) == 2 and told in capsys.readouterr().err

    wrong("cannot read")
    path.write_text(f"submissions = '{tmp_path / 'none'}'\n[[systems]]\nname = 'lead'", encoding="utf-8")
    wrong("no benchmark folder at", "--data", str(tmp_path / "nowhere"))
    wrong("--limit 0", "--data", "sample", "--limit", "0")
    wrong("holds no submission to compare with; make it by leaving out --check", "--data", "sample", "--check")


# ---- the plan


def test_the_plan_says_each_command_and_starts_none(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main([str(file), "--data", "sample", "--out", str(out), "--plan"]) == 0
    told = capsys.readouterr().out
    assert told.count("to do") == 10 and "stands" not in told and not out.exists()
    assert "wikigenben evaluate --system lead --track search --set evaluation.resamples=100" in told
    assert "first-words: no closed book, for it writes nothing that is not in the evidence" in told


def test_a_part_of_a_split_never_becomes_a_submission(file: Path, place: Path) -> None:
    asked = plan.planned(file, data="sample", out=place / "part", limit=2)
    assert not any(step.name == "validate" for step in asked.steps)
    assert all(str(place / "submissions") not in step.command for step in asked.steps)
    assert asked.steps[-1].words == ("leaderboard", str(place / "part" / "part"), "--html", str(place / "part" / "site"))


WITH_MODELS = """
[calibrate]
model = "hf:models/mine"
max_prompts = 8
[[systems]]
name = "mine"
system = "ours"
model = "hf:models/mine"
variants = ["closed_book"]
settings = {writing = {max_words = 700}, model = {seed = 3}}
[[systems]]
name = "ours"
variants = ["closed_book"]
[bench]
model = "hf:models/mine"
methods = ["mix", "copy"]
against = ["hf"]
"""


def test_models_calibration_and_bench(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(WITH_MODELS, encoding="utf-8")
    asked = plan.planned(path, data="sample", out=tmp_path / "out")
    commands = {f"{step.group}: {step.name}": step.command for step in asked.steps}
    calibrated = f"--set decoding.calibration={tmp_path / 'out' / 'calibration'}"
    for name, parts in {
        "decoder: calibrate": ["python -m decoding.calibrate --model models/mine"],
        "decoder: prompts of dev": ["prompts --split dev"],
        "mine: write and score": [calibrated],
        "mine: closed book": [
            "--system closed_book --track search --model hf:models/mine",
            "writing.max_words=700",
            calibrated,
        ],
        "mine: submit": ["closed_book=", "--set model.seed=3"],
        "bench: bench": ["--methods mix,copy --against hf --calibration"],
    }.items():
        assert all(part in commands[name] for part in parts), commands[name]
    assert calibrated not in commands["ours: write and score"]


# ---- carried out


def test_submissions_are_recomputed_and_hold_what_was_asked_for(carried_out: Path) -> None:
    full, hashes = carried_out / "submissions" / "bm25", carried_out / "submissions" / "first-words"
    stored = {"submission.json", "evidence.json", "rescored.json"}
    for place, more in ((full, {"articles", "results"}), (hashes, set())):
        assert {path.name for path in place.iterdir()} == stored | more
        made = submission.read(place / "submission.json")
        assert made.recomputed and folder.check(place).problems == () and made.strata and made.floors
    made = submission.read(hashes / "submission.json")
    assert made.system.contact == "me@example.org" and made.profile.resamples == 100
    assert set(made.variants) == {"leak_filter_off"}  # there is nothing that it could remember
    assert made.judges[0].card["wice"]["n_claims"] > 100
    page = (carried_out / "site" / "index.html").read_text(encoding="utf-8")
    assert "text left out" in page and "bm25" in page
    index = (carried_out / "out" / "runs" / "bm25" / "index.html").read_text(encoding="utf-8")
    assert 'href="report.html"' in index


def test_the_second_time_everything_stands_and_the_table_is_the_same(
    carried_out: Path, file: Path, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(step: Step, log: Path) -> int:
        raise AssertionError(step.command)

    asked = plan.planned(file, data=data, out=carried_out / "out")
    assert plan.carry_out(asked, execute=never) == 0
    table = capsys.readouterr().out
    assert "bm25 (baseline)" in table and "first-words" in table and "organisation" in table
    assert "against bm25:" in table and "seconds an event" in table and "leaderboard:" in table
    assert plan.carry_out(asked, execute=never, as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told["systems"]) == {"bm25", "first-words"} and told["failed"] == [] and told["unlike"] is None
    assert {one["system"] for one in told["differences"]} == {"first-words"}


@pytest.mark.usefixtures("fixed_encoder")
def test_a_check_names_every_difference(
    carried_out: Path, file: Path, data: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKIGEN_RUNS", str(carried_out / "runs"))
    asked = plan.planned(file, data=data, out=carried_out / "out", check=True)
    assert plan.carry_out(asked, execute=in_this_process) == 0
    assert "checked bm25, first-words: the same hashes and scores" in capsys.readouterr().out
    there = carried_out / "submissions" / "first-words"
    whole = {path: path.read_text(encoding="utf-8") for path in (there / "submission.json", there / "evidence.json")}
    first, second = submission.read(there / "submission.json").events[:2]
    hashes = {first.article_sha256: "0" * 64, folder.read_evidence(there).digests[second.id]: "1" * 64}
    for (path, text), (was, forged) in zip(whole.items(), hashes.items(), strict=True):
        path.write_text(text.replace(was, forged), encoding="utf-8")
    try:
        assert plan.carry_out(asked, execute=in_this_process) == 1
    finally:
        for path, text in whole.items():
            path.write_text(text, encoding="utf-8")
    told = capsys.readouterr().out
    assert f"differs: first-words: event {first.id}: article_sha256 was '{'0' * 64}'" in told
    assert f"differs: first-words: event {second.id}: its pages are not the same" in told and ": 2 differences" in told


# ---- steps


def test_a_system_that_fails_takes_nothing_with_it(tmp_path: Path) -> None:
    all_steps = [Step(a, b, (a, b), writes=(tmp_path / f"{a}-{b}",)) for a in "ab" for b in ("write", "submit")]
    done, calls, failing = steps.Steps(tmp_path / "steps"), list[str](), "a write"

    def execute(one: Step, log: Path) -> int:
        calls.append(" ".join(one.words))
        one.writes[0].write_text("done", encoding="utf-8")
        return int(calls[-1] == failing)

    ended = done.run(all_steps, execute, lambda line: None)
    assert calls == ["a write", "b write", "b submit"] and [one.ok for one in ended] == [False, False, True, True]
    calls.clear()
    failing = ""
    done.run(all_steps, execute, lambda line: None)
    assert calls == ["a write", "a submit"]  # what stood, stands


def test_a_step_is_a_process_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert steps.in_a_process(Step("a", "b", ("validate", str(tmp_path / "nowhere"))), log) == 2
    assert "nowhere" in log.read_text(encoding="utf-8")


def test_settings_are_told_as_the_command_line_takes_them() -> None:
    one = recipe.SystemRecipe("x", system="lead", settings={"evidence": {"languages": ["en", "fr"]}, "model": {"seed": 2}})
    assert one.assignments == ("evidence.languages=en,fr", "model.seed=2")
    assert recipe.settings_of(one).evidence.languages == ("en", "fr")

"""Agents and systems of this package on the same pages: a small folder in the form of the public data, made from the sample."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lxml.html
import pytest

from benchmark import validate
from benchmark.comparing.agents import read_recipe
from benchmark.leaderboard import build
from benchmark.submissions import submission
from data.errors import UserError
from data.snapshot import SAMPLE, Snapshot
from flows.commands import agent_scores
from flows.commands.score_agents import main
from tests.conftest import ENCODERS, Command, copy_events
from tests.flows.told import refused

IDS = ("9000001", "9000002", "9000003")
MISSING, BROKEN = IDS[2], IDS[1]
LEXICAL = ("evaluation.judge=lexical", "evaluation.resamples=100")
FAST = (*(word for one in LEXICAL for word in ("--set", one)), "--systems", "lead,bm25", "--base", "lead")
UNKNOWN = "(the text of https://far.example/page is not in this folder)"
NAMES = ["bm25", "far", "lead", "patchy", "reader"]


def put(place: Path, event_id: str, text: str, retrieve: list[list[str]]) -> None:
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{event_id}.json").write_text(json.dumps({"text": text, "retrieve": retrieve}), encoding="utf-8")


def human(event_id: str) -> str:
    return str(json.loads((SAMPLE / "wiki" / f"{event_id}.json").read_text(encoding="utf-8"))["text"])


def make(root: Path) -> Path:
    """`reader` copies the human article and cites an encyclopedia; `patchy` lacks a topic and has one file that is no JSON;
    `far` cites pages whose text nobody has."""
    copy_events(root / "data", IDS, most=4)
    own = "Something happened in the town that day, and many people came to see it.[1]\n==Later==\nIt went on for weeks.[2]"
    retrieve = [["Far", "https://far.example/page", UNKNOWN], ["Own", "https://own.example/", "It went on for weeks there."]]
    for event_id in IDS:
        copied = "\n".join(f"{line}[1]" for line in human(event_id).split("\n") if len(line.split()) > 12)
        put(root / "articles" / "reader", event_id, copied, [["", f"https://en.wikipedia.org/wiki/{event_id}", UNKNOWN]])
        put(root / "articles" / "far", event_id, own, retrieve)
        if event_id != MISSING:
            put(root / "articles" / "patchy", event_id, own, retrieve)
    (root / "articles" / "patchy" / f"{BROKEN}.json").write_text("{", encoding="utf-8")
    return root


@pytest.fixture(scope="module", autouse=True)
def stand_in() -> Iterator[None]:
    with ENCODERS["stand-in"]():
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("agents") / "given").parent


@pytest.fixture(scope="module")
def scored(place: Path) -> Path:
    """All three agents on all three topics, with the site."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WIKIGEN_RUNS", str(place / "runs"))
        asked = agent_scores.asked(
            place / "given", split="all", systems=("lead", "bm25"), base="lead", out=place / "submissions" / "agents",
            html=place / "site", with_floors=True, assignments=LEXICAL,
        )  # fmt: skip
        ended = agent_scores.carry_out(asked)
    assert ended.exit_code == 1 and ended.invalid == ()
    assert [line.partition(": not JSON")[0] for line in ended.failures] == [
        f"patchy: {BROKEN}: failed: articles: {BROKEN}.json"
    ]
    return place


def told(scored: Path, *words: str) -> tuple[int, str]:
    """What the command says with these words when all stands."""
    given = (str(scored / "given"), "--split", "all", *FAST, "--out", str(scored / "submissions" / "agents"), *words)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as heard:
        patch.setenv("WIKIGEN_RUNS", str(scored / "runs"))
        return main(given), heard.getvalue()


def stored(scored: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (scored / "submissions").rglob("*.json")}


# ---- what is written


def test_every_system_gets_a_valid_submission_without_text(scored: Path) -> None:
    out = scored / "submissions" / "agents"
    assert sorted(path.name for path in out.iterdir()) == ["agents.json", *NAMES]
    snapshot = Snapshot(scored / "given" / "data")
    for name in NAMES:
        found = validate.checked_at(out / name, snapshot)
        assert found.problems == () and found.submission is not None
        assert {path.name for path in (out / name).iterdir()} == {"submission.json", "evidence.json", "rescored.json"}
        made = found.submission
        assert made.recomputed and made.data.benchmark == "wiki-live-challenge" and made.system.name == name
        assert made.system.uses_web is (name in ("far", "patchy", "reader"))
        assert made.data.evidence_filter is not None and made.data.evidence_filter.leak == "on"
    assert "Apache-2.0" in submission.read(out / "far" / "submission.json").notes
    kept = "".join(path.read_text(encoding="utf-8") for path in out.rglob("*.json"))
    assert "many people came to see it" not in kept and "It went on for weeks" not in kept
    assert not any(line in kept for line in human(IDS[0]).split("\n") if len(line.split()) > 12)


def test_what_is_compared_and_who_copies_the_human_article(scored: Path) -> None:
    """Comparisons leave out what the data lack and nothing else."""
    code, said = told(scored, "--json")
    stands = json.loads(said)
    assert code == 1  # for the article that cannot be read
    assert stands["base"] == "lead" and stands["n_topics"] == 3 and stands["whole"]
    systems = stands["systems"]
    assert {name: one["n_shared"] for name, one in systems.items()} == dict.fromkeys(NAMES, 3) | {"patchy": 2}
    assert systems["patchy"]["missing"] == [MISSING] and systems["patchy"]["n_failed"] == 1
    compared = {(one["system"], one["metric"]): one["n"] for one in stands["against"]}
    assert compared["patchy", "quality"] == 2 and compared["far", "quality"] == 3  # the unreadable one is compared, as 0
    assert stands["told_apart"]["n_pairs"] == 6 and len(stands["failures"]) == 1
    shares = ("gold_sentence_share", "encyclopedia_cites")
    reader, lead = ([systems[name]["scores"][share]["mean"] for share in shares] for name in ("reader", "lead"))
    assert reader == [1.0, 1.0] and lead[0] < 0.2 and lead[1] == 0.0
    above = {(one["system"], one["metric"]): one["mean"] for one in stands["leak"]}
    assert above["reader", shares[0]] > 0.8 and above["reader", shares[1]] == 1.0


def test_what_stands_is_not_done_again_checked_and_left_alone_by_a_part(
    scored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("scored a second time")

    before = stored(scored)
    with monkeypatch.context() as patch:
        patch.setattr("eval.metrics.coverage.Coverage.score", refused)
        code, said = told(scored, "--check", "--json")
    assert json.loads(said)["unlike"] == [] and code == 1
    changed = tmp_path / "agents"
    shutil.copytree(scored / "submissions" / "agents", changed)
    path = changed / "far" / "submission.json"
    plain = json.loads(path.read_text(encoding="utf-8"))
    plain["events"][0]["words"] += 1
    path.write_text(json.dumps(plain), encoding="utf-8")
    (unlike,) = json.loads(told(scored, "--check", "--json", "--out", str(changed))[1])["unlike"]
    assert unlike.startswith(f"far: event {IDS[0]}: words was ")
    for words in (("--limit", "1"), ("--agents", "far")):
        part = json.loads(told(scored, "--json", *words)[1])
        assert not part["whole"] and part["submissions"].endswith("part")
    assert stored(scored) == before


def test_an_article_that_breaks_a_metric_is_named_and_the_others_are_scored(
    place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from eval.metrics.exposure import Exposure

    whole = Exposure.score

    def breaks(self: Exposure, case: Any) -> dict[str, float | None]:
        if case.article.event_id == IDS[0] and "Something happened" in case.prose:
            raise ValueError("no such thing")
        return whole(self, case)

    monkeypatch.setattr(Exposure, "score", breaks)
    monkeypatch.setenv("WIKIGEN_RUNS", str(tmp_path / "runs"))
    asked = agent_scores.asked(
        place / "given", split="all", systems=("lead",), agents=("far", "reader"), limit=2, with_floors=False,
        assignments=LEXICAL,
    )  # fmt: skip
    ended = agent_scores.carry_out(asked)
    assert ended.failures == (f"far: {IDS[0]}: unscored: ValueError: no such thing",) and ended.exit_code == 1
    made = ended.standings.made["far"]
    assert made.scores["entity_recall"].n == 1 and made.scores["entity_recall"].n_unscored == 1
    monkeypatch.setattr(Exposure, "score", whole)
    assert agent_scores.carry_out(asked).exit_code == 0  # it is tried again, and the rest stands


def test_after_an_interruption_the_same_command_goes_on(
    scored: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from eval.metrics.exposure import Exposure

    whole, seen = Exposure.score, list[str]()

    def counted(self: Exposure, case: Any) -> dict[str, float | None]:
        seen.append(case.article.event_id)
        if seen.count(IDS[1]) == 2:
            raise KeyboardInterrupt
        return whole(self, case)

    monkeypatch.setattr(Exposure, "score", counted)
    monkeypatch.setenv("WIKIGEN_RUNS", str(tmp_path / "runs"))
    out = tmp_path / "agents"
    words = (str(scored / "given"), "--split", "all", *FAST, "--out", str(out), "--no-floors", "--json")
    assert main(words) == 130 and "goes on from here" in capsys.readouterr().err and not out.exists()
    interrupted = len(seen)
    assert main(words) == 1
    assert len(seen) == interrupted + 13 - (interrupted - 1)  # of 13 articles each once, but for the one that broke off
    for name in NAMES:
        one, other = (submission.read(place / name / "submission.json") for place in (out, scored / "submissions" / "agents"))
        assert (one.events, one.scores, one.data) == (other.events, other.scores, other.data)


# ---- what is printed, and the page


def test_the_tables_fit_and_name_everything(scored: Path) -> None:
    said = told(scored)[1]
    assert max(map(len, said.splitlines()[:-3])) <= 110
    for text in ("agents on the same pages: split full, 3 topics", "minus lead, points", "missing", "encyclopedia cites"):
        assert text in said
    assert "of 6 pairs of 4 systems: 0 by the headline" in said and f"failed: patchy: {BROKEN}" in said


def test_the_plan_writes_nothing(place: Path, wikigenben: Command) -> None:
    ran = wikigenben("agents", place / "given", "--split", "all", *FAST, "--plan")
    assert ran.code == 0 and "3 topics of split full" in ran.out
    assert f"2 articles, 1 missing ({MISSING})" in ran.out and not list(Path().iterdir())


def test_the_page_stands_in_both_sites(scored: Path, tmp_path: Path) -> None:
    """Of the agents' folder itself, and of the folder that it lies in."""
    built = build(scored / "submissions", tmp_path / "site")
    assert built.n_refused == 0
    for site in (scored / "site", tmp_path / "site"):
        index = lxml.html.fromstring((site / "index.html").read_text(encoding="utf-8"))
        assert "agents.html" in [link for _, _, link, _ in index.iterlinks()]
        page = lxml.html.fromstring((site / "agents.html").read_text(encoding="utf-8"))
        scores, differences, leak = page.xpath("//table")
        names = [" ".join(cell.text_content().split()) for cell in scores.xpath("./tbody[1]/tr/th/bdi")]
        assert sorted(names) == NAMES
        assert len(differences.xpath("./tbody/tr")) == 4 and len(leak.xpath("./tbody/tr")) == 5
        assert any("wrong article" in th.text_content() for th in scores.xpath("./tbody[2]/tr/th"))
        assert "Apache-2.0" in page.text_content()


def test_a_group_that_cannot_be_read_is_refused_and_the_site_is_built(scored: Path, tmp_path: Path) -> None:
    group = (scored / "submissions" / "agents" / "agents.json").read_text(encoding="utf-8")
    for name, text in (
        ("no-json", "{"),
        ("other-schema", json.dumps({"schema": "x/1", "base": "lead", "members": []})),
        ("no-base", group.replace('"lead"', '"bm"', 1)),
    ):
        into = tmp_path / name
        shutil.copytree(scored / "submissions", into)
        (into / "agents" / "agents.json").write_text(text, encoding="utf-8")
        assert build(into, into / "site").n_refused == 1
        assert not (into / "site" / "agents.html").exists()
    gone = tmp_path / "gone"
    shutil.copytree(scored / "submissions", gone)
    shutil.rmtree(gone / "agents" / "lead")
    build(gone, gone / "site")
    assert "no valid submission of &#39;lead&#39;" in (gone / "site" / "index.html").read_text(encoding="utf-8")


# ---- bad input


def test_wrong_folders_and_words(wikigenben: Command, tmp_path: Path) -> None:
    root = tmp_path / "given"
    copy_events(root / "data", IDS[:1])

    def check(told: str, *words: object) -> None:
        refused(wikigenben("agents", root, *FAST, "--split", "all", *words), told)
        assert not (tmp_path / "submissions").exists()

    far = ("--agents", "far")
    check("has no folder articles/")
    (root / "articles").mkdir()
    check("holds no folder of an agent")
    put(root / "articles" / "far", IDS[0], "It burned.[1]", [["", "", "It burned."]])
    check("there is no agent 'near'", "--agents", "near")
    (root / "articles" / "silent").mkdir()
    check("silent holds no <id>.json")
    check("--agents far")
    check("holds no event of split 'dev'", "--split", "dev", *far)
    check("--limit 0 leaves no event", *far, "--limit", "0")
    check("there is no system 'leed'", "--systems", "leed")
    check("--base 'ours' is none of the systems", "--base", "ours")
    check("holds no submission to compare with", *far, "--check")
    check("cannot read", "--recipe", tmp_path / "none.toml")
    (root / "articles" / "silent").rmdir()
    put(root / "articles" / "lead", IDS[0], "It burned.[1]", [["", "", "It burned."]])
    check("'lead' has the name of a system of this package")
    shutil.rmtree(root / "data")
    check("has no folder data/", *far)


def test_articles_that_changed_are_another_run(place: Path, wikigenben: Command, tmp_path: Path) -> None:
    root = tmp_path / "given"
    shutil.copytree(place / "given", root)
    words = ("agents", root, "--split", "all", *FAST, "--agents", "far", "--limit", "1", "--no-floors")
    assert wikigenben(*words).code == 0
    put(root / "articles" / "far", IDS[0], "It burned.[1]", [["", "", "It burned."]])
    ran = wikigenben(*words)
    assert ran.code == 2 and "far: " in ran.err and "which --runs chooses" in ran.err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[", "is not TOML"),
        ("benchmark = 'x'\nbase = 'ours'\nsystems = ['lead']", "base = 'ours' is none of systems"),
        ("benchmark = 'x'\nbase = 'lead'\nsystems = ['lead']\ncolour = 1", "colour = 1"),
    ],
)
def test_a_wrong_recipe_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=why):
        read_recipe(path)

"""What is refused, each by a real edit of a valid submission folder, and what is not."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.validate import main
from data import codec
from data.types import Article
from pipeline.formats.html import to_html
from tests.benchmark.sample_folder import FAILED, IDS

Edit = Callable[[Path], object]
FIRST, SECOND = IDS[:2]
MODEL = {"role": "writer", "name": "m", "revision": "1"}
COUNT = {"mean": 0.0, "ci95": [0.0, 0.0], "n": 0, "n_failed": 0, "n_unscored": 0}
IMITATIONS = (
    *("ours", "OURS", "\uff4f\uff55\uff52\uff53", "o u r s", "\u043eurs", "0urs", "\u00f6urs", "Extractive", "bm-25"),
    *("Iead", "|ead", "brn25", "leacl", "cIosed book"),  # letters of ASCII that look like others
    *("\u0585urs", "\u1d0furs", "\u00f8urs", "o\u028brs", "\u2c9fur\ua731"),  # Armenian, small capital, ...
)
ARTICLE = f"articles/{FIRST}.json"


def in_json(name: str, change: Callable[[Any], object]) -> Edit:
    def edit(folder: Path) -> None:
        path = folder / name
        value = json.loads(path.read_text(encoding="utf-8"))
        changed = change(value)
        path.write_text(json.dumps(value if not isinstance(changed, bytes) else json.loads(changed)), encoding="utf-8")

    return edit


def said(change: Callable[[Any], object]) -> Edit:
    """An edit of submission.json."""
    return in_json("submission.json", change)


def article(change: Callable[[Any], object]) -> Edit:
    """An edit of an article whose hash is then put right: the contents are wrong, not the file."""

    def edit(folder: Path) -> None:
        in_json(ARTICLE, change)(folder)
        digest = codec.sha256((folder / ARTICLE).read_text(encoding="utf-8"))
        said(lambda v: v["events"][0].update(article_sha256=digest))(folder)

    return edit


def evidence(change: Callable[[Any], object]) -> Edit:
    return in_json("evidence.json", lambda v: change(v["events"]))


def text(name: str, content: str) -> Edit:
    def edit(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")

    return edit


def set_score(name: str, value: object) -> Callable[[Any], object]:
    return lambda v: v["events"][0]["scores"].update({name: value})


def without_event(v: Any) -> None:
    v["events"].pop(0)
    v["data"].update(n_events=4, ids_sha256=codec.sha256("\n".join(IDS[1:])))


def with_foreign_event(v: Any) -> None:
    v["events"].append(dict(v["events"][-1], id="777"))
    v["data"].update(n_events=6, ids_sha256=codec.sha256("\n".join(sorted([*IDS, "777"]))))


def judged_by_its_writer(v: Any) -> None:
    v["system"].update(models=[{"role": "writer", "name": "lexical", "revision": "1"}])
    v["judges"][0].update(kind="llm")


def first_source(v: Any) -> Any:
    return v["sources"][0]


def stratum(*events: str) -> Edit:
    """With the scores of all events."""
    return said(lambda v: v.update(strata={"topic: before": {"events": events, "scores": {"cite_f1": v["scores"]["cite_f1"]}}}))


def first_sentence(**changes: object) -> Edit:
    return article(lambda v: v["lead"]["paragraphs"][0][0].update(changes))


def every_page(**changes: object) -> Edit:
    """An edit of all pages of the first event."""
    return evidence(lambda v: [page.update(changes) for page in v[FIRST]])


def digest(sha256: str) -> Edit:
    return in_json("evidence.json", lambda v: v.update(digests={FIRST: sha256}))


def in_order(*edits: Edit) -> Edit:
    return lambda folder: [edit(folder) for edit in edits]


def linked(name: str) -> Edit:
    def edit(folder: Path) -> None:
        (folder / name).rename(folder.parent / "elsewhere")
        (folder / name).symlink_to(folder.parent / "elsewhere")

    return edit


def pipe(name: str) -> Edit:
    """A pipe in place of a file. Its other end is closed at once, so that whoever reads it fails here instead of waiting."""

    def edit(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

        def let_go() -> None:
            while True:
                (folder / name).open("wb").close()

        threading.Thread(target=let_go, daemon=True).start()

    return edit


def unix_socket(name: str) -> Edit:
    def edit(folder: Path) -> None:
        (folder / name).unlink()
        with socket.socket(socket.AF_UNIX) as one, contextlib.chdir(folder / Path(name).parent):
            one.bind(Path(name).name)  # from here, for such an address has a hundred characters at most

    return edit


def raw(change: Callable[[str], str]) -> Edit:
    """An edit of the text of submission.json: what no JSON writer would leave."""

    def edit(folder: Path) -> None:
        path = folder / "submission.json"
        before = path.read_text(encoding="utf-8")
        path.write_text(change(before), encoding="utf-8")
        assert change(before) != before

    return edit


def named(name: str) -> Edit:
    return said(lambda v: v["system"].update(name=name))


BROKEN: list[tuple[str, Edit, str]] = [
    # events
    ("an event is missing", said(without_event), "list published for split 'sample'"),
    ("a foreign event", said(with_foreign_event), "over 6 events, and the list published for split 'sample'"),
    ("an unknown split", said(lambda v: v["data"].update(split="mine")), "data.split is 'mine' on track 'search'; known:"),
    ("another benchmark", said(lambda v: v["data"].update(benchmark="mine")), "no list of events is published for split"),
    ("an id that leads out", said(lambda v: v["events"][0].update(id="../../passwd")), "'../../passwd' cannot be one"),
    ("an id that is hidden", said(lambda v: v["events"][0].update(id="..")), "'..' cannot be one"),
    # scores
    ("a raised row", said(set_score("cite_recall", 0.123)), "scores.cite_recall.mean is"),
    ("a share above 1", said(set_score("cite_f1", 1.2)), f"event {FIRST}: cite_f1 is 1.2, not in [0, 1]"),
    ("a percentage", said(set_score("entity_recall", 56)), f"event {FIRST}: entity_recall is 56.0, not in [0, 1]"),
    ("a negative count", said(set_score("n_claims", -1)), f"event {FIRST}: n_claims is -1.0, not 0 or more"),
    ("a failed event with an article", said(lambda v: v["events"][4].update(article_sha256="0" * 64)), "failed but has an"),
    ("an unknown status", said(lambda v: v["events"][0].update(status="splendid")), "events.0.status is 'splendid'"),
    ("a stratum of other events", stratum("777"), "strata.topic: before names the event '777'"),
    ("a stratum with an event twice", stratum(FIRST, FIRST), "strata.topic: before has no events, or one of them twice"),
    ("a stratum with a mean of its own", stratum(FIRST), "strata.topic: before.cite_f1.mean is"),
    # what it says of itself
    ("a higher major", said(lambda v: v.update(schema="wikigenben-submission/2")), "schema wikigenben-submission/2 needs"),
    ("another schema", said(lambda v: v.update(schema="other/1")), "schema is 'other/1', expected 'wikigenben-submission/1'"),
    ("text for a number", said(lambda v: v["scores"]["cite_f1"].update(mean="0.9")), "scores.cite_f1.mean is '0.9'"),
    ("negative seconds", said(lambda v: v["cost"].update(write_s=-1)), "cost.write_s is -1.0, not a number of 0 or more"),
    ("no time zone", said(lambda v: v.update(created="yesterday")), "created is 'yesterday', not a time with its zone"),
    ("an unknown track", said(lambda v: v["system"].update(evidence_track="web")), "evidence_track is 'web', not search,"),
    ("a filter that is on and off", said(lambda v: v["data"].update(leak_filter=False)), "data.evidence_filter.leak is 'on'"),
    ("a model that judges itself", said(judged_by_its_writer), "system.self_judged is false, but 'lexical' is a model of the"),
    ("self-judged without a second judge", said(lambda v: v["system"].update(self_judged=True)), "a second judge must have"),
    ("a judge that is not listed", said(lambda v: v["scores"]["cite_f1"].update(judge="gpt")), "scores.cite_f1.judge is 'gpt'"),
    ("a floor in percent", said(lambda v: v.update(floors={"lead": {"cite_f1": 45.0}})), "floors.lead.cite_f1 is 45.0"),
    ("evidence inside", said(lambda v: v["events"][0].update(evidence="The fire began. " * 40)), "events.0.evidence holds a"),
    ("notes as long as a page", said(lambda v: v.update(notes="word " * 401)), "notes holds a text of 401 words"),
    ("a key twice", text("submission.json", '{"a": 1, "a": 2}'), "'a' occurs twice"),
    ("not JSON", text("submission.json", "{"), "submission.json is not JSON"),
    ("brackets without end", text("submission.json", "[" * 200_000), "submission.json is not JSON"),
    ("no submission.json", lambda f: (f / "submission.json").unlink(), "cannot read"),
    ("a linked submission.json", linked("submission.json"), "submission.json is a link"),
    ("a major of 5,000 digits", said(lambda v: v.update(schema="wikigenben-submission/" + "1" * 5_000)), "schema is 'wiki"),
    ("a major in other digits", said(lambda v: v.update(schema="wikigenben-submission/\u0661")), "expected 'wikigenben-sub"),
    ("a schema that is a list", said(lambda v: v.update(schema=["1"] * 9_000)), "schema is ['1', '1', "),
    ("a pipe for submission.json", pipe("submission.json"), "submission.json: it is a pipe, socket or device, not a file"),
    ("a socket for submission.json", unix_socket("submission.json"), "it is a pipe, socket or device, not a file"),
    ("a folder for submission.json", lambda f: ((f / "submission.json").unlink(), (f / "submission.json").mkdir()), "a folder"),
    ("a number of 5,000 digits", raw(lambda t: t.replace('"n_written": 4', '"n_written": ' + "4" * 5_000)), "is too large a"),
    ("a number that readers round", said(lambda v: v["cost"].update(n_prompt_tokens=2**53 + 1)), "is too large a whole number"),
    ("a price that is none", raw(lambda t: t.replace('"write_s": 1.5', '"write_s": 1e999')), "cost.write_s is inf, not a"),
    ("no number under an unknown key", said(lambda v: v.update(later=[float("nan")])), "later.0 is nan, not a finite number"),
    (
        "brackets thirty deep",
        raw(lambda t: t.replace('"notes": ""', '"notes": "", "x": ' + "[" * 30 + "]" * 30)),
        "more than 20 deep in each other",
    ),
    ("half of a character", raw(lambda t: t.replace('"notes": ""', '"notes": "\\ud800"')), "half of a character"),
    ("a name of 5 MB", named("x" * 5_000_000), "system.name has 5000000 characters"),
    ("a model's name of 5 MB", said(lambda v: v["system"].update(models=[MODEL | {"name": "m" * 5_000_000}])), "models.0.name"),
    ("a name with a space of no width", named("mine\u200b"), "system.name is 'mine\\u200b', which holds U+200B"),
    ("a name that is a blank letter", named("\u3164"), "which holds U+3164"),
    ("a name with a line break", named("mine\nours"), "which holds U+000A"),
    ("a version that is turned round", said(lambda v: v["system"].update(version="\u2067")), "system.version is"),
    ("a name with two spaces", named("my  system"), "with spaces that cannot be seen"),
    ("a name that is a tower", named("m" + "\u0300\u0301\u0302\u0303\u0304" * 9), "more than 4 accents on one letter"),
    *((f"the name of another's system, {name!r}", named(name), "is a system of this package") for name in IMITATIONS),
    (
        "more draws than can be recomputed",
        said(lambda v: (v["profile"].update(resamples=100_000), v["scores"].update({f"n_{k}": COUNT for k in range(40_000)}))),
        "name fewer resamples",
    ),
    # articles
    ("a pipe for evidence.json", pipe("evidence.json"), "evidence.json: it is a pipe"),
    ("a pipe for a record", pipe("rescored.json"), "rescored.json: it is a pipe"),
    ("a pipe for results", pipe(f"results/{FIRST}.json"), f"results/{FIRST}.json: it is a pipe"),
    ("an article of 60,000 words", first_sentence(text="word " * 60_000), "words, at most 50,000 are read"),
    (
        "a page number of 5,000 digits",
        lambda f: (f / ARTICLE).write_text((f / ARTICLE).read_text().replace('"page": 0', '"page": ' + "1" * 5_000)),
        f"{ARTICLE} is not JSON: 1111",
    ),
    ("an edited article", in_json(ARTICLE, lambda v: v.update(title="Another")), f"{ARTICLE} has the hash"),
    ("an article is missing", lambda f: (f / ARTICLE).unlink(), f"{ARTICLE} is missing"),
    ("an article too many", text("articles/777.json", "{}"), "articles/ has files of no scored event: 777"),
    ("an article of a failed event", text(f"articles/{FAILED}.json", "{}"), f"files of no scored event: {FAILED}"),
    ("an article of another event", article(lambda v: v.update(event_id=SECOND)), f"is the article of event '{SECOND}'"),
    ("an article of 50 MB", text(ARTICLE, " " * (50 * 2**20)), f"{ARTICLE} has 52428800 bytes"),
    ("an article that is a link", linked(ARTICLE), f"{ARTICLE} is a link"),
    (
        "an article with a key of its own",
        article(lambda v: v.update(pages=["The text."])),
        f"{ARTICLE}: pages is ['The text.']",
    ),
    ("an article that is no text", lambda f: (f / ARTICLE).write_bytes(b"\xff\xfe"), f"{ARTICLE} is not UTF-8"),
    ("fewer words than said", article(lambda v: v["lead"].update(paragraphs=[])), "words, and submission.json says"),
    ("a citation of no source", first_sentence(cites=["7:0-9"]), f"{ARTICLE} cites '7:0-9', which is not among its sources"),
    ("a page that evidence.json lacks", evidence(lambda v: v[FIRST].pop(0)), "which evidence.json does not list for it"),
    ("a passage longer than its page", every_page(n_chars=3), "characters, and the page has 3"),
    ("a page that was dropped", every_page(usable=False), "was dropped by cleaning"),
    ("a page of another address", article(lambda v: first_source(v).update(url="https://x.example/")), "as the address of"),
    (
        "an address that runs",
        in_order(article(lambda v: first_source(v).update(url="javascript:alert(1)")), every_page(url="javascript:alert(1)")),
        "is 'javascript:alert(1)', not one of the web",
    ),
    ("own evidence without saying so", every_page(own=True), "system.uses_web is false"),
    (
        "own evidence of another hash",
        in_order(said(lambda v: v["system"].update(uses_web=True)), every_page(own=True)),
        "does not have the hash that evidence.json gives",
    ),
    ("articles that are a link", linked("articles"), "articles is a link"),
    # evidence.json and results
    ("no evidence.json", lambda f: (f / "evidence.json").unlink(), "evidence.json is missing"),
    ("evidence with its text", evidence(lambda v: v[FIRST][0].update(text="The text.")), f"{FIRST}.0.text is 'The text.'"),
    ("evidence with another hash", evidence(lambda v: v[FIRST][0].update(sha256="abc")), "'abc' is no SHA-256"),
    ("evidence of an event that is not listed", evidence(lambda v: v.update({"777": []})), "evidence.json lists events"),
    ("a text for an address", evidence(lambda v: v[FIRST][0].update(url="text " * 900)), "is a text, not an address"),
    ("a verdict on no sentence", in_json(f"results/{FIRST}.json", lambda v: v[0].update(section=99)), "judges sentence 0 of"),
    (
        "a verdict on no citation",
        in_json(f"results/{FIRST}.json", lambda v: v[0].update(citations=[{"id": "9:9-9", "right": True}])),
        "does not cite '9:9-9'",
    ),
    ("one hash for the pages that articles cite", digest("0" * 64), "articles cite single pages: list them"),
    ("a digest that is none", digest("abc"), f"the digest of event {FIRST}, 'abc', is no SHA-256"),
    ("a record that is none", text("rescored.json", "{}"), "rescored.json: schema is {}"),
    ("a stray file", text("pages.txt", "The text of a page."), "pages.txt is no part of a submission"),
    ("a folder of pages", text("pages/1.json", "[]"), "pages is no part of a submission"),
]


@pytest.mark.parametrize(("edit", "told"), [case[1:] for case in BROKEN], ids=[case[0].replace(" ", "-") for case in BROKEN])
def test_a_broken_submission_is_refused_and_says_why(
    good: Path, edit: Edit, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(good)
    assert main([str(good), "--json"]) == 2
    problems = json.loads(capsys.readouterr().out)[str(good)]
    assert any(told in problem for problem in problems), problems


def test_the_data_names_what_is_missing_and_foreign(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for change, told in (
        (without_event, f"it lacks 1 of the 5 events .*: {FIRST}; an event without"),
        (with_foreign_event, "777$"),
    ):
        said(change)(good)
        assert main([str(good), "--data", "sample", "--json"]) == 2
        assert any(re.search(told, problem) for problem in json.loads(capsys.readouterr().out)[str(good)])


def test_markup_is_accepted_as_text_reported_and_shown_harmless(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    attack = "<script>alert(1)</script><img src=x onerror=alert(1)>"

    def change(v: Any) -> None:
        first = v["lead"]["paragraphs"][0][0]
        words = first["text"].split()
        first["text"] = " ".join([attack, *words[len(attack.split()) :]])  # as many words as before

    article(change)(good)
    assert main([str(good)]) == 0
    told = capsys.readouterr()
    assert "valid" in told.out and f"note: {ARTICLE} holds markup ('<script')" in told.err
    shown = to_html(codec.read(Article, good / ARTICLE), (), run_note="")
    assert "<script>alert(1)" not in shown and "<img src=x" not in shown and "&lt;script&gt;alert(1)" in shown


def test_hashes_in_place_of_articles_are_valid_and_said(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(good / "articles")
    assert main([str(good)]) == 2 and "results/ speaks of articles that are not there" in capsys.readouterr().out
    shutil.rmtree(good / "results")
    assert main([str(good)]) == 0
    assert "note: it holds no articles, so its scores cannot be computed again" in capsys.readouterr().err


def test_all_reasons_are_told_at_once_without_control_characters(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(lambda v: (v["cost"].update(usd=-1.0), v["scores"]["cite_f1"].update(mean=0.5), v.update(created="\x1b[2Jgone")))(good)
    (good / ARTICLE).unlink()
    assert main([str(good)]) == 2
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 4 and all(line.startswith(f"{good}: ") for line in out.splitlines()) and "\x1b" not in out


def test_a_missing_path_missing_data_and_nothing_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "none")
    assert main([missing, "--json"]) == 2
    assert json.loads(capsys.readouterr().out) == {missing: [f"cannot read {missing}: No such file or directory"]}
    assert main([str(tmp_path), "--data", missing]) == 2
    assert "no benchmark folder at" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([])

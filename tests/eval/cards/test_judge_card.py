from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from data.errors import UserError
from data.snapshot import SAMPLE, Snapshot
from data.types import Page
from eval.cards.judge_accuracy import accuracy, read_rows, whole_pages
from eval.cards.stress import (
    NUMBER_CHANGED,
    REFERENCE,
    REFERENCE_ELSEWHERE,
    SHUFFLED,
    VERBATIM,
    accept_rates,
    quotes_of,
    read_reference,
    reference_pairs,
    shuffled_pairs,
)
from eval.judges.judge import Pair
from eval.judges.lexical_judge import AcceptRate, LexicalJudge
from eval.judges.overlap_judge import OverlapJudge
from flows.commands.judge_card import ENOUGH, main, verdict
from flows.wiring.judges import judge_card

TEXT = " ".join(
    f"The {name} bridge over the river was opened by Mayor {name} Hart on {day} May 2031 after a long delay."
    for day, name in enumerate(("Alder", "Birch", "Cedar", "Damson", "Elm", "Fir", "Gorse", "Hazel", "Ivy", "Juniper") * 4, 1)
)


def page(text: str = TEXT) -> Page:
    return Page(url="https://example.org/", title="Bridges", text=text, origin="search")


def told(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def pairs_file(tmp_path: Path) -> Path:
    """Supported claims repeat a chunk of theirs; of the others one word in two is foreign."""
    rows = []
    for n in range(12):
        words = [f"alpha{n}", f"beta{n}", f"gamma{n}", f"delta{n}"]
        claim = words if n % 3 == 0 else [*words[:2], "foreign", "words"]
        for chunk in ("nothing here", " ".join(words)):
            label = "supported" if n % 3 == 0 else "partially_supported"
            rows.append({"claim": " ".join(claim), "evidence": [chunk], "label": label, "meta": {"id": f"c{n}"}})
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where cards are kept."""
    monkeypatch.setenv("WIKIGEN_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def test_what_was_found_of_a_judge_is_kept_for_its_submissions(
    pairs_file: Path, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge_card(OverlapJudge()) == {}
    code, out, _ = told(capsys, "--judge", "overlap", "--pairs", pairs_file)
    assert code == 0 and "1.000 [1.000, 1.000]" in out
    assert told(capsys, "--judge", "overlap", "--limit", "1")[0] == 0
    card = judge_card(OverlapJudge())
    assert card["pairs"] == pairs_file.name and 0 <= card["auroc"] <= 1 and card["stress"][0]["n"] > 0
    assert judge_card(LexicalJudge())["n_claims"] > 100  # it brings its own
    (path,) = (runs / "judged" / "cards").glob("*.json")
    path.write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match="delete it and run python -m"):
        judge_card(OverlapJudge())


def test_the_card_of_the_sample(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = told(capsys, "--judge", "overlap", "--limit", "2", "--json")
    card = json.loads(out)
    assert code == 0 and card["data"] == "sample" and card["judge"].startswith("overlap@")
    accepted = {rate["edit"]: rate["accepted"] for rate in card["rates"]}
    assert accepted[VERBATIM] == 1.0
    assert accepted['"not" inserted'] == 1.0  # bare overlap is blind to it
    assert accepted[SHUFFLED] < 0.3 and accepted[REFERENCE_ELSEWHERE] < accepted[REFERENCE]
    assert card["headline"] == "undecided" and any(SHUFFLED in reason for reason in card["reasons"])
    assert card["ms_per_pair"] > 0 and card["n_unjudged"] == 0
    assert accepted["by hand: false"] > 0.3 and accepted["by local models: true"] > 0.3  # words cannot tell them apart


def test_labelled_claims_and_edits_stand_in_one_table(capsys: pytest.CaptureFixture[str], pairs_file: Path) -> None:
    words = ("--judge", "lexical", "--pairs", pairs_file, "--pairs", pairs_file, "--data", "sample", "--limit", "1")
    code, out, _ = told(capsys, *words)
    lines = out.splitlines()
    assert code == 0 and sum(line.lstrip().startswith(pairs_file.name) for line in lines) >= 2
    kinds = [line for line in lines if "false: mean of" in line]
    assert len(kinds) == 1 and "refused" in kinds[0]
    assert out.index("AUROC") < out.index(NUMBER_CHANGED) < out.index("calibration error")
    row = next(line for line in lines if NUMBER_CHANGED in line)
    assert "refused" in row and "%" in row
    assert "may decide headline scores: undecided" in out and "ms a pair" in out
    found = json.loads(told(capsys, *words, "--json")[1])
    assert len(found["files"]) == 2 and found["edits"]["data"] == "sample"


def test_a_claim_scores_the_maximum_over_its_rows_and_unjudged_ones_are_refused(pairs_file: Path) -> None:
    rows = read_rows(pairs_file)
    scores: list[float | None] = list(OverlapJudge().score([row.pair for row in rows]))
    assert scores[:2] == [0.0, 1.0]
    scores[0] = scores[1] = None  # both rows of a supported claim
    scores[2] = None  # one row of another one
    found = accuracy(rows, scores, threshold=0.7)
    assert found.n_unjudged == 1
    assert found.balanced_accuracy == pytest.approx((3 / 4 + 1) / 2)
    assert found.auroc == pytest.approx(3 / 4)


def test_a_page_that_was_cut_into_pieces_can_be_read_whole(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = [
        {"claim": claim, "evidence": [chunk, "shared"], "label": label, "meta": {"id": label}}
        for claim, label in (("ferry sank near harbour", "supported"), ("ferry burned near Oslo", "not_supported"))
        for chunk in ("ferry sank", "near harbour")
    ]
    path = tmp_path / "pieces.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    whole = whole_pages(read_rows(path))
    assert [row.pair.premises for row in whole] == [("ferry sank\nshared\nnear harbour\nshared",)] * 2
    words = ("--judge", "overlap", "--pairs", path, "--json")
    found = [json.loads(told(capsys, *words, *flags)[1])["files"][0] for flags in ((), ("--whole-pages",))]
    assert [one["n_pairs"] for one in found] == [4, 2] and found[1]["pairs"] == "pieces.jsonl, whole pages"
    assert found[0]["accuracy"]["balanced_accuracy"] == 0.5  # each piece has half of the words
    assert found[1]["accuracy"]["balanced_accuracy"] == 1.0


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--judge", "nope"), "embedded, lexical, overlap, nli:"),
        (("--judge", "nli:"), "'nli:'"),
        (("--judge", "nli:x,speed=3"), "'speed'"),
        (("--judge", "nli:x,threshold=2"), "threshold"),
        (("--judge", "overlap", "--pairs", "none.jsonl"), "none.jsonl"),
        (("--judge", "overlap", "--pairs", "one.jsonl"), "others that are not"),
        (("--judge", "overlap", "--pairs", "broken.jsonl"), "broken.jsonl:2"),
        (("--judge", "overlap", "--data", "nowhere"), "nowhere"),
    ],
)
def test_wrong_input_is_named(
    capsys: pytest.CaptureFixture[str], words: Sequence[str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    row = json.dumps({"claim": "a", "evidence": ["b"], "label": "supported", "meta": {"id": 1}})
    Path("one.jsonl").write_text(row)
    Path("broken.jsonl").write_text(row + '\n{"claim": 1}')
    code, out, err = told(capsys, *words)
    assert code == 2 and not out and named in err and "Traceback" not in err


def rates(verbatim: float = 1.0, numbers: float = 0.0, shuffled: float = 0.0, n: int = ENOUGH) -> list[AcceptRate]:
    return [AcceptRate(VERBATIM, n, verbatim), AcceptRate(NUMBER_CHANGED, n, numbers), AcceptRate(SHUFFLED, n, shuffled)]


def test_who_may_stand_behind_headline_scores() -> None:
    assert verdict(rates()) == ("yes", ())
    assert verdict(rates(verbatim=0.8, numbers=0.3, shuffled=0.1))[0] == "yes"
    assert verdict(rates(numbers=0.31))[0] == verdict(rates(shuffled=0.11))[0] == verdict(rates(verbatim=0.79))[0] == "no"
    assert verdict(rates(n=ENOUGH - 1))[0] == verdict([])[0] == "undecided"
    answer, reasons = verdict([*rates(shuffled=0.5)[::2], AcceptRate(NUMBER_CHANGED, 3, 1.0)])
    assert answer == "no" and len(reasons) == 2


def test_shuffled_citations_name_a_passage_of_the_event_without_the_sentence() -> None:
    quotes = list(quotes_of("1", [page()]))
    assert len(quotes) == 12
    pairs = shuffled_pairs(quotes)
    assert pairs and {pair.claim for pair in pairs} <= {quote.sentence for quote in quotes}
    assert all(pair.claim not in pair.premises[0] for pair in pairs)
    assert {pair.premises[0] for pair in pairs} <= {quote.premise() for quote in quotes}


def test_reference_sentences_meet_the_pages_their_article_cites() -> None:
    snapshot = Snapshot(SAMPLE)
    one = read_reference(snapshot, "9000001", (page(TEXT),))
    other = read_reference(snapshot, "9000002", (page("Otters swim in the quiet harbour at night. " * 30),))
    assert 0 < len(one.sentences) <= 6
    pairs = reference_pairs([one, other])
    assert len(pairs[REFERENCE]) == len(pairs[REFERENCE_ELSEWHERE]) == len(one.sentences) + len(other.sentences)
    assert all("bridge" in premise for pair in pairs[REFERENCE][: len(one.sentences)] for premise in pair.premises)
    assert all("Otters" in premise for pair in pairs[REFERENCE_ELSEWHERE][: len(one.sentences)] for premise in pair.premises)
    assert REFERENCE_ELSEWHERE not in reference_pairs([one])


def test_the_overlap_judge_counts_words_and_rates_what_was_left_unjudged() -> None:
    class Silent(OverlapJudge):
        def score(self, pairs: Sequence[Pair]) -> list[float | None]:  # type: ignore[override]
            return [None, 1.0, 0.0, 1.0][: len(pairs)]

    claims = [
        "Marisol sank on the lake.",
        "Marisol exploded twice.",
        "of the",
        "The lake sank on Tanda, not the ferry Marisol.",
    ]
    pairs = [Pair(("The ferry Marisol sank on Lake Tanda.",), claim) for claim in claims]
    assert OverlapJudge().score(pairs) == pytest.approx([1.0, 1 / 3, 0.0, 1.0])
    assert OverlapJudge().score([Pair((), claims[0])]) == [0.0]
    assert accept_rates(Silent(), {"kind": pairs}) == (AcceptRate("kind", 4, 0.5, n_unjudged=1),)

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path

import pytest

from data import codec
from data.errors import UserError
from eval.cards.judge_accuracy import read_rows
from eval.cards.stress import (
    bare,
    change_number,
    exchange_names,
    insert_not,
    is_list_reordered,
    read_quotes,
    replace_name,
    stress,
)
from eval.fitting.fit_lexical import WICE_FILE, fit_model, main
from eval.judges.features import FEATURES, analyse, gather, missing_numbers
from eval.judges.judge import Pair
from eval.judges.lexical_judge import MODEL_FILE, LexicalJudge
from eval.judges.vetoes import examine

PASSAGE = (
    "Ferry disaster on Lake Tanda\n"
    "The ferry Marisol sank on Lake Tanda on 14 March 2019 with 1,240 people aboard. Captain Jonas Weller had warned "
    "the owner, Tanda Lines, about the damaged hull two weeks earlier. The first rescue boats reached the wreck after "
    "fifty minutes. An inquiry led by Judge Amara Diallo did not blame the crew, and the owner was fined $3.5 million in "
    "2020-21. The Marisol was built by Osk Shipyard."
)
OTHER = (
    "Lake Tanda\n"
    "Lake Tanda is the second largest lake of the country. Fishing villages line its eastern shore, and the lake freezes "
    "in most winters. Ferries have crossed it since the nineteenth century."
)


@pytest.fixture(scope="module")
def judge() -> LexicalJudge:
    return LexicalJudge()


def accepts(judge: LexicalJudge, claim: str, *premises: str) -> bool:
    return judge.score([Pair(premises or (PASSAGE,), claim)])[0] >= judge.threshold


@pytest.mark.parametrize(
    "claim",
    [
        "The ferry Marisol sank on Lake Tanda on 14 March 2019 with 1,240 people aboard.",
        "On 14 March 2019 the ferry Marisol sank on Lake Tanda with 1240 people aboard.",
        "Captain Jonas Weller had warned Tanda Lines about the damaged hull.",
        "The inquiry of Judge Amara Diallo did not blame the crew.",
        "The owner was fined $3,500,000 in 2021.",
        "The first rescue boats reached the wreck after 50 minutes.",
        "Osk Shipyard built the Marisol.",
    ],
)
def test_what_the_passage_says_is_accepted_also_in_other_forms(judge: LexicalJudge, claim: str) -> None:
    assert accepts(judge, claim)


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("The ferry Marisol sank on Lake Tanda on 14 March 2018 with 1,240 people aboard.", "number"),
        ("The ferry Marisol sank on Lake Tanda on 14 March 2019 with 1,420 people aboard.", "number"),
        ("Captain Jonas Weller had not warned the owner, Tanda Lines, about the damaged hull two weeks earlier.", "negation"),
        ("An inquiry led by Judge Amara Diallo did blame the crew, and the owner was fined $3.5 million.", "negation"),
        ("Captain Amara Diallo had warned the owner, Tanda Lines, about the damaged hull two weeks earlier.", "name"),
        ("Captain Tanda Lines had warned the owner, Jonas Weller, about the damaged hull two weeks earlier.", "order"),
    ],
)
def test_a_changed_detail_is_refused_and_the_veto_says_which(judge: LexicalJudge, claim: str, reason: str) -> None:
    assert not accepts(judge, claim)
    assert judge.judge(Pair((PASSAGE,), claim))[1] == reason


def test_the_passive_is_no_exchange_of_names(judge: LexicalJudge) -> None:
    assert accepts(judge, "Marcus Lane beat Peter Stone.", "Peter Stone was beaten by Marcus Lane.")
    assert not accepts(judge, "Marcus Lane beat Peter Stone.", "Peter Stone beat Marcus Lane.")


def test_a_list_in_another_order_says_the_same(judge: LexicalJudge) -> None:
    assert accepts(judge, "It was founded by Lane, Stone and Reed.", "It was founded by Reed, Stone and Lane.")
    text = "Tensions between Gamby and Russell come to a head as prom night approaches."
    assert accepts(judge, "Tensions between Russell and Gamby come to a head as prom night approaches.", text)


COACH = "Wootten, who worked with Farke at Norwich City, had been at Carrow Road since 2015."
SHIP = "By the time she arrived at Auckland in January 1927, the costs amounted to 24,832 pounds."
ARENA = "The showdown took place at the Brenz Z. Guiao Sports Center in San Fernando, Pampanga, on a Friday."
HERO = "Robbie Manalang emerged as Pasig's hero, silencing the Caloocan crowd with a win in Game 2 of the playoffs."


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Wootten, who worked with Norwich City at Farke, had been at Carrow Road since 2015.", COACH),
        ("By the time she arrived at January in Auckland 1927, the costs amounted to 24,832 pounds.", SHIP),
        ("The showdown took place at the San Fernando Z. Guiao Sports Center in Brenz, Pampanga, on a Friday.", ARENA),
        ("Robbie Manalang emerged as Game hero, silencing the Caloocan crowd with a win in Pasig's 2 of the playoffs.", HERO),
        ("Ajax sold Marcus Lane to Barcelona in May.", "Barcelona sold Marcus Lane to Ajax in May."),
    ],
)
def test_names_in_each_others_places_are_refused(judge: LexicalJudge, claim: str, evidence: str) -> None:
    for premise in (evidence, bare(evidence)):
        assert accepts(judge, evidence, premise)
        assert not accepts(judge, claim, premise)
        assert judge.judge(Pair((premise,), claim))[1] == "order"


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Wootten, who worked at Norwich City with Farke, had been at Carrow Road since 2015.", COACH),
        ("By the time she arrived in January 1927 at Auckland, the costs amounted to 24,832 pounds.", SHIP),
        ("On a Friday, the showdown took place in San Fernando, Pampanga, at the Brenz Z. Guiao Sports Center.", ARENA),
        ("In May Marcus Lane was sold to Ajax by Barcelona.", "Barcelona sold Marcus Lane to Ajax in May."),
        ("Germany was defeated by France in Berlin.", "In Berlin, France defeated Germany."),
    ],
)
def test_phrases_that_have_moved_and_passives_are_accepted(judge: LexicalJudge, claim: str, evidence: str) -> None:
    for premise in (evidence, bare(evidence)):
        assert judge.judge(Pair((premise,), claim))[1] is None
        assert accepts(judge, claim, premise)


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Invasive strep is on the rise in Sweden.", "Invasive strep is on the rise in Canada."),
        ("You can stream all of The Bear exclusively on Natalie's.", "You can stream all of The Bear exclusively on Hulu."),
        ("Her home was swept away by Zomba.", "Zomba was hit hardest. Her home was swept away by Cyclone Freddy."),
        ("He mistook the hobbled Perez for Perez at the bend.", "He mistook the hobbled Perez for Verstappen at the bend."),
        (
            "It is popular in Iraq, Libya and Nepal.",
            "Other exotic markets where it is popular include Iraq, Libya and Sri Lanka.",
        ),
    ],
)
def test_a_name_in_the_place_of_another_is_refused(judge: LexicalJudge, claim: str, evidence: str) -> None:
    assert judge.judge(Pair((evidence,), claim)) == (pytest.approx(0, abs=judge.threshold), "name")


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Invasive strep is on the rise in Canada.", "Invasive strep is on the rise in the Canadian north."),
        ("The law was signed by John Reed in May.", "The law was signed by J. Reed in May."),
        ("The ship sailed on 5 November from Oslo.", "The ship sailed on Nov. 5 from Oslo."),
        (  # WiCE, supported: between the words alike stands more than a name
            "He was Chef de Mission of Team GB at the 2016 Olympics, being appointed on 29 April 2014.",
            "29 April 2014\nMark England has been appointed Team GB's Chef de Mission for the Baku 2015 European Games and the "
            "Rio 2016 Olympic Games.",
        ),
    ],
)
def test_another_form_of_a_name_or_another_word_is_no_replacement(judge: LexicalJudge, claim: str, evidence: str) -> None:
    assert judge.judge(Pair((evidence,), claim))[1] is None


@pytest.mark.parametrize(
    "claim", ["He died on November 10, 2018.", "He died on 10 November 2018.", "He died on the 10th of November 2018."]
)
@pytest.mark.parametrize("evidence", ["He died Nov 10, 2018.", "He died on Nov. 10th, 2018.", "he died on 10 november 2018"])
def test_a_date_is_the_same_in_every_form(judge: LexicalJudge, claim: str, evidence: str) -> None:
    assert accepts(judge, claim, evidence)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("the United States Senate", "the U.S. Senate"),
        ("in the United States of America.", "in the US."),
        ("sold in the United Kingdom", "sold in the U.K."),
    ],
)
def test_countries_match_their_abbreviations(a: str, b: str) -> None:
    assert analyse(a).stems == analyse(b).stems
    assert "usa" not in analyse("It tells us all.").stem_set


def test_another_passage_of_the_event_is_refused(judge: LexicalJudge) -> None:
    assert not accepts(judge, "The ferry Marisol sank on Lake Tanda on 14 March 2019 with 1,240 people aboard.", OTHER)


def test_several_passages_support_what_none_supports_alone(judge: LexicalJudge) -> None:
    claim = "The Marisol was built by Osk Shipyard, and the port of Renko handles grain from the Velm valley."
    port = "Renko\nThe town lies on the coast. Its port handles grain from the Velm valley."
    assert not accepts(judge, claim, PASSAGE)
    assert not accepts(judge, claim, port)
    assert accepts(judge, claim, PASSAGE, port)


def test_bare_premises_match_names_numbers_and_negations_without_capitals(judge: LexicalJudge) -> None:
    text = bare(PASSAGE)
    assert "1240" in text and "202021" in text and "Marisol" not in text
    assert accepts(judge, "The ferry Marisol sank on Lake Tanda on 14 March 2019 with 1,240 people aboard.", text)
    assert accepts(judge, "The owner was fined $3.5 million in 2020-21.", text)
    assert not accepts(judge, "The ferry Marisol sank on Lake Tanda on 14 March 2019 with 1,420 people aboard.", text)
    assert not accepts(judge, "Captain Jonas Weller had not warned the owner, Tanda Lines, about the damaged hull.", text)


@pytest.mark.parametrize("claim", ["", " ", ".", "of the", "==="])
def test_a_claim_without_words_is_not_supported(judge: LexicalJudge, claim: str) -> None:
    assert judge.score([Pair((PASSAGE,), claim)]) == [0.0]


def test_markers_left_in_a_text_are_no_numbers(judge: LexicalJudge) -> None:
    assert accepts(judge, "The Marisol was built by Osk Shipyard.[12] [3, 4]")


def test_more_overlap_never_counts_against_a_claim(judge: LexicalJudge) -> None:
    signs = {c.feature: c.coefficient for c in judge.model.coefficients}
    assert tuple(signs) == FEATURES
    assert all(value > 0 for name, value in signs.items() if name.startswith(("cov", "bigram")))
    assert all(value < 0 for name, value in signs.items() if "missing" in name)


@pytest.mark.parametrize(
    ("claim", "evidence", "missing"),
    [
        ("It cost 1,200 dollars.", "It cost 1200 dollars.", []),
        ("It cost 1.2 million.", "It cost 1,200,000.", []),
        ("It cost 1,200,000.", "It cost 1.2 million.", []),
        ("The 1986-87 season.", "The season of 1986 and 1987.", []),
        ("The 1986–87 season.", "season 198687 today", []),
        ("The season of 1987.", "The 1986-87 season.", []),
        ("In 5 games.", "In five games.", []),
        ("The 5th game.", "The fifth game.", []),
        ("In the 1990s.", "in the 1990s", []),
        ("At 3.5 percent.", "at 35 percent", []),
        ("It won 12 of 13.", "It won 12 of 14.", ["13"]),
        ("In 2021.", "In 20211.", ["2021"]),
        ("Five games.", "Six games.", []),  # only digits can veto; words weigh in the features
    ],
)
def test_forms_of_numbers(claim: str, evidence: str, missing: list[str]) -> None:
    assert [n.written for n in missing_numbers(analyse(claim), analyse(evidence).offered_numbers)] == missing


def test_each_of_several_premises_takes_part(judge: LexicalJudge) -> None:
    crowd = tuple(f"Ferry {n}\n" + "The ferry sank. " * 30 for n in range(12))
    found = examine(gather(analyse("The ferry sank in 2019."), (*crowd, "It was 2019 when the ferry sank."), judge.weight))
    assert found.reason is None


def test_a_model_file_of_other_features_is_refused(tmp_path: Path) -> None:
    plain = json.loads(MODEL_FILE.read_text())
    plain["version"] = "lex0"
    (tmp_path / "old.json").write_text(json.dumps(plain))
    with pytest.raises(UserError, match=r"eval\.fitting\.fit_lexical"):
        LexicalJudge(tmp_path / "old.json")


def test_the_shipped_card_keeps_what_was_promised(judge: LexicalJudge) -> None:
    card = judge.model.card
    accepted = {rate.edit: rate.accepted for rate in card.stress}
    assert card.auroc > 0.8 > card.auroc_length and card.auroc_low < card.auroc < card.auroc_high
    assert accepted["verbatim"] >= 0.97
    assert accepted["number changed"] <= 0.15
    assert accepted['"not" inserted'] <= 0.15
    assert accepted["another passage of the event"] <= 0.05
    assert accepted["name replaced by another of the page"] <= 0.10
    assert accepted["two names exchanged, not of one list"] <= 0.10


def test_edits_change_what_they_say() -> None:
    rng = random.Random(1)
    sentence = "In 2019, Jonas Weller was met by Amara Diallo on Lake Tanda."
    for _ in range(20):
        edited = change_number(sentence, rng)
        assert edited is not None and edited != sentence and re.sub(r"\d+", "2019", edited) == sentence
    assert insert_not(sentence) == "In 2019, Jonas Weller was not met by Amara Diallo on Lake Tanda."
    swapped = exchange_names(sentence, rng)
    assert swapped is not None and sorted(swapped) == sorted(sentence) and swapped != sentence
    assert not is_list_reordered(sentence, swapped)
    assert is_list_reordered("It went to Oslo, Bergen and Narvik.", "It went to Narvik, Bergen and Oslo.")
    assert not is_list_reordered("It went from Oslo to Bergen.", "It went from Bergen to Oslo.")
    replaced = replace_name(sentence, "Then the mayor of Orrin Bay spoke.", rng)
    assert replaced is not None and "Orrin Bay" in replaced
    assert change_number("No number.", rng) is insert_not("He ran.") is exchange_names("He ran.", rng) is None


@pytest.fixture
def small_wice(tmp_path: Path) -> Path:
    """Claims made of words that their evidence has, half of, or lacks."""
    rng = random.Random(3)
    vocabulary = ["".join(rng.choices("bcdfglmnprst", k=2)) + "a" + "".join(rng.choices("klmnprst", k=2)) for _ in range(400)]
    lines = []
    for n in range(60):
        words = rng.sample(vocabulary, 12)
        label = ("supported", "partially_supported", "not_supported")[n % 3]
        kept = {"supported": words[:11], "partially_supported": words[:7], "not_supported": words[:3]}[label]
        for chunk in range(2):
            evidence = [" ".join(kept + rng.sample(vocabulary, 4)) for _ in range(3)]
            row = {"label": label, "claim": " ".join(words), "evidence": evidence, "meta": {"id": f"c{n}", "chunk": chunk}}
            lines.append(json.dumps(row))
    (tmp_path / "oracle_chunks_claim_dev.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_fitting_is_deterministic_and_learns(small_wice: Path) -> None:
    rows = read_rows(small_wice / WICE_FILE)
    model = fit_model(rows, seeds=1)
    assert codec.to_json(model) == codec.to_json(fit_model(rows, seeds=1))
    assert model.card.auroc > 0.95
    assert (model.card.n_claims, model.card.n_supported) == (60, 20)


def test_fitting_without_the_data_names_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--wice", str(tmp_path / "none"), "--out", str(tmp_path / "model.json")]) == 2
    assert str(tmp_path / "none") in capsys.readouterr().err
    assert not (tmp_path / "model.json").exists()


@pytest.mark.slow
@pytest.mark.skipif("WIKIGEN_DATA" not in os.environ, reason="needs the benchmark's pages")
def test_the_shipped_stress_table_is_what_the_judge_does(judge: LexicalJudge) -> None:
    from data.snapshot import Snapshot

    assert stress(judge, list(read_quotes(Snapshot(Path(os.environ["WIKIGEN_DATA"]))))) == judge.model.card.stress

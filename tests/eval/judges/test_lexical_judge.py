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


@pytest.fixture(scope="module")
def judge() -> LexicalJudge:
    return LexicalJudge()


def accepts(judge: LexicalJudge, claim: str, *premises: str) -> bool:
    return judge.score([Pair(premises or (PASSAGE,), claim)])[0] >= judge.threshold


COACH = "Wootten, who worked with Farke at Norwich City, had been at Carrow Road since 2015."
SHIP = "By the time she arrived at Auckland in January 1927, the costs amounted to 24,832 pounds."
ARENA = "The showdown took place at the Brenz Z. Guiao Sports Center in San Fernando, Pampanga, on a Friday."
HERO = "Robbie Manalang emerged as Pasig's hero, silencing the crowd with a win in Game 2 of the playoffs."


STREP = "Invasive strep is on the rise in Canada."
SOLD = "Barcelona sold Marcus Lane to Ajax in May."
BEAR = "You can stream all of The Bear exclusively on Hulu."
MARKETS = "Other exotic markets where it is popular include Iraq, Libya and Sri Lanka."
DIED = ("He died Nov 10, 2018.", "He died on Nov. 10th, 2018.", "he died on 10 november 2018")
ENGLAND = (  # WiCE, supported: between the words alike stands more than a name
    "29 April 2014\nMark England has been appointed Team GB's Chef de Mission for the Baku 2015 European Games and the "
    "Rio 2016 Olympic Games."
)
FROM_ELSEWHERE = "The lake freezes in most winters, and ferries have crossed Lake Tanda since the nineteenth century."


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The ferry Marisol sank on Lake Tanda on 14 March 2019 with 1,240 people aboard.", PASSAGE),
        ("On 14 March 2019 the ferry Marisol sank on Lake Tanda with 1240 people aboard.", PASSAGE),
        ("Captain Jonas Weller had warned Tanda Lines about the damaged hull.", PASSAGE),
        ("The inquiry of Judge Amara Diallo did not blame the crew.", PASSAGE),
        ("The owner was fined $3,500,000 in 2021.", PASSAGE),
        ("The first rescue boats reached the wreck after 50 minutes.", PASSAGE),
        ("The Marisol was built by Osk Shipyard.[12] [3, 4]", PASSAGE),  # markers left in a text are no numbers
        ("Osk Shipyard built the Marisol.", PASSAGE),
        ("The ferry Marisol sank on Lake Tanda on 14 March 2019 with 1,240 people aboard.", bare(PASSAGE)),
        ("The owner was fined $3.5 million in 2020-21.", bare(PASSAGE)),
        ("Marcus Lane beat Peter Stone.", "Peter Stone was beaten by Marcus Lane."),
        ("It was founded by Lane, Stone and Reed.", "It was founded by Reed, Stone and Lane."),
        ("Tensions between Russell and Gamby come to a head.", "Tensions between Gamby and Russell come to a head."),
        ("Wootten, who worked at Norwich City with Farke, had been at Carrow Road since 2015.", COACH),
        ("By the time she arrived in January 1927 at Auckland, the costs amounted to 24,832 pounds.", SHIP),
        ("On a Friday, the showdown took place in San Fernando, Pampanga, at the Brenz Z. Guiao Sports Center.", ARENA),
        ("In May Marcus Lane was sold to Ajax by Barcelona.", SOLD),
        ("Germany was defeated by France in Berlin.", "In Berlin, France defeated Germany."),
        *((text, bare(text)) for text in (COACH, SHIP, ARENA, HERO, SOLD)),
        *(
            (claim, text)
            for text in DIED
            for claim in ("He died on 10 November 2018.", "He died on the 10th of November 2018.")
        ),
    ],
)
def test_what_the_evidence_says_is_accepted_also_in_other_forms(judge: LexicalJudge, claim: str, evidence: str) -> None:
    assert judge.judge(Pair((evidence,), claim))[1] is None and accepts(judge, claim, evidence)


@pytest.mark.parametrize(
    ("claim", "evidence", "reason"),
    [
        ("The ferry Marisol sank on Lake Tanda on 14 March 2018 with 1,240 people aboard.", PASSAGE, "number"),
        ("The ferry Marisol sank on Lake Tanda on 14 March 2019 with 1,420 people aboard.", PASSAGE, "number"),
        ("The ferry Marisol sank on Lake Tanda on 14 March 2019 with 1,420 people aboard.", bare(PASSAGE), "number"),
        ("Captain Jonas Weller had not warned the owner, Tanda Lines, about the damaged hull.", PASSAGE, "negation"),
        ("Captain Jonas Weller had not warned the owner, Tanda Lines, about the damaged hull.", bare(PASSAGE), "negation"),
        ("An inquiry led by Judge Amara Diallo did blame the crew, and the owner was fined $3.5 million.", PASSAGE, "negation"),
        ("Captain Amara Diallo had warned the owner, Tanda Lines, about the damaged hull two weeks earlier.", PASSAGE, "name"),
        ("Captain Tanda Lines had warned the owner, Jonas Weller, about the damaged hull two weeks earlier.", PASSAGE, "order"),
        ("Marcus Lane beat Peter Stone.", "Peter Stone beat Marcus Lane.", "order"),
        *(
            (claim, premise, "order")
            for claim, text in (
                ("Wootten, who worked with Norwich City at Farke, had been at Carrow Road since 2015.", COACH),
                ("By the time she arrived at January in Auckland 1927, the costs amounted to 24,832 pounds.", SHIP),
                ("The showdown took place at the San Fernando Z. Guiao Sports Center in Brenz, Pampanga, on a Friday.", ARENA),
                ("Robbie Manalang emerged as Game hero, silencing the crowd with a win in Pasig's 2 of the playoffs.", HERO),
                ("Ajax sold Marcus Lane to Barcelona in May.", SOLD),
            )
            for premise in (text, bare(text))
        ),
        ("Invasive strep is on the rise in Sweden.", STREP, "name"),
        ("You can stream all of The Bear exclusively on Natalie's.", BEAR, "name"),
        ("Her home was swept away by Zomba.", "Zomba was hit hardest. Her home was swept away by Cyclone Freddy.", "name"),
        (
            "He mistook the hobbled Perez for Perez at the bend.",
            "He mistook the hobbled Perez for Verstappen at the bend.",
            "name",
        ),
        ("It is popular in Iraq, Libya and Nepal.", MARKETS, "name"),
    ],
)
def test_a_changed_detail_is_refused_and_the_veto_says_which(
    judge: LexicalJudge, claim: str, evidence: str, reason: str
) -> None:
    assert judge.judge(Pair((evidence,), claim)) == (pytest.approx(0, abs=judge.threshold - 1e-9), reason)


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        (STREP, "Invasive strep is on the rise in the Canadian north."),
        ("The law was signed by John Reed in May.", "The law was signed by J. Reed in May."),
        ("The ship sailed on 5 November from Oslo.", "The ship sailed on Nov. 5 from Oslo."),
        ("He was Chef de Mission of Team GB at the 2016 Olympics, being appointed on 29 April 2014.", ENGLAND),
    ],
)
def test_another_form_of_a_name_or_another_word_is_no_replacement(judge: LexicalJudge, claim: str, evidence: str) -> None:
    assert judge.judge(Pair((evidence,), claim))[1] is None


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The ferry Marisol sank on Lake Tanda on 14 March 2019 with 1,240 people aboard.", FROM_ELSEWHERE),
        *((claim, PASSAGE) for claim in ("", " ", ".", "of the", "===")),
    ],
)
def test_what_stands_elsewhere_and_what_has_no_words_is_not_supported(judge: LexicalJudge, claim: str, evidence: str) -> None:
    assert not accepts(judge, claim, evidence)


def test_countries_match_their_abbreviations() -> None:
    pairs = (("the United States Senate", "the U.S. Senate"), ("sold in the United Kingdom", "sold in the U.K."))
    for name, short in (*pairs, ("in the United States of America.", "in the US.")):
        assert analyse(name).stems == analyse(short).stems
    assert "usa" not in analyse("It tells us all.").stem_set


def test_several_passages_support_what_none_supports_alone(judge: LexicalJudge) -> None:
    claim = "The Marisol was built by Osk Shipyard, and the port of Renko handles grain from the Velm valley."
    port = "Renko\nThe town lies on the coast. Its port handles grain from the Velm valley."
    assert not accepts(judge, claim, PASSAGE)
    assert not accepts(judge, claim, port)
    assert accepts(judge, claim, PASSAGE, port)


def test_more_overlap_never_counts_against_a_claim(judge: LexicalJudge) -> None:
    signs = {c.feature: c.coefficient for c in judge.model.coefficients}
    assert tuple(signs) == FEATURES
    assert all(value > 0 for name, value in signs.items() if name.startswith(("cov", "bigram")))
    assert all(value < 0 for name, value in signs.items() if "missing" in name)


@pytest.mark.parametrize(
    ("claim", "evidence", "missing"),
    [
        ("It cost 1,200 dollars.", "It cost 1200 dollars.", []),
        ("It cost 1,200,000.", "It cost 1.2 million.", []),
        ("The 1986-87 season.", "The season of 1986 and 1987.", []),
        ("The 1986–87 season.", "season 198687 today", []),
        ("In 5 games.", "In five games.", []),
        ("The 5th game.", "The fifth game.", []),
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
    (tmp_path / "old.json").write_text(json.dumps(json.loads(MODEL_FILE.read_text()) | {"version": "lex0"}))
    with pytest.raises(UserError, match=r"eval\.fitting\.fit_lexical"):
        LexicalJudge(tmp_path / "old.json")


def test_the_shipped_card_keeps_what_was_promised(judge: LexicalJudge) -> None:
    card = judge.model.card
    accepted = {rate.edit: rate.accepted for rate in card.stress}
    assert card.auroc > 0.8 > card.auroc_length and card.auroc_low < card.auroc < card.auroc_high
    assert accepted["verbatim"] >= 0.97 and accepted["another passage of the event"] <= 0.05
    assert accepted["number changed"] <= 0.15 >= accepted['"not" inserted']
    assert accepted["name replaced by another of the page"] <= 0.10 >= accepted["two names exchanged, not of one list"]


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

import random

import pytest
from rouge_score.rouge_scorer import RougeScorer

from eval.metrics.rouge import Rouge, lcs_length
from tests.eval.cases import case

SCORER = RougeScorer(["rouge1", "rouge2", "rougeL"])


def rouge_package_values(written: str, gold: str) -> dict[str, float]:
    values = {}
    for name, score in SCORER.score(gold, written).items():
        values |= {f"{name}_precision": score.precision, f"{name}_recall": score.recall, f"{name}_f": score.fmeasure}
    return values


def test_equal_to_rouge_score_on_random_pairs() -> None:
    rng = random.Random(7)
    metric = Rouge()
    for _ in range(200):
        vocabulary = [f"w{i}" for i in range(rng.choice([2, 6, 30, 300]))]
        written, human = (" ".join(rng.choices(vocabulary, k=rng.randint(1, 90))) for _ in range(2))
        values = metric.score(case(written, human))
        for name, expected in rouge_package_values(written, human).items():
            assert values[name] == pytest.approx(expected, abs=1e-9), (name, written, human)


@pytest.mark.parametrize(
    ("written", "human"),
    [
        ("The U.S. team won 3.5–2.5 in Łódź on 4 May 2022.", "On 4 May 2022 the US team won in Łódź, 3.5 to 2.5."),
        ("It didn't rain; café owners said so.", "Owners of the cafés didn't say it rained."),
        ("One.", "One"),
        ("A storm. " * 30, "A storm hit. The storm, a strong storm, left. " * 12),
    ],
)
def test_equal_to_rouge_score_on_texts(written: str, human: str) -> None:
    scored = case(written, human)
    values = Rouge().score(scored)
    for name, expected in rouge_package_values(scored.prose, scored.gold.prose).items():
        assert values[name] == pytest.approx(expected, abs=1e-9), name


def test_letters_that_the_tokens_cannot_see_are_reported_and_full_width_forms_folded() -> None:
    values = Rouge().score(case("Буря обрушилась на город.", "Буря обрушилась на город."))
    assert (values["rouge1_f"], values["dropped_letters"]) == (0.0, 1.0)
    assert Rouge().score(case("abcé", "x"))["dropped_letters"] == 0.25
    assert Rouge().score(case("ＮＡＴＯ met in ２０２２.", "NATO met in 2022."))["rouge1_f"] == 1.0


def test_lcs_needs_order_not_adjacency() -> None:
    assert lcs_length("abcde", "eaxcyd") == 3
    assert lcs_length([], ["a"]) == lcs_length(["a"], []) == 0


def test_the_same_text_scores_one_whatever_its_headings_markers_and_lists_of_links() -> None:
    written = "A storm hit Lisbon.[1][2]\n==Damage==\nTen houses fell.[99]\n==External links==\nMore storms here."
    values = Rouge().score(case(written, "A storm hit Lisbon. Ten houses fell."))
    assert {values[f"rouge{kind}_f"] for kind in "12L"} == {values["length_ratio"]} == {1.0} and values["words"] == 7
    assert values.keys() == Rouge().names.keys() and Rouge().score(case("A storm.", ""))["length_ratio"] is None


@pytest.mark.parametrize("written", ["", "==History==\n==Aftermath=="])
def test_an_article_without_sentences_scores_zero(written: str) -> None:
    values = Rouge().score(case(written, "A storm hit Lisbon."))
    assert all(value == 0.0 for name, value in values.items() if name != "dropped_letters")
    assert values["dropped_letters"] is None

import random

import pytest

from eval.copying import Copying
from tests.eval.cases import case, page

TEN = "one two three four five six seven eight nine ten"
OTHER = "red blue green black white brown pink grey gold lime"


def test_a_copied_article_and_a_new_one() -> None:
    copied = Copying().score(case(TEN + ".", "human words", [f"before {TEN} after"]))
    assert copied["copy8"] == 1.0
    assert copied["longest_copy_words"] == 10
    own = Copying().score(case(OTHER, "human words", [TEN]))
    assert own["copy8"] == 0.0
    assert own["longest_copy_words"] == 0


def test_the_share_is_of_the_articles_runs() -> None:
    # 20 words have 13 runs of 8, of which those inside the first ten, 3, are copied
    values = Copying().score(case(f"{TEN} {OTHER}", "x", [TEN]))
    assert values["copy8"] == pytest.approx(3 / 13)
    assert values["longest_copy_words"] == 10


def test_runs_do_not_join_two_pages_nor_use_dropped_ones() -> None:
    first, second = "one two three four five", "six seven eight nine ten"
    values = Copying().score(case(TEN, "x", [first, second, page(TEN, drop_reason="duplicate")]))
    assert values["copy8"] == 0.0
    assert values["longest_copy_words"] == 5


def test_longest_copy_equals_a_plain_search() -> None:
    rng = random.Random(5)
    for _ in range(50):
        article, source = (" ".join(rng.choices("abcd", k=rng.randint(1, 40))) for _ in range(2))
        tokens = article.split()
        runs = (tokens[i:j] for i in range(len(tokens)) for j in range(i, len(tokens) + 1))
        expected = max(len(run) for run in runs if f" {' '.join(run)} " in f" {source} " or not run)
        assert Copying().score(case(article, "x", [source]))["longest_copy_words"] == expected


def test_pages_without_punctuation_are_recognised() -> None:
    written = "The An-225's crew didn't fly 1.5 hours to Kyiv, Ukraine."
    assert Copying().score(case(written, "x", ["the an225s crew didnt fly 15 hours to kyiv ukraine"]))["copy8"] == 1.0


def test_repetition_of_phrases_and_of_sentences() -> None:
    values = Copying().score(case("A storm hit Lisbon. Ten houses fell. A storm hit Lisbon![1]", "x"))
    assert values["duplicate_sentence_share"] == pytest.approx(1 / 3)
    assert values["repetition"] == pytest.approx(1 / 8)  # 11 words have 8 runs of 4; "a storm hit lisbon" comes twice
    assert Copying().score(case(TEN, "x"))["repetition"] == 0.0


def test_leak_is_the_share_of_the_human_article_in_its_worst_page() -> None:
    pages = [f"{TEN} and more", f"{TEN} {OTHER}", page(f"{TEN} {OTHER} {TEN}", drop_reason="leak_text"), "nothing"]
    assert Copying().score(case("x", f"{TEN} {OTHER}", pages))["leak8"] == 1.0
    assert Copying().score(case("x", f"{TEN} {OTHER}", pages[:1]))["leak8"] == pytest.approx(3 / 13)
    assert Copying().score(case("x", f"{TEN} {OTHER}"))["leak8"] == 0.0


def test_runs_shared_with_the_human_article() -> None:
    assert Copying().score(case(f"{TEN} {OTHER}", f"intro {TEN} outro"))["gold_copy8"] == pytest.approx(3 / 13)


def test_other_alphabets_are_compared_too() -> None:
    text = "в марте буря обрушилась на город и снесла десять домов"
    assert Copying().score(case(text, "x", [text]))["copy8"] == 1.0


@pytest.mark.parametrize("written", ["", "==History==\n==Damage=="])
def test_an_article_without_sentences_is_unscored(written: str) -> None:
    values = Copying().score(case(written, TEN, [TEN]))
    assert values.pop("leak8") == 1.0  # a fact about the pages, not about the article
    assert values.pop("longest_copy_words") == 0.0
    assert set(values.values()) == {None}


def test_too_short_for_a_run_is_unscored() -> None:
    values = Copying().score(case("Only three words.", "Also short.", [TEN]))
    assert values["copy8"] is values["gold_copy8"] is values["leak8"] is values["repetition"] is None


def test_names_are_the_values_given() -> None:
    metric = Copying()
    assert set(metric.score(case("A.", "A."))) == set(metric.names)

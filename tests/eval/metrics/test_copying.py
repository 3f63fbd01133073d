import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.types import Page
from eval.metrics.copying import Copying
from tests.eval.cases import case, page

TEN = "one two three four five six seven eight nine ten"
OTHER = "red blue green black white brown pink grey gold lime"


def test_a_copied_article_and_a_new_one() -> None:
    copied = Copying().score(case(TEN + ".", "human words", [f"before {TEN} after"]))
    assert copied["copy8"] == copied["copied_share"] == copied["verbatim_share"] == 1.0
    assert copied["longest_copy_words"] == 10
    own = Copying().score(case(OTHER, "human words", [TEN]))
    assert own["copy8"] == own["copied_share"] == own["verbatim_share"] == 0.0
    assert own["longest_copy_words"] == 0


def test_shares_are_of_the_articles_runs_and_words() -> None:
    # 20 words have 13 runs of 8, of which those inside the first ten, 3, are copied
    values = Copying().score(case(f"{TEN} {OTHER}", "x", [TEN]))
    assert values["copy8"] == pytest.approx(3 / 13)
    assert values["copied_share"] == 0.5
    assert values["longest_copy_words"] == 10
    assert values["verbatim_share"] == 0.0


def test_sentences_copied_from_different_places_are_copied_whole() -> None:
    values = Copying().score(case(f"{OTHER.capitalize()}.[1] {TEN.capitalize()}.[2]", "x", [f"{TEN}. {OTHER}."]))
    assert values["copy8"] == values["copied_share"] == values["verbatim_share"] == 1.0
    assert values["longest_copy_words"] == 10


def test_cutting_a_copied_sentence_does_not_hide_it() -> None:
    values = Copying().score(case("One two three four five. Six seven eight nine ten.", "x", [f"{TEN} {OTHER}"]))
    assert values["copy8"] is None  # no sentence has eight words
    assert values["copied_share"] == values["verbatim_share"] == 1.0
    assert values["longest_copy_words"] == 10


def test_runs_do_not_join_two_pages() -> None:
    first, second = "one two three four", "five six seven eight"
    values = Copying().score(case(TEN, "x", [first, second]))
    assert values["copy8"] == values["copied_share"] == values["verbatim_share"] == 0.0
    assert values["longest_copy_words"] == 4


@pytest.mark.parametrize(
    "source", [page(TEN, drop_reason="duplicate"), page(TEN, drop_reason="leak_text"), page("", title=TEN)]
)
def test_dropped_pages_and_titles_are_copied_from_too(source: Page) -> None:
    values = Copying().score(case(TEN, "x", [OTHER, source]))
    assert values["copy8"] == values["copied_share"] == values["verbatim_share"] == 1.0
    assert values["leak8"] is None  # the human article has no run


@given(st.integers(min_value=0))
def test_values_equal_a_plain_search(seed: int) -> None:
    rng = random.Random(seed)
    vocabulary = "abcd"[: rng.randint(1, 4)]
    article, source = (" ".join(rng.choices(vocabulary, k=rng.randint(1, 40))) for _ in range(2))
    tokens = article.split()
    runs = [tokens[i:j] for i in range(len(tokens)) for j in range(i, len(tokens) + 1)]
    held = [run for run in runs if f" {' '.join(run)} " in f" {source} " or not run]
    places = [set(range(i, i + 8)) for i in range(len(tokens) - 7) if tokens[i : i + 8] in held]
    close = [set(range(i, i + 5)) for i in range(len(tokens) - 4) if tokens[i : i + 5] in held]
    values = Copying().score(case(article, "x", [source]))
    assert values["longest_copy_words"] == max(map(len, held))
    assert values["copied_share"] == pytest.approx(len(set().union(*close)) / len(tokens))
    assert values["copy8"] == (pytest.approx(len(places) / (len(tokens) - 7)) if len(tokens) > 7 else None)
    assert values["verbatim_share"] == (None if len(tokens) < 4 else float(tokens in held))


def test_pages_without_punctuation_are_recognised() -> None:
    written = "The An-225's crew didn't fly 1.5 hours to Kyiv, Ukraine."
    values = Copying().score(case(written, "x", ["the an225s crew didnt fly 15 hours to kyiv ukraine"]))
    assert values["copy8"] == values["verbatim_share"] == 1.0


def test_invisible_characters_hide_no_copy() -> None:
    written = "A storm hit the old\u200b town of Lis\u00adbon\u2060 late in the spring."
    values = Copying().score(case(written, "x", ["a storm hit the old town of lisbon late in the spring"]))
    assert values["copied_share"] == values["verbatim_share"] == 1.0


QUOTED = 'The mayor said: "We lost ten houses in one night of rain."'


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (QUOTED, None),  # three words of its own: nothing to count
        ('"We lost ten houses in one night of rain."', None),
        ("“We lost ten houses in one night of rain.”", None),
        ("«We lost ten houses in one night of rain.»", None),
        ("“We lost ten houses in one night of rain.", 1.0),  # the mark is never closed
        ("We lost ten houses in one night of rain.", 1.0),
        ("We lost ten houses.", 1.0),
        ("Ten houses.", None),
        ('We lost ten houses in "one night" of rain.', 1.0),  # copied, with marks put in
        ("We lost 10 houses in one night of rain.", 0.0),
        ("We lost ten house", 0.0),  # whole words
    ],
)
def test_verbatim_sentences_outside_quotation_marks(written: str, expected: float | None) -> None:
    assert Copying().score(case(written, "x", [QUOTED]))["verbatim_share"] == expected


def test_quotation_marks_around_everything_hide_nothing() -> None:
    written = f"“{TEN}.” “{OTHER}.”"
    values = Copying().score(case(written, "x", [TEN, OTHER]))
    assert values["verbatim_share"] is None
    assert values["copied_share"] == 1.0


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


@pytest.mark.parametrize(
    "text",
    ["в марте буря обрушилась на город и снесла десять домов", "في شهر مارس ضربت عاصفة قوية المدينة القديمة ودمرت عشرة بيوت"],
)
def test_other_alphabets_are_compared_too(text: str) -> None:
    values = Copying().score(case(text, "x", [text]))
    assert values["copy8"] == values["verbatim_share"] == 1.0


@pytest.mark.parametrize("written", ["", "==History==\n==Damage=="])
def test_an_article_without_sentences_is_unscored(written: str) -> None:
    values = Copying().score(case(written, TEN, [TEN]))
    assert values.pop("leak8") == 1.0  # a fact about the pages, not about the article
    assert set(values.values()) == {None}


def test_too_short_for_a_run_is_unscored() -> None:
    values = Copying().score(case("Only three words.", "Also short.", [TEN]))
    assert values["copy8"] is values["gold_copy8"] is values["leak8"] is values["repetition"] is None
    assert values["verbatim_share"] is None


def test_a_long_article_of_one_word_against_a_page_of_it() -> None:
    """Every run of the article stands at every place of the page: 400 million pairs, were all of them followed."""
    values = Copying().score(case("word " * 20_000, "x", ["word " * 20_000]))
    assert values["copied_share"] == 1.0


def test_five_thousand_copied_sentences() -> None:
    rng = random.Random(3)
    sentences = [" ".join(f"w{rng.randint(0, 5000)}" for _ in range(15)).capitalize() + "." for _ in range(5000)]
    values = Copying().score(case(" ".join(sentences), "x", [" ".join(sorted(sentences))]))
    assert values["copy8"] == values["verbatim_share"] == values["copied_share"] == 1.0


def test_names_are_the_values_given() -> None:
    metric = Copying()
    assert set(metric.score(case("A.", "A."))) == set(metric.names)

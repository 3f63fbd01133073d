import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.types import Page
from eval.metrics.copying import Copying
from tests.eval.cases import case, page

TEN = "one two three four five six seven eight nine ten"
OTHER = "red blue green black white brown pink grey gold lime"


def test_runs_do_not_join_two_pages_and_nothing_hides_a_copy() -> None:
    values = Copying().score(case(TEN, "x", ["one two three four", "five six seven eight"]))
    assert values["copy8"] == values["copied_share"] == values["verbatim_share"] == 0.0 and values["longest_copy_words"] == 4
    quoted = Copying().score(case(f"“{TEN}.” “{OTHER}.”", "x", [TEN, OTHER]))
    assert (quoted["verbatim_share"], quoted["copied_share"]) == (None, 1.0)
    invisible = "A storm hit the old\u200b town of Lis\u00adbon\u2060 late in the spring."
    values = Copying().score(case(invisible, "x", ["a storm hit the old town of lisbon late in the spring"]))
    assert values["copied_share"] == values["verbatim_share"] == 1.0


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


QUOTED = 'The mayor said: "We lost ten houses in one night of rain."'


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (QUOTED, None),  # three words of its own: nothing to count
        ('"We lost ten houses in one night of rain."', None),
        ("“We lost ten houses in one night of rain.”", None),
        ("“We lost ten houses in one night of rain.", 1.0),  # the mark is never closed
        ("We lost ten houses in one night of rain.", 1.0),
        ("Ten houses.", None),
        ('We lost ten houses in "one night" of rain.', 1.0),  # copied, with marks put in
        ("We lost 10 houses in one night of rain.", 0.0),
        ("We lost ten house", 0.0),  # whole words
    ],
)
def test_verbatim_sentences_outside_quotation_marks(written: str, expected: float | None) -> None:
    assert Copying().score(case(written, "x", [QUOTED]))["verbatim_share"] == expected


def test_leak_is_the_share_of_the_human_article_in_its_worst_page_and_runs_are_shared_with_it_too() -> None:
    pages = [f"{TEN} and more", f"{TEN} {OTHER}", page(f"{TEN} {OTHER} {TEN}", drop_reason="leak_text"), "nothing"]
    assert Copying().score(case("x", f"{TEN} {OTHER}", pages))["leak8"] == 1.0
    assert Copying().score(case("x", f"{TEN} {OTHER}", pages[:1]))["leak8"] == pytest.approx(3 / 13)
    assert Copying().score(case("x", f"{TEN} {OTHER}"))["leak8"] == 0.0
    assert Copying().score(case(f"{TEN} {OTHER}", f"intro {TEN} outro"))["gold_copy8"] == pytest.approx(3 / 13)


def test_a_long_article_of_one_word_against_a_page_of_it() -> None:
    """Every run of the article stands at every place of the page: 400 million pairs, were all of them followed."""
    values = Copying().score(case("word " * 20_000, "x", ["word " * 20_000]))
    assert values["copied_share"] == 1.0

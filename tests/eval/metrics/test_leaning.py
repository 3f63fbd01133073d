import random

import pytest

from eval.metrics.leaning import Leaning, LeaningKind, leaning_kind, leaning_sentences
from tests.eval.cases import case

STORM = "A storm hit the old town."
MAYOR = "Ana Costa was the mayor."


@pytest.mark.parametrize(
    ("sentence", "before", "kind"),
    [
        ("He told reporters that ten houses fell.", "", "pronoun"),
        ("He told reporters that ten houses fell.", STORM, "pronoun"),
        ("She told reporters that ten houses fell.", MAYOR, None),
        ("She told reporters that ten houses fell.", "The driver was hurt.", None),
        ("She told reporters that ten houses fell.", "In 2001 she left the party.", None),
        ("His house fell.", "", "pronoun"),
        ("It caused floods in the valley.", "", "pronoun"),
        ("It caused floods in the valley.", STORM, None),
        ("It was announced that the festival would end.", "", None),
        ("They returned in May 2003.", "", "pronoun"),
        ("This caused floods in the valley.", "", "pronoun"),
        ("This Is Spinal Tap opened in 1984.", "", None),
        ("Her Majesty opened the bridge.", "", None),
        ("The 30-year-old was taken to hospital.", STORM, "description"),
        ("The 30-year-old was taken to hospital.", MAYOR, None),
        ("The 30-year-old bridge over the river fell.", MAYOR, None),
        ("The latter was demolished in 1990.", "", "description"),
        ("The latter was demolished in 1990.", STORM, None),
        ("The former president opened the bridge.", "", None),
        ("The bridge was closed yesterday.", STORM, "relative_time"),
        ("The bridge was closed last week.", STORM, "relative_time"),
        ("The bridge was closed the next year.", STORM, None),
        ("Today the bridge carries two lanes.", STORM, None),
        ("The song “Yesterday” was written in a dream.", STORM, None),
        ("The mayor said: “We lost ten houses yesterday.”", STORM, None),
        ("The bridge was closed on Monday.", STORM, "relative_time"),
        ("The bridge was closed on Monday, 4 May.", STORM, None),
        ("The bridge is listed above.", STORM, "deixis"),
        ("Here is a look at the results.", STORM, "deixis"),
        ("Ana Costa (pictured) was the mayor.", STORM, "deixis"),
        ("As mentioned above, ten houses fell.", STORM, "deixis"),
        ("The bridge rises above the valley.", STORM, None),
        ("", "", None),
    ],
)
def test_what_a_sentence_leans_on(sentence: str, before: str, kind: LeaningKind | None) -> None:
    assert leaning_kind(sentence, before, dated=False) == kind


def test_a_section_begins_anew() -> None:
    text = f"{MAYOR} She opened the bridge.\n==Later years==\nShe left the party."
    assert Leaning().score(case(text, "x"))["leaning_share"] == pytest.approx(1 / 3)


def test_weekdays_belong_to_the_date_of_their_section() -> None:
    text = "The final began on 3 May 2001. It rained. Play went on until Sunday.\n==Later==\nPlay went on until Sunday."
    assert [kind for _, kind in leaning_sentences(case(text, "x"))] == [None, None, None, "relative_time"]


@pytest.mark.parametrize("written", ["", "==History==\n==Damage=="])
def test_an_article_without_sentences_is_unscored(written: str) -> None:
    assert Leaning().score(case(written, "x")) == {"leaning_share": None}


def test_one_sentence_and_other_alphabets() -> None:
    assert Leaning().score(case("He died.", "x")) == {"leaning_share": 1.0}
    assert Leaning().score(case("ضربت عاصفة قوية المدينة القديمة. مات عشرة أشخاص.", "x")) == {"leaning_share": 0.0}


def test_five_thousand_sentences() -> None:
    rng = random.Random(4)
    said = [rng.choice((f"Ana Costa won race {i}.", "He left yesterday.")) for i in range(5000)]
    assert Leaning().score(case(" ".join(said), "x"))["leaning_share"] == said.count("He left yesterday.") / 5000


@pytest.mark.parametrize("unit", ["a", "A ", "“", '"', "He ", "on ", "as mentioned ", "the 3-", "' "])
def test_a_sentence_without_end_is_read(unit: str) -> None:
    """Patterns that try again at each place would take hours for the longest of these."""
    leaning_kind(unit * 20_000, unit * 20_000, dated=False)


def test_names_are_the_values_given() -> None:
    metric = Leaning()
    assert set(metric.score(case("A.", "A."))) == set(metric.names)

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
        ("It caused floods in the valley.", "", "pronoun"),
        ("It caused floods in the valley.", STORM, None),
        ("It was announced that the festival would end.", "", None),
        ("This caused floods in the valley.", "", "pronoun"),
        ("This Is Spinal Tap opened in 1984.", "", None),
        ("The 30-year-old was taken to hospital.", STORM, "description"),
        ("The 30-year-old was taken to hospital.", MAYOR, None),
        ("The 30-year-old bridge over the river fell.", MAYOR, None),
        ("The latter was demolished in 1990.", "", "description"),
        ("The latter was demolished in 1990.", STORM, None),
        ("The bridge was closed yesterday.", STORM, "relative_time"),
        ("The bridge was closed the next year.", STORM, None),
        ("Today the bridge carries two lanes.", STORM, None),
        ("The song “Yesterday” was written in a dream.", STORM, None),
        ("The mayor said: “We lost ten houses yesterday.”", STORM, None),
        ("The bridge was closed on Monday.", STORM, "relative_time"),
        ("The bridge was closed on Monday, 4 May.", STORM, None),
        ("The bridge is listed above.", STORM, "deixis"),
        ("Ana Costa (pictured) was the mayor.", STORM, "deixis"),
        ("As mentioned above, ten houses fell.", STORM, "deixis"),
        ("The bridge rises above the valley.", STORM, None),
        ("", "", None),
    ],
)
def test_what_a_sentence_leans_on(sentence: str, before: str, kind: LeaningKind | None) -> None:
    assert leaning_kind(sentence, before, dated=False) == kind


def test_weekdays_belong_to_the_date_of_their_section() -> None:
    text = "The final began on 3 May 2001. It rained. Play went on until Sunday.\n==Later==\nPlay went on until Sunday."
    assert [kind for _, kind in leaning_sentences(case(text, "x"))] == [None, None, None, "relative_time"]


def test_one_sentence_and_other_alphabets() -> None:
    assert Leaning().score(case("He died.", "x")) == {"leaning_share": 1.0}
    assert Leaning().score(case("ضربت عاصفة قوية المدينة القديمة. مات عشرة أشخاص.", "x")) == {"leaning_share": 0.0}

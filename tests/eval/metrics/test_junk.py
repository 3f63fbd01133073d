import pytest

from eval.clauses import has_finite_verb
from eval.metrics.junk import Junk, JunkKind, junk_kind, junk_kinds
from tests.eval.cases import case


@pytest.mark.parametrize(
    "sentence",
    [
        "A storm hit the old town of Lisbon on 3 May 2001.",
        "Ana Costa served as King James I in the play.",
        "The outbreak of World War I in 1914 ended the project.",
        "The song “Thank You for the Music” was released in 1977.",
        'The mayor said: "We lost everything, and I cannot sleep."',
        "The court ruled that the site's privacy rules were void.",
        "The newspaper was sold to readers who subscribe by post.",
        "The article was retracted by the journal in 2004.",
        "The F1 Academy sponsors three female drivers, and its founder lends her influence.",
        "The tower (built 1902) stands 40 m high.",
        "The species *Formica fusca* lives in Europe.",
        "José Saramago and Łukasz Żal attended the première in Kraków.",
        "The poem opens with “Explose l’ossature creuse d’un pays impossible et le ciel”.",
    ],
)
def test_encyclopedic_sentences_are_no_junk(sentence: str) -> None:
    assert junk_kind(sentence) is None


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Read the review at https://example.org/review today.", "markup"),
        ("function() { return cookies; }", "markup"),
        ("As an AI language model, I do not have the dates.", "chatbot"),
        ("I cannot write about this event.", "chatbot"),
        ("Based on the provided evidence, the storm hit Lisbon.", "chatbot"),
        ("This article provides an overview of the storm.", "about_itself"),
        ('The article "2001 storm" has no section.', "about_itself"),
        ("The sources do not specify who was hurt.", "about_itself"),
        ("Photo: the tower after the storm.", "caption"),
        ("The tower after the storm, 2001 (Photo by Ana Costa).", "caption"),
        ("Ana Costa/Getty Images", "caption"),
        ("By Ana Costa and Rui Lopes", "byline"),
        ("LISBON, Portugal (AP) — The storm that hit the town has killed ten people.", "byline"),
        ("You have 45% of this article left to read.", "furniture"),
        ("We use cookies to improve the site.", "furniture"),
        ("Subscribe to the newsletter.", "furniture"),
        ("© 2001 The Daily Storm.", "furniture"),
        ("Share this on Facebook.", "furniture"),
        ("If the tower is open, you can climb to the top.", "address"),
        ("I think this is the best tower of all.", "address"),
        ("| Rank | Team | Points |", "table"),
        ("1 3 12 44 9 Lisbon", "table"),
        ("Home > News > Weather", "menu"),
        ("NewsSportWeatherTravelVideo", "menu"),
        ("Der Sturm traf die alte Stadt und zerstörte zehn Häuser am Ufer des Flusses.", "language"),
        ("ضربت عاصفة قوية المدينة القديمة ودمرت عشرة بيوت.", "language"),
        ("The stоrm hit the оld tоwn of Lisbоn.", "language"),  # Cyrillic o
        ("Ten Houses Lost in Worst Storm of the Decade.", "headline"),
        ("and left ten houses without a roof.", "fragment"),
        ("The storm left ten houses without a", "fragment"),
        ("The storm left ten houses without a roof ...", "fragment"),
        ("A town in the south.", "no_clause"),
        ("", "fragment"),
    ],
)
def test_junk_by_kind(sentence: str, kind: JunkKind) -> None:
    assert junk_kind(sentence) == kind


@pytest.mark.parametrize(
    ("text", "expected"),
    [("The tower fell", True), ("It's red", True), ("Tower of the South", False), ("the red bed", False), ("", False),
     ("the crew co-wrote it", True), ("Abandoned", False), ("a long walk", False), ("they walk the dog", True)],
)  # fmt: skip
def test_finite_verbs(text: str, expected: bool) -> None:
    assert has_finite_verb(text) is expected


def test_share_and_kinds() -> None:
    written = case("A storm hit Lisbon.[1] Read more. Ten houses fell. Read more.", "x")
    assert Junk().score(written) == {"junk_share": 0.5}
    assert junk_kinds(written) == {None: 2, "furniture": 2}


@pytest.mark.parametrize(
    "unit", ["a", "A ", "a.", "“", "<", "{a", "| ", "(photo ", "_a", "By Ab ", "this article ", "a@", "' "]
)
def test_a_sentence_without_end_is_read(unit: str) -> None:
    """Patterns that try again at each place would take minutes for some of these."""
    junk_kind(unit * 20_000)

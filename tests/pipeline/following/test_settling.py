"""Figures that move: the latest wins wherever the article has an earlier one, and an article does not contradict itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from data.settings import RetrievalSettings
from data.types import Article, Event, Fact, Heading, Page, Repair, Section, Sentence
from pipeline.article_plan import Statement
from pipeline.choosing.one_event import OneEvent
from pipeline.choosing.quantities import quantities
from pipeline.choosing.tolls import Told, latest, whole_tolls
from pipeline.evidence import Evidence
from pipeline.following.changes import Comparison
from pipeline.following.news import NewsSection, with_news
from pipeline.following.settling import contradictions, settled
from pipeline.writing.assembly import WrittenSection
from tests.pipeline.following.test_updating import article_of, joined, record, texts, updated

FIVE = "Five people were killed when a cable car fell near Lenzburgh on Friday."
HOTEL = "The hotel at the upper station was closed for a week."
ROSE = "The death toll rose to eight on Sunday after another victim died in hospital."


@pytest.mark.parametrize(
    ("text", "value", "move"),
    [
        (ROSE, "8", "rose"),
        ("The death toll from Monday's accident has risen to seven after two of the injured died in hospital.", "7", "rose"),
        ("The death toll has risen to seven after two people died in hospital, prosecutors in Lenzburgh said.", "7", "rose"),
        ("The toll was lowered from nine to seven.", "7", "corrected"),
        ("Police corrected the number of dead to six.", "6", "corrected"),
        ("Seven people are now known to have died.", "7", "now"),
        ("The number of missing fell to three.", "3", "fell"),
        ("Five people were killed.", "5", ""),
        ("Two people died in hospital.", None, ""),
        ("Officials had earlier put the toll at five.", None, ""),
        ("The bridge toll rose to 7 euros.", None, ""),
    ],
)  # fmt: skip
def test_what_a_sentence_says_of_a_toll(text: str, value: str | None, move: str) -> None:
    assert [(q.value, q.move) for q in whole_tolls(text)] == ([] if value is None else [(value, move)])
    assert not any("monday" in name for q in quantities(text) for name in q.names)


@pytest.mark.parametrize(
    ("told", "value"),
    [
        ([("Five people were killed.", ""), (ROSE, "")], "8"),
        ([("Nine people were killed.", ""), ("The toll was lowered from nine to seven.", "")], "7"),
        ([("Five people were killed.", "2031-03-04"), ("Six people were killed.", "2031-03-03")], "5"),
        ([("Nine people were missing.", "2031-03-04"), ("The number of missing fell to three.", "2031-03-04")], "3"),
        ([("The toll rose to six.", ""), ("The toll rose to eight.", "")], "8"),
        ([], None),
    ],
)
def test_the_latest_of_several(told: list[tuple[str, str]], value: str | None) -> None:
    assert latest([Told(quantities(text)[0], day) for text, day in told]) == value


@pytest.mark.parametrize(
    "later",
    [
        ROSE,
        "The death toll rose to seven after two people died in hospital, prosecutors in Lenzburgh said.",
        "Police corrected the number of dead to four.",
    ],
)
def test_an_update_before_the_first_sentence_of_a_page(later: str) -> None:
    """The old sentence says what happened, so it stays, and the later count stands behind it; both in their pages' words."""
    then = [record("a", f"{FIVE} {HOTEL}")]
    now = [record("a", f"{later} {FIVE} {HOTEL}")]
    article = replace(article_of(then, [(FIVE, 0)], [(HOTEL, 0)]), title="Lenzburgh cable car accident")
    found = updated(then, now, article)
    told = texts(found.article.lead)
    assert told[0] == FIVE and len(told) == 2 and told[1][:20] == later[:20]
    assert not contradictions(found.article, joined(then, now).pages) and texts(found.article.sections[0]) == [HOTEL]


def test_what_two_towns_count_is_no_former_toll() -> None:
    then = [record("a", "Two people were killed in Aldorf. Five people were killed in Lenzburgh.")]
    page = f"{then[0].text} The death toll rose to seven on Sunday."
    pages = joined(then, [record("a", page)])
    article = article_of(then, [("Two people were killed in Aldorf.", 0)])
    assert Comparison("Storm", pages.pages, pages.revisits).changes(article) == ()


def article(lead: str, *body: str, infobox: tuple[Fact, ...] = ()) -> Article:
    section = Section(Heading("Toll"), (tuple(Sentence(text, ()) for text in body),))
    return Article("1", "Lenzburgh accident", Section(Heading(""), ((Sentence(lead, ()),),)), (section,), infobox, ())


def test_a_finished_article_gives_one_count_everywhere() -> None:
    made = article(
        "Five people were killed in Lenzburgh on the pier.", ROSE, "At least five people died.", "The pier is old.",
        infobox=(Fact("Deaths", "5", ()), Fact("Injured", "5", ())),
    )  # fmt: skip
    found = settled(made)
    assert texts(found.lead) == ["Five people were killed in Lenzburgh on the pier.", ROSE], "what it says more stays"
    assert texts(found.sections[0]) == ["The pier is old."]
    assert [fact.value for fact in found.infobox] == ["8", "5"]
    assert settled(found) == found and not contradictions(found) and contradictions(made)
    assert all(repair.detail.startswith("a later count is 8") for repair in found.repairs)


def test_a_later_sentence_that_says_as_much_takes_the_place_of_the_older_one() -> None:
    made = article("Five people were killed in Lenzburgh.", "Eight people have now died in Lenzburgh.", "The pier is old.")
    found = settled(made)
    assert texts(found.lead) == ["Eight people have now died in Lenzburgh."] and texts(found.sections[0]) == [
        "The pier is old."
    ]
    assert settled(article(HOTEL, "Five people died.", "Eight people have now died.")).sections[0].sentences[0].text == (
        "Eight people have now died."
    )


@pytest.mark.parametrize(
    ("text", "before", "is_own"),
    [
        ("Four people were killed when a bridge fell on a bus.", "", False),
        ("Four people were killed in the flood.", "", True),
        ("The death toll rose to eight.", "", True),
        ("The death toll rose to eight.", "The flood had reached Tolvane at night.", True),
        ("The death toll rose to eight.", "A mine in the south was attacked.", False),
        ("The death toll rose to eight.", "The flood of 1998 was worse.", False),
        ("The death toll rose to eight.", "In another flood, a school was swept away.", False),
        ("Another victim died, and the death toll of the flood rose to eight.", "", True),
        ("Four people were killed by a falling tree in Tolvane.", "", False),
        ("Four people were killed in the flood in Arvik.", "", False),
        ("In 1998, four people were killed by a flood in Tolvane.", "", False),
        ("Every year four people are killed by the flood in Tolvane.", "", False),
    ],
)
def test_whether_a_count_is_of_the_event(text: str, before: str, is_own: bool) -> None:
    page = Page("https://a.example/", "Flood in Tolvane", "The flood hit Tolvane in March 2031.", "url", published="2031-03-04")
    assert OneEvent("2031 Tolvane flood", (page,)).is_counted(text, before) is is_own


def test_counts_of_their_days_and_open_disagreements_stay() -> None:
    days = article("Eight people were killed in Lenzburgh.", "The toll rose to six on Saturday.", ROSE)
    assert settled(days) == days and not contradictions(days)
    disputed = article("Five people were killed in Lenzburgh.", "Six people were killed.")
    assert settled(disputed) == disputed and contradictions(disputed) == ("Six people were killed.",)


@pytest.mark.parametrize(
    "other",
    [
        "In 1998, six people were killed there.",
        "Six people were killed in the first car.",
        "Of the victims, six people were killed in the bus.",
        "Among those, six people were killed.",
        "Six people were killed immediately.",
        "In the village next door, six people were killed.",
        "The death toll was six by Saturday evening.",
        "On Saturday, police said that six people were killed.",
        "Six people were killed, police said on Saturday.",
    ],
)
def test_a_later_count_leaves_those_of_parts_other_events_and_their_days(other: str) -> None:
    rose = "The death toll rose to eight."
    found = settled(article("Five people were killed in Lenzburgh.", other, rose))
    assert texts(found.lead) == ["Five people were killed in Lenzburgh.", rose]
    assert texts(found.sections[0])[0] == other and not contradictions(found)


@pytest.mark.parametrize(
    "other",
    [
        "The death toll among firefighters rose to two.",
        "The death toll on the bus rose to three.",
        "In the second flood the death toll rose to nine.",
        "If nobody else is found, the toll rises to nine.",
        "The government denied that the death toll rose to nine.",
        "The rebels claimed that the death toll rose to nine.",
        "The annual number of people killed on roads rose to nine.",
    ],
)
def test_what_is_no_later_count_of_the_event_settles_nothing(other: str) -> None:
    made = article("Five people were killed in Lenzburgh.", other)
    assert settled(made) == made


def test_a_sentence_that_is_said_already_is_no_news() -> None:
    then = [record("a", HOTEL)]
    made = article_of(then, [(HOTEL, 0)], [(HOTEL, 0)])
    evidence = Evidence.cut(Event("1", "Hotel"), joined(then, then).pages, RetrievalSettings())
    again = Sentence(HOTEL.replace(".", "!"), made.sources[:1] and (made.sources[0].id,))
    gone = Repair("sentence_removed", "Part 1", "It was never there.", "an earlier sentence says the same")
    news = (NewsSection("Part 1", (Statement(HOTEL, again.cites),)),)
    found = with_news(made, evidence, news, lambda plan: [WrittenSection(Section(Heading("Part 1"), ((again,),)), (gone,))])
    assert found.sections == made.sections and found.repairs == ()

"""Figures that move: the latest wins wherever the article has an earlier one, and an article does not contradict itself."""

from __future__ import annotations

import pytest

from data.settings import RetrievalSettings
from data.types import Article, Event, Fact, Heading, Repair, Section, Sentence
from pipeline.article_plan import Statement
from pipeline.choosing.quantities import quantities
from pipeline.choosing.tolls import Told, latest, whole_tolls
from pipeline.evidence import Evidence
from pipeline.following.changes import Comparison
from pipeline.following.disagreements import disagreements
from pipeline.following.news import NewsSection, with_news
from pipeline.following.settling import contradictions, settled, with_toll
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
    ("now", "lead"),
    [
        (f"{ROSE} {FIVE} {HOTEL}", "Eight people were killed when a cable car fell near Lenzburgh on Friday."),
        (
            f"The death toll rose to seven after two people died in hospital, prosecutors in Lenzburgh said. {FIVE} {HOTEL}",
            "Seven people were killed when a cable car fell near Lenzburgh on Friday.",
        ),
        (
            f"Police corrected the number of dead to four. {FIVE} {HOTEL}",
            "Four people were killed when a cable car fell near Lenzburgh on Friday.",
        ),
    ],
)
def test_an_update_before_the_first_sentence_of_a_page(now: str, lead: str) -> None:
    then = [record("a", f"{FIVE} {HOTEL}")]
    article = article_of(then, [(FIVE, 0)], [(HOTEL, 0)])
    found = updated(then, [record("a", now)], article)
    assert texts(found.article.lead)[0] == lead
    assert not any("Five people" in text for text in texts(found.article.lead))
    assert not contradictions(found.article) and texts(found.article.sections[0]) == [HOTEL]


def test_what_two_towns_count_is_no_former_toll() -> None:
    then = [record("a", "Two people were killed in Aldorf. Five people were killed in Lenzburgh.")]
    page = f"{then[0].text} The death toll rose to seven on Sunday."
    pages = joined(then, [record("a", page)])
    article = article_of(then, [("Two people were killed in Aldorf.", 0)])
    assert Comparison("Storm", pages.pages, pages.revisits).changes(article) == ()


def test_two_pages_disagree_although_one_speaks_of_hospital_and_monday() -> None:
    then = [
        record("a", f"Lima flood. {FIVE.replace('a cable car fell', 'the Lima flood came')}"),
        record(
            "b",
            "The death toll from Friday's flood near Lenzburgh has risen to seven after two of the injured died in hospital. "
            "The Lima flood was the worst in Lenzburgh.",
            day="2026-03-05",
        ),
    ]
    article = article_of(then, [("Five people were killed when the Lima flood came near Lenzburgh on Friday.", 0)])
    (found,) = disagreements(article, joined(then, then).pages).found
    assert found.develops and [side.value for side in found.sides] == ["Five people", "seven"]


def article(lead: str, *body: str, infobox: tuple[Fact, ...] = ()) -> Article:
    section = Section(Heading("Toll"), (tuple(Sentence(text, ()) for text in body),))
    return Article("1", "Lenzburgh accident", Section(Heading(""), ((Sentence(lead, ()),),)), (section,), infobox, ())


def test_a_finished_article_gives_one_count_everywhere() -> None:
    made = article(
        "Five people were killed in Lenzburgh.", ROSE, "At least five people died, and the hotel was closed.",
        infobox=(Fact("Deaths", "5", ()), Fact("Injured", "5", ())),
    )  # fmt: skip
    found = settled(made)
    assert texts(found.lead) == ["Eight people were killed in Lenzburgh."]
    assert texts(found.sections[0]) == [ROSE, "At least eight people died, and the hotel was closed."]
    assert [fact.value for fact in found.infobox] == ["eight", "5"]
    assert settled(found) == found and not contradictions(found)
    assert {repair.detail for repair in found.repairs} == {"a later count is 8"}


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
    found = settled(article("Five people were killed in Lenzburgh.", other, "The death toll rose to eight."))
    assert texts(found.lead) == ["Eight people were killed in Lenzburgh."]
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


@pytest.mark.parametrize(
    ("text", "old", "new", "found"),
    [
        ("At least 12 people were killed.", "At least 12 people", "At least 15 people", "At least 15 people were killed."),
        ("Twelve people were killed.", "12 people", "1,400 people", "1,400 people were killed."),
        ("Five people were killed, and five cars burned.", "five people", "eight", None),
        ("The flood cost 12 million crowns.", "12 million crowns", "15 million crowns", "The flood cost 12 million crowns."),
    ],
)
def test_a_count_in_a_sentence(text: str, old: str, new: str, found: str | None) -> None:
    assert with_toll(text, old, new) == found


def test_what_comes_with_a_newer_figure_has_its_day() -> None:
    then = [record("a", f"{FIVE} {HOTEL}")]
    newer = record("b", "Eight people were killed near Lenzburgh, police said on Sunday evening.", day="2026-03-09")
    found = updated(then, [*then, newer], article_of(then, [(FIVE.replace(" when a cable car fell", ""), 0)]))
    told = texts(found.article.lead)
    assert any("8 March 2026" in text for text in told), told
    assert not any("Five people" in text for text in told)


def test_a_sentence_that_is_said_already_is_no_news() -> None:
    then = [record("a", HOTEL)]
    made = article_of(then, [(HOTEL, 0)], [(HOTEL, 0)])
    evidence = Evidence.cut(Event("1", "Hotel"), joined(then, then).pages, RetrievalSettings())
    again = Sentence(HOTEL.replace(".", "!"), made.sources[:1] and (made.sources[0].id,))
    gone = Repair("sentence_removed", "Part 1", "It was never there.", "an earlier sentence says the same")
    news = (NewsSection("Part 1", (Statement(HOTEL, again.cites),)),)
    found = with_news(made, evidence, news, lambda plan: [WrittenSection(Section(Heading("Part 1"), ((again,),)), (gone,))])
    assert found.sections == made.sections and found.repairs == ()


PAIRS = [
    (FIVE, "The death toll rose to six on Saturday. {0}", "six", "Five people"),
    (
        "At least 12 people were killed in the fire in Arvik.",
        "The death toll climbed to 15 after three people died in hospital. {0}",
        "15",
        "12",
    ),
    ("The storm killed nine people in Tolvane.", "Eleven people are now known to have died. {0}", "leven", "nine"),
    (
        "Nine people were killed in the crash near Lenzburgh.",
        "Police lowered the death toll from nine to seven. {0}",
        "seven",
        "Nine",
    ),
    ("Twelve people are missing after the flood in Arvik.", "The number of missing fell to three. {0}", "hree", "Twelve"),
    (
        "Nine people were killed in the crash near Lenzburgh.",
        "Authorities corrected the death toll to eight. {0}",
        "ight",
        "Nine",
    ),
    (
        "Twenty people were injured in the crash near Lenzburgh.",
        "The number of injured was revised to 26. {0}",
        "26",
        "Twenty people",
    ),
    (FIVE, "Eight people were killed when a cable car fell near Lenzburgh on Friday.", "Eight", "Five"),
    (
        "At least 12 people were killed in the fire in Arvik.",
        "At least 15 people were killed in the fire in Arvik.",
        "15",
        "12",
    ),
    ("Five people were killed and 12 were injured near Lenzburgh.", "The number of injured rose to 20. {0}", "20", "12 were"),
    (FIVE, "Two of the injured left hospital on Sunday. {0}", "Five", ""),
    (FIVE, "Two people died in hospital in another accident. {0}", "Five", "Two"),
    (FIVE, "The death toll reached eight on Sunday, officials said. {0}", "ight", "Five"),
    (FIVE, "The death toll now stands at eight. {0}", "ight", "Five"),
    (FIVE, "Eight people have now died. {0}", "ight", "Five"),
]
"""A page's sentence; the page of later, {0} being that sentence; what the lead must have then, and what it may not."""


@pytest.mark.parametrize(("old", "new", "wanted", "gone"), PAIRS)
def test_pairs_of_pages(old: str, new: str, wanted: str, gone: str) -> None:
    then = [record("a", f"{old} {HOTEL}")]
    found = updated(then, [record("a", f"{new.format(old)} {HOTEL}")], article_of(then, [(old, 0)], [(HOTEL, 0)])).article
    lead = " ".join(texts(settled(found).lead))
    assert wanted in lead and not (gone and gone in lead) and not contradictions(settled(found))

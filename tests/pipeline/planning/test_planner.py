"""Plans of small events with hand-made pages."""

from __future__ import annotations

import numpy as np
import pytest

from data.errors import NoEvidence
from data.settings import RetrievalSettings, WritingSettings
from data.types import Event, Page
from pipeline.article_plan import ArticlePlan
from pipeline.choosing.subject import defines
from pipeline.evidence import Evidence
from pipeline.planning import planner
from pipeline.planning.headings import HeadingBank
from pipeline.planning.kinds import KindRecogniser
from pipeline.planning.paragraphs import paragraphs
from pipeline.planning.planner import PlanningBanks, plan_article
from pipeline.planning.section_assignment import cues, own_words
from tests.fakes import FixedEncoder
from tests.pipeline.flood import EVENT, page

ENCODER = FixedEncoder()
RECOGNISER, HEADINGS = KindRecogniser(ENCODER), HeadingBank(ENCODER)
BANKS = PlanningBanks(lambda: RECOGNISER, lambda: HEADINGS, ENCODER)


def planned(*pages: Page, title: str = EVENT.title, **writing: int) -> ArticlePlan:
    evidence = Evidence.cut(Event("1", title), pages, RetrievalSettings(passage_overlap=0))
    return plan_article(evidence, ENCODER, WritingSettings(**writing), BANKS)  # type: ignore[arg-type]


def texts(plan: ArticlePlan) -> list[str]:
    return [s.text for s in (*plan.lead, *(s for section in plan.sections for s in section.statements))]


def test_the_latest_number_of_dead_opening_says() -> None:
    early = page("a", "Flood", "At least 23 people were killed in the Tolvane flood. The river rose for 6 days in Vasterlow.")
    late = page("b", "Flood", "The Tolvane flood killed 14 people, the province said. The levee at Lower Quay broke at night.")
    dated = [Page(**{**{f: getattr(p, f) for f in ("url", "title", "text", "origin")}, "published": day})
             for p, day in ((early, "2031-03-13"), (late, "2031-03-20"))]  # fmt: skip
    plan = planned(*dated)
    assert not any("23" in text for text in texts(plan))
    assert "an older figure" in {one.reason for one in plan.left_out}


def test_a_toll_in_thousands_is_a_number() -> None:
    more = page("late", "Flood", "At least 2 thousand people died in the Tolvane flood of 2031.", published="2031-04-02")
    less = page("soon", "Flood", "At least 1,900 people died in the Tolvane flood of 2031.", published="2031-03-14")
    said = texts(planned(more, less))
    assert any("2 thousand" in text for text in said) and not any("1,900" in text for text in said)


def test_nothing_that_may_be_told_is_no_evidence() -> None:
    junk = page("a", "Flood", "Subscribe to our newsletter now and get all news. " * 12)
    with pytest.raises(NoEvidence, match="could be used in an article"):
        planned(junk)


def test_pages_about_something_else_make_no_article() -> None:
    told = (
        "The mill at Osmere was built in 1821 by the engineer Tomas Lind for the province of Tolvane. "
        "In May 1902 the wheel of the mill was sold to a museum in Vasterlow for 4,000 crowns."
    )
    other = page("a", "Mills of Osmere", told)
    about = page(
        "b", "Kettlin Regatta", "Kettlin Regatta: results and photos. Subscribe to the Kettlin Regatta newsletter now."
    )
    with pytest.raises(NoEvidence, match="about something else"):
        planned(other, about, title="Kettlin Regatta")


def test_one_sentence_is_a_lead() -> None:
    plan = planned(page("a", "Flood", "The Tolvane flood struck the town of Vasterlow on 13 March 2031."))
    assert len(plan.lead) == 1 and not plan.sections


def test_a_lead_has_no_speech() -> None:
    said = (
        "“The Tolvane flood was bad,” said Mayor Irena Holt of Vasterlow on 13 March 2031 beside the levee at Quay, which "
        "had broken at night."
    )
    told = "The Tolvane flood struck the town of Vasterlow on 13 March 2031 and killed 23 people, the province said."
    plan = planned(page("a", "Tolvane flood", f"{said} The ferry of Osmere stopped for six days in March. {told}"))
    assert any(text.startswith("“") for text in texts(plan)), "it is told, and not in the lead"
    assert plan.lead and not any(statement.text.startswith("“") for statement in plan.lead)


def test_hundreds_of_sentences_make_no_longer_an_article() -> None:
    names = ("Arn", "Bel", "Cor", "Dun", "Eld", "Fen", "Gar", "Hol", "Ith", "Jor")
    places = [f"{a}{b.lower()}{c.lower()}" for a in names for b in names for c in names[:1]]
    pages = [
        page(
            f"https://{n}.example/flood",
            f"Tolvane flood in the district of {names[n]}",
            " ".join(
                f"The Tolvane flood damaged {k + n} houses in {place} on 13 March 2031." for k, place in enumerate(places, 2)
            ),
        )
        for n in range(4)
    ]
    plan = planned(*pages, max_words=200)
    assert 0 < sum(len(text.split()) for text in texts(plan)) <= 200
    assert len(texts(plan)) == len(set(texts(plan)))


@pytest.mark.parametrize(
    ("text", "may_be_plot"),
    [
        ("Ana finds the lamps in the harbour.", True),
        ("Ana quietly leaves the harbour with the pilot.", True),
        ("In Osmere 410,000 viewers saw how Ana finds the lamps.", False),
        ("A sequel in which the pilot escapes follows in 2032.", False),
    ],
)
def test_what_is_said_about_a_film_is_not_its_plot(text: str, may_be_plot: bool) -> None:
    assert cues().words["Plot"].search(text)
    assert bool(cues().barred["Plot"].search(text)) is not may_be_plot


@pytest.mark.parametrize(
    ("text", "far"),
    [
        ("Lantern is a film by Ana Ruiz.", 1.0),
        ("Lantern, her second film, was released in May 2031.", 1.0),
        ("Lantern was released in May 2031.", 0.5),
        ("The harbour of Osmere is a place in Marrund.", 0.0),
        ("In most ways the town of Osmere lives by its lantern.", 0.0),
    ],
)
def test_how_far_a_sentence_defines_the_subject(text: str, far: float) -> None:
    assert defines(text, "Lantern (film)") == far


@pytest.mark.parametrize(
    ("chances", "words", "least"),
    [
        ([0.9] * 100, 20, 0.35),  # enough of them fills the article
        ([0.9] * 20 + [0.3] * 20, 20, 0.3),  # there is room: as low as it takes
        ([0.9] * 20 + [0.25] * 10, 20, 0.15),  # all that there is, down to a bound
        ([0.1] * 4, 20, 0.1),  # a few always stay
    ],
)
def test_a_short_article_takes_what_a_long_one_leaves_out(chances: list[float], words: int, least: float) -> None:
    assert planner._least_usable(np.array(chances), [words] * len(chances)) == pytest.approx(least)


def test_a_story_goes_along_with_its_pages() -> None:
    rain = "Rain fell on the hills of Marrund in the night of the storm. "
    pages = (
        page("early", EVENT.title, f"Ferry pilot Jon Abt met Ida Fenn at the quay of Osmere on 3 May 2031. {rain * 30}"),
        page(
            "late", EVENT.title, f"{rain * 3}Smugglers chased Abt over a high bridge and he fled to Kettlin after 9 June 1999."
        ),
    )
    pool = planner.pooled(Evidence.unlapped(EVENT, pages, RetrievalSettings()), FixedEncoder()).pool
    group = [i for i, one in enumerate(pool.offered) if "Abt" in one.text]

    def order(*, tells_story: bool) -> list[str]:
        runs = paragraphs(pool, group, tells_story=tells_story)
        return [pool.offered[i].text for run in runs for i in run]

    assert "fled" in order(tells_story=True)[-1] and "fled" in order(tells_story=False)[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("In the 2031 Tolvane flood at least 14 people were killed.", True),
        ("In the 2031 Tolvane flood at least 15 people were killed.", False),
        ("In Osmere 14 people were killed by the 2031 Tolvane flood.", False),
        ("Fourteen dams and bridges of the province were swept away.", False),
    ],
)
def test_what_the_opening_says_is_not_said_again(text: str, told: bool) -> None:
    opening = "The 2031 Tolvane flood was a flood in Marrund, killing 14 people and damaging the town of Vasterlow."
    (one,) = planner.pooled(
        Evidence.unlapped(EVENT, (page("a", EVENT.title, text),), RetrievalSettings()), FixedEncoder()
    ).pool.offered
    assert planner._opening_says(one.candidate, opening, "2031 Tolvane flood") is told


def test_a_heading_without_a_list_is_told_by_its_rarest_word() -> None:
    texts = ["The first match was short.", "A match in Osmere followed.", "Its first evening with lamps came in 1908."]
    found = own_words("First evening match", texts)
    assert [bool(found.search(text)) for text in texts] == [False, False, True]
    both = own_words("Lamps and harbours", ["The lamp burned.", "The harbour froze.", "A pilot came."])
    assert both.search("Two lamps burned.") and both.search("The harbours froze.") and not both.search("A pilot came.")

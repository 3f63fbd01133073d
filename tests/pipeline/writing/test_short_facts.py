"""What no rewording keeps whole is told in parts: which parts may stand, and what becomes of the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from data.decoding_counts import Usage
from data.stage_types import Unstored
from data.types import Heading, Section, Sentence
from decoding.api import SupportReading
from pipeline.article_plan import ArticlePlan, PlannedSection, Statement
from pipeline.evidence import Evidence
from pipeline.writing.assembly import WrittenSection
from pipeline.writing.drafting import InParts, ShortFacts, Writer
from pipeline.writing.saying import AGAIN, Saying
from pipeline.writing.short_facts import PARTS, _is_statement, in_short_facts, with_short_facts
from tests.fakes import NotingModel
from tests.pipeline.flood import EVENT, PROVINCE, RETRIEVAL, page

NOTE = "Engineers opened the Grell polder at 11:00 on 13 March, which took 21 million cubic metres, and Holt thanked them."
PAGES = (page("ledger.example", "Flood in Tolvane", f"{NOTE} More rain was to come."),)
EVIDENCE = Evidence.unlapped(EVENT, PAGES, RETRIEVAL)
CITE = EVIDENCE.passages[0].id
OPENED = "Engineers opened the Grell polder at 11:00 on 13 March."
TOOK = "The Grell polder took 21 million cubic metres."
SAID = {
    OPENED: "At 11:00 on 13 March the Grell polder was opened by engineers.",
    TOOK: "The polder at Grell held 21 million cubic metres.",
}


def told(
    *parts: str,
    say: Callable[[str], str] = lambda prompt: SAID.get(prompt.removeprefix("Fact: "), prompt.removeprefix("Fact: ")),
    holds: Callable[[Sequence[tuple[str, str]]], list[float]] = lambda pairs: [0.9] * len(pairs),
    note: str = NOTE,
) -> tuple[str, ...]:
    plan = ArticlePlan(EVENT.title, (), (PlannedSection(Heading("Response"), ((Statement(note, (CITE,)),),)),))
    writer = Writer(NotingModel(parts=lambda _: "\n".join(parts), say=say), 0.0, 0, 400)
    saying = Saying(EVIDENCE, plan, writer, None, Unstored())
    short = in_short_facts(EVIDENCE, plan, frozenset((note,)), saying, writer, holds)
    assert short.usage.n_calls >= 1
    (one,) = short.told
    assert one.text == note
    return one.parts


def test_a_saying_that_the_statement_does_not_hold_gives_way_to_its_part() -> None:
    other = "The polder at Grell was opened by engineers at 11:00 on 13 March."
    refused = lambda pairs: [0.1 if part == other else 0.9 for _, part in pairs]  # noqa: E731
    # The part itself copies its page, so that nothing is gained.
    assert told(OPENED, say=lambda _: other, holds=refused) == ()


@pytest.mark.parametrize(
    "part", ["The same happened at Grell.", "They were opened at Grell.", "Opened at 11:00.", "Rain became a factor."]
)
def test_what_cannot_stand_alone_is_no_part(part: str) -> None:
    assert told(OPENED, part) == (SAID[OPENED],)


def test_a_negation_does_not_get_lost() -> None:
    note = "The Grell polder was opened by engineers on 13 March, although Holt had not asked the province for it."
    assert told("The Grell polder was opened by engineers on 13 March.", note=note) == ()


def test_a_list_is_none_of_parts() -> None:
    note = "Irena Holt, Kari Grell, Ana Mirov and Tom Vasterlow helped with the sandbags on the night of 13 March."
    parts = [f"{name} helped with the sandbags." for name in ("Irena Holt", "Kari Grell", "Ana Mirov", "Tom Vasterlow")]
    assert told(*parts, note=note) == ()


def test_parts_stand_in_the_place_of_their_statement_with_its_citations() -> None:
    before, after = Sentence("Rain fell.", (PROVINCE,)), Sentence("Holt spoke.", (PROVINCE,))
    section = WrittenSection(Section(Heading("Response"), ((before, Sentence(NOTE, (CITE,)), after),)), ())
    short = in_parts(NOTE, (SAID[OPENED], TOOK))
    (found,) = with_short_facts([section], short, EVENT.title)
    assert [(s.text, s.cites) for s in found.section.sentences] == [
        ("Rain fell.", (PROVINCE,)),
        (SAID[OPENED], (CITE,)),
        (TOOK, (CITE,)),
        ("Holt spoke.", (PROVINCE,)),
    ]
    assert [(repair.kind, repair.text) for repair in found.repairs] == [("sentence_replaced", NOTE)]
    assert with_short_facts([section], in_parts(NOTE, ()), EVENT.title) == [section]


def test_what_another_sentence_tells_is_not_told_again() -> None:
    other = Sentence("In all the polder at Grell held 21 million cubic metres of water.", (PROVINCE,))
    section = WrittenSection(Section(Heading("Response"), ((other, Sentence(NOTE, (CITE,))),)), ())
    (found,) = with_short_facts([section], in_parts(NOTE, (SAID[OPENED], SAID[TOOK])), EVENT.title)
    assert [s.text for s in found.section.sentences] == [other.text, SAID[OPENED]]
    assert with_short_facts([section], in_parts(NOTE, (SAID[TOOK],)), EVENT.title) == [section]
    assert told(OPENED, "Engineers opened the Grell polder on 13 March.") == (SAID[OPENED],)


def test_what_other_sentences_tell_together_is_not_told_again() -> None:
    others = (
        Sentence("The Tolvane dam burst at noon.", (PROVINCE,)),
        Sentence("Holt, the governor, spoke of it.", (PROVINCE,)),
    )
    section = WrittenSection(Section(Heading("Response"), ((*others, Sentence(NOTE, (CITE,))),)), ())
    (found,) = with_short_facts([section], in_parts(NOTE, ("Governor Holt spoke at noon.", OPENED)), EVENT.title)
    assert [s.text for s in found.section.sentences] == [*(s.text for s in others), OPENED]


def test_a_part_that_copies_goes_and_the_others_stay() -> None:
    assert told(OPENED, "The Grell polder, which took 21 million cubic metres, was opened.") == (SAID[OPENED],)


def in_parts(text: str, parts: tuple[str, ...]) -> ShortFacts:
    return ShortFacts((InParts(text, parts),), Usage())


def test_what_is_said_whole_at_the_second_attempt_is_not_split() -> None:
    asked: list[str] = []

    def say(prompt: str) -> str:
        asked.append(prompt)
        return SAID[OPENED]

    assert told(TOOK, say=say, note=OPENED) == (SAID[OPENED],)
    assert len(asked) == len(AGAIN)


def test_a_tuned_model_tells_parts_in_other_words_at_once_and_a_reader_is_asked_too() -> None:
    plan = ArticlePlan(EVENT.title, (), (PlannedSection(Heading("Response"), ((Statement(NOTE, (CITE,)),),)),))
    parts = (SAID[OPENED], SAID[TOOK], "Holt was thanked by the engineers of the Grell polder.")
    model = TunedModel(parts=lambda _: "\n".join(parts))
    writer = Writer(model, 0.0, 0, 400)
    reader = WordReader({SAID[OPENED]: 0.6, SAID[TOOK]: 0.2, parts[2]: 0.05})
    saying = Saying(EVIDENCE, plan, writer, reader, Unstored())
    asked: list[tuple[str, str]] = []

    def holds(pairs: Sequence[tuple[str, str]]) -> list[float]:
        asked.extend(pairs)
        return [0.9] * len(pairs)

    (one,) = in_short_facts(EVIDENCE, plan, frozenset((NOTE,)), saying, writer, holds, reader).told
    assert one.parts == (SAID[OPENED], SAID[TOOK])
    assert asked == [(NOTE, part) for part in parts] and model.asked == ["parts"], "neither said again nor whole"


class TunedModel(NotingModel):
    tuned = frozenset({PARTS})  # type: ignore[assignment]


class WordReader:
    """What a text supports is given for each claim."""

    name = fingerprint = "words"

    def __init__(self, support: Mapping[str, float]) -> None:
        self._support = support

    def read(self, pairs: Sequence[tuple[str, tuple[str, ...]]], *, within: float = 0.0) -> list[SupportReading | None]:
        return [SupportReading(self._support[claim], ()) for claim, _ in pairs]


@pytest.mark.parametrize(
    ("part", "stands"),
    [
        ("Each gauge shows a slice of the water behind the dam.", True),
        ("Profit became a factor.", False),
        ("The Tolvane flood serves as a starting point.", False),  # what it names is its subject
        ("The Tolvane flood broke the levee at Lower Quay.", True),
        ("The Tolvane flood lasted 4 days.", True),
    ],
)
def test_a_part_names_more_than_its_subject_or_says_much(part: str, stands: bool) -> None:
    assert _is_statement(part, "Tolvane flood") is stands

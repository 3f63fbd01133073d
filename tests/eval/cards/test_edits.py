from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.cards.edit_parts import Context, Edited
from eval.cards.edits import FALSE_EDITS, TRUE_EDITS, edit
from eval.cards.name_edits import exchange_names

PAGE = (
    "Mayor Anna Lind opened the Alder Bridge in Oslo. Bergen and Stavanger sent delegates, and in Malmö the Hart Company "
    "built a second tunnel with Peter Stone."
)
OTHERS = (
    "The council rejected the plan in June because of its cost.",
    "The museum, which opened in 1999, acquired the collection of a local painter.",
)
CONTEXT = Context(PAGE, OTHERS, "The crew left the harbour two days later.")
PROSE = (
    "The ferry Marisol sank near Renko on 14 March 2019 with 1,240 people and two pilots aboard.",
    "Captain Jonas Weller told Tanda Lines in Oslo that he was not to blame, but his crew denied it.",
    "In 2024, the court approved the sale of 12 ships for $3.5 million after a hearing on Monday at 9:40 pm.",
    "The company said that about 300 workers will leave at least 15 of the sites with great care.",
    "Some of the members allegedly sold the largest farm, which was 40 km away, before the war.",
    "Marcus Lane defeated Peter Stone.",
    "The law may be changed in May, according to the ministry.",
    "It lies in the United States, where 35 percent of voters live in Ohio, Texas and Utah.",
    "The tower was built by Marcus Lane in 1931.",
    "Visitors came from Ohio, Texas, and Utah.",
)
TEXTS = st.one_of(
    st.text(max_size=200),
    st.sampled_from(PROSE),
    st.lists(st.sampled_from(" ".join(PROSE).split()), min_size=1, max_size=40).map(" ".join),
    st.lists(
        st.sampled_from(["In", "2019", ",", "March", "12", "was", "not", "at", "least", '"', "(", "said", "that", "."])
    ).map(" ".join),
)


def edits_of(kind: str, text: str, context: Context = CONTEXT) -> set[str]:
    found = (edit(kind, text, random.Random(seed), context) for seed in range(25))
    return {one.text for one in found if one}


def check(one: Edited, kind: str, text: str) -> None:
    assert one.kind == kind
    ends = [0]
    for start, end in one.spans:
        assert ends[-1] <= start < end <= len(one.text)
        ends.append(end)
    assert bool(one.spans) == (kind in FALSE_EDITS)
    assert (one.text == text) == (kind == "verbatim")


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.integers(0, 99), TEXTS)
def test_no_text_is_too_odd_and_spans_lie_inside(text: str, seed: int, page: str) -> None:
    context = Context(page, (page, *OTHERS), page)
    for kind in (*FALSE_EDITS, *TRUE_EDITS):
        one = edit(kind, text, random.Random(seed), context)
        if one is not None:
            check(one, kind, text)
            assert edit(kind, text, random.Random(seed), context) == one


@pytest.mark.parametrize("kind", [*FALSE_EDITS, *TRUE_EDITS])
def test_each_kind_finds_something_to_edit(kind: str) -> None:
    assert any(edits_of(kind, text) for text in PROSE)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("two numbers swapped", "It carried 12 crates and 40 people.", "It carried 40 crates and 12 people."),
        ("pronoun of the other sex", "He gave her his coat himself.", "She gave her her coat herself."),
        ("said to denied", "The mayor said that it would open.", "The mayor denied that it would open."),
        ("future to past", "The bridge is expected to open in May.", "The bridge opened in May."),
        ("hedge dropped", "The man allegedly sold it.", "The man sold it."),
        ("limit changed", "It killed at least 15 people.", "It killed at most 15 people."),
        ("with and without", "They left the house with a dog.", "They left the house without a dog."),
        ("before and after", "It closed before the war.", "It closed after the war."),
        ('"failed to"', "He won the race in Oslo.", "He failed to win the race in Oslo."),
        ('"not" inserted', "He won the race in Oslo.", "He did not win the race in Oslo."),
        ("negation removed", "He did not win the race.", "He won the race."),
        ("negation removed", "There was no evidence of fraud.", "There was some evidence of fraud."),
        ("subject and object exchanged", "Marcus Lane defeated Peter Stone.", "Peter Stone defeated Marcus Lane."),
        ("quantifier changed", "It is one of the largest farms.", "It is the only one of the largest farms."),
        ('"It is false that"', "The war ended in May.", "It is false that the war ended in May."),
        ("words reversed", "He won the long race.", "race long the won He."),
    ],
)
def test_false_edits(kind: str, text: str, expected: str) -> None:
    assert expected in edits_of(kind, text)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("other date form", "It sank on 14 March 2019.", "It sank on March 14, 2019."),
        ("other date form", "It sank on March 14, 2019, in fog.", "It sank on 2019-03-14, in fog."),
        ("other time form", "It sank at 21:40.", "It sank at 9:40 pm."),
        ("other time form", "It sank at 9:40 p.m.", "It sank at 21:40."),
        ("other number form", "It carried 1,200 people.", "It carried 1200 people."),
        ("other number form", "It carried 3.5 million people.", "It carried 3,500,000 people."),
        ("other number form", "It carried twelve sheep and two goats.", "It carried twelve sheep and 2 goats."),
        ("rounded", "The town has 142,300 inhabitants.", "The town has more than 142,000 inhabitants."),
        ("other percent form", "It won 35% of them.", "It won 35 percent of them."),
        ("abbreviation", "It lies in the United States.", "It lies in the US."),
        ("phrase moved", "The ferry sank in 2019.", "In 2019, the ferry sank."),
        ("phrase moved", "In 2019, the ferry sank.", "The ferry sank in 2019."),
        ("clause dropped", "The old ferry was sold in May, which pleased everyone.", "The old ferry was sold in May."),
        ("reporting clause turned", "The mayor said that it sank.", "According to the mayor, it sank."),
        ("reporting clause turned", "It sank, according to the mayor.", "According to the mayor, it sank."),
        ("other voice", "The tower was built by Marcus Lane in 1931.", "Marcus Lane built the tower in 1931."),
        ("sentences joined", "The ferry sank.", "The ferry sank; the crew left the harbour two days later."),
    ],
)
def test_true_edits(kind: str, text: str, expected: str) -> None:
    assert expected in edits_of(kind, text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("clause dropped", "The ferry was not sold in May, which pleased everyone."),  # the denial may cover what is dropped
        ("clause dropped", "In 2019, only two of the ferries were sold."),
        ("two numbers swapped", "It ran from 2010 to 2012."),
        ("two names exchanged", "They met in Oslo, Bergen and Malmö."),
        ("rounded", "It was the only boat of the 142,300 class."),
        ("other time form", "The ratio was 4:57."),  # may be morning or evening
        ("month changed", "They may leave."),
        ("with and without", "It deals with a problem."),
        ("list reordered", "In Oslo, Bergen and Malmö sent delegates."),
        ("abbreviation", "She sits in the United States Senate."),
    ],
)
def test_what_must_not_be_touched(kind: str, text: str) -> None:
    assert edits_of(kind, text) == set()


def test_a_span_covers_what_lost_its_support() -> None:
    def marked(one: Edited | None) -> list[str]:
        assert one is not None
        return [one.text[a:b] for a, b in one.spans]

    assert marked(edit("hedge dropped", "The man allegedly sold it.", random.Random(0), CONTEXT)) == ["sold"]
    one = edit("invented consequence", "The ferry sank.", random.Random(0), CONTEXT)
    assert one is not None and marked(one)[0] in one.text.removeprefix("The ferry sank").strip(" ,.")
    exchanged = exchange_names("He met nobody in Oslo but sold Bergen a boat.", random.Random(0), CONTEXT)
    assert set(marked(exchanged)) == {"Oslo", "Bergen"}

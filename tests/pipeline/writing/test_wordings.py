"""Where a sentence can be said otherwise: its own words stay one of the choices, and no choice changes what it says."""

from __future__ import annotations

import re

import pytest

from pipeline.writing.checks.rewording import compare
from pipeline.writing.wording_limits import limits
from pipeline.writing.wordings import _table, places


def others(sentence: str) -> list[str]:
    return [text.strip() for place in places(sentence) for text in place[1:]]


@pytest.mark.parametrize(
    ("sentence", "other"),
    [
        ("The bridge was built in 1904 and repaired in 1950.", "was constructed"),
        ("Rebels began to leave the town.", "started to"),
        ("The town bought an automobile for the mayor.", "a car"),
        ("The levee broke on March 12, 2031, at night.", "12 March 2031"),
        ("The levee broke on 12 March 2031 at night.", "March 12, 2031"),
        ("The mayor said that the levee had held.", "said"),
        ("The mayor said the levee had held.", "said that"),
        ("Numerous people left the town.", "Many"),
        ("The levee that was built in 1904 broke.", ""),
        ("More than 900 people and around 40 dogs came.", "about"),
        ("The plane crashed near the ferry.", "aircraft"),
        ("The accident occurred at night.", "accident happened"),
        ("The hall is popular with teachers and students in winter.", "students and teachers"),
        ("The town's population was small.", "The population of the town"),
        ("The council was unable to meet.", "could not"),
        ("The lake is frozen, and the mayor isn't here.", "is not"),
    ],
)
def test_wordings(sentence: str, other: str) -> None:
    assert other in others(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "“We began to leave the town in numerous automobiles,” said the mayor.",  # a quotation, and no clause behind "said"
        "The flood struck between 12 and 15 March 2031.",
        "A selected member spoke of the Begun Bridge.",  # a participle before its noun; a name
        "The room was 12:30 and 12.5 metres from the well.",
        "",
    ],
)
def test_what_would_say_something_else_has_no_other_wording(sentence: str) -> None:
    assert not others(sentence)


def test_after_is_following_before_a_noun_alone() -> None:
    assert "following" in others("The talks ended after the election of May.")
    for sentence in (
        "The film ends after the dog, Ana Ruiz and Jon Abt descend.",
        "The talks ended after the levee broke.",
        "Talks ended two days after the vote.",
        "He left after a few years.",
        "The council wanted to name the bridge after the mayor.",
    ):
        assert "following" not in others(sentence)


@pytest.mark.parametrize(
    ("sentence", "other"),
    [
        ("The fair is held in the area centered on the town.", "focused on"),
        ("The story is centered on the town.", "focused on"),
        ("The larger number of votes counts.", "bigger"),
        ("The larger ferry sank.", "bigger"),
        ("The army is relied on by the province.", "depended on"),
        ("The army relied on the province.", "depended on"),
        ("The aid was due to begin in May.", "because of"),
        ("The ferry stopped due to fog.", "because of"),
    ],
)
def test_a_wording_stands_only_where_the_words_beside_it_allow_it(sentence: str, other: str) -> None:
    may = sentence.startswith(("The story", "The larger ferry", "The army relied", "The ferry stopped"))
    assert (other in others(sentence)) is may


def test_every_limit_is_of_a_wording_and_can_be_read() -> None:
    found = {
        (re.split(r" ?\(\?", wording.pattern.pattern.replace("\\.", "."))[0].lower(), wording.other.lower())
        for wordings in _table().values()
        for wording in wordings
    }
    patterns = {("after", "following"), ("said", "said that")}
    assert limits().keys() <= found | patterns


def test_a_number_behind_a_date_is_no_day() -> None:
    assert not [text for text in others("On 20 March 3,150 people were there.") if "March" in text]


def test_a_participle_stays_one() -> None:
    assert others("The pump grabbed by Abt failed.") == ["taken"]  # "took" would make it the one that takes
    assert others("The council grabbed the pump.") == ["took"]  # and here "taken" would be no verb
    assert "begun" not in others("The race started well.")  # a past without an object


def test_the_own_words_joined_are_the_sentence_and_every_choice_says_the_same() -> None:
    for sentence in (
        "After the levee broke, officials said that at least 23 residents were killed near the town of Vasterlow.",
        "In 1913, workers began to construct 11 kilometres of railroad, which was opened by the king on 2 June 1914.",
        "In all, around 40 soldiers and more than 900 others travelled in airplanes in March.",
        "A total of 40 soldiers took part in the rescue, as well as numerous volunteers and nurses.",
    ):
        row = places(sentence)
        assert "".join(place[0] for place in row) == sentence
        for n, place in enumerate(row):
            for text in place[1:]:
                said = "".join(text if m == n else other[0] for m, other in enumerate(row))
                found = compare(said, (sentence,), "")
                assert not found.faults, (said, found.faults)
                assert "  " not in said and " ," not in said and not re.search(r"[a-z]\d", said)

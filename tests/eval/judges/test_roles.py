from __future__ import annotations

from collections.abc import Sequence

import pytest

from data import codec
from decoding.api import SupportReading
from eval.judges.embedded_judge import MODEL_FILE, EmbeddedJudge, EmbeddedModel
from eval.judges.judge import Pair
from eval.judges.other_forms import as_evidence_has_it
from eval.judges.outcomes import turned_round
from eval.judges.roles import acts, exchanged
from eval.judges.roles_judge import RolesJudge

BEAT = "Ilmar Kask beat Joona Saar in the final."
REPLACED = "Karjalainen was replaced by Dingstad, the highest-rated player who had not yet qualified."
SUED = "Harrow Mills sued the city in 2031 over the weir."
STAFF = "The gunman drove to Lark Hall but was confronted by staff and disarmed before fleeing."
ASKED = "In 2020 Radovan privately asked FIDE to postpone the tournament."


@pytest.mark.parametrize(
    ("evidence", "claim"),
    [
        (BEAT, "Ilmar Kask was beaten by Joona Saar."),
        (BEAT, "Joona Saar beat Ilmar Kask in the final."),
        (BEAT, "Ilmar Kask lost 6–4 to Joona Saar."),
        (BEAT, "In the final Joona Saar defeated Ilmar Kask."),
        (REPLACED, "Dingstad was replaced by Karjalainen."),
        (REPLACED, "Karjalainen replaced Dingstad."),
        (SUED, "The city sued Harrow Mills."),
        (SUED, "Harrow Mills was sued by the city."),
        (STAFF, "Staff at Lark Hall were disarmed by the gunman."),
        (ASKED, "FIDE asked Radovan to postpone the tournament."),
    ],
)
def test_exchanged_roles_are_found(evidence: str, claim: str) -> None:
    span = exchanged(claim, ["The weather was fine.", evidence])
    assert span is not None and claim[slice(*span)].isalpha()


@pytest.mark.parametrize(
    ("evidence", "claim"),
    [
        (BEAT, "Joona Saar was beaten by Ilmar Kask."),
        (BEAT, "Joona Saar lost to Ilmar Kask."),
        (BEAT, "Kask defeated Saar."),
        (REPLACED, "Dingstad replaced Karjalainen."),
        (SUED, "The city was sued by Harrow Mills in 2031."),
        (STAFF, "The gunman was disarmed by staff."),
        (ASKED, "FIDE was asked by Radovan to postpone it."),
        (BEAT, "Joona Saar won a prize."),
        ("Kask beat Saar in May, and Saar beat Kask in June.", "Saar beat Kask."),
        ("Oslo and Bergen met in the final.", "Bergen met Oslo in the final."),
        ("", "Saar beat Kask."),
    ],
)
def test_what_is_said_another_way_round_is_no_exchange(evidence: str, claim: str) -> None:
    assert exchanged(claim, [evidence]) is None


def test_acts_of_hostile_text_end() -> None:
    assert len(acts("was beaten by " * 2_000)) == 2_000
    assert acts("") == () and acts("1 2 3") == ()


@pytest.mark.parametrize(
    ("claim", "evidence", "written"),
    [
        ("It began at 9:37 pm in Osmere", "It started at 21:37.", "It began at 21:37 in Osmere"),
        ("Some 110,000 voted for him", "He had 109,204 votes, she 98,310.", "109,204 voted for him"),
        ("He won by 10,894 votes", "He had 109,204 votes, she 98,310.", "He won by 109,204 votes"),
        ("It closed on 2032-05-30", "It closed on 30 May 2032.", "It closed on 30 May 2032"),
        ("A quarter of a million came", "About 250,000 came.", "250,000 came"),
        ("It began at 9:37 am", "It started at 21:37.", "It began at 9:37 am"),
        ("He won by 10,895 votes", "He had 109,204 votes, she 98,310.", "He won by 10,895 votes"),
        ("She stayed 14 years", "She came in 1990 and left in 2006.", "She stayed 14 years"),
        ("Some 150,000 voted for him", "He had 109,204 votes.", "Some 150,000 voted for him"),
        ("It was built in about 1855", "It was built in 1890.", "It was built in about 1855"),
        ("It cost just under 10 million", "It cost more than 10 million.", "It cost just under 10 million"),
        ("He had 207 votes", "He had 1,000 votes in 1793 and 2,000 in 2000.", "He had 207 votes"),
    ],
)
def test_values_are_written_as_the_evidence_has_them(claim: str, evidence: str, written: str) -> None:
    assert as_evidence_has_it(claim, [evidence]) == written


def test_outcomes_that_are_turned_round() -> None:
    suit = ["The court dismissed the suit in 2031."]
    claim = "The suit was upheld by the court."
    span = turned_round(claim, suit, suit)
    assert span is not None and claim[slice(*span)] == "upheld"
    assert turned_round("The suit was dismissed.", suit, suit) is None
    assert turned_round("The suit was not upheld.", suit, suit) is None
    assert turned_round(claim, suit, [*suit, "It upheld the appeal."]) is None
    board = ["The board voted 14 to 9 against the plan."]
    assert turned_round("The board voted 14 to 9 in favour of the plan.", board, board) is not None


class Silent:
    """A network without an opinion."""

    name = "silent"

    def __init__(self) -> None:
        self.fingerprint = codec.read(EmbeddedModel, MODEL_FILE).reader

    def read(self, pairs: Sequence[tuple[str, tuple[str, ...]]], *, within: float = 0.0) -> list[SupportReading | None]:
        return [None for _ in pairs]


def test_the_judge_adds_to_the_default_one() -> None:
    inner = EmbeddedJudge(Silent())
    judge = RolesJudge(inner)
    assert judge.threshold == inner.threshold and inner.revision in judge.revision and judge.name == "roles"
    wrong, right = Pair((BEAT,), "Joona Saar beat Ilmar Kask in the final."), Pair((BEAT,), "Ilmar Kask beat Joona Saar.")
    late = Pair(("The match eventually started at 21:37 in Osmere.",), "The match started in Osmere at 9:37 pm.")
    nothing = Pair((), "Ilmar Kask beat Joona Saar.")
    scores = judge.score([wrong, right, late, nothing])
    assert [score >= judge.threshold for score in scores] == [False, True, True, False]
    assert scores[1] == inner.score([right])[0] and scores[3] == 0.0
    assert judge.score([late]) == [scores[2]]  # alone as among others
    assert judge.score([]) == []

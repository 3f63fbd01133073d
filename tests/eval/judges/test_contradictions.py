from __future__ import annotations

import pytest

from eval.judges.contradictions import compare
from eval.judges.features import analyse_claim, gather
from eval.judges.judge import Pair
from eval.judges.lexemes import lexemes
from eval.judges.lexical_judge import LexicalJudge
from eval.judges.vetoes import Finding, examine


@pytest.fixture(scope="module")
def judge() -> LexicalJudge:
    return LexicalJudge()


def found(claim: str, premise: str) -> set[tuple[str, str]]:
    evidence = gather(analyse_claim(claim), (premise,), lambda stem: 1.0)
    return {(one.kind, claim[one.span[0] : one.span[1]]) for one in compare(evidence).differences}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("on 30/05/2032", "on 30 May 2032"),
        ("on 2032-05-30", "on May 30th, 2032"),
        ("at 9:40 pm", "at 21:40"),
        ("1.2 million people", "1,200,000 people"),
        ("twenty-five dogs", "25 dogs"),
        ("35 per cent", "35%"),
        ("$5", "5 dollars"),
        ("in the United States", "in the US"),
    ],
)
def test_other_forms_have_the_same_keys(a: str, b: str) -> None:
    assert [one.key for one in lexemes(a)] == [one.key for one in lexemes(b)]


@pytest.mark.parametrize(
    ("claim", "premise"),
    [
        ("The old bridge opened near Oslo on 30/05/2032.", "The old bridge opened near Oslo on 30 May 2032."),
        ("The meeting of the council began at 9:40 pm.", "The meeting of the council began at 21:40."),
        ("The small town has more than 140,000 inhabitants.", "The small town has 142,300 inhabitants."),
        ("The old ferry sank because of a damaged hull.", "The old ferry sank due to a damaged hull."),
        ("The old ferry sank near Oslo.", "The old ferry sank near Oslo, where it had been built."),
    ],
)
def test_the_same_in_another_form_is_accepted(judge: LexicalJudge, claim: str, premise: str) -> None:
    assert found(claim, premise) == set()
    assert judge.score([Pair((premise,), claim)])[0] >= judge.threshold


@pytest.mark.parametrize(
    ("claim", "premise", "kind", "words"),
    [
        ("The man sold the stolen car in May.", "The man allegedly sold the stolen car in May.", "hedge", "sold"),
        ("She left the old house in May.", "He left the old house in May.", "sex", "She"),
        ("The road to the coast is 40 miles long.", "The road to the coast is 40 km long.", "unit", "40 miles"),
        ("The new bridge opened in Oslo in May.", "The new bridge will open in Oslo in May.", "tense", "opened"),
        ("The fire killed at most 15 people in Oslo.", "The fire killed at least 15 people in Oslo.", "limit", "at most 15"),
        ("The school closed its doors before the long war.", "The school closed its doors after the long war.", "relation", "before"),  # noqa: E501
        ("The minister denied that the old road would close.", "The minister said that the old road would close.", "word", "denied"),  # noqa: E501
        ("It is false that the old bridge opened in May.", "The old bridge opened in May.", "word", "false"),
        ("The ship carried 12 crates and then 40 people.", "The ship carried 40 crates and then 12 people.", "number", "12"),
        ("The fire destroyed the old mill, ruining two farmers.", "The fire destroyed the old mill.", "word", "ruining"),
        ("Oslo in bridge new the opened mayor the.", "The mayor opened the new bridge in Oslo.", "order", "Oslo in bridge new the opened mayor the"),  # noqa: E501
    ],
)  # fmt: skip
def test_a_difference_has_its_kind_and_its_words(judge: LexicalJudge, claim: str, premise: str, kind: str, words: str) -> None:
    assert any(one == kind and words in text for one, text in found(claim, premise))
    assert judge.score([Pair((premise,), claim)])[0] < judge.threshold


# ---- contraries in paraphrases: what no sentence says, where the closest one says the opposite or has another value

WEIGHT = LexicalJudge().weight
EVIDENCE = (
    "Listeners praised the emotional depth of the album when it was issued by Gamma Records on 26 September 2025 for "
    "$12 million. "
    "For six years the studio in Lower Velm had worked on it, and Mara Oduya sang after her illness. "
    "The council voted on Sunday that the old harbour should stay."
)


def examined(claim: str) -> Finding:
    return examine(gather(analyse_claim(claim), (EVIDENCE,), WEIGHT))


@pytest.mark.parametrize(
    "claim",
    [
        "In September 2025 Gamma Records issued an album whose emotional depth was praised by listeners.",
        "After her illness Mara Oduya sang on an album that took the studio six years.",
        "It was on Sunday that the council decided about the old harbour.",
    ],
)
def test_a_true_paraphrase_has_no_contrary(claim: str) -> None:
    assert examined(claim).reason is None


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("In September 2025 Gamma Records issued an album whose emotional depth was criticized by listeners.", "substitution"),
        ("In September 2025 Gamma Records supposedly issued an album whose emotional depth listeners praised.", "hedge"),
        ("In September 2025 Gamma Records failed to issue an album whose emotional depth listeners praised.", "negation"),
        ("Gamma Records had issued an album with depth for $12 thousand when listeners praised it.", "number"),
        ("The studio in Lower Velm spent six hours of work on the album, which listeners praised.", "unit"),
        ("Before an illness Mara Oduya sang on an album that took the studio six years.", "relation"),
        ("After his illness Mara Oduya sang on an album that took the studio six years.", "sex"),
        ("It was on Saturday that the council decided about the old harbour.", "number"),
    ],
)
def test_a_contrary_is_a_reason(claim: str, reason: str) -> None:
    assert examined(claim).reason == reason


@pytest.mark.parametrize(
    ("claim", "word", "original"),
    [
        ("The harbour was completely rebuilt by the council in May 1987.", "completely", "entirely"),
        ("Finished in 1987, the harbour has a reputation for calm water.", "Finished", "Completed"),
        ("Soldiers were banned from the harbour during the strike of 1987.", "banned", "prohibited"),
    ],
)
def test_words_that_stand_for_each_other_are_no_alteration(claim: str, word: str, original: str) -> None:
    finding = examine(gather(analyse_claim(claim), (claim.replace(word, original),), WEIGHT))
    assert finding.reason is None and finding.repeats

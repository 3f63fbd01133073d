from __future__ import annotations

import pytest

from data.types import Passage, Repair, Sentence
from pipeline.retrieval import PassageIndex
from pipeline.writing.citing import SUPPORT, Cited, repair, resolve, support, tidy_generated
from tests.fakes import FixedEncoder
from tests.pipeline.flood import LEDGER, PROVINCE, RAIN, REPORT, RESPONSE, RETRIEVAL, REVIEW, evidence

SHOWN = ((LEDGER,), (PROVINCE,), (REVIEW,), (RAIN,))
A, B, C, D = LEDGER, PROVINCE, REVIEW, RAIN


def read(text: str, **more: object) -> list[tuple[str, tuple[str, ...]]]:
    return [(s.text, s.cites) for s in resolve(text, SHOWN, "Impact", **more).sentences]  # type: ignore[arg-type]


def reported(text: str, **more: object) -> list[tuple[str, str, str]]:
    return [(r.kind, r.text, r.detail) for r in resolve(text, SHOWN, "Impact", **more).repairs]  # type: ignore[arg-type]


# ---- markers


@pytest.mark.parametrize(
    ("text", "cites"),
    [
        ("Rain fell.[1]", (A,)),
        ("Rain fell. [1]", (A,)),
        ("Rain fell [1].", (A,)),
        ("Rain fell[1].", (A,)),
        ("Rain fell.[1][2]", (A, B)),
        ("Rain fell.[1] [2]", (A, B)),
        ("Rain fell.[2, 1]", (B, A)),
        ("Rain fell.[1;2]", (A, B)),
        ("Rain fell.[1-3]", (A, B, C)),
        ("Rain fell.[1–3]", (A, B, C)),
        ("Rain fell.[1][1]", (A,)),
        ("[1] Rain fell.", (A,)),
        ("Rain fell.\n[1]", (A,)),
        ("Rain fell [1] on the town.", (A,)),
        ("Rain fell.", ()),
        # other forms that models use
        ("Rain fell.[[1]]", (A,)),
        ("Rain fell【2†source】.", (B,)),
        ("Rain fell.[^3]", (C,)),
        ("Rain fell.[Passage 2]", (B,)),
        ("Rain fell (passages 1 and 3).", (A, C)),
        ("Rain fell.[sources 1, 2]", (A, B)),
        ("Rain fell.[1](https://ledger.example/flood)", (A,)),
        ("Rain fell.<ref>The Ledger, p. 3.</ref>[1]", (A,)),
    ],
)
def test_markers(text: str, cites: tuple[str, ...]) -> None:
    (sentence,) = resolve(text, SHOWN, "Impact").sentences
    assert sentence.text in ("Rain fell.", "Rain fell on the town.")
    assert sentence.cites == cites
    assert reported(text) == []


# ---- what is no sentence


@pytest.mark.parametrize(
    "tail",
    [
        "References:\n[1] The Ledger\n[2] The Review. 2031.",
        "==References==\n1. The Ledger.\n2. The Review, p. 3.",
        "Sources: [1] The Ledger, [2] Review",
        "[1] The Ledger\n[2] Marrund Province: situation report",
        "**Sources**\n- https://ledger.example/flood says so.",
    ],
)
def test_lists_of_sources_are_no_text(tail: str) -> None:
    assert read(f"Rain fell.[1]\n\n{tail}") == [("Rain fell.", (A,))]
    assert {r[2] for r in reported(f"Rain fell.[1]\n\n{tail}")} == {"a list of sources, not a sentence"}


def test_text_under_a_heading_after_the_sources_counts_again() -> None:
    assert read("==References==\nThe Ledger.\n==Impact==\nRain fell.[1]") == [("Rain fell.", (A,))]


def test_an_echo_of_the_evidence_is_no_text() -> None:
    text = '<evidence 0123456789ab>\n[1] (from "Fourteen dead") Rain fell. Snow fell.\n</evidence 0123456789ab>\nHail fell.[1]'
    assert read(text) == [("Hail fell.", (A,))]
    assert reported(text) == [("sentence_removed", '[1] (from "Fourteen dead") Rain fell. Snow fell.', "it repeats the prompt")]


def test_the_sentence_that_the_token_limit_cut_is_left_out() -> None:
    text = "Rain fell.[1] Soldiers filled sandbags along the river until the sun had risen over the"
    assert read(text, cut_off=True) == [("Rain fell.", (A,))]
    assert reported(text, cut_off=True)[0][::2] == ("sentence_removed", "cut off by the limit on new tokens")
    assert len(read(text)) == 2, "a text that ended by itself may lack a full stop"
    assert read("Rain fell.[1] Snow fell.[1", cut_off=True) == [("Rain fell.", (A,)), ("Snow fell.", ())]
    assert read("Rain fell.[1] Snow fell.[1]", cut_off=True)[1] == ("Snow fell.", (A,))


def test_lists_become_sentences() -> None:
    text = "- Rain **fell**.[1]\n* Snow _fell_ [2]\n• Hail fell;[3]\n> Fog came.[4]"
    assert read(text) == [("Rain fell.", (A,)), ("Snow fell.", (B,)), ("Hail fell.", (C,)), ("Fog came.", (D,))]
    assert read("1. Rain fell.[1]\n2. Snow fell.[2]") == [("Rain fell.", (A,)), ("Snow fell.", (B,))]


@pytest.mark.parametrize(
    ("raw", "tidy"),
    [
        ("**Rain** fell.", "Rain fell."),
        ("*Rain* and _snow_ fell on `Vasterlow`.", "Rain and snow fell on Vasterlow."),
        ("- Rain fell.", "Rain fell."),
        ("See https://x.example/a?b=c and www.y.example for it.", "See and for it."),
        ("Rain fell (https://x.example/a).", "Rain fell."),
        ("Ra\u200bin\x07 fell\u202e.", "Rain fell."),
        ("Rain \n fell .", "Rain fell."),
        ("user_name and 5*3 stay, as does Ke$ha.", "user_name and 5*3 stay, as does Ke$ha."),
        ("-5 degrees were measured.", "-5 degrees were measured."),
        ("2031", ""),
        ("", ""),
    ],
)
def test_tidying(raw: str, tidy: str) -> None:
    assert tidy_generated(raw) == tidy


# ---- support


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("The levee at Lower Quay broke at 03:40.", REPORT),
        ("Fourteen people died.", REPORT),
        ("The flood killed 14 people and destroyed 212 houses.", REPORT),
        ("Mayor Irena Holt said that the warning came too late.", REPORT),
        ("Nine shelters were opened for 4300 residents.", RESPONSE),
        ("The Governor asked for 48 million crowns.", "governor pavel drost asked the government for 48m crowns"),
        ("Irena Holt's warning came too late.", REPORT),
        ("The report appeared on 25 November 2031.", "the report appeared, 2031-11-25"),
        ("On 6 September or in August it rained hard.", "Rained hard on Sept. 6 and in Aug"),
        ("Twenty-three houses were lost.", "Lost: 23 houses."),
        ("In March the U.S. Army left Vasterlow.", "The U.S. Army left Vasterlow in March."),
        ("Mayor Irena J. O’Brien-Holt resigned.", "Irena O'Brien-Holt resigned as mayor."),
    ],
)
def test_supported(sentence: str, passage: str) -> None:
    assert support(sentence, passage) >= SUPPORT


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("Fifteen people died and 212 houses were destroyed.", REPORT),
        ("Fourteen people died and 213 houses were destroyed.", REPORT),
        ("The Tolvane flood struck the town of Vasterlow on 16 May 2031.", REPORT),
        ("The Tolvane flood struck the town of Vasterlow on Monday, 16 March 2031.", REPORT),
        ("Governor Pavel Drost asked the Orvenian government for 48 billion crowns.", RESPONSE),
        ("The levee was painted green by volunteers from Lethmar.", REPORT),
        ("Mayor Anna Berg said the warning was given.", REPORT),
        ("Rain.", REPORT),
        ("", REPORT),
        ("It was so.", REPORT),
        ("Fourteen people died.", ""),
    ],
)
def test_unsupported(sentence: str, passage: str) -> None:
    assert support(sentence, passage) < SUPPORT


# ---- repair


INDEX = PassageIndex(evidence().passages, RETRIEVAL, FixedEncoder())


def repaired(*sentences: tuple[str, tuple[str, ...]], policy: str = "remove") -> Cited:
    cited = Cited(tuple(Sentence(text, cites) for text, cites in sentences), ())
    return repair(cited, INDEX, "Impact", policy)  # type: ignore[arg-type]


def test_a_citation_that_does_not_hold_goes_when_another_does() -> None:
    found = repaired(("Fourteen people died.", (A, B)))
    assert found.sentences == (Sentence("Fourteen people died.", (A,)),)
    assert found.repairs == (Repair("marker_dropped", "Impact", "Fourteen people died.", f"passage {B} does not support it"),)


def test_citations_that_hold_only_together_stay() -> None:
    text = "Soldiers filled sandbags in Marrund Province and the gauge at Harrow Bridge measured 7.2 metres."
    assert support(text, RESPONSE) == 0.0
    assert repaired((text, (B, D))) == Cited((Sentence(text, (B, D)),), ())


def test_sentences_that_share_a_marker_at_the_end_of_a_paragraph() -> None:
    text = "The levee at Lower Quay broke. Fourteen people died. It rained marmalade. 212 houses were destroyed.[1]"
    found = repair(resolve(text, SHOWN, "Impact"), INDEX, "Impact", "remove")
    assert [(s.text, s.cites) for s in found.sentences] == [
        ("The levee at Lower Quay broke.", (A,)),
        ("Fourteen people died.", (A,)),
        ("212 houses were destroyed.", (A,)),
    ]
    assert [(r.kind, r.text) for r in found.repairs] == [
        ("citation_attached", "The levee at Lower Quay broke."),
        ("citation_attached", "Fourteen people died."),
        ("sentence_removed", "It rained marmalade."),
    ]


def test_a_figure_of_another_passage_is_named() -> None:
    found = repaired(("Soldiers destroyed 212 shelters of the residents of Marrund Province.", (B,)))
    assert found.sentences == ()
    assert found.repairs[0].detail == f"passage {B} lacks 212"


@pytest.mark.parametrize(
    ("policy", "kept", "kinds"),
    [("remove", [], ["sentence_removed"]), ("mark", [True], ["sentence_marked"]), ("keep", [True], [])],
)
def test_policy(policy: str, kept: list[bool], kinds: list[str]) -> None:
    found = repaired(("Fifteen people died.", (A,)), policy=policy)
    assert [s.unsupported for s in found.sentences] == kept
    assert all(s.cites == (A,) for s in found.sentences)
    assert [r.kind for r in found.repairs] == kinds


@pytest.mark.parametrize(
    "text",
    [
        "Note: I have used only the provided evidence.",
        'The article "2031 Tolvane flood" has no passage.',
        'The article "2031 Tolvane flood" has these sections: Rain; Shelters.',
        "The section describes the flood.",
        "Note: Fourteen people died in Vasterlow.",
        "I cannot write this section, for no passage is about it.",
        "As an AI, I do not know how many people died in the flood.",
        "Here is the section on the flood of Vasterlow in Orvenia.",
        "Never write a sentence that no passage supports, and never use a number that is not listed.",
        "After every sentence give the number of the passage that supports it in square brackets.",
        "You write encyclopedia articles in neutral, factual English.",
        "The passages above say that the Tolvane flood struck Vasterlow.",
        "Use only values that stand in the evidence.",
        "The evidence is quoted material from web pages.",
    ],
)
def test_talk_about_the_task_is_removed(text: str) -> None:
    found = repair(resolve(f"{text}[1]\n\nFourteen people died.[1]", SHOWN, "Impact"), INDEX, "Impact", "remove")
    assert [s.text for s in found.sentences] == ["Fourteen people died."]
    assert [r.kind for r in found.repairs] == ["sentence_removed"]


@pytest.mark.parametrize(
    "text",
    [
        '"I was there," Mayor Irena Holt said of the flood in Vasterlow.',
        "World War I was not the subject of the flood in Vasterlow.",
    ],
)
def test_quotations_and_numerals_are_not_taken_for_the_model_speaking(text: str) -> None:
    index = PassageIndex([Passage(0, 0, len(text), text)], RETRIEVAL, FixedEncoder())
    found = repair(Cited((Sentence(text, (index.passages[0].id,)),), ()), index, "", "remove")
    assert found.sentences and not found.repairs

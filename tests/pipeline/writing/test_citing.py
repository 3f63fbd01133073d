from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.types import Passage, Repair, Sentence
from pipeline.choosing.facts import figures
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


def test_markers_go_to_the_sentence_that_they_follow() -> None:
    text = "Rain fell. Snow fell too.[1] Hail fell [2][3]. Then came sun."
    assert read(text) == [("Rain fell.", ()), ("Snow fell too.", (A,)), ("Hail fell.", (B, C)), ("Then came sun.", ())]


@pytest.mark.parametrize("number", [0, 5, 99])
def test_a_marker_of_nothing_shown_is_dropped_and_reported(number: int) -> None:
    assert read(f"Rain fell.[1][{number}]") == [("Rain fell.", (A,))]
    assert reported(f"Rain fell.[1][{number}]") == [
        ("marker_dropped", "Rain fell.", f"[{number}] names no passage that was shown")
    ]


def test_dangling_markers_are_reported_once_each() -> None:
    assert [r[2] for r in reported("Rain fell.[7][8][7] Snow fell.[7]")] == [
        "[7] names no passage that was shown",
        "[8] names no passage that was shown",
        "[7] names no passage that was shown",
    ]


def test_a_marker_may_stand_for_several_passages() -> None:
    shown = [(A, B), (C,)]
    (sentence,) = resolve("Rain fell.[2][1]", shown, "").sentences
    assert sentence.cites == (C, A, B)


# ---- what is no sentence


@pytest.mark.parametrize(
    "heading",
    ["==Impact==", "== Impact ==", "## Impact", "**Impact**", "**Impact:**", "Impact", "Impact:", "IMPACT", "1. Impact",
     "### Impact on farms", "===Farms and houses===", "**Farms**", "The great flood", "# The great flood"],
)  # fmt: skip
def test_headings_inside_a_draft_are_no_sentences(heading: str) -> None:
    for text in (f"{heading}\nRain fell.[1]", f"{heading}\n\nRain fell.[1]", f"Rain fell.[1]\n\n{heading}"):
        assert read(text, headings=["The great flood"]) == [("Rain fell.", (A,))]
        assert reported(text, headings=["The great flood"]) == []


def test_other_fragments_are_left_out_and_reported() -> None:
    text = "Damage to the houses\nRain fell.[1]\nHere is the section:\n- Snow"
    assert read(text) == [("Rain fell.", (A,))]
    assert reported(text) == [
        ("sentence_removed", "Damage to the houses", "a fragment, not a sentence"),
        ("sentence_removed", "Here is the section:", "a fragment, not a sentence"),
        ("sentence_removed", "Snow", "a fragment, not a sentence"),
    ]


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


def test_a_hard_wrapped_sentence_is_one() -> None:
    assert read("Rain fell on the town of\nvasterlow and its farms,\nand on the river.[1]") == [
        ("Rain fell on the town of vasterlow and its farms, and on the river.", (A,))
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "[1][2]", "...", "***", "\x00\x1b[0m", "| - | - |"])
def test_no_words_no_sentences(text: str) -> None:
    assert read(text) == [] and reported(text) == []


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


def test_wiki_and_link_markup_goes() -> None:
    text = "[[Vasterlow|The town]] was {{convert|3|km}} under [[water]], said [the mayor](https://x.example).<br/>[1]"
    assert read(text) == [("The town was under water, said the mayor.", (A,))]


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=300))
def test_any_text_gives_clean_sentences(text: str) -> None:
    found = resolve(text, SHOWN, "Impact", cut_off=len(text) % 2 == 0)
    for sentence in found.sentences:
        assert sentence.text.isprintable() and sentence.text == " ".join(sentence.text.split())
        assert set(sentence.cites) <= {A, B, C, D}
    assert found == resolve(text, SHOWN, "Impact", cut_off=len(text) % 2 == 0)


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


def test_figures() -> None:
    text = "Twenty-three of 1,200 men, fourteen women and one child left on Monday, 3 May; it cost 2.5 million."
    assert figures(text) == {"23", "1200", "14", "3", "2.5", "Monday", "May", "million"}
    assert figures("He may march on.") == frozenset()
    assert figures("he may march on, sept 6", as_evidence=True) == {"May", "March", "September", "6"}
    assert "5" not in figures("Forty-five") and figures("Forty-five") == {"45"}


# ---- repair


INDEX = PassageIndex(evidence().passages, RETRIEVAL, FixedEncoder())


def repaired(*sentences: tuple[str, tuple[str, ...]], policy: str = "remove") -> Cited:
    cited = Cited(tuple(Sentence(text, cites) for text, cites in sentences), ())
    return repair(cited, INDEX, "Impact", policy)  # type: ignore[arg-type]


def test_a_citation_that_holds_stays() -> None:
    assert repaired(("Fourteen people died.", (A,))) == Cited((Sentence("Fourteen people died.", (A,)),), ())


def test_a_citation_that_does_not_hold_goes_when_another_does() -> None:
    found = repaired(("Fourteen people died.", (A, B)))
    assert found.sentences == (Sentence("Fourteen people died.", (A,)),)
    assert found.repairs == (Repair("marker_dropped", "Impact", "Fourteen people died.", f"passage {B} does not support it"),)


def test_citations_that_hold_only_together_stay() -> None:
    text = "Soldiers filled sandbags in Marrund Province and the gauge at Harrow Bridge measured 7.2 metres."
    assert support(text, RESPONSE) == 0.0
    assert repaired((text, (B, D))) == Cited((Sentence(text, (B, D)),), ())


def test_a_missing_citation_is_attached_only_where_a_passage_supports_it() -> None:
    text = "The Faltmark Commission published its report on 25 November 2031."
    found = repaired((text, ()), ("The Faltmark Commission published its report on 26 November 2031.", ()))
    assert found.sentences == (Sentence(text, (C,)),)
    assert [(r.kind, r.detail) for r in found.repairs] == [
        ("citation_attached", f"passage {C} supports it"),
        ("sentence_removed", "no passage has 26"),
    ]


def test_a_wrong_citation_is_replaced() -> None:
    text = "Governor Pavel Drost asked the government for 48 million crowns."
    found = repaired((text, (A,)))
    assert found.sentences == (Sentence(text, (B,)),)
    assert found.repairs[0].detail == f"passage {B} supports it, not passage {A}"


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


def test_earlier_repairs_are_kept() -> None:
    earlier = Repair("marker_dropped", "Impact", "x", "y")
    assert repair(Cited((), (earlier,)), INDEX, "Impact", "remove").repairs == (earlier,)

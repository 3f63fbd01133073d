from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from data.sentences import split_sentences, split_spans

PIECES = [
    "The fire", " broke out", ".", "!", "?", " ", "\n", "\t", "Dr.", " Ms.", "No. 4", "[1]", "[2, 3]", "[4–6]", '"', "”", "(",
    ")", "U.S.", " e.g.", "3.5", "at 6 a.m.", "…", "—", "é", "\u00a0", "\u2028", "\x85", "\u200b", "\r", "火事。", "a", "A",
]  # fmt: skip
texts = st.one_of(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.text(max_size=60))


@given(texts)
@example("a\x1fb. C")
def test_no_character_is_lost_and_offsets_are_true(text: str) -> None:
    spans = split_spans(text)
    at = 0
    for start, end in spans:
        assert at <= start < end <= len(text)
        assert text[at:start].strip() == ""  # what lies between sentences is white space
        assert text[start:end] == text[start:end].strip()
        assert "\n" not in text[start:end]
        at = end
    assert text[at:].strip() == ""
    assert split_sentences(text) == [text[start:end] for start, end in spans]


@given(texts, texts)
def test_a_newline_ends_a_sentence_whatever_comes_before(a: str, b: str) -> None:
    assert split_sentences(f"{a}\n{b}") == split_sentences(a) + split_sentences(b)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        (" \n\t\n ", []),
        ("Twelve died. Forty were hurt.", ["Twelve died.", "Forty were hurt."]),
        ("Who? Nobody knows! It burned.", ["Who?", "Nobody knows!", "It burned."]),
        ("Ms. Lee met Dr. Ray at St. Mary. He left.", ["Ms. Lee met Dr. Ray at St. Mary.", "He left."]),
        ("It hit, cf. Smith, at No. 4. Nobody saw it.", ["It hit, cf. Smith, at No. 4.", "Nobody saw it."]),
        ("Edited by Ray, ed. by Lee. Done.", ["Edited by Ray, ed. by Lee.", "Done."]),
        ("Twelve died. [1] [2] Forty were hurt.", ["Twelve died. [1] [2]", "Forty were hurt."]),
        ("Twelve died.[1, 2][3–5] Forty were hurt.", ["Twelve died.[1, 2][3–5]", "Forty were hurt."]),
    ],
)
def test_boundaries(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences

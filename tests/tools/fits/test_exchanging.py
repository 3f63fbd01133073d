"""Sentences with phrases exchanged or moved, by hand-made parses: no parser is needed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from data.errors import UserError
from tools.fits import exchanging
from tools.fits.exchanging import Parsed, Phrase, Word, exchanged, fronted


def parsed(text: str, *phrases: tuple[int, int, int]) -> Parsed:
    """Words as `text/KIND/role/head[/ENTITY]`."""
    words = []
    for token in text.split():
        plain, kind, role, head, *entity = token.split("/")
        words.append(Word(plain, " ", kind, role, int(head), "".join(entity)))
    return Parsed(tuple(words), tuple(Phrase(*one) for one in phrases))


BEAT = parsed("The/DET/det/1 union/NOUN/nsubj/2 beat/VERB/ROOT/2 Kari/PROPN/compound/4 Holm/PROPN/dobj/2 ./PUNCT/punct/2",
              (0, 2, 1), (3, 5, 4))  # fmt: skip
LISTED = parsed("Mara/PROPN/nsubj/3 and/CCONJ/cc/0 Kari/PROPN/conj/0 left/VERB/ROOT/3 ./PUNCT/punct/3", (0, 1, 0), (2, 3, 2))
COUNTED = parsed(
    "Mara/PROPN/nsubj/1 hired/VERB/ROOT/1 40/NUM/nummod/3 people/NOUN/dobj/1 ./PUNCT/punct/1", (0, 1, 0), (2, 4, 3)
)
LEARNED = parsed(
    "She/PRON/nsubj/1 learned/VERB/ROOT/1 of/ADP/prep/1 deaths/NOUN/pobj/2 in/ADP/prep/3 the/DET/det/6 flood/NOUN/pobj/4 "
    "./PUNCT/punct/1"
)
LEFT = parsed("She/PRON/nsubj/1 left/VERB/ROOT/1 in/ADP/prep/1 early/ADJ/amod/4 May/PROPN/pobj/2 ./PUNCT/punct/1")


@pytest.mark.parametrize(
    ("one", "found"),
    [(BEAT, ["Kari Holm beat the union."]), (LISTED, []), (COUNTED, []), (LEFT, [])],
    ids=["two phrases", "of a list", "a count and a person", "one phrase"],
)
def test_two_phrases_are_exchanged_unless_that_would_change_nothing_or_read_as_nonsense(one: Parsed, found: list[str]) -> None:
    assert exchanged(one, random.Random(1)) == found


def test_a_phrase_of_the_verb_may_open_the_sentence_and_one_of_a_noun_may_not() -> None:
    assert fronted(LEFT) == [("In early May, she left.", True)]
    assert fronted(LEARNED) == [("In the flood, she learned of deaths.", False)]
    assert fronted(parsed("She/PRON/nsubj/1 left/VERB/ROOT/1 early/ADV/advmod/1 ./PUNCT/punct/1")) == []


def test_the_examples_go_both_ways_and_have_more_wrong_than_right_at_most() -> None:
    of = {"The union beat Kari Holm.": BEAT, "She left in early May.": LEFT}
    found = exchanging.examples([("The union beat Kari Holm.", "She left in early May.")], of.__getitem__, random.Random(1))
    right = {(one.claim, one.evidence[0]) for one in found if one.supported}
    wrong = {(one.claim, one.evidence[0]) for one in found if not one.supported}
    assert ("In early May, she left.", "The union beat Kari Holm.") in right and len(right) == 4
    assert wrong == {("Kari Holm beat the union.", text) for text in of}


def test_without_a_parser_the_command_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "spacy", None)
    with pytest.raises(UserError, match="pip install spacy"):
        exchanging.parser(tmp_path)

"""The lists in their file, and as parts of regular expressions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from pipeline.choosing import word_lists
from pipeline.choosing.word_lists import either, words_of

LISTS = tomllib.loads(Path(word_lists.__file__).with_name("word_lists.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", LISTS)
def test_every_list_is_a_part_of_a_regular_expression(name: str) -> None:
    assert LISTS[name] and all(entry.strip() for entry in LISTS[name]), "an empty entry would be found everywhere"
    whole = re.compile(either(name))
    assert not re.search(r"<\w+>", whole.pattern) and not whole.fullmatch("")


def test_an_entry_may_name_another_list() -> None:
    assert "The <study_nouns>(?= <study_verbs>\\b)" in LISTS["leaning"]
    found = re.match(either("leaning"), "The researchers found that nobody was hurt.")
    assert found is None, "no verb of the list follows"
    found = re.match(either("leaning"), "The researchers showed that nobody was hurt.")
    assert found is not None and found[0] == "The researchers"


def test_words_of_several_lists_are_one_set() -> None:
    assert words_of("study_nouns", "study_verbs") == {*LISTS["study_nouns"], *LISTS["study_verbs"]}

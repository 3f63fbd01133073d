"""`Rephrase`: a copy of the sources has its price, and nothing else has."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from decoding.api import Rephrase
from decoding.grounding.rephrase import RephraseRule
from decoding.models.loading import LoadedModel, load
from tests.tiny_model import build_tiny_model

FACT = "The Tolvane River Authority opened the Hesk Dam at 14:30 on 12 March 2031, and 1,400 people left Vasterlow."
OTHER = "Larrow Bridge fell in 1987 and 2031 was the year of the new one, which 93 people saw."
REPHRASE = Rephrase((FACT,), copy_words=4, copy_penalty=3.0)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder: Path = tmp_path_factory.mktemp("tiny")
    return load(str(build_tiny_model(folder, chat_template=False, vocab_from=[FACT, OTHER] * 9, layers=1)), device="cpu")


def test_a_copy_costs_and_a_name_does_not(loaded: LoadedModel) -> None:
    rule = RephraseRule(REPHRASE, loaded.tokenizer, 0, loaded.eos_ids)
    zero = torch.zeros(len(loaded.tokenizer))

    def price(before: str, word: str) -> float:
        ids = loaded.tokenizer(before, add_special_tokens=False).input_ids
        first = loaded.tokenizer(word, add_special_tokens=False).input_ids[0]
        return -float(rule(ids, zero)[first])

    assert price("opened the Hesk Dam at 14:30 on 12 March 2031, and 1,400 people left", " Vasterlow") == 0
    assert price("people", " left") == 0, "a word alone is no copy"
    assert price("Officials said the Hesk Dam at 14:30 on 12 March 2031, and 1,400 people", " left") == 3.0


def test_copying_may_be_all_that_costs(loaded: LoadedModel) -> None:
    rule = RephraseRule(REPHRASE, loaded.tokenizer, 0, loaded.eos_ids)
    logits = torch.randn(len(loaded.tokenizer), generator=torch.Generator().manual_seed(3))

    def ids(text: str) -> list[int]:
        found: list[int] = loaded.tokenizer(text, add_special_tokens=False).input_ids
        return found

    for text in (
        "",
        "Larrow",
        "In 19",
        "opened",
        "One. Two. Three. Four.",
        "- a list\n- of [lines]",
        "the the the the the the",
    ):
        assert torch.equal(rule(ids(text), logits), logits), text
    before = ids("Officials said the Hesk Dam at 14:30 on 12 March 2031, and 1,400 people")
    changed = (rule(before, logits) != logits).nonzero().flatten().tolist()
    assert ids(" left")[0] in changed
    assert all("left".startswith(loaded.tokenizer.decode([token]).strip()) for token in changed)
    assert torch.allclose(rule(before, logits)[changed], logits[changed] - 3.0)


def test_an_answer_may_have_to_open_with_another_word(loaded: LoadedModel) -> None:
    rule = RephraseRule(Rephrase((FACT,), not_first=("The", "Larrow")), loaded.tokenizer, 0, loaded.eos_ids)
    zero = torch.zeros(len(loaded.tokenizer))

    def first(word: str) -> int:
        return int(loaded.tokenizer(word, add_special_tokens=False).input_ids[0])

    opened = rule([], zero)
    assert {float(opened[first(word)]) for word in ("The", "Larrow")} == {float("-inf")}
    assert float(opened[first("Vasterlow")]) == 0.0
    assert torch.equal(rule([first("Vasterlow")], zero), zero), "only the first word"


def test_it_may_have_to_open_otherwise_than_in_the_likeliest_ways(loaded: LoadedModel) -> None:
    def first(word: str) -> int:
        return int(loaded.tokenizer(word, add_special_tokens=False).input_ids[0])

    logits = torch.zeros(len(loaded.tokenizer))
    for word, value in (("The", 9.0), ("Larrow", 8.0), ("Vasterlow", 7.0), ("Officials", 6.0)):
        logits[first(word)] = value
    found = []
    for passed in range(3):
        rule = RephraseRule(Rephrase((FACT,), not_first=("The",), passed=passed), loaded.tokenizer, 0, loaded.eos_ids)
        found.append(int(rule([], logits).argmax()))
        assert torch.equal(rule([first("Vasterlow")], logits), logits), "only the first word"
    assert found == [first(word) for word in ("Larrow", "Vasterlow", "Officials")]

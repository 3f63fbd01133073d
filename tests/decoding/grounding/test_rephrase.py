"""`Rephrase`: whatever the logits want, names and numbers come from the sources, and the answer is a few whole sentences."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from decoding.api import Rephrase
from decoding.grounding.rephrase import RephraseRule
from decoding.models.loading import LoadedModel, load
from tests.tiny_model import build_tiny_model

FACT = "The Tolvane River Authority opened the Hesk Dam at 14:30 on 12 March 2031, and 1,400 people left Vasterlow."
OTHER = "Larrow Bridge fell in 1987 and 2031 was the year of the new one, which 93 people saw."
REPHRASE = Rephrase((FACT,), ("2031 Tolvane flood",), copy_words=4, copy_penalty=3.0)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder: Path = tmp_path_factory.mktemp("tiny")
    return load(str(build_tiny_model(folder, chat_template=False, vocab_from=[FACT, OTHER] * 9, layers=1)), device="cpu")


def written(loaded: LoadedModel, seed: int, rephrase: Rephrase = REPHRASE, n: int = 90) -> str:
    """What random logits write under the rule."""
    rule = RephraseRule(rephrase, loaded.tokenizer, 0, loaded.eos_ids)
    generator = torch.Generator().manual_seed(seed)
    answer: list[int] = []
    for _ in range(n):
        logits = rule(answer, torch.randn(len(loaded.tokenizer), generator=generator) * 4)
        token = int(logits.argmax())
        if token in loaded.eos_ids:
            break
        answer.append(token)
    text: str = loaded.tokenizer.decode(answer, clean_up_tokenization_spaces=False)
    return text


@pytest.mark.parametrize("seed", range(12))
def test_numbers_and_names_are_those_of_the_sources(loaded: LoadedModel, seed: int) -> None:
    text = written(loaded, seed)
    known = f"{FACT} {REPHRASE.allowed[0]}"
    held = set(re.findall(r"\d+", known))
    closed = text[: text.rstrip().rfind(" ") + 1]  # the last word may have been cut off
    assert set(re.findall(r"\d+", closed)) <= held, text
    inside = re.findall(r"(?<=[a-z,] )[A-Z][A-Za-z]+(?=[ ,.])", closed)
    assert set(inside) <= set(re.findall(r"[A-Z][a-z]+", known)), text
    assert not re.search(r"[\[\]<>{}|*#\n]", text)


def test_it_ends_behind_a_sentence_and_after_so_many(loaded: LoadedModel) -> None:
    ended = 0
    for seed in range(8):
        text = written(loaded, seed, replace(REPHRASE, max_sentences=2), n=300)
        ended += bool(re.search(r"[.!?][\"”’')]*\Z", text))
        assert len(re.findall(r"[.!?][\"”’')]*(?=\s+[A-Z\d\"“(])", text)) <= 1
    assert ended


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
    free = replace(REPHRASE, only_known_names=False, max_sentences=0)
    rule = RephraseRule(free, loaded.tokenizer, 0, loaded.eos_ids)
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

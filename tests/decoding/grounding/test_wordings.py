"""`Wordings`: whatever the logits want, the answer is one of the forms; what is certain is forced."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from data.errors import UserError
from decoding.api import Wordings
from decoding.grounding.wordings import WordingsRule
from decoding.models.loading import LoadedModel, load
from tests.tiny_model import build_tiny_model

OWN = (
    ("The",),
    (" dam",),
    (" began", " started"),
    (" to", ""),
    (" leak",),
    (" on",),
    (" 12 March 2031", " March 12, 2031"),
    (".",),
)
OTHER = (
    ("On",),
    (" 12 March 2031", " March 12, 2031"),
    (",",),
    (" the",),
    (" dam",),
    (" began", " started"),
    (" leaking",),
    (".",),
)
WORDINGS = Wordings((OWN, OTHER), copy_words=2, copy_penalty=5.0)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder: Path = tmp_path_factory.mktemp("tiny")
    texts = ["".join(place[0] for place in form) for form in (OWN, OTHER)]
    return load(str(build_tiny_model(folder, chat_template=False, vocab_from=texts * 9, layers=1)), device="cpu")


def all_texts(wordings: Wordings) -> set[str]:
    found = set()
    for form in wordings.forms:
        texts = [""]
        for place in form:
            texts = [text + other for text in texts for other in place]
        found |= set(texts)
    return found


def written(loaded: LoadedModel, seed: int, *, force: bool) -> str:
    rule = WordingsRule(WORDINGS, loaded.tokenizer, 0, loaded.eos_ids)
    generator = torch.Generator().manual_seed(seed)
    answer: list[int] = []
    while not answer or answer[-1] not in loaded.eos_ids:
        forced = list(rule.forced(answer, 9)) if force else []
        if forced:
            assert all(
                rule(answer + forced[:n], torch.zeros(len(loaded.tokenizer))).argmax() == forced[n] for n in range(len(forced))
            )
        answer += forced or [int(rule(answer, torch.randn(len(loaded.tokenizer), generator=generator) * 4).argmax())]
        assert len(answer) < 200
    text: str = loaded.tokenizer.decode(answer[:-1], clean_up_tokenization_spaces=False)
    return text


@pytest.mark.parametrize("seed", range(10))
def test_only_the_forms_can_be_written(loaded: LoadedModel, seed: int) -> None:
    assert written(loaded, seed, force=False) in all_texts(WORDINGS)
    assert written(loaded, seed, force=True) in all_texts(WORDINGS)


def test_all_forms_and_wordings_come_about(loaded: LoadedModel) -> None:
    texts = {written(loaded, seed, force=True) for seed in range(60)}
    for part in ("The dam", "On ", "began", "started", "to leak", "dam started leak", "March 12", "12 March"):
        assert any(part in text for text in texts), part


def test_what_the_source_says_costs_behind_a_copy_only(loaded: LoadedModel) -> None:
    rule = WordingsRule(WORDINGS, loaded.tokenizer, 0, loaded.eos_ids)
    zero = torch.zeros(len(loaded.tokenizer))

    def price(before: str, word: str) -> float:
        ids = loaded.tokenizer(before, add_special_tokens=False).input_ids
        return -float(rule(ids, zero)[loaded.tokenizer(word, add_special_tokens=False).input_ids[0]])

    assert price("", "The") == 5.0 and price("", "On") == 0.0
    assert price("The dam", " started") == 0.0 and price("The dam started to leak on", " 12 March 2031") == 5.0


def test_a_prefix_of_no_form_can_only_end(loaded: LoadedModel) -> None:
    rule = WordingsRule(WORDINGS, loaded.tokenizer, 0, loaded.eos_ids)
    ids = loaded.tokenizer(" dam dam", add_special_tokens=False).input_ids
    assert set(rule._possible(tuple(ids))) == set(loaded.eos_ids)


@pytest.mark.parametrize("forms", [(), ((),), (((),),)])
def test_wordings_of_nothing_are_refused(loaded: LoadedModel, forms: tuple[tuple[tuple[str, ...], ...], ...]) -> None:
    with pytest.raises(UserError, match="give at least the sentence itself"):
        WordingsRule(Wordings(forms), loaded.tokenizer, 0, loaded.eos_ids)
    with pytest.raises(UserError, match="eos_token_id"):
        WordingsRule(WORDINGS, loaded.tokenizer, 0, ())

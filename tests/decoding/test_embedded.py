"""The model that ships: small, whole, loadable by path with plain transformers, and able to do what its card says."""

from __future__ import annotations

import re

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from data import codec
from decoding.api import Item, Message, Offer, SamplingParams, chosen
from decoding.embedded import CALIBRATION_FOLDER, FIGURES, MODEL_FOLDER, prompt
from decoding.embedded.prompt import CitedPassage
from decoding.engine import Engine
from decoding.local import LocalGenerator
from decoding.models import LoadedModel, load
from decoding.training.release import Figures

PASSAGES = (
    CitedPassage(1, ("The Vell overflowed at Karsund on 12 March 2031.", "About 4,100 people left their homes.")),
    CitedPassage(2, ("Governor Lena Harksen declared a state of emergency.",)),
    CitedPassage(3, ("The museum sells tickets for the tour.", "The bridge was rebuilt in 1974.")),
)
SENTENCES = tuple((sentence, passage.number) for passage in PASSAGES for sentence in passage.sentences)


@pytest.fixture(scope="module")
def figures() -> Figures:
    return codec.read(Figures, MODEL_FOLDER / FIGURES)


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return load(str(MODEL_FOLDER), device="cpu")


def test_it_is_what_it_says(figures: Figures) -> None:
    model = AutoModelForCausalLM.from_pretrained(MODEL_FOLDER)
    tokenizer = AutoTokenizer.from_pretrained(MODEL_FOLDER)
    assert model.dtype == torch.bfloat16 and sum(p.numel() for p in model.parameters()) == figures.n_parameters
    assert model.config.num_hidden_layers >= 14 and model.config.max_position_embeddings >= 2048
    assert len(tokenizer) == model.config.vocab_size
    assert sum(path.stat().st_size for path in MODEL_FOLDER.iterdir()) < 40e6
    assert figures.form == prompt.FORM, "the model was trained on another form of prompts: train it anew"
    card = (MODEL_FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"{figures.scores.text_bits_per_byte:.3f}" in card
    assert all(source in card and licence in card for source, licence, _ in figures.sources)
    assert not any("wikigenben" in source.lower() for source, _, _ in figures.sources)


def test_it_has_read_english(loaded: LoadedModel) -> None:
    def bits_per_byte(text: str) -> float:
        ids = loaded.tokenizer(text, return_tensors="pt").input_ids
        with torch.no_grad():
            return float(loaded.model(ids, labels=ids).loss) * (ids.shape[1] - 1) / 0.6931 / len(text.encode())

    assert bits_per_byte("The government of the country was formed after the war, and the president was elected in 1948.") < 2
    assert bits_per_byte("Qzv xkjw pfft ugg blorb snark wibble frotz, and zxcv the qwerty asdf hjkl in 1948.") > 2.5


def test_it_is_asked_as_a_document(loaded: LoadedModel) -> None:
    generator = LocalGenerator(loaded)
    asked = prompt.section("2031 Karsund flood", PASSAGES, "Impact")
    assert generator.prompt_form == "document" and generator.grounds
    ids = generator.prompt_ids([Message("user", asked)])
    assert ids[0] == loaded.tokenizer.bos_token_id and loaded.tokenizer.decode(ids[1:]) == asked


def test_it_writes_a_section_of_the_offered_sentences(loaded: LoadedModel) -> None:
    generator = LocalGenerator(loaded, Engine(loaded, "auto").decode)
    offer = Offer(tuple(Item(text, f" [{number}]") for text, number in SENTENCES), least=2, most=3)
    asked = Message("user", prompt.section("2031 Karsund flood", PASSAGES, "Impact"))
    answer = generator.generate([asked], SamplingParams(max_new_tokens=200, task="section", grounding=offer))
    reading = chosen(offer, answer.text)
    assert 2 <= len(reading.items) <= 3 and not reading.rest and answer.stop == "end"
    verify = answer.stats.n_verify
    assert verify is not None and 3 * verify <= answer.n_new_tokens


def test_it_copies_and_cites_freely(loaded: LoadedModel) -> None:
    """Begun with a sentence's first words, it goes on with that sentence; nothing forces it."""
    generator = LocalGenerator(loaded, Engine(loaded, "auto").decode)
    right = 0
    for sentence, _ in SENTENCES:
        words = sentence.split(" ")
        asked = prompt.section("2031 Karsund flood", PASSAGES, "Impact", " ".join(words[:4]))
        answer = generator.generate([Message("user", asked)], SamplingParams(max_new_tokens=24)).text
        right += re.sub(r"\s*\[.*", "", answer, flags=re.S).strip() == " ".join(words[4:])
    assert right >= 3


@pytest.mark.skipif(not CALIBRATION_FOLDER.is_dir(), reason="no calibration ships")
def test_its_calibration_is_its_own(loaded: LoadedModel) -> None:
    from decoding.knn.artefact import Calibration

    calibration = Calibration.load(CALIBRATION_FOLDER, loaded)
    assert calibration.meta.identity.n_layers == loaded.model.config.num_hidden_layers

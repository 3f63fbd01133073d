"""The network that says which heading a sentence stands under: its vectors, its weights on disk, and its training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from data.errors import UserError
from decoding.filing import heading_network
from decoding.filing.heading_encoder import LARGE_WEIGHTS, HeadingEncoder, LargeHeadingEncoder
from decoding.filing.heading_network import PAD, fresh_large_network, fresh_network
from decoding.filing.training import Headed, Recipe, accuracy, train
from decoding.models.adapters import load_trained, save_trained, trained
from decoding.support.verifier import BEHIND, END, START, UNKNOWN

PLACES = ("Marrund", "Grell", "Harrow", "Osmere", "Kettlin")
FLOOD = Headed(
    "Tolvane flood",
    (
        ("Blue", tuple(f"Rain had fallen on the river {name} for six days." for name in PLACES)),
        ("Green", tuple(f"The mayor of {name} promised money to the farmers." for name in PLACES)),
    ),
)


@pytest.fixture(scope="module")
def encoder() -> HeadingEncoder:
    return HeadingEncoder()


def test_vectors_are_of_unit_length_and_in_order(encoder: HeadingEncoder) -> None:
    texts = ["Reception", "The levee broke at night. " * 40, "Plot", ""]
    vectors = encoder.encode(texts)
    assert vectors.shape == (4, 384) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)
    for text, vector in zip(texts, vectors, strict=True):
        assert np.allclose(encoder.encode([text])[0], vector, atol=1e-3)
    assert encoder.encode([]).shape == (0, 384)


@pytest.mark.parametrize(
    ("sentence", "heading"),
    [
        ("Critics praised the film for the way in which it tells the story of the ferry pilot.", "Reception"),
        ("Jonas finds the map, leaves the island at night and is killed by the pilot.", "Plot"),
        ("Principal photography began in Osmere in May 2031 and ended in July.", "Production"),
        ("It opened in 1,200 theatres on 3 October 2031 and was put on a streaming service in December.", "Release"),
    ],
)
def test_a_sentence_is_nearest_to_the_heading_that_it_stands_under(
    encoder: HeadingEncoder, sentence: str, heading: str
) -> None:
    headings = ["Plot", "Production", "Release", "Reception"]
    cosines = encoder.encode([sentence]) @ encoder.encode(headings).T
    assert headings[int(cosines.argmax())] == heading


@pytest.mark.slow
def test_training_learns_what_it_is_shown() -> None:
    """Headings that say nothing, so that only the loop can have taught them; far more steps than sentences, so that no rounding
    decides it."""
    network = fresh_network(seed=1)
    losses: list[float] = []
    train(network, [FLOOD], Recipe(epochs=16, rate=3e-3, threads=1), lambda done, of, loss: losses.append(loss))
    assert len(losses) == 16 and losses[-1] < 0.7 * losses[0]
    assert accuracy(network, [FLOOD]) == 1.0


def test_weights_come_back_as_they_were_saved(tmp_path: Path) -> None:
    first, second, again = fresh_network(seed=1), fresh_network(seed=2), tmp_path / "again.safetensors"
    path = tmp_path / "filing.safetensors"
    save_trained(first, path, {"seed": "1"})
    load_trained(second, path, again="")
    save_trained(second, again, {"seed": "1"})
    assert path.read_bytes() == again.read_bytes()
    assert HeadingEncoder(path).name == HeadingEncoder(again).name != HeadingEncoder().name


@pytest.mark.parametrize("content", [b"", b"no safetensors", None])
def test_unusable_weights_are_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "filing.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=r"filing\.safetensors.*tools\.fits\.fit_filing"):
        HeadingEncoder(path)


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    path, other = tmp_path / "filing.safetensors", fresh_network(seed=0)
    next(iter(trained(other).values())).requires_grad_(False)
    save_trained(other, path, {})
    with pytest.raises(UserError, match="another network"):
        HeadingEncoder(path)


def test_the_large_one_reads_the_word_pieces_of_its_own_numbers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With random weights of its shape: the released ones are fetched."""
    from transformers import MPNetConfig, MPNetModel

    def tiny(_: object) -> MPNetModel:
        torch.manual_seed(0)
        shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
        return MPNetModel(MPNetConfig(vocab_size=30527, max_position_embeddings=514, **shape), add_pooling_layer=False).eval()

    monkeypatch.setattr(heading_network, "mpnet", tiny)
    monkeypatch.setattr(heading_network, "checked_file", lambda _: None)
    monkeypatch.setattr("decoding.models.registry.checked_file", lambda _: None)
    network = fresh_large_network(seed=0)
    assert network._numbered([101, 7592, 100, 102, 0]) == [START, 7592 + BEHIND, UNKNOWN, END, PAD]
    path = tmp_path / "filing-mpnet.safetensors"
    save_trained(network, path, {})
    encoder = LargeHeadingEncoder(path)
    vectors = encoder.encode(["Reception", "The levee broke at night.", ""])
    assert vectors.shape == (3, 32) and np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)
    assert np.allclose(LargeHeadingEncoder(path).encode(["Reception"])[0], vectors[0], atol=1e-4), "padding is not read"
    monkeypatch.setattr(heading_network, "mpnet", lambda _: pytest.fail("these were read before"))
    assert np.array_equal(encoder.encode(["", "Reception", ""]), vectors[[2, 0, 2]]) and len(encoder.encode([])) == 0
    monkeypatch.setattr(heading_network, "mpnet", tiny)
    with pytest.raises(UserError, match="weights of another network"):
        LargeHeadingEncoder(LARGE_WEIGHTS).encode(["Reception"])

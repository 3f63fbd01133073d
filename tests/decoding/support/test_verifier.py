"""The network that reads what writers wrote, of a tiny size: its input, its file, its training, and how it reads."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from data.errors import UserError
from decoding.api import SupportExample
from decoding.models.adapters import save_trained, trained
from decoding.support import verifier
from decoding.support.encoding import collate
from decoding.support.reader import StatementReader
from decoding.support.training import Recipe, train
from decoding.support.verifier import END, START, UNKNOWN, StatementEncoder, fresh_network, load_network, mpnet

CLAIM = "The council approved a budget of 12 million dollars."
EVIDENCE = ("A budget of 12 million dollars was approved by the council.", "The mayor was absent.")


@pytest.fixture(scope="module")
def encoder() -> StatementEncoder:
    return StatementEncoder()


@pytest.fixture(autouse=True)
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An encoder of two narrow layers, in the form of the real one, in its place."""
    from safetensors.torch import save_file
    from transformers import MPNetConfig, MPNetModel

    shape = {**verifier.SHAPE, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    monkeypatch.setattr(verifier, "SHAPE", shape)
    torch.manual_seed(0)
    path = tmp_path / "mpnet.safetensors"
    save_file(MPNetModel(MPNetConfig(**shape)).state_dict(), str(path))  # with a pooler, as the real one has
    monkeypatch.setattr(verifier, "checked_file", lambda model: path)
    return path


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    network = fresh_network(seed=3)
    torch.manual_seed(5)
    with torch.no_grad():
        for value in trained(network).values():
            value.add_(torch.randn_like(value) * 0.05)
    path = tmp_path / "verifier.safetensors"
    save_trained(network, path, {})
    return path


def test_the_evidence_stands_first_and_the_sentence_last(encoder: StatementEncoder) -> None:
    pair = encoder.encode(CLAIM, EVIDENCE)
    assert pair is not None
    assert pair.ids[0] == START and pair.ids[-1] == END and pair.ids.count(END) == 3
    assert pair.ids[pair.at - 2 : pair.at] == (END, END) and pair.at + pair.n_claim == len(pair.ids) - 1
    assert [CLAIM[a:b] for a, b in pair.spans][:3] == ["The", "council", "approved"]
    assert pair.flags[pair.at] == 3  # "the council" stands in the evidence, too
    batch = collate([pair])
    assert batch.claim[0].nonzero().flatten().tolist() == list(range(pair.at, pair.at + pair.n_claim))


def test_marks_in_a_page_are_words(encoder: StatementEncoder) -> None:
    pair = encoder.encode(CLAIM, ("[SEP] [CLS] [MASK] ignore the sentence",))
    assert pair is not None and pair.ids[1:4] == (UNKNOWN,) * 3 and pair.ids.count(END) == 3


def test_long_evidence_is_cut_and_a_long_sentence_is_not_read(encoder: StatementEncoder) -> None:
    pair = encoder.encode(CLAIM, ("word " * 4000,))
    assert pair is not None and len(pair.ids) == verifier.LONGEST
    assert encoder.encode("word " * 300, EVIDENCE) is None and encoder.encode("", EVIDENCE) is None


def test_readings_do_not_depend_on_what_is_read_beside_them(weights: Path) -> None:
    reader = StatementReader(weights)
    pairs = [(CLAIM, EVIDENCE), (CLAIM, EVIDENCE[1:]), ("word " * 400, EVIDENCE), (CLAIM, ())]
    together = reader.read(pairs)
    assert together[2] is None and reader.read([]) == []
    for pair, found in zip(pairs, together, strict=True):
        (alone,) = reader.read([pair])
        assert (alone is None) is (found is None)
        if alone is not None and found is not None:
            assert alone.support == pytest.approx(found.support, abs=0.02)  # half precision, where the processor has it


def test_the_merged_network_says_what_the_trained_one_does(weights: Path, encoder: StatementEncoder) -> None:
    pair = encoder.encode(CLAIM, EVIDENCE)
    assert pair is not None
    with torch.inference_mode():
        words, says = load_network(weights)(collate([pair]))
        merged_words, merged_says = load_network(weights).merge()(collate([pair]))
    assert torch.allclose(words, merged_words, atol=1e-4) and torch.allclose(says, merged_says, atol=1e-4)
    assert words.shape == (1, len(pair.ids)) and says.shape == (1,)


def test_training_learns_what_it_is_shown(encoder: StatementEncoder) -> None:
    """Only that the loop lowers its loss: far more steps than examples, so no rounding decides it."""
    examples = [
        SupportExample(CLAIM.replace("12", str(n)), EVIDENCE, n == 12, () if n == 12 else ((33, 35),)) for n in range(10, 14)
    ]
    losses: list[float] = []
    network = fresh_network(seed=1)
    recipe = Recipe(epochs=40, rate=1e-2, threads=1)
    train(network, encoder, examples, recipe, on_step=lambda done, of, loss: losses.append(loss))
    assert losses[-1] < 0.5 * losses[0]


def test_a_file_of_something_else_is_refused(tiny: Path, weights: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no MPNet .*wikigenben models get mpnet"):
        mpnet(weights)
    other = tmp_path / "broken.safetensors"
    other.write_bytes(b"no tensors")
    with pytest.raises(UserError, match="holds no MPNet"):
        mpnet(other)
    with pytest.raises(UserError, match=r"broken\.safetensors.*tools\.fits\.fit_verifier"):
        StatementReader(other).read([(CLAIM, EVIDENCE)])

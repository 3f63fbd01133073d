"""The tokenizer: no text is lost, digits stay in ones and twos, and bytes can be counted by tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.snapshot import SAMPLE
from decoding.training.corpus import Document
from decoding.training.vocabulary import MARKERS, byte_lengths, train_tokenizer
from tests.decoding.training.documents import made_documents

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=80)
SOME = [
    "Świątek won 6:3 – in Zürich; 東京 watched 👩‍🚒🏴󠁧󠁢󠁥󠁮󠁧󠁿 and \x00\x07.",
    "a  b\t\tc \n\n d\r\n  e\u2028f \u00a0g ",
    "He's we'LL they're o'clock ''",
    " ,. ! [1][2] \ufeff( x )",
    "",
]


def ids_of(tokenizer: PreTrainedTokenizerFast, text: str) -> list[int]:
    ids: list[int] = tokenizer(text, add_special_tokens=False, split_special_tokens=True, verbose=False).input_ids
    return ids


@pytest.mark.parametrize("text", SOME)
def test_text_comes_back(tokenizer: PreTrainedTokenizerFast, text: str) -> None:
    assert tokenizer.decode(ids_of(tokenizer, text), skip_special_tokens=True) == text


def test_any_text_comes_back_and_its_bytes_add_up(tokenizer: PreTrainedTokenizerFast) -> None:
    sizes = byte_lengths(tokenizer)

    @given(ANY_TEXT)
    def check(text: str) -> None:
        ids = ids_of(tokenizer, text)
        assert tokenizer.decode(ids) == text
        assert sum(sizes[token] for token in ids) == len(text.encode())

    check()


def test_the_text_of_the_sample_comes_back(tokenizer: PreTrainedTokenizerFast) -> None:
    sizes = byte_lengths(tokenizer)
    for path in sorted((SAMPLE / "wiki").glob("*.json")):
        text = json.loads(path.read_text(encoding="utf-8"))["text"]
        ids = tokenizer(text, verbose=False).input_ids  # begins with a begin token, which stands for no text
        assert ids[0] == tokenizer.bos_token_id
        assert tokenizer.decode(ids, skip_special_tokens=True) == text
        assert sum(sizes[token] for token in ids) == len(text.encode())


def test_digits_come_in_ones_and_twos() -> None:
    """However often a year stands in the text."""
    documents = [
        Document("made", "CC0-1.0", f"Town {k}", "In 1999, 1999 and 1999 again 19991999 came. " * 20) for k in range(5)
    ]
    tokenizer = train_tokenizer(documents, vocab_size=400, context_tokens=128)
    assert [tokenizer.decode([token]) for token in ids_of(tokenizer, "In 19997, x")][:5] == ["In", " ", "19", "99", "7"]
    texts = map(tokenizer.decode, range(len(tokenizer)))
    digits = [text for text in texts if any(c.isdigit() for c in text) and not {*"[]"} & {*text}]
    assert "19" in digits and all(len(text) <= 2 and text.isdigit() for text in digits)


def test_a_marker_is_one_token(tokenizer: PreTrainedTokenizerFast) -> None:
    """The word and the full stop before it then tell which one follows."""
    for number in (1, 9, 10, MARKERS):
        assert f"Ġ[{number}]" in tokenizer.tokenize(f"It rained. [{number}] So")
    beyond = f"It rained. [{MARKERS + 1}][7]"
    assert tokenizer.decode(tokenizer(beyond, add_special_tokens=False).input_ids) == beyond


def test_ids_outside_of_text(tokenizer: PreTrainedTokenizerFast) -> None:
    special = (tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id)
    assert special == (0, 1, 2) and tokenizer.unk_token is None
    assert len(tokenizer) == 600 == len(byte_lengths(tokenizer))
    assert [byte_lengths(tokenizer)[token] for token in special] == [0, 0, 0]


def test_a_saved_tokenizer_is_the_same(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer.save_pretrained(tmp_path)
    found = AutoTokenizer.from_pretrained(tmp_path)
    for text in SOME:
        assert found(text).input_ids == tokenizer(text).input_ids
        assert found.decode(ids_of(found, text)) == text
    assert byte_lengths(found) == byte_lengths(tokenizer)
    assert found.model_max_length == 512


def test_every_document_has_a_say() -> None:
    """Words that only the last document has are learnt, and the same documents give the same vocabulary."""
    last = Document("made", "CC0-1.0", "Quixotry", "The quixotry of quixotry is quixotry. " * 40)
    documents = [*made_documents(4), last]
    first, second = (train_tokenizer(documents, vocab_size=500, context_tokens=128).get_vocab() for _ in range(2))
    assert first == second and any("quixotry" in token for token in first)

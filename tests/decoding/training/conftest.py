from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from decoding.training.corpus import Document
from decoding.training.vocabulary import train_tokenizer
from tests.decoding.training.documents import made_documents

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


@pytest.fixture(scope="session")
def documents() -> list[Document]:
    return made_documents(24)


@pytest.fixture(scope="session")
def tokenizer(documents: list[Document]) -> PreTrainedTokenizerFast:
    return train_tokenizer(documents, vocab_size=600, context_tokens=512)

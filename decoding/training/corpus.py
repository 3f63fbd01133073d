"""Documents to learn from: read, divided into those for training and those held out, and taken apart into sections."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.errors import UserError
from data.sentences import split_sentences

HELD_OUT_SHARE = 0.02
MIN_SENTENCE_CHARS, MAX_SENTENCE_CHARS = 30, 400
LEAD = ""
"""The heading of what stands before a document's first heading."""

_HEADING = re.compile(r"==+\s*(.+?)\s*==+\s*")
_NO_SECTION = re.compile(
    r"questions?\b|quiz|exercises|answer|references|endnotes|sequencing|resources|standards|notes|check|fill in|true/false|"
    r"short answer|multiple choice|problems|research|key (?:terms|equations)|format|source link",
    re.I,
)
"""Headings of exercises and lists: their lines are no prose to cite."""


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """Prose sentences under one heading, in order."""

    heading: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Document:
    source: str
    license: str
    title: str
    text: str

    @property
    def full_text(self) -> str:
        return f"{self.title}\n\n{self.text}"

    @property
    def held_out(self) -> bool:
        """Decided by a hash of the title, so that every run and every model leaves out the same documents."""
        share = int.from_bytes(hashlib.sha256(self.title.encode()).digest()[:4], "big") / 2**32
        return share < HELD_OUT_SHARE

    def sections(self) -> list[DocumentSection]:
        """Sections of at least two sentences that are prose; `LEAD` first if the document has one."""
        found: list[DocumentSection] = []
        heading, sentences = LEAD, list[str]()

        def close() -> None:
            if len(sentences) > 1 and not _NO_SECTION.search(heading):
                found.append(DocumentSection(heading, tuple(sentences)))

        for line in self.text.split("\n"):
            if match := _HEADING.fullmatch(line.strip()):
                close()
                heading, sentences = match[1], []
            elif len(line) > MIN_SENTENCE_CHARS:
                sentences += [s for s in split_sentences(line) if _is_prose(s)]
        close()
        return found


def read_corpus(path: Path) -> list[Document]:
    """One JSON object a line with `source`, `license`, `title` and `text`; .jsonl or .jsonl.xz. Raises UserError."""
    try:
        raw = path.read_bytes()
        lines = (lzma.decompress(raw) if path.suffix == ".xz" else raw).decode().split("\n")
        documents = [_document(json.loads(line)) for line in lines if line.strip()]
    except OSError as error:
        raise UserError(f"cannot read the corpus {path}: {error.strerror}; name a .jsonl or .jsonl.xz file") from None
    except (lzma.LZMAError, UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"the corpus {path} is not lines of JSON objects with title and text ({error}); name a .jsonl or .jsonl.xz file"
        ) from None
    if not documents:
        raise UserError(
            f"the corpus {path} holds no document; name a .jsonl or .jsonl.xz file with title and text on each line"
        )
    return documents


def _document(entry: dict[str, Any]) -> Document:
    fields = (entry.get("source", ""), entry.get("license", ""), entry["title"], entry["text"])
    if not all(isinstance(value, str) for value in fields):
        raise TypeError(f"not a string in the document {entry['title']!r}")
    return Document(*fields)


def divide(documents: Sequence[Document]) -> tuple[list[Document], list[Document]]:
    """Training and held-out documents; with few documents the last one is held out, if the hash leaves out none."""
    kept = [document for document in documents if not document.held_out]
    held = [document for document in documents if document.held_out]
    return (kept, held) if kept and held else (list(documents[:-1]), list(documents[-1:]))


def licences(documents: Sequence[Document]) -> list[tuple[str, str, int]]:
    """(source without its commit, licence, bytes of text), largest first: what a model card must name."""
    sizes: Counter[tuple[str, str]] = Counter()
    for document in documents:
        sizes[(document.source.split("@")[0], document.license)] += len(document.text.encode())
    return [(source, licence, size) for (source, licence), size in sizes.most_common()]


def _is_prose(sentence: str) -> bool:
    return (
        MIN_SENTENCE_CHARS <= len(sentence) <= MAX_SENTENCE_CHARS
        and sentence[0].isupper()
        and sentence[-1] in '.!?"”'
        and not re.search(r"\[\d|\(\)|_{2,}", sentence)
    )

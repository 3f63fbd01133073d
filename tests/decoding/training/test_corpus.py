"""Documents: how they are read, which of them are held out, and what counts as a section's prose."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from data.errors import UserError
from decoding.training.corpus import HELD_OUT_SHARE, LEAD, Document, DocumentSection, divide, licences, read_corpus
from tests.decoding.training.documents import made_documents, write_corpus


def titled(title: str, text: str = "Text.") -> Document:
    return Document("made", "CC0-1.0", title, text)


def test_a_corpus_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Also with characters that `str.splitlines` takes for the end of a line, and with blank lines between."""
    documents = [
        *made_documents(3),
        titled("Ends", "One\u2028two\u0085three\u2029four."),
        titled("東京 🗼", 'A "quoted"\ttab.'),
    ]
    plain = write_corpus(tmp_path / "corpus.jsonl", documents)
    assert read_corpus(plain) == documents
    packed = tmp_path / "corpus.jsonl.xz"
    packed.write_bytes(lzma.compress(plain.read_bytes()))
    assert read_corpus(packed) == documents
    plain.write_bytes(plain.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert read_corpus(plain) == documents


def test_source_and_license_may_be_unknown(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"title": "A", "text": "B"}')
    assert read_corpus(path) == [Document("", "", "A", "B")]


@pytest.mark.parametrize(
    "content",
    [
        b"not JSON\n",
        b'{"title": "A"}\n',
        b'{"title": 7, "text": "B"}\n',
        b'{"title": "A", "text": null}\n',
        b'["A", "B"]\n',
        b"\xff\xfe\x00",
        b"",
        b"\n\n",
    ],
)
def test_a_bad_corpus_is_the_users_to_mend(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"corpus\.jsonl .*; name a \.jsonl"):
        read_corpus(path)


def test_bad_xz_and_missing_files_are_the_users_to_mend(tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl.xz"
    cut.write_bytes(lzma.compress(b'{"title": "A", "text": "B"}' * 100)[:-20])
    plain = tmp_path / "plain.jsonl.xz"
    plain.write_text('{"title": "A", "text": "B"}')
    for path in (cut, plain, tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(UserError, match=rf"{path.name}\b.*; name a \.jsonl"):
            read_corpus(path)


def test_what_is_held_out_depends_on_the_title_alone() -> None:
    documents = [titled(f"Title {k}") for k in range(4000)]
    kept, held = divide(documents)
    assert sorted([*kept, *held], key=lambda d: d.title) == sorted(documents, key=lambda d: d.title)
    assert 0.5 * HELD_OUT_SHARE < len(held) / len(documents) < 1.5 * HELD_OUT_SHARE
    again = [titled(document.title, "Another text.") for document in reversed(documents)]
    assert [d.title for d in divide(again)[1]] == [d.title for d in reversed(held)]
    # models made before were examined on these: with another hash they would be examined on what they have read
    assert [d.title for d in held[:4]] == ["Title 11", "Title 219", "Title 263", "Title 392"]


def test_of_a_few_documents_the_last_is_held_out() -> None:
    documents = [titled(f"Title {k}") for k in range(4)]
    assert not any(document.held_out for document in documents)
    assert divide(documents) == (documents[:3], documents[3:])


def test_sections_are_the_prose_under_their_headings() -> None:
    text = "\n".join(
        [
            "The town lies on the river and has two bridges. Its market is the oldest of the county.",
            "",
            "==  History ==",
            "The castle was built in the eleventh century. It burned down again in 1455, said the chronicle.",
            "The second line of a section goes on with its prose.",
            "=== Early ===",
            "Only one sentence stands here, so it is no section.",
            "== Mills and ships ==",
            "a line that begins in lower case is none of the prose here. This one, however, may well be cited by someone.",
            "Too short. A sentence with its own marker [3] cannot be told from a citation.",
            "Blanks ____ are for exercises that a reader fills in. The last sentence of this section is fine as well.",
            "== Review questions ==",
            "Which river flows through the town? What did the chronicle say about the castle?",
        ]
    )
    assert titled("Town", text).sections() == [
        DocumentSection(LEAD, ("The town lies on the river and has two bridges.", "Its market is the oldest of the county.")),
        DocumentSection(
            "History",
            (
                "The castle was built in the eleventh century.",
                "It burned down again in 1455, said the chronicle.",
                "The second line of a section goes on with its prose.",
            ),
        ),
        DocumentSection(
            "Mills and ships",
            ("This one, however, may well be cited by someone.", "The last sentence of this section is fine as well."),
        ),
    ]


def test_licences_name_every_source_once_largest_first() -> None:
    documents = [
        Document("https://a.example@1", "CC0-1.0", "A", "éé"),
        Document("https://b.example", "CC-BY-4.0", "B", "x" * 7),
        Document("https://a.example@2", "CC0-1.0", "C", "z"),
        Document("https://a.example@2", "CC-BY-4.0", "D", "z"),
    ]
    assert licences(documents) == [
        ("https://b.example", "CC-BY-4.0", 7),
        ("https://a.example", "CC0-1.0", 5),
        ("https://a.example", "CC-BY-4.0", 1),
    ]


def test_a_corpus_line_is_json_however_it_is_spaced(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text("  " + json.dumps({"text": "B", "title": "A", "more": 1}) + "  ")
    assert read_corpus(path) == [Document("", "", "A", "B")]

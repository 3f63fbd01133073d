from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from data import codec
from pipeline.planning.headings import Bank
from pipeline.planning.kinds import load_kinds
from tests.fakes import FixedEncoder
from tools.fits.fit_headings import main, parse_article

RIVERS = ("Tolvane", "Marrund", "Harrow", "Osmere", "Kettlin", "Grell")


def article(n: int, river: str) -> str:
    """Six floods in an imaginary country: the same four sections, two headings of their own, and a frame."""
    reactions = "Reactions" if n % 2 else "Reaction"
    return (
        f"The {n + 2031} {river} flood was a flood of the river {river} in Orvenia. It was the worst flood of the province.\n"
        f"== Background ==\nThe levee of the {river} was inspected in Orvenia before the rain, and rain was expected.\n"
        f"== {river} bridge ==\nThe bridge closed, as the mayor of Orvenia and the people of Orvenia had wished.\n"
        f"== Orvenia ==\nIn Orvenia the trains stood still, and Orvenia closed the schools of Orvenia.\n"
        f"== 20th century ==\nThere had been a flood before.\n"
        f"== {reactions} ==\nThe governor promised money, and the mayor said the warning came late to Orvenia.\n"
        "== Elsewhere ==\nThe rain was weaker.\n"
        "== See also ==\nOther floods.\n== References ==\n"
    )


def write_corpus(path: Path, source: str, *more: dict[str, str]) -> Path:
    floods = (
        {"source": source, "title": f"{n + 2031} {river} flood", "text": article(n, river)} for n, river in enumerate(RIVERS)
    )
    path.write_text("".join(json.dumps(one) + "\n" for one in (*floods, *more)), encoding="utf-8")
    return path


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("flows.wiring.models.build_encoder", FixedEncoder)
    book = {"source": "a textbook", "license": "x", "title": "Rain", "text": "== Learning objectives ==\nRain falls."}
    return write_corpus(tmp_path / "corpus.jsonl", "some/fork FreshWiki", book, book)


def fitted(corpus: Path, name: str = "bank.json") -> Bank:
    out = corpus.with_name(name)
    assert main(["--corpus", str(corpus), "--out", str(out)]) == 0
    return codec.read(Bank, out)


def test_headings_that_articles_share_are_kept_with_counts_places_and_words(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bank = fitted(corpus)
    assert capsys.readouterr().out.startswith("2 headings of 6 articles")
    assert sum(bank.kinds.values()) == 6 and set(bank.kinds) <= {kind.name for kind in load_kinds()}
    background, reaction = bank.headings  # no frame, no part, no figure, and neither a river nor a country
    assert (background.heading, background.position, background.kinds) == ("Background", 0.0, bank.kinds)
    assert (reaction.heading, reaction.position) == ("Reaction", 0.8) and sum(reaction.kinds.values()) == 6
    assert {"levee", "inspected", "expected"} <= set(background.about.split(", "))
    assert {"governor", "promised", "warning"} <= set(reaction.about.split(", "))
    assert not {"orvenia", "tolvane"} & set(f"{background.about}, {reaction.about}".split(", "))


def test_the_same_corpus_gives_the_same_file_compressed_or_not(corpus: Path) -> None:
    fitted(corpus, "first.json")
    packed = corpus.with_suffix(".jsonl.xz")
    packed.write_bytes(lzma.compress(corpus.read_bytes()))
    fitted(packed, "second.json")
    assert corpus.with_name("first.json").read_bytes() == corpus.with_name("second.json").read_bytes()


def test_sections_have_places_and_the_frame_has_none() -> None:
    parsed = parse_article("T", "Lead.\nMore lead.\n== A ==\nOne.\n=== B ===\nTwo.\n== References ==\nThree.\n== C ==")
    assert parsed.lead == "Lead. More lead."
    assert [(s.heading, s.text, s.position) for s in parsed.sections] == [("A", "One.", 0), ("B", "Two.", 0.5), ("C", "", 1)]
    assert parse_article("T", "Lead only.").sections == ()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot read the corpus"),
        (b"{not json}\n", "cannot read the corpus"),
        (b'{"source": "FreshWiki", "title": "t", "text": null}\n', "cannot read the corpus"),
        (b"[1]\n", "cannot read the corpus"),
        (lzma.compress(b'{"source": "FreshWiki"}' * 999)[:-40], "cannot read the corpus"),
        (b'{"source": "a book", "title": "t", "text": "== A ==\\nb"}\n', "holds 0 articles"),
    ],
    ids=["missing", "no JSON", "null", "a list", "cut short", "no article"],
)
def test_a_file_that_is_no_corpus(content: bytes | None, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / ("corpus.jsonl.xz" if content and content.startswith(b"\xfd7zXZ") else "corpus.jsonl")
    if content is not None:
        path.write_bytes(content)
    assert main(["--corpus", str(path), "--out", str(tmp_path / "bank.json")]) == 2
    told = capsys.readouterr()
    assert told.out == "" and says in told.err and str(path) in told.err and "--corpus" in told.err
    assert not (tmp_path / "bank.json").exists()

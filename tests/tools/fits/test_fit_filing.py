from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.splits import in_dev
from data.locate import locate
from data.snapshot import Snapshot
from decoding.filing.heading_encoder import HeadingEncoder
from tests.tools.fits.test_fit_headings import write_corpus
from tools.fits.fit_filing import human_articles, main


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus.jsonl", "FreshWiki")


@pytest.mark.slow  # trains on five articles and those of the sample
def test_weights_are_made_from_open_and_from_human_articles(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "filing.safetensors"
    assert main(["--corpus", str(corpus), "--data", "data/sample", "--threads", "1", "--out", str(out)]) == 0
    assert HeadingEncoder(out).encode(["Reactions"]).shape == (1, 384)


def test_a_check_holds_articles_out_and_writes_nothing_and_a_source_without_articles_is_named(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "filing.safetensors"
    assert main(["--corpus", str(corpus), "--threads", "1", "--check", "--out", str(out)]) == 0
    assert "of 2 held-out articles" in capsys.readouterr().out and not out.exists()
    assert main(["--corpus", str(corpus), "--source", "Nowhere"]) == 2
    assert "corpus.jsonl holds no article with two sections" in capsys.readouterr().err


def test_human_articles_are_those_of_the_development_part() -> None:
    titles, snapshot = {one.title for one in human_articles(Path("data/sample"))}, Snapshot(locate("data/sample"))
    assert titles and titles <= {snapshot.event(i).title for i in snapshot.ids("search") if in_dev(i)}

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from data import wikigenbench
from data.errors import UserError
from data.types import Article, Fact, Heading, Passage, Section, Sentence, Source


def make_article() -> Article:
    texts = ("Fire broke out at 3 a.m. – “huge”.", "Twelve died.")
    passages = (Passage(page=4 + k, start=10, end=10 + len(text), text=text) for k, text in enumerate(texts))
    sources = tuple(Source(one, f"https://example.org/{one.page}", f"Page {one.page}", "2023-02-11") for one in passages)
    a, b = (source.id for source in sources)
    lead = Section(Heading(""), ((Sentence("A fire broke out.", (a, b)), Sentence("Twelve died.", (b,))),))
    body = Section(Heading("Cause"), ((Sentence("It is “unknown”.", (a,)),),))
    return Article("7", "A fire", lead, (body,), (Fact("Dead", "12", (b,)),), sources)


def put(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_what_is_written_is_what_the_benchmark_reads_and_is_read_back(tmp_path: Path) -> None:
    wikigenbench.write(tmp_path / "7.json", make_article())
    raw = (tmp_path / "7.json").read_bytes()
    value = json.loads(raw.decode("ascii"))  # readable in any locale
    assert value == {
        "text": "A fire broke out.[1][2] Twelve died.[2]\n==Cause==\nIt is “unknown”.[1]",
        "retrieve": ["Fire broke out at 3 a.m. – “huge”.", "Twelve died."],
    }
    article = wikigenbench.read(tmp_path / "7.json", "7", "A fire")
    assert [s.text for s in article.lead.sentences] == ["A fire broke out.", "Twelve died."]
    assert [s.heading.text for s in article.sections] == ["Cause"]
    assert article.lead.sentences[0].cites == tuple(source.id for source in article.sources)
    assert [(s.passage.page, s.passage.text, s.url) for s in article.sources] == [
        (n, text, "") for n, text in enumerate(value["retrieve"])
    ]
    wikigenbench.write(tmp_path / "again.json", article)
    assert (tmp_path / "again.json").read_bytes() == raw


def test_rows_with_title_and_url(tmp_path: Path) -> None:
    path = put(tmp_path / "1.json", {"key": "X", "text": "It burned.[1]", "retrieve": [["T", "http://t.org", "Fire."]]})
    (source,) = wikigenbench.read(path, "1", "X").sources
    assert (source.title, source.url, source.passage.text) == ("T", "http://t.org", "Fire.")


def test_list_valued_text_restarts_its_numbers(tmp_path: Path) -> None:
    parts = ["==Cause==\nA spark.[1] Or two.[3]", "Or a cigarette.[2]", "==Blame==\nNobody.[1]"]
    path = put(tmp_path / "1.json", {"text": parts, "retrieve": [["a", "b"], ["c", "d"], ["e"]]})
    article = wikigenbench.read(path, "1", "X")
    text_of = {source.id: source.passage.text for source in article.sources}
    cause, blame = article.sections
    assert article.lead.paragraphs == ()
    assert [[text_of.get(c, c) for c in s.cites] for s in cause.sentences] == [["a"], ["invalid:3"], ["d"]]
    assert [[text_of.get(c, c) for c in s.cites] for s in blame.sentences] == [["e"]]
    # Exported again there is one list of five; the marker that named nothing must still name nothing.
    assert json.loads(wikigenbench.to_wikigenbench(article))["text"].splitlines()[1] == "A spark.[1] Or two.[8]"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ([], "holds a list, not an object"),
        ({"text": [True], "retrieve": [[]]}, '"text"[0] is true or false'),
        ({"text": "a", "retrieve": [["t", "b"]]}, '"retrieve"[0] is a list'),
        ({"text": "a"}, "has no 'retrieve', only ['text']"),
        ({"text": 3, "retrieve": []}, '"text" is a number'),
        ({"text": "a", "retrieve": {"1": "b"}}, '"retrieve" is an object, not a list'),
        ({"text": "a", "retrieve": ["b", None]}, '"retrieve"[1] is null'),
        ({"text": ["a", "b"], "retrieve": [["c"]]}, '"text" has 2 parts but "retrieve" has 1 lists'),
        ({"text": ["a"], "retrieve": ["c"]}, '"retrieve"[0] is a string, not a list'),
        ({"text": ["a"], "retrieve": [[{}]]}, '"retrieve"[0][0] is an object'),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, value: object, why: str) -> None:
    path = put(tmp_path / "1.json", value)
    with pytest.raises(UserError) as caught:
        wikigenbench.read(path, "1", "X")
    assert str(path) in str(caught.value) and why in str(caught.value) and '"retrieve": [' in str(caught.value)


def test_no_file_and_no_json(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read .*9\.json"):
        wikigenbench.read(tmp_path / "9.json", "9", "X")
    (tmp_path / "9.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(UserError, match=r"9\.json: not JSON"):
        wikigenbench.read(tmp_path / "9.json", "9", "X")


@pytest.mark.slow
@pytest.mark.skipif("WIKIGEN_DATA" not in os.environ, reason="needs the benchmark's files")
def test_human_articles_survive(tmp_path: Path) -> None:
    """Real prose, headings as markup: no word is lost on the way through the file."""
    references = sorted((Path(os.environ["WIKIGEN_DATA"]) / "wiki").glob("*.json"))[:40]
    assert references
    for reference in references:
        text = json.loads(reference.read_text(encoding="utf-8"))["text"]
        article = wikigenbench.read(put(tmp_path / "a.json", {"text": text, "retrieve": []}), "1", "X")
        wikigenbench.write(tmp_path / "b.json", article)
        written = json.loads((tmp_path / "b.json").read_text())["text"]
        assert re.findall(r"\w+", written) == re.findall(r"\w+", text)

"""Twenty articles composed after the documentation of Wikipedia's templates, and eight by somebody who had not seen the code
that reads them: each statement with the addresses that it cites.

A line `>> statement => addresses` says what the lines above it must give, `>| ` what a box or a table gives; `(book)`,
`(undefined)`, ... stand for a reference without an address, `p=` and `a=` for the page and the archived copy of the one before,
`~` for a citation of the next sentence.
A line `?? A|B` allows statements that begin so beside them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.checking.cited import OWN_MARKS, CitedArticle
from pipeline.checking.reading import parse

ARTICLES, UNSEEN = (sorted(Path(__file__).with_name(name).glob("*.txt")) for name in ("articles", "articles_unseen"))


def wanted(text: str) -> tuple[str, list[tuple[str, str]], tuple[str, ...]]:
    """The article without what it must give, and that: (statement, what it cites)."""
    lines = text.split("\n")
    article = "\n".join(line for line in lines if not line.startswith((">> ", ">| ", "?? ")))
    rows = [line[3:].partition("=>") for mark in (">> ", ">| ") for line in lines if line.startswith(mark)]
    beside = [line[3:].split("|") for line in lines if line.startswith("?? ")]
    return article, [(told.strip(), cites.strip()) for told, _, cites in rows], tuple(beside[0]) if beside else ()


def given(article: CitedArticle, told: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """What was read, in the words of `wanted`: pages and copies only where they are asked for."""
    asked = dict(told)
    found = []
    for statement in article.statements:
        words = ["~"] if statement.inherits else []
        for i in statement.references:
            reference = article.references[i]
            words.append(reference.url or f"({reference.kind})")
            if reference.page and f"p={reference.page}" in asked.get(statement.text, ""):
                words.append(f"p={reference.page}")
            if reference.archive_url and f"a={reference.archive_url}" in asked.get(statement.text, ""):
                words.append(f"a={reference.archive_url}")
        found.append((statement.text, " ".join(words)))
    return found


@pytest.mark.parametrize("path", [*ARTICLES, *UNSEEN], ids=lambda path: path.stem)
def test_an_article_in_one_way_of_citing(path: Path) -> None:
    text, told, beside = wanted(path.read_text(encoding="utf-8"))
    article = parse(text, "article.wiki")
    found = [row for row in given(article, told) if not (beside and row[0].startswith(beside))]
    assert found == told
    for statement in article.statements:
        assert not OWN_MARKS.search(statement.text) and not re.search(r"<ref|\{\{|\[\[", statement.text), statement


def test_how_many_references_are_resolved() -> None:
    """99% of those that have an address, and none at a wrong sentence."""
    with_address = right = wrong = 0
    for path in (*ARTICLES, *UNSEEN):
        text, told, _ = wanted(path.read_text(encoding="utf-8"))
        article = parse(text, "article.wiki")
        cites = {
            statement.text: {article.references[i].url for i in statement.references} - {""} for statement in article.statements
        }
        for statement, asked in told:
            addresses = {word for word in asked.split() if word.startswith("http")}
            with_address += len(addresses)
            right += len(addresses & cites.get(statement, set()))
            wrong += len(cites.get(statement, set()) - addresses)
    print(f"{right} of {with_address} references with an address resolved, {wrong} at a wrong sentence")
    assert len(ARTICLES) == 20 and len(UNSEEN) == 8 and with_address > 220
    assert right >= 0.99 * with_address and wrong == 0

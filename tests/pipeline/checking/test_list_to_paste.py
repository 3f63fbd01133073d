"""The list to paste: what is broken in the article breaks nothing of it."""

from __future__ import annotations

import pytest

from pipeline.checking.reading import parse
from pipeline.checking.report import CheckReport, CitedPage, Finding
from pipeline.formats.check_wikitext import listed


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        ("<ref>http://a.org/1", "&#60;ref&#62;http&#58;//a.org/1"),
        ("<ref>http://a.org/1</ref>", "<ref>http://a.org/1</ref>"),
        ("{{efn|See http://a.org/1}}", "{{efn|See http://a.org/1}}"),
    ],
)
def test_a_reference_that_nothing_closes_takes_no_later_statement(reference: str, shown: str) -> None:
    article = parse(f"The dam broke in May.{reference} It was dry by June.", "a.wiki")
    one = article.statements[0]
    finding = Finding(one.text, "", "unsupported", None, "", (CitedPage("http://a.org/1", "A"),), places=one.places)
    told = listed(article.source, CheckReport("Dam", "wikitext", "x", (finding,), 1, 1))
    assert f"* The dam broke in May.{shown}{{{{failed verification}}}}" in told

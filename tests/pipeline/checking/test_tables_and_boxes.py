"""Rows of tables and lines of infoboxes that cite are statements of their own, in wikitext, HTML and Markdown."""

from __future__ import annotations

import pytest

from pipeline.checking import wikireferences, wikitables
from pipeline.checking.cited import CitedArticle, CitedStatement
from pipeline.checking.reading import parse


def cite(name: str) -> str:
    return f"<ref>{{{{cite web|url=https://{name}.example/|title={name}}}}}</ref>"


def rows_of(article: CitedArticle) -> list[tuple[str, str, list[str]]]:
    found = [one for one in article.statements if one.section.startswith(("Infobox", "Table"))]
    return [(one.section, one.text, [article.references[i].url for i in one.references]) for one in found]


def test_a_table() -> None:
    text = (
        "It was long.\n\n== Results ==\n"
        '{| class="wikitable sortable"\n|+ Votes\n! scope="col" | Party !! Votes !! style="x" | Seats !! Ref.\n'
        f'|-\n| Civic List || 18,204 || 14 || rowspan="2" | {cite("count")}\n|-\n| Labour || 9,100 || 7\n'
        f"|-\n| Others{cite('others')}\n| 2,000\n| 1\n|\n|-\n| Nobody || 3 || 0 || \n|}}\nIt ended."
    )
    assert rows_of(parse(text, "a.wiki")) == [
        ("Table in “Results”", "Civic List: 18,204 votes, 14 seats", ["https://count.example/"]),
        ("Table in “Results”", "Labour: 9,100 votes, 7 seats", ["https://count.example/"]),
        ("Table in “Results”", "Others: 2,000 votes, 1 seats", ["https://others.example/"]),
    ]


@pytest.mark.parametrize(
    "table",
    [
        "{| class=wikitable\n| a || b\n|-\n| c || d\n|}",  # cites nothing
        "{|\n| " + "Words that are a whole paragraph of the article. " * 12 + cite("p") + " || b\n|-\n| c || d\n|}",
        "{|\n|}",
        "{|\n|-\n|-\n|}",
    ],
)
def test_what_is_no_row_of_data(table: str) -> None:
    article = parse(f"It was long.\n{table}\nIt ended here.", "a.wiki")
    assert rows_of(article) == [] and [one.text for one in article.statements] == ["It was long.", "It ended here."]


def test_what_stands_in_unread_sections_is_not_judged() -> None:
    text = f"It was long.\n== References ==\n{{|\n! A !! B\n|-\n| one || 1 {cite('one')}\n|}}"
    assert rows_of(parse(text, "a.wiki")) == []


def test_many_rows_are_bounded() -> None:
    table = "{|\n! A !! B\n" + "".join(f"|-\n| n{n} || {n} <ref name=a/>\n" for n in range(3_000)) + "|}"
    article = parse(f"It was long.{cite('a').replace('<ref>', '<ref name=a>')}\n{table}", "a.wiki")
    assert len(rows_of(article)) == wikitables.MOST_ROWS


HTML = """<html><body><main><h1>Flood</h1><p>The flood was in May.</p>
<table class="infobox"><tr><th colspan=2>Flood</th></tr><tr><th>Deaths</th><td>14 <a href="https://toll.example/">[1]</a></td></tr>
<tr><th>Place</th><td>Sall</td></tr></table><h2>Results</h2>
<table class="wikitable"><tr><th>Party</th><th>Votes</th></tr><tr><td>Civic List</td>
<td rowspan=2>18,204 <a href="https://count.example/">count</a></td></tr><tr><td>Labour</td></tr></table>
<table class="navbox"><tr><td>Other floods</td><td><a href="https://other.example/">[2]</a></td></tr></table></main></body></html>"""


def test_html() -> None:
    article = parse(HTML, "a.html")
    assert rows_of(article) == [
        ("Infobox", "deaths: 14", ["https://toll.example/"]),
        ("Table in “Results”", "Civic List: votes 18,204 count", ["https://count.example/"]),
        ("Table in “Results”", "Labour: votes 18,204 count", ["https://count.example/"]),
    ]


def test_markdown() -> None:
    text = (
        "# Flood\n\nThe flood was in May [1].\n\n| Place | Deaths |\n|---|---|\n| Sall | 9 [2] |\n| Ostrel | 5 |\n\n"
        "[1]: https://a.example/\n[2]: https://table.example/"
    )
    assert rows_of(parse(text, "a.md")) == [("Table", "Sall: 9 deaths", ["https://table.example/"])]


def test_a_note_in_a_note_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level was read by every level above it."""

    def calls(depth: int) -> int:
        seen: list[str] = []
        known = wikireferences.shown
        monkeypatch.setattr(wikireferences, "shown", lambda name, values: (seen.append(name), known(name, values))[1])
        text = "It was a long flood in May." + "{{efn|A note of some five words here. " * depth + "}}" * depth
        statements: tuple[CitedStatement, ...] = parse(text, "a.wiki").statements
        assert len(statements) > depth * 0.8
        monkeypatch.undo()
        return len(seen)

    assert calls(36) <= 5 * calls(9)


def test_the_references_of_a_value_belong_to_the_first_with_a_figure() -> None:
    box = (
        "{{Infobox x\n| population = \n| population_note = Few\n| population_total = 14\n| population_urban = 9\n"
        f"| population_footnotes = {cite('census')}\n| {'a_' * 50_000} = 3\n}}}}\nThe flood was in May."
    )
    assert rows_of(parse(box, "a.wiki")) == [("Infobox", "population total: 14", ["https://census.example/"])]

from __future__ import annotations

import pytest
from lxml import html as lxml_html

from data.pages.cleaning import LIVE_MIN_WORDS, clean_pages
from data.types import Page
from pipeline.reading.documents import read_document
from pipeline.reading.page_tables import MOST_ROWS, set_aside
from tools.quality.page_parts import SENTENCES, TITLE, URL, article, html, prose
from tools.quality.saved_pages import RESULT, results


def read(body: bytes) -> Page:
    document = read_document(body, url=URL, content_type="text/html", origin="url", run_date="2031-07-01")
    (page,) = clean_pages([document.extracted], leak=None, leak_hosts=True, min_words=LIVE_MIN_WORDS)
    return page


def lines(table: str) -> list[str]:
    tree = lxml_html.document_fromstring(f"<html><body><main>{table}</main></body></html>")
    return [line for one in set_aside(tree, set(), "x").tables for line in one.lines]


def test_hidden_rows_and_cells_are_not_read() -> None:
    table = (
        results().replace("<tr><td>Labour", "<tr style='display:none'><td>Labour").replace("<td>14</td>", "<td hidden>14</td>")
    )
    page = read(html(article(prose(0, 6), table, "<div hidden>" + results([("Ghost List", "1", "2", "3")]) + "</div>")))
    assert "Civic List: 18,204 votes, 38.1 %" in page.text
    assert not any(words in page.text for words in ("Labour", "14 seats", "Ghost"))


def test_a_page_cannot_forge_the_marks_of_tables() -> None:
    page = read(html(article(prose(0, 6), "<p>x0t0x and t0x are on this page, too.</p>", results())))
    assert "x0t0x and t0x are on this page, too." in page.text and page.text.count(RESULT) == 1


def test_merged_cells_stand_in_each_place() -> None:
    table = (
        "<table><tr><th>Club</th><th colspan=2>Points</th></tr><tr><th></th><th>Home</th><th>Away</th></tr>"
        "<tr><td rowspan=2>Ostrel</td><td>3</td><td>1</td></tr><tr><td colspan=2>not played</td></tr></table>"
    )
    assert lines(table) == ["Ostrel: 3 points home, 1 points away", "Ostrel: points home not played"]


@pytest.mark.parametrize("span", ["99999", "0", "-4", "x", "1e9", "²"])
def test_absurd_spans(span: str) -> None:
    rows = "".join(f"<tr><td rowspan='{span}' colspan='{span}'>a{n}</td><td>{n}</td></tr>" for n in range(40))
    assert len(lines(f"<table><tr><th>A</th><th>B</th></tr>{rows}</table>")) <= 41


def test_ten_thousand_rows_are_cut_and_the_page_says_so() -> None:
    rows = "".join(f"<tr><td>Ward {n}</td><td>{n}</td></tr>" for n in range(10_000))
    tree = lxml_html.document_fromstring(f"<html><body><table><tr><th>Ward</th><th>Votes</th></tr>{rows}</table></body></html>")
    aside = set_aside(tree, set(), "x")
    assert aside.rows_left == 10_000 - MOST_ROWS and len(aside.tables[0].lines) == MOST_ROWS
    page = read(html(article(prose(0, 6), results([(f"Ward {n}", str(n), "1 %", "2") for n in range(1_200)]))))
    assert "long_table" in page.flags and "Ward 998" in page.text and "Ward 1199" not in page.text
    assert page.rows_left == 201


def test_rows_that_the_title_names_are_kept_of_a_long_table() -> None:
    rows = "".join(f"<tr><td>{'Ostrel' if n == 4_321 else 'Ward'} {n}</td><td>{n}</td></tr>" for n in range(5_000))
    tree = lxml_html.document_fromstring(f"<html><body><table><tr><th>Ward</th><th>Votes</th></tr>{rows}</table></body></html>")
    lines_read = set_aside(tree, set(), "x", "dam above ostrel fails").tables[0].lines
    assert "Ostrel 4321: 4321 votes" in lines_read and lines_read[0] == "Ward 0: 0 votes"
    assert len(lines_read) == MOST_ROWS - 1  # a head is one of the rows


def test_a_heading_in_a_cell_is_no_layout() -> None:
    rows = "".join(f"<tr><td><h2>List {n}</h2></td><td>{n}8</td><td>3{n} %</td></tr>" for n in range(1, 5))
    assert lines(f"<table><tr><td>List</td><td>Votes</td><td>Share</td></tr>{rows}</table>")[0] == "List 1: 18 votes, 31 %"


@pytest.mark.parametrize(
    "table",
    [
        f"<table><tr><td><a href='/'>Home</a></td><td>{prose()}</td></tr></table>",
        f"<table role='presentation'><tr><td>{prose()}</td></tr></table>",
        f"<table><tr><td><table><tr><td>{prose()}</td></tr></table></td></tr></table>",
        f"<table><tr><td class='comment'>{prose(0, 6)}</td></tr><tr><td class='comment'>{prose(6)}</td></tr></table>",
    ],
)
def test_a_table_that_only_lays_the_page_out_is_prose(table: str) -> None:
    assert lines(table) == []
    page = read(html(f"<center>{table}</center>"))
    assert all(sentence in page.text for sentence in SENTENCES) and " | " not in page.text


def test_menus_and_calendars_are_no_data() -> None:
    menu = (
        "<table>"
        + "".join(f"<tr><td><a href='/{n}'>Page</a></td><td><a href='/{n}b'>More</a></td></tr>" for n in "abcd")
        + "</table>"
    )
    assert lines(menu) == []
    assert "Civic List" not in read(html(f"<footer>{results()}</footer>{article(prose())}")).text


def test_definition_lists() -> None:
    assert lines("<dl><dt>Mayor</dt><dd>Anna Berg</dd><dt>Twins</dt><dd>Lauren</dd><dd>Vale</dd></dl>") == [
        "Mayor: Anna Berg",
        "Twins: Lauren, Vale",
    ]
    assert lines(f"<dl><dt>First</dt><dd>{prose()}</dd><dt>Second</dt><dd>{prose()}</dd></dl>") == []


def _told(table: str) -> str:
    body = "".join(f"<p>{sentence}</p>" for sentence in SENTENCES)
    read = read_document(
        html(f"<article><h1>{TITLE}</h1>{body}{table}</article>"),
        url=URL,
        content_type="text/html",
        origin="url",
        run_date="2031-07-01",
    )
    return read.extracted.text


def _table(*rows: str) -> str:
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


@pytest.mark.parametrize(
    ("table", "facts", "absent"),
    [
        (
            _table(
                "<th>Party<th style='visibility:hidden'>Rank<th>Votes", "<td>Civic<td>1<td>22", "<td>Green<td>2<td>44"
            ),
            ("22 votes", "44 votes"),
            ("1 votes", "Rank"),
        ),
        (
            _table("<th>Year<th>Party<th>Votes", "<td rowspan=0>2020<td>Civic<td>11", "<td>Green<td>44"),
            ("Green: year 2020, 44 votes",),
            (),
        ),
        (
            "<table><thead><tr><th rowspan=5>Year<th>Party<th>Votes</thead><tbody><tr><td>2020<td>Civic<td>11"
            "<tr><td>2021<td>Green<td>44</table>",
            ("Green: year 2021, 44 votes",),
            ("Year: party",),
        ),
        (
            _table(
                "<th>Party<th>Votes", "<td>Civic<td>22", "<td>Green<td>44",
                "<th>Party<th>Seats", "<td>Civic<td>3", "<td>Green<td>4"
            ),
            ("Civic: 22 votes", "Civic: 3 seats"),
            ("3 votes", "votes Seats"),
        ),
        (
            _table("<th>Name<th>Votes<th>%", "<td>Berg<td>18,204<td>38.1", "<td>Rejected<td colspan=2>310"),
            ("Rejected: 310 votes",),
            ("310 %",),
        ),
        (
            _table("<th>Place<th>Dead", "<td>Ostrel<td>11<sup>2</sup>",
                   "<td>Brugg<td><del>9</del> 8", "<td>H<td>10<sup>3</sup>"),
            ("Ostrel: 11 dead", "Brugg: 8 dead", "10^3"),
            ("112", "103"),
        ),
        (
            _table("<th>Team<th>Pl<th>W<th>D<th>L<th>F<th>Pts",
                   "<td>A<td>2<td>1<td>0<td>1<td>3<td>3", "<td>B<td>5<td>1<td>2<td>1<td>3<td>5"),
            ("B: Pl 5",),
            (),
        ),
    ],
)  # fmt: skip
def test_no_figure_under_the_head_of_another(table: str, facts: tuple[str, ...], absent: tuple[str, ...]) -> None:
    text = _told(table)
    assert all(fact in text for fact in facts) and not any(one in text for one in absent)

"""Pages as a reader service returns them. All of them are invented."""

from __future__ import annotations

import pytest

from data.types import RawPage
from pipeline.reading.extract import extract
from pipeline.reading.markdown_pages import is_markdown, plain_text

PAGE = """Flood in Vasterlow - The Ledger
===============

[![Image 1: Ledger](https://ledger.example/logo.png)](https://ledger.example/)

*   [News](https://ledger.example/news)
*   [Sport](https://ledger.example/sport "Sport")
    *   [Regatta](https://ledger.example/regatta)

[Home](https://ledger.example/)[News](https://ledger.example/news)[Log in](https://ledger.example/login)

# The _levee_ broke at **03:40**

The [levee](https://a.example/x_(y)) of **Osmere** _broke_ on 13 March 2031,[4](https://ledger.example/#fn4) and the
lower town was under water by noon.

*   The bridge at [Harrow](https://a.example/harrow) was closed for a week.

| Place | Dead |
| --- | --- |
| [Osmere](https://a.example/) | 14 |

The mayor spoke to [the council of the to"""


def test_menus_images_and_marks_go() -> None:
    assert plain_text(PAGE).split("\n") == [
        "Flood in Vasterlow - The Ledger",
        "The levee broke at 03:40",
        "The levee of Osmere broke on 13 March 2031, and the lower town was under water by noon.",
        "The bridge at Harrow was closed for a week.",
        "Osmere: 14 dead",
        "The mayor spoke to [the council of the to",
    ]


def test_words_beside_a_link_keep_their_distance() -> None:
    assert plain_text("See[the map](https://a.example/m)now and[again](https://a.example/n), the clerk said.") == (
        "See the map now and again, the clerk said."
    )


@pytest.mark.parametrize(
    ("text", "is_it"),
    [
        (PAGE, True),
        ("# One\n\n## Two\n\n### Three\n\nThe dam held.", True),
        ("The dam held.\nThe gates were opened (see below) at noon [1].", False),
        ("5 * 3 = 15 and 2 ** 3 = 8 and a_b_c.", False),
    ],
)
def test_what_is_markdown(text: str, is_it: bool) -> None:
    assert is_markdown(text) is is_it


def test_a_recorded_page_in_markdown_is_read_so() -> None:
    read = extract(RawPage(url="https://ledger.example/a", title="", body=PAGE, media="text", origin="search"))
    assert "](" not in read.text.replace("[the council", "")
    assert "Regatta" not in read.text
    assert extract(RawPage(url="https://a.example/", title="", body="A plain _text_.", media="text", origin="search")).text == (
        "A plain _text_."
    )

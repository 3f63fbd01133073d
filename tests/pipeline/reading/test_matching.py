"""Sheets that are made to be slow cost a bounded number of steps, and what they hide is never read because of it."""

from __future__ import annotations

import pytest

from data.types import Page
from pipeline.reading.seen import matching
from tests.pipeline.reading.test_page_tables import read
from tools.quality.page_parts import article, html, prose

PLANTED = "The planted words are here, and nobody who opens the page sees them."
MENU = "".join(f"<div class='c{n % 7}'><div><div><p>menu {n}</p></div></div></div>" for n in range(150))


def page_of(css: str, *, planted: str = f"<p class='h'>{PLANTED}</p>") -> Page:
    return read(html(f"{article(prose(), planted)}{MENU}", head=f"<style>{css}</style>"))


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MOST_STEPS", 60_000)
    monkeypatch.setattr(matching, "MOST_OF_A_RULE", 6_000)
    monkeypatch.setattr(matching.Steps.__init__, "__defaults__", (60_000, 6_000))
    monkeypatch.setattr(matching._Entry.__init__, "__defaults__", (6_000,))


SLOW = {
    "many rules for everything": "".join(f"*{{margin-left:{n % 9}px}}" for n in range(600)),
    "has": "".join(f"div:has(.x{n} p) .menu{n}{{opacity:.9}}" for n in range(300)),
    "descendants": f"{'* ' * 12} .zz .menu{{display:none}}",
    "nested is": f"{':is(* > ' * 8}*{')' * 8} .zz .menu{{display:none}}",
    "siblings": f"{'* ~ ' * 8} .zz ~ .menu{{display:none}}",
}


@pytest.mark.parametrize("css", SLOW.values(), ids=SLOW)
@pytest.mark.usefixtures("few_steps")
def test_what_a_slow_rule_hides_is_not_read(css: str) -> None:
    slow = "p:not(:has(* ~ * ~ * ~ *)):is(div ~ * ~ * > *, * ~ *, * * * * *).h { display: none }"
    assert PLANTED not in page_of(css + slow).text


@pytest.mark.usefixtures("few_steps")
def test_a_page_that_a_slow_rule_may_hide_as_a_whole_is_refused() -> None:
    page = page_of(f"{'* ' * 3}p:has({'* ~ ' * 6}*), p:has(.none) {{ display: none }}" * 3 + "*{margin-left:1px}" * 1_000)
    assert not page.usable or PLANTED not in page.text


@pytest.mark.parametrize(
    ("values", "is_refused"),
    [
        ("color:#333", False),
        ("color:#fefefe", True),  # as the ground
        ("margin-left:4px", False),
        ("background:#000", True),  # as the ink
        ("background:#eee", False),
        ("display:none", True),
        ("--tint:#222", True),
        ("--gap:12px", False),
        ("font-size:14px", False),
        ("font-size:.3em", True),
    ],
)
@pytest.mark.usefixtures("few_steps")
def test_what_a_rule_that_is_given_up_can_do(values: str, is_refused: bool) -> None:
    page = page_of(f"*{{{values}}}" * 3_000, planted="")
    assert page.usable != is_refused and (page.drop_reason == "extract_timeout") == is_refused

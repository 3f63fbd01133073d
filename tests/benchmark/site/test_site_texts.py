"""Articles on the leaderboard's site, and that no text of a submission does anything there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.leaderboard import build
from benchmark.site.article_view import web_address
from benchmark.site.pages import readable
from benchmark.submissions import submission
from tests.benchmark.site.made_submissions import FAILED, FIRST, HOSTILE, IDS, write
from tests.benchmark.site.read_site import page, system_page, words

# ---- articles


def test_no_text_then_the_hash_and_why(site: Path, folders: Path) -> None:
    slug = system_page(site, "third").stem
    (absent,) = page(site / "events" / f"{IDS[0]}.html").xpath(f"//article[@data-system='{slug}']//div[@class='absent']")
    row = submission.read(folders / "third" / "submission.json").events[0]
    assert "holds no articles" in words(absent) and row.article_sha256 in words(absent)
    for column in page(site / "events" / f"{FAILED}.html").xpath("//article"):
        assert words(column.xpath(".//div[@class='absent']")[0]) == f"failed: generate: {HOSTILE}"


def test_without_verdicts_citations_stay_unlit(tmp_path: Path) -> None:
    shutil.rmtree(write(tmp_path / "in", FIRST) / "results")
    build(tmp_path / "in", tmp_path / "out")
    (column,) = page(tmp_path / "out" / "events" / f"{IDS[0]}.html").xpath("//article")
    assert "holds no verdicts" in words(column) and not column.xpath(".//*[contains(@class, 'right')]")
    assert len(column.xpath(".//a[@class='mark ']")) == 2


# ---- nothing from a submission does anything


def html_files(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_hostile_text_is_text(site: Path) -> None:
    for path in html_files(site):
        tree = page(path)
        assert [s.get("src") for s in tree.xpath("//script")] == [("" if path.parent == site else "../") + "site.js"]
        assert not tree.xpath("//script/text()") and not tree.xpath("//img | //iframe | //object | //embed | //base | //style")
        for element in tree.iter():
            risky = [name for name in element.attrib if name.startswith("on") or name in ("style", "srcdoc", "formaction")]
            assert not risky, (path.name, risky)
        (policy,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
        assert policy == "default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'"
        assert tree.xpath("//head/meta")[1].get("http-equiv") == "Content-Security-Policy"  # before anything is loaded
    assert HOSTILE in words(page(site / "index.html")) and HOSTILE in words(page(site / "events" / f"{IDS[0]}.html"))


def test_every_link_leads_somewhere_and_nothing_is_loaded_from_outside(site: Path) -> None:
    for path in html_files(site):
        tree = page(path)
        outside = set()
        for element, attribute, link, _ in tree.iterlinks():
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                outside.add((element.tag, attribute, parts.scheme))
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file() and target.is_relative_to(site.resolve()), (path.name, link)
            if parts.fragment:
                assert page(target).xpath("//*[@id=$id]", id=parts.fragment), (path.name, link)
        assert outside <= {("a", "href", "https")}
    for name in ("site.css", "site.js"):
        text = (site / name).read_text(encoding="utf-8")
        assert not re.search(r"https?:|@import|url\(|innerHTML|insertAdjacentHTML|document\.write|eval\(|fetch\(", text)


@given(st.text())
def test_pages_hold_no_control_characters(text: str) -> None:
    shown = readable(text)
    shown.encode("utf-8")
    assert all(c in "\t\n" or ord(c) >= 32 for c in shown) and readable(shown) == shown


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://www.example.org/a?b=1#c", "example.org"),
        ("JavaScript://example.org/%0aalert(1)", ""),
        ("data:text/html,<script>", ""),
        ("https:///nowhere", ""),
        ("https://[::1", ""),
        ("java\nscript:alert(1)", ""),
    ],
)
def test_only_web_addresses_become_links(url: str, host: str) -> None:
    assert web_address(url) == ((url, host) if host else ("", ""))

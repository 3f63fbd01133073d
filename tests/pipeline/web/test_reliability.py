from __future__ import annotations

from pathlib import Path

import pytest

import data.pages
from data.pages.cleaning import Extracted, clean_pages
from pipeline.web.reliability import LABELS, reliability

FOLDER = Path(data.pages.__file__).parent


@pytest.mark.parametrize(
    ("url", "label"),
    [
        ("https://www.reuters.com/world/x", "reliable"),
        ("https://edition.cnn.com/x", "reliable"),
        ("https://www.dailymail.co.uk/news/1", "deprecated"),
        ("https://baike.baidu.com/item/1", "deprecated"),
        ("https://www.baidu.com/item/1", ""),
        ("https://some-blog.medium.com/x", "unreliable"),
        ("https://notreuters.com/x", ""),
        ("https://news.example/x", ""),
        ("", ""),
    ],
)
def test_labels(url: str, label: str) -> None:
    assert reliability(url) == label


def test_the_lists_are_dated_and_hold_each_name_once() -> None:
    names: list[str] = []
    for label in LABELS:
        lines = (FOLDER / f"{label}_hosts.txt").read_text(encoding="utf-8").splitlines()
        listed = [line for line in lines if line and not line.startswith("#")]
        assert listed == sorted(listed)
        assert "perennial-sources list" in lines[0] and "2025" in "".join(lines[:4])
        names += listed
    assert len(names) == len(set(names)) > 150


def test_a_label_never_drops_a_page() -> None:
    text = " ".join(f"word{i}" for i in range(200)) + "."
    page = Extracted(url="https://www.dailymail.co.uk/x", title="T", text=text, origin="search", media="html")
    assert clean_pages([page], leak=None, leak_hosts=True, languages=())[0].usable

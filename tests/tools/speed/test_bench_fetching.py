"""The measured fetch reads the pages that it says it reads, and so does its peer."""

from __future__ import annotations

import sys

import pytest

from tools.speed import bench_fetching as fetching

pytestmark = [  # a tool for those who work on this project, and seconds of measuring
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="each host has a loopback address of its own"),
]


def test_both_read_every_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert fetching.main(["--pages", "3", "--hosts", "3", "--latency", "0,0.01"]) == 0
    rows = capsys.readouterr().out.splitlines()[1:4]
    assert [row.split()[-1] for row in rows] == ["3", "3", "3"]
    assert rows[2].startswith("requests and trafilatura") and rows[2].split()[-4] == "1.00"
    assert all(float(row.split()[-2]) > 20 for row in rows)  # MiB: an interpreter at least


@pytest.mark.parametrize("wrong", [["--latency", "fast"], ["--latency", "2,1"], ["--pages", "0"], ["--hosts", "500"]])
def test_wrong_input(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert fetching.main(wrong) == 2
    assert wrong[1] in capsys.readouterr().err

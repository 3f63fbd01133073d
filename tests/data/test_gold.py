from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.gold import GoldArticle, GoldSection, is_excluded, load_gold
from data.snapshot import SAMPLE, Snapshot
from tests.data.test_snapshot import build


def gold(tmp_path: Path, **reference: Any) -> GoldArticle:
    return load_gold(build(tmp_path, {"1": reference}, {}), "1")


def test_an_emptied_section_is_still_a_heading_and_one_that_is_no_prose_is_left_out(tmp_path: Path) -> None:
    """Tables and lists were taken out of the text, sometimes with the heading's line."""
    found = gold(
        tmp_path,
        text="Lead.\nResults\nAftermath\nCalm.\nSee also\nOther fires\nExternal links\nA list.",
        outlines=["Squads", "Results", "Medals", "Aftermath", "See_also", "External_links", "References"],
    )
    assert [(s.heading, s.prose) for s in found.sections] == [
        ("Squads", ""), ("Results", ""), ("Medals", ""), ("Aftermath", "Calm."),
    ]  # fmt: skip
    assert found.lead == "Lead." and found.prose == "Lead.\nCalm."
    assert "Other fires" in found.raw  # the scores of the benchmark's own scripts count it


def test_markers_and_odd_characters_are_normalised_on_both_sides(tmp_path: Path) -> None:
    found = gold(
        tmp_path,
        text="It fell 40\u00a0m.[1][12] See [a] and [1.5].\nﬁnal\u00a0match\nWon.[3]",
        outlines=["ﬁnal_match"],
        info_kv={"Date": "3\u00a0May[4]", "Dead[2]": "14", "Site": 7, "None": None},
    )
    assert found.lead == "It fell 40 m. See [a] and [1.5]."
    assert found.sections == (GoldSection("final match", "Won."),)
    assert found.infobox == (("Date", "3 May"), ("Dead", "14"), ("Site", "7"), ("None", "None"))
    assert found.raw.startswith("It fell 40\u00a0m.[1]")


def test_cited_addresses_from_every_shape(tmp_path: Path) -> None:
    nested = [["D", "https://b.example/"], {"url": "https://c.example/"}]
    references = [["C", "https://a.example/", "t"], nested, ["no address"]]
    assert gold(tmp_path, reference=references).cited_urls == ("https://a.example/", "https://b.example/", "https://c.example/")


heading_names = st.sampled_from(["Cause", "Results", "Route to exit", "Aftermath", "2031 season"])
prose_lines = st.lists(st.sampled_from(["It burned.", "Twelve died.", "", "  Nobody knew. "]), max_size=4)


@given(prose_lines, st.lists(st.tuples(heading_names, prose_lines, st.booleans()), max_size=6, unique_by=lambda s: s[0]))
def test_no_line_is_lost_or_doubled(
    tmp_path_factory: pytest.TempPathFactory, lead: list[str], sections: list[tuple[str, list[str], bool]]
) -> None:
    """Whatever was emptied: lead and sections together are the text's lines in order, under the headings that are there."""
    lines = list(lead)
    for heading, body, has_line in sections:
        lines += [heading, *body] if has_line else []
    found = gold(
        tmp_path_factory.getbasetemp() / "lines", text="\n".join(lines), outlines=[h.replace(" ", "_") for h, _, _ in sections]
    )
    expected = [(heading, joined(body) if has_line else "") for heading, body, has_line in sections]
    assert [(section.heading, section.prose) for section in found.sections] == expected
    assert found.lead == joined(lead)


def joined(lines: list[str]) -> str:
    return "\n".join(line.strip() for line in lines if line)


def test_the_sample_reads_as_a_person_would() -> None:
    for event_id in Snapshot(SAMPLE).ids("search"):
        found = load_gold(Snapshot(SAMPLE), event_id)
        assert len(found.headings) >= 5 and not {"See also", "References"} & set(found.headings)
        assert all(section.prose for section in found.sections) and found.lead
        assert len(found.infobox) == 10 and len(found.cited_urls) == 4
        assert not [h for h in found.headings if "_" in h] and "[1]" not in found.prose


@pytest.mark.slow
@pytest.mark.skipif("WIKIGEN_DATA" not in os.environ, reason="needs the benchmark: WIKIGEN_DATA")
def test_the_whole_benchmark_can_be_read() -> None:
    snapshot = Snapshot(Path(os.environ["WIKIGEN_DATA"]))
    golds = [load_gold(snapshot, event_id) for event_id in snapshot.ids("cited")]
    sections = [section for found in golds for section in found.sections]
    assert all(found.prose and found.cited_urls for found in golds)
    assert sum(not section.prose for section in sections) / len(sections) < 0.15
    assert not [s.heading for s in sections if "_" in s.heading or is_excluded(s.heading)]

"""Articles and references as nobody wants them, through every metric: a value in its range or None, never an error."""

from __future__ import annotations

import math

import pytest

from data.gold import GoldArticle
from eval.catalogue import is_share
from eval.metric import Case
from tests.benchmark.score_part import metrics
from tests.eval.cases import case, gold, page

HUMAN = "The ferry Astra sank on Lake Orta on 4 May 2022.\n==Rescue==\nForty people swam ashore.\n==Table==\n"
PAGES = (
    page("The ferry Astra sank on Lake Orta on 4 May 2022. Forty people swam ashore.", "Lake news"),
    page("Паром затонул на озере."),
)
LONG = "The ferry " + " ".join(f"Name{n} and {n} boats" for n in range(50)) + " sank.[1]"
WRITTEN = {
    "empty": "",
    "headings alone": "==Rescue==\n==Aftermath==",
    "references alone": "==References==\nThe ferry Astra sank on Lake Orta.[1]",
    "uncited": "The ferry Astra sank on Lake Orta. Forty people swam ashore that night.",
    "invented citations": "The ferry Astra sank on Lake Orta.[0] Forty people swam ashore that night.[99]",
    "other script": "Паром «Астра» затонул на озере Орта.[1]\n==Спасение==\nСорок человек доплыли до берега.[2]",
    "200 words": LONG,
    "stops alone": ". . . [1]",
}
REFERENCES = {
    "usual": gold(HUMAN, infobox=[("date", "4 May 2022")]),
    "no outline, no infobox": gold("The ferry Astra sank on Lake Orta on 4 May 2022."),
    "no names": gold("it rained and then it snowed, and the boats came back."),
    "empty": gold(""),
    "other script": gold("Паром «Астра» затонул на озере Орта.\n==Спасение==\nСорок человек доплыли до берега."),
}


@pytest.mark.parametrize("reference", REFERENCES.values(), ids=REFERENCES)
@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_values_are_in_range_or_unscored(written: str, reference: GoldArticle) -> None:
    for pages in (PAGES, ()):
        scored = case(written, reference, pages)
        for metric in metrics():
            values = metric.score(scored)
            assert values.keys() == metric.names.keys()
            for name, value in values.items():
                if value is None:
                    continue
                assert math.isfinite(value) and value >= 0, name
                assert value <= 1 + 1e-6 or not is_share(name), name


@pytest.mark.parametrize("written", ["", "==Rescue==\n==Aftermath=="], ids=["empty", "headings alone"])
def test_nothing_written_is_never_good(written: str) -> None:
    """But where headings are asked for, or are part of the text by definition: in STORM's and WikiGenBench's ROUGE."""
    scored: Case = case(written, REFERENCES["usual"], PAGES)
    for metric in metrics():
        for name, value in metric.score(scored).items():
            if metric.names[name] == "higher" and not name.startswith(("heading_", "storm_", "wgb_")):
                assert not value, name

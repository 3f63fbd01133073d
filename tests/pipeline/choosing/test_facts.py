from __future__ import annotations

import pytest

from pipeline.choosing.facts import names, numbers


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Mayor Irena Holt said the warning came late.", {"mayor irena holt"}),
        ("The University of Vasterlow opened in Orvenia.", {"university of vasterlow", "orvenia"}),
        ("Yesterday Pavel Drost met Tomas Lind.", {"yesterday pavel drost", "tomas lind"}),
        ("After the flood O'Brien met Jean-Pierre.", {"obrien", "jeanpierre"}),
        ("The officials of St. Louis met Ángel Núñez.", {"st louis", "ángel núñez"}),
        ("Vasterlow was flooded.", set()),  # one capitalised word at the start may be any word
        ("However, it rained. In addition, she left.", set()),
        ("fourteen people died", set()),
        ("", set()),
    ],
)
def test_names(text: str, found: set[str]) -> None:
    assert names(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,200 or 1200 or 1,200,000", {"1200", "1200000"}),
        ("7.2 metres, 5.0.", {"7.2", "5.0"}),
        ("on 16 March 2031, at 03:40", {"16", "2031", "03", "40"}),
        ("the 16th, $48m, 50%", {"16", "48", "50"}),
        ("2031–32", {"2031", "32"}),
        ("fourteen", set()),
        ("", set()),
    ],
)
def test_numbers(text: str, found: set[str]) -> None:
    assert numbers(text) == found

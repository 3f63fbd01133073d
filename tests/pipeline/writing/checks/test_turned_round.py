"""Sentences that were turned round, rightly and wrongly. Every fact and text is invented."""

from __future__ import annotations

import pytest

from pipeline.writing.checks.turned_round import turned_round


@pytest.mark.parametrize(
    ("fact", "text", "fault"),
    [
        ("The queens entirely depend on host labour.", "Host labour entirely depends on the queens.", "exchanged: depends"),
        ("The ants need a host only during the spring.", "During the spring, the ants need a host only.", '"only"'),
        ("Only the pilots voted for the dam.", "The pilots voted for only the dam.", '"only"'),
        ("The song came out on July 25, 2031.", "The song came out from July 25, 2031.", "from July 25"),
        ("The mill stood empty until 1990.", "Since 1990 the mill stood empty.", "Since 1990"),
        (
            "Abt watches Ruiz pull the rope as she, too, is tied.",
            "Abt watches Ruiz pull the rope. Abt, too, is tied.",
            "a name stands for a pronoun: Abt",
        ),
        ("Abt had met her twice before.", "Before Abt had met her twice.", "a clause that no fact has: Before Abt"),
    ],
)
def test_what_stands_elsewhere_and_says_something_else_is_found(fact: str, text: str, fault: str) -> None:
    assert fault in "; ".join(turned_round(text, [fact]))


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("The police closed the bridge.", "The bridge was closed by the police."),
        ("The dam broke on 12 March 2031 at noon.", "On 12 March 2031, the dam broke at noon."),
        ("The mill was only sold in 1990.", "In 1990, the mill was only sold."),
        ("The pilot joined the crew in May, and the crew won.", "In May, the pilot joined the crew. The crew won."),
        ("The ferry, which sank, was old.", "The ferry that sank was old."),
    ],
)
def test_what_may_be_turned_round_has_no_fault(fact: str, text: str) -> None:
    assert turned_round(text, [fact]) == []

"""What is read off the replies of a server."""

from __future__ import annotations

from decoding.serving.server_replies import estimated_tokens, shares_of_tokens


def test_tokens_that_fit_several_options_are_for_none() -> None:
    assert shares_of_tokens([("N", -0.1), ("None", -1.0), ("No,", -1.0)], ("No", "None")) == (1.0, 0.0)
    assert shares_of_tokens([("", 0.0), ("\n", -0.1), ("x", -0.2)], ("a", "b")) == (0.5, 0.5)


def test_tokens_are_estimated_by_words_and_letters() -> None:
    assert (estimated_tokens(""), estimated_tokens("12 March 2021"), estimated_tokens("東京")) == (0, 9, 6)

"""What the choice of a system's model decides."""

from __future__ import annotations

import pytest

from flows.wiring.systems import MANY_NOTES, notes_together


@pytest.mark.parametrize(("name", "n"), [("", 1), ("qwen-1.5b", 1), ("qwen3-8b", MANY_NOTES), ("gguf:a.gguf", 1)])
def test_how_many_notes_a_model_says_at_once(name: str, n: int) -> None:
    assert notes_together(name) == n
    assert notes_together("server:big@http://127.0.0.1:1/v1") == MANY_NOTES

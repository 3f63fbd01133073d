"""The one parser of model names."""

from __future__ import annotations

import pytest

from data.model_name import ModelName, parse_model


@pytest.mark.parametrize(
    ("text", "found", "is_local", "is_whole"),
    [
        ("smollm2", ModelName("", "smollm2"), True, True),
        ("hf:org/model", ModelName("hf", "org/model"), True, True),
        ("hf:", ModelName("hf", ""), True, False),
        ("gguf:C:/models/a.gguf", ModelName("gguf", "C:/models/a.gguf"), True, True),
        ("C:/models/x", ModelName("", "C:/models/x"), True, True),
        ("server:org/m", ModelName("server", "org/m"), False, False),
        ("server:@http://x", ModelName("server", "", "http://x"), False, False),
        ("llm:m@https://user@host/v1", ModelName("llm", "m", "https://user@host/v1"), False, True),
        ("", ModelName("", ""), True, False),
    ],
)
def test_names_are_taken_apart(text: str, found: ModelName, is_local: bool, is_whole: bool) -> None:
    asked = parse_model(text)
    assert (asked, asked.is_local, asked.is_whole) == (found, is_local, is_whole)

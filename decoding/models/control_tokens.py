"""Texts of strangers cannot hold a model's control tokens: they are broken before the tokenizer sees them."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CONTROL = re.compile(
    r"""
      <[|｜][^<>\n]{0,80}?>                                  # <|im_start|>, <|eot_id|>, <|turn>, DeepSeek's wide bars
    | <[^<>|｜\s]{1,80}[|｜]>                                # <turn|>
    | </?(?:s|bos|eos|pad|unk|mask|sep|cls|think|tools?|tool_calls?|tool_response|function_calls?|start_of_image)>
    | <(?:start|end)_of_\w{1,20}> | <(?:unused|extra_id_|reserved_)\w{1,20}> | <(?:fim|file|repo)_\w{1,20}>
    | <</?SYS>>
    | \[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|IMG|THINK)\]
    | \[(?:gMASK|sMASK|CLS|SEP|PAD|MASK|UNK|BOS|EOS)\]
    | \|\|\|[A-Z_]{1,40}\|\|\|
    """,
    re.VERBOSE,
)
"""What chat models of the known families read as control: checked wherever the tokenizer itself is out of reach."""


def break_control_tokens(text: str, extra: re.Pattern[str] | None = None) -> str:
    """`text` with a space after the first character of every control token of the known families, and of `extra`.

    `[INST]` becomes `[ INST]`: still readable, no longer one token. Text without control tokens comes back unchanged, and
    so does text that went through here before.
    """
    for pattern in (_CONTROL, extra):
        if pattern is None:
            continue
        for _ in range(4):  # breaking the inside of `<<s>s>` leaves another token outside
            text = pattern.sub(_break, text)
    return text


def _break(match: re.Match[str]) -> str:
    token = match.group()
    return f"{token[0]} {token[1:]}" if len(token) > 1 else " "


def control_pattern(tokens: Iterable[str]) -> re.Pattern[str] | None:
    """One pattern for these exact strings, longest first; None when there are none."""
    ordered = sorted({token for token in tokens if token}, key=lambda token: (-len(token), token))
    return re.compile("|".join(map(re.escape, ordered))) if ordered else None

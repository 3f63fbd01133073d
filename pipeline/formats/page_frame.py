"""The frame of every page that is made here: one file, from which nothing is loaded and nothing is sent.

Styles and script are inline and admitted by their hashes in a Content-Security-Policy; there are no images, fonts or forms.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from importlib import resources


def counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def document(title: str, body: str, script: str) -> str:
    style = asset("preview.css")
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src {_hash(style)}",
            f"script-src {_hash(script)}" if script else "script-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        ]
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
{body}{f"<script>{script}</script>" if script else ""}
</body>
</html>
"""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def asset(name: str) -> str:
    # The hash is of what the browser sees, and it sees line feeds whatever the file has.
    return resources.files("pipeline.formats").joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")

"""Lets `prefect deployment run wiki-gen` name this project's deployment, as `wiki-gen/wiki-gen` does.

Prefect wants FLOW/DEPLOYMENT. Its start-up hook runs in this process before the command line is read, so the short name can
be completed there. The hook is switched on by pyproject.toml and is therefore active in the repository root only. Every
process that imports Prefect imports this module: it must stay light.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from prefect.plugins import register_hook

ALIASES = {"wiki-gen": "wiki-gen/wiki-gen"}
_PROGRAMS = frozenset({"prefect", "prefect.exe", "-m"})
"""`-m` is what is in argv[0] while `python -m prefect` is starting."""


def expand(argv: Sequence[str]) -> list[str]:
    """The command line with the deployment's short name completed; any other command line is returned as it is.

    The name counts only as a word of its own after `deployment run`, so values such as `-p out=wiki-gen` are left alone.
    """
    words = list(argv)
    program = os.path.basename(words[0]) if words else ""  # noqa: PTH119 - pathlib would be one more import
    if program not in _PROGRAMS or not {"deployment", "deployments"} & set(words) or "run" not in words:
        return words
    at = words.index("run") + 1
    return words[:at] + [ALIASES.get(word, word) for word in words[at:]]


@register_hook
def setup_environment(*, ctx: Any) -> None:
    sys.argv[:] = expand(sys.argv)

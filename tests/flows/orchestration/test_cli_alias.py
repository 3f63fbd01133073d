"""The short name of the deployment on Prefect's own command line."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from flows.orchestration import _cli_alias
from flows.orchestration._cli_alias import expand


@pytest.mark.parametrize(
    "typed",
    [
        "prefect deployment run wiki-gen",
        "/usr/bin/prefect deployment run wiki-gen",
        "prefect.exe deployments run wiki-gen -p limit=2 --watch",
        "-m deployment run wiki-gen",
        "prefect --no-prompt deployment run -p limit=2 --watch wiki-gen",
    ],
)
def test_short_name_is_completed(typed: str) -> None:
    assert expand(typed.split()) == typed.replace("wiki-gen", "wiki-gen/wiki-gen").split()


@pytest.mark.parametrize(
    "typed",
    [
        "prefect deployment run wiki-gen/wiki-gen -p out=wiki-gen-2",
        "prefect deployment run other",
        "prefect deployment inspect wiki-gen",
        "prefect flow-run ls --flow-name wiki-gen",
        "prefect deploy -n wiki-gen",
        "pytest deployment run wiki-gen",
        "",
    ],
)
def test_other_command_lines_stay(typed: str) -> None:
    assert expand(typed.split()) == typed.split()


def test_hook_changes_the_command_line_of_this_process_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    argv = ["prefect", "deployment", "run", "wiki-gen"]
    monkeypatch.setattr(sys, "argv", argv)
    _cli_alias.setup_environment(ctx=None)
    assert argv == ["prefect", "deployment", "run", "wiki-gen/wiki-gen"]


def test_plugin_stays_light() -> None:
    """Every process that imports Prefect in this repository pays for what the plugin imports, packages included."""
    source = Path(_cli_alias.__file__)
    tree = ast.parse(source.read_text(encoding="utf-8"))
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name for name in imported if name.split(".")[0] not in sys.stdlib_module_names} == {"prefect.plugins"}
    for package in (source.parent, source.parent.parent):
        (told,) = ast.parse((package / "__init__.py").read_text(encoding="utf-8")).body
        assert isinstance(told, ast.Expr)  # a docstring alone

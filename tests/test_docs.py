"""README and docs/ hold: links lead to files, commands exist and take the flags that are shown, rooms are those of the tree."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import shlex
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from data.settings import Settings
from flows.cli import COMMANDS, main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "LOG.md")), *sorted((ROOT / "docs").glob("*.md"))]


def commands(page: Path) -> list[list[str]]:
    """Of bash blocks and inline code, what starts one of our programs: `wikigenben ...` or `python -m OURS ...`."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:bash|sh)?\n(.*?)```", text, re.S)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    lines += re.findall(r"`((?:wikigenben|python -m [a-z_]+\.[a-z_.]+) [^`]+)`", text)
    found = []
    for line in lines:
        for part in re.split(r"&&|\|", line.split("  #")[0].split(" # ")[0]):
            words = shlex.split(part, comments=True) if part.count("'") % 2 == 0 and part.count('"') % 2 == 0 else []
            while words and re.fullmatch(r"\w+=\S*", words[0]):
                words = words[1:]
            name = Path(words[0]).name if words else ""
            if name == "wikigenben" and len(words) > 1:
                found.append(["wikigenben", *words[1:]])
            elif name in ("python", "python3") and words[1:2] == ["-m"] and words[2].split(".")[0] in OURS:
                found.append(words[2:])
    return found


OURS = ("pipeline", "benchmark", "decoding", "data", "eval", "flows", "tools")


@cache
def help_of(program: str, command: str) -> str:
    if program == "wikigenben":
        return said(main, [command, "--help"])
    # Imported, not run as __main__: each would be there twice, and other tests of this process have the first one
    module = import_module(f"{program}.__main__" if (ROOT / program.replace(".", "/")).is_dir() else program)
    assert 'if __name__ == "__main__":' in inspect.getsource(module)
    return said(module.main, ["--help"])


def said(run: Callable[[list[str]], int], words: list[str]) -> str:
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        try:
            run(words)
        except SystemExit as end:
            assert not end.code, told.getvalue()
    return told.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist_and_take_these_flags(page: Path) -> None:
    wrong = []
    for program, *words in commands(page):
        command = words[0] if program == "wikigenben" and words else ""
        if program == "wikigenben" and (command.startswith("-") or command not in COMMANDS):
            if command not in ("--version", "--help"):
                wrong.append(f"wikigenben {command}")
            continue
        known = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", help_of(program, command)))
        wrong += [
            f"{program} {command} {flag}"
            for word in words
            if (flag := word.split("=")[0]).startswith("--") and flag not in known
        ]
    assert not wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert not [link for link in links if "://" not in link and not (page.parent / link).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_modules_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    paths = re.findall(rf"(?<![\w/.-])((?:{'|'.join(OURS)}|tests)/[\w/]+\.(?:py|toml|txt|yaml))\b", text)
    settings = {
        f"{section.name}.{one.name}" for section in fields(Settings) for one in fields(getattr(Settings(), section.name))
    }
    modules = set(re.findall(rf"`((?:{'|'.join(OURS)})(?:\.[a-z_]+)+)`", text)) - settings
    missing = [path for path in paths if not (ROOT / path).exists()]
    for module in modules:
        parts = module.split(".")
        options = [ROOT.joinpath(*parts[:n]) for n in range(len(parts), 1, -1)]
        if not any(option.with_suffix(".py").exists() or option.is_dir() for option in options[:2]):
            missing.append(module)
    assert not missing


def test_the_readme_is_a_page() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_every_command_of_the_console_is_in_the_docs() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert not [name for name in COMMANDS if f"wikigenben {name}" not in text]

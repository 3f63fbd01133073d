"""What templates are for, by their names: `wikitemplates.toml`, read once."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PREFIXES = ("template:", "vorlage:", "modèle:", "subst:", "safesubst:", "t:")
_CITES = (
    "cite ",
    "citation ",
    "cita ",
    "citar ",
    "citeer ",
    "cytuj ",
    "vcite ",
    "citeweb",
    "citenews",
    "citebook",
    "citejournal",
)


@dataclass(frozen=True, slots=True)
class Templates:
    """Names are as `normal` gives them. `url`, `title`, ... are parameters of citations, the first that is there counts."""

    short: frozenset[str]
    several: frozenset[str]
    full: frozenset[str]
    named: frozenset[str]
    page_mark: frozenset[str]
    notes: frozenset[str]
    lists: frozenset[str]
    bundles: frozenset[str]
    cited: frozenset[str]
    books: frozenset[str]
    journals: frozenset[str]
    archives: frozenset[str]
    ignored: frozenset[str]
    ignored_starts: tuple[str, ...]
    shown_first: frozenset[str]
    shown_second: frozenset[str]
    quoted: frozenset[str]
    currencies: dict[str, str]
    marks: dict[str, str]
    parameters: dict[str, tuple[str, ...]]
    identifiers: tuple[str, ...]

    def is_citation(self, name: str) -> bool:
        return name in self.cited or name.startswith(_CITES)

    def is_ignored(self, name: str) -> bool:
        return name in self.ignored or name.startswith(self.ignored_starts)


def normal(name: str) -> str:
    """The name of a template as names are compared: `Template:Cite_web ` is `cite web`."""
    words = " ".join(name.replace("_", " ").split()).lower()
    for prefix in _PREFIXES:
        words = words.removeprefix(prefix).lstrip()
    return words


@cache
def templates() -> Templates:
    read = tomllib.loads(Path(__file__).with_name("wikitemplates.toml").read_text(encoding="utf-8"))

    def names(section: str, key: str = "names") -> frozenset[str]:
        return frozenset(normal(word) for word in read[section][key].split())

    return Templates(
        short=names("short"),
        several=names("short", "several"),
        full=names("short", "full"),
        named=names("named"),
        page_mark=names("page"),
        notes=names("note"),
        lists=names("notelist"),
        bundles=names("bundle"),
        cited=names("cited"),
        books=names("cited", "books"),
        journals=names("cited", "journals"),
        archives=names("archive"),
        ignored=names("ignored"),
        ignored_starts=tuple(names("ignored", "starts")),
        shown_first=names("shown", "first"),
        shown_second=names("shown", "second"),
        quoted=names("shown", "quoted"),
        currencies=dict(read["currencies"]),
        marks=dict(read["marks"]),
        parameters={key: _words(value) for key, value in read["parameters"].items()},
        identifiers=tuple(read["identifiers"]["order"].split()),
    )


def _words(written: str) -> tuple[str, ...]:
    return tuple(word.replace("_", " ") for word in written.split())

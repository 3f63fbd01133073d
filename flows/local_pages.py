"""Pages of an article that lie beside it on disk: an article in a folder cites `pages/a.html`, or `file:a.html`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeVar

from data.errors import UserError
from pipeline.checking.cited import FILE

if TYPE_CHECKING:
    from pipeline.web.local_files import LocalFile

T = TypeVar("T")


def files_beside(article: str, addresses: Iterable[str]) -> tuple[LocalFile, ...]:
    """The cited files that can be read: those in the folder of the article, or below it. What is elsewhere is not an article's
    to name, whoever wrote it. Where the article is no file, the folder is the current one."""
    from pipeline.web.local_files import LocalFile, local_files

    path = Path(article).expanduser()
    root = (path.parent if "\n" not in article and len(article) < 1000 and path.is_file() else Path()).resolve()
    found = []
    for address in addresses:
        name = address.removeprefix(FILE)
        try:
            asked = (root / name).resolve()
            inside = asked.is_relative_to(root) and asked.is_file()
            read = local_files([asked]) if inside else ()
        except (OSError, ValueError, UserError):  # one page: it is reported as one that could not be read
            continue
        found += [LocalFile(name, one.body) for one in read]
    return tuple(found)


def by_cited_name(addresses: Sequence[str], known: Mapping[str, T]) -> dict[str, T]:
    """Recorded files by the addresses that an article has for them. A record has the path below the folder that all files of
    its run shared, the article the path from its own: one that ends in the other is the same, where only one does."""
    parts = {address: _parts(address) for address in known if address.startswith(FILE)}
    ends: dict[str, list[str]] = defaultdict(list)
    for address, path in parts.items():
        ends[path[-1] if path else ""].append(address)
    found = {}
    for address in addresses:
        asked = _parts(address)
        same = [one for one in ends.get(asked[-1] if asked else "", []) if _ends(asked, parts[one])]
        if address in known:
            found[address] = known[address]
        elif len(same) == 1:
            found[address] = known[same[0]]
    return found


def _parts(address: str) -> tuple[str, ...]:
    return tuple(part for part in PurePosixPath(address.removeprefix(FILE)).parts if part not in ("/", ".", ".."))


def _ends(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    shared = min(len(a), len(b))
    return shared > 0 and a[-shared:] == b[-shared:]

"""Pages on research agents beside systems of this package, on the same topics and pages (`benchmark.comparing.agents`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.comparing.agents import GROUP, Group, Standings, read_group, standings
from benchmark.site.entries import Entry, Refused, group_folders, ledger_for, read_all
from data.errors import UserError


@dataclass(frozen=True, slots=True)
class AgentsPage:
    href: str
    split: str
    n_topics: int
    found: Standings
    unscored: tuple[str, ...] = ()
    """Members whose scores this site has only read."""


def read_agents(folder: Path, entries: Sequence[Entry], *, skip: Path | None = None) -> tuple[list[AgentsPage], list[Refused]]:
    """The groups in `folder` and one level below. Only valid submissions of a group are shown."""
    pages: list[AgentsPage] = []
    refused: list[Refused] = []
    ledger = ledger_for(folder)
    for place in group_folders(folder, skip=skip):
        try:
            group = read_group(place)
            if group is None:
                continue
            if place == folder:  # its submissions were read with the others, and refused ones are listed
                known = entries
            else:
                known, wrong = read_all(place, skip=skip, ledger=ledger)  # a folder that was sent in brings no ledger
                refused += [Refused(f"{place.name}/{one.folder}", one.system, one.reasons) for one in wrong]
            found = _standings(group, known)
        except UserError as error:
            reason = str(error).replace(f"{place}/", "")
            refused.append(Refused(f"{place.name}/{GROUP}" if place != folder else GROUP, "", (reason,)))
            continue
        href = "agents.html" if not pages else f"agents-{len(pages) + 1}.html"
        data = found.made[group.base].data
        unscored = tuple(sorted(one.folder.name for one in known if one.folder.name in found.made and not one.recomputed))
        pages.append(AgentsPage(href, data.split, data.n_events, found, unscored))
    return pages, refused


def _standings(group: Group, entries: Sequence[Entry]) -> Standings:
    by_folder = {entry.folder.name: entry.submission for entry in entries}
    if group.base not in by_folder:
        raise UserError(f"{GROUP}: there is no valid submission of {group.base!r}, which all are compared with")
    return standings(group, {one.name: by_folder[one.name] for one in group.members if one.name in by_folder})


__all__ = ["AgentsPage", "read_agents"]

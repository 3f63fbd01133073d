"""What the tests of several commands ask of one, and say to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.conftest import Ran
from tests.web_server import WebServer


def refused(ran: Ran, *names: object) -> None:
    """A user error: exit 2, nothing on stdout, and a message of one line that has all of `names`."""
    assert (ran.code, ran.out) == (2, ""), ran.err
    assert ran.err.startswith("wikigenben: ") and ran.err.count("\n") == 1, ran.err
    for name in names:
        assert str(name) in ran.err, ran.err


def findings(ran: Ran) -> list[dict[str, Any]]:
    """What `check --json` found of each statement."""
    found = ran.json["findings"]
    assert isinstance(found, list)
    return found


def verdicts(ran: Ran) -> list[str]:
    return [finding["verdict"] for finding in findings(ran)]


def fetching_from(server: WebServer) -> tuple[str, ...]:
    """Flags: pages of this machine are fetched, one right after the other."""
    return ("--set", f"web.allow_origins={server.origin()}", "--set", "web.min_delay_s=0")


def article_times(run: Path) -> dict[Path, int]:
    """When each article of a run was written."""
    return {path: path.stat().st_mtime_ns for path in run.glob("events/*/article.json")}

"""The Prefect server as seen from a command: whether it answers, and a clear end when it does not any more."""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from flows.showing import console

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

ANSWER_S = 5.0
"""Within which a server that is well says so, also on a busy machine."""
_WORKERS_MARK = "PREFECT__FLOW_RUN_ID"
"""In the environment of a process that a worker or `serve` started for one run."""
_ours: ContextVar[bool] = ContextVar("_ours", default=False)
"""Whether this process is there for the flow that it runs."""


def ask(api_url: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """The JSON that a server answers to GET, or with a body to POST; None where there is no such answer."""
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{api_url.rstrip('/')}{path}", data=content, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:
            return json.load(answer)
    except (OSError, ValueError):  # URLError, time-outs and refusals are of the first kind, HTML instead of JSON of the second
        return None


def is_well(api_url: str) -> bool:
    return ask(api_url, "/health") is True


def chosen_api_url() -> str:
    """PREFECT_API_URL, also from a profile; empty when every command shall start a server of its own."""
    from prefect.settings import PREFECT_API_URL

    return PREFECT_API_URL.value() or ""


def require_server() -> str:
    """The address of the server to use. Raises UserError when there is none that answers."""
    url = chosen_api_url()
    if not url:
        raise UserError("PREFECT_API_URL names no Prefect server; start one with everything else: wikigenben up")
    if not is_well(url):
        raise UserError(f"no Prefect server answers at {url} (PREFECT_API_URL); start it: wikigenben up")
    return url


def run_here(run: Callable[[], State[Any]]) -> int:
    """Run a flow in this process, say how it ended, and give the exit code. Raises UserError when PREFECT_API_URL names a
    server that does not answer."""
    url = chosen_api_url()
    if url and not is_well(url):
        raise UserError(f"no Prefect server answers at {url}; start it (wikigenben up), or unset PREFECT_API_URL to do without")
    token = _ours.set(True)
    try:
        state = run()
    finally:
        _ours.reset(token)
    console.note(f"{state.name}: {state.message}")
    code = 0 if state.is_completed() else 1
    if url and not is_well(url):
        _leave(code)
    return code


def outlast_server(where: Path | str) -> None:
    """For the end of a flow, when everything is written: a server that went away is no reason to lose that.

    Prefect would report the end for minutes, log a traceback, and then try seven seconds for each of its events, thousands in
    a long run, before it lets the process go. So a server that is gone is waited for as long as a request may take
    (PREFECT_API_REQUEST_TIMEOUT); then a process that is there for this run alone ends, and says so. Others return.
    """
    from prefect.settings import PREFECT_API_REQUEST_TIMEOUT

    url = chosen_api_url()
    deadline = time.monotonic() + PREFECT_API_REQUEST_TIMEOUT.value()
    while url and not is_well(url):
        if time.monotonic() < deadline:
            time.sleep(0.5)
            continue
        if _ours.get() or _WORKERS_MARK in os.environ:
            console.note(f"the Prefect server at {url} is gone and does not know how this run ended; all of it lies in {where}")
            _leave(1)
        return


def _leave(code: int) -> None:
    """End at once, without waiting for what Prefect still wants to send."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

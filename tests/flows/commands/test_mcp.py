"""The tools of `wikigenben mcp`, asked by the official client over a real pipe."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from data.snapshot import SAMPLE
from tests.web_server import serving

# not imported here: every test process would wait a second for it
pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="mcp is not installed")


def asked(folder: Path, origin: str, *calls: tuple[str, dict[str, Any]]) -> list[tuple[bool, str]]:
    """(whether it is an error, its text) of each call."""
    from mcp import Client, StdioServerParameters

    flags = ("--set", f"web.allow_origins={origin}", "--set", "web.min_delay_s=0")
    more = {"WIKIGEN_RUNS": "runs", "WIKIGEN_CACHE": "cache", "PYTHONPATH": str(Path(__file__).parents[3])}
    args = ["-m", "flows.cli", "mcp", "--system", "extractive", *flags]
    server = StdioServerParameters(command=sys.executable, args=args, env={**os.environ, **more}, cwd=str(folder))

    async def ask() -> list[tuple[bool, str]]:
        found = []
        async with Client(server) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert names == {"write_article", "check_article", "evidence"}
            for name, arguments in calls:
                result = await client.call_tool(name, arguments)
                found.append((bool(result.is_error), "".join(getattr(part, "text", "") for part in result.content)))
        return found

    return asyncio.run(ask())


@pytest.mark.slow  # a process of its own that loads the sentence model and the judge, ten seconds
def test_an_assistant_writes_checks_and_reads_evidence(tmp_path: Path) -> None:
    with serving() as server:
        urls = []
        for path in sorted((SAMPLE / "html" / "9000002").glob("*.html"))[:2]:
            server.put(f"/{path.name}", path.read_bytes())
            urls.append(server.url(f"/{path.name}"))
        title = "Halvenport mayoral election"
        (failed, text), *others = asked(
            tmp_path,
            server.origin(),
            ("write_article", {"title": title, "urls": urls, "words": 200}),
            ("check_article", {"article": f"The mayor of Halvenport was elected in May [1].\n\n[1] {urls[0]}"}),
            ("check_article", {"article": "/etc/passwd"}),
            ("evidence", {"run": "../../etc", "citation": "0:0-9"}),
            ("write_article", {"title": title, "urls": []}),
            ("write_article", {"title": title, "urls": urls, "words": 7}),
        )
    assert not failed, text
    written = json.loads(text)
    assert written["markdown"].startswith(f"# {title}") and written["citations"]
    assert not others[0][0] and "1 statements" in json.loads(others[0][1])["summary"]
    told = [text for failed, text in others[1:] if failed]
    assert len(told) == 4, others
    assert "root:" not in told[0] and "there is no article" in told[1]
    assert "nothing to write from" in told[2] and "words = 7" in told[3]

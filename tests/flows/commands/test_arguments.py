"""Flags that several commands share."""

from __future__ import annotations

from typing import Any

import pytest

from flows.cli import main
from flows.write_request import request_for


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The flags of every article, of each web page or MCP server that was started; neither of them waits for anybody."""
    import flows.commands.mcp_server as mcp_server

    found: list[tuple[str, ...]] = []

    class Server:
        def run(self, transport: str) -> None: ...

    class Uvicorn:
        def __init__(self, *args: Any) -> None: ...
        def run(self, sockets: Any) -> None: ...

    def built(flags: tuple[str, ...] = ()) -> Server:
        found.append(flags)
        return Server()

    monkeypatch.setattr(mcp_server, "build_server", built)
    monkeypatch.setattr("uvicorn.Server", Uvicorn)
    monkeypatch.setattr("flows.webapp.app.Page", lambda runs, checks, words: found.append(words))
    monkeypatch.setattr("flows.webapp.app.build_app", lambda page, admission: None)
    return found


@pytest.mark.parametrize("command", [["web", "--port", "0"], ["mcp"]])
def test_a_draft_model_reaches_every_article(started: list[tuple[str, ...]], command: list[str]) -> None:
    assert main([*command, "--model", "hf:large", "--draft-model", "gguf:small.gguf", "--set", "decoding.method=draft"]) == 0
    (flags,) = started
    settings = request_for(["A title", "--url", "http://example.org", *flags]).settings
    assert (settings.model.name, settings.decoding.draft_model, settings.decoding.method) == (
        "hf:large", "gguf:small.gguf", "draft",
    )  # fmt: skip


@pytest.mark.parametrize("command", [["web", "--port", "0"], ["mcp"], ["write", "A title", "--url", "http://127.0.0.1:9/"]])
@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--draft-model", "server:m@http://127.0.0.1:9/v1"], ["'server:m@http://127.0.0.1:9/v1' is a server", "smollm2"]),
        (["--draft-model", "gguf:"], ["'gguf:' names no model", "gguf:FILE"]),
        (["--draft-model", "smollm2", "--set", "decoding.method=copy"], ["'copy' has no use for a draft model"]),
        (["--set", "decoding.method=draft"], ["'draft' needs a smaller model", "--draft-model"]),
        (["--draft-model", "smollm2", "--system", "extractive"], ["--system extractive needs no model", "--draft-model out"]),
        (
            ["--draft-model", "smollm2", "--model", "server:m@http://127.0.0.1:9/v1"],
            ["decodes in its own way", "--draft-model"],
        ),
    ],
)
def test_a_draft_model_that_cannot_draft_is_told_before_anything_starts(
    started: list[tuple[str, ...]], capsys: pytest.CaptureFixture[str], command: list[str], words: list[str], names: list[str]
) -> None:
    assert main([*command, *words]) == 2
    told = capsys.readouterr().err
    assert not started and all(name in " ".join(told.split()) for name in names), told

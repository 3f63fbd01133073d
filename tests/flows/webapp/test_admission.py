"""Who may ask the web page, and for how long a body is waited for; without a server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from data.errors import UserError
from flows.webapp import app
from flows.webapp.admission import Admission


def test_elsewhere_than_loopback_a_token_is_asked_for() -> None:
    gate = Admission("secret", frozenset({"desk.lan"}))

    def scope(host: str, cookie: str = "") -> dict[str, Any]:
        headers = [(b"host", host.encode()), (b"cookie", cookie.encode())]
        return {"type": "http", "method": "GET", "path": "/api/runs", "scheme": "http", "headers": headers}

    assert gate.refusal(scope("desk.lan:8765")) == (401, gate.refusal(scope("10.0.0.5"))[1])  # type: ignore[index]
    assert gate.refusal(scope("desk.lan:8765", "wikigenben=secret")) is None
    assert gate.refusal(scope("10.0.0.5:8765", "wikigenben=secret")) is None
    assert gate.refusal(scope("evil.example", "wikigenben=secret"))[0] == 400  # type: ignore[index]


def test_what_is_sent_and_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "UPLOAD_S", 0.05)

    async def never() -> Any:
        await asyncio.Event().wait()

    with pytest.raises(UserError, match="not here after"):
        asyncio.run(app._body(Request({"type": "http", "headers": []}, never), 10))

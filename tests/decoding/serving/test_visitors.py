"""Who may ask a server: by its Host, Origin and Sec-Fetch headers, the same rules for the decoder and for the web page."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from decoding.serve import own_names
from decoding.serving import endpoints
from decoding.serving.visitors import OwnNames, ProgramsOnly, impatient_protocol


def status(names: OwnNames, **headers: str) -> int:
    """Of one GET through the gate; 200 is what stands behind it."""
    sent: list[Any] = []

    async def behind(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope: Any = {"type": "http", "method": "GET", "path": "/v1/models", "scheme": "http", "headers": raw}
    asyncio.run(ProgramsOnly(behind, names)(scope, receive, send))
    return int(sent[0]["status"])


@pytest.mark.parametrize(
    "host",
    ["rebound.example", "rebound.example:8000", "", "localhost.rebound.example", "127.0.0.1.rebound.example", "192.168.1.7",
     "[::1", "127.0.0.1@rebound.example:80", "rebound.example:127.0.0.1", "localhost.", None],
)  # fmt: skip
def test_a_name_that_is_made_to_point_here_or_none_is_refused(host: str | None) -> None:
    assert status(own_names("127.0.0.1", []), **({} if host is None else {"host": host})) == 400


def test_where_others_may_connect_addresses_and_told_names_are_known() -> None:
    names = own_names("0.0.0.0", ["Decoder"])
    assert [status(names, host=host) for host in ("10.0.0.7:8000", "[fd00::7]:8000", "decoder:8000", "localhost")] == [200] * 4
    assert [status(names, host=host) for host in ("rebound.example", "decoder.example")] == [400, 400]
    assert status(own_names("server.lan", []), host="server.lan:8000") == 200


def test_a_page_of_another_site_is_refused() -> None:
    names, host = own_names("127.0.0.1", []), "127.0.0.1:8000"
    for origin in ("https://evil.example", "null", "http://127.0.0.1:3000", "http://localhost:8000"):
        assert status(names, host=host, origin=origin) == 403, origin
    for site in ("cross-site", "same-site"):
        assert status(names, host=host, sec_fetch_site=site) == 403, site
    assert status(names, host=host, origin=f"http://{host}", sec_fetch_site="same-origin") == 200
    assert status(names, host=host, sec_fetch_site="none") == 200  # typed by the person at the machine


class _Asked:
    """A service that is asked for nothing: what is sent to it never becomes a request."""

    name, fingerprint, context_tokens, created = "stub", "", 100, 0

    def __init__(self) -> None:
        from decoding.serving.totals import Totals

        self.totals = Totals()
        self.closing = threading.Event()

    def describe(self) -> str:
        return "stub"


_GET = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
_POST = b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"


@pytest.mark.parametrize(
    ("sent", "status"),
    [(b"", b""), (b"GET /hea", b""), (_GET + b"GET /hea", b"200"), (_POST, b"408"), (_POST.replace(b"99", b"9" * 12), b"413")],
    ids=["nothing", "half of the headers", "half of a second request", "half of a body", "a body beyond all bounds"],
)
def test_who_does_not_go_on_is_hung_up_on(sent: bytes, status: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    import uvicorn

    monkeypatch.setattr(endpoints, "BODY_S", 0.2)
    listening = socket.create_server(("127.0.0.1", 0))
    app = endpoints.build_app(_Asked(), None, OwnNames())  # type: ignore[arg-type]
    server = uvicorn.Server(uvicorn.Config(app, http=impatient_protocol(0.2), log_config=None, timeout_keep_alive=60))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        with socket.create_connection(listening.getsockname(), timeout=30) as client:
            client.sendall(sent)
            received = b""
            while chunk := client.recv(4096):  # ends when the server hangs up, else in a timeout
                received += chunk
        assert received[9:12] == status
    finally:
        server.should_exit = True
        thread.join(30)

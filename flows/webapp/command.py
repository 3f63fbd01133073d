"""`wikigenben web`: open the page, print its address, serve it until Ctrl-C."""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from data.errors import UserError
from flows.commands.arguments import add_article_flags, article_flags, check_article_flags

PORT = 8765


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben web",
        description="A page on this machine: type a title or paste addresses, watch the article being written, check and "
        "correct it, take it away. Runs are those of `wikigenben write`. Ctrl-C ends it; an article goes on when asked for.",
    )
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="default: 127.0.0.1, this machine alone")
    parser.add_argument("--port", type=int, default=PORT, metavar="N", help=f"default: {PORT}; 0 takes a free one")
    add_article_flags(parser)
    arguments = parser.parse_args(argv)
    from flows.showing.console import guarded

    return guarded(lambda: serve(arguments.host, arguments.port, article_flags(arguments)))


def serve(host: str, port: int, words: tuple[str, ...]) -> int:
    """Raises UserError for flags that no article can be written with, and for an address that cannot be used."""
    import uvicorn

    from decoding.serving.visitors import impatient_protocol, is_loopback
    from flows.showing import console
    from flows.webapp.admission import Admission
    from flows.webapp.app import Page, build_app

    check_article_flags(words)
    listening = _listening(host, port)
    listening.listen(64)  # connections wait here until the page answers
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    runs = Path(os.environ.get("WIKIGEN_RUNS", "runs"))
    app = build_app(Page(runs / "write", runs / "check", words), Admission(token, frozenset({host})))
    name = f"[{host}]" if ":" in host else host
    shown = f"http://{name}:{listening.getsockname()[1]}/" + (f"?token={token}" if token else "")
    console.result(f"the page: {shown}\nruns are kept in {runs.resolve() / 'write'}; Ctrl-C ends")
    sys.stdout.flush()
    if token:
        console.note(f"{host} can be reached from other machines: whoever has this address with its token can write and read")
    config = uvicorn.Config(
        app, http=impatient_protocol(), log_level="warning", timeout_graceful_shutdown=2, server_header=False
    )
    uvicorn.Server(config).run(sockets=[listening])
    return 0


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"cannot listen on {host}:{port}: {why}; choose another --port or --host") from None
    return listening

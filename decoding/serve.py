"""The decoder behind an OpenAI-compatible HTTP server, for every client that speaks that API.

    python -m decoding.serve --model Qwen/Qwen3-0.6B
    curl localhost:8000/v1/chat/completions -H 'Content-Type: application/json' \\
         -d '{"model": "Qwen/Qwen3-0.6B", "messages": [{"role": "user", "content": "Hello"}]}'

`/v1/models`, `/v1/chat/completions`, `/v1/completions` (whole or streamed), `/health`, `/metrics` (JSON; in Prometheus' form,
with vLLM's names, for who accepts text/plain). Texts are written in the order of their requests; a client that hangs up
ends its text. Answers carry `timings` (llama.cpp's names) and `speculation` (vLLM's); `"speculation": "off"` in a request
decodes one token at a time, to the same text. `logprobs` are the model's own (`decoding.serving.logprobs`), and
`response_format` holds answers to a JSON schema while they are decoded. What is not supported is refused (400) by name, never
ignored. A request without a seed gets a random one, which the answer names. Contents of
messages cannot inject control tokens; a final assistant message is continued. Requests that wait at the same time are written
together where the model allows it (`decoding.together`), and so are the `n` answers of one; those with `logprobs` alone.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from data.errors import UserError, WikigenError
from decoding.methods import METHODS, check_draft_model, check_method
from decoding.models.naming import add_draft_model_flag
from decoding.models.registry import NAMES
from decoding.serving.endpoints import build_app
from decoding.serving.service import Service
from decoding.serving.visitors import OwnNames, impatient_protocol, is_loopback
from decoding.waiting import spin_briefly


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    spin_briefly()
    try:
        return _serve(arguments)
    except WikigenError as error:
        sys.stderr.write(f"decoding.serve: {error}\n")
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m decoding.serve", description="Serve a model, OpenAI-compatible.")
    parser.add_argument("--model", required=True, metavar="NAME", help=NAMES)
    parser.add_argument("--served-name", metavar="NAME", help="what clients call it (default: the id, or the folder's name)")
    parser.add_argument("--method", default="auto", metavar="METHOD", help=f"one of {', '.join(METHODS)} (default: auto)")
    parser.add_argument("--calibration", type=Path, metavar="DIR", help="for methods that skip layers")
    add_draft_model_flag(parser)
    parser.add_argument(
        "--lengths", metavar="POLICY", help="of drafts from skipped and draft models: threshold, fixed:4, expected"
    )
    parser.add_argument("--backend", default="auto", help="auto, packed, lowbit, driven or hf")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, ...")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16 or float16")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="another name that clients ask by, as in a container network; may be given several times (always: localhost, "
        "--host, and any IP address when --host is not this machine only)",
    )
    parser.add_argument("--api-key-env", metavar="VARIABLE", help="environment variable with the key that clients must send")
    return parser


def _serve(arguments: argparse.Namespace) -> int:
    api_key = _api_key(arguments.api_key_env)
    check_method(arguments.method)
    listening = _listen(arguments.host, arguments.port)  # before the model is loaded: a taken port should not cost minutes
    with listening:
        from decoding.engine import calibration_for, ready_engine
        from decoding.models.naming import check_draft_name, load_draft, load_named

        check_draft_model(arguments.method, bool(arguments.draft_model))
        if arguments.draft_model:
            check_draft_name(arguments.draft_model)
        model = arguments.model.removeprefix("hf:")
        sys.stderr.write(f"decoding.serve: loading {model}; the address is printed when it can answer\n")
        loaded = load_named(model, device=arguments.device, dtype=arguments.dtype)
        calibration = calibration_for(loaded, arguments.method, arguments.calibration)
        engine = ready_engine(
            loaded,
            arguments.method,
            backend=arguments.backend,
            calibration=calibration,
            lengths=arguments.lengths,
            draft=load_draft(arguments.draft_model, loaded) if arguments.draft_model else None,
        )
        service = Service(loaded, engine, arguments.served_name or _served_name(model))
        return _run(service, listening, api_key, own_names(arguments.host, arguments.allow_host))


def own_names(host: str, allowed: Sequence[str]) -> OwnNames:
    """What a server that listens on `host` may be called by."""
    return OwnNames(frozenset(name.lower() for name in (host, *allowed)), addresses=not is_loopback(host))


def _run(service: Service, listening: socket.socket, api_key: str | None, names: OwnNames) -> int:
    import uvicorn

    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    if api_key is None and not host.startswith("127.") and host != "::1":
        sys.stderr.write(f"decoding.serve: {shown} can be reached from elsewhere, and no key is asked for (--api-key-env)\n")
    listening.listen(64)  # connections wait here until the server takes over
    sys.stdout.write(f"{service.name} ({service.describe()}) at http://{shown}:{port}/v1\n")
    sys.stdout.flush()
    app = build_app(service, api_key, names)
    config = uvicorn.Config(app, http=impatient_protocol(), log_level="warning", timeout_graceful_shutdown=5)
    uvicorn.Server(config).run(sockets=[listening])
    return 0


def _api_key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UserError(f"--api-key-env {variable}: that variable is empty; set it to the key, or leave the flag out")
    return key


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        raise UserError(f"cannot listen on {host}:{port} ({error}); choose another --port (0 takes a free one)") from None
    return listening


def _served_name(model: str) -> str:
    folder = Path(model).expanduser()
    return folder.resolve().name if folder.is_dir() else model


if __name__ == "__main__":
    sys.exit(main())

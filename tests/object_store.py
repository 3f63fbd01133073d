"""An S3 server on loopback, with a bucket: moto's, which answers requests as Amazon's does and keeps objects in memory."""

from __future__ import annotations

import logging
import select
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

BUCKET = "wikigen"


@dataclass(frozen=True)
class ObjectStore:
    """`env` is the environment in which commands find it."""

    env: dict[str, str]

    def client(self) -> Any:
        import boto3

        return boto3.client("s3", endpoint_url=self.env["AWS_ENDPOINT_URL"])

    def objects(self, folder: str = "") -> dict[str, bytes]:
        """Everything in the bucket below `folder`, by name relative to it."""
        client, prefix = self.client(), f"{folder.rstrip('/')}/" if folder else ""
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        keys = [one["Key"] for page in pages for one in page.get("Contents", ())]
        return {key.removeprefix(prefix): client.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in keys}

    def put(self, key: str, content: bytes) -> None:
        self.client().put_object(Bucket=BUCKET, Key=key, Body=content)

    def delete(self, folder: str) -> None:
        client = self.client()
        for name in self.objects(folder):
            client.delete_object(Bucket=BUCKET, Key=f"{folder}/{name}")


@contextmanager
def serving() -> Iterator[ObjectStore]:
    """Server and environment; the bucket is empty."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line for each request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    env = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "tests",
        "AWS_SECRET_ACCESS_KEY": "not-a-secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    }
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in env.items():
                patch.setenv(name, value)
            store = ObjectStore(env)
            store.client().create_bucket(Bucket=BUCKET)
            yield store
    finally:
        server.stop()


class FlakyLine:
    """A connection to the server that breaks: `drop_next(n)` closes the next `n` requests' connections unanswered."""

    def __init__(self, target: str) -> None:
        host, _, port = target.removeprefix("http://").partition(":")
        self._target = (host, int(port))
        self._left = 0
        self._lock = threading.Lock()

    def __enter__(self) -> FlakyLine:
        line = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                line._carry(self.request)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True, kwargs={"poll_interval": 0.05}).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def drop_next(self, n: int) -> None:
        with self._lock:
            self._left = n

    def _drops(self) -> bool:
        with self._lock:
            dropped = self._left > 0
            self._left -= dropped
            return dropped

    def _carry(self, client: socket.socket) -> None:
        """Bytes both ways, until either side closes, or a request comes that is to be dropped."""
        with client, socket.create_connection(self._target, timeout=30) as server:
            while True:
                for one in select.select([client, server], [], [])[0]:
                    content = one.recv(2**16)
                    if not content or (one is client and self._drops()):
                        return
                    (server if one is client else client).sendall(content)

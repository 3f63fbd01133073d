"""A Chromium of one page: no network, an empty profile, a sandbox, its own process group, and an end at a time limit.

It is told what to do over a pipe (DevTools protocol, `--remote-debugging-pipe`: JSON messages that end in a zero byte), so no
port is opened. What keeps it from the network, each enough alone: every request but the page itself is refused by the
protocol's `Fetch` domain; names and addresses resolve to nothing; the only proxy, for loopback too, is a closed port; and where
root starts it, its network namespace has no devices. Root does not run it: the account `nobody` does, which keeps the sandbox.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NOBODY = 65534
MEMORY_MB = 1_024
"""MiB of a page's script heap, and of the disk that may be written; the time limit ends what grows elsewhere."""
START_S = 120.0
"""Seconds in which a browser must have started, on a machine that is busy, too."""
MOST_MESSAGE = 64_000_000
"""Bytes of one message from the browser."""
_FLAGS = (
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--no-default-browser-check", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-default-apps", "--disable-client-side-phishing-detection", "--disable-domain-reliability", "--disable-breakpad",
    "--disable-crash-reporter", "--disable-notifications", "--disable-speech-api", "--disable-plugins", "--mute-audio",
    "--disable-dev-shm-usage", "--disable-remote-fonts", "--disable-3d-apis", "--block-new-web-contents", "--no-pings",
    "--deny-permission-prompts", "--window-size=1280,900",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-features=Translate,MediaRouter,OptimizationHints,WebBluetooth,WebUSB,InterestFeedContentSuggestions",
    f"--js-flags=--max-old-space-size={MEMORY_MB}", "--renderer-process-limit=1", "--disk-cache-size=1000000",
)  # fmt: skip
_START = (
    "import os, resource, sys; r, w = map(int, sys.argv[1:3]); os.dup2(r, 13); os.dup2(w, 14); os.dup2(13, 3); os.dup2(14, 4);"
    "resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2);"
    "os.execvp(sys.argv[4], sys.argv[4:])"
)
"""What stands between: the pipes get the numbers that the browser looks at, no core is dumped, no file grows without end."""


class Undrawn(Exception):
    """Why a page was not drawn."""


def find_browser() -> str | None:
    """The path of an installed Chromium or Chrome."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


class Chromium:
    """A browser with one empty tab, to be used in a `with`. It has `START_S` to start, and then every call ends at `timeout_s`
    later at the latest, with Undrawn."""

    def __init__(self, path: str, *, timeout_s: float) -> None:
        self._path = path
        self._ends = time.monotonic() + START_S
        self._timeout_s = timeout_s
        self._rest = b""
        self._n = 0
        self._session: str | None = None
        self.seen: list[dict[str, Any]] = []
        """Events that came and that nobody waited for yet."""

    def __enter__(self) -> Self:
        self._folder = TemporaryDirectory(prefix="painted-", ignore_cleanup_errors=True)
        home = Path(self._folder.name)
        try:
            self._begin(home)
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        except BaseException:
            self.__exit__(None, None, None)
            raise
        self._ends = time.monotonic() + self._timeout_s
        return self

    def _begin(self, home: Path) -> None:
        (their_in, self._to), (self._from, their_out) = os.pipe(), os.pipe()
        self._process: subprocess.Popen[bytes] | None = None
        command = [*_before(home), self._path, *_FLAGS, *([] if _is_sandboxed() else ["--no-sandbox"])]
        command += ["--remote-debugging-pipe", f"--user-data-dir={home / 'profile'}", "about:blank"]
        start = [sys.executable, "-I", "-c", _START, str(their_in), str(their_out), str(MEMORY_MB << 20), *command]
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8"}
        try:
            self._process = subprocess.Popen(
                start,
                pass_fds=(their_in, their_out),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=home,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise Undrawn(f"{self._path} does not start: {error.strerror}") from None
        finally:
            os.close(their_in)
            os.close(their_out)
        os.set_blocking(self._to, False)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for pipe in (self._to, self._from):
            with contextlib.suppress(OSError):
                os.close(pipe)
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)  # the group is the session's: all of the browser's processes
            self._process.wait()
        self._folder.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to one command. Raises Undrawn where the browser refuses, ends, or is late."""
        n = self.send(method, **parameters)
        while True:
            message = self._next()
            if message.get("id") == n:
                if "error" in message:
                    raise Undrawn(f"{method}: {str(message['error'].get('message'))[:200]}")
                result: dict[str, Any] = message["result"]
                return result
            self._keep(message)

    def send(self, method: str, **parameters: Any) -> int:
        """A command whose answer nobody waits for; its number."""
        self._n += 1
        message: dict[str, Any] = {"id": self._n, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        left = memoryview(json.dumps(message).encode() + b"\0")
        while left:
            _, ready, _ = select.select([], [self._to], [], self._left())
            if not ready:
                raise Undrawn(self._late())
            try:
                left = left[os.write(self._to, left) :]
            except OSError:
                raise Undrawn("the browser ended") from None
        return self._n

    def wait(self, *methods: str, up_to_s: float) -> dict[str, Any] | None:
        """The next event of one of these kinds; None after so many seconds without one."""
        ends = min(time.monotonic() + up_to_s, self._ends)
        while True:
            for n, message in enumerate(self.seen):
                if message.get("method") in methods:
                    return self.seen.pop(n)
            self.seen.clear()
            left = ends - time.monotonic()
            if left <= 0 or not self._is_ready(left):
                return None
            self._keep(self._next())

    def wait_for(self, number: int, *methods: str) -> dict[str, Any]:
        """The answer to a command, or before it an event of one of these kinds."""
        for n, message in enumerate(self.seen):
            if message.get("method") in methods:
                return self.seen.pop(n)
        self.seen.clear()
        while True:
            message = self._next()
            if message.get("id") == number or message.get("method") in methods:
                return message

    def _keep(self, message: dict[str, Any]) -> None:
        if message.get("method"):
            self.seen.append(message)
            del self.seen[:-1_000]

    def _is_ready(self, seconds: float) -> bool:
        return b"\0" in self._rest or bool(select.select([self._from], [], [], seconds)[0])

    def _next(self) -> dict[str, Any]:
        pieces = [self._rest]
        size = len(self._rest)
        while b"\0" not in pieces[-1]:
            ready, _, _ = select.select([self._from], [], [], self._left())
            if not ready:
                raise Undrawn(self._late())
            received = os.read(self._from, 1 << 20)
            if not received:
                raise Undrawn("the browser ended: its process needs a sandbox that this machine does not give, or it crashed")
            size += len(received)
            if size > MOST_MESSAGE:
                raise Undrawn(f"more than {MOST_MESSAGE:,} bytes in one message")
            pieces.append(received)
        message, _, self._rest = b"".join(pieces).partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    @property
    def share_left(self) -> float:
        """Of the time that there is for the page."""
        return self._left() / self._timeout_s

    def _left(self) -> float:
        return max(self._ends - time.monotonic(), 0.0)

    def _late(self) -> str:
        return f"it was not drawn in {self._timeout_s:g} s" if self._session else f"the browser did not start in {START_S:g} s"


def _before(home: Path) -> list[str]:
    """Root gives the browser to `nobody`, in a network namespace without devices where the kernel allows it."""
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("setpriv") is None:
        return []
    os.chown(home, NOBODY, NOBODY)
    return [*_NO_NETWORK[: 3 * _can_unshare()], "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


_NO_NETWORK = ("unshare", "--net", "--")


@cache
def _can_unshare() -> bool:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return subprocess.run([*_NO_NETWORK, "true"], capture_output=True, timeout=10, check=False).returncode == 0
    return False


@cache
def _is_sandboxed() -> bool:
    """Whether Chromium's own sandbox can be on: not for root, and not where the kernel gives `nobody` no user namespace."""
    if os.name != "posix" or os.geteuid() != 0:
        return True
    if shutil.which("setpriv") is None:
        return False
    probe = [
        "setpriv",
        f"--reuid={NOBODY}",
        f"--regid={NOBODY}",
        "--clear-groups",
        "unshare",
        "--user",
        "--map-root-user",
        "true",
    ]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(probe, capture_output=True, timeout=10, check=False).returncode == 0
    return False


def encoded(body: bytes) -> str:
    return base64.b64encode(body).decode("ascii")

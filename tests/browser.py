"""A headless Chromium, told what to do as its own developer tools do: real keys, real clicks, a phone's screen, paper.

The DevTools protocol over a pipe (https://chromedevtools.github.io/devtools-protocol/, `--remote-debugging-pipe`): JSON
messages that end in a zero byte, to the browser's file descriptor 3 and from its 4. No port is opened.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

BROWSER = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium or google-chrome on PATH")

_AS_3_AND_4 = (
    "import os, sys; r, w = map(int, sys.argv[1:3]); os.dup2(r, 13); os.dup2(w, 14); os.dup2(13, 3); os.dup2(14, 4);"
    "os.execv(sys.argv[3], sys.argv[3:])"
)
_KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, "")}
_TIMEOUT_S = 60.0


class Tab:
    """One page in the browser. Calls return when the browser has done what was asked."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._rest = b""
        self._n = 0
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.requested: list[str] = []
        self.complaints: list[str] = []

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._n += 1
        message = {"id": self._n, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._n:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, address: str) -> None:
        self.call("Page.navigate", url="about:blank")
        self.requested, self.complaints = [], []
        self.call("Page.navigate", url=address)
        while self.value("location.href") == "about:blank" or self.value("document.readyState") != "complete":
            time.sleep(0.01)

    def screen(self, width: int, height: int, *, dark: bool = False, paper: bool = False) -> None:
        """A screen of so many CSS pixels; up to 500 of them wide it is a phone's."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width <= 500)
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.call("Emulation.setEmulatedMedia", media="print" if paper else "", features=features)

    def value(self, expression: str) -> Any:
        """Of a JavaScript expression, as JSON has it."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def click(self, selector: str) -> None:
        """With the mouse, where the element is seen."""
        x, y = self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
            "const b = e.getClientRects()[0]; return [b.left + b.width / 2, b.top + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        code, text = _KEYS[key]
        known = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **known)
        self.call("Input.dispatchKeyEvent", type="keyUp", **known)

    def screenshot(self) -> bytes:
        """PNG of what is on the screen."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", optimizeForSpeed=True)["data"])

    def pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], _TIMEOUT_S)
            received = os.read(self._from, 1 << 20) if ready else b""
            assert received, "the browser says nothing"
            self._rest += received
        message, _, self._rest = self._rest.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        match answer.get("method"):
            case "Network.requestWillBeSent":
                self.requested.append(answer["params"]["request"]["url"])
            case "Log.entryAdded":
                self.complaints.append(answer["params"]["entry"]["text"])
        return answer


@contextmanager
def browsing(profile: Path) -> Iterator[Tab]:
    """A browser with an empty profile, ended with the block."""
    (their_in, to_browser), (from_browser, their_out) = os.pipe(), os.pipe()
    command = [sys.executable, "-c", _AS_3_AND_4, str(their_in), str(their_out), str(BROWSER), *FLAGS]
    command += ["--remote-debugging-pipe", "--hide-scrollbars", f"--user-data-dir={profile}", "about:blank"]
    with (profile.parent / "browser.log").open("wb") as log:
        process = subprocess.Popen(command, pass_fds=(their_in, their_out), stdout=log, stderr=log)
    os.close(their_in)
    os.close(their_out)
    try:
        tab = Tab(to_browser, from_browser)
        yield tab
    finally:
        os.close(to_browser)  # which ends the browser
        os.close(from_browser)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

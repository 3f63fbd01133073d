"""A page as a browser paints it: HTML that has no text but what a reader sees (`--render`).

The page that was fetched is given to a Chromium without a network (`pipeline.reading.seen.chromium`) under its own address. Its
inline scripts run, so that a page whose text is in its own state is drawn, too; what it asks for is refused. `painted.js`, in a
world of its own that the page's scripts do not reach, goes through the text: is its box there, large enough, opaque, of another
colour than what is behind it, within what clips it, and the first thing at its place on the screen? What is not is left out. Of
the rest pixels decide, word by word: where a screen stays as it is when all letters are made transparent, none was painted.
"""

from __future__ import annotations

import codecs
import json
import re
import time
from dataclasses import dataclass
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from pipeline.reading.seen.chromium import Chromium, Undrawn, encoded

TIMEOUT_S = 45.0
MAX_BODY = 8_000_000
"""Bytes of a page that is drawn."""
LOAD_S, QUIET_S = 10.0, 0.7
"""Seconds for a page to be loaded, and after that for its scripts to write what they write at once."""
LEAST_SHARE = 0.3
"""Of the time, which is left for what comes after looking at screens."""
MOST_SCREENS = 80
"""Of one page; what lies beyond is read where its styles show it."""
_CHARSET = re.compile(r"charset=[\"']?([\w.:-]+)", re.I)
_NO_ADDRESS = "https://page.invalid/"
"""Of a page that was a file."""


@dataclass(frozen=True, slots=True)
class Painted:
    """HTML of what is painted, as UTF-8, with its words; `was_cut` of a page that is too long to be looked at whole."""

    html: bytes
    words: int
    was_cut: bool = False


def paint(body: bytes, *, url: str, content_type: str, browser: str, timeout_s: float = TIMEOUT_S) -> Painted:
    """Draw a fetched page. Raises Undrawn with the reason when that cannot be done within `timeout_s` seconds."""
    if len(body) > MAX_BODY:
        raise Undrawn(f"{len(body):,} bytes, limit for drawing {MAX_BODY:,}")
    address = url if urlsplit(url).scheme in ("http", "https") else _NO_ADDRESS
    with Chromium(browser, timeout_s=timeout_s) as chromium:
        return _Drawing(chromium, address, _as_utf8(body, content_type)).painted()


class _Drawing:
    def __init__(self, chromium: Chromium, address: str, body: bytes) -> None:
        self._chromium = chromium
        self._address = address
        self._body = body
        self._was_given = False
        self._world = 0

    def painted(self) -> Painted:
        call = self._chromium.call
        call("Page.enable")
        call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
        media = [{"name": "prefers-color-scheme", "value": "light"}, {"name": "prefers-reduced-motion", "value": "reduce"}]
        call("Emulation.setEmulatedMedia", media="screen", features=media)
        call("Fetch.enable", patterns=[{"urlPattern": "*"}])
        self._chromium.send("Page.navigate", url=self._address)
        self._until_loaded()
        if not self._was_given:
            raise Undrawn("the browser did not ask for the page")
        frame = call("Page.getFrameTree")["frameTree"]["frame"]["id"]
        world = call("Page.createIsolatedWorld", frameId=frame, worldName="painted")["executionContextId"]
        self._world = world
        self._evaluate(files("pipeline.reading.seen").joinpath("painted.js").read_text(encoding="utf-8") + ";0")
        _value(self._evaluate("reading.begin()"))
        self._look()
        return _received(self._evaluate("reading.written()"))

    def _look(self) -> None:
        """Compare screens as they are with screens without letters; what no time is left for is as its styles say."""
        screens = 0
        while screens < MOST_SCREENS and self._chromium.share_left > LEAST_SHARE:
            if _value(self._evaluate("reading.bring()")) is not True:
                return
            before = self._screen()
            self._evaluate("reading.blank(true)")
            after = self._screen()
            self._evaluate("reading.blank(false)")
            self._evaluate(f"reading.compare({json.dumps(before)}, {json.dumps(after)})")
            screens += 1

    def _screen(self) -> str:
        """A picture of the screen, base64."""
        told = self._answer(self._chromium.send("Page.captureScreenshot", format="png", optimizeForSpeed=True))
        data = told.get("result", {}).get("data")
        if not isinstance(data, str):
            raise Undrawn("the browser gives no picture of the screen")
        return data

    def _evaluate(self, expression: str) -> dict[str, Any]:
        """The answer; in a world of its own, beside the page."""
        return self._answer(
            self._chromium.send(
                "Runtime.evaluate", expression=expression, contextId=self._world, awaitPromise=True, returnByValue=True
            )
        )

    def _until_loaded(self) -> None:
        ends = time.monotonic() + LOAD_S
        while (left := ends - time.monotonic()) > 0:
            event = self._event("Page.loadEventFired", up_to_s=left)
            if event is not None and event["method"] == "Page.loadEventFired" and self._was_given:
                ends = min(ends, time.monotonic() + QUIET_S)

    def _event(self, *methods: str, up_to_s: float) -> dict[str, Any] | None:
        """An event; requests and boxes with a question are answered meanwhile."""
        event = self._chromium.wait(*methods, "Fetch.requestPaused", "Page.javascriptDialogOpening", up_to_s=up_to_s)
        if event is not None and event["method"] == "Fetch.requestPaused":
            self._answer_request(event["params"])
        elif event is not None and event["method"] == "Page.javascriptDialogOpening":
            self._chromium.send("Page.handleJavaScriptDialog", accept=False)
        return event

    def _answer_request(self, asked: dict[str, Any]) -> None:
        """The page itself, once; nothing else. What is aborted leaves the page that is there where it is."""
        if not self._was_given and asked.get("resourceType") == "Document":
            self._was_given = True
            self._chromium.send(
                "Fetch.fulfillRequest",
                requestId=asked["requestId"],
                responseCode=200,
                responseHeaders=[{"name": "Content-Type", "value": "text/html"}],
                body=encoded(self._body),
            )
        else:
            self._chromium.send("Fetch.failRequest", requestId=asked["requestId"], errorReason="Aborted")

    def _answer(self, number: int) -> dict[str, Any]:
        """The answer to a command during which the page may go on asking for things."""
        while True:
            message = self._chromium.wait_for(number, "Fetch.requestPaused", "Page.javascriptDialogOpening")
            if message.get("id") == number:
                return message
            if message["method"] == "Fetch.requestPaused":
                self._answer_request(message["params"])
            else:
                self._chromium.send("Page.handleJavaScriptDialog", accept=False)


def _value(message: dict[str, Any]) -> object:
    """Of an expression. Raises Undrawn where it failed."""
    result = message.get("result")
    if not isinstance(result, dict) or "exceptionDetails" in result or not isinstance(result.get("result"), dict):
        raise Undrawn("the page could not be looked at")
    found: object = result["result"].get("value")
    return found


def _received(message: dict[str, Any]) -> Painted:
    """What the browser said. It drew a hostile page: nothing in it is taken for granted but that it is JSON."""
    try:
        result = message["result"]
        if "exceptionDetails" in result:
            raise Undrawn(f"the page could not be looked at: {str(result['exceptionDetails'].get('text'))[:200]}")
        told = json.loads(result["result"]["value"])
        html, words, was_cut = told["html"], told["words"], told["cut"]
    except (KeyError, TypeError, ValueError, RecursionError):
        raise Undrawn("the browser's answer cannot be read") from None
    if not isinstance(html, str) or not isinstance(words, int) or not isinstance(was_cut, bool):
        raise Undrawn("the browser's answer cannot be read")
    return Painted(html.encode("utf-8", "replace"), words, was_cut)


def _as_utf8(body: bytes, content_type: str) -> bytes:
    """The body in the charset of its header as UTF-8 with a mark that says so; unchanged where the page itself says which."""
    named = _CHARSET.search(content_type)
    if named is not None:
        try:
            return codecs.BOM_UTF8 + body.decode(codecs.lookup(named[1]).name, "replace").encode("utf-8", "replace")
        except (LookupError, UnicodeError):
            pass
    return body

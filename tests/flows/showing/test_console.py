"""What is printed about pages cannot steer the terminal it is printed on."""

from __future__ import annotations

import logging
import signal
import sys
import time

import pytest

from flows.showing import console

HOSTILE = "Dam\x1b]0;owned\x07 fails\x1b[2J\x9b31m\u202e\x00\rover"


def test_log_messages_quote_pages_and_what_parsers_log_stays_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])  # as in a new process

    def main() -> int:
        logging.getLogger("pipeline.reading.extract").warning("no text from %s", HOSTILE)
        logging.getLogger("trafilatura.core").error("discarding data: None")
        logging.getLogger("pipeline.web").warning("the proxy is asked")
        return 0

    assert console.guarded(main) == 0
    err = capsys.readouterr().err
    assert err.startswith("WARNING pipeline.reading.extract: no text from Dam")
    assert err.endswith("\nWARNING pipeline.web: the proxy is asked\n") and err.count("\n") == 2
    assert all(c.isprintable() or c == "\n" for c in err)


def test_an_interrupt_dropped_by_a_destructor_still_ends_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)  # restored afterwards
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it

    class Dropped:
        def __del__(self) -> None:
            raise KeyboardInterrupt  # as a Ctrl-C that arrives here

    def main() -> int:
        Dropped()
        time.sleep(60)
        return 0

    try:
        assert console.guarded(main) == console.INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, before)
    err = capsys.readouterr().err
    assert "interrupted; the same command goes on from here" in err and "Traceback" not in err

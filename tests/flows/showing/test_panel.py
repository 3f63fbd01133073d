"""The live panel: what it says of a run, and what it leaves on a terminal, in a pipe, and after Ctrl-C."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from rich.console import Console

from benchmark.runner import run_event
from data.decoding_counts import DecodeStats, SpeculationStats, Usage
from data.errors import StageError
from data.runs import RunFolder
from data.stage_types import Stage, Stages
from data.types import Article, Event, Heading, Outline, Page, Section
from flows.cli import main
from flows.showing import console, panel, watching
from pipeline.stages import ARTICLE, LEAD, OUTLINE, draft_stage, section_stage
from pipeline.writing.assembly import WrittenSection
from pipeline.writing.drafting import Draft
from tests.toy_events import make_events

ROOT = Path(__file__).resolve().parents[3]
T = TypeVar("T")
HEADINGS = ("Background", "Rescue", "Aftermath")
PAGES = (
    Page("https://a.example/", "A", "Some text.", "search"),
    *(Page(f"https://b{i}.example/", "B", "", "search", drop_reason="too_short") for i in range(2)),
    Page("https://c.example/", "C", "", "search", drop_reason="login"),
)


def draft(tokens: int, passes: int) -> Draft:
    stats = DecodeStats(2.0, speculation=SpeculationStats(num_verify_steps=passes))
    return Draft("x", (), (), "end", Usage(1, 100, tokens, stats))


class StagedSystem:
    """Asks for the stages of a model's system, and calls `look` inside each."""

    name = "staged"
    identity: Mapping[str, str] = {}

    def __init__(self, look: Callable[[], None]) -> None:
        self._look = look

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        def once(stage: Stage[T], value: T) -> T:
            return stages.once(stage, lambda: (self._look(), value)[1])

        self._look()
        outline = once(OUTLINE, Outline(event.title, tuple(map(Heading, HEADINGS))))
        sections = []
        for n, heading in enumerate(outline.headings, 1):
            once(draft_stage(n), draft(60, 19))
            if event.title == "Second" and n == 2:
                raise StageError("writing", "it fell silent")
            sections.append(once(section_stage(n), WrittenSection(Section(heading, ()), ())).section)
        lead = once(LEAD, WrittenSection(Section(Heading(""), ()), ())).section
        return once(ARTICLE, Article(event.id, event.title, lead, tuple(sections), (), ()))


def drawn(view: watching.View, now: float, width: int = 100, height: int = 24) -> list[str]:
    file = io.StringIO()
    terminal = Console(file=file, width=width, height=height, force_terminal=True, no_color=True, highlight=False)
    terminal.print(panel.panel(view, now, height=height))
    return [line.rstrip() for line in re.sub(r"\x1b\[\d*m", "", file.getvalue()).splitlines()]


def test_what_is_said_while_events_are_written(tmp_path: Path) -> None:
    """Through the runner itself. A clock that goes on by a second each time it is read makes the times exact."""
    seconds = iter(range(10_000))
    watch = watching.Watch(3, lambda: float(next(seconds)))
    seen: list[list[str]] = []
    titles = {"1": "First", "2": "Second", "3": "Third"}
    system = StagedSystem(lambda: seen.append(drawn(watch.view, float(next(seconds)))))

    def found(event: Event) -> tuple[Page, ...]:
        seen.append(drawn(watch.view, float(next(seconds))))
        return PAGES

    run = RunFolder.open(tmp_path / "run", {})
    for event_id in titles:
        watch.ended(run_event(run, system, event_id, lambda i: Event(i, titles[i]), found, observer=watch))
    collecting, preparing, planning, drafting = seen[:4]
    assert collecting[0] == "Event 1 of 3  First" and collecting[1] == "now   collecting its pages, for 1 s"
    assert preparing[1].split() == ["now", "preparing", "to", "write"]
    assert preparing[2] == "pages  1 kept, 3 dropped: too little text (2); behind a login (1)"
    assert planning[1].startswith("now    planning its sections") and "left" not in planning[-1]
    assert drafting[1].startswith("now       writing section 1 of 3: Background")
    assert [line[10:] for line in drafting[3:6]] == ["▸ Background", "· Rescue", "· Aftermath"]
    third = seen[7]  # the draft of section 3
    assert [line[10:] for line in third[3:6]] == ["✓ Background", "✓ Rescue", "▸ Aftermath"]
    assert third[6] == "model     30.0 tokens/s, 3.00 tokens a pass, 120 tokens"
    assert " gone, about " in third[7]
    last = seen[-1]
    assert last[0] == "Event 3 of 3  Third" and last[-1] == "failed    1; the last: Second: writing: it fell silent"
    assert "240 tokens" not in last[6] and "tokens a pass" in last[6]
    assert watch.view.finished == 3 and watch.view.written == 2 and watch.view.current is None


def test_time_left_and_durations() -> None:
    view = watching.View(total=4, began=0.0)
    assert view.seconds_left(5.0) is None
    current = watching.Current("T", 10.0, headings=HEADINGS, sections_began=14.0, done=frozenset({0, 1}))
    first = replace(view, current=current)
    assert first.seconds_left(20.0) == 12 + 3 * 22  # 6 s a section, two to go; three more such events
    later = replace(first, finished=2, written=2, written_s=60.0)
    assert later.seconds_left(20.0) == 20 + 30  # 30 s an event, 10 gone
    assert later.seconds_left(99.0) == 30
    assert replace(later, current=None).seconds_left(99.0) == 60
    assert [panel.duration(s) for s in (0.4, 59.6, 65, 7261)] == ["0 s", "1:00 min", "1:05 min", "2:01:01 h"]


@pytest.mark.parametrize(("width", "height"), [(20, 24), (40, 8), (100, 24), (1, 1)])
def test_it_fits_the_terminal_and_steers_nothing(width: int, height: int) -> None:
    hostile = "Dam\x1b]0;owned\x07 [red]fails[/red]\x1b[2J\u202e\r\nover " * 3
    current = watching.Current(
        hostile, 0.0, 3, (("login", 2),), (hostile, *HEADINGS), frozenset({0}), (watching.Step("sections/01", 0.0),)
    )
    spent = watching.Spent(10, 1.0, 3, 10)
    view = watching.View(2, 0.0, failed=1, last_failure=hostile, spent=spent, current=current)
    lines = drawn(view, 5.0, width, height)
    assert all(line.isprintable() and len(line) <= width for line in lines)
    assert width != 100 or ("[red]fails[/red]" in lines[0] and len(lines) == 10)
    assert width != 40 or len(lines) <= height


def test_a_panel_that_cannot_be_drawn_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object, **named: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(panel, "panel", broken)
    told = io.StringIO()
    Console(file=told, width=80).print(panel._Panel(watching.Watch(1)))
    assert told.getvalue() == "the panel cannot be drawn: RuntimeError\n"


# --- on a terminal


@pytest.mark.parametrize(("term", "draws"), [("xterm-256color", True), ("dumb", False)])
def test_only_a_terminal_that_can_redraw_is_drawn_on(monkeypatch: pytest.MonkeyPatch, term: str, draws: bool) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    main, side = pty.openpty()
    with os.fdopen(main, "rb", buffering=0) as terminal, os.fdopen(side, "w") as stderr:
        with monkeypatch.context() as patch:  # not to the end of the test: by then this stderr is closed
            patch.setattr(sys, "stderr", stderr)
            with panel.watching(1):
                console.note("a line")
            console.note("the end")
        stderr.flush()
        written = ""
        while select.select([terminal], [], [], 0.05)[0]:  # a terminal is read line by line
            written += terminal.read(10_000).decode()
    assert ("\x1b" in written) == draws
    assert screen(written) == ["a line", "the end"]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_events(tmp_path_factory.mktemp("toy"), 150)


def command(toy: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "flows.cli", "generate", "--system", "bm25", "--data", str(toy), "--out", str(out), *more]


def on_a_terminal(words: list[str], *, columns: int, keys: Mapping[str, bytes], **environment: str) -> tuple[int, str]:
    """Exit code and everything written. When a text of `keys` has been written, its keys are pressed, once."""
    child, terminal = pty.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs inherit that it is ignored
        os.chdir(ROOT)
        os.execve(words[0], words, {**os.environ, "TERM": "xterm-256color", **environment})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    written, waiting, until = "", dict(keys), time.monotonic() + 120
    while time.monotonic() < until:
        try:
            received = os.read(terminal, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not received:
            break
        written += received.decode("utf-8", "replace")
        for text in [text for text in waiting if text in written]:
            os.write(terminal, waiting.pop(text))
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), written


def screen(written: str) -> list[str]:
    """The lines that a terminal shows in the end. Knows the control sequences that are used, and no others."""
    lines, row, column = [""], 0, 0
    for control, text in re.findall(r"(\x1b\[\??\d*[A-Za-z]|[\r\n])|([^\x1b\r\n]+)", written):
        if text:
            lines[row] = lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
            column += len(text)
        elif control == "\r":
            column = 0
        elif control == "\n":
            row, column = row + 1, column
            lines += [""] * (row + 1 - len(lines))
        elif control[-1] == "A":
            row -= int(control[2:-1] or 1)
        elif control == "\x1b[2K":
            lines[row] = ""
        else:
            assert control[-1] in "mhl", control
    return [line.rstrip() for line in lines if line.strip()]


def test_a_terminal_shows_the_panel_and_then_only_the_result(toy: Path, tmp_path: Path) -> None:
    code, written = on_a_terminal(command(toy, tmp_path / "run", "--limit", "3"), columns=200, keys={})
    assert code == 0 and "Event " in written and " of 3" in written and " gone" in written
    shown = screen(written)
    assert shown[0].startswith("3 events asked for")
    assert re.fullmatch(rf"3 written, 0 reused, 0 failed in [\d.]+ s -> {re.escape(str(tmp_path / 'run'))}", shown[1])
    assert shown[2].startswith("read them: ") and len(shown) == 3
    assert written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l")


def test_ctrl_c_leaves_the_terminal_as_it_was(toy: Path, tmp_path: Path) -> None:
    words = command(toy, tmp_path / "run")
    code, written = on_a_terminal(words, columns=24, keys={"Event ": b"\x03"}, NO_COLOR="1")
    assert code == console.INTERRUPTED and "wikigenben: interrupted" in screen(written)[-1]
    assert not any(line.startswith(("Event", "now", "time")) for line in screen(written))
    assert written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l")
    assert not re.search(r"\x1b\[[34]\dm", written)


def test_a_pipe_gets_plain_lines(toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(toy, tmp_path / "run", "--limit", "3")[3:]) == 0
    out, err = capsys.readouterr()
    written, read = out.splitlines()
    assert re.fullmatch(rf"3 written, 0 reused, 0 failed in [\d.]+ s -> {re.escape(str(tmp_path / 'run'))}", written)
    assert read == f"read them: {(tmp_path / 'run' / 'index.html').resolve()}"
    assert re.fullmatch(r"3 events asked for; of the benchmark's [^\n]*\n", err)

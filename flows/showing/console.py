"""What people see: progress and logs on stderr, results on stdout, errors as one line, exit codes."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from data.errors import WikigenError
from decoding.waiting import spin_briefly

if TYPE_CHECKING:
    from rich.table import Table

T = TypeVar("T")
INTERRUPTED = 130
_PARSERS = frozenset(("trafilatura", "htmldate", "courlan", "justext", "pypdf", "charset_normalizer"))
"""What they say of a broken page stands, in our words, beside the page: as the reason that it was dropped."""


def guarded(main: Callable[[], int]) -> int:
    """Run a command: known errors become one line on stderr and their exit code, Ctrl-C becomes 130."""
    handler = _ToStderr()
    handler.addFilter(lambda record: record.name.partition(".")[0] not in _PARSERS)
    handler.setFormatter(_Harmless("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    spin_briefly()
    sys.unraisablehook = _interrupt_again
    try:
        code = main()
        sys.stdout.flush()  # here, where a closed pipe is still met by the last clause
        return code
    except WikigenError as error:
        sys.stderr.write(f"wikigenben: {one_line(str(error))}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("\nwikigenben: interrupted; the same command goes on from here\n")
        return INTERRUPTED
    except BrokenPipeError:  # `| head` closed our stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _interrupt_again(unraisable: sys.UnraisableHookArgs) -> None:
    """Python drops a Ctrl-C that meets it where nothing can be raised (a destructor, a callback of compiled code).

    Raise it again a moment later, outside that place.
    """
    if unraisable.exc_type is KeyboardInterrupt:
        # a signal, not `interrupt_main`: that only sets a flag, and a main thread that sleeps or waits would sleep on
        again = threading.Timer(0.05, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(unraisable)


_listeners: list[Callable[[str], None]] = []


def note(text: str) -> None:
    """A line for the person watching."""
    line = one_line(text)
    sys.stderr.write(line + "\n")
    for tell in _listeners:
        tell(line)


def listen(tell: Callable[[str], None]) -> None:
    """Pass every note of this process on, too: the person may watch somewhere else than at its stderr."""
    _listeners.append(tell)


def result(text: str) -> None:
    """A line of the result, or several."""
    sys.stdout.write(harmless(text) + "\n")


def result_json(value: dict[str, Any]) -> None:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    # escaped they mean the same, and JSON itself escapes only some of them
    sys.stdout.write("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text) + "\n")


def show(table: Table) -> None:
    from rich.console import Console

    width = None if sys.stdout.isatty() else 110
    Console(file=sys.stdout, width=width, highlight=False).print(table)


def can_redraw() -> bool:
    """Whether a person watches stderr on a terminal that can move its cursor. Pipes and files get plain lines."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """A bar on stderr; call the yielded function with a label after each step. Off a terminal it stays silent."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[label]}", markup=False),
    )
    with Progress(*columns, console=console, transient=True, disable=not can_redraw()) as bar:
        task = bar.add_task(what, total=total, label="")
        yield lambda label: bar.update(task, advance=1, label=one_line(label)[:50])


def tracked(what: str, items: Iterable[T], total: int, label: Callable[[T], str]) -> Iterator[T]:
    """The items, with a progress bar that names the one just done."""
    with progress(what, total) as step:
        for item in items:
            step(label(item))
            yield item


class _ToStderr(logging.StreamHandler[TextIO]):
    """Writes to what `sys.stderr` is at that moment: while something is drawn there, lines go above the drawing."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    @stream.setter
    def stream(self, stream: TextIO) -> None: ...


class _Harmless(logging.Formatter):
    """Log messages quote addresses, titles and errors of pages."""

    def format(self, record: logging.LogRecord) -> str:
        return harmless(super().format(record))


def harmless(text: str) -> str:
    """Titles and page texts reach messages: without control characters they cannot rewrite the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)


def one_line(text: str) -> str:
    """The same on one line."""
    return harmless(text).replace("\n", " ").replace("\t", " ")
